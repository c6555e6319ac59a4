# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Checks of arrays at the speed of memory; nothing is changed and nothing is judged.

A check reads everything once without a branch, which the compiler vectorises,
and looks for the first offender only when it knows that there is one.
"""

from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint32_t, uint64_t

from .signals cimport PATIENCE, poll
from .wide cimport drops32, drops64, nonfinite32, nonfinite64

ctypedef fused real:
    float
    double

ctypedef fused integer:
    int32_t
    int64_t


cdef inline bint nonfinite(real x) noexcept nogil:
    return x - x != 0       # both NaN and infinity less themselves are NaN


cdef int any_nonfinite(const real* x, Py_ssize_t count, Py_ssize_t stride) except -1 nogil:
    """`stride` is in bytes."""
    cdef Py_ssize_t i, begin, end = 0
    cdef int found = 0
    while end < count:
        begin, end = end, min(end + PATIENCE, count)
        if stride == sizeof(real):
            if real is double:
                found |= nonfinite64(x + begin, end - begin)
            else:
                found |= nonfinite32(x + begin, end - begin)
        else:
            for i in range(begin, end):
                found |= nonfinite((<const real*>(<const char*>x + i * stride))[0])
        if end < count:
            poll()
    return found


def first_nonfinite(const real[:] x):
    """Return the position of the first NaN or infinity of a vector, or None."""
    cdef Py_ssize_t i, n = x.shape[0]
    cdef int found = 0
    if n:
        with nogil:
            found = any_nonfinite(&x[0], n, x.strides[0])
    if found:
        for i in range(n):
            if nonfinite(x[i]):
                return i


def first_nonfinite_2d(const real[:, :] x):
    """Return (row, column) of the first NaN or infinity of a matrix by rows, or None."""
    cdef Py_ssize_t i, j, n = x.shape[0], d = x.shape[1]
    cdef Py_ssize_t count = n, length = d, outer = x.strides[0], inner = x.strides[1]
    cdef int found = 0
    cdef Py_ssize_t unseen = 0
    if n == 0 or d == 0:
        return None
    if abs(outer) < abs(inner):     # along memory, whichever way that is
        count, length, outer, inner = length, count, inner, outer
    if outer == length * inner:     # no gaps: one long vector
        count, length = 1, n * d
    with nogil:
        for i in range(count):
            found |= any_nonfinite(<const real*>(<const char*>&x[0, 0] + i * outer),
                                   length, inner)
            unseen += length
            if unseen > PATIENCE:
                unseen = 0
                poll()
    if found:
        for i in range(n):
            for j in range(d):
                if nonfinite(x[i, j]):
                    return i, j


def first_descent(const integer[::1] x):
    """Return the first k with x[k + 1] < x[k], or None."""
    cdef Py_ssize_t k, begin, end = 0, last = x.shape[0] - 1
    cdef int found = 0
    with nogil:
        while end < last:
            begin, end = end, min(end + PATIENCE, last)
            for k in range(begin, end):
                found |= x[k + 1] < x[k]
            poll()
    if found:
        for k in range(last):
            if x[k + 1] < x[k]:
                return k


def first_outside(const integer[::1] x, Py_ssize_t stop):
    """Return the first k where 0 <= x[k] < stop does not hold, or None."""
    cdef Py_ssize_t k, begin, end = 0, n = x.shape[0]
    cdef uint32_t largest32 = <uint32_t>min(stop - 1, <Py_ssize_t>INT32_MAX), found32 = 0
    cdef uint64_t largest64 = <uint64_t>(stop - 1), found64 = 0
    cdef bint found
    # An index is negative, or the largest allowed one less the index is, just when
    # the top bit says so; unsigned arithmetic wraps around where signed may not.
    with nogil:
        while end < n:
            begin, end = end, min(end + PATIENCE, n)
            if integer is int32_t:
                for k in range(begin, end):
                    found32 |= <uint32_t>x[k] | (largest32 - <uint32_t>x[k])
            else:
                for k in range(begin, end):
                    found64 |= <uint64_t>x[k] | (largest64 - <uint64_t>x[k])
            poll()
    found = found32 >> 31 or found64 >> 63
    if found:
        for k in range(n):
            if not 0 <= x[k] < stop:
                return k


def strictly_increasing(const integer[::1] indptr, const integer[::1] indices):
    """Return whether the indices of every row are sorted, without a duplicate.

    The structure must have been checked: `indptr` rises from 0 to len(indices).
    """
    cdef Py_ssize_t i, k, begin, end = 1, n = indptr.shape[0] - 1, nnz = indices.shape[0]
    cdef Py_ssize_t drops = 0
    # Each place where the indices fail to rise must be the start of a row.
    with nogil:
        while end < nnz:
            begin, end = end, min(end + PATIENCE, nnz)
            if integer is int32_t:
                drops += drops32(&indices[begin - 1], end - begin)
            else:
                drops += drops64(&indices[begin - 1], end - begin)
            poll()
        for i in range(1, n):
            k = indptr[i]
            if 0 < k < nnz and indptr[i - 1] < k:
                drops -= indices[k] <= indices[k - 1]
    return drops == 0


def two_values(const double[::1] x, double[::1] signs):
    """Return the lower and the higher value of a vector that has just two, and write -1 and +1 for
    them; None where it has not, and nothing of what was written means anything."""
    cdef Py_ssize_t i, n = x.shape[0]
    cdef double low, high
    cdef int others = 0
    if not n:
        return None
    low = high = x[0]
    with nogil:
        for i in range(n):
            low = x[i] if x[i] < low else low
            high = x[i] if x[i] > high else high
        for i in range(n):
            others |= (x[i] != low) & (x[i] != high)    # as a NaN is
            signs[i] = 1.0 if x[i] == high else -1.0
    return None if others or low == high else (low, high)
