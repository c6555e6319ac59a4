# The state of the structured loop; see oracle_epoch.pyx.

from libc.stdint cimport int32_t

from .atoms cimport Atoms
from .loop cimport Loop
from .oracle cimport Oracle, Plane


cdef struct Direction:
    # A sparse vector that is being summed in `dense`, which has zeros before and after.
    Py_ssize_t count, capacity
    Py_ssize_t* indices
    double* values
    double* dense


cdef struct Bundle:
    # The planes of an example's atoms, with one place more, while it is visited.
    Py_ssize_t capacity             # planes
    Plane* planes
    double* m                       # their margins
    double* beta                    # what their weights are to be
    double* change                  # by how much they change, where 1 - change may be 1
    double* old                     # margins before that
    Py_ssize_t room, used           # entries of the planes
    Py_ssize_t* indices
    double* values


cdef class OracleEpoch(Loop):
    cdef Oracle oracle
    cdef readonly Atoms atoms
    cdef readonly object w                  # grad g*(v); for l2, v itself
    cdef double[::1] w_view, gaps, dense, work, values
    cdef const double[::1] curvature
    cdef Py_ssize_t[::1] indices
    cdef int32_t[::1] label
    cdef Direction direction
    cdef Bundle bundle
    cdef readonly double cached             # excess among the labels kept, summed by `revisit`
    cdef readonly double wrong_margin       # at `wrong`, and the larger one that there is
    cdef readonly double larger_margin
    cdef readonly Py_ssize_t wrong          # the first example with a wrong answer, or -1
