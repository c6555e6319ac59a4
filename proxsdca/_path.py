"""Solutions along a path of sigma or lam, each started from the one before it."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from . import _accelerators, _random, _side, _spec, _validate
from ._loop import Plan, Target, unchanged
from ._model import Saved
from ._plot import plot_path
from ._problem import Problem
from ._random import Seed
from ._result import Interrupted, Result, warning_class
from ._solve import ascend
from ._vector import problem_of
from .losses import Loss, VectorLoss
from .regularizers import L1, Regularizer

# the numbers of a Result that stand in a Path too
KEPT = (
    "sigma", "lam", "primal", "dual", "gap", "rounding", "target", "converged", "epochs",
)  # fmt: skip


class _Point(NamedTuple):
    """What a path keeps of a result: nothing of length d, and of length n only where asked for."""

    support: np.ndarray
    values: np.ndarray
    alpha: Any
    intercept: Any
    numbers: dict[str, float]

    @classmethod
    def of(cls, r: Result, keep_alpha: bool) -> _Point:
        numbers = {name: getattr(r, name) for name in KEPT}
        numbers["seconds"] = r.history["seconds"][-1]
        w = r.w.ravel()
        support = np.flatnonzero(w)
        return cls(support, w[support], r.alpha if keep_alpha else None, r.intercept, numbers)


@dataclass(frozen=True, eq=False, repr=False)
class Path(Saved):
    """Solutions along a path, each proven: P_k(w_k) - min P_k <= gap[k] + rounding[k].

    Attributes
    ----------
    sigmas, lams : (m,) arrays
        The weights of the points, in the order in which they were solved. For reg = "l1", lams are
        those of the surrogates, 0 by columns.
    coef : (d, m) or (d k, m) csc_array
        One solution a column; for k classes its rows follow one another, as in w.ravel().
    intercept : (m,) or (k, m) array
        The intercepts; 0 where there are none.
    primal, dual, gap, rounding, target : (m,) arrays
        The certificates.
    converged : (m,) array of bool
    nonzeros, epochs : (m,) arrays of int
    seconds : (m,) array
    alpha : (n, m) array, list or None
        The dual solutions, where they were asked for; for k classes a list of m (n, k) arrays.
    sigma_max : float or None
        From this sigma on, w = 0 is a solution; None where the path is one of lam.
    loss, reg, side, classes
        What was solved, as in `Result`.
    """

    sigmas: np.ndarray
    lams: np.ndarray
    coef: sparse.csc_array
    intercept: np.ndarray
    primal: np.ndarray
    dual: np.ndarray
    gap: np.ndarray
    rounding: np.ndarray
    target: np.ndarray
    converged: np.ndarray
    nonzeros: np.ndarray
    epochs: np.ndarray
    seconds: np.ndarray
    alpha: Any
    sigma_max: float | None
    loss: Any
    reg: Regularizer
    side: str
    classes: np.ndarray | None

    @classmethod
    def of(cls, points: list[_Point], problem: Problem, sigma_max: float | None) -> Path:
        """The path of the points, of which there is at least one."""
        supports = [point.support for point in points]
        coef = sparse.csc_array(
            (
                np.concatenate([point.values for point in points]),
                np.concatenate(supports),
                np.cumsum([0, *map(len, supports)]),
            ),
            shape=(problem.d, len(points)),
        )
        alphas = [point.alpha for point in points if point.alpha is not None]
        alpha: Any = np.column_stack(alphas) if alphas and not problem.shape[1:] else alphas or None
        each = {
            name: np.array([point.numbers[name] for point in points]) for name in points[0].numbers
        }
        each["nonzeros"] = np.diff(coef.indptr)
        each["intercept"] = np.stack([point.intercept for point in points], axis=-1)
        for array in (coef.data, coef.indices, coef.indptr, alpha, *each.values()):
            if isinstance(array, np.ndarray):
                array.flags.writeable = False
        side = "columns" if problem.by_columns else "rows"
        return cls(
            coef=coef, alpha=alpha, sigma_max=sigma_max, loss=problem.loss, reg=problem.reg,
            side=side, classes=problem.classes, sigmas=each.pop("sigma"), lams=each.pop("lam"),
            **each,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.gap)

    def __repr__(self) -> str:
        name = "lams" if self.sigma_max is None else "sigmas"
        values = getattr(self, name)
        return (
            f"Path({self.loss.name} + {self.reg.name}: {len(self)} {name} from {values[0]:.4g} to "
            f"{values[-1]:.4g}, {self.nonzeros[0]} to {self.nonzeros[-1]} of {self.coef.shape[0]} "
            f"weights nonzero, {int(self.converged.sum())} converged, largest gap "
            f"{self.gap.max():.3g})"
        )

    def plot(self, axes: Any = None) -> Any:
        """Draw the coefficients along the path, and their gaps; needs the extra `plot`.

        Parameters
        ----------
        axes : pair of matplotlib axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib.figure.Figure
        """
        return plot_path(self, axes)


def path(
    X: ArrayLike,
    y: ArrayLike,
    *,
    loss: str | Loss | VectorLoss = "squared",
    reg: str | Regularizer = "l1",
    sigmas: ArrayLike | None = None,
    lams: ArrayLike | None = None,
    num: int = 50,
    ratio: float = 0.01,
    lam: float | None = None,
    sigma: float | None = None,
    sample_weight: ArrayLike | None = None,
    offsets: ArrayLike | None = None,
    fit_intercept: bool = False,
    side: str = "auto",
    tol: float = 1e-4,
    eps: float | None = None,
    max_epochs: int = 10_000,
    solver: str | Iterable[str] = "auto",
    order: str = "permutation",
    seed: Seed = 0,
    keep_alpha: bool = False,
    callback: Callable[[Result], object] | None = None,
    verbose: int = 0,
) -> Path:
    """Solve along a path of sigma or lam, with proof at every point.

    Each point starts from the solution before it. X is validated, and transposed if need be, once.

    Parameters
    ----------
    X, y, loss, reg, sample_weight, offsets, fit_intercept, side, tol, eps, max_epochs, solver, \
