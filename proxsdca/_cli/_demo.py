"""`proxsdca demo`."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .. import io, theory
from .._solve import certify, solve
from ..losses import LOSSES
from ._arguments import count, picture, seed
from ._pictures import NO_PICTURE, save_picture
from ._results import weights

if TYPE_CHECKING:
    from .._result import Check, Result

TOL = 1e-6
WORDS = 60  # nonzeros a row, about
PROBLEMS = (
    ("hinge", "l2"),
    ("hinge", "l1l2"),
    ("logistic", "l1l2"),
    ("squared", "l1l2"),
    ("huber", "l2"),
    ("squared", "l1"),
)
TRAIN, TEST = "demo-train.svm", "demo-test.svm"
CHECKED = 1  # whose P and D are recomputed in plain NumPy
TABLE = "{:<16} {:>9} {:>9} {:>7} {:>8} {:>8} {:>9}  {}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=count, metavar="N", help="by default 20,000")
    parser.add_argument("--columns", type=count, metavar="D", help="by default 50,000")
    parser.add_argument("--seed", type=seed, default=0, metavar="S", help="by default 0")
    parser.add_argument(
        "--output",
        type=picture,
        default=Path("proxsdca-demo.png"),
        metavar="PATH.png",
        help="where the picture goes; by default %(default)s",
    )
    parser.add_argument(
        "--files",
        action="store_true",
        help=f"only write the rows, with labels, to {TRAIN} and {TEST} (a tenth of them)",
    )
    parser.add_argument("--quick", action="store_true", help="by default only 2,000 x 5,000")


def demo(arguments: argparse.Namespace) -> int:
    """Solve a sparse problem of real size for a few losses and regularisers, with proof."""
    n = arguments.rows or (2_000 if arguments.quick else 20_000)
    d = arguments.columns or (5_000 if arguments.quick else 50_000)
    X, labels, values = _documents(n, d, arguments.seed)
    if arguments.files:
        return _write_files(X, labels)
    print(f"{n:,} rows, {d:,} columns, {X.nnz:,} nonzeros; a relative gap of {TOL:g} is wanted\n")

    solved = []
    with _bar(len(PROBLEMS)) as report:
        for loss, reg in PROBLEMS:
            y = labels if LOSSES[loss]().classification else values
            solved.append((y, _solve(X, y, loss, reg, arguments.seed, report)))
    results = [result for _, result in solved]
    names = ("loss + reg", "gap", "relative", "epochs", "promised", "seconds", "nonzeros", "status")
    print(TABLE.format(*names))
    for y, r in solved:
        print(_row(r, _promised(X, y, r)))
    print("promised: epochs after which the theorems have the expected gap down there")

    drawn = save_picture(arguments.output, results)
    print(f"\n{'convergence drawn in ' + str(arguments.output) if drawn else NO_PICTURE}")
    return 0 if _certified(X, solved) and _recomputed(X, *solved[CHECKED]) else 1


def _write_files(X: Any, labels: np.ndarray) -> int:
    """Something to try the other commands on."""
    split = len(labels) - len(labels) // 10
    for name, part in ((TRAIN, slice(None, split)), (TEST, slice(split, None))):
        io.write(name, X[part], labels[part])
        print(f"{len(labels[part]):,} rows in {name}")
    return 0


def _documents(n: int, d: int, seed: int) -> tuple[Any, np.ndarray, np.ndarray]:
    """Rows of weighted words, which follow Zipf's law; labels and values a sparse model explains.

    Parameters
    ----------
    n, d : int
        How many rows and columns.
    seed : int

    Returns
    -------
    X : (n, d) csr_array
        Rows of norm 1.
    labels : (n,) array of -1 and +1
    values : (n,) array
    """
    rng = np.random.default_rng(seed)
    frequency = np.cumsum(1 / np.arange(10.0, d + 10.0))
    lengths = rng.integers(WORDS // 2, 3 * WORDS // 2, size=n, endpoint=True)
    words = np.searchsorted(frequency / frequency[-1], rng.random(lengths.sum()))
    rows = np.repeat(np.arange(n), lengths)
    X = sparse.coo_array((np.ones(len(words)), (rows, words)), shape=(n, d)).tocsr()
    rarity = 1 + np.log(n / np.maximum(1, np.bincount(X.indices, minlength=d)))
    X.data = (1 + np.log(X.data)) * rarity[X.indices]
    X.data /= np.repeat(np.sqrt(X.power(2).sum(axis=1)), np.diff(X.indptr))
    truth = np.where(rng.random(d) < 0.1, rng.normal(size=d), 0)
    signal = X @ truth
    values = signal / (signal.std() or 1) + 0.3 * rng.normal(size=n)
    return X, np.where(values > np.median(values), 1.0, -1.0), values


def _solve(
    X: Any, y: np.ndarray, loss: str, reg: str, seed: int, report: Callable[[str, float], None]
) -> Result:
    """Solve with a certificate an epoch; report which part of the way, in log gap, is done."""
    gaps: list[float] = []

    def callback(check: Check) -> None:
        gaps.append(max(check.gap + check.rounding, check.target))
        way = math.log(gaps[0] / check.target)
        report(f"{loss} + {reg}", math.log(gaps[0] / gaps[-1]) / way if way else 1.0)

    report(f"{loss} + {reg}", 0.0)
    sigma = {"l2": None, "l1": None}.get(reg, 0.5 / len(y))  # lam / 2, or the default
    return solve(
        X, y, loss=loss, reg=reg, sigma=sigma, tol=TOL, seed=seed,
        certify_every=1, callback=callback, max_epochs=100_000,
    )  # fmt: skip


@contextmanager
def _bar(total: int) -> Iterator[Callable[[str, float], None]]:
    """A bar over all solves, by tqdm on a terminal; without, a line for each on stderr."""
    names: list[str] = []
    try:
        tqdm: Any = import_module("tqdm").tqdm if sys.stderr.isatty() else None
    except ImportError:
        tqdm = None
    bar = tqdm and tqdm(total=total, bar_format="{desc:<18}{percentage:3.0f}% |{bar}| {elapsed}")

    def report(name: str, part: float) -> None:
        if name not in names:
            names.append(name)
            if bar:
                bar.set_description_str(name)
            else:
                print(f"solving {name} ({len(names)} of {total})", file=sys.stderr)
        if bar:
            bar.update(len(names) - 1 + part - bar.n)

    try:
        yield report
    finally:
        if bar:
            bar.close()


def _promised(X: Any, y: np.ndarray, r: Result) -> float:
    """The least number of epochs that the theory promises for the accuracy that was reached."""
    predictions = theory.predict(X, y, r.loss, r.reg, **weights(r), eps=r.target)
    return min(prediction.epochs for prediction in predictions.values())


def _row(r: Result, promised: float) -> str:
    return TABLE.format(
        f"{r.loss.name} + {r.reg.name}",
        f"{r.gap:.2e}",
        f"{r.gap / abs(r.primal):.1e}",
        r.epochs,
        f"{promised:.2g}",
        f"{r.history['seconds'][-1]:.2f}",
        f"{np.count_nonzero(r.w):,}",
        r.status.name.lower(),
    )


def _certified(X: Any, solved: Sequence[tuple[np.ndarray, Result]]) -> bool:
    """Certify every result again, from w and alpha alone."""
    right = 0
    for y, r in solved:
        c = certify(X, y, r.w, r.alpha, loss=r.loss, reg=r.reg, **weights(r))
        right += c.gap + c.rounding <= r.target
    print(
        "certified again with proxsdca.certify, from w and alpha alone: "
        f"{right} of {len(solved)} gaps within their targets"
    )
    return right == len(solved)


def _recomputed(X: Any, y: np.ndarray, r: Result) -> bool:
    """P(w) and D(alpha) of hinge + l1l2 once more, in plain NumPy."""
    n, w, beta = len(y), r.w, y * r.alpha
    v = X.T @ r.alpha / (r.lam * n)
    shrunk = np.maximum(np.abs(v) - r.sigma / r.lam, 0)
    primal = np.maximum(0, 1 - y * (X @ w)).mean() + r.lam / 2 * w @ w + r.sigma * np.abs(w).sum()
    dual = beta.mean() - r.lam / 2 * shrunk @ shrunk
    feasible = bool(beta.min() >= 0 and beta.max() <= 1)
    right = feasible and np.allclose([primal, dual], [r.primal, r.dual], rtol=1e-10, atol=0)
    print(
        f"recomputed in plain NumPy, {r.loss.name} + {r.reg.name}: P = {primal:.12f}, "
        f"D = {dual:.12f}, gap = {primal - dual:.2e}: {'the same' if right else 'NOT the same'}"
    )
    return right
