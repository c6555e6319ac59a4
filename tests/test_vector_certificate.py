"""Certificates for vector-valued losses: exact gaps in rational and in 50-digit arithmetic."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import sparse
from vector_problems import LOSS_NAMES, VectorCase, dense, make, make_explicit, random_alpha

import proxsdca
from proxsdca.losses import MulticlassHinge, Softmax


def exact(values):
    return [[Fraction(float(x)) for x in row] for row in values]


def fractions_of_weights(weight, n):
    if weight is None:
        return [Fraction(1)] * n
    total = sum(Fraction(float(t)) for t in weight)
    return [n * Fraction(float(t)) / total for t in weight]


def into_domain(row, y, s):
    """alpha_i as it is certified: alpha_iy is minus the sum of the others, and at most s_i."""
    row = list(row)
    row[y] = -sum(a for j, a in enumerate(row) if j != y)
    return [a * s / row[y] for a in row] if row[y] > s else row


def hinge_certificate(X, y, w, alpha, delta, reg, lam, sigma, s, beta=None):
    """P(w), D(alpha) and the size of all that is summed, in rational arithmetic."""
    n, d, k = len(X), len(X[0]), len(w[0])
    beta = [Fraction(0)] * k if beta is None else [Fraction(float(t)) for t in beta]
    lam, sigma = Fraction(float(lam)), Fraction(float(sigma))
    primal = dual = size = Fraction(0)
    v = [[Fraction(0)] * k for _ in range(d)]
    reach = [[Fraction(0)] * k for _ in range(d)]
    for i in range(n):
        z = [sum(X[i][j] * w[j][c] for j in range(d)) + beta[c] for c in range(k)]
        spread = max(sum(abs(X[i][j] * w[j][c]) for j in range(d)) + abs(beta[c]) for c in range(k))
        primal += s[i] * max(delta[y[i]][c] - z[y[i]] + z[c] for c in range(k))
        size += s[i] * (max(delta[y[i]]) + 2 * spread)
        row = into_domain(alpha[i], y[i], s[i])
        for c in range(k):
            dual -= row[c] * delta[y[i]][c]
            size += abs(row[c] * delta[y[i]][c])
            for j in range(d):
                v[j][c] += X[i][j] * row[c]
                reach[j][c] += abs(X[i][j] * row[c])
    primal, dual, size = primal / n, dual / n, size / n
    kappa = sigma if reg == "l1l2" else Fraction(0)
    for j in range(d):
        for c in range(k):
            penalty = lam * w[j][c] ** 2 / 2 + kappa * abs(w[j][c])
            primal += penalty
            dual -= max(Fraction(0), abs(v[j][c]) / n - kappa) ** 2 / (2 * lam)
            size += penalty + (reach[j][c] / n) ** 2 / (2 * lam)
    return primal, dual, size


@pytest.mark.parametrize("form", ["shared", "csr", "offsets"])
def test_exact_gaps_of_the_multiclass_hinge(form, campaign):
    rng = np.random.default_rng(["shared", "csr", "offsets"].index(form))
    worst = 0.0
    for _ in range(3 * campaign(2000)):
        n, d, k = rng.integers(1, 6), rng.integers(1, 5), rng.integers(2, 6)
        X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4) * (rng.random((n, d)) < 0.8)
        y, w = rng.integers(0, k, n), rng.normal(size=(d, k)) * (rng.random((d, k)) < 0.8)
        cost = rng.random((k, k)) * 10.0 ** rng.integers(-2, 3)
        np.fill_diagonal(cost, 0)
        weight = rng.random(n) * (rng.random(n) < 0.8) + 0.1 * (np.arange(n) == 0)
        weight = weight if rng.random() < 0.5 else None
        s = fractions_of_weights(weight, n)
        alpha = random_alpha(rng, n, k, y, np.array(s, float))
        reg = ("l2", "l1l2")[rng.integers(2)]
        lam, sigma = 10.0 ** rng.uniform(-4, 2), 10.0 ** rng.uniform(-4, 1)
        loss = MulticlassHinge(cost, classes=np.arange(k))
        keywords = {"loss": loss, "reg": reg, "lam": lam, "sample_weight": weight}
        keywords["sigma"] = sigma if reg == "l1l2" else None
        case = VectorCase(X, y, keywords)
        certify_w, certify_alpha = w, alpha
        if form == "csr":
            case, certify_alpha = case.csr(), sparse.csr_array(alpha)
        if form == "offsets":
            Z = np.vstack([np.kron(x[:, None], np.eye(k)).T for x in X])
            case = VectorCase(Z, y, dict(keywords, loss=MulticlassHinge(cost[:, y].T.ravel())))
            case.keywords["offsets"] = np.arange(n + 1) * k
            certify_w, certify_alpha = w.ravel(), alpha.ravel()
        c = case.certify(certify_w, certify_alpha)
        primal, dual, size = hinge_certificate(
            exact(X), y, exact(w), exact(alpha), exact(cost.T), reg, lam, sigma, s
        )
        off = abs(Fraction(c.gap) - (primal - dual))
        assert off <= Fraction(c.rounding)
        assert primal >= dual
        assert c.rounding <= 1e-12 * size
        worst = max(worst, float(off / Fraction(c.rounding)))
    assert worst > 1e-3  # the bound is not idle


@pytest.mark.parametrize("offsets", [False, True])
def test_gaps_of_softmax_in_50_digits(offsets, campaign):
    rng = np.random.default_rng(int(offsets))
    mpmath.mp.dps = 50
    worst = 0.0
    for _ in range(2 * campaign(2000)):
        n, d, k = rng.integers(1, 5), rng.integers(1, 4), rng.integers(2, 5)
        X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 3)
        y, w = rng.integers(0, k, n), rng.normal(size=(d, k))
        weight = rng.random(n) + 0.1 if rng.random() < 0.5 else None
        s = [mpmath.mpf(t.numerator) / t.denominator for t in fractions_of_weights(weight, n)]
        alpha = random_alpha(rng, n, k, y, np.array(s, float))
        if rng.random() < 0.3:  # nearly at a corner
            alpha *= 10.0 ** -rng.uniform(5, 300)
        lam = 10.0 ** rng.uniform(-4, 2)
        keywords = {"loss": Softmax(None if offsets else np.arange(k)), "lam": lam}
        keywords["sample_weight"] = weight
        if offsets:
            Z = np.vstack([np.kron(x[:, None], np.eye(k)).T for x in X])
            case = VectorCase(Z, y, dict(keywords, offsets=np.arange(n + 1) * k))
            c = case.certify(w.ravel(), alpha.ravel())
        else:
            c = VectorCase(X, y, keywords).certify(w, alpha)
        primal = dual = mpmath.mpf(0)
        v = mpmath.zeros(int(d), int(k))
        for i in range(n):
            z = [mpmath.fsum(mpmath.mpf(X[i, j]) * w[j, m] for j in range(d)) for m in range(k)]
            primal += s[i] * (mpmath.log(mpmath.fsum(map(mpmath.exp, z))) - z[y[i]])
            row = into_domain([mpmath.mpf(a) for a in alpha[i]], y[i], s[i])
            beta = [(j == y[i]) - row[j] / s[i] for j in range(k)]
            dual -= s[i] * mpmath.fsum(b * mpmath.log(b) for b in beta if b > 0)
            for j in range(d):
                for m in range(k):
                    v[j, m] += mpmath.mpf(X[i, j]) * row[m] / n
        primal, dual = primal / n, dual / n
        primal += mpmath.mpf(lam) / 2 * mpmath.fsum(mpmath.mpf(t) ** 2 for t in w.ravel())
        dual -= mpmath.fsum(t**2 for t in v) / (2 * mpmath.mpf(lam))
        off = abs(mpmath.mpf(c.gap) - (primal - dual))
        assert off <= c.rounding
        worst = max(worst, float(off / c.rounding))
    assert worst > 1e-3


@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_the_gap_bounds_the_suboptimality_of_any_w(loss, explicit):
    case = (make_explicit if explicit else make)(loss, "l1l2", n=20, d=4, lam=0.1, sigma=0.01)
    best = case.solve(tol=1e-7, max_epochs=50_000)
    rng = np.random.default_rng(0)
    for _ in range(20):
        w = best.w + rng.normal(size=best.w.shape) * 10.0 ** rng.uniform(-6, 0)
        c = case.certify(w, best.alpha * rng.random())
        assert c.primal - best.dual <= c.gap + c.rounding + best.gap
        assert c.primal >= best.dual - best.rounding


@pytest.mark.filterwarnings("ignore::proxsdca.ConvergenceWarning")
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_what_is_returned_is_what_was_certified(loss):
    case = make(loss, "l2", n=50, d=5, k=4, lam=1e-4)
    for more in ({}, {"option": "II", "max_epochs": 30}, {"output": "best"}):
        r = case.solve(tol=1e-2, **more)
        c = case.certify(r.w, r.alpha)
        assert (c.primal, c.dual) == pytest.approx((r.primal, r.dual), rel=1e-14)
        assert dense(r.alpha).shape == (50, 4)
        assert not r.w.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            (r.alpha.data if sparse.issparse(r.alpha) else r.alpha)[0] = 1


def test_alphas_outside_the_domain_are_refused_with_their_place():
    case = make("softmax", n=5, d=2, k=3)
    alpha, w = np.zeros((5, 3)), np.zeros((2, 3))
    y = int(case.y[3])
    j = (y + 1) % 3
    alpha[3, j], alpha[3, y] = 0.2, -0.2
    with pytest.raises(ValueError, match=rf"alpha\[3, {j}\] = 0\.2: a number <= 0 is needed"):
        case.certify(w, alpha)
    alpha[3, j], alpha[3, y] = -0.2, 0.3
    with pytest.raises(ValueError, match=rf"alpha\[3, {y}\] = 0\.3: 0\.2 is needed"):
        case.certify(w, alpha)
    alpha[3, j], alpha[3, y] = -1.5, 1.5
    with pytest.raises(ValueError, match=rf"alpha\[3, {y}\] = 1\.5: at most 1\.0 is needed"):
        case.certify(w, sparse.csr_array(alpha))
    alpha[3, j], alpha[3, y] = -1, 1
    assert np.isfinite(case.certify(w, alpha).gap)
    with pytest.raises(ValueError, match=rf"alpha\[3, {y}\] = 1\.0: at most 0\.0 is needed"):
        case.certify(w, alpha, sample_weight=[1, 1, 1, 0, 1])
    explicit = make_explicit("softmax", n=5, d=2, widest=4)
    offsets = explicit.keywords["offsets"]
    flat = np.zeros(offsets[-1])
    i = int(np.argmax(np.diff(offsets) > 1))
    flat[offsets[i] + explicit.y[i]] = 0.5
    place = offsets[i] + explicit.y[i]
    with pytest.raises(ValueError, match=rf"alpha\[{place}\] = 0\.5: 0\.0 is needed"):
        explicit.certify(np.zeros(2), flat)


def test_certify_changes_nothing():
    case = make("multiclass_hinge", n=10, d=3)
    r = case.solve()
    w, alpha = np.array(r.w), dense(r.alpha)
    before = [case.X.copy(), case.y.copy(), w.copy(), alpha.copy()]
    case.certify(w, alpha)
    for old, new in zip(before, (case.X, case.y, w, alpha), strict=True):
        np.testing.assert_array_equal(old, new)


def test_numbers_that_overflow_are_refused_not_certified():
    case = make("softmax", n=6, d=3, k=3)
    with pytest.raises(proxsdca.NumericalError, match=r"rescale X|Rescale X"):
        case.with_X(case.X * 1e200).solve()
    with pytest.raises(proxsdca.NumericalError, match="Rescale X"):
        case.with_X(case.X * 1e300).certify(np.full((3, 3), 1e300), np.zeros((6, 3)))


@pytest.mark.parametrize("long", ["rows", "columns"])
def test_long_sums_keep_their_bound(long):
    """100,000 summands of one sign, whose plain sum would be off by more than the bound."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        n, d = (1, 100_000) if long == "rows" else (100_000, 1)
        X, w = rng.random((n, d)), rng.random((d, 2)) * 1e-2
        y = np.zeros(n, int)
        loss = MulticlassHinge(classes=[0, 1])
        alpha = np.column_stack([np.ones(n), -np.ones(n)]) * rng.random(n)[:, None]
        if long == "rows":
            alpha *= 0  # so that all rounding is that of P
        case = VectorCase(X, y, {"loss": loss, "lam": 1.0})
        c = case.certify(w, alpha)
        ws, As = exact(w), exact(alpha)
        if long == "rows":
            z = [sum(Fraction(x) * ws[j][m] for j, x in enumerate(X[0])) for m in range(2)]
            primal = max(Fraction(0), 1 + z[1] - z[0]) + sum(t * t for r in ws for t in r) / 2
            assert abs(Fraction(c.primal) - primal) <= Fraction(c.rounding)
        else:
            v = sum(Fraction(x) * a[0] for (x,), a in zip(X, As, strict=True)) / n
            dual = sum(a[0] for a in As) / n - v * v
            assert abs(Fraction(c.dual) - dual) <= Fraction(c.rounding)
        assert c.rounding < 1e-14 * (abs(c.primal) + abs(c.dual) + np.abs(X @ w).max())
