"""What one step costs: loss x regulariser x storage x nonzeros a row."""

from __future__ import annotations

import time

import numpy as np

from . import kernel
from .data import zipf_problem

ROWS, COLUMNS, EPOCHS = 20_000, 10_000, 5


class Step:
    """Nanoseconds per step, in the best of a few epochs from alpha = 0 on."""

    params = (
        ["hinge", "squared_hinge", "logistic", "squared", "huber", "poisson"],
        ["l2", "l1l2"],
        ["csr", "csr_float32", "dense"],
        [3, 10, 100],
    )
    param_names = ("loss", "reg", "storage", "nnz")
    unit = "ns"

    def setup(self, loss: str, reg: str, storage: str, nnz: int) -> None:
        X, y = zipf_problem(ROWS, nnz if storage == "dense" else COLUMNS, nnz)
        if storage == "dense":
            X = X.toarray()
        elif storage == "csr_float32":
            X = X.astype(np.float32)
        self.epoch = kernel.epoch(kernel.problem(X, y + (loss == "poisson"), loss, reg))
        self.order = np.random.default_rng(0).permutation(ROWS)

    def track_step(self, *_: object) -> float:
        best = np.inf
        for _epoch in range(EPOCHS):
            begin = time.perf_counter()
            self.epoch.run(self.order)
            best = min(best, time.perf_counter() - begin)
        return round(1e9 * best / ROWS, 1)
