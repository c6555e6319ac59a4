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


cdef inline double plain_rounding(double size, double additions) noexcept nogil:
    """A bound on the error of a sum of rounded products each of which goes through at most so many
    additions; a hundredth more covers the rounding of `size` and terms of second order."""
    return 1.01 * (additions + 1) * UNIT * size


# Many sums at a time, whose summands are counted elsewhere.

cdef struct Tally:
    double total, carry, size


cdef inline void tally(Tally* s, double x) noexcept nogil:
    """As `add` does."""
    cdef double t = s.total + x
    cdef double z = t - s.total
    s.carry += (s.total - (t - z)) + (x - z)
    s.size += fabs(x)
    s.total = t
