"""Cross-validation over a path of sigma or lam, every point started from the one before it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import metadata_routing as routing
from sklearn.utils._metadata_requests import _raise_for_params
from sklearn.utils.parallel import Parallel, delayed

from .. import _spec, _validate
from .._path import path, sigma_max
from ..losses import VectorLoss
from ._base import SDCABase, sklearn_warnings
from ._classifier import SDCAClassifier
from ._regressor import SDCARegressor

FIXED = ("warm_start", "verbose")  # arguments of `solve` that paths go without


class PathCV(SDCABase):
    """What the cross-validated estimators have in common."""

    def get_metadata_routing(self) -> Any:
        """What is passed on: to the splitter, for example groups."""
        mapping = routing.MethodMapping().add(caller="fit", callee="split")
        router = routing.MetadataRouter(owner=type(self).__name__)
        return router.add_self_request(self).add(splitter=check_cv(self.cv), method_mapping=mapping)

    def _folds(self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]) -> list[Any]:
        """Pairs of rows to train on and to test on."""
        splitter = check_cv(self.cv, y, classifier=is_classifier(self))
        return list(splitter.split(X, y, **self._split_params(sample_weight, params)))

    def _split_params(self, sample_weight: Any, params: dict[str, Any]) -> dict[str, Any]:
        if not params:
            return {}
        _raise_for_params(params, self, "fit")
        routed = routing.process_routing(self, "fit", sample_weight=sample_weight, **params)
        found: dict[str, Any] = routed.splitter.split
        return found

    def _search(self, X: Any, y: Any, target: Any, weight: Any, folds: list[Any]) -> None:
        """Score every point on every fold, and fit the best one on all rows."""
        self.points_over_, values = self._grid(X, target, weight)
        seed = self._seed()  # one for all: folds in threads must not draw from one RandomState
        scorer = None if self.scoring is None else check_scoring(self, scoring=self.scoring)
        if hasattr(X, "tocsr"):
            X = X.tocsr()
        scores = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(self._fold)(X, y, target, weight, train, test, values, scorer, seed)
            for train, test in folds
        )
        self.scores_ = np.column_stack(scores)
        best = float(values[int(self.scores_.mean(axis=1).argmax())])
        setattr(self, f"{self.points_over_}s_", values)
        setattr(self, f"{self.points_over_}_", best)
        self._fit(X, target, weight, seed=seed, **{self.points_over_: best})

    def _grid(self, X: Any, target: np.ndarray, weight: Any) -> tuple[str, np.ndarray]:
        """ "sigma" or "lam", and its values, from the largest to the smallest."""
        reg = _spec.reg(self.reg)
        if self.sigmas is not None and self.lams is not None:
            raise ValueError("sigmas and lams: a path has one of them; the other one is fixed")
        for name in ("sigma", "lam"):
            given = getattr(self, f"{name}s")
            if given is not None:
                return name, np.sort(_validate.positives(f"{name}s", given))[::-1]
        num = _validate.count("num", self.num, 1)
        if not reg.has_sigma:
            total = len(target) if weight is None else float(weight.sum())
            return "lam", np.geomspace(100.0, 0.1, num) / total
        ratio = _validate.positive("ratio", self.ratio)
        loss = self._loss()
        largest = max(
            sigma_max(
                X,
                y,
                loss=loss,
                reg=reg,
                sample_weight=weight,
                fit_intercept=self.fit_intercept,
            )
            for y in self._columns(loss, target)
        )
        if not largest > 0:
            raise ValueError(f"sigma_max = {largest}: there is no path from it down; give sigmas")
        return "sigma", largest * np.geomspace(1, ratio, num)

    def _path_arguments(self, n: int, weight: Any, seed: int) -> dict[str, Any]:
        arguments = self._arguments(n, weight, seed, loss=self._loss())
        return {name: value for name, value in arguments.items() if name not in FIXED}

    def _columns(self, loss: Any, target: np.ndarray) -> Iterator[np.ndarray]:
        """The targets of each problem that is solved."""
        raise NotImplementedError

    def _fold(
        self, X: Any, y: Any, target: Any, weight: Any, train: Any, test: Any, values: Any,
        scorer: Any, seed: int,
    ) -> list[float]:  # fmt: skip
        """The score of each point on the rows that were left out."""
        part = None if weight is None else weight[train]
        arguments = self._path_arguments(len(train), part, seed)
        arguments.pop(self.points_over_)
        arguments[f"{self.points_over_}s"] = values
        with sklearn_warnings():
            found = [
                path(X[train], column, **arguments)
                for column in self._columns(arguments["loss"], target[train])
            ]
        scores = []
        for point in range(len(values)):
            w = np.column_stack([p.coef[:, [point]].toarray() for p in found])
            if isinstance(arguments["loss"], VectorLoss):
                w = w.reshape(self.n_features_in_, -1)
            beta = np.concatenate([np.atleast_1d(p.intercept[..., point]) for p in found])
            model = copy.copy(self)
            model.loss_ = arguments["loss"]
            if getattr(model.loss_, "classes", None) is not None:  # which may be more than y has
                model.classes_ = found[0].classes
            if hasattr(model, "feature_names_in_"):  # X is an array by now
                del model.feature_names_in_
            model._take(w if w.shape[1] > 1 else w[:, 0], beta if len(beta) > 1 else beta[0])
            left_out = None if weight is None else weight[test]
            if scorer is None:
                scores.append(model._default_score(X[test], y[test], left_out))
            else:
                scores.append(scorer(model, X[test], y[test]))
        return scores


class SDCARegressorCV(PathCV, SDCARegressor):
    """`SDCARegressor` with sigma, or lam, chosen by cross-validation along a path.

    Parameters
    ----------
    loss, reg, lam, sigma, fit_intercept, tol, eps, max_iter, solver, side, order, random_state, \
