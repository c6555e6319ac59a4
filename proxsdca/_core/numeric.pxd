# What a loss does not say of itself, solved for by what it does say.

from .term cimport Term

cdef double solved_best(Term term, double y, double b, double m, double q) noexcept nogil
cdef double solved_conjugate(Term term, double y, double a, double* size) noexcept nogil
cdef double solved_end(Term term, double y, bint upper) noexcept nogil
cdef void default_value_sizes(Term term, bint has_conjugate, Py_ssize_t n, const double* y,
                              const double* z, double* out) noexcept nogil
cdef void default_conjugate_sizes(Term term, Py_ssize_t n, const double* y, const double* a,
                                  double* out) noexcept nogil


cdef inline double default_value_size(Term term, bint has_conjugate, double y,
                                      double z) noexcept nogil:
    cdef double out
    default_value_sizes(term, has_conjugate, 1, &y, &z, &out)
    return out


cdef inline double default_conjugate_size(Term term, double y, double a) noexcept nogil:
    cdef double out
    default_conjugate_sizes(term, 1, &y, &a, &out)
    return out
