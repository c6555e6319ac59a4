/* proxsdca for C.  docs/extending.md explains it, and says what is promised to stay; cython_api.pxd
   is the same for Cython, with the same comments.

       #include <proxsdca.h>                       // where proxsdca.get_include() says
       if (proxsdca_import() < 0) return NULL;     // once in each file, with Python's lock
       proxsdca->create(&data, &settings, &handle);

   Structs begin with their size: set it with sizeof, and all the rest to 0 first. */

#ifndef PROXSDCA_H
#define PROXSDCA_H

#include <Python.h>

#define PROXSDCA_API_VERSION 1

enum {
    PROXSDCA_OK = 0,
    PROXSDCA_BAD_INPUT = 1,     /* an argument is not allowed: last_error() names it */
    PROXSDCA_BAD_HANDLE = 2,    /* the handle was released, or never was one */
    PROXSDCA_BUSY = 3,          /* another thread is working on the handle */
    PROXSDCA_NUMERICAL = 4,     /* the numbers of the problem overflow */
    PROXSDCA_INTERRUPTED = 5,   /* Ctrl-C */
    PROXSDCA_FAILED = 6         /* anything else, such as an oracle that says so */
};

/* phi(z) with target y: see proxsdca.losses.Loss.  data is handed to every function. */
typedef struct {
    size_t size;
    void *data;
    double (*value)(double z, double y, void *data);
    double (*subgradient)(double z, double y, void *data);
    double (*conjugate)(double a, double y, void *data);    /* NULL: solved for */
    double gamma;               /* phi is (1/gamma)-smooth; 0 where it is not */
    double lipschitz;           /* 0 where there is none */
    int classification;         /* y is -1 or +1 */
    int has_target_min;         /* y below target_min is refused */
    double target_min;
    /* Structs may end here.  What follows may be NULL. */
    double (*exact_step)(double b, double m, double y, double q, void *data);
    double (*lower)(double y, void *data);
    double (*upper)(double y, void *data);
    double (*value_size)(double z, double y, void *data);
    double (*conjugate_size)(double a, double y, void *data);
} proxsdca_loss;

/* g(w) = sum_j g_j(w_j), each g_j 1-strongly convex, and the derivative of g_j*; kappa is
   sigma / lam: see proxsdca.regularizers.Regularizer. */
typedef struct {
    size_t size;
    void *data;
    double (*value)(double w, double kappa, Py_ssize_t j, void *data);
    double (*gradient)(double v, double kappa, Py_ssize_t j, void *data);
    int has_sigma;
    /* Structs may end here.  What follows may be NULL. */
    double (*conjugate)(double v, double kappa, Py_ssize_t j, void *data);
} proxsdca_map;

/* The label with the largest margin delta(j, y_i) - w^T xi, xi = psi(x_i, y_i) - psi(x_i, j), y_i
   itself included, and the xi and delta of a label: see proxsdca.structured.  argmax returns 0
   where it has found one, plane how many entries it has written. */
typedef struct {
    size_t size;
    void *data;
    Py_ssize_t n, d;
    Py_ssize_t label_size;      /* how many ints a label is */
    Py_ssize_t plane_size;      /* how many entries of a xi are not 0, at the most */
    int (*argmax)(Py_ssize_t i, const double *w, int *label, void *data);
    Py_ssize_t (*plane)(Py_ssize_t i, const int *label, Py_ssize_t *indices, double *values,
                        double *delta, void *data);
    int approximate;            /* argmax may miss the largest */
    /* Structs may end here.  What follows may be NULL. */
    double (*radius)(Py_ssize_t i, void *data);     /* a bound on |psi(x_i, j)|_2 */
} proxsdca_oracle;

