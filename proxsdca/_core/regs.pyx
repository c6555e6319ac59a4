"""The maps of the regularisers: g and g*, with bounds on their rounding.

Both are sums over coordinates; the gradient of g* stands in regs.pxd.  Where
v_j is off by delta_j, convexity and 1-smoothness of g* give

    |g*(v) - g*(v_exact)| <= sum_j |w_j| delta_j + delta_j^2 / 2,   w = grad g*(v).
"""

from libc.math cimport fabs

from .losses cimport soft
from .sums cimport EVALUATION, UNIT, Sum, add, result, rounding


cdef inline double l1l2_value(const double* w, Py_ssize_t d, const double* kappa,
                              Py_ssize_t stride, double* error) noexcept nogil:
    cdef Sum total = Sum(0, 0, 0, 0)
    cdef Py_ssize_t j
    cdef double value
    for j in range(d):
        if w[j] != 0:
            add(&total, 0.5 * w[j] * w[j] + kappa[j * stride] * fabs(w[j]))
    value = result(&total)
    error[0] = rounding(value, EVALUATION * total.size, total.count)
    return value


cdef inline double l1l2_conjugate(const double* v, const double* delta, Py_ssize_t d,
                                  const double* kappa, Py_ssize_t stride,
                                  double* error) noexcept nogil:
    cdef Sum total = Sum(0, 0, 0, 0)
    cdef Py_ssize_t j
    cdef double value, w, off, propagated = 0
    for j in range(d):
        w = fabs(soft(v[j], kappa[j * stride]))
        off = delta[2 * j]
        # the rounding of kappa_j itself counts as an error of v_j
        off += 2 * UNIT * (fabs(v[j]) if fabs(v[j]) < kappa[j * stride] else kappa[j * stride])
        propagated += w * off + 0.5 * off * off
        if w != 0:
            add(&total, 0.5 * w * w)
    value = result(&total)
    error[0] = rounding(value, EVALUATION * total.size, total.count) + propagated
    return value


cdef double no_kappa = 0


cdef class L2Map(Map):
    cdef double value(self, const double* w, Py_ssize_t d, double* error) noexcept nogil:
        return l1l2_value(w, d, &no_kappa, 0, error)

    cdef double conjugate(self, const double* v, const double* delta, Py_ssize_t d,
                          double* error) noexcept nogil:
        return l1l2_conjugate(v, delta, d, &no_kappa, 0, error)


cdef class L1L2Map(Map):
    def __init__(self, double kappa):
        self.kappa = kappa

    cdef double value(self, const double* w, Py_ssize_t d, double* error) noexcept nogil:
        return l1l2_value(w, d, &self.kappa, 0, error)

    cdef double conjugate(self, const double* v, const double* delta, Py_ssize_t d,
                          double* error) noexcept nogil:
        return l1l2_conjugate(v, delta, d, &self.kappa, 0, error)


cdef class WeightedL1L2Map(Map):
    def __init__(self, const double[::1] kappas):
        self.kappas = kappas
        self.kappa = &kappas[0]

    cdef double value(self, const double* w, Py_ssize_t d, double* error) noexcept nogil:
        return l1l2_value(w, d, self.kappa, 1, error)

    cdef double conjugate(self, const double* v, const double* delta, Py_ssize_t d,
                          double* error) noexcept nogil:
        return l1l2_conjugate(v, delta, d, self.kappa, 1, error)


def gradient(Map map, const double[::1] v, double[::1] w):
    """Write grad g*(v) into w."""
    cdef Py_ssize_t j
    with nogil:
        for j in range(v.shape[0]):
            w[j] = map.at(j, v[j])
