"""Oracles that are compiled: multiclass with costs, linear chains, several labels on a tree.

Ties go to the label with the lower number: for a chain in its last position first, for a tree in
its roots first.
"""

import numpy as np

from libc.math cimport fabs, sqrt
from libc.stdint cimport int32_t

from .oracle cimport Oracle, Plane
from .regs import L2Map
from .rows cimport BLOCK, Rows
from .signals cimport PATIENCE, poll
from .sums cimport UNIT


cdef class RowsOracle(Oracle):
    """What the ready oracles have in common.

    Parameters
    ----------
    rows : Rows
        X.
    offsets : (n + 1,) array
        Where the rows of each example begin, and where the last one's end.
    k : int
        How many labels a row may have.
    """

    def __init__(self, Rows rows, const Py_ssize_t[::1] offsets, Py_ssize_t k):
        cdef Py_ssize_t columns[BLOCK]
        cdef double values[BLOCK]
        cdef Py_ssize_t i, t, m, count, row, most, entries, unseen = 0
        cdef double square, sizes, total
        self.rows, self.offsets, self.k, self.n = rows, offsets, k, offsets.shape[0] - 1
        self.exact, self.known = True, True
        norms = np.sqrt(rows.norms_sq(L2Map()))
        self.lengths = np.add.reduceat(norms, offsets[:self.n])
        self.reach, self.roundings = np.zeros(self.n), np.zeros(self.n)
        self.dearest = np.zeros(self.n)
        self.made_of = rows.fingerprint()
        with nogil:
            for i in range(self.n):
                most = entries = 0
                total = 0
                for t in range(offsets[i], offsets[i + 1]):
                    row = 0
                    square = sizes = 0
                    while True:
                        count = rows.read(t, row, columns, values)
                        for m in range(count):
                            square += values[m] * values[m]
                            sizes += fabs(values[m])
                        row += count
                        unseen += count + 1
                        if unseen > PATIENCE:
                            unseen = 0
                            poll()
                        if count < BLOCK:
                            break
                    most = max(most, row)
                    entries += row
                    # entries of one place may cancel, their roundings do not
                    total += sqrt(square) if rows.canonical else sizes
                self.reach[i] = total
                self.roundings[i] = most
                self.longest = max(self.longest, 2 * entries)
        self.work = <double>rows.nnz * k

    cdef void scores(self, Py_ssize_t row, const double* w, double* z) noexcept nogil:
        """z_c = sum_f x_f w_fc."""
        cdef Py_ssize_t columns[BLOCK]
        cdef double values[BLOCK]
        cdef Py_ssize_t first = 0, m, c, count, k = self.k
        cdef const double* weights
        cdef double x
        for c in range(k):
            z[c] = 0
        while True:
            count = self.rows.read(row, first, columns, values)
            for m in range(count):
                x = values[m]
                weights = w + columns[m] * k
                for c in range(k):
                    z[c] += x * weights[c]
            first += count
            if count < BLOCK:
                break

    cdef Py_ssize_t entries(self, Py_ssize_t row, Py_ssize_t c, double factor, Py_ssize_t room,
                            Py_ssize_t* indices, double* values) noexcept nogil:
        """factor x at the weights of label c; returns how many entries that is, as in `swap`."""
        cdef Py_ssize_t columns[BLOCK]
        cdef double x[BLOCK]
        cdef Py_ssize_t first = 0, m, count, used = 0
        while True:
            count = self.rows.read(row, first, columns, x)
            for m in range(count):
                if x[m] != 0 and used < room:
                    indices[used] = columns[m] * self.k + c
                    values[used] = factor * x[m]
                    used += 1
            first += count
            if count < BLOCK:
                return used

    cdef Py_ssize_t swap(self, Py_ssize_t row, Py_ssize_t y, Py_ssize_t c, Py_ssize_t room,
                         Py_ssize_t* indices, double* values) noexcept nogil:
        """x at the weights of label y, less x at those of c; returns how many entries that is.

        Without those that are 0, so that sums are the same for every storage; and without those
        that there is no room for, as X may have changed since the oracle was made.
        """
        cdef Py_ssize_t columns[BLOCK]
        cdef double x[BLOCK]
        cdef Py_ssize_t first = 0, m, count, used = 0
        while True:
            count = self.rows.read(row, first, columns, x)
            for m in range(count):
                if x[m] != 0 and used + 2 <= room:
                    indices[used] = columns[m] * self.k + y
                    indices[used + 1] = columns[m] * self.k + c
                    values[used] = x[m]
                    values[used + 1] = -x[m]
                    used += 2
            first += count
            if count < BLOCK:
                return used

    cdef double doubt(self, Py_ssize_t i, double norm) noexcept nogil:
        # every score is off by at most so many roundings of its summands; two are compared
        return 2 * self.roundings[i] * UNIT * (self.reach[i] * norm + self.dearest[i])

    def shape(self):
        return [self.k, *Oracle.shape(self)]

    def changed(self):
        """Whether X is not what it was when the oracle was made."""
        return self.rows.fingerprint() != self.made_of

    def fingerprint(self):
        """A number that changes, almost surely, with any bit of X."""
        return self.rows.fingerprint()


