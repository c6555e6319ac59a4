"""A file or folder to a data set."""

from __future__ import annotations

import operator
import os
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from .._core.svmlight import Parser
from ._data import Data, index_dtype
from ._source import Path, Source
from ._stored import read_dense, read_folder, read_npz

STORED = {".npz": read_npz, ".npy": read_dense}


def read(
    path: Path,
    *,
    zero_based: bool = False,
    n_features: int | None = None,
    dtype: DTypeLike = np.float64,
) -> Data:
    """Read a data set.

    Parameters
    ----------
    path : str, PathLike or binary file
        svmlight text, plain or compressed (gzip, bzip2, xz, zstd; recognised by its first bytes);
        "-" is standard input. A folder that `convert` made is memory-mapped; `.npz` has the format
        of `scipy.sparse.save_npz`, with `y` and `qid` where there are any; a dense `.npy` is
        memory-mapped and has no y. Nothing is ever unpickled.
    zero_based : bool
        Whether the indices of a text begin at 0 instead of 1.
    n_features : int, optional
        The number of columns; by default what the largest index of a text says. An index beyond is
        refused, and so are arrays with another number of columns.
    dtype : float64 or float32
        The type of the values of a text. Arrays in files stay as they are.

    Returns
    -------
    Data
        (X, y, qid), X a csr_array unless it is dense in the file.

    Raises
    ------
    ValueError
        For what is not svmlight, as `path:line:column: reason`, and for damaged files.
    OSError
        For what cannot be read at all.

    Notes
    -----
    A line is `label [qid:N] index:value ... [# comment]` with finite decimal numbers and indices
    that rise; only blank lines and those with a comment alone are skipped. Zeros are stored.
    """
    features, kind = checked(n_features, dtype)
    if isinstance(path, (str, os.PathLike)) and path != "-":
        name = os.fsdecode(path)
        stored = read_folder if os.path.isdir(name) else STORED.get(name[-4:])
        if stored is not None:
            data = stored(name)
            if features not in (None, data.X.shape[1]):
                raise ValueError(f"{name}: {data.X.shape[1]} columns, n_features = {features}")
            return data
    with Source(path) as source:
        return read_text(source, bool(zero_based), features, kind)


def read_text(
    source: Source, zero_based: bool, n_features: int | None, dtype: np.dtype[Any]
) -> Data:
    """The whole text in memory."""
    parser = Parser(source.name, zero_based, n_features, dtype)
    for block in source.blocks():
        parser.feed(block)
    parser.finish()
    data, indices, indptr, y, qid = parser.take()
    shape = parser.n, n_features or max(parser.d, 1)
    index = index_dtype(*shape, parser.nnz)
    parts = data, indices.astype(index, copy=False), indptr.astype(index, copy=False)
    return Data(sparse.csr_array(parts, shape=shape), y, qid if parser.has_qid else None)


def checked(n_features: Any, dtype: DTypeLike) -> tuple[int | None, np.dtype[Any]]:
    """Judge what `read` and `convert` are told of a text."""
    kind = np.dtype(dtype)
    if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype = {kind}: float32 or float64 is needed")
    if n_features is None:
        return None, kind
    try:
        features = operator.index(n_features)
    except TypeError:
        raise TypeError(f"n_features = {n_features!r}: an integer is needed") from None
    if not 1 <= features < 2**48:
        raise ValueError(f"n_features = {features}: 1 to 2**48 - 1 is allowed")
    return features, kind
