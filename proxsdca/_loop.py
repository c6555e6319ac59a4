"""Epochs, gap schedule, stop test, callback, interruption; no loss maths, no storage."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from . import _output, _random, theory
from ._core.epoch import Epoch
from ._core.order import Stream
from ._problem import Certificate, Evaluation, Problem
from ._progress import Progress
from ._result import HISTORY, Check, NumericalError, Status

logger = logging.getLogger("proxsdca")

PAGES = 1 << 18  # rows of a new array that are touched at a time
CHUNK = 2_000_000  # nonzeros between two looks at the clock and at pending signals
SHORT = 30  # epochs; up to here a run has two certificates
NEAR = 3.0  # times the target: from here on longer runs certify as often as they may
SHARE = 0.1  # of the nonzeros touched may go to certificates in longer runs


@dataclass(frozen=True)
class Target:
    """gap + rounding <= max(tol |P|, eps)."""

    tol: float
    eps: float

    def level(self, primal: float) -> float:
        return max(self.tol * abs(primal), self.eps)

    def reached(self, c: Certificate) -> bool:
        return c.gap + c.rounding <= self.level(c.primal)


@dataclass(frozen=True)
class Plan:
    """How a run goes, as `solve` was asked for it."""

    option: str
    order: str
    output: str
    T0: int | None
    target: Target
    max_epochs: int
    max_seconds: float | None
    certify_every: int | None
    callback: Callable[[Check], object] | None
    verbose: int
    stream: Stream


@dataclass
class Schedule:
    """When to certify, decided by the loop's free estimate of the gap.

    The estimate sums each row's share of the gap as the visit found it, so it
    lags behind by about half an epoch; what a certificate finds corrects it.
    Certificates get two passes over the data in runs of up to `SHORT` epochs
    and the share `SHARE` of all passes in longer ones, the last one included.
    """

    may_end_early: bool
    every: int | None
    certificates: int = 0
    last_epoch: int = 0
    correction: float = 1.0

    def due(self, epoch: int, estimate: float, level: float) -> bool:
        if self.every is not None:
            return epoch % self.every == 0
        reserve = epoch >= SHORT or self.may_end_early
        allowed = max(2.0, SHARE * (epoch + self.certificates))
        if self.certificates + 1 + reserve > allowed:
            return False
        if epoch < SHORT:  # every miss counts
            return self.correction * estimate <= level
        # Later on the share is there to be used once the target is near, as gaps go up and down.
        # Without hope of it a look now and then repairs the drift of v and adds to the history.
        return estimate <= NEAR * level or epoch >= 2 * self.last_epoch

    def seen(self, epoch: int, estimate: float, gap: float) -> None:
        self.certificates += 1
        self.last_epoch = epoch
        if estimate > 0 and math.isfinite(gap):
            self.correction = min(max(1.25 * gap / estimate, 0.1), 100.0)


def zeros(*shape: int) -> np.ndarray:
    """Zeros whose memory is really there: its pages come in slices, between which Ctrl-C acts,
    and not all at once in the middle of the kernel."""
    array = np.empty(shape)
    for begin in range(0, len(array), PAGES):
        array[begin : begin + PAGES] = 0
    return array


class Best:
    """The lowest certified P(w) and the highest certified D(alpha), which need not be one pair."""

    def __init__(self, n: int, d: int) -> None:
        self.w, self.alpha = zeros(d), zeros(n)
        self.evaluation: Evaluation | None = None

    def see(self, w: np.ndarray, alpha: np.ndarray, found: Evaluation) -> np.ndarray:
        """Keep w if it is better; returns the array of w's size that is free after that."""
        kept = self.evaluation or Evaluation(math.inf, -math.inf, 0.0, 0.0)
        self.evaluation = None  # not known while w and alpha change: Ctrl-C may come in between
        if found.primal < kept.primal:
            self.w, w = w, self.w
            kept = kept._replace(primal=found.primal, error_primal=found.error_primal)
        if found.dual > kept.dual:
            np.copyto(self.alpha, alpha)
            kept = kept._replace(dual=found.dual, error_dual=found.error_dual)
        self.evaluation = kept
        return w


