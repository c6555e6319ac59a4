import numpy as np
from numpy.typing import NDArray

from .map import Map
from .rows import Rows
from .term import Term

def evaluate(
    rows: Rows,
    term: Term,
    map: Map,
    target: NDArray[np.float64],
    weight_or_none: NDArray[np.float64] | None,
    w: NDArray[np.float64],
    alpha: NDArray[np.float64],
    v: NDArray[np.float64],
    scratch: NDArray[np.float64],
    lam: float,
    eta: float = 0.0,
) -> tuple[float, float, float, float, int, bool]: ...
def first_infeasible(
    term: Term,
    target: NDArray[np.float64],
    weight_or_none: NDArray[np.float64] | None,
    alpha: NDArray[np.float64],
) -> int: ...
