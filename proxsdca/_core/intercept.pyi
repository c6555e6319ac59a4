import numpy as np
from numpy.typing import NDArray

from .duals import Duals
from .rows import Rows
from .term import Term

def fitted(
    term: Term,
    target: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
    z: NDArray[np.float64],
    start: float,
) -> float: ...
def balance(
    term: Term,
    target: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
    alpha: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None: ...
def flows(alpha: Duals, out: NDArray[np.float64]) -> None: ...
def scale_flows(
    alpha: Duals, weight: NDArray[np.float64] | None, p: NDArray[np.float64]
) -> float: ...
def reduce_flows(
    alpha: Duals, h: float, flow: NDArray[np.float64], cut: NDArray[np.float64]
) -> None: ...
def centred(columns: Rows, sums: NDArray[np.float64], norms_sq: NDArray[np.float64]) -> None: ...
