"""The certificate: exact gaps in rational arithmetic, and what it refuses."""

from fractions import Fraction

import numpy as np
import pytest
from numpy_twin import objectives
from problems import LOSS_NAMES, REG_NAMES, Case, all_losses, make, zero_gap_alpha
from scipy import sparse

import proxsdca
from proxsdca import NumericalError, losses
from proxsdca.regularizers import REGULARIZERS, Group

RATIONAL = ("hinge", "squared", "absolute", "squared_hinge")
RATIONAL_REGS = ("l2", "l1l2", "l1")


def exact_certificate(X, y, w, alpha, loss, reg, lam, sigma, c, s, B=None, beta=0.0):
    """P(w) and D(alpha) in rational arithmetic, and their sum with the size of every product.

    For l1 it is D_B, by default with the B = P(w) / sigma that w proves (ERRATA 6, 7). Where there
    is an intercept, beta, alpha has to add up to 0.
    """
    n, d = X.shape
    X = [[Fraction(x) for x in row] for row in X]
    y, w, alpha, c = ([Fraction(t) for t in vector] for vector in (y, w, alpha, c))
    lam, sigma = Fraction(lam), Fraction(sigma)
    primal = dual = size = Fraction(0)
    for i in range(n):
        products = [x * t for x, t in zip(X[i], w, strict=True)]
        products.append(Fraction(beta))
        m, reach = sum(products), sum(map(abs, products))
        dual += y[i] * alpha[i]
        if loss in ("squared", "squared_hinge") and s[i]:
            conjugate = alpha[i] ** 2 / (s[i] * (2 if loss == "squared" else 4))
            dual -= conjugate
            size += conjugate
        if loss == "hinge":
            assert 0 <= y[i] * alpha[i] <= s[i]
            primal += s[i] * max(Fraction(0), 1 - y[i] * m)
            size += s[i] * (1 + reach) + abs(alpha[i])
        elif loss == "squared_hinge":
            assert y[i] * alpha[i] >= 0
            primal += s[i] * max(Fraction(0), 1 - y[i] * m) ** 2
            size += s[i] * (1 + reach) ** 2 + abs(alpha[i])
        elif loss == "squared":
            primal += s[i] * (m - y[i]) ** 2 / 2
            size += s[i] * (reach + abs(y[i])) ** 2 / 2 + abs(y[i] * alpha[i])
        else:
            assert abs(alpha[i]) <= s[i]
            primal += s[i] * abs(m - y[i])
            size += s[i] * (reach + abs(y[i])) + abs(y[i] * alpha[i])
    primal, dual, size = primal / n, dual / n, size / n
    u = [sum(X[i][j] * alpha[i] for i in range(n)) / n for j in range(d)]
    reach = [sum(abs(X[i][j] * alpha[i]) for i in range(n)) / n for j in range(d)]
    penalty = sum(sigma * c[j] * abs(w[j]) for j in range(d))
    if reg != "l1":
        penalty += sum(lam * t**2 / 2 for t in w)
    primal += penalty
    size += penalty
    if reg == "l1":
        B = primal / sigma if B is None else Fraction(B)
        dual -= B * max(Fraction(0), max(abs(t) / k for t, k in zip(u, c, strict=True)) - sigma)
        # B is as large as P is, and as uncertain as its summands are large
        size += size / sigma * (sigma + max(t / k for t, k in zip(reach, c, strict=True)))
    else:
        dual -= sum(
            max(Fraction(0), abs(t) - sigma * k) ** 2 / (2 * lam) for t, k in zip(u, c, strict=True)
        )
        size += sum(t**2 for t in reach) / (2 * lam)
    return primal, dual, size


def random_pair(rng):
    """A small problem with a pair (w, alpha), nearly fitted targets among them."""
    loss = RATIONAL[rng.integers(len(RATIONAL))]
    reg = RATIONAL_REGS[rng.integers(len(RATIONAL_REGS))]
    n, d = rng.integers(1, 9), rng.integers(1, 9)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4) * (rng.random((n, d)) < 0.8)
    w = rng.normal(size=d) * (rng.random(d) < 0.8)
    near = rng.random() < 0.5
    kind = proxsdca.losses.LOSSES[loss]()
    if kind.classification:
        n, X = n + 1, np.vstack([X, X[:1]])
        y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
        y[0], y[-1] = 1, -1
        if near and (norm := X[0] @ w):
            w = w / abs(norm) * rng.choice([1, 1 - 1e-12])  # margins of 1, up to rounding
    else:
        y = X @ w if near else rng.normal(size=n)
    alpha = zero_gap_alpha(kind, n, y, rng)
    weights, c = None, np.ones(d)
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
        "lam": None if reg == "l1" else 10.0 ** rng.uniform(-4, 2),
        "sigma": None if reg == "l2" else 10.0 ** rng.uniform(-4, 1),
        "sample_weight": weights,
    }
    if reg != "l2" and rng.random() < 0.3:
        c = rng.random(d) + 0.1
        keywords["reg"] = REGULARIZERS[reg](l1_weights=c)
    exact = loss, reg, keywords["lam"] or 0, keywords["sigma"] or 0, c, s
    return Case(X, y, keywords), w, alpha, exact


