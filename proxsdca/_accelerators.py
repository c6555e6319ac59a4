"""What may stand beside the paper's epochs, by name.

The figure of Procedure Prox-SDCA allows any step that raises the dual more than one of its options,
and a certificate holds for any pair, however it was found. Each accelerator is one file; `solver`
says which of them a run may use, and a `Result` which of them it did.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import _validate

# name -> what it is
ACCELERATORS = {
    "growing": "a first epoch with the steps of a problem that grows from few examples to all",
    "near": "logistic and softmax steps that end near the exact one, at 0.99 of its rise or more",
    "beyond": "softmax steps that go beyond the exact one, and keep 0.8 of its rise or more",
    "shrinking": "rows whose alpha_i stays at an end of its domain are passed over for a while",
    "averaging": "w as its mean over the last epoch, where phi has kinks",
    "screening": "columns that are proven to be 0 are dropped",
    "faces": "conjugate gradients along the faces of the domain that alpha is on",
    "newton": "Newton's method on all of alpha",
    "working_sets": "columns that may matter first, by steps on a quadratic model of the loss",
}
ALL = frozenset(ACCELERATORS)


def chosen(solver: Any) -> frozenset[str]:
    """The accelerators that a run may use: "auto" all of them, "plain" none."""
    if isinstance(solver, str):
        name = _validate.choice("solver", solver, ("auto", "plain", *ACCELERATORS))
        return ALL if name == "auto" else frozenset({name} - {"plain"})
    if not isinstance(solver, Iterable):
        raise _validate.wrong_type("solver", solver, "a name, or several of them, is needed")
    return frozenset(
        _validate.choice(f"solver[{k}]", name, ACCELERATORS) for k, name in enumerate(solver)
    )


def fitting(allowed: frozenset[str], option: str, output: str) -> frozenset[str]:
    """Those of the accelerators that leave an option and an output what they are."""
    free = option == "auto" and output in ("last", "best")
    return allowed if free else allowed & {"screening"}  # which takes no steps
