"""The free intercept: exact certificates, alpha that adds up to 0, optima that others found."""

import itertools
import warnings
from fractions import Fraction

import numpy as np
import pytest
import references
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import LOSS_NAMES, SMOOTH, make, regulariser, zero_gap_alpha
from scipy import sparse
from scipy.optimize import minimize_scalar
from sklearn.linear_model import Lasso, LogisticRegression
from test_certificate import RATIONAL, RATIONAL_REGS, exact_certificate
from test_vector_certificate import exact, fractions_of_weights, hinge_certificate

import proxsdca
from proxsdca._core.epoch import Epoch
from proxsdca._core.intercept import balance, fitted
from proxsdca._core.losses import OPTIONS
from proxsdca._core.regs import L2Map
from proxsdca._validate import rows
from proxsdca._vector import problem_of
from proxsdca.losses import LOSSES, MulticlassHinge

REGS = ("l2", "l1l2", "l1", "qnorm", "group")
VECTOR = ("multiclass_hinge", "softmax")


def quietly(X, y, **keywords):
    """A run whose target may be out of reach."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", proxsdca.ConvergenceWarning)
        return proxsdca.solve(X, y, fit_intercept=True, **keywords)


def classes(n, rng, k=3):
    return np.concatenate([np.arange(k), rng.integers(0, k, n - k)])


def adds_up_to_zero(alpha):
    """In exact arithmetic, and in floating point in any order."""
    alpha = alpha.toarray() if sparse.issparse(alpha) else alpha
    for column in np.atleast_2d(alpha.T):
        assert sum(map(Fraction, column.tolist())) == 0
        assert sum(column.tolist()) == sum(np.sort(column).tolist()) == column.sum() == 0


def shifted(case, by=3.0):
    """The problem with targets that need an intercept."""
    kind = LOSSES[case.keywords["loss"]]()
    if not kind.classification:
        case.y = case.y + by
    elif len(case.y) > 6:
        case.y[4:] = np.where(np.arange(4, len(case.y)) % 7 == 0, case.y[4:], 1.0)
    return case


# ------------------------------------------------------------ the certificate


@pytest.mark.parametrize("block", range(4))
def test_certificates_hold_in_rational_arithmetic(block, campaign):
    """1,000 small problems, solved for some epochs, over all losses that are rational."""
    rng = np.random.default_rng([7, block])
    worst = 0.0
    for _ in range(max(250, campaign(250))):
        loss, reg = rng.choice(RATIONAL), str(rng.choice(RATIONAL_REGS))
        kind, n, d = LOSSES[loss](), int(rng.integers(2, 9)), int(rng.integers(1, 7))
        X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-2, 3) * (rng.random((n, d)) < 0.8)
        X += rng.choice([0.0, 1.0])
        y = rng.normal(size=n) * 10.0 ** rng.integers(-2, 3)
        if kind.classification:
            y = np.where(y > 0, 1.0, -1.0)
            y[:2] = 1, -1
        weight, s = None, [Fraction(1)] * n
        if rng.random() < 0.5:
            weight = rng.random(n) * 10.0 ** rng.integers(-3, 4, n) * (rng.random(n) < 0.8)
            weight[:2] += 0.1
            s = fractions_of_weights(weight, n)
        keywords = {
            "loss": str(loss),
            "reg": reg,
            "lam": None if reg == "l1" else 10.0 ** rng.uniform(-3, 2),
            "sigma": None if reg == "l2" else 10.0 ** rng.uniform(-3, 1),
            "sample_weight": weight,
            "side": "columns" if kind.gamma > 0 and rng.random() < 0.5 else "rows",
        }
        epochs = int(rng.choice([0, 1, 3, 30, 300]))
        r = quietly(X, y, max_epochs=epochs, tol=float(rng.choice([0.0, 1e-6])), **keywords)
        adds_up_to_zero(r.alpha)
        primal, dual, _ = exact_certificate(
            X, y, r.w, r.alpha, loss, reg, keywords["lam"] or 0, r.sigma, np.ones(d), s,
            beta=r.intercept,
        )  # fmt: skip
        off = abs(Fraction(r.gap) - (primal - dual))
        assert off <= Fraction(r.rounding)
        assert primal >= dual
        worst = max(worst, float(off / Fraction(r.rounding or 1)))
    assert worst > 1e-3  # the bound is not idle


def test_certificates_of_k_classes_hold_in_rational_arithmetic(campaign):
    rng = np.random.default_rng(8)
    for _ in range(max(100, campaign(100))):
        k = int(rng.integers(2, 5))
        n, d = k + int(rng.integers(1, 6)), int(rng.integers(1, 4))
        X, y = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-2, 3), classes(n, rng, k)
        cost = rng.random((k, k))
        np.fill_diagonal(cost, 0)
        weight = rng.random(n) + 0.01 if rng.random() < 0.5 else None
        reg, lam, sigma = str(rng.choice(["l2", "l1l2"])), 10.0 ** rng.uniform(-3, 1), 0.01
        r = quietly(
            X, y, loss=MulticlassHinge(cost, classes=np.arange(k)), reg=reg, lam=lam,
            sigma=sigma if reg == "l1l2" else None, sample_weight=weight,
            max_epochs=int(rng.choice([1, 10, 100])),
        )  # fmt: skip
        adds_up_to_zero(r.alpha)
        s = fractions_of_weights(weight, n)
        alpha = exact(r.alpha.toarray())
        for i in range(n):
            assert sum(alpha[i]) == 0
            assert alpha[i][y[i]] <= s[i]
        primal, dual, _ = hinge_certificate(
            exact(X), y, exact(r.w), alpha, exact(cost.T), reg, lam, sigma, s, r.intercept
        )
        assert abs(Fraction(r.gap) - (primal - dual)) <= Fraction(r.rounding)
        assert primal >= dual


@pytest.mark.parametrize("loss", LOSS_NAMES)
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), weighted=st.booleans(), scale=st.integers(-12, 12))
def test_balance_stays_in_the_domain_and_near(loss, seed, weighted, scale):
    rng = np.random.default_rng(seed)
    kind, n = LOSSES[loss](), int(rng.integers(1, 40))
    y = np.where(rng.random(n) < 0.3, 1.0, -1.0) if kind.classification else rng.random(n) * 3
    s = rng.random(n) * 10.0 ** rng.integers(-3, 3, n) if weighted else np.ones(n)
    alpha = zero_gap_alpha(kind, n, y, rng) * s
    if not kind.classification and not np.isfinite(kind.lipschitz):
        alpha = np.minimum(alpha * 10.0**scale, s * y if kind.target_min == 0 else np.inf)
    out = np.empty(n)
    balance(kind, y, s if weighted else None, alpha, out)
    adds_up_to_zero(out)
    lower, upper = kind.domain(y)
    for a, t, low, high in zip(
        out, s, np.broadcast_to(lower, n), np.broadcast_to(upper, n), strict=True
    ):
        assert Fraction(a) >= (Fraction(t) * Fraction(low) if np.isfinite(low) else a)
        assert Fraction(a) <= (Fraction(t) * Fraction(high) if np.isfinite(high) else a)
    # no more is moved than is missing, up to the grid
    missing, size = abs(alpha.sum()), np.abs(alpha).sum()
    assert np.abs(out - alpha).sum() <= missing * (1 + 1e-9) + 1e-12 * n * size


@pytest.mark.parametrize("k", [10, 50, 210])
def test_balancing_many_classes_takes_no_more_than_is_missing(k):
    """What goes around in circles stays; beyond 200 classes nothing is scaled beforehand."""
    rng = np.random.default_rng(k)
    n = 3 * k
    X, y = rng.normal(size=(n, 10)), np.arange(n) % k
    without = proxsdca.solve(X, y, loss="multiclass_hinge", lam=0.01, tol=1e-2)
    problem = problem_of(X, y, "multiclass_hinge", "l2", 0.01, None, None, fit_intercept=True)
    alpha = problem.read_alpha("alpha", without.alpha)
    found = problem.balanced(alpha).export(True)
    adds_up_to_zero(found)
    missing = np.abs(without.alpha.sum(axis=0)).sum() / 2
    assert abs(found - without.alpha).sum() <= 4 * missing
    r = quietly(X, y, loss="multiclass_hinge", lam=0.01, tol=0.01)
    assert r.converged
    assert (r.history["dual"][-1:] > 0).all()


@pytest.mark.parametrize("seed", [17, *range(8)])
def test_certificates_do_not_undo_what_the_loop_has_done(seed):
    rng = np.random.default_rng(seed)
    X, y, weight = rng.normal(size=(5, 1)), rng.integers(0, 3, 5), rng.random(5)
    y[:3] = 0, 1, 2
    for every in (1, 2, None):
        r = quietly(
            X, y, loss="multiclass_hinge", lam=1.0, sample_weight=weight, tol=1e-4,
            max_epochs=2000, certify_every=every,
        )  # fmt: skip
        assert r.converged


@pytest.mark.parametrize("ratio", [1e7, 1e8, 1e9])
def test_means_beyond_what_can_be_told_apart(ratio):
    """A column whose spread is near a rounding of its mean must not make the steps diverge."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(25, 3))
        X[:, 0] += ratio
        y = X[:, 1] + rng.normal(size=25)
        r = quietly(
            X, y, loss="squared", reg="l1l2", lam=0.1, sigma=0.1, side="columns", max_epochs=300
        )
        assert r.primal < 1.2 * np.var(y)


