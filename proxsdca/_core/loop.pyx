"""What both loops keep beside their dual state; see loop.pxd."""

from libc.stdlib cimport calloc, free

from .rows cimport hold


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

    def forget(self):
        """Start the sums anew."""
        self.excess = self.loss = self.inner = 0
        self.sampled = self.visits = self.visited = self.changed = 0

    def reset(self):
        """Tell the map that v was replaced."""
        self.map.reset(&self.v[0], self.v.shape[0])

    cdef int start_records(self, Py_ssize_t duals) except -1:
        """From here on, sum the iterates w and alpha, of which there are so many numbers."""
        cdef Py_ssize_t j
        self.w_record = <Record*>calloc(self.v.shape[0], sizeof(Record))
        self.alpha_record = <Record*>calloc(duals, sizeof(Record))
        self.bias_record = <Record*>calloc(1 if self.bias is None else self.bias.shape[0],
                                           sizeof(Record))
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
