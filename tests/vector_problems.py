"""Small problems for the vector-valued losses, made from a seed."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from vector_twin import blocks, stacked

import proxsdca
from proxsdca._vector import VectorProblem, problem_of
from proxsdca.losses import MulticlassHinge, Softmax
from proxsdca.regularizers import Group

REG_NAMES = ("l2", "l1l2", "qnorm", "group")
LOSS_NAMES = ("multiclass_hinge", "softmax")


def skewed(k: int, seed: int = 0) -> np.ndarray:
    """Costs that are neither symmetric nor all alike."""
    cost = np.random.default_rng(seed).random((k, k)) * 2
    np.fill_diagonal(cost, 0)
    return cost


def loss_of(name: str, k: int) -> Any:
    """The loss of that name, with costs of its own where it has any."""
    return MulticlassHinge(skewed(k)) if name == "multiclass_hinge" else Softmax()


def shared_reg(name: str, d: int) -> Any:
    """The twin's groups are pairs of the flattened w."""
    return Group(np.arange(d)) if name == "group" else name


@dataclass
class VectorCase:
    """A problem: X, y, and the keywords that describe it to `solve` and `certify`."""

    X: Any
    y: np.ndarray
    keywords: dict = field(default_factory=dict)

    def solve(self, **more) -> proxsdca.Result:
        return proxsdca.solve(self.X, self.y, **{**self.keywords, **more})

    def certify(self, w, alpha, **more) -> proxsdca.Certificate:
        return proxsdca.certify(self.X, self.y, w, alpha, **{**self.keywords, **more})

    def problem(self, **more) -> VectorProblem:
        unset = dict.fromkeys(("loss", "reg", "lam", "sigma", "sample_weight"))
        problem = problem_of(self.X, self.y, **{**unset, **self.keywords, **more})
        assert isinstance(problem, VectorProblem)
        return problem

    def with_X(self, X, **more) -> VectorCase:
        return VectorCase(X, self.y, {**self.keywords, **more})

    def csr(self) -> VectorCase:
        return self.with_X(sparse.csr_array(self.X))

    @property
    def k(self) -> int:
        return int(self.y.max()) + 1

    def blocks(self) -> list[np.ndarray]:
        """X_i, as the twin has them."""
        offsets = self.keywords.get("offsets")
        return blocks(self.X, self.k) if offsets is None else stacked(self.X, offsets)


def make(loss="softmax", reg="l2", n=30, d=6, k=4, seed=0, density=0.7, **keywords) -> VectorCase:
    """x_i shared by k classes, every one of which occurs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density) / np.sqrt(max(1, density * d))
    y = np.argmax(X @ rng.normal(size=(d, k)) * 2 + 0.5 * rng.gumbel(size=(n, k)), axis=1)
    y[:k] = np.arange(k)
    return VectorCase(X, y, {"loss": loss, "reg": shared_reg(reg, d), **keywords})


def make_explicit(
    loss="softmax", reg="l2", n=30, d=6, widest=5, seed=0, density=0.7, **keywords
) -> VectorCase:
    """1 to `widest` rows for each example."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, widest + 1, n)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    Z = rng.normal(size=(offsets[-1], d)) * (rng.random((offsets[-1], d)) < density)
    utility = Z @ rng.normal(size=d) + 0.5 * rng.gumbel(size=len(Z))
    y = np.array([np.argmax(utility[a:b]) for a, b in itertools.pairwise(offsets)])
    reg = Group(np.arange(d) // 2) if reg == "group" else reg
    return VectorCase(Z, y, {"loss": loss, "reg": reg, "offsets": offsets, **keywords})


def as_explicit(case: VectorCase) -> VectorCase:
    """The same problem with X_i written out: row (i, j) is x_i in the columns of class j."""
    k, d = case.k, case.X.shape[1]
    Z = np.vstack([block.T for block in case.blocks()])
    keywords = dict(case.keywords, offsets=np.arange(len(case.y) + 1) * k)
    if isinstance(keywords["reg"], Group):
        keywords["reg"] = Group(np.arange(d * k) // k)
    cost = getattr(keywords["loss"], "cost", None)
    if cost is not None:
        keywords["loss"] = MulticlassHinge(cost[:, case.y].T.ravel())
    return VectorCase(Z, case.y, keywords)


def dense(alpha) -> np.ndarray:
    """alpha as an array, sparse or not."""
    return alpha.toarray() if sparse.issparse(alpha) else np.asarray(alpha)


def random_alpha(rng, n, k, y, s=None) -> np.ndarray:
    """A dual point inside the domain, corners among them."""
    beta = rng.dirichlet(np.full(k, 0.5), n)
    beta[rng.random((n, k)) < 0.4] = 0
    beta[np.arange(n), y] += 1 - beta.sum(axis=1)
    alpha = -beta
    alpha[np.arange(n), y] = 0
    alpha[np.arange(n), y] = -alpha.sum(axis=1)
    return alpha if s is None else alpha * s[:, None]
