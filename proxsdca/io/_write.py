"""A data set to a file."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from .._core.checks import first_nonfinite, strictly_increasing
from .._core.svmlight import lines
from .._files import atomic
from ._source import NO_ZSTD

ENTRIES, ROWS = 1 << 16, 1 << 14  # turned into text at once


def write(
    path: str | os.PathLike[str],
    X: Any,
    y: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    zero_based: bool = False,
    comment: str = "",
) -> None:
    """Write a data set, which `read` reads back bit for bit.

    What was at the path stays there until the new file is complete.

    Parameters
    ----------
    path : str or PathLike
        `.npz` makes scipy's sparse format with y; everything else svmlight text, compressed where
        the name ends with .gz, .bz2, .xz or .zst.
    X : (n, d) array_like or sparse
        Finite numbers. Entries that a sparse X stores are written also where they are 0; those of
        one place are added up. svmlight does not tell d: give it to `read`.
    y : (n,) array_like
        Finite numbers.
    qid : (n,) array_like of int, optional
        The query of each row.
    zero_based : bool
        Whether the indices of a text begin at 0 instead of 1.
    comment : str
        Lines at the head of a text, each behind "# ".
    """
    name = os.fsdecode(path)
    matrix = _csr(X)
    n = matrix.shape[0]
    labels = _labels(y, n)
    queries = None if qid is None else _queries(qid, n)
    if "\0" in comment:
        raise ValueError(f"comment = {comment!r}: NUL is not allowed")
    with atomic(path) as file:
        if name.endswith(".npz"):
            parts: dict[str, Any] = {
                "format": b"csr", "shape": matrix.shape, "_is_array": True, "data": matrix.data,
                "indices": matrix.indices, "indptr": matrix.indptr, "y": labels,
            }  # fmt: skip
            if queries is not None:
                parts["qid"] = queries
            np.savez(file, **parts)
            return
        with _compressed(name, file) as out:
            for line in comment.splitlines():
                out.write(f"# {line}\n".encode())
            _write_text(out, matrix, labels, queries, 0 if zero_based else 1)


def _write_text(
    out: Any, X: Any, y: NDArray[np.float64], qid: NDArray[np.int64] | None, base: int
) -> None:
    begin, indptr = 0, X.indptr
    while begin < len(y):
        end = int(np.searchsorted(indptr, indptr[begin] + ENTRIES, side="right")) - 1
        end = min(max(end, begin + 1), begin + ROWS, len(y))
        part = slice(indptr[begin], indptr[end])
        out.write(
            lines(
                y[begin:end],
                None if qid is None else qid[begin:end],
                indptr[begin : end + 1].astype(np.int64),
                X.indices[part].astype(np.int64),
                X.data[part].astype(np.float64, copy=False),
                base,
            )
        )
        begin = end


def _csr(X: Any) -> Any:
    """X as CSR of float32 or float64, sorted, finite; X itself is not changed."""
    if not sparse.issparse(X):
        X = np.asarray(X)
    if len(X.shape) != 2 or 0 in X.shape:
        raise ValueError(f"X has shape {X.shape}: at least one row and one column are needed")
    if X.dtype.kind not in "fiub":
        raise ValueError(f"X is of {X.dtype}: real numbers are needed")
    matrix = sparse.csr_array(X)
    matrix.check_format(full_check=True)
    if matrix.dtype not in (np.float32, np.float64):
        matrix = matrix.astype(np.float64)
    indptr, indices = matrix.indptr, matrix.indices
    if not strictly_increasing(indptr, indices):
        matrix = matrix.copy()
        matrix.sum_duplicates()
    if (k := first_nonfinite(matrix.data)) is not None:
        row = int(np.searchsorted(matrix.indptr, k, side="right")) - 1
        raise ValueError(f"X[{row}, {matrix.indices[k]}] = {matrix.data[k]}; X must be finite")
    return matrix


def _labels(y: ArrayLike, n: int) -> NDArray[np.float64]:
    array = np.asarray(y)
    if array.shape != (n,):
        raise ValueError(f"y has shape {array.shape}, {(n,)} is needed: X has {n} rows")
    if array.dtype.kind not in "fiub":
        raise ValueError(f"y is of {array.dtype}: real numbers are needed")
    labels = np.ascontiguousarray(array, np.float64)
    if (i := first_nonfinite(labels)) is not None:
        raise ValueError(f"y[{i}] = {labels[i]}; y must be finite")
    return labels


def _queries(qid: ArrayLike, n: int) -> NDArray[np.int64]:
    array = np.asarray(qid)
    if array.shape != (n,):
        raise ValueError(f"qid has shape {array.shape}, {(n,)} is needed: X has {n} rows")
    if not np.can_cast(array.dtype, np.int64):
        raise ValueError(f"qid is of {array.dtype}: integers that fit int64 are needed")
    return np.ascontiguousarray(array, np.int64)


def _compressed(name: str, file: Any) -> AbstractContextManager[Any]:
    """Where to write, by the end of the name; closing it leaves the file open."""
    if name.endswith(".gz"):
        import gzip

        return gzip.GzipFile("", "wb", fileobj=file, mtime=0)
    if name.endswith(".bz2"):
        import bz2

        return bz2.BZ2File(file, "wb")
    if name.endswith(".xz"):
        import lzma

        return lzma.LZMAFile(file, "wb")
    if name.endswith(".zst"):
        return _zstd(name, file)
    return nullcontext(file)


def _zstd(name: str, file: Any) -> AbstractContextManager[Any]:
    found: AbstractContextManager[Any]
    try:
        found = import_module("compression.zstd").ZstdFile(file, "wb")  # Python 3.14
        return found
    except ImportError:
        pass
    try:
        zstandard = import_module("zstandard")
    except ImportError:
        raise ImportError(f"{name}: {NO_ZSTD}") from None
    found = zstandard.ZstdCompressor().stream_writer(file, closefd=False)
    return found
