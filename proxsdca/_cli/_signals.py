"""SIGINT and SIGTERM: both end a run with the best that was certified, and an exit code each."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

INTERRUPTED, TERMINATED = 130, 143

_terminated = False


def _terminate(number: int, frame: Any) -> None:
    global _terminated
    _terminated = True
    raise KeyboardInterrupt("terminated")


@contextmanager
def terminating() -> Iterator[None]:
    """Let SIGTERM end what is running as Ctrl-C does."""
    global _terminated
    _terminated = False
    try:
        before = signal.signal(signal.SIGTERM, _terminate)
    except ValueError:  # not in the main thread, which has the signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def ended_by(code: int) -> int:
    """The exit code of an interruption, which may have been SIGTERM; 0 stays 0."""
    return TERMINATED if code == INTERRUPTED and _terminated else code


@contextmanager
def undisturbed() -> Iterator[Callable[[int], int]]:
    """Save what there is without being interrupted once more."""
    try:
        before = {n: signal.signal(n, signal.SIG_IGN) for n in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:
        before = {}
    try:
        yield ended_by
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
