"""The kernel of the package, set up as `solve` sets it up but without its loop."""

from __future__ import annotations

from typing import Any

import numpy as np

from proxsdca._core.epoch import Epoch
from proxsdca._problem import Problem
from proxsdca._side import RowSide


def problem(X: Any, y: np.ndarray, loss: str, reg: str) -> Problem:
    """The problem at lam = 1/n and, for l1l2, sigma = 0.1/n."""
    n = X.shape[0]
    sigma = 0.1 / n if reg == "l1l2" else None
    return Problem.from_arguments(X, y, loss, reg, 1 / n, sigma, None)


def epoch(problem: Problem) -> Epoch:
    """An Epoch at alpha = 0, with exact steps."""
    side = RowSide(problem)
    return side.epoch(side.curvature(), np.zeros(problem.n), np.zeros(problem.d))
