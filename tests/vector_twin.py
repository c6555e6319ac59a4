"""Prox-SDCA with alpha_i in R^k: slow, readable, and written apart from the package.

X_i is always a matrix of shape (D, k_i); for x_i shared by k classes it is the Kronecker product of
x_i and the identity, so that w is (d, k), flattened.
"""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
from numpy_twin import _p_and_c, g, g_conjugate, grad_conjugate
from scipy.optimize import brentq
from scipy.special import logsumexp, xlogy
from scipy.special import softmax as probabilities


def costs(loss, y: int, k: int) -> np.ndarray:
    """cost(., y)."""
    cost = getattr(loss, "cost", None)
    return 1.0 - (np.arange(k) == y) if cost is None else np.asarray(cost, float)[:, y]


def project(p: np.ndarray) -> np.ndarray:
    """The point of the simplex that is nearest to p."""
    top = np.sort(p)[::-1]
    tau = (np.cumsum(top) - 1) / np.arange(1, len(p) + 1)
    return np.maximum(p - tau[np.nonzero(top > tau)[0][-1]], 0)


def softmax_best(beta, m, q):
    """log b + q b = m + q beta - tau, with tau such that b sums to 1: two nested bisections."""
    c = m + q * beta

    def at(tau):
        def one(cj):
            # in u = log b, so that nothing underflows
            lo, hi = cj - tau - q - 1, max(cj - tau, 0) + 1
            return np.exp(brentq(lambda u: u + q * np.exp(u) - (cj - tau), lo, hi, xtol=1e-14))

        return np.array([one(cj) for cj in c])

    hi = np.max(c) + np.log(len(c)) + 1
    tau = brentq(lambda t: at(t).sum() - 1, np.max(c) - q - 1, hi, xtol=1e-13)
    return at(tau) / at(tau).sum()


def formulas(loss, y: int, k: int) -> SimpleNamespace:
    """phi, omega(beta) = phi*(beta - e_y's negative ...), the attaining beta, and Option I."""
    delta = costs(loss, y, k)
    if loss.name == "multiclass_hinge":

        def attain(z):
            j = y if z[y] >= np.max(delta + z) else int(np.argmax(delta + z))
            return np.eye(k)[j]

        return SimpleNamespace(
            value=lambda z: np.max(delta - z[y] + z),
            omega=lambda beta: -(delta @ beta),
            attain=attain,
            best=lambda beta, m, q: project(beta + (delta + m) / q),
        )
    if loss.name == "softmax":
        return SimpleNamespace(
            value=lambda z: logsumexp(z) - z[y],
            omega=lambda beta: xlogy(beta, beta).sum(),
            attain=probabilities,
            best=softmax_best,
        )
    raise NotImplementedError(f"the twin needs the formulas of {loss.name!r}")


def blocks(X, k: int) -> list[np.ndarray]:
    """X_i for x_i shared by k classes."""
    return [np.kron(x[:, None], np.eye(k)) for x in X]


def stacked(Z, offsets) -> list[np.ndarray]:
    """X_i for the rows between the offsets."""
    return [Z[a:b].T for a, b in itertools.pairwise(offsets)]


def operator_norm_sq(reg: str, X_i) -> float:
    """|X_i|^2, from |.|_1 to |.|_D': the largest of its columns."""
    if reg == "qnorm":
        p, c = _p_and_c(len(X_i))
        return max((p - 1) / c * np.linalg.norm(column, p) ** 2 for column in X_i.T)
    return max(column @ column for column in X_i.T)


def length_sq(reg: str, X_i, z, shared: bool) -> float:
    """|X_i z|_D'^2; for the q-norm and shared x_i its bound by |z|_2."""
    if reg == "qnorm" and shared:
        return operator_norm_sq(reg, X_i) * (z @ z)
    if reg == "qnorm":
        p, c = _p_and_c(len(X_i))
        return (p - 1) / c * np.linalg.norm(X_i @ z, p) ** 2
    return np.sum((X_i @ z) ** 2)


def line_search(phi, beta, m, z, Q) -> float:
    """argmin over s in [0, 1] of omega(beta + s z) - s m^T z + Q/2 s^2, by golden section."""

    def value(s):
        return phi.omega(np.clip(beta + s * z, 0, 1)) - s * (m @ z) + Q / 2 * s * s

    lo, hi, r = 0.0, 1.0, (np.sqrt(5) - 1) / 2
    for _ in range(90):
        a, b = hi - r * (hi - lo), lo + r * (hi - lo)
        lo, hi = (lo, b) if value(a) <= value(b) else (a, hi)
    return min((0.0, (lo + hi) / 2, 1.0), key=value)


def step(loss, option, reg, X_i, y, beta, m, scale, R_sq, shared):
    """The new beta by one of the options; scale is s_i / (lambda n)."""
    phi = formulas(loss, y, len(m))
    norm = operator_norm_sq(reg, X_i)
    if option == "I":
        assert shared
        return phi.best(beta, m, max(scale * norm, np.finfo(float).tiny))
    u = phi.attain(m)
    z = u - beta
    size = np.abs(z).sum() ** 2
    if size == 0:
        return beta
    if option == "II":
        s = line_search(phi, beta, m, z, scale * length_sq(reg, X_i, z, shared))
    elif option == "V":
        s = loss.gamma / (loss.gamma + scale * R_sq)
    else:
        size = {"IV-4L2": 4 * loss.lipschitz**2, "IV-L2": loss.lipschitz**2}.get(option, size)
        excess = phi.value(m) + phi.omega(beta) + m[y] - m @ beta
        bound = scale * (norm if option == "III" else R_sq)
        s = (excess + loss.gamma / 2 * size) / (size * (loss.gamma + bound))
    return beta + min(max(s, 0), 1) * z


def objectives(Xs, y, loss, reg, lam, kappa, weight, w, alphas):
    """P(w) and D(alpha), alpha as a list of vectors."""
    n = len(y)
    primal = dual = 0.0
    v = np.zeros(len(Xs[0]))
    for X_i, y_i, s, alpha in zip(Xs, y, weight, alphas, strict=True):
        phi = formulas(loss, y_i, X_i.shape[1])
        primal += s * phi.value(X_i.T @ w) / n
        if s:
            dual -= s * phi.omega(np.eye(X_i.shape[1])[y_i] - alpha / s) / n
        v += X_i @ alpha / (lam * n)
    return primal + lam * g(reg, w, kappa), dual - lam * g_conjugate(reg, v, kappa)


def prox_sdca(Xs, y, loss, reg, lam, kappa, weight, visits, option, shared):
    """Procedure Prox-SDCA along the given visits; returns the alphas, v and w."""
    n = len(y)
    betas = [np.eye(X_i.shape[1])[y_i] for X_i, y_i in zip(Xs, y, strict=True)]
    v = np.zeros(len(Xs[0]))
    R_sq = max(operator_norm_sq(reg, X_i) for X_i, s in zip(Xs, weight, strict=True) if s > 0)
    for i in visits:
        s = weight[i]
        if s == 0:
            continue
        m = Xs[i].T @ grad_conjugate(reg, v, kappa)
        scale = s / (lam * n)
        new = step(loss, option, reg, Xs[i], y[i], betas[i], m, scale, R_sq, shared)
        v = v - scale * Xs[i] @ (new - betas[i])
        betas[i] = new
    alphas = [
        s * (np.eye(len(beta))[y_i] - beta) for s, beta, y_i in zip(weight, betas, y, strict=True)
    ]
    return alphas, v, grad_conjugate(reg, v, kappa)
