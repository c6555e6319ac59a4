"""Seed -> stream of random numbers -> orders of visits."""

from __future__ import annotations

import math
import numbers
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from ._checkpoint import overwrite
from ._core.order import Stream, alias_table

Seed: TypeAlias = "int | np.random.SeedSequence | np.random.Generator | None"
ORDERS = ("permutation", "uniform", "cyclic", "importance", "blocks")
WEIGHED = ("importance", "gap")  # independent draws with probabilities
STATE = ("_visits", "_keep", "_alias")  # what an order changes, or has been given


def stream(seed: Seed) -> Stream:
    """The kernel's generator; only a Generator that is passed in changes by this."""
    if type(seed) is int and seed >= 0:
        return Stream(_words(seed))
    if isinstance(seed, np.random.Generator):
        return Stream(seed.integers(0, 2**64, size=4, dtype=np.uint64))
    if isinstance(seed, bool) or not (
        seed is None or isinstance(seed, (numbers.Integral, np.random.SeedSequence))
    ):
        raise TypeError(
            f"seed = {seed!r} ({type(seed).__name__}): an integer >= 0, a numpy SeedSequence, "
            "a numpy Generator or None is needed"
        )
    if isinstance(seed, numbers.Integral) and seed < 0:
        raise ValueError(f"seed = {seed}: an integer >= 0 is needed")
    if isinstance(seed, numbers.Integral):
        return Stream(_words(int(seed)))
    seed = np.random.SeedSequence() if seed is None else seed
    return Stream(np.asarray(seed.generate_state(4, np.uint64), np.uint64))


@lru_cache(16)
def _words(seed: int) -> np.ndarray:
    """What a SeedSequence makes of a number, which costs as much as a small problem's epoch."""
    return np.asarray(np.random.SeedSequence(seed).generate_state(4, np.uint64), np.uint64)


class Order:
    """Which rows an epoch visits, one epoch after the other.

    Parameters
    ----------
    name : {"permutation", "uniform", "cyclic", "importance", "gap", "blocks"}
        A new permutation each epoch; independent uniform draws (the paper's); 0 ... n - 1;
        independent draws by the given probabilities, whatever they are; runs of about sqrt(m)
        neighbours in random order, sixteen of them shuffled together. An epoch has as many visits
        as rows.
    rows : (m,) array of intp
        The rows to visit.
    stream : Stream
    p : (m,) array, optional
        What the probabilities are proportional to; overwritten.
    """

    def __init__(
        self, name: str, rows: np.ndarray, stream: Stream, p: np.ndarray | None = None
    ) -> None:
        self._name, self._stream, self._rows = name, stream, rows
        self._visits = rows if name in ("permutation", "cyclic") else np.zeros_like(rows)
        self._all = len(rows) == 0 or rows[-1] == len(rows) - 1  # as rows ascend, from 0 on
        if name == "blocks":
            self._size = max(1, math.isqrt(len(rows)))
            self._starts = np.empty(-(-len(rows) // self._size) + 1, np.intp)
        if p is not None and len(p):
            self._keep, self._alias = np.empty_like(p), np.empty(len(p), np.intp)
            alias_table(p, self._keep, self._alias)

    @property
    def visits(self) -> np.ndarray:
        """The rows of the epoch that `next` was last called for."""
        return self._visits

    def state(self) -> dict[str, np.ndarray]:
        """What `restore` goes on from, together with the stream's state."""
        return {name: getattr(self, name) for name in STATE if hasattr(self, name)}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Go on from a state, of an order of the same name and rows."""
        count = len(self._rows)
        largest = {"_visits": self._rows.max(initial=0), "_keep": 1, "_alias": count - 1}
        for name, own in self.state().items():
            values = state[name]
            if count and not (values.min() >= 0 and values.max() <= largest[name]):
                raise ValueError(f"{name[1:]} is not one of {count} rows")
            overwrite(own, values)

    def next(self) -> np.ndarray:
        """The rows of the next epoch; valid until the call after this."""
        visits = self._visits
        if self._name == "permutation":
            self._stream.shuffle(visits)
        elif self._name == "blocks":
            self._stream.shuffle_blocks(visits, self._starts, self._size)
        elif self._name == "uniform":
            self._stream.draw(visits)
        elif self._name in WEIGHED and len(visits):
            self._stream.draw_weighted(visits, self._keep, self._alias)
        if visits is not self._rows and not self._all:
            visits[:] = self._rows[visits]  # draws are positions in rows
        return visits
