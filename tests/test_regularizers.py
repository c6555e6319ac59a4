"""grad g*, g and g* of every regulariser, against numerical ones, and the sums that are kept."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy_twin import curvature, g, g_conjugate, grad_conjugate
from problems import REG_NAMES, Case, make, regulariser
from scipy import sparse
from scipy.optimize import brentq, minimize, minimize_scalar
from scipy.special import logsumexp

import proxsdca
from proxsdca import _validate
from proxsdca._core.regs import gradient
from proxsdca._side import RowSide
from proxsdca.regularizers import L1L2, REGULARIZERS, Group, QNorm

BOTH = (ValueError, TypeError)
vectors = arrays(float, 4, elements=st.floats(-5, 5))
KINDS = {
    "qnorm": QNorm(),
    "odd p": QNorm(3),
    "fractional p": QNorm(2.7),
    "p = 2": QNorm(2),
    "large p": QNorm(500),
    "paper": QNorm(constant="paper"),
    "paper with p": QNorm(5.5, "paper"),
}
QNORMS = pytest.mark.parametrize("reg", KINDS.values(), ids=KINDS.keys())


def mapped(reg, v, lam, sigma):
    w = np.empty_like(v)
    gradient(reg.map(lam, sigma, len(v)), np.array(v), w)
    return w


def made(name, d):
    """The regulariser of that name for d features."""
    reg = regulariser(name, d)
    return REGULARIZERS[reg]() if isinstance(reg, str) else reg


# ------------------------------------------------------- laws of all of them


@given(st.sampled_from(REG_NAMES), vectors, st.floats(0.1, 10), st.floats(0, 3))
def test_gradient_against_a_numerical_minimiser(name, v, lam, sigma):
    """w minimises g(w) - v^T w: no coordinate, and no direction, leads any lower."""
    w, kappa = mapped(made(name, 4), v, lam, sigma), sigma / lam
    first = np.array([1, 1, 0, 0])
    for direction in (*np.eye(4), v, v * first, v * (1 - first)):  # with those of the groups
        found = minimize_scalar(
            lambda t, a=direction: g(name, w + t * a, kappa) - (w + t * a) @ v,
            bounds=(-6, 6), method="bounded", options={"xatol": 1e-10},
        )  # fmt: skip
        assert found.fun >= g(name, w, kappa) - w @ v - 1e-10


@given(st.sampled_from(REG_NAMES), vectors, vectors, st.floats(0.1, 10), st.floats(0, 3))
def test_fenchel_young_with_equality_at_the_gradient(name, v, other, lam, sigma):
    kappa = sigma / lam
    w = mapped(made(name, 4), v, lam, sigma)
    assert g(name, w, kappa) + g_conjugate(name, v, kappa) == pytest.approx(w @ v, abs=1e-9)
    assert g(name, other, kappa) + g_conjugate(name, v, kappa) >= other @ v - 1e-9


@given(st.sampled_from(REG_NAMES), vectors, vectors, st.floats(0.1, 10), st.floats(0, 3))
def test_conjugate_is_one_smooth(name, v, change, lam, sigma):
    """(hbound): g*(v + dv) <= g*(v) + grad g*(v)^T dv + |dv|_D'^2 / 2."""
    kappa = sigma / lam
    bound = g_conjugate(name, v, kappa) + grad_conjugate(name, v, kappa) @ change
    assert g_conjugate(name, v + change, kappa) <= bound + curvature(name, change) / 2 + 1e-9


# ---------------------------------------------------------------- the q-norm


def soft(v, kappa):
    return np.sign(v) * np.maximum(np.abs(v) - kappa, 0)


def q_norm(w, q):
    peak = np.abs(w).max()
    return 0.0 if peak == 0 else peak * np.sum((np.abs(w) / peak) ** q) ** (1 / q)


def p_conjugate(reg, v, kappa):
    """g*(v)."""
    p, c = reg.p_and_c(len(v))
    return q_norm(soft(v, kappa), p) ** 2 / (2 * c)


