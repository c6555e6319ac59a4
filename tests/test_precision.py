"""The certificate of every loss in high precision, and what hostile readers found."""

import warnings

import mpmath
import numpy as np
import pytest
from problems import all_losses, make, targets, zero_gap_alpha

import proxsdca
from proxsdca.losses import LOSSES, EpsilonInsensitive, Huber, Poisson, SmoothHinge
from proxsdca.regularizers import L1L2, REGULARIZERS, Group, QNorm

mp = mpmath.mp.clone()
mp.dps = 60


def clamp(x, lo, hi):
    return max(lo, min(x, hi))


def exact_value(loss, z, y):
    t, r = 1 - y * z, abs(z - y)
    if loss.name == "hinge":
        return max(mp.mpf(0), t)
    if loss.name == "smooth_hinge":
        g = mp.mpf(loss.gamma)
        return mp.mpf(0) if t <= 0 else (t - g / 2 if t >= g else t**2 / (2 * g))
    if loss.name == "squared_hinge":
        return max(mp.mpf(0), t) ** 2
    if loss.name == "logistic":
        return mp.log1p(mp.exp(-y * z))
    if loss.name == "squared":
        return r**2 / 2
    if loss.name == "absolute":
        return r
    if loss.name == "quantile":
        tau = mp.mpf(loss.tau)
        return max(tau * (y - z), (tau - 1) * (y - z))
    if loss.name == "epsilon_insensitive":
        return max(mp.mpf(0), r - mp.mpf(loss.eps))
    if loss.name == "huber":
        d = mp.mpf(loss.delta)
        return r**2 / 2 if r <= d else d * (r - d / 2)
    if loss.name == "poisson":
        return mp.exp(z) - y * z + (y * mp.log(y) - y if y else 0)
    raise NotImplementedError(f"the exact value of {loss.name!r} is needed")


def exact_conjugate(loss, b, y):
    """phi*(-b)."""
    t = y * b
    if loss.name == "hinge":
        return -t
    if loss.name == "smooth_hinge":
        return -t + mp.mpf(loss.gamma) / 2 * t**2
    if loss.name == "squared_hinge":
        return -t + t**2 / 4
    if loss.name == "logistic":
        return sum(p * mp.log(p) for p in (t, 1 - t) if p > 0)
    if loss.name in ("squared", "huber"):
        return b**2 / 2 - y * b
    if loss.name in ("absolute", "quantile"):
        return -y * b
    if loss.name == "epsilon_insensitive":
        return -y * b + mp.mpf(loss.eps) * abs(b)
    if loss.name == "poisson":
        t = y - b
        return sum(s * (x * mp.log(x) - x) for s, x in ((1, t), (-1, y)) if x > 0)
    raise NotImplementedError(f"the exact conjugate of {loss.name!r} is needed")


def number(array):
    return np.vectorize(mp.mpf, otypes=[object])(array)


def exact_penalty(problem, w, u):
    """lam g(w) and lam g*(v), u = lam v; for l1 sigma |w|_1 and B [|u|_inf - sigma]_+."""
    reg, lam, sigma = problem.reg, mp.mpf(problem.lam), mp.mpf(problem.sigma)
    if reg.name == "group":
        norms = [
            (mp.norm(list(w[members])), mp.norm(list(u[members])), mp.mpf(float(c)))
            for members, c in zip(reg.groups, reg.weights, strict=True)
        ]
        value = sum(lam * t**2 / 2 + sigma * c * t for t, _, c in norms)
        return value, sum(max(mp.mpf(0), t - sigma * c) ** 2 for _, t, c in norms) / (2 * lam)
    c = number(np.ones(problem.d) if reg.l1_weights is None else reg.l1_weights)
    l1 = sigma * sum(c * abs(w))
    if reg.name == "l1":
        return l1, mp.mpf(problem.map.B) * max(mp.mpf(0), max(abs(u) / c) - sigma)
    over = [max(mp.mpf(0), abs(t) - sigma * k) for t, k in zip(u, c, strict=True)]
    p, constant = (mp.mpf(2), mp.mpf(1)) if reg.name == "l1l2" else map(mp.mpf, reg.p_and_c(len(w)))
    q = p / (p - 1)
    value = lam * constant / 2 * sum(abs(t) ** q for t in w if t) ** (2 / q)
    return value + l1, sum(t**p for t in over if t) ** (2 / p) / (2 * lam * constant)


