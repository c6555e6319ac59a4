from collections.abc import Callable
from typing import Any

import numpy as np

class Oracle:
    n: int
    d: int
    widest: int
    longest: int
    workspace: int
    work: float
    exact: bool
    python: bool
    known: bool
    def look_at(self, w: np.ndarray) -> None: ...
    def shape(self) -> list[int]: ...
    def shown(self, label: np.ndarray) -> Any: ...
    def answer(
        self, i: int, w: np.ndarray
    ) -> tuple[tuple[np.ndarray, np.ndarray], float, np.ndarray]: ...
    def features(
        self, i: int, label: np.ndarray
    ) -> tuple[tuple[np.ndarray, np.ndarray], float]: ...
    def decode(self, w: np.ndarray, labels: np.ndarray, scores: np.ndarray) -> None: ...

class StoredPlane:
    delta: float
    label: Any
    def __init__(
        self, indices: np.ndarray, values: np.ndarray, delta: float, label: Any
    ) -> None: ...

class PythonOracle(Oracle):
    def __init__(
        self,
        n: int,
        d: int,
        find: Callable[[int, np.ndarray], StoredPlane],
        again: Callable[[int, StoredPlane], StoredPlane] | None,
        exact: bool,
        owner: object = None,
    ) -> None: ...
