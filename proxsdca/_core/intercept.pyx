"""The free intercept beta of the model x_i^T w + beta, and what it asks of alpha.

beta is not penalised, so the dual has the constraint sum_i alpha_i = 0, and D(alpha) bounds min P
only where it holds, to the last bit. `balance` makes it hold: alpha is rounded towards 0 to
multiples of a power of two that is large enough for every partial sum to be exact, and what is
missing goes to coordinates that stay inside the domain of phi*. With k classes there is a beta, and
a constraint, for each.
"""

import numpy as np

from libc.math cimport INFINITY, fabs, fmax, fmin, frexp, ldexp, trunc

from .duals cimport Duals
from .losses cimport Quantile
from .rows cimport BLOCK, Rows
from .sums cimport UNIT
from .term cimport BLOCK as TERM_BLOCK


cdef extern from *:
    """
    /* What takes s_i times an end of the domain inside it, however s_i was rounded. */
    #define PROXSDCA_INSIDE (1 - 0x1p-48)
    """
    const double INSIDE "PROXSDCA_INSIDE"


# --------------------------------------------------------------- beta, given the margins


cdef double total_slope(Term term, const double* target, const double* weight, const double* z,
                        Py_ssize_t n, double beta, double* size) noexcept nogil:
    """sum_i s_i phi'(z_i + beta), and the sum of absolute values."""
    cdef double total = 0, slope
    cdef double at[TERM_BLOCK]
    cdef double slopes[TERM_BLOCK]
    cdef Py_ssize_t i, k, count
    size[0] = 0
    for i in range(n):
        if term.foreign and i % TERM_BLOCK == 0:        # one call for many
            count = min(n - i, TERM_BLOCK)
            for k in range(count):
                at[k] = z[i + k] + beta
            term.phi_slopes(count, target + i, at, slopes)
        if weight != NULL and weight[i] == 0:
            continue
        if term.foreign:
            slope = slopes[i % TERM_BLOCK]
        else:
            slope = term.phi_slope(target[i], z[i] + beta)
        if weight != NULL:
            slope *= weight[i]
        total += slope
        size[0] += fabs(slope)
    return total


cdef double best_intercept(Term term, const double* target, const double* weight, const double* z,
                           Py_ssize_t n, double start, double slack,
                           double enough) noexcept nogil:
    """argmin over beta of sum_i s_i phi(z_i + beta), from a start.

    Good enough is a beta whose sum is at most slack above the least one, or whose slope is at most
    the given part of the first one. Where there are many best ones, with slack = enough = 0, it is
    the middle of them.
    """
    cdef double size, first, slope, low, high, s_low = 0, s_high = 0, step, beta = start, nothing
    cdef double total = n, left
    cdef Py_ssize_t i
    cdef int t
    first = slope = total_slope(term, target, weight, z, n, start, &size)
    nothing = 4 * n * UNIT * size
    if fabs(slope) <= nothing:
        return start if slack > 0 or enough > 0 else middle(term, target, weight, z, n, start)
    if weight != NULL:
        total = 0
        for i in range(n):
            total += weight[i]
    # by smoothness the root is not nearer than |slope| gamma / sum_i s_i
    step = fmax(2 * fabs(slope) * term.gamma / total, 1e-3 * fmax(1, fabs(start)))
    low = high = start
    for t in range(600):        # further away there is nothing
        if slope > 0:
            high, s_high = beta, slope
            if s_low < 0:
                break
            beta = high - step
        else:
            low, s_low = beta, slope
            if s_high > 0:
                break
            beta = low + step
        step *= 4 if t < 20 else 16
        slope = total_slope(term, target, weight, z, n, beta, &size)
        nothing = fmax(nothing, 4 * n * UNIT * fmin(size, 1e300))
        if slope == 0:
            break
    if not (s_low < 0 < s_high) and slope != 0:
        return start
    for t in range(2000):
        if fabs(slope) <= nothing and (slack > 0 or enough > 0):
            return beta
        if fabs(slope) <= nothing:
            return middle(term, target, weight, z, n, beta)
        if slope > 0:
            high, s_high = beta, slope
        else:
            low, s_low = beta, slope
        if fabs(slope) * (high - low) <= slack or fabs(slope) <= enough * fabs(first):
            return beta
        if high - low <= 2 * UNIT * fmax(fabs(low), fabs(high)) + 1e-300:
            break
        left = 0.5
        if t % 3 != 2 and s_high < INFINITY:        # regula falsi, kept away from the ends
            left = fmin(fmax(s_low / (s_low - s_high), 0.01), 0.99)
        beta = low + left * (high - low)
        if not low < beta < high:
            beta = 0.5 * (low + high)
            if not low < beta < high:
                break
        slope = total_slope(term, target, weight, z, n, beta, &size)
    return low if fabs(s_low) < fabs(s_high) else high


