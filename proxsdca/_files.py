"""Files that are whole or not there: written beside their place, synced, and renamed."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from typing import Any, BinaryIO


@contextlib.contextmanager
def atomic(path: Any, keep: Any = None) -> Iterator[BinaryIO]:
    """A binary file that takes the place of `path` when all of it is on the disk.

    Whatever happens before, even to the machine, `path` stays what it was; a failure leaves nothing
    beside it. A link stays one, and what it leads to is replaced; a file keeps its permissions.

    Parameters
    ----------
    path : path
    keep : path, optional
        Where what `path` was stays, in the place of what was kept there before. There is no instant
        at which `path` is missing.
    """
    given = os.fsdecode(path)
    path = os.path.realpath(given)
    temporary = beside(path)
    try:
        mode = _mode(path)
        with open(temporary, "x+b") as file:
            yield file
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        if keep is not None and os.path.exists(path):
            _keep(path, os.fspath(keep))
        os.replace(temporary, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror or str(error), given) from error
        raise
    sync_folder(os.path.dirname(path))


def beside(path: str) -> str:
    """A new name in the same folder; one of its own, as two processes may write the same path."""
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name[:50]}.{secrets.token_hex(8)}.tmp")


def _mode(path: str) -> int | None:
    """The permissions of a file that is there already, and then is a regular one."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(mode):  # a device, say, that nobody means to replace
        raise OSError(errno.EINVAL, "it is not a regular file", path)
    return stat.S_IMODE(mode)


def clear(path: Any) -> None:
    """Remove what processes that were killed while they wrote `path` have left beside it."""
    folder, name = os.path.split(os.path.realpath(path))
    left = re.compile(rf"\.{re.escape(name[:50])}\.[0-9a-f]{{16}}\.tmp")
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if left.fullmatch(entry.name):
                os.unlink(entry.path)


def _keep(path: str, kept: str) -> None:
    """Let `kept` be another name of what `path` is now."""
    link = beside(kept)
    try:
        os.link(path, link)
    except OSError:  # a file system without links: for an instant only `kept` is there
        os.replace(path, kept)
    else:
        try:
            os.replace(link, kept)
        finally:  # where it failed, or `kept` was the same file already
            with contextlib.suppress(FileNotFoundError):
                os.unlink(link)


def sync_folder(folder: str) -> None:
    """Let a new name survive a loss of power, where folders can be synced."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