def minimiser(reg, v, kappa):
    """The w that minimises g(w) - v^T w, without the formula for it.

    Where w_j != 0, c N^(2-q) |w_j|^(q-1) = |v_j| - kappa_j, N = |w|_q: given N, every w_j follows,
    and the right N is a root.
    """
    p, c = reg.p_and_c(len(v))
    q, s = p / (p - 1), soft(v, kappa)
    if not s.any():
        return s
    peak = np.abs(s).max()
    logs = np.log(np.abs(s, where=s != 0, out=np.full(len(s), peak)))

    def weights(log_N):
        return np.where(s != 0, np.exp((logs - np.log(c) - (2 - q) * log_N) / (q - 1)), 0)

    def off(log_N):
        """log of |w|_q over N."""
        exponents = q * (logs - np.log(c) - (2 - q) * log_N) / (q - 1)
        return logsumexp(exponents, b=s != 0) / q - log_N

    middle = np.log(peak / c)
    log_N = brentq(off, middle - 50, middle + 50, xtol=1e-15, rtol=1e-15)
    return np.sign(s) * weights(log_N)


@QNORMS
@pytest.mark.parametrize("d", [1, 2, 7, 8, 100, 10_000])
def test_q_norm_gradient_at_any_size(reg, d):
    """Against a root that fixes the norm of the minimiser, to 1e-9 of the largest w_j."""
    rng = np.random.default_rng(d)
    for scale in (1e-3, 1.0, 1e3):
        v = rng.normal(size=d) * scale
        for sigma in (0.0, 0.1 * scale, 0.9 * np.abs(v).max(), 2 * np.abs(v).max()):
            w, expected = mapped(reg, v, 1.0, sigma), minimiser(reg, v, sigma)
            tolerance = 1e-9 * np.abs(expected).max() if expected.any() else 0
            np.testing.assert_allclose(w, expected, rtol=0, atol=tolerance)
            # Fenchel and Young, with equality
            p, c = reg.p_and_c(d)
            g_w = c / 2 * q_norm(w, p / (p - 1)) ** 2 + sigma * np.abs(w).sum()
            assert g_w + p_conjugate(reg, v, sigma) == pytest.approx(w @ v, rel=1e-9)


@pytest.mark.parametrize("kind", ["qnorm", "odd p", "fractional p", "p = 2", "paper"])
@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_q_norm_gradient_against_a_general_minimiser(kind, d):
    """Of g(w) - v^T w, as a function of d variables that nothing is known about."""
    reg, rng = KINDS[kind], np.random.default_rng(d)
    p, c = reg.p_and_c(d)
    for sigma in (0.0, 0.3):
        v = rng.normal(size=d)
        signs = np.sign(v)  # those of w: in its orthant g is smooth

        def objective(a, v=v, signs=signs, sigma=sigma):
            return c / 2 * q_norm(a, p / (p - 1)) ** 2 + sigma * a.sum() - (signs * v) @ a

        w = mapped(reg, v, 1.0, sigma)
        found = minimize(objective, np.full(d, 0.1), bounds=[(0, None)] * d, method="L-BFGS-B",
                         options={"ftol": 1e-16, "gtol": 1e-10})  # fmt: skip
        assert objective(signs * w) <= found.fun + 1e-12
        np.testing.assert_allclose(w, signs * found.x, atol=1e-5)


@QNORMS
@pytest.mark.parametrize("d", [1, 4, 50, 1000])
def test_q_norm_conjugate_is_smooth(reg, d):
    """In |dv|_p^2 (p - 1)/c, its own smoothness, and with a valid constant in |dv|_inf^2."""
    rng = np.random.default_rng(d)
    p, c = reg.p_and_c(d)
    for k in range(60):
        kappa = rng.choice([0.0, 0.5])
        v = rng.normal(size=d) if k % 2 else np.ones(d) * 10.0 ** rng.uniform(-1, 2)
        dv = 10.0 ** rng.uniform(-3, 1) * rng.choice([rng.normal(size=d), rng.choice([-1.0, 1], d)])
        rise = p_conjugate(reg, v + dv, kappa) - p_conjugate(reg, v, kappa)
        rise -= mapped(reg, v, 1.0, kappa) @ dv
        slack = 1e-11 * (1 + p_conjugate(reg, v, kappa))
        assert rise <= (p - 1) / (2 * c) * q_norm(dv, p) ** 2 + slack
        if reg.constant == "valid":
            assert rise <= np.abs(dv).max() ** 2 / 2 + slack


