"""The problem that was asked for, and the certificate for it."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from . import _spec, _validate
from ._checkpoint import overwrite
from ._core.intercept import balance, fitted
from ._core.map import Map
from ._core.objective import evaluate, feasible
from ._core.regs import L1Map, L2Map
from ._core.rows import Rows
from ._result import NumericalError, Result
from .regularizers import L1, Regularizer

if TYPE_CHECKING:
    from typing_extensions import Self

TINY = float(np.finfo(float).tiny)
PART = 1 << 15  # rows whose margins a certificate keeps at a time
TINIEST = 2.0**-1074  # what an operation may lose to underflow
SIDES = ("auto", "rows", "columns")


def mostly_l1(lam: Any, sigma: Any) -> bool:
    """Whether both are given, and |w|_1 weighs as much as |w|^2 / 2 at the least."""
    return isinstance(lam, Real) and isinstance(sigma, Real) and sigma >= lam


def in_doubt(loss: Any, reg: Regularizer) -> str:
    """What to add to advice, where formulas are not ours."""
    checks = [
        f"proxsdca.testing.{check} looks for mistakes in {part.name!r}"
        for check, part, own in (
            ("check_loss", loss, getattr(loss, "foreign", False)),
            ("check_regularizer", reg, type(reg).value is not Regularizer.value),
        )
        if own
    ]
    return f"; {', '.join(checks)}" if checks else ""


def empty(*shape: int) -> np.ndarray:
    """An array of that shape."""
    return np.empty(shape)


def point_state(point: Any) -> Any:
    """What `restored` makes the same point of, to the last bit: an array, or a Duals' state."""
    return point if isinstance(point, np.ndarray) else point.state()


def restored(point: Any, state: Any) -> Any:
    """The point, overwritten by what a state says."""
    if isinstance(point, np.ndarray):
        overwrite(point, state)
    else:
        point.restore(state)
    return point


class Certificate(NamedTuple):
    """What is known of a pair (w, alpha): P(w) - min P <= gap + rounding.

    Attributes
    ----------
    primal : float
        P(w), recomputed from the data.
    dual : float
        D(alpha), recomputed from the data.
    gap : float
        primal - dual, as computed: neither carried over nor clamped.
    rounding : float
        A bound on the floating-point error of the gap.
    """

    primal: float
    dual: float
    gap: float
    rounding: float


class Evaluation(NamedTuple):
    """P(w) and D(alpha), each with a bound on its rounding error.

    alpha is `shrink` times the one that was to be evaluated, and w has the given intercepts.
    """

    primal: float
    dual: float
    error_primal: float
    error_dual: float
    shrink: float
    alpha: Any
    intercept: Any = ()

    @property
    def certificate(self) -> Certificate:
        rounding = self.error_primal + self.error_dual
        return Certificate(self.primal, self.dual, self.primal - self.dual, rounding)


class Room(NamedTuple):
    """Arrays that an evaluation writes to; `_core.objective` says what."""

    touched: np.ndarray
    sums: np.ndarray
    visited: np.ndarray


