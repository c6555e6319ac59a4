"""Several labels for each row, which depend on each other along a tree."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from .. import _validate
from .._core.ready_oracles import TreeOracle
from ._ready import Decoded, Ready, decode, rows_for


class MultilabelWeights(NamedTuple):
    """The parts of a multilabel w, as views.

    Attributes
    ----------
    unary : (p, k) array
        A weight for each feature and label that is on.
    pairs : (m, 2, 2) array
        For each edge (a, b), the weight of each pair of states of a and b.
    """

    unary: np.ndarray
    pairs: np.ndarray


class Multilabel(Ready):
    """k labels that are on or off: psi(x, y) has x at the weights of every label that is on, and
    for each edge (a, b) of a tree a 1 for the pair of states (y_a, y_b).

    The worst labels are found by max-product along the tree, their cost is the number of those that
    are wrong. w has p k weights of features, then four for each edge.

    Parameters
    ----------
    X : (n, p) array_like or sparse
        One example a row; used without a copy, as in `solve`.
    Y : (n, k) array_like or sparse
        1 where a label is on, 0 where it is off.
    edges : (m, 2) array_like of int, optional
        Pairs of labels without a cycle, so that they form a tree or several; by default the tree
        along which the labels of Y tell most of each other (Chow and Liu's). An empty list leaves
        the labels independent.

    Attributes
    ----------
    edges : (m, 2) array
    """

    def __init__(self, X: ArrayLike, Y: ArrayLike, edges: ArrayLike | None = None) -> None:
        rows = _validate.rows(X)
        target = _validate.binary("Y", Y, rows.n)
        k = target.shape[1]
        self._columns, self._k = rows.d, k
        pairs = chow_liu(target) if edges is None else _validate.forest("edges", edges, k)
        self._tree = (pairs, *_rooted(pairs, k))
        self._compiled = TreeOracle(rows, target, k, *self._tree)
        self.edges = pairs.copy()
        self.edges.flags.writeable = False

    def radius(self, i: int) -> float:
        """(k |x_i|_2^2 + m)^(1/2), m being the number of edges."""
        length = float(self._compiled.lengths[self._example(i)])
        return math.hypot(math.sqrt(self._k) * length, math.sqrt(len(self.edges)))

    def parts(self, w: ArrayLike) -> MultilabelWeights:
        """The parts of w."""
        unary, pairs = np.split(_validate.vector("w", w, self.d), [self._columns * self._k])
        return MultilabelWeights(unary.reshape(self._columns, self._k), pairs.reshape(-1, 2, 2))

    def decode(self, w: ArrayLike, X: ArrayLike | None = None) -> Decoded:
        """The labels of each row with the largest score, (m, k) of 0 and 1, and that score.

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
            compiled = TreeOracle(rows, None, self._k, *self._tree)
        labels, scores = decode(compiled, weights, compiled.n * self._k)
        return Decoded(labels.reshape(-1, self._k), scores)

    def shown(self, label: np.ndarray) -> Any:
        """A label as users see it, of its numbers."""
        return label

    def _numbers(self, i: int, label: Any) -> np.ndarray:
        array: np.ndarray = _validate.binary("label", np.asarray(label).reshape(1, -1), 1)
        if array.shape != (1, self._k):
            raise ValueError(f"label has shape {np.shape(label)}, {(self._k,)} is needed")
        row: np.ndarray = array[0]
        return row


def chow_liu(Y: np.ndarray) -> np.ndarray:
    """The edges of the tree with the largest sum of mutual informations of the columns of Y."""
    n, k = Y.shape
    on = Y.astype(float)
    both = on.T @ on / n
    p = both.diagonal()
    information = np.zeros((k, k))
    for a, b, joint in (
        (p, p, both),
        (p, 1 - p, p[:, None] - both),
        (1 - p, p, p - both),
        (1 - p, 1 - p, 1 - p[:, None] - p + both),
    ):
        joint = np.maximum(joint, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            information += np.nan_to_num(joint * np.log(joint / np.outer(a, b)), posinf=0, neginf=0)
    # spanning trees leave out weights of 0, so that the largest has the smallest weight above it
    weight = information.max() - np.maximum(information, 0) + 1
    np.fill_diagonal(weight, 0)
    from scipy.sparse.csgraph import minimum_spanning_tree  # half of what importing us would take

    tree = minimum_spanning_tree(sparse.csr_array(np.triu(weight))).tocoo()
    pairs = np.column_stack([tree.row, tree.col]).astype(np.intp)
    return np.ascontiguousarray(pairs[np.lexsort(pairs.T[::-1])])


def _rooted(edges: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The labels, each after its parent, and the edge that leads to the parent, -1 at roots."""
    neighbours: list[list[tuple[int, int]]] = [[] for _ in range(k)]
    for e, (a, b) in enumerate(edges.tolist()):
        neighbours[a].append((b, e))
        neighbours[b].append((a, e))
    order, parent_edge = [], np.full(k, -1, np.intp)
    seen = [False] * k
    for root in range(k):
        waiting = [] if seen[root] else [root]
        while waiting:
            node = waiting.pop()
            seen[node] = True
            order.append(node)
            for other, e in neighbours[node]:
                if not seen[other]:
                    parent_edge[other] = e
                    waiting.append(other)
    return np.array(order, np.intp), parent_edge
