"""What is shown while a run, or other long work, goes on."""

from __future__ import annotations

import math
import shutil
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from ._result import Check

TERMINAL, PLAIN = 0.1, 1.0  # seconds between two states of the live line, and two plain lines
SHORTEST, LONGEST = 6, 24  # marks of a bar
COLUMNS = "{:>7} {:>9} {:>16} {:>16} {:>10} {:>9} {:>10} {:>10}"
NAMES = ("epoch", "seconds", "primal", "dual", "gap", "rounding", "target", "nonzeros")


class Bar:
    """A line that is shown again and again: with a bar on a terminal, else a line now and then.

    Parameters
    ----------
    verbose : int
        0 shows nothing.
    stream : text stream, optional
        By default what `sys.stderr` is now. One that is closed or broken is given up in silence.
    """

    def __init__(self, verbose: int, stream: TextIO | None = None) -> None:
        self._verbose = verbose
        self._stream = sys.stderr if stream is None else stream
        self._shown_at = -math.inf
        self._waiting: tuple[float | None, str] | None = None  # a state that came too soon
        self._width = 0
        try:
            self._live = bool(self._stream.isatty())
        except Exception:
            self._live = False

    def show(self, part: float | None, text: str, seconds: float) -> None:
        """Show how much is done, None if that is unknown, and a text; seconds count from the start.

        Where it is soon after the last one, `close` shows it if nothing newer comes.
        """
        if not self._verbose:
            return
        self._waiting = part, text
        if seconds - self._shown_at >= (TERMINAL if self._live else PLAIN):
            self._show(part, text)
            self._shown_at, self._waiting = seconds, None

    def close(self) -> None:
        """Show the last state and end the line."""
        if self._waiting:
            self._show(*self._waiting)
        if self._live and self._width:
            self.write("\n")
        self._waiting, self._width = None, 0

    def _show(self, part: float | None, text: str) -> None:
        if not self._live:
            self.write(text + "\n")
            return
        columns = max(1, shutil.get_terminal_size().columns - 1)
        text = (_drawn(part, columns - len(text)) + text)[:columns]
        self.write("\r" + text.ljust(self._width))
        self._width = len(text)

    def write(self, text: str) -> None:
        """Write as it is."""
        if self._stream is None:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except Exception:  # a display may fail, the run goes on
            self._stream = None


def _drawn(part: float | None, room: int) -> str:
    """A bar, where there is room for one and something to say."""
    if part is None or room < SHORTEST + 4:
        return ""
    length = min(room - 4, LONGEST)
    done = round(min(max(part, 0.0), 1.0) * length)
    return f"[{'#' * done}{'.' * (length - done)}] "


class Progress:
    """The display of one run; what it shows has no effect on the run.

    Parameters
    ----------
    verbose : int
        0 shows nothing, 1 one live line, 2 a line for each certificate.
    stream : text stream, optional
        As in `Bar`.
    """

    def __init__(self, verbose: int, stream: TextIO | None = None) -> None:
        self._verbose = verbose
        self._bar = Bar(verbose, stream)
        self._first: tuple[float, float] | None = None  # seconds and log gap
        self._header = False

    def __call__(self, check: Check) -> None:
        """Show a certificate."""
        if self._verbose == 1:
            self._line(check.epoch, "gap", check.gap + check.rounding, check.target, check.seconds)
        elif self._verbose > 1:
            if not self._header:
                self._bar.write(COLUMNS.format(*NAMES) + "\n")
                self._header = True
            self._bar.write(
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
        self._bar.close()

    def _line(self, epoch: int, name: str, gap: float, target: float, seconds: float) -> None:
        part, left = self._way(seconds, gap, target)
        text = (
            f"epoch {epoch:<5d} {name:>4} {gap:.2e}, target {target:.2e}, "
            f"{_duration(seconds)}, left {_duration(left)}"
        )
        self._bar.show(part, text, seconds)

    def _way(self, seconds: float, gap: float, target: float) -> tuple[float | None, float]:
        """The part of the way, in log gap, and the seconds left if it goes on falling like that;
        None and NaN if unknown."""
        if gap <= target:
            return 1.0, 0.0
        if not 0 < gap < math.inf:
            return None, math.nan
        if self._first is None:
            self._first = seconds, math.log(gap)
        elapsed, fallen = seconds - self._first[0], self._first[1] - math.log(gap)
        if not target > 0:
            return None, math.nan
        ahead = math.log(gap / target)
        left = elapsed / fallen * ahead if elapsed > 0 and fallen > 0 else math.nan
        return max(fallen, 0.0) / (max(fallen, 0.0) + ahead), left


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
