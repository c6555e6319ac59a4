"""The kernel's own random numbers, and the orders in which rows are visited."""

import numpy as np

from libc.stdint cimport uint64_t

from .signals cimport PATIENCE, poll
from .words cimport multiply_high


cdef enum:
    TOGETHER = 16       # blocks: enough for an epoch to be worth about one in permuted order


cdef class Stream:
    """xoshiro256++, seeded with four words of a numpy SeedSequence."""

    cdef uint64_t s0, s1, s2, s3

    def __init__(self, words):
        cdef const uint64_t[::1] seed = words
        self.s0, self.s1, self.s2, self.s3 = seed[0], seed[1], seed[2], seed[3] | 1

    def state(self):
        """Four words, from which `restore` goes on."""
        return np.array([self.s0, self.s1, self.s2, self.s3], np.uint64)

    def restore(self, const uint64_t[::1] words):
        """Go on from a state; from zeros alone nothing else would ever come."""
        if words.shape[0] != 4 or not np.any(words):
            raise ValueError("four words that are not all 0 are needed")
        self.s0, self.s1, self.s2, self.s3 = words[0], words[1], words[2], words[3]

    cdef inline uint64_t next(self) noexcept nogil:
        cdef uint64_t x = self.s0 + self.s3, t = self.s1 << 17
        x = ((x << 23) | (x >> 41)) + self.s0
        self.s2 ^= self.s0
        self.s3 ^= self.s1
        self.s1 ^= self.s2
        self.s0 ^= self.s3
        self.s2 ^= t
        self.s3 = (self.s3 << 45) | (self.s3 >> 19)
        return x

    cdef inline uint64_t below(self, uint64_t bound) noexcept nogil:
        """Uniform in 0 .. bound - 1 without modulo bias, by Lemire's multiplication."""
        cdef uint64_t low, high = multiply_high(self.next(), bound, &low)
        cdef uint64_t threshold
        if low < bound:
            threshold = (0 - bound) % bound
            while low < threshold:
                high = multiply_high(self.next(), bound, &low)
        return high

    def shuffle(self, Py_ssize_t[::1] order):
        """Permute the order uniformly at random, in place."""
        cdef Py_ssize_t t, k, n = order.shape[0]
        with nogil:
            for t in range(n - 1, 0, -1):
                k = <Py_ssize_t>self.below(<uint64_t>t + 1)
                order[t], order[k] = order[k], order[t]
                if t % PATIENCE == 0:
                    poll()

    def shuffle_blocks(self, Py_ssize_t[::1] order, Py_ssize_t[::1] starts, Py_ssize_t size):
        """Fill the order with 0 ... n - 1: blocks of neighbours in random order, TOGETHER of them
        shuffled as one.

        The first block ends at random, so that blocks are other ones each time.

        Parameters
        ----------
        order : (n,) array
        starts : (ceil(n / size) + 1,) array
            Room for where blocks begin.
        size : int
            The length of a block.
        """
        cdef Py_ssize_t b, k, end, begun = 0, t = 0, n = order.shape[0]
        cdef Py_ssize_t cut = <Py_ssize_t>self.below(<uint64_t>size)
        for b in range(starts.shape[0]):
            starts[b] = (b - 1) * size + cut
        self.shuffle(starts)
        for b in range(starts.shape[0]):
            end = min(starts[b] + size, n)
            for k in range(max(starts[b], <Py_ssize_t>0), end):
                order[t] = k
                t += 1
            if (b + 1) % TOGETHER == 0 or b + 1 == starts.shape[0]:
                self.shuffle(order[begun:t])
                begun = t

    def draw(self, Py_ssize_t[::1] order):
        """Fill the order with independent uniform draws of 0 .. n - 1."""
        cdef Py_ssize_t t, n = order.shape[0]
        with nogil:
            for t in range(n):
                order[t] = <Py_ssize_t>self.below(<uint64_t>n)
                if t % PATIENCE == PATIENCE - 1:
                    poll()

    def draw_weighted(self, Py_ssize_t[::1] order, const double[::1] keep,
                      const Py_ssize_t[::1] alias):
        """Fill the order with independent draws from an alias table."""
        cdef Py_ssize_t t, k, n = keep.shape[0]
        with nogil:
            for t in range(order.shape[0]):
                k = <Py_ssize_t>self.below(<uint64_t>n)
                order[t] = k if self.uniform() < keep[k] else alias[k]
                if t % PATIENCE == PATIENCE - 1:
                    poll()

    cdef inline double uniform(self) noexcept nogil:
        """In [0, 1), a multiple of 2^-53."""
        return (self.next() >> 11) * (1.0 / 9007199254740992.0)

    def random(self):
        """A number in [0, 1)."""
        return self.uniform()


def alias_table(double[::1] p, double[::1] keep, Py_ssize_t[::1] alias):
    """Walker's table for probabilities proportional to p, by Vose's method.

    A draw takes a column k uniformly, and then k with probability keep[k] or
    else alias[k]. p is overwritten.
    """
    cdef Py_ssize_t n = p.shape[0], k, small, large, first_small = -1, first_large = -1
    cdef double total = 0
    with nogil:
        for k in range(n):
            total += p[k]
        # alias doubles as the links of two stacks: columns below and above their share
        for k in range(n):
            p[k] = p[k] / total * n
            if p[k] < 1:
                alias[k] = first_small
                first_small = k
            else:
                alias[k] = first_large
                first_large = k
        while first_small >= 0 and first_large >= 0:
            small, large = first_small, first_large
            first_small = alias[small]
            keep[small] = p[small]
            alias[small] = large
            p[large] -= 1 - p[small]
            if p[large] < 1:
                first_large = alias[large]
                alias[large] = first_small
                first_small = large
        while first_small >= 0:     # only rounding leaves any of these
            k = first_small
            first_small = alias[k]
            keep[k] = 1
            alias[k] = k
        while first_large >= 0:
            k = first_large
            first_large = alias[k]
            keep[k] = 1
            alias[k] = k
