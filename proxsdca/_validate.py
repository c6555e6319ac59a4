"""Arrays to rows and targets: the only place where bad input is judged.

Nothing here changes what it is given.  A refusal is a ValueError, or a TypeError
where no value of that type would do, and names the argument, the first bad
position, the value there, and what is allowed.
"""

from __future__ import annotations

import copy
import difflib
import math
import numbers
import operator
import reprlib
from collections.abc import Collection, Hashable
from itertools import chain
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ._core.checks import (
    first_descent,
    first_nonfinite,
    first_nonfinite_2d,
    first_outside,
    strictly_increasing,
    two_values,
)
from ._core.compiled_loss import CompiledLoss
from ._core.notes import note
from ._core.rows import Rows, csr_rows, dense_rows
from ._core.transpose import transposed

Array = NDArray[Any]
Parts = tuple[Any, Any, Any]


class Loss(Protocol):
    """What a loss says about the targets it allows."""

    @property
    def name(self) -> str: ...

    @property
    def classification(self) -> bool: ...

    @property
    def target_min(self) -> float: ...

    @property
    def foreign(self) -> bool: ...

    def domain(self, y: Any) -> tuple[Any, Any]: ...


# ---------------------------------------------------------------- matrices


def dual_rows(name: str, alpha: Any, n: int, k: int, whole: bool) -> Rows:
    """The rows of an alpha of shape (n, k), or (m, k), m <= n, where it need not be whole."""
    shape = tuple(np.shape(alpha))
    if len(shape) != 2 or shape[1] != k or shape[0] > n or (whole and shape[0] != n):
        raise ValueError(
            f"{name} has shape {shape}, {'' if whole else 'at most '}{(n, k)} is "
            f"{'needed' if whole else 'allowed'}"
        )
    try:
        return rows(alpha)
    except (TypeError, ValueError) as error:
        raise type(error)(str(error).replace("X", name)) from None


def length(X: Any) -> int:
    """The number of rows of a matrix that is yet to be validated."""
    shape = np.shape(X)
    if len(shape) != 2:
        raise ValueError(f"X has shape {shape}: two dimensions, rows and columns, are needed")
    return int(shape[0])


def stacked(name: str, alpha: Any, offsets: Array, whole: bool) -> NDArray[np.float64]:
    """A number for each row of the examples, or of the first ones where it need not be whole."""
    total = int(offsets[-1])
    array = _floats(name, alpha)
    if array.ndim != 1 or len(array) > total or len(array) not in ([total] if whole else offsets):
        raise ValueError(
            f"{name} has shape {array.shape}, {(total,)} is needed: one number for each row of X"
        )
    return _vector(name, array, len(array), "")


def rows(X: Any, by_columns: bool = False) -> Rows:
    """Return the rows, or the columns, of a matrix, on its own memory wherever that can be used.

    Parameters
    ----------
    X : matrix of shape (n, d)
        Sparse in any of scipy's formats, or anything array-like, with real and
        finite values.  For its rows, CSR and dense matrices of float32 or float64 are not
        copied; for its columns, CSC and dense matrices in Fortran's order are not.
    by_columns : bool
        Whether to return the rows of X^T.

    Returns
    -------
    Rows
    """
    if sparse.issparse(X):
        try:
            return _sparse_rows(X, "csc" if by_columns else "csr")
        except (TypeError, AttributeError) as error:
            if str(error).startswith("X"):
                raise
            raise TypeError(f"X is not a sparse matrix as scipy makes them: {error}") from error
        except (ValueError, IndexError, OverflowError) as error:
            if str(error).startswith("X"):
                raise
            raise ValueError(f"X is not a sparse matrix as scipy makes them: {error}") from error
    array = _floats("X", X)
    _check_shape(array.shape)
    if (bad := first_nonfinite_2d(array)) is not None:
        raise _nonfinite_entry(*bad, array[bad])
    # a column in C's order would touch a line of memory for each of its entries
    return dense_rows(np.ascontiguousarray(array.T) if by_columns else array)


def _sparse_rows(X: Any, wanted: str) -> Rows:
    # A subclass may answer differently when asked again, and scipy's conversions
    # trust the indices they are given, beyond the ends of the arrays.  So every
    # attribute is read once, and scipy converts only what is made of checked parts.
    layout = X.format
    if layout not in ("csr", "csc", "bsr", *_COORDINATES):
        X, layout = X.tocoo(), "coo"
    shape = _check_shape(X.shape)
    if layout in _COORDINATES:
        data, indices, indptr = _from_coordinates(_COORDINATES[layout](X, shape), shape, wanted)
    else:
        data, indices, indptr = _from_compressed(X, layout, shape, wanted)
    if (k := first_nonfinite(data)) is not None:
        place = int(np.searchsorted(indptr, k, side="right")) - 1, int(indices[k])
        raise _nonfinite_entry(*(place if wanted == "csr" else place[::-1]), data[k])
    if wanted == "csr":
        return csr_rows(data, indices, indptr, shape[1], strictly_increasing(indptr, indices))
    if not strictly_increasing(indptr, indices):
        # the column side looks at single entries, so those of one place are added up beforehand, in
        # double precision
        parts = data.astype(np.float64), indices.copy(), indptr.copy()
        _check_range("X.indices", parts[1], shape[0])
        if first_descent(parts[2]) is not None or not 0 <= parts[2][-1] <= len(parts[0]):
            raise _changed()
        summed = sparse.csc_array(parts, shape=shape)
        summed.sum_duplicates()
        data, indices, indptr = summed.data, summed.indices, summed.indptr
    return csr_rows(data, indices, indptr, shape[0], True)


