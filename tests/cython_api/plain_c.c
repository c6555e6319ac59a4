/* The same from C: a loss of one's own, with a parameter, and a run to a certificate. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <proxsdca.h>
#include <stddef.h>
#include <string.h>

typedef struct { double tau; } parameters;

static double weight(double r, void *data)
{
    double tau = ((parameters *)data)->tau;
    return 2 * (r > 0 ? 1 - tau : tau);
}

static double value(double z, double y, void *data)
{
    return weight(z - y, data) * (z - y) * (z - y) / 2;
}

static double subgradient(double z, double y, void *data)
{
    return weight(z - y, data) * (z - y);
}

static double conjugate(double a, double y, void *data)
{
    return a * y + a * a / (2 * weight(a, data));
}

/* solve(X bytes, y bytes, n, d, tau, lam, tol) -> (primal, gap, rounding, converged, w bytes) */
static PyObject *solve(PyObject *self, PyObject *args)
{
    Py_buffer X, y;
    Py_ssize_t n, d;
    double lam, tol;
    parameters expectile;
    proxsdca_loss loss = {.size = sizeof(loss), .data = &expectile, .value = value,
                          .subgradient = subgradient, .conjugate = conjugate};
    proxsdca_data data = {.size = sizeof(data)};
    proxsdca_settings settings = {.size = sizeof(settings), .loss = &loss};
    proxsdca_certificate found = {.size = sizeof(found)};
    proxsdca_handle handle = 0;
    int code;
    PyObject *w, *answer = NULL;
    if (!PyArg_ParseTuple(args, "y*y*nnddd", &X, &y, &n, &d, &expectile.tau, &lam, &tol))
        return NULL;
    loss.gamma = 0.5 / (expectile.tau > 0.5 ? expectile.tau : 1 - expectile.tau);
    data.n = n, data.d = d, data.values = X.buf, data.y = y.buf;
    settings.lam = lam;
    w = PyBytes_FromStringAndSize(NULL, d * sizeof(double));
    Py_BEGIN_ALLOW_THREADS
    code = proxsdca->create(&data, &settings, &handle);
    if (code == PROXSDCA_OK)
        code = proxsdca->solve(handle, tol, 0, 10000, &found);
    if (code == PROXSDCA_OK)
        code = proxsdca->read_w(handle, (double *)PyBytes_AS_STRING(w), d, NULL);
    Py_END_ALLOW_THREADS
    if (code == PROXSDCA_OK)
        answer = Py_BuildValue("dddiO", found.primal, found.gap, found.rounding, found.converged, w);
    else
        PyErr_Format(PyExc_RuntimeError, "%d: %s", code, proxsdca->last_error());
    proxsdca->release(handle);
    Py_XDECREF(w);
    PyBuffer_Release(&X);
    PyBuffer_Release(&y);
    return answer;
}

static PyObject *sizes(PyObject *self, PyObject *args)
{
    return Py_BuildValue(
        "{snsnsnsnsnsnsnsnsnsn}", "loss", sizeof(proxsdca_loss), "map", sizeof(proxsdca_map),
        "oracle", sizeof(proxsdca_oracle), "data", sizeof(proxsdca_data), "settings",
        sizeof(proxsdca_settings), "certificate", sizeof(proxsdca_certificate), "loss.exact_step",
        offsetof(proxsdca_loss, exact_step), "loss.conjugate_size",
        offsetof(proxsdca_loss, conjugate_size), "settings.side",
        offsetof(proxsdca_settings, side), "certificate.epochs",
        offsetof(proxsdca_certificate, epochs));
}

static parameters kept = {0.3};

/* For proxsdca.solve. */
static PyObject *expectile_object(PyObject *self, PyObject *args)
{
    proxsdca_loss loss = {.size = sizeof(loss), .data = &kept, .value = value,
                          .subgradient = subgradient, .conjugate = conjugate, .gamma = 0.5 / 0.7};
    return proxsdca->loss_object(&loss, "expectile", Py_None);
}

static PyMethodDef methods[] = {
    {"solve", solve, METH_VARARGS, NULL},
    {"sizes", sizes, METH_NOARGS, NULL},
    {"expectile_object", expectile_object, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "plain_c", NULL, -1, methods};

PyMODINIT_FUNC PyInit_plain_c(void)
{
    if (proxsdca_import() < 0)
        return NULL;
    return PyModule_Create(&module);
}
