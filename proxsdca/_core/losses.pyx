"""The scalar losses: names, parameters and what they mean.

The formulas stand in losses.pxd.  In all of them z = x_i^T w is the margin,
y the target, and the dual variable b = alpha_i / s_i enters as phi*(-b).
"""

from inspect import signature
from numbers import Real
from threading import get_ident

import numpy as np
from numpy import errstate

from .notes import note

from cpython.object cimport PyObject_GenericSetAttr
from libc.float cimport DBL_MIN
from libc.math cimport INFINITY, NAN, isfinite, log

from .numeric cimport (
    default_conjugate_size, default_conjugate_sizes, default_value_size, default_value_sizes,
    solved_best, solved_conjugate, solved_end,
)
from .step cimport (
    OPTION_I, OPTION_II, OPTION_III, OPTION_IV, OPTION_IV_4L2, OPTION_IV_L2, OPTION_V, step,
)

OPTIONS = {
    "I": OPTION_I,
    "II": OPTION_II,
    "III": OPTION_III,
    "IV": OPTION_IV,
    "IV-4L2": OPTION_IV_4L2,
    "IV-L2": OPTION_IV_L2,
    "V": OPTION_V,
}


def _number(str name, value, double above, double below, bint closed=False):
    """The value of a parameter, above < value < below, or above <= value where closed."""
    bounds = f"a number {'>=' if closed else '>'} {above:g} and < {below:g}"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} = {value!r} ({type(value).__name__}): {bounds} is needed")
    cdef double x = value
    if not (above <= x < below if closed else above < x < below):
        raise ValueError(f"{name} = {value!r}: {bounds} is needed")
    return x


# What a loss must have, and why.
NEEDED = {
    "value": "value(z, y), phi(z) itself, of which the primal objective is made",
    "subgradient": "subgradient(z, y), an element of the subdifferential of phi at z, which the "
                   "steps move towards",
}
PACKAGE = __name__.rpartition(".")[0]       # where losses have compiled formulas
CONSTANTS = ("gamma", "lipschitz", "classification", "target_min")