def _from_compressed(X: Any, layout: str, shape: tuple[int, int], wanted: str) -> Parts:
    """Return the CSR or CSC parts of a CSR, CSC or BSR matrix."""
    n, d = shape
    # what scipy converts must stay as it was checked, whatever other threads do to X
    parts = X.data, X.indices, X.indptr
    if layout == "bsr":
        parts = copy.copy(parts[0]), copy.copy(parts[1]), copy.copy(parts[2])
    data = _floats("X.data", parts[0])
    indices, indptr = _integers({"X.indices": parts[1], "X.indptr": parts[2]})
    if data.ndim != (axes := 3 if layout == "bsr" else 1):
        raise ValueError(f"X.data has shape {data.shape}: ndim = {axes} is needed in {layout}")
    height, width = data.shape[1:] or (1, 1)
    if not height or not width or n % height or d % width:
        raise ValueError(f"X has shape {shape}: blocks of shape {(height, width)} do not fit")
    n_major, n_minor = (d, n) if layout == "csc" else (n // height, d // width)

    if len(indptr) != n_major + 1:
        raise ValueError(
            f"X.indptr has length {len(indptr)}: {n_major + 1} is needed as X has shape {shape}"
        )
    if indptr[0] != 0:
        raise ValueError(f"X.indptr[0] = {indptr[0]}: 0 is needed")
    if (k := first_descent(indptr)) is not None:
        raise ValueError(
            f"X.indptr[{k + 1}] = {indptr[k + 1]} after {indptr[k]}: it must not decrease"
        )
    used, stored = int(indptr[-1]), min(len(data), len(indices))
    if used > stored:
        raise ValueError(f"X.indptr[{n_major}] = {used}: X stores only {stored} entries")
    data, indices = np.ascontiguousarray(data[:used]), indices[:used]
    _check_range("X.indices", indices, n_minor)
    if layout == wanted:
        return data, indices, indptr
    if layout == "bsr":
        return _parts(sparse.bsr_array((data, indices, indptr), shape=shape), wanted)
    if (found := transposed(data, indices, indptr, n_minor)) is None:
        raise _changed()
    return found


def _from_coordinates(entries: Parts, shape: tuple[int, int], wanted: str) -> Parts:
    """Return the CSR or CSC parts of values, rows and columns; duplicates are added."""
    # copies, so that what scipy converts is what was checked
    data, row, col = (copy.copy(part) for part in entries)
    data = _floats("X.data", data)
    row, col = _integers({"X.row": row, "X.col": col})
    if not data.shape == row.shape == col.shape:
        raise ValueError(
            f"X.data, X.row and X.col have shapes {data.shape}, {row.shape} and {col.shape}: "
            "equal lengths are needed"
        )
    _check_range("X.row", row, shape[0])
    _check_range("X.col", col, shape[1])
    return _parts(sparse.coo_array((data, (row, col)), shape=shape), wanted)


def _parts(checked: Any, wanted: str) -> Parts:
    converted = checked.asformat(wanted)
    return converted.data, converted.indices, converted.indptr


def _coo_entries(X: Any, shape: tuple[int, int]) -> Parts:
    return X.data, X.row, X.col


def _dok_entries(X: Any, shape: tuple[int, int]) -> Parts:
    entries = list(X.items())
    return (
        [value for _, value in entries],
        [i for (i, _), _ in entries],
        [j for (_, j), _ in entries],
    )


def _lil_entries(X: Any, shape: tuple[int, int]) -> Parts:
    columns, values = X.rows, X.data
    if not len(columns) == len(values) == shape[0]:
        raise ValueError(
            f"X.rows and X.data have lengths {len(columns)} and {len(values)}: "
            f"{shape[0]} is needed as X has shape {shape}"
        )
    lengths = [len(row) for row in columns]
    for i, length in enumerate(lengths):
        if length != len(values[i]):
            raise ValueError(
                f"X.data[{i}] has length {len(values[i])}: {length} is needed as X.rows[{i}] has it"
            )
    row = np.repeat(np.arange(len(lengths)), lengths)
    return list(chain.from_iterable(values)), row, list(chain.from_iterable(columns))


def _dia_entries(X: Any, shape: tuple[int, int]) -> Parts:
    data = _floats("X.data", X.data)
    (offsets,) = _integers({"X.offsets": X.offsets})
    if data.ndim != 2 or len(data) != len(offsets):
        raise ValueError(
            f"X.data has shape {data.shape}: a row for each of the {len(offsets)} X.offsets "
            "is needed"
        )
    column = np.arange(min(shape[1], data.shape[1]))
    row = column - offsets[:, None]  # which wraps around only to what is outside
    diagonal, column = np.nonzero((row >= 0) & (row < shape[0]))
    return data[diagonal, column], row[diagonal, column], column


_COORDINATES = {
    "coo": _coo_entries,
    "dok": _dok_entries,
    "lil": _lil_entries,
    "dia": _dia_entries,
}


def _check_shape(shape: tuple[int, ...]) -> tuple[int, int]:
    if len(shape) != 2:
        raise ValueError(f"X has shape {shape}: two dimensions, rows and columns, are needed")
    n, d = (operator.index(length) for length in shape)
    if min(n, d) < 1:
        raise ValueError(f"X has shape {shape}: at least one row and one column are needed")
    if max(n, d) >= 2**48:
        raise ValueError(f"X has shape {shape}: fewer than 2**48 rows and columns are needed")
    return n, d


def _check_range(name: str, indices: Array, stop: int) -> None:
    if (k := first_outside(indices, stop)) is not None:
        raise ValueError(f"{name}[{k}] = {indices[k]}: 0 to {stop - 1} is allowed")


def _changed() -> ValueError:
    return ValueError("X changed while it was being read: its memory must be left alone")


def _nonfinite_entry(row: int, column: int, value: Any) -> ValueError:
    return ValueError(f"X[{row}, {column}] = {value}; X must be finite")


# ----------------------------------------------------------------- vectors


def targets(y: Any, n: int, loss: Loss) -> tuple[NDArray[np.float64], Array | None]:
    """Return the targets as numbers, and the classes that they stand for.

    Parameters
    ----------
    y : array-like of shape (n,)
        Numbers or, if the loss is one for classification, two kinds of labels.
    n : int
        The number of rows of X.
    loss : Loss

    Returns
    -------
    y : float64 array of shape (n,)
        New memory; -1 for the smaller class and +1 for the larger.
    classes : array of shape (2,) or None
        The two labels in order, None if the loss is one for regression.
    """
    if loss.classification:
        if type(y) is np.ndarray and y.shape == (n,) and y.dtype == np.float64:
            signs = np.empty(n)
            if found := two_values(np.require(y, requirements=["C", "A"]), signs):
                return signs, np.array(found)
        labels = _labels(y, n)
        classes = _two_classes(labels, loss)
        return np.where(labels == classes[1], 1.0, -1.0), classes
    values = _vector("y", y, n, f"X has {n} rows").copy()
    _check_minimum("y", values, loss.target_min, f" for {loss.name}")
    return values, None


def own_loss(
    loss: Any, y: NDArray[np.float64], weight: NDArray[np.float64] | None, pure_l1: bool
) -> float:
    """Judge a loss that is not ours, at the targets: elementwise, with numbers, bounded from below.

    Returns how far its mean may lie below 0, which is at most a rounding where `pure_l1`.
    """
    found = {}
    y, first, inverse = np.unique(y, return_index=True, return_inverse=True)
    for method in ("value", "subgradient", "conjugate"):
        try:
            with np.errstate(all="ignore"):
                answer = getattr(loss, method)(np.zeros(len(y)), y.copy())
                if answer is None:
                    raise TypeError(f"{loss.name}.{method} returns None: is a return missing?")
                found[method] = np.asarray(answer, np.float64)
        except Exception as error:
            if not isinstance(loss, CompiledLoss):
                note(error, f"in {loss.name}.{method}(array, array): it has to be elementwise")
            raise
        if found[method].shape != y.shape:
            raise ValueError(
                f"{loss.name}.{method} has shape {found[method].shape} for arrays of length "
                f"{len(y)}: {y.shape} is needed, as it is elementwise"
            )
        finite = np.isfinite(found[method])
        if not finite.all():
            i = int(np.flatnonzero(~finite)[np.argmin(first[~finite])])
            why = ""
            if method == "conjugate":
                solved = ", solved for by value and subgradient" if method in loss.solved else ""
                why = f"{solved}, as phi has to be bounded from below (check_loss says more)"
            raise ValueError(
                f"{loss.name}.{method}(0.0, y[{first[i]}] = {float(y[i])!r}) = "
                f"{float(found[method][i])!r}: a finite number is needed{why}"
            )
    below = np.maximum(found["conjugate"], 0.0)  # phi* at 0 is -min phi
    i = int(np.argmax(below))
    if pure_l1 and below[i] > 1e-12 * (1 + abs(found["value"][i])):
        raise ValueError(
            f"loss {loss.name!r} is {-float(below[i])!r} at its least for y[{first[i]}] = "
            f"{float(y[i])!r}: reg = 'l1' needs losses >= 0, from which a bound on |w|_1 follows; "
            "add a constant"
        )
    return float(np.average(below[inverse], weights=weight))


def bounded_intercept(
    loss: Loss, y: NDArray[np.float64], weight: NDArray[np.float64] | None, classes: Array | None
) -> None:
    """Refuse targets for which no finite intercept is the best."""
    if loss.foreign:
        s = np.ones(len(y)) if weight is None else weight
        lower, upper = (
            np.sum(s[s > 0] * np.broadcast_to(end, y.shape)[s > 0]) for end in loss.domain(y)
        )
        if not lower < 0 < upper:
            raise ValueError(
                f"loss {loss.name!r} with fit_intercept = True has no finite intercept for these "
                f"targets: the sum of its slopes goes from {-float(upper):.3g} to "
                f"{-float(lower):.3g}, and has to pass 0"
            )
    if classes is not None:
        weighted_classes(loss, (y > 0).astype(np.intp), weight, classes)
    elif loss.target_min == 0 and not (y if weight is None else weight * y).any():
        raise ValueError(
            f"y is 0 wherever there is weight: loss {loss.name!r} with fit_intercept = True needs "
            "a target > 0, else the intercept is -inf"
        )


def weighted_classes(
    loss: Any, target: NDArray[np.intp], weight: NDArray[np.float64] | None, classes: Array
) -> None:
    """Refuse a class without weight, whose best intercept is infinite."""
    share = np.bincount(target, weight, len(classes))
    if not share.all():
        label = classes.tolist()[int(np.argmin(share))]
        raise ValueError(
            f"class {label!r} has no rows with weight: loss {loss.name!r} with fit_intercept = "
            "True needs some for every class, else its intercept is -inf"
        )


def class_targets(y: Any, n: int, loss: Any) -> tuple[NDArray[np.intp], Array]:
    """Return the number of each row's class, and the classes.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels of any kind that can be ordered.
    n : int
        The number of rows of X.
    loss : VectorLoss
        Its `classes`, where there are any, are all labels that y may have.

    Returns
    -------
    target : intp array of shape (n,)
    classes : array of shape (k,)
    """
    if loss.classes is None:
        return any_classes(y, n, loss.name)
    labels, classes = _labels(y, n), _class_labels(loss.classes)
    known = {label: number for number, label in enumerate(classes.tolist())}
    try:
        target = np.array([known.get(label, -1) for label in labels.tolist()], np.intp)
    except TypeError as error:
        raise TypeError(f"y holds what cannot be a label: {error}") from error
    if (target < 0).any():
        i = int((target < 0).argmax())
        raise ValueError(
            f"y[{i}] = {labels.tolist()[i]!r}: one of classes {_shown(classes)} is needed"
        )
    return target, classes.copy()


def any_classes(y: Any, n: int, purpose: str) -> tuple[NDArray[np.intp], Array]:
    """Return the number of each row's class, and the classes, of which there are at least two."""
    labels = _labels(y, n)
    try:
        classes, target = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise TypeError(f"y holds labels that cannot be ordered: {error}") from error
    if len(classes) < 2:
        raise ValueError(f"y holds only the class {classes.tolist()[0]!r}: {purpose} needs two")
    return np.ascontiguousarray(target.reshape(-1), dtype=np.intp), classes


def _class_labels(classes: Any) -> Array:
    array = _array("classes", classes)
    if array.ndim != 1 or len(array) < 2:
        raise ValueError(f"classes has shape {array.shape}: at least two labels are needed")
    seen: dict[Any, int] = {}
    for j, label in enumerate(array.tolist()):
        if not isinstance(label, Hashable):
            raise TypeError(f"classes[{j}] = {label!r}: a label is needed")
        if _is_missing(label):
            raise ValueError(f"classes[{j}] = {label}: a label is needed")
        if label in seen:
            raise ValueError(f"classes[{j}] = {label!r} stands at {seen[label]} already")
        seen[label] = j
    return array


def _shown(classes: Array) -> str:
    """The first few classes as text."""
    shown = ", ".join(repr(label) for label in classes[:5].tolist())
    return shown + (", ..." if len(classes) > 5 else "")


def offsets(offsets: Any, n_rows: int) -> NDArray[np.intp]:
    """Return where the rows of each example begin, and where the last one ends.

    Parameters
    ----------
    offsets : array-like of int of shape (n + 1,)
        From 0 to the number of rows of X, increasing: every example has at least one row.
    n_rows : int
        The number of rows of X.
    """
    (array,) = _integers({"offsets": offsets})
    if len(array) < 2:
        raise ValueError(f"offsets has shape {array.shape}: at least (2,) is needed")
    if array[0] != 0:
        raise ValueError(f"offsets[0] = {array[0]}: 0 is needed")
    if (k := first_descent(array)) is not None:
        raise ValueError(f"offsets[{k + 1}] = {array[k + 1]} after {array[k]}: it must increase")
    if (empty := np.diff(array) == 0).any():
        i = int(empty.argmax())
        raise ValueError(
            f"offsets[{i + 1}] = {array[i + 1]} after {array[i]}: example {i} has no row of X, at "
            "least one is needed"
        )
    if array[-1] != n_rows:
        raise ValueError(f"offsets[{len(array) - 1}] = {array[-1]}: X has {n_rows} rows")
    return np.array(array, np.intp)


def lengths(name: str, lengths: Any, n_rows: int) -> NDArray[np.intp]:
    """Return how many rows each sequence has, at least one, which add up to the rows of X."""
    (array,) = _integers({name: lengths})
    if not len(array):
        raise ValueError(f"{name} has shape {array.shape}: at least one sequence is needed")
    if (short := array < 1).any():
        i = int(short.argmax())
        raise ValueError(f"{name}[{i}] = {array[i]}: a sequence has at least one position")
    total = sum(array.tolist())  # which cannot overflow
    if total != n_rows:
        raise ValueError(f"{name} adds up to {total}, X has {n_rows} rows")
    return np.array(array, np.intp)


def binary(name: str, Y: Any, n: int) -> NDArray[np.int32]:
    """Return a matrix of 0 and 1 with n rows."""
    dense: Any = Y
    if sparse.issparse(Y):
        dense = dense.toarray()
    array = _array(name, dense)
    if array.ndim != 2 or len(array) != n or array.shape[1] < 1:
        raise ValueError(f"{name} has shape {array.shape}: ({n}, k) is needed, k >= 1")
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} has dtype {array.dtype}: 0 and 1 are needed")
    if (bad := (array != 0) & (array != 1)).any():
        i, j = np.unravel_index(int(bad.argmax()), bad.shape)
        raise ValueError(f"{name}[{i}, {j}] = {array[i, j]}: 0 or 1 is needed")
    return np.array(array, np.int32, order="C")  # one's own


