"""P(w), D(alpha) and their difference for a structured problem, recomputed, with error bounds.

P(w) takes a call of the oracle for every example, D(alpha) the planes of the labels that have a
weight; nothing is taken from the loop.  Where the weights of an example add up to 1 + e, e a few
roundings, alpha_i / (1 + e) is in the domain of phi_i*, and is what the bounds are for.
"""

import numpy as np

from libc.float cimport DBL_MIN
from libc.math cimport fmax
from libc.stdint cimport int32_t

from .atoms cimport Atoms
from .map cimport Map
from .objective cimport (
    Objective, Values, clear_sums, close_sums, scale_by, values_of, with_g, with_g_conjugate,
)
from .oracle cimport Oracle, Plane, dot, size_of
from .signals cimport PATIENCE, poll
from .sums cimport EVALUATION, UNIT, Sum, Tally, add, result, rounding, tally


def evaluate_planes(Oracle oracle, Map map, w, Atoms atoms, double[::1] touched,
                    double[:, ::1] sums, double lam, double[:, ::1] shares):
    """Evaluate P(w) and D(alpha).

    Parameters
    ----------
    oracle, map
        The problem.
    w : (d,) array
    atoms : Atoms
        alpha.
    touched : (d,) array
        Overwritten: v.
    sums : (d, 3) array
        Overwritten.
    lam : float
    shares : (2, n) array
        Overwritten: each example's share of the gap, and the largest margin of its atoms.

    Returns
    -------
    primal, dual : float
    error_primal, error_dual : float
        Bounds on their rounding errors.
    wrong : tuple or None
        (i, its margin, a larger one) for the first example whose oracle's answer is wrong.
    """
    cdef const double[::1] w_view = w
    cdef Values v
    cdef Objective o
    cdef Py_ssize_t wrong = -1
    cdef double roundings, eta = 0, eta_w = DBL_MIN if np.any(w) else 0.0   # 0 cannot underflow
    cdef double claims[2]
    cdef Workspace room = Workspace(oracle)
    oracle.look_at(w)
    o.dual = planes_of(oracle, atoms, w_view, touched, sums, shares, room, &o.error_dual,
                       &roundings, &eta)
    v = values_of(touched, sums)
    scale_by(v, w_view.shape[0], 1 / (lam * oracle.n), roundings, eta)
    with nogil:
        with_g_conjugate(&o, map, v, w_view.shape[0], lam, eta)
    o.primal = mean_margin(oracle, atoms, w_view, shares, room, &o.error_primal, &wrong, claims)
    with nogil:
        with_g(&o, map, &w_view[0], w_view.shape[0], lam, eta_w)
    return (o.primal, o.dual, o.error_primal, o.error_dual,
            None if wrong < 0 else (wrong, claims[0], claims[1]))


def accumulate_planes(Atoms atoms, double[::1] u):
    """u = sum_i X_i alpha_i, summed plainly."""
    cdef Workspace room = Workspace(atoms.oracle)
    cdef Py_ssize_t i, a, e
    cdef double beta
    cdef Plane plane
    u[:] = 0
    for i in range(atoms.n):
        for a in range(1, count_of(atoms, i)):
            beta = term(atoms, i, a, room, &plane)
            for e in range(plane.count):
                u[plane.indices[e]] += beta * plane.values[e]


cdef class Workspace:
    cdef Py_ssize_t[::1] indices
    cdef double[::1] values, work
    cdef int32_t[::1] label

    def __init__(self, Oracle oracle):
        self.indices = np.empty(oracle.longest + 1, np.intp)
        self.values = np.empty(oracle.longest + 1)
        self.work = np.empty(oracle.workspace + 1)
        self.label = np.zeros(oracle.widest, np.int32)


cdef inline Py_ssize_t count_of(Atoms atoms, Py_ssize_t i) noexcept nogil:
    return atoms.examples[i].count if atoms.labelled else 2


cdef inline double term(Atoms atoms, Py_ssize_t i, Py_ssize_t a, Workspace room,
                        Plane* plane) except? -1 nogil:
    """A plane of example i, and its weight; where labels are not kept, their mean is the only one.
    """
    if not atoms.labelled:
        plane[0] = atoms.mean(i)
        return 1
    if atoms.examples[i].atoms[a].beta == 0:
        plane.count = 0
        plane.delta = 0
        return 0
    atoms.oracle.proven(i, atoms.label(i, a), &room.indices[0], &room.values[0], plane)
    return atoms.examples[i].atoms[a].beta


cdef double planes_of(Oracle oracle, Atoms atoms, const double[::1] w, double[::1] touched,
                      double[:, ::1] sums, double[:, ::1] shares, Workspace room, double* error,
                      double* roundings, double* eta) except? -1:
    """1/n sum_i sum_j beta_ij delta(j, y_i), a bound on its error, and n lambda v with bounds;
    minus the mean margin of each example goes into shares."""
    if oracle.python:
        return sum_planes(atoms, w, touched, sums, shares, room, error, roundings, eta)
    with nogil:
        return sum_planes(atoms, w, touched, sums, shares, room, error, roundings, eta)


