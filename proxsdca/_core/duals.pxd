# alpha for vector-valued losses: row i has mass_j = -alpha_ij >= 0 for j != y_i.  alpha_iy is their
# sum, whatever rounding would make of it, and so is not kept.

from libc.stdint cimport int32_t, int64_t


cdef class Duals:
    cdef readonly Py_ssize_t n
    cdef readonly Py_ssize_t k                  # classes, or 0 where examples differ in them
    cdef readonly Py_ssize_t widest             # the most classes of an example
    cdef readonly object target                 # y
    cdef readonly object offsets                # where examples begin, or None
    cdef const Py_ssize_t[::1] target_view, offsets_view

    cdef inline Py_ssize_t first(self, Py_ssize_t i) noexcept nogil:
        return i * self.k if self.k else self.offsets_view[i]

    cdef inline Py_ssize_t size(self, Py_ssize_t i) noexcept nogil:
        return self.k if self.k else self.offsets_view[i + 1] - self.offsets_view[i]

    # Copy row i to mass, with 0 at y; how many entries are not 0 goes unsaid.
    cdef void read(self, Py_ssize_t i, double* mass) noexcept nogil
    # Row i will be read soon.
    cdef void prefetch(self, Py_ssize_t i) noexcept nogil
    # Keep mass as row i, whatever stands at y; False where memory ran out.
    cdef bint write(self, Py_ssize_t i, const double* mass) noexcept nogil
    # Keep row `at` of another alpha of the same kind as row i, likewise.
    cdef bint copy(self, Py_ssize_t i, Duals other, Py_ssize_t at) noexcept nogil
    # Keep a mass at class j alone as row i, likewise.
    cdef bint corner(self, Py_ssize_t i, Py_ssize_t j, double mass) noexcept nogil


cdef class DenseDuals(Duals):
    cdef double[::1] mass


cdef struct Entry:
    double mass
    int32_t j


cdef struct Span:
    Py_ssize_t first
    int32_t count, capacity


cdef class CompactDuals(Duals):
    cdef Span* spans
    cdef Entry* pool
    cdef Py_ssize_t used, capacity, wasted      # entries of the pool

    cdef bint make_room(self, Py_ssize_t i, Py_ssize_t count) noexcept nogil
    cdef void compact(self) noexcept nogil
