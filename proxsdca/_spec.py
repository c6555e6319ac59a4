"""Names and parameters -> Loss and Regularizer objects; errors that list the choices."""

from __future__ import annotations

from . import _validate
from ._core.losses import LOSSES, OPTIONS
from .losses import Loss
from .regularizers import REGULARIZERS, Regularizer


def loss(spec: str | Loss) -> Loss:
    """The loss that a name or an object stands for."""
    if isinstance(spec, Loss) and type(spec) is not Loss:
        return spec
    return LOSSES[_validate.choice("loss", spec, LOSSES)]()


def reg(spec: str | Regularizer) -> Regularizer:
    """The regulariser that a name or an object stands for."""
    if isinstance(spec, Regularizer) and type(spec) is not Regularizer:
        return spec
    return REGULARIZERS[_validate.choice("reg", spec, REGULARIZERS)]()


def option(spec: str, loss: Loss) -> str:
    """The step option, "auto" resolved: Option I is exact, and so the best, for every loss."""
    name = _validate.choice("option", spec, ("auto", *OPTIONS))
    if name == "auto":
        return "I"
    if name not in loss.options:
        raise ValueError(
            f"option = {name!r} does not exist for loss {loss.name!r} "
            f"(gamma = {loss.gamma:g}, L = {loss.lipschitz:g}); "
            f"choices: auto, {', '.join(loss.options)}"
        )
    return name