def forest(name: str, edges: Any, k: int) -> NDArray[np.intp]:
    """Return pairs of 0 ... k - 1 that close no cycle."""
    array = _array(name, edges)
    if not array.size:
        return np.empty((0, 2), np.intp)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"{name} has shape {array.shape}: (m, 2) is needed")
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} has dtype {array.dtype}: pairs of integers are needed")
    leader = list(range(k))
    for e, (a, b) in enumerate(array.tolist()):
        for end in (a, b):
            if not 0 <= end < k:
                raise ValueError(f"{name}[{e}] = ({a}, {b}): 0 to {k - 1} is allowed")
        while leader[a] != a:
            leader[a] = a = leader[leader[a]]
        while leader[b] != b:
            leader[b] = b = leader[leader[b]]
        if a == b:
            raise ValueError(
                f"{name}[{e}] = ({array[e, 0]}, {array[e, 1]}) closes a cycle: a tree is needed"
            )
        leader[a] = b
    return np.array(array, np.intp, order="C")  # one's own


def choices(y: Any, offsets: Array, loss: Any) -> NDArray[np.intp]:
    """Return which of its rows each example chooses, counted from 0 within the example."""
    if loss.classes is not None:
        raise ValueError("classes: with offsets, y counts the rows of each example from 0")
    n = len(offsets) - 1
    labels = _array("y", y)
    if labels.shape != (n,):
        raise ValueError(f"y has shape {labels.shape}, offsets are for {n} examples")
    target = labels
    if labels.dtype.kind == "f" and np.isfinite(labels).all():
        target = np.trunc(labels)
    if target.dtype.kind not in "iuf" or (target != labels).any():
        raise TypeError(
            f"y has dtype {labels.dtype}: whole numbers are needed, the chosen row of each example"
        )
    if (outside := (target < 0) | (target >= np.diff(offsets))).any():
        i = int(outside.argmax())
        last = int(offsets[i + 1] - offsets[i]) - 1
        raise ValueError(f"y[{i}] = {labels[i]}: 0 to {last} is allowed")
    return target.astype(np.intp)


