# What the loop needs of the coordinates that it touches: the smooth map
# v -> w = grad g*(v), read one coordinate at a time, and g, g* as a whole.

cdef class Map:
    # w_j, given v_j
    cdef double at(self, Py_ssize_t j, double v) noexcept nogil
    # v_j went from old to new; for maps that are not separable
    cdef void moved(self, Py_ssize_t j, double old, double new) noexcept nogil
    # v was replaced as a whole
    cdef void reset(self, const double* v, Py_ssize_t d) noexcept nogil
    # g(w), with a bound on its rounding error
    cdef double value(self, const double* w, Py_ssize_t d, double* error) noexcept nogil
    # g*(v), with a bound on its error where each v_j is off by at most delta[2 j]
    cdef double conjugate(self, const double* v, const double* delta, Py_ssize_t d,
                          double* error) noexcept nogil
    # |x|_D'^2, folded one entry of x at a time, starting from 0
    cdef double norm_sq(self, double total, Py_ssize_t j, double x) noexcept nogil
