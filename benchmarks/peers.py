"""Other solvers of the same problems, each as a function of a tolerance.

Ours is P(w) = 1/n sum_i phi_i + lam/2 |w|^2 + sigma |w|_1. Theirs are sums:
C sum_i phi_i + 1/2 |w|^2 with C = 1/(lam n), which is P / lam.
"""

from __future__ import annotations

import multiprocessing
import time
import warnings
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from liblinear import liblinear
from liblinear.liblinearutil import train
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

Fit = Callable[[float], np.ndarray]  # tolerance -> w
MANY = 10**6  # iterations: the tolerance is to decide


def liblinear_fit(X: sp.csr_matrix, y: np.ndarray, kind: int, C: float) -> Fit:
    """liblinear's solver of that number; its copy of the data is made here, once."""
    problem = liblinear.problem(y, X)

    def fit(tol: float) -> np.ndarray:
        model = train(problem, f"-s {kind} -c {C!r} -e {tol!r} -q")
        w = np.ctypeslib.as_array(model.w, (model.nr_feature,))
        return w * model.label[0]  # its +1 is the label that it met first

    return fit


def sklearn_fit(estimator: object, X: sp.csr_matrix, y: np.ndarray) -> Fit:
    """A scikit-learn estimator with a parameter tol."""

    def fit(tol: float) -> np.ndarray:
        return estimator.set_params(tol=tol).fit(X, y).coef_.ravel()

    return fit


def peers(
    X: sp.csr_matrix, y: np.ndarray, loss: str, lam: float, sigma: float
) -> dict[str, dict[str, Fit]]:
    """Library -> solver -> fit, for every peer that has this problem."""
    n, d = X.shape
    common = {"C": 1 / (n * (lam + sigma)), "fit_intercept": False, "max_iter": MANY}
    if sigma:
        if loss == "hinge" or n > 100_000:
            return {}
        mixed = LogisticRegression(solver="saga", l1_ratio=sigma / (lam + sigma), **common)
        return {"scikit-learn": {"saga": sklearn_fit(mixed, X, y)}}
    if loss == "hinge":
        svc = LinearSVC(loss="hinge", dual=True, **common)
        return {
            "liblinear": {"-s 3": liblinear_fit(X, y, 3, common["C"])},
            "scikit-learn": {"LinearSVC": sklearn_fit(svc, X, y)},
        }
    solvers = ["lbfgs", "liblinear", *(["newton-cholesky"] if d <= 1000 else [])]
    return {
        "liblinear": {f"-s {kind}": liblinear_fit(X, y, kind, common["C"]) for kind in (7, 0)},
        "scikit-learn": {
            solver: sklearn_fit(LogisticRegression(solver=solver, **common), X, y)
            for solver in solvers
        },
    }


def capped(fit: Fit, tol: float, cap: float) -> tuple[float, np.ndarray] | None:
    """Seconds and w of one fit, in a process that is ended after `cap` seconds."""
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)

    def work() -> None:
        warnings.simplefilter("ignore")
        begin = time.perf_counter()
        w = fit(tol)
        send.send((time.perf_counter() - begin, w))

    process = context.Process(target=work)
    process.start()
    send.close()
    try:
        return receive.recv() if receive.poll(cap) else None
    except EOFError:
        return None
    finally:
        process.kill()
        process.join()
