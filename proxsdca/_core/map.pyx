"""The contract of a map; see map.pxd."""

from libc.math cimport NAN


cdef class Map:
    """The smooth map v -> grad g*(v), as the loop sees it."""

    def _raise_failure(self, place=""):
        """Raise what a formula that is not ours has raised, noted with the place."""

    def state(self):
        """What is kept beside v, to the last bit; after a `reset`, `restore` goes on from it."""
        return {"now": self.now}

    def restore(self, state):
        """Go on from a state."""
        self.now = state["now"]

    cdef double at(self, Py_ssize_t j, double v) noexcept nogil:
        return NAN

    cdef void moved(self, Py_ssize_t j, double old, double new) noexcept nogil:
        pass

    cdef void settle(self) noexcept nogil:
        pass

    cdef void reset(self, const double* v, Py_ssize_t d) noexcept nogil:
        pass

    cdef double kept_conjugate(self) noexcept nogil:
        return NAN

    cdef void tick(self) noexcept nogil:
        self.now += 1

    cdef double clock(self, Py_ssize_t j) noexcept nogil:
        return self.now

    cdef double held(self, Py_ssize_t j, double v) noexcept nogil:
        return self.at(j, v)

    cdef double value(self, const double* w, Py_ssize_t d, double* error) noexcept nogil:
        error[0] = NAN
        return NAN

    cdef void bounded(self, double primal, double error) noexcept nogil:
        pass

    cdef double conjugate(self, const double* v, const double* delta, Py_ssize_t stride,
                          Py_ssize_t d, double* error) noexcept nogil:
        error[0] = NAN
        return NAN

    cdef void fold(self, double* state, const Py_ssize_t* columns, const double* x,
                   Py_ssize_t count) noexcept nogil:
        cdef Py_ssize_t k
        cdef double even = 0, odd = 0
        for k in range(0, count - 1, 2):
            even += x[k] * x[k]
            odd += x[k + 1] * x[k + 1]
        if count & 1:
            even += x[count - 1] * x[count - 1]
        state[0] += even + odd

    cdef double norm_sq(self, const double* state) noexcept nogil:
        return state[0]
