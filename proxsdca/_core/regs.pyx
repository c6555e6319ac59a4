"""The maps of the regularisers: g and g*, with bounds on their rounding.

The gradient of g* stands in regs.pxd.  Where v_j is off by delta_j, convexity and
smoothness of g* give

    |g*(v) - g*(v_exact)| <= sum_j |w_j| delta_j + |delta|_D'^2 / 2,   w = grad g*(v).
"""

import numpy as np

from libc.math cimport INFINITY, fabs, floor, fmax, fmin, log, pow, sqrt
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

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


cdef inline double moved_by(double v, double kappa, double delta) noexcept nogil:
    """By how much v_j may be off where the rounding of kappa_j counts as an error of v_j."""
    return delta + 2 * UNIT * fmin(fabs(v), kappa)


cdef inline double l1l2_conjugate(const double* v, const double* delta, Py_ssize_t step,
                                  Py_ssize_t d, const double* kappa, Py_ssize_t stride,
                                  double* error) noexcept nogil:
    cdef Sum total = Sum(0, 0, 0, 0)
    cdef Py_ssize_t j
    cdef double value, w, off, propagated = 0
    for j in range(d):
        w = fabs(soft(v[j], kappa[j * stride]))
        off = moved_by(v[j], kappa[j * stride], delta[j * step])
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

    cdef double conjugate(self, const double* v, const double* delta, Py_ssize_t stride,
                          Py_ssize_t d, double* error) noexcept nogil:
        return l1l2_conjugate(v, delta, stride, d, &no_kappa, 0, error)


cdef class L1L2Map(Map):
    def __init__(self, double kappa):
        self.kappa = kappa

    cdef double value(self, const double* w, Py_ssize_t d, double* error) noexcept nogil:
        return l1l2_value(w, d, &self.kappa, 0, error)

    cdef double conjugate(self, const double* v, const double* delta, Py_ssize_t stride,
                          Py_ssize_t d, double* error) noexcept nogil:
        return l1l2_conjugate(v, delta, stride, d, &self.kappa, 0, error)


cdef class WeightedL1L2Map(Map):
    def __init__(self, const double[::1] kappas):
        self.kappas = kappas
        self.kappa = &kappas[0]

    cdef double value(self, const double* w, Py_ssize_t d, double* error) noexcept nogil:
        return l1l2_value(w, d, self.kappa, 1, error)

    cdef double conjugate(self, const double* v, const double* delta, Py_ssize_t stride,
                          Py_ssize_t d, double* error) noexcept nogil:
        return l1l2_conjugate(v, delta, stride, d, self.kappa, 1, error)


cdef extern from *:
    """
    /* The kept sum stays between these, so that none of its powers overflows and what
       underflows is nothing beside it; else, and where it may be off by DRIFT, it is summed
       anew. */
    #define PROXSDCA_LOW 1e-200
    #define PROXSDCA_HIGH 1e200
    #define PROXSDCA_DRIFT 1e-12
    """
    const double LOW "PROXSDCA_LOW"
    const double HIGH "PROXSDCA_HIGH"
    const double DRIFT "PROXSDCA_DRIFT"


