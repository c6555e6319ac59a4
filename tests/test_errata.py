"""Where the paper cannot be typed in: each test fails with its formula; see docs/errata.md."""

import warnings

import numpy as np
import pytest
from numpy_twin import formulas, grad_conjugate, objectives
from problems import make
from scipy.optimize import linprog

import proxsdca
from proxsdca import theory
from proxsdca._problem import Problem
from proxsdca._side import RowSide
from proxsdca.losses import LOSSES
from proxsdca.regularizers import L1, QNorm

pytestmark = pytest.mark.filterwarnings("ignore::proxsdca.ConvergenceWarning")


# ------------------------------------------------------------ 1


def conjugate_by_lp(a, delta, y):
    """max over (v, t) of v.a - t such that t >= delta_j - v_y + v_j for every j."""
    k = len(a)
    constraints = np.hstack([np.eye(k), -np.ones((k, 1))])
    constraints[:, y] -= 1
    found = linprog(
        np.append(-a, 1.0), A_ub=constraints, b_ub=-delta, bounds=[(None, None)] * (k + 1)
    )
    return -found.fun if found.status == 0 else np.inf


def test_erratum_1_the_conjugate_of_the_structured_hinge_is_minus_the_cost():
    rng = np.random.default_rng(0)
    for k in (2, 3, 4, 7):
        for _ in range(5):
            y, delta = int(rng.integers(k)), rng.random(k)
            delta[y] = 0
            a = rng.dirichlet(np.ones(k))
            a[y] = 0
            a[y] = -a.sum()
            exact, paper = conjugate_by_lp(a, delta, y), a @ delta
            assert exact == pytest.approx(-(a @ delta), abs=1e-9)
            assert abs(exact - paper) > 1e-3
    # the domain is the paper's
    outside = np.array([0.8, 0.4, -1.2]), np.array([-0.1, 0.2, -0.1]), np.array([0.5, 0.2, -0.5])
    for a in outside:
        assert conjugate_by_lp(a, np.array([0.3, 0.2, 0.0]), 2) == np.inf