def costs(cost: Any, k: int, target: Array, offsets: Array | None) -> NDArray[np.float64]:
    """Return the costs as the core wants them: cost(j, y) at y k + j, or one for each row of X."""
    array = _floats("cost", cost)
    if offsets is not None:
        needed = f"X has {offsets[-1]} rows"
        flat: NDArray[np.float64] = _vector("cost", array, int(offsets[-1]), needed).copy()
        _check_minimum("cost", flat, 0.0)
        chosen = offsets[:-1] + target
        if (wrong := flat[chosen] != 0).any():
            i = int(wrong.argmax())
            raise ValueError(
                f"cost[{chosen[i]}] = {flat[chosen[i]]}: 0 is needed for what example {i} chooses"
            )
        return flat
    if array.shape != (k, k):
        raise ValueError(f"cost has shape {array.shape}, {(k, k)} is needed for {k} classes")
    for bad, needed in (
        (~np.isfinite(array), "a finite number"),
        (array < 0, "a number >= 0"),
        ((array != 0) & np.eye(k, dtype=bool), "0 on the diagonal"),
    ):
        if bad.any():
            j, y = np.unravel_index(int(bad.argmax()), bad.shape)
            raise ValueError(f"cost[{j}, {y}] = {array[j, y]}: {needed} is needed")
    transposed: NDArray[np.float64] = np.array(array.T, np.float64, order="C").reshape(-1)
    return transposed


