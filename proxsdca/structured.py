"""Structured prediction: section 3.3 of the paper, for any argmax oracle.

    oracle = proxsdca.oracles.Chain(X, y, lengths)
    r = proxsdca.structured.solve(oracle, lam=1e-3)
    r.w, r.gap, oracle.decode(r.w).labels

An **oracle** says, for each of n examples, which label is the most tempting at w. It is any object
with

- ``n`` and ``d``: how many examples there are, and how many weights;
- ``argmax(i, w)``: finds the label j with the largest margin delta(j, y_i) - w^T xi, where
  xi = psi(x_i, y_i) - psi(x_i, j), y_i itself included, whose margin is 0. It returns ``((indices,
  values), delta)``, the entries of xi that are not 0 and the cost delta(j, y_i) >= 0; or
  ``((indices, values), delta, label)``. Labels are kept: return a new object each time. w is a
  read-only view of what the run goes on to change: copy what you keep of it.

It may also have

- ``features(i, label)``: ``((indices, values), delta)`` of a label that argmax has returned. With
  it the dual value is recomputed from labels and data; without it from what argmax said at the
  time, and the result says so.
- ``radius(i)``: a bound on |psi(x_i, j)|_2 for all labels j, or ``rho(i)``: one on |psi(x_i, y_i) -
  psi(x_i, j)|_2; or either as a number for all examples. Options III and IV, and the T0 of the
  outputs "average" and "random", need one of them.
- ``decode(w, ...)``: whatever it makes of w, for `StructuredResult.decode`.
- ``approximate = True``, where argmax may miss the largest margin. Then nothing is proven, and the
  result is marked so.

What a label looks like is the oracle's own affair. `proxsdca.oracles` has compiled ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from . import _oracle_problem, _python_oracle, _validate
from ._core.atoms import Atoms
from ._loop import Plan, unchanged
from ._oracle_problem import OracleProblem, OracleSide
from ._output import OUTPUTS
from ._problem import Certificate
from ._random import Seed
from ._result import Check, Result
from ._solve import ascend, finished
from .oracles import Ready
from .regularizers import Regularizer

__all__ = ["Oracle", "StructuredResult", "certify", "solve"]

ORDERS = ("permutation", "uniform", "cyclic", "gap")


class Oracle(Protocol):
    """What an oracle must have; the module says what it may have beside that."""

    @property
    def n(self) -> int:
        """How many examples there are."""

    @property
    def d(self) -> int:
        """How many weights there are."""

    def argmax(self, i: int, w: np.ndarray) -> Any:
        """((indices, values), delta) or ((indices, values), delta, label)."""


@dataclass(frozen=True, eq=False, repr=False)
class StructuredResult(Result):
    """A structured model and what is proven of it: P(w) - min P <= gap + rounding.

    As a `Result`, except for what follows.

    Attributes
    ----------
    w : (d,) array
    alpha : Atoms or None
        The dual solution: convex weights of labels, which `labels` lists. A file keeps neither
        them nor the oracle that they belong to: `load` leaves None.
    touched, touched_certifying : int
        Calls of the oracle by the loop, and by the certificates.
    oracle : object
        The oracle.
    recomputed : bool
        Whether the dual value was recomputed from labels and data; else it was carried, as the sum
        of what the oracle said at the time.
    certified : bool
        Whether the gap bounds the suboptimality: not for oracles that are approximate.
    """

    oracle: Any = None
    recomputed: bool = True
    certified: bool = True

    @property
    def calls(self) -> int:
        """How many times the oracle was called."""
        return self.touched + self.touched_certifying

    @property
    def size(self) -> str:
        examples = "" if self.alpha is None else f"{len(self.alpha):,} examples, "
        return f"{examples}{self.w.shape[0]:,} weights, {self.calls:,} calls"

    def _fields(self) -> dict[str, Any]:
        return {**super()._fields(), "alpha": None, "oracle": None}

    def labels(self, i: int) -> list[tuple[Any, float]]:
        """The labels of example i that have a weight in alpha, with it; y_i has the rest.

        An empty list where the oracle gives its labels no names.
        """
        if self.alpha is None:
            raise ValueError("alpha is None: the file that this result is from has no labels")
        found: list[tuple[Any, float]] = self.alpha.of(i)
        if isinstance(self.oracle, Ready) and self.oracle.compiled is not None:
            return [(self.oracle.shown(label), weight) for label, weight in found]
        return [(label, weight) for label, weight in found if label is not None]

    def summary(self) -> str:
        """A short text: the problem, what was reached, and what is proven."""
        if not self.certified:
            more = "\nUncertified: the oracle is approximate, so that the gap proves nothing"
        elif not self.recomputed:
            more = "\nThe dual value was carried: the oracle has no features to recompute it from"
        else:
            more = ""
        return super().summary() + more

    def decode(self, *data: Any, **keywords: Any) -> Any:
        """What the oracle decodes with w: `oracle.decode(w, ...)`."""
        if not hasattr(self.oracle, "decode"):
            raise TypeError(f"the oracle, {self.oracle!r}, has no decode(w, ...)")
        return self.oracle.decode(self.w, *data, **keywords)

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Not for structured models: `decode` has the scores."""
        raise TypeError("a structured model has no decision_function: decode has labels and scores")

    def predict(self, X: ArrayLike, offsets: ArrayLike | None = None) -> np.ndarray:
        """Not for structured models: `decode` has the labels."""
        raise TypeError("a structured model has no predict: decode has labels and scores")

    def predict_proba(self, X: ArrayLike, offsets: ArrayLike | None = None) -> np.ndarray:
        """Not for structured models."""
        raise TypeError("a structured model has no predict_proba: decode has labels and scores")


