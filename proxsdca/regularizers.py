"""The regularisers g(w), and the maps grad g* that they give the loop.

Pass one by name, ``solve(X, y, reg="l1l2")``, or as an object where it has
something to choose, ``solve(X, y, reg=regularizers.L1L2(l1_weights=weights))``.
"""

from __future__ import annotations

import copy
import reprlib
from collections.abc import Callable
from inspect import signature
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from . import _validate, theory
from ._core.columns import Penalty
from ._core.compiled_map import CompiledMap, Formulas
from ._core.map import Map
from ._core.python_map import PythonMap
from ._core.regs import GroupMap, L1L2Map, L1Map, L2Map, QNormMap, WeightedL1L2Map


class Regularizer:
    """A regulariser g, 1-strongly convex in the norm of its geometry.

    One of your own, 1-strongly convex in |w|_2, is a subclass that has

    - ``value(w, kappa, j)``: g(w), infinity where it has no value;
    - ``gradient(v, kappa, j)``: grad g*(v), the w at which v^T w - g(w) is the largest;

    and may have ``conjugate(v, kappa, j)``, g*(v), which else is v^T w - g(w) at that w. kappa is
    sigma / lam, or 0 where `has_sigma` is False. Where `separable` is False, j is ``slice(None)``,
    and value and conjugate are numbers. Where it is True, all three are elementwise, and j says
    which features the given numbers are of: an index array, or ``slice(None)``; a step then asks
    only for what has changed. For k classes w is (d, k), flattened.
    `proxsdca.testing.check_regularizer` tells whether all of this fits together.

    Attributes
    ----------
    name : str
        The name by which `solve` knows the regulariser; by default that of the class.
    parameters : tuple of str
        What its constructor takes, for its repr; by default what its signature says.
    separable : bool
        Whether g is a sum over single features.
    has_sigma : bool
        Whether there is a part that sigma weighs.
    euclidean : bool
        Whether g is strongly convex in the norm |w|_2, so that |.|_D' is |.|_2.
    """

    name: ClassVar[str]
    parameters: ClassVar[tuple[str, ...]] = ()
    separable: ClassVar[bool] = False
    has_sigma: ClassVar[bool] = False
    euclidean: ClassVar[bool] = True

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "name" not in cls.__dict__:
            cls.name = cls.__name__

    def value(self, w: np.ndarray, kappa: float, j: Any) -> Any:
        """g(w), or g_j(w_j) elementwise."""
        raise self._lacks("value(w, kappa, j), g itself, which the primal objective needs")

    def gradient(self, v: np.ndarray, kappa: float, j: Any) -> Any:
        """grad g*(v)."""
        raise self._lacks(
            "gradient(v, kappa, j), the gradient of g* at v, by which the loop has w = grad g*(v)"
        )

    def conjugate(self, v: np.ndarray, kappa: float, j: Any) -> Any:
        """g*(v), or g_j*(v_j) elementwise: by Fenchel and Young, v^T w - g(w) at w = grad g*(v)."""
        w = self.gradient(v.copy(), kappa, j)
        return (v * w if self.separable else v @ w) - self.value(w, kappa, j)

    def _lacks(self, what: str) -> TypeError:
        return TypeError(f"{type(self).__name__} lacks {what}")

    def map(self, lam: float, sigma: float, d: int, k: int = 1) -> Map:
        """grad g* for w in R^d, or in R^(d x k), flattened."""
        for method in ("value", "gradient"):
            if getattr(type(self), method) is getattr(Regularizer, method):
                getattr(self, method)(np.zeros(0), 0.0, slice(None))
        own_conjugate = type(self).conjugate is not Regularizer.conjugate
        return PythonMap(self, sigma / lam if self.has_sigma else 0.0, d * k, own_conjugate)

    def default_sigma(self, lam: float, sigma_max: Callable[[], float]) -> float:
        """The sigma that is taken where none is given."""
        return 0.1 * lam

    @property
    def has_penalty(self) -> bool:
        """Whether the column side exists."""
        return type(self).penalty is not Regularizer.penalty and self.separable

    def penalty(self, lam: float, sigma: float, n: int, d: int) -> tuple[Penalty, np.ndarray]:
        """n lam g as a term of w_j, and the weight c_j of its l1 part for each feature."""
        raise NotImplementedError

    def largest(self, u: np.ndarray, k: int = 1) -> float:
        """The least sigma for which w = 0 belongs to u = 1/n sum_i X_i alpha_i."""
        low, high = 0.0, 1.0  # with lam = 1 sigma is kappa; its size does not matter at w = 0

        def zero(kappa: float) -> bool:
            return not np.any(self.gradient(u.copy(), kappa, slice(None)))

        if zero(0.0):
            return 0.0
        while not zero(high):
            low, high = high, 2 * high
            if high > 1e300:
                return np.inf
        while low < (middle := low + (high - low) / 2) < high:
            low, high = (low, middle) if zero(middle) else (middle, high)
        return high

    @property
    def arguments(self) -> tuple[str, ...]:
        """What its constructor takes."""
        return self.parameters or tuple(signature(type(self)).parameters)

    def __repr__(self) -> str:
        given = ((key, getattr(self, key, None)) for key in self.arguments)
        shown = ", ".join(f"{key}={_short(value)}" for key, value in given if value is not None)
        return f"{type(self).__name__}({shown})"


