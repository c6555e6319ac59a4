"""Every loss, regulariser, option and storage, to a certified gap, against outside optima."""

import numpy as np
import pytest
from problems import LOSS_NAMES, REG_NAMES, VARIANTS, Case, loss_options, make
from references import optimum
from scipy import sparse
from sklearn.linear_model import ElasticNet, LogisticRegression, Ridge
from sklearn.svm import LinearSVC

import proxsdca
from proxsdca import theory
from proxsdca._side import RowSide
from proxsdca.losses import LOSSES
from proxsdca.regularizers import L1L2

SIZES = ((1, 1), (2, 1), (1, 3), (7, 3), (40, 60), (150, 20))


def tolerance(loss) -> float:
    return 1e-8 if loss.gamma > 0 else 1e-5


def check_against_reference(case, result):
    best, slack = optimum(case.X, case.y, result.loss, result.reg, result.lam, result.sigma)
    assert result.primal <= best + result.gap + result.rounding + slack
    assert result.primal >= best - slack
    assert result.dual <= best + result.rounding + slack


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("reg", REG_NAMES)
@pytest.mark.parametrize(("loss", "option"), [p for p in loss_options() if p[1] != "IV-4L2"])
def test_every_option_reaches_its_gap(loss, option, reg, size):
    kind = LOSSES[loss]()
    n, d = size
    if kind.classification and n == 1:
        n = 2  # two classes need two rows
    case = make(loss, reg, n=n, d=d, seed=n + d)
    tol = tolerance(kind)
    results = [c.solve(option=option, tol=tol, max_epochs=200_000) for c in (case, case.csr())]
    for result in results:
        assert result.converged
        assert -result.rounding <= result.gap
        assert result.gap + result.rounding <= tol * abs(result.primal)
    np.testing.assert_allclose(results[0].w, results[1].w, rtol=1e-9, atol=1e-9)
    if option == "I":
        check_against_reference(case, results[0])


@pytest.mark.long
@pytest.mark.parametrize("reg", REG_NAMES)
@pytest.mark.parametrize(("loss", "option"), [p for p in loss_options() if p[1] != "IV-4L2"])
def test_every_option_at_2000_by_500(loss, option, reg):
    case = make(loss, reg, n=2000, d=500, seed=11)
    tol = tolerance(LOSSES[loss]())
    results = [c.solve(option=option, tol=tol, max_epochs=200_000) for c in (case, case.csr())]
    assert all(r.converged for r in results)
    if option == "I":
        check_against_reference(case, results[0])


def test_2000_by_500():
    """The long campaign's size, in CI for one smooth and one other loss."""
    for loss in ("logistic", "hinge"):
        case = make(loss, "l1l2", n=2000, d=500, seed=11)
        results = [c.solve(tol=tolerance(LOSSES[loss]())) for c in (case, case.csr())]
        assert all(r.converged for r in results)


@pytest.mark.filterwarnings("ignore::proxsdca.ConvergenceWarning")
@pytest.mark.parametrize("reg", REG_NAMES)
@pytest.mark.parametrize("loss", [p[0] for p in loss_options() if p[1] == "IV-4L2"])
def test_option_IV_with_4L2_within_theorem_2(loss, reg):
    kind, eps = LOSSES[loss](), 0.05
    for n, d in SIZES:
        n = max(n, 2)
        case = make(loss, reg, n=n, d=d, seed=n + d, lam=0.3)
        R = np.sqrt(np.max(np.sum(case.X**2, axis=1)))
        eps_D = case.certify(np.zeros(d), np.zeros(n)).gap
        _, T = theory.lipschitz_steps(n, R, 0.3, kind.lipschitz, eps, eps_D)
        result = case.solve(
            option="IV-4L2", order="uniform", tol=0.0, eps=eps, max_epochs=int(np.ceil(T / n))
        )
        assert result.converged


@pytest.mark.parametrize("loss", VARIANTS)
@pytest.mark.parametrize("weighted", [False, True])
def test_parameters_and_weights_against_the_reference(loss, weighted):
    kind = LOSSES[loss](**VARIANTS[loss])
    case = make(kind, "l1l2", n=40, d=6, seed=1, lam=0.02, sigma=0.01)
    weight = np.random.default_rng(0).random(40) if weighted else np.ones(40)
    c = np.linspace(0, 2, 6)
    reg = L1L2(c)
    result = case.solve(reg=reg, sample_weight=weight, tol=1e-6, max_epochs=50_000)
    best, slack = optimum(case.X, case.y, kind, reg, 0.02, 0.01, weight * 40 / weight.sum())
    assert result.converged
    assert best - slack <= result.primal <= best + result.gap + result.rounding + slack


