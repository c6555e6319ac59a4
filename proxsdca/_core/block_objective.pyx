"""P(w), D(alpha) and error bounds for vector-valued losses; see objective.pyx for the sums.

The dual point that is certified has alpha_iy = -sum_{j != y} alpha_ij exactly, and lies in the
domain: where the masses -alpha_ij of a row add up to more than s_i by roundings, it is the row
divided by that excess.  So each alpha_ij may be off by a relative error, `off` below, which covers
the rounding of the sum, of the weights and that excess.
"""

import numpy as np

from libc.math cimport fabs, fmax
from libc.string cimport memcpy

from .duals cimport Duals
from .map cimport Map
from .objective cimport (
    FE_UNDERFLOW, Objective, Values, clear_sums, close_sums, feholdexcept, fenv_t, fesetenv,
    fetestexcept, scale_by, summands_of, values_of, with_g, with_g_conjugate,
)
from .rows cimport BLOCK, Rows
from .signals cimport PATIENCE, poll
from .sums cimport UNIT, Sum, Tally, add, result, rounding, tally
from .vector_losses cimport VectorLoss
from .wide cimport add_each_x, tally_in, tally_out


cdef extern from *:
    """
    /* How far above s_i the masses of a row may add up, relatively, and be forgiven. */
    #define PROXSDCA_FORGIVEN 1e-12
    """
    const double FORGIVEN "PROXSDCA_FORGIVEN"


cdef enum:
    ROOMS = 5       # vectors of k numbers that an example needs


def evaluate_blocks(Rows storage, VectorLoss term, Map map, delta, weight, const double[::1] w,
                    Duals alpha, double[::1] touched, double[:, ::1] sums, double lam,
                    beta=None, double eta=0.0):
    """Evaluate P(w) and D(alpha).

    Parameters
    ----------
    storage : Rows
        One row for each example, or for each of its classes.
    term, map, delta, weight
        The loss, g, the costs and the weights, as in `BlockEpoch`.
    w : array
        Flattened.
    alpha : Duals
    touched : array
        Overwritten: v = sum_i X_i alpha_i / (lam n), flattened.
    sums : (len(touched), 3) array
        Overwritten.
    lam : float
    beta : (k,) array or None
        The intercepts of the classes, where there are any.
    eta : float
        A bound on what one operation may lose to underflow; 0 if none does.

    Returns
    -------
    primal, dual : float
    error_primal, error_dual : float
        Bounds on their rounding errors.
    infeasible : int
        The first example whose alpha lies outside the domain of phi*, or -1.
    underflow : bool
        Whether an operation lost digits to underflow; then only the bounds of a call with
        eta = 2^-1074 hold.
    """
    cdef fenv_t environment
    cdef Objective o
    cdef Py_ssize_t infeasible = -1
    feholdexcept(&environment)      # the flags are read here, and must not show outside
    try:
        _evaluate(storage, term, map, delta, weight, w, alpha, touched, sums, lam, beta, eta,
                  &o, &infeasible)
        return (o.primal, o.dual, o.error_primal, o.error_dual, infeasible,
                fetestexcept(FE_UNDERFLOW) != 0)
    finally:
        fesetenv(&environment)


