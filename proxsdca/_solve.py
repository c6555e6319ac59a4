"""The order of the calls, no formulas."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _accelerators, _checkpoint, _random, _side, _spec, _validate
from ._checkpoint import Checkpoint, digest
from ._loop import Plan, Run, logger, unchanged
from ._output import OUTPUTS
from ._problem import Certificate, in_doubt, point_state
from ._random import Seed
from ._resident import bounded
from ._result import Check, Interrupted, Result, Status, warning_class
from ._side import Side
from ._vector import problem_of
from .losses import Loss, VectorLoss
from .regularizers import Regularizer

# What a plan says that fixes the bits of a run.
PLANNED = ("max_epochs", "option", "order", "output", "T0", "certify_every")


def solve(
    X: ArrayLike,
    y: ArrayLike,
    *,
    loss: str | Loss | VectorLoss = "hinge",
    reg: str | Regularizer = "l2",
    lam: float | None = None,
    sigma: float | None = None,
    sample_weight: ArrayLike | None = None,
    offsets: ArrayLike | None = None,
    fit_intercept: bool = False,
    side: str = "auto",
    tol: float = 1e-3,
    eps: float | None = None,
    max_epochs: int = 10_000,
    max_seconds: float | None = None,
    option: str = "auto",
    solver: str | Iterable[str] = "auto",
    order: str = "permutation",
    output: str = "last",
    T0: int | None = None,
    seed: Seed = 0,
    warm_start: Result | ArrayLike | None = None,
    certify_every: int | None = None,
    callback: Callable[[Check], object] | None = None,
    verbose: int = 0,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float = 60.0,
    resume: bool = False,
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
        Targets; for classification losses two labels of any kind, the larger one is +1; for
        "multiclass_hinge" and "softmax" any number of them, and w is (d, k).
    loss : str, Loss or VectorLoss
        A name in `losses.LOSSES` or `losses.VECTOR_LOSSES`, or an object of `losses`.
    reg : str or Regularizer
        "l2", "l1l2", "qnorm", "group" or "l1", or an object of `regularizers`.
    lam : float, optional
        lambda > 0; by default 1 / sum(sample_weight), which is 1/n without weights. reg="l1" has
        none.
    sigma : float, optional
        The weight of |w|_1, or of the group norms; by default lam / 10, and 0.01 sigma_max for
        reg="l1".
    sample_weight : (n,) array_like, optional
        Weights mean repetition: s_i = n sample_weight_i / sum(sample_weight).
    offsets : (n + 1,) array_like of int, optional
        For "multiclass_hinge" and "softmax" on X_i of their own: the rows offsets[i] to
        offsets[i + 1] of X are the candidates of example i, the columns of X_i; y_i says which of
        them is chosen, counted from 0, and w is (d,).
    fit_intercept : bool
        Whether the margins are x_i^T w + beta, with a beta that is not penalised, or one for each
        class. Then D has the constraint sum_i alpha_i = 0, and the alpha that is returned keeps it
        exactly. X is neither changed nor made dense.
    side : {"auto", "rows", "columns"}
        What the loop visits. "rows" ascends D along one alpha_i at a time. "columns", for smooth
        losses with l2, l1l2 or l1, descends P along one w_j at a time, with alpha_i =
        -s_i phi'(x_i^T w). It reads X by columns: CSC and dense arrays in Fortran's order as they
        are, anything else after one transposition, entries that stand twice after adding them up.
        For smooth losses "auto" takes columns for l1, and for l1l2 where lam and sigma are given,
        sigma >= lam and solver allows "working_sets"; rows otherwise.
    tol : float
        Stop when the certified gap is at most tol |P(w)| ...
    eps : float, optional
        ... or at most eps, the paper's epsilon_P. Either suffices.
    max_epochs : int
        The most passes of n steps.
    max_seconds : float, optional
        The most seconds.
    option : {"auto", "I", "II", "III", "IV", "IV-4L2", "IV-L2", "V"}
        The step of Procedure Prox-SDCA. "auto" is Option I, the exact one (Option II for softmax
        with offsets). "IV-4L2" is Option IV with 4 L^2 in the place of |z|^2, "IV-L2" with the
        remark's L^2 for k classes. Any but "auto" is the paper's procedure, without accelerators.
    solver : {"auto", "plain"}, or names
        What may stand beside the epochs: "auto" chooses among all accelerators by counted facts,
        "plain" is the paper's procedure alone. A name, or several of them, allows just these:
        "growing" (a first epoch of a problem that grows from few examples to all), "near" (logistic
        and softmax steps that end near the exact one), "beyond" (softmax steps that go beyond it),
        "averaging" (w as the mean over the last epoch, where phi has kinks), "shrinking" (passes
        over all rows but those that stay at an end of their domain), "screening" (drops columns
        that are proven to be 0), "faces" (conjugate gradients along the faces that alpha is on),
        "newton" (Newton's method on all of alpha) and "working_sets" (columns that may matter
        first). All of them raise the dual in the end, or lower P by columns, and certificates are
        computed on everything; what was used stands in the Result.
    order : {"permutation", "uniform", "cyclic", "importance", "blocks"}
        A new permutation each epoch, independent uniform draws (the paper's), 0 ... n - 1,
        independent draws with p_i proportional to 1 + |x_i|^2 / (lam gamma n) for smooth losses,
        half uniform and half proportional to |x_i| for others; or, for data on disk, blocks of
        about sqrt(n) neighbours in random order, sixteen of them shuffled together, so that reads
        stay near one another.
    output : {"last", "average", "random", "best"}
        What is returned, and certified: the last iterate (but for w where it is a mean, see
        `solver`); the averages of the iterates w and alpha
        from step T0 on; a random one of them; or the w of the lowest certified primal with the
        alpha of the highest certified dual.
    T0 : int, optional
        The step from which "average" and "random" take iterates; by default the theorems' for the
        target, but at most half of the steps that max_epochs allows.
    seed : int, SeedSequence, Generator or None
        Fixes every bit of the result. A Generator is advanced; None takes fresh entropy.
    warm_start : Result or array_like, optional
        Start from this alpha instead of 0, also one found at another lam or sigma. Where it has
        fewer than n rows, rows were added at the end and start from 0.
    certify_every : int, optional
        Certify after every so many epochs, for a detailed history. By default an estimate from the
        loop decides when, and certificates take at most a tenth of the work.
    callback : callable, optional
        Called with a `Check` at every certificate; True stops the run, an exception ends it.
    verbose : int
        1 shows a progress line on standard error, 2 a line for each certificate. The logger
        "proxsdca" is told in any case.
    checkpoint : path, optional
        Save the state of the run to this file now and then, on the disk and in one piece; the state
        before stays beside it, with ``.previous`` added to its name. A failure to do so is a
        `CheckpointWarning`, and the run goes on.
    checkpoint_every : float
        Seconds between two of them. When they are made changes no bit of the result.
    resume : bool
        Go on from the checkpoint, if there is one, to the same bits as a run that was never
        interrupted (`history` has other seconds). One that was made with other data, other
        arguments or another version is refused, and the difference named; only max_seconds, which
        counts from this call on, callback, verbose and checkpoint_every may differ.

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
    Interrupted
        A KeyboardInterrupt whose `result` is the best that was certified before Ctrl-C.

    Warns
    -----
    ConvergenceWarning
        Where the target was not reached.
    CheckpointWarning
        Where a checkpoint could not be written.
    """
    output = _validate.choice("output", output, OUTPUTS)
    plain = _spec.plain(option, output)
    solvers = _accelerators.fitting(_accelerators.chosen(solver), option, output)
    if _validate.flag("resume", resume) and checkpoint is None:
        raise ValueError("resume = True: checkpoint is needed, the file to go on from")
    place = None if checkpoint is None else _checkpoint.place(checkpoint)
    every = _validate.nonnegative("checkpoint_every", checkpoint_every)
    with bounded((X,)):
        problem = problem_of(
            X, y, loss, reg, lam, sigma, sample_weight, side, plain, offsets, fit_intercept,
            sets="working_sets" in solvers,
        )  # fmt: skip
        _spec.output(output, problem.reg)
        plan = Plan.from_arguments(
            tol, eps, seed, max_epochs, max_seconds, T0, certify_every, callback, verbose,
            option=_spec.option(option, problem),
            solvers=solvers,
            order=_validate.choice("order", order, _random.ORDERS),
            output=output,
        )  # fmt: skip
        with unchanged(problem) as fingerprint:
            visited = _side.make(problem, plan.target.eps)
            start = visited.start(warm_start)
            if place is not None:
                run = _identity(visited, plan, start, fingerprint)
                if seed is None:  # nothing that could be the same again
                    run["seed*"] = None
                plan = replace(plan, checkpoint=Checkpoint(place, every, run, resume))
            result = ascend(visited, plan, start)
    finished(result)
    return result


