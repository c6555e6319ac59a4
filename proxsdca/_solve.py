"""The order of the calls, no formulas."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike

from . import _random, _spec, _validate
from ._loop import Run, Target
from ._problem import Certificate, Problem
from ._random import Seed
from ._result import ConvergenceWarning, Result, Status
from .losses import Loss
from .regularizers import Regularizer


def solve(
    X: ArrayLike,
    y: ArrayLike,
    *,
    loss: str | Loss = "hinge",
    reg: str | Regularizer = "l2",
    lam: float | None = None,
    sigma: float | None = None,
    sample_weight: ArrayLike | None = None,
    tol: float = 1e-3,
    eps: float | None = None,
    max_epochs: int = 1000,
    max_seconds: float | None = None,
    option: str = "auto",
    order: str = "permutation",
    seed: Seed = 0,
) -> Result:
    """Minimise P(w) = 1/n sum_i s_i phi(x_i^T w; y_i) + lam g(w), with proof.

    Procedure Prox-SDCA of Shalev-Shwartz and Zhang (2012) ascends the dual

        D(alpha) = -1/n sum_i s_i phi*(-alpha_i / s_i) - lam g*(v),
        v = 1/(lam n) sum_i x_i alpha_i,   w = grad g*(v),

    one alpha_i at a time. P(w) - D(alpha) bounds P(w) - min P, whatever alpha is.

    Parameters
    ----------
    X : (n, d) array_like or sparse
        One example a row. CSR with int32 or int64 indices and dense arrays of any memory order,
        in float32 or float64, are used without a copy; anything else is converted.
    y : (n,) array_like
        Targets; for classification losses two labels of any kind, the larger one is +1.
    loss : str or Loss
        A name in `losses.LOSSES`, or an object of `losses`.
    reg : str or Regularizer
        "l2" or "l1l2", or an object of `regularizers`.
    lam : float, optional
        lambda > 0; by default 1 / sum(sample_weight), which is 1/n without weights.
    sigma : float, optional
        The weight of |w|_1 in reg="l1l2"; by default lam / 10.
    sample_weight : (n,) array_like, optional
        Weights mean repetition: s_i = n sample_weight_i / sum(sample_weight).
    tol : float
        Stop when the certified gap is at most tol |P(w)| ...
    eps : float, optional
        ... or at most eps, the paper's epsilon_P. Either suffices.
    max_epochs : int
        The most passes of n steps.
    max_seconds : float, optional
        The most seconds.
    option : {"auto", "I", "II", "III", "IV", "IV-4L2", "V"}
        The step of Procedure Prox-SDCA. "auto" is Option I, the exact one. "IV-4L2" is Option IV
        with 4 L^2 in the place of |z|^2.
    order : {"permutation", "uniform", "cyclic"}
        A new permutation each epoch, independent uniform draws (the paper's), or 0 ... n - 1.
    seed : int, SeedSequence, Generator or None
        Fixes every bit of the result. A Generator is advanced; None takes fresh entropy.

    Returns
    -------
    Result
        w, alpha and the certificate for them.

    Raises
    ------
    ValueError, TypeError
        For bad input, naming the argument, the first bad position, the value and what is allowed.
    NumericalError
        Where the numbers of the problem overflow double precision.

    Warns
    -----
    ConvergenceWarning
        Where the target was not reached.
    """
    problem = Problem.from_arguments(X, y, loss, reg, lam, sigma, sample_weight)
    target = Target(
        _validate.nonnegative("tol", tol),
        0.0 if eps is None else _validate.nonnegative("eps", eps),
    )
    max_epochs = _validate.count("max_epochs", max_epochs, 0)
    if max_seconds is not None:
        max_seconds = _validate.nonnegative("max_seconds", max_seconds)
    option = _spec.option(option, problem.loss)
    order = _validate.choice("order", order, _random.ORDERS)
    orders = _random.Order(order, problem.rows.n, _random.stream(seed))

    run = Run(problem, orders, option, target, max_epochs, max_seconds)
    certificate = run.ascend()
    level = target.level(certificate.primal)
    if run.status is not Status.CONVERGED:
        warnings.warn(
            f"gap = {certificate.gap:.3g} (rounding {certificate.rounding:.1g}) after {run.epochs} "
            f"epochs, target {level:.3g}: {run.status.value}",
            ConvergenceWarning,
            stacklevel=2,
        )
    for array in (run.w, run.alpha, history := run.records()):
        array.flags.writeable = False
    return Result(
        w=run.w,
        intercept=0.0,
        alpha=run.alpha,
        **certificate._asdict(),
        converged=run.status is Status.CONVERGED,
        target=level,
        status=run.status,
        epochs=run.epochs,
        history=history,
        touched=run.touched,
        touched_certifying=run.touched_certifying,
        loss=problem.loss,
        reg=problem.reg,
        lam=problem.lam,
        sigma=problem.sigma,
        option=option,
        order=order,
        classes=problem.classes,
    )


def certify(
    X: ArrayLike,
    y: ArrayLike,
    w: ArrayLike,
    alpha: ArrayLike,
    *,
    loss: str | Loss = "hinge",
    reg: str | Regularizer = "l2",
    lam: float | None = None,
    sigma: float | None = None,
    sample_weight: ArrayLike | None = None,
) -> Certificate:
    """P(w), D(alpha) and the gap between them, for any pair, from any solver.

    Parameters
    ----------
    X, y, loss, reg, lam, sigma, sample_weight
        The problem, as in `solve`.
    w : (d,) array_like
        A primal point. It need not belong to alpha.
    alpha : (n,) array_like
        A dual point, inside the domain of phi*.

    Returns
    -------
    Certificate
        primal, dual, gap, rounding: P(w) - min P <= gap + rounding.
    """
    problem = Problem.from_arguments(X, y, loss, reg, lam, sigma, sample_weight)
    d = problem.rows.d
    return problem.certify(
        _validate.vector("w", w, d),
        _validate.vector("alpha", alpha, problem.rows.n),
        np.empty(d),
        np.empty((d, 2)),
    )
