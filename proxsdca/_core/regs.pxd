# The maps of the regularisers: grad g*, inline in final classes so that the
# loop applies them to every nonzero without a call.  g, g* and the documentation
# are in regs.pyx.

cimport cython
from libc.math cimport copysign, fabs, pow

from .losses cimport soft
from .map cimport Map
from .sums cimport Sum, add


@cython.final
cdef class L2Map(Map):
    # g(w) = |w|^2 / 2, grad g*(v) = v
    cdef inline double at(self, Py_ssize_t j, double v) noexcept nogil:
        return v

    cdef inline void moved(self, Py_ssize_t j, double old, double new) noexcept nogil:
        pass

    cdef inline void settle(self) noexcept nogil:
        pass


@cython.final
cdef class L1L2Map(Map):
    # g(w) = |w|^2 / 2 + kappa |w|_1, kappa = sigma / lambda
    cdef double kappa

    cdef inline double at(self, Py_ssize_t j, double v) noexcept nogil:
        return soft(v, self.kappa)

    cdef inline void moved(self, Py_ssize_t j, double old, double new) noexcept nogil:
        pass

    cdef inline void settle(self) noexcept nogil:
        pass


@cython.final
cdef class WeightedL1L2Map(Map):
    # g(w) = |w|^2 / 2 + sum_j kappa_j |w_j|
    cdef const double[::1] kappas
    cdef const double* kappa

    cdef inline double at(self, Py_ssize_t j, double v) noexcept nogil:
        return soft(v, self.kappa[j])

    cdef inline void moved(self, Py_ssize_t j, double old, double new) noexcept nogil:
        pass

    cdef inline void settle(self) noexcept nogil:
        pass


cdef inline double power(double x, double p, unsigned int whole) noexcept nogil:
    """x^p for x >= 0, by squaring where p is the whole number `whole`; 0 where it is not."""
    cdef double result = 1
    if whole == 0:
        return pow(x, p)
    while True:
        if whole & 1:
            result *= x
        whole >>= 1
        if whole == 0:
            return result
        x *= x


@cython.final
cdef class QNormMap(Map):
    # g(w) = c/2 |w|_q^2 + sum_j kappa_j |w_j|, 1/p + 1/q = 1.  With s = soft(v, kappa),
    #     w_j = sign(s_j) |s_j|^(p-1) |s|_p^(2-p) / c,                (nablaDefqnorm), (aDefqnorm)
    # whose norm is not summed anew at every step: `kept` is sum_j (|s_j| / unit)^p, `shape` has
    # sign(s_j) (|s_j| / unit)^(p-1), and `factor` is what all w_j / shape_j have in common.
    cdef readonly double p, c
    cdef unsigned int whole_p, whole_p1     # p and p - 1 where they are whole numbers, else 0
    cdef const double[::1] kappas
    cdef const double* kappa
    cdef Py_ssize_t kappa_stride
    cdef bint tight
    cdef const double* v
    cdef Py_ssize_t d, nonzero              # how many s_j are not 0
    cdef Sum kept
    cdef double churn                       # what has gone into kept and out of it
    cdef double per_unit, factor            # per_unit is 1 / unit
    cdef double[::1] shapes
    cdef double* shape
    cdef bint stale                         # whether kept has changed since factor was computed
    cdef double reference, total            # the unit of clock and held, and the clock

    cdef inline double scaled(self, Py_ssize_t j, double v) noexcept nogil:
        return soft(v, self.kappa[j * self.kappa_stride]) * self.per_unit

    cdef inline double shape_at(self, double s) noexcept nogil:
        return copysign(power(fabs(s), self.p - 1, self.whole_p1), s) if s != 0 else 0.0

    cdef inline double at(self, Py_ssize_t j, double v) noexcept nogil:
        return self.factor * self.shape[j]

    cdef inline void moved(self, Py_ssize_t j, double old, double new) noexcept nogil:
        cdef double before = self.scaled(j, old), after = self.scaled(j, new), gone, come
        if before == after:
            return
        gone = before * self.shape[j]
        self.shape[j] = self.shape_at(after)
        come = after * self.shape[j]
        add(&self.kept, come - gone)
        self.churn += come + gone
        self.nonzero += (after != 0) - (before != 0)
        self.stale = True

    cdef inline void settle(self) noexcept nogil:
        if self.stale:
            self.refresh()

    cdef void refresh(self) noexcept nogil
    cdef void sum_anew(self) noexcept nogil


cdef struct GroupState:
    Sum kept                # the sum of v_j^2 over the group
    double kappa
    double shrink           # w_j = shrink v_j
    double total, since     # the clock of the group up to the iterate `since`


@cython.final
cdef class GroupMap(Map):
    # g(w) = |w|^2 / 2 + sum_G kappa_G |w_G|_2; w_G = v_G [1 - kappa_G / |v_G|_2]_+
    cdef GroupState* groups
    cdef Py_ssize_t n_groups
    cdef const Py_ssize_t[::1] group_of, members, starts
    cdef const double* v

    cdef inline double at(self, Py_ssize_t j, double v) noexcept nogil:
        return v * self.groups[self.group_of[j]].shrink

    cdef void sum_anew(self, Py_ssize_t group) noexcept nogil
    cdef void hold(self, Py_ssize_t group) noexcept nogil
    cdef double norm(self, Py_ssize_t group, const double* x, Py_ssize_t stride) noexcept nogil


@cython.final
cdef class L1Map(Map):
    # lambda g(w) = sum_j sigma_j |w_j| alone, for certificates: its conjugate is that of
    # g within |w|_1 <= B, where P(w*) bounds sigma |w*|_1 (ERRATA 6, 7)
    cdef double sigma
    cdef const double[::1] weights
    cdef const double* weight
    cdef Py_ssize_t weight_stride
    cdef readonly double B
    cdef double B_excess                    # by how much B may be above the exact P(w) / sigma
    cdef public double below                # how far the mean loss may lie below 0
    cdef double peak(self, const double* v, Py_ssize_t d) noexcept nogil