def test_weights_that_round_to_1():
    """s_0 = 3 / (3 + 2^-52) is less than 1, which it is rounded to."""
    weight = np.array([1.0, 1.0, 1 + 2.0**-52])
    X, y = np.array([[1e-3], [2e-3], [-1e-3]]), np.array([1.0, -1.0, -1.0])
    s = fractions_of_weights(weight, 3)
    for loss in ("hinge", "absolute", "quantile"):
        r = quietly(X, y, loss=loss, sample_weight=weight, lam=1.0)
        adds_up_to_zero(r.alpha)
        assert all(abs(Fraction(a)) <= t for a, t in zip(r.alpha.tolist(), s, strict=True))


def test_the_end_of_a_quantile_is_rounded():
    """0.1 - 1 is not a double."""
    tau = 0.1
    r = quietly(np.eye(3), np.array([-50.0, 40.0, 60.0]), loss=LOSSES["quantile"](tau), lam=1e-3)
    adds_up_to_zero(r.alpha)
    assert all(Fraction(tau) - 1 <= Fraction(a) <= Fraction(tau) for a in r.alpha.tolist())


# ------------------------------------------------------------ optima of others


@pytest.mark.parametrize("reg", REGS)
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_against_cvxpy(loss, reg):
    case = shifted(make(loss, "l2", n=25, d=6, seed=3))
    case.keywords["reg"] = regulariser(reg, 6)
    weight = np.random.default_rng(1).random(25) + 0.1
    lam, sigma = 0.05, 0.02 if reg != "l2" else None
    kind = proxsdca._spec.reg(case.keywords["reg"])
    best, tolerance = references.optimum(
        case.X, case.y, LOSSES[loss](), kind, lam, sigma or 0.0, weight * 25 / weight.sum(), True
    )
    easy = reg != "l1" or loss in SMOOTH
    r = quietly(
        case.X, case.y, loss=loss, reg=case.keywords["reg"], lam=None if reg == "l1" else lam,
        sigma=sigma, sample_weight=weight, tol=1e-7 if easy else 1e-3,
    )  # fmt: skip
    assert r.converged
    assert best - tolerance <= r.primal <= best + tolerance + r.gap + r.rounding
    assert r.dual <= best + tolerance + r.rounding
    adds_up_to_zero(r.alpha)


