# The map of a separable regulariser whose formulas are compiled functions of somebody else's.

cimport cython

from .map cimport Map

ctypedef double (*Coordinate)(double, double, Py_ssize_t, void*) noexcept nogil


cdef struct MapFunctions:
    Coordinate value        # (w_j, kappa, j, data): g_j(w_j)
    Coordinate gradient     # (v_j, kappa, j, data): the derivative of g_j*
    Coordinate conjugate    # (v_j, kappa, j, data): g_j*(v_j); NULL where it follows
    void* data


cdef class Formulas:
    cdef MapFunctions functions
    cdef object owner                   # keeps the functions alive
    cdef readonly str label


@cython.final
cdef class CompiledMap(Map):
    cdef Formulas formulas
    cdef MapFunctions functions
    cdef double kappa
    cdef object failure

    cdef double no_number(self, const char* name, double x, Py_ssize_t j) noexcept nogil
    cdef double misfit(self, Py_ssize_t j, double v, double w, double conjugate) noexcept nogil
    cdef double conjugate_at(self, Py_ssize_t j, double v, double w) noexcept nogil


cdef Formulas formulas_of(MapFunctions functions, object owner, str label)
