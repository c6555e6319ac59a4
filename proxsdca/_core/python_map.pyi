from typing import Any

from .map import Map

class PythonMap(Map):
    def __init__(self, reg: Any, kappa: float, d: int, own_conjugate: bool = True) -> None: ...