@pytest.mark.parametrize("rare", [False, True], ids=["balanced", "99:1"])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
class TestAgainstOthers:
    def data(self, rare, storage):
        rng = np.random.default_rng(5)
        X = rng.normal(size=(600, 12)) * (rng.random((600, 12)) < 0.4)
        z = X @ rng.normal(size=12) + rng.normal(size=600)
        y = np.where(z > np.quantile(z, 0.99 if rare else 0.5), 1.0, -1.0)
        return storage(X), X, z + 5, y

    def test_lbfgs(self, rare, storage):
        X, plain, _, y = self.data(rare, storage)
        theirs = LogisticRegression(C=2.0, tol=1e-9, max_iter=10_000).fit(X, y)
        r = quietly(X, y, loss="logistic", lam=1 / (2 * 600), tol=1e-7)
        z = plain @ theirs.coef_[0] + theirs.intercept_[0]
        value = np.logaddexp(0, -y * z).mean() + theirs.coef_[0] @ theirs.coef_[0] / (4 * 600)
        assert r.converged
        assert r.primal - r.gap - r.rounding <= value <= r.primal + 1e-7
        assert abs(r.intercept - theirs.intercept_[0]) < 1e-2

    def test_lasso(self, rare, storage):
        X, plain, y, _ = self.data(rare, storage)
        theirs = Lasso(alpha=0.05, tol=1e-9, max_iter=100_000).fit(X, y)
        r = quietly(X, y, loss="squared", reg="l1", sigma=0.05, tol=1e-9)
        residual = y - plain @ theirs.coef_ - theirs.intercept_
        value = (residual**2).mean() / 2 + 0.05 * np.abs(theirs.coef_).sum()
        assert r.converged
        assert abs(r.primal - value) <= r.gap + r.rounding + 1e-8
        assert abs(r.intercept - theirs.intercept_) < 1e-4

    @pytest.mark.parametrize("loss", ["hinge", "huber"])
    def test_cvxpy(self, rare, storage, loss):
        X, plain, z, y = self.data(rare, storage)
        y = y if loss == "hinge" else z
        best, tolerance = references.optimum(
            plain, y, LOSSES[loss](), proxsdca.regularizers.L2(), 0.01, fit_intercept=True
        )
        r = quietly(X, y, loss=loss, lam=0.01, tol=1e-6)
        assert r.converged
        assert best - tolerance <= r.primal <= best + tolerance + r.gap + r.rounding