verbose
        As in `SDCARegressor`; of lam and sigma, the one that is not chosen.
    sigmas : array_like, optional
        The sigmas to choose from; by default `num` of them from sigma_max, where only the intercept
        is left, down to `ratio` times that.
    lams : array_like, optional
        The lams to choose from instead; by default, where the regulariser has no sigma, `num` of
        them from 100 to 0.1, divided by sum(sample_weight).
    num : int
    ratio : float
    cv : int, splitter or iterable, optional
        The folds, as in scikit-learn.
    scoring : str or callable, optional
        What is to be large; by default minus the mean of the loss.
    n_jobs : int, optional
        How many folds are solved at a time, in threads.

    Attributes
    ----------
    sigma_, sigmas_ or lam_, lams_
        The value that was chosen, and those that there were.
    scores_ : (m, folds) array
        The score of each value on each fold.
    coef_, intercept_, gap_ and the others
        Of the fit on all rows, as in `SDCARegressor`.
    """

    def __init__(
        self,
        loss: Any = "squared",
        reg: Any = "l1",
        *,
        sigmas: Any = None,
        lams: Any = None,
        num: int = 50,
        ratio: float = 0.01,
        lam: Any = None,
        sigma: Any = None,
        fit_intercept: bool = True,
        cv: Any = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        tol: float = 1e-4,
        eps: float | None = None,
        max_iter: int = 10_000,
        solver: Any = "auto",
        side: str = "auto",
        order: str = "permutation",
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            loss, reg, lam=lam, sigma=sigma, fit_intercept=fit_intercept, tol=tol, eps=eps,
            max_iter=max_iter, solver=solver, side=side, order=order, random_state=random_state,
            verbose=verbose,
        )  # fmt: skip
        del self.warm_start
        self.sigmas = sigmas
        self.lams = lams
        self.num = num
        self.ratio = ratio
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> SDCARegressorCV:
        """Choose sigma or lam, and fit with it.

        Parameters
        ----------
        X : (n, d) array_like or sparse
        y : (n,) array_like
        sample_weight : (n,) array_like, optional
        **params
            For the splitter, by metadata routing: groups, for example.

        Returns
        -------
        self
        """
        X, y = self._validated(X, y, y_numeric=True)
        weight = self._weights(sample_weight, X)
        self._search(X, y, y, weight, self._folds(X, y, sample_weight, params))
        return self

    def _columns(self, loss: Any, target: np.ndarray) -> Iterator[np.ndarray]:
        yield target

    def _default_score(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> float:
        z = np.ravel(self._margins(X))
        return -float(np.average(self._loss().value(z, y), weights=weight))


class SDCAClassifierCV(PathCV, SDCAClassifier):
    """`SDCAClassifier` with sigma, or lam, chosen by cross-validation along a path.

    Parameters
    ----------
    loss, reg, lam, sigma, multi_class, fit_intercept, class_weight, tol, eps, max_iter, solver, \
side, order, random_state, verbose
        As in `SDCAClassifier`; of lam and sigma, the one that is not chosen.
    sigmas, lams, num, ratio, cv, n_jobs
        As in `SDCARegressorCV`.
    scoring : str or callable, optional
        What is to be large; by default the accuracy.

    Attributes
    ----------
    sigma_, sigmas_ or lam_, lams_
        The value that was chosen, and those that there were.
    scores_ : (m, folds) array
        The score of each value on each fold.
    coef_, intercept_, gap_ and the others
        Of the fit on all rows, as in `SDCAClassifier`.
    """

    def __init__(
        self,
        loss: Any = "logistic",
        reg: Any = "l2",
        *,
        sigmas: Any = None,
        lams: Any = None,
        num: int = 10,
        ratio: float = 0.01,
        lam: Any = None,
        sigma: Any = None,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        class_weight: Any = None,
        cv: Any = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        tol: float = 1e-4,
        eps: float | None = None,
        max_iter: int = 10_000,
        solver: Any = "auto",
        side: str = "auto",
        order: str = "permutation",
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            loss, reg, lam=lam, sigma=sigma, multi_class=multi_class, fit_intercept=fit_intercept,
            class_weight=class_weight, tol=tol, eps=eps, max_iter=max_iter, solver=solver,
            side=side, order=order, random_state=random_state, verbose=verbose,
        )  # fmt: skip
        del self.warm_start
        self.sigmas = sigmas
        self.lams = lams
        self.num = num
        self.ratio = ratio
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> SDCAClassifierCV:
        """Choose sigma or lam, and fit with it.

        Parameters
        ----------
        X : (n, d) array_like or sparse
        y : (n,) array_like
        sample_weight : (n,) array_like, optional
        **params
            For the splitter, by metadata routing: groups, for example.

        Returns
        -------
        self
        """
        X, y = self._validated(X, y)
        target = self._encoded(y)
        weight = self._class_weights(target, self._weights(sample_weight, X))
        folds = self._folds(X, y, sample_weight, params)
        for train, _ in folds:
            missing = np.setdiff1d(np.arange(len(self.classes_)), target[train])
            if len(missing):
                label = self.classes_.tolist()[missing[0]]
                raise ValueError(
                    f"a fold has no rows of class {label!r} to train on: fewer folds, or more rows "
                    "of it, are needed"
                )
        self._search(X, y, target, weight, folds)
        return self

    def _columns(self, loss: Any, target: np.ndarray) -> Iterator[np.ndarray]:
        if isinstance(loss, VectorLoss) or len(self.classes_) == 2:
            yield self._targets(loss, target)
        else:
            for c in range(len(self.classes_)):
                yield np.where(target == c, 1, -1)

    def _default_score(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> float:
        return float(np.average(self.predict(X) == y, weights=weight))
