"""Where the benchmarks get their problems from."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import scipy.sparse as sp

WORDS = "ocr-letters"


def path(name: str) -> Path:
    """The file of a real data set, in the folder that PROXSDCA_DATA names."""
    return Path(os.environ.get("PROXSDCA_DATA", "")) / f"{name}.npz"


def available(name: str) -> bool:
    """Whether the real data set is at hand."""
    return bool(os.environ.get("PROXSDCA_DATA")) and path(name).is_file()


def load(name: str) -> tuple[sp.csr_matrix, np.ndarray]:
    """A real data set: X as CSR with float64 values, and y."""
    with np.load(path(name)) as z:
        data, indices, indptr = z["data"], z["indices"], z["indptr"]
        X = sp.csr_matrix(
            (data.astype(float, copy=False), indices, indptr),
            shape=tuple(z["shape"]),
        )
        return X, z["y"].astype(float)


def zipf_problem(n: int, d: int, nnz: int, seed: int = 0) -> tuple[sp.csr_matrix, np.ndarray]:
    """Unit rows whose columns are as unevenly used as words are, and noisy labels.

    Parameters
    ----------
    n, d : int
        The shape of X.
    nnz : int
        Nonzeros in every row, at most d; nnz = d makes X full.
    seed : int

    Returns
    -------
    X : (n, d) csr_matrix
        Column j is used about 1 / (j + 1) as often as column 0.
    y : (n,) array
        -1 and +1.
    """
    rng = np.random.default_rng(seed)
    k = np.arange(nnz)
    # one draw in each of nnz slices of [0, 1), so that a row comes out sorted
    columns = ((d + 1.0) ** ((k + rng.random((n, nnz))) / nnz) - 1).astype(np.int32)
    # no column twice: push up what collides, and keep room for what follows
    columns = np.maximum.accumulate(columns - k, axis=1) + k
    columns = np.minimum(columns, d - nnz + k).astype(np.int32)
    values = rng.standard_normal((n, nnz))
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    indptr = np.arange(0, n * nnz + 1, nnz, dtype=np.int32)
    X = sp.csr_matrix((values.ravel(), columns.ravel(), indptr), shape=(n, d))
    margin = X @ rng.standard_normal(d) + 0.3 * rng.standard_normal(n)
    return X, np.where(margin > 0, 1.0, -1.0)


def words() -> tuple[sp.csr_matrix, np.ndarray, np.ndarray, np.ndarray]:
    """Handwritten words where they are at hand, else made-up ones: letters, their labels, the
    lengths of words, and their folds."""
    if available(WORDS):
        X, y = load(WORDS)
        with np.load(path(WORDS)) as z:
            return X, y.astype(int), z["lengths"].astype(int), z["folds"].astype(int)
    rng = np.random.default_rng(0)
    lengths = rng.integers(3, 13, 1000)
    glyphs = rng.random((26, 128)) < 0.25
    often = rng.dirichlet(np.full(26, 0.2), 26)  # which letter follows which
    y = []
    for length in lengths:
        y.append(int(rng.integers(26)))
        for _ in range(length - 1):
            y.append(int(rng.choice(26, p=often[y[-1]])))
    X = glyphs[y] ^ (rng.random((len(y), 128)) < 0.2)
    return sp.csr_matrix(X.astype(float)), np.array(y), lengths, np.arange(1000) % 10
