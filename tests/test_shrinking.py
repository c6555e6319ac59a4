"""Shrinking: what rests stays, everything is certified on all rows, and fewer rows are visited."""

import numpy as np
import pytest
from problems import LOSS_NAMES, make
from scipy import sparse

import proxsdca
from proxsdca import _random, _side

KINKED = [name for name in LOSS_NAMES if name not in ("logistic", "squared", "poisson")]
LARGE = {"n": 400, "d": 30, "density": 0.3}


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_which_losses_let_rows_rest(loss):
    problem = make(loss).problem()
    assert problem.loss.may_rest(problem.target[0]) == (loss in KINKED)


@pytest.mark.parametrize("reg", ["l2", "l1l2"])
@pytest.mark.parametrize("loss", KINKED)
def test_rows_at_rest_stay_where_they_are(loss, reg):
    case = make(loss, reg=reg, seed=2, lam=1e-2, **LARGE)
    solved = case.solve(tol=1e-9, max_epochs=10_000)
    problem = case.problem()
    side = _side.make(problem, 0.0)
    alpha, v = np.array(solved.alpha), np.zeros(problem.d)
    side.load(alpha, v)
    curvature = side.curvature()
    core = side.epoch(curvature, alpha, v)
    rests = np.zeros(problem.n, np.uint8)
    core.watch(rests)
    core.calm = calm = 0.05
    core.run(np.arange(problem.n))
    assert 0 < rests.sum() < problem.n
    assert core.calm == calm  # no step has moved a margin further
    # a margin that is off by less leaves phi' where it is, a larger one does not everywhere
    z, y = problem.margins(solved.w), problem.target
    for off in (-0.99 * calm, 0.99 * calm):
        slope = problem.loss.subgradient(z + off, y)
        ends = np.isin(alpha, np.concatenate([np.atleast_1d(e) for e in problem.loss.domain(y)]))
        still = rests.astype(bool) & ends
        assert np.allclose(-slope[still], alpha[still], atol=1e-9)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reg", ["l2", "l1l2", "l1"])
@pytest.mark.parametrize("loss", KINKED)
def test_ends_where_the_paper_does(loss, reg, weighted, intercept):
    keywords = {} if reg == "l1" else {"lam": 1e-3}
    case = make(loss, reg=reg, seed=4, **LARGE, **keywords)
    weights = np.random.default_rng(1).integers(0, 4, LARGE["n"]) if weighted else None
    how = {"sample_weight": weights, "fit_intercept": intercept, "max_epochs": 20_000}
    if reg == "l1":
        how["side"] = "rows"
    r = case.solve(**how, tol=1e-4, solver="shrinking", certify_every=1)
    plain = case.solve(**how, tol=1e-3, solver="plain")
    assert r.converged
    assert plain.solver == ("epochs",)
    assert set(r.solver) <= {"epochs", "shrinking"}
    assert r.dual - r.rounding <= plain.primal + plain.rounding
    assert plain.dual - plain.rounding <= r.primal + r.rounding
    if reg != "l1" and not intercept:  # where the loop ascends the dual that is certified
        rounding = r.history["rounding"]
        assert (np.diff(r.history["dual"]) >= -(rounding[1:] + rounding[:-1])).all()


@pytest.mark.parametrize(("loss", "reg"), [("hinge", "l2"), ("hinge", "l1l2"), ("absolute", "l2")])
def test_fewer_rows_are_visited(loss, reg):
    case = make(loss, reg=reg, seed=5, n=2_000, d=200, density=0.05, lam=1e-3)
    shrunk, plain = (case.solve(tol=1e-6, solver=s) for s in ("shrinking", "plain"))
    assert shrunk.converged
    assert plain.converged
    assert "shrinking" in shrunk.solver
    assert shrunk.touched < 0.7 * plain.touched


@pytest.mark.parametrize("order", [name for name in _random.ORDERS if name != "permutation"])
def test_other_orders_are_kept(order):
    case = make("hinge", seed=5, lam=1e-2, **LARGE)
    assert case.solve(order=order, tol=1e-2).solver == ("epochs",)


@pytest.mark.filterwarnings("ignore::proxsdca.ConvergenceWarning")
def test_limits_hold():
    case = make("hinge", seed=5, lam=1e-4, **LARGE)
    for limit in (1, 2, 5, 9, 30):
        r = case.solve(tol=1e-12, max_epochs=limit, solver="shrinking")
        assert r.epochs <= limit
        assert r.touched <= limit * case.problem().nnz + case.problem().nnz
    assert case.solve(tol=1e-12, max_seconds=0.0, solver="shrinking").epochs <= 1


