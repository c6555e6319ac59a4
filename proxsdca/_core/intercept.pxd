# The free intercept beta: the best one for given margins.

from .term cimport Term

cdef double best_intercept(Term term, const double* target, const double* weight, const double* z,
                           Py_ssize_t n, double start, double slack,
                           double enough) noexcept nogil
