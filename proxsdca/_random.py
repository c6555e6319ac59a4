"""Seed -> stream of random numbers -> orders of visits."""

from __future__ import annotations

import numbers
from typing import TypeAlias

import numpy as np

from ._core.order import Stream

Seed: TypeAlias = "int | np.random.SeedSequence | np.random.Generator | None"
ORDERS = ("permutation", "uniform", "cyclic")


def stream(seed: Seed) -> Stream:
    """The kernel's generator; only a Generator that is passed in changes by this."""
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
    if not isinstance(seed, np.random.SeedSequence):
        seed = np.random.SeedSequence(None if seed is None else int(seed))
    return Stream(np.asarray(seed.generate_state(4, np.uint64), np.uint64))


def _keep(order: np.ndarray) -> None:
    """The order of the epoch before."""


class Order:
    """Which rows an epoch visits, one epoch after the other.

    Parameters
    ----------
    name : {"permutation", "uniform", "cyclic"}
        A new permutation each epoch; n independent draws (the paper's); 0 ... n - 1.
    n : int
    stream : Stream
    """

    def __init__(self, name: str, n: int, stream: Stream) -> None:
        self._rows = np.arange(n, dtype=np.intp)
        self._advance = {
            "permutation": stream.shuffle,
            "uniform": stream.draw,
            "cyclic": _keep,
        }[name]

    def next(self) -> np.ndarray:
        """The rows of the next epoch; valid until the call after this."""
        self._advance(self._rows)
        return self._rows