cdef class Loss(Term):
    """A scalar loss phi(z) with target y, and all that Prox-SDCA needs of it.

    A loss of your own is a subclass that has

    - ``value(z, y)``: phi(z), convex in z and bounded from below;
    - ``subgradient(z, y)``: an element of its subdifferential at z;
    - ``conjugate(a, y)``: phi*(a) = max_z (z a - phi(z)), infinity where there is no maximum.
      Where it is missing it is solved for by the other two, which is slow;

    and may have

    - ``exact_step(b, m, y, q)``: the b' at which phi*(-b') + m b' + q/2 (b' - b)^2 is the least,
      for q > 0; else it is solved for by the subgradient;
    - ``domain(y)``: (lower, upper), the b for which phi*(-b) is finite; else it is read off the
      subgradient far out;
    - ``value_size(z, y)``, ``conjugate_size(a, y)``: the sums of the absolute values of the
      summands of phi and phi*, what their roundings are relative to; else as if the arguments
      were rounded.

    All are to be right for numbers and, elementwise, for arrays. The constants below are class
    attributes, or set in ``__init__``. `proxsdca.testing.check_loss` tells whether all of this fits
    together.

    Parameters
    ----------
    gamma : float
        phi is (1/gamma)-smooth; 0, which is always right, where it is not smooth.
    lipschitz : float
        The paper's L; infinity, which is always right, where phi is not Lipschitz.
    classification : bool
        Whether y must be one of two labels, which become -1 and +1.
    target_min : float
        y below this is refused.
    """

    def __cinit__(self, *args, **kwargs):
        self.gamma = 0
        self.lipschitz = INFINITY
        self.classification = False
        self.target_min = -INFINITY
        self.ends, self.failures = {}, {}
        kind = type(self)
        self.foreign = kind is Loss or kind.__module__.rpartition(".")[0] != PACKAGE
        if not self.foreign:
            return
        for name, needed in NEEDED.items():
            if getattr(kind, name) is getattr(Loss, name):
                raise TypeError(f"{kind.__name__} lacks {needed}")
        self.python = True
        self.has_conjugate = kind.conjugate is not Loss.conjugate
        self.has_domain = kind.domain is not Loss.domain
        self.has_step = hasattr(kind, "exact_step")
        self.has_value_size = hasattr(kind, "value_size")
        self.has_conjugate_size = hasattr(kind, "conjugate_size")
        self._take({name: getattr(kind, name) for name in CONSTANTS
                    if getattr(kind, name) is not getattr(Loss, name)})

    def __init__(self, **constants):
        for name in constants:
            if name not in CONSTANTS:
                raise TypeError(f"{name}: a loss has the constants {', '.join(CONSTANTS)}")
            if getattr(type(self), name) is not getattr(Loss, name):
                raise TypeError(f"{name} is given twice, by the class {type(self).__name__} too")
        self._take(constants)

    def __setattr__(self, name, value):
        if name in CONSTANTS and self.python:
            Loss.__init__(self, **{name: value})
        else:
            PyObject_GenericSetAttr(self, name, value)

    def _take(self, constants):
        for name, value in constants.items():
            if name == "gamma":
                self.gamma = _number(name, value, 0, INFINITY, closed=True)
            elif name == "lipschitz":
                if value != INFINITY:
                    value = _number(name, value, 0, INFINITY)
                self.lipschitz = value
            elif name == "target_min":
                if value != -INFINITY:
                    value = _number(name, value, -INFINITY, INFINITY)
                self.target_min = value
            elif not isinstance(value, bool):
                raise TypeError(f"{name} = {value!r}: True or False is needed")
            else:
                self.classification = value

    @property
    def parameters(self):
        """What the constructor takes, which stands in attributes of the same names."""
        if not self.foreign:
            return ()
        return tuple(
            name for name, given in signature(type(self).__init__).parameters.items()
            if given.kind in (given.POSITIONAL_OR_KEYWORD, given.KEYWORD_ONLY) and name != "self"
        )

    @property
    def name(self):
        """The name by which `solve` knows the loss."""
        for name, kind in LOSSES.items():
            if type(self) is kind:
                return name
        return type(self).__name__

    @property
    def solved(self):
        """What the loss does not say, and is solved for."""
        has = {"conjugate": self.has_conjugate, "exact_step": self.has_step,
               "domain": self.has_domain}
        return tuple(name for name, there in has.items() if self.python and not there)

    @property
    def options(self):
        """The names of the step options that exist for this loss."""
        smooth, lipschitz = self.gamma > 0, self.lipschitz < INFINITY
        fits = {"V": smooth, "IV-4L2": lipschitz and not smooth, "IV-L2": False}
        return tuple(option for option in OPTIONS if fits.get(option, True))

    def __repr__(self):
        values = ", ".join(f"{key}={getattr(self, key)!r}" for key in self.parameters
                           if hasattr(self, key))
        return f"{type(self).__name__}({values})"

    def _state(self):
        """All that makes a loss of one's own what it is."""
        constants = {name: getattr(self, name) for name in CONSTANTS}
        return constants, getattr(self, "__dict__", {})

    def __eq__(self, other):
        if type(self) is not type(other) or not self.foreign:
            return type(self) is type(other) and repr(self) == repr(other)
        return self is other or _same(self._state(), other._state())

    def __hash__(self):
        return hash(repr(self))

    def __reduce__(self):
        if self.foreign:
            return _remade, (type(self),), self._state()
        return type(self), tuple(getattr(self, key) for key in self.parameters)

    def __setstate__(self, state):
        constants, attributes = state
        self._take(constants)
        self.__dict__.update(attributes)

    # ------------------------------------------------------ formulas that are written in Python

    cdef double answer(self, str method, tuple arguments) noexcept:
        """What a method says; NaN where it fails, with the reason in `failures`."""
        cdef double value
        try:
            try:
                answer = getattr(self, method)(*arguments)
            except ArithmeticError:         # numpy's numbers are infinite where Python's raise
                with errstate(all="ignore"):
                    answer = getattr(self, method)(*map(np.float64, arguments))
            if answer is None:
                raise TypeError(f"{type(self).__name__}.{method}{arguments} is None: is a return "
                                "missing?")
            value = answer
            if value != value:
                raise ValueError(f"{type(self).__name__}.{method}{arguments} is nan: a number, or "
                                 "an infinity, is needed")
            return value
        except BaseException as error:
            if isinstance(error, OverflowError):    # ... but those of math are not
                if method == "subgradient":
                    return -INFINITY if arguments[0] < arguments[1] else INFINITY
                if method in ("value", "conjugate"):
                    return INFINITY
            self.fail(error, f"{type(self).__name__}.{method}{arguments}")
            return NAN

    cdef bint answers(self, str method, Py_ssize_t n, const double* y, const double* x,
                      double* out) noexcept:
        """What a method says of arrays; False where one call for each will show what is wrong."""
        cdef const double[::1] found
        cdef Py_ssize_t k
        try:
            answer = getattr(self, method)(copied(x, n), copied(y, n))
            found = np.ascontiguousarray(answer, float)
            if found.shape[0] != n:
                return False
        except Exception:
            return False
        except BaseException as error:      # Ctrl-C
            self.fail(error, f"{type(self).__name__}.{method}(array, array)")
            for k in range(n):
                out[k] = NAN
            return True
        for k in range(n):
            if found[k] != found[k]:
                return False
            out[k] = found[k]
        return True

    cdef void fail(self, BaseException error, str call) noexcept:
        """Keep the first exception of a thread until it can be raised."""
        note(error, f"in {call}")
        self.failures.setdefault(get_ident(), error)

    def _raise_failure(self, place=""):
        """Raise what a formula has raised in this thread, noted with the place.

        The loop cannot raise in mid-run: the formulas answer NaN, and whoever called it asks here.
        """
        error = self.failures.pop(get_ident(), None) if self.failures else None
        if error is not None:
            if place:
                note(error, f"at {place}")
            raise error

    def _forget(self):
        """What was asked before a new problem counts no more: attributes may have changed."""
        self.ends.clear()
        self.failures.pop(get_ident(), None)

    cdef double phi(self, double y, double z) noexcept nogil:
        with gil:
            return self.answer("value", (z, y))

    cdef double phi_conj(self, double y, double a) noexcept nogil:
        if not self.has_conjugate:
            return solved_conjugate(self, y, a, NULL)
        with gil:
            return self.answer("conjugate", (a, y))

    cdef double phi_slope(self, double y, double z) noexcept nogil:
        with gil:
            return self.answer("subgradient", (z, y))

    cdef double best(self, double y, double b, double m, double q) noexcept nogil:
        cdef double new
        if not self.has_step:
            return solved_best(self, y, b, m, q)
        with gil:
            new = self.answer("exact_step", (b, m, y, q))
        return new if new != new else clip(new, self.lower(y), self.upper(y))

    # Inside its domain, phi*(-b) is -y b + gamma b^2 / 2 for most losses.

    cdef double conj_slope(self, double y, double b) noexcept nogil:
        return self.gamma * b - y if self.quadratic else NAN

    cdef double conj_curve(self, double y, double b) noexcept nogil:
        if not self.quadratic:
            return NAN
        return self.gamma if self.lower(y) < b < self.upper(y) else INFINITY

    # Compiled formulas have the defaults of a term for what follows.

    cdef double lower(self, double y) noexcept nogil:
        if not self.foreign:
            return Term.lower(self, y)
        with gil:
            return self.end(y, 0)

    cdef double upper(self, double y) noexcept nogil:
        if not self.foreign:
            return Term.upper(self, y)
        with gil:
            return self.end(y, 1)

    cdef double end(self, double y, int which) noexcept:
        """An end of the domain of b, asked for once."""
        cdef double low, high
        found = self.ends.get(y)
        if found is None:
            try:
                if self.has_domain:
                    low, high = self.domain(y)
                    if not low <= high:
                        raise ValueError(f"({low!r}, {high!r}) is no interval")
                else:
                    with errstate(all="ignore"):
                        low = solved_end(self, y, False)
                        high = solved_end(self, y, True)
                found = low, high
                if low <= high and len(self.ends) < 1_000_000:
                    self.ends[y] = found
            except BaseException as error:
                self.fail(error, f"{type(self).__name__}.domain({y})")
                return NAN
        return found[which]

    cdef double phi_size(self, double y, double z) noexcept nogil:
        if not self.foreign:
            return Term.phi_size(self, y, z)
        if not self.has_value_size:
            return default_value_size(self, self.has_conjugate, y, z)
        with gil:
            return self.answer("value_size", (z, y))

    cdef double conj_size(self, double y, double a) noexcept nogil:
        cdef double size
        if not self.foreign:
            return Term.conj_size(self, y, a)
        if self.has_conjugate_size:
            with gil:
                return self.answer("conjugate_size", (a, y))
        if self.has_conjugate:
            return default_conjugate_size(self, y, a)
        solved_conjugate(self, y, a, &size)
        return size

    cdef void phis(self, Py_ssize_t n, const double* y, const double* z,
                   double* out) noexcept nogil:
        if self.python:
            with gil:
                if self.answers("value", n, y, z, out):
                    return
        Term.phis(self, n, y, z, out)

    cdef void phi_conjs(self, Py_ssize_t n, const double* y, const double* a,
                        double* out) noexcept nogil:
        if self.python and self.has_conjugate:
            with gil:
                if self.answers("conjugate", n, y, a, out):
                    return
        Term.phi_conjs(self, n, y, a, out)

    cdef void phi_slopes(self, Py_ssize_t n, const double* y, const double* z,
                         double* out) noexcept nogil:
        if self.python:
            with gil:
                if self.answers("subgradient", n, y, z, out):
                    return
        Term.phi_slopes(self, n, y, z, out)

    cdef void phi_sizes(self, Py_ssize_t n, const double* y, const double* z,
                        double* out) noexcept nogil:
        if self.python and not self.has_value_size:
            default_value_sizes(self, self.has_conjugate, n, y, z, out)
        else:
            Term.phi_sizes(self, n, y, z, out)

    cdef void conj_sizes(self, Py_ssize_t n, const double* y, const double* a,
                         double* out) noexcept nogil:
        if self.python and self.has_conjugate and not self.has_conjugate_size:
            default_conjugate_sizes(self, n, y, a, out)
        else:
            Term.conj_sizes(self, n, y, a, out)

    # ------------------------------------------------------ as Python sees it

    def value(self, z, y):
        """phi(z), elementwise."""
        return self._map(0, y, z)

    def conjugate(self, a, y):
        """phi*(a) = max_z (z a - phi(z)), elementwise; infinity outside its domain."""
        return self._map(1, y, a)

    def subgradient(self, z, y):
        """An element of the subdifferential of phi at z, elementwise."""
        return self._map(2, y, z)

    def domain(self, y):
        """The interval (lower, upper) of b on which phi*(-b) is finite, elementwise."""
        return self._map(3, y, 0.0), self._map(4, y, 0.0)

    def step(self, double b, double m, double y, double q, option="I", q_R=None):
        """The new b by one of the paper's step options.

        Parameters
        ----------
        b : float
            The dual variable alpha_i / s_i.
        m : float
            The margin x_i^T w.
        y : float
            The target.
        q : float
            s_i |x_i|^2 / (lambda n).
        option : str
            One of `options`.
        q_R : float, optional
            s_i R^2 / (lambda n), for options IV and V; q where it is not given.
        """
        if option not in self.options:
            raise ValueError(f"option = {option!r} does not exist for loss "
                             f"{self.name!r}; choices: {', '.join(self.options)}")
        q = max(q, DBL_MIN)
        cdef double bound = q if q_R is None else q_R
        cdef int number = OPTIONS[option]
        cdef double new = step[Term](self, number, y, b, m, q, bound)
        self._raise_failure()
        return new

    def sizes(self, double z, double a, double y):
        """What the roundings of phi(z) and phi*(a) are relative to."""
        found = self.phi_size(y, z), self.conj_size(y, a)
        self._raise_failure()
        return found

    def derivatives(self, double b, double y):
        """The first and second derivative of b -> phi*(-b); NaN where they are not known."""
        return self.conj_slope(y, b), self.conj_curve(y, b)

    def may_rest(self, double y):
        """Whether b may rest at an end of its domain: phi* has a finite slope there."""
        cdef double lower = self.lower(y), upper = self.upper(y)
        return ((isfinite(lower) and isfinite(self.conj_slope(y, lower)))
                or (isfinite(upper) and isfinite(self.conj_slope(y, upper))))

    def _map(self, int which, y, x):
        y, x = np.broadcast_arrays(np.asarray(y, float), np.asarray(x, float))
        out = np.empty(x.shape)
        cdef const double[::1] ys = np.ascontiguousarray(y).ravel()
        cdef const double[::1] xs = np.ascontiguousarray(x).ravel()
        cdef double[::1] outs = out.reshape(-1)
        cdef Py_ssize_t k
        for k in range(xs.shape[0]):
            if which == 0:
                outs[k] = self.phi(ys[k], xs[k])
            elif which == 1:
                outs[k] = self.phi_conj(ys[k], xs[k])
            elif which == 2:
                outs[k] = self.phi_slope(ys[k], xs[k])
            elif which == 3:
                outs[k] = self.lower(ys[k])
            else:
                outs[k] = self.upper(ys[k])
            if self.foreign and outs[k] != outs[k]:
                break
        self._raise_failure()
        return out[()]


