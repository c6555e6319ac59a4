"""The call on the card."""

import numpy as np

import proxsdca


def test_the_call_on_the_card():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 20))
    y = np.where(X[:, 0] - 0.5 * X[:, 1] + 0.3 * rng.normal(size=200) > 0, 1, -1)
    r = proxsdca.solve(X, y, loss="hinge", reg="l1l2")
    assert r.converged
    assert r.gap + r.rounding <= 1e-3 * abs(r.primal)
    assert (r.lam, r.sigma) == (1 / 200, 0.1 / 200)
    assert np.mean(np.sign(X @ r.w) == y) > 0.85
    # the certificate stands on its own: recompute it with NumPy alone
    primal = np.maximum(0, 1 - y * (X @ r.w)).mean() + r.lam / 2 * r.w @ r.w
    primal += r.sigma * np.abs(r.w).sum()
    v = X.T @ r.alpha / (r.lam * 200)
    threshold = np.maximum(np.abs(v) - r.sigma / r.lam, 0)
    dual = (y * r.alpha).mean() - r.lam / 2 * threshold @ threshold
    assert abs((primal - dual) - r.gap) < 1e-12
    assert r.gap == r.primal - r.dual
