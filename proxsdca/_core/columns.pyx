"""The column side: the loss as a map and the penalty as a term; see columns.pxd."""

import numpy as np

from libc.math cimport sqrt

from .intercept cimport best_intercept
from .losses cimport Logistic, Loss
from .term cimport BLOCK

cdef class Penalty(Term):
    """l1 c |b| + l2 b^2 / 2, as a term.

    Parameters
    ----------
    l1, l2 : float
        n sigma and n lambda.
    """

    def __init__(self, double l1, double l2):
        self.l1, self.l2, self.gamma = l1, l2, l2
        self.lipschitz = INFINITY

    def conjugate(self, const double[::1] target, const double[::1] b):
        """phi*(-b_j), elementwise."""
        cdef Py_ssize_t j
        out = np.empty(b.shape[0])
        cdef double[::1] values = out
        for j in range(b.shape[0]):
            values[j] = self.phi_conj(target[j], -b[j])
        return out

    def bound(self, double B):
        """Say that |b| <= B: estimates of the gap need it where l2 = 0."""
        self.lipschitz = B


cdef class LossMap(Map):
    """v_i -> s_i phi'(v_i), smooth where the loss is.

    Parameters
    ----------
    loss : Term
        gamma > 0.
    target : (n,) array
    weight : (n,) array or None
    """

    def __init__(self, Term loss, const double[::1] target, weight):
        self.loss, self.target, self.weight = loss, target, weight
        self.self_concordant = isinstance(loss, Logistic)
        self.kept = np.zeros(target.shape[0])
        self.slope = &self.kept[0]
        self.deferred = isinstance(loss, Loss) and (<Loss>loss).python
        self.called = Term() if self.deferred else loss
        self.waiting = np.zeros(BLOCK, np.intp)

    def state(self):
        self.wake()
        return {**Map.state(self), "slopes": np.array(self.kept)}

    def restore(self, state):
        Map.restore(self, state)
        self.asleep = False
        np.copyto(np.asarray(self.kept), state["slopes"])

    cdef void reset(self, const double* v, Py_ssize_t n) noexcept nogil:
        self.v, self.asleep = v, True

    cdef void wake(self) noexcept nogil:
        """Have the derivatives, which nobody may have asked for since v was replaced."""
        if self.asleep:
            self.recall_all(self.target.shape[0])

    cdef void recall_all(self, Py_ssize_t n) noexcept nogil:
        """The derivatives at all rows."""
        cdef Py_ssize_t i
        self.asleep = False
        for i in range(n):
            if self.deferred:
                self.postpone(i)
            else:
                self.slope[i] = self.derivative(i, self.v[i])
        self.refresh()

    cdef void postpone(self, Py_ssize_t i) noexcept nogil:
        self.waiting[self.count] = i
        self.count += 1
        if self.count == BLOCK:
            self.refresh()

    cdef void refresh(self) noexcept nogil:
        """The derivatives at the rows that have moved."""
        cdef double y[BLOCK]
        cdef double z[BLOCK]
        cdef double slopes[BLOCK]
        cdef Py_ssize_t k, i
        for k in range(self.count):
            i = self.waiting[k]
            y[k], z[k] = self.target[i], self.v[i]
        self.loss.phi_slopes(self.count, y, z, slopes)
        for k in range(self.count):
            i = self.waiting[k]
            self.slope[i] = slopes[k] if self.weight is None else self.weight[i] * slopes[k]
        self.count = 0

    cdef void fold(self, double* state, const Py_ssize_t* rows, const double* x,
                   Py_ssize_t count) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(count):
            state[0] += (1 if self.weight is None else self.weight[rows[k]]) * x[k] * x[k]

    cdef double norm_sq(self, const double* state) noexcept nogil:
        return state[0] / self.loss.gamma

    def fit(self, double[::1] v, double[::1] bias):
        """Make the intercept, which is part of v, the best one."""
        self.lift(&v[0], &bias[0], 1e-15)

    cdef double lift(self, double* v, double* bias, double enough=0.1) noexcept nogil:
        cdef Py_ssize_t i, n = self.target.shape[0]
        cdef const double* weight = &self.weight[0] if self.weight is not None else NULL
        cdef double total = n
        cdef double move = best_intercept(self.loss, &self.target[0], weight, v, n, 0, 0, enough)
        if move == 0:
            return 0
        bias[0] += move
        if weight != NULL:
            total = 0
            for i in range(n):
                total += weight[i]
        for i in range(n):
            v[i] += move
        self.recall_all(n)
        return fabs(move) * sqrt(total / self.loss.gamma)

    def dual(self, double[::1] alpha):
        """Write alpha_i = -s_i phi'(v_i)."""
        cdef Py_ssize_t i
        self.wake()
        for i in range(alpha.shape[0]):
            alpha[i] = -self.slope[i]
