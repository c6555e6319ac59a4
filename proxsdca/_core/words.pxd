# Products of 64-bit words.

from libc.stdint cimport uint64_t


cdef extern from *:
    """
    #include <stdint.h>
    static inline uint64_t proxsdca_high(uint64_t a, uint64_t b, uint64_t* low) {
        unsigned __int128 product = (unsigned __int128)a * b;
        *low = (uint64_t)product;
        return (uint64_t)(product >> 64);
    }
    """
    uint64_t multiply_high "proxsdca_high"(uint64_t a, uint64_t b, uint64_t* low) noexcept nogil