@pytest.mark.parametrize("loss", VECTOR)
def test_k_classes_against_a_penalty_that_vanishes(loss):
    """With a constant column that is hardly penalised, the optimum is nearly the same."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(60, 4)), classes(60, rng)
    r = quietly(X, y, loss=loss, lam=0.05, tol=1e-7)
    assert r.converged
    assert abs(r.intercept.sum()) < 1e-12
    adds_up_to_zero(r.alpha)
    bound = []
    for c in (10.0, 100.0):
        wide = proxsdca.solve(np.column_stack([X, np.full(60, c)]), y, loss=loss, lam=0.05,
                              tol=1e-6, max_epochs=200_000)  # fmt: skip
        penalty = 0.05 / 2 * (wide.w[-1] ** 2).sum()
        assert wide.primal - penalty >= r.primal - r.gap - r.rounding - wide.gap
        bound.append(wide.primal - r.primal)
    assert 0 < bound[1] + 1e-6 < 0.1 * bound[0] + 1e-5


# ------------------------------------------------------------ the same, however it is said


@pytest.mark.parametrize("loss", [*LOSS_NAMES, *VECTOR])
def test_the_storage_does_not_matter(loss):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 5)) * (rng.random((40, 5)) < 0.6)
    y = classes(40, rng) if loss in VECTOR else shifted(make(loss, n=40, d=5)).y
    base = quietly(X, y, loss=loss, max_epochs=50, certify_every=10)
    wide = sparse.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for other in (sparse.csr_array(X), wide, np.asfortranarray(X), sparse.csc_array(X)):
        r = quietly(other, y, loss=loss, max_epochs=50, certify_every=10)
        np.testing.assert_allclose(r.w, base.w, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(r.intercept, base.intercept, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("loss", [*LOSS_NAMES, "softmax"])
def test_weights_are_repetition(loss):
    rng = np.random.default_rng(1)
    y = classes(20, rng) if loss in VECTOR else shifted(make(loss, n=20, d=4, seed=2)).y
    X, times = rng.normal(size=(20, 4)), rng.integers(0, 4, 20)
    times[:3] = 1
    keywords = {"loss": loss, "lam": 0.1, "tol": 0, "max_epochs": 50_000}
    a = quietly(X, y, sample_weight=times, **keywords)
    b = quietly(np.repeat(X, times, axis=0), np.repeat(y, times), **keywords)
    np.testing.assert_allclose(a.w, b.w, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(a.intercept, b.intercept, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("reg", ["l2", "l1l2"])
@pytest.mark.parametrize("loss", [name for name in SMOOTH])
def test_rows_and_columns_agree(loss, reg):
    case = shifted(make(loss, n=50, d=6, seed=4))
    case.X += 0.5
    a, b = (
        quietly(case.X, case.y, loss=loss, reg=reg, lam=0.02, side=side, tol=1e-9)
        for side in ("rows", "columns")
    )
    assert a.converged
    assert b.converged
    assert abs(a.primal - b.primal) <= max(a.gap, b.gap) + a.rounding + b.rounding
    np.testing.assert_allclose(a.w, b.w, atol=1e-3)


def test_a_shift_of_the_columns_changes_the_intercept_alone():
    """Far from 0 too, where centring is what makes the column side fast."""
    rng = np.random.default_rng(0)
    X, shift = rng.normal(size=(80, 5)), np.array([0.0, 10.0, 1e3, -1e3, 1e4])
    y = X @ rng.normal(size=5) + rng.normal(size=80)
    a = quietly(X, y, loss="squared", reg="l1", sigma=0.05, tol=1e-10)
    b = quietly(X + shift, y, loss="squared", reg="l1", sigma=0.05, tol=1e-7)
    assert b.converged
    assert b.epochs <= 2 * a.epochs + 10
    np.testing.assert_allclose(b.w, a.w, atol=1e-4)
    assert abs(b.intercept + shift @ b.w - a.intercept) < 1e-4


@pytest.mark.parametrize("value", [1.0, 0.1, 7.25])
def test_a_constant_column_is_left_to_the_intercept(value):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)), rng.normal(size=30) + 2
    X[:, 2] = value
    free = proxsdca.regularizers.L1L2(l1_weights=[1, 1, 0, 1])
    r = quietly(X, y, loss="squared", reg=free, sigma=0.01, lam=1e-3, side="columns")
    assert r.converged
    assert r.w[2] == 0


def test_the_loop_is_that_of_one_more_column():
    """Each step moves the intercept as if x_i had the entry (bias_scale / scale)^(1/2)."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), np.where(rng.random(20) < 0.5, 1.0, -1.0)
    entry, scale = 0.7, 0.4
    order = rng.permutation(20).astype(np.intp)
    for loss in ("hinge", "logistic", "smooth_hinge"):
        norms = (X**2).sum(axis=1)
        curvature = scale * (norms + entry**2)
        found = []
        for wide in (False, True):
            A = np.column_stack([X, np.full(20, entry)]) if wide else X
            alpha, v, bias = np.zeros(20), np.zeros(A.shape[1]), np.zeros(1)
            core = Epoch(
                rows(A), LOSSES[loss](), L2Map(), y, None, curvature, alpha, v, scale=scale,
                q_R=1.0, option=OPTIONS["I"], bias=None if wide else bias,
                bias_scale=0.0 if wide else scale * entry**2,
            )  # fmt: skip
            for _ in range(3):
                core.run(order)
            found.append((alpha, v[:3], v[3] * entry if wide else bias[0]))
        for a, b in zip(*found, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


# ------------------------------------------------------------ paths and their start


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", [*LOSS_NAMES, *VECTOR])
def test_sigma_max_leaves_the_intercept_only_model(loss, weighted):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 5)) + 1
    y = classes(40, rng) if loss in VECTOR else shifted(make(loss, n=40, d=5, seed=6)).y
    weight = rng.random(40) + 0.1 if weighted else None
    reg = "l1l2" if loss in VECTOR or loss not in SMOOTH else "l1"
    keywords = {"loss": loss, "reg": reg, "sample_weight": weight}
    largest = proxsdca.sigma_max(X, y, fit_intercept=True, **keywords)
    at = quietly(X, y, sigma=largest * (1 + 1e-9), tol=1e-6, **keywords)
    assert at.converged
    assert not at.w.any()
    if loss in VECTOR:
        return
    kind = LOSSES[loss]()
    best = minimize_scalar(
        lambda b: np.average(kind.value(np.full(40, b), y), weights=weight),
        bracket=(at.intercept - 1, at.intercept + 1), tol=1e-12,
    )  # fmt: skip
    assert at.primal <= best.fun * (1 + 1e-9) + 1e-12
    if kind.gamma > 0:
        below = quietly(X, y, sigma=largest * 0.98, tol=1e-8, **keywords)
        assert below.w.any()


