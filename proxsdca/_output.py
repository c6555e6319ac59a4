"""Which iterate a run returns: the last, the best, the average or a random one.

An output sees the state at the steps that it asks for, and hands over the pair
(w, alpha) that is certified and returned.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np

from ._checkpoint import overwrite
from ._core.order import Stream
from ._problem import point_state, restored
from ._side import Core, Side

OUTPUTS = ("last", "average", "random", "best")


@dataclass
class State:
    """What the loop changes: see `_side`."""

    side: Side
    core: Core
    b: Any
    v: np.ndarray
    room: np.ndarray  # for what the pair needs beside b; of v's length


class Last:
    """w and alpha as they stand. "best" differs only in what is kept of them."""

    pause: float = math.inf  # the step at which the output wants to look at the state

    def __init__(self, state: State) -> None:
        self._state = state

    def saved(self) -> dict[str, Any]:
        """What `restore` goes on from, beside what the loop has."""
        return {"pause": self.pause}

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on from there."""
        pause = saved["pause"]
        self.pause = pause if pause == math.inf else index(pause)

    def look(self, step: int) -> None:
        """The state is that of iterate number `step`, and `step` is `pause`."""

    def ready(self, step: int) -> bool:
        """Whether the pair is more than the last iterate by now."""
        return True

    def pair(self) -> tuple[np.ndarray, Any]:
        """The pair to certify."""
        state = self._state
        return state.side.pair(state.b, state.v, state.room)


class Average(Last):
    """The averages of the iterates w and alpha from T0 on (ERRATA 5): exact, summed lazily.

    For the row side.
    """

    def __init__(self, state: State, T0: int) -> None:
        super().__init__(state)
        self.pause = self._begin = T0
        self._alpha = state.side.problem.zero_alpha()

    def look(self, step: int) -> None:
        self.pause = math.inf
        self._state.core.record()

    def ready(self, step: int) -> bool:
        return step > self._begin

    def pair(self) -> tuple[np.ndarray, Any]:
        if not self._state.core.recorded:
            return super().pair()
        self._state.core.average(self._state.room, self._alpha)
        # an average lies between what it averages; its rounding may not
        self._state.side.problem.into_domain(self._alpha)
        return self._state.room, self._alpha


class Random(Last):
    """One of the iterates T0 ... T - 1, each with the same probability (ERRATA 10).

    T is not known before the run ends, so a later iterate takes the place of the one that is
    kept with the probability that keeps all equally likely; the steps at which that happens are
    drawn ahead, and there are about log(T - T0) of them.
    """

    def __init__(self, state: State, T0: int, stream: Stream) -> None:
        super().__init__(state)
        self.pause = self._begin = T0
        self._stream = stream
        self._kept: tuple[np.ndarray, Any] | None = None

    def saved(self) -> dict[str, Any]:
        kept = self._kept and (self._kept[0], point_state(self._kept[1]))
        return {**super().saved(), "kept": kept}

    def restore(self, saved: dict[str, Any]) -> None:
        super().restore(saved)
        if saved["kept"] is not None:
            (w, alpha), problem = saved["kept"], self._state.side.problem
            kept = overwrite(np.empty(problem.length), w)
            self._kept = kept, restored(problem.zero_alpha(), alpha)

    def look(self, step: int) -> None:
        w, alpha = super().pair()
        problem = self._state.side.problem
        kept = problem.zero_alpha()
        problem.copy_alpha(kept, alpha)
        self._kept = w.copy(), kept
        # P(not replaced up to the k-th iterate) = seen / k
        seen = step - self._begin + 1
        u = 1 - self._stream.random()
        self.pause = self._begin + math.floor(seen / u) if seen < u * 2**62 else math.inf

    def ready(self, step: int) -> bool:
        return self._kept is not None

    def pair(self) -> tuple[np.ndarray, Any]:
        return super().pair() if self._kept is None else self._kept


def make(name: str, state: State, T0: int, stream: Stream) -> Last:
    """The output of that name."""
    if name == "average":
        return Average(state, T0)
    if name == "random":
        return Random(state, T0, stream)
    return Last(state)
