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

    cdef double response(self, double y, double z, double* b) noexcept nogil:
        b[0] = -self.phi_slope(y, z)
        return self.phi(y, z)

    cdef double best(self, double y, double b, double m, double q) noexcept nogil:
        return NAN

    cdef double near(self, double y, double b, double m, double q) noexcept nogil:
        return self.best(y, b, m, q)

    cdef double lower(self, double y) noexcept nogil:
        return -INFINITY

    cdef double upper(self, double y) noexcept nogil:
        return INFINITY

    cdef double conj_slope(self, double y, double b) noexcept nogil:
        return NAN

    cdef double conj_curve(self, double y, double b) noexcept nogil:
        return NAN

    cdef double phi_size(self, double y, double z) noexcept nogil:
        return fabs(self.phi(y, z))

    cdef double conj_size(self, double y, double a) noexcept nogil:
        return fabs(self.phi_conj(y, a))

    cdef void phis(self, Py_ssize_t n, const double* y, const double* z,
                   double* out) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(n):
            out[k] = self.phi(y[k], z[k])

    cdef void phi_conjs(self, Py_ssize_t n, const double* y, const double* a,
                        double* out) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(n):
            out[k] = self.phi_conj(y[k], a[k])

    cdef void phi_slopes(self, Py_ssize_t n, const double* y, const double* z,
                         double* out) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(n):
            out[k] = self.phi_slope(y[k], z[k])

    cdef void phi_sizes(self, Py_ssize_t n, const double* y, const double* z,
                        double* out) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(n):
            out[k] = self.phi_size(y[k], z[k])

    cdef void conj_sizes(self, Py_ssize_t n, const double* y, const double* a,
                         double* out) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(n):
            out[k] = self.conj_size(y[k], a[k])
