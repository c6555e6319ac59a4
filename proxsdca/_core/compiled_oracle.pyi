import numpy as np
from numpy.typing import NDArray

from .oracle import Oracle

class CompiledOracle(Oracle):
    @property
    def radius(self) -> NDArray[np.float64] | None: ...