cdef object copied(const double* x, Py_ssize_t n):
    """An array of its own, which whoever gets it may keep, but not change."""
    out = np.empty(n)
    cdef double[::1] to = out
    cdef Py_ssize_t k
    for k in range(n):
        to[k] = x[k]
    out.flags.writeable = False
    return out


def _remade(kind):
    """A loss of one's own, before its state is set."""
    return kind.__new__(kind)


def _same(one, two):
    """Whether two states are equal, arrays among them included."""
    if isinstance(one, np.ndarray) or isinstance(two, np.ndarray):
        return type(one) is type(two) and np.array_equal(one, two)
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(_same(one[key], two[key]) for key in one)
    if isinstance(one, tuple) and isinstance(two, tuple):
        return len(one) == len(two) and all(map(_same, one, two))
    return bool(one == two)


cdef class Hinge(Loss):
    """phi(z) = max(0, 1 - y z); phi*(-b) = -y b for 0 <= y b <= 1. L = 1."""

    def __init__(self):
        self.quadratic = True
        self.lipschitz = 1
        self.classification = True


cdef class SmoothHinge(Loss):
    """The hinge, smoothed on a width gamma; phi*(-b) = -y b + gamma b^2 / 2, 0 <= y b <= 1. L = 1.

    phi(z) = 0 for y z >= 1, 1 - y z - gamma/2 for y z <= 1 - gamma, and
    (1 - y z)^2 / (2 gamma) in between.
    """

    parameters = ("gamma",)

    def __init__(self, gamma=1.0):
        self.quadratic = True
        self.gamma = _number("gamma", gamma, 0, INFINITY)
        self.lipschitz = 1
        self.classification = True


