# What both loops keep beside their dual state: v, the sums that estimate the gap, and the sums of
# the iterates.

from .map cimport Map
from .rows cimport Record


cdef class Loop:
    cdef Map map
    cdef readonly double[::1] v
    cdef double scale
    cdef readonly double q_R
    cdef int option
    cdef bint virtual
    cdef public bint near           # whether a step may end near Option I, where that is faster
    cdef public bint beyond         # whether it goes beyond that
    # Whether the t-th visit of an epoch of n takes the step of a problem of sqrt(n t) examples.
    cdef public bint growing
    cdef Py_ssize_t length          # of the epoch, in visits

    # The intercepts, one or one for each class, which the loop moves by bias_scale times the change
    # of alpha_i (times lift_i), as if x_i had one more entry.
    cdef double[::1] bias
    cdef double bias_scale

    # Sums over a sample of the visits since `forget`, each at the state it found.  The sample does
    # not depend on how an epoch is cut into runs: it is those with position & mask == 0.
    cdef Py_ssize_t mask, position
    cdef readonly Py_ssize_t sampled
    cdef readonly double excess     # s_i (phi + phi* + m^T b); its mean estimates P - D
    cdef readonly double loss       # s_i phi; its mean estimates the mean loss
    cdef readonly double inner      # alpha_i^T X_i^T w; its mean estimates lambda v^T w
    cdef readonly Py_ssize_t visits             # examples visited, without those known to stay
    cdef readonly Py_ssize_t visited, changed   # nonzeros of the rows visited, and changed
    cdef readonly Py_ssize_t broken             # the first one whose margin is not finite, or -1

    # Sums of w and alpha over the iterates since `record`, for the averaged output
    cdef Record* w_record
    cdef Record* alpha_record
    cdef Record* bias_record
    cdef readonly Py_ssize_t recorded
    cdef Py_ssize_t duals_kept                  # of alpha_record

    cdef Py_ssize_t intercepts(self)
    cdef int start_records(self, Py_ssize_t duals) except -1
    cdef void average_w(self, double[::1] w) noexcept
