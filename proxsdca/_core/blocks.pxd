# How X_i is read where it has k columns: x_i for all of them, or rows of its own (`explicit`).

from .kinds cimport AnyMap
from .rows cimport AnyRows, column, dot, span, value


cdef inline void some_margins(AnyRows rows, Py_ssize_t first, Py_ssize_t count, AnyMap map,
                              const double* v, Py_ssize_t k, Py_ssize_t c, int lanes,
                              double* m) noexcept nogil:
    """m_c ... m_{c + lanes - 1}, side by side so that additions overlap; lanes <= 8."""
    cdef double sums[8]
    cdef double x
    cdef Py_ssize_t e, at
    cdef int lane
    for lane in range(lanes):
        sums[lane] = 0
    for e in range(count):
        x = value(rows, first, e)
        at = column(rows, first, e) * k + c
        for lane in range(lanes):
            sums[lane] += x * map.at(at + lane, v[at + lane])
    for lane in range(lanes):
        m[c + lane] = sums[lane]


cdef inline bint margins(AnyRows rows, bint explicit, Py_ssize_t i, Py_ssize_t first_row,
                         AnyMap map, const double* v, Py_ssize_t k, double* m) noexcept nogil:
    """m = X_i^T grad g*(v); whether they are finite."""
    cdef Py_ssize_t first, count, c = 0
    cdef double check = 0
    if explicit:
        for c in range(k):
            m[c] = dot(rows, first_row + c, map, v)
    else:
        count = span(rows, i, &first)
        while c + 8 <= k:
            some_margins(rows, first, count, map, v, k, c, 8, m)
            c += 8
        if k - c >= 4:
            some_margins(rows, first, count, map, v, k, c, 4, m)
            c += 4
        if k - c >= 2:
            some_margins(rows, first, count, map, v, k, c, 2, m)
            c += 2
        if k - c >= 1:
            some_margins(rows, first, count, map, v, k, c, 1, m)
    for c in range(k):
        check += 0 * m[c]
    return check == 0


cdef inline double total(const double* x, Py_ssize_t k) noexcept nogil:
    """sum_j x_j, in four partial sums so that additions overlap."""
    cdef double s0 = 0, s1 = 0, s2 = 0, s3 = 0
    cdef Py_ssize_t j = 0
    while j + 4 <= k:
        s0 += x[j]
        s1 += x[j + 1]
        s2 += x[j + 2]
        s3 += x[j + 3]
        j += 4
    while j < k:
        s0 += x[j]
        j += 1
    return (s0 + s1) + (s2 + s3)
