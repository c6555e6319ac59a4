"""The losses phi(z), each with its conjugate, constants and step options.

Pass one by name, ``solve(X, y, loss="huber")``, or as an object where it has
a parameter to choose, ``solve(X, y, loss=losses.Huber(delta=0.5))``.
"""

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

__all__ = [
    "LOSSES",
    "OPTIONS",
    "Absolute",
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "Poisson",
    "Quantile",
    "SmoothHinge",
    "Squared",
    "SquaredHinge",
]
