"""Files that are whole or not there: written beside their place, synced, and renamed."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
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
    folder, name = os.path.split(path)
    temporary = None
    try:
        mode = _mode(path)
        # a name of its own, as two processes may write the same path
        handle, temporary = tempfile.mkstemp(prefix=f".{name[:50]}.", suffix=".tmp", dir=folder)
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fchmod(file.fileno(), mode)  # mkstemp's files are for nobody else
            os.fsync(file.fileno())
        if keep is not None and os.path.exists(path):
            _keep(path, os.fspath(keep))
        os.replace(temporary, path)
    except BaseException as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror or str(error), given) from error
        raise
    _sync_folder(folder)


def _mode(path: str) -> int:
    """The permissions that a file is to have, which may be there and then is a regular one."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return 0o666 & ~_umask()
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(mode):  # a device, say, that nobody means to replace
        raise OSError(errno.EINVAL, "it is not a regular file", path)
    return stat.S_IMODE(mode)


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
        os.replace(link, kept)


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