def test_a_path_starts_from_the_intercept_alone():
    case = shifted(make("squared", n=60, d=8))
    p = proxsdca.path(case.X, case.y, fit_intercept=True, num=8, keep_alpha=True)
    assert p.converged.all()
    assert p.nonzeros[0] == 0
    assert p.intercept[0] == pytest.approx(case.y.mean())
    assert p.intercept.shape == (8,)
    for column in p.alpha.T:
        adds_up_to_zero(column)
    one = quietly(case.X, case.y, loss="squared", reg="l1", sigma=p.sigmas[5], tol=1e-8)
    assert abs(p.primal[5] - one.primal) <= p.gap[5] + p.rounding[5] + 1e-12


def test_a_path_of_k_classes_has_their_intercepts():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 4)), classes(40, rng)
    p = proxsdca.path(X, y, loss="softmax", reg="l1l2", fit_intercept=True, num=4, ratio=0.1)
    assert p.converged.all()
    assert p.intercept.shape == (3, 4)
    share = np.bincount(y) / 40
    np.testing.assert_allclose(p.intercept[:, 0], np.log(share) - np.log(share).mean(), atol=1e-6)


def test_one_vs_rest_has_an_intercept_for_each_class():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 4)) + 2, np.array(["a", "b", "c"])[classes(90, rng)]
    found = proxsdca.one_vs_rest(X, y, fit_intercept=True, keep_alpha=True)
    adds_up_to_zero(found.alpha)
    for c in range(3):
        one = quietly(X, np.where(y == "abc"[c], 1, -1), tol=1e-3)
        assert abs(one.primal - found.primal[c]) <= max(one.gap, found.gap[c])
        assert one.intercept == pytest.approx(found.intercept[c], abs=0.05)
    z = X @ found.w + found.intercept
    np.testing.assert_allclose(found.decision_function(X), z, atol=1e-12)
    again = proxsdca.one_vs_rest(X, y, fit_intercept=True, warm_start=found, keep_alpha=True)
    assert again.epochs.sum() < found.epochs.sum()


