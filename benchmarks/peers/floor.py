"""The floor: the time of one read of a case's data at the speed of this machine's memory.

An epoch reads X and y once, so that no epoch is faster than that; and a solver that knew the
answer would still have to read the data once to prove it. Small data stay in a cache, so that
the speed is measured on an array of the case's own size.
"""

from __future__ import annotations

import time

import numpy as np
import scipy.sparse as sp

from .problem import Problem

LARGE = 2**28  # bytes: more than a cache holds
BURST = 2**25  # bytes read between two looks at the clock
EPOCHS = (2, 12)  # of the two runs whose difference is taken
RUNS = 7  # of both, in turns; the best of each
ENOUGH = 10.0  # seconds for all of them


def bandwidth(size: int) -> float:
    """Bytes a second that one thread reads from an array of that many bytes, over and over."""
    a = np.ones(max(size // 8, 1))
    repeats = max(1, BURST // a.nbytes)
    best = np.inf
    for _ in range(30):
        begin = time.perf_counter()
        for _ in range(repeats):
            a @ a
        best = min(best, time.perf_counter() - begin)
    return repeats * a.nbytes / best


def size(problem: Problem) -> int:
    """Bytes of X and y: for sparse X, 12 for each entry and 4 for each row or column."""
    X = problem.X
    parts = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)
    return sum(part.nbytes for part in parts) + problem.y.nbytes


def epoch(problem: Problem) -> float:
    """Seconds of one of the paper's epochs, without accelerators and certificates.

    The difference of a long and a short run, so that setting up and certifying cancel.
    """
    best, done = dict.fromkeys(EPOCHS, np.inf), {}
    start = time.perf_counter()
    for _ in range(RUNS):
        for epochs in EPOCHS:
            begin = time.perf_counter()
            r = problem.solve(1e-15, None, max_epochs=epochs, solver="plain", certify_every=10**6)
            best[epochs] = min(best[epochs], time.perf_counter() - begin)
            done[epochs] = r.epochs
        if time.perf_counter() - start > ENOUGH:
            break
    few, many = EPOCHS
    return (best[many] - best[few]) / max(done[many] - done[few], 1)


def floor(problem: Problem) -> dict[str, float]:
    """What the table of floors needs of a case."""
    total = size(problem)
    speed = bandwidth(total)
    return {
        "bytes": total, "bytes per second": speed, "read": total / speed, "epoch": epoch(problem),
    }  # fmt: skip
