"""Second-order ascent of the dual where reg = l2: the order of the calls.

The paper's figure allows any step that raises the dual more than one of the options. Where epochs
come near the target only slowly, proximal steps on all of alpha at once take their place, each
solved by Newton's method on its smooth primal (`_core.newton` for vector-valued losses,
`_core.scalar_newton` for those of one margin). A step counts only if the true dual
rises; w is the lowest P that was met, and the certificate is computed as ever. Where d is too large
for that, a hinge's alpha is moved along the faces that it is on, between epochs, until few rows
move and these alone are solved for (`Part`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ._core.duals import Duals
from ._core.newton import Newton, product
from ._core.regs import L1L2Map, L2Map, WeightedL1L2Map
from ._core.scalar_newton import ScalarNewton
from ._problem import TINY, Problem
from ._vector import VectorProblem
from .losses import Logistic

MOST_ENTRIES = 10_000_000  # margins, which are kept for line searches
STEPS = 12  # of Newton's method for one proximal step; more say that it was too long
SAMPLE_CURVATURE = 10.0  # ... with so much regularisation that |x|^2 / (lam n) is no larger
# Of the curvature of a single example, what a first proximal step has; and of the gap of all, what
# a proximal step may leave in its own: for losses of one margin, and of several.
START, NEAR = 0.1, 0.1
START_BLOCKS, NEAR_BLOCKS = 0.03, 0.3
LOOSE = 0.5  # how accurate a step is at the least, in parts of the gradient, ...
TIGHT = 0.5  # ... or so many times the square root of the relative gap, ...
LEFT = 0.4  # ... and of the target what is left of its equations may make up
SPARED = 0.03  # of the gap may be the curvature of examples that are left out of products with H
WIDER = 2.0  # times as far the model is trusted after a step as long as that
CHEAP = 8.0  # products that an exact H may cost, to be made for every step
FAR = 0.2  # of P that a start may be above the least, where H need not be exact ...
MOST_THIN = 2  # ... as long as a step takes fewer products than this
ROUNDING = 1e-14  # of D, by which the dual of a response may seem to fall
PATIENCE = 3  # proximal steps without a rise, after which epochs are better
LEVEL = 0.3  # of the slope where a step begins may be left where it ends, if that is before it does
LEAST = 6  # passes over X that a step of Newton's method takes, at the least
SOLVED = 0.6  # of the target may be left where only examples that are not at rest take part
FACE_ACCURACY = 0.7  # the part of the gradient along the faces that may be left ...
BLOCK_ACCURACY = 0.05  # ... and where an example has several margins
MOST_STEPS, ROUGH_STEPS = 300, 10  # of conjugate gradients, and as long as most rows move
LEAST_FACES = 12  # passes over X that an ascent along faces takes
FEW_PRODUCTS = 5  # with H, for a step to be followed by a longer one
ACCURACY = 0.2  # of the equations of proximal steps
FEW = 1.25  # times those on the move, examples take part in a proximal step ...
FEWEST, TRIMMED = 2.0, 0.03  # ... times those between corners, where the gap is this part of P
MOST_FEW = 0.75  # of all, for that to be worth it
BETWEEN = 5  # epochs between two ascents along faces
SAMPLE = 16  # of so many examples one, to start from their solution ...
ENOUGH = 5  # ... where that leaves so many for each weight
MOST_SAMPLED = 2.0  # ... if it takes no more than about so many passes over all of them
SAMPLE_GAP = 1e-3  # ... known to this relative gap
SLOW = 9.0  # epochs that it would take otherwise, from which on this is faster ...
SLOW_ALONE = 40.0  # ... at the start, where no sample is there to start from instead
SLOW_KINKED, EARLY = 20.0, 4  # ... where rows come to rest, and not before so many epochs
FACTORS = 2.5  # ... and for each product more than that which an exact H costs so many more
SLOW_FACES = 40.0  # ... where it goes along the faces of alpha
SLOW_ROUNDS = 5.0  # the same, where epochs have passes over the rows that move between them
SLOW_AND_LARGE = 200.0  # ... and where the preconditioner is no more than a diagonal
SLOW_AND_WIDE, EARLY_AND_WIDE = 10.0, 7  # the same for losses of one margin, after so many epochs


def kind(problem: VectorProblem) -> str:
    """Which second-order ascent is for this problem: "all" of alpha, its "faces", or ""."""
    width = problem.k or 1
    if not isinstance(problem.map, L2Map) or problem.free:
        return ""
    if problem.loss.sparse and not Newton.blocked_for(problem.storage.d, width):
        return "faces"
    return "all" if problem.storage.n * width <= MOST_ENTRIES else ""


def slow(problem: VectorProblem) -> float:
    """The number of epochs from which on an ascent is faster."""
    large = not Newton.blocked_for(problem.storage.d, problem.k or 1)
    return SLOW_AND_LARGE if large and not problem.loss.sparse else SLOW


def newton(problem: VectorProblem, alpha: Duals) -> Newton:
    """The passes over X that both kinds need."""
    return Newton(problem.storage, problem.loss, problem.delta, problem.weight, alpha, problem.lam)


def scalar_kind(problem: Problem) -> str:
    """Which second-order ascent is for this problem, where the loss is one of one margin."""
    loss, map = problem.loss, problem.map
    known = loss.quadratic or isinstance(loss, Logistic)
    if problem.free or not known:
        return ""
    if isinstance(map, (L1L2Map, WeightedL1L2Map)):
        return "faces" if loss.quadratic else ""
    if not isinstance(map, L2Map):
        return ""
    blocked = ScalarNewton.blocked_for(problem.n, problem.d)
    return "all" if blocked or loss.gamma > 0 else "faces"


def scalar_slow(problem: Problem) -> float:
    """The number of epochs from which on an ascent is faster."""
    if ScalarNewton.blocked_for(problem.n, problem.d):
        if not problem.loss.gamma > 0:
            return SLOW_KINKED
        cost = ScalarNewton.cost_of_factors(problem.n, problem.d, problem.nnz)
        return SLOW + FACTORS * max(0.0, cost - CHEAP)
    return SLOW_AND_WIDE if problem.loss.gamma > 0 else SLOW_FACES


def scalar_far(problem: Problem) -> float:
    """How many epochs it takes, at the least, to come near."""
    if problem.loss.gamma > 0 and not ScalarNewton.blocked_for(problem.n, problem.d):
        return EARLY_AND_WIDE
    return scalar_slow(problem) / 3


def scalar_newton(problem: Problem) -> ScalarNewton:
    """The passes over X that it needs."""
    return ScalarNewton(problem.storage, problem.loss, problem.target, problem.weight, problem.lam)


def has_sample(problem: Problem) -> bool:
    """Whether there are examples enough to start from the solution of a part of them."""
    return problem.loss.gamma > 0 and problem.n >= SAMPLE * ENOUGH * problem.d


def sampled(problem: Problem) -> tuple[np.ndarray, int, float] | None:
    """The w that every 16th example asks for, where there are examples enough, what nonzeros it
    took, and P of those: for a smooth loss a good place for Newton's method to start from."""
    if not has_sample(problem):
        return None
    weight = None if problem.weight is None else problem.weight[::SAMPLE]
    if weight is not None:
        if not weight.sum() > 0:
            return None
        weight = weight * (len(weight) / weight.sum())
    target = np.ascontiguousarray(problem.target[::SAMPLE])
    few = replace(
        problem,
        storage=problem.storage.take(np.arange(0, problem.n, SAMPLE)),
        target=target,
        weight=weight,
    )
    # Where few examples have a feature, lam alone lets them be sure of too much, and from where
    # losses are flat Newton's steps lead far away.
    curvature = float(few.norms_sq(few.map).mean()) / few.n
    few = replace(few, lam=max(problem.lam, curvature / SAMPLE_CURVATURE))
    ascent = SmoothAscent(few, few.zero_alpha(), scalar_newton(few))
    for _ in range(STEPS):
        if ascent.stuck or ascent.gap <= SAMPLE_GAP * abs(ascent.primal):
            break
        if ascent.touched > MOST_SAMPLED * problem.storage.nnz:
            break
        ascent.ascend(lambda primal: SAMPLE_GAP * abs(primal), lambda: 10**6)
    return ascent.best_w, ascent.touched, ascent.primal


