import numpy as np
from numpy.typing import NDArray

from .equations import Equations
from .rows import Rows
from .term import Term

_Floats = NDArray[np.float64]

class ScalarNewton(Equations):
    def __init__(
        self, rows: Rows, term: Term, target: _Floats, weight: _Floats | None, lam: float
    ) -> None: ...
    @staticmethod
    def blocked_for(n: int, d: int) -> bool: ...
    @property
    def entries(self) -> int: ...
    @property
    def touched(self) -> int: ...
    @property
    def free(self) -> int: ...
    @property
    def rebuild(self) -> float: ...
    def margins(self, w: _Floats, z: _Floats) -> None: ...
    def respond(
        self,
        z: _Floats,
        dz: _Floats | None,
        t: float,
        base: _Floats,
        mu: float,
        out: _Floats | None,
    ) -> tuple[float, float, float]: ...
    def curve(self, alpha: _Floats, mu: float, precondition: bool) -> None: ...
