"""Files that are either as they were or complete, whatever happens while they are written."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO


@contextmanager
def atomic(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary file that takes the place of `path` when the block ends without an exception.

    It is written beside it, and is on the disk before it gets its name; a link is followed.
    """
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        raise OSError(f"{os.fspath(path)}: only a regular file can be replaced")
    temporary = beside(target)
    try:
        file = open(temporary, "x+b")  # noqa: SIM115
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(target):
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    sync_folder(os.path.dirname(target))


def beside(path: str) -> str:
    """A new name in the same folder."""
    return os.path.join(os.path.dirname(path), f".proxsdca-{secrets.token_hex(8)}")


def sync_folder(folder: str) -> None:
    """Have the names in a folder on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
