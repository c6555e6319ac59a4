"""Lemma 1 by enumeration, and the theorems' bounds against actual iterations."""

import numpy as np
import pytest
from numpy_twin import formulas, grad_conjugate, objectives, step
from problems import LOSS_NAMES, REG_NAMES, make, zero_gap_alpha

import proxsdca
from proxsdca import theory
from proxsdca.losses import LOSSES
from proxsdca.regularizers import L1

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


def test_the_corollaries_are_the_theorems_at_the_reductions_lam():
    """n + c R^2 B^2/(eps gamma), n + c (L R B/eps)^2 up to constants and logarithms."""
    n, R, B, eps = 100, 2.0, 3.0, 0.1
    for c in (1.0, 20.0):
        lam = theory.l1_lam(eps, B, c)
        assert lam == pytest.approx(eps / (c * B**2))
        assert theory.l1_steps(n, R, B, eps, gamma=0.5, c=c) == pytest.approx(
            theory.smooth_steps(n, R, lam, 0.5, eps / 2)
        )
        assert theory.l1_steps(n, R, B, eps, L=2.0, c=c) == pytest.approx(
            theory.lipschitz_steps(n, R, lam, 2.0, eps / 2)[1]
        )
    assert theory.l1_steps(n, R, B, eps) == np.inf
    smooth = [theory.l1_steps(n, R, B, e, gamma=1.0) for e in (1e-3, 1e-4)]
    assert 9 < smooth[1] / smooth[0] < 20
    rough = [theory.l1_steps(n, R, B, e, L=1.0) for e in (1e-3, 1e-4)]
    assert rough[1] / rough[0] == pytest.approx(100, rel=0.01)


def test_the_remarks_constant():
    """5 instead of 20, and the logarithm of 2 lam n / (2 R)^2 (ERRATA 11)."""
    n, R, lam, eps = 10, 1.0, 1e-3, 1e-2
    plain, remark = (theory.structured_steps(n, R, lam, eps, remark=r)[1] for r in (False, True))
    assert plain == pytest.approx(20 * (2 * R) ** 2 / (lam * eps), rel=1e-3)
    assert remark == pytest.approx(5 * (2 * R) ** 2 / (lam * eps), rel=1e-3)
    T0, _ = theory.structured_steps(1000, R, 1.0, 1e6)
    assert np.ceil(1000 * np.log(2 * 1000 / (2 * R) ** 2)) == T0


def test_predict_reads_the_constants_off_the_data():
    case = make("logistic", "l1l2", n=30, d=12, seed=3)
    (found,) = theory.predict(case.X, case.y, "logistic", "l1l2", lam=0.1, eps=0.01).values()
    assert pytest.approx(np.linalg.norm(case.X, axis=1).max()) == found.R
    assert (found.gamma, found.L, found.c, found.B, found.lam) == (4, 1, 1, None, 0.1)
    assert found.eps_D == pytest.approx(np.log(2))
    assert found.epochs == pytest.approx(
        theory.smooth_steps(30, found.R, 0.1, 4, 0.01, found.eps_D) / 30
    )
    both = theory.predict(case.X, case.y, "logistic", "l1", sigma=0.02, eps=0.01)
    assert pytest.approx(np.abs(case.X).max()) == both["qnorm"].R
    assert both["qnorm"].c == theory.valid_constant(12, theory.default_p(12))
    assert both["l2"].B == both["qnorm"].B == pytest.approx(np.log(2) / 0.02)
    for found in both.values():
        assert found.lam == pytest.approx(0.01 / (found.c * found.B**2))
    (found,) = theory.predict(case.X, case.y, "logistic", "qnorm").values()
    assert found.geometry == "qnorm"
    assert theory.predict(case.X, np.abs(case.y), "poisson", "l2")["l2"].epochs == np.inf


@pytest.mark.filterwarnings("ignore::proxsdca.ConvergenceWarning")
@pytest.mark.parametrize("loss", ["logistic", "smooth_hinge", "squared"])
def test_predict_holds_with_sample_weights(loss):
    case = make(loss, "l2", n=30, d=5, seed=4)
    weight = np.r_[np.full(25, 1.0), np.full(5, 6.0)]
    keywords = {"lam": 0.05, "sample_weight": weight}
    (promise,) = theory.predict(case.X, case.y, loss, "l2", eps=1e-3, **keywords).values()
    epochs = int(np.ceil(promise.epochs))
    gaps = [
        case.solve(order="uniform", seed=seed, tol=0.0, max_epochs=epochs, **keywords).gap
        for seed in range(SEEDS)
    ]
    assert np.mean(gaps) <= 1e-3


def few_of_many_signs(n=100, d=300, seed=0):
    """Dense +-1 features of which three matter: |x|_2^2 = d, |x|_inf = 1."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], size=(n, d))
    return X, np.sign(X[:, :3].sum(axis=1))


def short_rows(n=100, d=300, seed=0):
    """Rows with a single entry: |x|_2 = |x|_inf."""
    rng = np.random.default_rng(seed)
    X = np.zeros((n, d))
    X[np.arange(n), rng.integers(0, 20, n)] = 1
    return X, np.where(np.arange(n) % 20 < 10, 1.0, -1.0)


@pytest.mark.parametrize(("data", "better"), [(few_of_many_signs, "qnorm"), (short_rows, "l2")])
def test_the_geometry_that_the_theory_prefers_needs_fewer_epochs(data, better):
    X, y = data()
    sigma = 0.3 * proxsdca.sigma_max(X, y, loss="logistic")
    promised = theory.predict(X, y, "logistic", "l1", sigma=sigma, tol=0.05)
    seen = {}
    for geometry, reg in (("l2", "l1l2"), ("qnorm", "qnorm")):
        p = promised[geometry]
        r = proxsdca.solve(
            X, y, loss="logistic", reg=reg, lam=p.lam, sigma=sigma, side="rows", tol=0.0,
            eps=p.eps / 2, max_epochs=20_000,
        )  # fmt: skip
        assert r.converged
        assert r.epochs <= p.epochs
        seen[geometry] = r.epochs
    worse = {"l2": "qnorm", "qnorm": "l2"}[better]
    assert promised[better].epochs < promised[worse].epochs
    assert seen[better] < seen[worse]
    # and "auto" takes it
    one = proxsdca.solve(X, y, loss="logistic", reg="l1", sigma=sigma, side="rows", tol=0.05)
    two = proxsdca.solve(
        X, y, loss="logistic", reg=L1(geometry=better), sigma=sigma, side="rows", tol=0.05
    )
    np.testing.assert_array_equal(one.w, two.w)