def _labels(y: Any, n: int) -> Array:
    labels = _array("y", y)
    if labels.shape != (n,):
        raise ValueError(f"y has shape {labels.shape}, X has {n} rows")
    if labels.dtype.kind in "cV":
        raise TypeError(f"y has dtype {labels.dtype}: labels that can be ordered are needed")
    values = labels
    if labels.dtype.kind in "OUST":
        # Among strings numpy turns the NaN of a list into 'nan', so the list itself is read.
        values = np.asarray(y, dtype=object)
        missing = np.array([_is_missing(label) for label in values])
    else:
        missing = labels != labels
    if missing.any():
        i = int(missing.argmax())
        raise ValueError(f"y[{i}] = {values[i]}: a label is needed")
    return labels


def _is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except (TypeError, ValueError):  # pandas.NA is neither true nor false
        return True


def _few_values(labels: Array) -> Array:
    """The distinct values in order; without sorting all, where there are at most two."""
    if labels.dtype.kind in "biuf":
        low, high = labels.min(), labels.max()
        if ((labels == low) | (labels == high)).all():
            return np.array([low, high] if low != high else [low], labels.dtype)
    return np.unique(labels)


def _two_classes(labels: Array, loss: Loss) -> Array:
    try:
        classes = _few_values(labels)
    except TypeError as error:
        raise TypeError(f"y holds labels that cannot be ordered: {error}") from error
    if len(classes) == 1:
        raise ValueError(f"y holds only the class {_shown(classes)}: {loss.name} needs two")
    if len(classes) > 2:
        raise ValueError(
            f"y holds {len(classes)} classes ({_shown(classes)}): {loss.name} is for exactly two; "
            "'multiclass_hinge' and 'softmax' take any number, one_vs_rest fits a model per class"
        )
    return classes


