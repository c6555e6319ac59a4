from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .map import Map
from .rows import Rows
from .term import Term

_Floats = NDArray[np.float64]

class Faces:
    most: int
    def __init__(
        self,
        rows: Rows,
        term: Term,
        map: Map,
        target: _Floats,
        weight: _Floats | None,
        scale: float,
    ) -> None: ...
    @property
    def touched(self) -> int: ...
    @property
    def free(self) -> int: ...
    def ascend_faces(
        self,
        alpha: _Floats,
        v: _Floats,
        curvature: _Floats,
        accuracy: float,
        passes_left: Callable[[], int],
    ) -> bool: ...
