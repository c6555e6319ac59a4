"""The structured problem that was asked for, its certificate, and the side that visits it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _python_oracle, _spec, _validate, theory
from ._core.atoms import Atoms
from ._core.losses import OPTIONS
from ._core.oracle import Oracle
from ._core.oracle_epoch import OracleEpoch
from ._core.oracle_objective import accumulate_planes, evaluate_planes
from ._core.order import Stream
from ._core.ready_oracles import RowsOracle
from ._core.regs import L2Map
from ._model import KINDS
from ._problem import Certificate, Evaluation, Problem, Room, empty
from ._result import NumericalError, Result
from ._side import Core, RowSide
from .regularizers import L1L2, L2

CHUNK = 5e6  # operations of an oracle between two looks at the clock
BALANCED = 0.5  # of the gap may be one among the labels that are kept
PASSES = 20  # over the labels that are kept, for each pass of true calls
PASSES_PYTHON = 50  # the same, where calls are to Python


@dataclass(frozen=True)
class StructuredHinge:
    """phi_i(w) = max_j delta(j, y_i) - w^T (psi(x_i, y_i) - psi(x_i, j)), 2-Lipschitz in the max
    norm of the w^T psi(x_i, j)."""

    name = "structured_hinge"
    gamma = 0.0
    lipschitz = 2.0


KINDS["StructuredHinge"] = StructuredHinge


@dataclass(frozen=True)
class OracleProblem(Problem):
    """P(w) = 1/n sum_i max_j (delta(j, y_i) - w^T (psi(x_i, y_i) - psi(x_i, j))) + lam g(w)."""

    oracle: Any = None
    core: Oracle = field(default_factory=Oracle)
    cache: bool = True

    @classmethod
    def of(cls, oracle: Any, reg: Any, lam: Any, sigma: Any, cache: bool) -> OracleProblem:
        """Validate what describes the problem; the defaults of lam and sigma are set here."""
        kind = _spec.reg(reg)
        if not isinstance(kind, (L2, L1L2)):
            raise ValueError(f"reg = {kind.name!r}: structured problems have 'l2' and 'l1l2'")
        core = _python_oracle.compiled(oracle)
        if isinstance(core, RowsOracle) and core.changed():
            raise ValueError(
                "X has changed since the oracle was made of it: its memory must be left alone, "
                "or a new oracle made"
            )
        nothing: Any = None
        return cls(
            storage=nothing, by_columns=False, target=np.empty(0), weight=None, classes=None,
            loss=StructuredHinge(), reg=kind, map=L2Map(), lam=1.0, sigma=0.0, oracle=oracle,
            core=core, cache=cache,
        ).weighed(lam, sigma, core.n)  # fmt: skip

    @property
    def n(self) -> int:
        return self.core.n

    @property
    def d(self) -> int:
        return self.core.d

    @property
    def visits(self) -> int:
        return self.n

    @property
    def work(self) -> int:
        return int(self.core.work)

    @property
    def nnz(self) -> int:
        """Calls of the oracle are what is counted."""
        return self.n

    @property
    def proves(self) -> bool:
        return self.core.exact

    def fingerprint(self) -> object:
        return getattr(self.core, "fingerprint", lambda: None)()

    def room(self, make: Callable[..., np.ndarray] = empty) -> Room:
        return Room(make(self.d), make(self.d, 3), make(2, self.n))

    def zero_alpha(self, make: Any = None) -> Atoms:
        # labels are kept where they are visited again, or where they prove the dual value
        return Atoms(self.core, self.cache or self.core.known, not self.cache)

    def copy_alpha(self, to: Atoms, alpha: Atoms) -> None:
        to.assign(alpha)

    def read_alpha(self, name: str, given: Any) -> Atoms:
        if not isinstance(given, Atoms) or given.n != self.n:
            raise TypeError(f"{name} must be the Result, or its alpha, of a problem like this one")
        alpha = self.zero_alpha()
        alpha.take_over(given, name)
        return alpha

    def into_domain(self, alpha: Atoms) -> None:
        """Nothing to do: the certificate allows for roundings."""

    def shown(self, w: np.ndarray, alpha: Atoms) -> tuple[np.ndarray, Atoms, float]:
        w.flags.writeable = False
        return w, alpha, 0.0

    def evaluate(
        self,
        w: np.ndarray,
        alpha: Atoms,
        room: Room,
        rescale: bool = False,
        slack: float = -1.0,
    ) -> Evaluation:
        primal, dual, error_primal, error_dual, wrong = evaluate_planes(
            self.core, self.map, w, alpha, room.touched, room.sums, self.lam, room.visited
        )
        if wrong is not None:
            self.refuse(*wrong)
        return Evaluation(primal, dual, error_primal, error_dual, 1.0, alpha)

    def at_zero(self, w: np.ndarray, alpha: Atoms, room: Room) -> Evaluation:
        # D(0) = 0; for P(0) the oracle would have to be called for every example
        return Evaluation(math.inf, 0.0, 0.0, 0.0, 1.0, alpha)

    def refuse(self, i: int, margin: float, larger: float) -> None:
        """An oracle's answer that is not the best one."""
        other = "y_i itself" if larger == 0 else "a label that it found before"
        raise ValueError(
            f"oracle.argmax({i}, w) is wrong: its answer has the margin {margin!r}, {other} has "
            f"{larger!r}, which is more. The largest delta - w^T (psi(x_i, y_i) - psi(x_i, j)) is "
            "needed, with the features that it said before; an oracle that cannot promise it says "
            "approximate = True"
        )

    def check_finite(self, certificate: Certificate) -> Certificate:
        if np.isfinite(certificate).all():
            return certificate
        raise NumericalError(
            f"P(w) = {certificate.primal!r}, D(alpha) = {certificate.dual!r}, rounding = "
            f"{certificate.rounding!r}: the objective overflows. Rescale psi, or take another lam"
        )

    def check_bound(self, w: np.ndarray, alpha: Any) -> None:
        """Nothing that could be refuted."""

    def correlations(self, alpha: Atoms) -> np.ndarray:
        u = np.empty(self.d)
        accumulate_planes(alpha, u)
        return u / self.n

    def result(self, fields: dict[str, Any]) -> Result:
        from .structured import StructuredResult

        return StructuredResult(
            **fields, oracle=self.oracle, recomputed=self.core.known, certified=self.proves
        )


