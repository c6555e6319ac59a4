"""Working sets of columns: the same optimum with less work, within every limit."""

import numpy as np
import own
import pytest
from scipy import sparse

import proxsdca
from proxsdca import _working_sets
from proxsdca._core.columns import Penalty
from proxsdca._core.working_set import WorkingSet
from proxsdca._loop import Run
from proxsdca._side import ColumnSide
from proxsdca._validate import rows
from proxsdca._working_sets import BITS, FIRST, LITTLE, MOST, WorkingSets

pytestmark = pytest.mark.accelerators

LOSSES = ["squared", "logistic", "squared_hinge", "smooth_hinge", "huber", own.Expectile(0.3)]


def data(loss, n=60, d=150, seed=0, density=0.5):
    rng = np.random.default_rng(seed)
    X = sparse.random(n, d, density, "csc", random_state=rng, data_rvs=rng.standard_normal)
    y = X[:, :8] @ rng.normal(size=8) + 0.5 * rng.normal(size=n)
    return X, y if loss in ("squared", "huber") or not isinstance(loss, str) else np.where(
        y > 0, 1.0, -1.0
    )


def both(X, y, **how):
    """The result with working sets, and the one without."""
    how = {"side": "columns", "tol": 1e-8, "max_epochs": 20_000, **how}
    sets = proxsdca.solve(X, y, solver="working_sets", **how)
    plain = proxsdca.solve(X, y, solver="plain", **how)
    assert sets.converged
    assert plain.converged
    assert "working_sets" in sets.solver
    assert plain.solver == ("epochs",)
    return sets, plain


def within(sets, plain):
    """Whether certificates of the same problem agree."""
    size = sets.rounding + plain.rounding
    return sets.dual - size <= plain.primal and plain.dual - size <= sets.primal


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reg", ["l1", "l1l2"])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_the_optimum_is_that_of_epochs(loss, reg, weighted, intercept):
    X, y = data(loss)
    how = {"loss": loss, "reg": reg, "fit_intercept": intercept}
    how["sigma"] = 0.1 * proxsdca.sigma_max(X, y, loss=loss, fit_intercept=intercept)
    if reg == "l1l2":
        how["lam"] = how["sigma"]
    if weighted:
        how["sample_weight"] = np.arange(len(y)) % 4
    sets, plain = both(X, y, **how)
    assert within(sets, plain)
    assert not weighted or not sets.alpha[::4].any()


@pytest.mark.parametrize("reg", ["l1", "l1l2"])
def test_features_have_weights_of_their_own(reg):
    X, y = data("logistic")
    c = np.linspace(0.5, 3, X.shape[1])
    if reg == "l1l2":
        c[::10] = 0  # left to l2 alone: always in the set
    penalty = {"l1": proxsdca.regularizers.L1, "l1l2": proxsdca.regularizers.L1L2}[reg]
    sets, plain = both(X, y, loss="logistic", reg=penalty(l1_weights=c), sigma=0.02)
    assert within(sets, plain)
    if reg == "l1l2":
        assert np.all(sets.w[::10] != 0)


@pytest.mark.parametrize("kind", ["csc", "csr", "dense", "int64", "float32"])
def test_any_storage_has_the_same_solution(kind):
    X, y = data("logistic")
    how = {"loss": "logistic", "reg": "l1", "sigma": 0.02, "tol": 1e-9}
    first = proxsdca.solve(X, y, **how)
    other = {"csr": X.tocsr(), "dense": X.toarray(), "float32": X.astype(np.float32)}.get(kind, X)
    if kind == "int64":
        other = X.copy()
        other.indices, other.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    r = proxsdca.solve(other, y, **how)
    if kind in ("csc", "csr", "int64"):
        np.testing.assert_array_equal(r.w, first.w)
    tolerance = 1e-5 if kind == "float32" else 1e-10
    assert r.primal == pytest.approx(first.primal, rel=tolerance)