def _short(value: Any) -> str:
    return reprlib.repr(value) if isinstance(value, (list, tuple)) else repr(value)


def _own(value: Any) -> Any:
    """A copy of what may change later without our knowing."""
    if isinstance(value, np.ndarray) and 0 in value.strides:  # broadcast, perhaps to any size
        return value
    return copy.deepcopy(value) if isinstance(value, (list, np.ndarray)) else value


def _kappas(weights: np.ndarray, sigma: float, lam: float) -> np.ndarray:
    """c_j sigma / lam; 0 where c_j is, however large sigma / lam."""
    kappas = np.zeros_like(weights)
    with np.errstate(over="ignore"):
        np.multiply(weights, np.divide(sigma, lam), out=kappas, where=weights > 0)
    return kappas


class L2(Regularizer):
    """g(w) = |w|_2^2 / 2, grad g*(v) = v."""

    name = "l2"
    separable = True

    def map(self, lam: float, sigma: float, d: int, k: int = 1) -> Map:
        return L2Map()

    def penalty(self, lam: float, sigma: float, n: int, d: int) -> tuple[Penalty, np.ndarray]:
        return Penalty(0.0, n * lam), np.zeros(d)


class _WithL1(Regularizer):
    """What has a part sigma sum_j c_j |w_j|."""

    separable = True
    has_sigma = True
    l1_weights: Any = None

    def _weights(self, d: int, k: int = 1) -> np.ndarray:
        """c, one for each of the d k weights, or one for all."""
        if self.l1_weights is None:
            return np.ones(1)
        return np.repeat(_validate.feature_weights("l1_weights", self.l1_weights, d), k)

    def penalty(self, lam: float, sigma: float, n: int, d: int) -> tuple[Penalty, np.ndarray]:
        return Penalty(n * sigma, n * lam), np.broadcast_to(self._weights(d), d).copy()

    def largest(self, u: np.ndarray, k: int = 1) -> float:
        c = self._weights(len(u) // k, k)
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.nan_to_num(np.abs(u) / c, nan=0.0, posinf=np.inf).max())


class L1L2(_WithL1):
    """g(w) = |w|_2^2 / 2 + sigma/lam |w|_1, grad g*(v) the soft threshold of v at sigma/lam.

    So lam g(w) = lam/2 |w|_2^2 + sigma |w|_1.

    Parameters
    ----------
    l1_weights : (d,) array_like, optional
        c_j >= 0: the penalty is sigma sum_j c_j |w_j|. 0 leaves a feature to l2 alone. Where w is
        (d, k), c_j is for all k weights of feature j.
    """

    name = "l1l2"
    parameters = ("l1_weights",)

    def __init__(self, l1_weights: ArrayLike | None = None) -> None:
        self.l1_weights: Any = _own(l1_weights)

    def map(self, lam: float, sigma: float, d: int, k: int = 1) -> Map:
        if self.l1_weights is None:
            return L1L2Map(sigma / lam)
        return WeightedL1L2Map(_kappas(self._weights(d, k), sigma, lam))


