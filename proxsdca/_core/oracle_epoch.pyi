import numpy as np

from .atoms import Atoms
from .loop import Loop
from .map import Map
from .oracle import Oracle

class OracleEpoch(Loop):
    atoms: Atoms
    w: np.ndarray
    cached: float
    wrong: int
    wrong_margin: float
    larger_margin: float
    @property
    def entries(self) -> int: ...
    def __init__(
        self,
        oracle: Oracle,
        map: Map,
        curvature: np.ndarray,
        atoms: Atoms,
        v: np.ndarray,
        gaps: np.ndarray,
        *,
        scale: float,
        q_R: float,
        option: int,
    ) -> None: ...
    def run(self, order: np.ndarray) -> None: ...
    def revisit(self, order: np.ndarray) -> None: ...
    def record(self) -> None: ...
    def average(self, w: np.ndarray, alpha: Atoms) -> None: ...
