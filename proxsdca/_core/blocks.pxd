# How X_i is read where it has k columns: x_i for all of them, or rows of its own (`explicit`).

from .kinds cimport AnyMap
from .regs cimport L2Map
from .rows cimport BLOCK, AnyRows, column, dot, span, value
from .wide cimport sum_in, sum_out


cdef inline Py_ssize_t places(AnyRows rows, Py_ssize_t first, Py_ssize_t begin, Py_ssize_t count,
                              Py_ssize_t stride, double* x, Py_ssize_t* place) noexcept nogil:
    """Up to BLOCK of a row's entries, from the given one on, and where in w their numbers are, of
    which each has `stride`; returns how many."""
    cdef Py_ssize_t e
    count = count - begin if count - begin < BLOCK else BLOCK
    for e in range(count):
        x[e] = value(rows, first, begin + e)
        place[e] = column(rows, first, begin + e) * stride
    return count


cdef inline void add_row(AnyRows rows, Py_ssize_t i, double s, const double* a,
                         Py_ssize_t stride, double* w) noexcept nogil:
    """w += s x_i a^T."""
    cdef double x[BLOCK]
    cdef Py_ssize_t place[BLOCK]
    cdef Py_ssize_t first, count = span(rows, i, &first), begin = 0, e, some
    while begin < count:
        some = places(rows, first, begin, count, stride, x, place)
        if s != 1:
            for e in range(some):
                x[e] *= s
        sum_out(x, place, some, a, stride, w)
        begin += some


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


cdef inline bint margins(AnyRows rows, bint explicit, Py_ssize_t i, Py_ssize_t first_row,
                         AnyMap map, const double* v, Py_ssize_t k, double* m,
                         Py_ssize_t stride=0) noexcept nogil:
    """m = X_i^T grad g*(v); whether they are finite.  v has `stride` numbers for each entry of an
    x_i that serves all classes, k where that is 0."""
    cdef double x[BLOCK]
    cdef Py_ssize_t place[BLOCK]
    cdef Py_ssize_t first, count, begin = 0, some, c = 0
    if explicit:
        for c in range(k):
            m[c] = dot(rows, first_row + c, map, v)
    elif AnyMap is L2Map:
        count = span(rows, i, &first)
        stride = stride if stride else k
        while begin == 0 or begin < count:
            some = places(rows, first, begin, count, stride, x, place)
            sum_in(x, place, some, v, stride, m, begin > 0)
            begin += some if some else 1
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
    return 0 * total(m, k) == 0