@dataclass(frozen=True)
class Rest:
    """Examples whose alpha is left alone: their losses count as the linear functions that alpha is
    the slope of, -1/n sum_i alpha_i^T X_i^T w - s_i omega(beta_i)."""

    sums: np.ndarray  # 1/n sum_i X_i alpha_i
    conjugate: float  # 1/n sum_i s_i omega(beta_i)

    def loss(self, w: np.ndarray) -> float:
        return -product(self.sums, w) - self.conjugate


class Part:
    """The examples that are not at rest, as a problem of their own, with n' of them and the lam
    lam n / n', whose P' and D' are n / n' times P and D but for a constant.

    Parameters
    ----------
    problem : Problem
        reg is l2.
    alpha, v : arrays
        Where to start.
    which : (n',) array
        The examples.
    """

    def __init__(
        self, problem: Problem, alpha: np.ndarray, v: np.ndarray, which: np.ndarray
    ) -> None:
        self.share = len(which) / problem.n
        weight = None if problem.weight is None else problem.weight[which]
        some = replace(
            problem, storage=problem.storage.take(which), weight=weight,
            target=np.ascontiguousarray(problem.target[which]), lam=problem.lam / self.share,
        )  # fmt: skip
        start, w = alpha[which], np.array(v[: problem.d])
        core = scalar_newton(some)
        dual = -core.conjugate(start) - 0.5 * some.lam * product(w, w)
        rest = Rest(some.lam * w - some.correlations(start), 0.0)
        self.ascent = Ascent(some, start, dual, core, rest, w)


