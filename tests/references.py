"""Optima that nobody here computed: cvxpy's, with the gap its solver reports."""

from __future__ import annotations

import contextlib
import warnings

import cvxpy as cp
import numpy as np

from proxsdca.losses import VectorLoss


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


def mean_vector_loss(loss, Z, y, weight):
    """1/n sum_i s_i phi(Z_i; y_i) for k margins a row, as a cvxpy expression."""
    n, k = Z.shape
    own = cp.sum(cp.multiply(np.eye(k)[y], Z), axis=1)
    if loss.name == "multiclass_hinge":
        cost = 1 - np.eye(k) if loss.cost is None else np.asarray(loss.cost)
        return weight / n @ (cp.max(Z + cost[:, y].T, axis=1) - own)
    return weight / n @ (cp.log_sum_exp(Z, axis=1) - own)


def penalty(reg, w, lam, sigma, d):
    """lam g(w), or sigma |w|_1 for l1, as a cvxpy expression; reg is an object of the package.

    d is how many weights there are; for k classes w is (d / k, k), flattened.
    """
    if reg.name == "l2":
        return lam / 2 * cp.sum_squares(w)
    if reg.name == "group":
        group_of = np.repeat(reg.groups, d // len(reg.groups))
        weights = np.ones(group_of.max() + 1) if reg.weights is None else np.asarray(reg.weights)
        norms = [c * cp.norm2(w[np.flatnonzero(group_of == k)]) for k, c in enumerate(weights)]
        return lam / 2 * cp.sum_squares(w) + sigma * cp.sum(cp.hstack(norms))
    c = np.ones(d) if reg.l1_weights is None else np.asarray(reg.l1_weights, float)
    c = np.repeat(c, d // len(c))
    l1 = sigma * cp.norm1(cp.multiply(c, w))
    if reg.name == "l1":
        return l1
    if reg.name == "l1l2":
        return lam / 2 * cp.sum_squares(w) + l1
    if reg.name == "qnorm":
        p, constant = reg.p_and_c(d)
        norm = cp.norm2(w) if p == 2 else cp.pnorm(w, p / (p - 1))
        return lam * constant / 2 * cp.square(norm) + l1
    raise NotImplementedError(f"a reference for {reg.name!r} is needed")


def optimum(
    X, y, loss, reg, lam, sigma=0.0, weight=None, fit_intercept=False
) -> tuple[float, float]:
    """min P for P = mean loss + lam g(w), and its own tolerance."""
    weight = np.ones(len(y)) if weight is None else weight
    if isinstance(loss, VectorLoss):
        k = y.max() + 1
        W = cp.Variable((X.shape[1], k))
        Z = X @ W + (np.ones((len(y), 1)) @ cp.Variable((1, k)) if fit_intercept else 0.0)
        w, mean = cp.vec(W, order="C"), mean_vector_loss(loss, Z, y, weight)
    else:
        w = cp.Variable(X.shape[1])
        mean = mean_loss(loss, X @ w + (cp.Variable() if fit_intercept else 0.0), y, weight)
    problem = cp.Problem(cp.Minimize(mean + penalty(reg, w, lam, sigma, w.size)))
    tolerance = _solve(problem)
    return problem.value, tolerance * (1 + abs(problem.value))


def _solve(problem) -> float:
    """Solve as well as can be, as cones for q-norms are hard; returns how well that is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "may be inaccurate": the tolerance says how far
        for tol in (1e-11, 1e-9, 1e-7):
            with contextlib.suppress(cp.SolverError):
                problem.solve(
                    solver=cp.CLARABEL, tol_gap_abs=tol, tol_gap_rel=tol, tol_feas=tol,
                    reduced_tol_gap_abs=1e-8, reduced_tol_gap_rel=1e-8, reduced_tol_feas=1e-8,
                )  # fmt: skip
                if problem.status == "optimal":
                    return 100 * tol
                assert problem.status == "optimal_inaccurate"
                return 1e-6
    raise AssertionError("cvxpy finds no optimum")
