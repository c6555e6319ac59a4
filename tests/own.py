"""Losses and regularisers that are written in Python: the built-in ones once more, and others."""

from __future__ import annotations

import numpy as np

from proxsdca.losses import Loss
from proxsdca.regularizers import Regularizer


class Delegate(Loss):
    """The formulas of another loss, as if they were somebody's own; the rest is solved for."""

    def __init__(self, inner):
        constants = ("gamma", "lipschitz", "classification", "target_min")
        super().__init__(**{name: getattr(inner, name) for name in constants})
        self.inner = inner

    def value(self, z, y):
        return self.inner.value(z, y)

    def subgradient(self, z, y):
        return self.inner.subgradient(z, y)


class WithConjugate(Delegate):
    def conjugate(self, a, y):
        return self.inner.conjugate(a, y)


class Whole(WithConjugate):
    def exact_step(self, b, m, y, q):
        return self.inner.step(b, m, y, q)

    def domain(self, y):
        return self.inner.domain(y)


KINDS = (Delegate, WithConjugate, Whole)


class Expectile(Loss):
    """tau (z - y)^2 where y > z, (1 - tau) (z - y)^2 elsewhere."""

    def __init__(self, tau=0.5):
        super().__init__(gamma=0.5 / max(tau, 1 - tau))
        self.tau = tau

    def _weight(self, r):
        return np.where(r > 0, 1 - self.tau, self.tau)

    def value(self, z, y):
        return self._weight(z - y) * (z - y) ** 2

    def subgradient(self, z, y):
        return 2 * self._weight(z - y) * (z - y)

    def conjugate(self, a, y):
        return a * y + a**2 / (4 * self._weight(a))


class ElasticNet(Regularizer):
    """l1l2, separable."""

    separable = True
    has_sigma = True

    def value(self, w, kappa, j):
        return w**2 / 2 + kappa * np.abs(w)

    def gradient(self, v, kappa, j):
        return np.sign(v) * np.maximum(np.abs(v) - kappa, 0.0)


class WholeElasticNet(ElasticNet):
    """l1l2, as one function of all of w."""

    separable = False

    def value(self, w, kappa, j):
        return float(np.sum(super().value(w, kappa, j)))


class Weighted(ElasticNet):
    """l1l2 with weights on the l1 part, which needs to know which features it is asked for."""

    parameters = ("weights",)

    def __init__(self, weights):
        self.weights = np.asarray(weights)

    def value(self, w, kappa, j):
        return super().value(w, kappa * self.weights[j], j)

    def gradient(self, v, kappa, j):
        return super().gradient(v, kappa * self.weights[j], j)


class Pairs(Regularizer):
    """Groups of two features: w_G = v_G [1 - kappa / |v_G|]_+."""

    has_sigma = True

    def value(self, w, kappa, j):
        return w @ w / 2 + kappa * np.linalg.norm(w.reshape(-1, 2), axis=1).sum()

    def gradient(self, v, kappa, j):
        norms = np.linalg.norm(v.reshape(-1, 2), axis=1, keepdims=True)
        shrink = np.maximum(1 - kappa / np.maximum(norms, 1e-300), 0.0)
        return (v.reshape(-1, 2) * shrink).ravel()


class Nonnegative(Regularizer):
    """The elastic net for w >= 0."""

    separable = True
    has_sigma = True

    def value(self, w, kappa, j):
        return np.where(w >= 0, w**2 / 2 + kappa * np.abs(w), np.inf)

    def gradient(self, v, kappa, j):
        return np.maximum(v - kappa, 0.0)

    def conjugate(self, v, kappa, j):
        return np.maximum(v - kappa, 0.0) ** 2 / 2