cdef class MulticlassOracle(RowsOracle):
    """psi(x, j) = x at the weights of class j.

    Parameters
    ----------
    rows : Rows
    target : (n,) array or None
        y; without it, the oracle is for decoding.
    k : int
    delta : (k k,) array
        cost(j, y) at y k + j.
    """

    cdef const int32_t[::1] target
    cdef const double[::1] delta

    def __init__(self, Rows rows, target, Py_ssize_t k, const double[::1] delta):
        cdef Py_ssize_t i, c
        RowsOracle.__init__(self, rows, np.arange(rows.n + 1, dtype=np.intp), k)
        self.target, self.delta = target, delta
        self.d, self.widest, self.workspace = rows.d * k, 1, k
        for i in range(self.n):
            self.roundings[i] += 8
            if target is not None:
                self.dearest[i] = max(delta[self.target[i] * k + c] for c in range(k))

    cdef int argmax(self, Py_ssize_t i, const double* w, bint costs, double* work, int32_t* label,
                    double* value) except -1 nogil:
        cdef Py_ssize_t c, best = 0, k = self.k
        self.scores(i, w, work)
        if costs:
            for c in range(k):
                work[c] += self.delta[self.target[i] * k + c]
        for c in range(k):
            if work[c] > work[best]:
                best = c
        label[0] = <int32_t>best
        value[0] = work[best]
        return 0

    cdef int plane(self, Py_ssize_t i, const int32_t* label, Py_ssize_t* indices, double* values,
                   Plane* plane) except -1 nogil:
        cdef Py_ssize_t y = self.target[i], count = 0
        if label[0] != y:
            count = self.swap(i, y, label[0], self.longest, indices, values)
        plane[0] = Plane(count, indices, values, self.delta[y * self.k + label[0]])
        return 0