def test_erratum_1_with_the_printed_sign_the_gap_stalls():
    """At the solution of the multiclass hinge, P - D is 0 with the sign put right; with the printed
    one it is 2 mean beta.delta."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 4, 40)
    cost = rng.random((4, 4))
    np.fill_diagonal(cost, 0)
    loss = proxsdca.losses.MulticlassHinge(cost)
    r = proxsdca.solve(X, y, loss=loss, lam=0.1, tol=1e-8)
    alpha = r.alpha.toarray()
    conjugates = loss.conjugate(-alpha, y)
    delta = cost[:, y].T
    np.testing.assert_allclose(conjugates, np.sum(alpha * delta, axis=1), atol=1e-12)
    g_conj = 0.5 * np.sum((X.T @ alpha / (0.1 * 40)) ** 2)
    right, printed = (-np.mean(sign * conjugates) - 0.1 * g_conj for sign in (1, -1))
    assert r.primal - right == pytest.approx(r.gap, abs=1e-12)
    beta = np.eye(4)[y] - alpha
    assert r.primal - printed == pytest.approx(2 * np.mean(np.sum(beta * delta, axis=1)), abs=1e-6)


# ------------------------------------------------------------ 2


def half_square(v, p, c):
    """g*(v) = |v|_p^2 / (2 c), sigma = 0."""
    return np.linalg.norm(v, p) ** 2 / (2 * c)


def balanced(d):
    return np.where(np.arange(d) % 2, -1.0, 1.0)


def curvature(d, p, c):
    """The second derivative of g* at (1, ..., 1) along a balanced +-1 direction, |x|_inf = 1."""
    h, ones, x = 1e-4, np.ones(d), balanced(d)
    values = (half_square(ones + t * x, p, c) for t in (-h, 0, h))
    return np.dot([1, -2, 1], list(values)) / h**2


@pytest.mark.parametrize(("d", "expected"), [(8, 1.28), (100, 1.93), (10_000, 2.20)])
def test_erratum_2_the_papers_constant_is_not_a_smoothness_of_1(d, expected):
    p, c = np.log(d), 3 * np.log(d)
    assert theory.paper_constant(d) == (p, c)
    found = curvature(d, p, c)
    assert found == pytest.approx((p - 1) * np.e**2 / (3 * p), rel=1e-5)
    assert found == pytest.approx(expected, abs=0.006)
    for valid_p in (p, theory.default_p(d)):
        assert curvature(d, valid_p, theory.valid_constant(d, valid_p)) <= 1 + 1e-6


@pytest.mark.parametrize("d", [8, 9, 30, 300])
def test_erratum_2_the_constant_in_use_is_one(d):
    """g*(v + x) <= g*(v) + grad g*(v).x + |x|_inf^2 / 2, anywhere."""
    p = theory.default_p(d)
    c, rng = theory.valid_constant(d, p), np.random.default_rng(0)
    for _ in range(300):
        v = rng.normal(size=d) * 10.0 ** rng.uniform(-2, 2) * (rng.random(d) < rng.random())
        v = v + 10.0 ** rng.uniform(-2, 2)
        x = rng.choice([-1.0, 1.0], d) * (rng.random(d) < 0.5 + rng.random())
        norm = np.linalg.norm(v, p)
        slope = x @ (np.sign(v) * (np.abs(v) / norm) ** (p - 1)) * norm / c
        bound = half_square(v, p, c) + slope + 0.5
        assert half_square(v + x, p, c) <= bound * (1 + 1e-12)


def falling_step(d, lam_n=0.01):
    """Two rows, (1, ..., 1) with alpha = 1, so that v = 100 (1, ..., 1), and a balanced one."""
    return np.vstack([np.ones(d), balanced(d)]), np.array([1.0, -1.0]), np.array([1.0, 0.0]), lam_n


def rise(X, y, before, after, lam_n, p, c):
    """The rise of D for the hinge loss, sigma = 0, by NumPy alone."""
    n = len(y)
    duals = [
        y @ alpha / n - lam_n / n * half_square(X.T @ alpha / lam_n, p, c)
        for alpha in (before, after)
    ]
    return duals[1] - duals[0]


@pytest.mark.parametrize("d", [206, 1000, 10_000])
def test_erratum_2_option_I_with_the_papers_constant_lowers_the_dual(d):
    X, y, alpha, lam_n = falling_step(d)
    p, c = theory.paper_constant(d)
    # w = grad g*(v) has equal entries, so x.w = 0 and Option I moves b from 0 to lam n / |x|_inf^2
    literal = np.array([1.0, -lam_n])
    assert rise(X, y, alpha, literal, lam_n, p, c) < 0

    def package(reg):
        problem = Problem.from_arguments(X, y, "hinge", reg, lam_n / 2, 0.0, None)
        side, moved, v = RowSide(problem), alpha.copy(), np.zeros(d)
        side.load(moved, v)
        side.epoch(side.curvature(), moved, v, "I").run(np.array([1]))
        np.testing.assert_allclose(v, X.T @ moved / lam_n, rtol=1e-12)
        return rise(X, y, alpha, moved, lam_n, *reg.p_and_c(d)), moved

    by_default, moved = package(QNorm())
    assert by_default > 1e-3
    assert moved[1] == pytest.approx(-lam_n, rel=1e-6)
    checked, moved = package(QNorm(constant="paper"))
    assert checked > 0
    assert abs(moved[1]) < lam_n
    with_papers_p, _ = package(QNorm(p=np.log(d)))
    assert with_papers_p > 1e-3


# ------------------------------------------------------------ 3


@pytest.mark.parametrize("d", range(2, 8))
def test_erratum_3_the_papers_q_does_not_exist_below_8_features(d):
    q = np.log(d) / (np.log(d) - 1)
    assert not 1 < q <= 2
    p, c = theory.paper_constant(d)
    assert (p, c) == (theory.default_p(d), theory.valid_constant(d, p)) == (2.0, float(d))
    # from w = e_0 by h e_1, orthogonal to grad g(w), g must rise by h^2 / 2
    h = 1e-20
    for power, constant, valid in ((q, 3 * np.log(d), False), (2.0, d, True)):
        if power > 1:  # for d = 2 it is not even a norm
            rise_of_g = constant / 2 * np.expm1(2 / power * np.log1p(h**power))
            assert bool(rise_of_g >= h**2 / 2) is valid
    for constant in ("valid", "paper"):
        case = make("logistic", n=20, d=d)
        assert case.solve(reg=QNorm(constant=constant), tol=1e-4).converged


def test_erratum_3_from_8_features_on_it_does():
    for d in (8, 9, 100, 10**6):
        assert 1 < np.log(d) / (np.log(d) - 1) <= 2
        assert theory.paper_constant(d) == (np.log(d), 3 * np.log(d))


# ------------------------------------------------------------ 4


@pytest.mark.parametrize("option", ["III", "IV"])
@pytest.mark.parametrize("loss", ["hinge", "absolute", "logistic", "smooth_hinge", "huber"])
def test_erratum_4_s_is_clipped(loss, option):
    """With a large lam n the unclipped s leaves the domain of phi*, and D is -infinity."""
    kind = LOSSES[loss]()
    phi, b, m, y, q = formulas(kind), 0.2, -0.4, 1.0, 1e-3
    if kind.gamma > 0:
        m = -6.0
    u = -phi.slope(m, y)
    z = u - b
    excess = phi.value(m, y) + phi.conjugate(-b, y) + m * b
    s = (excess + kind.gamma / 2 * z**2) / (z**2 * (kind.gamma + q))
    assert s > 1
    assert phi.conjugate(-(b + s * z), y) == np.inf
    new = kind.step(b, m, y, q, option, q)
    assert new == pytest.approx(u)
    assert np.isfinite(phi.conjugate(-new, y))


@pytest.mark.parametrize("option", ["III", "IV", "IV-4L2"])
def test_erratum_4_z_of_zero_is_no_step(option):
    kind, b, m, y = LOSSES["hinge"](), 1.0, 0.5, 1.0  # u = 1 = b
    z = -formulas(kind).slope(m, y) - b
    with np.errstate(invalid="ignore"):
        assert np.isnan(np.float64(1 - m - b + m * b) / (np.float64(z) ** 2 * 0.1))
    assert kind.step(b, m, y, 0.1, option, 0.1) == b


# ------------------------------------------------------------ 5


def iterates(case, reg, lam, sigma, steps):
    """(w, alpha) at the steps 0 ... steps - 1, rows in turn, by Option I in NumPy."""
    X, y, n = case.X, case.y, len(case.y)
    phi, alpha = formulas(LOSSES[case.keywords["loss"]]()), np.zeros(n)
    for t in range(steps):
        i = t % n
        w = grad_conjugate(reg, X.T @ alpha / (lam * n), sigma / lam)
        yield w, alpha.copy()
        alpha[i] = phi.best(alpha[i], X[i] @ w, y[i], X[i] @ X[i] / (lam * n))


@pytest.mark.parametrize("reg", ["l2", "l1l2"])
def test_erratum_5_the_average_of_w_is_not_the_w_of_the_average(reg):
    n, d, lam, sigma = 20, 6, 0.02, 0.05 if reg == "l1l2" else 0.0
    case = make("hinge", reg, n=n, d=d, seed=3, density=1.0, lam=lam, sigma=sigma or None)
    w, alpha = (
        np.mean(part, axis=0) for part in zip(*iterates(case, reg, lam, sigma, 3 * n), strict=True)
    )
    r = case.solve(output="average", T0=0, order="cyclic", max_epochs=3, tol=0.0)
    np.testing.assert_allclose(r.w, w, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(r.alpha, alpha, rtol=1e-10, atol=1e-12)
    literal = grad_conjugate(reg, case.X.T @ alpha / (lam * n), sigma / lam)
    if reg == "l2":
        np.testing.assert_allclose(literal, w, rtol=1e-10)
    else:
        assert np.abs(literal - w).max() > 1e-2
        assert abs(case.certify(literal, alpha).gap - r.gap) > 1e-3
    # the theorem's argument: P is convex and D concave
    kind, ones = LOSSES["hinge"](), np.ones(n)
    gaps = [
        np.subtract(*objectives(case.X, case.y, kind, reg, lam, sigma / lam, ones, *pair))
        for pair in iterates(case, reg, lam, sigma, 3 * n)
    ]
    assert r.gap <= np.mean(gaps) + 1e-12


# ------------------------------------------------------------ 6


def test_erratum_6_B_is_the_mean_loss_at_zero_over_sigma():
    """One feature, x = 1, y = 10, sigma = 1: w* = 9, where the paper's B is 1/sigma = 1."""
    X, y, sigma, eps = np.ones((4, 1)), np.full(4, 10.0), 1.0, 0.1
    best = sigma * 10 - sigma**2 / 2
    assert 1 / sigma < 9 <= np.mean(y**2) / 2 / sigma

    def surrogate(B):  # the exact solution with lam = eps / B^2, and how far it is off
        w = 9 / (1 + eps / B**2)
        return (w - 10) ** 2 / 2 + sigma * w - best

    assert surrogate(1 / sigma) > 3 * eps
    assert surrogate(np.mean(y**2) / 2 / sigma) <= eps / 2
    keywords = {"loss": "squared", "sigma": sigma, "eps": eps, "tol": 0.0}
    for reg in ("l1", L1(geometry="l2"), L1(geometry="qnorm"), L1(method="literal", B=50.0)):
        r = proxsdca.solve(X, y, reg=reg, **keywords)
        assert r.converged
        assert r.primal - best <= eps
        assert np.abs(r.w).sum() <= r.primal / sigma  # any iterate bounds the next