# ------------------------------------------------------------ runs


@pytest.mark.parametrize("output", ["last", "best", "average", "random"])
@pytest.mark.parametrize("loss", ["hinge", "logistic", "softmax"])
def test_every_output_is_certified(loss, output):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4))
    y = classes(50, rng) if loss == "softmax" else (np.arange(50) % 5 == 0).astype(int)
    r = quietly(X, y, loss=loss, output=output, tol=1e-4, lam=0.05)
    assert r.converged
    adds_up_to_zero(r.alpha)
    c = proxsdca.certify(X, y, r.w, r.alpha, loss=loss, lam=0.05, intercept=r.intercept)
    assert c == pytest.approx((r.primal, r.dual, r.gap, r.rounding), abs=1e-14)


@pytest.mark.parametrize("side", ["rows", "columns"])
def test_a_warm_start_is_where_the_last_run_ended(side):
    case = shifted(make("logistic", n=80, d=5))
    keywords = {"loss": "logistic", "side": side, "tol": 1e-6}
    cold = quietly(case.X, case.y, **keywords)
    warm = quietly(case.X, case.y, warm_start=cold, **keywords)
    assert warm.epochs == 0
    assert warm.intercept == pytest.approx(cold.intercept, abs=1e-2)
    more = quietly(
        np.vstack([case.X, case.X[:3]]), np.append(case.y, case.y[:3]), warm_start=cold, **keywords
    )
    assert more.converged
    adds_up_to_zero(more.alpha)


