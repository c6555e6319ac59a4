"""The problem for vector-valued losses: phi_i on R^k, X_i in R^(d x k)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from . import _spec, _validate
from ._core.block_objective import accumulate, at_zero, evaluate_blocks
from ._core.duals import CompactDuals, DenseDuals, Duals
from ._core.intercept import flows, reduce_flows, scale_flows
from ._core.map import Map
from ._core.regs import L2Map
from ._problem import SIDES, TINIEST, TINY, Evaluation, Problem, Room, empty
from .losses import VectorLoss
from .regularizers import L1

WIDEST = 200  # rows of an example, up to which its Gram matrix is worth its size


@dataclass(frozen=True)
class VectorProblem(Problem):
    """P(w) = 1/n sum_i s_i phi(X_i^T w; y_i) + lam g(w), ready for the core.

    Where x_i serves all k classes, w is (d, k), flattened, and the storage has a row for each
    example. Else k is 0, w is (d,), and the rows offsets[i] to offsets[i + 1] of the storage are
    the columns of X_i.
    """

    k: int = 0
    offsets: np.ndarray | None = None
    delta: np.ndarray | None = None  # the costs, as the core wants them

    @classmethod
    def from_arguments(  # type: ignore[override]
        cls,
        X: Any,
        y: Any,
        loss: VectorLoss,
        reg: Any,
        lam: Any,
        sigma: Any,
        sample_weight: Any,
        side: str = "rows",
        offsets: Any = None,
        fit_intercept: bool = False,
    ) -> VectorProblem:
        """Validate what describes the problem; the defaults of lam and sigma are set here."""
        reg = _spec.reg(reg)
        if isinstance(reg, L1):
            raise ValueError(
                f"reg = 'l1': loss {loss.name!r} needs a strongly convex regulariser; "
                "reg = 'l1l2' with a small lam is near to it"
            )
        if _validate.choice("side", side, SIDES) == "columns":
            raise ValueError(f"side = 'columns': loss {loss.name!r} is solved by rows only")
        storage = _validate.rows(X)
        if offsets is None:
            target, classes = _validate.class_targets(y, storage.n, loss)
            n, k = storage.n, len(classes)
            classes.flags.writeable = False
        else:
            offsets = _validate.offsets(offsets, storage.n)
            target, classes = _validate.choices(y, offsets, loss), None
            n, k = len(offsets) - 1, 0
        cost = getattr(loss, "cost", None)
        delta = None if cost is None else _validate.costs(cost, k, target, offsets)
        weight, total = _validate.sample_weight(sample_weight, n, "there are {} examples")
        free = k if _validate.flag("fit_intercept", fit_intercept) else 0
        if fit_intercept and not k:
            raise ValueError(
                "fit_intercept = True: with offsets it would add the same to all rows of an "
                "example, and change nothing"
            )
        if free and classes is not None and not loss.sparse:
            _validate.weighted_classes(loss, target, weight, classes)
        return cls(
            storage, False, target, weight, classes, loss, reg, L2Map(), 1.0, 0.0, free, k=k,
            offsets=offsets, delta=delta,
        ).weighed(lam, sigma, total)  # fmt: skip

    @property
    def n(self) -> int:
        return len(self.target)

    @property
    def d(self) -> int:
        return self.storage.d * (self.k or 1)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.storage.d, self.k) if self.k else (self.storage.d,)

    @property
    def visits(self) -> int:
        return self.n

    @property
    def work(self) -> int:
        if self.offsets is None:
            return self.storage.nnz * self.k
        # Option I has a Gram matrix of each example, and steps on it
        sizes = np.diff(self.offsets)
        pairs = int(np.sum(np.minimum(sizes, WIDEST).astype(float) ** 2))
        return self.storage.nnz + pairs * (10 + self.storage.nnz // self.storage.n)

    @property
    def exact(self) -> bool:
        return self.offsets is None or (
            self.reg.euclidean and int(np.diff(self.offsets).max()) <= WIDEST
        )

    @property
    def best_option(self) -> str:
        # line searches towards a corner are slow in the end, those inside the simplex are not
        return "I" if self.offsets is None or (self.exact and self.loss.sparse) else "II"

    def room(self, make: Callable[..., np.ndarray] = empty) -> Room:
        return Room(make(self.length), make(self.d, 3), make(3, 1))

    def zero_alpha(self, make: Any = None) -> Duals:
        compact = self.loss.sparse and self.k
        return (CompactDuals if compact else DenseDuals)(self.target, self.k, self.offsets)

    def copy_alpha(self, to: Duals, alpha: Duals) -> None:
        to.assign(alpha)

    def read_alpha(self, name: str, given: Any, whole: bool = False) -> Duals:
        alpha = self.zero_alpha()
        if self.offsets is None:
            bad = alpha.load(_validate.dual_rows(name, given, self.n, self.k, whole), self.weight)
        else:
            stacked = _validate.stacked(name, given, self.offsets, whole)
            bad = alpha.load_flat(stacked, self.weight)
        if bad:
            i, j, value, reason = bad
            place = f"{i}, {j}" if self.offsets is None else f"{int(self.offsets[i]) + j}"
            raise ValueError(f"{name}[{place}] = {value!r}: {reason}")
        return alpha

    def exact_alpha(self, name: str, given: Any) -> Duals:
        return self.read_alpha(name, given, whole=True)

    def into_domain(self, alpha: Duals) -> None:
        """Nothing to do: the certificate allows for roundings."""

    def balanced(self, alpha: Duals) -> Duals:
        out = alpha.like()
        out.assign(alpha)
        h = scale_flows(out, self.weight, _potentials(self._flows(out)))
        mass = self._flows(out)
        reduce_flows(out, h, mass.copy(), _cuts(mass))
        return out

    def exactly_balanced(self, name: str, alpha: Duals) -> Duals:
        balanced: Duals = self._near_balance(name, alpha, float(self._flows(alpha).sum()))
        return balanced

    def _flows(self, alpha: Duals) -> np.ndarray:
        """The mass that flows from class j, by columns, to class y."""
        mass = np.empty((self.k, self.k))
        flows(alpha, mass)
        return mass

    def dual_sums(self, alpha: Duals) -> np.ndarray:
        return _excess(self._flows(alpha))

    def start_intercept(self) -> np.ndarray:
        if self.loss.sparse:
            return np.zeros(self.k)
        share = np.bincount(self.target, self.weight, self.k)
        beta: np.ndarray = np.log(share / share.sum())
        beta -= beta.mean()
        return beta

    def shown(self, w: np.ndarray, alpha: Duals) -> tuple[np.ndarray, Any, Any]:
        intercept: Any = 0.0
        if self.free:  # the same for all classes changes nothing
            intercept = w[self.d :] - w[self.d :].mean()
            intercept.flags.writeable = False
        w = w[: self.d].reshape(self.shape)
        array: Any = alpha.export(bool(self.loss.sparse and self.k))
        compressed = isinstance(array, sparse.csr_array)
        parts = (array.data, array.indices, array.indptr) if compressed else (array,)
        for part in (w, *parts):
            part.flags.writeable = False
        return w, array, intercept

    def norms_sq(self, map: Map) -> np.ndarray:
        # rounded up to 30 bits, so that the order in which another storage sums does not show
        mantissa, exponent = np.frexp(self.storage.norms_sq(map))
        norms: np.ndarray = np.ldexp(np.ceil(mantissa * 2**30) / 2**30, exponent)
        return norms if self.offsets is None else np.maximum.reduceat(norms, self.offsets[:-1])

    def zero_examples(self, norms: np.ndarray) -> np.ndarray:
        """Which examples have no entry other than 0; only those of norm 0 are looked at."""
        if self.offsets is None:
            return self.storage.zero_rows(norms)
        zero = self.storage.zero_rows(np.repeat(norms, np.diff(self.offsets)))
        return np.logical_and.reduceat(zero, self.offsets[:-1])

    def evaluate(
        self,
        w: np.ndarray,
        alpha: Duals,
        room: Room,
        rescale: bool = False,
        slack: float = -1.0,
    ) -> Evaluation:
        d = self.d
        arguments = (
            self.storage, self.loss, self.map, self.delta, self.weight, w[:d], alpha,
            room.touched[:d], room.sums, self.lam, w[d:] if self.free else None,
        )  # fmt: skip
        # formulas that are not ours may have cleared the flag of an underflow
        eta = TINIEST if self.map.foreign else 0.0
        found: list[Any]
        *found, infeasible, underflow = evaluate_blocks(*arguments, eta)
        self.raise_failure()
        if infeasible >= 0:
            s = 1.0 if self.weight is None else float(self.weight[infeasible])
            raise ValueError(
                f"alpha of example {infeasible} is outside the domain of phi* for loss "
                f"{self.loss.name!r}: the entry of its target must be at most {s!r}"
            )
        if underflow and not eta:  # rare, and then the bounds must allow for it
            *found, _, _ = evaluate_blocks(*arguments, TINIEST)
        primal, dual, error_primal, error_dual = found
        return self.consistent(
            Evaluation(primal, dual, error_primal, error_dual, 1.0, alpha, w[d:])
        )

    def alpha_at_zero(self) -> Any:
        alpha = self.zero_alpha()
        if not self.free:
            at_zero(self.loss, self.delta, self.weight, alpha)
            return alpha
        # all examples of a class are alike, so that their masses are in proportion to s_i
        share = np.bincount(self.target, self.weight, self.k)
        if self.loss.sparse:
            flow = _largest_flow(self.loss.cost, share)
        else:
            flow = np.outer(share, share) / share.sum()
        each = flow / np.maximum(share, TINY)[:, None]
        s = np.ones(self.n) if self.weight is None else self.weight
        rows = -s[:, None] * each[self.target]
        rows[np.arange(self.n), self.target] = 0
        rows[np.arange(self.n), self.target] = -rows.sum(axis=1)
        return self.balanced(self.read_alpha("alpha", rows))

    def correlations(self, alpha: Duals) -> np.ndarray:
        u = np.empty(self.d)
        accumulate(self.storage, alpha, u)
        return u / self.n


def _excess(flow: np.ndarray) -> np.ndarray:
    """What arrives at each class less what leaves it: sum_i alpha_i."""
    over: np.ndarray = flow.sum(axis=1) - flow.sum(axis=0)
    return over


def _potentials(mass: np.ndarray) -> np.ndarray:
    """p with which the flows F_yj (1 - (p_y - p_j)) have as much arriving as leaving: it solves a
    Laplacian system with weights F + F^T. Beyond WIDEST classes, 0."""
    k = len(mass)
    p: np.ndarray = np.zeros(k)
    both = mass + mass.T
    total = both.sum(axis=1)
    if k > WIDEST or not total.any():
        return p
    over = _excess(mass)
    # constants, for classes that flows connect, are its null space
    laplacian = np.diag(total + 1e-9 * total.mean()) - both
    p = np.linalg.solve(laplacian, over)
    return p


def _cuts(flow: np.ndarray) -> np.ndarray:
    """What to take away from each flow[y, j], from class j to class y, so that as much arrives at
    every class as leaves it. All numbers are multiples of one, so that the sums are exact.

    Where more arrives at y than leaves it, some flow from a j to y is cut, which passes the excess
    on to j. Going on like that must lead to a class that more leaves than arrives at, as flows that
    only ever pass it on would be balanced; the shortest such way is taken. `flow` is overwritten.
    """
    cut = np.zeros_like(flow)
    over = _excess(flow)

    def take(steps: list[tuple[int, int]], begin: int, end: int) -> None:
        amount = min(over[begin], -over[end], *(flow[step] for step in steps))
        for step in steps:
            flow[step] -= amount
            cut[step] += amount
        over[begin] -= amount
        over[end] += amount

    for y in np.flatnonzero(over > 0).tolist():  # ways of one step, which are most of them
        for j in np.flatnonzero((flow[y] > 0) & (over < 0)).tolist():
            if over[y] > 0:
                take([(y, j)], y, j)
    while over[begin := int(over.argmax())] > 0:
        before = {begin: -1}
        queue = deque(before)
        end = -1
        while end < 0:
            y = queue.popleft()
            for j in np.flatnonzero(flow[y] > 0).tolist():
                if j not in before:
                    before[j] = y
                    queue.append(j)
                    if over[j] < 0:
                        end = j
                        break
        way = [end]
        while before[way[-1]] >= 0:
            way.append(before[way[-1]])
        take(list(zip(way[1:], way[:-1], strict=True)), begin, end)
    return cut


def _largest_flow(cost: Any, share: np.ndarray) -> np.ndarray:
    """The dual of the hinge's intercept-only model: flows between classes of the largest cost, with
    as much arriving as leaving, and at most the share of each class arriving."""
    from scipy.optimize import linprog

    k = len(share)
    delta = 1.0 - np.eye(k) if cost is None else np.asarray(cost, float).T.copy()
    np.fill_diagonal(delta, 0.0)
    columns = np.arange(k * k)
    y, j = columns // k, columns % k
    ones = np.ones(k * k)
    arrives = sparse.csr_array((ones, (y, columns)), shape=(k, k * k))
    leaves = sparse.csr_array((ones, (j, columns)), shape=(k, k * k))
    scale = share.sum()
    found: Any = linprog(
        -delta.ravel(), arrives, share / scale, arrives - leaves, np.zeros(k),  # type: ignore[call-overload]
        bounds=(0, None),
    )  # fmt: skip
    flow: np.ndarray = found.x.reshape(k, k) * scale
    np.fill_diagonal(flow, 0.0)
    return flow


def problem_of(
    X: Any,
    y: Any,
    loss: Any,
    reg: Any,
    lam: Any,
    sigma: Any,
    sample_weight: Any,
    side: str = "rows",
    plain: bool = True,
    offsets: Any = None,
    fit_intercept: bool = False,
    sets: bool = False,
) -> Problem:
    """The problem that the arguments describe, for either kind of loss."""
    loss = _spec.loss(loss)
    if isinstance(loss, VectorLoss):
        return VectorProblem.from_arguments(
            X, y, loss, reg, lam, sigma, sample_weight, side, offsets, fit_intercept
        )
    if offsets is not None:
        raise ValueError(
            f"offsets: loss {loss.name!r} is one of a single margin; 'multiclass_hinge' and "
            "'softmax' take several rows for each example"
        )
    return Problem.from_arguments(
        X, y, loss, reg, lam, sigma, sample_weight, side, plain, fit_intercept, sets
    )
