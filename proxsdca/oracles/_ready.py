"""What the ready oracles have in common."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .. import _validate
from .._core.ready_oracles import RowsOracle
from .._core.rows import Rows


class Decoded(NamedTuple):
    """What `decode` finds.

    Attributes
    ----------
    labels : array, or list of arrays
        The label of each row with the largest score; a list where the examples were given as one.
    scores : (n,) array
        w^T psi(x_i, label), for each example.
    """

    labels: Any
    scores: np.ndarray


class Ready:
    """An oracle that is compiled, and runs without Python's lock.

    Attributes
    ----------
    n, d : int
        How many examples there are, and how many weights.
    """

    approximate = False
    _compiled: RowsOracle

    @property
    def n(self) -> int:
        """How many examples there are."""
        return self._compiled.n

    @property
    def d(self) -> int:
        """How many weights there are."""
        return self._compiled.d

    @property
    def compiled(self) -> RowsOracle | None:
        """The compiled oracle; None where this one has an argmax of its own."""
        for name in ("argmax", "features"):
            if name in vars(self) or getattr(type(self), name) is not getattr(Ready, name):
                return None
        return self._compiled

    def argmax(self, i: int, w: ArrayLike) -> tuple[tuple[np.ndarray, np.ndarray], float, Any]:
        """The label j with the largest delta(j, y_i) - w^T (psi(x_i, y_i) - psi(x_i, j)).

        Returns
        -------
        (indices, values), delta, label
            The entries of psi(x_i, y_i) - psi(x_i, label), where an index may stand twice, its cost
            delta(label, y_i), and the label.
        """
        xi, delta, label = self._compiled.answer(self._example(i), _validate.vector("w", w, self.d))
        return xi, delta, self.shown(label)

    def features(self, i: int, label: Any) -> tuple[tuple[np.ndarray, np.ndarray], float]:
        """(indices, values) of psi(x_i, y_i) - psi(x_i, label), and delta(label, y_i)."""
        i = self._example(i)
        return self._compiled.features(i, self._numbers(i, label))

    def radius(self, i: int) -> float:
        """A bound on |psi(x_i, j)|_2 for all labels j."""
        raise NotImplementedError

    def _example(self, i: int) -> int:
        i = operator.index(i)
        if not 0 <= i < self.n:
            raise IndexError(f"i = {i}: 0 to {self.n - 1} is allowed")
        return i

    def shown(self, label: np.ndarray) -> Any:
        """A label as users see it, of its numbers."""
        raise NotImplementedError

    def _numbers(self, i: int, label: Any) -> np.ndarray:
        """The numbers of a label of example i."""
        raise NotImplementedError


def numbers_of(label: Any, classes: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The places of labels among the classes, which are in order or not."""
    array = np.asarray(label)
    if array.shape != shape:
        raise ValueError(f"label has shape {array.shape}, {shape} is needed")
    known = {value: place for place, value in enumerate(classes.tolist())}
    found = np.array([known.get(value, -1) for value in array.reshape(-1).tolist()], np.int32)
    if (found < 0).any():
        k = int((found < 0).argmax())
        raise ValueError(
            f"label[{k}] = {array.reshape(-1).tolist()[k]!r} is not one of the classes"
        )
    return found


def decode(compiled: RowsOracle, w: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of the best labels, one after the other, and their scores."""
    labels, scores = np.empty(size, np.int32), np.empty(compiled.n)
    compiled.decode(w, labels, scores)
    return labels, scores


def rows_for(X: Any, columns: int) -> Rows:
    """X for decoding, with as many columns as the model was made for."""
    rows = _validate.rows(X)
    if rows.d != columns:
        raise ValueError(f"X has {rows.d} columns, {columns} are needed: as many as the oracle has")
    return rows
