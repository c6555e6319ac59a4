# The map of a regulariser that is written in Python.

from .map cimport Map


cdef class PythonMap(Map):
    cdef object reg, failure
    cdef double kappa
    cdef bint separable, own_conjugate
    cdef const double* v
    cdef double[::1] w                  # grad g*(v), as it was last asked for
    cdef double[::1] total              # its sum over the iterates, where g is not separable
    cdef Py_ssize_t[::1] waiting        # the j at which v has moved since
    cdef Py_ssize_t count               # how many they are

    cdef object ask(self, str method, x, j)
    cdef object misfit(self, v, w, conjugate)
    cdef void refresh(self, bint whole) noexcept
    cdef void fail(self, BaseException error) noexcept