cdef class QNormMap(Map):
    """g(w) = c/2 |w|_q^2 + sum_j kappa_j |w_j|.

    Parameters
    ----------
    p, c : float
        1/p + 1/q = 1, p >= 2.
    kappas : (1,) or (d,) array
    tight : bool
        Whether |x|_D'^2 is (p - 1)/c |x|_p^2, the smoothness of g* itself, or |x|_inf^2.
    checked : bool
        Whether steps are to be checked against the true dual.
    """

    def __init__(self, double p, double c, const double[::1] kappas, bint tight, bint checked):
        self.p, self.c, self.tight, self.checked = p, c, tight, checked
        if p == floor(p) and p < 4096:
            self.whole_p, self.whole_p1 = <unsigned int>p, <unsigned int>p - 1
        self.kappas = kappas
        self.kappa = &kappas[0]
        self.kappa_stride = kappas.shape[0] > 1

    @property
    def kept_sum(self):
        """sum_j |s_j|^p, as it is kept."""
        return result(&self.kept) * pow(self.per_unit, -self.p)

    def state(self):
        return {
            **Map.state(self), "kept": self.kept, "churn": self.churn,
            "nonzero": self.nonzero, "per_unit": self.per_unit, "factor": self.factor,
            "shapes": np.array(self.shapes), "reference": self.reference, "total": self.total,
        }

    def restore(self, state):
        Map.restore(self, state)
        self.kept = state["kept"]
        self.churn, self.nonzero = state["churn"], state["nonzero"]
        self.per_unit, self.factor = state["per_unit"], state["factor"]
        np.copyto(np.asarray(self.shapes), state["shapes"])
        self.reference, self.total = state["reference"], state["total"]

    cdef void reset(self, const double* v, Py_ssize_t d) noexcept nogil:
        self.v, self.d = v, d
        if self.shapes is None or self.shapes.shape[0] != d:
            with gil:
                self.shapes = np.zeros(d)
                self.shape = &self.shapes[0]
        self.sum_anew()
        self.refresh()

    cdef void sum_anew(self) noexcept nogil:
        """The kept sum from v alone, in the unit of the largest |s_j|."""
        cdef double peak = 0, s
        cdef Py_ssize_t j
        self.kept = Sum(0, 0, 0, 0)
        self.nonzero = 0
        self.churn = 0
        self.per_unit = 1
        for j in range(self.d):
            peak = fmax(peak, fabs(self.scaled(j, self.v[j])))
        if 0 < peak < INFINITY:
            self.per_unit = fmin(1 / peak, 1e300)
        for j in range(self.d):
            s = self.scaled(j, self.v[j])
            self.shape[j] = self.shape_at(s)
            if s != 0:
                add(&self.kept, s * self.shape[j])
                self.nonzero += 1

    cdef void refresh(self) noexcept nogil:
        """Bring `factor` up to date, and sum anew where the kept sum is no longer good."""
        cdef double total = result(&self.kept), nu = self.kept.count * UNIT
        # the differences that were added are rounded once each, their sum to second order
        cdef double drift = (2 * UNIT + 2 * nu * nu) * self.churn
        self.stale = False
        if self.nonzero == 0:
            self.kept = Sum(0, 0, 0, 0)
            self.churn = self.factor = 0
            return
        if not (LOW < total < HIGH and drift <= DRIFT * total):
            self.sum_anew()
            total = result(&self.kept)
        # |s|_p^(2-p) / c, with one power of the unit left for w_j
        self.factor = pow(total, 2 / self.p - 1) / (self.c * self.per_unit) if total > 0 else 0.0
        if not self.factor < INFINITY:
            self.factor = 0

    cdef double kept_conjugate(self) noexcept nogil:
        cdef double norm
        if self.nonzero == 0:
            return 0
        norm = pow(result(&self.kept), 1 / self.p) / self.per_unit
        return norm * norm / (2 * self.c)

    # w_j = (|s_j| / reference)^(p-1) times a factor common to all j.  The reference is the unit
    # that the first iterate with w != 0 had: a change of it would change every sum.

    cdef void tick(self) noexcept nogil:
        cdef double factor
        self.now += 1
        if self.factor == 0:
            return
        if self.reference == 0:
            self.reference = self.per_unit
        factor = self.factor * pow(self.per_unit / self.reference, self.p - 1)
        if factor < INFINITY:
            self.total += factor

    cdef double clock(self, Py_ssize_t j) noexcept nogil:
        return self.total

    cdef double held(self, Py_ssize_t j, double v) noexcept nogil:
        cdef double h = self.shape_at(soft(v, self.kappa[j * self.kappa_stride]) * self.reference)
        return h if fabs(h) < INFINITY else 0.0

    cdef double value(self, const double* w, Py_ssize_t d, double* error) noexcept nogil:
        cdef Sum powers = Sum(0, 0, 0, 0), l1 = Sum(0, 0, 0, 0)
        cdef double peak = 0, norm, value, q = self.p / (self.p - 1)
        cdef Py_ssize_t j
        for j in range(d):
            peak = fmax(peak, fabs(w[j]))
        if peak == 0:
            error[0] = 0
            return 0
        for j in range(d):
            if w[j] != 0:
                add(&powers, pow(fabs(w[j]) / peak, q))
                add(&l1, self.kappa[j * self.kappa_stride] * fabs(w[j]))
        norm = peak * pow(result(&powers), 1 / q)
        value = 0.5 * self.c * norm * norm + result(&l1)
        # No summand is negative, so relative errors stay what they are; those of q and of the
        # exponents count log d times.
        error[0] = (64 + 8 * log(<double>d)) * UNIT * value
        return value

    cdef double conjugate(self, const double* v, const double* delta, Py_ssize_t stride,
                          Py_ssize_t d, double* error) noexcept nogil:
        cdef Sum powers = Sum(0, 0, 0, 0)
        cdef double peak = 0, norm, value, factor, s, off, linear = 0, square = 0
        cdef Py_ssize_t j
        for j in range(d):
            peak = fmax(peak, fabs(soft(v[j], self.kappa[j * self.kappa_stride])))
        if peak > 0:
            for j in range(d):
                s = fabs(soft(v[j], self.kappa[j * self.kappa_stride]))
                if s != 0:
                    add(&powers, power(s / peak, self.p, self.whole_p))
        norm = peak * pow(result(&powers), 1 / self.p)
        value = norm * norm / (2 * self.c)
        factor = norm / self.c
        for j in range(d):
            off = moved_by(v[j], self.kappa[j * self.kappa_stride], delta[j * stride])
            s = fabs(soft(v[j], self.kappa[j * self.kappa_stride]))
            square += off * off
            if s != 0:
                linear += factor * power(s / norm, self.p - 1, self.whole_p1) * off
        # |off|_p <= |off|_2; a hundredth more for the rounding of the w_j
        error[0] = ((64 + 8 * log(<double>d)) * UNIT * value
                    + 1.01 * (linear + 0.5 * (self.p - 1) / self.c * square))
        return value

    cdef void fold(self, double* state, const Py_ssize_t* columns, const double* x,
                   Py_ssize_t count) noexcept nogil:
        # state[0] is the largest |x_j| so far, state[1] the sum of (|x_j| / state[0])^p
        cdef Py_ssize_t k
        cdef double entry
        for k in range(count):
            entry = fabs(x[k])
            if entry == 0:
                continue
            if entry > state[0]:
                if self.tight:
                    state[1] = state[1] * power(state[0] / entry, self.p, self.whole_p) + 1
                state[0] = entry
            elif self.tight:
                state[1] += power(entry / state[0], self.p, self.whole_p)

    cdef double norm_sq(self, const double* state) noexcept nogil:
        cdef double norm = state[0]
        if not self.tight:
            return norm * norm
        norm *= pow(state[1], 1 / self.p)
        # rounded up: a bound on the curvature must be one
        return (self.p - 1) / self.c * norm * norm * (1 + 1e-12)


