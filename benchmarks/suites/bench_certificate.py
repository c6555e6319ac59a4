"""What it costs to look at the gap, beside an epoch."""

from __future__ import annotations

import numpy as np

from . import kernel
from .data import zipf_problem


class Certificate:
    """A certificate and an epoch of the same problem, a few epochs into the run."""

    params = (["hinge", "logistic"], ["l2", "l1l2"], ["csr", "dense"])
    param_names = ("loss", "reg", "storage")

    def setup(self, loss: str, reg: str, storage: str) -> None:
        X, y = zipf_problem(20_000, 100 if storage == "dense" else 10_000, 100)
        X = X.toarray() if storage == "dense" else X
        self.problem = kernel.problem(X, y, loss, reg)
        self.epoch = kernel.epoch(self.problem)
        self.order = np.random.default_rng(0).permutation(len(y))
        for _ in range(3):
            self.epoch.run(self.order)
        d = X.shape[1]
        self.alpha = np.array(self.epoch.alpha)
        self.point = np.array(self.epoch.v), self.alpha, np.empty(d), np.empty((d, 2))

    def time_certificate(self, *_: object) -> None:
        self.problem.evaluate(*self.point)

    def time_epoch(self, *_: object) -> None:
        self.epoch.run(self.order)
