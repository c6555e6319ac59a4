"""The free intercept on the row side: sum_i alpha_i = 0 by the method of multipliers.

The loop solves the problem with mu/2 |beta - beta_0|^2 as a penalty on the intercept, for which
x_i has one more entry: beta = beta_0 + sum_i alpha_i / (mu n) moves with every step. After each
epoch beta becomes beta_0. At the fixed points of that the penalty is 0 and alpha adds up to 0,
whatever mu is. The smaller mu, the fewer updates, and the larger the curvature of every row.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SHARE = 0.3  # of the rows' mean curvature, which the intercept adds to each of them ...
LEAST = 10.0  # ... or, if it is more, this over n: then mu is at most 0.1


class Multipliers:
    """beta_0 and 1 / (mu n).

    Parameters
    ----------
    beta : (k,) array
        Where to start.
    curvature : float
        The mean curvature of the rows.
    n : int
        The number of examples.
    """

    def __init__(self, beta: Array, curvature: float, n: int) -> None:
        self.beta, self.n = beta.copy(), n
        self.scale = max(SHARE * curvature, LEAST / n)
        self.penalty = 0.0  # mu |beta - beta_0|^2, as it was at the last update

    def fix(self, beta: Array) -> None:
        """alpha adds up to 0, and beta is beta_0."""
        self.beta[:] = beta

    def update(self, bias: Array) -> None:
        """After an epoch, let the loop's beta be beta_0."""
        move = bias - self.beta
        self.penalty = float(move @ move) / (self.n * self.scale)
        self.beta[:] = bias
        bias += move
