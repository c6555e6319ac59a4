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
from typing import Any

import numpy as np
from scipy import sparse

MOST = 128 << 20  # bytes
EVERY = 0.004  # seconds between two looks
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
    return _Keeper(list(maps.values()), most)


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


class _Keeper:
    """A thread that gives pages back."""

    def __init__(self, maps: list[mmap.mmap], most: int) -> None:
        self._maps, self._most, self._over = maps, most, threading.Event()
        self._thread = threading.Thread(target=self._keep, name="proxsdca-resident", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def _keep(self) -> None:
        descriptor = os.open(STATM, os.O_RDONLY)
        try:
            limit = _shared(descriptor) + self._most
            while not self._over.wait(EVERY):
                if _shared(descriptor) > limit:
                    for map in self._maps:
                        map.madvise(mmap.MADV_DONTNEED)
        finally:
            os.close(descriptor)


def _shared(descriptor: int) -> int:
    """Resident bytes of files, of this process."""
    return int(os.pread(descriptor, 200, 0).split()[2]) * mmap.PAGESIZE
