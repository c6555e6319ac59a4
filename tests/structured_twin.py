"""Structured problems small enough to list all labels, and the paper's procedure in NumPy."""

from __future__ import annotations

import numpy as np


class Table:
    """An oracle over listed labels: psi[i] is (labels, d), delta[i] (labels,), y_i is label 0."""

    def __init__(self, psi, delta, d):
        self.psi, self.delta, self.n, self.d = psi, delta, len(psi), d
        self.calls = 0

    def planes(self, i):
        """xi of all labels, and their costs."""
        return self.psi[i][0] - self.psi[i], self.delta[i]

    def argmax(self, i, w):
        self.calls += 1
        xi, delta = self.planes(i)
        j = int(np.argmax(delta - xi @ w))
        at = np.flatnonzero(xi[j])
        return (at, xi[j, at]), delta[j]


class Labelled(Table):
    """The same, which says what it has found, and knows R."""

    def argmax(self, i, w):
        self.calls += 1
        xi, delta = self.planes(i)
        j = int(np.argmax(delta - xi @ w))
        return (*self.features(i, j), j)

    def features(self, i, label):
        xi, delta = self.planes(i)
        at = np.flatnonzero(xi[label])
        return (at, xi[label, at]), delta[label]

    def radius(self, i):
        return float(np.linalg.norm(self.psi[i], axis=1).max())


def table(seed, n=12, d=6, most=5, kind=Labelled, whole=False):
    """A random problem; some entries of psi are 0, costs are as random."""
    rng = np.random.default_rng(seed)
    psi, delta = [], []
    for _ in range(n):
        k = int(rng.integers(2, most + 1))
        draw = rng.integers(-3, 4, (k, d)) if whole else rng.normal(size=(k, d))
        psi.append(draw.astype(float) * (rng.random((k, d)) < 0.7))
        delta.append(np.concatenate([[0.0], rng.random(k - 1) * 2]))
    return kind(psi, delta, d)


def soft(v, kappa):
    return np.sign(v) * np.maximum(np.abs(v) - kappa, 0)


def primal(oracle, w, lam, sigma=0.0):
    """P(w), from all labels."""
    worst = [np.max(delta - xi @ w) for xi, delta in map(oracle.planes, range(oracle.n))]
    return np.mean(worst) + lam / 2 * w @ w + sigma * np.abs(w).sum()


def dual(oracle, beta, lam, sigma=0.0):
    """D(alpha) of convex weights of all labels, and v."""
    n = oracle.n
    costs = sum(beta[i] @ oracle.delta[i] for i in range(n)) / n
    v = sum(beta[i] @ oracle.planes(i)[0] for i in range(n)) / (lam * n)
    w = soft(v, sigma / lam)
    return costs - lam / 2 * w @ w, v


def prox_sdca(oracle, lam, order, option, sigma=0.0, sign=-1):
    """Procedure Prox-SDCA for structured output learning, with all of alpha beside it.

    sign is what ERRATA 1 puts before delta in the update of D_i; the paper's own is +1. Returns w,
    the weights beta of all labels, D_i, and after each step the true dual value and the gap that
    the D_i would report.
    """
    n, d = oracle.n, oracle.d
    w_i, D_i = np.zeros((n, d)), np.zeros(n)
    beta = [np.eye(len(oracle.delta[i]))[0] for i in range(n)]
    R = max(np.linalg.norm(psi, axis=1).max() for psi in oracle.psi)
    duals, gaps = [], []
    for i in order:
        w = soft(w_i.sum(axis=0), sigma / lam)
        xi, delta = oracle.planes(i)
        j = int(np.argmax(delta - xi @ w))
        P_i = delta[j] - xi[j] @ w
        excess = P_i + D_i[i] + lam * n * (w @ w_i[i])
        z = xi[j] - lam * n * w_i[i]
        curvature = {
            "II": z @ z,
            "III": 4 * np.linalg.norm(oracle.psi[i], axis=1).max() ** 2,
            "IV": 4 * R**2,
        }[option] / (lam * n)
        s = 0.0 if excess <= 0 else 1.0 if excess >= curvature else excess / curvature
        D_i[i] = (1 - s) * D_i[i] + sign * s * delta[j]
        w_i[i] = (1 - s) * w_i[i] + s * xi[j] / (lam * n)
        beta[i] = (1 - s) * beta[i]
        beta[i][j] += s
        duals.append(dual(oracle, beta, lam, sigma)[0])
        w = soft(w_i.sum(axis=0), sigma / lam)
        gaps.append(primal(oracle, w, lam, sigma) + D_i.mean() + lam / 2 * w @ w)
    return soft(w_i.sum(axis=0), sigma / lam), beta, D_i, np.array(duals), np.array(gaps)