def test_against_scikit_learn():
    """Mean loss + lam g: C = 1/(lam n) for their sums, alpha = lam for their means."""
    case = make("hinge", n=120, d=10, seed=3)
    X, y, n, lam = case.X, case.y, 120, 0.01

    def primal(w, loss, sigma=0.0):
        value = LOSSES[loss]().value(X @ w, y if LOSSES[loss]().classification else z).mean()
        return value + lam / 2 * w @ w + sigma * np.abs(w).sum()

    z = X @ np.arange(10.0) + 0.1 * y
    svm = LinearSVC(
        loss="hinge", C=1 / (lam * n), fit_intercept=False, dual=True, tol=1e-8, max_iter=10**6
    ).fit(X, y)
    logistic = LogisticRegression(C=1 / (lam * n), fit_intercept=False, tol=1e-10).fit(X, y)
    ridge = Ridge(alpha=lam * n, fit_intercept=False).fit(X, z)
    net = ElasticNet(
        alpha=lam + 0.05, l1_ratio=0.05 / (lam + 0.05), fit_intercept=False, tol=1e-12,
        max_iter=10**5,
    ).fit(X, z)  # fmt: skip
    for loss, target, theirs, sigma in (
        ("hinge", y, svm.coef_[0], None),
        ("logistic", y, logistic.coef_[0], None),
        ("squared", z, ridge.coef_, None),
        ("squared", z, net.coef_, 0.05),
    ):
        reg = "l2" if sigma is None else "l1l2"
        r = proxsdca.solve(X, target, loss=loss, reg=reg, lam=lam, sigma=sigma, tol=1e-7,
                           max_epochs=50_000)  # fmt: skip
        reached = primal(theirs, loss, sigma or 0.0)
        assert r.primal <= reached + r.gap + r.rounding
        assert reached - r.primal <= 1e-6 * r.primal
        np.testing.assert_allclose(r.w, theirs, atol=5e-3)


def test_defaults_stand_in_the_result():
    case = make("hinge", "l1l2", n=50, d=4)
    r = case.solve()
    assert (r.lam, r.sigma, r.option, r.order, r.intercept) == (0.02, 0.002, "I", "permutation", 0)
    weighted = case.solve(sample_weight=np.full(50, 4.0))
    assert weighted.lam == 1 / 200
    assert case.solve(reg="l2").sigma == 0
    assert r.loss.name == "hinge"
    assert r.reg.name == "l1l2"


def test_tol_and_eps_either_suffices():
    case = make("logistic", n=60, d=5)
    by_tol = case.solve(tol=1e-6, eps=0.0)
    assert by_tol.gap + by_tol.rounding <= 1e-6 * by_tol.primal == by_tol.target
    by_eps = case.solve(tol=0.0, eps=0.01)
    assert by_eps.converged
    assert by_eps.target == 0.01
    assert by_eps.epochs < by_tol.epochs
    either = case.solve(tol=1e-6, eps=0.01)
    assert either.epochs == by_eps.epochs


def test_max_epochs_and_the_warning():
    case = make("hinge", n=100, d=30)
    with pytest.warns(proxsdca.ConvergenceWarning, match="after 2 epochs"):
        r = case.solve(tol=1e-9, max_epochs=2)
    assert not r.converged
    assert r.status is proxsdca.Status.MAX_EPOCHS
    assert r.epochs == 2
    assert r.gap > r.target
    with pytest.warns(proxsdca.ConvergenceWarning):
        nothing = case.solve(max_epochs=0)
    assert not nothing.w.any()
    assert nothing.gap == pytest.approx(1)


def test_max_seconds():
    case = make("hinge", n=3000, d=100, density=1.0)
    with pytest.warns(proxsdca.ConvergenceWarning, match="max_seconds"):
        r = case.solve(tol=0.0, max_epochs=10**9, max_seconds=0.2, solver="plain")
    assert r.status is proxsdca.Status.MAX_SECONDS
    check = case.certify(r.w, r.alpha)
    assert check.gap == r.gap


def test_tol_zero_ends_at_rounding():
    case = make("squared", n=60, d=5)
    with pytest.warns(proxsdca.ConvergenceWarning, match="rounding"):
        r = case.solve(tol=0.0, max_epochs=10**6)
    assert r.status is proxsdca.Status.ROUNDING
    assert abs(r.gap) <= r.rounding < 1e-13


