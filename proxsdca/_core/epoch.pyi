import numpy as np
from numpy.typing import NDArray

from .loop import Loop
from .map import Map
from .rows import Rows
from .term import Term

class Epoch(Loop):
    def __init__(
        self,
        rows: Rows,
        term: Term,
        map: Map,
        target: NDArray[np.float64],
        weight: NDArray[np.float64] | None,
        curvature: NDArray[np.float64],
        alpha: NDArray[np.float64],
        v: NDArray[np.float64],
        *,
        scale: float,
        q_R: float,
        option: int,
        virtual: bool = False,
        bias: NDArray[np.float64] | None = None,
        bias_scale: float = 0,
        lift: NDArray[np.float64] | None = None,
    ) -> None: ...
    @property
    def alpha(self) -> memoryview: ...
    calm: float
    looks: bool
    def watch(self, rests: NDArray[np.uint8]) -> None: ...
    def record(self) -> None: ...
    def average(self, w: NDArray[np.float64], alpha: NDArray[np.float64]) -> None: ...
    def run(self, order: NDArray[np.intp]) -> None: ...
