from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .duals import Duals
from .equations import Equations
from .rows import Rows
from .vector_losses import VectorLoss

class Newton(Equations):
    def __init__(
        self,
        rows: Rows,
        term: VectorLoss,
        delta: NDArray[np.float64] | None,
        weight: NDArray[np.float64] | None,
        duals: Duals,
        lam: float,
    ) -> None: ...
    @staticmethod
    def blocked_for(d: int, width: int) -> bool: ...
    @property
    def entries(self) -> int: ...
    @property
    def touched(self) -> int: ...
    @property
    def free(self) -> int: ...
    @property
    def rebuild(self) -> float: ...
    @property
    def shared(self) -> bool: ...
    @property
    def leads(self) -> NDArray[np.float64]: ...
    @property
    def moved(self) -> NDArray[np.uint8]: ...
    def margins(self, w: NDArray[np.float64], z: NDArray[np.float64]) -> None: ...
    def respond(
        self,
        z: NDArray[np.float64],
        dz: NDArray[np.float64] | None,
        t: float,
        base: Duals,
        mu: float,
        out: Duals | None,
    ) -> tuple[float, float, float]: ...
    def conjugate(self, alpha: Duals) -> float: ...
    def curve(self, beta: Duals, mu: float, precondition: bool) -> None: ...
    def ascend_faces(
        self,
        alpha: Duals,
        v: NDArray[np.float64],
        curvature: NDArray[np.float64],
        accuracy: float,
        passes_left: Callable[[], int],
    ) -> bool: ...

def product(x: NDArray[np.float64], y: NDArray[np.float64]) -> float: ...
