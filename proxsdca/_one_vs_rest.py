"""One model for each class, that class against the rest, each with its own certificate."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _accelerators, _predict, _random, _side, _spec, _validate
from ._loop import Plan, Target, unchanged
from ._model import Saved
from ._problem import Problem
from ._random import Seed
from ._result import Result, Start, warning_class
from ._solve import ascend
from .losses import Logistic, Loss, VectorLoss
from .regularizers import Regularizer

# the numbers of each Result that stand in one array
KEPT = (
    "primal", "dual", "gap", "rounding", "target", "converged", "epochs", "lam", "sigma",
    "intercept",
)  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class OneVsRest(Saved):
    """A model for each class, each proven: P_c(w_c) - min P_c <= gap[c] + rounding[c].

    Attributes
    ----------
    classes : (k,) array
        The labels, in order.
    w : (d, k) array
        A solution a column.
    intercept : (k,) array
        The intercepts; 0 where there are none.
    alpha : (n, k) array or None
        The dual solutions, where they were asked for.
    primal, dual, gap, rounding, target : (k,) arrays
        The certificates.
    converged : (k,) array of bool
    epochs : (k,) array of int
    lam, sigma : (k,) arrays
    history : tuple of k structured arrays
        As in `Result`.
    loss, reg, side
        What was solved, as in `Result`.
    """

    classes: np.ndarray
    w: np.ndarray
    intercept: np.ndarray
    alpha: np.ndarray | None
    primal: np.ndarray
    dual: np.ndarray
    gap: np.ndarray
    rounding: np.ndarray
    target: np.ndarray
    converged: np.ndarray
    epochs: np.ndarray
    lam: np.ndarray
    sigma: np.ndarray
    history: tuple[np.ndarray, ...]
    loss: Loss
    reg: Regularizer
    side: str

    @classmethod
    def of(cls, results: list[Result], classes: np.ndarray, keep_alpha: bool) -> OneVsRest:
        """The models of all classes."""
        first = results[0]
        arrays = {name: np.array([getattr(r, name) for r in results]) for name in KEPT}
        arrays["w"] = np.column_stack([r.w for r in results])
        alpha = np.column_stack([r.alpha for r in results]) if keep_alpha else None
        for array in (*arrays.values(), classes, *([] if alpha is None else [alpha])):
            array.flags.writeable = False
        return cls(
            classes=classes, alpha=alpha, loss=first.loss, reg=first.reg, side=first.side,
            history=tuple(r.history for r in results), **arrays,
        )  # fmt: skip

    def __repr__(self) -> str:
        return (
            f"OneVsRest({self.loss.name} + {self.reg.name}: {len(self.classes)} classes, "
            f"{int(self.converged.sum())} converged, largest gap {self.gap.max():.3g})"
        )

    def start(self, c: int, classes: np.ndarray) -> Start:
        """The solution of class c, for another run."""
        if self.alpha is None:
            raise ValueError("warm_start has no alpha: keep_alpha = True keeps it")
        if not np.array_equal(self.classes, classes):
            raise ValueError(
                f"warm_start.classes = {self.classes.tolist()}: y has {classes.tolist()}"
            )
        return Start(self.w[:, c], self.intercept[c], np.ascontiguousarray(self.alpha[:, c]))

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """X w + intercept, (n, k)."""
        return _predict.decision_function(self.w, X, self.intercept)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The class with the largest margin, for each row of X."""
        return _predict.classes_of(self.w, X, self.classes, self.intercept)

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Each class's own probability, scaled to add up to 1; for the logistic loss."""
        if not isinstance(self.loss, Logistic):
            raise ValueError(
                f"loss {self.loss.name!r} says nothing of probabilities: 'logistic' does"
            )
        log_p = -np.logaddexp(0, -self.decision_function(X))
        p: np.ndarray = np.exp(log_p - log_p.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        return p


def one_vs_rest(
    X: ArrayLike,
    y: ArrayLike,
    *,
    loss: str | Loss = "hinge",
    reg: str | Regularizer = "l2",
    lam: float | None = None,
    sigma: float | None = None,
    sample_weight: ArrayLike | None = None,
    fit_intercept: bool = False,
    side: str = "auto",
    tol: float = 1e-3,
    eps: float | None = None,
    max_epochs: int = 10_000,
    solver: str | Iterable[str] = "auto",
    order: str = "permutation",
    seed: Seed = 0,
    warm_start: OneVsRest | None = None,
    keep_alpha: bool = False,
    callback: Callable[[Result], object] | None = None,
    verbose: int = 0,
) -> OneVsRest:
    """Solve, for each class, the problem of that class (+1) against all others (-1).

    X is validated once, and the norms of its rows or columns are computed once. For the problem
    of all classes together see `solve` with the losses "multiclass_hinge" and "softmax".

    Parameters
    ----------
    X, reg, lam, sigma, sample_weight, fit_intercept, side, tol, eps, max_epochs, solver, \
order, seed
        As in `solve`; limits and accuracies are those of each class.
    y : (n,) array_like
        Labels of any kind, at least two of them.
    loss : str or Loss
        Any loss of a single margin; those for regression see the targets -1 and +1.
    warm_start : OneVsRest, optional
        Start from these solutions, of the same classes and with their alpha, also ones found at
        another lam or sigma; where they have fewer rows, rows were added at the end.
    keep_alpha : bool
        Whether to keep every dual solution: n numbers a class.
    callback : callable, optional
        Called with the `Result` of each class.
    verbose : int
        1 shows a line for each class on standard error.

    Returns
    -------
    OneVsRest
    """
    kind = _spec.loss(loss)
    if kind.target_min > -1:
        raise ValueError(
            f"loss = {kind.name!r}: the classes are targets -1 and +1, which it does not allow"
        )
    if isinstance(kind, VectorLoss):
        raise ValueError(
            f"loss = {kind.name!r} is for all classes together: solve(X, y, loss={kind.name!r})"
        )
    verbose = _validate.count("verbose", verbose, 0)
    keep_alpha = _validate.flag("keep_alpha", keep_alpha)
    callback = _validate.function("callback", callback)
    plan = Plan(
        order=_validate.choice("order", order, _random.ORDERS),
        target=Target.from_arguments(tol, eps),
        max_epochs=_validate.count("max_epochs", max_epochs, 0),
        stream=_random.stream(seed),
        solvers=_accelerators.chosen(solver),
    )
    target, classes = _validate.any_classes(y, _validate.length(X), "one_vs_rest")
    problem, total = Problem.shared(
        X, _against_rest(target, 0), kind, reg, sample_weight, side, fit_intercept=fit_intercept
    )
    if problem.free and kind.classification:
        _validate.weighted_classes(kind, target, problem.weight, classes)
    results: list[Result] = []
    visited = None
    with unchanged(problem):
        for c, label in enumerate(classes):
            of_class = replace(problem, target=_against_rest(target, c))
            of_class = of_class.weighed(lam, sigma, total)
            visited = _side.make(of_class, plan.target.eps, visited, True)
            start = None if warm_start is None else warm_start.start(c, classes)
            results.append(ascend(visited, plan, visited.start(start)))
            if verbose:
                print(f"{label!r}: {results[-1]!r}", file=sys.stderr)
            if callback is not None:
                callback(results[-1])
    found = OneVsRest.of(results, classes, keep_alpha)
    if not found.converged.all():
        c = int((~found.converged).argmax())
        warnings.warn(
            f"{int((~found.converged).sum())} of {len(classes)} classes did not reach their "
            f"target, the first is {classes[c]!r}: gap = {found.gap[c]:.3g}, target "
            f"{found.target[c]:.3g}; raise max_epochs or tol",
            warning_class.get(),
            stacklevel=2,
        )
    return found


def _against_rest(target: np.ndarray, c: int) -> Any:
    """+1 for class c, -1 for the others."""
    return np.where(target == c, 1.0, -1.0)