@dataclass(frozen=True)
class Problem:
    """P(w) = 1/n sum_i s_i phi(x_i^T w; y_i) + lam g(w), ready for the core.

    `storage` has the rows of X, or, where `by_columns`, its columns. For reg = l1 it is
    P(w) = mean loss + sigma |w|_1, and lam is 1.

    With `free` intercepts, one or one for each class, the margins are x_i^T w + beta, and beta has
    no penalty; the arrays that stand for w have beta after it. Then D has the constraint that alpha
    adds up to 0.
    """

    storage: Rows
    by_columns: bool
    target: np.ndarray
    weight: np.ndarray | None
    classes: np.ndarray | None
    loss: Any
    reg: Regularizer
    map: Map
    lam: float
    sigma: float
    free: int = 0
    below: float = 0.0  # how far the mean loss may lie below 0

    @classmethod
    def from_arguments(
        cls,
        X: Any,
        y: Any,
        loss: Any,
        reg: Any,
        lam: Any,
        sigma: Any,
        sample_weight: Any,
        side: str = "rows",
        plain: bool = True,
        fit_intercept: bool = False,
        sets: bool = False,
    ) -> Problem:
        """Validate what describes the problem; the defaults of side, lam and sigma are set here.

        `plain` says whether the run asks for nothing that only the row side has, `sets` whether
        working sets of columns may be used.
        """
        sets = sets and mostly_l1(lam, sigma)
        problem, total = cls.shared(
            X, y, _spec.loss(loss), reg, sample_weight, side, plain, fit_intercept, sets
        )
        if problem.free:
            _validate.bounded_intercept(
                problem.loss, problem.target, problem.weight, problem.classes
            )
        return problem.weighed(lam, sigma, total)

    @classmethod
    def shared(
        cls,
        X: Any,
        y: Any,
        loss: Any,
        reg: Any,
        sample_weight: Any,
        side: str = "rows",
        plain: bool = True,
        fit_intercept: bool = False,
        sets: bool = False,
    ) -> tuple[Self, float]:
        """The problem without lam and sigma, and sum(sample_weight)."""
        reg = _spec.reg(reg)
        side = _spec.side(_validate.choice("side", side, SIDES), loss, reg, plain, sets)
        storage = _validate.rows(X, side == "columns")
        n = storage.d if side == "columns" else storage.n
        target, classes = _validate.targets(y, n, loss)
        if classes is not None:
            classes.flags.writeable = False
        weight, total = _validate.sample_weight(sample_weight, n)
        below = 0.0
        if loss.foreign:
            below = _validate.own_loss(loss, target, weight, isinstance(reg, L1))
        free = int(_validate.flag("fit_intercept", fit_intercept))
        problem = cls(
            storage, side == "columns", target, weight, classes, loss, reg, L2Map(), 1.0, 0.0, free,
            below,
        )  # fmt: skip
        return problem, total

    def weighed(self, lam: Any, sigma: Any, total: float) -> Self:
        """With the given lam and sigma, or their defaults; total is sum(sample_weight)."""
        reg = self.reg
        lam = _lam(lam, total, self.n, reg)
        if sigma is not None and not reg.has_sigma:
            raise ValueError(f"sigma = {sigma!r}: reg = {reg.name!r} has no sigma")
        if sigma is not None:
            sigma = _validate.nonnegative("sigma", sigma)
        elif reg.has_sigma:
            sigma = reg.default_sigma(lam, self.sigma_max)
        else:
            sigma = 0.0
        return self.at(lam, sigma)

    def at(self, lam: float, sigma: float) -> Self:
        """The same problem with another lam and sigma."""
        map = self.reg.map(lam, sigma, *self.shape)
        if isinstance(map, L1Map):
            map.below = self.below
        found = copy(self)
        vars(found).update(lam=lam, sigma=sigma, map=map)  # as `replace`, which takes much longer
        return found

    @property
    def n(self) -> int:
        """The number of rows of X."""
        return self.storage.d if self.by_columns else self.storage.n

    @property
    def d(self) -> int:
        """The number of weights in w: of columns of X."""
        return self.storage.n if self.by_columns else self.storage.d

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of w."""
        return (self.d,)

    @property
    def length(self) -> int:
        """The length of the arrays that stand for w, with the intercepts at the end."""
        return self.d + self.free

    @property
    def visits(self) -> int:
        """How many coordinates the loop can visit."""
        return self.storage.n

    @property
    def work(self) -> int:
        """How many numbers an epoch reads or changes."""
        return self.storage.nnz

    @property
    def nnz(self) -> int:
        """What a pass over the data counts as, in `touched`."""
        return self.storage.nnz

    @property
    def proves(self) -> bool:
        """Whether a gap bounds the suboptimality."""
        return True

    def fingerprint(self) -> object:
        """What changes, almost surely, with the data."""
        return self.storage.fingerprint()

    @property
    def exact(self) -> bool:
        """Whether Option I exists."""
        return True

    @property
    def best_option(self) -> str:
        """The step option that is the fastest."""
        return "I"

    def room(self, make: Callable[..., np.ndarray] = empty) -> Room:
        """Arrays for `evaluate`."""
        storage = self.storage
        free = 0 if self.by_columns else self.free
        # margins are all kept only for an intercept that is to be fitted to them
        kept = storage.n if self.by_columns or free else min(storage.n, PART)
        return Room(make(storage.d + free), make(storage.d, 3), make(3, kept))

    # A dual point, as the loop and the certificate have it: here a vector of length n.

    def zero_alpha(self, make: Callable[[int], np.ndarray] = np.zeros) -> Any:
        """alpha = 0."""
        return make(self.n)

    def copy_alpha(self, to: Any, alpha: Any) -> None:
        """Overwrite one dual point with another."""
        np.copyto(to, alpha)

    def read_alpha(self, name: str, given: Any) -> Any:
        """A dual point from outside; where it is shorter than n, 0 for the rows after it."""
        return self.feasible(name, _validate.prefix(name, given, self.n))

    def exact_alpha(self, name: str, given: Any) -> Any:
        """A dual point from outside, of the whole length."""
        return _validate.vector(name, given, self.n)

    def into_domain(self, alpha: Any) -> None:
        """Put an average of dual points back into the domain, where a rounding left it."""
        s = 1.0 if self.weight is None else self.weight
        with np.errstate(invalid="ignore"):  # 0 times infinity: alpha_i = 0 there anyway
            lower, upper = (
                np.nan_to_num(s * e, nan=0.0, posinf=np.inf, neginf=-np.inf)
                for e in self.loss.domain(self.target)
            )
        np.clip(alpha, lower, upper, out=alpha)

    def balanced(self, alpha: Any) -> Any:
        """An alpha nearby that adds up to 0 exactly, in the domain."""
        out = np.empty(self.n)
        balance(self.loss, self.target, self.weight, alpha, out)
        self.raise_failure()
        return out

    def exactly_balanced(self, name: str, alpha: Any) -> Any:
        """An alpha from outside that adds up to 0 but for roundings, made to do so exactly."""
        alpha = self.feasible(name, np.array(alpha))
        return self._near_balance(name, alpha, float(np.abs(alpha).sum()))

    def _near_balance(self, name: str, alpha: Any, size: float) -> Any:
        sums = self.dual_sums(alpha)
        j = int(np.abs(sums).argmax())
        if abs(sums[j]) > 1e-6 * size:
            place = f"{name}[:, {j}]" if len(sums) > 1 else name
            raise ValueError(
                f"{place} adds up to {float(sums[j])!r}: 0 is needed where there is an intercept"
            )
        return self.balanced(alpha)

    def shown(self, w: np.ndarray, alpha: Any) -> tuple[np.ndarray, Any, Any]:
        """w, alpha and the intercept as the user sees them, read-only."""
        intercept = float(w[self.d]) if self.free else 0.0
        w = w[: self.d]
        for array in (w, alpha):
            array.flags.writeable = False
        return w, alpha, intercept

    def norms_sq(self, map: Map) -> np.ndarray:
        """|X_i|^2 in the norm of the map, for everything that is visited."""
        return self.storage.norms_sq(map)

    def evaluate(
        self,
        w: np.ndarray,
        alpha: Any,
        room: Room,
        rescale: bool = False,
        slack: float = -1.0,
    ) -> Evaluation:
        """Recompute P(w) and D(alpha) from the data; where allowed, D(c alpha) if it is larger.

        With an intercept alpha has to add up to 0 exactly. Where slack is not negative, beta is
        replaced by one with which P is at most so much above the least.
        """
        if self.weight is not None and not self.free:
            alpha = self.feasible("alpha", alpha)
        touched = room.touched if self.by_columns else room.touched[: self.d]
        beta = float(w[self.d]) if self.free else 0.0
        slack = slack if self.free else -1.0
        problem = (
            self.storage, self.by_columns, self.loss, self.map, self.target, self.weight,
            w[: self.d],
        )  # fmt: skip
        others = (touched, room.sums, room.visited, self.lam)
        # formulas that are not ours may have cleared the flag of an underflow
        eta = TINIEST if self.loss.foreign or self.map.foreign else 0.0
        found: list[Any]
        *found, infeasible, failed, underflow = evaluate(
            *problem, alpha, *others, rescale, beta, slack, eta
        )
        self.raise_failure(f"example {failed}" if failed >= 0 else "")
        if infeasible >= 0:
            self._refuse("alpha", alpha, infeasible)
        shrink, scaled, beta = found[4:]
        if self.free and shrink != 1:  # c alpha is rounded, and has to add up to 0 again
            scaled = self.balanced(scaled)
            *found, _, _, underflow = evaluate(*problem, scaled, *others, False, beta, -1.0, eta)
        if underflow and not eta:  # rare, and then the bounds must allow for it
            again = scaled if self.free else alpha
            rescale = rescale and not self.free
            *found, _, _, _ = evaluate(*problem, again, *others, rescale, beta, -1.0, TINIEST)
            shrink = shrink if self.free else found[4]
        self.raise_failure()
        primal, dual, error_primal, error_dual = found[:4]
        free = (beta,) if self.free else ()
        return self.consistent(
            Evaluation(primal, dual, error_primal, error_dual, shrink, found[5], free)
        )

    def consistent(self, found: Evaluation) -> Evaluation:
        """Refuse what weak duality rules out: P(w) < D(alpha), for formulas that are not ours.

        A little less shows that their roundings are larger than was supposed. Where the formulas do
        not fit together, the bound on roundings is large too, and says nothing.
        """
        c = found.certificate
        if not c.gap < -min(c.rounding, 1e-6) or not self.doubt:
            return found
        if -c.gap <= 1e-9 * (abs(c.primal) + abs(c.dual)):
            excess = max(0.0, -c.gap - c.rounding)
            return found._replace(error_dual=found.error_dual + 2 * excess)
        raise ValueError(
            f"P(w) = {c.primal!r} is less than D(alpha) = {c.dual!r}, which cannot be: formulas "
            f"contradict each other{self.doubt}"
        )

    @property
    def doubt(self) -> str:
        """What to add to advice, where formulas are not ours."""
        return in_doubt(self.loss, self.reg)

    def raise_failure(self, place: str = "") -> None:
        """Raise what a formula that is not ours has raised while the core was calling it."""
        if getattr(self.loss, "foreign", False):
            self.loss._raise_failure(place)
        if self.map.foreign:
            self.map._raise_failure(place)

    def at_zero(self, w: np.ndarray, alpha: Any, room: Room) -> Evaluation:
        """The evaluation of w = 0 and alpha = 0, where nothing else is known."""
        return self.evaluate(w, alpha, room)

    def result(self, fields: dict[str, Any]) -> Result:
        """What a run has reached, as the user sees it."""
        return Result(**fields)

    def feasible(self, name: str, alpha: np.ndarray) -> np.ndarray:
        """alpha inside the domain of phi*: itself without weights; refused where it is outside."""
        inside = alpha if self.weight is None else np.empty_like(alpha)
        i = feasible(self.loss, self.target, self.weight, alpha, inside)
        self.raise_failure(f"example {i}" if i >= 0 else "")
        if i >= 0:
            self._refuse(name, alpha, i)
        return inside

    def _refuse(self, name: str, alpha: np.ndarray, i: int) -> NoReturn:
        s = 1.0 if self.weight is None else float(self.weight[i])
        lower, upper = (float(s * e) if s else 0.0 for e in self.loss.domain(self.target[i]))
        raise ValueError(
            f"{name}[{i}] = {float(alpha[i])!r} is outside the domain [{lower!r}, {upper!r}] "
            f"of phi* for loss {self.loss.name!r}"
        )

    def check_finite(self, certificate: Certificate) -> Certificate:
        """Refuse a certificate that says nothing, because a number overflowed."""
        if all(map(math.isfinite, certificate)):
            return certificate
        if self.map.foreign and certificate.primal == np.inf:
            raise ValueError(
                f"P(w) is infinite: w lies outside the domain of reg {self.reg.name!r}"
            )
        norms = self.storage.norms_sq(L2Map())
        i = int(norms.argmax())
        raise NumericalError(
            f"P(w) = {certificate.primal!r}, D(alpha) = {certificate.dual!r}, "
            f"rounding = {certificate.rounding!r}: the objective overflows; the largest "
            f"{'column' if self.by_columns else 'row'} is {i}, |x_i| = {norms[i] ** 0.5:.3g}. "
            f"Rescale X or y, or take another lam or sigma{self.doubt}"
        )

    def alpha_at_zero(self) -> Any:
        """alpha_i = -s_i phi'(0), which belongs to w = 0; with an intercept, -s_i phi'(beta) for
        the model that has only that, and adds up to 0."""
        s = 1.0 if self.weight is None else self.weight
        if not self.free:
            alpha: np.ndarray = -s * self.loss.subgradient(np.zeros(self.n), self.target)
            return alpha
        beta = self.intercept_only()
        h = 1e-9 * max(1.0, abs(beta))
        # at a kink, what lies between the slopes on either side
        low, high = (
            -s * self.loss.subgradient(np.full(self.n, z), self.target)
            for z in (beta + h, beta - h)
        )
        total = low.sum(), high.sum()
        t = total[0] / (total[0] - total[1]) if total[1] > total[0] else 0.0
        found: np.ndarray = self.balanced(low + min(max(t, 0.0), 1.0) * (high - low))
        return found

    def dual_sums(self, alpha: Any) -> np.ndarray:
        """sum_i alpha_i, of each class where there are several; for decisions."""
        return np.array([float(alpha.sum())])

    def start_intercept(self) -> np.ndarray:
        """The intercepts to start from."""
        return np.array([self.intercept_only()])

    def read_intercept(self, name: str, given: Any) -> np.ndarray:
        """Intercepts from outside."""
        given = np.full(self.free, given) if np.ndim(given) == 0 else given
        return np.array(_validate.vector(name, given, self.free))

    def intercept_only(self) -> float:
        """The best beta where w = 0."""
        beta = fitted(self.loss, self.target, self.weight, np.zeros(self.n), 0.0)
        self.raise_failure()
        return beta

    def correlations(self, alpha: Any) -> np.ndarray:
        """1/n sum_i x_i alpha_i."""
        product = self.storage.matvec if self.by_columns else self.storage.rmatvec
        return product(alpha) / self.n

    def margins(self, w: np.ndarray) -> np.ndarray:
        """X w, with the intercept."""
        product = self.storage.rmatvec if self.by_columns else self.storage.matvec
        z: np.ndarray = product(w[: self.d])
        return z + w[self.d] if self.free else z

    def mean_loss(self, z: np.ndarray) -> float:
        """1/n sum_i s_i phi(z_i); for decisions, not for certificates."""
        return float(np.average(self.loss.value(z, self.target), weights=self.weight))

    def check_bound(self, w: np.ndarray, alpha: np.ndarray) -> None:
        """Refuse a B that (w, alpha) proves too small, with the best multiple of w."""
        if not isinstance(self.reg, L1) or self.reg.B is None:
            return
        s = np.ones(self.n) if self.weight is None else self.weight
        b = np.divide(alpha, s, out=np.zeros(self.n), where=s > 0)
        conjugates = np.average(self.loss.conjugate(-b, self.target), weights=s)
        z = self.margins(w)
        size = np.abs(w[: self.d])
        penalty = self.sigma * float(self.reg.penalty(0.0, 1.0, 1, self.d)[1] @ size)
        primal = min(self.mean_loss(t * z) + t * penalty for t in 2.0 ** np.arange(24))
        if self.reg.refuted(self.correlations(alpha), float(conjugates), primal, self.sigma):
            raise ValueError(
                f"B = {self.reg.B!r}: an iterate proves |w*|_1 to be larger; "
                f"B = {float(self.reg.proven(primal, self.sigma, self.d))!r} holds"
            )

    def sigma_max(self) -> float:
        """From this sigma on, w = 0 is a solution."""
        return self.reg.largest(self.correlations(self.alpha_at_zero()), *self.shape[1:])


def _lam(lam: Any, total: float, n: int, reg: Regularizer) -> float:
    """The lam that was given, or its default."""
    if isinstance(reg, L1):
        if lam is not None:
            raise ValueError(
                f"lam = {lam!r}: reg = 'l1' is sigma |w|_1 alone and has no lam; "
                "reg = 'l1l2' has both"
            )
        return 1.0
    if lam is None:
        if not 1e-300 < total < 1e300:
            raise ValueError(
                f"sum(sample_weight) = {total!r}: lam = 1 / sum(sample_weight) needs a sum "
                "between 1e-300 and 1e300; rescale the weights or give lam"
            )
        lam = 1 / total
    checked = _validate.positive("lam", lam)
    if not 1e-290 < checked * n < 1e290:
        raise ValueError(f"lam = {lam!r}: 1e-290 < lam n < 1e290 is needed, n = {n}")
    return checked
