"""The problem that was asked for, and the certificate for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np

from . import _spec, _validate
from ._core.epoch import Epoch
from ._core.losses import OPTIONS
from ._core.map import Map
from ._core.objective import evaluate, first_infeasible
from ._core.rows import Rows
from ._result import NumericalError
from .losses import Loss
from .regularizers import Regularizer


class Certificate(NamedTuple):
    """What is known of a pair (w, alpha): P(w) - min P <= gap + rounding.

    Attributes
    ----------
    primal : float
        P(w), recomputed from the data.
    dual : float
        D(alpha), recomputed from the data.
    gap : float
        primal - dual, as computed: neither carried over nor clamped.
    rounding : float
        A bound on the floating-point error of the gap.
    """

    primal: float
    dual: float
    gap: float
    rounding: float


class Evaluation(NamedTuple):
    """P(w) and D(alpha), each with a bound on its rounding error."""

    primal: float
    dual: float
    error_primal: float
    error_dual: float

    @property
    def certificate(self) -> Certificate:
        rounding = self.error_primal + self.error_dual
        return Certificate(self.primal, self.dual, self.primal - self.dual, rounding)


@dataclass(frozen=True)
class Problem:
    """P(w) = 1/n sum_i s_i phi(x_i^T w; y_i) + lam g(w), ready for the core."""

    rows: Rows
    target: np.ndarray
    weight: np.ndarray | None
    classes: np.ndarray | None
    loss: Loss
    reg: Regularizer
    map: Map
    lam: float
    sigma: float

    @classmethod
    def from_arguments(
        cls, X: Any, y: Any, loss: Any, reg: Any, lam: Any, sigma: Any, sample_weight: Any
    ) -> Problem:
        """Validate what describes the problem; the defaults of lam and sigma are set here."""
        loss, reg = _spec.loss(loss), _spec.reg(reg)
        rows = _validate.rows(X)
        target, classes = _validate.targets(y, rows.n, loss)
        if classes is not None:
            classes.flags.writeable = False
        weight, total = _validate.sample_weight(sample_weight, rows.n)
        if lam is None:
            if not 1e-300 < total < 1e300:
                raise ValueError(
                    f"sum(sample_weight) = {total!r}: lam = 1 / sum(sample_weight) needs a sum "
                    "between 1e-300 and 1e300; rescale the weights or give lam"
                )
            lam = 1 / total
        lam = _validate.positive("lam", lam)
        if not 1e-290 < lam * rows.n < 1e290:
            raise ValueError(f"lam = {lam!r}: 1e-290 < lam n < 1e290 is needed, n = {rows.n}")
        if reg.sigma_per_lam is None:
            if sigma is not None:
                raise ValueError(f"sigma = {sigma!r}: reg = {reg.name!r} has no sigma")
            sigma = 0.0
        elif sigma is None:
            sigma = reg.sigma_per_lam * lam
        else:
            sigma = _validate.nonnegative("sigma", sigma)
        return cls(
            rows, target, weight, classes, loss, reg, reg.map(lam, sigma, rows.d), lam, sigma
        )

    @property
    def scale(self) -> float:
        """1 / (lam n)."""
        return 1 / (self.lam * self.rows.n)

    def curvature(self) -> np.ndarray:
        """|x_i|_D'^2 / (lam n)."""
        curvature = self.rows.norms_sq(self.map)
        with np.errstate(over="ignore"):
            curvature *= self.scale
        if not np.isfinite(curvature.max()):
            i = int(np.flatnonzero(~np.isfinite(curvature))[0])
            raise NumericalError(
                f"|x_i|^2 / (lam n) overflows at row {i}: rescale X or take a larger lam"
            )
        return curvature

    def epoch(
        self,
        curvature: np.ndarray,
        alpha: np.ndarray,
        v: np.ndarray,
        option: str = "I",
        virtual: bool = False,
    ) -> Epoch:
        """The loop for this problem, which will change alpha and v."""
        used = True if self.weight is None else self.weight > 0
        return Epoch(
            self.rows, self.loss, self.map, self.target, self.weight, curvature, alpha, v,
            scale=self.scale, q_R=float(np.max(curvature, where=used, initial=0.0)),
            option=OPTIONS[option], virtual=virtual,
        )  # fmt: skip

    def evaluate(
        self, w: np.ndarray, alpha: np.ndarray, v: np.ndarray, scratch: np.ndarray
    ) -> Evaluation:
        """Recompute P(w) and D(alpha) from the data; v(alpha) is left in v."""
        problem = self.rows, self.loss, self.map, self.target, self.weight
        *found, infeasible, underflow = evaluate(*problem, w, alpha, v, scratch, self.lam)
        if infeasible >= 0:
            self._refuse("alpha", alpha, infeasible)
        if underflow:  # rare, and then the bounds must allow for it
            *found, _, _ = evaluate(*problem, w, alpha, v, scratch, self.lam, 2.0**-1074)
        return Evaluation(*found)

    def check_domain(self, name: str, alpha: np.ndarray) -> None:
        """Refuse an alpha outside the domain of phi*."""
        i = first_infeasible(self.loss, self.target, self.weight, alpha)
        if i >= 0:
            self._refuse(name, alpha, i)

    def _refuse(self, name: str, alpha: np.ndarray, i: int) -> NoReturn:
        s = 1.0 if self.weight is None else float(self.weight[i])
        lower, upper = (float(s * e) if s else 0.0 for e in self.loss.domain(self.target[i]))
        raise ValueError(
            f"{name}[{i}] = {float(alpha[i])!r} is outside the domain [{lower!r}, {upper!r}] "
            f"of phi* for loss {self.loss.name!r}"
        )

    def check_finite(self, certificate: Certificate) -> Certificate:
        """Refuse a certificate that says nothing, because a number overflowed."""
        if np.isfinite(certificate).all():
            return certificate
        norms = self.rows.norms_sq(self.map)
        i = int(norms.argmax())
        raise NumericalError(
            f"P(w) = {certificate.primal!r}, D(alpha) = {certificate.dual!r}, "
            f"rounding = {certificate.rounding!r}: the objective overflows; the largest row is "
            f"{i}, |x_i| = {norms[i] ** 0.5:.3g}. Rescale X or y, or take another lam"
        )
