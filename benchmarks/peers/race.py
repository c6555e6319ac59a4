"""How contenders are timed: ladders of tolerances, a cap in seconds, and turns."""

from __future__ import annotations

import multiprocessing
import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np

from .solvers import Fit

TOLERANCES = tuple(10.0**-k for k in range(11))
LONG = 5.0  # seconds; a longer fit is not repeated


def capped(fit: Fit, tol: float, cap: float) -> tuple[float, np.ndarray] | None:
    """Seconds and w of one fit, in a process that is ended after `cap` seconds."""
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)

    def work() -> None:
        warnings.simplefilter("ignore")
        begin = time.perf_counter()
        w = fit(tol)
        send.send((time.perf_counter() - begin, w))

    process = context.Process(target=work)
    process.start()
    send.close()
    try:
        return receive.recv() if receive.poll(cap) else None
    except EOFError:
        return None
    finally:
        process.kill()
        process.join()


def ladder(fit: Fit, cap: float) -> Iterator[tuple[float, float, np.ndarray]]:
    """Tolerance, seconds and w, from loose to tight, up to the first fit that takes too long."""
    for tol in TOLERANCES:
        found = capped(fit, tol, cap)
        if found is None:
            return
        yield tol, *found


def loosest(
    fit: Fit, cap: float, reached: Callable[[np.ndarray], bool]
) -> tuple[float, float] | None:
    """The loosest tolerance that gets there, and the seconds it took; None without one."""
    return next(((tol, s) for tol, s, w in ladder(fit, cap) if reached(w)), None)


def in_turns(
    runs: dict[str, Callable[[], np.ndarray]],
    best: dict[str, float],
    rounds: int,
    reached: Callable[[np.ndarray], bool],
) -> None:
    """Run those that are not long again, one after the other, and keep the best seconds of each.

    They have been seen to end, so that they run in this process. A time counts where w, once more,
    got there.
    """
    for _ in range(rounds):
        for name, run in runs.items():
            if best[name] <= LONG:
                begin = time.perf_counter()
                w = run()
                seconds = time.perf_counter() - begin
                if reached(w):
                    best[name] = min(best[name], seconds)
