"""Small problems for every loss and regulariser, made from a seed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

import proxsdca
from proxsdca import _validate
from proxsdca._problem import Evaluation, Problem
from proxsdca.losses import LOSSES
from proxsdca.regularizers import REGULARIZERS, Group

LOSS_NAMES = tuple(LOSSES)
# Every regulariser of the table that the loop maps with; l1 alone is solved through others.
REG_NAMES = tuple(name for name in REGULARIZERS if name != "l1")
SEPARABLE = tuple(name for name in REG_NAMES if REGULARIZERS[name].separable)
SMOOTH = tuple(name for name in LOSS_NAMES if LOSSES[name]().gamma > 0)
LIPSCHITZ = tuple(name for name in LOSS_NAMES if np.isfinite(LOSSES[name]().lipschitz))
# Parameters away from their defaults, so that a formula that ignores one is found out.
VARIANTS = {
    "smooth_hinge": {"gamma": 0.4},
    "quantile": {"tau": 0.3},
    "epsilon_insensitive": {"eps": 0.25},
    "huber": {"delta": 0.6},
}


def regulariser(name: str, d: int):
    """What `solve` is to be told of a regulariser; the groups are pairs of features."""
    return Group(np.arange(d) // 2) if name == "group" else name


def all_losses() -> list:
    """Every loss of the table, and the variants."""
    losses = [kind() for kind in LOSSES.values()]
    return losses + [LOSSES[name](**parameters) for name, parameters in VARIANTS.items()]


def loss_options() -> list[tuple]:
    """Every (loss name, option) that exists."""
    return [(name, option) for name in LOSS_NAMES for option in LOSSES[name]().options]


@dataclass
class Case:
    """A problem: X, y, and the keywords that describe it to `solve` and `certify`."""

    X: Any
    y: np.ndarray
    keywords: dict = field(default_factory=dict)

    def solve(self, **more) -> proxsdca.Result:
        return proxsdca.solve(self.X, self.y, **{**self.keywords, **more})

    def certify(self, w, alpha, **more) -> proxsdca.Certificate:
        return proxsdca.certify(self.X, self.y, w, alpha, **{**self.keywords, **more})

    def problem(self, columns=False, **more) -> Problem:
        """What `solve` makes of it; with `columns` stored so, which any loss and reg can be."""
        unset = dict.fromkeys(("loss", "reg", "lam", "sigma", "sample_weight"))
        problem = Problem.from_arguments(self.X, self.y, **{**unset, **self.keywords, **more})
        if columns:
            problem = replace(problem, storage=_validate.rows(self.X, True), by_columns=True)
        return problem

    def evaluate(self, w, alpha, columns=False, rescale=False, **more) -> Evaluation:
        """The certificate as `solve` has it made, from either storage."""
        problem = self.problem(columns, **more)
        return problem.evaluate(np.asarray(w), np.asarray(alpha), problem.room(), rescale)

    def csr(self) -> Case:
        return Case(sparse.csr_array(self.X), self.y, self.keywords)


def targets(loss, margins: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Noisy targets that the loss allows."""
    noise = rng.normal(size=margins.shape)
    if loss.classification:
        y = np.where(margins + 0.5 * noise > 0, 1.0, -1.0)
        if len(y) > 1:
            y[:2] = -1, 1
        return y
    if loss.target_min == 0:
        return rng.poisson(np.exp(np.clip(margins, -3, 3))).astype(float)
    return margins + 0.5 * noise


def make(
    loss: str | Any = "hinge",
    reg: str = "l2",
    n: int = 30,
    d: int = 8,
    seed: int = 0,
    density: float = 0.6,
    **keywords,
) -> Case:
    """A dense problem with some zeros; lam = 1/n unless given."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density) / np.sqrt(max(1, density * d))
    kind = LOSSES[loss]() if isinstance(loss, str) else loss
    y = targets(kind, X @ rng.normal(size=d) * 2, rng)
    return Case(X, y, {"loss": loss, "reg": regulariser(reg, d), **keywords})


def zero_gap_alpha(loss, n: int, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random dual point inside the domain, its ends included."""
    lower, upper = (np.clip(end, -3, 3) for end in loss.domain(y))
    inside = lower + (upper - lower) * rng.random(n)
    return np.select([rng.random(n) < 0.2, rng.random(n) < 0.2], [lower, upper], inside)