def sample_weight(
    sample_weight: Any, n: int, what: str = "X has {} rows"
) -> tuple[NDArray[np.float64] | None, float]:
    """Return s_i = n w_i / sum(w), of mean 1, and sum(w); without weights, None and n.

    Parameters
    ----------
    sample_weight : array-like of shape (n,) or None
        Finite and nonnegative, at least one of them positive.
    n : int
        The number of rows of X.

    Returns
    -------
    s : float64 array of shape (n,) or None
    total : float
    """
    if sample_weight is None:
        return None, float(n)
    weights = _vector("sample_weight", sample_weight, n, what.format(n))
    _check_minimum("sample_weight", weights, 0.0)
    largest = float(weights.max())
    if largest == 0:
        raise ValueError("sample_weight is 0 everywhere: at least one weight > 0 is needed")
    with np.errstate(under="ignore"):
        relative = weights / largest  # whose sum cannot overflow
        if (tiny := (relative > 0) & (relative < 1e-300)).any():
            i = int(tiny.argmax())
            raise ValueError(
                f"sample_weight[{i}] = {weights[i]}: 0, or at least 1e-300 of the largest, "
                f"{largest}, is needed"
            )
        total = math.fsum(relative.tolist())
        return relative * (n / total), largest * total


def feature_weights(name: str, weights: Any, d: int) -> NDArray[np.float64]:
    """Return one finite and nonnegative weight for each of the d columns of X."""
    return _weights(name, weights, d, f"X has {d} columns")


def _weights(name: str, weights: Any, length: int, needed: str) -> NDArray[np.float64]:
    array = _vector(name, weights, length, needed)
    _check_minimum(name, array, 0.0)
    return array


def group_weights(name: str, weights: Any, count: int) -> NDArray[np.float64]:
    """Return one finite and nonnegative weight for each group of features."""
    return _weights(name, weights, count, f"there are {count} groups")


def groups(name: str, groups: Any, d: int) -> NDArray[np.intp]:
    """Return the number of each feature's group.

    Parameters
    ----------
    groups : array-like of int of shape (d,), or sequence of sequences of int
        The numbers themselves, none left out; or the features of each group, each feature
        exactly once.
    d : int
        The number of columns of X.
    """
    listed = isinstance(groups, (list, tuple))
    if listed and any(isinstance(group, (list, tuple, range, np.ndarray)) for group in groups):
        members = [_indices(f"{name}[{k}]", group, d) for k, group in enumerate(groups)]
        found = np.concatenate([np.empty(0, np.intp), *members])
        if (repeated := np.bincount(found, minlength=d) > 1).any():
            j = int(repeated.argmax())
            where = [k for k, group in enumerate(members) if j in group]
            raise ValueError(
                f"{name} has feature {j} more than once, in group {where[0]} and "
                f"{'again in it' if len(where) == 1 else f'in group {where[1]}'}: every feature "
                "belongs to exactly one group, overlapping groups are not allowed"
            )
        if len(found) < d:
            j = int((np.bincount(found, minlength=d) == 0).argmax())
            raise ValueError(
                f"{name} has no group with feature {j}: every feature 0 to {d - 1} belongs to "
                "exactly one group, a group of its own where it stands alone"
            )
        for k, group in enumerate(members):
            if not len(group):
                raise ValueError(f"{name}[{k}] is empty: at least one feature is needed")
        group_of = np.empty(d, np.intp)
        for k, group in enumerate(members):
            group_of[group] = k
        return group_of
    group_of = _indices(name, groups, d)
    if group_of.shape != (d,):
        raise ValueError(
            f"{name} has shape {group_of.shape}, X has {d} columns: each belongs to exactly one "
            "group"
        )
    used = np.bincount(group_of) > 0
    if not used.all():
        raise ValueError(
            f"{name} uses the numbers 0 to {len(used) - 1} but not {int((~used).argmax())}: "
            "groups are numbered without gaps"
        )
    return group_of


