"""Sequences, one label for each position."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from .. import _validate
from .._core.ready_oracles import ChainOracle
from ._ready import Decoded, Ready, decode, numbers_of, rows_for


class ChainWeights(NamedTuple):
    """The parts of a chain's w, as views.

    Attributes
    ----------
    unary : (p, k) array
        A weight for each feature and label.
    transitions : (k, k) array
        From the label of a position, by rows, to that of the next one.
    start, end : (k,) array
        For the labels of the first and of the last position.
    """

    unary: np.ndarray
    transitions: np.ndarray
    start: np.ndarray
    end: np.ndarray


class Chain(Ready):
    """Linear chains: psi(x, y) has x_t at the weights of y_t, added up over the positions t, and
    counts the transitions, the first and the last label.

    The worst label is found by Viterbi's algorithm, its cost is the number of wrong positions. w
    has p k weights of features, then k^2 of transitions, k for the start and k for the end.

    Parameters
    ----------
    X : (positions, p) array_like or sparse, or sequence of such
        The features of all positions, sequence after sequence; or a matrix for each sequence.
    y : (positions,) array_like, or sequence of such
        Their labels.
    lengths : (n,) array_like of int, optional
        The length of each sequence, 1 or more; left out where X is a sequence of matrices.
    classes : (k,) array_like, optional
        All labels that there are; by default those of y, in order.
    normalize : bool
        Whether the cost is the share of wrong positions, not their number.

    Attributes
    ----------
    classes : (k,) array
    lengths : (n,) array
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        lengths: ArrayLike | None = None,
        *,
        classes: ArrayLike | None = None,
        normalize: bool = False,
    ) -> None:
        if lengths is None:
            X, lengths = _stacked(X)
            y = _joined(y, lengths)
        rows = _validate.rows(X)
        self.lengths = _validate.lengths("lengths", lengths, rows.n)
        kind = SimpleNamespace(classes=classes, name="Chain")
        target, self.classes = _validate.class_targets(y, rows.n, kind)
        for array in (self.lengths, self.classes):
            array.flags.writeable = False
        self._columns = rows.d
        normalize = _validate.flag("normalize", normalize)
        self._compiled = ChainOracle(
            rows, _offsets(self.lengths), target.astype(np.int32), len(self.classes), normalize
        )

    def radius(self, i: int) -> float:
        """(sum_t |x_t|_2)^2 for the features, (T - 1)^2 for transitions, and 2, under a root."""
        i = self._example(i)
        return math.hypot(self._compiled.lengths[i], self.lengths[i] - 1, 1, 1)

    def parts(self, w: ArrayLike) -> ChainWeights:
        """The parts of w."""
        p, k = self._columns, len(self.classes)
        array = _validate.vector("w", w, self.d)
        unary, transitions, start, end = np.split(array, [p * k, p * k + k * k, p * k + k * k + k])
        return ChainWeights(unary.reshape(p, k), transitions.reshape(k, k), start, end)

    def decode(self, w: ArrayLike, X: Any = None, lengths: ArrayLike | None = None) -> Decoded:
        """The labels of each sequence with the largest score, and that score.

        Of several with the same score, the one whose last label comes first among the classes, then
        the last but one, and so on.

        Parameters
        ----------
        w : (d,) array_like
        X, lengths : optional
            Sequences, as for the oracle; by default its own.
        """
        weights = _validate.vector("w", w, self.d)
        sizes, listed = self.lengths, False
        if X is not None:
            if lengths is None:
                listed = True
                X, lengths = _stacked(X)
            rows = rows_for(X, self._columns)
            sizes = _validate.lengths("lengths", lengths, rows.n)
            numbers, scores = _decoded(weights, rows, sizes, len(self.classes))
        elif lengths is not None:
            raise ValueError("lengths is given without X")
        else:
            numbers, scores = decode(self._compiled, weights, int(sizes.sum()))
        labels: Any = self.classes[numbers]
        return Decoded(np.split(labels, np.cumsum(sizes)[:-1]) if listed else labels, scores)

    def shown(self, label: np.ndarray) -> Any:
        """A label as users see it, of its numbers."""
        return self.classes[label]

    def _numbers(self, i: int, label: Any) -> np.ndarray:
        return numbers_of(label, self.classes, (int(self.lengths[i]),))


def best_labels(w: np.ndarray, X: Any, lengths: np.ndarray, k: int) -> Any:
    """The numbers of the labels with the largest scores, of k, and those scores."""
    return _decoded(w, _validate.rows(X), lengths, k)


def _decoded(w: np.ndarray, rows: Any, lengths: np.ndarray, k: int) -> Any:
    return decode(ChainOracle(rows, _offsets(lengths), None, k, False), w, int(lengths.sum()))


def _offsets(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.intp)


def _stacked(X: Any) -> tuple[Any, np.ndarray]:
    """One matrix of a sequence of them, and how many rows each has."""
    if sparse.issparse(X) or not isinstance(X, (list, tuple)) or not X:
        raise ValueError("lengths is needed, or X as a list with a matrix for each sequence")
    for i, part in enumerate(X):
        if len(np.shape(part)) != 2:
            raise ValueError(f"X[{i}] has shape {np.shape(part)}: two dimensions are needed")
        if np.shape(part)[1] != np.shape(X[0])[1]:
            raise ValueError(
                f"X[{i}] has {np.shape(part)[1]} columns, X[0] has {np.shape(X[0])[1]}"
            )
    lengths = np.array([np.shape(part)[0] for part in X], np.intp)
    any_sparse = any(sparse.issparse(part) for part in X)
    return (sparse.vstack(X, format="csr") if any_sparse else np.vstack(X)), lengths


def _joined(y: Any, lengths: np.ndarray) -> np.ndarray:
    if not isinstance(y, (list, tuple)) or len(y) != len(lengths):
        raise ValueError(
            f"y must be a list with the labels of each of the {len(lengths)} sequences"
        )
    for i, part in enumerate(y):
        if np.shape(part) != (lengths[i],):
            raise ValueError(f"y[{i}] has shape {np.shape(part)}, X[{i}] has {lengths[i]} rows")
    return np.concatenate([np.asarray(part) for part in y])
