"""Working sets of columns, for smooth losses with l1: the order of the calls.

One product X^T alpha says which columns violate the conditions of the optimum, and what the gap is
but for roundings. Those that violate them most, beside those where w is not 0, make a set, along
which n P is descended by Newton's method with a line search on P itself: each step minimises a
quadratic model of the loss with the penalty as it is (`_core.working_set`). A round of this lowers
P, and leaves nothing of it to be believed: certificates are computed on everything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ._core.columns import Penalty
from ._core.working_set import WorkingSet

if TYPE_CHECKING:
    from ._problem import Problem

FIRST = 20  # columns, of the first set; later ones have
GROWTH = 2  # times as many as w has numbers that are not 0, and these
MOST = 512  # columns; of more the matrix is too large
PRODUCTS = 50.0  # for the matrix, for each entry of the set; more, and epochs are faster
STEPS = 20  # of Newton's method on one set, at the most
SHARE = 0.1  # of the gap that may be left of a set before columns are looked for again
HALVINGS = 30  # of a step
NEAR = 0.9  # of the target: there a certificate is worth its work
LEAST = 6  # passes over X that are worth beginning with


class WorkingSets:
    """Descent of P along sets of columns.

    Parameters
    ----------
    problem : Problem
        By columns, with a smooth loss.
    penalty : Penalty
    l1_weights : (d,) array
    residual : bool
        Whether margins come as residuals, X w - y of the squared loss.
    """

    def __init__(
        self, problem: Problem, penalty: Penalty, l1_weights: np.ndarray, residual: bool
    ) -> None:
        self.offset = problem.target if residual else None
        target = np.zeros(problem.n) if residual else problem.target
        self.problem, self.penalty = problem, penalty
        self.threshold = penalty.l1 * l1_weights
        self.l1_weights = l1_weights
        self.core = WorkingSet(
            problem.storage, problem.loss, target, problem.weight, penalty, l1_weights,
            bool(problem.free),
        )  # fmt: skip
        self.products = 0  # nonzeros of X^T alpha
        self.chosen: np.ndarray | None = None
        self.near = NEAR
        self.stuck = False

    @property
    def touched(self) -> int:
        """Nonzeros of X read so far."""
        return self.core.touched + self.products

    def look(self, w: np.ndarray, z: np.ndarray) -> tuple[float, float]:
        """P(w), and about its distance to D, at the margins z of w."""
        problem, core, n = self.problem, self.core, self.problem.n
        self.loss = core.look(z)
        self.correlations = problem.storage.matvec(core.slope)
        self.products += problem.storage.nnz
        w, size = w[: problem.d], np.abs(self.correlations)
        penalty = float(self.threshold @ np.abs(w)) + 0.5 * self.penalty.l2 * float(w @ w)
        shrink, penalty_conjugate = 1.0, 0.0
        if self.penalty.l2 > 0:
            over = np.maximum(size - self.threshold, 0)
            penalty_conjugate = 0.5 * float(over @ over) / self.penalty.l2
        else:
            peak = float((size / self.threshold).max())
            shrink = 1 / max(1.0, peak)
        dual = -core.conjugates(shrink) - penalty_conjugate
        if self.offset is not None:  # phi*(-b) = b^2 / 2 - y b
            dual -= shrink * float(self.offset @ core.slope)
        self.objective = self.loss + penalty
        self.gap = self.objective - dual
        if problem.free:
            self.gap += abs(float(core.slope.sum()))
        return self.objective / n, self.gap / n

    def descend(self, w: np.ndarray, z: np.ndarray, level: float) -> None:
        """One round: choose a set, and descend P along it."""
        core, n = self.core, self.problem.n
        chosen = self._chosen(w)
        fresh = not np.array_equal(chosen, self.chosen)
        if fresh:
            core.choose(chosen)
            self.chosen = chosen
            if len(chosen) > MOST or not core.copy(PRODUCTS):
                self.stuck = True
                return
        places = np.append(chosen, self.problem.d) if self.problem.free else chosen
        u = w[places]
        penalty = core.penalties(u)
        quadratic = self.problem.loss.name == "squared"
        enough = max(SHARE * self.gap, 0.1 * level * n)
        fallen = 0.0
        for _ in range(STEPS):
            core.model(fresh or not quadratic)
            new = u.copy()
            core.solve(new, 1e-3)
            p = new - u
            dz = core.margins(p)
            new_penalty = core.penalties(new)
            slope = float(core.slope @ dz) + new_penalty - penalty  # < 0
            if not slope < 0:
                break
            t, value = 1.0, self.loss + penalty
            for _ in range(HALVINGS):
                loss = core.look(z + t * dz)
                trial = u + t * p if t < 1 else new
                trial_penalty = core.penalties(trial) if t < 1 else new_penalty
                fall = value - loss - trial_penalty
                if fall >= -1e-2 * t * slope:
                    break
                t *= 0.5
            else:
                break
            u, penalty = trial, trial_penalty
            self.loss = loss
            z += t * dz
            fallen += fall
            if quadratic or fall <= enough:
                break
        w[places] = u
        if not fallen > 1e-15 * abs(self.objective):
            self.stuck = True

    def _chosen(self, w: np.ndarray) -> np.ndarray:
        """The columns where w is not 0, and those that violate most that it is."""
        w = w[: self.problem.d]
        over = np.abs(self.correlations) - self.threshold
        over[w != 0] = np.inf
        over[self.threshold == 0] = np.inf
        kept = int(np.count_nonzero(over == np.inf))
        found = np.flatnonzero(over > 0)
        most = max(FIRST, GROWTH * kept)
        if len(found) > most:
            found = np.sort(found[np.argsort(-over[found], kind="stable")[:most]])
        return found

    def missed(self) -> None:
        """A certificate did not confirm what was estimated."""
        self.near *= 0.1
        self.stuck = self.near < 1e-3

    def state(self) -> dict[str, Any]:
        return {"near": self.near, "products": self.touched}

    def restore(self, state: dict[str, Any]) -> None:
        self.near, self.products = float(state["near"]), int(state["products"])
