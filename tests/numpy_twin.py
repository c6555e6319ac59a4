"""Prox-SDCA as the paper has it: slow, readable, and written apart from the package.

The formulas of every loss stand here a second time, in plain NumPy and SciPy,
so that an agreement with the kernel to rounding means something.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, wrightomega, xlogy

INF = np.inf


def _clip(x, lo, hi):
    return min(max(x, lo), hi)


def _hinge_like(value, conjugate, slope, best, top):
    """A loss of t = y z, whose dual variable is t = y b in [0, top]."""
    return SimpleNamespace(
        value=lambda z, y: value(y * z),
        conjugate=lambda a, y: conjugate(-y * a) if 0 <= -y * a <= top else INF,
        slope=lambda z, y: y * slope(y * z),
        best=lambda b, m, y, q: y * _clip(best(y * b, y * m, q), 0, top),
    )


def _residual(value, conjugate, slope, best, lo, hi):
    """A loss of r = z - y, whose dual variable lies in [lo, hi]."""
    return SimpleNamespace(
        value=lambda z, y: value(z - y),
        conjugate=lambda a, y: a * y + conjugate(a) if lo <= -a <= hi else INF,
        slope=lambda z, y: slope(z - y),
        best=lambda b, m, y, q: _clip(best(b, m - y, q), lo, hi),
    )


def _logistic_best(t0, m, q):
    def derivative(u):
        return u + m + q * (expit(u) - t0)

    lo, hi = -m - q * (1 - t0) - 1, -m + q * t0 + 1
    return expit(brentq(derivative, lo, hi, xtol=1e-14, rtol=1e-15, maxiter=500))


def _poisson_best(b, m, y, q):
    c = m + q * (y - b)
    return y - wrightomega(c + np.log(q)).real / q


def formulas(loss) -> SimpleNamespace:
    """The formulas of a loss of the package, by its name and parameters."""
    g = loss.gamma
    if loss.name == "hinge":
        return _hinge_like(
            lambda t: max(0, 1 - t), lambda b: -b, lambda t: -1.0 * (t < 1),
            lambda b, m, q: b + (1 - m) / q, 1,
        )  # fmt: skip
    if loss.name == "smooth_hinge":
        return _hinge_like(
            lambda t: 0 if t >= 1 else (1 - t - g / 2 if t <= 1 - g else (1 - t) ** 2 / (2 * g)),
            lambda b: -b + g / 2 * b**2, lambda t: -_clip((1 - t) / g, 0, 1),
            lambda b, m, q: (1 - m + q * b) / (g + q), 1,
        )  # fmt: skip
    if loss.name == "squared_hinge":
        return _hinge_like(
            lambda t: max(0, 1 - t) ** 2, lambda b: -b + b**2 / 4, lambda t: -2 * max(0, 1 - t),
            lambda b, m, q: (1 - m + q * b) / (0.5 + q), INF,
        )  # fmt: skip
    if loss.name == "logistic":
        return _hinge_like(
            lambda t: np.logaddexp(0, -t), lambda b: xlogy(b, b) + xlogy(1 - b, 1 - b),
            lambda t: -expit(-t), _logistic_best, 1,
        )  # fmt: skip
    if loss.name == "squared":
        return _residual(
            lambda r: r**2 / 2, lambda a: a**2 / 2, lambda r: r,
            lambda b, r, q: (q * b - r) / (1 + q), -INF, INF,
        )  # fmt: skip
    if loss.name == "absolute":
        return _residual(abs, lambda a: 0, np.sign, lambda b, r, q: b - r / q, -1, 1)
    if loss.name == "quantile":
        tau = loss.tau
        return _residual(
            lambda r: max(-tau * r, (1 - tau) * r), lambda a: 0,
            lambda r: (1 - tau) if r > 0 else (-tau if r < 0 else 0.0),
            lambda b, r, q: b - r / q, tau - 1, tau,
        )  # fmt: skip
    if loss.name == "epsilon_insensitive":
        eps = loss.eps
        return _residual(
            lambda r: max(0, abs(r) - eps), lambda a: eps * abs(a),
            lambda r: np.sign(r) * (abs(r) > eps),
            lambda b, r, q: np.sign(b - r / q) * max(0, abs(b - r / q) - eps / q), -1, 1,
        )  # fmt: skip
    if loss.name == "huber":
        delta = loss.delta
        return _residual(
            lambda r: r**2 / 2 if abs(r) <= delta else delta * abs(r) - delta**2 / 2,
            lambda a: a**2 / 2, lambda r: _clip(r, -delta, delta),
            lambda b, r, q: (q * b - r) / (1 + q), -delta, delta,
        )  # fmt: skip
    if loss.name == "poisson":
        return SimpleNamespace(
            value=lambda z, y: np.exp(z) - y * z + xlogy(y, y) - y,
            conjugate=lambda a, y: (
                xlogy(y + a, y + a) - (y + a) - xlogy(y, y) + y if y + a >= 0 else INF
            ),
            slope=lambda z, y: np.exp(z) - y,
            best=_poisson_best,
        )
    raise NotImplementedError(f"the twin needs the formulas of {loss.name!r}")


def step(loss, option: str, b, m, y, q, q_R):
    """One step of the figure, for one example of weight 1."""
    phi = formulas(loss)
    if option == "I":
        return phi.best(b, m, y, q)
    u = -phi.slope(m, y)
    z = u - b
    if z * z == 0:
        return b
    if option == "II":
        best = phi.best(b, m, y, q)  # a concave function of one variable: project on [b, u]
        return _clip(best, min(b, u), max(b, u))
    if option == "V":
        s = loss.gamma / (q_R + loss.gamma)
    else:
        z_sq = 4 * loss.lipschitz**2 if option == "IV-4L2" else z**2
        excess = phi.value(m, y) + phi.conjugate(-b, y) + m * b
        bound = q if option == "III" else q_R
        s = (excess + loss.gamma / 2 * z_sq) / (z_sq * (loss.gamma + bound))
    return b + _clip(s, 0, 1) * z


def _p_and_c(d):
    """The q-norm's defaults (ERRATA 2, 3)."""
    if d < 8:
        return 2.0, float(d)
    p = np.log(d) + np.sqrt(np.log(d) ** 2 - 2 * np.log(d))
    p = 2.0 * round(p / 2)
    return p, (p - 1) * d ** (2 / p)


