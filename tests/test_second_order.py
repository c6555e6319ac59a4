"""Second-order ascents for losses of one margin: within the theory, and worth their while."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import LOSS_NAMES, all_losses, make

import proxsdca
from proxsdca import _newton, _side
from proxsdca._newton import scalar_newton
from proxsdca._problem import Problem

HARD = {"n": 120, "density": 0.5, "lam": 1e-6}
pytestmark = pytest.mark.accelerators

KNOWN = [name for name in LOSS_NAMES if name != "poisson"]


@pytest.fixture
def ascents(monkeypatch):
    """How many ascents there were, of which kind."""
    found = {"all": 0, "faces": 0, "part": 0}
    for kind in found:
        real = getattr(proxsdca._loop.Run, f"_ascend_{kind}")

        def counting(self, *arguments, kind=kind, real=real):
            found[kind] += 1
            return real(self, *arguments)

        monkeypatch.setattr(proxsdca._loop.Run, f"_ascend_{kind}", counting)
    return found


@pytest.mark.parametrize("loss", all_losses(), ids=repr)
@given(t=st.floats(0.01, 0.99), y=st.floats(-3, 3))
def test_derivatives_of_the_conjugate(loss, t, y):
    if loss.classification:
        y = 1.0 if y > 0 else -1.0
    y = abs(y) if loss.target_min == 0 else y
    low, high = (float(np.clip(end, -5, 5)) for end in loss.domain(y))
    b = low + t * (high - low)
    slope, curve = loss.derivatives(b, y)
    if loss.name == "poisson":
        assert np.isnan(slope)
        assert np.isnan(curve)
        return
    h = 1e-4 * min(1.0, b - low, high - b)
    if loss.name == "epsilon_insensitive" and abs(b) <= h:
        return
    before, here, after = (float(loss.conjugate(-x, y)) for x in (b - h, b, b + h))
    assert slope == pytest.approx((after - before) / (2 * h), rel=1e-6, abs=1e-6)
    assert curve == pytest.approx((after - 2 * here + before) / h**2, rel=1e-2, abs=1e-12 / h**2)
    for end in loss.domain(y):
        if np.isfinite(end):
            assert loss.derivatives(float(end), y)[1] == np.inf


@pytest.mark.parametrize("d", [15, 700])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", KNOWN)
def test_ascents_end_where_the_paper_does(loss, weighted, d, ascents, monkeypatch):
    for name in ("SLOW", "SLOW_FACES", "SLOW_AND_WIDE"):
        monkeypatch.setattr(_newton, name, 3.0)
    monkeypatch.setattr(_newton, "EARLY_AND_WIDE", 1)
    case = make(loss, seed=3, d=d, **HARD)
    weights = np.random.default_rng(1).integers(0, 4, HARD["n"]) if weighted else None
    keywords = {"sample_weight": weights, "tol": 1e-5, "max_epochs": 100_000}
    r = case.solve(**keywords, certify_every=1, solver=("newton", "faces"))
    assert r.converged
    assert sum(ascents.values()) > 0
    assert r.option == "I"
    # P(w) - min P <= gap, for either of them
    plain = case.solve(sample_weight=weights, tol=1e-3, max_epochs=300_000, option="I")
    assert r.dual - r.rounding <= plain.primal + plain.rounding
    assert plain.dual - plain.rounding <= r.primal + r.rounding
    # the dual never falls
    rounding = r.history["rounding"]
    assert (np.diff(r.history["dual"]) >= -(rounding[1:] + rounding[:-1])).all()


@pytest.mark.parametrize(
    ("loss", "d", "lam", "kind", "times"),
    [("hinge", 20, 1e-6, "all", 5), ("logistic", 20, 1e-6, "all", 5),
     ("squared_hinge", 20, 1e-6, "all", 5),
     ("hinge", 700, 1e-4, "part", 1)],
)  # fmt: skip
def test_fewer_passes(loss, d, lam, kind, times, ascents):
    case = make(loss, seed=5, n=2_000, d=d, density=0.05, lam=lam)
    r = case.solve(tol=1e-6, max_epochs=3_000)
    assert r.converged
    assert ascents[kind] > 0
    with pytest.warns(proxsdca.ConvergenceWarning):
        case.solve(tol=1e-6, max_epochs=int(times * r.epochs), solver="plain")


SMOOTH = ["logistic", "squared_hinge", "squared", "huber", "smooth_hinge"]


def passes(case, weight):
    """The passes over X for a case, its X, and s."""
    k = case.keywords
    problem = Problem.from_arguments(
        case.X, case.y, k["loss"], "l2", k["lam"], None, weight, side="rows"
    )
    s = np.ones(problem.n) if problem.weight is None else problem.weight
    X = case.X.toarray() if hasattr(case.X, "toarray") else case.X
    return problem, scalar_newton(problem), X, s


@pytest.mark.parametrize("d", [15, 700])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("loss", SMOOTH)
def test_steps_of_newtons_method(loss, sparse, weighted, d):
    case = make(loss, seed=3, d=d, n=120, density=0.5, lam=1e-2)
    case = case.csr() if sparse else case
    weight = np.random.default_rng(1).integers(0, 4, 120).astype(float) if weighted else None
    problem, core, X, s = passes(case, weight)
    rng, n, lam = np.random.default_rng(2), problem.n, problem.lam
    w, x = rng.normal(size=d) / d, rng.normal(size=d)
    z, alpha = X @ w, np.zeros(n)

    mean = core.response(z, None, 0.0, alpha)
    assert mean == pytest.approx(np.mean(s * problem.loss.value(z, problem.target)), rel=1e-13)
    points = problem.loss.conjugate(-alpha / np.where(s > 0, s, 1), problem.target)
    young = problem.loss.value(z, problem.target) + points + alpha / np.where(s > 0, s, 1) * z
    assert np.abs(young[s > 0]).max() < 1e-12  # alpha attains phi at z
    assert core.conjugate(alpha) == pytest.approx(np.mean(s * points), rel=1e-12)

    core.curve(alpha, 0.0, True)
    curves = [
        problem.loss.derivatives(b, y)[1] if t else np.inf
        for b, y, t in zip(alpha / np.where(s > 0, s, 1), problem.target, s, strict=True)
    ]
    D = s / np.array(curves)
    H = lam * np.eye(d) + X.T * D @ X / n
    out = np.empty(d)
    core.product(x, out)
    assert np.allclose(out, H @ x, rtol=1e-11, atol=1e-14)

    gradient = lam * w - X.T @ alpha / n
    step = np.empty(d)
    core.solve(gradient, step, 0.1, 50)
    left = -gradient - H @ step
    assert np.allclose(core.residual, left, rtol=0, atol=1e-10 * np.abs(gradient).max())
    assert core.exact == (d == 15)
    if not core.exact:
        assert core.left == pytest.approx(left @ left, rel=1e-6)
        length = np.linalg.norm(step)
        core.solve(gradient, step, 1e-3, 50, 0.0, 0.5 * length)
        assert np.linalg.norm(step) == pytest.approx(0.5 * length)
        left = -gradient - H @ step
    dz = np.empty(n)
    core.margins_of_step(step, dz)
    assert np.allclose(dz, X @ step, rtol=0, atol=1e-11 * np.abs(X @ step).max())
    sums = np.empty(d)
    core.look(alpha, sums)
    assert np.allclose(sums, X.T @ alpha / n, rtol=1e-11, atol=1e-14)
    # along the tangents alpha belongs to the new w, up to what is left
    step *= 1e-3
    left = -gradient - H @ step
    tangent = alpha.copy()
    outside = core.follow(X @ step, tangent)
    assert not (outside and loss in ("logistic", "squared"))
    if not outside:
        assert np.allclose(X.T @ tangent / (lam * n), w + step + left / lam, rtol=0, atol=1e-10)
    assert np.isfinite(core.conjugate(tangent))  # inside the domain, in any case


@pytest.mark.parametrize("n", [2, 64, 65, 1000])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0, 1e5])
def test_losses_side_by_side(n, scale):
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    z, dz = scale * np.abs(rng.normal(size=(2, n)))
    core = scalar_newton(Problem.from_arguments(
        np.ones((n, 1)), y, "logistic", "l2", 1.0, None, None, side="rows"
    ))  # fmt: skip
    loss, alpha = proxsdca.losses.Logistic(), np.empty(n)
    for start, t in ((z, 0.5), (y * z, 0.5), (-y * z, -2.0)):  # of either sign, right, and wrong
        direction = np.sign(start) * dz
        m = start + t * direction
        mean = core.response(start, direction, t, alpha)
        assert mean == pytest.approx(np.mean(loss.value(m, y)), rel=1e-14, abs=0)
        assert np.allclose(alpha, -loss.subgradient(m, y), rtol=1e-14, atol=1e-300)
        conjugate = np.mean(loss.conjugate(-alpha, y))
        assert core.conjugate(alpha) == pytest.approx(conjugate, rel=1e-13, abs=1e-300)
    alpha[-1] = 1.5
    assert core.conjugate(alpha) == np.inf


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 7, 8, 9, 33])
def test_factors_of_any_size(d):
    problem, core, X, _ = passes(make("logistic", seed=d, d=d, n=50, lam=1e-2), None)
    alpha, gradient, step = np.empty(50), np.ones(d), np.empty(d)
    core.response(np.zeros(50), None, 0.0, alpha)
    core.curve(alpha, 0.0, True)
    core.solve(gradient, step, 0.1, 50)
    assert core.exact
    H = problem.lam * np.eye(d) + X.T @ X / (4 * 50)
    assert np.allclose(H @ step, -gradient, rtol=0, atol=1e-11)


@pytest.mark.parametrize("sparse", [False, True])
def test_thin_preconditioners(sparse):
    n, d = 4_000, 12
    case = make("logistic", seed=3, d=d, n=n, density=0.3, lam=1e-4)
    case.X[:, 0] = 0
    case.X[17, 0] = 1  # which few examples have
    problem, core, X, _ = passes(case.csr() if sparse else case, None)
    alpha, sums = np.empty(n), np.empty(d)
    core.response(X @ np.random.default_rng(0).normal(size=d) * 3, None, 0.0, alpha)
    core.look(alpha, sums)
    t = problem.target * alpha
    H = problem.lam * np.eye(d) + (X.T * (t * (1 - t))) @ X / n
    core.prepare(True)
    assert core.thin
    assert not core.exact
    inverse = np.empty((d, d))
    for j, unit in enumerate(np.eye(d)):
        core.precondition(unit, inverse[j])
    M = np.linalg.inv(inverse)
    assert (np.diag(M) >= np.diag(H) * (1 - 1e-9)).all()
    assert not np.allclose(M, H, rtol=1e-3, atol=0)
    ratios = np.linalg.eigvals(inverse @ H).real
    assert 0.5 < ratios.min() < ratios.max() < 1.5
    gradient, step = np.ones(d), np.empty(d)
    core.solve(gradient, step, 1e-10, 50)
    assert np.allclose(H @ step, -gradient, rtol=0, atol=1e-8)
    core.prepare(False)
    assert core.exact
    core.solve(gradient, step, 1e-10, 50)
    assert np.allclose(H @ step, -gradient, rtol=0, atol=1e-10)


def test_far_starts_are_seen(monkeypatch):
    thin = []

    class Noting(proxsdca._core.scalar_newton.ScalarNewton):
        def prepare(self, *arguments):
            super().prepare(*arguments)
            thin.append(self.thin)

    core = lambda p: Noting(p.storage, p.loss, p.target, p.weight, p.lam)  # noqa: E731
    monkeypatch.setattr(_newton, "scalar_newton", core)
    for noise in (0.3, 30.0):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(4_000, 20))
        y = np.sign(X.sum(axis=1) + noise * rng.normal(size=4_000))
        thin.clear()
        r = proxsdca.solve(X, y, loss="logistic", lam=1e-6, tol=1e-6)
        assert r.converged
        assert "newton" in r.solver
        # labels that are nearly certain leave much to be learnt from the others
        assert any(thin) == (noise < 1)
        assert not thin[0]


def test_wide_problems_begin_with_epochs():
    for lam, slow in ((1e-2, False), (1e-7, True)):
        case = make("logistic", seed=5, n=1_000, d=700, density=0.05, lam=lam)
        r = case.solve(tol=1e-6, max_epochs=3_000)
        assert r.converged
        assert "epochs" in r.solver
        assert ("newton" in r.solver) == slow


def test_storages_and_bits(ascents):
    case = make("hinge", seed=5, d=12, **HARD)
    dense, again, sparse = (c.solve(tol=1e-6) for c in (case, case, case.csr()))
    assert ascents["all"] >= 3
    assert np.array_equal(dense.w, again.w)
    assert np.array_equal(dense.alpha, again.alpha)
    assert np.allclose(dense.w, sparse.w, rtol=0, atol=1e-10 * np.abs(dense.w).max())


@pytest.mark.parametrize("keywords", [{"option": "I"}, {"tol": 0.0, "max_epochs": 50},
                                      {"output": "average"}, {"fit_intercept": True},
                                      {"reg": "qnorm"}, {"solver": "plain"}])  # fmt: skip
@pytest.mark.filterwarnings("ignore::proxsdca.ConvergenceWarning")
def test_nothing_but_epochs_where_they_are_asked_for(keywords, ascents):
    make("hinge", seed=5, d=12, **HARD).solve(**{"max_epochs": 200, **keywords})
    assert not any(ascents.values())


@pytest.mark.filterwarnings("ignore::proxsdca.ConvergenceWarning")
def test_limits_hold(ascents):
    case = make("hinge", seed=5, d=12, **HARD)
    for limit in (1, 7, 20, 50):
        assert case.solve(tol=1e-9, max_epochs=limit).epochs <= limit
    assert case.solve(tol=1e-9, max_epochs=10**6, max_seconds=0.0).epochs <= 1


def test_newton_begins_where_a_sample_does():
    for n, sampled in ((1_500, False), (1_700, True)):
        r = make("logistic", seed=5, n=n, d=20, lam=1 / n).solve(tol=1e-6)
        assert r.converged
        assert (r.solver == ("newton",)) == sampled


@pytest.mark.parametrize("n", [1, 7, 64, 1000])
def test_hinges_respond_alike_side_by_side(n):
    """Those without weights are computed some at a time, those with weights one by one."""
    rng = np.random.default_rng(n)
    case = make("hinge", n=max(n, 2), d=3, seed=n, lam=1e-2)
    problem = case.problem()
    ones = np.ones(problem.n)
    z, dz = 3 * rng.normal(size=(2, problem.n))
    base = problem.target * rng.uniform(0, 1, problem.n)
    found = []
    for weight in (None, ones):
        core = scalar_newton(replace(problem, weight=weight))
        for direction, t in ((None, 0.0), (dz, 0.3)):
            out = np.empty(problem.n)
            found.append((*core.respond(z, direction, t, base, 0.7, out), out))
    for one, other in zip(found[:2], found[2:], strict=True):
        np.testing.assert_allclose(one[:3], other[:3], rtol=1e-13)
        np.testing.assert_allclose(one[3], other[3], rtol=1e-13, atol=1e-15)


def test_examples_without_curvature_are_left_out_of_products():
    case = make("logistic", n=300, d=700, seed=3, lam=1e-2)
    problem = case.problem()
    core = _newton.scalar_newton(problem)
    alpha = problem.target * np.linspace(1e-9, 0.5, problem.n)
    out = np.empty(problem.d)
    core.look(alpha, out)
    everybody = core.free
    a = np.abs(alpha)
    bend = a * (1 - a) / problem.n
    spared = 0.1 * bend.sum()
    again = np.empty(problem.d)
    core.look(alpha, again, spared)
    assert np.array_equal(out, again)
    assert everybody == problem.n
    left_out = np.sort(bend)[: problem.n - core.free]
    assert 0 < left_out.sum() <= spared
    x, product = np.random.default_rng(1).normal(size=problem.d), np.empty(problem.d)
    core.product(x, product)
    X = np.asarray(case.X)
    kept = bend > left_out.max()
    expected = problem.lam * x + X[kept].T @ (bend[kept] * (X[kept] @ x))
    np.testing.assert_allclose(product, expected, rtol=1e-9)


def test_few_steps_along_faces_raise_the_dual_too():
    problem = make("hinge", n=300, d=40, seed=3, lam=1e-4).problem()
    side = _side.make(problem, 0.0)
    curvature, touched = side.curvature(), []
    for most in (1, 300):
        alpha, v = 0.5 * problem.target, np.empty(problem.d)
        side.load(alpha, v)
        before = problem.evaluate(v, alpha, problem.room()).dual
        faces = side.faces(alpha)
        faces.most = most
        assert faces.ascend_faces(alpha, v, curvature, 1e-3, lambda: 10**6)
        assert problem.evaluate(v, alpha, problem.room()).dual > before
        touched.append(faces.touched)
    assert touched[0] < touched[1]
