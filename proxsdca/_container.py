"""Values in one file: a JSON header, and the raw arrays it speaks of, all with checksums.

    8 bytes     b"proxsdca"
    4 bytes     the version of the format, little-endian, as all numbers are
    8 bytes     the length of the header
    32 bytes    BLAKE2b of the three above and the header
    header      JSON: {"kind", "written_by", "value", "arrays": [[dtype, shape, checksum], ...]}
    arrays      one after the other, each from a multiple of 64 bytes on; zeros in between

Nothing in a file is run, and nothing is allocated before the file is seen to be large enough for
it. A changed bit, a missing or an added byte is noticed: a file is read as it was written, or
refused.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections.abc import Callable, Iterator
from hashlib import blake2b
from importlib.metadata import version
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from scipy import sparse

from ._files import atomic

MAGIC = b"proxsdca"
VERSION = 1
ALIGNMENT = 64
PRELUDE = 8 + 4 + 8 + 32
LONGEST = 1 << 26  # bytes of a header
DEEPEST = 64  # levels of a value
DTYPE = re.compile(r"[<|][biufMm][0-9]{1,2}(\[[0-9A-Za-z]{1,8}\])?")
BLOCK = 1 << 24  # bytes that are read or written at a time

Describe = Callable[[Any], "tuple[str, dict[str, Any]] | None"]
Make = Callable[[str, dict[str, Any]], Any]


class Content(NamedTuple):
    """What a file holds."""

    kind: str
    written_by: str  # the version of the package
    value: Any


class Damaged(ValueError):
    """A file that is not what was written."""


# -------------------------------------------------------------------- values to JSON and arrays


def _no_object(value: Any) -> None:
    return None


class _Encoder:
    """A value as JSON, in which every object has a "kind", and the arrays that it refers to.

    Numbers, strings, lists, tuples, dicts, arrays and sparse arrays are described here; what else
    there may be, by `describe`: a kind and the fields of it, or None.
    """

    def __init__(self, describe: Describe) -> None:
        self.describe = describe
        self.arrays: list[np.ndarray] = []
        self._places: dict[int, int] = {}  # an array that stands twice is written once

    def encode(self, value: Any, name: str) -> Any:
        if isinstance(value, np.generic) and not isinstance(value, (np.datetime64, np.timedelta64)):
            value = value.item()
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"kind": "float", "value": repr(value)}
        if isinstance(value, (list, tuple)):
            items = [self.encode(item, f"{name}[{k}]") for k, item in enumerate(value)]
            return items if isinstance(value, list) else {"kind": "tuple", "items": items}
        if isinstance(value, dict):
            pairs = [
                [self.encode(key, f"a key of {name}"), self.encode(item, f"{name}[{key!r}]")]
                for key, item in value.items()
            ]
            return {"kind": "dict", "items": pairs}
        if isinstance(value, np.ndarray):
            return self._array(value, name)
        if isinstance(value, (sparse.csr_array, sparse.csc_array)):
            parts = (value.data, value.indices, value.indptr)
            return {
                "kind": value.format,
                "shape": list(value.shape),
                "parts": [self._array(part, name) for part in parts],
            }
        if (described := self.describe(value)) is not None:
            kind, fields = described
            fields = {key: self.encode(item, f"{name}.{key}") for key, item in fields.items()}
            return {"kind": kind, "fields": fields}
        raise TypeError(
            f"{name} is a {type(value).__name__}, which no file can hold: numbers, strings, arrays "
            "and what the package itself is made of can be saved"
        )

    def _array(self, value: np.ndarray, name: str) -> Any:
        if value.dtype.kind in "UO":  # labels and names
            items = [self.encode(item, f"{name}[{k}]") for k, item in enumerate(value.tolist())]
            for k, item in enumerate(items):
                if isinstance(item, (list, dict)):
                    raise TypeError(
                        f"{name}[{k}] = {value[k]!r}: only numbers and strings can be saved"
                    )
            dtype = "object" if value.dtype == object else value.dtype.str
            return {"kind": "labels", "dtype": dtype, "items": items}
        if value.dtype.names:
            columns = {key: self._array(np.ascontiguousarray(value[key]), name)
                       for key in value.dtype.names}  # fmt: skip
            return {"kind": "record", "columns": columns}
        dtype = value.dtype.newbyteorder("<")
        if not DTYPE.fullmatch(dtype.str):
            raise TypeError(f"{name} has dtype {value.dtype}, which no file can hold")
        if id(value) not in self._places:
            self._places[id(value)] = len(self.arrays)
            self.arrays.append(value)
        return {"kind": "array", "at": self._places[id(value)]}


class _Decoder:
    """The value that JSON and arrays stand for."""

    def __init__(self, arrays: list[np.ndarray], make: Make) -> None:
        self._arrays, self._make = arrays, make

    def decode(self, node: Any, depth: int = 0) -> Any:
        if depth > DEEPEST:
            raise Damaged("its value is nested too deeply")
        if isinstance(node, list):
            return [self.decode(item, depth + 1) for item in node]
        if not isinstance(node, dict):
            return node
        kind = node["kind"]
        if kind == "float":
            return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[node["value"]]
        if kind == "tuple":
            return tuple(self.decode(item, depth + 1) for item in node["items"])
        if kind == "dict":
            return {
                self.decode(key, depth + 1): self.decode(item, depth + 1)
                for key, item in node["items"]
            }
        if kind == "array":
            at = node["at"]
            if not 0 <= at < len(self._arrays):
                raise Damaged(f"it has no array {at}")
            return self._arrays[at]
        if kind == "labels":
            return _labels(node["dtype"], node["items"])
        if kind == "record":
            columns = {key: self.decode(item, depth + 1) for key, item in node["columns"].items()}
            return _record(columns)
        if kind in ("csr", "csc"):
            parts = tuple(self.decode(part, depth + 1) for part in node["parts"])
            return _compressed(kind, parts, node["shape"])
        fields = {key: self.decode(item, depth + 1) for key, item in node["fields"].items()}
        return self._make(kind, fields)


def _labels(dtype: str, items: list[Any]) -> np.ndarray:
    if any(isinstance(item, (list, dict)) for item in items):
        raise Damaged("a label is neither a number nor a string")
    if dtype == "object":
        labels = np.empty(len(items), object)
        labels[:] = items
    elif re.fullmatch(r"<U[0-9]{1,6}", dtype) and all(isinstance(item, str) for item in items):
        labels = np.array(items, f"<U{max(1, *map(len, items), 1)}")
    else:
        raise Damaged(f"labels cannot have the dtype {dtype!r}")
    labels.flags.writeable = False
    return labels


def _record(columns: dict[str, Any]) -> np.ndarray:
    length = {column.shape for column in columns.values()}
    if len(length) != 1:
        raise Damaged("the columns of a table have different lengths")
    table = np.empty(length.pop(), [(key, column.dtype) for key, column in columns.items()])
    for key, column in columns.items():
        table[key] = column
    table.flags.writeable = False
    return table


def _compressed(kind: str, parts: tuple[Any, ...], shape: list[int]) -> Any:
    data, indices, indptr = parts
    rows, columns = shape
    for size in (rows, columns):
        if not (isinstance(size, int) and 0 <= size < 2**48):
            raise Damaged(f"a sparse array has the shape {shape!r}")
    major, minor = (rows, columns) if kind == "csr" else (columns, rows)
    good = (
        data.ndim == indices.ndim == indptr.ndim == 1
        and indices.dtype.kind == indptr.dtype.kind == "i"
        and len(indptr) == major + 1
        and len(data) == len(indices) == indptr[-1]
        and indptr[0] == 0
        and bool((np.diff(indptr) >= 0).all())
        and (not len(indices) or (indices.min() >= 0 and indices.max() < minor))
    )
    if not good:
        raise Damaged("the parts of a sparse array do not fit together")
    container = sparse.csr_array if kind == "csr" else sparse.csc_array
    return container(parts, shape=(rows, columns))


# ----------------------------------------------------------------------------------- the file


def _padding(size: int) -> int:
    return -size % ALIGNMENT


def _blocks(array: np.ndarray) -> Iterator[memoryview]:
    """The bytes of an array, little-endian."""
    array = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    view = array.reshape(-1).view(np.uint8).data
    for begin in range(0, len(view), BLOCK):
        yield view[begin : begin + BLOCK]


def _checksum(array: np.ndarray) -> str:
    digest = blake2b(digest_size=32)
    for block in _blocks(array):
        digest.update(block)
    return digest.hexdigest()


def save(
    path: Any, kind: str, value: Any, describe: Describe = _no_object, keep: Any = None
) -> None:
    """Write a value to a file, which takes the place of `path` when all of it is on the disk.

    Parameters
    ----------
    path : path
    kind : str
        What the value is.
    value : object
        Numbers, strings, arrays, lists, tuples and dicts of them, and what `describe` knows.
    describe : callable
        The kind and the fields of any other object, or None.
    keep : path, optional
        Where what `path` was is kept.

    Raises
    ------
    TypeError
        For values that cannot be saved; nothing is written then.
    OSError
    """
    encoder = _Encoder(describe)
    tree = encoder.encode(value, kind)
    described = [
        [array.dtype.newbyteorder("<").str, list(array.shape), _checksum(array)]
        for array in encoder.arrays
    ]
    header = json.dumps(
        {"kind": kind, "written_by": version("proxsdca"), "value": tree, "arrays": described},
        allow_nan=False,
    ).encode()
    if len(header) > LONGEST:
        raise ValueError(f"{kind} has a description of {len(header)} bytes, {LONGEST} are allowed")
    begin = MAGIC + VERSION.to_bytes(4, "little") + len(header).to_bytes(8, "little")
    with atomic(path, keep) as file:
        file.write(begin + blake2b(begin + header, digest_size=32).digest() + header)
        file.write(b"\0" * _padding(PRELUDE + len(header)))
        for array in encoder.arrays:
            for block in _blocks(array):
                file.write(block)
            file.write(b"\0" * _padding(array.nbytes))


def load(path: Any, make: Make) -> Content:
    """What a file holds.

    Parameters
    ----------
    path : path
    make : callable
        What makes an object of a kind and its fields; it raises `Damaged` for those it does not
        know.

    Raises
    ------
    Damaged
        A ValueError, with the path, for anything but a file as `save` writes it.
    OSError
    """
    with open(path, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise Damaged(f"{os.fspath(path)}: it is not a regular file")
        try:
            return _load(file, os.fstat(file.fileno()).st_size, make)
        except MemoryError:
            raise
        except Exception as error:
            # the checksums fit, so somebody made the header: whatever fails, the file is to blame
            known = isinstance(error, Damaged)
            reason = str(error) if known else f"its header is damaged: {error!r}"
            raise Damaged(f"{os.fspath(path)}: {reason}") from (None if known else error)


def _load(file: BinaryIO, size: int, make: Make) -> Content:
    prelude = file.read(PRELUDE)
    if prelude[:8] != MAGIC:
        raise Damaged("it is not a file that proxsdca has saved")
    if len(prelude) < PRELUDE:
        raise Damaged("it ends too early")
    found = int.from_bytes(prelude[8:12], "little")
    if found != VERSION:
        raise Damaged(f"it has version {found} of the format, {VERSION} can be read")
    length = int.from_bytes(prelude[12:20], "little")
    if length > min(LONGEST, size - PRELUDE):
        raise Damaged("it ends too early")
    text = file.read(length)
    if blake2b(prelude[:20] + text, digest_size=32).digest() != prelude[20:]:
        raise Damaged("its header does not have its checksum")
    header = json.loads(text)
    _expect_zeros(file, _padding(PRELUDE + length))
    arrays = _read_arrays(file, size, header["arrays"])
    kind, written_by = header["kind"], header["written_by"]
    if not (isinstance(kind, str) and isinstance(written_by, str)):
        raise Damaged("it does not say what it holds")
    return Content(kind, written_by, _Decoder(arrays, make).decode(header["value"]))


def _read_arrays(file: BinaryIO, size: int, described: list[Any]) -> list[np.ndarray]:
    """The arrays, each read-only; all sizes are judged before anything is allocated."""
    shapes = []
    end = file.tell()
    for dtype, shape, _ in described:
        if not (isinstance(dtype, str) and DTYPE.fullmatch(dtype)):
            raise Damaged(f"an array has the dtype {dtype!r}")
        if not all(type(length) is int and length >= 0 for length in shape) or len(shape) > 4:
            raise Damaged(f"an array has the shape {shape!r}")
        nbytes = math.prod(shape) * np.dtype(dtype).itemsize
        end += nbytes + _padding(nbytes)
        if end > size or max(shape, default=0) >= 2**48:
            raise Damaged(
                f"it ends too early: {size} bytes, and an array has the shape {tuple(shape)!r}"
            )
        shapes.append((np.dtype(dtype), tuple(shape)))
    if end != size:
        raise Damaged(f"it has {size} bytes, {end} are needed")
    arrays = []
    for k, (dtype, shape) in enumerate(shapes):
        array = np.empty(shape, dtype)
        view = array.reshape(-1).view(np.uint8).data
        for begin in range(0, len(view), BLOCK):
            block = view[begin : begin + BLOCK]
            if file.readinto(block) != len(block):  # type: ignore[attr-defined]
                raise Damaged("it ends too early")
        _expect_zeros(file, _padding(array.nbytes))
        if _checksum(array) != described[k][2]:
            raise Damaged(f"array {k} does not have its checksum")
        array.flags.writeable = False
        arrays.append(array)
    return arrays


def _expect_zeros(file: BinaryIO, count: int) -> None:
    if file.read(count) != b"\0" * count:
        raise Damaged("there is something between its parts")
