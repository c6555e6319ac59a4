"""What `solve` returns, and the exceptions and warnings of the package."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from . import _predict
from ._model import ALLOWED, KINDS, Saved
from ._plot import plot
from ._summary import summary
from .regularizers import Regularizer

if TYPE_CHECKING:
    from ._path import Path


class NumericalError(ArithmeticError):
    """The numbers of the problem are beyond what double precision can hold."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run; `result` is the best that was certified by then.

    From `path`, the attribute `path` has the points that were done.
    """

    def __init__(self, result: Result) -> None:
        super().__init__(f"interrupted after {result.epochs} epochs, gap = {result.gap:.3g}")
        self.result = result
        self.path: Path | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.result,), {"path": self.path}


class ConvergenceWarning(UserWarning):
    """The target was not reached; the certificate says what was."""


# What a run warns with that misses its target: estimators take one that scikit-learn knows as well.
warning_class: ContextVar[type[Warning]] = ContextVar("warning_class", default=ConvergenceWarning)


class Start(NamedTuple):
    """A pair to start from, of a problem that may have had other targets and weights; alpha is
    moved into the domain."""

    w: np.ndarray
    intercept: Any
    alpha: Any


class Status(enum.Enum):
    """Why a run ended."""

    CONVERGED = "gap + rounding is within the target"
    ROUNDING = "the gap is down to its rounding error, above the target"
    MAX_EPOCHS = "max_epochs was reached"
    MAX_SECONDS = "max_seconds was reached"
    STOPPED = "the callback asked to stop"
    INTERRUPTED = "the run was interrupted"
    UNCERTIFIED = "the gap is within the target, but the oracle is approximate: nothing is proven"


KINDS["Status"] = ALLOWED["Status"] = Status


class Check(NamedTuple):
    """A certificate on the way, as a callback sees it."""

    epoch: int
    seconds: float
    primal: float
    dual: float
    gap: float
    rounding: float
    nonzeros: int
    target: float


HISTORY = np.dtype(
    [
        ("epoch", np.int64),
        ("seconds", np.float64),
        ("primal", np.float64),
        ("dual", np.float64),
        ("gap", np.float64),
        ("rounding", np.float64),
        ("nonzeros", np.int64),
    ]
)


@dataclass(frozen=True, eq=False, repr=False)
class Result(Saved):
    """A solution and what is proven of it: P(w) - min P <= gap + rounding.

    Attributes
    ----------
    w : (d,) or (d, k) array
        The primal solution; a column for each class where the loss is vector-valued and the
        classes share their features.
    intercept : float or (k,) array
        beta of the margins x_i^T w + beta, for k classes adding up to 0; 0.0 where there is none.
    alpha : (n,) array, (n, k) array or csr_array, or (rows of X,) array
        The dual solution; with sample weights, alpha_i / s_i is in the domain of phi*. For k
        classes a row for each example, sparse for the multiclass hinge; with offsets, a number for
        each row of X.
    primal, dual, gap : float
        P(w), D(alpha) and their difference, recomputed from the data.
    rounding : float
        A bound on the floating-point error of the gap.
    converged : bool
        Whether gap + rounding <= target.
    target : float
        max(tol |P(w)|, eps).
    status : Status
        Why the run ended.
    epochs : int
        Passes completed: as many steps as there are rows with weight and a nonzero entry.
    history : structured array
        One record a gap check: epoch, seconds, primal, dual, gap, rounding, nonzeros (of w).
    touched, touched_certifying : int
        Nonzeros of X read by the loop, and by the certificates. A row that is visited counts
        once, whether or not its step changes v; a certificate reads X once.
    loss, reg, lam, sigma, side, option, order, output
        What was solved, and how, with all defaults filled in. For reg="l1", lam is the one of the
        surrogate that was solved last by rows, 0 by columns.
    classes : (k,) array or None
        The labels, in order; the two of a loss of one margin stand for -1 and +1.
    solver : tuple of str
        What the run was made of, in the order of first use: "epochs", and accelerators.
    """

    w: np.ndarray
    intercept: Any
    alpha: Any
    primal: float
    dual: float
    gap: float
    rounding: float
    converged: bool
    target: float
    status: Status
    epochs: int
    history: np.ndarray
    touched: int
    touched_certifying: int
    loss: Any  # Loss or VectorLoss
    reg: Regularizer
    lam: float
    sigma: float
    side: str
    option: str
    order: str
    output: str
    classes: np.ndarray | None
    solver: tuple[str, ...] = ()  # unknown, in files of earlier versions

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.loss.name} + {self.reg.name}, lam={self.lam:.4g}, "
            f"sigma={self.sigma:.4g}: primal={self.primal:.10g}, gap={self.gap:.3g} "
            f"(target {self.target:.3g}), {self.status.name}, epochs={self.epochs}, "
            f"{np.count_nonzero(self.w)} of {self.w.size} weights nonzero)"
        )

    @property
    def size(self) -> str:
        """How large the problem is, in words."""
        shape = f"{self.alpha.shape[0]:,} rows, {self.w.shape[0]:,} columns"
        return shape + (f", {self.w.shape[1]:,} classes" if self.w.ndim == 2 else "")

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """X w + intercept: (n,), or (n, k) for k classes."""
        return _predict.decision_function(self.w, X, self.intercept)

    def predict(self, X: ArrayLike, offsets: ArrayLike | None = None) -> np.ndarray:
        """The class of each row of X; without classes its margin, or exp of it for Poisson.

        For a model that chooses among several rows, `offsets` says where the examples begin, as in
        `solve`, and the answer is the chosen row of each, counted from 0 within the example.
        """
        return _predict.predict(self, X, offsets)

    def predict_proba(self, X: ArrayLike, offsets: ArrayLike | None = None) -> np.ndarray:
        """The probabilities of the classes, for softmax and logistic.

        (n, k); with `offsets`, a number for each row of X.
        """
        return _predict.predict_proba(self, X, offsets)

    def summary(self) -> str:
        """A short text: the problem, what was reached, and what is proven."""
        return summary(self)

    def plot(
        self,
        *others: Result,
        labels: Sequence[str] | None = None,
        x: str = "epochs",
        axes: Any = None,
    ) -> Any:
        """Draw the convergence of primal, dual and gap; needs the extra `plot`.

        Parameters
        ----------
        *others : Result
            Further results for the same picture.
        labels : sequence of str, optional
            A name for each result.
        x : {"epochs", "seconds"}
        axes : pair of matplotlib axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib.figure.Figure
        """
        return plot((self, *others), labels=labels, x=x, axes=axes)
