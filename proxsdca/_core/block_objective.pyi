import numpy as np
from numpy.typing import NDArray

from .duals import Duals
from .map import Map
from .rows import Rows
from .vector_losses import VectorLoss

def evaluate_blocks(
    storage: Rows,
    term: VectorLoss,
    map: Map,
    delta: NDArray[np.float64] | None,
    weight: NDArray[np.float64] | None,
    w: NDArray[np.float64],
    alpha: Duals,
    touched: NDArray[np.float64],
    sums: NDArray[np.float64],
    lam: float,
    beta: NDArray[np.float64] | None = None,
    eta: float = 0.0,
) -> tuple[float, float, float, float, int, bool]: ...
def accumulate(storage: Rows, alpha: Duals, out: NDArray[np.float64]) -> None: ...
def at_zero(
    term: VectorLoss,
    delta: NDArray[np.float64] | None,
    weight: NDArray[np.float64] | None,
    alpha: Duals,
) -> None: ...
def restore(alpha: Duals, other: Duals, rows: NDArray[np.bool_]) -> None: ...