order, seed
        As in `solve`; limits and accuracies are those of each point.
    sigmas : array_like, optional
        The sigmas, in the order in which they are to be solved; falling ones are the fastest. By
        default `num` of them from `sigma_max`, where w = 0, down to `ratio` times that.
    lams : array_like, optional
        A path of lam at the fixed sigma instead.
    num : int
    ratio : float
        In (0, 1).
    lam, sigma : float, optional
        The weight that is fixed, as in `solve`.
    keep_alpha : bool
        Whether to keep every dual solution: n numbers a point.
    callback : callable, optional
        Called with the `Result` of each point; True ends the path there.
    verbose : int
        1 shows a line for each point on standard error.

    Returns
    -------
    Path

    Raises
    ------
    Interrupted
        On Ctrl-C; its `path` has the points that were done, or is None.
    """
    kind = _spec.reg(reg)
    if sigmas is not None and not kind.has_sigma:
        raise ValueError(f"sigmas = {sigmas!r}: reg = {kind.name!r} has no sigma; lams is needed")
    if lams is None and sigmas is None and sigma is not None:
        raise ValueError(f"sigma = {sigma!r}: a path of sigma goes over sigmas; lams has it fixed")
    if lams is None and not kind.has_sigma:
        raise ValueError(
            f"lams is needed: reg = {kind.name!r} has no sigma, and there is no lam from which on "
            "w = 0 is the solution to start from"
        )
    if lams is not None and sigmas is not None:
        raise ValueError("sigmas and lams: a path has one of them; the other one is fixed")
    if lams is not None and isinstance(kind, L1):
        raise ValueError(f"lams = {lams!r}: reg = 'l1' has no lam; sigmas is needed")
    if sigmas is not None and sigma is not None:
        raise ValueError(f"sigma = {sigma!r}: sigmas says which sigmas to solve")
    if lams is not None and lam is not None:
        raise ValueError(f"lam = {lam!r}: lams says which lams to solve")
    values = None
    if lams is not None:
        values = _validate.positives("lams", lams)
        lam = float(values[0])
    elif sigmas is not None:
        values = _validate.positives("sigmas", sigmas)
        sigma = float(values[0])
    num = _validate.count("num", num, 1)
    verbose = _validate.count("verbose", verbose, 0)
    keep_alpha = _validate.flag("keep_alpha", keep_alpha)
    ratio = _validate.positive("ratio", ratio)
    if not ratio < 1:
        raise ValueError(f"ratio = {ratio}: a number > 0 and < 1 is needed")
    callback = _validate.function("callback", callback)
    problem = problem_of(
        X, y, loss, kind, lam, sigma, sample_weight, side, offsets=offsets,
        fit_intercept=fit_intercept, sets="working_sets" in _accelerators.chosen(solver),
    )  # fmt: skip
    plan = Plan(
        order=_validate.choice("order", order, _random.ORDERS),
        target=Target.from_arguments(tol, eps),
        max_epochs=_validate.count("max_epochs", max_epochs, 0),
        stream=_random.stream(seed),
        option=problem.best_option,
        solvers=_accelerators.chosen(solver),
    )
    largest = None
    if lams is None:
        largest = problem.sigma_max()
        if values is None:
            if not 0 < largest < math.inf:
                raise ValueError(
                    f"sigma_max = {largest}: there is no path from it down; give sigmas"
                )
            values = largest * np.geomspace(1, ratio, num)
    assert values is not None
    points: list[_Point] = []
    with unchanged(problem):
        try:
            for k, r in enumerate(_follow(problem, plan, values, lams is not None)):
                points.append(_Point.of(r, keep_alpha))
                if verbose:
                    print(f"{k + 1:>4}/{len(values)} {r!r}", file=sys.stderr)
                answer = None if callback is None else callback(r)
                if isinstance(answer, (bool, np.bool_)) and answer:
                    break
        except Interrupted as stop:
            stop.path = Path.of(points, problem, largest) if points else None
            raise
    found = Path.of(points, problem, largest)
    if not found.converged.all():
        k = int((~found.converged).argmax())
        warnings.warn(
            f"{int((~found.converged).sum())} of {len(found)} points did not reach their target, "
            f"the first is number {k}: gap = {found.gap[k]:.3g}, target {found.target[k]:.3g}; "
            "raise max_epochs or tol",
            warning_class.get(),
            stacklevel=2,
        )
    return found


def _follow(problem: Problem, plan: Plan, values: np.ndarray, over_lam: bool) -> Iterator[Result]:
    """Solve one point after the other, each from the one before it."""
    side, last = None, None
    for value in values.tolist():
        at = (value, problem.sigma) if over_lam else (problem.lam, value)
        side = _side.make(problem.at(*at), plan.target.eps, side, True)
        last = ascend(side, plan, side.start(last))
        yield last


def sigma_max(
    X: ArrayLike,
    y: ArrayLike,
    *,
    loss: str | Loss | VectorLoss = "squared",
    reg: str | Regularizer = "l1",
    sample_weight: ArrayLike | None = None,
    offsets: ArrayLike | None = None,
    fit_intercept: bool = False,
) -> float:
    """The sigma from which on w = 0 is a solution: where paths begin.

    max_j |1/n sum_i s_i phi'(0; y_i) x_ij|, over the l1 weights, or over groups. For losses with a
    kink at z = 0, absolute and the like where targets are 0, there may be smaller ones. With an
    intercept it is the sigma from which on only that is left, and phi' is taken at its best value.

    Parameters
    ----------
    X, y, loss, reg, sample_weight, offsets, fit_intercept
        The problem, as in `solve`.
    """
    kind = _spec.reg(reg)
    if not kind.has_sigma:
        raise ValueError(f"reg = {kind.name!r} has no sigma")
    return problem_of(
        X, y, loss, kind, None, None, sample_weight, offsets=offsets, fit_intercept=fit_intercept
    ).sigma_max()
