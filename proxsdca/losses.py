"""The losses phi, each with its conjugate, constants and step options: of one margin z in R, or,
for `MulticlassHinge` and `Softmax`, of k of them.

Pass one by name, ``solve(X, y, loss="huber")``, or as an object where it has
a parameter to choose, ``solve(X, y, loss=losses.Huber(delta=0.5))``. A loss of your own is a
subclass of `Loss`, or a `CompiledLoss`.
"""

from ._core.compiled_loss import CompiledLoss
from ._core.losses import (
    LOSSES,
    OPTIONS,
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Loss,
    Poisson,
    Quantile,
    SmoothHinge,
    Squared,
    SquaredHinge,
)
from ._core.vector_losses import VECTOR_LOSSES, MulticlassHinge, Softmax, VectorLoss

__all__ = [
    "LOSSES",
    "OPTIONS",
    "VECTOR_LOSSES",
    "Absolute",
    "CompiledLoss",
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "MulticlassHinge",
    "Poisson",
    "Quantile",
    "SmoothHinge",
    "Softmax",
    "Squared",
    "SquaredHinge",
    "VectorLoss",
]