cdef double sum_planes(Atoms atoms, const double[::1] w, double[::1] touched,
                       double[:, ::1] sums, double[:, ::1] shares, Workspace room, double* error,
                       double* roundings, double* eta) except? -1 nogil:
    cdef Sum costs = Sum(0, 0, 0, 0), mass
    cdef Py_ssize_t i, a, e, unseen = 0, n = atoms.n
    cdef double beta, margin, over = 0, mixes = 0, summands = 0
    cdef Plane plane
    cdef Tally* tallies
    tallies = clear_sums(sums)
    for i in range(n):
        mass = Sum(0, 0, 0, 0)
        shares[0, i] = shares[1, i] = 0
        for a in range(1, count_of(atoms, i)):
            beta = term(atoms, i, a, room, &plane)
            if beta > 0:
                eta[0] = DBL_MIN
            add(&mass, beta)
            add(&costs, beta * plane.delta)
            margin = plane.delta - dot(&plane, &w[0])
            shares[0, i] -= beta * margin
            if atoms.oracle.python:         # surely at least this, however it was summed
                shares[1, i] = fmax(shares[1, i], margin - 1e-9 * size_of(&plane, &w[0]))
            for e in range(plane.count):
                tally(&tallies[plane.indices[e]], beta * plane.values[e])
            summands += plane.count
            unseen += plane.count + 1
            if unseen > PATIENCE:
                unseen = 0
                poll()
        if atoms.labelled:
            over = fmax(over, result(&mass) - 1 + rounding(result(&mass), mass.size, mass.count))
        else:
            mixes = fmax(mixes, 4 * atoms.means[i].mixes)
    close_sums(summands, touched, sums, eta[0])
    # what brings the weights back to a sum of 1, and what means that are kept as such may be off by
    roundings[0] = EVALUATION + over / UNIT + mixes
    error[0] = (rounding(result(&costs), costs.size, costs.count)
                + (roundings[0] + EVALUATION) * UNIT * costs.size + costs.count * eta[0]) / n
    return result(&costs) / n


cdef double mean_margin(Oracle oracle, Atoms atoms, const double[::1] w, double[:, ::1] shares,
                        Workspace room, double* error, Py_ssize_t* wrong,
                        double* claims) except? -1:
    """1/n sum_i max_j margin, and a bound on its error."""
    cdef double peak = np.abs(w).max(), norm = 0
    if peak > 0:        # squares that neither overflow nor underflow
        norm = peak * np.linalg.norm(np.divide(w, peak))
    if oracle.python:
        return sum_margins(oracle, atoms, w, norm, shares, room, error, wrong, claims)
    with nogil:
        return sum_margins(oracle, atoms, w, norm, shares, room, error, wrong, claims)


cdef double sum_margins(Oracle oracle, Atoms atoms, const double[::1] w, double norm,
                        double[:, ::1] shares, Workspace room, double* error,
                        Py_ssize_t* wrong, double* claims) except? -1 nogil:
    cdef Sum losses = Sum(0, 0, 0, 0), margin
    cdef Py_ssize_t i, e, n = oracle.n
    cdef double off = 0, own, larger, value, seen = 0
    cdef Plane plane
    for i in range(n):
        oracle.argmax(i, &w[0], True, &room.work[0], &room.label[0], &value)
        oracle.plane(i, &room.label[0], &room.indices[0], &room.values[0], &plane)
        margin = Sum(0, 0, 0, 0)
        add(&margin, plane.delta)
        for e in range(plane.count):
            add(&margin, -plane.values[e] * w[plane.indices[e]])
        own = result(&margin)
        value = oracle.doubt(i, norm)
        larger = fmax(shares[1, i], 0)      # y_i itself has the margin 0
        if own < larger - 1e-9 * margin.size and oracle.exact and oracle.python:
            wrong[0], claims[0], claims[1] = i, own, larger
            oracle.drop(&room.label[0])
            return 0
        own = fmax(own, larger)
        shares[0, i] = fmax(shares[0, i] + own, 0)
        add(&losses, own)
        off += (rounding(own, margin.size, margin.count) + EVALUATION * UNIT * plane.delta + value
                + 2 * UNIT * margin.size        # of sums of entries at one place
                + (margin.count * DBL_MIN if norm > 0 else 0.0))
        oracle.drop(&room.label[0])
        seen += plane.count + oracle.work / n
        if seen > PATIENCE:
            seen = 0
            poll()
    own = result(&losses)
    error[0] = 1.01 * (off + rounding(own, losses.size, n)) / n + 4 * UNIT * losses.size / n
    return own / n