class OracleSide(RowSide):
    """Visit examples by calls of their oracle; b is an `Atoms`."""

    name = "examples"
    load_cost, start_cost = 0, 1  # in calls of the oracle
    problem: OracleProblem

    def __init__(self, problem: OracleProblem, radii: np.ndarray | None, order: str) -> None:
        super().__init__(problem)
        self.radii, self.by_gap = radii, order == "gap"
        self.gaps = np.full(problem.n, math.nan)
        self.order = np.arange(problem.n)

    def curvature(self) -> np.ndarray:
        """4 R_i^2 / (lam n)."""
        R = np.zeros(self.problem.n) if self.radii is None else self.radii
        with np.errstate(over="ignore"):
            curvature: np.ndarray = 4 * R * R * self.scale
        if not np.isfinite(curvature).all():
            i = int(np.argmax(~np.isfinite(curvature)))
            raise NumericalError(
                f"the curvature 4 R_i^2 / (lam n) overflows at example {i}: rescale psi"
            )
        return curvature

    def epoch(
        self,
        curvature: np.ndarray,
        b: Any,
        v: np.ndarray,
        option: str = "II",
        virtual: bool = False,
    ) -> Core:
        return OracleEpoch(
            self.problem.core, self.map, curvature, b, v, self.gaps, scale=self.scale,
            q_R=float(curvature.max()), option=OPTIONS[option],
        )  # fmt: skip

    def zero(self, make: Callable[[int], np.ndarray]) -> Any:
        return self.problem.zero_alpha()

    def start(self, given: Any) -> Any:
        if given is None:
            return None
        alpha = given.alpha if isinstance(given, Result) else given
        return self.problem.read_alpha("warm_start", alpha)

    def settle(self, b: Any, curvature: np.ndarray) -> np.ndarray:
        return np.ones(self.problem.n, bool)

    def importance(self, curvature: np.ndarray) -> np.ndarray:
        """The shares of the gap, as last seen, and a tenth of their mean for all."""
        gaps = np.nan_to_num(self.gaps, nan=np.nanmax(self.gaps, initial=0.0))
        mean = float(gaps.mean())
        return gaps + 0.1 * mean if mean > 0 else np.ones(len(gaps))

    def gap_estimate(self, core: Core, visits: int) -> float:
        if np.isnan(self.gaps).any():
            return super().gap_estimate(core, visits)
        return float(self.gaps.mean())

    def primal_estimate(self, core: Core, last: float) -> float:
        # examples with a large share of the gap are visited more often
        return last if self.by_gap and last else super().primal_estimate(core, last)

    def check(self, core: Core) -> None:
        super().check(core)
        if isinstance(core, OracleEpoch) and core.wrong >= 0:
            self.problem.refuse(core.wrong, core.wrong_margin, core.larger_margin)

    def between(self, core: Core, stream: Stream, late: Callable[[], bool]) -> None:
        """Passes over the labels that are kept, while they matter beside what new ones show."""
        if not self.problem.cache:
            return
        assert isinstance(core, OracleEpoch)
        n = self.problem.n
        chunk = max(1, int(CHUNK * n / max(1, core.entries)))
        gap = max(self.gap_estimate(core, n), 0.0)
        for _ in range(PASSES_PYTHON if self.problem.core.python else PASSES):
            stream.shuffle(self.order)
            before = core.cached
            for begin in range(0, n, chunk):
                if late():
                    return
                core.revisit(self.order[begin : begin + chunk])
            if not (core.cached - before) / n > BALANCED * gap:
                break

    def burn_in(self, core: Core, eps: float, eps_D: float) -> float:
        """T0 of the remark to the corollary of section 3.3."""
        problem, R = self.problem, self.radii
        if R is None:
            raise ValueError(
                "T0 is needed for this output: the oracle has neither radius nor rho, from which "
                "the paper's would follow"
            )
        if not eps > 0:
            return math.inf
        return theory.structured_steps(problem.n, float(R.max()), problem.lam, eps, eps_D)[0]

    def screen(
        self, b: Any, curvature: np.ndarray, found: Evaluation, room: Room
    ) -> np.ndarray | None:
        np.copyto(self.gaps, room.visited[0])
        return None


def options(name: str, cache: Any) -> tuple[str, bool]:
    """The step option, and whether labels are kept to be visited again."""
    option = _validate.choice("option", name, ("auto", "II", "III", "IV"))
    cached = option in ("auto", "II") if cache is None else _validate.flag("cache", cache)
    if cached and option in ("III", "IV"):
        raise ValueError(
            f"cache = True: labels that are kept are brought into balance by option 'II'; "
            f"option = {option!r} has cache = False"
        )
    return ("II" if option == "auto" else option), cached
