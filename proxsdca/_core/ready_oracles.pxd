# What the ready oracles have in common: rows x of X, and weights for each feature and label, w_fc
# at f k + c.

from .oracle cimport Oracle
from .rows cimport Rows


cdef class RowsOracle(Oracle):
    cdef Rows rows
    cdef readonly Py_ssize_t k              # labels
    cdef const Py_ssize_t[::1] offsets      # where the rows of each example begin, and the last end
    cdef readonly object lengths            # sum of |x|_2 over the rows of each example
    cdef object made_of                     # the fingerprint of X
    cdef double[::1] reach                  # of the same, and of what else is in psi
    cdef double[::1] roundings              # of a score, at the most
    cdef double[::1] dearest                # the largest delta

    cdef void scores(self, Py_ssize_t row, const double* w, double* z) noexcept nogil
    cdef Py_ssize_t swap(self, Py_ssize_t row, Py_ssize_t y, Py_ssize_t c, Py_ssize_t room,
                         Py_ssize_t* indices, double* values) noexcept nogil
    cdef Py_ssize_t entries(self, Py_ssize_t row, Py_ssize_t c, double factor, Py_ssize_t room,
                            Py_ssize_t* indices, double* values) noexcept nogil
