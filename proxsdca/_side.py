"""What the loop visits, rows or columns, and how its state stands for a pair (w, alpha).

The loop changes a state (b, v): b has a number for each coordinate that is visited, v one for each
that is touched. By rows they are alpha and v(alpha), by columns w and X w.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from operator import index
from typing import Any, TypeAlias

import numpy as np

from . import _newton, _validate, theory
from ._checkpoint import overwrite
from ._core.block_epoch import BlockEpoch
from ._core.block_objective import restore
from ._core.columns import LossMap, Penalty
from ._core.epoch import Epoch
from ._core.faces import Faces
from ._core.intercept import centred
from ._core.losses import OPTIONS
from ._core.map import Map
from ._core.newton import Newton, product
from ._core.oracle_epoch import OracleEpoch
from ._core.order import Stream
from ._core.regs import L1L2Map, L2Map, WeightedL1L2Map, gradient
from ._core.scalar_newton import ScalarNewton
from ._intercept import Multipliers
from ._newton import Ascent, SmoothAscent
from ._problem import TINY, Evaluation, Problem, Room
from ._result import NumericalError, Result, Start
from ._vector import VectorProblem
from ._working_sets import WorkingSets
from .losses import Logistic, Softmax, Squared
from .regularizers import L1

Core: TypeAlias = Epoch | BlockEpoch | OracleEpoch  # the loop, with the state that it changes
MOST_BEYOND = 12.0  # of |x|^2 / (lam n), on average, where steps go beyond the exact one
LOOK, PARTS = 2000, 8  # examples, in parts, tell the gap of all of them to a tenth or so


class Side:
    """What both sides have in common."""

    name: str
    visited = "example"  # what a coordinate is
    certifies_first = False  # whether the first certificate comes before the first epoch
    # How many epochs the gap is ahead of gap_estimate, where that is counted on: so many where it
    # hardly falls in one, half as many again where it nearly vanishes.
    lag = 0.0
    rough = False  # whether gap_estimate is only in proportion to the gap
    certificate_cost = 1.0  # about how many epochs a certificate takes, beyond the first two
    load_cost, start_cost = 1, 0  # passes that `load`, and P(0), count as
    lam: float  # what stands in the Result
    term: Any  # Term, or VectorLoss
    map: Map
    target: np.ndarray
    weight: np.ndarray | None
    scale: float  # v changes by scale times the change of b_i, times x_i
    bias_scale = 0.0  # what the intercept adds to the curvature
    face_accuracy = _newton.FACE_ACCURACY  # of steps along faces
    ascends_unasked = False  # whether second-order ascents are for runs with tol = eps = 0 too

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.lam = problem.lam
        # What is learnt on the way, and serves another lam or sigma as well:
        self.norms: np.ndarray | None = None  # |x_i|_D'^2, kept where it will be
        self.reused = False
        self.correction = 1.0  # about what part of gap_estimate the gap is

    def state(self) -> dict[str, Any]:
        """What was learnt on the way, from which `restore` goes on."""
        return {"correction": self.correction}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self.correction = float(state["correction"])

    def curvature(self) -> np.ndarray:
        """|x_i|_D'^2 times scale, for every coordinate that is visited."""
        norms = self.problem.norms_sq(self.map) if self.norms is None else self.norms
        place = norms if self.norms is None and not self.reused else None  # of the product
        if self.reused:
            self.norms = norms
        # what the steps see; 4 leaves room for the Gram matrix of an example
        room = 4.0 if self.weight is None else 4 * float(self.weight.max())
        curvature: np.ndarray
        if room * (float(norms.max()) * self.scale + self.bias_scale) < math.inf:
            curvature = np.multiply(norms, self.scale, out=place)
            return curvature + self.bias_scale if self.bias_scale else curvature
        with np.errstate(over="ignore", invalid="ignore"):
            curvature = norms * self.scale + self.bias_scale
            heavy = curvature * (4.0 if self.weight is None else 4 * self.weight)
        if not np.isfinite(heavy.max()):
            i = int(np.flatnonzero(~np.isfinite(heavy))[0])
            raise NumericalError(
                f"the curvature |x|^2 / (lam n) overflows at {self.name[:-1]} {i}: rescale X or "
                "take a larger lam"
            )
        return curvature

    def epoch(
        self, curvature: np.ndarray, b: Any, v: np.ndarray, option: str = "I", virtual: bool = False
    ) -> Core:
        """The loop for this side, which will change b and v."""
        raise NotImplementedError

    def _largest(self, curvature: np.ndarray) -> float:
        """R^2 times scale."""
        if self.weight is None:
            return float(curvature.max())
        return float(np.max(curvature, where=self.weight > 0, initial=0.0))

    def zero(self, make: Callable[[int], np.ndarray]) -> Any:
        """b = 0."""
        return make(self.problem.visits)

    def start(self, given: Any) -> Any:
        """The b to start from, None where it is 0."""
        raise NotImplementedError

    def pair(self, b: np.ndarray, v: np.ndarray, room: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(w, alpha), one of them b itself, the other one in room."""
        raise NotImplementedError

    def load(self, b: np.ndarray, v: np.ndarray) -> None:
        """Fill v from b."""
        raise NotImplementedError

    def load_intercept(self, b: Any, v: np.ndarray) -> None:
        """Fill the intercepts in v, where it has them."""

    def refill(self, v: np.ndarray, shrink: float, w: np.ndarray) -> None:
        """Turn what an evaluation of the own pair left in v into the loop's v."""

    def settle(self, b: np.ndarray, curvature: np.ndarray) -> np.ndarray:
        """Set b where one step settles it for good; returns a mask of what is to be visited."""
        return ~self.problem.storage.zero_rows(curvature)

    def importance(self, curvature: np.ndarray) -> np.ndarray:
        """What the probabilities of order = "importance" are proportional to."""
        raise NotImplementedError

    def screen(
        self, b: np.ndarray, curvature: np.ndarray, found: Evaluation, room: Room
    ) -> np.ndarray | None:
        """A mask of the coordinates that may still be other than 0 at the solution."""
        return None

    def gap_estimate(self, core: Core, visits: int) -> float:
        """P - D, by what the loop has noticed."""
        return core.excess / max(1, core.sampled) * visits / self.problem.n

    def look(self, core: Core, order: np.ndarray) -> float:
        """What P - D is hardly above now, by a part of what was visited in this order."""
        return math.inf

    def primal_estimate(self, core: Core, last: float) -> float:
        """P, by what the loop has noticed, or by the last certificate."""
        return last

    def wants(self, core: Core, epochs: int, estimate: float) -> bool:
        """Whether a certificate is of use beyond the stop test, so many epochs after the last."""
        return False

    def follow(self, found: Evaluation, v: np.ndarray, estimate: float, eps: float) -> bool:
        """After a certificate: change what the loop solves; whether that has been done."""
        return False

    def check(self, core: Core) -> None:
        """Refuse what the loop has noticed to be wrong."""
        place = f"{self.visited} {core.broken}" if core.broken >= 0 else ""
        self.problem.raise_failure(place)

    def between(self, core: Core, stream: Stream, late: Callable[[], bool]) -> None:
        """What is to be done between two epochs."""

    def burn_in(self, core: Core, eps: float, eps_D: float) -> float:
        """T0 of the theorem that applies, for the accuracy eps and D(alpha*) - D(0) <= eps_D."""
        problem, n, lam = self.problem, self.problem.n, self.lam
        heaviest = 1.0 if problem.weight is None else float(problem.weight.max())
        return theory.burn_in(
            n, (core.q_R * lam * n) ** 0.5, lam, problem.loss.gamma / heaviest,
            problem.loss.lipschitz * heaviest, eps, eps_D,
        )  # fmt: skip

    def grows(self, curvature: np.ndarray) -> bool:
        """Whether the first epoch may be one of a problem that grows."""
        return False

    @property
    def nears(self) -> bool:
        """Whether there are steps that end near Option I, and are faster."""
        return isinstance(self.term, (Logistic, Softmax))

    def goes_beyond(self, curvature: np.ndarray) -> bool:
        """Whether steps may go beyond their ends, which gets further together."""
        return False

    @property
    def second_order(self) -> str:
        """The kind of second-order ascent: "all" of alpha, its "faces", or ""."""
        return ""

    @property
    def slow(self) -> float:
        """How many epochs more are too many where there is a second-order ascent."""
        return math.inf

    @property
    def far(self) -> float:
        """How many epochs it takes, at the least, to come near enough for it."""
        return self.slow / 3

    @property
    def slow_start(self) -> float:
        """How many expected ones are too many to begin with epochs."""
        return self.slow / 3

    def expected_epochs(self, curvature: np.ndarray, level: Callable[[float], float]) -> float:
        """How many epochs a run from 0 may take, where that is known beforehand."""
        return 0.0

    def ascent(
        self, b: Any, v: np.ndarray, room: Room, w: np.ndarray | None = None
    ) -> Ascent | SmoothAscent:
        """Steps on all of alpha at once, from b, and from w where there is a good one."""
        raise NotImplementedError

    def faces(self, b: Any) -> Any:
        """Steps along the faces that alpha is on."""
        raise NotImplementedError

    @property
    def shrinks(self) -> bool:
        """Whether rows may come to rest, and the loop notes which."""
        return False

    @property
    def kinked(self) -> bool:
        """Whether w goes on moving about the solution, as its steps do not get smaller."""
        return False

    def working_sets(self) -> WorkingSets | None:
        """Descent along sets of columns, where there is such a thing."""
        return None


class RowSide(Side):
    """Visit rows: the terms are phi_i*, the map is grad g*. b is alpha, v is v(alpha)."""

    name = "rows"

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.term, self.map = problem.loss, problem.map
        self.target, self.weight = problem.target, problem.weight
        self.beta: np.ndarray | None = None  # the intercept to start from, where one is known
        self.multipliers: Multipliers | None = None
        self.visited_part, self.settled = 1.0, 0.0  # of n, and what the other rows add to P

    def state(self) -> dict[str, Any]:
        multipliers = self.multipliers
        learnt = None if multipliers is None else (multipliers.beta, multipliers.penalty)
        return {**super().state(), "multipliers": learnt}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        if self.multipliers is not None:
            beta, penalty = state["multipliers"]
            overwrite(self.multipliers.beta, beta)
            self.multipliers.penalty = float(penalty)

    def curvature(self) -> np.ndarray:
        curvature = super().curvature()
        if self.problem.free and self.multipliers is None:
            used = True if self.weight is None else self.weight > 0
            beta = self.problem.start_intercept() if self.beta is None else self.beta
            self.multipliers = Multipliers(
                beta, float(np.mean(curvature, where=used)), self.problem.n
            )
            curvature += self.bias_scale
        return curvature

    @property
    def bias_scale(self) -> float:  # type: ignore[override]
        """1 / (mu n)."""
        return 0.0 if self.multipliers is None else self.multipliers.scale

    def _bias(self, v: np.ndarray) -> dict[str, Any]:
        """What the loop has to know of the intercept."""
        if not self.problem.free:
            return {}
        self._shared = v[self.problem.d :]
        return {"bias": self._shared, "bias_scale": self.bias_scale}

    def epoch(
        self, curvature: np.ndarray, b: Any, v: np.ndarray, option: str = "I", virtual: bool = False
    ) -> Core:
        return Epoch(
            self.problem.storage, self.term, self.map, self.target, self.weight, curvature, b,
            v[: self.problem.d], scale=self.scale, q_R=self._largest(curvature),
            option=OPTIONS[option], virtual=virtual, **self._bias(v),
        )  # fmt: skip

    def between(self, core: Core, stream: Stream, late: Callable[[], bool]) -> None:
        if self.multipliers is not None:
            self.multipliers.update(self._shared)

    @property
    def lag(self) -> float:  # type: ignore[override]
        """Half an epoch, where the gap falls at a steady rate."""
        return 0.5 if self.problem.loss.gamma > 0 else 0.0

    @property
    def scale(self) -> float:  # type: ignore[override]
        """1 / (lam n)."""
        return 1 / (self.lam * self.problem.n)

    def start(self, given: Any) -> Any:
        problem = self.problem
        if isinstance(given, (Result, Start)) and problem.free:
            self.beta = problem.read_intercept("warm_start.intercept", given.intercept)
        if given is None:
            # Where sigma is large, what belongs to w = 0 proves it to be the solution. To see that
            # takes a pass over X, which the default is too small to be worth.
            if not problem.sigma > 0.1 * problem.lam or problem.sigma < problem.sigma_max():
                return None
            return problem.alpha_at_zero()
        alpha = given.alpha if isinstance(given, (Result, Start)) else given
        if isinstance(given, Start):
            alpha = _validate.prefix("warm_start", alpha, problem.n)
            problem.into_domain(alpha)
            return self._better_than_cold(alpha)
        return problem.read_alpha("warm_start", alpha)

    def _better_than_cold(self, alpha: np.ndarray) -> Any:
        """A start, unless the one without it has a larger D: what belonged to other data may be
        far away."""
        problem, beta = self.problem, self.beta
        self.beta = None
        cold = self.start(None)

        def dual(at: np.ndarray) -> float:
            at = problem.balanced(at) if problem.free else at
            return problem.evaluate(np.zeros(problem.length), at, problem.room(), True).dual

        if not dual(alpha) > dual(problem.zero_alpha() if cold is None else cold):
            return cold
        self.beta = beta
        return alpha

    def pair(self, b: np.ndarray, v: np.ndarray, room: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        d = self.problem.d
        gradient(self.map, v[:d], room[:d])
        room[d:] = v[d:]
        return room, b

    def load(self, b: np.ndarray, v: np.ndarray) -> None:
        v[: self.problem.d] = self.problem.correlations(b) / self.lam
        self.load_intercept(b, v)

    def load_intercept(self, b: Any, v: np.ndarray) -> None:
        if self.multipliers is not None:
            sums = self.problem.dual_sums(b)
            v[self.problem.d :] = self.multipliers.beta + self.multipliers.scale * sums

    def refill(self, v: np.ndarray, shrink: float, w: np.ndarray) -> None:
        if self.multipliers is not None:
            d = self.problem.d
            v[d:] = w[d:]
            self.multipliers.fix(w[d:])

    def settle(self, b: np.ndarray, curvature: np.ndarray) -> np.ndarray:
        """alpha_i of an all-zero row is -s_i phi'(0) at the optimum, if there is no intercept."""
        problem, visited = self.problem, super().settle(b, curvature)
        if not visited.all():
            still = np.flatnonzero(~visited)
            b[still] = problem.alpha_at_zero()[still]
            losses = problem.loss.value(np.zeros(len(still)), self.target[still])
            s = 1.0 if self.weight is None else self.weight[still]
            self.settled = float(np.sum(s * losses)) / problem.n
        if self.weight is not None:
            visited &= self.weight > 0
        self.visited_part = float(np.count_nonzero(visited) / problem.n)
        return visited

    def importance(self, curvature: np.ndarray) -> np.ndarray:
        """1 + |x_i|^2 / (lam gamma_i n) for smooth losses, with gamma_i = gamma / s_i; else half
        uniform, half proportional to L_i |x_i|."""
        s = 1.0 if self.weight is None else self.weight
        gamma = self.problem.loss.gamma
        p: np.ndarray
        if gamma > 0:
            p = 1 + s * curvature / gamma
        else:
            p = s * np.sqrt(curvature)
            p = p / max(float(p.sum()), TINY) + 1 / max(1, int(np.count_nonzero(p)))
        return p

    def gap_estimate(self, core: Core, visits: int) -> float:
        # what it takes to make alpha add up to 0 is about the penalty
        penalty = 0.0 if self.multipliers is None else self.multipliers.penalty
        return super().gap_estimate(core, visits) + penalty

    def grows(self, curvature: np.ndarray) -> bool:
        # Where a step is near alpha_i = -phi_i'(x_i^T w), which few examples mislead.
        problem = self.problem
        if not problem.loss.gamma > 0 or problem.free or not isinstance(self.map, L2Map):
            return False
        mean, gamma = float(np.average(curvature, weights=self.weight)), float(problem.loss.gamma)
        return 0 < mean <= gamma

    @cached_property
    def second_order(self) -> str:
        return _newton.scalar_kind(self.problem)

    @cached_property
    def slow(self) -> float:
        return _newton.scalar_slow(self.problem)

    @cached_property
    def far(self) -> float:
        return _newton.scalar_far(self.problem)

    @property
    def slow_start(self) -> float:
        return super().slow_start if _newton.has_sample(self.problem) else _newton.SLOW_ALONE

    def expected_epochs(self, curvature: np.ndarray, level: Callable[[float], float]) -> float:
        """About half of what Theorem 1 promises, with the mean of |x_i|^2 in the place of R^2.

        Where there are many columns that is often far too much, and the first epochs tell.
        """
        problem = self.problem
        gamma: float = problem.loss.gamma
        if not gamma > 0 or not ScalarNewton.blocked_for(problem.n, problem.d):
            return 0.0
        if problem.loss.classification:
            start = float(problem.loss.value(np.zeros(1), np.ones(1))[0])  # whatever the label
        else:
            start = problem.mean_loss(np.zeros(problem.n))
        condition = float(np.average(curvature, weights=self.weight)) / gamma
        ratio = max(1.0, start / max(level(start), TINY))
        return float(0.5 * (1 + condition) * math.log(ratio))

    def ascent(
        self, b: Any, v: np.ndarray, room: Room, w: np.ndarray | None = None
    ) -> Ascent | SmoothAscent:
        problem, core = self.problem, _newton.scalar_newton(self.problem)
        if problem.loss.gamma > 0:
            return SmoothAscent(problem, b, core)
        return Ascent(problem, b, problem.evaluate(np.zeros(problem.length), b, room).dual, core)

    def faces(self, b: Any) -> Any:
        problem = self.problem
        return Faces(problem.storage, self.term, self.map, self.target, self.weight, self.scale)

    @property
    def shrinks(self) -> bool:
        separable = isinstance(self.map, (L2Map, L1L2Map, WeightedL1L2Map))
        return separable and not self.term.foreign and self.term.may_rest(self.target[0])

    @property
    def kinked(self) -> bool:
        return self.shrinks and self.problem.loss.gamma == 0

    def primal_estimate(self, core: Core, last: float) -> float:
        # g(w) >= v^T w / 2, so this is an estimate from below
        mean = (core.loss + 0.5 * core.inner) / max(1, core.sampled)
        return self.visited_part * mean + self.settled


class BlockSide(RowSide):
    """Visit examples with vector-valued losses: b is a `Duals`, v is flattened."""

    problem: VectorProblem
    certificate_cost = 2.0
    lag = 0.35  # less than it is, as a certificate that misses costs epochs
    face_accuracy = _newton.BLOCK_ACCURACY
    ascends_unasked = True

    def zero(self, make: Callable[[int], np.ndarray]) -> Any:
        return self.problem.zero_alpha()

    def pair(self, b: Any, v: np.ndarray, room: np.ndarray) -> tuple[np.ndarray, Any]:
        w, alpha = super().pair(b, v, room)
        if self.multipliers is not None:  # no better ones are looked for: those of the last epoch
            w[self.problem.d :] = self.multipliers.beta
        return w, alpha

    def epoch(
        self, curvature: np.ndarray, b: Any, v: np.ndarray, option: str = "I", virtual: bool = False
    ) -> Core:
        problem = self.problem
        return BlockEpoch(
            problem.storage, problem.loss, self.map, problem.delta, self.weight, curvature, b,
            v[: problem.d], scale=self.scale, q_R=self._largest(curvature),
            option=OPTIONS[option], virtual=virtual, **self._bias(v),
        )  # fmt: skip

    def goes_beyond(self, curvature: np.ndarray) -> bool:
        # of longer x_i one has most of the rise to itself, and goes too far
        return isinstance(self.term, Softmax) and float(curvature.mean()) <= MOST_BEYOND

    @property
    def second_order(self) -> str:
        return _newton.kind(self.problem)

    @property
    def slow(self) -> float:
        return _newton.slow(self.problem)

    @property
    def far(self) -> float:
        return self.slow / 3

    def expected_epochs(self, curvature: np.ndarray, level: Callable[[float], float]) -> float:
        return 0.0  # that the gap falls as fast as for one margin is not known

    def look(self, core: Core, order: np.ndarray) -> float:
        part = order[:: max(1, len(order) // LOOK)]
        if self.multipliers is not None or len(part) < PARTS * PARTS:
            return math.inf
        assert isinstance(core, BlockEpoch)
        means = [core.look(np.ascontiguousarray(part[first::PARTS])) for first in range(PARTS)]
        # twice how far off their mean may be
        high = np.mean(means) + 2 * np.std(means, ddof=1) / math.sqrt(PARTS)
        return float(high) * len(order) / self.problem.n

    def ascent(self, b: Any, v: np.ndarray, room: Room, w: np.ndarray | None = None) -> Ascent:
        b.tidy()
        core = self.faces(b)
        dual = -core.conjugate(b) - 0.5 * self.lam * product(v, v)
        return Ascent(self.problem, b, dual, core, w=v if w is None else w)

    def faces(self, b: Any) -> Newton:
        return _newton.newton(self.problem, b)

    def grows(self, curvature: np.ndarray) -> bool:
        return False  # it gains no epoch

    @property
    def shrinks(self) -> bool:
        return False

    @property
    def kinked(self) -> bool:
        return bool(self.term.gamma == 0)

    def settle(self, b: Any, curvature: np.ndarray) -> np.ndarray:
        """alpha_i of an example without a nonzero entry is -s_i phi'(0) at the optimum."""
        visited = ~self.problem.zero_examples(curvature)
        if not visited.all():
            restore(b, self.problem.alpha_at_zero(), ~visited)
        return visited if self.weight is None else visited & (self.weight > 0)


class ColumnSide(Side):
    """Visit columns: the terms are the penalty, the map is the loss's derivative. b is w, v is X w,
    or X w - y for the squared loss.

    The pair is w with alpha_i = -s_i phi'(x_i^T w).
    """

    name = "columns"
    visited = "column"
    certifies_first = True
    rough = True
    scale = 1.0
    weight = None

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.term, self.target = problem.reg.penalty(
            problem.lam, problem.sigma, problem.n, problem.d
        )
        # (z - y)^2 / 2 has the derivative z - y: with v = X w - y the map is v itself
        self.residual = isinstance(problem.loss, Squared) and problem.weight is None
        self.map = (
            L2Map() if self.residual else LossMap(problem.loss, problem.target, problem.weight)
        )
        self.pure_l1 = isinstance(problem.reg, L1)
        self.lam = 0.0 if self.pure_l1 else problem.lam
        self.work = 0  # columns visited since the last certificate
        self.kept = problem.d  # columns that the last certificate left
        self.patience = 1  # passes until the next one; more where they drop few columns
        # The squared loss is centred: each step on w_j takes the intercept along, so that the
        # residuals always add up to 0. For other losses it is fitted every so often.
        self.sums: np.ndarray | None = None
        self.shift = np.zeros(1)  # what the intercept has moved by since it was added to v

    def state(self) -> dict[str, Any]:
        bound = self.term.lipschitz
        return {
            **super().state(), "work": self.work, "kept": self.kept, "patience": self.patience,
            "shift": self.shift, "bound": bound,
        }  # fmt: skip

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self.work, self.kept = index(state["work"]), index(state["kept"])
        self.patience = index(state["patience"])
        overwrite(self.shift, state["shift"])
        assert isinstance(self.term, Penalty)
        self.term.bound(state["bound"])

    def curvature(self) -> np.ndarray:
        problem = self.problem
        if self.residual and problem.free and self.norms is None:
            self.sums, self.norms = np.empty(problem.d), np.empty(problem.d)
            centred(problem.storage, self.sums, self.norms)
        return super().curvature()

    def zero(self, make: Callable[[int], np.ndarray]) -> Any:
        return make(self.problem.length)

    def epoch(
        self, curvature: np.ndarray, b: Any, v: np.ndarray, option: str = "I", virtual: bool = False
    ) -> Core:
        problem, d = self.problem, self.problem.d
        return Epoch(
            problem.storage, self.term, self.map, self.target, self.weight, curvature, b[:d], v,
            scale=self.scale, q_R=self._largest(curvature), option=OPTIONS[option],
            virtual=virtual, lift=self.sums, bias_scale=-1 / problem.n,
            bias=(self.shift if self.residual else b[d:]) if problem.free else None,
        )  # fmt: skip

    def start(self, given: Any) -> np.ndarray | None:
        if given is None:
            return None
        problem = self.problem
        if isinstance(given, (Result, Start)):
            if given.w.shape != (problem.d,):
                raise ValueError(
                    f"warm_start.w has shape {given.w.shape}, X has {problem.d} columns"
                )
            beta = np.atleast_1d(given.intercept) if problem.free else ()
            return self._better_than_zero(np.concatenate([given.w, beta]))
        alpha = problem.read_alpha("warm_start", given)
        if self.pure_l1:
            raise ValueError(
                "warm_start is an array: alpha alone says nothing of w where reg = 'l1' is solved "
                "by columns; a Result is needed"
            )
        w = np.zeros(problem.length)
        gradient(problem.map, problem.correlations(alpha) / problem.lam, w[: problem.d])
        return self._better_than_zero(w)

    def _better_than_zero(self, w: np.ndarray) -> np.ndarray | None:
        """A start, unless P(0) is lower: from far outside the way back is long."""
        problem = self.problem
        assert isinstance(self.term, Penalty)
        with np.errstate(over="ignore", invalid="ignore"):
            at_w = problem.mean_loss(problem.margins(w))
            penalty = np.sum(self.term.conjugate(self.target, w[: problem.d])) / problem.n
        return w if at_w + penalty <= problem.mean_loss(np.zeros(problem.n)) else None

    def pair(self, b: np.ndarray, v: np.ndarray, room: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.problem.free:
            self._fit_intercept(b, v)
        if isinstance(self.map, LossMap):
            self.map.dual(room)
        else:
            np.negative(v, out=room)
        return b, room

    def _fit_intercept(self, b: np.ndarray, v: np.ndarray) -> None:
        """Make the intercept the best one for w, so that alpha adds up to 0 but for roundings."""
        if isinstance(self.map, LossMap):
            self.map.fit(v, b[self.problem.d :])
        else:
            mean = v.mean()
            v -= mean
            b[self.problem.d] -= mean
            self.shift[0] = 0

    def load(self, b: np.ndarray, v: np.ndarray) -> None:
        v[:] = self.problem.margins(b)
        self.refill(v, 1.0, b)

    def refill(self, v: np.ndarray, shrink: float, w: np.ndarray) -> None:
        if self.residual:
            v -= self.problem.target
            self.shift[0] = 0

    def settle(self, b: np.ndarray, curvature: np.ndarray) -> np.ndarray:
        """w_j of an all-zero column is 0 at the optimum; so is that of a constant one beside an
        intercept."""
        visited = super().settle(b, curvature)
        if self.sums is not None:
            visited &= curvature > 0
        b[: self.problem.d][~visited] = 0
        return visited

    def importance(self, curvature: np.ndarray) -> np.ndarray:
        """n lam + sum_i s_i x_ij^2 / gamma, the curvature of n P along w_j."""
        return float(self.term.gamma) + curvature

    def screen(
        self, b: np.ndarray, curvature: np.ndarray, found: Evaluation, room: Room
    ) -> np.ndarray:
        """The gap-safe rule.

        n D is strongly concave: sum_i (alpha_i - alpha*_i)^2 / s_i <= 2 n gap / gamma, so that
        |x_j^T (alpha - alpha*)| <= (2 n gap q_j)^(1/2), and w*_j = 0 where |x_j^T alpha*| is less
        than n sigma c_j.
        """
        problem, certificate = self.problem, found.certificate
        gap = max(0.0, certificate.gap + certificate.rounding)
        reach = problem.lam * (np.abs(room.visited[0]) + room.visited[1])
        with np.errstate(over="ignore"):
            reach += np.sqrt(2 * gap / problem.n * curvature)
        kept: np.ndarray = reach * (1 + 1e-12) >= problem.sigma * self.target
        kept |= b[: problem.d] != 0
        count = int(np.count_nonzero(kept))
        self.patience = 8 if count <= 0.9 * self.kept else min(32, 4 * self.patience)
        self.kept = count
        return kept

    def working_sets(self) -> WorkingSets | None:
        problem = self.problem
        if not problem.sigma > 0:
            return None
        assert isinstance(self.term, Penalty)
        return WorkingSets(problem, self.term, self.target, self.residual)

    def wants(self, core: Core, epochs: int, estimate: float) -> bool:
        """Screening pays where the loop has worked as much as a certificate costs."""
        self.work += core.visits
        return self.work >= self.patience * self.problem.d

    def follow(self, found: Evaluation, v: np.ndarray, estimate: float, eps: float) -> bool:
        self.work = 0
        if self.pure_l1:
            # |w_j| <= P(w) / sigma makes the loop's estimate of the gap a number
            assert isinstance(self.term, Penalty)
            self.term.bound(found.primal / self.problem.sigma)
        return False


class Reduction(RowSide):
    """The l1 problem by rows: the paper's reductions (sections 3.1 and 3.2).

    The loop solves a surrogate, mean loss + sigma |w|_1 + lam (h(w) - origin^T w), with h(w) =
    |w|_2^2 / 2 or c/2 |w|_q^2. The paper's origin is 0 and its lam is eps / (c B^2). Here lam
    starts larger, and the origin follows: with grad h(w') it makes h the Bregman distance to an
    earlier w', and as w' comes near w* the paper's argument holds for a larger lam. As
    w = grad h*(s), s the soft threshold of v, grad h(w) is s, and all that changes for the loop is
    where v starts. Certificates are for the l1 problem in any case.
    """

    certifies_first = True
    rough = True

    def __init__(self, problem: Problem, eps: float, like: Side | None = None) -> None:
        super().__init__(problem)
        reg = problem.reg
        assert isinstance(reg, L1)
        self.literal = reg.method == "literal"
        if self.literal and not eps > 0:
            raise ValueError(
                "method = 'literal' needs eps > 0, the accuracy from which the paper's lam = "
                "eps / (c B^2) follows"
            )
        self.reg, self.geometry = reg, reg.geometry
        if isinstance(like, Reduction):
            self.geometry, self.norms = like.geometry, like.norms
        elif self.geometry == "auto":
            self.geometry = theory.l1_geometry(problem.storage, problem.d)
        self.surrogate, self.c = reg.surrogate(self.geometry, problem.d)
        self.l1_weights = reg.penalty(0.0, problem.sigma, problem.n, problem.d)[1]
        self.origin: np.ndarray | None = None
        self.last_gap = math.inf
        if self.literal:
            # the paper's B supposes that P(0) <= 1 (ERRATA 6)
            B = reg.B or reg.bound(1.0, problem.sigma, problem.d)
            self._take(theory.l1_lam(eps, B, self.c))
        else:
            # at which one epoch can move v by about as much as the solution needs
            if self.norms is None:
                self.norms = problem.storage.norms_sq(self.surrogate.map(1.0, 0.0, problem.d))
            self._take(float(self.norms.mean()) / problem.n or 1.0)

    def state(self) -> dict[str, Any]:
        learnt = {"lam": self.lam, "origin": self.origin, "last_gap": self.last_gap}
        return {**super().state(), **learnt}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self._take(float(state["lam"]))
        self.last_gap, origin = float(state["last_gap"]), state["origin"]
        self.origin = None if origin is None else overwrite(np.empty(self.problem.d), origin)

    def _take(self, lam: float) -> None:
        if not 1e-290 < lam < 1e290:
            raise NumericalError(
                f"lam = {float(lam)!r} of the surrogate is out of range: rescale X"
            )
        self.lam = lam
        self.map = self.surrogate.map(lam, self.problem.sigma, self.problem.d)
        with np.errstate(over="ignore"):
            self.kappa = self.problem.sigma * self.l1_weights / lam

    def start(self, given: Any) -> Any:
        if given is None:
            # what belongs to w = 0, made small enough to leave it there
            shrink = min(1.0, self.problem.sigma / max(self.problem.sigma_max(), TINY))
            alpha: np.ndarray = self.problem.alpha_at_zero() * shrink
            return alpha
        if isinstance(given, (Result, Start)) and self.geometry == "l2" and not self.literal:
            self.origin = np.array(_validate.vector("warm_start.w", given.w, self.problem.d))
        alpha = super().start(given)
        assert alpha is not None
        return alpha

    def load(self, b: np.ndarray, v: np.ndarray) -> None:
        v[: self.problem.d] = self.problem.correlations(b)
        self._rescale(v, 1.0)
        self.load_intercept(b, v)

    def refill(self, v: np.ndarray, shrink: float, w: np.ndarray) -> None:
        self._rescale(v, shrink)
        super().refill(v, shrink, w)

    def _rescale(self, v: np.ndarray, shrink: float) -> None:
        v = v[: self.problem.d]
        v /= shrink * self.lam
        if self.origin is not None:
            v += self.origin

    def primal_estimate(self, core: Core, last: float) -> float:
        return last

    def wants(self, core: Core, epochs: int, estimate: float) -> bool:
        return epochs >= 3 and estimate <= 0.3 * self.last_gap

    def follow(self, found: Evaluation, v: np.ndarray, estimate: float, eps: float) -> bool:
        self.last_gap = gap = found.primal - found.dual
        if self.literal or not estimate <= 0.5 * gap:
            return False  # the surrogate is not solved well enough for its origin to matter
        B = self.reg.bound(found.primal, self.problem.sigma, self.problem.d)
        least = theory.l1_lam(eps, B, self.c)
        v = v[: self.problem.d]
        self.origin = v - np.clip(v, -self.kappa, self.kappa)
        if estimate <= 0.05 * gap:
            self._take(max(min(least, self.lam), 0.5 * self.lam))
        return True


def make(problem: Problem, eps: float, like: Side | None = None, reused: bool = False) -> Side:
    """The side that a problem is to be solved on, like one for another lam or sigma; `reused` says
    whether there will be others like it."""
    side: Side
    if problem.by_columns:
        side = ColumnSide(problem)
    elif isinstance(problem, VectorProblem):
        side = BlockSide(problem)
    elif isinstance(problem.reg, L1):
        side = Reduction(problem, eps, like)
    else:
        side = RowSide(problem)
    side.reused = reused
    if like is not None:
        side.norms, side.correction = like.norms, like.correction
        if isinstance(side, ColumnSide) and isinstance(like, ColumnSide):
            side.sums = like.sums
    return side
