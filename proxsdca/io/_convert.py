"""A text of any size to a folder of arrays that are used where they lie."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .._core.svmlight import Parser
from .._files import beside, sync_folder
from ._data import Data, index_dtype
from ._read import checked
from ._source import Path, Source
from ._stored import FORMAT, META, VERSION, read_folder, read_meta

NAMES = ("data", "indices", "indptr", "y", "qid")
HEADER = 128  # bytes of a .npy header, whatever the length turns out to be
ITEMS = 1 << 17  # recast at once


def convert(
    source: Path,
    folder: str | os.PathLike[str],
    *,
    zero_based: bool = False,
    n_features: int | None = None,
    dtype: DTypeLike = np.float64,
    overwrite: bool = False,
    progress: Callable[[int, int | None], object] | None = None,
) -> Data:
    """Turn svmlight text of any size into a folder of `.npy` files, which `read` memory-maps.

    Only a block of it is in memory at any time. The folder appears when it is complete.

    Parameters
    ----------
    source : str, PathLike or binary file
        svmlight text, as in `read`: plain or compressed, "-" for standard input.
    folder : str or PathLike
        The folder to make.
    zero_based, n_features, dtype
        As in `read`.
    overwrite : bool
        Whether a folder that `convert` made may be replaced.
    progress : callable, optional
        Called after each block with the bytes read so far and all there are, None if unknown.

    Returns
    -------
    Data
        (X, y, qid), as `read` returns them for the folder.
    """
    features, kind = checked(n_features, dtype)
    target = os.path.realpath(folder)
    if os.path.lexists(target):
        if not overwrite:
            raise FileExistsError(f"{os.fspath(folder)}: exists already; overwrite replaces it")
        read_meta(target)  # nothing is deleted but what convert has made
    temporary = beside(target)
    try:
        os.mkdir(temporary)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(folder)) from None
    try:
        with Source(source) as text:
            parser = Parser(text.name, bool(zero_based), features, kind)
            _stream(text, parser, features, kind, temporary, progress)
        sync_folder(temporary)
        read_folder(temporary)  # before it takes the place of another
        _put(temporary, target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    sync_folder(os.path.dirname(target))
    return read_folder(os.fspath(folder))


def _stream(
    text: Source,
    parser: Parser,
    n_features: int | None,
    dtype: np.dtype[Any],
    folder: str,
    progress: Callable[[int, int | None], object] | None,
) -> None:
    kinds: tuple[DTypeLike, ...] = dtype, np.int32, np.int32, np.float64, np.int64
    with ExitStack() as stack:
        columns = {
            name: stack.enter_context(_Column(os.path.join(folder, f"{name}.npy"), kind))
            for name, kind in zip(NAMES, kinds, strict=True)
        }
        for block in text.blocks():
            parser.feed(block)
            for column, found in zip(columns.values(), parser.take(), strict=True):
                column.append(found)
            if progress is not None:
                progress(text.position, text.total)
        parser.finish()
        for column, found in zip(columns.values(), parser.take(), strict=True):
            column.append(found)
        sizes = {"n": parser.n, "d": n_features or max(parser.d, 1), "nnz": parser.nnz}
        for name in ("indices", "indptr"):
            columns[name].widen(np.dtype(index_dtype(**sizes)))
        if not parser.has_qid:
            os.unlink(columns.pop("qid").path)
        for column in columns.values():
            column.finish()
        dtypes = {name: column.dtype.name for name, column in columns.items()}
    with open(os.path.join(folder, META), "w", encoding="ascii") as file:
        json.dump({"format": FORMAT, "version": VERSION, **sizes, "dtypes": dtypes}, file, indent=1)
        file.flush()
        os.fsync(file.fileno())


def _put(temporary: str, target: str) -> None:
    """Give the new folder its name; one that has it is moved away first, and back on failure."""
    old = beside(target)
    try:
        if os.path.lexists(target):
            os.rename(target, old)
        os.rename(temporary, target)
    except BaseException:
        if os.path.lexists(old) and not os.path.lexists(target):
            os.rename(old, target)
        raise
    finally:
        if os.path.lexists(target):
            shutil.rmtree(old, ignore_errors=True)


def _write(file: IO[bytes], array: NDArray[Any]) -> None:
    """All bytes of an array; a disk that is full raises."""
    left = np.ascontiguousarray(array).view(np.uint8).data
    while len(left):
        left = left[file.write(left) :]


class _Column:
    """A vector in a `.npy` file; only at its end are its length and type known."""

    def __init__(self, path: str, dtype: DTypeLike) -> None:
        self.path, self.dtype, self._length = path, np.dtype(dtype), 0
        self._file = open(path, "x+b", buffering=0)  # noqa: SIM115
        self._file.seek(HEADER)

    def __enter__(self) -> _Column:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def append(self, array: NDArray[Any]) -> None:
        if array.dtype != self.dtype:
            self.widen(array.dtype)
        _write(self._file, array)
        self._length += len(array)

    def widen(self, dtype: np.dtype[Any]) -> None:
        """Recast what was written so far, by way of another file."""
        if dtype == self.dtype:
            return
        wide = f"{self.path}.wide"
        with open(self.path, "rb") as narrow, open(wide, "x+b") as file:
            narrow.seek(HEADER)
            file.seek(HEADER)
            while len(part := np.fromfile(narrow, self.dtype, ITEMS)):
                _write(file, part.astype(dtype))
        os.replace(wide, self.path)
        self._file.close()
        self._file = open(self.path, "r+b", buffering=0)  # noqa: SIM115
        self._file.seek(0, os.SEEK_END)
        self.dtype = dtype

    def finish(self) -> None:
        """Write the header, and have all of it on the disk."""
        shape = f"'shape': ({self._length},), "
        text = f"{{'descr': '{self.dtype.str}', 'fortran_order': False, {shape}}}"
        magic = b"\x93NUMPY\x01\x00" + (HEADER - 10).to_bytes(2, "little")
        self._file.seek(0)
        self._file.write(magic + text.ljust(HEADER - 11).encode("ascii") + b"\n")
        os.fsync(self._file.fileno())