class Steps:
    """How far steps on all of alpha have come."""

    primal: float  # the lowest P that was met ...
    dual: float  # ... and the highest D
    _failures: int  # steps since one has brought them closer

    @property
    def gap(self) -> float:
        """P - D, as computed here: for decisions, not for certificates."""
        return self.primal - self.dual

    @property
    def stuck(self) -> bool:
        """Whether the gap has stopped falling."""
        return self._failures >= PATIENCE


class Ascent(Steps):
    """Proximal steps on the dual, from a given alpha.

    A hinge's alpha_i are at a corner for most i. Those whose class leads by far stay there during
    a step on the others, which is one of a smaller problem of the same kind; after it all are
    looked at again. Near the solution those that have come to a corner by now are left at it
    likewise, until that was wrong.

    Parameters
    ----------
    problem : Problem
        reg is l2.
    alpha : array or Duals
        Where to start; overwritten by what is better.
    dual : float
        D(alpha).
    core : Newton or ScalarNewton
        The passes over X.
    rest : Rest, optional
        What examples add that are not in the problem.
    w : array, optional
        Where to start, if not at v(alpha).
    """

    def __init__(
        self,
        problem: Problem,
        alpha: Any,
        dual: float,
        core: Newton | ScalarNewton,
        rest: Rest | None = None,
        w: np.ndarray | None = None,
    ) -> None:
        self.problem, self.alpha, self.dual, self.core = problem, alpha, dual, core
        self.rest = rest
        self._next, self._best = problem.zero_alpha(), problem.zero_alpha()
        self._z, self._dz = (np.empty(self.core.entries) for _ in range(2))
        self._step = np.empty(self.core.dim)
        self._accumulated = 0
        self._few: Ascent | None = None
        self._found: tuple[float, float, float] | None = None  # the response that there is
        self.w = self._point(alpha) if w is None else w.copy()
        self.best_w, self.primal = self.w.copy(), math.inf
        # the curvature of a single example's step, of which a part is easy for all together
        q = float(problem.norms_sq(problem.map).mean()) / (problem.lam * problem.n)
        blocks = isinstance(core, Newton)
        self._near = NEAR_BLOCKS if blocks else NEAR
        start = START_BLOCKS if blocks else START
        self._mu = 0.0 if problem.loss.gamma > 0 else start * q
        self._failures = 0
        self._trims = False  # whether examples that are at another corner by now may stay there
        self.core.margins(self.w, self._z)

    @property
    def touched(self) -> int:
        """Nonzeros of X read so far."""
        few = 0 if self._few is None else self._few.touched
        return self.core.touched + self._accumulated + few

    def _point(self, alpha: Any) -> np.ndarray:
        """v(alpha)."""
        sums = self.problem.correlations(alpha)
        self._accumulated += self.problem.storage.nnz
        if self.rest is not None:
            sums += self.rest.sums
        return sums / self.problem.lam

    def _respond(self, dz: np.ndarray | None, t: float) -> tuple[float, float, float]:
        """The response to z + t dz, into `_next`: its smoothed and true losses, and omega."""
        return self.core.respond(self._z, dz, t, self.alpha, self._mu, self._next)

    def ascend(self, level: Callable[[float], float], passes_left: Callable[[], int]) -> None:
        """One proximal step, or a part of it where `level` of the primal is a gap small enough."""
        problem, core, mu, rest = self.problem, self.core, self._mu, self.rest
        lam = problem.lam
        smooth, loss, conjugate = self._found or self._respond(None, 0.0)
        self._found = None
        held = 0.0 if rest is None else rest.conjugate
        others = 0.0 if rest is None else rest.loss(self.w)
        value = smooth + others + 0.5 * lam * product(self.w, self.w)
        rose, few, before = False, self._undecided() if mu > 0 else None, self.gap
        least = self.dual - ROUNDING * abs(self.dual)  # where alpha is as good as it gets
        work: list[int] = []  # steps of conjugate gradients since the preconditioner was made
        products = 0  # of all of them
        for steps in range(STEPS + 1):
            response = self._next
            self._v = self._point(response)
            primal = loss + others + 0.5 * lam * product(self.w, self.w)
            dual = -conjugate - held - 0.5 * lam * product(self._v, self._v)
            if primal < self.primal:
                self.primal = primal
                np.copyto(self.best_w, self.w)
            nearest, left = max(dual, self.dual), passes_left()
            if few is not None and left >= LEAST and self.primal - nearest > level(self.primal):
                return self._ascend_few(few, conjugate, level, passes_left)
            few = None
            if dual > self.dual:
                rose = True
                self.dual = dual
                self._best, self._next = response, self._best
            self._v -= self.w
            inner_gap = 0.5 * lam * product(self._v, self._v)  # of the proximal step itself
            near = inner_gap <= self._near * (primal - dual - inner_gap) and dual >= least
            done = self.gap <= level(self.primal) or (mu > 0 and near)
            if done or steps == STEPS or left < LEAST:
                break
            self._v *= -lam
            fresh = not work or sum(work) - len(work) * work[0] > core.rebuild
            if fresh:
                work = []
            core.curve(response, mu, fresh)
            relative = (primal - dual) / max(abs(primal), 1e-300)
            accuracy = ACCURACY
            if mu == 0:
                accuracy = min(0.1, max(1e-3, 0.3 * math.sqrt(max(relative, 0.0))))
            work.append(
                core.solve(self._v, self._step, accuracy, min(200, (left - LEAST) // 2 + 1))
            )
            products += work[-1]
            core.margins(self._step, self._dz)
            t, w, (value, others, loss, conjugate) = self._search(value)
            self.w = w
            if t < 1:
                self._dz *= t
            self._z += self._dz
        if rose:
            problem.copy_alpha(self.alpha, self._best)
        if mu > 0:
            eager = 0.2 if steps <= 4 else 0.4 if steps <= 8 else 1.0
            by_products = isinstance(core, ScalarNewton) and not core.blocked
            if by_products:  # longer steps take more of them
                eager = 0.5 if products <= FEW_PRODUCTS else 1.0
            self._mu *= eager if steps < STEPS else 3.0
        self._failures = 0 if rose or self.gap < 0.99 * before else self._failures + 1

    def _search(self, value: float) -> tuple[float, np.ndarray, tuple[float, float, float, float]]:
        """How far to go along the step: there, w, F, what other examples add, loss and omega.

        F is a quadratic between kinks, which come so close that its least value on the way may be
        far from where the model has it: where the slope there is at hand, that is sought.
        """
        problem, lam, step = self.problem, self.problem.lam, self._step
        first, t, low, high = product(self._v, step), 1.0, 0.0, 1.0
        slope_low, slope_high = first, 0.0
        along, size = product(self.w, step), product(step, step)
        rest = 0.0 if self.rest is None else product(self.rest.sums, step)
        while True:
            smooth, loss, conjugate = self._respond(self._dz, t)
            w = self.w + t * step
            others = 0.0 if self.rest is None else self.rest.loss(w)
            trial = smooth + others + 0.5 * lam * product(w, w)
            falls = trial <= value + 1e-4 * t * first
            if not isinstance(self._next, np.ndarray):
                if falls or t < 1e-8:
                    break
                t *= 0.5
                continue
            slope = lam * (along + t * size) - rest - product(self._next, self._dz) / problem.n
            flat = slope <= LEVEL * -first and (t == 1 or slope >= LEVEL * first)
            if (falls and flat) or high - low < 1e-8:
                break
            if slope < 0 and falls:
                low, slope_low = t, slope
            else:
                high, slope_high = t, max(slope, 0.0)
            part = slope_low / (slope_low - slope_high) if slope_low < slope_high else 0.5
            t = low + min(max(part, 0.1), 0.9) * (high - low)
        return t, w, (trial, others, loss, conjugate)

    def _undecided(self) -> np.ndarray | None:
        """The examples that have moved, and those that may be next; near the solution those that
        are between corners, and next. None for all of them."""
        core, problem = self.core, self.problem
        if self.rest is not None or not (isinstance(core, Newton) and core.shared):
            return None
        leads = core.leads
        self._trims = self.gap <= TRIMMED * self.primal < math.inf and not self._failures
        if self._trims:
            most = int(FEWEST * np.count_nonzero(leads < 0))
        else:
            leads = np.where(core.moved, -1.0, leads)
            most = int(FEW * np.count_nonzero(core.moved))
        if not 0 < most <= MOST_FEW * problem.n:
            return None
        return np.flatnonzero(leads <= np.partition(leads, most)[most])

    def _ascend_few(
        self,
        few: np.ndarray,
        conjugate: float,
        level: Callable[[float], float],
        passes_left: Callable[[], int],
    ) -> None:
        """A proximal step on some of the examples, where the others respond as they do now, and a
        look at all of them; conjugate is the mean of s_i omega of this response."""
        problem, alpha, part = self.problem, self.alpha.take(few), len(few) / self.problem.n
        assert isinstance(problem, VectorProblem)
        # 1/n and lam are those of the whole, up to a factor
        some = replace(
            problem,
            storage=problem.storage.take(few),
            target=np.ascontiguousarray(problem.target[few]),
            weight=None if problem.weight is None else problem.weight[few],
            lam=problem.lam / part,
        )
        core, response, v, before = newton(some, alpha), self._next.take(few), self._v, self.gap
        rest = Rest(
            some.lam * v - some.correlations(response),
            conjugate / part - core.conjugate(response),
        )
        ascent = self._few = Ascent(some, alpha, self.dual / part, core, rest, self.w)
        ascent._mu = self._mu
        ascent.ascend(lambda primal: level(part * primal) / part, passes_left)
        self._accumulated, self._few = self._accumulated + ascent.touched, None
        rose = part * ascent.dual > self.dual
        if rose:
            self._next.put(few, alpha)
            problem.copy_alpha(self.alpha, self._next)
            self.dual = part * ascent.dual
        back, self.w = self.w, ascent.w
        self.core.margins(self.w, self._z)
        self._found = self._respond(None, 0.0)
        primal = self._found[1] + 0.5 * problem.lam * product(self.w, self.w)
        if primal < self.primal:
            self.primal = primal
            np.copyto(self.best_w, self.w)
        if not self._trims or rose or self.gap < 0.99 * before:
            self._mu = ascent._mu
            self._failures = self._failures + 1 if ascent._failures else 0
            return
        self._failures += 1
        self.w, self._found = back, None  # the others have not stayed
        self.core.margins(self.w, self._z)


class SmoothAscent(Steps):
    """Newton's method on P for a smooth loss of one margin, with the dual points that it shows.

    The alpha that attain the losses at w have the gap |grad P(w)|^2 / (2 lam), which falls behind
    P by far where lam is small. Those that follow the tangents along a step p of Newton's method
    belong to w + p, and what is between them is of the fourth order in p.

    Parameters
    ----------
    problem : Problem
        reg is l2.
    alpha : array
        Where to start; overwritten by what is better.
    core : ScalarNewton
        The passes over X.
    """

    def __init__(self, problem: Problem, alpha: Any, core: ScalarNewton) -> None:
        self.problem, self.alpha, self.core = problem, alpha, core
        self.w, self._accumulated, self.dual = np.zeros(core.dim), 0, 0.0
        if alpha.any():
            self.w += problem.correlations(alpha) / problem.lam
            self._accumulated = problem.storage.nnz
            self.dual = -core.conjugate(alpha) - 0.5 * problem.lam * product(self.w, self.w)
        self._thin = False  # whether the preconditioner does with fewer examples
        if not self.w.any() and (found := sampled(problem)):
            self.w, touched, primal = found
            self._accumulated += touched
            # what as many examples to a weight leave to be gained, in the mean and of likelihoods
            self._thin = SAMPLE * problem.d > FAR * problem.n * primal
        self._z, self._dz = (np.zeros(core.entries) for _ in range(2))
        self._at, self._next = (np.zeros(core.entries) for _ in range(2))
        self._step, self._gradient = np.empty(core.dim), np.empty(core.dim)
        if self.w.any():
            core.margins(self.w, self._z)
        self.primal = self._value(self._z, None, 0.0, self.w)
        self._at, self._next = self._next, self._at
        self._work: list[int] = []  # steps of conjugate gradients since H was factorised
        self._failures = 0
        self._looked, self._surplus = False, 0.0  # whether w has been looked at, and what was seen
        self._radius = math.inf  # how far the quadratic model is trusted
        self._look()

    @property
    def best_w(self) -> np.ndarray:
        """The w with the lowest P."""
        return self.w

    @property
    def touched(self) -> int:
        """Nonzeros of X read so far."""
        return self.core.touched + self._accumulated

    def ascend(self, level: Callable[[float], float], passes_left: Callable[[], int]) -> None:
        """One step, for a gap of `level` of the primal."""
        core, lam, before = self.core, self.problem.lam, self.gap
        if not self._looked:
            self._look()
        stale = core.rebuild < CHEAP or sum(self._work) > core.rebuild
        if not self._work or stale or core.thin > self._thin:
            core.prepare(self._thin)
            self._work = []
        wanted = level(self.primal)
        relative = self._surplus / max(abs(self.primal), 1e-300)
        steps = core.solve(
            self._gradient,
            self._step,
            min(LOOSE, max(1e-3, TIGHT * math.sqrt(relative))),
            min(MOST_THIN if core.thin else 200, passes_left() - LEAST + 1),
            2 * LEFT * lam * wanted,
            self._radius,
        )
        self._work.append(steps)
        self._thin = self._thin and steps < MOST_THIN
        core.margins_of_step(self._step, self._dz)
        slope, t = product(self._gradient, self._step), 1.0
        while True:
            w = self.w + t * self._step
            primal = self._value(self._z, self._dz, t, w)
            if primal <= self.primal + 1e-4 * t * slope or t < 1e-8:
                break
            t *= 0.5
        length = math.sqrt(product(self._step, self._step))
        if t < 1:
            self._radius = 2 * t * length
        elif length > 0.9 * self._radius:
            self._radius *= WIDER
        # what the quadratic model has missed tells how far the tangents are off
        missed = primal - self.primal - 0.5 * slope
        if t == 1 and missed * missed / max(-0.5 * slope, TINY) + 0.5 * core.left / lam <= wanted:
            self._follow(w)
        if primal < self.primal:
            self.w, self.primal, self._looked = w, primal, False
            self._z += t * self._dz
            self._at, self._next = self._next, self._at
        if self.gap > wanted:
            self._look()
        self._failures = 0 if self.gap < 0.99 * before else self._failures + 1

    def _value(self, z: np.ndarray, dz: np.ndarray | None, t: float, w: np.ndarray) -> float:
        """P(w) for w with the margins z + t dz, whose responses are kept."""
        loss = self.core.response(z, dz, t, self._next)
        return loss + 0.5 * self.problem.lam * product(w, w)

    def _follow(self, w: np.ndarray) -> None:
        """The dual of what follows the tangents to w."""
        core, lam, found = self.core, self.problem.lam, self._at.copy()
        if core.follow(self._dz, found):
            v = self.problem.correlations(found) / lam
            self._accumulated += self.problem.storage.nnz
        else:
            v = w + np.asarray(core.residual) / lam
        dual = -core.conjugate(found) - 0.5 * lam * product(v, v)
        if dual > self.dual:
            self.dual = dual
            np.copyto(self.alpha, found)

    def _look(self) -> None:
        """The gradient at w, and the dual of the responses."""
        lam, self._looked = self.problem.lam, True
        self.core.look(self._at, self._gradient, SPARED * self.gap)
        np.subtract(lam * self.w, self._gradient, out=self._gradient)
        self._surplus = 0.5 * product(self._gradient, self._gradient) / lam
        if self.primal - self._surplus > self.dual:
            self.dual = self.primal - self._surplus
            np.copyto(self.alpha, self._at)
