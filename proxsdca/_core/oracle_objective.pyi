import numpy as np

from .atoms import Atoms
from .map import Map
from .oracle import Oracle

def evaluate_planes(
    oracle: Oracle,
    map: Map,
    w: np.ndarray,
    atoms: Atoms,
    touched: np.ndarray,
    sums: np.ndarray,
    lam: float,
    shares: np.ndarray,
) -> tuple[float, float, float, float, tuple[int, float, float] | None]: ...
def accumulate_planes(atoms: Atoms, u: np.ndarray) -> None: ...