class QNorm(_WithL1):
    """g(w) = c/2 |w|_q^2 + sigma/lam |w|_1, 1-strongly convex in the norm |w|_1.

    With 1/p + 1/q = 1 and s the soft threshold of v at sigma/lam, (nablaDefqnorm) and (aDefqnorm)
    say that

        grad_j g*(v) = sign(s_j) |s_j|^(p-1) |s|_p^(2-p) / c.

    It suits rows whose largest entry is small beside their length, and solutions with few features.

    Parameters
    ----------
    p : float, optional
        p >= 2; by default the even number nearest to log d + sqrt(log^2 d - 2 log d), at which c is
        about the least, and 2 for d < 8.
    constant : {"valid", "paper"}
        "valid": c = (p - 1) d^(2/p), with which g is 1-strongly convex. "paper": c = 3 log d, with
        p = log d by default, with which it is not (ERRATA 2), so that every step is checked against
        the true dual.
    l1_weights : (d,) array_like, optional
        c_j >= 0, as in `L1L2`.
    """

    name = "qnorm"
    parameters = ("p", "constant", "l1_weights")
    separable = False
    euclidean = False

    def __init__(
        self,
        p: float | None = None,
        constant: str = "valid",
        l1_weights: ArrayLike | None = None,
    ) -> None:
        if p is not None and not _validate.positive("p", p) >= 2:
            raise ValueError(
                f"p = {p!r}: p >= 2 is needed, as g is strongly convex only for q = p/(p - 1) <= 2"
            )
        self.p = None if p is None else float(p)
        self.constant = _validate.choice("constant", constant, ("valid", "paper"))
        self.l1_weights: Any = _own(l1_weights)

    def p_and_c(self, d: int) -> tuple[float, float]:
        """The p and c in use for d features."""
        if self.constant == "paper":
            p, c = theory.paper_constant(d)
            return (p if self.p is None else self.p), c
        p = theory.default_p(d) if self.p is None else self.p
        return p, theory.valid_constant(d, p)

    def map(self, lam: float, sigma: float, d: int, k: int = 1) -> Map:
        p, c = self.p_and_c(d * k)
        paper = self.constant == "paper"
        return QNormMap(p, c, _kappas(self._weights(d, k), sigma, lam), not paper, paper)


