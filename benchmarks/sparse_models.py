"""Lasso, l1-logistic and l1 with hinge on real data, beside scikit-learn, celer and skglm.

Ours is the time to a certified relative gap. Peers have stopping rules of their own:
for each the loosest tolerance counts at which P(w) is within the same relative distance of
the optimum. X is handed to everybody by columns. All contenders run in turns, the best of
several counts. Data are looked for in the folder that PROXSDCA_DATA names.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
from peers.problem import Problem
from peers.race import in_turns, loosest
from peers.solvers import solvers
from suites.data import available, load

import proxsdca
from proxsdca import _problem, _random
from proxsdca._side import RowSide
from proxsdca.regularizers import L1

ROUNDS = 3
CAP = 20.0  # seconds for one fit of a peer
LIBRARIES = ("scikit-learn", "celer", "skglm")
SETS = ("colon", "prostate", "riboflavin", "reuters", "w8a")
DENSE = ("colon", "prostate", "riboflavin")  # columns standardised, y centred
MANY = 10**6


def data(name: str, loss: str) -> tuple[object, np.ndarray]:
    """X by columns, and y."""
    X, y = load(name)
    y = y.astype(float)
    if name not in DENSE:
        return X.astype(float).tocsc(), y
    X = X.toarray().astype(float)
    X -= X.mean(axis=0)
    spread = X.std(axis=0)
    X = np.asfortranarray(X[:, spread > 0] / spread[spread > 0])
    if loss == "logistic":
        return X, np.where(y > np.median(y) if name == "riboflavin" else y > 0, 1.0, -1.0)
    return X, y - y.mean()


def gap(problem: Problem, w: np.ndarray) -> float:
    """The duality gap of the lasso at w, by numpy alone, with its residual as the dual point."""
    X, y, n = problem.X, problem.y, len(problem.y)
    r = y - X @ w
    c = min(1.0, problem.sigma / (np.abs(X.T @ r).max() / n))
    return problem.primal(w) - (c * (r @ y) - c * c * (r @ r) / 2) / n


def timed(run: Callable, *arguments, **keywords) -> tuple[float, object]:
    begin = time.perf_counter()
    found = run(*arguments, **keywords)
    return time.perf_counter() - begin, found


def table(names: tuple[str, ...], losses: tuple[str, ...]) -> None:
    """Seconds to 1e-3 and 1e-6, and the support at 1e-10."""
    print("data         loss      sigma    tol   ours s  epochs   peers s (nonzeros: ours/theirs)")
    for name in names:
        for loss in losses:
            X, y = data(name, loss)
            largest = proxsdca.sigma_max(X, y, loss=loss)
            for part in (0.1, 0.01):
                rows(f"{name:<12} {loss:<9} {part:<7}", X, y, loss, part * largest)


def rows(title: str, X, y: np.ndarray, loss: str, sigma: float) -> None:
    """Two lines of the table."""

    problem = Problem(X, y, loss, "l1", 0.0, sigma)
    ours = partial(problem.solve, seconds=None)
    exact = ours(1e-10)
    others = solvers(problem, LIBRARIES)
    reference = others.get("celer", next(iter(others.values()), None))
    same = "-"
    if reference is not None:
        w = reference(1e-12)
        same = "same" if np.array_equal(w != 0, exact.w != 0) else "other"
        same += f" {np.count_nonzero(exact.w)}/{np.count_nonzero(w)}"
    for tol in (1e-3, 1e-6):

        def reached(w: np.ndarray, tol: float = tol) -> bool:
            return problem.primal(w) <= exact.primal * (1 + tol)

        runs = {"ours": partial(problem.fit, tol)}
        best = {"ours": timed(runs["ours"])[0]}
        for name, fit in others.items():
            if found := loosest(fit, CAP, reached):
                runs[name], best[name] = partial(fit, found[0]), found[1]
        in_turns(runs, best, ROUNDS, reached)
        result = ours(tol)
        assert result.gap <= tol * result.primal
        assert abs(result.primal - exact.primal) <= result.gap + exact.gap
        shown = ", ".join(f"{k} {best[k]:.4f}" if k in best else f"{k} -" for k in others)
        print(
            f"{title} {tol:.0e} {best['ours']:8.4f} {result.epochs:7}   {shown} ({same})",
            flush=True,
        )


def cyclic(names: tuple[str, ...]) -> None:
    """Lasso, order="cyclic": our epochs to the gap that scikit-learn's n_iter_ reach, and times."""
    from sklearn.linear_model import Lasso

    print("\ndata         sigma    sklearn tol  its gap  n_iter_  our epochs   s: ours  sklearn")
    for name in names:
        X, y = data(name, "squared")
        largest = proxsdca.sigma_max(X, y)
        for part in (0.1, 0.01):
            for tol in (1e-4, 1e-7):
                sigma = part * largest
                model = Lasso(
                    alpha=sigma, fit_intercept=False, max_iter=MANY, tol=tol, selection="cyclic"
                )
                w = model.fit(X, y).coef_
                problem = Problem(X, y, "squared", "l1", 0.0, sigma)
                eps = max(gap(problem, w), 1e-14 * problem.primal(w))
                common = {"loss": "squared", "reg": "l1", "sigma": sigma, "tol": 0.0, "eps": eps}
                common |= {"order": "cyclic", "max_epochs": MANY}
                epochs = proxsdca.solve(X, y, **common, certify_every=1).epochs
                best = [np.inf, np.inf]
                for _ in range(2 * ROUNDS):
                    best[0] = min(best[0], timed(proxsdca.solve, X, y, **common)[0])
                    best[1] = min(best[1], timed(model.fit, X, y)[0])
                print(
                    f"{name:<12} {part:<7} {tol:11.0e} {eps:9.1e} {model.n_iter_:8} {epochs:11} "
                    f"({epochs / model.n_iter_:.2f})  {best[0]:.4f}  {best[1]:.4f} "
                    f"({best[0] / best[1]:.2f})",
                    flush=True,
                )


