"""What all estimators have in common: parameters -> arguments of `solve`, results -> attributes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import ConvergenceWarning as SklearnWarning
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .. import _spec, _validate
from .._container import Damaged
from .._model import KINDS, Saved
from .._result import ConvergenceWarning, Start, warning_class
from ..losses import VectorLoss

FORMATS = ("csr", "csc")
DTYPES = (np.float64, np.float32)


class EstimatorWarning(ConvergenceWarning, SklearnWarning):
    """The target was not reached: both proxsdca's and scikit-learn's ConvergenceWarning."""


@dataclass(frozen=True)
class Unscaled:
    """A lam or sigma that stands beside a sum of losses, not beside their weighted mean.

    Parameters
    ----------
    value : float
    per : {"sum", "rows"}
        Whether the losses s_i phi_i are added up, as in C-style objectives, or divided by the
        number of rows. Either way it is divided by what makes a weighted mean of them: value /
        sum(sample_weight), or n value / sum(sample_weight).
    """

    value: float
    per: str = "sum"

    def over(self, n: int, total: float) -> float:
        """The value beside the weighted mean of n rows whose weights add up to total."""
        value = _validate.nonnegative("value", self.value)
        per = _validate.choice("per", self.per, ("sum", "rows"))
        return value / total if per == "sum" else value * n / total


KINDS["Unscaled"] = Unscaled


def scaled(value: Any, n: int, total: float) -> Any:
    """A lam or sigma beside the weighted mean of n rows whose weights add up to total."""
    return value.over(n, total) if isinstance(value, Unscaled) else value


@contextmanager
def sklearn_warnings() -> Iterator[None]:
    """Warn of missed targets in a way that filters for scikit-learn's warnings see."""
    token = warning_class.set(EstimatorWarning)
    try:
        yield
    finally:
        warning_class.reset(token)


class SDCABase(Saved, BaseEstimator):
    """A linear model, fitted by Prox-SDCA with a certificate."""

    coef_: Any  # an array, or sparse after `sparsify`
    classes_: Any

    def _validated(self, X: Any, y: Any, **more: Any) -> tuple[Any, np.ndarray]:
        """X and y for a fit; feature names and counts are kept."""
        checked: tuple[Any, np.ndarray] = validate_data(
            self, X, y, accept_sparse=FORMATS, dtype=DTYPES, accept_large_sparse=True, **more
        )
        return checked

    def _features(self, X: Any) -> Any:
        """X for a prediction, with the features that were fitted."""
        check_is_fitted(self)
        return validate_data(
            self, X, accept_sparse=FORMATS, dtype=DTYPES, accept_large_sparse=True, reset=False
        )

    def _encoded(self, y: np.ndarray) -> np.ndarray:
        """The number of each row's class; `classes_` are kept."""
        check_classification_targets(y)
        self.classes_, target = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes in the data, but y "
                f"contains only one class: {self.classes_.tolist()[0]!r}"
            )
        return target

    def _weights(self, sample_weight: Any, X: Any) -> np.ndarray | None:
        if sample_weight is None:
            return None
        weight: np.ndarray = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
        return weight

    def _seed(self) -> int:
        state = self.random_state
        if state is None or isinstance(state, np.random.RandomState):
            return int(check_random_state(state).randint(2**31 - 1))
        return _validate.count("random_state", state, 0)

    def _arguments(
        self, n: int, weight: np.ndarray | None, seed: int | None = None, **other: Any
    ) -> dict[str, Any]:
        """The arguments of `solve`, but for X, y and the loss."""
        total = float(n if weight is None else weight.sum())
        return {
            "reg": self.reg,
            "lam": scaled(self.lam, n, total),
            "sigma": scaled(self.sigma, n, total),
            "sample_weight": weight,
            "fit_intercept": self.fit_intercept,
            "side": self.side,
            "tol": self.tol,
            "eps": self.eps,
            "max_epochs": self.max_iter,
            "solver": self.solver,
            "order": self.order,
            "seed": self._seed() if seed is None else seed,
            "verbose": self.verbose,
            **other,
        }

    def _margins(self, X: Any) -> np.ndarray:
        """X coef_^T + intercept_."""
        X = self._features(X)
        z: np.ndarray = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        return z

    def _keep(self, found: Any) -> None:
        """What a `Result`, or a `OneVsRest`, says of the fit."""
        self.result_, self.loss_ = found, found.loss
        self.dual_coef_ = found.alpha
        self._keep_certificate(found)

    def _keep_certificate(self, found: Any) -> None:
        self.gap_, self.rounding_ = found.gap, found.rounding
        self.primal_, self.dual_ = found.primal, found.dual
        self.n_iter_ = int(np.max(found.epochs))
        self.history_ = found.history

    def _previous(self, loss: Any, target: np.ndarray, weight: np.ndarray | None) -> Any:
        """What the last fit leaves to start from, if warm_start asks for it and it is one of a
        problem like this."""
        if not getattr(self, "warm_start", False):
            return None
        last, rows = getattr(self, "result_", None), getattr(self, "_rows", None)
        self._rows = target, weight
        if last is None or rows is None:
            return None
        k = len(self.classes_) if hasattr(self, "classes_") else 2
        joint = isinstance(loss, VectorLoss)
        like = (
            repr(last.loss) == repr(loss)
            and repr(last.reg) == repr(_spec.reg(self.reg))
            and last.w.shape
            == ((self.n_features_in_, k) if k > 2 or joint else (self.n_features_in_,))
            and last.alpha.shape[0] <= len(target)
        )
        if not like:
            return None
        if joint:  # whose alpha depends on targets and weights
            now: Any = (target, weight)
            return last if all(map(np.array_equal, rows, now)) else None
        return last if k > 2 else Start(last.w, last.intercept, last.alpha)

    def _fields(self) -> dict[str, Any]:
        check_is_fitted(self)
        fitted = {
            name: value
            for name, value in vars(self).items()
            if name.endswith("_") and not name.startswith("_")
        }
        rows = getattr(self, "_rows", None)  # what warm_start looks at
        return {"parameters": self.get_params(deep=False), "fitted": fitted, "rows": rows}

    @classmethod
    def _of_fields(cls, fields: dict[str, Any]) -> Any:
        estimator = cls(**fields["parameters"])
        for name, value in fields["fitted"].items():
            if not (isinstance(name, str) and name.endswith("_") and not name.startswith("_")):
                raise Damaged(f"{cls.__name__} has no attribute {name!r}")
            setattr(estimator, name, value)
        if fields["rows"] is not None:
            estimator._rows = fields["rows"]
        return estimator

    def sparsify(self) -> Any:
        """Turn coef_ into a sparse matrix, which takes less room where most of it is 0."""
        check_is_fitted(self)
        if not sparse.issparse(self.coef_):
            self.coef_ = sparse.csr_array(np.atleast_2d(self.coef_))
        return self

    def densify(self) -> Any:
        """Turn coef_ back into an array."""
        check_is_fitted(self)
        if hasattr(self.coef_, "toarray"):
            coef = self.coef_.toarray()
            self.coef_ = coef if is_classifier(self) else coef[0]
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