def test_the_papers_constant_is_not_valid():
    """ERRATA 2: the curvature of g* along a row of +-1 is above 1, and from d = 205 on above 2."""
    for d, least in ((8, 1.2), (100, 1.9), (10_000, 2.1)):
        reg, v = QNorm(constant="paper"), np.ones(d)
        dv = 1e-3 * np.where(np.arange(d) % 2, 1.0, -1.0)
        rise = p_conjugate(reg, v + dv, 0.0) + p_conjugate(reg, v - dv, 0.0)
        rise -= 2 * p_conjugate(reg, v, 0.0)
        assert rise / np.abs(dv).max() ** 2 > least


@QNORMS
def test_what_the_loop_uses_as_curvature(reg):
    """|x|_D'^2 bounds the smoothness along x, by rows of X; for the paper's it is |x|_inf^2."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 40)) * 10.0 ** rng.uniform(-5, 5, size=(20, 1))
    X[3] = 0
    X[4, 1:] = 0
    norms = _validate.rows(sparse.csr_array(X)).norms_sq(reg.map(1.0, 0.1, 40))
    p, c = reg.p_and_c(40)
    largest = np.abs(X).max(axis=1) ** 2
    tight = np.array([(p - 1) / c * q_norm(x, p) ** 2 for x in X])
    np.testing.assert_allclose(norms, tight if reg.constant == "valid" else largest, rtol=1e-11)
    assert (norms >= (tight if reg.constant == "valid" else largest)).all()
    if reg.constant == "valid":
        assert (norms <= largest * (1 + 1e-11)).all()


@QNORMS
def test_huge_and_tiny_v(reg):
    """No overflow and no NaN, and w is homogeneous: w(c v) = c w(v)."""
    rng = np.random.default_rng(1)
    v = rng.normal(size=50) * 10.0 ** rng.uniform(-3, 3, size=50)
    w = mapped(reg, v, 1.0, 0.0)
    for scale in (2.0**-990, 2.0**-500, 2.0**-60, 2.0**60, 2.0**500, 2.0**990):
        np.testing.assert_allclose(mapped(reg, v * scale, 1.0, 0.0) / scale, w, rtol=1e-11,
                                   atol=1e-13 * np.abs(w).max())  # fmt: skip
    mixed = np.r_[1e300, 1e-300, 0.0, -5e-324, 1.0, -1e308]
    for vector in (mixed, mixed * 1e-308, np.full(6, 5e-324), np.full(6, 1.7e308), np.zeros(6)):
        assert np.isfinite(mapped(reg, vector, 1.0, 0.0)).all()
        assert np.isfinite(mapped(reg, vector, 1.0, 1e-3)).all()


def test_q_norm_parameters():
    assert QNorm().p_and_c(5) == (2.0, 5.0)  # ERRATA 3
    p, c = QNorm().p_and_c(10_000)
    assert p % 2 == 0
    assert c == pytest.approx((p - 1) * 10_000 ** (2 / p))
    assert c <= np.exp(2) * (np.log(10_000) - 1)  # p = log d is not better
    assert QNorm(constant="paper").p_and_c(1000) == (np.log(1000), 3 * np.log(1000))
    assert QNorm(4, "paper").p_and_c(1000) == (4.0, 3 * np.log(1000))
    assert repr(QNorm(3)) == "QNorm(p=3.0, constant='valid')"
    for p in (1.99, 1, -3, 0, np.nan, np.inf):
        with pytest.raises(ValueError, match=r"^p = "):
            QNorm(p)
    for p in ("3", [3.0], True, 2j):
        with pytest.raises(TypeError, match=r"^p\b"):
            QNorm(p)
    with pytest.raises(ValueError, match="constant = 'own' is not known"):
        QNorm(constant="own")


# ------------------------------------------------------- sums that are kept


def loop(reg, X, lam, sigma, y, loss="squared"):
    """A problem's side, and the loop with its alpha and v."""
    case = Case(X, y, {"loss": loss, "reg": reg, "lam": lam, "sigma": sigma})
    side = RowSide(case.problem())
    alpha, v = np.zeros(len(y)), np.zeros(X.shape[1])
    return side, side.epoch(side.curvature(), alpha, v), alpha, v


def fresh_sum(reg, v, kappa):
    """sum_j |s_j|^p, exactly enough."""
    p, _ = reg.p_and_c(len(v))
    return math.fsum(np.abs(soft(v, kappa)) ** p)


def probe(reg, core, alpha, v, rows, kappa):
    """What the loop reads as x_i^T w with its kept sums, against grad g* of its v."""
    for i, j in rows:
        w, before = mapped(reg, v, 1.0, kappa), alpha[i]
        core.forget()
        core.run(np.array([i]))
        assert core.inner / before == pytest.approx(w[j], rel=1e-10, abs=1e-12 * np.abs(w).max())


