"""The cases, from real data or from generated ones that stand in for them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from suites.data import available, load, zipf_problem

import proxsdca

from .problem import Problem

STAND_INS = {  # n, d, nonzeros of a row, classes
    "reuters": (8_000, 8_000, 44, 2),
    "w8a": (50_000, 300, 12, 2),
    "covtype": (580_000, 54, 12, 2),
    "a9a": (32_000, 123, 14, 2),
    "letter": (15_000, 16, 16, 26),
    "news20-20": (16_000, 60_000, 80, 20),
}


@dataclass(frozen=True)
class Case:
    """lam = 1 / (n C), sigma a part of `proxsdca.sigma_max`; for the elastic net lam = sigma."""

    name: str
    data: str
    loss: str
    reg: str
    C: float | None = None
    part: float = 0.0

    def problem(self, quick: bool) -> Problem:
        """Its problem; by columns for the lasso, the elastic net and l1, by rows otherwise."""
        X, y = self._generated(10) if quick else self._real() if self.real else self._generated(1)
        sigma = self.part * proxsdca.sigma_max(X, y, loss=self.loss) if self.part else 0.0
        lam = 1 / (len(y) * self.C) if self.C else sigma if self.reg == "l1l2" else 0.0
        by_columns = self.reg == "l1" or self.loss == "squared"
        return Problem(X.tocsc() if by_columns else X, y, self.loss, self.reg, lam, sigma)

    @property
    def real(self) -> bool:
        """Whether its data are at hand."""
        return available(self.data)

    def _real(self) -> tuple[sp.csr_matrix, np.ndarray]:
        X, y = load(self.data)
        parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
        if STAND_INS[self.data][-1] > 2:
            y = np.unique(y, return_inverse=True)[1].astype(float)
        return sp.csr_matrix(parts, shape=X.shape), y

    def _generated(self, smaller: int) -> tuple[sp.csr_matrix, np.ndarray]:
        n, d, nonzeros, classes = STAND_INS[self.data]
        d = d // smaller if d > 1000 else d
        X, y = zipf_problem(n // smaller, d, nonzeros)
        if classes > 2:
            scores = X @ np.random.default_rng(1).normal(size=(d, classes))
            y = scores.argmax(axis=1).astype(float)
        return X, y


CASES = (
    Case("reuters hinge l2 C=1", "reuters", "hinge", "l2", 1),
    Case("reuters hinge l2 C=100", "reuters", "hinge", "l2", 100),
    Case("w8a hinge l2 C=1", "w8a", "hinge", "l2", 1),
    Case("covtype hinge l2 C=1", "covtype", "hinge", "l2", 1),
    Case("a9a hinge l2 C=100", "a9a", "hinge", "l2", 100),
    Case("reuters logistic l2 C=1", "reuters", "logistic", "l2", 1),
    Case("reuters logistic l2 C=1000", "reuters", "logistic", "l2", 1000),
    Case("w8a logistic l2 C=1", "w8a", "logistic", "l2", 1),
    Case("covtype logistic l2 C=1", "covtype", "logistic", "l2", 1),
    Case("reuters logistic l1 0.01", "reuters", "logistic", "l1", part=0.01),
    Case("w8a logistic l1 0.01", "w8a", "logistic", "l1", part=0.01),
    Case("reuters lasso 0.05", "reuters", "squared", "l1", part=0.05),
    Case("reuters elastic net 0.05", "reuters", "squared", "l1l2", part=0.05),
    Case("reuters hinge l1l2 C=1, sigma 0.01", "reuters", "hinge", "l1l2", 1, 0.01),
    Case("letter multiclass hinge l2 C=1", "letter", "multiclass_hinge", "l2", 1),
    Case("letter softmax l2 C=1", "letter", "softmax", "l2", 1),
    Case("news20-20 multiclass hinge l2 C=1, raw counts", "news20-20", "multiclass_hinge", "l2", 1),
    Case("news20-20 softmax l2 C=1, raw counts", "news20-20", "softmax", "l2", 1),
)