@pytest.mark.parametrize("loss", ["hinge", *VECTOR])
def test_a_start_without_an_intercept(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = classes(40, rng) if loss in VECTOR else np.arange(40) % 2
    without = proxsdca.solve(X, y, loss=loss, lam=0.1)
    r = quietly(X, y, loss=loss, lam=0.1, warm_start=without)
    assert r.converged
    adds_up_to_zero(r.alpha)


def test_without_a_target_runs_end_and_w_is_as_good_as_it_gets():
    case = shifted(make("absolute", n=15, d=10, seed=1))
    a, b = (
        quietly(case.X, case.y, loss="absolute", lam=0.05, tol=0, seed=seed, max_epochs=10**6)
        for seed in (0, 1)
    )
    assert a.status is b.status is proxsdca.Status.ROUNDING
    np.testing.assert_allclose(a.w, b.w, atol=1e-8)
    assert a.intercept == pytest.approx(b.intercept, abs=1e-7)


def test_of_many_best_intercepts_the_middle():
    z, y = np.array([0.0, 0.0]), np.array([1.0, 4.0])
    assert fitted(LOSSES["absolute"](), y, None, z, 0.0) == pytest.approx(2.5, abs=1e-9)
    assert fitted(LOSSES["hinge"](), np.array([1.0, -1.0]), None, z, 5.0) == pytest.approx(
        0.0, abs=1e-9
    )


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_the_best_intercept_against_scipy(loss):
    rng = np.random.default_rng(0)
    for scale, weighted in itertools.product((1e-3, 1.0, 1e3), (False, True)):
        case = shifted(make(loss, n=30, d=3))
        z, kind = rng.normal(size=30) * scale, LOSSES[loss]()
        weight = rng.random(30) if weighted else None
        if loss == "poisson":
            z = np.clip(z, -20, 20)

        def total(beta, z=z, kind=kind, y=case.y, weight=weight):
            return np.average(kind.value(z + beta, y), weights=weight)

        beta = fitted(kind, case.y, weight, z, 0.0)
        around = beta + np.array([-1, -1e-3, -1e-6, 1e-6, 1e-3, 1]) * scale
        least = total(beta)
        assert all(least <= total(b) + 1e-12 * (abs(least) + scale) for b in around)


def test_predictions_have_the_intercept():
    case = shifted(make("hinge", n=60, d=4))
    r = quietly(case.X, case.y)
    z = case.X @ r.w + r.intercept
    np.testing.assert_allclose(r.decision_function(case.X), z, atol=1e-12)
    np.testing.assert_array_equal(r.predict(case.X), np.where(z > 0, 1, -1))
    counts = shifted(make("poisson", n=60, d=4))
    p = quietly(counts.X, counts.y, loss="poisson")
    np.testing.assert_allclose(p.predict(counts.X), np.exp(counts.X @ p.w + p.intercept))


# ------------------------------------------------------------ what is refused


def test_refusals():
    X, y = np.eye(4), np.array([0, 0, 1, 1])
    with pytest.raises(ValueError, match=r"class 1 has no rows with weight"):
        proxsdca.solve(X, y, sample_weight=[1, 1, 0, 0], fit_intercept=True)
    with pytest.raises(ValueError, match=r"class 'c' has no rows with weight"):
        proxsdca.one_vs_rest(X, list("abcc"), sample_weight=[1, 1, 0, 0], fit_intercept=True)
    with pytest.raises(ValueError, match=r"class 2 has no rows with weight"):
        proxsdca.solve(X, [0, 1, 2, 2], loss="softmax", sample_weight=[1, 1, 0, 0],
                       fit_intercept=True)  # fmt: skip
    with pytest.raises(ValueError, match=r"y is 0 wherever there is weight"):
        proxsdca.solve(X, np.zeros(4), loss="poisson", fit_intercept=True)
    with pytest.raises(ValueError, match=r"fit_intercept = True: with offsets"):
        proxsdca.solve(X, [0, 1], loss="softmax", offsets=[0, 2, 4], fit_intercept=True)
    with pytest.raises(TypeError, match=r"fit_intercept = 1 "):
        proxsdca.solve(X, y, fit_intercept=1)
    with pytest.raises(ValueError, match=r"alpha adds up to 0\.5: 0 is needed"):
        proxsdca.certify(X, y, np.zeros(4), [0, 0, 0.5, 0], intercept=0.0)
    with pytest.raises(ValueError, match=r"intercept\[0\] = nan"):
        proxsdca.certify(X, y, np.zeros(4), np.zeros(4), intercept=np.nan)
    first = proxsdca.one_vs_rest(X, list("abcc"))
    with pytest.raises(ValueError, match=r"warm_start has no alpha"):
        proxsdca.one_vs_rest(X, list("abcc"), warm_start=first)


def test_nothing_that_was_given_is_changed():
    case = shifted(make("hinge", n=20, d=3))
    weight = np.random.default_rng(0).random(20)
    before = case.X.copy(), case.y.copy(), weight.copy()
    r = quietly(case.X, case.y, sample_weight=weight)
    alpha = r.alpha.copy()
    quietly(case.X, case.y, sample_weight=weight, warm_start=alpha)
    proxsdca.certify(case.X, case.y, r.w, alpha, sample_weight=weight, intercept=r.intercept)
    for old, new in zip((*before, r.alpha), (case.X, case.y, weight, alpha), strict=True):
        np.testing.assert_array_equal(old, new)