class Run:
    """One ascent: the state (alpha, v), and the certificates found on the way."""

    def __init__(self, problem: Problem, plan: Plan, alpha: np.ndarray | None) -> None:
        rows = problem.rows
        self.problem, self.plan = problem, plan
        self.started = time.perf_counter()
        self.warm = alpha is not None
        self.alpha = zeros(rows.n) if alpha is None else alpha
        self.v, self.scratch = zeros(rows.d), zeros(rows.d, 2)
        self.best = Best(rows.n, rows.d)
        self.epochs = self.steps = self.touched = self.touched_certifying = 0
        self.status: Status | None = None
        self.history: list[tuple[float, ...]] = []
        self.progress = Progress(plan.verbose)
        self.certified_steps = -1  # the step at which the last certificate was made

    def ascend(self) -> None:
        """Run epochs until the target, or a limit, is reached.

        Leaves the pair (w, alpha) that is to be returned in `pair`, its certificate in
        `certificate` and the reason in `status`.
        """
        before = self.problem.rows.fingerprint()
        try:
            self._run()
        finally:
            self.progress.close()
        if self.problem.rows.fingerprint() != before:
            raise ValueError("X changed while it was being solved: its memory must be left alone")

    def fall_back(self) -> None:
        """After an interruption: the best that was certified, at the least w = 0 and alpha = 0."""
        best = self.best
        evaluation = best.evaluation or self.problem.evaluate(
            best.w, best.alpha, self.v, self.scratch
        )
        self.pair, self.certificate = (best.w, best.alpha), evaluation.certificate
        self.status = Status.INTERRUPTED

    def _run(self) -> None:
        plan = self.plan
        curvature = self.problem.curvature()
        active = self._settle_zero_rows(curvature)
        core = self.problem.epoch(curvature, self.alpha, self.v, plan.option)
        T0 = self._burn_in(core) if plan.T0 is None else plan.T0
        state = _output.State(self.problem, core, self.alpha, self.v, zeros(len(self.v)))
        self.output = _output.make(plan.output, state, T0, plan.stream)
        order = _random.Order(plan.order, active, plan.stream, self._importance(curvature, active))
        limited = plan.max_epochs <= SHORT or plan.max_seconds is not None
        schedule = Schedule(limited, plan.certify_every)
        if self.warm:
            # one pass for v(alpha), one to see whether alpha is good enough already
            self.problem.evaluate(np.zeros_like(self.v), self.alpha, self.v, self.scratch)
            self.touched += self.problem.rows.nnz
            schedule.seen(0, 0.0, self._certify(core).gap)
        while self.status is None:
            if self.epochs >= plan.max_epochs or not len(active):
                self.status = Status.MAX_EPOCHS
            elif self._late() or not self._sweep(core, order.next()):
                self.status = Status.MAX_SECONDS
            else:
                self.epochs += 1
                self._consider(core, schedule)
        if self.certified_steps != self.steps:
            self._certify(core)

    def _consider(self, core: Epoch, schedule: Schedule) -> None:
        """After an epoch: certify if it is time to."""
        sampled = max(1, core.sampled)
        estimate = core.excess / sampled
        # g(w) >= v^T w / 2, so this is an estimate of P from below
        primal = (core.loss + 0.5 * core.inner) / sampled
        level = self.plan.target.level(primal)
        self.progress.estimate(self.epochs, estimate, level, self._seconds())
        if not self.output.ready(self.steps):
            return
        if schedule.due(self.epochs, estimate, max(level, 1e-15 * abs(primal))):
            schedule.seen(self.epochs, estimate, self._certify(core).gap)

    def _sweep(self, core: Epoch, visits: np.ndarray) -> bool:
        """One epoch; False where time ran out inside it."""
        rows, begin = self.problem.rows, 0
        chunk = max(1, CHUNK * rows.n // max(1, rows.nnz))
        core.forget()
        try:
            while begin < len(visits):
                if self.steps == self.output.pause:
                    self.output.look(self.steps)
                stop = min(begin + chunk, len(visits))
                stop = int(min(stop, begin + self.output.pause - self.steps))
                core.run(visits[begin:stop])
                if core.broken >= 0:
                    raise NumericalError(
                        f"x_i^T w is not finite at row {core.broken}: "
                        "rescale X or take a larger lam"
                    )
                self.steps += stop - begin
                begin = stop
                if begin < len(visits) and self._late():
                    return False
        finally:
            self.touched += core.visited
        return True

    def _certify(self, core: Epoch) -> Certificate:
        """Certify the output's pair; where that is the last iterate, v is recomputed from alpha."""
        problem, plan = self.problem, self.plan
        w, alpha = self.output.pair()
        # the last iterate's v is replaced by v(alpha), which ends its drift
        own = alpha is self.alpha
        evaluation = problem.evaluate(
            w, alpha, self.v if own else np.empty_like(self.v), self.scratch
        )
        if own:
            core.reset()
        self.touched_certifying += problem.rows.nnz
        self.output.recycle(self.best.see(w, alpha, evaluation))
        self.pair = w, alpha
        if plan.output == "best":
            assert self.best.evaluation is not None
            self.pair, evaluation = (self.best.w, self.best.alpha), self.best.evaluation
        self.certificate = certificate = evaluation.certificate
        self.certified_steps = self.steps
        if plan.target.reached(certificate):
            self.status = Status.CONVERGED
        elif certificate.gap <= certificate.rounding:
            self.status = Status.ROUNDING
        self._tell(certificate)
        return certificate

    def _tell(self, certificate: Certificate) -> None:
        """History, log, progress line and callback of a certificate."""
        record = (self.epochs, self._seconds(), *certificate, int(np.count_nonzero(self.pair[0])))
        self.history.append(record)
        check = Check(*record, self.plan.target.level(certificate.primal))
        logger.debug("%s", check)
        self.progress(check)
        answer = None if self.plan.callback is None else self.plan.callback(check)
        if isinstance(answer, (bool, np.bool_)) and answer and self.status is None:
            self.status = Status.STOPPED

    # ------------------------------------------------------------- its parts

    def _settle_zero_rows(self, curvature: np.ndarray) -> np.ndarray:
        """Set alpha_i of all-zero rows to its optimum, -phi'(0), once; return the other rows."""
        problem = self.problem
        zero = problem.rows.zero_rows(curvature)
        if zero.any():
            y = problem.target[zero]
            s = 1.0 if problem.weight is None else problem.weight[zero]
            self.alpha[zero] = s * -problem.loss.subgradient(np.zeros(len(y)), y)
        np.logical_not(zero, out=zero)
        if problem.weight is not None:
            zero &= problem.weight > 0
        return np.flatnonzero(zero)

    def _importance(self, curvature: np.ndarray, active: np.ndarray) -> np.ndarray | None:
        """What p_i is proportional to: 1 + |x_i|^2 / (lam gamma_i n) for smooth losses, with
        gamma_i = gamma / s_i; else half uniform, half proportional to L_i |x_i|."""
        if self.plan.order != "importance":
            return None
        weight, gamma = self.problem.weight, self.problem.loss.gamma
        s = 1.0 if weight is None else weight[active]
        p: np.ndarray
        if gamma > 0:
            p = 1 + s * curvature[active] / gamma
        else:
            p = s * np.sqrt(curvature[active])
            p = p / max(p.sum(), np.finfo(float).tiny) + 1 / max(1, len(active))
        return p

    def _burn_in(self, core: Epoch) -> int:
        """T0 of the theorems for the target, at most half of what max_epochs allows."""
        if self.plan.output not in ("average", "random"):
            return 0
        problem, n = self.problem, self.problem.rows.n
        zero_w, zero_alpha = np.zeros(problem.rows.d), np.zeros(n)
        start = problem.evaluate(zero_w, zero_alpha, np.empty_like(zero_w), self.scratch)
        heaviest = 1.0 if problem.weight is None else float(problem.weight.max())
        T0 = theory.burn_in(
            n, (core.q_R * problem.lam * n) ** 0.5, problem.lam, problem.loss.gamma / heaviest,
            problem.loss.lipschitz * heaviest, self.plan.target.level(start.primal),
            start.certificate.gap,
        )  # fmt: skip
        return int(min(T0, self.plan.max_epochs * n // 2))

    def _seconds(self) -> float:
        return time.perf_counter() - self.started

    def _late(self) -> bool:
        return self.plan.max_seconds is not None and self._seconds() >= self.plan.max_seconds

    def records(self) -> np.ndarray:
        """The history as a structured array."""
        return np.array(self.history, HISTORY)
