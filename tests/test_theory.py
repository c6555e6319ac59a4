"""Lemma 1 by enumeration, and the theorems' bounds against actual iterations."""

import numpy as np
import pytest
from numpy_twin import formulas, grad_conjugate, objectives, step
from problems import LOSS_NAMES, REG_NAMES, make, zero_gap_alpha

from proxsdca import theory
from proxsdca.losses import LOSSES

SEEDS = 20


@pytest.mark.parametrize("option", ["I", "II", "III"])
@pytest.mark.parametrize("reg", REG_NAMES)
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_lemma_1_by_enumerating_i(loss, reg, option):
    """E[D(t) - D(t-1)] >= s/n (P - D) - (s/n)^2 G / (2 lam) for every s in [0, 1]."""
    kind, n, d, lam = LOSSES[loss](), 8, 4, 0.1
    sigma = 0.0 if reg == "l2" else 0.03
    rng = np.random.default_rng(1)
    case = make(loss, reg, n=n, d=d, seed=1)
    X, y, ones, kappa = case.X, case.y, np.ones(n), sigma / lam
    phi = formulas(kind)
    for _ in range(5):
        alpha = zero_gap_alpha(kind, n, y, rng)
        v = X.T @ alpha / (lam * n)
        w = grad_conjugate(reg, v, kappa)
        primal, dual = objectives(X, y, kind, reg, lam, kappa, ones, w, alpha)
        gains, away, norms = [], [], np.sum(X**2, axis=1)
        for i in range(n):
            moved = alpha.copy()
            m, q = X[i] @ w, max(norms[i] / (lam * n), 1e-300)
            moved[i] = kind.step(alpha[i], m, y[i], q, option, norms.max() / (lam * n))
            expected = step(kind, option, alpha[i], m, y[i], q, norms.max() / (lam * n))
            assert moved[i] == pytest.approx(expected, rel=1e-9, abs=1e-9)
            gains.append(objectives(X, y, kind, reg, lam, kappa, ones, w, moved)[1] - dual)
            away.append((-phi.slope(m, y[i]) - alpha[i]) ** 2)
        for s in (1e-3, 0.1, 0.3, 0.7, 1.0):
            G = np.mean((norms - kind.gamma * (1 - s) * lam * n / s) * np.array(away))
            promised = s / n * (primal - dual) - (s / n) ** 2 * G / (2 * lam)
            assert np.mean(gains) >= promised - 1e-13 * (1 + abs(promised))


def constants(case, loss, lam):
    """R and eps_D(0) <= P(0) - D(0)."""
    kind = LOSSES[loss]()
    R = np.sqrt(np.max(np.sum(case.X**2, axis=1)))
    start = case.certify(np.zeros(case.X.shape[1]), np.zeros(len(case.y)), lam=lam)
    return kind, R, start.gap


@pytest.mark.filterwarnings("ignore::proxsdca.ConvergenceWarning")
@pytest.mark.parametrize("reg", REG_NAMES)
@pytest.mark.parametrize("loss", [n for n in LOSS_NAMES if LOSSES[n]().gamma > 0])
def test_theorem_1(loss, reg):
    """The mean gap over seeds after T steps is within eps, for the plainest option too."""
    n, lam, eps = 40, 0.05, 1e-3
    case = make(loss, reg, n=n, d=6, seed=2)
    kind, R, eps_D = constants(case, loss, lam)
    epochs = int(np.ceil(theory.smooth_steps(n, R, lam, kind.gamma, eps, eps_D) / n))
    for option in kind.options:
        gaps = [
            case.solve(lam=lam, option=option, order="uniform", seed=seed, tol=0.0, eps=0.0,
                       max_epochs=epochs).gap
            for seed in range(SEEDS)
        ]  # fmt: skip
        assert np.mean(gaps) <= eps


@pytest.mark.filterwarnings("ignore::proxsdca.ConvergenceWarning")
@pytest.mark.parametrize("reg", REG_NAMES)
@pytest.mark.parametrize(
    "loss", [n for n in LOSS_NAMES if LOSSES[n]().gamma == 0 and np.isfinite(LOSSES[n]().lipschitz)]
)
def test_theorem_2(loss, reg):
    """Dual suboptimality at T0 <= eps/2, and the gap of a random iterate of T0 ... T - 1 <= eps."""
    n, lam, eps = 30, 0.5, 0.05
    case = make(loss, reg, n=n, d=5, seed=2)
    kind, R, eps_D = constants(case, loss, lam)
    best = case.solve(lam=lam, tol=1e-9, max_epochs=20000).dual
    T0, T = theory.lipschitz_steps(n, R, lam, kind.lipschitz, eps, eps_D)
    rng = np.random.default_rng(0)
    for option in kind.options:
        gaps, short = [], []
        for seed in range(SEEDS):
            keywords = {"lam": lam, "option": option, "order": "uniform", "seed": seed, "tol": 0.0}
            at_T0 = case.solve(**keywords, max_epochs=int(np.ceil(T0 / n)))
            short.append(best - at_T0.dual)
            at = int(rng.integers(np.ceil(T0 / n), np.ceil(T / n)))
            gaps.append(case.solve(**keywords, max_epochs=at).gap)
        assert np.mean(short) <= eps / 2
        assert np.mean(gaps) <= eps


def test_bounds_as_written():
    assert theory.smooth_steps(10, 1, 0.1, 1, 1e-2) == pytest.approx(20 * np.log(20 / 1e-2))
    T0, T = theory.lipschitz_steps(10, 1, 0.1, 1, 0.1)
    np.testing.assert_allclose([T0, T - T0], [4 * 4 / 0.01 - 20, 4 / 0.01])
    # large lam: t0 = ceil(n log(2 lam n / G)) steps bring the dual down first
    T0, _ = theory.lipschitz_steps(10, 1, 10, 1, 10)
    np.testing.assert_equal(T0, np.ceil(10 * np.log(2 * 10 * 10 / 4)))
