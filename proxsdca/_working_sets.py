"""Working sets of columns, for smooth losses with l1: the order of the calls.

One product X^T alpha says which columns violate the conditions of the optimum, and what the gap is
but for roundings. Those that violate them most, beside those where w is not 0, make a set, along
which n P is descended by Newton's method with a line search on P itself: each step minimises a
quadratic model of the loss with the penalty as it is (`_core.working_set`). A round of this lowers
P, and leaves nothing of it to be believed: certificates are computed on everything. Of many
examples some come first: what they ask for is near the solution, and costs a part of a pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from ._checkpoint import overwrite
from ._core.columns import Penalty
from ._core.newton import product
from ._core.order import Stream
from ._core.working_set import WorkingSet
from .losses import Squared

if TYPE_CHECKING:
    from ._problem import Problem

FIRST = 64  # columns, of the first set; later ones have
GROWTH = 4  # times as many as w has numbers that are not 0, and these
NEARLY = 0.05  # of its threshold a column may lack to be taken: it may soon violate
MOST = 512  # columns; of more the matrix is too large
PRODUCTS = 50.0  # for the matrix, for each entry of the set; more, and epochs are faster
STEPS = 20  # of Newton's method on one set, at the most ...
FEW_STEPS = 2  # ... and where not all that violate are in it
SHARE = 0.3  # of the gap that may be left of a set before columns are looked for again ...
SHARE_OF_ALL = 0.03  # ... where all that violate are in it ...
SHARE_OF_KEPT = 1e-3  # ... and where these had been in it before
ROUGH, SWEEPS = 0.1, 10  # of what a sweep lowered the model by at first; sweeps at the most
ROWS = 10.0  # for H, for each of its columns, at the least ...
WORK = 0.5  # ... or those that take so many products for each entry of the set ...
FINER = 4.0  # ... and times as many where it was not good enough
SMALL = 1e-11  # of P: what further steps make of it is hardly seen, and they must be good
UNSEEN = 1e-13  # of P: in steps that lower it by less, roundings count for more
TRUST = 0.5  # in H, while P falls as the model does but for this part ...
FEW_LEFT = 6.0  # ... and so many more steps like the last one are enough
HALVINGS = 60  # of a step
LEFT = 1e-3  # of the violations may be left by a step ...
LEFT_RIDGE = 1e-6  # ... and with l2, whose gap they make larger the smaller l2 is
LITTLE = 30.0  # times the target: from there a set of all that violate may well be enough
INNER = 0.8  # of the target may be left of a set
SURE = 1e-12  # of P: below it the gap is known as well as it can be
NEAR = 0.9  # of the target: there a certificate is worth its work
PATIENCE = 20  # rounds in which the gap has to halve
BITS = 4  # of 2^4 examples one, to start from their solution ...
ENOUGH = 8  # ... where that leaves so many for each column
SAMPLE_GAP = 3e-2  # ... known to this relative gap
LEAST = 6  # passes over X that are worth beginning with
KEPT: dict[str, Callable[[Any], Any]] = {
    "near": float, "products": index, "lowest": float, "rounds": index, "exact": bool,
    "detail": float,
}  # fmt: skip


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
        self.problem, self.penalty, self.l1_weights = problem, penalty, l1_weights
        self.threshold = penalty.l1 * l1_weights
        self.core = WorkingSet(
            problem.storage, problem.loss, target, problem.weight, penalty, l1_weights,
            bool(problem.free),
        )  # fmt: skip
        self.products = 0  # nonzeros of X^T alpha
        self.chosen: np.ndarray | None = None
        self.loss: float | None = None  # where the core has it at the margins as they are
        self.few = self.trusted = False  # whether there is an H, and it is as good as new
        self.exact, self.detail = False, 1.0  # whether it is of all rows; of how many times more
        self.cost = 0.0  # of it, in products for each entry of the set
        self.at = np.empty(problem.n)  # margins, of a trial
        self.all = False  # whether all columns that violate are in the set
        self.near = NEAR
        self.lowest, self.rounds = math.inf, 0  # the gap when it last halved, and rounds since
        self.stuck = False

    def begin(
        self, w: np.ndarray, active: np.ndarray, stream: Stream, go_on: Callable[[], bool]
    ) -> bool:
        """Let w be what a part of the examples asks for, where they are many beside columns; says
        whether it did."""
        problem, step = self.problem, 1 << BITS
        if problem.n < step * ENOUGH * problem.d:
            return False
        weight = None if problem.weight is None else problem.weight[::step]
        if weight is not None:
            if not weight.sum() > 0:
                return False
            weight = weight * (len(weight) / weight.sum())
        target = np.ascontiguousarray(problem.target[::step])
        some = replace(problem, storage=self.core.thin(BITS), target=target, weight=weight)
        self.products += problem.nnz
        share = some.n / problem.n
        few = WorkingSets(
            some, Penalty(share * self.penalty.l1, share * self.penalty.l2), self.l1_weights,
            self.offset is not None,
        )  # fmt: skip
        u = np.zeros(problem.length)
        margins = np.zeros(some.n) if self.offset is None else -target
        begun = self.products
        for _ in range(PATIENCE):
            primal, gap = few.look(u, margins, lambda primal: SAMPLE_GAP * abs(primal))
            level = SAMPLE_GAP * abs(primal)
            if gap <= level or few.stuck or not go_on():
                break
            few.descend(u, margins, active, level, stream, go_on)
            self.products = begun + few.touched  # which go_on looks at
        self.products = begun + few.touched
        w[:] = u
        return True

    @property
    def touched(self) -> int:
        """Nonzeros of X read so far."""
        return self.core.touched + self.products

    def look(
        self, w: np.ndarray, z: np.ndarray, level: Callable[[float], float]
    ) -> tuple[float, float]:
        """P(w), and about its distance to D, at the margins z of w; more where that is above the
        level of P for sure."""
        problem, core, n = self.problem, self.core, self.problem.n
        self.loss = loss = core.look(z) if self.loss is None else self.loss
        self.correlations = problem.storage.matvec(core.slope)
        beta, unbalanced = (w[problem.d], float(core.slope.sum())) if problem.free else (0.0, 0.0)
        w, size = w[: problem.d], np.abs(self.correlations)
        penalty = product(self.threshold, np.abs(w)) + 0.5 * self.penalty.l2 * product(w, w)
        shrink, penalty_conjugate = 1.0, 0.0
        if self.penalty.l2 > 0:
            over = np.maximum(size - self.threshold, 0)
            penalty_conjugate = 0.5 * product(over, over) / self.penalty.l2
        else:
            peak = float((size / self.threshold).max())
            shrink = 1 / max(1.0, peak)
        self.objective = loss + penalty
        # at the beta that there is; phi*(phi'(z)) = z phi'(z) - phi(z), and D is concave along
        # alpha, from 0 or more
        inner = product(w, self.correlations)
        dual = shrink * (loss - inner)
        least = penalty + shrink * inner
        if self.offset is not None:  # phi*(-b) = b^2 / 2 - y b
            dual = -core.conjugates(shrink) - shrink * product(self.offset, core.slope)
            dual += shrink * beta * unbalanced
        elif shrink < 1 and least <= max(n * level(self.objective / n), SURE * self.objective):
            dual = -core.conjugates(shrink) + shrink * beta * unbalanced
        self.gap = self.objective - dual + penalty_conjugate + abs(unbalanced)
        return self.objective / n, self.gap / n

    def descend(
        self,
        w: np.ndarray,
        z: np.ndarray,
        active: np.ndarray,
        level: float,
        stream: Stream,
        go_on: Callable[[], bool],
    ) -> float:
        """One round, after a look: choose a set of what is active, and descend P along it.

        Returns about the gap that may be left, infinity where it takes a look to tell.
        """
        core, n = self.core, self.problem.n
        assert self.loss is not None
        self.products += self.problem.storage.nnz
        before = self.chosen
        places = self._take(self._chosen(w, active))
        quadratic = isinstance(self.problem.loss, Squared)
        share = SHARE if not self.all else SHARE_OF_KEPT if self.chosen is before else SHARE_OF_ALL
        assert self.chosen is not None
        whole = len(self.chosen) == np.count_nonzero(active)  # then there is nothing to look for
        enough = max(0.0 if whole else share * self.gap, INNER * level * n)
        fallen, gap = 0.0, math.inf
        u = w[places]
        moved = 0 * u
        value = self.loss + core.penalties(u)
        steps = (STEPS if self.all else FEW_STEPS) if self.few else 1
        for step in range(steps):
            new = u.copy()
            if self.few:
                if not step:  # then the look has it
                    core.gradient = self._gradient()
                    gap = math.inf if quadratic else self._gap_of_set(u, value, enough)
                else:
                    earlier, gradient = gap, core.gradient
                    core.differentiate()
                    gap = self._gap_of_set(u, value, enough)
                    if gap <= enough:
                        break
                    if not self._pays(earlier, gap, enough, value):
                        self.trusted = False
                    elif self.trusted and not quadratic:
                        core.learn(moved, np.subtract(core.gradient, gradient))
                if not self.trusted:
                    rows = max(ROWS * core.size, WORK * n / max(1.0, self.cost))
                    self.exact = core.curve(math.inf if quadratic else self.detail * rows)
                expected = core.solve(new, LEFT_RIDGE if self.penalty.l2 > 0 else LEFT)
            else:
                expected = core.descend(stream, new, ROUGH, SWEEPS)
            if not expected > 0:
                break
            unseen = expected <= UNSEEN * value
            p = new - u
            dz = core.margins(p)
            t = 1.0
            for _ in range(HALVINGS):
                at = np.add(z, dz if t == 1 else t * dz, out=self.at)
                loss = core.look(at)
                trial = u + t * p if t < 1 else new
                fall = value - loss - core.penalties(trial)
                if fall > 0 and fall >= 0.01 * t * expected:
                    break
                if unseen and abs(fall) <= UNSEEN * value:
                    break
                t *= 0.5
            else:
                self.loss, moved = None, 0 * u
                if self.trusted or not self.exact:
                    self.trusted, self.detail = False, math.inf
                    continue
                break
            moved = trial - u
            u, self.loss = trial, loss
            z[:] = at
            value -= fall
            fallen += fall
            # where the loss bends as the model does, H is as good as new
            if not unseen:
                self.trusted = quadratic or abs(fall - expected) <= TRUST * expected
            if not self.exact and fall <= SMALL * value:
                self.trusted, self.detail = False, math.inf
            elif not (self.trusted or self.exact):
                self.detail *= FINER
            if quadratic or not go_on():
                break
        w[places] = u
        self.rounds += 1
        if self.gap < 0.5 * self.lowest:
            self.lowest, self.rounds = self.gap, 0
        self.stuck = not fallen > 1e-15 * abs(self.objective) or self.rounds >= PATIENCE
        self.objective = value
        solved = quadratic or gap <= enough
        enough_seen = whole or (self.all and self.gap <= LITTLE * level * n)
        return enough / n if solved and enough_seen else math.inf

    def _gradient(self) -> np.ndarray:
        """That of the loss along the set, where the last look was."""
        along = self.correlations[self.chosen]
        return np.append(along, self.core.slope.sum()) if self.problem.free else along

    def _pays(self, earlier: float, gap: float, enough: float, value: float) -> bool:
        """Whether few more steps that leave as much as the last one are enough."""
        if not 0 < enough < gap < min(earlier, value):
            return False
        # the part of P that the gap is falls no faster than what alpha is too long by, which falls
        # with the violations
        earlier, gap, enough = (x / max(value - x, 1e-9 * value) for x in (earlier, gap, enough))
        return math.log(gap / enough) <= FEW_LEFT * math.log(earlier / gap)

    def _gap_of_set(self, u: np.ndarray, value: float, enough: float) -> float:
        """About what the gap would be if there were no other columns, and no less once enough."""
        gap, peak = self.core.gap(u)
        most = gap + (1 - 1 / peak) * (value - self.core.penalties(u))
        if gap <= enough < most:
            gap = value + self.core.conjugates(1 / peak)
            if self.problem.free:
                unbalanced = float(self.core.gradient[-1])
                gap += abs(unbalanced) - u[-1] * unbalanced / peak
        return float(gap)

    def _take(self, chosen: np.ndarray) -> np.ndarray:
        """Make a set of these columns, or keep one that has them; where in w its numbers are."""
        known = self.chosen if self.few else None
        few = known is not None and len(known) <= 2 * len(chosen)
        if known is not None and few and np.isin(chosen, known).all():
            chosen = known
        else:
            self._make(chosen)
        return np.append(chosen, self.problem.d) if self.problem.free else chosen

    def _make(self, chosen: np.ndarray) -> None:
        """Make a set of these columns."""
        self.core.choose(chosen)
        self.chosen, self.trusted = chosen, False
        self.cost = self.core.products()
        self.few = len(chosen) <= MOST and self.cost <= PRODUCTS

    def _chosen(self, w: np.ndarray, active: np.ndarray) -> np.ndarray:
        """The columns where w is not 0, and those that violate most that it is."""
        w = w[: self.problem.d]
        over = np.abs(self.correlations) - self.threshold
        over[w != 0] = np.inf
        over[self.threshold == 0] = np.inf
        over[~active] = -np.inf
        kept = int(np.count_nonzero(over == np.inf))
        found = np.flatnonzero(over > -NEARLY * self.threshold)
        self.all = True
        if kept > MOST // 2:  # of so many columns all are taken that matter
            return found
        most = min(max(FIRST, GROWTH * kept), MOST)
        if len(found) > most:
            self.all = False
            found = np.sort(found[np.argsort(-over[found], kind="stable")[:most]])
        return found

    def missed(self) -> None:
        """A certificate did not confirm what was estimated."""
        self.near *= 0.1
        self.stuck = self.near < 1e-3

    # In a checkpoint is what the next round starts with beside w and z.

    def state(self) -> dict[str, Any]:
        """What `restore` goes on from."""
        return {
            **{name: getattr(self, name) for name in KEPT},
            "products": self.touched,
            "chosen": self.chosen,
            "H": np.asarray(self.core.H) if self.few and self.trusted else None,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        for name, kind in KEPT.items():
            setattr(self, name, kind(state[name]))
        if state["chosen"] is not None:
            chosen = np.array(state["chosen"])
            overwrite(np.empty(len(chosen), np.intp), chosen)
            if not (np.diff(chosen, prepend=-1, append=self.problem.d) > 0).all():
                raise ValueError("the columns of a working set do not ascend")
            self._make(chosen)
            self.trusted = state["H"] is not None
            if self.trusted:
                self.core.H = overwrite(np.empty((self.core.size, self.core.size)), state["H"])
        self.products -= self.core.touched