def _identity(side: Side, plan: Plan, start: Any, fingerprint: object) -> dict[str, Any]:
    """All that fixes the bits of a run; what is known by a digest has a star."""
    problem = side.problem
    guesses = (getattr(side, name, None) for name in ("beta", "origin"))
    parts = {
        kind: [getattr(part, name, None) for name in names]
        for kind, part, names in (
            ("loss", problem.loss, (*problem.loss.parameters, "gamma", "lipschitz")),
            ("reg", problem.reg, problem.reg.arguments),
        )
    }
    return {
        "X*": digest(type(problem.storage).__name__, fingerprint, problem.n, problem.d),
        "y*": digest(problem.target, problem.classes),
        "sample_weight*": digest(problem.weight),
        "offsets*": digest(getattr(problem, "offsets", None)),
        "loss": problem.loss.name,
        "a parameter of the loss*": digest(*parts["loss"]),
        "reg": problem.reg.name,
        "a parameter of the regulariser*": digest(*parts["reg"]),
        "lam": problem.lam,
        "sigma": problem.sigma,
        "fit_intercept": bool(problem.free),
        "side": "columns" if problem.by_columns else "rows",
        "tol": plan.target.tol,
        "eps": plan.target.eps,
        **{name: getattr(plan, name) for name in PLANNED},
        "solver": sorted(plan.solvers),
        "seed*": digest(plan.stream.state()),
        "warm_start*": None if start is None else digest(point_state(start), *guesses),
    }


