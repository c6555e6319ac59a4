"""Paths: every point certified, started from the one before it, and drawn."""

import weakref

import numpy as np
import pytest
from problems import Case, make, regulariser
from scipy import sparse

import proxsdca
from proxsdca._side import ColumnSide
from proxsdca.regularizers import L1, L1L2


def lasso(n=60, d=25, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, :4] @ [2.0, -1, 1, 0.5] + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge", "absolute", "huber"])
def test_every_point_is_the_solution_of_its_own_problem(loss):
    case = make(loss, "l2", n=40, d=8, seed=2)
    p = proxsdca.path(case.X, case.y, loss=loss, num=6, ratio=0.05, tol=1e-4, keep_alpha=True)
    assert p.converged.all()
    assert len(p) == 6
    for k, sigma in enumerate(p.sigmas):
        w = p.coef[:, [k]].toarray().ravel()
        c = proxsdca.certify(case.X, case.y, w, p.alpha[:, k], loss=loss, reg="l1", sigma=sigma)
        assert c.gap + c.rounding <= p.target[k]
        assert c.gap == pytest.approx(p.gap[k], rel=1e-6, abs=p.rounding[k] + 1e-14)
        cold = proxsdca.solve(
            case.X, case.y, loss=loss, reg="l1", sigma=sigma, tol=1e-4, max_epochs=50_000
        )
        assert p.primal[k] == pytest.approx(cold.primal, abs=p.gap[k] + cold.gap)
        assert p.nonzeros[k] == np.count_nonzero(w)


def test_against_scikit_learns_path():
    linear_model = pytest.importorskip("sklearn.linear_model")
    X, y = lasso()
    p = proxsdca.path(X, y, num=10, ratio=0.01, tol=1e-9)
    _, coefs, _ = linear_model.lasso_path(X, y, alphas=p.sigmas, tol=1e-12, max_iter=100_000)
    np.testing.assert_allclose(p.coef.toarray(), coefs, atol=1e-4)
    np.testing.assert_array_equal(p.coef.toarray() != 0, coefs != 0)


def test_it_begins_where_zero_is_the_solution():
    X, y = lasso()
    p = proxsdca.path(X, y, num=5)
    assert p.sigma_max == pytest.approx(np.abs(X.T @ y).max() / len(y))
    assert p.sigma_max == proxsdca.sigma_max(X, y)
    np.testing.assert_allclose(p.sigmas, p.sigma_max * np.geomspace(1, 0.01, 5))
    assert (p.nonzeros[0], p.epochs[0]) == (0, 0)
    below = proxsdca.solve(X, y, loss="squared", reg="l1", sigma=0.999 * p.sigma_max, tol=1e-12)
    assert below.w.any()


@pytest.mark.parametrize("reg", ["l1l2", "qnorm", "group"])
def test_sigma_max_of_other_regularisers(reg):
    X, y = lasso(d=6)
    reg = regulariser(reg, 6)
    largest = proxsdca.sigma_max(X, y, reg=reg)
    keywords = {"loss": "squared", "reg": reg, "tol": 1e-10, "max_epochs": 10_000}
    at = proxsdca.solve(X, y, sigma=largest * (1 + 1e-9), **keywords)
    assert (at.converged, at.epochs, at.w.any()) == (True, 0, False)
    assert proxsdca.solve(X, y, sigma=0.99 * largest, **keywords).w.any()


def test_weights_of_the_l1_part_count():
    X, y = lasso(d=5)
    c = np.array([1, 2, 0.5, 4, 1.0])
    largest = proxsdca.sigma_max(X, y, reg=L1(l1_weights=c))
    assert largest == pytest.approx(np.max(np.abs(X.T @ y) / len(y) / c))
    p = proxsdca.path(X, y, reg=L1L2(l1_weights=c), lam=0.1, num=4)
    assert p.nonzeros[0] == 0
    assert p.nonzeros[-1] > 0


def test_a_path_of_lam():
    case = make("hinge", "l2", n=40, d=6)
    lams = [1.0, 0.1, 0.01]
    p = proxsdca.path(case.X, case.y, loss="hinge", reg="l2", lams=lams, tol=1e-5)
    np.testing.assert_array_equal(p.lams, lams)
    for k, lam in enumerate(lams):
        r = case.solve(lam=lam, tol=1e-5, max_epochs=10_000)
        assert p.primal[k] == pytest.approx(r.primal, abs=p.gap[k] + r.gap)
    mixed = proxsdca.path(
        case.X, case.y, loss="hinge", reg="l1l2", lams=lams, sigma=0.02, max_epochs=50_000
    )
    np.testing.assert_array_equal(mixed.sigmas, 0.02)
    assert mixed.sigma_max is None


