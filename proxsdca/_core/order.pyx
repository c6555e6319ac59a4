"""The kernel's own random numbers, and the orders in which rows are visited."""

from libc.stdint cimport uint64_t


cdef extern from *:
    """
    static inline unsigned long long proxsdca_high(unsigned long long a, unsigned long long b,
                                                   unsigned long long* low) {
        unsigned __int128 product = (unsigned __int128)a * b;
        *low = (unsigned long long)product;
        return (unsigned long long)(product >> 64);
    }
    """
    uint64_t multiply_high "proxsdca_high"(uint64_t a, uint64_t b, uint64_t* low) noexcept nogil


cdef class Stream:
    """xoshiro256++, seeded with four words of a numpy SeedSequence."""

    cdef uint64_t s0, s1, s2, s3

    def __init__(self, const uint64_t[::1] words):
        self.s0, self.s1, self.s2, self.s3 = words[0], words[1], words[2], words[3] | 1

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

    def draw(self, Py_ssize_t[::1] order):
        """Fill the order with independent uniform draws of 0 .. n - 1."""
        cdef Py_ssize_t t, n = order.shape[0]
        with nogil:
            for t in range(n):
                order[t] = <Py_ssize_t>self.below(<uint64_t>n)
