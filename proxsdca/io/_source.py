"""The bytes of a text, wherever they come from, decompressed, block by block."""

from __future__ import annotations

import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib import import_module
from typing import Any, BinaryIO, TypeAlias

Path: TypeAlias = "str | os.PathLike[str] | BinaryIO"

BLOCK = 1 << 20
MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
NO_ZSTD = "zstd needs a package: pip install 'proxsdca[zstd]'"


class Source:
    """A text to be read once, from front to back.

    Parameters
    ----------
    path : str, PathLike or binary file
        "-" is standard input. Compression is recognised by the first bytes. A file that is passed
        in is read from where it stands, and left open.
    block : int
        The bytes that are read at once.

    Attributes
    ----------
    name : str
        What to call it in errors.
    position, total : int
        How many bytes were read, compressed as they are, and how many there are; None: unknown.
    """

    def __init__(self, path: Path, block: int = BLOCK) -> None:
        self._stack, self._block = ExitStack(), block
        self._file: Any
        if hasattr(path, "read"):
            self._file, name = path, getattr(path, "name", None)
            self.name = name if isinstance(name, str) else "<stream>"
        elif path == "-":
            if sys.stdin is None:
                raise ValueError("<stdin>: standard input is closed")
            self._file, self.name = sys.stdin.buffer, "<stdin>"
        else:
            self.name = os.fsdecode(path)
            self._file = open(path, "rb", buffering=0)  # noqa: SIM115
            self._stack.enter_context(self._file)
        self.position, self.total = 0, _size(self._file)
        self._ahead = b""

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def blocks(self) -> Iterator[bytes]:
        """The text."""
        while len(self._ahead) < max(map(len, MAGIC)) and (more := self._next(self._block)):
            self._ahead += more
        kind = next((MAGIC[magic] for magic in MAGIC if self._ahead.startswith(magic)), None)
        if kind is None:
            while block := self.read(self._block):
                yield block
            return
        decompressed, damage = _DECOMPRESSED[kind](self)
        try:
            yield from decompressed
        except damage as error:
            if getattr(error, "errno", None) is not None:  # the disk's, not the decompressor's
                raise
            raise ValueError(f"{self.name}: damaged or truncated {kind} stream: {error}") from None

    def read(self, size: int) -> bytes:
        """The next bytes as they are in the file, none at its end."""
        if not self._ahead:
            return self._next(size)
        first, self._ahead = self._ahead[:size], self._ahead[size:]
        return first

    def _next(self, size: int) -> bytes:
        block = self._file.read(size)
        if not isinstance(block, bytes):
            raise TypeError(
                f"{self.name}: read() returns {type(block).__name__}, bytes are needed: "
                "open it in binary mode"
            )
        self.position += len(block)
        return block


def _size(file: Any) -> int | None:
    """The bytes left in a regular file, None where nobody knows."""
    try:
        status = os.fstat(file.fileno())
        return status.st_size - int(file.tell()) if stat.S_ISREG(status.st_mode) else None
    except (AttributeError, OSError, ValueError):
        return None


# ------------------------------------------------------------- compression


Damage: TypeAlias = "tuple[type[Exception], ...]"


def _gzip(source: Source) -> tuple[Iterator[bytes], Damage]:
    import gzip

    # gzip's reader asks for no more than read(size); it takes several members and refuses the rest
    file = gzip.GzipFile(fileobj=source, mode="rb")  # type: ignore[call-overload]
    return iter(lambda: file.read(BLOCK), b""), (EOFError, OSError, zlib.error)


def _bzip2(source: Source) -> tuple[Iterator[bytes], Damage]:
    import bz2

    return _frames(source, bz2.BZ2Decompressor), (EOFError, OSError)


def _xz(source: Source) -> tuple[Iterator[bytes], Damage]:
    import lzma

    return _frames(source, lzma.LZMADecompressor), (EOFError, lzma.LZMAError)


def _zstd(source: Source) -> tuple[Iterator[bytes], Damage]:
    try:
        zstd = import_module("compression.zstd")  # Python 3.14
        return _frames(source, zstd.ZstdDecompressor), (EOFError, zstd.ZstdError)
    except ImportError:
        pass
    try:
        zstandard = import_module("zstandard")
    except ImportError:
        raise ImportError(f"{source.name}: {NO_ZSTD}") from None
    return _frames(source, lambda: _Zstandard(zstandard)), (EOFError, zstandard.ZstdError)


_DECOMPRESSED = {"gzip": _gzip, "bzip2": _bzip2, "xz": _xz, "zstd": _zstd}


def _frames(source: Source, new: Callable[[], Any]) -> Iterator[bytes]:
    """What one compressed stream after the other says, in blocks whatever they expand to."""
    decompressor, data = new(), source.read(BLOCK)
    while True:
        yield decompressor.decompress(data, BLOCK)
        data = b""
        if decompressor.eof:
            data = decompressor.unused_data.lstrip(b"\0")  # which xz may be padded with
            while not data:
                if not (more := source.read(BLOCK)):
                    return
                data = more.lstrip(b"\0")
            decompressor = new()
        elif decompressor.needs_input and not (data := source.read(BLOCK)):
            raise EOFError("it ends too early")


class _Zstandard:
    """The package's decompressor with the standard library's methods.

    It cannot be told how much to return, so it is given little at once.
    """

    PIECE = 1024

    def __init__(self, zstandard: Any) -> None:
        self._object = zstandard.ZstdDecompressor().decompressobj()
        self._waiting = b""

    def decompress(self, data: bytes, most: int) -> bytes:
        self._waiting += data
        found, length, at = [], 0, 0
        while at < len(self._waiting) and length < most and not self.eof:
            found.append(self._object.decompress(self._waiting[at : at + self.PIECE]))
            length += len(found[-1])
            at += self.PIECE
        self._waiting = self._waiting[at:]
        return b"".join(found)

    @property
    def eof(self) -> bool:
        return bool(self._object.eof)

    @property
    def needs_input(self) -> bool:
        return not self._waiting

    @property
    def unused_data(self) -> bytes:
        return bytes(self._object.unused_data) + self._waiting
