from typing import Any

from .losses import Loss

class CompiledLoss(Loss):
    def __init__(
        self,
        *,
        value: Any,
        subgradient: Any,
        conjugate: Any = None,
        exact_step: Any = None,
        lower: Any = None,
        upper: Any = None,
        value_size: Any = None,
        conjugate_size: Any = None,
        name: str = "CompiledLoss",
        gamma: float = 0.0,
        lipschitz: float = ...,
        classification: bool = False,
        target_min: float = ...,
    ) -> None: ...