cdef class SquaredHinge(Loss):
    """phi(z) = max(0, 1 - y z)^2; phi*(-b) = -y b + b^2 / 4 for y b >= 0. gamma = 1/2."""

    def __init__(self):
        self.quadratic = True
        self.gamma = 0.5
        self.classification = True


cdef class Logistic(Loss):
    """phi(z) = log(1 + exp(-y z)); gamma = 4, L = 1.

    phi*(-b) = t log t + (1 - t) log(1 - t) with t = y b in [0, 1].
    """

    def __init__(self):
        self.gamma = 4
        self.lipschitz = 1
        self.classification = True

    cdef double conj_slope(self, double y, double b) noexcept nogil:
        return y * log(y * b / (1 - y * b))

    cdef double conj_curve(self, double y, double b) noexcept nogil:
        cdef double t = y * b
        return 1 / (t * (1 - t)) if 0 < t < 1 else INFINITY


cdef class Squared(Loss):
    """phi(z) = (z - y)^2 / 2; phi*(-b) = b^2 / 2 - y b. gamma = 1."""

    def __init__(self):
        self.quadratic = True
        self.gamma = 1


cdef class Absolute(Loss):
    """phi(z) = |z - y|; phi*(-b) = -y b for |b| <= 1. L = 1."""

    def __init__(self):
        self.quadratic = True
        self.lipschitz = 1


