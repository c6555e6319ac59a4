# The column side: the penalty on w_j is the term, the loss's derivative the map.
#
# Visiting columns, the loop descends n P(w) along one w_j at a time, with v = X w:
#     min over b' of  n (sigma c_j |b'| + lambda b'^2 / 2) + m b' + q/2 (b' - b)^2,
#     m = x_j^T map(v),   map_i = s_i phi'(v_i),   q = sum_i s_i x_ij^2 / gamma.

cimport cython
from libc.math cimport INFINITY, exp, fabs, fmax, fmin

from .losses cimport soft
from .map cimport Map
from .term cimport Term


@cython.final
cdef class Penalty(Term):
    # phi*(-b) = l1 y |b| + l2 b^2 / 2, where y = c_j, l1 = n sigma and l2 = n lambda.  Where
    # l2 = 0, phi is the conjugate within |b| <= lipschitz, so that it is a number.
    cdef readonly double l1, l2

    cdef inline double phi(self, double y, double z) noexcept nogil:
        cdef double over = fabs(z) - self.l1 * y
        if over <= 0:
            return 0.0
        return 0.5 * over * over / self.l2 if self.l2 > 0 else self.lipschitz * over

    cdef inline double phi_conj(self, double y, double a) noexcept nogil:
        return self.l1 * y * fabs(a) + 0.5 * self.l2 * a * a

    cdef inline double phi_slope(self, double y, double z) noexcept nogil:
        return soft(z, self.l1 * y) / self.l2

    cdef inline double best(self, double y, double b, double m, double q) noexcept nogil:
        return soft(q * b - m, self.l1 * y) / (q + self.l2)

    cdef inline double slack(self, double y, double b, double m) noexcept nogil:
        """By how much m may change before b = 0 moves; negative elsewhere."""
        return self.l1 * y * (1 - 1e-12) - fabs(m) if b == 0 else -1.0


@cython.final
cdef class LossMap(Map):
    # v_i -> s_i phi'(v_i; y_i).  The derivatives are kept: a column that does not move costs no
    # evaluation of phi', only reads.
    cdef Term loss
    cdef bint self_concordant       # phi'' bounds the third derivative: the logistic loss
    cdef const double[::1] target, weight
    cdef double[::1] kept
    cdef double* slope
    # A loss in Python is asked once a step, for all rows that it has moved, and not for each: then
    # `called` is none at all, and `recall` asks when the step is done.
    cdef Term called
    cdef bint deferred
    cdef const double* v
    cdef bint asleep                # v was replaced, and the derivatives are yet to be found
    cdef Py_ssize_t[::1] waiting
    cdef Py_ssize_t count

    cdef inline double at(self, Py_ssize_t i, double v) noexcept nogil:
        return self.slope[i]

    cdef inline double derivative(self, Py_ssize_t i, double v) noexcept nogil:
        cdef double slope = self.called.phi_slope(self.target[i], v)
        return slope if self.weight is None else self.weight[i] * slope

    cdef inline bint counts(self, Py_ssize_t i) noexcept nogil:
        return self.weight is None or self.weight[i] > 0

    cdef inline double curve(self, Py_ssize_t i) noexcept nogil:
        """s_i phi''(v_i) of the logistic loss, or a little more: phi'' is |phi'| (1 - |phi'|)."""
        cdef double slope = fabs(self.slope[i]), s = 1 if self.weight is None else self.weight[i]
        return slope * fmax(1 - slope / s, 2.3e-16)     # |phi'| may have been rounded to 1

    cdef inline double curve_within(self, Py_ssize_t i, double move) noexcept nogil:
        """A bound on s_i phi'' from v_i to v_i + move: it falls on the way from 0 outwards."""
        cdef double s = 1 if self.weight is None else self.weight[i]
        cdef double outwards = self.slope[i] if fabs(self.slope[i]) > 0.5 * s else -self.slope[i]
        if move * outwards >= 0:
            return self.curve(i)
        return fmin(self.curve(i) * exp(fmin(fabs(move), 700)), s / self.loss.gamma)

    cdef inline void moved(self, Py_ssize_t i, double old, double new) noexcept nogil:
        self.slope[i] = self.derivative(i, new)

    cdef inline void settle(self) noexcept nogil:
        pass

    # Row i has moved, and will be asked for at the next refresh at the latest.
    cdef void postpone(self, Py_ssize_t i) noexcept nogil
    cdef void refresh(self) noexcept nogil
    cdef void recall_all(self, Py_ssize_t n) noexcept nogil
    cdef void wake(self) noexcept nogil

    # Fit the intercept, which is part of v, until the given part of its slope is left; returns a
    # bound on the length that map(v) moved.
    cdef double lift(self, double* v, double* bias, double enough=*) noexcept nogil
