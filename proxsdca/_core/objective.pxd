# What certificates of scalar and of vector-valued losses have in common.

from libc.math cimport fabs

from .map cimport Map
from .rows cimport Rows
from .signals cimport PATIENCE, poll
from .sums cimport UNIT, Tally, plain_rounding, rounding


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


# Sums over all rows stand in a matrix of three columns, each row of it a `Tally`.

cdef inline Tally* clear_sums(double[:, ::1] sums) except? NULL nogil:
    cdef Py_ssize_t j
    for j in range(sums.shape[0]):
        sums[j, 0] = sums[j, 1] = sums[j, 2] = 0
        if j % PATIENCE == 0:
            poll()
    return <Tally*>&sums[0, 0]


cdef inline double summands_of(Rows storage) noexcept nogil:
    """The most entries that a column may hold: all of them, where rows are not canonical."""
    return storage.n if storage.canonical else storage.nnz


cdef inline int close_sums(double summands, double[::1] touched, double[:, ::1] sums,
                           double eta) except -1 nogil:
    """Put sums of at most so many summands into `touched`; their totals give way to bounds on
    their errors."""
    cdef Py_ssize_t j
    for j in range(touched.shape[0]):
        touched[j] = sums[j, 0] + sums[j, 1]
        sums[j, 0] = rounding(touched[j], sums[j, 2], summands) + summands * eta
        if j % PATIENCE == 0:
            poll()
    return 0


cdef inline int close_plain_sums(double[::1] touched, double[:, ::1] sums,
                                 double eta) except -1 nogil:
    """As `close_sums`, where sums were made plainly, and their summands counted."""
    cdef Py_ssize_t j
    for j in range(touched.shape[0]):
        touched[j] = sums[j, 0]
        sums[j, 0] = plain_rounding(sums[j, 2], sums[j, 1]) + sums[j, 1] * eta
        if j % PATIENCE == 0:
            poll()
    return 0


cdef inline Values values_of(double[::1] touched, double[:, ::1] sums) noexcept nogil:
    """What `close_sums` has left."""
    return Values(&touched[0], &sums[0, 0], &sums[0, 2], 3)


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
    cdef Py_ssize_t j
    for j in range(d):      # NaN where a v_j overflowed, which a maximum would pass over
        o.error_dual += 0 * v.off[j * v.stride]
    g_conj = map.conjugate(v.value, v.off, v.stride, d, &error_g_conj)
    o.error_dual = 1.01 * (o.error_dual + lam * (error_g_conj + 4 * d * eta)
                           + 4 * UNIT * lam * fabs(g_conj))
    o.dual -= lam * g_conj
    poll()
    return 0