# ------------------------------------------------------------ 7


def test_erratum_7_the_inner_target_is_half_of_epsilon():
    """x = 1, w* = 1 = B: an eps-solution of the surrogate need not be one of the l1 problem."""
    eps, sigma = 0.1, 0.5
    y, lam = 1 + sigma, eps

    def off(inner):  # the smallest w whose surrogate is within `inner` of its minimum
        w = 1 / (1 + lam) - np.sqrt(2 * inner / (1 + lam))
        return (w - y) ** 2 / 2 + sigma * w - (sigma**2 / 2 + sigma)

    assert off(eps) > 1.3 * eps
    assert off(eps / 2) < eps
    r = proxsdca.solve(
        np.ones((2, 1)), np.full(2, y), loss="squared", sigma=sigma, eps=eps, tol=0.0,
        reg=L1(geometry="l2", method="literal", B=1.0),
    )  # fmt: skip
    assert r.converged
    assert r.lam == lam
    assert r.primal - (sigma**2 / 2 + sigma) <= r.gap + r.rounding <= eps


def test_erratum_7_the_certificate_is_for_l1_and_survives_rounding():
    """The surrogate's own gap is for another problem, the plain l1 dual is often -infinity."""
    case = make("squared", "l1", n=30, d=8, seed=2, sigma=0.02)
    r = case.solve(tol=1e-6, side="rows", max_epochs=20_000)
    n, best = 30, r.dual
    alpha = case.y - case.X @ r.w
    assert np.abs(case.X.T @ alpha).max() / n > 0.02  # outside the plain dual's domain
    bounded = case.certify(r.w, alpha)
    assert np.isfinite(bounded.gap)
    assert bounded.dual <= best + r.gap + r.rounding
    # a surrogate with lam = 0.1 solved to 1e-9 says nothing of the l1 problem
    surrogate = case.solve(reg="l1l2", lam=0.1, tol=1e-9, max_epochs=5000)
    for_l1 = case.certify(surrogate.w, surrogate.alpha)
    assert surrogate.gap < 1e-8
    assert for_l1.primal - best > 1e-3
    assert for_l1.primal - best <= for_l1.gap + for_l1.rounding + r.gap


