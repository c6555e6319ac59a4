"""Epochs, gap schedule, stop test, callback, interruption; no loss maths, no storage."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from operator import index
from typing import Any

import numpy as np

from . import _output, _random, _resident, _validate
from ._checkpoint import Checkpoint, overwrite
from ._core.epoch import Epoch
from ._core.order import Stream
from ._core.regs import L2Map
from ._newton import (
    BETWEEN,
    EARLY,
    LEAST,
    LEAST_FACES,
    MOST_STEPS,
    ROUGH_STEPS,
    SLOW_ROUNDS,
    SOLVED,
    Part,
)
from ._problem import Certificate, Evaluation, Problem, point_state, restored
from ._progress import Progress
from ._random import Seed
from ._result import HISTORY, Check, NumericalError, Status
from ._shrinking import CALM, CLOSE, FEW, FIRST, MOST_PASSES, MOST_VISITS, SOME, Shrinking
from ._shrinking import NEAR as NEARLY
from ._side import Core, Side
from ._working_sets import LEAST as LEAST_SETS
from ._working_sets import WorkingSets

logger = logging.getLogger("proxsdca")

MEAN = 0.75  # of what the loop estimates, the gap at such a mean may be
LEAST_PART = 64  # visits of ...
PARTS = 8  # ... the parts of an epoch, after which w is taken down for its mean
PAGES = 1 << 18  # rows of a new array that are touched at a time
CHUNK = 2_000_000  # nonzeros between two looks at the clock and at pending signals
SHORT = 30  # epochs; up to here a run has two certificates
SURE = 0.1  # times the target: where no more is estimated, there is another one
LIKELY = 2.0  # times the target: up to here a look may show that the estimate was too large
NEAR = 3.0  # times the target: from here on longer runs certify as often as they may
ROUGH = 0.01  # the gap is rarely less than this part of a rough estimate
STALLED = 100.0  # times its rounding: a gap that is down to this ...
PATIENCE = 20  # ... and has not halved for so many certificates will not fall any further
SHARE = 0.1  # of the nonzeros touched may go to certificates in longer runs
# The whole numbers of a run, and what its schedule has, that go into a checkpoint.
COUNTS = (
    "epochs", "steps", "cursor", "touched", "touched_certifying", "visited", "certified_steps",
    "plain_epochs", "stalled",
)  # fmt: skip
SCHEDULED: dict[str, Callable[[Any], Any]] = {
    "may_end_early": bool, "certificates": index, "last_epoch": index, "correction": float,
}  # fmt: skip


@dataclass(frozen=True)
class Target:
    """gap + rounding <= max(tol |P|, eps)."""

    tol: float
    eps: float

    @classmethod
    def from_arguments(cls, tol: float, eps: float | None) -> Target:
        """Validate tol and eps."""
        return cls(
            _validate.nonnegative("tol", tol),
            0.0 if eps is None else _validate.nonnegative("eps", eps),
        )

    def level(self, primal: float) -> float:
        level = self.tol * abs(primal) if self.tol else 0.0
        return self.eps if self.eps > level else level

    def reached(self, c: Certificate) -> bool:
        return c.gap + c.rounding <= self.level(c.primal)


@dataclass(frozen=True)
class Plan:
    """How a run goes, as it was asked for."""

    order: str
    target: Target
    max_epochs: int
    stream: Stream
    option: str = "I"
    solvers: frozenset[str] = frozenset()  # the accelerators that are welcome
    output: str = "last"
    T0: int | None = None
    max_seconds: float | None = None
    certify_every: int | None = None
    callback: Callable[[Check], object] | None = None
    verbose: int = 0
    checkpoint: Checkpoint | None = None

    @classmethod
    def from_arguments(
        cls,
        tol: float,
        eps: float | None,
        seed: Seed,
        max_epochs: int,
        max_seconds: float | None,
        T0: int | None,
        certify_every: int | None,
        callback: Any,
        verbose: int,
        **others: Any,
    ) -> Plan:
        """Validate what every run is asked for; the others are valid already."""
        count, nonnegative = _validate.count, _validate.nonnegative
        return cls(
            target=Target.from_arguments(tol, eps),
            max_epochs=count("max_epochs", max_epochs, 0),
            max_seconds=None if max_seconds is None else nonnegative("max_seconds", max_seconds),
            T0=None if T0 is None else count("T0", T0, 0),
            certify_every=None
            if certify_every is None
            else count("certify_every", certify_every, 1),
            callback=_validate.function("callback", callback),
            verbose=count("verbose", verbose, 0),
            stream=_random.stream(seed),
            **others,
        )


@dataclass
class Schedule:
    """When to certify, decided by the loop's free estimate of the gap.

    The estimate sums each row's share of the gap as the visit found it, so it
    lags behind by about half an epoch; what a certificate finds corrects it.
    Certificates get two passes over the data in runs of up to `SHORT` epochs
    and the share `SHARE` of all passes in longer ones, the last one included; but where the
    estimate is far below the target none is put off.
    """

    may_end_early: bool
    every: int | None
    rough: bool  # whether the estimate is only in proportion to the gap
    cost: float = 1.0  # about how many epochs a certificate takes
    certificates: int = 0
    last_epoch: int = 0
    correction: float = 1.0

    def due(self, epoch: int, passes: float, estimate: float, level: float) -> bool:
        """Whether to certify now, after so many epochs and passes over all nonzeros."""
        if self.every is not None:
            return epoch >= self.last_epoch + self.every
        if self.rough:
            return self.correction * estimate <= level and self.certificates <= 3 + 0.5 * passes
        reserve = passes >= SHORT or self.may_end_early
        allowed = max(2.0, SHARE * (passes / self.cost + self.certificates))
        if self.certificates + 1 + reserve > allowed:
            return 0 < self.correction * estimate <= SURE * level
        if passes < SHORT:  # every miss counts
            return self.correction * estimate <= level
        # Later on the share is there to be used once the target is near, as gaps go up and down.
        # Without hope of it a look now and then repairs the drift of v and adds to the history.
        return estimate <= NEAR * level or epoch >= 2 * self.last_epoch

    def seen(self, epoch: int, estimate: float, gap: float) -> None:
        self.certificates += 1
        self.last_epoch = epoch
        if estimate > 0 and math.isfinite(gap):
            least = ROUGH if self.rough else 0.1
            safety = 1.0 if self.rough else 1.25
            self.correction = min(max(safety * gap / estimate, least), 100.0)


def zeros(*shape: int) -> np.ndarray:
    """Zeros whose memory is really there: its pages come in slices, between which Ctrl-C acts,
    and not all at once in the middle of the kernel."""
    if shape[0] <= PAGES:
        return np.zeros(shape)
    array = np.empty(shape)
    for begin in range(0, len(array), PAGES):
        array[begin : begin + PAGES] = 0
    return array


@contextmanager
def unchanged(data: Problem) -> Iterator[object]:
    """Refuse what was computed on data that changed meanwhile; their fingerprint is at hand."""
    before = data.fingerprint()
    yield before
    if data.fingerprint() != before:
        raise ValueError("X changed while it was being solved: its memory must be left alone")


class Best:
    """The lowest certified P(w) and the highest certified D(alpha), which need not be one pair.

    Many runs end at their first certificate, and need no room for another pair.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem, self._copy_alpha = problem, problem.copy_alpha
        self.evaluation: Evaluation | None = None

    @cached_property
    def w(self) -> np.ndarray:
        return zeros(self._problem.length)

    @cached_property
    def alpha(self) -> Any:
        return self._problem.zero_alpha(zeros)

    def see(self, w: np.ndarray, alpha: Any, found: Evaluation) -> None:
        """Keep what is better."""
        kept = self.evaluation or Evaluation(math.inf, -math.inf, 0.0, 0.0, 1.0, alpha)
        self.evaluation = None  # not known while w and alpha change: Ctrl-C may come in between
        if found.primal < kept.primal:
            np.copyto(self.w, w)
            kept = kept._replace(primal=found.primal, error_primal=found.error_primal)
        if found.dual > kept.dual:
            self._copy_alpha(self.alpha, alpha)
            kept = kept._replace(dual=found.dual, error_dual=found.error_dual)
        self.evaluation = kept

    def state(self) -> dict[str, Any] | None:
        """What `restore` goes on from, None where nothing is kept."""
        found = self.evaluation
        if found is None:
            return None
        return {"w": self.w, "alpha": point_state(self.alpha), "found": found[:4]}

    def restore(self, state: dict[str, Any] | None) -> None:
        """Go on from a state."""
        if state is not None:
            overwrite(self.w, state["w"])
            restored(self.alpha, state["alpha"])
            primal, dual, error_primal, error_dual = map(float, state["found"])
            self.evaluation = Evaluation(primal, dual, error_primal, error_dual, 1.0, self.alpha)