class Group(Regularizer):
    """g(w) = |w|_2^2 / 2 + sigma/lam sum_G c_G |w_G|_2 for groups G of features.

    grad g*(v) shrinks each group as one: w_G = v_G [1 - sigma c_G / (lam |v_G|_2)]_+. So whole
    groups of features are kept or dropped.

    Parameters
    ----------
    groups : (d,) array_like of int, or sequence of index sequences
        The number of each feature's group, 0, 1, ...; or, for each group, its features. Every
        feature belongs to exactly one group. Where w is (d, k), a group has all k weights of its
        features, and by default each feature is one: rows of w are kept or dropped.
    weights : array_like, optional
        c_G >= 0 for each group; 1 by default. The square root of the group's size is usual.
    """

    name = "group"
    parameters = ("groups", "weights")
    has_sigma = True

    def __init__(self, groups: Any = None, weights: ArrayLike | None = None) -> None:
        self.groups = _own(groups)
        self.weights: Any = _own(weights)

    def _parts(self, d: int, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The group of each of the d k weights, and each group's weight."""
        if self.groups is None and k == 1:
            raise ValueError(
                "reg = 'group' needs groups: reg=proxsdca.regularizers.Group(groups), with the "
                "number of each feature's group, or the features of each group"
            )
        group_of = (
            np.arange(d) if self.groups is None else _validate.groups("groups", self.groups, d)
        )
        count = int(group_of.max()) + 1
        group_of = np.repeat(group_of, k)
        if self.weights is None:
            return group_of, np.ones(count)
        return group_of, _validate.group_weights("weights", self.weights, count)

    def map(self, lam: float, sigma: float, d: int, k: int = 1) -> Map:
        group_of, weights = self._parts(d, k)
        return GroupMap(group_of, _kappas(weights, sigma, lam))

    def largest(self, u: np.ndarray, k: int = 1) -> float:
        group_of, weights = self._parts(len(u) // k, k)
        size = max(float(np.abs(u).max()), np.finfo(float).tiny)
        norms = size * np.sqrt(np.bincount(group_of, (u / size) ** 2, len(weights)))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return float(np.nan_to_num(norms / weights, nan=0.0, posinf=np.inf).max())


class L1(_WithL1):
    """sigma |w|_1 alone, to a certified accuracy for that problem.

    Smooth losses are solved on the column side, without any surrogate. On the row side, and for all
    other losses, by the paper's reductions: a strongly convex term lam/2 |w|_2^2, or lam c/2
    |w|_q^2, is added, whose lam follows from the accuracy that is asked for and from a bound B on
    the solution, which is tightened as the run goes. The certificate is for the problem without it.

    Parameters
    ----------
    geometry : {"auto", "l2", "qnorm"}
        The reduction: section 3.1 or 3.2 of the paper; "auto" takes the one with the smaller bound
        on the iterations.
    method : {"auto", "literal"}
        "literal" is the paper's procedure word for word: lam = eps / (c B^2) throughout, B =
        1/sigma unless given, and the paper's constant c.
    B : float, optional
        A bound on |w*|_1 that you know, from which lam follows; by default the one that the
        iterates prove. Certificates do not rely on it, and an iterate that proves it wrong ends the
        run.
    l1_weights : (d,) array_like, optional
        c_j > 0: the penalty is sigma sum_j c_j |w_j|.
    """

    name = "l1"
    parameters = ("geometry", "method", "B", "l1_weights")

    def __init__(
        self,
        geometry: str = "auto",
        method: str = "auto",
        B: float | None = None,
        l1_weights: ArrayLike | None = None,
    ) -> None:
        self.geometry = _validate.choice("geometry", geometry, ("auto", "l2", "qnorm"))
        self.method = _validate.choice("method", method, ("auto", "literal"))
        self.B = None if B is None else _validate.positive("B", B)
        self.l1_weights: Any = _own(l1_weights)

    def default_sigma(self, lam: float, sigma_max: Callable[[], float]) -> float:
        return 0.01 * sigma_max() or 1.0  # where it is 0, any sigma has the solution w = 0

    def _weights(self, d: int, k: int = 1) -> np.ndarray:
        weights = super()._weights(d, k)
        if (weights == 0).any():
            j = int(np.flatnonzero(weights == 0)[0])
            raise ValueError(
                f"l1_weights[{j}] = 0.0: a number > 0 is needed for reg = 'l1', as nothing else "
                "bounds that feature; reg = 'l1l2' allows 0"
            )
        return weights

    def map(self, lam: float, sigma: float, d: int, k: int = 1) -> Map:
        if not sigma > 0:
            raise ValueError(
                f"sigma = {sigma!r}: reg = 'l1' needs a number > 0; "
                "sigma >= sigma_max has the solution w = 0"
            )
        return L1Map(sigma, self._weights(d))

    def penalty(self, lam: float, sigma: float, n: int, d: int) -> tuple[Penalty, np.ndarray]:
        return super().penalty(0.0, sigma, n, d)

    def proven(self, primal: float, sigma: float, d: int) -> float:
        """The B >= |w*|_1 that P(w) <= primal proves."""
        return theory.l1_bound(primal, sigma) / float(self._weights(d).min())

    def bound(self, primal: float, sigma: float, d: int) -> float:
        """The B that P(w) <= primal proves, or the one that was given if it is less."""
        proven = self.proven(primal, sigma, d)
        return proven if self.B is None else min(self.B, proven)

    def refuted(self, u: np.ndarray, conjugates: float, primal: float, sigma: float) -> bool:
        """Whether |w*|_1 > B is proven by mean phi*(-alpha_i) = conjugates, 1/n sum_i x_i alpha_i =
        u and P(w) = primal: then the dual value for |w|_1 <= B is above P(w)."""
        if self.B is None:
            return False
        over = float(np.max(np.abs(u) - sigma * self._weights(len(u)), initial=0.0))
        return -conjugates - self.B * over > primal + 1e-9 * abs(primal)

    def surrogate(self, geometry: str, d: int) -> tuple[Regularizer, float]:
        """The regulariser of the paper's reduction, and its constant c."""
        if geometry == "l2":
            return L1L2(self.l1_weights), 1.0
        constant = "paper" if self.method == "literal" else "valid"
        reg = QNorm(constant=constant, l1_weights=self.l1_weights)
        return reg, reg.p_and_c(d)[1]


class CompiledRegularizer(Regularizer):
    """A separable regulariser whose formulas are compiled: see `proxsdca.cython_api`.

    Parameters
    ----------
    formulas : Formulas
        What `cython_api.regularizer_object` has made of a struct.
    has_sigma : bool
        Whether it has a part that sigma weighs.
    """

    separable = True

    def __init__(self, formulas: Formulas, has_sigma: bool) -> None:
        self._formulas = formulas
        self.name = formulas.label  # type: ignore[misc]
        self.has_sigma = has_sigma  # type: ignore[misc]

    def __repr__(self) -> str:
        return f"<CompiledRegularizer {self.name}>"

    def __deepcopy__(self, memo: Any) -> CompiledRegularizer:
        return self  # it cannot change

    def __reduce__(self) -> Any:
        raise TypeError(
            f"reg {self.name!r} is compiled, and addresses of functions mean nothing in another "
            "process: make it there, or write it as a class in Python"
        )

    def value(self, w: np.ndarray, kappa: float, j: Any) -> np.ndarray:
        return self._formulas.evaluate("value", w, kappa, j)

    def gradient(self, v: np.ndarray, kappa: float, j: Any) -> np.ndarray:
        return self._formulas.evaluate("gradient", v, kappa, j)

    def conjugate(self, v: np.ndarray, kappa: float, j: Any) -> np.ndarray:
        return self._formulas.evaluate("conjugate", v, kappa, j)

    def map(self, lam: float, sigma: float, d: int, k: int = 1) -> Map:
        return CompiledMap(self._formulas, sigma / lam if self.has_sigma else 0.0)


REGULARIZERS: dict[str, type[Regularizer]] = {
    kind.name: kind for kind in (L2, L1L2, QNorm, Group, L1)
}
