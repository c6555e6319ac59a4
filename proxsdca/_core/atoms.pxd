# The dual point of a structured problem.  alpha_i has an entry for every label there is; what is
# kept is its convex weights beta on the labels that were found, or, where nothing will ever ask
# for those again, the one plane that they add up to: the paper's w_i (times lambda n) and -D_i.

from libc.stdint cimport int32_t

from .oracle cimport Oracle, Plane


cdef struct Atom:
    double beta
    double total            # the sum of beta over the iterates, up to the example's `since`
    int32_t idle            # true calls since the atom was the best, while beta is 0


cdef struct Example:
    Py_ssize_t count, capacity      # atoms; the first one is y_i, whose plane is 0
    Atom* atoms
    int32_t* labels
    float* gram                     # xi_a^T xi_b / unit for b <= a, one row after the other ...
    double unit
    Py_ssize_t side, known          # ... with room for `side` atoms, for the first `known`
    double since


cdef inline Py_ssize_t at(Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    """The place of a product in the triangle of all."""
    return a * (a + 1) // 2 + b if a >= b else b * (b + 1) // 2 + a


cdef struct Mean:
    Py_ssize_t count, capacity
    Py_ssize_t* indices
    double* values
    double* totals                  # sums over the iterates, where they are asked for
    double delta, total_delta
    double mixes                    # how many times it was rounded


cdef class Atoms:
    cdef readonly Py_ssize_t n
    cdef readonly Oracle oracle
    cdef readonly bint labelled             # whether atoms are kept
    cdef readonly bint summed               # whether their mean is; else they may be revisited
    cdef Example* examples
    cdef Mean* means

    # Memory for the products of all atoms; False where it ran out.
    cdef bint gram_room(self, Py_ssize_t i) noexcept nogil
    cdef void clear(self, Py_ssize_t i) noexcept nogil
    cdef bint grow(self, Py_ssize_t i, Py_ssize_t capacity) noexcept nogil
    cdef bint resize_mean(self, Py_ssize_t i, Py_ssize_t count, bint totals) noexcept nogil
    cdef int copy(self, Atoms other, double recorded) except -1
    cdef int copy_mean(self, Py_ssize_t i, Atoms other) except -1

    # Labels lie one after the other, from here on.
    cdef inline int32_t* label(self, Py_ssize_t i, Py_ssize_t a) noexcept nogil:
        return self.examples[i].labels + a * self.oracle.size(i)

    # The place of a label among the atoms, -1 where it has none.
    cdef Py_ssize_t find(self, Py_ssize_t i, const int32_t* label) noexcept nogil
    # Add an atom of weight 0, which takes the label over; -1 where memory ran out.
    cdef Py_ssize_t append(self, Py_ssize_t i, const int32_t* label) noexcept nogil
    cdef void remove(self, Py_ssize_t i, Py_ssize_t a) noexcept nogil
    # beta, and the mean, stood until now.
    cdef void hold(self, Py_ssize_t i, double now) noexcept nogil
    # mean = kept mean + s plane; dense has zeros, and has them again afterwards.
    cdef bint mix(self, Py_ssize_t i, double kept, const Plane* plane, double s,
                  double* dense) noexcept nogil
    cdef inline Plane mean(self, Py_ssize_t i) noexcept nogil:
        return Plane(self.means[i].count, self.means[i].indices, self.means[i].values,
                     self.means[i].delta)
