"""The scalar losses: names, parameters and what they mean.

The formulas stand in losses.pxd.  In all of them z = x_i^T w is the margin,
y the target, and the dual variable b = alpha_i / s_i enters as phi*(-b).
"""

from numbers import Real

import numpy as np

from libc.float cimport DBL_MIN
from libc.math cimport INFINITY

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


cdef class Loss(Term):
    """A scalar loss phi(z) with target y, and all that Prox-SDCA needs of it.

    Attributes
    ----------
    gamma : float
        phi is (1/gamma)-smooth; 0 where it is not smooth.
    lipschitz : float
        The paper's L; infinity where phi is not Lipschitz.
    classification : bool
        Whether y must be one of two labels.
    """

    parameters = ()

    def __cinit__(self, *args, **kwargs):
        self.gamma = 0
        self.lipschitz = INFINITY
        self.classification = False
        self.target_min = -INFINITY

    @property
    def name(self):
        """The name by which `solve` knows the loss."""
        for name, kind in LOSSES.items():
            if type(self) is kind:
                return name
        return type(self).__name__

    @property
    def options(self):
        """The names of the step options that exist for this loss."""
        smooth, lipschitz = self.gamma > 0, self.lipschitz < INFINITY
        fits = {"V": smooth, "IV-4L2": lipschitz and not smooth, "IV-L2": False}
        return tuple(option for option in OPTIONS if fits.get(option, True))

    def __repr__(self):
        values = ", ".join(f"{key}={getattr(self, key)!r}" for key in self.parameters)
        return f"{type(self).__name__}({values})"

    def __eq__(self, other):
        return type(self) is type(other) and repr(self) == repr(other)

    def __hash__(self):
        return hash(repr(self))

    def __reduce__(self):
        return type(self), tuple(getattr(self, key) for key in self.parameters)

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
        return step[Term](self, number, y, b, m, q, bound)

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
        return out[()]


cdef class Hinge(Loss):
    """phi(z) = max(0, 1 - y z); phi*(-b) = -y b for 0 <= y b <= 1. L = 1."""

    def __init__(self):
        self.lipschitz = 1
        self.classification = True


cdef class SmoothHinge(Loss):
    """The hinge, smoothed on a width gamma; phi*(-b) = -y b + gamma b^2 / 2, 0 <= y b <= 1. L = 1.

    phi(z) = 0 for y z >= 1, 1 - y z - gamma/2 for y z <= 1 - gamma, and
    (1 - y z)^2 / (2 gamma) in between.
    """

    parameters = ("gamma",)

    def __init__(self, gamma=1.0):
        self.gamma = _number("gamma", gamma, 0, INFINITY)
        self.lipschitz = 1
        self.classification = True


cdef class SquaredHinge(Loss):
    """phi(z) = max(0, 1 - y z)^2; phi*(-b) = -y b + b^2 / 4 for y b >= 0. gamma = 1/2."""

    def __init__(self):
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


cdef class Squared(Loss):
    """phi(z) = (z - y)^2 / 2; phi*(-b) = b^2 / 2 - y b. gamma = 1."""

    def __init__(self):
        self.gamma = 1


cdef class Absolute(Loss):
    """phi(z) = |z - y|; phi*(-b) = -y b for |b| <= 1. L = 1."""

    def __init__(self):
        self.lipschitz = 1


cdef class Quantile(Loss):
    """phi(z) = tau (y - z) where y > z, (1 - tau) (z - y) elsewhere.

    phi*(-b) = -y b for tau - 1 <= b <= tau. L = max(tau, 1 - tau).
    """

    parameters = ("tau",)

    def __init__(self, tau=0.5):
        self.tau = _number("tau", tau, 0, 1)
        self.lipschitz = max(self.tau, 1 - self.tau)


cdef class EpsilonInsensitive(Loss):
    """phi(z) = max(0, |z - y| - eps); phi*(-b) = -y b + eps |b| for |b| <= 1. L = 1."""

    parameters = ("eps",)

    def __init__(self, eps=0.1):
        self.eps = _number("eps", eps, 0, INFINITY, closed=True)
        self.lipschitz = 1


cdef class Huber(Loss):
    """phi(z) = (z - y)^2 / 2 inside delta, delta (|z - y| - delta/2) outside.

    phi*(-b) = b^2 / 2 - y b for |b| <= delta. gamma = 1, L = delta.
    """

    parameters = ("delta",)

    def __init__(self, delta=1.0):
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
