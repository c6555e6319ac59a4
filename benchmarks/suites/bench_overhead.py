"""What a solve costs before it touches any data: ten rows, four columns."""

from __future__ import annotations

import warnings

import numpy as np

import proxsdca


class Overhead:
    """Seconds of a solve that ends at once, and of each epoch that it is given besides."""

    params = (["hinge", "logistic", "squared", "softmax"], ["l2", "l1l2", "l1"])
    param_names = ("loss", "reg")
    number, repeat = 200, 10

    def setup(self, loss: str, reg: str) -> None:
        if loss == "softmax" and reg == "l1":
            raise NotImplementedError("reg = 'l1' is for losses of one margin")
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=(10, 4))
        self.y = np.sign(rng.normal(size=10))

    def time_one_epoch(self, loss: str, reg: str) -> None:
        self.solve(loss, reg, 1)

    def time_fifty_one_epochs(self, loss: str, reg: str) -> None:
        self.solve(loss, reg, 51)

    def solve(self, loss: str, reg: str, epochs: int) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", proxsdca.ConvergenceWarning)
            proxsdca.solve(
                self.X, self.y, loss=loss, reg=reg, lam=None if reg == "l1" else 0.1, tol=0.0,
                max_epochs=epochs, solver="plain", certify_every=1000,
            )  # fmt: skip