cdef class ChainOracle(RowsOracle):
    """psi(x, y) = sum_t x_t at the weights of y_t, a 1 for each transition, for the start and for
    the end; delta counts the positions that differ.

    Parameters
    ----------
    rows : Rows
        The positions of all sequences, one after the other.
    offsets : (n + 1,) array
        Where sequences begin, and where the last one ends.
    target : array or None
        The label of each position; without it, the oracle is for decoding.
    k : int
    mean : bool
        Whether delta is divided by the length.
    """

    cdef const int32_t[::1] target
    cdef bint mean
    cdef Py_ssize_t longest_chain

    def __init__(self, Rows rows, const Py_ssize_t[::1] offsets, target, Py_ssize_t k, bint mean):
        cdef Py_ssize_t i, length
        RowsOracle.__init__(self, rows, offsets, k)
        self.target, self.mean = target, mean
        self.d = rows.d * k + k * k + 2 * k
        for i in range(self.n):
            length = offsets[i + 1] - offsets[i]
            self.widest = max(self.widest, length)
            self.reach[i] += length + 1
            self.roundings[i] += 3 * length + 8
            self.dearest[i] = 1 if mean else length
        self.longest += 2 * (self.widest + 1)
        # scores, two rows of sums, one of places, and the places of all positions as int32
        self.workspace = 4 * k + self.widest * k
        self.work += <double>rows.n * k * k

    cdef Py_ssize_t size(self, Py_ssize_t i) noexcept nogil:
        return self.offsets[i + 1] - self.offsets[i]

    cdef int argmax(self, Py_ssize_t i, const double* w, bint costs, double* work, int32_t* label,
                    double* value) except -1 nogil:
        # Viterbi: best[c] is the largest score of all that ends with c at position t
        cdef Py_ssize_t k = self.k, begin = self.offsets[i], length = self.offsets[i + 1] - begin
        cdef Py_ssize_t t, b, c
        cdef const double* transitions = w + self.rows.d * k
        cdef const double* start = transitions + k * k
        cdef const double* end = start + k
        cdef double* z = work
        cdef double* best = work + k
        cdef double* next = work + 2 * k
        cdef double* place = work + 3 * k
        cdef int32_t* places = <int32_t*>(work + 4 * k)
        cdef double* swapped
        cdef double unit = 1, score, base, seen = 0
        if self.mean:
            unit = 1 / <double>length
        for t in range(length):
            self.scores(begin + t, w, z)
            if costs:
                for c in range(k):
                    z[c] += unit
                z[self.target[begin + t]] -= unit
            if t == 0:
                for c in range(k):
                    best[c] = z[c] + start[c]
                continue
            seen += k * k
            if seen > PATIENCE:
                seen = 0
                poll()
            base = best[0]
            for c in range(k):
                next[c] = base + transitions[c]
                place[c] = 0
            for b in range(1, k):
                base = best[b]
                for c in range(k):
                    score = base + transitions[b * k + c]
                    place[c] = b if score > next[c] else place[c]
                    next[c] = score if score > next[c] else next[c]
            for c in range(k):
                next[c] += z[c]
                places[t * k + c] = <int32_t>place[c]
            swapped = best
            best = next
            next = swapped
        b = 0
        for c in range(k):
            best[c] += end[c]
            if best[c] > best[b]:
                b = c
        value[0] = best[b]
        for t in range(length - 1, -1, -1):
            label[t] = <int32_t>b
            if t:
                b = places[t * k + b]
        return 0

    cdef int plane(self, Py_ssize_t i, const int32_t* label, Py_ssize_t* indices, double* values,
                   Plane* plane) except -1 nogil:
        cdef Py_ssize_t k = self.k, begin = self.offsets[i], length = self.offsets[i + 1] - begin
        cdef const int32_t* y = &self.target[begin]
        cdef Py_ssize_t t, count = 0, differ = 0, edges = self.rows.d * k
        cdef Py_ssize_t room = self.longest - 2 * (length + 1)      # the rest is for transitions
        for t in range(length):
            if label[t] != y[t]:
                differ += 1
                count += self.swap(begin + t, y[t], label[t], room - count, indices + count,
                                   values + count)
            if t and (label[t] != y[t] or label[t - 1] != y[t - 1]):
                room += 2
                indices[count], values[count] = edges + y[t - 1] * k + y[t], 1
                indices[count + 1], values[count + 1] = edges + label[t - 1] * k + label[t], -1
                count += 2
        if label[0] != y[0]:
            indices[count], values[count] = edges + k * k + y[0], 1
            indices[count + 1], values[count + 1] = edges + k * k + label[0], -1
            count += 2
        if label[length - 1] != y[length - 1]:
            indices[count], values[count] = edges + k * k + k + y[length - 1], 1
            indices[count + 1], values[count + 1] = edges + k * k + k + label[length - 1], -1
            count += 2
        plane[0] = Plane(count, indices, values,
                         differ / <double>length if self.mean else <double>differ)
        return 0