/* X and y, borrowed: they must stay as they are until the handle is released. */
typedef struct {
    size_t size;
    Py_ssize_t n, d;
    const void *values;         /* of CSR, or a dense n x d array */
    const void *indices;        /* NULL: dense */
    const void *indptr;
    int float32;                /* values are float; else double */
    int int64;                  /* indices and indptr have 64 bits; else 32 */
    Py_ssize_t row_stride;      /* of a dense array, in numbers; 0: d */
    const double *y;            /* for two classes any two numbers */
    const double *sample_weight;    /* NULL: 1 each */
} proxsdca_data;

/* What is to be solved, and how.  Zeros and NULL are the defaults of proxsdca.solve.  All of it but
   the functions and their data is copied. */
typedef struct {
    size_t size;
    const proxsdca_loss *loss;  /* one's own, or NULL ... */
    const char *loss_name;      /* ... and "hinge", "logistic", ... */
    const proxsdca_map *map;    /* one's own, or NULL ... */
    const char *reg_name;       /* ... and "l2", "l1l2", ... */
    double lam;
    double sigma;               /* where has_sigma is not 0 */
    int has_sigma;
    int fit_intercept;
    unsigned long long seed;
    const char *option;
    const char *order;
    const char *side;
} proxsdca_settings;

/* P(w) - min P <= gap + rounding.  Set its size before the call. */
typedef struct {
    size_t size;
    double primal, dual, gap, rounding;
    double target;              /* of the last solve */
    int converged;              /* gap + rounding <= target */
    Py_ssize_t epochs;
} proxsdca_certificate;

typedef unsigned long long proxsdca_handle;     /* 0 is none */

/* The functions.  All but the last three may be called with or without Python's lock, from any
   thread; they return PROXSDCA_OK or the kind of the failure. */
typedef struct {
    size_t size;
    int (*version)(void);
    const char *(*last_error)(void);    /* the words of the last failure in this thread */
    int (*create)(const proxsdca_data *, const proxsdca_settings *, proxsdca_handle *);
    int (*create_structured)(const proxsdca_oracle *, const proxsdca_settings *,
                             proxsdca_handle *);
    int (*release)(proxsdca_handle);    /* 0 is let pass */
    int (*run)(proxsdca_handle, Py_ssize_t epochs);
    int (*solve)(proxsdca_handle, double tol, double eps, Py_ssize_t max_epochs,
                 proxsdca_certificate *);
    int (*certify)(proxsdca_handle, proxsdca_certificate *);
    /* The state as it stands: after certify and solve, what was certified. */
    int (*shape)(proxsdca_handle, Py_ssize_t *n, Py_ssize_t *d);
    int (*read_w)(proxsdca_handle, double *w, Py_ssize_t d, double *intercept);
    int (*read_alpha)(proxsdca_handle, double *alpha, Py_ssize_t n);
    /* For proxsdca.solve and the estimators: new references, or NULL with an exception set.  owner
       is kept alive as long as what is returned. */
    PyObject *(*loss_object)(const proxsdca_loss *, const char *name, PyObject *owner);
    PyObject *(*regularizer_object)(const proxsdca_map *, const char *name, PyObject *owner);
    PyObject *(*oracle_object)(const proxsdca_oracle *, PyObject *owner);
} proxsdca_api;

static const proxsdca_api *proxsdca = NULL;

/* Fill in `proxsdca`.  0, or -1 with an exception set. */
static inline int proxsdca_import(void)
{
    PyObject *module = PyImport_ImportModule("proxsdca.cython_api");
    PyObject *capsule = module ? PyObject_GetAttrString(module, "_C_API") : NULL;
    const proxsdca_api *found = NULL;
    if (capsule)
        found = (const proxsdca_api *)PyCapsule_GetPointer(capsule, "proxsdca.cython_api._C_API");
    Py_XDECREF(capsule);
    Py_XDECREF(module);
    if (!found)
        return -1;
    if (found->size < sizeof(proxsdca_api) || found->version() != PROXSDCA_API_VERSION) {
        PyErr_Format(PyExc_ImportError,
                     "compiled for version %d of proxsdca's API, installed is version %d",
                     PROXSDCA_API_VERSION, found->version());
        return -1;
    }
    proxsdca = found;
    return 0;
}

#endif
