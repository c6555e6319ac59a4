"""Data on disk do not fill the memory of the process that solves on them.

Pages of a mapped file stay resident once they were read. They are the kernel's, which has them in
its cache; giving them back costs no more than being given them again, and changes nothing.
"""

from __future__ import annotations

import mmap
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import Any

import numpy as np
from scipy import sparse

MOST = 64 << 20  # bytes; all in all it may be several times as much for a moment
EVERY = 0.001  # seconds between two looks
STATM = "/proc/self/statm"

_PLAIN = (np.ndarray, np.memmap)
_SPARSE = (sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.csc_matrix)


def bounded(arrays: Iterable[Any], most: int = MOST) -> AbstractContextManager[object]:
    """Keep the resident pages of what is mapped behind arrays and matrices to about `most` bytes.

    Nothing happens where nothing is mapped, or where the system does not tell or cannot be told.
    """
    maps = {id(map): map for thing in arrays for map in _maps(thing)}
    if not maps or not hasattr(mmap.mmap, "madvise") or not os.path.exists(STATM):
        return nullcontext()
    return Keeper(list(maps.values()), most)


def _maps(thing: Any) -> Iterator[mmap.mmap]:
    # only what is exactly of these types: others may answer with anything
    if type(thing) in _SPARSE:
        for part in ("data", "indices", "indptr"):
            yield from _maps(vars(thing).get(part))
    while type(thing) in _PLAIN:
        if type(thing) is np.memmap and type(map := thing._mmap) is mmap.mmap:  # type: ignore[attr-defined]
            yield map
            return
        thing = thing.base


class Keeper:
    """Gives pages back: by a thread, and between the visits of an epoch when it is asked to look.

    The thread is for passes from front to back. Where rows are visited at random, the system maps
    16 pages for each that is touched, which no thread beside it could keep up with.
    """

    VISITS = 200  # after which to ask for a look

    def __init__(self, maps: list[mmap.mmap], most: int) -> None:
        self._maps, self._over = maps, threading.Event()
        self._statm = os.open(STATM, os.O_RDONLY)
        self._limit = self._shared() + most
        self._thread = threading.Thread(target=self._keep, name="proxsdca-resident", daemon=True)

    def __enter__(self) -> None:
        self._token = _current.set(self)
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        _current.reset(self._token)
        self._over.set()
        self._thread.join()
        os.close(self._statm)

    def look(self) -> None:
        """Give the pages back if they are too many."""
        if self._shared() > self._limit:
            for map in self._maps:
                map.madvise(mmap.MADV_DONTNEED)

    def _keep(self) -> None:
        while not self._over.wait(EVERY):
            self.look()

    def _shared(self) -> int:
        """Resident bytes of files, of this process."""
        return int(os.pread(self._statm, 200, 0).split()[2]) * mmap.PAGESIZE


_current: ContextVar[Keeper | None] = ContextVar("proxsdca_resident", default=None)


def keeper() -> Keeper | None:
    """Who keeps to the bound in this thread, None where nothing is mapped."""
    return _current.get()