cdef class Quantile(Loss):
    """phi(z) = tau (y - z) where y > z, (1 - tau) (z - y) elsewhere.

    phi*(-b) = -y b for tau - 1 <= b <= tau. L = max(tau, 1 - tau).
    """

    parameters = ("tau",)

    def __init__(self, tau=0.5):
        self.quadratic = True
        self.tau = _number("tau", tau, 0, 1)
        self.lipschitz = max(self.tau, 1 - self.tau)


cdef class EpsilonInsensitive(Loss):
    """phi(z) = max(0, |z - y| - eps); phi*(-b) = -y b + eps |b| for |b| <= 1. L = 1."""

    parameters = ("eps",)

    def __init__(self, eps=0.1):
        self.eps = _number("eps", eps, 0, INFINITY, closed=True)
        self.lipschitz = 1
        self.quadratic = True

    cdef double conj_slope(self, double y, double b) noexcept nogil:
        return (self.eps if b > 0 else -self.eps) - y

    cdef double conj_curve(self, double y, double b) noexcept nogil:
        return 0.0 if -1 < b < 1 and (b != 0 or self.eps == 0) else INFINITY


cdef class Huber(Loss):
    """phi(z) = (z - y)^2 / 2 inside delta, delta (|z - y| - delta/2) outside.

    phi*(-b) = b^2 / 2 - y b for |b| <= delta. gamma = 1, L = delta.
    """

    parameters = ("delta",)

    def __init__(self, delta=1.0):
        self.quadratic = True
        self.delta = self.lipschitz = _number("delta", delta, 0, INFINITY)
        self.gamma = 1


cdef class Poisson(Loss):
    """phi(z) = exp(z) - y z + y log y - y, half the Poisson deviance, for y >= 0.

    phi*(-b) = t log t - t - (y log y - y) with t = y - b >= 0. Neither smooth
    nor Lipschitz on the whole line.
    """

    def __init__(self):
        self.target_min = 0


# Every loss by its name; what stands here is solved, documented and tested.
LOSSES = {
    "hinge": Hinge,
    "smooth_hinge": SmoothHinge,
    "squared_hinge": SquaredHinge,
    "logistic": Logistic,
    "squared": Squared,
    "absolute": Absolute,
    "quantile": Quantile,
    "epsilon_insensitive": EpsilonInsensitive,
    "huber": Huber,
    "poisson": Poisson,
}
