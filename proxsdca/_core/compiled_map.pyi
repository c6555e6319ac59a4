from typing import Any

import numpy as np
from numpy.typing import NDArray

from .map import Map

class Formulas:
    @property
    def label(self) -> str: ...
    def evaluate(
        self, which: str, x: NDArray[np.float64], kappa: float, j: Any
    ) -> NDArray[np.float64]: ...

class CompiledMap(Map):
    def __init__(self, formulas: Formulas, kappa: float) -> None: ...
