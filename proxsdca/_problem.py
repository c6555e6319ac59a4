"""The problem that was asked for, and the certificate for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from . import _spec, _validate
from ._core.map import Map
from ._core.objective import evaluate
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
        weight, total = _validate.sample_weight(sample_weight, rows.n)
        lam = _validate.positive("lam", 1 / total if lam is None else lam)
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

    def certify(
        self, w: np.ndarray, alpha: np.ndarray, v: np.ndarray, scratch: np.ndarray
    ) -> Certificate:
        """Recompute P(w) and D(alpha) from the data; v(alpha) is left in v."""
        primal, dual, rounding, infeasible = evaluate(
            self.rows, self.loss, self.map, self.target, self.weight, w, alpha, v, scratch, self.lam
        )
        if infeasible >= 0:
            s = 1.0 if self.weight is None else float(self.weight[infeasible])
            domain = self.loss.domain(self.target[infeasible])
            lower, upper = (float(s * end) if s else 0.0 for end in domain)
            raise ValueError(
                f"alpha[{infeasible}] = {float(alpha[infeasible])!r} is outside the domain "
                f"[{lower!r}, {upper!r}] of phi* for loss {self.loss.name!r}"
            )
        if not np.isfinite([primal, dual, rounding]).all():
            raise NumericalError(
                f"P(w) = {primal!r}, D(alpha) = {dual!r}, rounding = {rounding!r}: the objective "
                "overflows; rescale X or y, or take another lam"
            )
        return Certificate(primal, dual, primal - dual, rounding)