def hinge() -> None:
    """l1 with hinge, to a certified relative gap of 1e-3."""
    print("\nl1 + hinge   sigma   geometry  seconds  epochs  relative gap  nonzeros")
    for name in ("a9a", "reuters"):
        if not available(name):
            continue
        X, y = load(name)
        largest = proxsdca.sigma_max(X, y, loss="hinge")
        for part in (0.1, 0.01, 0.001):
            for geometry in ("l2", "qnorm"):
                seconds, r = timed(
                    proxsdca.solve, X, y, loss="hinge", reg=L1(geometry=geometry),
                    sigma=part * largest, tol=1e-3, max_epochs=MANY, max_seconds=30,
                )  # fmt: skip
                print(
                    f"{name:<12} {part:<7} {geometry:<8} {seconds:8.2f} {r.epochs:7} "
                    f"{r.gap / r.primal:13.1e} {np.count_nonzero(r.w):9}",
                    flush=True,
                )


def cvxpy_sample() -> None:
    """l1 with hinge on 2,000 rows, beside the optimum that cvxpy finds."""
    try:
        import cvxpy as cp
    except ImportError:
        return
    print("\n2,000 rows   sigma   ours: P, gap, seconds            cvxpy: P, seconds   difference")
    for name in ("a9a", "reuters"):
        if not available(name):
            continue
        X, y = load(name)
        rows = np.random.default_rng(0).permutation(len(y))[:2000]
        X, y = X[rows], y[rows]
        sigma = 0.01 * proxsdca.sigma_max(X, y, loss="hinge")
        seconds, r = timed(
            proxsdca.solve, X, y, loss="hinge", reg="l1", sigma=sigma, tol=1e-3, max_epochs=MANY
        )
        w = cp.Variable(X.shape[1])
        mean = cp.sum(cp.pos(1 - cp.multiply(y, X @ w))) / len(y)
        problem = cp.Problem(cp.Minimize(mean + sigma * cp.norm1(w)))
        theirs, _ = timed(problem.solve, solver=cp.CLARABEL)
        assert -1e-6 <= r.primal - problem.value <= r.gap + 1e-6
        print(
            f"{name:<12} 0.01    {r.primal:.8f} {r.gap:.1e} {seconds:8.3f}          "
            f"{problem.value:.8f} {theirs:8.2f}    {r.primal - problem.value:.1e}",
            flush=True,
        )


def path() -> None:
    """50 sigmas on reuters, each to 1e-4, beside the last one solved cold."""
    if not available("reuters"):
        return
    print("\npath, reuters   cold s   50 points s   ratio   largest relative gap")
    for loss in ("squared", "logistic"):
        X, y = data("reuters", loss)
        keywords = {"loss": loss, "reg": "l1", "tol": 1e-4, "max_epochs": MANY}
        sigma = 0.01 * proxsdca.sigma_max(X, y, loss=loss)
        cold = whole = np.inf
        for _ in range(ROUNDS):
            cold = min(cold, timed(proxsdca.solve, X, y, sigma=sigma, **keywords)[0])
            seconds, p = timed(proxsdca.path, X, y, **keywords)
            whole = min(whole, seconds)
        print(
            f"{loss:<14} {cold:8.4f} {whole:13.4f} {whole / cold:7.1f} "
            f"{(p.gap / p.primal).max():10.1e}"
        )


def step_cost() -> None:
    """An epoch of qnorm beside one of l1l2 on news20-2gram, the same visits in turns."""
    if not available("news20-2gram"):
        return
    X, y = load("news20-2gram")
    n = len(y)
    cores, times = {}, {}
    for reg in ("l1l2", "qnorm"):
        side = RowSide(_problem.Problem.from_arguments(X, y, "hinge", reg, 1 / n, None, None))
        cores[reg] = side.epoch(side.curvature(), np.zeros(n), np.zeros(X.shape[1]))
        times[reg] = []
    order = _random.Order("permutation", np.arange(n), _random.stream(0))
    for _ in range(12):
        visits = order.next()
        for reg, core in cores.items():
            times[reg].append(timed(core.run, visits)[0])
    print("\nnews20-2gram, ns per step: ", end="")
    for reg, found in times.items():
        each, first = np.median(found) / n * 1e9, found[0] / n * 1e9
        print(f"{reg} {each:.0f} (first epoch {first:.0f}) ", end="")
    ratio = np.median(times["qnorm"]) / np.median(times["l1l2"])
    first = times["qnorm"][0] / times["l1l2"][0]
    print(f"ratio {ratio:.2f} (first epoch {first:.2f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("table", "cyclic", "hinge", "path", "step"))
    only = parser.parse_args().only
    warnings.simplefilter("ignore")
    names = tuple(name for name in SETS if available(name))
    if len(names) < len(SETS):
        print("PROXSDCA_DATA does not name a folder with all of", ", ".join(SETS))
    parts = {
        "table": lambda: table(names, ("squared", "logistic")),
        "cyclic": lambda: cyclic(names),
        "hinge": lambda: (hinge(), cvxpy_sample()),
        "path": path,
        "step": step_cost,
    }
    for name, part in parts.items():
        if only in (None, name):
            part()


if __name__ == "__main__":
    main()