# ------------------------------------------------------------ 8


def test_erratum_8_the_logarithm_gets_the_suboptimality_at_zero():
    """Theorem 1's T as printed is too small where mean phi_i(0) is 7e7, not 1."""
    rng, n, lam, eps = np.random.default_rng(0), 40, 0.05, 1e-3
    X = rng.normal(size=(n, 6)) / np.sqrt(6)
    y = 1e4 * (X @ rng.normal(size=6) + 0.5 * rng.normal(size=n))
    R, start = np.sqrt(np.max(np.sum(X**2, axis=1))), np.mean(y**2) / 2

    def mean_gap(eps_D):
        epochs = int(np.ceil(theory.smooth_steps(n, R, lam, 1.0, eps, eps_D) / n))
        keywords = {"loss": "squared", "lam": lam, "option": "V", "order": "uniform", "tol": 0.0}
        return np.mean(
            [proxsdca.solve(X, y, seed=s, max_epochs=epochs, **keywords).gap for s in range(10)]
        )

    assert start > 1e6
    assert mean_gap(1.0) > 10 * eps
    assert mean_gap(start) <= eps


def test_erratum_8_t0_gets_it_too():
    """After t0 steps the proof needs exp(-t0/n) eps_D(0) <= G / (2 lam n)."""
    n, R, lam, L, eps = 100, 1.0, 1.0, 1.0, 1e3
    G = 4 * (R * L) ** 2
    for eps_D in (1.0, 50.0, 1e4):
        printed, in_use = (theory.lipschitz_steps(n, R, lam, L, eps, e)[0] for e in (1.0, eps_D))
        assert np.exp(-in_use / n) * eps_D <= G / (2 * lam * n) * (1 + 1e-12)
        assert eps_D == 1 or np.exp(-printed / n) * eps_D > G / (2 * lam * n)


# ------------------------------------------------------------ 9


