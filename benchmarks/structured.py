"""OCR words by a linear chain: calls of the oracle and seconds to a certified gap, beside plain
block-coordinate Frank-Wolfe; letter errors; sparse models; memory.

Plain Frank-Wolfe is the same compiled oracle and line search without a cache, in the same loop;
that it is Frank-Wolfe is checked against `frank_wolfe` below, written as its authors describe it.
The data set `ocr-letters` is looked for in the folder that PROXSDCA_DATA names; without it the
words are made up.
"""

from __future__ import annotations

import argparse
import multiprocessing
import warnings

import numpy as np
import scipy.sparse as sp
from suites.data import WORDS, available, words
from suites.peak import peak

import proxsdca
from proxsdca import oracles, regularizers, structured

MB = 1e6


def frank_wolfe(oracle: oracles.Ready, lam: float, order: np.ndarray) -> tuple[np.ndarray, float]:
    """Block-coordinate Frank-Wolfe for structural SVMs, one step for each i of the order: w and the
    dual value. w_i and l_i are dense here, and every step recomputes what it needs."""
    n, d = oracle.n, oracle.d
    w, w_i, l_i = np.zeros(d), np.zeros((n, d)), np.zeros(n)
    for i in order:
        (indices, values), delta, _ = oracle.argmax(int(i), w)
        corner = np.bincount(indices, values, d) / (lam * n) if len(indices) else np.zeros(d)
        away = w_i[i] - corner
        slope = lam * away @ w - l_i[i] + delta / n
        curvature = lam * away @ away
        step = min(max(slope / curvature, 0.0), 1.0) if curvature > 0 else 0.0
        w -= step * away
        w_i[i] -= step * away
        l_i[i] += step * (delta / n - l_i[i])
    return w, float(l_i.sum() - lam / 2 * w @ w)


def check() -> None:
    """That what stands for plain Frank-Wolfe is that, on the first words."""
    X, y, lengths, _ = words()
    n = 100
    rows = int(lengths[:n].sum())
    oracle = oracles.Chain(X[:rows], y[:rows], lengths[:n])
    order = np.tile(np.arange(n), 5)
    w, dual = frank_wolfe(oracle, 1 / n, order)
    r = structured.solve(oracle, cache=False, order="cyclic", max_epochs=5, tol=0)
    print(f"5 passes, {n} words: dual value of plain Frank-Wolfe {dual:.12f}, here {r.dual:.12f}, "
          f"largest difference of w {np.abs(w - r.w).max():.1e}\n")  # fmt: skip


def calls(cap: float) -> None:
    """True calls and seconds to relative gaps, with every default and without a cache."""
    X, y, lengths, _ = words()
    oracle = oracles.Chain(X, y, lengths)
    print(f"{oracle.n:,} words, {oracle.d:,} weights, lam = 1/n\n")
    print(
        "| relative gap | method | calls | of which certificates | epochs | seconds | gap reached |"
    )
    print("|" + "---|" * 7)
    ways = {
        "cache": {},
        "cache, order gap": {"order": "gap"},
        "plain Frank-Wolfe": {"cache": False, "order": "uniform", "certify_every": 10},
    }
    for tol in (1e-2, 1e-3):
        for name, way in ways.items():
            r = structured.solve(oracle, tol=tol, max_seconds=cap, **way)
            seconds = r.history["seconds"][-1]
            print(f"| {tol:.0e} | {name} | {r.calls:,} | {r.touched_certifying:,} | {r.epochs:,} "
                  f"| {seconds:.1f} | {r.gap / r.primal:.1e} |",
                  flush=True)  # fmt: skip
    print()


