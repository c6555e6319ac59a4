"""Names and parameters -> Loss and Regularizer objects; errors that list the choices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _validate
from .losses import LOSSES, OPTIONS, VECTOR_LOSSES, Loss, VectorLoss
from .regularizers import L1, L1L2, REGULARIZERS, Regularizer

if TYPE_CHECKING:
    from ._problem import Problem


def loss(spec: str | Loss | VectorLoss) -> Any:
    """The loss that a name or an object stands for."""
    if type(spec) is str and spec in LOSSES:
        return LOSSES[spec]()
    if isinstance(spec, Loss):
        spec._forget()
        return spec
    if isinstance(spec, VectorLoss) and type(spec) is not VectorLoss:
        return spec
    _no_class("loss", spec, (Loss, VectorLoss))
    kinds = {**LOSSES, **VECTOR_LOSSES}
    return kinds[_validate.choice("loss", spec, kinds)]()


def _no_class(name: str, spec: Any, base: Any) -> None:
    """Refuse a class where an object of it was meant."""
    if isinstance(spec, type) and issubclass(spec, base):
        raise TypeError(
            f"{name} = {spec.__name__}, a class: an object is needed, {spec.__name__}()"
        )


def reg(spec: str | Regularizer) -> Regularizer:
    """The regulariser that a name or an object stands for."""
    _no_class("reg", spec, Regularizer)
    if isinstance(spec, Regularizer) and type(spec) is not Regularizer:
        return spec
    return REGULARIZERS[_validate.choice("reg", spec, REGULARIZERS)]()


def option(spec: str, problem: Problem) -> str:
    """The step option, "auto" resolved: Option I is exact, and so the best, where it exists."""
    name, loss = _validate.choice("option", spec, ("auto", *OPTIONS)), problem.loss
    if name == "auto":
        return problem.best_option
    if name == "I" and not problem.exact:
        raise ValueError(
            f"option = 'I' does not exist for reg = {problem.reg.name!r} with these offsets: it "
            "needs |X_i z|_2 as the norm, and at most 200 rows for each example; option = 'II' does"
        )
    if name not in loss.options:
        raise ValueError(
            f"option = {name!r} does not exist for loss {loss.name!r} "
            f"(gamma = {loss.gamma:g}, L = {loss.lipschitz:g}); "
            f"choices: auto, {', '.join(loss.options)}"
        )
    return name


def plain(option: str, output: str) -> bool:
    """Whether a run asks for Option I and for the last or best iterate."""
    name = _validate.choice("option", option, ("auto", *OPTIONS))
    return name in ("auto", "I") and output in ("last", "best")


def output(name: str, reg: Regularizer) -> None:
    """Refuse an average of iterates where what is iterated changes on the way."""
    changes = isinstance(reg, L1) and reg.method == "auto"
    if changes and name in ("average", "random"):
        raise ValueError(
            f"output = {name!r}: reg = 'l1' is solved by a sequence of surrogates, and has the "
            "outputs 'last' and 'best'; with method = 'literal', where there is one, it has all"
        )


def side(name: str, loss: Loss, reg: Regularizer, plain: bool, sets: bool = False) -> str:
    """The side to visit: "auto" is columns for l1 with a smooth loss, and for l1l2 with one where
    `sets` says that few features may matter and that working sets of them may be used; rows
    otherwise.

    `plain` says that the run asks for Option I and for the last or best iterate, which is all that
    the column side has.
    """
    literal = isinstance(reg, L1) and (reg.method, reg.geometry) != ("auto", "auto")
    if name == "auto":
        sparse = (isinstance(reg, L1) and not literal) or (isinstance(reg, L1L2) and sets)
        return "columns" if sparse and plain and loss.gamma > 0 else "rows"
    if name == "columns":
        if not loss.gamma > 0:
            raise ValueError(
                f"side = 'columns' needs a smooth loss, gamma > 0: loss {loss.name!r} has "
                "gamma = 0; side = 'rows' takes every loss"
            )
        if not reg.has_penalty:
            raise ValueError(
                f"side = 'columns' needs a penalty on each feature by itself: reg {reg.name!r} has "
                "none; side = 'rows' takes every reg"
            )
        if not plain or literal:
            raise ValueError(
                "side = 'columns' has option 'I' and the outputs 'last' and 'best', and needs no "
                "reduction: side = 'rows' has all of them"
            )
    return name
