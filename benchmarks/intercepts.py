"""What a free intercept costs, and cross-validated lasso beside scikit-learn's.

The data sets `reuters`, `a9a`, `cal-housing` and `puma32h` are looked for in the folder that
PROXSDCA_DATA names; those that are not there are left out.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.linear_model import LassoCV, LogisticRegression
from sklearn.svm import LinearSVC
from suites.data import available, load

import proxsdca

warnings.simplefilter("ignore")


def best_of(repeats: int, *runs):
    """The least seconds of each run, interleaved, and what it returned."""
    seconds, found = [np.inf] * len(runs), [None] * len(runs)
    for _ in range(repeats):
        for k, run in enumerate(runs):
            begun = time.perf_counter()
            found[k] = run()
            seconds[k] = min(seconds[k], time.perf_counter() - begun)
    return seconds, found


def intercepts() -> None:
    """Seconds and epochs to a relative gap of 1e-4, with and without an intercept."""
    print("to 1e-4            without s  epochs   with s  epochs   ratio   intercept")
    for name, loss in [
        ("a9a", "hinge"), ("a9a", "logistic"), ("reuters", "hinge"), ("reuters", "logistic"),
        ("puma32h", "squared"), ("puma32h", "huber"),
    ]:  # fmt: skip
        if not available(name):
            continue
        X, y = load(name)
        if loss in ("squared", "huber"):
            y = (y - y.mean()) / y.std() + 1
        keywords = {"loss": loss, "tol": 1e-4}
        (a, b), (plain, free) = best_of(
            3,
            lambda X=X, y=y, k=keywords: proxsdca.solve(X, y, **k),
            lambda X=X, y=y, k=keywords: proxsdca.solve(X, y, fit_intercept=True, **k),
        )
        print(f"{name:10}{loss:10} {a:8.3f} {plain.epochs:7} {b:8.3f} {free.epochs:7} {b / a:7.2f} "
              f"{free.intercept:11.4f}")  # fmt: skip


def beside() -> None:
    """The problem with an intercept beside scikit-learn's solvers, to about the same objective."""
    print("\nwith an intercept, C = 1      ours s   P          theirs s   P")
    for name, loss in [("a9a", "logistic"), ("reuters", "logistic"), ("reuters", "hinge")]:
        if not available(name):
            continue
        X, y = load(name)
        n = len(y)
        theirs = LogisticRegression(tol=1e-6, max_iter=10_000)
        if loss == "hinge":
            theirs = LinearSVC(loss="hinge", tol=1e-4, max_iter=100_000, intercept_scaling=100)
        (a, b), (ours, other) = best_of(
            3,
            lambda X=X, y=y, loss=loss: proxsdca.solve(X, y, loss=loss, tol=1e-4,
                                                       fit_intercept=True),
            lambda X=X, y=y, theirs=theirs: theirs.fit(X, y),
        )  # fmt: skip
        w, z = other.coef_[0], X @ other.coef_[0] + other.intercept_[0]
        value = ours.loss.value(z, y).mean() + w @ w / (2 * n)
        print(f"{name:10}{loss:10}         {a:8.3f}   {ours.primal:.7f}  {b:8.3f}   {value:.7f}")


def lasso(points: int) -> None:
    """Five folds, `points` sigmas, to gaps of 1e-4: seconds, the choice, and what it predicts."""
    for name in ("reuters", "puma32h", "cal-housing"):
        if not available(name):
            continue
        X, y = load(name)
        y = np.asarray(y, float)
        X = X if name == "reuters" else np.asarray(X.todense())
        y = (y - y.mean()) / y.std() + 1
        for tol in (1e-4,):
            runs = [
                lambda X=X, y=y, tol=tol: proxsdca.SDCARegressorCV(
                    num=points, cv=5, tol=tol).fit(X, y),
                lambda X=X, y=y, tol=tol: proxsdca.SDCARegressorCV(
                    num=points, cv=5, tol=tol, n_jobs=2).fit(X, y),
                lambda X=X, y=y, tol=tol: LassoCV(
                    alphas=points, eps=0.01, cv=5, tol=tol, max_iter=100_000).fit(X, y),
            ]  # fmt: skip
            (a, threads, b), (ours, _, theirs) = best_of(1 if name == "reuters" else 3, *runs)
            print(f"\nlasso, {name}, {points} points, 5 folds, tol {tol:g}: ours {a:.2f} s "
                  f"({threads:.2f} s with n_jobs=2), LassoCV {b:.2f} s; "
                  f"sigma {ours.sigma_:.5g} and {theirs.alpha_:.5g}, "
                  f"mse {-2 * ours.scores_.mean(axis=1).max():.5f} and "
                  f"{theirs.mse_path_.mean(axis=1).min():.5f}, "
                  f"{np.count_nonzero(ours.coef_)} and {np.count_nonzero(theirs.coef_)} nonzero, "
                  f"gap {ours.gap_:.1e} and {theirs.dual_gap_:.1e}", flush=True)  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("intercepts", "beside", "lasso"))
    parser.add_argument("--points", type=int, default=50)
    arguments = parser.parse_args()
    if not any(available(name) for name in ("reuters", "a9a", "puma32h", "cal-housing")):
        print("No data sets in the folder PROXSDCA_DATA.")
    if arguments.only in (None, "intercepts"):
        intercepts()
    if arguments.only in (None, "beside"):
        beside()
    if arguments.only in (None, "lasso"):
        lasso(arguments.points)