def test_history_and_frozen_result():
    case = make("hinge", n=80, d=40)
    r = case.solve(tol=1e-7, max_epochs=100_000)
    h = r.history
    assert h.dtype.names == ("epoch", "seconds", "primal", "dual", "gap", "rounding", "nonzeros")
    assert h["epoch"][-1] == r.epochs
    assert h["gap"][-1] == r.gap
    assert h["primal"][-1] == r.primal
    assert (np.diff(h["epoch"]) > 0).all()
    assert (np.diff(h["seconds"]) >= 0).all()
    assert (np.diff(h["dual"]) >= -1e-14).all()
    assert h["nonzeros"][-1] == np.count_nonzero(r.w)
    for name in ("w", "gap"):
        with pytest.raises(AttributeError):
            setattr(r, name, 0)
    for array in (r.w, r.alpha, r.history):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    assert "hinge + l2" in repr(r)


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("reg", REG_NAMES)
def test_certification_keeps_its_share(loss, reg):
    """10 % of the nonzeros touched in runs of over 30 epochs, two passes in shorter ones."""
    seen = set()
    for tol in (1e-2, 1e-3, 1e-4, 1e-5):
        case = make(loss, reg, n=200, d=40, seed=4).csr()
        r = case.solve(tol=tol, max_epochs=100_000, option="I")
        passes = r.touched_certifying / case.X.nnz
        assert r.touched == r.epochs * case.X.nnz
        assert passes == len(r.history)
        seen.add(r.epochs > 30)
        if r.epochs > 30:
            assert r.touched_certifying <= 0.1 * (r.touched + r.touched_certifying)
        else:
            assert passes <= 2
    assert False in seen


@pytest.mark.filterwarnings("ignore::proxsdca.ConvergenceWarning")
def test_certification_keeps_its_share_under_limits():
    case = make("hinge", n=200, d=40, seed=4).csr()
    for epochs in (0, 1, 2, 5, 10, 20, 29, 30, 31, 40, 100):
        r = case.solve(tol=1e-12, max_epochs=epochs)
        if epochs > 30:
            assert r.touched_certifying <= 0.1 * (r.touched + r.touched_certifying)
        else:
            assert r.touched_certifying <= 2 * case.X.nnz


def test_drift_of_v_is_repaired():
    """A long run ends with w = grad g*(v(alpha)) of the alpha it returns."""
    case = make("absolute", "l1l2", n=50, d=20, lam=1e-4, sigma=1e-5)
    with pytest.warns(proxsdca.ConvergenceWarning):
        r = case.solve(tol=0.0, max_epochs=20_000)
    v = case.X.T @ r.alpha / (1e-4 * 50)
    w = np.sign(v) * np.maximum(np.abs(v) - 0.1, 0)
    np.testing.assert_allclose(r.w, w, atol=1e-10 * np.abs(v).max())


def test_rows_of_zeros_and_columns_of_zeros():
    X = np.zeros((6, 4))
    X[:3, 0] = 1, -1, 2
    y = np.array([1, -1, 1, 1, -1, 1])
    for loss in ("hinge", "logistic", "squared_hinge", "smooth_hinge"):
        for matrix in (X, sparse.csr_array(X)):
            r = proxsdca.solve(matrix, y, loss=loss, tol=1e-7)
            assert r.converged
            assert not r.w[1:].any()
    r = proxsdca.solve(sparse.csr_array((5, 3)), np.arange(5.0), loss="poisson", tol=1e-9)
    assert r.converged
    assert not r.w.any()


def test_matrices_as_people_hold_them():
    pandas = pytest.importorskip("pandas")
    case = make("squared", n=30, d=4)
    base = case.solve(tol=1e-9)
    frame = pandas.DataFrame(case.X, columns=list("abcd"))
    forms = [frame, case.X.tolist(), sparse.csc_array(case.X), sparse.coo_array(case.X),
             sparse.lil_array(case.X)]  # fmt: skip
    for X in forms:
        r = Case(X, pandas.Series(case.y), case.keywords).solve(tol=1e-9)
        assert r.primal == pytest.approx(base.primal, abs=base.gap + r.gap + 1e-14)
    counts = np.random.default_rng(0).integers(0, 5, size=(30, 4))
    assert Case(counts, case.y, case.keywords).solve().converged
    assert Case(counts > 2, case.y, case.keywords).solve().converged


def test_overflow_names_the_row():
    X, y = np.ones((3, 2)), np.array([1.0, -1, 1])
    X[1, 0] = 1e200
    with pytest.raises(proxsdca.NumericalError, match="row 1"):
        proxsdca.solve(X, y)


def test_the_estimate_is_ahead_by_half_an_epoch_for_smooth_losses(monkeypatch):
    """Where the gap falls fast, that saves an epoch, and the first certificate still does."""
    case = make("logistic", "l2", n=3000, d=40, seed=7, lam=1e-2)
    tols = 10.0 ** -np.arange(2, 6, 0.25)
    ahead = [case.solve(tol=tol, solver="shrinking") for tol in tols]
    monkeypatch.setattr(RowSide, "lag", 0.0)
    behind = [case.solve(tol=tol, solver="shrinking") for tol in tols]
    assert all(r.converged for r in ahead + behind)
    assert sum(r.epochs for r in ahead) < sum(r.epochs for r in behind) - 3
    assert sum(len(r.history) == 1 for r in ahead) >= len(tols) - 2
