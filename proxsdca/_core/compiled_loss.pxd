# A loss whose formulas are compiled functions of somebody else's, called without Python's lock.

cimport cython

from .losses cimport Loss

ctypedef double (*Unary)(double, void*) noexcept nogil
ctypedef double (*Binary)(double, double, void*) noexcept nogil
ctypedef double (*Quaternary)(double, double, double, double, void*) noexcept nogil
ctypedef double (*PlainUnary)(double) noexcept nogil
ctypedef double (*PlainBinary)(double, double) noexcept nogil
ctypedef double (*PlainQuaternary)(double, double, double, double) noexcept nogil


cdef struct Function:
    void* address           # NULL where there is none
    void* data              # its last argument, if it takes that
    bint takes_data


cdef struct LossFunctions:
    Function value, conjugate, subgradient, exact_step, lower, upper, value_size, conjugate_size


@cython.final
cdef class CompiledLoss(Loss):
    cdef LossFunctions functions
    cdef object owner                   # keeps the functions alive
    cdef readonly str label
    cdef double class_ends[4]           # of the domain, for y = -1 and y = +1

    cdef double no_number(self, const char* name, double x, double y) noexcept nogil
    cdef double domain_end(self, double y, bint upper) noexcept nogil


cdef CompiledLoss loss_of(LossFunctions functions, object owner, str label, dict constants)