def _pairs(v):
    """The norms of the groups (v_0, v_1), (v_2, v_3), ..."""
    return np.array([np.linalg.norm(v[k : k + 2]) for k in range(0, len(v), 2)])


def _soft(v, kappa):
    return np.sign(v) * np.maximum(np.abs(v) - kappa, 0)


def grad_conjugate(reg: str, v, kappa):
    """grad g*(v)."""
    if reg == "l2":
        return v
    if reg == "l1l2":
        return _soft(v, kappa)
    if reg == "qnorm":  # (nablaDefqnorm) with (aDefqnorm), in terms of p = q / (q - 1)
        (p, c), s = _p_and_c(len(v)), _soft(v, kappa)
        norm = np.linalg.norm(s, p)
        return s if norm == 0 else np.sign(s) * (np.abs(s) / norm) ** (p - 1) * norm / c
    if reg == "group":
        norms = np.repeat(_pairs(v), 2)[: len(v)]
        return v * np.maximum(0, 1 - kappa / np.maximum(norms, 1e-300))
    raise NotImplementedError(f"the twin needs grad g* of {reg!r}")


def g(reg: str, w, kappa):
    """g(w)."""
    if reg == "qnorm":
        p, c = _p_and_c(len(w))
        return c / 2 * np.linalg.norm(w, p / (p - 1)) ** 2 + np.sum(kappa * np.abs(w))
    if reg == "group":
        return w @ w / 2 + kappa * np.sum(_pairs(w))
    return w @ w / 2 + (0 if reg == "l2" else np.sum(kappa * np.abs(w)))


def g_conjugate(reg: str, v, kappa):
    """g*(v)."""
    if reg == "qnorm":
        p, c = _p_and_c(len(v))
        return np.linalg.norm(_soft(v, kappa), p) ** 2 / (2 * c)
    return np.sum(grad_conjugate(reg, v, kappa) ** 2) / 2


def curvature(reg: str, x):
    """|x|_D'^2; for the q-norm the smoothness of g* itself, which is at most |x|_inf^2."""
    if reg == "qnorm":
        p, c = _p_and_c(len(x))
        return (p - 1) / c * np.linalg.norm(x, p) ** 2
    return x @ x


def objectives(X, y, loss, reg, lam, kappa, weight, w, alpha):
    """P(w) and D(alpha)."""
    phi, n = formulas(loss), len(y)
    v = X.T @ alpha / (lam * n)
    value = sum(s * phi.value(m, yi) for s, m, yi in zip(weight, X @ w, y, strict=True))
    conjugate = sum(
        s * phi.conjugate(-a / s, yi) for s, a, yi in zip(weight, alpha, y, strict=True) if s
    )
    return value / n + lam * g(reg, w, kappa), -conjugate / n - lam * g_conjugate(reg, v, kappa)


def prox_sdca(X, y, loss, reg, lam, kappa, weight, visits, option):
    """Procedure Prox-SDCA along the given visits; returns alpha, v and w."""
    n, d = X.shape
    alpha, v = np.zeros(n), np.zeros(d)
    R_sq = max(curvature(reg, x) for x, s in zip(X, weight, strict=True) if s > 0)
    for i in visits:
        s = weight[i]
        if s == 0:
            continue
        m = X[i] @ grad_conjugate(reg, v, kappa)
        q = max(s * curvature(reg, X[i]) / (lam * n), np.finfo(float).tiny)
        new = s * step(loss, option, alpha[i] / s, m, y[i], q, s * R_sq / (lam * n))
        v = v + X[i] * (new - alpha[i]) / (lam * n)
        alpha[i] = new
    return alpha, v, grad_conjugate(reg, v, kappa)
