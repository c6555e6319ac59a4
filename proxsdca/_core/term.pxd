# What the loop needs of a coordinate it visits.
#
# A term is a convex function b -> phi*(-b) together with phi itself.  On the
# row side it is a loss: b is alpha_i / s_i, y its target, m = x_i^T w.  A term
# does not know which side it is on; anything with a phi and its conjugate fits.

cdef enum:
    BLOCK = 256


cdef class Term:
    cdef readonly double gamma          # phi is (1/gamma)-smooth; 0 where it is not smooth
    cdef readonly double lipschitz      # the paper's L; infinity where there is none
    cdef readonly bint foreign          # its formulas are somebody else's, and may answer NaN

    cdef double phi(self, double y, double z) noexcept nogil
    cdef double phi_conj(self, double y, double a) noexcept nogil
    cdef double phi_slope(self, double y, double z) noexcept nogil

    # phi(z), and the b = -phi'(z) that attains it.
    cdef double response(self, double y, double z, double* b) noexcept nogil

    # Option I: argmin over b' of phi*(-b') + m b' + q/2 (b' - b)^2, q > 0.
    cdef double best(self, double y, double b, double m, double q) noexcept nogil

    # The same, or near it, where that is faster.
    cdef double near(self, double y, double b, double m, double q) noexcept nogil

    # The domain of b, where phi*(-b) is finite.
    cdef double lower(self, double y) noexcept nogil
    cdef double upper(self, double y) noexcept nogil

    # The first and second derivative of b -> phi*(-b), the latter infinite at kinks and at the ends
    # of the domain; NaN where they are not known.
    cdef double conj_slope(self, double y, double b) noexcept nogil
    cdef double conj_curve(self, double y, double b) noexcept nogil

    # phi and phi* with every summand's absolute value: what their rounding is relative to.
    cdef double phi_size(self, double y, double z) noexcept nogil
    cdef double conj_size(self, double y, double a) noexcept nogil

    # The same for n of them, at most BLOCK, as passes over all examples want them.
    cdef void phis(self, Py_ssize_t n, const double* y, const double* z,
                   double* out) noexcept nogil
    cdef void phi_conjs(self, Py_ssize_t n, const double* y, const double* a,
                        double* out) noexcept nogil
    cdef void phi_slopes(self, Py_ssize_t n, const double* y, const double* z,
                         double* out) noexcept nogil
    cdef void phi_sizes(self, Py_ssize_t n, const double* y, const double* z,
                        double* out) noexcept nogil
    cdef void conj_sizes(self, Py_ssize_t n, const double* y, const double* a,
                         double* out) noexcept nogil
