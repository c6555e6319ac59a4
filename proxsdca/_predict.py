"""What a solution says of new data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _validate
from ._core.rows import Rows
from ._core.scores import scores, segment_winners, softmax, winners
from .losses import Logistic, Poisson, Softmax, VectorLoss

if TYPE_CHECKING:
    from ._result import Result


def _rows(w: np.ndarray, X: Any) -> Rows:
    rows = _validate.rows(X)
    if rows.d != len(w):
        raise ValueError(f"X has {rows.d} columns, {len(w)} are needed: as many as w was found for")
    return rows


def _columns(w: np.ndarray) -> np.ndarray:
    """w with a column for each class, as the core reads it."""
    return np.ascontiguousarray(w).reshape(len(w), -1)


def _start(w: np.ndarray, intercept: Any) -> np.ndarray:
    """The intercept of each column of w."""
    k = 1 if w.ndim == 1 else w.shape[1]
    return np.ascontiguousarray(np.broadcast_to(np.asarray(intercept, float), k))


def decision_function(w: np.ndarray, X: Any, intercept: Any = 0.0) -> np.ndarray:
    """X w + intercept: (n,), or (n, k) where w has k columns."""
    z: np.ndarray = scores(_rows(w, X), _columns(w), _start(w, intercept))
    return z[:, 0] if w.ndim == 1 else z


def classes_of(w: np.ndarray, X: Any, classes: np.ndarray, intercept: Any = 0.0) -> np.ndarray:
    """The class of each row with the largest entry of X w + intercept."""
    found: np.ndarray = classes[winners(_rows(w, X), _columns(w), _start(w, intercept))]
    return found


def _choices(result: Result, X: Any, offsets: Any) -> np.ndarray | None:
    """Checked offsets, where the loss is vector-valued and w has one column."""
    if isinstance(result.loss, VectorLoss) and result.w.ndim == 1:
        if offsets is None:
            raise ValueError("offsets is needed: the model chooses among several rows of X")
        return _validate.offsets(offsets, _validate.length(X))
    if offsets is not None:
        raise ValueError("offsets: the model takes a single row of X for each example")
    return None


def predict(result: Result, X: Any, offsets: Any = None) -> np.ndarray:
    """Classes, chosen rows, or the mean that the loss is one for."""
    segments = _choices(result, X, offsets)
    if segments is not None:
        return segment_winners(decision_function(result.w, X), segments)
    if result.w.ndim == 2:
        assert result.classes is not None
        return classes_of(result.w, X, result.classes, result.intercept)
    z = decision_function(result.w, X, result.intercept)
    if result.classes is not None:
        found: np.ndarray = result.classes[(z > 0).astype(np.intp)]
        return found
    with np.errstate(over="ignore"):
        return np.exp(z) if isinstance(result.loss, Poisson) else z


def predict_proba(result: Result, X: Any, offsets: Any = None) -> np.ndarray:
    """Probabilities of the classes, for softmax and logistic."""
    if not isinstance(result.loss, (Softmax, Logistic)):
        raise ValueError(
            f"loss {result.loss.name!r} says nothing of probabilities: 'softmax' and 'logistic' do"
        )
    segments = _choices(result, X, offsets)
    z = decision_function(result.w, X, result.intercept)
    if isinstance(result.loss, Logistic):
        z = np.column_stack([np.zeros_like(z), z])
    if segments is None:
        segments = np.arange(len(z) + 1) * z.shape[1]
    softmax(z.reshape(-1), segments)
    return z
