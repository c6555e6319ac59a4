"""A result in a few lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ._result import Result


def summary(result: Result) -> str:
    """What was solved, what is proven of the solution, and what it took.

    Parameters
    ----------
    result : Result

    Returns
    -------
    str
        Eight lines, without a newline at the end.
    """
    seconds = result.history["seconds"][-1] if len(result.history) else 0.0
    made_of = f"{' + '.join(result.solver)} " if result.solver else ""
    return "\n".join(
        [
            f"{result.loss.name} + {result.reg.name}: {result.size}",
            f"lam = {result.lam:.6g}, sigma = {result.sigma:.6g}",
            f"P(w)     = {result.primal:.12g}",
            f"D(alpha) = {result.dual:.12g}",
            f"gap      = {result.gap:.3e} +- {result.rounding:.0e}, target {result.target:.3e}",
            f"{result.status.name}: {result.status.value}",
            f"{result.epochs:,} epochs in {seconds:.2f} s ({made_of}by {result.side}, "
            f"option {result.option}, order {result.order}, output {result.output})",
            f"{np.count_nonzero(result.w):,} of {result.w.size:,} weights are not zero",
        ]
    )
