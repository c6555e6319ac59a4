"""How long it takes to a certified gap, from the caller's arrays on."""

from __future__ import annotations

import warnings

import proxsdca

from .data import available, load, zipf_problem


class Solve:
    """Seconds, and epochs, to a relative gap of tol at the default lam and sigma.

    A run that does not get there fails instead of counting.
    """

    params = (["zipf", "a9a", "reuters"], ["hinge", "logistic"], ["l2", "l1l2"], [1e-3, 1e-6])
    param_names = ("data", "loss", "reg", "tol")
    timeout = 120

    def setup(self, data: str, loss: str, reg: str, tol: float) -> None:
        if data == "zipf":
            self.X, self.y = zipf_problem(20_000, 10_000, 30)
        elif available(data):
            self.X, self.y = load(data)
        else:
            raise NotImplementedError(f"{data}.npz is not in the folder PROXSDCA_DATA")

    def time_solve(self, data: str, loss: str, reg: str, tol: float) -> None:
        self.solve(loss, reg, tol)

    def track_epochs(self, data: str, loss: str, reg: str, tol: float) -> int:
        return self.solve(loss, reg, tol).epochs

    track_epochs.unit = "epochs"

    def solve(self, loss: str, reg: str, tol: float) -> proxsdca.Result:
        with warnings.catch_warnings():
            warnings.simplefilter("error", proxsdca.ConvergenceWarning)
            return proxsdca.solve(self.X, self.y, loss=loss, reg=reg, tol=tol, max_epochs=100_000)