@pytest.mark.parametrize(("n", "d"), [(40, 900), (900, 40), (1, 30), (30, 1)])
@pytest.mark.parametrize("share", [1.5, 1.0, 0.3, 1e-2, 1e-4])
def test_any_shape_and_any_sigma(n, d, share):
    X, y = data("squared", n, d) if d >= 8 else (np.ones((n, d)), np.arange(n, dtype=float))
    sigma = share * proxsdca.sigma_max(X, y)
    r = proxsdca.solve(X, y, loss="squared", reg="l1", sigma=sigma, solver="working_sets")
    assert r.converged
    if share >= 1:
        assert not r.w.any()
        assert r.epochs == 0


def test_columns_that_are_alike():
    """H is singular; features that are correlated enter and leave the set."""
    X, y = data("squared", n=200, d=40)
    X = X.toarray()
    X = np.hstack([X, X, X[:, :20] + 1e-6 * X[:, 20:], np.zeros((200, 3)), np.ones((200, 2))])
    for loss, lam in (("squared", None), ("squared", 1e-8), ("logistic", None)):
        target = y if loss == "squared" else np.where(y > 0, 1.0, -1.0)
        reg = "l1" if lam is None else "l1l2"
        r = proxsdca.solve(
            X, target, loss=loss, reg=reg, lam=lam, sigma=1e-4, side="columns", tol=1e-8,
            solver="working_sets",
        )  # fmt: skip
        assert r.converged
        assert r.epochs < 500
        assert not r.w[100:103].any()


def test_more_columns_than_a_matrix_is_for():
    X, y = data("logistic", n=900, d=1500, density=0.05)
    sets, plain = both(X, y, loss="logistic", reg="l1", sigma=1e-4, tol=1e-6)
    assert np.count_nonzero(sets.w) > 0
    assert within(sets, plain)
    assert sets.solver == ("working_sets",)
    assert len(np.flatnonzero(np.abs(X.T @ (y / 2)) > 900 * 1e-4)) > MOST  # of the first set


def test_fewer_passes_than_epochs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 60)) @ (np.eye(60) + 0.9)  # correlated
    y = np.where(X[:, 0] - X[:, 1] + rng.normal(size=300) > 0, 1.0, -1.0)
    sets, plain = both(np.asfortranarray(X), y, loss="logistic", reg="l1", sigma=1e-3)
    assert sets.touched < 0.2 * plain.touched


def test_rounds_never_raise_the_objective(monkeypatch):
    seen, look = [], WorkingSets.look

    def watched(*state):
        seen.append(look(*state))
        return seen[-1]

    monkeypatch.setattr(WorkingSets, "look", watched)
    for loss in LOSSES:
        seen.clear()
        X, y = data(loss, d=400)
        r = proxsdca.solve(X, y, loss=loss, reg="l1", sigma=1e-3, tol=1e-7)
        primal, gap = np.array(seen).T
        assert len(seen) > 2
        assert np.all(np.diff(primal) <= 1e-14 * primal[0])
        assert primal[-1] == pytest.approx(r.primal, rel=1e-6)
        assert gap[-1] <= LITTLE * 1e-7 * primal[-1]  # after which a round may end the run
        assert r.converged


def test_only_what_may_matter_is_worked_on(monkeypatch):
    sizes, take = [], WorkingSets._make
    monkeypatch.setattr(
        WorkingSets, "_make", lambda self, chosen: sizes.append(len(chosen)) or take(self, chosen)
    )
    X, y = data("squared", n=100, d=500)
    sigma = 0.3 * proxsdca.sigma_max(X, y)
    r = proxsdca.solve(X, y, loss="squared", reg="l1", sigma=sigma, tol=1e-9)
    assert r.converged
    assert max(sizes) <= max(FIRST, 4 * np.count_nonzero(r.w)) < 500


def test_certificates_that_disappoint_are_not_asked_for_for_ever(monkeypatch):
    """An estimate that is always 0 leaves the rest to epochs."""
    look = WorkingSets.look
    monkeypatch.setattr(WorkingSets, "look", lambda *state: (look(*state)[0], 0.0))
    X, y = data("logistic")
    r = proxsdca.solve(X, y, loss="logistic", reg="l1", sigma=0.02, tol=1e-6)
    assert r.converged
    assert set(r.solver) >= {"working_sets", "epochs"}
    assert len(r.history) < 30