cdef double middle(Term term, const double* target, const double* weight, const double* z,
                   Py_ssize_t n, double beta) noexcept nogil:
    """The middle of all best beta, of which one is given."""
    cdef double ends[2]
    cdef double sign, inside, outside, at, size, slope, step
    cdef int side
    for side in range(2):
        sign = 1 if side else -1
        inside, outside, step = beta, INFINITY, 1e-9 * fmax(1, fabs(beta))
        for _ in range(400):
            at = inside + sign * step if outside == INFINITY else 0.5 * (inside + outside)
            if at == inside or at == outside:
                break
            slope = total_slope(term, target, weight, z, n, at, &size)
            if fabs(slope) <= 4 * n * UNIT * size:
                inside = at
                step *= 4
                if fabs(at) > 1e100:
                    break
            else:
                outside = at
        ends[side] = inside
    return 0.5 * (ends[0] + ends[1])


def fitted(Term term, const double[::1] target, weight_or_none, const double[::1] z, double start):
    """argmin over beta of sum_i s_i phi(z_i + beta)."""
    cdef const double[::1] weight = weight_or_none
    return best_intercept(term, &target[0], &weight[0] if weight is not None else NULL, &z[0],
                          target.shape[0], start, 0, 0)


# --------------------------------------------------------------- alpha with sum_i alpha_i = 0


cdef inline double grid(double size) noexcept nogil:
    """A power of two whose multiples up to 2 size, and sums of them up to that, are exact."""
    cdef int exponent
    frexp(size, &exponent)
    return ldexp(1.0, max(exponent - 51, -1074))


cdef inline double towards_zero(double x, double h) noexcept nogil:
    return trunc(x / h) * h


cdef inline double end_of(Term term, double y, double s, bint upper, bint exact) noexcept nogil:
    """The end of the domain of alpha_i; inside it however s_i, or the end itself, was rounded."""
    cdef double end = term.upper(y) if upper else term.lower(y)
    if exact or end == 0 or fabs(end) == INFINITY:
        return end if s > 0 else 0.0
    return s * end * INSIDE


def balance(Term term, const double[::1] target, weight_or_none, const double[::1] alpha,
            double[::1] out):
    """Write an alpha nearby that is in the domain, and adds up to 0 exactly.

    What is missing is shared by those inside their domain in proportion to the room they have;
    where that is not enough, those whose sign there is too much of shrink.
    """
    cdef const double[::1] weight = weight_or_none
    # the ends of a quantile's domain, such as tau - 1, are rounded, and so may be those of others'
    cdef bint exact = weight is None and not term.foreign and not isinstance(term, Quantile)
    with nogil:
        balance_all(term, target, weight, alpha, out, exact)


cdef void balance_all(Term term, const double[::1] target, const double[::1] weight,
                      const double[::1] alpha, double[::1] out, bint exact) noexcept nogil:
    cdef Py_ssize_t n = alpha.shape[0], i
    cdef double size = 0, peak = 0, h, total = 0, left, room = 0, shrinking = 0, s = 1, part, move
    cdef int sign
    cdef bint free
    for i in range(n):
        size += fabs(alpha[i])
        peak = fmax(peak, fabs(alpha[i]))
    h = grid(size)
    for i in range(n):
        if weight is not None:
            s = weight[i]
        out[i] = towards_zero(fmin(fmax(alpha[i], end_of(term, target[i], s, False, exact)),
                                   end_of(term, target[i], s, True, exact)), h)
        total += out[i]
    if total == 0:
        return
    sign = -1 if total > 0 else 1
    left = fabs(total)
    for i in range(n):
        if weight is not None:
            s = weight[i]
        room += room_of(term, target[i], s, out[i], sign, peak, h, exact)
        if sign * out[i] < 0:
            shrinking += fabs(out[i])
    free = room > left
    part = fmin(left / (room if free else shrinking), 1)
    total = 0
    for i in range(n):
        if weight is not None:
            s = weight[i]
        if free:
            move = room_of(term, target[i], s, out[i], sign, peak, h, exact)
        else:
            move = fabs(out[i]) if sign * out[i] < 0 else 0.0
        out[i] += sign * towards_zero(part * move, h)
        total += out[i]
    # what the roundings left: at most n steps of the grid
    for i in range(n if free else 0):
        if weight is not None:
            s = weight[i]
        sign = -1 if total > 0 else 1
        move = fmin(fabs(total), room_of(term, target[i], s, out[i], sign, peak, h, exact))
        out[i] += sign * move
        total += sign * move
    for i in range(n):      # shrinking can always go on: 0 is in every domain
        if (total > 0 and out[i] > 0) or (total < 0 and out[i] < 0):
            sign = -1 if total > 0 else 1
            move = fmin(fabs(total), fabs(out[i]))
            out[i] += sign * move
            total += sign * move