def solve(
    oracle: Oracle,
    lam: float | None = None,
    reg: str | Regularizer = "l2",
    *,
    sigma: float | None = None,
    tol: float = 1e-3,
    eps: float | None = None,
    max_epochs: int = 10_000,
    max_seconds: float | None = None,
    option: str = "auto",
    cache: bool | None = None,
    order: str = "permutation",
    output: str = "last",
    T0: int | None = None,
    seed: Seed = 0,
    warm_start: StructuredResult | Atoms | None = None,
    certify_every: int | None = None,
    callback: Callable[[Check], object] | None = None,
    verbose: int = 0,
) -> StructuredResult:
    """Minimise P(w) = 1/n sum_i phi_i(w) + lam g(w), with proof, where

        phi_i(w) = max_j [ delta(j, y_i) - w^T (psi(x_i, y_i) - psi(x_i, j)) ].

    Procedure Prox-SDCA for structured output learning (section 3.3) keeps for each example convex
    weights beta_i of the labels found so far, and ascends the dual

        D = 1/n sum_i sum_j beta_ij delta(j, y_i) - lam g*(v),   w = grad g*(v),
        v = 1/(lam n) sum_i sum_j beta_ij (psi(x_i, y_i) - psi(x_i, j)),

    one example at a time: beta_i moves towards the label that the oracle finds at w.

    Parameters
    ----------
    oracle : Oracle
        One of `proxsdca.oracles`, or an object of your own: see the module.
    lam : float, optional
        lambda > 0; by default 1/n.
    reg : str or Regularizer
        "l2" or "l1l2", or an object of `regularizers`.
    sigma : float, optional
        The weight of |w|_1; by default lam / 10.
    tol, eps, max_epochs, max_seconds
        As in `proxsdca.solve`: stop when the certified gap is at most tol |P(w)|, or eps. An epoch
        has n calls of the oracle, a certificate n more.
    option : {"auto", "II", "III", "IV"}
        The step. "II", the default, is an exact line search (for "l1l2" on the true dual); "III"
        has 4 R_i^2 in the place of |X_i z|^2, "IV" the paper's 4 R^2.
    cache : bool, optional
        Whether labels that were found are visited again, without calls: at each visit, and in
        passes between epochs as long as they matter beside what the oracle finds, weight moves from
        labels where it is worth less to those where it is worth more. By default with option "II".
        False is the paper's procedure.
    order : {"permutation", "uniform", "cyclic", "gap"}
        A new permutation each epoch, independent uniform draws (the paper's), 0 ... n - 1, or draws
        in proportion to each example's share of the gap, as last seen.
    output : {"last", "average", "random", "best"}
        As in `proxsdca.solve`.
    T0 : int, optional
        The step from which "average" and "random" take iterates; by default the corollary's.
    seed : int, SeedSequence, Generator or None
        Fixes every bit of the result, where the oracle does not change.
    warm_start : StructuredResult or its alpha, optional
        Start from these weights, found with the same oracle, also at another lam or sigma.
    certify_every, callback, verbose
        As in `proxsdca.solve`.

    Returns
    -------
    StructuredResult
        w, the weights of the labels, and the certificate for them.

    Raises
    ------
    ValueError, TypeError
        For bad input, also where an answer of the oracle is none: an index out of range, a number
        that is not finite, a cost below 0, or a margin below that of y_i or of a label found
        before.
    NumericalError
        Where the numbers of the problem overflow double precision.
    Interrupted
        A KeyboardInterrupt whose `result` is the best that was certified before Ctrl-C.

    Warns
    -----
    ConvergenceWarning
        Where the target was not reached.

    Notes
    -----
    An exception that the oracle raises comes out as it is, with a note that names the example. P(w)
    relies on the oracle: for one that is written in Python, the bound on rounding supposes that it
    sums its margins no worse than plainly, and that no label is longer than those it has returned.
    """
    option, cached = _oracle_problem.options(option, cache)
    output = _validate.choice("output", output, OUTPUTS)
    order = _validate.choice("order", order, ORDERS)
    plan = Plan.from_arguments(
        tol, eps, seed, max_epochs, max_seconds, T0, certify_every, callback, verbose,
        option=option,
        order=order,
        output=output,
    )  # fmt: skip
    problem = OracleProblem.of(oracle, reg, lam, sigma, cached)
    wanted = option in ("III", "IV") or (output in ("average", "random") and T0 is None)
    radii = _python_oracle.radii(oracle, problem.n) if wanted else None
    if output == "best" and not problem.proves:
        raise ValueError(
            "output = 'best': which w is the best cannot be told with an approximate oracle"
        )
    if option in ("III", "IV") and radii is None:
        raise ValueError(
            f"option = {option!r} needs R: the oracle has neither radius nor rho; option = 'II' "
            "does without"
        )
    with unchanged(problem):
        side = OracleSide(problem, radii, order)
        result = ascend(side, plan, side.start(warm_start))
    assert isinstance(result, StructuredResult)
    finished(result)
    return result


def certify(
    oracle: Oracle,
    w: ArrayLike,
    alpha: StructuredResult | Atoms,
    *,
    lam: float | None = None,
    reg: str | Regularizer = "l2",
    sigma: float | None = None,
) -> Certificate:
    """P(w), D(alpha) and the gap between them, for any w and the weights of any result.

    Parameters
    ----------
    oracle, lam, reg, sigma
        The problem, as in `solve`.
    w : (d,) array_like
    alpha : StructuredResult or its alpha
        Found with the same oracle, at any lam.

    Returns
    -------
    Certificate
        primal, dual, gap, rounding: P(w) - min P <= gap + rounding, as far as the oracle is right
        (see `solve`) and, where it has no features, still of the same data.
    """
    atoms = alpha.alpha if isinstance(alpha, StructuredResult) else alpha
    problem = OracleProblem.of(
        oracle, reg, lam, sigma, cache=isinstance(atoms, Atoms) and not atoms.summed
    )
    if not problem.proves:
        raise ValueError("oracle is approximate: nothing can be certified with it")
    evaluation = problem.evaluate(
        _validate.vector("w", w, problem.d), problem.read_alpha("alpha", atoms), problem.room()
    )
    return problem.check_finite(evaluation.certificate)