class Run:
    """One run of the loop: its state (b, v), and the certificates found on the way."""

    def __init__(self, side: Side, plan: Plan, start: Any) -> None:
        self.side, self.problem, self.plan = side, side.problem, plan
        self.started = time.perf_counter()
        self.earlier = 0.0  # seconds that the run had taken before it was resumed
        self.warm = start is not None
        self.b = side.zero(zeros) if start is None else start
        self.room = self.problem.room(zeros)
        self.chunk = max(1, CHUNK * self.problem.visits // max(1, self.problem.work))
        self.v = self.room.touched
        self.best = Best(self.problem)
        self.epochs = self.steps = self.touched = self.touched_certifying = 0
        self.visited = 0  # coordinates; equal for every storage, as nonzeros are not
        self.cursor = 0  # how many visits of the epoch that is under way have been made
        self.status: Status | None = None
        self.history: list[tuple[float, ...]] = []
        self.progress = Progress(plan.verbose)
        self.certified_steps = -1  # the step at which the last certificate was made
        self.estimates: list[float] = []  # of the gap, an epoch each
        self.plain_epochs = 0  # since the last ascent along faces
        self.used: list[str] = []  # what it was made of so far
        self.primal = 0.0  # an estimate of P, by the last epoch
        self.lowest = math.inf  # the lowest gap, up to a factor of 2 ...
        self.parts = 0  # of the last epoch, over which `mean` is summed
        self.stalled = 0  # ... and how many certificates near their rounding found none lower
        self.last_epoch: int | None = None  # where it is known that no certificate will say more
        self.sets: WorkingSets | None = None  # of columns, as long as they get on

    def ascend(self) -> None:
        """Run epochs until the target, or a limit, is reached.

        Leaves the pair (w, alpha) that is to be returned in `pair`, its certificate in
        `certificate` and the reason in `status`.
        """
        try:
            self.begin()
            self.go()
        finally:
            self.progress.close()

    def fall_back(self) -> None:
        """After an interruption: the best that was certified, at the least w = 0 and alpha = 0."""
        if self.status is Status.CONVERGED:
            return  # nothing is better
        best = self.best
        evaluation = best.evaluation or self.problem.at_zero(best.w, best.alpha, self.room)
        self.pair, self.certificate = (best.w, best.alpha), evaluation.certificate
        self.status = Status.INTERRUPTED

    def begin(self) -> None:
        """Set up the loop, and go to where a checkpoint left it or else certify the start."""
        self._set_up()
        checkpoint = self.plan.checkpoint
        if checkpoint is not None and checkpoint.found is not None:
            with checkpoint.restoring():
                self._restore(checkpoint.found)
            checkpoint.found = None  # it may be large
        elif self.sets is None and (self.warm or self.side.certifies_first):
            self.certify()

    def _set_up(self) -> None:
        plan, side = self.plan, self.side
        near = _resident.keeper() is None  # copies of columns are for data in memory
        if near and "working_sets" in plan.solvers and plan.max_epochs >= LEAST_SETS:
            self.sets = side.working_sets()
        # sets of columns rarely need the norms of all: for a w of 0, and without an intercept, that
        # some are 0, or constant, does not matter
        self.measured = self.sets is None or self.warm or bool(self.problem.free)
        if self.measured:
            self.curvature = side.curvature()
            self.active = side.settle(self.b, self.curvature)
        else:
            self.curvature = np.zeros(self.problem.visits)
            self.active = np.ones(self.problem.visits, bool)
        if self.warm or side.certifies_first:
            side.load(self.b, self.v)
            self.touched += side.load_cost * self.problem.nnz
        elif self.problem.free:
            side.load_intercept(self.b, self.v)
        shrinks = "shrinking" in plan.solvers and plan.order == "permutation" and side.shrinks
        self.shrinking = Shrinking(len(self.curvature)) if shrinks else None
        self.mean = zeros(self.problem.length) if self._averages() else None
        core = self._core()
        core.growing = (
            not self.warm
            and plan.order == "permutation"
            and "growing" in plan.solvers
            and side.grows(self.curvature)
        )
        T0 = self._burn_in(core) if plan.T0 is None else plan.T0
        self.state = _output.State(side, core, self.b, self.v, zeros(len(self.v)))
        self.output = _output.make(plan.output, self.state, T0, plan.stream)
        self._new_order()
        limited = plan.max_epochs <= SHORT or plan.max_seconds is not None
        self.schedule = Schedule(
            limited,
            plan.certify_every,
            side.rough,
            side.certificate_cost,
            correction=min(side.correction, 1.0 if self.mean is None else MEAN),
        )

    def _averages(self) -> bool:
        """Whether w is to be the mean over the last epoch: where phi has kinks, w goes on moving
        about the solution. Means of sparse w are less so."""
        plan = self.plan
        return (
            "averaging" in plan.solvers
            and plan.order == "permutation"
            and self.side.kinked
            and isinstance(self.problem.map, L2Map)
        )

    def _core(self) -> Core:
        """The loop, for what the side is now."""
        core = self.side.epoch(self.curvature, self.b, self.v, self.plan.option)
        core.near = "near" in self.plan.solvers and self.side.nears
        core.beyond = "beyond" in self.plan.solvers and self.side.goes_beyond(self.curvature)
        if self.shrinking is not None:
            assert isinstance(core, Epoch)
            core.watch(self.shrinking.rests)
        return core

    def _state(self) -> dict[str, Any]:
        """All that the rest of the run depends on, to the last bit."""
        certified = self.certified_steps == self.steps
        return {
            "seconds": self._seconds(),
            "b": point_state(self.b),
            "v": self.v,
            "counts": {name: getattr(self, name) for name in COUNTS},
            "lowest": self.lowest,
            "last_epoch": self.last_epoch,
            "estimates": np.array(self.estimates),
            "used": list(self.used),
            "schedule": {name: getattr(self.schedule, name) for name in SCHEDULED},
            "history": self.records(),
            "certificate": tuple(self.certificate) if self.history else None,
            # what is certified is returned, if the run ends here
            "pair": (self.pair[0], point_state(self.pair[1])) if certified else None,
            "best": self.best.state(),
            "side": self.side.state(),
            "core": self.state.core.state(),
            "shrinking": None if self.shrinking is None else self.shrinking.state(),
            "mean": None if self.mean is None else (self.mean, self.parts),
            "output": self.output.saved(),
            "sets": None if self.sets is None else self.sets.state(),
            "active": self.active,
            "measured": self.measured,
            "order": self.order.state(),
            "stream": self.plan.stream.state(),
        }

    def _restore(self, saved: dict[str, Any]) -> None:
        """Go on from a state."""
        self.earlier = float(saved["seconds"])
        restored(self.b, saved["b"])
        overwrite(self.v, saved["v"])
        for name in COUNTS:
            setattr(self, name, index(saved["counts"][name]))
        self.lowest, last_epoch = float(saved["lowest"]), saved["last_epoch"]
        self.last_epoch = None if last_epoch is None else index(last_epoch)
        self.estimates = [float(estimate) for estimate in saved["estimates"]]
        self.used = [str(name) for name in saved["used"]]
        for name, kind in SCHEDULED.items():
            setattr(self.schedule, name, kind(saved["schedule"][name]))
        self.history = saved["history"].astype(HISTORY, casting="no").tolist()
        if self.history:
            self.certificate = Certificate(*map(float, saved["certificate"]))
        if self.certified_steps == self.steps:
            w, alpha = saved["pair"]
            w = overwrite(np.empty(self.problem.length), w)
            self.pair = w, restored(self.problem.zero_alpha(), alpha)
        self.best.restore(saved["best"])
        self.side.restore(saved["side"])
        self.curvature = self.side.curvature()
        self.state.core = self._core()
        self.state.core.restore(saved["core"])
        if self.shrinking is not None:
            self.shrinking.restore(saved["shrinking"])
        if self.mean is not None:
            mean, parts = saved["mean"]
            overwrite(self.mean, mean)
            self.parts = index(parts)
        self.output.restore(saved["output"])
        if self.sets is not None and saved["sets"] is not None:
            self.sets.restore(saved["sets"])
        else:
            self.sets = None
        overwrite(self.active, saved["active"])
        self.measured = bool(saved["measured"])
        self._new_order()
        self.order.restore(saved["order"])
        self.plan.stream.restore(saved["stream"])
        if not 0 <= self.cursor < max(1, self.visits):
            raise ValueError(f"an epoch has {self.visits} visits, {self.cursor} have been made")
        counts = self.epochs, self.steps, 0 if self.sets is None else self.sets.touched
        if not (self.steps <= self.output.pause and max(counts) < 2**62):
            raise ValueError(f"it has {self.epochs} epochs and {self.steps} steps")

    def _checkpoint(self) -> None:
        """Save the state, if it is time to; the clock decides when, and nothing else."""
        if self.plan.checkpoint is not None and self.plan.checkpoint.due:
            self.plan.checkpoint.save(self._state())

    def go(self) -> None:
        """Run epochs, and certify, until there is a status."""
        if self._slow_from_the_start():
            self._ascend_all()
        while self.status is None:
            if self.epochs >= self.plan.max_epochs or not self.visits:
                self.status = Status.MAX_EPOCHS
            elif self._late():
                self.status = Status.MAX_SECONDS
            elif self.sets is not None:
                self._work_on_sets(self.sets)
                if self.status is None:
                    self._checkpoint()
            elif not self.epoch():
                self.status = Status.MAX_SECONDS
            elif self.status is None:
                self._consider()
                if self.status is None:
                    self._ascend()
                if self.status is None:
                    self._checkpoint()
        if self.certified_steps != self.steps:
            if self.sets is not None:
                self.state.core.reset()  # they have moved v, which the loop has not seen
            self.certify()

    def epoch(self) -> bool:
        """One epoch, without a look at what it has reached; False where time ran out inside it."""
        if not self.cursor:  # else a checkpoint was made in mid-epoch
            if self.plan.order == "gap" and self.epochs:
                self._new_order()
            if self.shrinking is not None:
                if self._solvable(self.shrinking):
                    self._ascend_part(self.shrinking.moving(self.active))
                elif not self._shrunk(self.shrinking):
                    return False
                if self.status is not None or self._solved(self.shrinking):
                    return True
            if not self._looks():
                if self.mean is not None:
                    self.mean[:], self.parts = 0, 0
                self.state.core.forget(len(self.order.next()))
        self._use("epochs")
        for name in ("growing", "near", "beyond"):
            if getattr(self.state.core, name):
                self._use(name)
        if not self._sweep(np.flatnonzero(self.active) if self.looks else self.order.visits):
            return False
        self.state.core.growing = False
        self.epochs += 1
        self.plain_epochs += 1
        self.side.between(self.state.core, self.plan.stream, self._late)
        return True

    def _looks(self) -> bool:
        """Whether it is enough that the next epoch looks at all rows, in their order in memory, and
        moves none: after passes over those that move, where these are few."""
        shrinking, core = self.shrinking, self.state.core
        if shrinking is None or self.side.rough or self.problem.free:
            return False
        assert isinstance(core, Epoch)
        few = len(shrinking.moving(self.active)) <= SOME * self.visits
        core.looks = shrinking.left > 0 and few
        if core.looks:
            core.forget()
            core.calm = shrinking.calm
        return core.looks

    @property
    def looks(self) -> bool:
        """Whether the epoch that is under way, or was the last one, moves no row."""
        core = self.state.core
        return isinstance(core, Epoch) and core.looks

    def _shrunk(self, shrinking: Shrinking) -> bool:
        """Passes over the rows that are not at rest; False where time ran out inside them."""
        core, n = self.state.core, len(self.active)
        assert isinstance(core, Epoch)
        shrinking.left = 0.0
        if not shrinking.calm:
            return True
        rows = shrinking.moving(self.active)
        left = (self.plan.max_epochs - self.epochs - 1) * n - shrinking.visits % n
        left = min(int(MOST_VISITS * n), left)
        passes = MOST_PASSES if 0 < len(rows) <= FEW * self.visits else 0
        while passes and 0 < len(rows) <= left:
            self._use("shrinking")
            self.parts = 0  # the last epoch is past
            self.plan.stream.shuffle(rows)
            core.forget(len(rows))
            core.calm, core.looks = shrinking.calm, False
            if not self._sweep(rows, whole=False):
                return False
            shrinking.seen(core.calm, shrinking.gap, shrinking.level)
            shrinking.passed(self.side.gap_estimate(core, len(rows)))
            earlier = shrinking.visits
            shrinking.visits += len(rows)
            self.epochs += shrinking.visits // n - earlier // n
            left -= len(rows)
            passes = passes - 1 if shrinking.slow else 0
            rows = rows[shrinking.rests[rows] == 0]
        core.calm = FIRST * shrinking.calm
        return True

    def _solved(self, shrinking: Shrinking) -> bool:
        """After passes: certify if they have left so little that the rows at rest may stay so."""
        left, level = shrinking.left, shrinking.level
        near = 0 < left <= NEARLY * level and self.schedule.every is None
        if near and self.schedule.due(self.epochs, self.epochs, left, level):
            self._certify(left)
        return self.status is not None

    def _solvable(self, shrinking: Shrinking) -> bool:
        """Whether Newton's method on the rows that move takes the place of passes over them, after
        a look at all."""
        problem, plan, wide = self.problem, self.plan, self.side.second_order == "faces"
        known = self.side.second_order and isinstance(problem.map, L2Map)
        kinked = known and problem.loss.gamma == 0
        asked = plan.target.level(1.0) > 0 and "newton" in plan.solvers
        if not (self.looks and kinked and asked and plan.max_epochs - self.epochs > LEAST):
            return False
        if wide and shrinking.gap > CLOSE * abs(self.primal):
            return False
        return shrinking.solvable(len(shrinking.moving(self.active)) / problem.n, wide)

    def _use(self, name: str) -> None:
        """Note what the run is made of."""
        if name not in self.used:
            self.used.append(name)

    def forget_limits(self) -> None:
        """Go on as if nothing had been in the way, with the plan that there is now."""
        self.status, self.last_epoch = None, None
        self.lowest, self.stalled = math.inf, 0

    def certify(self) -> None:
        """Certify the output's pair as it stands."""
        self._certify(math.nan)

    def _new_order(self) -> None:
        """The order of visits, for what is active."""
        visited = np.flatnonzero(self.active)
        self.visits = len(visited)
        weighed = self.plan.order in _random.WEIGHED
        p = self.side.importance(self.curvature)[visited] if weighed else None
        self.order = _random.Order(self.plan.order, visited, self.plan.stream, p)

    def _consider(self) -> None:
        """After an epoch: certify if it is time to."""
        core, side, schedule = self.state.core, self.side, self.schedule
        estimate = side.gap_estimate(core, self.visits)
        last = self.certificate.primal if self.history else 0.0
        primal = side.primal_estimate(core, last)
        self.primal = primal
        level = self.plan.target.level(primal)
        reachable = max(level, 1e-15 * abs(primal))
        self.estimates.append(estimate / max(reachable, 1e-300))
        if self.shrinking is not None:
            assert isinstance(core, Epoch)
            calm = self.shrinking.calm / CALM if core.looks else core.calm
            self.shrinking.seen(calm, estimate, level)
        if self.plan.verbose:
            self.progress.estimate(self.epochs, estimate, level, self._seconds())
        if not self.output.ready(self.steps):
            return
        if self.last_epoch is not None:
            if self.epochs >= self.last_epoch:
                self._certify(estimate)
                self.status = self.status or Status.ROUNDING
            return
        passes: float = self.epochs
        if side.rough:  # whose epochs may pass most coordinates over
            self.visited += core.visits
            passes = self.visited / self.problem.visits
        fall = self._fall()
        now = estimate * fall ** (side.lag * (1.5 - 0.5 * fall))
        due = schedule.due(self.epochs, passes, now, reachable)
        if self.looks and schedule.every is None:
            due = estimate <= reachable  # it is the gap, but for roundings
        # w is not a mean, and the last certificate is past
        may = schedule.every is None and not self.parts and self.epochs > schedule.last_epoch + 1
        if may and not due and 0 < now <= LIKELY * reachable:
            due = side.look(core, self.order.visits) <= reachable
        wanted = side.wants(core, self.epochs - schedule.last_epoch, estimate)
        if due or (wanted and schedule.every is None):
            self._certify(now)

    def _fall(self) -> float:
        """What part of the estimate the last epoch has left of it."""
        now, before = self.estimates[-1], self.estimates[max(-2, -len(self.estimates))]
        return now / before if 0 < now < before < math.inf else 1.0

    def _epochs_left(self) -> float:
        """How many more epochs would be needed, by how the estimates of the gap fell so far."""
        half = len(self.estimates) // 2
        now, before = self.estimates[-1], self.estimates[-1 - half]
        if not now > 1:
            return 0.0
        if not half:
            return math.inf  # nothing is known yet
        rate = math.log(max(before / now, 1.0)) / half
        return math.log(now) / rate if rate > 0 else math.inf

    def _slow_from_the_start(self) -> bool:
        """Whether more epochs are to be expected than a second-order ascent is worth."""
        side, target = self.side, self.plan.target
        if self.warm or self.steps or "newton" not in self.plan.solvers:
            return False
        if side.second_order != "all" or not target.level(1.0) > 0:
            return False
        return side.expected_epochs(self.curvature, target.level) > side.slow_start

    def _ascend(self) -> None:
        """A second-order ascent, of the kind that there is, where many more epochs are needed."""
        side = self.side
        # where no gap was asked for, it is w that is to become as good as it gets
        asked = self.plan.target.level(1.0) > 0 or side.ascends_unasked
        solvers = self.plan.solvers
        if not (asked and solvers & {"newton", "faces"} and side.second_order):
            return
        early = len(self.estimates) < self._far  # from far away Newton is no faster
        if self.shrinking is not None and side.second_order == "faces":
            few = len(self.shrinking.moving(self.active)) <= SOME * self.visits
            slow = self._epochs_left() > (SLOW_ROUNDS if few else side.slow)
            slow = slow and self.shrinking.slow and not self._solvable(self.shrinking)
            if "faces" in solvers and slow:
                self._ascend_faces(MOST_STEPS if few else ROUGH_STEPS)
        elif not early:
            slow = self._epochs_left() > side.slow
            if side.second_order == "all":
                if slow and "newton" in solvers:
                    self._ascend_all()
            elif slow and "faces" in solvers and self.plain_epochs >= BETWEEN:
                self._ascend_faces()

    @property
    def _far(self) -> float:
        """How many epochs it takes, at the least, to come near."""
        return EARLY if self.shrinking is not None else max(2, self.side.far)

    def _ascend_faces(self, most: int | None = None) -> None:
        """Steps along the faces that alpha is on, between epochs."""
        nnz, begun = max(1, self.problem.nnz), self.epochs
        faces = self.side.faces(self.b)
        if most is not None:
            faces.most = most

        def passes_left() -> int:
            self.epochs = begun + -(-faces.touched // nnz)
            return 0 if self._late() else self.plan.max_epochs - self.epochs

        if passes_left() < LEAST_FACES:
            return
        self._use("faces")
        self.parts = 0
        faces.ascend_faces(self.b, self.v, self.curvature, self.side.face_accuracy, passes_left)
        passes_left()
        self.touched += faces.touched
        self.state.core.reset()
        self.problem.raise_failure()
        self.steps += 1
        self.plain_epochs = 0

    def _ascend_part(self, which: np.ndarray) -> None:
        """Steps on the alpha_i that are not at rest, as long as they raise the dual."""
        nnz, begun = max(1, self.problem.nnz), self.epochs
        part = Part(self.problem, self.b, self.v, which)
        ascent = part.ascent
        shrinking, level = self.shrinking, self.plan.target.level(self.primal)
        assert shrinking is not None
        enough, shrinking.least = SOLVED * level / part.share, shrinking.gap

        def passes_left() -> int:
            self.epochs = begun + -(-ascent.touched // nnz)
            return 0 if self._late() else self.plan.max_epochs - self.epochs

        while not ascent.stuck and passes_left() >= LEAST and not ascent.gap <= enough:
            self._use("newton")
            ascent.ascend(lambda _: enough, passes_left)
            self.steps += 1
        passes_left()
        self.parts = 0
        self.touched += ascent.touched
        self.b[which] = ascent.alpha
        self.side.load(self.b, self.v)
        self.state.core.reset()
        shrinking.left = part.share * ascent.gap
        self._certify(shrinking.left, ascent.best_w)
        self.estimates = []

    def _ascend_all(self) -> None:
        """Steps on all of alpha, one after the other, as long as they raise the dual."""
        if self.plan.max_epochs - self.epochs < LEAST:
            return
        if self.shrinking is not None and self.problem.loss.gamma == 0:
            which = self.shrinking.moving(self.active)
            if 0 < len(which) <= FEW * self.problem.n:
                self._ascend_part(which)
                return
        self._use("newton")
        plan, nnz = self.plan, max(1, self.problem.nnz)
        mean = self.mean / self.parts if self.mean is not None and self.parts else None
        ascent, begun = self.side.ascent(self.b, self.v, self.room, mean), self.epochs
        self.parts = 0  # the last epoch is past

        def passes_left() -> int:
            self.epochs = begun + -(-ascent.touched // nnz)
            return 0 if self._late() else plan.max_epochs - self.epochs

        while self.status is None and not ascent.stuck and passes_left() >= LEAST:
            ascent.ascend(lambda primal: 0.9 * plan.target.level(primal), passes_left)
            self.steps += 1
            level = plan.target.level(ascent.primal)
            self.progress.estimate(self.epochs, ascent.gap, level, self._seconds())
            if ascent.gap <= level or plan.certify_every is not None:
                self._certify(ascent.gap, ascent.best_w)
        if passes_left() < LEAST and self.status is None:
            self.status = Status.MAX_SECONDS if self._late() else Status.MAX_EPOCHS
        self.touched += ascent.touched
        if self.certified_steps != self.steps:
            self._certify(ascent.gap, ascent.best_w)
        self.estimates = []

    def _work_on_sets(self, sets: WorkingSets) -> None:
        """Descend along a set of columns, or certify where that is not needed any more."""
        self._use("working_sets")
        begun, target = sets.touched, self.plan.target
        nnz = max(1, self.problem.nnz + self.problem.n * self.problem.free)  # beta is a column too
        limit = self.plan.max_epochs * nnz

        def go_on() -> bool:
            return sets.touched < limit and not self._late()

        if not begun:
            if not self.warm and sets.begin(self.b, self.active, self.plan.stream, go_on):
                self.side.load(self.b, self.v)
                sets.products += nnz
            if self.problem.free:
                self.output.pair()  # which fits the intercept
        primal, gap = sets.look(self.b, self.v, target.level)
        level = target.level(primal)
        self.progress.estimate(self.epochs, gap, level, self._seconds())

        def near(gap: float) -> bool:
            primal = sets.objective / self.problem.n
            return gap <= max(sets.near * target.level(primal), 1e-15 * abs(primal))

        if not near(gap):
            gap = sets.descend(self.b, self.v, self.active, level, self.plan.stream, go_on)
            self.steps += 1
        self.problem.raise_failure()
        self.touched += sets.touched - begun
        self.epochs = -(-sets.touched // nnz)
        if near(gap) or sets.stuck or self.plan.certify_every is not None:
            self.state.core.reset()
            self._certify(gap if gap < math.inf else math.nan)
            sets.loss = None  # as the margins may be others by a rounding
            if near(gap):
                sets.missed()
        if sets.stuck or self.last_epoch is not None:
            self.sets = None
            self._measure()

    def _measure(self) -> None:
        """Learn the norms of all columns, where that was put off."""
        if not self.measured:
            self.measured = True
            self.curvature = self.side.curvature()
            self.active &= self.side.settle(self.b, self.curvature)
            self.state.core = self._core()
            self._new_order()

    def _sweep(self, visits: np.ndarray, whole: bool = True) -> bool:
        """One epoch, or a pass over fewer rows; False where time ran out inside it."""
        problem, core, begin, chunk = self.problem, self.state.core, self.cursor, self.chunk
        if (keeper := _resident.keeper()) is not None:
            chunk = min(chunk, keeper.VISITS)
        part = len(visits)
        if whole and self.mean is not None and not self.looks:
            part = min(part, max(LEAST_PART, -(-part // PARTS)))
        self.cursor = 0
        try:
            while begin < len(visits):
                if self.steps == self.output.pause:
                    self.output.look(self.steps)
                stop = min(begin + chunk, (begin // part + 1) * part, len(visits))
                stop = int(min(stop, begin + self.output.pause - self.steps))
                core.run(visits[begin:stop])
                if keeper is not None:
                    keeper.look()
                self.side.check(core)
                if core.broken >= 0:
                    raise NumericalError(
                        f"a product with v is not finite at {self.side.name[:-1]} {core.broken}: "
                        f"rescale X or take a larger lam{problem.doubt}"
                    )
                self.steps += stop - begin
                begin = stop
                if part < len(visits) and begin % part * (len(visits) - begin) == 0:
                    assert self.mean is not None
                    self.mean += self.v  # which is w for l2
                    self.parts += 1
                if begin < len(visits):
                    if self._late():
                        return False
                    if whole:
                        self.cursor = begin
                        self._checkpoint()
                        self.cursor = 0
        finally:
            self.touched += core.visited
        return True

    def _certify(self, estimate: float, w: np.ndarray | None = None) -> None:
        """Certify the output's pair; where that is the last iterate, v is recomputed from b.

        The estimate is the loop's, NaN where it has none; a w takes the place of the output's.
        """
        problem, plan, side = self.problem, self.plan, self.side
        own_w, alpha = self.output.pair()
        if w is None and self.mean is not None and self.parts:
            self._use("averaging")
            w = self.mean / self.parts
        w = own_w if w is None else w
        unscaled, slack = alpha, -1.0
        # the last iterate's v is recomputed from b alone, which ends its drift
        own = self.b is (w if problem.by_columns else alpha)
        if problem.free:
            alpha = unscaled = problem.balanced(alpha)
            if not problem.by_columns:  # whose intercept is the best one already
                last = self.certificate.primal if self.history else 0.0
                slack = 0.01 * plan.target.level(last)
                if own:
                    problem.copy_alpha(self.b, alpha)
        room = self.room if own else self.room._replace(touched=np.empty_like(self.v))
        evaluation = problem.evaluate(w, alpha, room, rescale=True, slack=slack)
        w[problem.d :] = evaluation.intercept
        if own:
            side.refill(self.v, evaluation.shrink, w)
            self.state.core.reset()
            problem.raise_failure()
        if evaluation.shrink != 1:
            alpha = evaluation.alpha
        self.touched_certifying += problem.nnz
        if plan.output == "best" or not plan.target.reached(evaluation.certificate):
            self.best.see(w, alpha, evaluation)
        self.pair = w, alpha
        reported = evaluation
        if plan.output == "best":
            assert self.best.evaluation is not None
            self.pair, reported = (self.best.w, self.best.alpha), self.best.evaluation
        self.certificate = certificate = reported.certificate
        self.certified_steps = self.steps
        if plan.target.reached(certificate):
            self.status = Status.CONVERGED if problem.proves else Status.UNCERTIFIED
        elif self._at_rounding(certificate):
            self.status = Status.ROUNDING
        self.schedule.seen(self.epochs, estimate, certificate.gap)
        side.correction = self.schedule.correction
        if self.status is not Status.CONVERGED:
            problem.check_bound(w, unscaled)
        self._tell(certificate)
        if self.status is None and own:
            self._adapt(evaluation, estimate)

    def _at_rounding(self, certificate: Certificate) -> bool:
        """Whether the gap cannot fall any further, or can fall no further that would be seen.

        Where no gap was asked for, tol = eps = 0, half as many epochs again make w as good as it
        gets: it goes on converging where the gap no longer shows it.
        """
        floor = certificate.gap <= certificate.rounding
        if certificate.gap < 0.5 * self.lowest:
            self.lowest, self.stalled = certificate.gap, 0
        elif certificate.gap <= STALLED * certificate.rounding:
            self.stalled += 1
            floor = floor or self.stalled >= PATIENCE
        if floor and self.last_epoch is None and not self.plan.target.level(1.0):
            self.last_epoch = self.epochs + self.epochs // 2 + PATIENCE
            return False
        return floor

    def _adapt(self, found: Evaluation, estimate: float) -> None:
        """Let the side draw its conclusions from a certificate that is not yet good enough."""
        side = self.side
        kept = None
        if "screening" in self.plan.solvers:
            self._measure()
            kept = side.screen(self.b, self.curvature, found, self.room)
        if kept is not None and (kept < self.active).any():
            self._use("screening")
            self.active &= kept
            self._new_order()
        if side.follow(found, self.v, estimate, self.plan.target.level(found.primal)):
            self.curvature = side.curvature()
            side.load(self.b, self.v)
            self.touched += self.problem.nnz
            self.state.core = self._core()

    def _tell(self, certificate: Certificate) -> None:
        """History, log, progress line and callback of a certificate."""
        nonzeros = int(np.count_nonzero(self.pair[0][: self.problem.d]))
        record = (self.epochs, self._seconds(), *certificate, nonzeros)
        self.history.append(record)
        check = Check(*record, self.plan.target.level(certificate.primal))
        logger.debug("%s", check)
        self.progress(check)
        answer = None if self.plan.callback is None else self.plan.callback(check)
        if isinstance(answer, (bool, np.bool_)) and answer and self.status is None:
            self.status = Status.STOPPED

    # ------------------------------------------------------------- its parts

    def _burn_in(self, core: Core) -> int:
        """T0 of the theorems for the target, at most half of what max_epochs allows."""
        if self.plan.output not in ("average", "random"):
            return 0
        problem, n = self.problem, self.problem.n
        start = problem.evaluate(np.zeros(problem.length), problem.zero_alpha(), problem.room())
        self.touched_certifying += self.side.start_cost * problem.nnz
        level = self.plan.target.level(start.primal)
        T0 = self.side.burn_in(core, level, start.certificate.gap)
        return int(min(T0, self.plan.max_epochs * n // 2))

    def _seconds(self) -> float:
        return self.earlier + time.perf_counter() - self.started

    def _late(self) -> bool:
        limit = self.plan.max_seconds  # of this call, whatever an earlier one took
        return limit is not None and time.perf_counter() - self.started >= limit

    def records(self) -> np.ndarray:
        """The history as a structured array."""
        return np.array(self.history, HISTORY)
