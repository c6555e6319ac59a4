from typing import Any

import numpy as np
from numpy.typing import NDArray

Parts = tuple[NDArray[np.floating[Any]], NDArray[np.integer[Any]], NDArray[np.integer[Any]]]

def transposed(
    data: NDArray[np.floating[Any]],
    indices: NDArray[np.integer[Any]],
    indptr: NDArray[np.integer[Any]],
    d: int,
) -> Parts | None: ...