def sparse_problem(n, d, seed=3):
    """X with rows that are unit vectors among them, and noisy targets."""
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, d), density=0.02, rng=rng, data_sampler=rng.normal, format="csr")
    units = sparse.csr_array(sparse.eye_array(d))[:20]
    X = sparse.csr_array(sparse.vstack([units, X]))
    return X, X @ rng.normal(size=d) + rng.normal(size=n + 20), rng


@pytest.mark.parametrize("threshold", [0.1, 0.9], ids=["above", "hovering"])
@pytest.mark.parametrize("kind", ["qnorm", "odd p", "fractional p", "paper"])
def test_the_kept_sum_after_a_million_steps(kind, threshold):
    """With v above the threshold, and with v that hovers there."""
    reg, (X, y, rng) = KINDS[kind], sparse_problem(2000, 300)
    largest = Case(X, y, {"loss": "squared", "reg": reg}).problem().sigma_max()
    side, core, alpha, v = loop(reg, X, 1e-3, threshold * largest, y)
    kappa, crossings = side.problem.sigma / side.problem.lam, 0
    for _ in range(20):
        before = np.abs(v) > kappa
        core.run(rng.integers(0, len(y), 50_000))
        crossings += np.sum(before != (np.abs(v) > kappa))
        assert side.map.kept_sum == pytest.approx(fresh_sum(reg, v, kappa), rel=1e-10)
    assert crossings > 0
    probe(reg, core, alpha, v, [(j, j) for j in range(20) if alpha[j]], kappa)


@pytest.mark.parametrize("kind", ["qnorm", "odd p", "fractional p"])
def test_the_kept_sum_where_the_largest_coordinate_shrinks(kind):
    """By ten orders of magnitude, its power by 10 p of them: what was nothing is then all."""
    reg, d, sizes = KINDS[kind], 40, []
    side, core, alpha, v = loop(reg, sparse.csr_array(np.eye(d)), 1e-3, 0.0, np.ones(d))
    core.run(np.arange(d))
    for target in (1e10, 1e-2, 1e10, 0.0):
        side.target[0] = target
        for _ in range(300):
            core.run(np.zeros(10, np.intp))
            assert side.map.kept_sum == pytest.approx(fresh_sum(reg, v, 0.0), rel=1e-10)
            sizes.append(abs(v[0]))
        probe(reg, core, alpha, v, [(j, j) for j in range(1, d)], 0.0)
    assert max(sizes) > 1e10 * min(sizes)


@pytest.mark.long
def test_the_kept_sum_with_ten_million_features():
    reg, d, rng = QNorm(), 10**7, np.random.default_rng(0)
    columns = rng.integers(0, d, 1000 * 50)
    X = sparse.csr_array((rng.normal(size=1000 * 50), columns, np.arange(0, 50_001, 50)), (1000, d))
    side, core, _, v = loop(reg, X, 1e-3, 1e-3, rng.normal(size=1000))
    for _ in range(4):
        core.run(rng.integers(0, 1000, 250_000))
        assert side.map.kept_sum == pytest.approx(fresh_sum(reg, v, 1.0), rel=1e-10)


