"""Other solvers of our problems, each as a function of a tolerance.

Ours is a mean: P(w) = 1/n sum_i phi_i + lam/2 |w|^2 + sigma |w|_1. Where theirs is a sum, C sum_i
phi_i + g(w), it is P / lam with C = 1 / (lam n), or P / sigma with C = 1 / (sigma n) for l1.

What a solver needs of the data in a form of its own is made beforehand, once, and not timed; so is
what it compiles. Everything has one thread, no intercept, and the same seed each time.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from importlib.util import find_spec

import numpy as np
import scipy.sparse as sp

from .problem import Problem

Fit = Callable[[float], np.ndarray]  # tolerance -> w, (d,) or (d, k)
MANY = 10**6  # iterations: the tolerance is to decide
FEW = 3000  # entries of w: from there on a Hessian of that size is not tried
MODULES = {
    "liblinear": "liblinear", "scikit-learn": "sklearn", "snapml": "snapml", "cyanure": "cyanure",
    "celer": "celer", "skglm": "skglm", "lightning": "lightning",
}  # fmt: skip
DISTRIBUTIONS = dict(zip(MODULES, MODULES, strict=True)) | {
    "liblinear": "liblinear-official", "lightning": "sklearn-contrib-lightning",
}  # fmt: skip


def solvers(problem: Problem, libraries: tuple[str, ...] = tuple(MODULES)) -> dict[str, Fit]:
    """Every solver that has this problem, of those libraries that are installed.

    A name is that of the library, and behind a space the solver's where it has several.
    """
    found: dict[str, Fit] = {}
    for library in libraries:
        if find_spec(MODULES[library]):
            for solver, fit in _OF[library](problem):
                found[f"{library} {solver}".strip()] = fit
    return found


def _kind(problem: Problem) -> tuple[str, str]:
    return problem.loss, problem.reg


def _C(problem: Problem) -> float:
    return 1 / (len(problem.y) * (problem.lam + problem.sigma))


def _ratio(problem: Problem) -> float:
    """The part of l1 in the penalty."""
    return problem.sigma / (problem.lam + problem.sigma)


def _by_rows(X: np.ndarray | sp.spmatrix) -> np.ndarray | sp.csr_matrix:
    """CSR, or dense where more than half of the entries are there."""
    if sp.issparse(X):
        return X.toarray() if X.nnz > 0.5 * np.prod(X.shape) else X.tocsr()
    return X


def _estimator(make: object, X: object, y: np.ndarray, classes: int = 1) -> Fit:
    """A fit of an estimator in scikit-learn's manner, with a parameter tol."""

    def fit(tol: float) -> np.ndarray:
        w = np.asarray(make.set_params(tol=tol).fit(X, y).coef_, dtype=float)
        return w.reshape(classes, -1).T if classes > 1 else w.ravel()

    return fit


def _liblinear(problem: Problem) -> Iterator[tuple[str, Fit]]:
    from liblinear import liblinear
    from liblinear.liblinearutil import train

    numbers = {
        ("hinge", "l2"): (3,), ("logistic", "l2"): (7, 0), ("logistic", "l1"): (6,),
        ("multiclass_hinge", "l2"): (4,),
    }.get(_kind(problem), ())  # fmt: skip
    if not numbers:
        return
    C, d, k = _C(problem), problem.X.shape[1], problem.classes
    seed = ctypes.CDLL(None).srand  # the C library's generator is what it draws from
    data = liblinear.problem(problem.y, sp.csr_matrix(problem.X))
    for number in numbers:

        def fit(tol: float, number: int = number) -> np.ndarray:
            seed(0)
            model = train(data, f"-s {number} -c {C!r} -e {tol!r} -q")
            found = np.ctypeslib.as_array(model.w, (model.nr_feature * k,))
            w = np.zeros((d, k))  # nr_feature is the last column that is used
            if k == 1:
                w[: model.nr_feature, 0] = (
                    found * model.label[0]
                )  # +1 is the label that it met first
                return w[:, 0]
            w[: model.nr_feature, model.label[:k]] = found.reshape(-1, k)
            return w

        yield f"-s {number}", fit


