"""The map of a regulariser that is written in Python.

w is kept, and asked for anew where v has moved: once a step, for the entries of the row where g is
separable, else for all.  Roundings are taken to be those of exact formulas whose arguments, and
results, were rounded.
"""

import numpy as np

from .notes import note

from libc.math cimport INFINITY, NAN, fabs

from .losses cimport copied
from .sums cimport EVALUATION, UNIT, Sum, add, result, rounding

cdef double PROBE = 1e-6        # the relative change of w by which the slope of g is measured
cdef double STRETCH = 2.0**-10  # ... and the one of v over which g* is compared with its gradient
EVERYWHERE = slice(None)


cdef class PythonMap(Map):
    """grad g*, g and g* by the methods of a `Regularizer`.

    Parameters
    ----------
    reg : Regularizer
        With `value`, `gradient` and `conjugate`.
    kappa : float
        sigma / lambda.
    d : int
        The length of w.
    own_conjugate : bool
        Whether `conjugate` is more than v^T w - g(w).
    """

    def __init__(self, reg, double kappa, Py_ssize_t d, bint own_conjugate=True):
        self.reg, self.kappa, self.separable = reg, kappa, reg.separable
        self.foreign = True
        self.own_conjugate = own_conjugate
        self.w, self.waiting = np.zeros(d), np.zeros(d, np.intp)
        self.total = np.zeros(1 if self.separable else d)

    cdef object ask(self, str method, x, j):
        """What a method says, judged."""
        call = f"{type(self.reg).__name__}.{method}"
        try:
            x.flags.writeable = False       # what is asked for is not there to work in
            answer = getattr(self.reg, method)(x, self.kappa, j)
            if answer is None:
                raise TypeError(f"{call} is None: is a return missing?")
            found = np.asarray(answer, float)
            elementwise = self.separable or method == "gradient"
            if found.shape != (x.shape if elementwise else ()):
                raise ValueError(
                    f"{call} has shape {found.shape} for {len(x)} numbers: "
                    f"{x.shape if elementwise else 'a number'} is needed, as separable = "
                    f"{bool(self.separable)}"
                )
            bad = np.isnan(found) if method != "gradient" else ~np.isfinite(found)
            if bad.any():
                at = int(np.argmax(bad))
                raise ValueError(
                    f"{call} is {float(found.flat[at])!r} where its argument is "
                    f"{float(x[at]) if elementwise else x!r}: a number is needed"
                )
            return np.ascontiguousarray(found) if found.flags.writeable else found.copy()
        except BaseException as error:
            note(error, f"in {call}(..., kappa={self.kappa!r}, ...)")
            raise

    cdef void fail(self, BaseException error) noexcept:
        """Keep the first exception until it can be raised; the loop ends at the next row."""
        if self.failure is None:
            self.failure = error
        self.w[:] = NAN

    def state(self):
        return {**Map.state(self), "w": np.array(self.w), "total": np.array(self.total)}

    def restore(self, state):
        Map.restore(self, state)
        np.copyto(np.asarray(self.w), state["w"])
        np.copyto(np.asarray(self.total), state["total"])

    def _raise_failure(self, place=""):
        error, self.failure = self.failure, None
        if error is not None:
            raise error

    cdef void refresh(self, bint whole) noexcept:
        """Bring w up to date."""
        cdef double[::1] new
        cdef Py_ssize_t[::1] at
        cdef Py_ssize_t d = self.w.shape[0], k, count = self.count
        self.count = 0
        if self.failure is not None:
            return
        try:
            if whole or not self.separable or count > d:
                new = self.ask("gradient", copied(self.v, d), EVERYWHERE)
                for k in range(d):
                    self.w[k] = new[k]
                return
            moved, there = np.array(self.waiting[:count]), np.empty(count)
            at, new = moved, there
            for k in range(count):
                new[k] = self.v[at[k]]
            new = self.ask("gradient", there, moved)
            for k in range(count):
                self.w[at[k]] = new[k]
        except BaseException as error:
            self.fail(error)

    cdef double at(self, Py_ssize_t j, double v) noexcept nogil:
        return self.w[j]

    cdef void moved(self, Py_ssize_t j, double old, double new) noexcept nogil:
        if self.count < self.waiting.shape[0]:
            self.waiting[self.count] = j
        self.count += 1         # beyond d, as a row may name a column twice, all are asked for

    cdef void settle(self) noexcept nogil:
        if self.count:
            with gil:
                self.refresh(False)

    cdef void reset(self, const double* v, Py_ssize_t d) noexcept nogil:
        self.v = v
        with gil:
            self.refresh(True)

    # Where g is not separable, every w_j may change in a step that does not move v_j: the clock is
    # the sum of w_j itself.

    cdef void tick(self) noexcept nogil:
        cdef Py_ssize_t j
        self.now += 1
        if not self.separable:
            for j in range(self.w.shape[0]):
                self.total[j] += self.w[j]

    cdef double clock(self, Py_ssize_t j) noexcept nogil:
        return self.now if self.separable else self.total[j]

    cdef double held(self, Py_ssize_t j, double v) noexcept nogil:
        return self.w[j] if self.separable else 1.0

    cdef double value(self, const double* w, Py_ssize_t d, double* error) noexcept nogil:
        with gil:
            try:
                at = copied(w, d)
                found, size = self.ask("value", at, EVERYWHERE), 0.0
                with np.errstate(all="ignore"):
                    for away in (1 - PROBE, 1 + PROBE):
                        slope = np.abs(self.ask("value", at * away, EVERYWHERE) - found) / PROBE
                        size = np.maximum(size, np.where(np.isfinite(slope), slope, 0.0))
                    size = np.abs(found) + size
                if np.isposinf(found).any():        # w is outside the domain of g
                    error[0] = 0
                    return INFINITY
                return summed(np.atleast_1d(found), float(np.sum(size)),
                              EVALUATION if self.separable else EVALUATION + d, error)
            except BaseException as failure:
                self.fail(failure)
                error[0] = NAN
                return NAN

    cdef object misfit(self, v, w, conjugate):
        """What g(w) + g*(v) is off v^T w; or, where that is how g* is defined, what g* is off the
        integral of its gradient, to the better side, as there may be a kink on the other."""
        if self.own_conjugate:
            product = v * w if self.separable else np.sum(v * w)
            return float(np.sum(np.abs(self.ask("value", np.array(w), EVERYWHERE) - product
                                       + conjugate)))
        sides = []
        for h in (STRETCH * np.abs(v), -STRETCH * np.abs(v)):
            slopes = [self.ask("gradient", v + k * h / 4, EVERYWHERE) for k in (1, 2, 3)]
            grown = self.ask("conjugate", v + h, EVERYWHERE) - conjugate
            area = milne(slopes, h)
            sides.append(np.abs(grown - (area if self.separable else np.sum(area))))
        return float(np.sum(np.minimum(*sides)))

    cdef double conjugate(self, const double* v, const double* delta, Py_ssize_t stride,
                          Py_ssize_t d, double* error) noexcept nogil:
        cdef Py_ssize_t j
        cdef double off, value, propagated = 0
        cdef double[::1] w
        with gil:
            try:
                at = copied(v, d)
                w = map = self.ask("gradient", at, EVERYWHERE)
                found = self.ask("conjugate", at, EVERYWHERE)
                # g* is 1-smooth, and its gradient is w
                for j in range(d):
                    off = delta[j * stride]
                    propagated += fabs(w[j]) * off + 0.5 * off * off
                size = float(np.sum(np.abs(found))) + float(np.sum(np.abs(at * map)))
                # what does not fit together is rounding, also that of g: twice
                size += 2 * self.misfit(at, map, found) / (EVALUATION * UNIT)
                value = summed(np.atleast_1d(found), size,
                               EVALUATION if self.separable else EVALUATION + d, error)
                error[0] += 1.01 * propagated
                return value
            except BaseException as failure:
                self.fail(failure)
                error[0] = NAN
                return NAN


cdef object milne(slopes, h):
    """The integral over a length h, by the slopes at its quarters."""
    return h / 3 * (2 * slopes[0] - slopes[1] + 2 * slopes[2])


cdef double summed(const double[::1] parts, double size, double roundings,
                   double* error) except? -1:
    """The sum, each part of which is off by so many roundings of its size."""
    cdef Sum total = Sum(0, 0, 0, 0)
    cdef Py_ssize_t j
    cdef double value
    for j in range(parts.shape[0]):
        add(&total, parts[j])
    value = result(&total)
    error[0] = rounding(value, total.size, total.count) + 1.01 * roundings * UNIT * size
    return value
