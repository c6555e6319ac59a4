"""One label for each row, with costs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import _validate
from .._core.ready_oracles import MulticlassOracle
from ._ready import Decoded, Ready, decode, numbers_of, rows_for


class Multiclass(Ready):
    """psi(x, j) = x at the weights of class j; w is a (p, k) matrix, flattened.

    Parameters
    ----------
    X : (n, p) array_like or sparse
        One example a row; used without a copy, as in `solve`.
    y : (n,) array_like
        Labels of any kind that can be ordered.
    cost : (k, k) array_like, optional
        cost[j, y] >= 0 of predicting class j for y, 0 where they are equal; by default 1.
    classes : (k,) array_like, optional
        All labels that there are; by default those of y, in order.

    Attributes
    ----------
    classes : (k,) array
    """

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        cost: ArrayLike | None = None,
        classes: ArrayLike | None = None,
    ) -> None:
        rows = _validate.rows(X)
        kind = SimpleNamespace(classes=classes, name="Multiclass")
        target, self.classes = _validate.class_targets(y, rows.n, kind)
        self.classes.flags.writeable = False
        k = len(self.classes)
        self._delta = _validate.costs(1 - np.eye(k) if cost is None else cost, k, target, None)
        self._columns = rows.d
        self._compiled = MulticlassOracle(rows, target.astype(np.int32), k, self._delta)

    def radius(self, i: int) -> float:
        """|x_i|_2."""
        return float(self._compiled.lengths[self._example(i)])

    def matrix(self, w: ArrayLike) -> np.ndarray:
        """w as a (p, k) matrix."""
        return _validate.vector("w", w, self.d).reshape(self._columns, -1)

    def decode(self, w: ArrayLike, X: ArrayLike | None = None) -> Decoded:
        """The class of each row with the largest score, and that score.

        Parameters
        ----------
        w : (d,) array_like
        X : (m, p) array_like or sparse, optional
            By default the rows that the oracle was made of.
        """
        weights = _validate.vector("w", w, self.d)
        compiled = self._compiled
        if X is not None:
            rows = rows_for(X, self._columns)
            compiled = MulticlassOracle(rows, None, len(self.classes), self._delta)
        labels, scores = decode(compiled, weights, compiled.n)
        return Decoded(self.classes[labels], scores)

    def shown(self, label: np.ndarray) -> Any:
        """A label as users see it, of its numbers."""
        return self.classes[label[0]]

    def _numbers(self, i: int, label: Any) -> np.ndarray:
        return numbers_of([label], self.classes, (1,))
