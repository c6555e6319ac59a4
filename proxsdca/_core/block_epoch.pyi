import numpy as np
from numpy.typing import NDArray

from .duals import Duals
from .loop import Loop
from .map import Map
from .rows import Rows
from .vector_losses import VectorLoss

class BlockEpoch(Loop):
    def __init__(
        self,
        rows: Rows,
        term: VectorLoss,
        map: Map,
        delta: NDArray[np.float64] | None,
        weight: NDArray[np.float64] | None,
        curvature: NDArray[np.float64],
        duals: Duals,
        v: NDArray[np.float64],
        *,
        scale: float,
        q_R: float,
        option: int,
        virtual: bool = False,
        bias: NDArray[np.float64] | None = None,
        bias_scale: float = 0,
    ) -> None: ...
    @property
    def duals(self) -> Duals: ...
    def look(self, order: NDArray[np.intp]) -> float: ...
    def record(self) -> None: ...
    def average(self, w: NDArray[np.float64], alpha: Duals) -> None: ...
    def run(self, order: NDArray[np.intp]) -> None: ...
