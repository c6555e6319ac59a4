from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

class Parser:
    def __init__(
        self,
        name: str,
        zero_based: bool = False,
        n_features: int | None = None,
        dtype: DTypeLike = ...,
    ) -> None: ...
    @property
    def n(self) -> int: ...
    @property
    def nnz(self) -> int: ...
    @property
    def d(self) -> int: ...
    @property
    def has_qid(self) -> int: ...
    def feed(self, block: bytes) -> None: ...
    def finish(self) -> None: ...
    def take(
        self,
    ) -> tuple[
        NDArray[Any], NDArray[Any], NDArray[Any], NDArray[np.float64], NDArray[np.int64]
    ]: ...

def parse(text: bytes) -> float | None: ...
def lines(
    y: NDArray[np.float64],
    qid: NDArray[np.int64] | None,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    data: NDArray[np.float64],
    base: int,
) -> bytes: ...