def plane(
    call: str, answer: Any, d: int
) -> tuple[NDArray[np.intp], NDArray[np.float64], float, Any]:
    """Return indices, in order and each once, values, delta and label of an oracle's answer."""
    needed = "((indices, values), delta) or ((indices, values), delta, label) is needed"
    if not isinstance(answer, (tuple, list)) or len(answer) not in (2, 3):
        raise TypeError(f"{call} returns {reprlib.repr(answer)}: {needed}")
    entries, delta, label = answer if len(answer) == 3 else (*answer, None)
    if not isinstance(entries, (tuple, list)) or len(entries) != 2:
        raise TypeError(f"{call} returns {reprlib.repr(entries)} first: {needed}")
    indices = _indices(f"{call}: indices", entries[0], d)
    values = _vector(
        f"{call}: values", entries[1], len(indices), f"there are {len(indices)} indices"
    )
    cost = nonnegative(f"{call}: delta", delta)
    if len(indices) > 1 and not (indices[1:] > indices[:-1]).all():
        indices, values = _summed(f"{call}: values", indices, values)
    return indices, values, cost, label


def _summed(
    name: str, indices: NDArray[np.intp], values: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Indices in order, each once; values of one place are added up with a single rounding."""
    order = np.argsort(indices, kind="stable")
    indices, values = indices[order], values[order]
    first = np.flatnonzero(np.concatenate([[True], indices[1:] != indices[:-1]]))
    sums = np.empty(len(first))
    for k, part in enumerate(np.split(values, first[1:])):
        try:
            sums[k] = math.fsum(part.tolist()) if len(part) > 1 else part[0]
        except OverflowError:
            raise ValueError(f"{name} at index {indices[first[k]]} add up to infinity") from None
    return indices[first], sums


def _indices(name: str, value: Any, stop: int) -> NDArray[np.intp]:
    (array,) = _integers({name: value})
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}: one dimension is needed")
    _check_range(name, array, stop)
    return np.ascontiguousarray(array, dtype=np.intp)


def vector(name: str, value: Any, length: int) -> NDArray[np.float64]:
    """Return a finite, contiguous float64 vector, uncopied if it is one already."""
    return _vector(name, value, length, f"shape {(length,)} is needed")


def array(name: str, value: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return a finite, contiguous float64 array of that shape."""
    if len(shape) == 1:
        return vector(name, value, *shape)
    found = _floats(name, value)
    if found.shape != shape:
        raise ValueError(f"{name} has shape {found.shape}, shape {shape} is needed")
    if (bad := first_nonfinite_2d(found)) is not None:
        raise ValueError(f"{name}[{bad[0]}, {bad[1]}] = {found[bad]}: a finite number is needed")
    return np.ascontiguousarray(found, dtype=np.float64)


def positives(name: str, value: Any) -> NDArray[np.float64]:
    """Return a vector of at least one finite number > 0."""
    array = _floats(name, value)
    if array.ndim != 1 or not len(array):
        raise ValueError(f"{name} has shape {array.shape}: a vector of numbers > 0 is needed")
    array = _vector(name, array, len(array), "")
    if not (array > 0).all():
        k = int((~(array > 0)).argmax())
        raise ValueError(f"{name}[{k}] = {array[k]}: a number > 0 is needed")
    return array


def prefix(name: str, value: Any, longest: int) -> NDArray[np.float64]:
    """Return a finite vector of at most that length, at the start of one of that length."""
    array = _floats(name, value)
    if array.ndim != 1 or len(array) > longest:
        raise ValueError(f"{name} has shape {array.shape}, at most {(longest,)} is allowed")
    whole = np.zeros(longest)
    whole[: len(array)] = _vector(name, array, len(array), "")
    return whole


def _vector(name: str, value: Any, length: int, needed: str) -> NDArray[np.float64]:
    array = _floats(name, value)
    if array.shape != (length,):
        raise ValueError(f"{name} has shape {array.shape}, {needed}")
    if (i := first_nonfinite(array)) is not None:
        raise ValueError(f"{name}[{i}] = {array[i]}: a finite number is needed")
    return np.ascontiguousarray(array, dtype=np.float64)


def _check_minimum(name: str, values: Array, minimum: float, purpose: str = "") -> None:
    below = values < minimum
    if below.any():
        i = int(below.argmax())
        raise ValueError(f"{name}[{i}] = {values[i]}: a number >= {minimum:g} is needed{purpose}")


# ----------------------------------------------------- anything to an array


def _array(name: str, value: Any) -> Array:
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array: fill or drop what is masked first")
    if sparse.issparse(value):
        raise TypeError(f"{name} is sparse: a dense array is needed")
    try:
        return np.asarray(value)
    except TypeError as error:
        raise TypeError(f"{name} cannot be read as an array: {error}") from error
    except (ValueError, RuntimeError) as error:
        raise ValueError(f"{name} cannot be read as an array: {error}") from error


def _floats(name: str, value: Any) -> Array:
    """Return aligned float32 or float64, on the memory of the value where that is such."""
    array = _array(name, value)
    if array.dtype == object and hasattr(value, "to_numpy"):
        # pandas gives objects for columns of several types, and for missing numbers.
        columns = value.dtypes if array.ndim == 2 and hasattr(value, "dtypes") else [value]
        columns = [getattr(column, "dtype", column) for column in columns]
        if all(getattr(column, "kind", "O") in "biuf" for column in columns):
            array = value.to_numpy(dtype=np.float64, na_value=np.nan)
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind not in "biuf":
        raise TypeError(f"{name} has dtype {array.dtype}: real numbers are needed")
    if (
        array.dtype.type in (np.float32, np.float64)
        and array.dtype.isnative
        and array.flags.aligned
        and not any(stride % size for stride in array.strides)
    ):
        return array
    with np.errstate(all="ignore"):  # what overflows becomes infinite, to be refused
        return array.astype(np.float32 if (kind, size) == ("f", 4) else np.float64)


def _integers(parts: dict[str, Any]) -> list[Array]:
    """Return index arrays as contiguous int32, or as int64 if one of them needs it."""
    arrays = {}
    for name, part in parts.items():
        array = _array(name, part)
        if not array.size:  # an empty list has the type of its nothing
            array = array.astype(np.int32)
        if array.dtype.kind not in "iu" or not np.can_cast(array.dtype, np.int64):
            raise TypeError(f"{name} has dtype {array.dtype}: int32 or int64 is needed")
        if array.ndim != 1:
            raise ValueError(f"{name} has shape {array.shape}: one dimension is needed")
        arrays[name] = array
    common = np.result_type(np.int32, *(array.dtype for array in arrays.values()))
    return [np.require(array, common, ["C", "A"]) for array in arrays.values()]


# ----------------------------------------------------------------- options


def positive(name: str, value: Any) -> float:
    """Return a finite number > 0."""
    return _number(name, value, ">")


def nonnegative(name: str, value: Any) -> float:
    """Return a finite number >= 0."""
    return _number(name, value, ">=")


def _number(name: str, value: Any, relation: str) -> float:
    if type(value) is float and (0 < value < math.inf or (value == 0 and relation == ">=")):
        return abs(value)  # no -0.0
    needed = f"a finite number {relation} 0 is needed"
    if type(value) is np.ndarray and value.size == 1:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise wrong_type(name, value, needed)
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"{name} = {reprlib.repr(value)}: {needed}") from None
    if not (0 < number < math.inf or (number == 0 and relation == ">=")):
        raise ValueError(f"{name} = {number}: {needed}")
    return abs(number)  # no -0.0