cdef class GroupMap(Map):
    """g(w) = |w|^2 / 2 + sum_G kappa_G |w_G|_2.

    Parameters
    ----------
    group_of : (d,) array
        The group of each feature.
    kappas : (number of groups,) array
    """

    def __cinit__(self, const Py_ssize_t[::1] group_of, const double[::1] kappas):
        cdef Py_ssize_t group
        order = np.argsort(group_of, kind="stable")
        self.group_of, self.members = group_of, order
        self.n_groups = kappas.shape[0]
        self.starts = np.searchsorted(np.asarray(group_of)[order], np.arange(self.n_groups + 1))
        self.groups = <GroupState*>calloc(self.n_groups, sizeof(GroupState))
        if self.groups == NULL:
            raise MemoryError
        for group in range(self.n_groups):
            self.groups[group].kappa = kappas[group]

    def __dealloc__(self):
        free(self.groups)

    def state(self):
        groups = np.empty((self.n_groups, sizeof(GroupState) // sizeof(double)))
        cdef double[:, ::1] copy = groups
        memcpy(&copy[0, 0], self.groups, self.n_groups * sizeof(GroupState))
        return {**Map.state(self), "groups": groups}

    def restore(self, state):
        Map.restore(self, state)
        cdef const double[:, ::1] groups = state["groups"]
        if (groups.shape[0], groups.shape[1] * sizeof(double)) != (
                self.n_groups, sizeof(GroupState)):
            raise ValueError("the state is one of other groups")
        memcpy(self.groups, &groups[0, 0], self.n_groups * sizeof(GroupState))

    cdef void reset(self, const double* v, Py_ssize_t d) noexcept nogil:
        cdef Py_ssize_t group
        self.v = v
        for group in range(self.n_groups):
            self.hold(group)
            self.sum_anew(group)

    cdef void moved(self, Py_ssize_t j, double old, double new) noexcept nogil:
        cdef Py_ssize_t group = self.group_of[j]
        cdef GroupState* state = &self.groups[group]
        cdef double nu
        self.hold(group)
        add(&state.kept, new * new)
        add(&state.kept, -old * old)
        nu = state.kept.count * UNIT
        if 2 * nu * nu * state.kept.size <= DRIFT * result(&state.kept):
            state.shrink = shrink(result(&state.kept), state.kappa)
        else:
            self.sum_anew(group)

    cdef void sum_anew(self, Py_ssize_t group) noexcept nogil:
        cdef GroupState* state = &self.groups[group]
        cdef Py_ssize_t k
        cdef double x
        state.kept = Sum(0, 0, 0, 0)
        for k in range(self.starts[group], self.starts[group + 1]):
            x = self.v[self.members[k]]
            add(&state.kept, x * x)
        state.shrink = shrink(result(&state.kept), state.kappa)

    cdef double norm(self, Py_ssize_t group, const double* x, Py_ssize_t stride) noexcept nogil:
        """|x_G|_2, whose squares neither overflow nor underflow."""
        cdef Sum squares = Sum(0, 0, 0, 0)
        cdef double peak = 0, part
        cdef Py_ssize_t k
        for k in range(self.starts[group], self.starts[group + 1]):
            peak = fmax(peak, fabs(x[self.members[k] * stride]))
        if peak == 0 or not peak < INFINITY:
            return peak
        for k in range(self.starts[group], self.starts[group + 1]):
            part = x[self.members[k] * stride] / peak
            add(&squares, part * part)
        return peak * sqrt(result(&squares))

    cdef void hold(self, Py_ssize_t group) noexcept nogil:
        """The group's clock up to now, before its factor changes."""
        cdef GroupState* state = &self.groups[group]
        state.total += state.shrink * (self.now - state.since)
        state.since = self.now

    cdef double clock(self, Py_ssize_t j) noexcept nogil:
        cdef GroupState* state = &self.groups[self.group_of[j]]
        return state.total + state.shrink * (self.now - state.since)

    cdef double held(self, Py_ssize_t j, double v) noexcept nogil:
        return v

    cdef double value(self, const double* w, Py_ssize_t d, double* error) noexcept nogil:
        cdef Sum total = Sum(0, 0, 0, 0)
        cdef Py_ssize_t group
        cdef double norm, value
        for group in range(self.n_groups):
            norm = self.norm(group, w, 1)
            add(&total, (0.5 * norm + self.groups[group].kappa) * norm)
        value = result(&total)
        error[0] = 2 * EVALUATION * UNIT * value        # no summand is negative
        return value

    cdef double conjugate(self, const double* v, const double* delta, Py_ssize_t stride,
                          Py_ssize_t d, double* error) noexcept nogil:
        cdef Sum total = Sum(0, 0, 0, 0)
        cdef Py_ssize_t group
        cdef double norm, off, kappa, over, value, propagated = 0
        for group in range(self.n_groups):
            kappa = self.groups[group].kappa
            norm = self.norm(group, v, 1)
            over = norm - kappa if norm > kappa else 0.0
            # the roundings of the norm and of kappa count as errors of v
            off = self.norm(group, delta, stride) + 8 * UNIT * norm + 2 * UNIT * fmin(norm, kappa)
            propagated += over * off + 0.5 * off * off
            if over != 0:
                add(&total, 0.5 * over * over)
        value = result(&total)
        error[0] = rounding(value, EVALUATION * total.size, total.count) + 1.01 * propagated
        return value


cdef inline double shrink(double sum_sq, double kappa) noexcept nogil:
    """[1 - kappa / |v_G|]_+."""
    if kappa == 0:
        return 1
    if sum_sq <= kappa * kappa:
        return 0
    return fmax(0, 1 - kappa / sqrt(sum_sq))


cdef class L1Map(Map):
    """sigma sum_j c_j |w_j| alone, for certificates; lambda is 1.

    Parameters
    ----------
    sigma : float
    weights : (1,) or (d,) array
        c_j > 0.
    """

    def __init__(self, double sigma, const double[::1] weights):
        self.sigma, self.weights = sigma, weights
        self.weight = &weights[0]
        self.weight_stride = weights.shape[0] > 1

    cdef double value(self, const double* w, Py_ssize_t d, double* error) noexcept nogil:
        cdef Sum total = Sum(0, 0, 0, 0)
        cdef Py_ssize_t j
        cdef double value
        for j in range(d):
            if w[j] != 0:
                add(&total, self.weight[j * self.weight_stride] * fabs(w[j]))
        value = self.sigma * result(&total)
        error[0] = EVALUATION * UNIT * value        # no summand is negative
        return value

    cdef void bounded(self, double primal, double error) noexcept nogil:
        # losses are not negative, but for `below`: sigma sum_j c_j |w*_j| <= P(w*)
        self.B = (primal + self.below + error) / self.sigma * (1 + 4 * UNIT)
        self.B_excess = 2 * error / self.sigma + 8 * UNIT * self.B

    cdef double peak(self, const double* v, Py_ssize_t d) noexcept nogil:
        """max_j |v_j| / c_j."""
        cdef Py_ssize_t j
        cdef double peak = 0
        for j in range(d):
            peak = fmax(peak, fabs(v[j]) / self.weight[j * self.weight_stride])
        return peak

    cdef double conjugate(self, const double* v, const double* delta, Py_ssize_t stride,
                          Py_ssize_t d, double* error) noexcept nogil:
        # the largest of v^T w - g(w) within sum_j c_j |w_j| <= B
        cdef double over = self.peak(v, d) - self.sigma, upper = -INFINITY, c
        cdef Py_ssize_t j
        for j in range(d):
            c = self.weight[j * self.weight_stride]
            upper = fmax(upper, (fabs(v[j]) + delta[j * stride]) / c)
        upper = upper * (1 + 8 * UNIT) - self.sigma
        over = over if over > 0 else 0.0
        upper = upper if upper > 0 else 0.0
        error[0] = self.B * ((upper - over) + 4 * UNIT * over) + self.B_excess * upper
        return self.B * over


def gradient(Map map, const double[::1] v, double[::1] w):
    """Write grad g*(v) into w."""
    cdef Py_ssize_t j
    with nogil:
        map.reset(&v[0], v.shape[0])
        for j in range(v.shape[0]):
            w[j] = map.at(j, v[j])
