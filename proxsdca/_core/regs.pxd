# The maps of the regularisers: grad g*, inline in final classes so that the
# loop applies them to every nonzero without a call.  g, g* and the documentation
# are in regs.pyx.

cimport cython

from .losses cimport soft
from .map cimport Map


@cython.final
cdef class L2Map(Map):
    # g(w) = |w|^2 / 2, grad g*(v) = v
    cdef inline double at(self, Py_ssize_t j, double v) noexcept nogil:
        return v

    cdef inline void moved(self, Py_ssize_t j, double old, double new) noexcept nogil:
        pass

    cdef inline double norm_sq(self, double total, Py_ssize_t j, double x) noexcept nogil:
        return total + x * x


@cython.final
cdef class L1L2Map(Map):
    # g(w) = |w|^2 / 2 + kappa |w|_1, kappa = sigma / lambda
    cdef double kappa

    cdef inline double at(self, Py_ssize_t j, double v) noexcept nogil:
        return soft(v, self.kappa)

    cdef inline void moved(self, Py_ssize_t j, double old, double new) noexcept nogil:
        pass

    cdef inline double norm_sq(self, double total, Py_ssize_t j, double x) noexcept nogil:
        return total + x * x


@cython.final
cdef class WeightedL1L2Map(Map):
    # g(w) = |w|^2 / 2 + sum_j kappa_j |w_j|
    cdef const double[::1] kappas
    cdef const double* kappa

    cdef inline double at(self, Py_ssize_t j, double v) noexcept nogil:
        return soft(v, self.kappa[j])

    cdef inline void moved(self, Py_ssize_t j, double old, double new) noexcept nogil:
        pass

    cdef inline double norm_sq(self, double total, Py_ssize_t j, double x) noexcept nogil:
        return total + x * x


# The maps that the loop applies statically; any other Map is called virtually.
ctypedef fused AnyMap:
    L2Map
    L1L2Map
    WeightedL1L2Map
    Map
