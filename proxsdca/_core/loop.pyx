"""What both loops keep beside their dual state; see loop.pxd."""

import numpy as np

from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from .rows cimport hold


cdef enum:
    LONG = 4096     # visits


cdef copied(const Record* records, Py_ssize_t count):
    """Records as a (count, 2) array."""
    out = np.empty((count, 2))
    cdef double[:, ::1] numbers = out
    memcpy(&numbers[0, 0], records, count * sizeof(Record))
    return out


cdef int replace(Record* records, Py_ssize_t count, const double[:, ::1] numbers) except -1:
    """Overwrite records by such an array."""
    if (numbers.shape[0], numbers.shape[1]) != (count, 2):
        raise ValueError("the state is one of another problem")
    memcpy(records, &numbers[0, 0], count * sizeof(Record))
    return 0


cdef class Loop:
    """The part of `Epoch` and `BlockEpoch` that does not depend on what alpha_i is."""

    def __init__(self, Map map, double[::1] v, double scale, double q_R, int option, bint virtual,
                 bias=None, double bias_scale=0):
        self.map, self.v = map, v
        self.scale, self.q_R, self.option, self.virtual = scale, q_R, option, virtual
        self.bias, self.bias_scale = bias, bias_scale
        self.broken = -1
        self.forget()
        self.reset()

    def __dealloc__(self):
        free(self.w_record)
        free(self.alpha_record)
        free(self.bias_record)

    def forget(self, Py_ssize_t visits=0):
        """Start the sums anew, for an epoch of so many visits, in however many parts.

        phi and phi* may cost more than the step: in long epochs every fourth visit is enough.
        """
        self.mask = 3 if visits >= LONG else 0
        self.position, self.length = 0, visits
        self.excess = self.loss = self.inner = 0
        self.sampled = self.visits = self.visited = self.changed = 0

    def reset(self):
        """Tell the map that v was replaced."""
        self.map.reset(&self.v[0], self.v.shape[0])

    def state(self):
        """What is kept beside alpha and v, to the last bit; `restore` goes on from it."""
        records = None
        if self.w_record != NULL:
            records = (
                copied(self.w_record, self.v.shape[0]), copied(self.alpha_record, self.duals_kept),
                copied(self.bias_record, self.intercepts()),
            )
        return {
            "growing": self.growing,
            "sums": (self.excess, self.loss, self.inner),
            "counts": (self.sampled, self.visits, self.visited, self.changed, self.recorded,
                       self.mask, self.position, self.length),
            "records": records,
            "map": self.map.state(),
        }

    def restore(self, state):
        """Go on from a state, with the alpha and v that belong to it."""
        self.growing = state["growing"]
        self.excess, self.loss, self.inner = state["sums"]
        (self.sampled, self.visits, self.visited, self.changed, self.recorded, self.mask,
         self.position, self.length) = state["counts"]
        if state["records"] is not None:
            w, alpha, bias = state["records"]
            if self.w_record == NULL:
                self.record()
            replace(self.w_record, self.v.shape[0], w)
            replace(self.alpha_record, self.duals_kept, alpha)
            replace(self.bias_record, self.intercepts(), bias)
        elif self.recorded:
            raise ValueError("the state lacks the sums of its iterates")
        self.map.restore(state["map"])

    cdef Py_ssize_t intercepts(self):
        """How many sums of intercepts there are, one at the least."""
        return 1 if self.bias is None else self.bias.shape[0]

    cdef int start_records(self, Py_ssize_t duals) except -1:
        """From here on, sum the iterates w and alpha, of which there are so many numbers."""
        cdef Py_ssize_t j
        self.w_record = <Record*>calloc(self.v.shape[0], sizeof(Record))
        self.alpha_record = <Record*>calloc(duals, sizeof(Record))
        self.duals_kept = duals
        self.bias_record = <Record*>calloc(self.intercepts(), sizeof(Record))
        if self.w_record == NULL or self.alpha_record == NULL or self.bias_record == NULL:
            raise MemoryError
        for j in range(self.v.shape[0]):
            self.w_record[j].since = self.map.clock(j)
        return 0

    cdef void average_w(self, double[::1] w) noexcept:
        """Write the mean of the recorded w, followed by the intercepts; there must be one."""
        cdef Py_ssize_t j, d = self.v.shape[0]
        for j in range(d):
            hold(&self.w_record[j], self.map.held(j, self.v[j]), self.map.clock(j))
            w[j] = self.w_record[j].total / self.recorded
        for j in range(w.shape[0] - d):
            hold(&self.bias_record[j], self.bias[j], self.recorded)
            w[d + j] = self.bias_record[j].total / self.recorded