cdef int _evaluate(Rows storage, VectorLoss term, Map map, const double[::1] costs,
                   const double[::1] weight, const double[::1] w, Duals alpha,
                   double[::1] touched, double[:, ::1] sums, double lam,
                   const double[::1] beta, double eta, Objective* o,
                   Py_ssize_t* infeasible) except -1:
    cdef Py_ssize_t n = alpha.n, widest = alpha.widest, i, j, y, k, first, unseen = 0
    cdef bint explicit = alpha.k == 0
    cdef double[::1] rooms = np.zeros(ROOMS * widest)
    cdef double[::1] ones = np.ones(widest)
    cdef double* a = &rooms[0]                  # alpha_i, then beta
    cdef double* z = &rooms[widest]
    cdef double* carry = &rooms[2 * widest]     # then how far off z may be
    cdef double* size = &rooms[3 * widest]
    cdef double* active = &rooms[4 * widest]
    cdef const double* delta
    cdef double s = 1, off, worst_off = 0, worst_z, lost, excess
    cdef Sum losses = Sum(0, 0, 0, 0), conjugates = Sum(0, 0, 0, 0)
    cdef double mass
    cdef double found[4]
    cdef double error, error_loss = 0, error_conjugate = 0
    cdef Values v
    cdef Tally* tallies
    with nogil:
        tallies = clear_sums(sums)
        for i in range(n):
            y, k, first = alpha.target_view[i], alpha.size(i), alpha.first(i)
            if weight is not None:
                s = weight[i]
            alpha.read(i, a)
            add_each_x(a, k, found)
            mass = found[0] + found[1]
            for j in range(k):
                a[j] = 0 - a[j]
            a[y] = mass
            off = 2 * UNIT if weight is None else 16 * UNIT
            excess = a[y] / s - 1 if s > 0 else (0.0 if a[y] == 0 else 1.0)
            if excess > FORGIVEN:
                infeasible[0] = i
                return 0
            off += fmax(excess, 0)
            worst_off = fmax(worst_off, off)
            if explicit:
                for j in range(k):
                    z[j] = storage.weigh(first + j, &w[0], a[j], tallies, eta, &carry[j], &size[j],
                                         False)
                unseen += k * (storage.nnz // storage.n + 1)
                if unseen > PATIENCE:
                    unseen = 0
                    poll()
            else:
                block_pass(storage, i, &w[0], k, a, active, &sums[0, 0], z, carry, size, eta,
                           &unseen)
            if s == 0:
                continue
            if beta is not None:
                for j in range(k):
                    z[j] += beta[j]
                    carry[j] += UNIT * fabs(z[j])
            worst_z = lost = 0
            for j in range(k):
                worst_z = fmax(worst_z, carry[j])
                lost += 0 * carry[j]    # NaN where a margin overflowed, which fmax passes over
                a[j] = -a[j] / s if j != y else 0.0
            a[y] = fmax(1 - mass / s, 0)
            if costs is None:
                ones[y] = 0
                delta = &ones[0]
            else:
                delta = &costs[first if explicit else y * k]
            # phi is 1-Lipschitz in z_y and in the other z_j together
            add(&losses, s * term.bounded_phi(y, delta, z, k, &error))
            error_loss += s * (2 * worst_z + lost + error + (k + 4) * eta)
            add(&conjugates, s * term.bounded_omega(y, delta, a, k, off, &error))
            error_conjugate += s * (error + (k + 4) * eta)
            ones[y] = 1
        if not explicit:
            interleave(sums, widest, &rooms[0])
        close_sums(summands_of(storage), touched, sums, eta)
        v = values_of(touched, sums)
        scale_by(v, touched.shape[0], 1 / (lam * n), worst_off / UNIT, eta)
        o.primal = mean(&losses, n, error_loss, eta, &o.error_primal)
        with_g(o, map, &w[0], w.shape[0], lam, eta)
        o.dual = -mean(&conjugates, n, error_conjugate, eta, &o.error_dual)
        with_g_conjugate(o, map, v, touched.shape[0], lam, eta)
    return 0


cdef inline double mean(Sum* sum, Py_ssize_t n, double error_sum, double eta,
                        double* error) noexcept nogil:
    cdef double total = result(sum)
    error[0] = (error_sum * (1 + n * UNIT) + rounding(total, sum.size, n)) / n
    error[0] += 4 * UNIT * sum.size / n + 4 * eta
    return total / n


cdef inline void add_to(double* total, Py_ssize_t k, double x) noexcept nogil:
    """`tally` where the carry and the size are k numbers apart."""
    cdef Tally sum = Tally(total[0], total[k], total[2 * k])
    tally(&sum, x)
    total[0], total[k], total[2 * k] = sum.total, sum.carry, sum.size


cdef int interleave(double[:, ::1] sums, Py_ssize_t k, double* room) except -1 nogil:
    """Each total beside its carry and its size, for k classes of a column after the other."""
    cdef double* part
    cdef Py_ssize_t j, c, unseen = 0
    for j in range(sums.shape[0] // k):
        part = &sums[j * k, 0]
        memcpy(room, part, 3 * k * sizeof(double))
        for c in range(k):
            part[3 * c], part[3 * c + 1], part[3 * c + 2] = (room[c], room[k + c],
                                                             room[2 * k + c])
        unseen += k
        if unseen > PATIENCE:
            unseen = 0
            poll()
    return 0


cdef inline int block_pass(Rows storage, Py_ssize_t i, const double* w, Py_ssize_t k,
                           const double* a, double* active, double* sums, double* z,
                           double* off, double* size, double eta,
                           Py_ssize_t* unseen) except -1 nogil:
    """z = x_i^T w for every class, bounds on their errors, and sums += x_i a^T, which are as
    `tally_out` has them."""
    cdef Py_ssize_t columns[BLOCK]
    cdef double values[BLOCK]
    cdef Py_ssize_t* moved = <Py_ssize_t*>active
    cdef Py_ssize_t entry = 0, m, c, e, count, entries = 0, n_moved = 0
    for c in range(k):
        z[c] = off[c] = size[c] = 0
        if a[c] != 0:
            moved[n_moved] = c
            n_moved += 1
    while True:
        count = storage.read(i, entry, columns, values)
        tally_in(values, columns, count, w, k, z, off, size)
        if 3 * n_moved >= k:
            tally_out(values, columns, count, a, k, sums)
        else:
            for e in range(count):
                for m in range(n_moved):
                    add_to(sums + 3 * k * columns[e] + moved[m], k, values[e] * a[moved[m]])
        entries += count
        entry += count
        unseen[0] += (count + 1) * k
        if unseen[0] > PATIENCE:
            unseen[0] = 0
            poll()
        if count < BLOCK:
            break
    for c in range(k):
        z[c] += off[c]
        off[c] = rounding(z[c], size[c], entries) + entries * eta
    return 0


def accumulate(Rows storage, Duals alpha, double[::1] out):
    """out = sum_i X_i alpha_i, flattened."""
    cdef Py_ssize_t columns[BLOCK]
    cdef double values[BLOCK]
    cdef double[::1] room = np.zeros(alpha.widest)
    cdef Py_ssize_t[::1] moved = np.zeros(alpha.widest, np.intp)    # the classes that take part
    cdef Py_ssize_t i, j, y, k, e, r, entry, first, count, n_moved, unseen = 0
    cdef bint explicit = alpha.k == 0
    cdef Sum mass
    out[:] = 0
    with nogil:
        for i in range(alpha.n):
            y, k, first = alpha.target_view[i], alpha.size(i), alpha.first(i)
            alpha.read(i, &room[0])
            mass = Sum(0, 0, 0, 0)
            for j in range(k):
                if room[j] != 0:
                    add(&mass, room[j])
                    room[j] = -room[j]
            if result(&mass) == 0:
                continue
            room[y] = result(&mass)
            n_moved = 0
            for j in range(k):
                if room[j] != 0:
                    moved[n_moved] = j
                    n_moved += 1
            for r in range(k if explicit else 1):
                entry = 0
                while True:
                    count = storage.read(first + r if explicit else i, entry, columns, values)
                    for e in range(count):
                        if explicit:
                            out[columns[e]] += values[e] * room[r]
                        elif 3 * n_moved >= k:
                            for j in range(k):
                                out[columns[e] * k + j] += values[e] * room[j]
                        else:
                            for j in range(n_moved):
                                out[columns[e] * k + moved[j]] += values[e] * room[moved[j]]
                    entry += count
                    unseen += (count + 1) * (1 if explicit else k)
                    if unseen > PATIENCE:
                        unseen = 0
                        poll()
                    if count < BLOCK:
                        break


def at_zero(VectorLoss term, delta, weight, Duals alpha):
    """Set alpha_i = -s_i phi'(0), which belongs to w = 0."""
    cdef const double[::1] costs = delta
    cdef const double[::1] s = weight
    cdef double[::1] zeros = np.zeros(alpha.widest)
    cdef double[::1] ones = np.ones(alpha.widest)
    cdef double[::1] beta = np.zeros(alpha.widest)
    cdef const double* cost
    cdef Py_ssize_t i, j, y, k
    cdef bint kept = True
    for i in range(alpha.n):
        y, k = alpha.target_view[i], alpha.size(i)
        ones[y] = 0
        cost = &ones[0]
        if costs is not None:
            cost = &costs[alpha.first(i) if alpha.k == 0 else y * k]
        term.attain(y, cost, &zeros[0], k, &beta[0])
        ones[y] = 1
        if s is not None:
            for j in range(k):
                beta[j] *= s[i]
        kept = kept and alpha.write(i, &beta[0])
    if not kept:
        raise MemoryError


def restore(Duals alpha, Duals other, rows):
    """alpha_i = other_i for the rows of the mask."""
    cdef const unsigned char[::1] mask = rows.view(np.uint8)
    cdef double[::1] mass = np.zeros(alpha.widest)
    cdef Py_ssize_t i
    for i in range(alpha.n):
        if mask[i]:
            other.read(i, &mass[0])
            if not alpha.write(i, &mass[0]):
                raise MemoryError