cdef inline double room_of(Term term, double y, double s, double alpha, int sign, double peak,
                           double h, bint exact) noexcept nogil:
    """How far an alpha_i inside its domain may go in a direction, on the grid."""
    cdef double low = end_of(term, y, s, False, exact), high = end_of(term, y, s, True, exact)
    if not low + h < alpha < high - h:
        return 0.0
    return towards_zero(fmin(high - alpha if sign > 0 else alpha - low, peak), h)


# --------------------------------------------------------------- k classes


def flows(Duals alpha, double[:, ::1] out):
    """out[y, j] = sum of the masses -alpha_ij over the examples with target y."""
    cdef double[::1] mass = np.zeros(alpha.widest)
    cdef Py_ssize_t i, j, y
    out[:, :] = 0
    with nogil:
        for i in range(alpha.n):
            alpha.read(i, &mass[0])
            y = alpha.target_view[i]
            for j in range(alpha.k):
                out[y, j] += mass[j]


def scale_flows(Duals alpha, weight_or_none, const double[::1] p):
    """Multiply the mass -alpha_ij, which flows from class j to y_i, by 1 - (p_y - p_j); then round
    it towards 0 to a grid on which all sums are exact, inside the domain."""
    cdef const double[::1] weight = weight_or_none
    cdef Py_ssize_t n = alpha.n, k = alpha.k, i, j, y
    cdef double[::1] mass = np.zeros(k)
    cdef double s = 1, total, size = 0, h
    cdef bint kept = True
    with nogil:
        for i in range(n):
            alpha.read(i, &mass[0])
            for j in range(k):
                size += mass[j]
        h = grid(4 * size)
        for i in range(n):
            y = alpha.target_view[i]
            if weight is not None:
                s = weight[i] * INSIDE
            alpha.read(i, &mass[0])
            total = 0
            for j in range(k):
                mass[j] *= fmin(fmax(1 - (p[y] - p[j]), 0), 2)
                total += mass[j]
            for j in range(k):
                if total > s:
                    mass[j] *= s / total * INSIDE
                mass[j] = towards_zero(mass[j], h)
            kept = kept and alpha.write(i, &mass[0])
    if not kept:
        raise MemoryError
    return h


def reduce_flows(Duals alpha, double h, const double[:, ::1] flow, double[:, ::1] cut):
    """Take cut[y, j] away from the masses that flow from class j to class y, flow[y, j] in all:
    from each in proportion, and what the grid of h leaves from one after the other."""
    cdef Py_ssize_t n = alpha.n, k = alpha.k, i, j, y
    cdef double[::1] mass = np.zeros(k)
    cdef double[:, ::1] part = np.zeros((k, k))
    cdef double move
    cdef bint kept = True
    cdef int turn
    with nogil:
        for y in range(k):
            for j in range(k):
                if cut[y, j] > 0:
                    part[y, j] = cut[y, j] / flow[y, j]
        for turn in range(2):
            for i in range(n):
                y = alpha.target_view[i]
                alpha.read(i, &mass[0])
                for j in range(k):
                    if cut[y, j] > 0 and mass[j] > 0:
                        move = fmin(mass[j], cut[y, j])
                        if turn == 0:
                            move = fmin(towards_zero(mass[j] * part[y, j], h), move)
                        mass[j] -= move
                        cut[y, j] -= move
                kept = kept and alpha.write(i, &mass[0])
    if not kept:
        raise MemoryError


# --------------------------------------------------------------- columns, centred without a copy


def centred(Rows columns, double[::1] sums, double[::1] norms_sq):
    """Write sum_i x_ij and sum_i (x_ij - mean_j)^2 for each column x_j."""
    cdef Py_ssize_t at[BLOCK]
    cdef double values[BLOCK]
    cdef Py_ssize_t j, e, entry, count, zeros
    cdef double total, mean, square, plain
    with nogil:
        for j in range(columns.n):
            mean = 0
            for _ in range(2):
                total, square, plain, entry = 0, 0, 0, 0
                while True:
                    count = columns.read(j, entry, at, values)
                    for e in range(count):
                        total += values[e]
                        square += (values[e] - mean) * (values[e] - mean)
                        plain += values[e] * values[e]
                    entry += count
                    if count < BLOCK:
                        break
                mean = total / columns.d
            zeros = columns.d - entry
            square += zeros * mean * mean
            sums[j] = total
            # a constant column has no length but what rounding gives it
            # beside a large mean, what rounding does to v comes back: shorter steps keep it small
            norms_sq[j] = square + 512 * UNIT * plain if square > 1e-28 * plain else 0.0
