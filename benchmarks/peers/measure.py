"""All measurements of one case, as numbers that JSON can hold."""

from __future__ import annotations

import time
from functools import partial

import numpy as np

from .cases import Case
from .floor import floor
from .race import in_turns, ladder
from .solvers import solvers

TARGETS = (1e-3, 1e-6)
OURS = tuple(10.0**-k for k in range(1, 8))  # tolerances of our frontier
REFERENCE = 1e-9


def measure(
    case: Case, *, quick: bool, peers: bool, rounds: int, cap: float, reference: float
) -> dict:
    """One case.

    Parameters
    ----------
    case : Case
    quick : bool
        Small generated data.
    peers : bool
        Whether there are others than ours.
    rounds : int
        Of all contenders in turns, at each target.
    cap, reference : float
        Seconds for one fit, and for the reference optimum.

    Returns
    -------
    dict
        "ours" and "peers": the points of the frontiers. "targets": for each the best seconds of
        every contender that reached it. A suboptimality is (P(w) - D) / P(w) for the highest D
        that was certified, so that it bounds the true one.
    """
    problem = case.problem(quick)
    best_dual = problem.solve(REFERENCE, reference)
    ours = []
    for tol in OURS:
        begin = time.perf_counter()
        r = problem.solve(tol, cap)
        ours.append({
            "tol": tol, "seconds": time.perf_counter() - begin, "epochs": r.epochs,
            "used": list(r.solver), "side": r.side, "gap": (r.gap + r.rounding) / r.primal,
            "primal": problem.primal(r.w), "dual": r.dual, "converged": r.converged,
        })  # fmt: skip
    D = max(best_dual.dual, *(point.pop("dual") for point in ours))
    for point in ours:
        point["suboptimality"] = _suboptimality(point.pop("primal"), D)

    fits = solvers(problem) if peers else {}
    frontiers: dict[str, list[dict]] = {}
    for name, fit in fits.items():
        frontiers[name] = []
        for tol, seconds, w in ladder(fit, cap):
            at = _suboptimality(problem.primal(w), D)
            frontiers[name].append({"tol": tol, "seconds": seconds, "suboptimality": at})
            if at <= TARGETS[-1]:
                break

    targets = {}
    for target in TARGETS:
        points, runs = {}, {}
        mine = next(point for point in ours if np.isclose(point["tol"], target))
        if mine["converged"]:
            points["ours"], runs["ours"] = mine, partial(problem.fit, mine["tol"], cap)
        for name, frontier in frontiers.items():
            point = next((p for p in frontier if p["suboptimality"] <= target), None)
            if point:
                points[name], runs[name] = point, partial(fits[name], point["tol"])
        best = {name: point["seconds"] for name, point in points.items()}
        in_turns(
            runs, best, rounds,
            lambda w, target=target: _suboptimality(problem.primal(w), D) <= target,
        )  # fmt: skip
        for name, seconds in best.items():
            points[name]["seconds"] = seconds
        targets[f"{target:g}"] = best
    n, d = problem.X.shape
    return {
        "case": case.name, "data": "generated" if quick or not case.real else case.data,
        "n": n, "d": d, "nonzeros": problem.X.nnz, "classes": problem.classes,
        "lam": problem.lam, "sigma": problem.sigma, "cap": cap,
        "reference": {"dual": D, "gap": _suboptimality(best_dual.primal, D)},
        "ours": ours, "peers": frontiers, "targets": targets, "floor": floor(problem),
    }  # fmt: skip


def _suboptimality(primal: float, dual: float) -> float:
    return float((primal - dual) / primal)
