import numpy as np
from numpy.typing import NDArray

from .map import Map
from .rows import Rows
from .term import Term

class Epoch:
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
    ) -> None: ...
    @property
    def excess(self) -> float: ...
    @property
    def loss(self) -> float: ...
    @property
    def inner(self) -> float: ...
    @property
    def sampled(self) -> int: ...
    @property
    def visited(self) -> int: ...
    @property
    def changed(self) -> int: ...
    @property
    def broken(self) -> int: ...
    def forget(self) -> None: ...
    def reset(self) -> None: ...
    def run(self, order: NDArray[np.intp]) -> None: ...
