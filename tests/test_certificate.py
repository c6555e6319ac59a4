"""The certificate: exact gaps in rational arithmetic, and what it refuses."""

from fractions import Fraction

import numpy as np
import pytest
from numpy_twin import objectives
from problems import LOSS_NAMES, REG_NAMES, all_losses, make, zero_gap_alpha

import proxsdca

RATIONAL = ("hinge", "squared", "absolute")


def exact_gap(X, y, w, alpha, loss, lam, sigma, s):
    """P(w) - D(alpha) in rational arithmetic, and the same with the size of every product."""
    n, d = X.shape
    X = [[Fraction(x) for x in row] for row in X]
    y, w, alpha = ([Fraction(t) for t in vector] for vector in (y, w, alpha))
    lam, sigma = Fraction(lam), Fraction(sigma)
    gap = size = Fraction(0)
    for i in range(n):
        products = [x * t for x, t in zip(X[i], w, strict=True)]
        m, reach = sum(products), sum(map(abs, products))
        if loss == "hinge":
            assert 0 <= y[i] * alpha[i] <= s[i]
            gap += s[i] * max(Fraction(0), 1 - y[i] * m) - y[i] * alpha[i]
            size += s[i] * (1 + reach) + abs(alpha[i])
        elif loss == "squared":
            gap += s[i] * (m - y[i]) ** 2 / 2 - y[i] * alpha[i]
            size += s[i] * (reach + abs(y[i])) ** 2 / 2 + abs(y[i] * alpha[i])
            if s[i]:
                gap += alpha[i] ** 2 / (2 * s[i])
                size += alpha[i] ** 2 / (2 * s[i])
        else:
            assert abs(alpha[i]) <= s[i]
            gap += s[i] * abs(m - y[i]) - y[i] * alpha[i]
            size += s[i] * (reach + abs(y[i])) + abs(y[i] * alpha[i])
    gap, size = gap / n, size / n
    for j in range(d):
        penalty = lam * w[j] ** 2 / 2 + sigma * abs(w[j])
        v = sum(X[i][j] * alpha[i] for i in range(n)) / (lam * n)
        reach = sum(abs(X[i][j] * alpha[i]) for i in range(n)) / (lam * n)
        gap += penalty + lam * max(Fraction(0), abs(v) - sigma / lam) ** 2 / 2
        size += penalty + lam * reach**2 / 2
    return gap, size


def random_pair(rng):
    """A small problem with a pair (w, alpha), nearly fitted targets among them."""
    loss = RATIONAL[rng.integers(3)]
    reg = REG_NAMES[rng.integers(len(REG_NAMES))]
    n, d = rng.integers(1, 9), rng.integers(1, 9)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4) * (rng.random((n, d)) < 0.8)
    w = rng.normal(size=d) * (rng.random(d) < 0.8)
    near = rng.random() < 0.5
    if loss == "hinge":
        n, X = n + 1, np.vstack([X, X[:1]])
        y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
        y[0], y[-1] = 1, -1
        if near and (norm := X[0] @ w):
            w = w / abs(norm) * rng.choice([1, 1 - 1e-12])  # margins of 1, up to rounding
    else:
        y = X @ w if near else rng.normal(size=n)
    problem = proxsdca.losses.LOSSES[loss]()
    alpha = zero_gap_alpha(problem, n, y, rng)
    weights = None
    s = [Fraction(1)] * n
    if rng.random() < 0.5:
        weights = rng.random(n) * (rng.random(n) < 0.8)
        weights[0] += 0.1
        total = sum(map(Fraction, weights))
        s = [n * Fraction(t) / total for t in weights]
        alpha = alpha * np.array(s, float) * (1 - 1e-15)  # inside the domain in exact arithmetic
    keywords = {
        "loss": loss,
        "reg": reg,
        "lam": 10.0 ** rng.uniform(-4, 2),
        "sigma": None if reg == "l2" else 10.0 ** rng.uniform(-4, 1),
        "sample_weight": weights,
    }
    return X, y, w, alpha, s, keywords


@pytest.mark.parametrize("block", range(5))
def test_exact_gap_lies_within_rounding(block, campaign):
    """10,000 pairs in full; CI sees a tenth of them, as they are quick."""
    rng = np.random.default_rng(block)
    worst = 0.0
    for _ in range(10 * campaign(2000)):
        X, y, w, alpha, s, keywords = random_pair(rng)
        c = proxsdca.certify(X, y, w, alpha, **keywords)
        gap, size = exact_gap(
            X, y, w, alpha, keywords["loss"], keywords["lam"], keywords["sigma"] or 0, s
        )
        assert abs(Fraction(c.gap) - gap) <= Fraction(c.rounding)
        assert gap >= 0
        assert c.rounding <= 1e-13 * size
        worst = max(worst, float(abs(Fraction(c.gap) - gap) / Fraction(c.rounding or 1)))
    assert worst > 1e-3  # the bound is not idle


