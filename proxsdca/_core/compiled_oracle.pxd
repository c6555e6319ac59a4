# An oracle whose answers come from compiled functions of somebody else's.

cimport cython
from libc.stdint cimport int32_t

from .oracle cimport Oracle

ctypedef int (*Argmax)(Py_ssize_t, const double*, int*, void*) noexcept nogil
ctypedef Py_ssize_t (*PlaneOf)(Py_ssize_t, const int*, Py_ssize_t*, double*, double*,
                               void*) noexcept nogil
ctypedef double (*RadiusOf)(Py_ssize_t, void*) noexcept nogil


cdef struct OracleFunctions:
    Argmax argmax           # (i, w, label, data): 0, or anything else where it failed
    PlaneOf plane           # (i, label, indices, values, delta, data): how many entries
    RadiusOf radius         # (i, data): a bound on |psi(x_i, j)|_2; NULL where none is known
    void* data


@cython.final
cdef class CompiledOracle(Oracle):
    cdef OracleFunctions functions
    cdef object owner                       # keeps the functions alive
    cdef double reach, dearest, count       # the largest |xi|_2, delta, number of entries seen

    cdef int refuse(self, Py_ssize_t i, str what) except -1


cdef CompiledOracle oracle_of(OracleFunctions functions, object owner, Py_ssize_t n, Py_ssize_t d,
                              Py_ssize_t label_size, Py_ssize_t plane_size, bint approximate)
