from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

class VectorLoss:
    parameters: ClassVar[tuple[str, ...]]
    classification: ClassVar[bool]
    target_min: ClassVar[float]
    @property
    def gamma(self) -> float: ...
    @property
    def lipschitz(self) -> float: ...
    @property
    def sparse(self) -> bool: ...
    @property
    def name(self) -> str: ...
    @property
    def options(self) -> tuple[str, ...]: ...
    def value(self, z: ArrayLike, y: ArrayLike) -> NDArray[np.float64]: ...
    def conjugate(self, a: ArrayLike, y: ArrayLike) -> NDArray[np.float64]: ...
    def subgradient(self, z: ArrayLike, y: ArrayLike) -> NDArray[np.float64]: ...
    def step(
        self,
        alpha: ArrayLike,
        m: ArrayLike,
        y: int,
        q: float,
        option: str = "I",
        q_R: float | None = None,
        near: bool = False,
        beyond: bool = False,
    ) -> NDArray[np.float64]: ...

class MulticlassHinge(VectorLoss):
    def __init__(self, cost: ArrayLike | None = None, classes: ArrayLike | None = None) -> None: ...
    @property
    def cost(self) -> NDArray[Any] | None: ...
    @property
    def classes(self) -> NDArray[Any] | None: ...

class Softmax(VectorLoss):
    def __init__(self, classes: ArrayLike | None = None) -> None: ...
    @property
    def classes(self) -> NDArray[Any] | None: ...

VECTOR_LOSSES: dict[str, type[VectorLoss]]
