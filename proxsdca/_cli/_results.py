"""What is said of a result: for people, and as JSON."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from .._result import Result
from ..regularizers import L1


def weights(r: Result) -> dict[str, float]:
    """The lam and sigma of the problem, where it has them."""
    lam = {} if isinstance(r.reg, L1) else {"lam": r.lam}
    return {**lam, "sigma": r.sigma} if r.reg.has_sigma else lam


def facts(r: Result) -> dict[str, Any]:
    """The numbers of a result that are not arrays."""
    return {
        "loss": repr(r.loss),
        "reg": repr(r.reg),
        **weights(r),
        "rows": int(r.alpha.shape[0]),
        "columns": int(r.w.shape[0]),
        "classes": None if r.classes is None else r.classes.tolist(),
        "nonzeros": int(np.count_nonzero(r.w)),
        "intercept": np.asarray(r.intercept).tolist(),
        "primal": r.primal,
        "dual": r.dual,
        "gap": r.gap,
        "rounding": r.rounding,
        "target": r.target,
        "converged": r.converged,
        "solver": r.solver,
        "status": r.status.name,
        "epochs": r.epochs,
        "seconds": float(r.history["seconds"][-1]) if len(r.history) else 0.0,
    }


def show_json(value: dict[str, Any]) -> None:
    """One line of JSON on standard output."""
    print(json.dumps(_plain(value), allow_nan=False))


def _plain(value: Any) -> Any:
    """What JSON can say; numbers that are not finite are null."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
