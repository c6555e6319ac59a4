# proxsdca for Cython: `from proxsdca cimport cython_api`.  docs/extending.md explains it, and says
# what is promised to stay; include/proxsdca.h is the same for C.
#
# Structs begin with their size: set it with sizeof.  What was compiled with an earlier version has
# shorter ones, and goes on to work.  Functions may be called with or without Python's lock, from
# any thread; they return OK or the kind of the failure, which `last_error` puts into words.

cdef enum:
    API_VERSION = 1

cdef enum:
    OK = 0
    BAD_INPUT = 1           # an argument is not allowed: last_error() names it
    BAD_HANDLE = 2          # the handle was released, or never was one
    BUSY = 3                # another thread is working on the handle
    NUMERICAL = 4           # the numbers of the problem overflow
    INTERRUPTED = 5         # Ctrl-C
    FAILED = 6              # anything else, such as an oracle that says so

# phi(z) with target y: see proxsdca.losses.Loss.  data is handed to every function.
ctypedef struct Loss:
    size_t size
    void* data
    double (*value)(double z, double y, void* data) noexcept nogil
    double (*subgradient)(double z, double y, void* data) noexcept nogil
    double (*conjugate)(double a, double y, void* data) noexcept nogil      # NULL: solved for
    double gamma                    # phi is (1/gamma)-smooth; 0 where it is not
    double lipschitz                # 0 where there is none
    int classification              # y is -1 or +1
    int has_target_min              # y below target_min is refused
    double target_min
    # Structs may end here.  What follows may be NULL.
    double (*exact_step)(double b, double m, double y, double q, void* data) noexcept nogil
    double (*lower)(double y, void* data) noexcept nogil
    double (*upper)(double y, void* data) noexcept nogil
    double (*value_size)(double z, double y, void* data) noexcept nogil
    double (*conjugate_size)(double a, double y, void* data) noexcept nogil

# g(w) = sum_j g_j(w_j), each g_j 1-strongly convex, and the derivative of g_j*; kappa is
# sigma / lam: see proxsdca.regularizers.Regularizer.
ctypedef struct Map:
    size_t size
    void* data
    double (*value)(double w, double kappa, Py_ssize_t j, void* data) noexcept nogil
    double (*gradient)(double v, double kappa, Py_ssize_t j, void* data) noexcept nogil
    int has_sigma
    # Structs may end here.  What follows may be NULL.
    double (*conjugate)(double v, double kappa, Py_ssize_t j, void* data) noexcept nogil

# The label with the largest margin delta(j, y_i) - w^T xi, xi = psi(x_i, y_i) - psi(x_i, j), y_i
# itself included, and the xi and delta of a label: see proxsdca.structured.  argmax returns 0 where
# it has found one, plane how many entries it has written.
ctypedef struct Oracle:
    size_t size
    void* data
    Py_ssize_t n, d
    Py_ssize_t label_size           # how many ints a label is
    Py_ssize_t plane_size           # how many entries of a xi are not 0, at the most
    int (*argmax)(Py_ssize_t i, const double* w, int* label, void* data) noexcept nogil
    Py_ssize_t (*plane)(Py_ssize_t i, const int* label, Py_ssize_t* indices, double* values,
                        double* delta, void* data) noexcept nogil
    int approximate                 # argmax may miss the largest
    # Structs may end here.  What follows may be NULL.
    double (*radius)(Py_ssize_t i, void* data) noexcept nogil       # a bound on |psi(x_i, j)|_2

# X and y, borrowed: they must stay as they are until the handle is released.
ctypedef struct Data:
    size_t size
    Py_ssize_t n, d
    const void* values              # of CSR, or a dense n x d array
    const void* indices             # NULL: dense
    const void* indptr
    int float32                     # values are float; else double
    int int64                       # indices and indptr have 64 bits; else 32
    Py_ssize_t row_stride           # of a dense array, in numbers; 0: d
    const double* y                 # for two classes any two numbers
    const double* sample_weight     # NULL: 1 each

# What is to be solved, and how.  Zeros and NULL are the defaults of proxsdca.solve.  All of it but
# the functions and their data is copied.
ctypedef struct Settings:
    size_t size
    const Loss* loss                # one's own, or NULL ...
    const char* loss_name           # ... and "hinge", "logistic", ...
    const Map* map                  # one's own, or NULL ...
    const char* reg_name            # ... and "l2", "l1l2", ...
    double lam
    double sigma                    # where has_sigma is not 0
    int has_sigma
    int fit_intercept
    unsigned long long seed
    const char* option
    const char* order
    const char* side

# P(w) - min P <= gap + rounding.  Set its size before the call.
ctypedef struct Certificate:
    size_t size
    double primal, dual, gap, rounding
    double target                   # of the last solve
    int converged                   # gap + rounding <= target
    Py_ssize_t epochs

ctypedef unsigned long long Handle      # 0 is none

cdef int version() noexcept nogil
cdef const char* last_error() noexcept nogil        # the words of the last failure in this thread

cdef int create(const Data* data, const Settings* settings, Handle* handle) noexcept nogil
cdef int create_structured(const Oracle* oracle, const Settings* settings,
                           Handle* handle) noexcept nogil
cdef int release(Handle handle) noexcept nogil      # 0 is let pass

cdef int run(Handle handle, Py_ssize_t epochs) noexcept nogil
cdef int solve(Handle handle, double tol, double eps, Py_ssize_t max_epochs,
               Certificate* certificate) noexcept nogil
cdef int certify(Handle handle, Certificate* certificate) noexcept nogil

# The state as it stands: after certify and solve, what was certified.
cdef int shape(Handle handle, Py_ssize_t* n, Py_ssize_t* d) noexcept nogil
cdef int read_w(Handle handle, double* w, Py_ssize_t d, double* intercept) noexcept nogil
cdef int read_alpha(Handle handle, double* alpha, Py_ssize_t n) noexcept nogil

# For proxsdca.solve, proxsdca.structured.solve and the estimators; these need Python's lock.  owner
# is kept alive as long as what is returned.
cdef object loss_object(const Loss* loss, str name, object owner)
cdef object regularizer_object(const Map* map, str name, object owner)
cdef object oracle_object(const Oracle* oracle, object owner)