def check_exactly(case, problem, w, found, exact):
    """The evaluation of (w, found.alpha) against rational arithmetic; how much of its rounding
    it needs."""
    c = found.certificate
    primal, dual, size = exact_certificate(case.X, case.y, w, found.alpha, *exact)
    assert abs(Fraction(c.primal) - primal) <= Fraction(found.error_primal)
    assert Fraction(c.dual) - dual <= Fraction(found.error_dual)
    assert primal - dual <= Fraction(c.gap) + Fraction(c.rounding)
    assert primal >= dual
    off = abs(Fraction(c.gap) - (primal - dual))
    assert off <= Fraction(c.rounding)
    assert c.rounding <= 1e-13 * size
    return float(off / Fraction(c.rounding or 1))


@pytest.mark.parametrize("columns", [False, True], ids=["rows", "columns"])
@pytest.mark.parametrize("block", range(3))
def test_exact_gap_lies_within_rounding(block, columns, campaign):
    """120,000 pairs in full, a hundredth of them by default."""
    rng = np.random.default_rng([block, columns])
    worst = 0.0
    for _ in range(10 * campaign(2000)):
        case, w, alpha, exact = random_pair(rng)
        problem = case.problem(columns)
        found = problem.evaluate(w, alpha, problem.room())
        if not columns:
            assert found.certificate == case.certify(w, alpha)
        worst = max(worst, check_exactly(case, problem, w, found, exact))
    assert worst > 1e-3  # the bound is not idle


@pytest.mark.parametrize("columns", [False, True], ids=["rows", "columns"])
def test_a_rescaled_alpha_is_certified_as_such(columns, campaign):
    """For l1 the dual may be that of c alpha, c in [0, 1], where it is larger."""
    rng, shrunk = np.random.default_rng(9), 0
    for _ in range(10 * campaign(1000)):
        case, w, alpha, exact = random_pair(rng)
        if exact[1] != "l1":
            continue
        problem = case.problem(columns)
        plain = problem.evaluate(w, alpha, problem.room())
        found = problem.evaluate(w, alpha, problem.room(), rescale=True)
        np.testing.assert_allclose(found.alpha, alpha * found.shrink, rtol=1e-14)
        assert 0 <= found.shrink <= 1
        assert found.primal == plain.primal
        assert found.dual >= plain.dual - plain.error_dual - found.error_dual
        check_exactly(case, problem, w, found, exact)
        shrunk += found.shrink < 1
    assert shrunk > 5


@pytest.mark.parametrize("reg", REG_NAMES)
@pytest.mark.parametrize("loss", all_losses(), ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_against_the_twin(loss, reg, weighted):
    rng = np.random.default_rng(3)
    case = make(loss, reg, n=25, d=11, seed=4, lam=0.05)
    weight = rng.random(25) * (rng.random(25) < 0.8) if weighted else np.ones(25)
    s = weight * 25 / weight.sum()
    alpha, w = zero_gap_alpha(loss, 25, case.y, rng) * s, rng.normal(size=11)
    sigma = 0.0 if reg == "l2" else 0.02
    case.keywords.update(sigma=None if reg == "l2" else sigma)
    c = case.certify(w, alpha, sample_weight=weight if weighted else None)
    primal, dual = objectives(case.X, case.y, loss, reg, 0.05, sigma / 0.05, s, w, alpha)
    assert c.primal == pytest.approx(primal, rel=1e-12)
    assert c.dual == pytest.approx(dual, rel=1e-12)
    assert c.gap == c.primal - c.dual
    assert c.gap >= -c.rounding
    assert 0 < c.rounding < 1e-12
    columns = case.evaluate(w, alpha, True, sample_weight=weight if weighted else None)
    assert columns.primal == pytest.approx(primal, rel=1e-12)
    assert columns.dual == pytest.approx(dual, rel=1e-12)


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


BIG = 1.5e308


@pytest.mark.parametrize(
    ("X", "y", "w", "alpha", "how"),
    [
        (
            [[BIG, BIG, -BIG, -1e308], [1, 1, 1, 1]], [0, 2], np.eye(3)[[1] * 4], np.zeros((2, 3)),
            {"loss": loss(classes=[0, 1, 2]), "lam": 1e-3},
        )
        for loss in (losses.Softmax, losses.MulticlassHinge)
    ] + [
        ([[BIG, 0], [BIG, 0]], [1, 1], np.zeros(2), [1, 1], {"loss": loss, "reg": "l1", "sigma": 1})
        for loss in ("squared", "absolute")
    ] + [
        (
            [[BIG, 0, 0, 0], [-BIG, 0, 0, 0]], [1, -1], np.zeros(4), [1, -1],
            {"loss": "hinge", "reg": Group([0, 0, 1, 1]), "lam": 1.0},
        ),
    ],
)  # fmt: skip
def test_sums_that_overflow_on_the_way_prove_nothing(X, y, w, alpha, how):
    """Their NaN is one that a maximum would pass over."""
    with pytest.raises(NumericalError, match="overflow"):
        proxsdca.certify(np.array(X, float), np.array(y, float), w, np.array(alpha, float), **how)


def test_entries_that_stand_twice_are_added_up_in_double_precision():
    rng = np.random.default_rng(0)
    X = sparse.csc_array(
        (rng.normal(size=4000).astype(np.float32), np.repeat(np.arange(2000) % 50, 2),
         np.arange(0, 4001, 400)), shape=(50, 10),
    )  # fmt: skip
    y = rng.normal(size=50)
    r = proxsdca.solve(X, y, loss="squared", lam=0.1, side="columns", tol=1e-10)
    c = proxsdca.certify(X.tocsr(copy=True), y, r.w, r.alpha, loss="squared", lam=0.1)
    assert abs(c.gap - r.gap) <= c.rounding + r.rounding