def exact_gap(case, problem, w, alpha, weights):
    n = len(case.y)
    loss = problem.loss
    X, y, w, alpha = (number(a) for a in (case.X, case.y, w, alpha))
    s = [mp.mpf(1)] * n
    if weights is not None:
        exact = [mp.mpf(t) for t in weights]
        s = [n * t / sum(exact) for t in exact]
    ends = [tuple(mp.mpf(float(e)) for e in loss.domain(float(t))) for t in case.y]
    # a rounding of s_i may have put alpha_i outside: the certificate is for the nearest point
    b = [clamp(a / t, *end) if t else mp.mpf(0) for a, t, end in zip(alpha, s, ends, strict=True)]
    gap = (
        sum(
            t * (exact_value(loss, sum(x * w), yi) + exact_conjugate(loss, bi, yi))
            for t, x, yi, bi in zip(s, X, y, b, strict=True)
            if t
        )
        / n
    )
    u = sum(X[i] * (s[i] * b[i]) for i in range(n)) / n
    return gap + sum(exact_penalty(problem, w, u))


def random_regulariser(name, d, rng):
    """With weights, groups, p and constant as they come."""
    weights = rng.random(d) + 0.1 if rng.random() < 0.5 else None
    if name == "group":
        groups = np.split(rng.permutation(d), np.sort(rng.choice(np.arange(1, d), d // 3, False)))
        return Group(groups, rng.random(len(groups)) * (rng.random(len(groups)) < 0.8))
    if name == "qnorm":
        p = rng.choice([None, 2, 3, 2.5, 7, 40, 500])
        return QNorm(p, str(rng.choice(["valid", "paper"])), l1_weights=weights)
    return REGULARIZERS[name](l1_weights=weights)


def check_in_high_precision(loss, reg, n, d, columns, rng):
    case = make(loss, n=n, d=d, seed=int(rng.integers(2**31)))
    case.X *= 10.0 ** rng.integers(-2, 3)
    w = rng.normal(size=d) * (rng.random(d) < 0.8)
    case.y = targets(loss, case.X @ w, rng)
    if rng.random() < 0.3 and not loss.classification and loss.target_min < 0:
        case.y = case.X @ w  # fitted, up to rounding
    alpha = zero_gap_alpha(loss, n, case.y, rng)
    weights = rng.random(n) + 0.01 if rng.random() < 0.6 else None
    if weights is not None:
        alpha = alpha * (weights * n / weights.sum())
    case.keywords.update(
        reg=reg,
        lam=None if reg.name == "l1" else 10.0 ** rng.uniform(-3, 2),
        sigma=10.0 ** rng.uniform(-4, 0),
        sample_weight=weights,
    )
    problem = case.problem(columns)
    c = problem.evaluate(w, alpha, problem.room()).certificate
    exact = exact_gap(case, problem, w, alpha, weights)
    assert abs(mp.mpf(c.gap) - exact) <= mp.mpf(c.rounding)
    assert c.rounding <= max(1e-12 * (1 + abs(c.primal) + abs(c.dual)), 1e-3 * c.gap)
    return float(abs(mp.mpf(c.gap) - exact) / mp.mpf(c.rounding or 1))


@pytest.mark.parametrize("loss", all_losses(), ids=repr)
def test_exact_gap_of_every_loss(loss, campaign):
    rng = np.random.default_rng(5)
    for k in range(campaign(2000)):
        n, d = int(rng.integers(2, 7)), int(rng.integers(1, 5))
        check_in_high_precision(loss, L1L2(), n, d, bool(k % 2), rng)


@pytest.mark.parametrize("columns", [False, True], ids=["rows", "columns"])
@pytest.mark.parametrize("reg", ["qnorm", "group", "l1"])
def test_exact_gap_of_every_regulariser(reg, columns, campaign):
    """The whole certificate, up to d = 60, so that the sums over features count."""
    rng, losses, worst = np.random.default_rng([6, columns]), all_losses(), 0.0
    for k in range(campaign(4000)):
        n, d = int(rng.integers(2, 7)), int(rng.choice([2, 3, 8, 60]))
        regulariser = random_regulariser(reg, d, rng)
        loss = losses[k % len(losses)]
        worst = max(worst, check_in_high_precision(loss, regulariser, n, d, columns, rng))
    assert worst > 1e-4  # the bound is not idle


@pytest.mark.parametrize("columns", [False, True], ids=["rows", "columns"])
@pytest.mark.parametrize("loss", ["hinge", "logistic", "poisson"])
@pytest.mark.parametrize("shape", [(3, 1500), (1500, 3), (260, 260)])
def test_long_sums(loss, shape, columns, campaign):
    """Of more summands than a block of them has, plainly and, near the solution, with their errors
    carried along."""
    rng = np.random.default_rng([7, columns])
    for _ in range(campaign(100)):
        case = make(loss, n=shape[0], d=shape[1], seed=int(rng.integers(2**31)))
        scale = float(10.0 ** rng.integers(-2, 3))
        case.X *= scale
        w = rng.normal(size=shape[1]) / scale / shape[1] ** 0.5
        case.y = targets(proxsdca.losses.LOSSES[loss](), case.X @ w, rng)
        case.keywords.update(reg="l1l2", lam=scale**2, sigma=0.01 * scale)
        problem = case.problem(columns)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            end = case.solve(tol=1e-14, max_epochs=300)
        start = w, zero_gap_alpha(problem.loss, shape[0], case.y, rng)
        for point, alpha in (start, (end.w, end.alpha)):
            c = problem.evaluate(point, alpha, problem.room()).certificate
            exact = exact_gap(case, problem, point, alpha, None)
            assert abs(mp.mpf(c.gap) - exact) <= mp.mpf(c.rounding)
            assert c.rounding <= max(1e-13 * (abs(c.primal) + abs(c.dual)), 1e-3 * c.gap)


@pytest.mark.parametrize(
    ("loss", "y", "weights", "alpha"),
    [
        (
            "poisson", [1.0, 1.0, 1.0],
            [0.6354759195027944, 0.6998088360130768, 0.9789972797660185],
            [0.8237663903726284, 0.9071610443467443, 1.2690725652806243],
        ),
        (
            "logistic", [1.0, 1.0, -1.0],
            [0.3304319410736952, 0.33553616109288986, 0.5695584413297985],
            [0.8023266100102097, 0.8147202409995129, -1.3829531489902755],
        ),
    ],
)  # fmt: skip
def test_the_rounding_of_weights_counts(loss, y, weights, alpha):
    """alpha at the end of its domain, where phi* is steep."""
    case = make(loss, "l1l2", n=3, d=1, lam=1.0, sigma=0.0)
    case.X, case.y = np.zeros((3, 1)), np.array(y)
    c = case.certify([0.0], alpha, sample_weight=weights)
    exact = exact_gap(case, case.problem(), np.zeros(1), np.array(alpha), weights)
    assert abs(mp.mpf(c.gap) - exact) <= mp.mpf(c.rounding)


def test_underflow_counts():
    """lam w^2 where w^2 underflows, and targets whose square does."""
    with pytest.warns(proxsdca.ConvergenceWarning):
        r = proxsdca.solve([[1e150]], [1e-20], loss="squared", lam=1e280, tol=1e-6)
    assert r.gap >= -r.rounding
    with pytest.warns(proxsdca.ConvergenceWarning):
        r = proxsdca.solve([[1.0], [1.0]], [1e-165, 2e-165], loss="squared", max_epochs=0)
    assert r.rounding > 0
    assert not r.converged


def test_lam_n_must_be_a_normal_number():
    y = np.array([1.0, -1] * 5)
    for lam in (1e308, 5e-300):
        with pytest.raises(ValueError, match=r"lam = .*lam n"):
            proxsdca.solve(y[:, None], y, lam=lam)
    for weights in ([1e308] * 10, [1e-320] * 10):
        with pytest.raises(ValueError, match=r"sum\(sample_weight\)"):
            proxsdca.solve(y[:, None], y, sample_weight=weights)


def test_natural_weighted_alphas_are_accepted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = rng.choice([-1.0, 1.0], 200)
    for _ in range(100):
        weights = rng.random(200)
        s = weights * 200 / weights.sum()
        c = proxsdca.certify(X, y, np.zeros(3), s * y, sample_weight=weights)
        assert c.dual <= c.primal
        with pytest.raises(ValueError, match=r"alpha\[0\]"):
            proxsdca.certify(X, y, np.zeros(3), 1.0001 * s * y, sample_weight=weights)


def test_overflow_inside_the_domain_is_not_called_infeasible():
    with pytest.raises(proxsdca.NumericalError, match="row"):
        proxsdca.certify([[1.0], [1.0]], [1.0, 2.0], [0.0], [1e200, 0], loss="squared")


@pytest.mark.parametrize(
    ("X", "y", "loss"),
    [
        ([[2.0], [3.0]], [0.01, -0.02], EpsilonInsensitive(0.1)),
        ([[2.0], [3.0]], [1.0, 1.0], Poisson()),
        ([[2.0], [3.0]], [0.0, 0.0], Huber()),
    ],
)
def test_an_exact_optimum_is_called_converged(X, y, loss):
    r = proxsdca.solve(X, y, loss=loss)
    assert r.converged
    assert r.primal == r.gap == r.rounding == 0


def test_rounding_does_not_grow_with_parameters_that_do_not_matter():
    case = make("squared", n=50, d=5)
    with_large = case.solve(loss=Huber(1e12), tol=1e-8)
    assert with_large.converged
    assert with_large.rounding < 1e-13
    classes = make("hinge", n=50, d=5)
    assert classes.solve(loss=SmoothHinge(1e6), tol=1e-8).converged


@pytest.mark.parametrize("loss", ["logistic", "poisson"])
def test_option_I_against_a_root_in_high_precision(loss, campaign):
    """Curvatures from 1e-300 to 1e300, margins to 1e8, dual variables at the ends."""
    rng = np.random.default_rng(1)
    kind = LOSSES[loss]()
    for _ in range(campaign(20_000)):
        q = 10.0 ** rng.uniform(-300, 300)
        y = 1.0 if kind.classification else float(rng.integers(0, 4))
        m = float(rng.choice([0.0, rng.normal() * 5, rng.uniform(-1e8, 1e8), 1e8, -1e8]))
        lower, upper = kind.domain(y)
        b = float(rng.choice([max(lower, -3), min(upper, 3), rng.random() * upper]))
        new = kind.step(b, m, y, q)
        assert lower <= new <= upper
        u = mp.mpf(m), mp.mpf(b), mp.mpf(q)
        # the sign of the derivative of the one-dimensional cost just beside the new b
        for side in (-1, 1):
            room = abs(new) + abs(b) + (0 if kind.classification else y)
            beside = mp.mpf(new) + side * (mp.mpf(room) * mp.mpf("2e-15") + mp.mpf("1e-320"))
            if not lower < beside < upper:
                continue
            odds = beside / (1 - beside) if kind.classification else 1 / (y - beside)
            slope = mp.log(odds)
            slope += u[0] + u[2] * (beside - u[1])
            noise = (abs(u[0]) + u[2] * mp.mpf(room)) * mp.mpf("1e-15")
            assert side * slope > -noise


def test_a_huge_row_does_not_lower_the_dual():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)) * 1e60, np.r_[-np.ones(10), np.ones(10)]
    for loss in ("logistic", "hinge", "smooth_hinge"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", proxsdca.ConvergenceWarning)
            r = proxsdca.solve(X, y, loss=loss, max_epochs=100, tol=1e-2)
        assert r.dual >= -r.rounding