def test_limits():
    X, y = data("logistic", n=200, d=400)
    how = {"loss": "logistic", "reg": "l1", "sigma": 1e-3}
    with pytest.warns(proxsdca.ConvergenceWarning):
        r = proxsdca.solve(X, y, tol=0, max_epochs=6, **how)
    assert "working_sets" in r.solver
    assert 6 <= r.epochs < 60
    with pytest.warns(proxsdca.ConvergenceWarning):
        r = proxsdca.solve(X, y, tol=0, max_epochs=5, **how)
    assert "working_sets" not in r.solver
    assert r.epochs == 5
    with pytest.warns(proxsdca.ConvergenceWarning):
        assert proxsdca.solve(X, y, tol=0, max_seconds=0, **how).status.name == "MAX_SECONDS"
    each = proxsdca.solve(X, y, tol=1e-8, certify_every=1, **how)
    assert each.converged
    assert len(each.history) > 2
    assert np.all(np.diff(each.history["primal"]) <= 1e-12)
    with pytest.warns(proxsdca.ConvergenceWarning):
        stopped = proxsdca.solve(X, y, certify_every=1, callback=lambda check: True, **how)
    assert stopped.status.name == "STOPPED"
    assert len(stopped.history) == 1


def test_without_a_target_w_is_as_good_as_it_gets():
    X, y = data("squared")
    with pytest.warns(proxsdca.ConvergenceWarning):
        r = proxsdca.solve(X, y, loss="squared", reg="l1", sigma=0.05, tol=0, max_epochs=2000)
    assert set(r.solver) >= {"working_sets", "epochs"}
    assert r.gap <= 1e-12 * r.primal


def test_warm_starts_are_worth_something():
    X, y = data("logistic", n=200, d=400)
    how = {"loss": "logistic", "reg": "l1", "tol": 1e-6}
    first = proxsdca.solve(X, y, sigma=0.01, **how)
    cold = proxsdca.solve(X, y, sigma=0.009, **how)
    warm = proxsdca.solve(X, y, sigma=0.009, warm_start=first, **how)
    assert warm.converged
    assert warm.touched < cold.touched
    again = proxsdca.solve(X, y, sigma=0.01, warm_start=first, **how)
    assert again.converged
    assert again.epochs == 0


def test_an_interruption_leaves_what_there_is(monkeypatch):
    work, rounds = Run._work_on_sets, []

    def interrupted(self, sets):
        rounds.append(1)
        if len(rounds) == 3:
            raise KeyboardInterrupt
        work(self, sets)

    monkeypatch.setattr(Run, "_work_on_sets", interrupted)
    X, y = data("logistic", n=200, d=400)
    with pytest.raises(proxsdca.Interrupted) as stop:
        proxsdca.solve(X, y, loss="logistic", reg="l1", sigma=1e-3, tol=1e-9, certify_every=1)
    assert 0 < stop.value.result.gap < np.log(2)


@pytest.mark.parametrize(
    ("how", "side"),
    [
        ({}, "columns"),
        ({"solver": ["working_sets", "screening"]}, "columns"),
        ({"solver": "plain"}, "rows"),
        ({"solver": "screening"}, "rows"),
        ({"option": "I"}, "rows"),
        ({"output": "average"}, "rows"),
        ({"loss": "hinge"}, "rows"),
        ({"reg": "l2", "sigma": None}, "rows"),
        ({"side": "rows"}, "rows"),
        ({"sigma": 0.009}, "rows"),
        ({"sigma": None}, "rows"),
        ({"lam": None}, "rows"),
    ],
)
def test_which_side_elastic_nets_are_solved_on(how, side):
    X, y = data("logistic")
    how = {"loss": "logistic", "reg": "l1l2", "lam": 0.01, "sigma": 0.01, **how}
    for data_like in (X, X.tocsr(), X.toarray("C"), np.asfortranarray(X.toarray())):
        assert proxsdca.solve(data_like, y, **how).side == side