def test_erratum_9_R_is_a_norm_of_the_geometry_in_use():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10, 30))
    y, lam = np.where(np.arange(10) % 2, 1.0, -1.0), 0.3

    def R_sq(reg):
        problem = Problem.from_arguments(X, y, "logistic", reg, lam, None, None)
        side = RowSide(problem)
        return side.epoch(side.curvature(), np.zeros(10), np.zeros(30), "IV").q_R * lam * 10

    by_l2, by_max = np.max(np.sum(X**2, axis=1)), np.max(np.abs(X)) ** 2
    assert R_sq("l2") == pytest.approx(by_l2)
    assert R_sq("l1l2") == pytest.approx(by_l2)
    assert R_sq(QNorm(constant="paper")) == pytest.approx(by_max)
    assert R_sq(QNorm()) <= by_max * (1 + 1e-9)  # the smoothness of g* itself, never above it


def test_erratum_9_another_norm_lowers_the_dual():
    """Option V on x = (1, ..., 1) with |x|_inf for R, where g is |w|^2 / 2."""
    d, lam, kind = 100, 0.01, LOSSES["squared"]()
    x, y = np.ones((1, d)), np.array([1.0])
    start = objectives(x, y, kind, "l2", lam, 0.0, np.ones(1), np.zeros(d), np.zeros(1))[1]
    for R_sq, rises in ((1.0, False), (float(d), True)):
        q = R_sq / lam
        moved = np.array([kind.step(0.0, 0.0, 1.0, q, "V", q)])
        dual = objectives(x, y, kind, "l2", lam, 0.0, np.ones(1), np.zeros(d), moved)[1]
        assert bool(dual > start) is rises


@pytest.mark.parametrize(
    ("loss", "gamma"),
    [("logistic", 4), ("squared", 1), ("huber", 1), ("squared_hinge", 0.5), ("hinge", 0)],
)
def test_erratum_9_gamma_is_the_losss_own(loss, gamma):
    """1/gamma is the steepest rise of the derivative: 1/4 for logistic, so gamma is 4, not 1/4."""
    kind = LOSSES[loss]()
    assert kind.gamma == gamma
    phi, h = formulas(kind), 1e-6
    z = np.linspace(-3, 3, 6001)
    rises = [(phi.slope(t + h, 1.0) - phi.slope(t - h, 1.0)) / (2 * h) for t in z]
    if gamma:
        assert max(rises) == pytest.approx(1 / gamma, rel=1e-4)
    else:
        assert max(rises) > 1e5


# ------------------------------------------------------------ 10


def test_erratum_10_the_random_output_is_one_of_T0_to_T_minus_1():
    """Rows in turn: iterate t has t entries of alpha that are not 0."""
    n, T0 = 6, 2
    case = make("squared", n=n, d=n, seed=1, density=1.0)
    seen = np.zeros(n + 1, int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(400):
            r = case.solve(output="random", T0=T0, order="cyclic", max_epochs=1, tol=0.0, seed=seed)
            seen[np.count_nonzero(r.alpha)] += 1
    assert seen[n] == 0  # the figure's T
    assert seen[:T0].sum() == 0
    assert seen[T0] > 0  # which the figure leaves out
    assert np.sum((seen[T0:n] - 100) ** 2 / 100) < 21  # chi^2 with 3 degrees, 1e-4


# ------------------------------------------------------------ 11


def test_erratum_11_with_the_constant_5_the_logarithm_changes_too():
    """G = (2R)^2, which is L = 1 here, needs t0 = n log(2 lam n / (2R)^2), n log 4 more steps."""
    n, R, lam, eps = 1000, 0.5, 1.0, 1e3
    G = (2 * R) ** 2
    t0, _ = theory.lipschitz_steps(n, R, lam, 1.0, eps)
    assert t0 == np.ceil(n * np.log(2 * lam * n / G))
    printed = np.ceil(n * np.log(0.5 * lam * n / G))
    assert t0 - printed == pytest.approx(n * np.log(4), abs=1)
    # what the proof needs at t0, with eps_D(0) = 1
    assert np.exp(-t0 / n) <= G / (2 * lam * n)
    assert np.exp(-printed / n) > 3.9 * G / (2 * lam * n)
    # with 4 (2R)^2, which is L = 2, the printed logarithm is right
    t0, _ = theory.lipschitz_steps(n, R, lam, 2.0, eps)
    assert t0 == printed
    # and far from t0 the 20 becomes a 5
    total = theory.lipschitz_steps(n, R, 1e-6, 1.0, 1e-3)[1] + 2 * n
    assert total == pytest.approx(5 * G / (1e-6 * 1e-3))
