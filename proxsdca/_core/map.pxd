# What the loop needs of the coordinates that it touches: the smooth map
# v -> w = grad g*(v), read one coordinate at a time, and g, g* as a whole.

cdef class Map:
    cdef double now         # how many iterates `tick` has counted
    cdef readonly bint foreign      # its formulas are somebody else's, and may answer NaN
    cdef readonly bint checked      # steps are to be checked against the true dual

    # w_j, given v_j
    cdef double at(self, Py_ssize_t j, double v) noexcept nogil
    # v_j went from old to new, and, after the last such call of a step, `settle`;
    # for maps that are not separable and keep sums over v
    cdef void moved(self, Py_ssize_t j, double old, double new) noexcept nogil
    cdef void settle(self) noexcept nogil
    # v was replaced as a whole; it stays where it is until the next reset
    cdef void reset(self, const double* v, Py_ssize_t d) noexcept nogil
    # g*(v) by the sums that are kept; only where `checked`
    cdef double kept_conjugate(self) noexcept nogil

    # For sums of w over the iterates.  Where w_j = held(j, v_j) times a factor that
    # changes without v_j, clock(j) is the sum of that factor over the iterates counted.
    cdef void tick(self) noexcept nogil
    cdef double clock(self, Py_ssize_t j) noexcept nogil
    cdef double held(self, Py_ssize_t j, double v) noexcept nogil

    # g(w), with a bound on its rounding error
    cdef double value(self, const double* w, Py_ssize_t d, double* error) noexcept nogil
    # P(w*) <= primal, up to error: for a g* that is finite only because |w*| is bounded
    cdef void bounded(self, double primal, double error) noexcept nogil
    # g*(v), with a bound on its error where each v_j is off by at most delta[j * stride]
    cdef double conjugate(self, const double* v, const double* delta, Py_ssize_t stride,
                          Py_ssize_t d, double* error) noexcept nogil

    # |x|_D'^2: fold some entries of x after the other into two numbers that start from 0
    cdef void fold(self, double* state, const Py_ssize_t* columns, const double* x,
                   Py_ssize_t count) noexcept nogil
    cdef double norm_sq(self, const double* state) noexcept nogil
