"""Values in one file: a JSON header, and the raw arrays it speaks of, all with checksums.

    8 bytes     b"proxsdca"
    4 bytes     the version of the format, little-endian, as all numbers are
    8 bytes     the length of the header
    32 bytes    BLAKE2b of the three above and the header
    header      JSON: {"kind", "written_by", "value",
                       "arrays": [[dtype, shape, order, writeable, checksum], ...]}
    arrays      one after the other, each from a multiple of 64 bytes on; zeros in between

The order of an array is "C" or "F"; the dtype of one with columns is [[name, dtype], ...]. The same
value gives the same bytes.

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
import sys
from collections.abc import Callable, Iterator
from hashlib import blake2b
from importlib.metadata import version
from typing import Any, BinaryIO, Literal, NamedTuple

import numpy as np
from scipy import sparse

from ._files import atomic

MAGIC = b"proxsdca"
VERSION = 1
ALIGNMENT = 64
PRELUDE = 8 + 4 + 8 + 32
LONGEST = 1 << 24  # bytes of a header, whose values take up to 100 times as many
DEEPEST = 64  # levels of a value
SHARED = 16  # how many things an array of a file may stand for
DTYPE = re.compile(
    r"\|b1|\|[iu]1|<[iu][248]|<f[248]|<[Mm]8(\[[0-9A-Za-z]{1,12}\])?|(<U|\|S)[1-9][0-9]{0,6}"
)
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
        self.described: list[list[Any]] = []
        self._places: dict[str, tuple[int, int]] = {}  # equal arrays are written once

    def encode(self, value: Any, name: str, depth: int = 0) -> Any:
        if depth > DEEPEST:
            raise TypeError(f"{name[:100]}... is nested too deeply")
        if isinstance(value, np.generic) and not isinstance(value, (np.datetime64, np.timedelta64)):
            value = value.item()
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"kind": "float", "value": repr(value)}
        if isinstance(value, (list, tuple)):
            items = [self.encode(item, f"{name}[{k}]", depth + 1) for k, item in enumerate(value)]
            return items if isinstance(value, list) else {"kind": "tuple", "items": items}
        if isinstance(value, dict):
            pairs = [
                [
                    self.encode(key, f"a key of {name}", depth + 1),
                    self.encode(item, f"{name}[{key!r}]", depth + 1),
                ]
                for key, item in value.items()
            ]
            return {"kind": "dict", "items": pairs}
        if isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray):
            if value.dtype == object:
                return self._labels(value, name, depth)
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
            return {
                "kind": kind,
                "fields": {
                    key: self.encode(item, f"{name}.{key}", depth + 1)
                    for key, item in fields.items()
                },
            }
        raise TypeError(
            f"{name} is a {type(value).__name__}, which no file can hold: numbers, strings, arrays "
            "and what the package itself is made of can be saved"
        )

    def _labels(self, value: np.ndarray, name: str, depth: int) -> Any:
        if value.ndim != 1:
            raise TypeError(f"{name} has dtype object and {value.ndim} axes: 1 can be saved")
        items = [
            self.encode(item, f"{name}[{k}]", depth + 1) for k, item in enumerate(value.tolist())
        ]
        for k, item in enumerate(items):
            if isinstance(item, (list, dict)):
                raise TypeError(
                    f"{name}[{k}] = {value[k]!r}: only finite numbers and strings can be saved"
                )
        return {"kind": "labels", "writeable": value.flags.writeable, "items": items}

    def _array(self, value: np.ndarray, name: str) -> Any:
        described = _described(value.dtype)
        try:
            dtype = _dtype(described)
        except Damaged as error:
            raise TypeError(f"{name} has dtype {value.dtype}, which no file can hold") from error
        flags = value.flags
        order: Literal["C", "F"] = "F" if flags.f_contiguous and not flags.c_contiguous else "C"
        array = np.asarray(value, dtype, order=order)
        entry = [described, list(array.shape), order, flags.writeable, _checksum(array, order)]
        key = repr(entry)
        at, uses = self._places.get(key, (0, SHARED))
        if uses == SHARED:
            at, uses = len(self.arrays), 0
            self.arrays.append(array)
            self.described.append(entry)
        self._places[key] = at, uses + 1
        return {"kind": "array", "at": at}


class _Decoder:
    """The value that JSON and arrays stand for."""

    def __init__(self, arrays: list[np.ndarray], make: Make) -> None:
        self._arrays, self._make = arrays, make
        self._uses = [0] * len(arrays)

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
            return self._array(node["at"])
        if kind == "labels":
            return _labels(node["items"], node["writeable"])
        if kind in ("csr", "csc"):
            parts = tuple(self._array(part["at"]) for part in node["parts"])
            return _compressed(kind, parts, node["shape"])
        fields = {key: self.decode(item, depth + 1) for key, item in node["fields"].items()}
        return self._make(kind, fields)

    def _array(self, at: Any) -> np.ndarray:
        if not (type(at) is int and 0 <= at < len(self._arrays)):
            raise Damaged(f"it has no array {at!r}")
        self._uses[at] += 1
        if self._uses[at] > SHARED:  # a small file is to stay small
            raise Damaged(f"array {at} stands for more than {SHARED} things")
        array = self._arrays[at]
        # what may change is nobody else's
        return array.copy("A") if array.flags.writeable and self._uses[at] > 1 else array


def _labels(items: Any, writeable: Any) -> np.ndarray:
    if not isinstance(items, list) or any(isinstance(item, (list, dict)) for item in items):
        raise Damaged("a label is neither a number nor a string")
    labels = np.empty(len(items), object)
    labels[:] = items
    labels.flags.writeable = _flag(writeable)
    return labels


def _compressed(kind: str, parts: tuple[Any, ...], shape: list[int]) -> Any:
    data, indices, indptr = parts
    rows, columns = shape
    for size in (rows, columns):
        if not (type(size) is int and 0 <= size < 2**48):
            raise Damaged(f"a sparse array has the shape {shape!r}")
    major, minor = (rows, columns) if kind == "csr" else (columns, rows)
    good = (
        data.ndim == indices.ndim == indptr.ndim == 1
        and indices.dtype == indptr.dtype
        and indices.dtype in (np.int32, np.int64)
        and len(indptr) == major + 1
        and len(data) == len(indices) == indptr[-1]
        and indptr[0] == 0
        and bool((np.diff(indptr) >= 0).all())
        and (not len(indices) or (indices.min() >= 0 and indices.max() < minor))
    )
    if not good:
        raise Damaged("the parts of a sparse array do not fit together")
    container = sparse.csr_array if kind == "csr" else sparse.csc_array
    found = container((rows, columns), dtype=data.dtype)
    found.data, found.indices, found.indptr = parts  # as they are: the constructor may convert them
    return found


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Damaged(f"{value!r} is neither true nor false")
    return value


def _described(dtype: np.dtype) -> Any:
    """A dtype, little-endian, as JSON has it."""
    if dtype.names:
        return [[name, dtype[name].newbyteorder("<").str] for name in dtype.names]
    return dtype.newbyteorder("<").str


def _dtype(described: Any) -> np.dtype:
    """The dtype that JSON stands for, one that holds nothing but numbers and characters."""
    columns = described if isinstance(described, list) else [["", described]]
    if not 0 < len(columns) <= 64:
        raise Damaged(f"an array has {len(columns)} columns")
    for name, kind in columns:
        if not (isinstance(name, str) and isinstance(kind, str) and DTYPE.fullmatch(kind)):
            raise Damaged(f"an array has the dtype {kind!r}")
    return np.dtype([*map(tuple, columns)] if columns is described else described)


# ----------------------------------------------------------------------------------- the file


def _padding(size: int) -> int:
    return -size % ALIGNMENT


def _blocks(array: np.ndarray, order: Literal["C", "F"]) -> Iterator[memoryview]:
    """The bytes of an array that lies in this order."""
    view = array.reshape(-1, order=order).view(np.uint8).data
    for begin in range(0, len(view), BLOCK):
        yield view[begin : begin + BLOCK]


def _checksum(array: np.ndarray, order: Literal["C", "F"]) -> str:
    digest = blake2b(digest_size=32)
    for block in _blocks(array, order):
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
    header = json.dumps(
        {
            "kind": kind,
            "written_by": version("proxsdca"),
            "value": tree,
            "arrays": encoder.described,
        },
        allow_nan=False,
    ).encode()
    if len(header) > LONGEST:
        raise ValueError(f"{kind} has a description of {len(header)} bytes, {LONGEST} are allowed")
    begin = MAGIC + VERSION.to_bytes(4, "little") + len(header).to_bytes(8, "little")
    with atomic(path, keep) as file:
        file.write(begin + blake2b(begin + header, digest_size=32).digest() + header)
        file.write(b"\0" * _padding(PRELUDE + len(header)))
        for array, (_, _, order, _, _) in zip(encoder.arrays, encoder.described, strict=True):
            for block in _blocks(array, order):
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
    path = os.fspath(path)
    # one that waits for nobody at the other end of a pipe
    with open(path, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)) as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise Damaged(f"{path}: it is not a regular file")
        try:
            return _load(file, about.st_size, make)
        except MemoryError:
            raise
        except OSError as error:
            raise OSError(error.errno, error.strerror or str(error), path) from error
        except Exception as error:
            # the checksums fit, so somebody made the header: whatever fails, the file is to blame
            known = isinstance(error, Damaged)
            reason = str(error) if known else f"its header is damaged: {error!r}"
            if len(reason) > 300:
                reason = f"{reason[:300]}..."
            raise Damaged(f"{path}: {reason}") from (None if known else error)


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
    header = json.loads(text.decode("ascii"), object_pairs_hook=_unique, parse_constant=_no_number)
    _expect_zeros(file, _padding(PRELUDE + length))
    arrays = _read_arrays(file, size, header["arrays"])
    kind, written_by = header["kind"], header["written_by"]
    if not (isinstance(kind, str) and isinstance(written_by, str)):
        raise Damaged("it does not say what it holds")
    return Content(kind, written_by, _Decoder(arrays, make).decode(header["value"]))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Damaged("a name stands twice in its header")
    return found


def _no_number(name: str) -> Any:
    raise Damaged(f"there is a {name} in its header")


def _read_arrays(file: BinaryIO, size: int, described: list[Any]) -> list[np.ndarray]:
    """The arrays; all sizes are judged before anything is allocated."""
    judged = []
    end = file.tell()
    for described_dtype, shape, order, writeable, checksum in described:
        dtype = _dtype(described_dtype)
        if not all(type(length) is int and length >= 0 for length in shape) or len(shape) > 4:
            raise Damaged(f"an array has the shape {shape!r}")
        if order not in ("C", "F"):
            raise Damaged(f"an array has the order {order!r}")
        nbytes = math.prod(shape) * dtype.itemsize
        end += nbytes + _padding(nbytes)
        if end > size or max(shape, default=0) >= 2**48:
            raise Damaged(
                f"it ends too early: {size} bytes, and an array has the shape {tuple(shape)!r}"
            )
        judged.append((dtype, tuple(shape), order, _flag(writeable), checksum))
    if end != size:
        raise Damaged(f"it has {size} bytes, {end} are needed")
    arrays = []
    for k, (dtype, shape, order, writeable, checksum) in enumerate(judged):
        array = np.empty(shape, dtype, order)
        for block in _blocks(array, order):
            if file.readinto(block) != len(block):  # type: ignore[attr-defined]
                raise Damaged("it ends too early")
        _expect_zeros(file, _padding(array.nbytes))
        if _checksum(array, order) != checksum:
            raise Damaged(f"array {k} does not have its checksum")
        _check_values(array)
        array.flags.writeable = writeable
        arrays.append(array)
    return arrays


def _check_values(array: np.ndarray) -> None:
    """Refuse bytes that are no value of their dtype."""
    for name in array.dtype.names or ():
        _check_values(array[name])
    if array.dtype.kind == "b" and (array.view(np.uint8) > 1).any():
        raise Damaged("there is a byte that is neither true nor false")
    if array.dtype.kind == "U" and array.size:
        points = array.reshape(-1, order="A").view(np.uint32)
        if (points > sys.maxunicode).any():
            raise Damaged("there is a character that does not exist")


def _expect_zeros(file: BinaryIO, count: int) -> None:
    if file.read(count) != b"\0" * count:
        raise Damaged("there is something between its parts")
