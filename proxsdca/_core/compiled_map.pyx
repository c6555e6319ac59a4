"""The map of a separable regulariser whose formulas are compiled functions of somebody else's."""

import numpy as np

from libc.math cimport INFINITY, NAN, fabs, fmax, fmin

from .sums cimport EVALUATION, UNIT, Sum, add, result, rounding

cdef double PROBE = 1e-6        # the relative change of w by which the slope of g is measured
cdef double STRETCH = 2.0**-10  # ... and the one of v over which g* is compared with its gradient


cdef class Formulas:
    """g_j, g_j* and its derivative, as functions of one feature."""

    def evaluate(self, str which, x, double kappa, j):
        """g_j, its gradient or its conjugate, elementwise."""
        cdef const double[::1] at = np.ascontiguousarray(x, float).ravel()
        cdef const Py_ssize_t[::1] features = np.ascontiguousarray(
            np.arange(len(x)) if isinstance(j, slice) else j, np.intp)
        out = np.empty(at.shape[0])
        cdef double[::1] values = out
        cdef CompiledMap map = CompiledMap(self, kappa)
        cdef Py_ssize_t k, f
        for k in range(at.shape[0]):
            f = features[k]
            if which == "gradient":
                values[k] = map.at(f, at[k])
            elif which == "value":
                values[k] = self.functions.value(at[k], kappa, f, self.functions.data)
            else:
                values[k] = map.conjugate_at(f, at[k], map.at(f, at[k]))
        map._raise_failure()
        return out


cdef class CompiledMap(Map):
    """grad g*, g and g* by compiled functions.

    Parameters
    ----------
    formulas : Formulas
    kappa : float
        sigma / lambda.
    """

    def __init__(self, Formulas formulas, double kappa):
        self.formulas, self.functions, self.kappa = formulas, formulas.functions, kappa
        self.foreign = True

    def _raise_failure(self, place=""):
        error, self.failure = self.failure, None
        if error is not None:
            raise error

    cdef double no_number(self, const char* name, double x, Py_ssize_t j) noexcept nogil:
        """Neither NaN nor, for a gradient, infinity is an answer."""
        with gil:
            if self.failure is None:
                self.failure = ValueError(
                    f"{self.formulas.label}.{name.decode()}({x!r}, {self.kappa!r}, {j}) is not a "
                    "number, which is needed"
                )
        return NAN

    cdef double at(self, Py_ssize_t j, double v) noexcept nogil:
        cdef double w = self.functions.gradient(v, self.kappa, j, self.functions.data)
        return w if fabs(w) < INFINITY else self.no_number("gradient", v, j)

    cdef double conjugate_at(self, Py_ssize_t j, double v, double w) noexcept nogil:
        """g_j*(v), where w is its derivative."""
        cdef double found
        if self.functions.conjugate == NULL:
            found = v * w - self.functions.value(w, self.kappa, j, self.functions.data)
        else:
            found = self.functions.conjugate(v, self.kappa, j, self.functions.data)
        return found if found == found else self.no_number("conjugate", v, j)

    # Roundings are taken to be those of exact formulas whose arguments, and results, were rounded.

    cdef double value(self, const double* w, Py_ssize_t d, double* error) noexcept nogil:
        cdef Sum total = Sum(0, 0, 0, 0)
        cdef double found, steepest, away, size = 0
        cdef Py_ssize_t j
        cdef int side
        for j in range(d):
            found = self.functions.value(w[j], self.kappa, j, self.functions.data)
            if found != found:
                error[0] = self.no_number("value", w[j], j)
                return NAN
            if found == INFINITY:       # w is outside the domain of g
                error[0] = 0
                return INFINITY
            steepest = 0
            for side in range(2):
                away = fabs(self.functions.value(w[j] * (1 + PROBE if side else 1 - PROBE),
                                                 self.kappa, j, self.functions.data) - found)
                if away < INFINITY:
                    steepest = fmax(steepest, away / PROBE)
            add(&total, found)
            size += fabs(found) + steepest
        found = result(&total)
        error[0] = rounding(found, total.size, total.count) + 1.01 * EVALUATION * UNIT * size
        return found

    cdef double misfit(self, Py_ssize_t j, double v, double w, double conjugate) noexcept nogil:
        """What g(w) + g*(v) is off v w; or, where that is how g* is defined, what g* is off the
        integral of its derivative, to the better side, as there may be a kink on the other."""
        cdef double best = INFINITY, h, area
        cdef int side
        if self.functions.conjugate != NULL:
            return fabs(self.functions.value(w, self.kappa, j, self.functions.data) - v * w
                        + conjugate)
        for side in range(2):
            h = STRETCH * (fabs(v) if side else -fabs(v))
            area = h / 3 * (2 * self.at(j, v + h / 4) - self.at(j, v + h / 2)
                            + 2 * self.at(j, v + 3 * h / 4))
            best = fmin(best, fabs(self.conjugate_at(j, v + h, self.at(j, v + h)) - conjugate
                                   - area))
        return best

    cdef double conjugate(self, const double* v, const double* delta, Py_ssize_t stride,
                          Py_ssize_t d, double* error) noexcept nogil:
        cdef Sum total = Sum(0, 0, 0, 0)
        cdef double found, w, off, size = 0, propagated = 0
        cdef Py_ssize_t j
        for j in range(d):
            w = self.at(j, v[j])
            found = self.conjugate_at(j, v[j], w)
            if found != found:
                error[0] = NAN
                return NAN
            off = delta[j * stride]
            propagated += fabs(w) * off + 0.5 * off * off       # g_j* is 1-smooth
            add(&total, found)
            # what does not fit together is rounding, also that of g: twice
            size += (fabs(found) + fabs(v[j] * w)
                     + 2 * self.misfit(j, v[j], w, found) / (EVALUATION * UNIT))
        found = result(&total)
        error[0] = (rounding(found, total.size, total.count) + 1.01 * EVALUATION * UNIT * size
                    + 1.01 * propagated)
        return found


cdef Formulas formulas_of(MapFunctions functions, object owner, str label):
    """Formulas of functions whose addresses are known."""
    cdef Formulas formulas = Formulas.__new__(Formulas)
    formulas.functions, formulas.owner, formulas.label = functions, owner, label
    return formulas