def errors() -> None:
    """Train on one fold, test on the other nine, averaged over ten folds."""
    X, y, lengths, folds = words()
    fold = np.repeat(folds, lengths)
    k = len(np.unique(y))
    models = {
        "l2, lam = 1/n": ("l2", 1.0, None),
        "l2, lam = 10/n": ("l2", 10.0, None),
        "l1l2, lam = 1/n, sigma = 2/n": ("l1l2", 1.0, 2.0),
        "l1l2, lam = 1/n, sigma = 6.5/n, adaptive": ("adaptive", 1.0, 6.5),
    }
    print("| model | letter error, % | deviation over folds | weights not 0, % | seconds a fold |")
    print("|" + "---|" * 5)
    before: dict[int, np.ndarray] = {}
    for name, (kind, lam, sigma) in models.items():
        wrong, kept, seconds = [], [], []
        for f in range(10):
            train = fold == f
            oracle = oracles.Chain(X[train], y[train], lengths[folds == f], classes=np.arange(k))
            reg = regularizers.L1L2(adaptive(before[f])) if kind == "adaptive" else kind
            r = structured.solve(
                oracle, lam / oracle.n, reg, sigma=None if sigma is None else sigma / oracle.n,
                tol=1e-2,
            )  # fmt: skip
            before[f] = r.w
            found = oracle.decode(r.w, X[~train], lengths[folds != f]).labels
            wrong.append(100 * np.mean(found != y[~train]))
            kept.append(100 * np.count_nonzero(r.w) / r.w.size)
            seconds.append(r.history["seconds"][-1])
        print(f"| {name} | {np.mean(wrong):.2f} | {np.std(wrong):.2f} | {np.mean(kept):.1f} "
              f"| {np.mean(seconds):.1f} |", flush=True)  # fmt: skip
    print()


def adaptive(w: np.ndarray) -> np.ndarray:
    """Weights of the l1 part that spare what is large in an earlier model."""
    size = np.abs(w) / np.abs(w).mean()
    return 1 / (size + 0.1)


def chain_of_many_features(features: int) -> oracles.Chain:
    """3,000 sequences of 10 positions, 20 of so many features each, 5 labels."""
    rng = np.random.default_rng(0)
    n, length, nnz = 3000, 10, 20
    columns = (features ** rng.random((n * length, nnz))).astype(np.int32) % features
    columns.sort(axis=1)
    indptr = np.arange(0, n * length * nnz + 1, nnz, dtype=np.int32)
    X = sp.csr_matrix((np.ones(columns.size), columns.ravel(), indptr), (n * length, features))
    y = (columns[:, 0] + columns[:, 5]) % 5
    flip = rng.random(len(y)) < 0.2
    return oracles.Chain(X, np.where(flip, rng.integers(0, 5, len(y)), y), np.full(n, length))


def supports(oracle: oracles.Chain, r: structured.StructuredResult) -> int:
    """The sum over examples of the entries of w_i that are not 0."""
    total = 0
    for i in range(oracle.n):
        found = [oracle.features(i, label)[0][0] for label, _ in r.alpha.of(i)]
        total += len(np.unique(np.concatenate(found))) if found else 0
    return total


def measure(cache: bool) -> tuple[int, int, float, int]:
    oracle = chain_of_many_features(100_000)
    r, size = peak(lambda: structured.solve(oracle, tol=1e-2, cache=cache, max_epochs=100))
    return oracle.d, supports(oracle, r), r.gap / r.primal, size


def memory() -> None:
    """Peak memory beyond the data, in a process of its own."""
    print("| cache | d | sum of supports | relative gap | peak MB "
          "| bound 8 (2 d + 4 supports) + 30 MB |")  # fmt: skip
    print("|" + "---|" * 6)
    for cache in (True, False):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            d, support, gap, size = pool.apply(measure, (cache,))
        bound = 8 * (2 * d + 4 * support) + 30 * MB
        print(f"| {cache} | {d:,} | {support:,} | {gap:.1e} | {size / MB:.1f} | {bound / MB:.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=["check", "calls", "errors", "memory"])
    parser.add_argument("--cap", type=float, default=600.0, help="seconds for one run")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", proxsdca.ConvergenceWarning)
    if not available(WORDS):
        print(f"No {WORDS}.npz in the folder PROXSDCA_DATA: made-up words instead.\n")
    parts = {
        "check": check,
        "calls": lambda: calls(arguments.cap),
        "errors": errors,
        "memory": memory,
    }
    for name, part in parts.items():
        if arguments.only in (None, name):
            part()


if __name__ == "__main__":
    main()
