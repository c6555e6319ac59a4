import numpy as np
from numpy.typing import NDArray

from .map import Map

class L2Map(Map): ...

class L1L2Map(Map):
    def __init__(self, kappa: float) -> None: ...

class WeightedL1L2Map(Map):
    def __init__(self, kappas: NDArray[np.float64]) -> None: ...

def gradient(map: Map, v: NDArray[np.float64], w: NDArray[np.float64]) -> None: ...
