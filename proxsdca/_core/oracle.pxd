# What the structured loop needs of its examples: the label whose margin is the largest at w, and
# the plane of a label.
#
# Label j of example i has the plane w -> delta(j, y_i) - w^T xi, xi = psi(x_i, y_i) - psi(x_i, j),
# whose value is its margin; phi_i is the largest of them (section 3.3).  A label is so many numbers
# as its oracle wants, which nobody else looks into.

from libc.math cimport fabs
from libc.stdint cimport int32_t


cdef struct Plane:
    Py_ssize_t count                # entries of xi; an index may stand twice
    const Py_ssize_t* indices
    const double* values
    double delta


cdef class Oracle:
    cdef readonly Py_ssize_t n, d
    cdef readonly Py_ssize_t widest         # numbers of the longest label
    cdef readonly Py_ssize_t longest        # entries of the longest plane that `plane` writes
    cdef readonly Py_ssize_t workspace      # doubles that argmax needs to work with
    cdef readonly double work               # about how many operations n calls take
    cdef readonly bint exact                # whether argmax finds the largest margin
    cdef readonly bint python               # whether calls need Python's lock
    cdef readonly bint known                # whether a label gives its plane again

    # How many numbers the labels of example i are.
    cdef Py_ssize_t size(self, Py_ssize_t i) noexcept nogil
    # The label with the largest w^T psi(x_i, j), plus delta(j, y_i) where `costs`, and that value.
    # Whoever calls owns the label: `drop` it, or keep it.
    cdef int argmax(self, Py_ssize_t i, const double* w, bint costs, double* work, int32_t* label,
                    double* value) except -1 nogil
    # The plane of a label, written to the given memory or lying where the oracle has it.
    cdef int plane(self, Py_ssize_t i, const int32_t* label, Py_ssize_t* indices, double* values,
                   Plane* plane) except -1 nogil
    # The same, from the data alone.
    cdef int proven(self, Py_ssize_t i, const int32_t* label, Py_ssize_t* indices, double* values,
                    Plane* plane) except -1 nogil
    # How far the margin that argmax finds may be below the largest one, for |w|_2 = norm.
    cdef double doubt(self, Py_ssize_t i, double norm) noexcept nogil
    # What labels are to those who keep them.
    cdef bint same(self, Py_ssize_t i, const int32_t* a, const int32_t* b) noexcept nogil
    cdef void keep(self, const int32_t* label) noexcept nogil
    cdef void drop(self, const int32_t* label) noexcept nogil
    # A label of another oracle of the same kind becomes one of this, for the caller to own.
    cdef int adopt(self, Py_ssize_t i, const int32_t* label, int32_t* to) except -1
    # The plane will not be asked for again, but by `proven`.
    cdef void lighten(self, const int32_t* label) noexcept nogil


cdef inline double dot(const Plane* plane, const double* w) noexcept nogil:
    """xi^T w."""
    cdef double even = 0, odd = 0
    cdef Py_ssize_t e
    for e in range(0, plane.count - 1, 2):
        even += plane.values[e] * w[plane.indices[e]]
        odd += plane.values[e + 1] * w[plane.indices[e + 1]]
    if plane.count & 1:
        even += plane.values[plane.count - 1] * w[plane.indices[plane.count - 1]]
    return even + odd


cdef inline double size_of(const Plane* plane, const double* w) noexcept nogil:
    """delta + sum_j |xi_j w_j|, what the rounding of a margin is relative to."""
    cdef double total = plane.delta
    cdef Py_ssize_t e
    for e in range(plane.count):
        total += fabs(plane.values[e] * w[plane.indices[e]])
    return total