cdef class TreeOracle(RowsOracle):
    """k labels that are on or off: psi(x, y) = sum_l y_l x at the weights of label l, and for each
    edge (a, b) of a forest a 1 at 2 y_a + y_b; delta counts the labels that differ.

    Parameters
    ----------
    rows : Rows
    target : (n, k) array or None
        y; without it, the oracle is for decoding.
    k : int
    edges : (m, 2) array
        A forest.
    order : (k,) array
        The labels, each after its parent.
    parent_edge : (k,) array
        The edge to the parent, -1 for roots.
    """

    cdef const int32_t[:, ::1] target
    cdef const Py_ssize_t[:, ::1] edges
    cdef const Py_ssize_t[::1] order, parent_edge

    def __init__(self, Rows rows, target, Py_ssize_t k, const Py_ssize_t[:, ::1] edges,
                 const Py_ssize_t[::1] order, const Py_ssize_t[::1] parent_edge):
        cdef Py_ssize_t i
        RowsOracle.__init__(self, rows, np.arange(rows.n + 1, dtype=np.intp), k)
        self.target, self.edges, self.order, self.parent_edge = target, edges, order, parent_edge
        self.d, self.widest = rows.d * k + 4 * edges.shape[0], k
        self.workspace = 3 * k
        for i in range(self.n):
            self.reach[i] = k * self.reach[i] + edges.shape[0]
            self.roundings[i] += 4 * k + 8
            self.dearest[i] = k
        # all k labels may differ, each with the entries of the row
        self.longest = self.longest // 2 * k + 2 * edges.shape[0]

    def shape(self):
        return [np.array(self.edges).tolist(), *RowsOracle.shape(self)]

    cdef int argmax(self, Py_ssize_t i, const double* w, bint costs, double* work, int32_t* label,
                    double* value) except -1 nogil:
        # max-product: off[node] and on[node] are the largest scores of the subtree below node
        cdef Py_ssize_t k = self.k, m, node, e, up
        cdef const double* pairs
        cdef double* on = work
        cdef double* off = work + k
        cdef double* above = work + 2 * k
        cdef double from_off, from_on
        cdef bint child_first
        self.scores(i, w, on)
        for node in range(k):
            off[node] = 0
            if costs:
                if self.target[i, node]:
                    off[node] = 1
                else:
                    on[node] += 1
        for m in range(k - 1, -1, -1):
            node = self.order[m]
            e = self.parent_edge[node]
            if e < 0:
                continue
            child_first = self.edges[e, 0] == node
            up = self.edges[e, 1] if child_first else self.edges[e, 0]
            pairs = w + self.rows.d * k + 4 * e
            # pairs[2 y_a + y_b]; with the parent off, then on
            from_off = off[node] + pairs[0]
            from_on = on[node] + (pairs[2] if child_first else pairs[1])
            above[node] = 2 if from_on > from_off else 0       # bit 1: on where the parent is off
            off[up] += from_on if from_on > from_off else from_off
            from_off = off[node] + (pairs[1] if child_first else pairs[2])
            from_on = on[node] + pairs[3]
            above[node] += 1 if from_on > from_off else 0      # bit 0: on where the parent is on
            on[up] += from_on if from_on > from_off else from_off
        value[0] = 0
        for m in range(k):
            node = self.order[m]
            e = self.parent_edge[node]
            if e < 0:
                label[node] = on[node] > off[node]
                value[0] += on[node] if on[node] > off[node] else off[node]
            else:
                up = self.edges[e, 1] if self.edges[e, 0] == node else self.edges[e, 0]
                label[node] = <int32_t>above[node] & 1 if label[up] else <int32_t>above[node] >> 1
        return 0

    cdef int plane(self, Py_ssize_t i, const int32_t* label, Py_ssize_t* indices, double* values,
                   Plane* plane) except -1 nogil:
        cdef Py_ssize_t k = self.k, node, e, count = 0, differ = 0, a, b, at
        cdef Py_ssize_t room = self.longest - 2 * self.edges.shape[0]
        cdef const int32_t* y = &self.target[i, 0]
        for node in range(k):
            if label[node] != y[node]:
                differ += 1
                count += self.entries(i, node, y[node] - label[node], room - count,
                                      indices + count, values + count)
        for e in range(self.edges.shape[0]):
            a, b, at = self.edges[e, 0], self.edges[e, 1], self.rows.d * k + 4 * e
            if label[a] != y[a] or label[b] != y[b]:
                indices[count], values[count] = at + 2 * y[a] + y[b], 1
                indices[count + 1], values[count + 1] = at + 2 * label[a] + label[b], -1
                count += 2
        plane[0] = Plane(count, indices, values, differ)
        return 0
