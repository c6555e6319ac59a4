"""What a data set consists of."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

INT32_MAX = 2**31 - 1


class Data(NamedTuple):
    """A data set, as `read` and `convert` return it."""

    X: Any
    """(n, d): csr_array, or a dense array from a `.npy` file."""
    y: NDArray[Any] | None
    """(n,): the labels; None where a file of arrays has none."""
    qid: NDArray[np.int64] | None
    """(n,): which query a row belongs to; None where nothing is said of queries."""


def index_dtype(n: int, d: int, nnz: int) -> type[np.signedinteger[Any]]:
    """The one type for indices and indptr, as scipy chooses it and `solve` uses without a copy."""
    return np.int32 if max(n, d, nnz) <= INT32_MAX else np.int64
