"""Small problems of every kind, each made from its number alone."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from problems import targets
from scipy import sparse

import proxsdca
from proxsdca import losses
from proxsdca.regularizers import L1, L1L2, L2, Group, QNorm

LAYOUTS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "CSR": sparse.csr_array,
    "CSC": sparse.csc_array,
}
OTHER = {"C": "Fortran", "Fortran": "C", "CSR": "CSC", "CSC": "CSR"}  # with the same bits
ODDITIES = ("none", "none", "zero rows", "zero columns", "twins", "separable", "constant", "scales")


@dataclass
class RandomProblem:
    """A problem, and how it is stored and solved."""

    A: np.ndarray
    y: np.ndarray
    loss: Any
    reg: Any
    layout: str
    odd: str
    keywords: dict[str, Any]
    how: dict[str, Any]

    @property
    def tol(self) -> float:
        """1e-9, or 1e-6 where the loss is not smooth."""
        return 1e-9 if self.loss.gamma > 0 else 1e-6

    @property
    def vector(self) -> bool:
        return isinstance(self.loss, losses.VectorLoss)

    def solve(self, layout: str | None = None, **more: Any) -> proxsdca.Result:
        """A run whose target may be out of reach."""
        keywords = {"loss": self.loss, "reg": self.reg, **self.keywords, **self.how, **more}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", proxsdca.ConvergenceWarning)
            return proxsdca.solve(LAYOUTS[layout or self.layout](self.A), self.y, **keywords)

    def certify(self, r: proxsdca.Result) -> proxsdca.Certificate:
        """The certificate of a result, from dense rows."""
        keywords = {"loss": self.loss, "reg": self.reg, **self.keywords, "sigma": r.sigma}
        if not self.reg.has_sigma:
            del keywords["sigma"]
        if keywords.pop("fit_intercept"):
            keywords["intercept"] = r.intercept
        return proxsdca.certify(self.A, self.y, r.w, r.alpha, **keywords)

    def __repr__(self) -> str:
        rest = {**self.keywords, **self.how}
        kind = f"{self.loss!r} + {self.reg!r}"
        return f"{kind}, {self.A.shape} {self.layout}, {self.odd}, {rest}"


def random_loss(rng: np.random.Generator, k: int) -> Any:
    """Any loss of the package, with parameters of its own where it has some."""
    scale = float(rng.choice([0.1, 0.5, 1.0, 2.0]))
    cost = rng.random((k, k)) * 2
    np.fill_diagonal(cost, 0)
    makers = (
        losses.Hinge, losses.SquaredHinge, losses.Logistic, losses.Squared, losses.Absolute,
        losses.Poisson, lambda: losses.SmoothHinge(gamma=scale),
        lambda: losses.Quantile(tau=float(rng.uniform(0.05, 0.95))),
        lambda: losses.EpsilonInsensitive(eps=scale), lambda: losses.Huber(delta=scale),
        losses.Softmax, lambda: losses.MulticlassHinge(cost if rng.random() < 0.5 else None),
    )  # fmt: skip
    return makers[rng.integers(len(makers))]()


def random_reg(rng: np.random.Generator, d: int, vector: bool) -> Any:
    """Any regulariser, with weights of its own now and then; l1 has no form for k classes."""
    weights = rng.choice([0.3, 1.0, 3.0], d) if rng.random() < 0.3 else None
    groups = rng.permutation(np.arange(d) // int(rng.integers(1, 4)))
    norms = rng.choice([0.5, 2.0], groups.max() + 1) if rng.random() < 0.3 else None
    p = float(rng.choice([2.0, 3.0, 5.0])) if rng.random() < 0.5 else None
    makers = (
        L2, lambda: L1L2(weights), lambda: Group(groups, norms), lambda: QNorm(p),
        lambda: L1(l1_weights=weights),
    )  # fmt: skip
    return makers[rng.integers(len(makers) - vector)]()


def random_rows(rng: np.random.Generator, n: int, d: int, odd: str) -> np.ndarray:
    """X, whose rows and columns may be zero, alike, or of many sizes."""
    density = rng.choice([0.2, 0.6, 1.0])
    A = rng.normal(size=(n, d)) * (rng.random((n, d)) < density) / np.sqrt(max(1, density * d))
    if odd == "zero rows":
        A[rng.random(n) < 0.4] = 0
    elif odd == "zero columns":
        A[:, rng.random(d) < 0.4] = 0
    elif odd == "twins":
        A = A[rng.integers(0, n, n)]
        A[:, -1] = A[:, 0]
    elif odd == "scales":
        A = A * 10.0 ** rng.uniform(-2, 1, d)
    return A


def random_targets(
    rng: np.random.Generator, A: np.ndarray, loss: Any, k: int, odd: str
) -> np.ndarray:
    """Targets that the loss allows: noisy, without noise, or all alike."""
    n, d = A.shape
    if isinstance(loss, losses.VectorLoss):
        noise = 0.0 if odd == "separable" else 0.5
        y = np.argmax(A @ rng.normal(size=(d, k)) * 2 + noise * rng.gumbel(size=(n, k)), axis=1)
        y[:k] = np.arange(k)
        return y
    margins = A @ rng.normal(size=d) * 2
    if odd == "separable" and loss.target_min != 0:
        y = np.where(margins > 0, 1.0, -1.0) if loss.classification else margins
    else:
        y = targets(loss, margins, rng)
    if loss.target_min == 0:
        y[0] += 1  # an intercept needs a target > 0
    if odd == "constant":
        y = np.full(n, abs(np.round(y[0])))
    if loss.classification:
        y[:2] = -1, 1
    return y


def random_problem(number: int) -> RandomProblem:
    """The problem of that number."""
    rng = np.random.default_rng([10, number])
    k, odd = int(rng.integers(2, 6)), str(rng.choice(ODDITIES))
    loss = random_loss(rng, k)
    vector = isinstance(loss, losses.VectorLoss)
    least = k if vector else 2 if loss.classification else 1
    n = least + int(rng.choice([0, 1, 2, 7, 20, 40, 100]))
    d = int(rng.choice([1, 2, 5, 12, 30]))
    reg = random_reg(rng, d, vector)
    keywords: dict[str, Any] = {"fit_intercept": bool(rng.random() < 0.3)}
    if vector and loss.classes is None and getattr(loss, "cost", None) is None:
        explicit = rng.random() < 0.3
    else:
        explicit = False
    if explicit:  # up to k rows an example
        sizes = rng.integers(1, k + 1, n)
        keywords = {"fit_intercept": False, "offsets": np.concatenate([[0], np.cumsum(sizes)])}
        A, y = random_rows(rng, int(sizes.sum()), d, odd), rng.integers(0, sizes)
    else:
        A = random_rows(rng, n, d, odd)
        y = random_targets(rng, A, loss, k, odd)
    if rng.random() < 0.4:
        weight = rng.choice([0.0, 1.0, 1.0, 2.0, 0.3], n)
        weight[:least] += 0.5  # of every class
        keywords["sample_weight"] = weight
    if reg.has_sigma:
        largest = proxsdca.sigma_max(A, y, loss=loss, reg=reg, **keywords)
        share = 10.0 ** rng.uniform(-2, 0.1)
        keywords["sigma"] = share * largest if 1e-10 < largest < np.inf else share
    how: dict[str, Any] = {"seed": number}
    if loss.gamma > 0 and not vector and reg.name in ("l2", "l1l2"):
        how["side"] = str(rng.choice(["auto", "rows", "columns"]))
    if reg.name != "l1":
        newton = reg.name == "l2" and not keywords["fit_intercept"] and loss.name != "poisson"
        hardest = -7 if newton and how.get("side") != "columns" else -3
        curvature = float(np.mean(np.sum(A**2, axis=1))) or 1.0
        keywords["lam"] = curvature * 10.0 ** rng.uniform(hardest, 1)
    layout = str(rng.choice(list(LAYOUTS)))
    return RandomProblem(A, y, loss, reg, layout, odd, keywords, how)