def function(name: str, value: Any) -> Any:
    """Return what can be called, or None."""
    if value is not None and not callable(value):
        raise wrong_type(name, value, "a function of one argument is needed")
    return value


def flag(name: str, value: Any) -> bool:
    """Return True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise wrong_type(name, value, "True or False is needed")
    return bool(value)


def count(name: str, value: Any, minimum: int, maximum: int | None = None) -> int:
    """Return an integer that is at least the minimum, and at most the maximum."""
    if type(value) is int and minimum <= value and (maximum is None or value <= maximum):
        return value
    needed = f"an integer >= {minimum} is needed"
    if maximum is not None:
        needed = f"an integer from {minimum} to {maximum} is needed"
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise wrong_type(name, value, needed)
    found = int(value)
    if found < minimum or (maximum is not None and found > maximum):
        raise ValueError(f"{name} = {value}: {needed}")
    return found


def choice(name: str, value: Any, allowed: Collection[str]) -> str:
    """Return a string that is one of those allowed."""
    if type(value) is str and value in allowed:
        return value
    choices = "Choices: " + ", ".join(map(repr, allowed))
    if not isinstance(value, str):
        raise wrong_type(name, value, f"a string is needed. {choices}")
    if value not in allowed:
        near = difflib.get_close_matches(value, allowed, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise ValueError(f"{name} = {reprlib.repr(value)} is not known{hint} {choices}")
    return str(value)


def wrong_type(name: str, value: Any, needed: str) -> TypeError:
    """The refusal of a value whose type is not one that would do."""
    return TypeError(f"{name} = {reprlib.repr(value)} ({type(value).__name__}): {needed}")