@pytest.mark.parametrize("threshold", [0.1, 0.9], ids=["above", "hovering"])
def test_the_kept_sums_of_groups(threshold):
    d = 300
    reg, (X, y, rng) = Group(np.arange(d) // 7, np.arange(43) / 43 + 0.5), sparse_problem(2000, d)
    largest = Case(X, y, {"loss": "squared", "reg": reg}).problem().sigma_max()
    side, core, alpha, v = loop(reg, X, 1e-3, threshold * largest, y)
    for _ in range(4):
        core.run(rng.integers(0, len(y), 250_000))
        probe(reg, core, alpha, v, [(j, j) for j in range(20) if alpha[j]],
              side.problem.sigma / side.problem.lam)  # fmt: skip


# -------------------------------------------------------------------- groups


def random_groups(d, rng):
    """Groups of any sizes as labels and as lists, with weights."""
    labels = np.r_[np.arange(max(1, d // 3)), rng.integers(0, max(1, d // 3), d - max(1, d // 3))]
    labels = rng.permutation(labels)
    lists = [np.flatnonzero(labels == k).tolist() for k in range(max(1, d // 3))]
    return labels, lists, rng.random(len(lists)) * (rng.random(len(lists)) < 0.8)


@pytest.mark.parametrize("d", [1, 2, 7, 100])
def test_group_gradient_is_the_minimiser(d):
    """v is a subgradient of g at w: on each group w + kappa w / |w|, or at most kappa long."""
    rng = np.random.default_rng(d)
    for _ in range(20):
        labels, lists, weights = random_groups(d, rng)
        v, kappa = rng.normal(size=d) * 10.0 ** rng.uniform(-2, 2), 10.0 ** rng.uniform(-2, 1)
        w = mapped(Group(labels, weights), v, 0.5, 0.5 * kappa)
        np.testing.assert_array_equal(w, mapped(Group(lists, weights), v, 0.5, 0.5 * kappa))
        for members, c in zip(lists, weights, strict=True):
            length = np.linalg.norm(w[members])
            if length == 0:
                assert np.linalg.norm(v[members]) <= kappa * c * (1 + 1e-12)
            else:
                expected = w[members] * (1 + kappa * c / length)
                np.testing.assert_allclose(expected, v[members], rtol=1e-9, atol=1e-12)


def test_group_gradient_against_a_general_minimiser():
    rng = np.random.default_rng(0)
    groups, weights = [[2, 0], [1, 3, 4]], np.array([0.5, 2.0])
    for scale in (0.3, 1.0, 3.0):
        v = rng.normal(size=5) * scale

        def objective(w, v=v):
            norms = [c * np.linalg.norm(w[G]) for G, c in zip(groups, weights, strict=True)]
            return w @ w / 2 + 0.4 * sum(norms) - v @ w

        w = mapped(Group(groups, weights), v, 1.0, 0.4)
        found = v
        for _ in range(4):  # it stops early where it is not smooth, and goes on when restarted
            options = {"xatol": 1e-9, "fatol": 1e-14, "maxiter": 20_000}
            found = minimize(objective, found, method="Nelder-Mead", options=options).x
        assert objective(w) <= objective(found) + 1e-13
        np.testing.assert_allclose(w, found, atol=1e-5)


def test_huge_and_tiny_groups():
    reg, v = Group([0, 0, 1, 1]), np.array([3.0, 4.0, 0.3, 0.4])
    for scale in (1e-150, 1e-100, 1.0, 1e100, 1e150):
        w = mapped(reg, v * scale, 1.0, scale)
        np.testing.assert_allclose(w / scale, [2.4, 3.2, 0, 0], rtol=1e-12)
    for scale in (5e-324, 1e-300, 1e-160, 1e160, 1e307):  # the squares are no numbers any more
        w = mapped(reg, v * scale, 1.0, scale)
        assert np.isfinite(w).all()
        assert (np.abs(w) <= np.abs(v * scale)).all()


def test_norms_of_groups_whose_squares_underflow_count():
    """sigma |w_G| is not 0 where w_G^2 is."""
    for size in (1e-165, 1e-200, 1e-300):
        c = proxsdca.certify([[1.0]], [0.0], [size], [0.0], loss="squared", reg=Group([0]), lam=1.0,
                             sigma=1.0)  # fmt: skip
        assert c.gap + c.rounding >= size * (1 - 1e-12)


def test_groups_as_labels_or_lists_are_one_problem():
    case = make("logistic", n=40, d=6, seed=1)
    first, *others = (
        case.solve(reg=Group(groups, [1, 2, 0.5]), lam=0.01, sigma=0.02)
        for groups in ([0, 1, 0, 2, 2, 1], np.array([0, 1, 0, 2, 2, 1], np.uint8),
                       [[0, 2], [1, 5], [3, 4]], ((0, 2), np.array([5, 1]), range(3, 5)))
    )  # fmt: skip
    for other in others:
        np.testing.assert_array_equal(other.w, first.w)


def test_single_features_as_groups_are_l1l2():
    case = make("hinge", n=40, d=6, seed=1, lam=0.02, sigma=0.02)
    by_groups, by_features = (
        case.solve(reg=reg, tol=1e-6, max_epochs=10_000, solver="plain")
        for reg in (Group(range(6)), "l1l2")
    )
    np.testing.assert_allclose(by_groups.w, by_features.w, atol=1e-9)


@pytest.mark.parametrize(
    ("groups", "error", "message"),
    [
        ([[0, 1], [2]], ValueError, "groups has no group with feature 3"),
        ([[0, 1], [1, 2, 3]], ValueError, "feature 1 more than once, in group 0 and in group 1"),
        ([[0, 1, 0], [2, 3]], ValueError, "feature 0 more than once, in group 0 and again in it"),
        ([[0, 1], [2, 4]], ValueError, r"groups\[1\]\[1\] = 4: 0 to 3 is allowed"),
        ([[0, 1], [2, -1]], ValueError, r"groups\[1\]\[1\] = -1"),
        ([[0, 1], [2, 3], []], ValueError, r"groups\[2\] is empty"),
        ([[0, 1], 2, 3], ValueError, r"groups\[1\] has shape \(\)"),
        ([[0, 1], [2, 3.5]], TypeError, r"groups\[1\] has dtype float64"),
        ([[[0, 1]], [[2, 3]]], ValueError, r"groups\[0\] has shape \(1, 2\)"),
        ([[0, [1]], [2, 3]], ValueError, r"^groups"),
        ([0, 0, 2, 2], ValueError, "groups uses the numbers 0 to 2 but not 1"),
        ([0, 1, 1], ValueError, r"groups has shape \(3,\), X has 4 columns"),
        ([0, 0, 1, -1], ValueError, r"groups\[3\] = -1"),
        ([0, 0, 1, 9], ValueError, r"groups\[3\] = 9"),
        ([0.0, 0, 1, 1], TypeError, "groups has dtype float64"),
        ([True, False, True, False], TypeError, "groups has dtype bool"),
        (np.zeros((4, 1), int), ValueError, r"groups has shape \(4, 1\)"),
        ([], ValueError, r"groups has shape \(0,\)"),
        ("text", TypeError, "groups has dtype"),
        (5, BOTH, "^groups"),
        (object(), BOTH, "^groups"),
        (None, ValueError, "reg = 'group' needs groups"),
    ],
)
def test_bad_groups(groups, error, message):
    with pytest.raises(error, match=message):
        proxsdca.solve(np.eye(4), np.arange(4.0), loss="squared", reg=Group(groups))


def test_bad_group_weights():
    for weights, error, message in (
        ([1, 2, 3], ValueError, r"weights has shape \(3,\), there are 2 groups"),
        (3, ValueError, r"weights has shape \(\)"),
        ([1, -2], ValueError, r"weights\[1\] = -2"),
        ([1, np.nan], ValueError, r"weights\[1\] = nan"),
        (["a", "b"], TypeError, "weights has dtype"),
    ):
        with pytest.raises(error, match=message):
            proxsdca.solve(np.eye(4), np.arange(4.0), loss="squared",
                           reg=Group([0, 0, 1, 1], weights))  # fmt: skip
    with pytest.raises(ValueError, match="reg = 'group' needs groups"):
        proxsdca.solve(np.eye(4), np.arange(4.0), loss="squared", reg="group")


# ----------------------------------------------------------- feature weights


@given(vectors, arrays(float, 4, elements=st.floats(0, 4)), st.floats(0, 3))
def test_feature_weights(v, weights, sigma):
    w = mapped(L1L2(weights), v, 0.5, sigma)
    np.testing.assert_allclose(w, grad_conjugate("l1l2", v, weights * sigma / 0.5), atol=1e-12)


def test_equal_feature_weights_are_a_larger_sigma():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 5)), rng.normal(size=40)
    one = proxsdca.solve(X, y, loss="squared", reg="l1l2", sigma=0.2, tol=1e-10)
    two = proxsdca.solve(X, y, loss="squared", reg=L1L2(np.full(5, 2.0)), sigma=0.1, tol=1e-10)
    np.testing.assert_allclose(one.w, two.w, atol=1e-7)
    assert one.primal == pytest.approx(two.primal, abs=one.gap + two.gap + 1e-14)


def test_bad_feature_weights():
    X, y = np.eye(3), np.arange(3.0)
    for weights, message in (
        ([1, 2], r"l1_weights has shape \(2,\)"),
        ([1, -2, 1], r"l1_weights\[1\] = -2"),
        ([1, np.nan, 1], r"l1_weights\[1\] = nan"),
    ):
        with pytest.raises(ValueError, match=message):
            proxsdca.solve(X, y, loss="squared", reg=L1L2(weights))


def test_repr():
    assert repr(L1L2()) == "L1L2()"
    assert "[1, 2]" in repr(L1L2([1, 2]))
