"""The contract of a map; see map.pxd."""

from libc.math cimport NAN


cdef class Map:
    """The smooth map v -> grad g*(v), as the loop sees it."""

    cdef double at(self, Py_ssize_t j, double v) noexcept nogil:
        return NAN

    cdef void moved(self, Py_ssize_t j, double old, double new) noexcept nogil:
        pass

    cdef void reset(self, const double* v, Py_ssize_t d) noexcept nogil:
        pass

    cdef double value(self, const double* w, Py_ssize_t d, double* error) noexcept nogil:
        error[0] = NAN
        return NAN

    cdef double conjugate(self, const double* v, const double* delta, Py_ssize_t d,
                          double* error) noexcept nogil:
        error[0] = NAN
        return NAN

    cdef double norm_sq(self, double total, Py_ssize_t j, double x) noexcept nogil:
        return total + x * x
