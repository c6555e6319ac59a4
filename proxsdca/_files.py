"""Files that are whole or not there: written beside their place, synced, and renamed."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator
from typing import Any, BinaryIO


@contextlib.contextmanager
def atomic(path: Any, keep: Any = None) -> Iterator[BinaryIO]:
    """A binary file that takes the place of `path` when all of it is on the disk.

    Whatever happens before, even to the machine, `path` stays what it was; a failure leaves nothing
    beside it.

    Parameters
    ----------
    path : path
    keep : path, optional
        Where what `path` was stays, in the place of what was kept there before. There is no instant
        at which `path` is missing.
    """
    path = os.fspath(path)
    folder, name = os.path.split(path)
    # a name of its own, as two processes may write the same path
    handle, temporary = tempfile.mkstemp(prefix=f".{name}.", suffix=".tmp", dir=folder or ".")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fchmod(file.fileno(), 0o666 & ~_umask())  # mkstemp's files are for nobody else
            os.fsync(file.fileno())
        if keep is not None and os.path.exists(path):
            _keep(path, os.fspath(keep))
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(folder or ".")


def clear(path: Any) -> None:
    """Remove what processes that were killed while they wrote `path` have left beside it."""
    folder, name = os.path.split(os.fspath(path))
    left = re.compile(rf"\.{re.escape(name)}\.[a-z0-9_]{{8}}\.tmp")
    with contextlib.suppress(OSError), os.scandir(folder or ".") as entries:
        for entry in entries:
            if left.fullmatch(entry.name):
                os.unlink(entry.path)


def _keep(path: str, kept: str) -> None:
    """Let `kept` be another name of what `path` is now."""
    link = f"{kept}.tmp"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(link)
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


def _umask() -> int:
    """The process's mask for new files, which can only be read by setting it."""
    with contextlib.suppress(OSError, ValueError, StopIteration), open("/proc/self/status") as file:
        return int(next(line for line in file if line.startswith("Umask:")).split()[1], 8)
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _sync_folder(folder: str) -> None:
    """Let a new name survive a loss of power, where folders can be synced."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