def test_storages_agree_and_bits_repeat():
    case = make("hinge", seed=5, lam=1e-3, **LARGE)
    dense, again, sparse = (c.solve(tol=1e-8, solver="shrinking") for c in (case, case, case.csr()))
    assert "shrinking" in dense.solver
    assert np.array_equal(dense.alpha, again.alpha)
    assert np.array_equal(dense.w, again.w)
    assert np.allclose(dense.w, sparse.w, rtol=0, atol=1e-10 * np.abs(dense.w).max())


def test_an_interrupted_run_is_certified(monkeypatch):
    case = make("hinge", seed=5, lam=1e-4, **LARGE)
    real = proxsdca._loop.Run._sweep

    def broken(self, visits, whole=True):
        if not whole and self.epochs > 5:
            raise KeyboardInterrupt
        return real(self, visits, whole)

    monkeypatch.setattr(proxsdca._loop.Run, "_sweep", broken)
    with pytest.raises(proxsdca.Interrupted) as stop:
        case.solve(tol=1e-12, solver="shrinking")
    r = stop.value.result
    assert r.gap == r.primal - r.dual >= 0


def test_steps_along_faces_count_as_much_in_every_storage():
    """Rounded down, passes over few of the rows were fewer for sparse X, and ended elsewhere."""
    X = np.zeros((6, 7))
    X[0, 3], X[0, 5], X[1, 3], X[4, 3], X[4, 4:] = -0.625, 0.125, -0.5, 0.625, 0.125
    y = np.array([-1.0, 1, -1, -1, 1, -1])
    how = {"reg": "l1l2", "lam": 0.01, "max_epochs": 30, "tol": 1e-9, "order": "cyclic"}
    with pytest.warns(proxsdca.ConvergenceWarning):
        dense, csr = (
            proxsdca.solve(A, y, certify_every=10, **how) for A in (X, sparse.csr_array(X))
        )
    assert list(dense.history["epoch"]) == list(csr.history["epoch"])
    np.testing.assert_allclose(dense.w, csr.w, rtol=0, atol=1e-12)


@pytest.mark.parametrize("reg", ["l2", "l1l2"])
@pytest.mark.parametrize("loss", KINKED)
def test_a_look_moves_nothing_and_sees_the_gap(loss, reg):
    case = make(loss, reg=reg, seed=2, lam=1e-2, **LARGE)
    problem = case.problem()
    side = _side.make(problem, 0.0)
    alpha, v = np.zeros(problem.n), np.zeros(problem.d)
    core = side.epoch(side.curvature(), alpha, v)
    rests = np.zeros(problem.n, np.uint8)
    core.watch(rests)
    for _ in range(5):
        core.run(np.arange(problem.n))
    before, core.calm, core.looks = (alpha.copy(), v.copy()), 0.05, True
    core.forget()
    core.run(np.arange(problem.n))
    assert np.array_equal(alpha, before[0])
    assert np.array_equal(v, before[1])
    room = problem.room()
    w, _ = side.pair(alpha, v, room.touched.copy())
    found = problem.evaluate(w, alpha, problem.room())
    gap = found.primal - found.dual
    assert side.gap_estimate(core, problem.n) == pytest.approx(gap, rel=1e-9)
    moved = core.alpha.copy()
    core.looks = False
    core.run(np.flatnonzero(rests))
    assert core.calm == 0.05
    assert np.array_equal(np.asarray(moved)[rests > 0], alpha[rests > 0])


def test_looks_take_the_place_of_epochs(monkeypatch):
    looks = []
    real = proxsdca._loop.Run._looks
    monkeypatch.setattr(
        proxsdca._loop.Run, "_looks", lambda run: looks.append(real(run)) or looks[-1]
    )
    case = make("hinge", seed=5, n=2_000, d=200, density=0.05, lam=1e-3)
    assert case.solve(tol=1e-6, solver="shrinking").converged
    assert any(looks)
    assert not looks[0]


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_of_zeros_count_in_the_estimate_of_P(weighted):
    case = make("hinge", seed=5, lam=1e-2, **LARGE)
    X = sparse.vstack([sparse.csr_matrix(case.X), sparse.csr_matrix((200, LARGE["d"]))]).tocsr()
    y = np.concatenate([case.y, np.ones(200)])
    weights = np.random.default_rng(1).integers(0, 4, len(y)).astype(float) if weighted else None
    r = proxsdca.solve(X, y, lam=1e-2, tol=1e-6, sample_weight=weights)
    estimates = []
    real = proxsdca._side.RowSide.primal_estimate

    def noted(side, core, last):
        estimates.append(real(side, core, last))
        return estimates[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proxsdca._side.RowSide, "primal_estimate", noted)
        proxsdca.solve(X, y, lam=1e-2, tol=1e-6, sample_weight=weights, solver="shrinking")
    assert estimates[-1] == pytest.approx(r.primal, rel=0.05)
