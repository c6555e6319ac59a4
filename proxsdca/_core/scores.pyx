"""Margins, classes and probabilities of new data: nothing of size n k but the answer."""

import numpy as np

from libc.math cimport exp, fmax

from .rows cimport BLOCK, Rows
from .signals cimport PATIENCE, poll


cdef int row_scores(Rows rows, Py_ssize_t i, const double* w, const double* start, Py_ssize_t k,
                    double* z, Py_ssize_t* unseen) except -1 nogil:
    """z = x_i^T w + start for the k columns of w."""
    cdef Py_ssize_t columns[BLOCK]
    cdef double values[BLOCK]
    cdef Py_ssize_t entry = 0, e, c, count
    cdef const double* row
    cdef double x
    for c in range(k):
        z[c] = start[c]
    while True:
        count = rows.read(i, entry, columns, values)
        for e in range(count):
            x, row = values[e], w + columns[e] * k
            for c in range(k):
                z[c] += x * row[c]
        entry += count
        unseen[0] += (count + 1) * k
        if unseen[0] > PATIENCE:
            unseen[0] = 0
            poll()
        if count < BLOCK:
            return 0


def scores(Rows rows, const double[:, ::1] w, const double[::1] start):
    """X w + start, (n, k)."""
    out = np.empty((rows.n, w.shape[1]))
    cdef double[:, ::1] z = out
    cdef Py_ssize_t i, unseen = 0
    with nogil:
        for i in range(rows.n):
            row_scores(rows, i, &w[0, 0], &start[0], w.shape[1], &z[i, 0], &unseen)
    return out


def winners(Rows rows, const double[:, ::1] w, const double[::1] start):
    """The first column of X w + start with the largest entry, for each row."""
    out = np.empty(rows.n, np.intp)
    cdef Py_ssize_t[::1] top = out
    cdef double[::1] z = np.empty(w.shape[1])
    cdef Py_ssize_t i, c, unseen = 0
    with nogil:
        for i in range(rows.n):
            row_scores(rows, i, &w[0, 0], &start[0], w.shape[1], &z[0], &unseen)
            top[i] = 0
            for c in range(1, w.shape[1]):
                if z[c] > z[top[i]]:
                    top[i] = c
    return out


def segment_winners(const double[::1] z, const Py_ssize_t[::1] offsets):
    """Where the largest z between offsets[i] and offsets[i + 1] is, from offsets[i] on."""
    out = np.empty(offsets.shape[0] - 1, np.intp)
    cdef Py_ssize_t[::1] top = out
    cdef Py_ssize_t i, r, best
    with nogil:
        for i in range(top.shape[0]):
            best = offsets[i]
            for r in range(offsets[i] + 1, offsets[i + 1]):
                if z[r] > z[best]:
                    best = r
            top[i] = best - offsets[i]
    return out


def softmax(double[::1] z, const Py_ssize_t[::1] offsets):
    """Replace the z between offsets[i] and offsets[i + 1] by exp(z) over their sum."""
    cdef Py_ssize_t i, r
    cdef double peak, total
    with nogil:
        for i in range(offsets.shape[0] - 1):
            peak = z[offsets[i]]
            for r in range(offsets[i] + 1, offsets[i + 1]):
                peak = fmax(peak, z[r])
            total = 0
            for r in range(offsets[i], offsets[i + 1]):
                z[r] = exp(z[r] - peak)
                total += z[r]
            for r in range(offsets[i], offsets[i + 1]):
                z[r] /= total