@pytest.mark.parametrize("reg", REG_NAMES)
@pytest.mark.parametrize("loss", all_losses(), ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_against_the_twin(loss, reg, weighted):
    rng = np.random.default_rng(3)
    case = make(loss, reg, n=25, d=6, seed=4, lam=0.05)
    weight = rng.random(25) * (rng.random(25) < 0.8) if weighted else np.ones(25)
    s = weight * 25 / weight.sum()
    alpha, w = zero_gap_alpha(loss, 25, case.y, rng) * s, rng.normal(size=6)
    sigma = 0.0 if reg == "l2" else 0.02
    case.keywords.update(sigma=None if reg == "l2" else sigma)
    c = case.certify(w, alpha, sample_weight=weight if weighted else None)
    primal, dual = objectives(case.X, case.y, loss, reg, 0.05, sigma / 0.05, s, w, alpha)
    assert c.primal == pytest.approx(primal, rel=1e-12)
    assert c.dual == pytest.approx(dual, rel=1e-12)
    assert c.gap == c.primal - c.dual
    assert c.gap >= -c.rounding
    assert 0 < c.rounding < 1e-12


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_the_gap_bounds_the_suboptimality_of_any_w(loss):
    case = make(loss, "l1l2", n=20, d=4, lam=0.1, sigma=0.01)
    best = case.solve(tol=1e-9, max_epochs=20000)
    rng = np.random.default_rng(0)
    for _ in range(20):
        w = best.w + rng.normal(size=4) * 10.0 ** rng.uniform(-6, 0)
        alpha = best.alpha * rng.random()
        c = case.certify(w, alpha)
        assert c.primal - best.dual <= c.gap + c.rounding + best.gap
        assert c.primal >= best.dual - best.rounding


def test_an_alpha_outside_the_domain_is_refused_with_the_interval():
    case = make("hinge", n=5, d=2)
    alpha = np.zeros(5)
    alpha[3] = -1.5 * case.y[3]
    with pytest.raises(ValueError, match=r"alpha\[3\] = -?1\.5 is outside the domain \["):
        case.certify(np.zeros(2), alpha)
    alpha[3] = np.nextafter(1.0, 2) * case.y[3]
    with pytest.raises(ValueError, match=r"alpha\[3\]"):
        case.certify(np.zeros(2), alpha)
    alpha[3] = case.y[3]
    assert np.isfinite(case.certify(np.zeros(2), alpha).gap)


def test_weight_zero_forces_alpha_zero():
    case = make("squared", n=5, d=2)
    weight = np.array([1.0, 1, 0, 1, 1])
    alpha = np.full(5, 0.1)
    with pytest.raises(ValueError, match=r"alpha\[2\] = 0\.1 is outside the domain \[0\.0, 0\.0\]"):
        case.certify(np.zeros(2), alpha, sample_weight=weight)


def test_ends_of_the_domain_survive_the_weights():
    """alpha = s tau may round past s tau when it is divided by s again."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 2)) * 1e-3, rng.normal(size=500)
    for tau in (0.1, 0.3, 0.7):
        r = proxsdca.solve(
            X, y, loss=proxsdca.losses.Quantile(tau), sample_weight=rng.random(500), lam=10.0
        )
        assert r.converged
        assert np.mean(np.isin(r.alpha, [tau, tau - 1])) < 0.5 < np.mean(np.abs(r.alpha) > 0)


def test_wrong_shapes():
    case = make(n=5, d=2)
    with pytest.raises(ValueError, match=r"w has shape \(3,\)"):
        case.certify(np.zeros(3), np.zeros(5))
    with pytest.raises(ValueError, match=r"alpha has shape \(4,\)"):
        case.certify(np.zeros(2), np.zeros(4))
    with pytest.raises(ValueError, match=r"w\[1\] = nan"):
        case.certify([0, np.nan], np.zeros(5))


def test_certify_changes_nothing():
    case = make(n=10, d=3)
    w, alpha = np.ones(3), np.zeros(10)
    before = [case.X.copy(), case.y.copy(), w.copy(), alpha.copy()]
    case.certify(w, alpha)
    for old, new in zip(before, (case.X, case.y, w, alpha), strict=True):
        np.testing.assert_array_equal(old, new)
