"""The laws of a regulariser."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .. import _validate
from ..regularizers import Regularizer
from ._report import ROUGH, TINY, Array, BrokenCall, Finding, Report, examine, n_, raised, worst

EVERYWHERE = slice(None)


class _Reg:
    """A regulariser at one kappa: v with w = grad g*(v) and g*(v), and others w' with g(w')."""

    def __init__(self, reg: Regularizer, d: int, kappa: float, rng: np.random.Generator) -> None:
        self.reg, self.d, self.kappa, self.rng = reg, d, kappa, rng
        scales = np.repeat([0.1, 1.0, 1.0 + kappa, 10.0], 6)[:, None]
        self.v = np.r_[np.zeros((1, d)), rng.normal(size=(24, d)) * scales]
        self.v *= rng.random(self.v.shape) < 0.8
        self.w = np.array([self.ask("gradient", v) for v in self.v])
        for v, w in zip(self.v, self.w, strict=True):
            if not self.total("value", w) < np.inf:
                raise BrokenCall(
                    f"gradient({_v(v)}) = {_v(w)}, where g is infinite, {self.at}: a wrong sign, "
                    "or the gradient of g instead of that of g*?"
                )
        self.conj = np.array([self.total("conjugate", v) for v in self.v])
        lengths = np.logspace(-4, 1, 8)[:, None] * (rng.random((len(self.w), 8, d)) < 0.5)
        around = self.w[:, None, :] + rng.normal(size=lengths.shape) * lengths
        self.others = np.r_[self.w, np.zeros((1, d)), around.reshape(-1, d)]
        self.g = np.array([self.total("value", w) for w in self.others])
        self.g_w = self.g[: len(self.w)]

    def ask(self, method: str, x: Array, j: Any = EVERYWHERE, kappa: float = -1.0) -> Array:
        """What a method says, one number for each of x or one for all."""
        given, kappa = x.copy(), self.kappa if kappa < 0 else kappa
        shown = f"{method}({_v(x)}, kappa={n_(kappa)}, j={j})"
        try:
            answer = getattr(self.reg, method)(given, kappa, j)
            if answer is None:
                raise BrokenCall(f"{method} returns None: is a return missing?")
            found = np.asarray(answer, float)
        except BrokenCall:
            raise
        except Exception as error:
            raise BrokenCall(
                f"{shown} {raised(error)}; it is given arrays, here of {self.d} features, which "
                "d = ... of check_regularizer changes"
            ) from error
        shape = x.shape if self.reg.separable or method == "gradient" else ()
        if found.shape != shape:
            raise BrokenCall(
                f"{shown} has shape {found.shape}: {shape} is needed, as separable = "
                f"{self.reg.separable}"
            )
        if not np.array_equal(given, x, equal_nan=True):
            raise BrokenCall(f"{shown} changes the array it is given: does it work in place?")
        if np.isnan(found).any() or (method != "value" and not np.isfinite(found).all()):
            raise BrokenCall(f"{shown} = {_v(found)}: numbers are needed")
        return found

    def total(self, method: str, x: Array) -> float:
        return float(np.sum(self.ask(method, x)))

    def largest(self) -> float:
        """From which kappa on w = 0 belongs to the last v."""
        try:
            return float(self.reg.largest(self.v[-1].copy())) if self.reg.has_sigma else 0.0
        except Exception as error:
            raise BrokenCall(f"largest({_v(self.v[-1])}) {raised(error)}") from error

    @property
    def at(self) -> str:
        return f"with kappa = {n_(self.kappa)}"


def _v(x: Array) -> str:
    return np.array2string(np.asarray(x), precision=5, separator=", ", max_line_width=10_000)


def _features(at: _Reg) -> str | None:
    """Where g is separable, a feature's numbers depend on j and on nothing else."""
    if not at.reg.separable:
        return None
    j = at.rng.permutation(at.d)[: max(1, at.d // 2)]
    for method, x in (("gradient", at.v[-1]), ("value", at.w[-1]), ("conjugate", at.v[-1])):
        everywhere, there = at.ask(method, x), at.ask(method, x[j], j)
        k = worst(np.abs(there - everywhere[j]) - TINY * (1 + np.abs(there)))
        if k:
            return (
                f"{method} of feature {j[k]} at {n_(x[j][k])} is {n_(everywhere[j][k])} among all, "
                f"but {n_(there[k])} for j = {j} alone, {at.at}: it ignores j, or depends on the "
                "other features"
            )
    return None


def _g_convex(at: _Reg) -> str | None:
    i, k = at.rng.integers(0, len(at.others), (2, 200))
    middle = np.array([at.total("value", w) for w in (at.others[i] + at.others[k]) / 2])
    chord = (at.g[i] + at.g[k]) / 2
    found = worst(np.where(chord < np.inf, middle - chord - ROUGH * (1 + np.abs(chord)), -1))
    if found is None:
        return None
    return (
        f"g is {n_(middle[found])} in the middle between w = {_v(at.others[i][found])} and "
        f"{_v(at.others[k][found])}, above the mean {n_(chord[found])} of its values there, "
        f"{at.at}: not convex"
    )


def _below(at: _Reg, strength: float) -> tuple[int, ...] | None:
    """v and w' with g(w') < g(w) + v^T (w' - w) + strength |w' - w|^2 / 2, w = grad g*(v)."""
    away = at.others[None, :, :] - at.w[:, None, :]
    linear = np.einsum("ikj,ij->ik", away, at.v)
    bound = at.g_w[:, None] + linear + strength / 2 * np.sum(away**2, axis=2)
    size = 1 + np.abs(at.g_w)[:, None] + np.abs(linear) + np.sum(away**2, axis=2)
    allowed = 1e-11 * size + 1e-9 * np.sum(away**2, axis=2)
    return worst(np.where(np.isfinite(at.g), bound - at.g - allowed, -1))


def _gradient_maximises(at: _Reg) -> str | None:
    k = worst(np.where(np.isfinite(at.g_w), 0.0, 1.0))
    if k:
        return f"at w = gradient({_v(at.v[k])}) = {_v(at.w[k])} g is infinite, {at.at}"
    found = _below(at, 0.0)
    if found:
        i, best = found[0], at.others[found[1]]
    else:
        i, best = _by_minimiser(at)
    here, there = at.v[i] @ at.w[i] - at.g_w[i], at.v[i] @ best - at.total("value", best)
    if there <= here + 1e-9 * (1 + abs(here)) and not found:
        return None
    return (
        f"w = gradient({_v(at.v[i])}) = {_v(at.w[i])}, at which v^T w - g(w) = {n_(here)}, but it "
        f"is {n_(there)} at {_v(best)}, {at.at}: a wrong threshold, sign or factor?"
    )


def _by_minimiser(at: _Reg) -> tuple[int, Array]:
    """A v, and what a general minimiser makes of g(w) - v^T w from grad g*(v) on."""
    from scipy.optimize import minimize

    i = int(at.rng.integers(len(at.v)))

    def cost(w: Array) -> float:
        return at.total("value", w) - float(at.v[i] @ w)

    found = minimize(
        cost,
        at.w[i] + 0.01,
        method="Nelder-Mead",
        options={"xatol": 1e-8, "fatol": 1e-12, "maxiter": 200 * at.d},
    )
    return i, np.asarray(found.x)


def _strongly_convex(at: _Reg) -> str | None:
    found = _below(at, 1.0)
    if not found or _below(at, 0.0):
        return None
    i, k = found
    away = at.others[k] - at.w[i]
    strength = 2 * (at.g[k] - at.g_w[i] - at.v[i] @ away) / (away @ away)
    return (
        f"between w = gradient({_v(at.v[i])}) = {_v(at.w[i])} and w' = {_v(at.others[k])} g bends "
        f"by {n_(strength)} |w' - w|^2 / 2 only, {at.at}: 1 is needed; is a |w|_2^2 / 2 missing, "
        "or a factor of it?"
    )


def _nonexpansive(at: _Reg) -> str | None:
    """What 1-strong convexity says of grad g*."""
    far = np.linalg.norm(at.w[:, None] - at.w[None], axis=2)
    near = np.linalg.norm(at.v[:, None] - at.v[None], axis=2)
    found = worst(far - near * (1 + 1e-9) - TINY)
    if not found:
        return None
    i, k = found
    return (
        f"gradient({_v(at.v[i])}) = {_v(at.w[i])} and gradient({_v(at.v[k])}) = {_v(at.w[k])} are "
        f"{n_(far[found])} apart, the v only {n_(near[found])}, {at.at}: grad g* is 1-Lipschitz if "
        "g is 1-strongly convex; is a |w|_2^2 / 2 missing in it?"
    )


def _conjugate_of_g(at: _Reg) -> str | None:
    product = at.v @ at.others.T
    size = 1 + np.abs(product) + np.abs(at.conj)[:, None]
    found = worst(np.where(np.isfinite(at.g), product - at.g - at.conj[:, None] - ROUGH * size, -1))
    if not found:
        return None
    i, k = found
    return (
        f"g(w) + conjugate(v) = {n_(at.g[k])} + {n_(at.conj[i])} is less than v^T w = "
        f"{n_(product[found])} at w = {_v(at.others[k])}, v = {_v(at.v[i])}, {at.at}: the "
        "conjugate is too small there"
    )


def _conjugate_at_gradient(at: _Reg) -> str | None:
    right = np.sum(at.v * at.w, axis=1) - at.g_w
    k = worst(np.abs(at.conj - right) - ROUGH * (1 + np.abs(right) + np.abs(at.g_w)))
    if k is None:
        return None
    return (
        f"conjugate({_v(at.v[k])}) = {n_(at.conj[k])}, but v^T w - g(w) = {n_(right[k])} at "
        f"w = gradient(v) = {_v(at.w[k])}, {at.at}: these must be equal"
    )


def _zero_from_some_kappa_on(at: _Reg) -> str | None:
    v, largest = at.v[-1], at.largest()
    for kappa in largest * np.array([1 + 1e-9, 1.5, 10.0, 1e3]) if 0 < largest < np.inf else ():
        w = at.ask("gradient", v, kappa=float(kappa))
        if w.any():
            return (
                f"w = 0 at v = {_v(v)} with kappa = {n_(largest)}, but gradient(v) = {_v(w)} with "
                f"the larger kappa = {n_(kappa)}: a larger sigma must not bring features back"
            )
    return None


def _regularizer_remarks(ats: list[_Reg]) -> list[Finding]:
    if not np.isinf(ats[0].largest()):
        return []
    return [Finding("kappa", "no kappa has w = 0: sigma_max is infinite, a path has no beginning")]


REGULARIZER_LAWS: tuple[tuple[str, Callable[[_Reg], str | None]], ...] = (
    ("separable", _features),
    ("value", _g_convex),
    ("gradient", _gradient_maximises),
    ("strong convexity", _strongly_convex),
    ("strong convexity", _nonexpansive),
    ("Fenchel-Young", _conjugate_of_g),
    ("Fenchel-Young equality", _conjugate_at_gradient),
    ("kappa", _zero_from_some_kappa_on),
)


def check_regularizer(
    reg: Regularizer,
    d: int = 6,
    *,
    lam: float = 0.5,
    sigma: float = 0.3,
    seed: int = 0,
    raises: bool = True,
) -> Report:
    """Whether value, gradient and conjugate of a regulariser of one's own fit together.

    Parameters
    ----------
    reg : Regularizer
        With `value` and `gradient`.
    d : int
        The number of weights.
    lam, sigma : float
        kappa = sigma / lam, 0 and two others are looked at where `has_sigma` is True.
    seed : int
        For the points that are chosen at random.
    raises : bool
        Whether a broken law raises.

    Returns
    -------
    Report
        The laws that are broken, and remarks.

    Raises
    ------
    LawError
        If a law is broken; the message says which, and where.
    """
    methods = ("value", "gradient")
    if not isinstance(reg, Regularizer) or any(
        getattr(type(reg), method) is getattr(Regularizer, method) for method in methods
    ):
        raise TypeError(f"reg = {reg!r}: an object of a subclass of proxsdca.regularizers."
                        "Regularizer with value and gradient is needed")  # fmt: skip
    d = _validate.count("d", d, 1)
    lam, sigma = _validate.positive("lam", lam), _validate.nonnegative("sigma", sigma)
    rng = np.random.default_rng(seed)
    kappas = (1.0, 0.0, 0.2, 4.0) if reg.has_sigma else (0.0,)
    places = [partial(_Reg, reg, d, part * sigma / lam, rng) for part in kappas]
    return examine(repr(reg), places, REGULARIZER_LAWS, _regularizer_remarks, raises)