def test_warm_starts_save_epochs():
    X, y = lasso(n=40, d=80)
    p = proxsdca.path(X, y, num=30, tol=1e-6)
    cold = sum(
        proxsdca.solve(X, y, loss="squared", reg="l1", sigma=s, tol=1e-6, max_epochs=10**5).epochs
        for s in p.sigmas
    )
    assert p.epochs.sum() < 0.7 * cold


def test_X_is_transposed_once(monkeypatch):
    X, y = lasso()
    made = []
    original = ColumnSide.__init__

    def init(self, problem):
        made.append(problem.storage)
        original(self, problem)

    monkeypatch.setattr(ColumnSide, "__init__", init)
    proxsdca.path(sparse.csr_array(X), y, num=4)
    assert len(made) == 4
    assert all(storage is made[0] for storage in made)


def test_only_what_is_sparse_is_kept_of_a_point():
    X, y = lasso()
    results, alive = [], []

    def look(r):
        results.append(weakref.ref(r))
        alive.append(sum(ref() is not None for ref in results))

    p = proxsdca.path(X, y, num=8, callback=look)
    assert p.alpha is None
    assert max(alive) <= 2  # this point and the one that it started from


def test_callback_verbose_and_the_same_bits(capsys):
    X, y = lasso()
    seen = []
    p = proxsdca.path(X, y, num=8, callback=lambda r: seen.append(r) or len(seen) == 3, verbose=1)
    assert len(p) == len(seen) == 3
    assert capsys.readouterr().err.count(", sigma=") == 3
    again = proxsdca.path(X, y, num=8)
    np.testing.assert_array_equal(again.coef[:, [2]].toarray(), p.coef[:, [2]].toarray())
    assert "8 sigmas" in repr(again)


def test_ctrl_c_keeps_the_points_that_are_done():
    X, y = lasso()

    def stop(r):
        if np.count_nonzero(r.w) > 1:
            raise proxsdca.Interrupted(r)

    with pytest.raises(proxsdca.Interrupted) as caught:
        proxsdca.path(X, y, callback=stop)
    assert caught.value.path.converged.all()
    assert caught.value.path.nonzeros[-1] > 1


def test_a_point_that_falls_short_is_named():
    X, y = lasso()
    with pytest.warns(proxsdca.ConvergenceWarning, match="the first is number"):
        p = proxsdca.path(X, y, tol=1e-12, max_epochs=1, num=5)
    assert not p.converged.all()


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"sigmas": [0.1, -0.1]}, r"sigmas\[1\] = -0.1"),
        ({"sigmas": [0.1, np.nan]}, r"sigmas\[1\] = nan"),
        ({"sigmas": []}, "sigmas has shape"),
        ({"sigmas": 0.1}, "sigmas has shape"),
        ({"sigmas": [0.1], "sigma": 0.1}, "sigma = 0.1: sigmas"),
        ({"sigmas": [0.1], "lams": [0.1]}, "sigmas and lams"),
        ({"reg": "l2"}, "lams is needed"),
        ({"reg": "l2", "lams": [1.0], "lam": 1.0}, "lam = 1.0: lams"),
        ({"lams": [1.0]}, "reg = 'l1'"),
        ({"num": 0}, "num = 0"),
        ({"ratio": 1.0}, "ratio = 1.0"),
        ({"ratio": 0.0}, "ratio = 0.0"),
        ({"side": "diagonal"}, "side = 'diagonal'"),
        ({"order": "random"}, "order = 'random'"),
    ],
    ids=str,
)
def test_bad_input(keywords, message):
    X, y = lasso(n=10, d=5)
    with pytest.raises(ValueError, match=message):
        proxsdca.path(X, y, **keywords)
    with pytest.raises(TypeError, match="callback"):
        proxsdca.path(X, y, callback=3)


def test_without_a_sigma_max_there_is_no_path():
    with pytest.raises(ValueError, match=r"sigma_max = 0"):
        proxsdca.path(np.ones((3, 2)), np.zeros(3))
    with pytest.raises(ValueError, match="reg = 'l2' has no sigma"):
        proxsdca.sigma_max(np.ones((3, 2)), np.zeros(3), reg="l2")


def test_plot(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    X, y = lasso()
    p = proxsdca.path(X, y, num=12)
    figure = p.plot()
    above, below = figure.axes
    lines = [line for line in above.lines if len(line.get_xdata()) == 12]
    assert len(lines) == np.count_nonzero(np.abs(p.coef).sum(axis=1))
    assert below.get_yscale() == below.get_xscale() == "log"
    assert above.get_xlim()[0] > above.get_xlim()[1]  # from sigma_max down
    figure.savefig(tmp_path / "path.png")
    drawn = next(line for line in below.lines if line.get_label() == "gap + rounding").get_ydata()
    assert (drawn >= p.gap).all()
    figure = Case(X, y).solve(loss="squared").plot()  # of another kind, for comparison
    assert len(figure.axes) == 2