def core_of(X, y, weight=None, free=False):
    return WorkingSet(
        rows(X, True), proxsdca.losses.Logistic(), y, weight, Penalty(1.0, 0.0),
        np.ones(X.shape[1]), free,
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["csc", "csr", "int64", "dense", "full", "unsorted"])
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_matrix_of_a_part_of_the_rows(weighted, free, kind):
    """The diagonal is that of all rows; the rest is near, and the whole is positive definite."""
    rng = np.random.default_rng(0)
    n, chosen = 9000, np.array([0, 2, 3, 5, 7, 8])
    X = sparse.random(n, 9, 0.3, "csc", random_state=rng, data_rvs=rng.standard_normal)
    X = X.tolil()
    X[:, 5] = 0
    X[7, 5], X[4000, 5] = 3.0, -1.0  # of which hardly any sample has one
    X = X.tocsc()
    y, z = np.sort(np.where(rng.random(n) < 0.1, 1.0, -1.0)), 3 * rng.normal(size=n)
    weight = np.arange(n) % 4 / 1.5 if weighted else None
    dense = X.toarray()
    if kind == "full":
        dense = dense + 1.0
    A = np.hstack([dense[:, chosen], np.ones((n, int(free)))])
    bend = np.exp(-np.abs(z)) / (1 + np.exp(-np.abs(z))) ** 2 * (weight if weighted else 1)
    H = A.T * bend @ A
    size = np.sqrt(np.diag(H))
    X = {"csr": X.tocsr(), "dense": np.asfortranarray(dense), "full": dense}.get(kind, X)
    if kind == "int64":
        X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    if kind == "unsorted":
        for j in range(9):
            part = slice(X.indptr[j], X.indptr[j + 1])
            X.indices[part], X.data[part] = X.indices[part][::-1].copy(), X.data[part][::-1].copy()
        X.has_sorted_indices = False
    core = core_of(X, y, weight, free)
    core.look(z)
    core.choose(chosen)
    core.products()
    assert core.curve(np.inf)
    np.testing.assert_allclose(core.H, H, rtol=1e-10, atol=1e-10)
    for most in (300, 2000):
        assert not core.curve(most)
        np.testing.assert_allclose(np.diag(core.H), np.diag(H), rtol=1e-12)
        np.testing.assert_array_equal(core.H, np.asarray(core.H).T)
        alike = np.asarray(core.H) / np.outer(size, size)
        known = chosen[:, None] != 5
        known = np.ravel(np.vstack([known, np.ones((int(free), 1), bool)]))
        off = (alike - H / np.outer(size, size))[np.ix_(known, known)]
        assert np.abs(off).max() < 3 / np.sqrt(most)
        assert np.linalg.eigvalsh(alike)[0] > 0


