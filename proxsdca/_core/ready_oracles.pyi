import numpy as np

from .oracle import Oracle
from .rows import Rows

class RowsOracle(Oracle):
    k: int
    lengths: np.ndarray
    def changed(self) -> bool: ...
    def fingerprint(self) -> int: ...

class MulticlassOracle(RowsOracle):
    def __init__(
        self, rows: Rows, target: np.ndarray | None, k: int, delta: np.ndarray
    ) -> None: ...

class ChainOracle(RowsOracle):
    def __init__(
        self, rows: Rows, offsets: np.ndarray, target: np.ndarray | None, k: int, mean: bool
    ) -> None: ...

class TreeOracle(RowsOracle):
    def __init__(
        self,
        rows: Rows,
        target: np.ndarray | None,
        k: int,
        edges: np.ndarray,
        order: np.ndarray,
        parent_edge: np.ndarray,
    ) -> None: ...
