"""An oracle whose answers come from compiled functions of somebody else's, and are judged here."""

import numpy as np

from libc.math cimport INFINITY, fabs, fmax, sqrt

from .oracle cimport Plane
from .sums cimport UNIT


cdef class CompiledOracle(Oracle):
    """An oracle of compiled functions: `structured.solve` takes it as it is."""

    @property
    def radius(self):
        """A bound on |psi(x_i, j)|_2 for each example; None where none is known."""
        if self.functions.radius == NULL:
            return None
        return np.array([self.functions.radius(i, self.functions.data) for i in range(self.n)])

    cdef int refuse(self, Py_ssize_t i, str what) except -1:
        raise ValueError(f"oracle.plane({i}, label): {what}")

    cdef int argmax(self, Py_ssize_t i, const double* w, bint costs, double* work, int32_t* label,
                    double* value) except -1 nogil:
        cdef int code
        if not costs:
            with gil:
                raise NotImplementedError("a compiled oracle does not decode")
        code = self.functions.argmax(i, w, <int*>label, self.functions.data)
        if code != 0:
            with gil:
                raise RuntimeError(f"oracle.argmax({i}, w) failed: it returned {code}")
        return 0

    cdef int plane(self, Py_ssize_t i, const int32_t* label, Py_ssize_t* indices, double* values,
                   Plane* plane) except -1 nogil:
        cdef double delta = 0, square = 0
        cdef Py_ssize_t e, count
        count = self.functions.plane(i, <const int*>label, indices, values, &delta,
                                     self.functions.data)
        if not 0 <= count <= self.longest:
            with gil:
                self.refuse(i, f"{count} entries: 0 to {self.longest} are allowed")
        if not 0 <= delta < INFINITY:
            with gil:
                self.refuse(i, f"delta = {delta!r}: a number >= 0 is needed")
        for e in range(count):
            if not 0 <= indices[e] < self.d:
                with gil:
                    self.refuse(i, f"indices[{e}] = {indices[e]}: 0 to {self.d - 1} are allowed")
            if not fabs(values[e]) < INFINITY:
                with gil:
                    self.refuse(i, f"values[{e}] = {values[e]!r}: a finite number is needed")
            square += values[e] * values[e]
        self.reach = fmax(self.reach, sqrt(square))
        self.dearest = fmax(self.dearest, delta)
        self.count = fmax(self.count, <double>count)
        plane.count, plane.indices, plane.values, plane.delta = count, indices, values, delta
        return 0

    cdef double doubt(self, Py_ssize_t i, double norm) noexcept nogil:
        # as if it summed its margins plainly, in any order: those of two labels, which are no
        # longer than those it has shown, or than its radius says
        cdef double reach = self.reach
        if self.functions.radius != NULL:
            reach = fmax(reach, 2 * self.functions.radius(i, self.functions.data))
        return 2 * (self.count + 2) * UNIT * (reach * norm + self.dearest)


cdef CompiledOracle oracle_of(OracleFunctions functions, object owner, Py_ssize_t n, Py_ssize_t d,
                              Py_ssize_t label_size, Py_ssize_t plane_size, bint approximate):
    """An oracle of functions whose addresses are known."""
    cdef CompiledOracle oracle = CompiledOracle.__new__(CompiledOracle)
    oracle.functions, oracle.owner = functions, owner
    oracle.n, oracle.d, oracle.widest, oracle.longest = n, d, label_size, plane_size
    oracle.work = <double>n * (plane_size + 100)
    oracle.exact, oracle.known = not approximate, True
    return oracle