def test_a_step_teaches_the_matrix():
    """H p becomes what the gradient changed by, and no other sums of squares become negative."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 6)) @ (np.eye(6) + 0.5)
    y, z = np.where(rng.random(4000) < 0.3, 1.0, -1.0), rng.normal(size=4000)
    core = core_of(np.asfortranarray(X), y)
    core.look(z)
    core.choose(np.arange(6))
    core.products()
    core.curve(100)
    bend = np.exp(-np.abs(z)) / (1 + np.exp(-np.abs(z))) ** 2
    H = X.T * bend @ X
    p = rng.normal(size=6) * (np.arange(6) != 2)
    assert not np.allclose(core.H @ p, H @ p, rtol=1e-3)
    core.learn(p, H @ p)
    np.testing.assert_allclose(core.H @ p, H @ p, rtol=1e-9)
    np.testing.assert_allclose(core.H, np.asarray(core.H).T, rtol=1e-12)
    assert np.linalg.eigvalsh(core.H)[0] > 0
    before = np.array(core.H)
    core.learn(p, -H @ p)  # roundings at the end of a run: no gradient of a convex function does so
    core.learn(np.zeros(6), np.zeros(6))
    np.testing.assert_array_equal(core.H, before)


def test_what_is_learnt_saves_matrices(monkeypatch):
    X, y = data("logistic", n=6000, d=40)
    how = {"loss": "logistic", "reg": "l1", "sigma": 1e-3, "tol": 1e-8}
    made = []

    class Counted(WorkingSet):
        def curve(self, most):
            made.append(most)
            return super().curve(most)

    class Forgetful(Counted):
        def learn(self, p, y):
            pass

    counts, found = [], []
    for kind in (Counted, Forgetful):
        monkeypatch.setattr(_working_sets, "WorkingSet", kind)
        made.clear()
        found.append(proxsdca.solve(X, y, side="columns", **how))
        counts.append(len(made))
    assert within(*found)
    assert counts[0] < counts[1]


def test_norms_are_put_off_until_they_are_needed(monkeypatch):
    X, y = data("logistic")
    asked, curvature = [], ColumnSide.curvature
    monkeypatch.setattr(ColumnSide, "curvature", lambda s: asked.append(1) or curvature(s))
    r = proxsdca.solve(X, y, loss="logistic", reg="l1", sigma=0.02, tol=1e-6)
    assert (r.solver, asked) == (("working_sets",), [])
    monkeypatch.setattr(WorkingSets, "descend", lambda s, *a: setattr(s, "stuck", True) or np.inf)
    r = proxsdca.solve(X, y, loss="logistic", reg="l1", sigma=0.02, tol=1e-6)
    assert r.converged
    assert "epochs" in r.solver
    assert asked == [1]


def test_what_sets_do_not_know_corrects_no_estimates(monkeypatch):
    """Of a round after which only a look would tell, the schedule of epochs learns nothing."""
    X, y = data("logistic")
    corrections, certify = [], Run._certify

    def watched(run, *a):
        certify(run, *a)
        corrections.append(run.schedule.correction)

    monkeypatch.setattr(Run, "_certify", watched)
    monkeypatch.setattr(WorkingSets, "descend", lambda s, *a: setattr(s, "stuck", True) or np.inf)
    r = proxsdca.solve(X, y, loss="logistic", reg="l1", sigma=0.02, tol=1e-6)
    assert r.converged
    assert corrections[0] == 1


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", own.Expectile(0.3)], ids=str)
@pytest.mark.parametrize("intercept", [False, True])
def test_hard_problems_of_many_rows(loss, intercept):
    """Rows in the order of their targets, columns that are rare, alike, and of many sizes."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(6000, 30)) @ (np.eye(30) + 0.9) * 10.0 ** rng.uniform(-1, 1, 30)
    X[:, :6] *= rng.random((6000, 6)) < [0.5, 0.1, 0.01, 0.003, 0.001, 0.0005]
    y = X[:, :8] @ rng.normal(size=8) + rng.normal(size=6000)
    X, y = X[np.argsort(y)], np.sort(y)
    if loss != "squared" and isinstance(loss, str):
        y = np.where(y > np.quantile(y, 0.95), 1.0, -1.0)
    sigma = 1e-3 * proxsdca.sigma_max(X, y, loss=loss, fit_intercept=intercept)
    how = {"loss": loss, "reg": "l1", "sigma": sigma, "fit_intercept": intercept}
    r = proxsdca.solve(np.asfortranarray(X), y, tol=1e-8, side="columns", **how)
    assert r.converged
    assert r.solver == ("working_sets",)
    assert r.epochs < 300


@pytest.mark.parametrize("kind", ["csc", "float32", "int64", "dense", "strided", "repeated"])
@pytest.mark.parametrize("n", [1, 63, 64, 65])
def test_thinned_columns(kind, n):
    """Every 2^bits-th example, whatever the storage."""
    rng = np.random.default_rng(0)
    X = sparse.random(n, 300, 0.3, "csc", random_state=rng, data_rvs=rng.standard_normal)
    if kind == "dense":
        X = np.asfortranarray(X.toarray())
    elif kind == "strided":
        X = X.toarray("C")
    elif kind == "repeated":
        X = sparse.csc_array((np.ones(600), np.zeros(600, np.int32), 2 * np.arange(301)), (n, 300))
    elif kind == "float32":
        X = X.astype(np.float32)
    elif kind == "int64":
        X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    core = core_of(X, np.ones(n))
    w = rng.normal(size=300)
    for bits in (0, 4, 7):
        some = core.thin(bits)
        assert (some.n, some.d) == (300, len(range(0, n, 1 << bits)))
        np.testing.assert_allclose(some.rmatvec(w), (X @ w)[:: 1 << bits], 1e-6, 1e-6)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reg", ["l1", "l1l2"])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_of_many_examples_some_come_first(loss, reg, weighted, intercept, monkeypatch):
    X, y = data(loss, n=3000, d=20)
    how = {"loss": loss, "reg": reg, "fit_intercept": intercept, "sigma": 0.01}
    if reg == "l1l2":
        how["lam"] = 0.01
    if weighted:
        how["sample_weight"] = np.arange(len(y)) % 5
    begun, begin = [], WorkingSets.begin
    monkeypatch.setattr(WorkingSets, "begin", lambda *a: begun.append(begin(*a)) or begun[-1])
    sets, plain = both(X, y, **how)
    assert begun == [True]
    assert within(sets, plain)


