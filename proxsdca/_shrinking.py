"""Shrinking: between two epochs, passes over the rows that are not at rest.

Where phi* has kinks, or its domain ends that alpha_i may reach, most alpha_i end up there and stay.
The kernel notes which rows would not move even if their margin were off by as much as the last
steps have moved one (`Epoch.watch`). They are passed over until the others are nearly solved, and
then visited again, or, where most rest, only looked at: in their order in memory, without a step,
which takes half the time and finds the gap itself instead of an estimate. Where the others are
solved as well as is asked for, a certificate, which is one of all rows too, may show that no more
is needed; where that would take many more passes, Newton's method on them takes their place.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._checkpoint import overwrite

FEW = 0.9  # of the rows must be fewer than this part for passes to be worth it ...
SOME = 0.5  # ... than this for a look at the others to take the place of an epoch ...
FEWEST = 0.1  # ... than this for Newton's method on them to follow passes that were not enough, ...
NIGH_FEWEST, NIGH, FAR = 0.2, 300.0, 10.0  # ... or than this for it to take the place of so many
# passes to come, where the gap is no more than so many times the target
CLOSE = 0.05  # of P is the gap at the most, where that goes by products
MOST_VISITS, MOST_PASSES = 2.0, 50  # of n, and how many passes, between two epochs
ENOUGH = 0.05  # times the gap that the last epoch has seen
NEAR = 0.8  # times the target, at which a certificate is worth its work ...
WITHIN = 3.0  # ... and times the target, from where passes go that far
CALM = 0.3  # times the furthest that the last steps have moved a margin
FIRST = 0.01  # times that, for an epoch, until its own steps have moved one further


class Shrinking:
    """Which of n rows are at rest, and how the last passes over the others went."""

    def __init__(self, n: int) -> None:
        self.rests = np.zeros(n, np.uint8)
        self.calm = 0.0  # what a margin may be off by where a row rests
        self.gap = self.level = 0.0  # that the last epoch has seen, and the target then
        self.left = 0.0  # the gap that the last passes have left ...
        self.rate = 1.0  # ... and what part of it a pass leaves, by the last ones
        self.short = False  # whether the last passes, before a look, have left more than enough
        self.least = math.inf  # the least gap from which Newton's method has set out
        self.visits = 0  # of passes, which count as epochs together

    def state(self) -> dict[str, Any]:
        """What `restore` goes on from."""
        numbers = self.calm, self.gap, self.level, self.left, self.rate, self.least
        return {"rests": self.rests, "numbers": numbers, "visits": self.visits, "short": self.short}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        overwrite(self.rests, state["rests"])
        numbers = map(float, state["numbers"])
        self.calm, self.gap, self.level, self.left, self.rate, self.least = numbers
        self.visits, self.short = int(state["visits"]), bool(state["short"])

    def seen(self, calm: float, gap: float, level: float) -> None:
        """After an epoch."""
        self.calm, self.gap, self.level = CALM * calm, gap, level

    @property
    def enough(self) -> float:
        """The gap at which the rows that move are solved well enough."""
        enough = ENOUGH * self.gap
        return enough if enough > WITHIN * self.level else NEAR * self.level

    def passed(self, left: float) -> None:
        """After a pass."""
        self.short = left > self.enough
        before = self.left if self.left > 0 else self.gap
        if left > 0 and before > 0:
            self.rate = math.sqrt(self.rate * left / before)
        self.left = left

    def solvable(self, part: float, wide: bool) -> bool:
        """Whether Newton's method on those that move, a part of all rows, is faster than more
        passes: by products with H where X is wide, by H itself otherwise. No, where the gap has
        not halved since it last was."""
        to_go = math.log(self.gap / self.level) if 0 < self.level < self.gap else 0.0
        far = to_go > FAR * -math.log(min(self.rate, 1.0))
        if far and self.gap <= NIGH * self.level:
            most = SOME if wide else NIGH_FEWEST
        else:
            most = FEWEST if self.short else 0.0
        return 0 < part <= most and self.gap < 0.5 * self.least

    @property
    def slow(self) -> bool:
        """Whether the last passes did not get so far."""
        return self.left > self.enough

    def moving(self, active: np.ndarray) -> np.ndarray:
        """The rows, of those that are active, that are not at rest."""
        return np.flatnonzero(active & (self.rests == 0))
