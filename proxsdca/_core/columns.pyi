import numpy as np

from .map import Map
from .term import Term

class Penalty(Term):
    l1: float
    l2: float
    def __init__(self, l1: float, l2: float) -> None: ...
    def bound(self, B: float) -> None: ...

class LossMap(Map):
    def __init__(self, loss: Term, target: np.ndarray, weight: np.ndarray | None) -> None: ...
    def dual(self, alpha: np.ndarray) -> None: ...
