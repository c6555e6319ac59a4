"""Epochs, gap schedule, stop test; no loss maths, no storage."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ._core.epoch import Epoch
from ._core.losses import OPTIONS
from ._core.regs import gradient
from ._problem import Certificate, Problem
from ._random import Order
from ._result import HISTORY, NumericalError, Status

CHUNK = 4_000_000  # nonzeros between two looks at the clock and at pending signals
SHORT = 30  # epochs; up to here a run has two certificates
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


@dataclass
class Schedule:
    """When to certify, decided by the loop's free estimate of the gap.

    The estimate sums each row's share of the gap as the visit found it, so it
    lags behind by about half an epoch; what a certificate finds corrects it.
    Certificates get two passes over the data in runs of up to `SHORT` epochs
    and the share `SHARE` of all passes in longer ones, the last one included.
    """

    may_end_early: bool
    certificates: int = 0
    last_epoch: int = 0
    correction: float = 1.0

    def due(self, epoch: int, estimate: float, level: float) -> bool:
        reserve = epoch >= SHORT or self.may_end_early
        allowed = max(2.0, SHARE * (epoch + self.certificates))
        if self.certificates + 1 + reserve > allowed:
            return False
        # Without hope of the target a look now and then still repairs the
        # drift of v and gives the history its points.
        return self.correction * estimate <= level or epoch >= max(SHORT, 2 * self.last_epoch)

    def seen(self, epoch: int, estimate: float, gap: float) -> None:
        self.certificates += 1
        self.last_epoch = epoch
        if estimate > 0:
            self.correction = min(max(1.25 * gap / estimate, 0.1), 100.0)


@dataclass
class Run:
    """One ascent: the state (alpha, v), and the certificates found on the way."""

    problem: Problem
    order: Order
    option: str
    target: Target
    max_epochs: int
    max_seconds: float | None
    epochs: int = 0
    touched: int = 0
    touched_certifying: int = 0
    status: Status = Status.MAX_EPOCHS
    history: list[tuple[float, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        rows = self.problem.rows
        self.started = time.perf_counter()
        self.alpha, self.v, self.w = np.zeros(rows.n), np.zeros(rows.d), np.empty(rows.d)
        self._scratch = np.empty((rows.d, 2))

    def ascend(self) -> Certificate:
        """Run epochs until the target, or a limit, is reached; return the last certificate."""
        problem, rows = self.problem, self.problem.rows
        curvature = self._curvature()
        active = curvature if problem.weight is None else curvature[problem.weight > 0]
        core = Epoch(
            rows, problem.loss, problem.map, problem.target, problem.weight, curvature,
            self.alpha, self.v, scale=problem.scale, q_R=active.max(), option=OPTIONS[self.option],
        )  # fmt: skip
        schedule = Schedule(self.max_epochs < SHORT or self.max_seconds is not None)
        certificate = None
        while self.epochs < self.max_epochs and not self._late():
            if not self._sweep(core):
                break
            self.epochs += 1
            estimate = core.excess / max(1, core.sampled)
            # g(w) >= v^T w / 2, so this is an estimate of P from below
            primal = (core.loss + 0.5 * core.inner) / max(1, core.sampled)
            level = max(self.target.level(primal), 1e-15 * abs(primal))
            certificate = None
            if schedule.due(self.epochs, estimate, level):
                certificate = self._certify()
                schedule.seen(self.epochs, estimate, certificate.gap)
                core.reset()
                if self._settled(certificate):
                    break
        if certificate is None:
            certificate = self._certify()
            self._settled(certificate)
        return certificate

    def _sweep(self, core: Epoch) -> bool:
        """One epoch; False where time ran out inside it."""
        core.forget()
        try:
            for visits in self._chunks(self.order.next()):
                core.run(visits)
                if core.broken >= 0:
                    raise NumericalError(
                        f"x_i^T w is not finite at row {core.broken}: "
                        "rescale X or take a larger lam"
                    )
                if self._late():
                    self.status = Status.MAX_SECONDS
                    return False
            return True
        finally:
            self.touched += core.visited

    def _chunks(self, order: np.ndarray) -> Iterator[np.ndarray]:
        rows = self.problem.rows
        step = max(1, CHUNK * rows.n // max(1, rows.nnz))
        for begin in range(0, rows.n, step):
            yield order[begin : begin + step]

    def _late(self) -> bool:
        if self.max_seconds is None or time.perf_counter() - self.started < self.max_seconds:
            return False
        self.status = Status.MAX_SECONDS
        return True

    def _curvature(self) -> np.ndarray:
        """|x_i|_D'^2 / (lam n)."""
        curvature = self.problem.rows.norms_sq(self.problem.map)
        with np.errstate(over="ignore"):
            curvature *= self.problem.scale
        if not np.isfinite(curvature.max()):
            i = int(np.flatnonzero(~np.isfinite(curvature))[0])
            raise NumericalError(
                f"|x_i|^2 / (lam n) overflows at row {i}: rescale X or take a larger lam"
            )
        return curvature

    def _certify(self) -> Certificate:
        """Certify w = grad g*(v) and alpha; v is recomputed from alpha, which ends its drift."""
        gradient(self.problem.map, self.v, self.w)
        certificate = self.problem.certify(self.w, self.alpha, self.v, self._scratch)
        self.touched_certifying += self.problem.rows.nnz
        seconds = time.perf_counter() - self.started
        record = (certificate.primal, certificate.dual, certificate.gap, certificate.rounding)
        self.history.append((self.epochs, seconds, *record, int(np.count_nonzero(self.w))))
        return certificate

    def _settled(self, certificate: Certificate) -> bool:
        if self.target.reached(certificate):
            self.status = Status.CONVERGED
        elif certificate.gap <= certificate.rounding:
            self.status = Status.ROUNDING
        return self.status in (Status.CONVERGED, Status.ROUNDING)

    def records(self) -> np.ndarray:
        """The history as a structured array."""
        return np.array(self.history, HISTORY)
