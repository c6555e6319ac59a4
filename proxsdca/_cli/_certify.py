"""`proxsdca certify`."""

from __future__ import annotations

import argparse
import math

import numpy as np

from .._model import load
from .._problem import Certificate
from .._result import Result
from .._solve import certify as certified
from ._inputs import add_data, add_weights, needed_target, read_data, read_weights
from ._results import show_json, weights

EXAMPLES = """
example:
  proxsdca certify spam.model train.svm        P, D and the gap, from w, alpha and the data alone
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="what `proxsdca train` has saved")
    add_data(parser)
    add_weights(parser)
    parser.add_argument("--json", action="store_true", help="say the result as a line of JSON")


def certify(arguments: argparse.Namespace) -> int:
    """Recompute a model's certificate from the data it was trained on: is its gap true?"""
    model = load(arguments.model)
    result = getattr(model, "result_", model)
    if not isinstance(result, Result) or result.alpha is None:
        raise ValueError(f"{arguments.model}: it holds no single result with its alpha")
    X, y = read_data(arguments, result.w.shape[0])
    y = needed_target(y, arguments)
    if X.shape[0] != result.alpha.shape[0]:
        raise ValueError(
            f"{arguments.data}: it has {X.shape[0]} rows, the model was trained on "
            f"{result.alpha.shape[0]}"
        )
    if result.classes is not None and not np.array_equal(np.unique(y), result.classes):
        raise ValueError(
            f"{arguments.data}: its labels are not those of the model, {result.classes.tolist()}"
        )
    try:
        c = certified(
            X, y, result.w, result.alpha, loss=result.loss, reg=result.reg, **weights(result),
            sample_weight=read_weights(arguments),
            intercept=result.intercept if np.any(result.intercept) else None,
        )  # fmt: skip
    except ValueError as error:
        if not str(error).startswith("alpha"):
            raise
        return _false(arguments, str(error))
    true, within = _holds(result, c), c.gap + c.rounding <= result.target < math.inf
    if arguments.json:
        show_json({"command": "certify", **c._asdict(), "said": result.gap, "target": result.target,
                   "true": bool(true), "within_target": bool(within)})  # fmt: skip
    else:
        print(f"P(w)     = {c.primal:.12g}")
        print(f"D(alpha) = {c.dual:.12g}")
        print(f"gap      = {c.gap:.3e} +- {c.rounding:.0e}, the model says {result.gap:.3e}")
        verdict = "TRUE" if true else "NOT TRUE: the model is not what these data make of it"
        reached = "within" if within else "above"
        print(f"{verdict}; {reached} the target {result.target:.3e}")
    return 0 if true and within else 1


def _holds(result: Result, c: Certificate) -> bool:
    """Whether nothing that a model says of itself is better than what is true of it.

    Sums may differ by roundings from machine to machine; what a model says of its own roundings
    counts for nothing.
    """
    room = 2 * c.rounding
    said = (result.primal, result.dual, result.gap, result.rounding, result.target)
    return (
        all(map(math.isfinite, said))
        and result.primal >= c.primal - room
        and result.dual <= c.dual + room
        and result.gap >= c.gap - room
    )


def _false(arguments: argparse.Namespace, reason: str) -> int:
    """alpha is not even allowed: it belongs to other rows, labels or weights."""
    if arguments.json:
        show_json({"command": "certify", "true": False, "within_target": False, "reason": reason})
    else:
        print(f"NOT TRUE: these are not the rows, labels or weights of the model ({reason})")
    return 1
