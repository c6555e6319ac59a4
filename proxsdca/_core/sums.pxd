# Sums that carry their rounding errors along.

from libc.math cimport fabs

cdef enum:
    # A value formed of a handful of operations and library calls is off by at
    # most this many roundings of its summands' sizes: see objective.pyx.
    EVALUATION = 8

cdef extern from *:
    """
    #define PROXSDCA_UNIT 1.1102230246251565e-16
    """
    const double UNIT "PROXSDCA_UNIT"   # u, half the distance from 1 to the next double


cdef struct Sum:
    double total, carry     # the sum is total + carry
    double size             # the sum of the absolute values
    double count


cdef inline void add(Sum* s, double x) noexcept nogil:
    """Ogita, Rump and Oishi's Sum2: what total + x loses in rounding is kept in carry."""
    cdef double t = s.total + x
    cdef double z = t - s.total
    s.carry += (s.total - (t - z)) + (x - z)
    s.total = t
    s.size += fabs(x)
    s.count += 1


cdef inline double result(Sum* s) noexcept nogil:
    return s.total + s.carry


cdef inline double rounding(double value, double size, double count) noexcept nogil:
    """A bound on the error of a compensated sum of `count` rounded products."""
    cdef double nu = count * UNIT
    return UNIT * fabs(value) + (UNIT + 2 * nu * nu) * size


# Long sums in lanes side by side, which the compiler puts into vectors.

cdef enum:
    LANES = 4


cdef struct Lanes:
    double total[LANES]
    double carry[LANES]
    double size[LANES]


cdef inline void clear(Lanes* s) noexcept nogil:
    cdef Py_ssize_t lane
    for lane in range(LANES):
        s.total[lane] = s.carry[lane] = s.size[lane] = 0


cdef inline void add_all(Lanes* s, double* x, Py_ssize_t count) noexcept nogil:
    """Add x[0] ... x[count - 1]; up to LANES entries after them are overwritten with 0."""
    cdef double total[LANES]
    cdef double carry[LANES]
    cdef double size[LANES]
    cdef double t, z, term
    cdef Py_ssize_t k = 0, lane
    for lane in range(LANES):
        total[lane], carry[lane], size[lane] = s.total[lane], s.carry[lane], s.size[lane]
        x[count + lane] = 0
    while k < count:
        for lane in range(LANES):
            term = x[k + lane]
            t = total[lane] + term
            z = t - total[lane]
            carry[lane] += (total[lane] - (t - z)) + (term - z)
            total[lane] = t
            size[lane] += fabs(term)
        k += LANES
    for lane in range(LANES):
        s.total[lane], s.carry[lane], s.size[lane] = total[lane], carry[lane], size[lane]


cdef inline Sum merged(const Lanes* s) noexcept nogil:
    """One sum of all lanes; its count is not kept."""
    cdef Sum sum = Sum(0, 0, 0, 0)
    cdef double size = 0
    cdef Py_ssize_t lane
    for lane in range(LANES):
        add(&sum, s.total[lane])
        sum.carry += s.carry[lane]
        size += s.size[lane]
    sum.size = size
    return sum
