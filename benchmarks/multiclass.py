"""All classes at once, beside liblinear, scikit-learn and cyanure: multiclass hinge and softmax.

Ours is the time to a certified relative gap; a peer's is that of the one fit at the loosest
tolerance that gets P(w) within the same distance of the optimum, relatively; finding that tolerance
is not counted. All contenders run in turns. Data are looked for in the folder that PROXSDCA_DATA
names. `--only choice` is a conditional logit on generated data,
`--only memory` 10^5 rows and 1,000 classes.
"""

from __future__ import annotations

import argparse
import time
import warnings
from functools import partial

import numpy as np
import scipy.sparse as sp
from peers.problem import Problem
from peers.race import in_turns, loosest
from peers.solvers import solvers
from scipy.optimize import minimize
from suites.data import available, load

import proxsdca
from proxsdca._side import BlockSide
from proxsdca._vector import problem_of

TARGETS = (1e-3, 1e-6)
CAP = 60.0  # seconds for one fit of a peer, unless told otherwise
ROUNDS = 3  # of all contenders in turns; the best time counts
DATA = ("letter", "usps", "news20-20", "news20-20 raw")


def data(name: str) -> tuple[sp.csr_matrix | np.ndarray, np.ndarray]:
    """X, dense where it is, and class numbers; the rows of news20-20 have length 1 unless raw."""
    X, y = load(name.split()[0])
    X, y = sp.csr_matrix(X, dtype=float), np.unique(y, return_inverse=True)[1]
    if name == "news20-20":
        X = sp.csr_matrix(sp.diags(1 / np.sqrt(X.multiply(X).sum(axis=1).A1)) @ X)
    return (X.toarray() if X.nnz > 0.5 * X.shape[0] * X.shape[1] else X), y


def lines(name: str, loss: str, factor: float, cap: float) -> None:
    """The table's lines for one problem, a target each."""
    X, y = data(name)
    problem = Problem(X, y, loss, "l2", factor / len(y))
    reference = problem.solve(1e-8 if "raw" not in name else 1e-6, 300)
    fits = solvers(problem)
    for target in TARGETS:

        def reached(w: np.ndarray, target: float = target) -> bool:
            return problem.primal(w) <= (1 + target) * reference.primal

        begin = time.perf_counter()
        r = problem.solve(target, 300)
        best = {"proxsdca": time.perf_counter() - begin}
        runs = {"proxsdca": partial(problem.fit, target, 300)}
        for peer, fit in fits.items():
            if found := loosest(fit, cap, reached):
                runs[peer], best[peer] = partial(fit, found[0]), found[1]
        in_turns(runs, best, ROUNDS - 1, reached)
        others = ", ".join(f"{key} {t:.3f}" for key, t in best.items() if key != "proxsdca")
        suboptimality = problem.primal(r.w) / reference.dual - 1
        row = (
            name, loss, f"{factor:g}/n", f"{target:g}", f"{r.gap / r.primal:.1e}",
            f"{suboptimality:.1e}", f"{best['proxsdca']:.3f}" + ("" if r.converged else " (no)"),
            others or f"none within {cap:g} s",
        )  # fmt: skip
        print("|", " | ".join(row), "|", flush=True)


def choice() -> None:
    """A conditional logit: 100,000 examples with 2 to 50 alternatives each."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(2, 51, 100_000)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    X = rng.normal(size=(offsets[-1], 20)) * np.geomspace(1, 0.05, 20)
    utility = X @ rng.normal(size=20) + rng.gumbel(size=len(X))
    best = np.maximum.reduceat(utility, offsets[:-1])
    first = np.flatnonzero(utility == np.repeat(best, sizes))
    y = first - offsets[:-1]
    begin = time.perf_counter()
    r = proxsdca.solve(X, y, loss="softmax", offsets=offsets, tol=1e-4)
    seconds = time.perf_counter() - begin

    def objective(w: np.ndarray) -> tuple[float, np.ndarray]:
        z = X @ w
        top = np.repeat(np.maximum.reduceat(z, offsets[:-1]), sizes)
        e = np.exp(z - top)
        total = np.add.reduceat(e, offsets[:-1])
        p = e / np.repeat(total, sizes)
        loss = np.mean(np.log(total) + top[offsets[:-1]] - z[first])
        p[first] -= 1
        return loss + r.lam / 2 * (w @ w), X.T @ p / len(y) + r.lam * w

    begin = time.perf_counter()
    found = minimize(objective, np.zeros(20), jac=True, method="L-BFGS-B",
                     options={"ftol": 1e-16, "gtol": 1e-12, "maxiter": 5000})  # fmt: skip
    print(
        f"conditional logit, {len(y):,} examples, {len(X):,} rows: gap/P = {r.gap / r.primal:.1e} "
        f"in {seconds:.2f} s, {r.epochs} epochs; P - L-BFGS's optimum = {r.primal - found.fun:.2e}"
        f" <= gap = {r.gap:.2e}; L-BFGS took {time.perf_counter() - begin:.1f} s"
    )


def memory() -> None:
    """alpha of 10^5 rows and 1,000 classes, beside a dense array of that size."""
    n, k, d = 100_000, 1000, 5000
    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    columns = np.column_stack([y, rng.integers(k, d, (n, 20))])
    values = np.abs(rng.normal(size=columns.shape))
    X = sp.csr_matrix((values.ravel(), columns.ravel(), np.arange(n + 1) * 21), shape=(n, d))
    side = BlockSide(problem_of(X, y, "multiclass_hinge", "l2", None, None, None))
    alpha, v = side.problem.zero_alpha(), np.zeros(side.problem.d)
    core, largest = side.epoch(side.curvature(), alpha, v), 0
    for _ in range(10):
        for visits in np.array_split(rng.permutation(n), 20):
            core.run(visits)
            largest = max(largest, alpha.nbytes)
    found = side.problem.evaluate(v, alpha, side.problem.room()).certificate
    print(
        f"{n:,} rows x {k:,} classes: alpha at most {largest / 1e6:.1f} MB in ten epochs, "
        f"{8 * n * k / 1e6:.0f} MB if it were dense; gap/P = {found.gap / found.primal:.1e} then"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=("table", "choice", "memory"))
    parser.add_argument("--data", nargs="*", default=DATA, help="of " + ", ".join(DATA))
    parser.add_argument("--loss", nargs="*", default=("multiclass_hinge", "softmax"))
    parser.add_argument("--cap", type=float, default=CAP, help="seconds for one fit of a peer")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.only in (None, "choice"):
        choice()
    if arguments.only in (None, "memory"):
        memory()
    if arguments.only not in (None, "table"):
        return
    missing = [name for name in arguments.data if not available(name.split()[0])]
    if missing:
        print(f"Not in the folder PROXSDCA_DATA: {', '.join(missing)}.\n")
    header = ("data", "loss", "lam", "target", "gap", "suboptimality <=", "proxsdca s", "peers s")
    print("|", " | ".join(header), "|")
    print("|" + "---|" * len(header))
    for name in arguments.data:
        if name not in missing:
            for loss in arguments.loss:
                for factor in (1,) if "raw" in name else (1, 0.01):
                    lines(name, loss, factor, arguments.cap)


if __name__ == "__main__":
    main()
