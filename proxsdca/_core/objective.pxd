# What certificates of scalar and of vector-valued losses have in common.

from libc.math cimport fabs

from .map cimport Map
from .rows cimport BLOCK, Rows
from .signals cimport PATIENCE, poll
from .sums cimport LANES, UNIT, Lanes, Sum, add_all, clear, merged, result, rounding


cdef extern from "<fenv.h>" nogil:
    ctypedef struct fenv_t:
        pass
    int FE_UNDERFLOW
    int feholdexcept(fenv_t*)
    int fesetenv(const fenv_t*)
    int fetestexcept(int)


cdef struct Values:
    # Numbers; `stride` apart, how far off each may be, and the sum of absolute values it is of.
    double* value
    double* off
    double* size
    Py_ssize_t stride


cdef inline void scale_by(Values v, Py_ssize_t count, double factor, double roundings,
                          double eta) noexcept nogil:
    """v *= factor, where each summand of v is off by so many roundings."""
    cdef Py_ssize_t j, k
    for j in range(count):
        k = j * v.stride
        v.value[j] *= factor
        v.size[k] *= factor
        v.off[k] = (v.off[k] * factor + 4 * UNIT * fabs(v.value[j])
                    + roundings * UNIT * v.size[k] + eta)


cdef inline void add_intercept(Values z, Py_ssize_t n, double beta) noexcept nogil:
    """z += beta."""
    cdef Py_ssize_t i
    for i in range(n):
        z.value[i] += beta
        z.off[i * z.stride] += UNIT * fabs(z.value[i])


# Sums over all rows: Sum's `add`, with the totals in `touched`, the carries and the sums of
# absolute values in the two columns of `scratch`.

cdef inline int clear_sums(double[::1] touched, double[:, ::1] scratch) except -1 nogil:
    cdef Py_ssize_t j
    for j in range(touched.shape[0]):
        touched[j] = scratch[j, 0] = scratch[j, 1] = 0
        if j % PATIENCE == 0:
            poll()
    return 0


cdef inline void add_at(double* touched, double* scratch, Py_ssize_t j, double z) noexcept nogil:
    cdef double t = touched[j] + z
    cdef double p = t - touched[j]
    scratch[2 * j] += (touched[j] - (t - p)) + (z - p)
    scratch[2 * j + 1] += fabs(z)
    touched[j] = t


cdef inline double summands_of(Rows storage) noexcept nogil:
    """The most entries that a column may hold: all of them, where rows are not canonical."""
    return storage.n if storage.canonical else storage.nnz


cdef inline int close_sums(double summands, double[::1] touched, double[:, ::1] scratch,
                           double eta) except -1 nogil:
    """Turn the carries into bounds on the errors of sums of at most so many summands."""
    cdef Py_ssize_t j
    for j in range(touched.shape[0]):
        touched[j] += scratch[j, 0]
        scratch[j, 0] = rounding(touched[j], scratch[j, 1], summands) + summands * eta
        if j % PATIENCE == 0:
            poll()
    return 0


cdef inline double row_pass(Rows storage, Py_ssize_t i, const double* x, double a,
                            double* touched, double* scratch, double* off, double* size,
                            double eta, Py_ssize_t* unseen) except? -1 nogil:
    """x_i^T x with a bound on its error and the sum of absolute values; touched += a x_i."""
    cdef Py_ssize_t columns[BLOCK]
    cdef double values[BLOCK]
    cdef double products[BLOCK + LANES]
    cdef Py_ssize_t k = 0, m, count, entries = 0
    cdef Lanes lanes
    cdef Sum product
    cdef double z
    clear(&lanes)
    while True:
        count = storage.read(i, k, columns, values)
        for m in range(count):
            products[m] = values[m] * x[columns[m]]
        add_all(&lanes, products, count)
        entries += count
        if a != 0:
            for m in range(count):
                add_at(touched, scratch, columns[m], values[m] * a)
        k += count
        unseen[0] += count + 1
        if unseen[0] > PATIENCE:
            unseen[0] = 0
            poll()
        if count < BLOCK:
            break
    product = merged(&lanes)
    z = result(&product)
    off[0] = rounding(z, product.size, entries) + entries * eta
    size[0] = product.size
    return z


cdef struct Objective:
    double primal, dual, error_primal, error_dual


cdef inline int with_g(Objective* o, Map map, const double* w, Py_ssize_t d, double lam,
                       double eta) except -1 nogil:
    """o.primal is the mean loss: add lam g(w)."""
    cdef double g, error_g
    g = map.value(w, d, &error_g)
    # the product with lam and the last sum; a hundredth more covers the bounds' own rounding
    o.error_primal = 1.01 * (o.error_primal + lam * (error_g + 4 * d * eta)
                             + 4 * UNIT * (fabs(o.primal) + lam * fabs(g)))
    o.primal += lam * g
    poll()
    return 0


cdef inline int with_g_conjugate(Objective* o, Map map, Values v, Py_ssize_t d, double lam,
                                 double eta) except -1 nogil:
    """o.dual is the mean of -phi*: subtract lam g*(v)."""
    cdef double g_conj, error_g_conj
    g_conj = map.conjugate(v.value, v.off, v.stride, d, &error_g_conj)
    o.error_dual = 1.01 * (o.error_dual + lam * (error_g_conj + 4 * d * eta)
                           + 4 * UNIT * lam * fabs(g_conj))
    o.dual -= lam * g_conj
    poll()
    return 0
