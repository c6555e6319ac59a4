"""The contract of a term; see term.pxd."""

from libc.math cimport INFINITY, NAN, fabs


cdef class Term:
    """A convex phi with its conjugate, as the loop sees it."""

    cdef double phi(self, double y, double z) noexcept nogil:
        return NAN

    cdef double phi_conj(self, double y, double a) noexcept nogil:
        return NAN

    cdef double phi_slope(self, double y, double z) noexcept nogil:
        return NAN

    cdef double best(self, double y, double b, double m, double q) noexcept nogil:
        return NAN

    cdef double lower(self, double y) noexcept nogil:
        return -INFINITY

    cdef double upper(self, double y) noexcept nogil:
        return INFINITY

    cdef double phi_size(self, double y, double z) noexcept nogil:
        return fabs(self.phi(y, z))

    cdef double conj_size(self, double y, double a) noexcept nogil:
        return fabs(self.phi_conj(y, a))
