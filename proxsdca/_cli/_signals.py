"""SIGINT and SIGTERM: both end a run with the best that was certified, and an exit code each.

The first of them decides. After it, and once the outcome is known, both are ignored, so that what
there is gets saved and said.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}

_came: list[int] = []  # the signal that has ended this command, if one has


def _end(number: int, frame: Any) -> None:
    ignore()
    _came.append(number)
    raise KeyboardInterrupt("terminated" if number == signal.SIGTERM else "interrupted")


def ignore() -> None:
    """Let nothing disturb what comes."""
    for number in CODES:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def handled() -> Iterator[None]:
    """Let either signal end what is running by a KeyboardInterrupt."""
    _came.clear()
    try:
        before = {number: signal.signal(number, _end) for number in CODES}
    except ValueError:  # not in the main thread, which has the signals
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Save and say what there is, without being interrupted any more."""
    with suppress(ValueError):
        ignore()
    yield


def code(otherwise: int) -> int:
    """The exit code of the signal that came, if one did."""
    return CODES[signal.Signals(_came[0])] if _came else otherwise
