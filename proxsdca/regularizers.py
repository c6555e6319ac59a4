"""The regularisers g(w), and the maps grad g* that they give the loop.

Pass one by name, ``solve(X, y, reg="l1l2")``, or as an object where it has
something to choose, ``solve(X, y, reg=regularizers.L1L2(l1_weights=weights))``.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from . import _validate
from ._core.map import Map
from ._core.regs import L1L2Map, L2Map, WeightedL1L2Map


class Regularizer:
    """A regulariser g, 1-strongly convex in the norm of its geometry.

    Attributes
    ----------
    name : str
        The name by which `solve` knows the regulariser.
    sigma_per_lam : float or None
        The default of sigma, as a multiple of lam; None where there is no sigma.
    """

    name: ClassVar[str]
    sigma_per_lam: ClassVar[float | None] = None

    def map(self, lam: float, sigma: float, d: int) -> Map:
        """The map v -> grad g*(v) on R^d."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class L2(Regularizer):
    """g(w) = |w|_2^2 / 2, grad g*(v) = v."""

    name = "l2"

    def map(self, lam: float, sigma: float, d: int) -> Map:
        return L2Map()


class L1L2(Regularizer):
    """g(w) = |w|_2^2 / 2 + sigma/lam |w|_1, grad g*(v) the soft threshold of v at sigma/lam.

    So lam g(w) = lam/2 |w|_2^2 + sigma |w|_1.

    Parameters
    ----------
    l1_weights : (d,) array_like, optional
        c_j >= 0: the penalty is sigma sum_j c_j |w_j|. 0 leaves a feature to l2 alone.
    """

    name = "l1l2"
    sigma_per_lam = 0.1

    def __init__(self, l1_weights: ArrayLike | None = None) -> None:
        self.l1_weights: Any = l1_weights

    def map(self, lam: float, sigma: float, d: int) -> Map:
        if self.l1_weights is None:
            return L1L2Map(sigma / lam)
        weights = _validate.feature_weights("l1_weights", self.l1_weights, d)
        return WeightedL1L2Map(np.multiply(weights, sigma / lam))

    def __repr__(self) -> str:
        return f"L1L2(l1_weights={self.l1_weights!r})" if self.l1_weights is not None else "L1L2()"


REGULARIZERS: dict[str, type[Regularizer]] = {kind.name: kind for kind in (L2, L1L2)}
