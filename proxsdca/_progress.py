"""What `verbose` shows while a run goes on."""

from __future__ import annotations

import math
import shutil
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from ._result import Check

TERMINAL, PLAIN = 0.1, 1.0  # seconds between two states of the live line, and two plain lines
COLUMNS = "{:>7} {:>9} {:>16} {:>16} {:>10} {:>9} {:>10} {:>10}"
NAMES = ("epoch", "seconds", "primal", "dual", "gap", "rounding", "target", "nonzeros")


class Progress:
    """The display of one run; what it shows has no effect on the run.

    Parameters
    ----------
    verbose : int
        0 shows nothing, 1 one live line, 2 a line for each certificate.
    stream : text stream, optional
        By default what `sys.stderr` is now. One that is closed or broken is given up in silence.
    """

    def __init__(self, verbose: int, stream: TextIO | None = None) -> None:
        self._verbose = verbose
        self._stream = sys.stderr if stream is None else stream
        self._first: tuple[float, float] | None = None
        self._shown_at = -math.inf
        self._waiting = ""  # a state of the live line that came too soon after the last
        self._header = False
        self._width = 0
        try:
            self._live = bool(self._stream.isatty())
        except Exception:
            self._live = False

    def __call__(self, check: Check) -> None:
        """Show a certificate."""
        if self._verbose == 1:
            self._line(check.epoch, "gap", check.gap + check.rounding, check.target, check.seconds)
        elif self._verbose > 1:
            if not self._header:
                self._write(COLUMNS.format(*NAMES) + "\n")
                self._header = True
            self._write(
                COLUMNS.format(
                    check.epoch,
                    f"{check.seconds:.3f}",
                    f"{check.primal:.9e}",
                    f"{check.dual:.9e}",
                    f"{check.gap:.3e}",
                    f"{check.rounding:.1e}",
                    f"{check.target:.3e}",
                    check.nonzeros,
                )
                + "\n"
            )

    def estimate(self, epoch: int, estimate: float, target: float, seconds: float) -> None:
        """Show what the loop takes the gap to be; nothing is proven of it."""
        if self._verbose == 1:
            self._line(epoch, "~gap", estimate, target, seconds)

    def close(self) -> None:
        """Show the last state and end the line."""
        if self._waiting:
            self._show(self._waiting)
        if self._live and self._width:
            self._write("\n")
        self._waiting, self._width = "", 0

    def _line(self, epoch: int, name: str, gap: float, target: float, seconds: float) -> None:
        left = self._left(seconds, gap, target)
        self._waiting = (
            f"epoch {epoch:<5d} {name:>4} {gap:.2e}, target {target:.2e}, "
            f"{_duration(seconds)}, left {_duration(left)}"
        )
        if seconds - self._shown_at >= (TERMINAL if self._live else PLAIN):
            self._show(self._waiting)
            self._shown_at, self._waiting = seconds, ""

    def _left(self, seconds: float, gap: float, target: float) -> float:
        """Seconds to the target if log gap goes on to fall as it did so far; NaN if unknown."""
        if gap <= target:
            return 0.0
        if not 0 < gap < math.inf:
            return math.nan
        if self._first is None:
            self._first = seconds, math.log(gap)
        elapsed, fallen = seconds - self._first[0], self._first[1] - math.log(gap)
        if not (elapsed > 0 and fallen > 0 and target > 0):
            return math.nan
        return elapsed / fallen * math.log(gap / target)

    def _show(self, text: str) -> None:
        if not self._live:
            self._write(text + "\n")
            return
        text = text[: max(1, shutil.get_terminal_size().columns - 1)]
        self._write("\r" + text.ljust(self._width))
        self._width = len(text)

    def _write(self, text: str) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except Exception:  # a display may fail, the run goes on
            self._stream = None


def _duration(seconds: float) -> str:
    """Two units at most, "--" where unknown."""
    if not 0 <= seconds < 1e9:
        return "--"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    minutes, whole = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {whole:02d} s" if minutes else f"{whole} s"