def test_a_sample_saves_passes(monkeypatch):
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.normal(size=(12_000, 90)) @ (np.eye(90) + 0.1))  # correlated
    y = X[:, 0] - X[:, 1] + X[:, 2:20] @ rng.normal(size=18) + rng.normal(size=len(X))
    sigma = 0.01 * proxsdca.sigma_max(X, y)
    how = {"loss": "squared", "reg": "l1", "sigma": sigma, "tol": 1e-4}
    first = proxsdca.solve(X, y, **how)
    monkeypatch.setattr(WorkingSets, "begin", lambda *state: False)
    without = proxsdca.solve(X, y, **how)
    assert within(first, without)
    assert first.touched < 0.8 * without.touched


def test_examples_that_say_nothing_of_the_others():
    """The sample is all zeros, of weight 0, or of one class."""
    X, y = data("logistic", n=3000, d=20)
    step = 1 << BITS
    weight = np.ones(len(y))
    weight[::step] = 0
    empty, shifted = X.tolil(), np.where(np.arange(len(y)) % step == 0, 1.0, y)
    empty[::step] = 0
    how = {"loss": "logistic", "reg": "l1", "sigma": 0.003}
    for case in ({"sample_weight": weight}, {"fit_intercept": True}):
        for matrix, target in ((X, y), (empty.tocsc(), y), (X, shifted)):
            sets, plain = both(matrix, target, **how, **case)
            assert within(sets, plain)


@pytest.mark.filterwarnings("ignore::proxsdca.ConvergenceWarning")
@pytest.mark.parametrize("reg", ["l1", "l1l2"])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_sets_that_run_out_of_epochs_leave_the_alpha_of_their_w(loss, reg):
    """It was once that of the w they had started from."""
    X, y = data(loss, n=300, d=600)
    how = {"loss": loss, "reg": reg, "sigma": 2e-3, "tol": 1e-12}
    if reg == "l1l2":
        how["lam"] = 1e-3
    for epochs in (6, 10, 20, 40):
        r = proxsdca.solve(X, y, max_epochs=epochs, side="columns", **how)
        y_signed = np.where(y == r.classes[1], 1.0, -1.0)
        slope = -proxsdca.losses.LOSSES[loss]().subgradient(X @ r.w, y_signed)
        c = (r.alpha @ slope) / (slope @ slope)  # alpha is made shorter for l1
        assert np.allclose(r.alpha, c * slope, atol=1e-8)


def test_a_path_without_them_goes_by_rows():
    X, y = data("logistic")
    how = {"loss": "logistic", "reg": "l1l2", "lam": 1e-3, "sigmas": [1e-2], "keep_alpha": False}
    assert proxsdca.path(X, y, **how, solver="plain").side == "rows"
    assert proxsdca.path(X, y, **how).side == "columns"


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_entries_that_stand_twice(loss):
    """As many in a row as the set has columns, though not in all of them."""
    X, y = data(loss, n=300, d=8)
    twice = sparse.csc_array(
        (np.repeat(0.5 * X.data, 2), np.repeat(X.indices, 2), 2 * X.indptr), X.shape
    )
    how = {"loss": loss, "reg": "l1", "sigma": 0.01, "tol": 1e-9, "side": "columns"}
    once, again = (proxsdca.solve(A, y, solver="working_sets", **how) for A in (X, twice))
    assert within(once, again)
    assert again.solver == ("working_sets",)
