"""One problem, as all contenders get it, and its objective by numpy alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

import proxsdca


@dataclass(frozen=True, eq=False)
class Problem:
    """P(w) = 1/n sum_i phi_i(x_i^T w) + lam/2 |w|^2 + sigma |w|_1.

    `y` are -1 and +1, real numbers, or, with several classes, 0 ... k - 1, and column c of w is
    then that of class c. What `reg` does not have is 0: lam for l1, sigma for l2.
    """

    X: sp.csr_matrix | sp.csc_matrix | np.ndarray
    y: np.ndarray
    loss: str
    reg: str
    lam: float = 0.0
    sigma: float = 0.0

    @property
    def classes(self) -> int:
        """k, or 1 where w is a vector."""
        several = self.loss in proxsdca.losses.VECTOR_LOSSES
        return int(self.y.max()) + 1 if several else 1

    def primal(self, w: np.ndarray) -> float:
        """P(w)."""
        penalty = self.lam / 2 * np.vdot(w, w) + self.sigma * np.abs(w).sum()
        return self._phi(self.X @ w).mean() + penalty

    def _phi(self, z: np.ndarray) -> np.ndarray:
        y, rows = self.y, np.arange(len(self.y))
        if self.loss == "hinge":
            return np.maximum(0, 1 - y * z)
        if self.loss == "logistic":
            return np.logaddexp(0, -y * z)
        if self.loss == "squared":
            return (z - y) ** 2 / 2
        of_y = z[rows, y.astype(int)]
        if self.loss == "multiclass_hinge":
            z = z + 1
            z[rows, y.astype(int)] -= 1
            return z.max(axis=1) - of_y
        top = z.max(axis=1)
        return top + np.log(np.exp(z - top[:, None]).sum(axis=1)) - of_y

    def solve(self, tol: float, seconds: float | None, **keywords: object) -> proxsdca.Result:
        """Ours."""
        return proxsdca.solve(
            self.X, self.y, loss=self.loss, reg=self.reg, lam=self.lam or None,
            sigma=self.sigma or None, tol=tol, max_seconds=seconds,
            **{"max_epochs": 10**6, **keywords},
        )  # fmt: skip

    def fit(self, tol: float, seconds: float | None = None) -> np.ndarray:
        """Ours, as peers have it."""
        return self.solve(tol, seconds).w
