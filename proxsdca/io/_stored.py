"""Arrays in files, checked before they are believed: nothing is unpickled."""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ._data import Data, index_dtype

FORMAT, VERSION = "proxsdca-csr", 1
META = "meta.json"


def read_folder(folder: str) -> Data:
    """What `convert` has made, memory-mapped and read-only."""
    meta = read_meta(folder)
    n, d, nnz, kinds = meta["n"], meta["d"], meta["nnz"], meta["dtypes"]
    lengths = {"data": nnz, "indices": nnz, "indptr": n + 1, "y": n, "qid": n}
    parts = {name: _mapped(folder, name, kinds[name], lengths[name]) for name in kinds}
    first, last = parts["indptr"][0], parts["indptr"][-1]
    if first != 0 or last != nnz:
        path = os.path.join(folder, "indptr.npy")
        raise ValueError(f"{path}: runs from {first} to {last}, 0 to {nnz} is needed")
    # scipy would look at all indices of 64 bits to see whether 32 suffice: they do not
    X = sparse.csr_array((n, d), dtype=parts["data"].dtype)
    X.data, X.indices, X.indptr = parts["data"], parts["indices"], parts["indptr"]
    return Data(X, parts["y"], parts.get("qid"))


def read_meta(folder: str) -> dict[str, Any]:
    """The description of a folder, judged."""
    path = os.path.join(folder, META)
    if not os.path.isfile(path):
        raise ValueError(f"{folder}: a folder without {META}: only those of convert can be read")
    with open(path, "rb") as file, _named(path):
        meta = json.loads(file.read(65536))
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise ValueError(f"{path}: does not say format = {FORMAT!r}")
    for name, least, most in (
        ("version", VERSION, VERSION), ("n", 1, 2**48 - 1), ("d", 1, 2**48 - 1), ("nnz", 0, 2**60),
    ):  # fmt: skip
        value = meta.get(name)
        if type(value) is not int or not least <= value <= most:
            raise ValueError(f"{path}: {name} = {value!r}, {least} to {most} is allowed")
    index = np.dtype(index_dtype(meta["n"], meta["d"], meta["nnz"])).name
    wanted = {
        "data": ("float64", "float32"), "indices": (index,), "indptr": (index,),
        "y": ("float64",), "qid": ("int64",),
    }  # fmt: skip
    kinds = meta.get("dtypes")
    if not isinstance(kinds, dict) or not set(wanted) - {"qid"} <= set(kinds) <= set(wanted):
        raise ValueError(f"{path}: dtypes = {kinds!r}, one for each of {', '.join(wanted)}")
    for name, kind in kinds.items():
        if kind not in wanted[name]:
            raise ValueError(f"{path}: {name} is {kind!r}, {' or '.join(wanted[name])} is needed")
    return meta


def _mapped(folder: str, name: str, kind: str, length: int) -> NDArray[Any]:
    path = os.path.join(folder, f"{name}.npy")
    array = _load(path)
    if array.dtype != np.dtype(kind) or array.shape != (length,):
        raise ValueError(
            f"{path}: {array.dtype} of shape {array.shape}, {META} says {kind} of shape {(length,)}"
        )
    size = os.path.getsize(path)
    if size != array.offset + array.nbytes:
        raise ValueError(f"{path}: {size} bytes, {array.offset + array.nbytes} are needed")
    return np.asarray(array)


def read_dense(path: str) -> Data:
    """A matrix in a `.npy` file, memory-mapped."""
    X = _load(path)
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise ValueError(f"{path}: {X.dtype} of shape {X.shape}, a matrix of numbers is needed")
    return Data(np.asarray(X), None, None)


def _load(path: str) -> np.memmap[Any, Any]:
    with _named(path):
        return np.lib.format.open_memmap(path, "r")


def read_npz(path: str) -> Data:
    """What scipy's save_npz writes, or the CSR parts alone; with y and qid where there are any."""
    with open(path, "rb") as stream, _named(path), np.load(stream, allow_pickle=False) as file:
        if "format" in file.files and file["format"].item() not in (b"csr", "csr"):
            stream.seek(0)
            X = sparse.csr_array(sparse.load_npz(stream))
        else:
            if missing := {"data", "indices", "indptr", "shape"} - set(file.files):
                raise ValueError(f"no {', '.join(sorted(missing))} in it")
            n, d = (int(length) for length in file["shape"])
            X = sparse.csr_array((file["data"], file["indices"], file["indptr"]), shape=(n, d))
        X.check_format(full_check=True)
        if X.dtype.kind not in "fiub":
            raise ValueError(f"data is of {X.dtype}, numbers are needed")
        vectors = [file[name] if name in file.files else None for name in ("y", "qid")]
        for name, vector in zip(("y", "qid"), vectors, strict=True):
            if vector is not None and vector.shape != (X.shape[0],):
                raise ValueError(f"{name} has shape {vector.shape}, {(X.shape[0],)} is needed")
    return Data(X, *vectors)


@contextmanager
def _named(path: str) -> Iterator[None]:
    """Have what numpy, scipy, zipfile and json find wrong with a file say which file that is."""
    try:
        yield
    except (
        ValueError, TypeError, AttributeError, KeyError, EOFError, RuntimeError,
        NotImplementedError, zipfile.BadZipFile, zlib.error,
    ) as error:  # fmt: skip
        raise ValueError(f"{path}: {error}") from None