def _sklearn(problem: Problem) -> Iterator[tuple[str, Fit]]:
    from sklearn.linear_model import ElasticNet, LogisticRegression
    from sklearn.svm import LinearSVC

    d, k = problem.X.shape[1], problem.classes
    y, kind = problem.y, _kind(problem)
    common = {"fit_intercept": False, "max_iter": MANY, "random_state": 0}
    if kind in (("squared", "l1"), ("squared", "l1l2")):
        for selection in ("cyclic", "random"):
            net = ElasticNet(
                alpha=problem.lam + problem.sigma, l1_ratio=_ratio(problem), selection=selection,
                **common,
            )  # fmt: skip
            yield selection, _estimator(net, problem.X, y)
        return
    X, common["C"] = _by_rows(problem.X), _C(problem)
    if kind == ("hinge", "l2"):
        yield "LinearSVC", _estimator(LinearSVC(loss="hinge", dual=True, **common), X, y)
    elif kind == ("multiclass_hinge", "l2"):
        yield "LinearSVC", _estimator(LinearSVC(multi_class="crammer_singer", **common), X, y, k)
    elif problem.loss in ("logistic", "softmax"):
        names = {
            "l2": [
                "lbfgs", "newton-cg", "saga", *(["newton-cholesky"] if d * k <= FEW else []),
                *(["liblinear"] if k == 1 else []),
            ],
            "l1": ["liblinear", "saga"],
            "l1l2": ["saga"],
        }[problem.reg]  # fmt: skip
        for name in names:
            model = LogisticRegression(solver=name, l1_ratio=_ratio(problem), **common)
            yield name, _estimator(model, X, y, k)


def _snapml(problem: Problem) -> Iterator[tuple[str, Fit]]:
    from snapml import LogisticRegression, SupportVectorMachine

    common = {
        "regularizer": 1 / _C(problem),
        "max_iter": MANY,
        "n_jobs": 1,
        "fit_intercept": False,
        "random_state": 0,
    }
    model = {
        ("hinge", "l2"): lambda: SupportVectorMachine(**common),
        ("logistic", "l2"): lambda: LogisticRegression(dual=True, **common),
        ("logistic", "l1"): lambda: LogisticRegression(dual=False, penalty="l1", **common),
    }.get(_kind(problem))  # fmt: skip
    if model:
        by = sp.csc_matrix if problem.reg == "l1" else sp.csr_matrix
        yield "", _estimator(model(), by(problem.X, dtype=np.float32), problem.y)


def _cyanure(problem: Problem) -> Iterator[tuple[str, Fit]]:
    from cyanure.estimators import Classifier

    k = problem.classes
    loss = {"logistic": "logistic", "softmax": "multiclass-logistic", "squared": "square"}
    # its elastic net does not converge here
    if problem.loss not in loss or problem.reg == "l1l2" or len(np.unique(problem.y)) > max(2, k):
        return
    model = Classifier(
        loss=loss[problem.loss], penalty=problem.reg, lambda_1=problem.lam + problem.sigma,
        fit_intercept=False, max_iter=MANY, n_threads=1, verbose=False,
    )  # fmt: skip
    X = _by_rows(problem.X)

    def fit(tol: float) -> np.ndarray:
        w = np.asarray(model.set_params(tol=tol).fit(X, problem.y).coef_, dtype=float)
        return w.reshape(X.shape[1], -1) if k > 1 else w.ravel()

    yield "", fit


def _celer(problem: Problem) -> Iterator[tuple[str, Fit]]:
    from celer import ElasticNet, LogisticRegression

    common = {"fit_intercept": False, "max_iter": 1000}
    if problem.loss == "squared" and problem.sigma:
        net = ElasticNet(alpha=problem.lam + problem.sigma, l1_ratio=_ratio(problem), **common)
        yield "", _estimator(net, problem.X, problem.y)
    elif _kind(problem) == ("logistic", "l1"):
        yield "", _estimator(LogisticRegression(C=_C(problem), **common), problem.X, problem.y)


def _skglm(problem: Problem) -> Iterator[tuple[str, Fit]]:
    from skglm import ElasticNet, SparseLogisticRegression

    common = {"fit_intercept": False, "max_iter": 1000}
    if problem.loss == "squared" and problem.sigma:
        net = ElasticNet(alpha=problem.lam + problem.sigma, l1_ratio=_ratio(problem), **common)
    elif _kind(problem) == ("logistic", "l1"):
        net = SparseLogisticRegression(alpha=problem.sigma, **common)
    else:
        return
    fit = _estimator(net, problem.X, problem.y)
    fit(1e-4)  # compiles
    yield "", fit


def _lightning(problem: Problem) -> Iterator[tuple[str, Fit]]:
    from lightning.classification import SDCAClassifier

    if problem.loss == "hinge" and problem.reg in ("l2", "l1l2"):
        model = SDCAClassifier(
            alpha=problem.lam + problem.sigma, l1_ratio=_ratio(problem), loss="hinge",
            max_iter=MANY, random_state=0,
        )  # fmt: skip
        yield "SDCA", _estimator(model, _by_rows(problem.X), problem.y)


_OF = {
    "liblinear": _liblinear, "scikit-learn": _sklearn, "snapml": _snapml, "cyanure": _cyanure,
    "celer": _celer, "skglm": _skglm, "lightning": _lightning,
}  # fmt: skip
