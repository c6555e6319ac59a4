import numpy as np
from numpy.typing import NDArray

from .map import Map
from .rows import Rows
from .term import Term

def evaluate(
    storage: Rows,
    by_columns: bool,
    term: Term,
    map: Map,
    target: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
    w: NDArray[np.float64],
    alpha: NDArray[np.float64],
    touched: NDArray[np.float64],
    sums: NDArray[np.float64],
    visited: NDArray[np.float64],
    lam: float,
    rescale: bool = False,
    beta: float = 0.0,
    slack: float = -1.0,
    eta: float = 0.0,
) -> tuple[float, float, float, float, float, NDArray[np.float64], float, int, int, bool]: ...
def feasible(
    term: Term,
    target: NDArray[np.float64],
    weight_or_none: NDArray[np.float64] | None,
    alpha: NDArray[np.float64],
    inside: NDArray[np.float64],
) -> int: ...
