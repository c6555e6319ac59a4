# What a loss does not say of itself, solved for by what it does say.

from .term cimport Term

cdef double solved_best(Term term, double y, double b, double m, double q) noexcept nogil
cdef double solved_conjugate(Term term, double y, double a, double* size) noexcept nogil
cdef double solved_end(Term term, double y, bint upper) noexcept nogil

ctypedef void (*Sizes)(Term term, Py_ssize_t n, const double* y, const double* x,
                       double* out) noexcept nogil

cdef void default_value_sizes(Term term, Py_ssize_t n, const double* y, const double* z,
                              double* out) noexcept nogil
cdef void default_conjugate_sizes(Term term, Py_ssize_t n, const double* y, const double* a,
                                  double* out) noexcept nogil


cdef inline double of_one(Sizes sizes, Term term, double y, double x) noexcept nogil:
    cdef double out
    sizes(term, 1, &y, &x, &out)
    return out