def ascend(side: Side, plan: Plan, start: Any) -> Result:
    """Run the loop from the given state, None being 0."""
    run = Run(side, plan, start)
    try:
        run.ascend()
        side.problem.check_finite(run.certificate)
        result = _result(run)
    except KeyboardInterrupt as stop:
        try:
            run.fall_back()
        except Exception:  # formulas that are not ours may fail once more
            raise stop from None
        raise Interrupted(_result(run)) from stop
    logger.info("%r", result)
    return result


def _result(run: Run) -> Result:
    """What a run has reached, frozen."""
    problem, plan = run.problem, run.plan
    w, alpha, intercept = problem.shown(*run.pair)
    history = run.records()
    history.flags.writeable = False
    assert run.status is not None
    return problem.result(
        {
            "w": w,
            "intercept": intercept,
            "alpha": alpha,
            **run.certificate._asdict(),
            "converged": run.status is Status.CONVERGED,
            "target": plan.target.level(run.certificate.primal),
            "status": run.status,
            "epochs": run.epochs,
            "history": history,
            "touched": run.touched,
            "touched_certifying": run.touched_certifying,
            "loss": problem.loss,
            "reg": problem.reg,
            "lam": run.side.lam,
            "sigma": problem.sigma,
            "side": run.side.name,
            "option": plan.option,
            "order": plan.order,
            "output": plan.output,
            "classes": problem.classes,
            "solver": tuple(run.used),
        }
    )


def finished(result: Result) -> None:
    """Warn of a result that is less than what was asked for."""
    if not result.converged and result.status is not Status.UNCERTIFIED:
        warnings.warn(_advice(result), warning_class.get(), stacklevel=3)


def _advice(result: Result) -> str:
    """What was missed, and what would help."""
    help = {
        Status.ROUNDING: "the data allow no smaller gap in double precision: take a larger tol",
        Status.MAX_EPOCHS: "raise max_epochs, tol or lam, or start from this result (warm_start)",
        Status.MAX_SECONDS: "raise max_seconds, tol or lam, or start from this result (warm_start)",
    }.get(result.status, "start from this result (warm_start) to go on")
    return (
        f"gap = {result.gap:.3g} (rounding {result.rounding:.1g}) after {result.epochs} epochs, "
        f"target {result.target:.3g}: {result.status.value}; {help}"
        f"{in_doubt(result.loss, result.reg)}"
    )


def certify(
    X: ArrayLike,
    y: ArrayLike,
    w: ArrayLike,
    alpha: ArrayLike,
    *,
    loss: str | Loss | VectorLoss = "hinge",
    reg: str | Regularizer = "l2",
    lam: float | None = None,
    sigma: float | None = None,
    sample_weight: ArrayLike | None = None,
    offsets: ArrayLike | None = None,
    intercept: ArrayLike | None = None,
) -> Certificate:
    """P(w), D(alpha) and the gap between them, for any pair, from any solver.

    Parameters
    ----------
    X, y, loss, reg, lam, sigma, sample_weight, offsets
        The problem, as in `solve`.
    w : (d,) or (d, k) array_like
        A primal point. It need not belong to alpha.
    alpha : array_like
        A dual point, inside the domain of phi*, of the shape that a `Result` has: (n,), (n, k),
        dense or sparse, or one number for each row of X.
    intercept : float or (k,) array_like, optional
        Where it is given, the problem is the one with a free intercept, and this is its value. Then
        alpha has to add up to 0, for each class; what it is off by, at most 1e-6 of its absolute
        values, is taken away first.

    Returns
    -------
    Certificate
        primal, dual, gap, rounding: P(w) - min P <= gap + rounding.
    """
    with bounded((X,)):
        problem = problem_of(
            X, y, loss, reg, lam, sigma, sample_weight, offsets=offsets,
            fit_intercept=intercept is not None,
        )  # fmt: skip
        point, dual = (
            _validate.array("w", w, problem.shape).ravel(),
            problem.exact_alpha("alpha", alpha),
        )
        if problem.free:
            point = np.concatenate([point, problem.read_intercept("intercept", intercept)])
            dual = problem.exactly_balanced("alpha", dual)
        evaluation = problem.evaluate(point, dual, problem.room())
        return problem.check_finite(evaluation.certificate)
