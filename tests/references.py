"""Optima that nobody here computed: cvxpy's, with the gap its solver reports."""

from __future__ import annotations

import warnings

import cvxpy as cp
import numpy as np


def mean_loss(loss, z, y, weight):
    """1/n sum_i s_i phi(z_i; y_i) as a cvxpy expression."""
    s = weight / len(y)
    if loss.name == "hinge":
        return s @ cp.pos(1 - cp.multiply(y, z))
    if loss.name == "smooth_hinge":
        # min over t >= 0 of t + (1 - y z - t)_+^2 / (2 gamma), the Moreau envelope of the hinge
        t = cp.Variable(len(y), nonneg=True)
        return s @ (t + cp.square(cp.pos(1 - cp.multiply(y, z) - t)) / (2 * loss.gamma))
    if loss.name == "squared_hinge":
        return s @ cp.square(cp.pos(1 - cp.multiply(y, z)))
    if loss.name == "logistic":
        return s @ cp.logistic(-cp.multiply(y, z))
    if loss.name == "squared":
        return s @ cp.square(z - y) / 2
    if loss.name == "absolute":
        return s @ cp.abs(z - y)
    if loss.name == "quantile":
        return s @ cp.maximum(loss.tau * (y - z), (loss.tau - 1) * (y - z))
    if loss.name == "epsilon_insensitive":
        return s @ cp.pos(cp.abs(z - y) - loss.eps)
    if loss.name == "huber":
        return s @ cp.huber(z - y, loss.delta) / 2
    if loss.name == "poisson":
        constant = np.where(y > 0, y * np.log(np.where(y > 0, y, 1)), 0) - y
        return s @ (cp.exp(z) - cp.multiply(y, z) + constant)
    raise NotImplementedError(f"a reference for {loss.name!r} is needed")


def optimum(X, y, loss, lam, l1=0.0, weight=None) -> tuple[float, float]:
    """min P for P = mean loss + lam/2 |w|^2 + sum_j l1_j |w_j|, and its own tolerance."""
    w = cp.Variable(X.shape[1])
    weight = np.ones(len(y)) if weight is None else weight
    penalty = lam / 2 * cp.sum_squares(w) + cp.norm1(cp.multiply(np.broadcast_to(l1, w.shape), w))
    problem = cp.Problem(cp.Minimize(mean_loss(loss, X @ w, y, weight) + penalty))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "may be inaccurate": the tolerance below says how far
        problem.solve(
            solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11,
            reduced_tol_gap_abs=1e-8, reduced_tol_gap_rel=1e-8, reduced_tol_feas=1e-8,
        )  # fmt: skip
    assert problem.status in ("optimal", "optimal_inaccurate")
    tolerance = 1e-9 if problem.status == "optimal" else 1e-6
    return problem.value, tolerance * (1 + abs(problem.value))
