"""The block engine: against its twin, outside optima, and itself in other forms."""

import itertools
import threading
import warnings

import cvxpy as cp
import numpy as np
import pytest
from numpy_twin import grad_conjugate
from problems import make as make_scalar
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from vector_problems import (
    LOSS_NAMES,
    REG_NAMES,
    VectorCase,
    as_explicit,
    dense,
    loss_of,
    make,
    make_explicit,
)
from vector_twin import formulas, objectives, operator_norm_sq, prox_sdca

import proxsdca
from proxsdca import _newton, theory
from proxsdca._side import BlockSide
from proxsdca.losses import MulticlassHinge, Softmax
from proxsdca.regularizers import L1L2, Group, QNorm

OPTIONS = {name: loss_of(name, 4).options for name in LOSS_NAMES}
PAIRS = [(name, option) for name in LOSS_NAMES for option in OPTIONS[name]]


def run_core(case, option, visits, weight=None, virtual=False):
    """The kernel along the given visits."""
    problem = case.problem(sample_weight=weight)
    side = BlockSide(problem)
    alpha, v = problem.zero_alpha(), np.zeros(problem.d)
    core = side.epoch(side.curvature(), alpha, v, option, virtual)
    core.run(np.asarray(visits, np.intp))
    return problem, alpha, v


def flat_alpha(problem, alpha):
    return dense(problem.shown(np.zeros(problem.d), alpha)[1]).ravel()


# ------------------------------------------------------------------ the twin


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reg", REG_NAMES)
@pytest.mark.parametrize(("loss", "option"), PAIRS)
def test_the_kernel_agrees_with_the_twin(loss, option, reg, weighted):
    # groups: the twin has pairs of weights, so k = 2 makes rows of w out of them
    k = 2 if reg == "group" else 4
    case = make(loss_of(loss, k), reg, n=12, d=5, k=k, seed=3, lam=0.05)
    if reg != "l2":
        case.keywords["sigma"] = 0.004
    rng = np.random.default_rng(1)
    weight = rng.random(12) * (rng.random(12) < 0.8) if weighted else None
    visits = rng.integers(0, 12, 60)
    problem, alpha, v = run_core(case, option, visits, weight)
    s = np.ones(12) if weight is None else weight * 12 / weight.sum()
    alphas, twin_v, _ = prox_sdca(
        case.blocks(),
        case.y,
        problem.loss,
        reg,
        0.05,
        problem.sigma / 0.05,
        s,
        visits,
        option,
        True,
    )
    # Newton's method for softmax stops at 1e-3 of a step that is second order
    tol = 2e-3 if (loss, option) == ("softmax", "I") else 1e-7
    np.testing.assert_allclose(flat_alpha(problem, alpha), np.concatenate(alphas), atol=tol)
    np.testing.assert_allclose(v, twin_v, atol=20 * tol)


@pytest.mark.parametrize("k", [2, 3, 7, 8, 9, 16, 20, 40])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_v_is_that_of_alpha_for_any_number_of_classes(loss, k):
    """The loop works on eight of them side by side, on a copy of v where the data are dense, and on
    entries 256 at a time."""
    for n, d in ((120, 4), (45, 300)):
        case = make(loss_of(loss, k), "l2", n=n, d=d, k=k, seed=k, lam=0.01)
        visits = np.random.default_rng(1).integers(0, n, 2 * n)
        problem, alpha, v = run_core(case, "I", visits)
        np.testing.assert_allclose(v, problem.correlations(alpha) / 0.01, atol=1e-12 * n / 0.01)
        other = case.with_X(sparse.csr_array(case.X) if d < 10 else dense(case.X))
        problem, _, other_v = run_core(other, "I", visits)
        np.testing.assert_allclose(other_v, v, atol=1e-10)
        _, virtual_alpha, virtual_v = run_core(case, "I", visits, virtual=True)
        np.testing.assert_array_equal(virtual_v, v)
        np.testing.assert_array_equal(
            flat_alpha(problem, virtual_alpha), flat_alpha(problem, alpha)
        )
        # runs of few visits are on v itself
        side, some, w = BlockSide(problem), problem.zero_alpha(), np.zeros(problem.d)
        core = side.epoch(side.curvature(), some, w, "I", False)
        for visit in visits:
            core.run(np.array([visit], np.intp))
        np.testing.assert_array_equal(w, other_v)


@pytest.mark.parametrize("reg", REG_NAMES)
@pytest.mark.parametrize(("loss", "option"), [p for p in PAIRS if p[1] != "I"])
def test_explicit_blocks_agree_with_the_twin(loss, option, reg):
    case = make_explicit(loss, reg, n=12, d=6, seed=5, lam=0.05)
    if reg != "l2":
        case.keywords["sigma"] = 0.004
    visits = np.random.default_rng(1).integers(0, 12, 60)
    problem, alpha, v = run_core(case, option, visits)
    alphas, twin_v, _ = prox_sdca(
        case.blocks(), case.y, problem.loss, reg, 0.05, problem.sigma / 0.05, np.ones(12), visits,
        option, False,
    )  # fmt: skip
    np.testing.assert_allclose(flat_alpha(problem, alpha), np.concatenate(alphas), atol=1e-6)
    np.testing.assert_allclose(v, twin_v, atol=1e-5)


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_option_I_of_explicit_blocks_against_cvxpy(loss):
    """The inner solve on the Gram matrix, one step from 0 and one from elsewhere."""
    case = make_explicit(loss, "l2", n=6, d=4, widest=6, seed=2, lam=0.02)
    problem, alpha, v = run_core(case, "II", np.arange(6))
    for i in range(6):
        X_i = case.blocks()[i]
        k = X_i.shape[1]
        if k == 1:
            continue
        first = case.keywords["offsets"][i]
        before = np.eye(k)[case.y[i]] - flat_alpha(problem, alpha)[first : first + k]
        x = cp.Variable(k, nonneg=True)
        omega = -(1 - np.eye(k)[case.y[i]]) @ x if loss != "softmax" else -cp.sum(cp.entr(x))
        lam_n = 0.02 * 6
        target = omega - (X_i.T @ v) @ x + cp.sum_squares(X_i @ (x - before)) / (2 * lam_n)
        best = cp.Problem(cp.Minimize(target), [cp.sum(x) == 1])
        best.solve(solver=cp.CLARABEL)
        side = BlockSide(problem)
        m = X_i.T @ v
        core = side.epoch(side.curvature(), alpha, v, "I")
        core.run(np.array([i]))
        after = np.eye(k)[case.y[i]] - flat_alpha(problem, alpha)[first : first + k]
        phi = formulas(problem.loss, case.y[i], k)
        value = phi.omega(np.clip(after, 0, 1)) - m @ after
        value += np.sum((X_i @ (after - before)) ** 2) / (2 * lam_n)
        assert value == pytest.approx(best.value, abs=1e-5 * (1 + abs(best.value)))


@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize("reg", REG_NAMES)
@pytest.mark.parametrize(("loss", "option"), PAIRS)
def test_the_dual_never_falls(loss, option, reg, explicit):
    if explicit and reg == "qnorm" and option == "I":
        pytest.skip("does not exist")
    k = 2 if reg == "group" and not explicit else 4
    case = make_explicit(loss, reg, n=10, seed=4) if explicit else make(loss, reg, n=10, k=k)
    problem = case.problem()
    alpha, v = problem.zero_alpha(), np.zeros(problem.d)
    side = BlockSide(problem)
    core = side.epoch(side.curvature(), alpha, v, option)
    last = -np.inf
    for i in np.random.default_rng(0).integers(0, 10, 120):
        core.run(np.array([i]))
        dual = problem.evaluate(np.zeros(problem.d), alpha, problem.room()).dual
        assert dual >= last - 1e-13 * (1 + abs(dual))
        last = dual
    # and v is what alpha says
    room = problem.room()
    problem.evaluate(np.zeros(problem.d), alpha, room)
    np.testing.assert_allclose(v, room.touched, atol=1e-10)


@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize(("loss", "option"), PAIRS)
def test_lemma_1_by_enumeration(loss, option, explicit):
    """The mean rise over all i is at least s/n (P - D) - (s/n)^2 G / (2 lam), for every s."""
    n, lam = 8, 0.1
    case = (make_explicit if explicit else make)(loss, "l2", n=n, seed=6, lam=lam)
    problem, alpha, v = run_core(case, "III", np.random.default_rng(0).integers(0, n, 12))
    Xs, w = case.blocks(), v.copy()
    start = problem.evaluate(w, alpha, problem.room())
    rises, sizes, norms = [], [], []
    before = flat_alpha(problem, alpha)
    position = 0
    for i, X_i in enumerate(Xs):
        again, moved = problem.zero_alpha(), v.copy()
        again.assign(alpha)
        side = BlockSide(problem)
        core = side.epoch(side.curvature(), again, moved, option)
        core.run(np.array([i]))
        rises.append(problem.evaluate(w, again, problem.room()).dual - start.dual)
        k = X_i.shape[1]
        beta = np.eye(k)[case.y[i]] - before[position : position + k]
        position += k
        u = formulas(problem.loss, case.y[i], k).attain(X_i.T @ w)
        sizes.append(np.abs(u - beta).sum() ** 2)
        norms.append(operator_norm_sq("l2", X_i))
    gap, gamma, R_sq = start.certificate.gap, problem.loss.gamma, max(norms)
    sizes, norms = np.array(sizes), np.array(norms)
    if option == "V":
        fractions = [lam * n * gamma / (R_sq + lam * n * gamma)]
    else:
        fractions = np.linspace(0.01, 1, 50)
    if option in ("IV", "IV-4L2", "IV-L2"):
        norms = np.full(n, R_sq)
    if option in ("IV-4L2", "IV-L2"):
        sizes = np.full(n, 16.0 if option == "IV-4L2" else 4.0)
    for s in fractions:
        G = np.mean((norms - gamma * (1 - s) * lam * n / s) * sizes)
        assert np.mean(rises) >= s / n * gap - (s / n) ** 2 * G / (2 * lam) - 1e-12


# ------------------------------------------------------------------ optima


@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize("reg", REG_NAMES)
@pytest.mark.parametrize(("loss", "option"), [p for p in PAIRS if p[1] != "IV-4L2"])
def test_every_option_reaches_its_gap(loss, option, reg, explicit):
    if explicit and reg == "qnorm" and option == "I":
        pytest.skip("does not exist")
    case = (make_explicit if explicit else make)(loss, reg, n=25, seed=1, lam=0.1)
    smooth = loss == "softmax"
    tol = 1e-8 if smooth else (1e-4 if option == "I" else 2e-2)
    results = [c.solve(option=option, tol=tol, max_epochs=100_000) for c in (case, case.csr())]
    for r in results:
        assert r.converged
        assert -r.rounding <= r.gap <= tol * abs(r.primal)
    assert results[0].primal == pytest.approx(
        results[1].primal, abs=results[0].gap + results[1].gap + 1e-13
    )


def reference(case, result):
    """cvxpy's optimum of the problem that a result is of."""
    Xs, reg, lam, sigma = case.blocks(), result.reg, result.lam, result.sigma
    w = cp.Variable(len(Xs[0]))
    total = 0
    s = result_weights(case)
    for X_i, y_i, weight in zip(Xs, case.y, s, strict=True):
        z = X_i.T @ w
        if result.loss.sparse:
            cost = result.loss.cost
            k = X_i.shape[1]
            delta = 1 - np.eye(k)[y_i] if cost is None else cost[:, y_i]
            total += weight * cp.max(delta + z - z[y_i])
        else:
            total += weight * (cp.log_sum_exp(z) - z[y_i])
    penalty = lam / 2 * cp.sum_squares(w)
    if isinstance(reg, QNorm):
        p, c = reg.p_and_c(w.size)
        penalty = lam * c / 2 * cp.square(cp.pnorm(w, p / (p - 1))) + sigma * cp.norm1(w)
    elif isinstance(reg, Group):
        groups = np.asarray(reg.groups)
        groups = np.repeat(groups, w.size // len(groups))
        penalty += sigma * sum(cp.norm2(w[groups == c]) for c in np.unique(groups))
    elif isinstance(reg, L1L2):
        penalty += sigma * cp.norm1(w)
    problem = cp.Problem(cp.Minimize(total / len(case.y) + penalty))
    problem.solve(solver=cp.CLARABEL)
    return problem.value


def result_weights(case):
    weight = case.keywords.get("sample_weight")
    return np.ones(len(case.y)) if weight is None else weight * len(case.y) / np.sum(weight)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize("reg", REG_NAMES)
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_against_cvxpy(loss, reg, explicit, weighted):
    kind = loss if explicit else loss_of(loss, 4)
    case = (make_explicit if explicit else make)(kind, reg, n=20, seed=8, lam=0.05)
    if reg != "l2":
        case.keywords["sigma"] = 0.01
    if weighted:
        case.keywords["sample_weight"] = np.random.default_rng(0).random(20)
    r = case.solve(tol=1e-5, max_epochs=100_000)
    best = reference(case, r)
    slack = 2e-6 * (1 + abs(best))  # the solver's own
    assert r.converged
    assert r.dual - r.rounding - slack <= best <= r.primal + slack
    assert r.primal <= best + r.gap + r.rounding + slack


def test_against_scikit_learn():
    """Mean loss + lam/2 |w|^2: C = 1/(lam n)."""
    case = make("softmax", n=300, d=8, k=5, seed=1, lam=1e-3)
    r = case.solve(tol=1e-8)
    theirs = LogisticRegression(C=1 / (1e-3 * 300), fit_intercept=False, tol=1e-12, max_iter=10_000)
    w = theirs.fit(case.X, case.y).coef_.T
    assert r.primal <= case.certify(w, r.alpha).primal + r.gap
    assert case.certify(w, r.alpha).gap <= 1e-6
    np.testing.assert_allclose(r.predict_proba(case.X), theirs.predict_proba(case.X), atol=1e-3)
    case = make("multiclass_hinge", n=300, d=8, k=5, seed=1, lam=1e-2)
    r = case.solve(tol=1e-7)
    theirs = LinearSVC(
        multi_class="crammer_singer", C=1 / (1e-2 * 300), fit_intercept=False, tol=1e-10,
        max_iter=10**6,
    )  # fmt: skip
    w = theirs.fit(case.X, case.y).coef_.T
    assert abs(case.certify(w, r.alpha).primal - r.primal) <= r.gap + 1e-6


@pytest.mark.parametrize("reg", ["l2", "l1l2"])
def test_two_classes_are_the_binary_losses_at_half_of_lam(reg):
    """w = w_1 - w_2: |w_1|^2 + |w_2|^2 is |w|^2 / 2 where w_2 = -w_1, and |w_1| + |w_2| is |w|."""
    pairs = (("multiclass_hinge", "hinge", 1e-6), ("softmax", "logistic", 1e-10))
    for vector, scalar, tol in pairs:
        binary = make_scalar(scalar, reg, n=60, d=5, seed=2)
        sigma = None if reg == "l2" else 0.004
        one = binary.solve(lam=0.01, sigma=sigma, tol=tol, max_epochs=10**5)
        two = proxsdca.solve(
            binary.X, binary.y, loss=vector, reg=reg, lam=0.02, sigma=sigma, tol=tol,
            max_epochs=10**5,
        )  # fmt: skip
        assert list(two.classes) == list(one.classes)
        assert one.primal == pytest.approx(two.primal, abs=one.gap + two.gap + 1e-13)
        w = two.w[:, 1] - two.w[:, 0]
        lower = binary.certify(w, one.alpha, lam=0.01, sigma=sigma)
        assert lower.primal <= two.primal + 1e-12
        if reg == "l2":
            distance = np.sqrt(2 * (one.gap + lower.gap) / 0.01)
            assert np.linalg.norm(w - one.w) <= 2 * distance + 1e-12


@pytest.mark.parametrize("reg", REG_NAMES)
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_shared_and_explicit_forms_of_one_problem(loss, reg):
    sigma = None if reg == "l2" else 0.003
    case = make(loss_of(loss, 4), reg, n=40, d=5, seed=3, lam=0.02, sigma=sigma)
    other = as_explicit(case)
    one = case.solve(tol=1e-6, max_epochs=20_000)
    two = other.solve(tol=1e-6 if loss == "softmax" else 1e-3, max_epochs=20_000)
    assert one.converged
    assert two.converged
    assert one.primal == pytest.approx(two.primal, abs=one.gap + two.gap + 1e-13)
    # the same pair, certified in both forms
    check = other.certify(one.w.ravel(), dense(one.alpha).ravel())
    assert check.gap == pytest.approx(one.gap, abs=1e-13)
    assert check.primal == pytest.approx(one.primal, rel=1e-13)


def test_a_choice_model_against_scipy():
    """A hundredth of the benchmark's conditional logit: 2 to 50 alternatives an example."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(2, 51, 1000)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    Z = rng.normal(size=(offsets[-1], 10))
    utility = Z @ rng.normal(size=10) + rng.gumbel(size=len(Z))
    parts = list(itertools.pairwise(offsets))
    y = np.array([np.argmax(utility[a:b]) for a, b in parts])
    r = proxsdca.solve(Z, y, loss="softmax", offsets=offsets, tol=1e-4)
    chosen = offsets[:-1] + y

    def objective(w):
        z = Z @ w
        lse = np.array([logsumexp(z[a:b]) for a, b in parts])
        p = np.exp(z - np.repeat(lse, sizes))
        p[chosen] -= 1
        return np.mean(lse - z[chosen]) + r.lam / 2 * (w @ w), Z.T @ p / len(y) + r.lam * w

    best = minimize(objective, np.zeros(10), jac=True, method="L-BFGS-B",
                    options={"ftol": 1e-15, "gtol": 1e-12, "maxiter": 1000}).fun  # fmt: skip
    assert r.converged
    assert r.dual - r.rounding <= best + 1e-12
    assert r.primal <= best + r.gap + r.rounding + 1e-12
    assert np.mean(r.predict(Z, offsets) == y) > 0.3


# ------------------------------------------------------------------ second order


@pytest.mark.accelerators
@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_second_order_ascent_finds_the_same_optimum(loss, weighted, explicit):
    kind = loss if explicit else loss_of(loss, 4)
    case = (make_explicit if explicit else make)(kind, "l2", n=120, seed=2, lam=1e-5)
    if weighted:
        rng = np.random.default_rng(0)
        case.keywords["sample_weight"] = rng.random(120) * (rng.random(120) < 0.8)
    fast = case.solve(tol=1e-9, max_epochs=3000)
    assert fast.converged
    plain = "II" if explicit and loss == "softmax" else "I"
    slow = case.solve(tol=1e-3, option=plain, max_epochs=10**6)
    assert slow.primal >= fast.dual - fast.rounding
    assert slow.dual <= fast.primal + fast.rounding
    assert fast.epochs < slow.epochs
    again = case.csr().solve(tol=1e-9, max_epochs=3000)
    assert again.primal == pytest.approx(fast.primal, abs=again.gap + fast.gap + 1e-13)


@pytest.mark.accelerators
def test_second_order_ascent_never_lowers_the_dual():
    case = make("multiclass_hinge", n=200, d=6, k=5, seed=7, lam=1e-6)
    r = case.solve(tol=1e-9, max_epochs=5000, certify_every=1)
    assert r.converged
    duals = r.history["dual"]
    assert (np.diff(duals) >= -1e-13).all()
    assert len(duals) > 8


@pytest.mark.accelerators
@pytest.mark.parametrize("weighted", [False, True])
def test_steps_on_few_are_steps_on_all(weighted, monkeypatch):
    """Left alone, examples count as what they add to P and D; the optimum is that of all."""
    case = make(loss_of("multiclass_hinge", 4), n=400, seed=2, lam=1e-6)
    if weighted:
        rng = np.random.default_rng(0)
        case.keywords["sample_weight"] = rng.random(400) * (rng.random(400) < 0.8)
    sizes = []
    step = _newton.Ascent._ascend_few

    def watched(self, few, *others):
        sizes.append(len(few))
        before = self.dual
        step(self, few, *others)
        problem, room = self.problem, self.problem.room()
        at = problem.evaluate(self.w, self.alpha, room)
        assert self.dual == pytest.approx(at.dual, rel=1e-12)
        assert self.primal <= at.primal * (1 + 1e-12)
        assert self.dual >= before

    monkeypatch.setattr(_newton.Ascent, "_ascend_few", watched)
    r = case.solve(tol=1e-10, max_epochs=5000)
    assert r.converged
    assert len(sizes) >= 3
    assert max(sizes) < 400
    again = case.csr().solve(tol=1e-10, max_epochs=5000)
    monkeypatch.setattr(_newton, "MOST_FEW", 0)
    sizes.clear()
    whole = case.solve(tol=1e-10, max_epochs=5000)
    assert not sizes
    for other in (again, whole):
        assert other.converged
        assert r.primal == pytest.approx(other.primal, rel=1e-9)


@pytest.mark.accelerators
def test_steps_on_too_few_are_taken_back(monkeypatch):
    """Those after which the gap is what it was."""
    taken_back = []
    step = _newton.Ascent._ascend_few

    def watched(self, few, *others):
        back, mu, trims = self.w, self._mu, self._trims
        step(self, few, *others)
        if self._failures and trims:
            assert (self.w is back, self._mu, self._found) == (True, mu, None)
            taken_back.append(len(few))

    monkeypatch.setattr(_newton.Ascent, "_ascend_few", watched)
    monkeypatch.setattr(_newton, "TRIMMED", 1.0)
    monkeypatch.setattr(_newton, "FEWEST", 0.5)
    case = make(loss_of("multiclass_hinge", 4), n=400, seed=2, lam=1e-6)
    assert case.solve(tol=1e-8, max_epochs=5000).converged
    assert taken_back


@pytest.mark.parametrize("explicit", [False, True])
def test_w_is_a_mean_where_phi_has_kinks(explicit):
    """The same alpha after each epoch, and a better w."""
    case = (make_explicit if explicit else make)("multiclass_hinge", n=300, seed=1, lam=1e-3)
    plan = {"tol": 1e-3, "max_epochs": 5, "certify_every": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mean = case.solve(solver="averaging", **plan)
        last = case.solve(solver="plain", **plan)
    assert "averaging" in mean.solver
    assert (mean.history["dual"] == last.history["dual"]).all()
    assert (mean.history["primal"] < last.history["primal"]).all()


def test_newton_begins_at_the_mean(monkeypatch):
    starts = []
    ascent = BlockSide.ascent

    def watched(self, b, v, room, w=None):
        starts.append(w)
        return ascent(self, b, v, room, w)

    monkeypatch.setattr(BlockSide, "ascent", watched)
    case = make(loss_of("multiclass_hinge", 4), n=400, seed=2, lam=1e-6)
    for solver, means in ((("averaging", "newton"), True), (("newton",), False)):
        assert case.solve(tol=1e-6, max_epochs=5000, solver=solver).converged
        assert (starts.pop() is not None) == means


def test_steps_that_go_beyond_the_best_get_there_sooner():
    case = make("softmax", n=3000, d=6, k=5, seed=7, lam=1e-4)
    r, plain = (case.solve(tol=1e-6, solver=solver) for solver in (("near", "beyond"), ("near",)))
    assert r.converged
    assert plain.converged
    assert "beyond" in r.solver
    assert "beyond" not in plain.solver
    assert r.epochs < 0.9 * plain.epochs


@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize("loss", ["softmax", "multiclass_hinge"])
def test_a_look_shows_the_gap_and_changes_nothing(loss, explicit):
    case = (make_explicit if explicit else make)(loss, n=300, seed=1, lam=1e-2)
    problem = case.problem()
    side = BlockSide(problem)
    alpha, v = problem.zero_alpha(), np.zeros(problem.length)
    epoch = side.epoch(side.curvature(), alpha, v)
    order = np.random.default_rng(0).permutation(problem.n)
    epoch.forget(problem.n)
    epoch.run(order)
    before, w = epoch.state(), v.copy()
    found = epoch.look(order)
    after = epoch.state()
    assert all(before[name] == after[name] for name in ("sums", "counts"))
    np.testing.assert_array_equal(v, w)
    assert found == pytest.approx(problem.evaluate(w, alpha, problem.room()).certificate.gap)
    assert found < side.look(epoch, order) < 2 * found  # which is all of them, and some more


def test_certificates_are_made_where_a_look_shows_that_they_will_do(monkeypatch):
    case = make("softmax", n=3000, d=6, k=5, seed=7, lam=1e-4)
    tols = 10.0 ** -np.arange(2, 6, 0.25)
    looking = [case.solve(tol=tol) for tol in tols]
    monkeypatch.setattr(BlockSide, "look", lambda *_: np.inf)
    blind = [case.solve(tol=tol) for tol in tols]
    assert all(r.converged for r in looking + blind)
    assert sum(r.epochs for r in looking) < sum(r.epochs for r in blind)
    assert sum(len(r.history) for r in looking) <= len(tols) + 2


def test_the_estimate_is_ahead_by_half_an_epoch(monkeypatch):
    """Where the gap falls fast, that saves an epoch, and the first certificate still does."""
    case = make("softmax", n=3000, d=6, k=5, seed=7, lam=1e-3)
    tols = 10.0 ** -np.arange(2, 6, 0.25)
    ahead = [case.solve(tol=tol) for tol in tols]
    monkeypatch.setattr(BlockSide, "lag", 0.0)
    behind = [case.solve(tol=tol) for tol in tols]
    assert all(r.converged for r in ahead + behind)
    assert sum(r.epochs for r in ahead) < sum(r.epochs for r in behind) - 4
    assert sum(len(r.history) == 1 for r in ahead) >= len(tols) - 2


@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_ascent_along_faces(explicit, weighted):
    """Where d is too large for blocks: the dual rises, v follows, and the optimum is the same."""
    kind = "multiclass_hinge" if explicit else loss_of("multiclass_hinge", 4)
    case = (make_explicit if explicit else make)(kind, n=60, d=40, seed=2, lam=1e-4)
    if weighted:
        rng = np.random.default_rng(0)
        case.keywords["sample_weight"] = rng.random(60) * (rng.random(60) < 0.8)
    problem = case.problem()
    for X in (case.X, sparse.csr_array(case.X)):
        problem = case.with_X(X).problem()
        side = BlockSide(problem)
        alpha, v = problem.zero_alpha(), np.zeros(problem.d)
        curvature = side.curvature()
        core = side.epoch(curvature, alpha, v)
        last, rises = -np.inf, 0
        for _ in range(12):
            for _ in range(3):
                core.run(np.arange(60))
            room = problem.room()
            before = problem.evaluate(v, alpha, room).dual
            faces = side.faces(alpha)
            rose = faces.ascend_faces(alpha, v, curvature, 0.05, lambda: 1000)
            core.reset()
            after = problem.evaluate(v, alpha, room).dual
            np.testing.assert_allclose(v, room.touched, atol=1e-8 * np.abs(v).max())
            assert before >= last - 1e-13
            assert after >= before - (1e-14 if rose else 0)
            last, rises = after, rises + rose
        assert rises >= 3


def test_ascent_along_faces_keeps_small_masses():
    """Masses of 1e-11 belong to the face: dropped, alpha and v would part."""
    case = make("multiclass_hinge", n=12, d=5, k=4, lam=0.1)
    problem = case.problem()
    alpha = np.where(np.arange(4) == case.y[:, None], 0.3 + 2e-11, -1e-11)
    alpha[np.arange(12), (case.y + 1) % 4] = -0.3
    duals, room = problem.read_alpha("alpha", alpha), problem.room()
    problem.evaluate(np.zeros(problem.d), duals, room)
    side, v = BlockSide(problem), room.touched.copy()
    side.faces(duals).ascend_faces(duals, v, side.curvature(), 0.05, lambda: 1000)
    problem.evaluate(np.zeros(problem.d), duals, room)
    np.testing.assert_allclose(v, room.touched, atol=1e-13)


def test_both_kinds_of_ascent_where_d_is_large():
    """d k d > 4 million numbers: no blocks, so faces for the hinge, a diagonal for softmax."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((300, 1500), density=0.02, rng=rng, format="csr")
    X.data = rng.normal(size=X.nnz)
    y = np.argmax(X @ rng.normal(size=(1500, 4)) + rng.gumbel(size=(300, 4)), axis=1)
    for loss in LOSS_NAMES:
        case = VectorCase(X, y, {"loss": loss, "lam": 1e-4})
        fast = case.solve(tol=1e-6, max_epochs=20_000)
        assert fast.converged
        slow = case.solve(tol=1e-2, option="I", max_epochs=200_000)
        assert slow.primal >= fast.dual - fast.rounding
        assert slow.dual <= fast.primal + fast.rounding


@pytest.mark.accelerators
@pytest.mark.filterwarnings("ignore::proxsdca.ConvergenceWarning")
def test_limits_hold_for_second_order_ascent():
    case = make("multiclass_hinge", n=400, d=8, k=6, seed=7, lam=1e-8)
    wide = make("multiclass_hinge", n=40, d=1500, k=4, lam=1e-8)
    for most in (5, 7, 20, 200):
        assert wide.solve(tol=1e-14, max_epochs=most).epochs <= most
        r = case.solve(tol=1e-14, max_epochs=most)
        assert r.status is proxsdca.Status.MAX_EPOCHS
        assert r.epochs <= most
    # the w of the ascent, not of the epochs before it
    assert r.gap < 0.5 * case.solve(tol=1e-14, max_epochs=200, option="I").gap
    assert case.certify(r.w, r.alpha).gap == pytest.approx(r.gap, abs=r.rounding)
    r = case.solve(tol=0.0, max_seconds=0.05, max_epochs=10**6)
    assert r.status in (proxsdca.Status.MAX_SECONDS, proxsdca.Status.ROUNDING)


# ------------------------------------------------------------------ the same in other forms


@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize("reg", REG_NAMES)
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_static_and_virtual_calls_give_the_same_bits(loss, reg, explicit):
    case = (make_explicit if explicit else make)(loss, reg, n=20, seed=9)
    visits = np.random.default_rng(0).integers(0, 20, 100)
    for X in (case.X, sparse.csr_array(case.X), np.asfortranarray(case.X.astype(np.float32))):
        (p, a, v), (_, b, u) = (
            run_core(case.with_X(X), "II", visits, virtual=virtual) for virtual in (False, True)
        )
        np.testing.assert_array_equal(flat_alpha(p, a), flat_alpha(p, b))
        np.testing.assert_array_equal(v, u)


def bits(r):
    return r.w.tobytes(), dense(r.alpha).tobytes(), r.primal, r.dual, r.gap, r.rounding, r.epochs


@pytest.mark.parametrize("reg", ["l2", "l1l2"])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_same_seed_same_bits_in_every_storage(loss, reg):
    case = make(loss, reg, n=80, d=7, k=5, seed=5, lam=1e-3)
    csr = sparse.csr_array(case.X)
    wide = csr.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    results = []
    for group in ((csr, wide, sparse.csr_matrix(csr)), (case.X, np.asfortranarray(case.X))):
        found = [case.with_X(X).solve(tol=1e-5, seed=3) for X in group]
        assert len({bits(r) for r in found}) == 1
        results.append(found[0])
    np.testing.assert_allclose(results[0].w, results[1].w, rtol=1e-9, atol=1e-9)
    assert bits(case.solve(tol=1e-5, seed=4)) != bits(results[1])


@pytest.mark.filterwarnings("ignore::proxsdca.ConvergenceWarning")
def test_threads_on_one_X_give_the_same_bits():
    case = make("multiclass_hinge", n=300, d=10, k=5, seed=1, lam=1e-5).csr()
    alone, found = bits(case.solve(tol=1e-6)), []
    threads = [
        threading.Thread(target=lambda: found.append(bits(case.solve(tol=1e-6)))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [alone] * 3


@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize("reg", REG_NAMES)
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_weights_mean_repetition(loss, reg, explicit):
    case = (make_explicit if explicit else make)(loss, reg, n=16, seed=6)
    times = np.array([1, 1, 1, 1, 0, 2, 3, 1] * 2)
    tol = 1e-9 if loss == "softmax" else 1e-4
    weighted = case.solve(sample_weight=times, tol=tol, max_epochs=50_000)
    keep = np.repeat(np.arange(16), times)
    if explicit:
        offsets = case.keywords["offsets"]
        rows = [np.arange(offsets[i], offsets[i + 1]) for i in keep]
        X, new = case.X[np.concatenate(rows)], np.cumsum([0, *map(len, rows)])
        copy = VectorCase(X, case.y[keep], {**case.keywords, "offsets": new})
    else:
        copy = VectorCase(case.X[keep], case.y[keep], case.keywords)
    repeated = copy.solve(tol=tol, max_epochs=50_000)
    assert (weighted.lam, weighted.sigma) == (repeated.lam, repeated.sigma)
    assert weighted.primal == pytest.approx(
        repeated.primal, abs=weighted.gap + repeated.gap + 1e-13
    )
    s = np.divide(16 * times, times.sum())
    alpha = dense(weighted.alpha)
    if explicit:
        per = np.repeat(s, np.diff(offsets))
        b = np.divide(alpha, per, out=np.zeros_like(alpha), where=per > 0)[np.concatenate(rows)]
    else:
        assert not alpha[times == 0].any()
        b = np.divide(alpha, s[:, None], out=np.zeros_like(alpha), where=s[:, None] > 0)[keep]
    check = copy.certify(weighted.w, b)
    assert check.primal == pytest.approx(weighted.primal, rel=1e-12)
    assert check.dual == pytest.approx(weighted.dual, rel=1e-10, abs=1e-13)


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_rows_columns_and_classes_in_another_order(loss):
    cost = np.random.default_rng(3).random((4, 4))
    np.fill_diagonal(cost, 0)
    kind = MulticlassHinge(cost) if loss == "multiclass_hinge" else Softmax()
    case = make(kind, "l1l2", n=40, d=6, k=4, lam=0.05, sigma=0.01)
    base = case.solve(tol=1e-7, max_epochs=50_000)
    rng = np.random.default_rng(0)
    rows, columns, classes = rng.permutation(40), rng.permutation(6), rng.permutation(4)
    where = np.argsort(classes)  # class c is now where[c]
    moved = VectorCase(case.X[rows][:, columns], where[case.y[rows]], dict(case.keywords))
    if loss == "multiclass_hinge":
        moved.keywords["loss"] = MulticlassHinge(cost[np.ix_(classes, classes)])
    check = moved.certify(base.w[columns][:, classes], dense(base.alpha)[rows][:, classes])
    assert check.gap == pytest.approx(base.gap, abs=1e-13)
    other = moved.solve(tol=1e-7, max_epochs=50_000)
    assert other.primal == pytest.approx(base.primal, abs=base.gap + other.gap)


@pytest.mark.parametrize("reg", REG_NAMES)
def test_scaling_of_the_data(reg):
    """X -> c X, w -> w / c, lam -> c^2 lam, sigma -> c sigma is the same problem."""
    case = make("multiclass_hinge", reg, n=30, d=6, lam=0.03)
    sigma = {} if reg == "l2" else {"sigma": 0.02}
    base = case.solve(**sigma, tol=1e-3, max_epochs=5000)
    moved = case.with_X(case.X * 4)
    sigma = {} if reg == "l2" else {"sigma": 0.08}
    other = moved.solve(lam=0.03 * 16, **sigma, tol=1e-3, max_epochs=5000)
    exact = {"rtol": 1e-10, "atol": 1e-12} if reg == "qnorm" else {"rtol": 0}  # powers of p
    np.testing.assert_allclose(dense(other.alpha), dense(base.alpha), **exact)
    np.testing.assert_allclose(other.w * 4, base.w, **exact)


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_duplicate_and_unsorted_entries_are_right(loss):
    case = make(loss, "l1l2", n=20, d=6, seed=9)
    canonical = sparse.csr_array(case.X)
    rng = np.random.default_rng(0)
    data, indices, indptr = [], [], [0]
    for i in range(20):
        row = canonical[[i]]
        split = rng.random(row.nnz)
        order = rng.permutation(2 * row.nnz)
        data.append(np.concatenate([row.data * split, row.data * (1 - split)])[order])
        indices.append(np.tile(row.indices, 2)[order])
        indptr.append(indptr[-1] + 2 * row.nnz)
    messy = sparse.csr_array(
        (np.concatenate(data), np.concatenate(indices), indptr), shape=canonical.shape
    )
    one, two = (case.with_X(X).solve(tol=1e-6, max_epochs=20_000) for X in (canonical, messy))
    assert one.primal == pytest.approx(two.primal, abs=one.gap + two.gap + 1e-13)
    check = case.with_X(canonical).certify(two.w, two.alpha)
    assert check.gap == pytest.approx(two.gap, abs=1e-12)


def test_rows_of_zeros_and_lone_candidates():
    case = make("softmax", n=12, d=4, k=3)
    case.X[[2, 7]] = 0
    r = case.solve(tol=1e-8)
    expected = np.eye(3)[case.y[[2, 7]]] - 1 / 3
    np.testing.assert_allclose(r.alpha[[2, 7]], expected, atol=1e-15)
    everything = np.zeros((5, 2))
    for loss in LOSS_NAMES:
        r = proxsdca.solve(everything, [0, 1, 2, 1, 0], loss=loss)
        assert r.converged
        assert not r.w.any()
        assert r.gap <= 1e-15
    alone = proxsdca.solve(
        np.ones((3, 2)), [0, 0, 0], loss="softmax", offsets=[0, 1, 2, 3], eps=1e-12
    )
    assert alone.primal == alone.gap == 0


# ------------------------------------------------------------------ running


@pytest.mark.filterwarnings("ignore::proxsdca.ConvergenceWarning")
@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize("reg", REG_NAMES)
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_the_averaged_output_is_the_mean_of_the_iterates(loss, reg, explicit):
    k = 2 if reg == "group" and not explicit else 4
    case = (make_explicit if explicit else lambda *a, **b: make(*a, k=k, **b))(
        loss, reg, n=7, d=6, seed=3, lam=0.05
    )
    if reg != "l2":
        case.keywords["sigma"] = 0.004
    option = "III"
    r = case.solve(
        option=option, output="average", T0=5, order="cyclic", max_epochs=4, tol=0.0, eps=0.0
    )
    problem = case.problem()
    visits = np.tile(np.arange(7), 4)
    s, kappa = np.ones(7), problem.sigma / 0.05
    means = [
        prox_sdca(
            case.blocks(), case.y, problem.loss, reg, 0.05, kappa, s, visits[:t], option,
            not explicit,
        )
        for t in range(5, 28)
    ]  # fmt: skip
    w = np.mean([m[2] for m in means], axis=0)
    alpha = np.mean([np.concatenate(m[0]) for m in means], axis=0)
    np.testing.assert_allclose(r.w.ravel(), w, atol=1e-9)
    np.testing.assert_allclose(dense(r.alpha).ravel(), alpha, atol=1e-9)
    assert case.certify(r.w, r.alpha).gap == pytest.approx(r.gap, abs=1e-12)


@pytest.mark.filterwarnings("ignore::proxsdca.ConvergenceWarning")
def test_theorems_hold_in_the_mean():
    """The corollary of section 3.3 with the remark's constant, and Theorem 1 for softmax."""
    n, lam, eps = 20, 0.2, 0.1
    hinge = make("multiclass_hinge", n=n, d=4, k=3, seed=2, lam=lam)
    R = np.sqrt(np.max(np.sum(hinge.X**2, axis=1)))
    eps_D = hinge.certify(np.zeros((4, 3)), np.zeros((n, 3))).gap
    T0, T = theory.structured_steps(n, R, lam, eps, eps_D)
    for option in ("III", "IV", "IV-L2"):
        gaps = [
            hinge.solve(
                option=option, order="uniform", output=output, T0=int(T0), tol=0.0, eps=1e-300,
                max_epochs=int(np.ceil(T / n)), seed=seed,
            ).gap
            for seed in range(5)
            for output in ("average", "random")
        ]  # fmt: skip
        assert np.mean(gaps) <= eps
    soft = make("softmax", n=n, d=4, k=3, seed=2, lam=lam)
    eps_D = soft.certify(np.zeros((4, 3)), np.zeros((n, 3))).gap
    T = theory.smooth_steps(n, R, lam, 1.0, 1e-4, eps_D)
    for option in ("I", "III", "IV", "V"):
        gaps = [
            soft.solve(
                option=option, order="uniform", tol=0.0, eps=1e-300, seed=seed,
                max_epochs=int(np.ceil(T / n)),
            ).gap
            for seed in range(5)
        ]  # fmt: skip
        assert np.mean(gaps) <= 1e-4


def test_predictions_of_the_theory():
    case = make("multiclass_hinge", n=30, d=5, k=4, lam=0.1)
    found = theory.predict(case.X, case.y, "multiclass_hinge", lam=0.1, eps=0.05)["l2"]
    T0_T = theory.structured_steps(30, found.R, 0.1, 0.05, found.eps_D)
    assert found.steps == T0_T[1]
    assert pytest.approx(np.sqrt(np.max(np.sum(case.X**2, axis=1)))) == found.R
    explicit = make_explicit("softmax", n=10)
    offsets = explicit.keywords["offsets"]
    found = theory.predict(explicit.X, explicit.y, "softmax", offsets=offsets)["l2"]
    assert found.gamma == 1


@pytest.mark.filterwarnings("ignore::proxsdca.ConvergenceWarning")
@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_warm_starts(loss, explicit):
    case = (make_explicit if explicit else make)(loss, "l1l2", n=40, seed=1)
    base = case.solve(tol=1e-6, max_epochs=50_000)
    again = case.solve(tol=1e-6, warm_start=base)
    assert again.epochs == 0
    assert again.primal == pytest.approx(base.primal, abs=base.gap + 1e-13)
    from_array = case.solve(tol=1e-6, warm_start=dense(base.alpha))
    assert from_array.epochs == 0
    other = case.solve(tol=1e-4, lam=base.lam / 2, warm_start=base, max_epochs=50_000)
    assert other.converged
    if not explicit:
        part = case.solve(tol=1e-6, warm_start=base.alpha[:25], max_epochs=50_000)
        assert part.converged
        assert part.epochs > 0


@pytest.mark.parametrize("output", ["last", "best", "random"])
@pytest.mark.parametrize("order", ["permutation", "uniform", "cyclic", "importance"])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_orders_and_outputs(loss, order, output):
    case = make(loss, "l1l2", n=30, lam=0.1)
    T0 = {"T0": 0} if output == "random" else {}
    r = case.solve(order=order, output=output, tol=0.05, max_epochs=20_000, **T0)
    assert r.converged
    assert case.certify(r.w, r.alpha).gap == pytest.approx(r.gap, abs=1e-12)


def test_interruption_returns_the_best_certified():
    case = make("multiclass_hinge", n=50, lam=1e-3)

    def stop(check):
        if check.epoch >= 3:
            raise KeyboardInterrupt

    with pytest.raises(proxsdca.Interrupted) as caught:
        case.solve(tol=1e-12, certify_every=1, callback=stop)
    r = caught.value.result
    assert r.status is proxsdca.Status.INTERRUPTED
    assert case.certify(r.w, r.alpha).gap == pytest.approx(r.gap, abs=r.rounding)


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_paths(loss):
    case = make(loss, "l1l2", n=60, d=5, k=3, lam=0.01)
    p = proxsdca.path(case.X, case.y, loss=loss, reg="l1l2", lam=0.01, num=6, keep_alpha=True)
    assert p.converged.all()
    assert p.coef.shape == (15, 6)
    assert p.nonzeros[0] == 0
    for j in (0, 3, 5):
        w = p.coef[:, [j]].toarray().reshape(5, 3)
        c = case.certify(w, p.alpha[j], sigma=p.sigmas[j])
        assert c.gap == pytest.approx(p.gap[j], abs=1e-12)
    lams = proxsdca.path(case.X, case.y, loss=loss, reg="l2", lams=[1.0, 0.1, 0.01])
    assert lams.converged.all()
    largest = proxsdca.sigma_max(case.X, case.y, loss=loss, reg="l1l2")
    assert p.sigma_max == largest
    zero = case.solve(sigma=largest * (1 + 1e-12))
    assert not zero.w.any()


def test_group_drops_whole_rows_of_w():
    case = make("softmax", n=100, d=8, k=4, lam=0.01)
    r = case.solve(reg="group", sigma=0.05, tol=1e-6)
    dropped = ~r.w.any(axis=1)
    assert 0 < dropped.sum() < 8
    assert (r.w[~dropped] != 0).all()
    explicit = case.solve(reg=Group(np.arange(8)), sigma=0.05, tol=1e-6)
    np.testing.assert_array_equal(explicit.w, r.w)
    pairs = case.solve(reg=Group(np.arange(8) // 2), sigma=0.05, tol=1e-6)
    kept = pairs.w.any(axis=1).reshape(4, 2)
    assert (kept[:, 0] == kept[:, 1]).all()


def test_l1_weights_are_per_feature():
    case = make("softmax", n=60, d=4, k=3, lam=0.01, sigma=0.05)
    r = case.solve(reg=L1L2(l1_weights=[0, 1, 1, 100]), tol=1e-6)
    assert r.w[0].all()
    assert not r.w[3].any()


@pytest.mark.filterwarnings("ignore::proxsdca.ConvergenceWarning")
def test_the_papers_constant_with_checked_steps():
    for case in (
        make("softmax", "qnorm", n=20, d=80, k=3, density=0.3),
        make_explicit("softmax", n=20, d=220),
    ):
        r = case.solve(reg=QNorm(constant="paper"), sigma=1e-4, tol=1e-4)
        assert r.converged
        assert (np.diff(r.history["dual"]) >= -1e-12).all()


def test_costs_change_the_decision():
    """Where mistaking 1 for 0 costs ten times as much, fewer of them are made."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=400), np.ones(400)])
    y = (X[:, 0] + rng.normal(size=400) > 0).astype(int)
    plain, dear = (
        proxsdca.solve(X, y, loss=MulticlassHinge(cost)).predict(X)
        for cost in ([[0, 1], [1, 0]], [[0, 10], [1, 0]])
    )
    assert np.sum((dear == 0) & (y == 1)) < np.sum((plain == 0) & (y == 1))
    assert np.sum((dear == 1) & (y == 0)) > np.sum((plain == 1) & (y == 0))


def test_compact_alpha_stays_small(campaign):
    """10^5 rows x 1,000 classes in full: alpha below a tenth of a dense array."""
    n, k = campaign(100_000), 1000
    rng = np.random.default_rng(0)
    d = 500
    y = rng.integers(0, k, n)
    y[: min(n, k)] = np.arange(min(n, k))
    indices = np.sort(rng.integers(0, d, (n, 10)), axis=1)
    indices[:, 0] = y % d
    X = sparse.csr_array((rng.random(10 * n), indices.ravel(), np.arange(n + 1) * 10), shape=(n, d))
    problem = VectorCase(X, y, {"loss": "multiclass_hinge", "reg": "l2"}).problem(
        loss=MulticlassHinge(classes=np.arange(k))
    )
    side = BlockSide(problem)
    alpha, v = problem.zero_alpha(), np.zeros(problem.d)
    core = side.epoch(side.curvature(), alpha, v)
    for _ in range(3):
        core.run(rng.permutation(n))
        assert alpha.nbytes < n * k * 8 / 10
    found = problem.evaluate(v, alpha, problem.room())
    assert found.dual > 0
    shown = problem.shown(v, alpha)[1]
    assert sparse.issparse(shown)
    assert shown.data.nbytes + shown.indices.nbytes + shown.indptr.nbytes < n * k * 8 / 10


def test_twin_objectives_agree_with_the_certificate():
    for loss in LOSS_NAMES:
        for reg in REG_NAMES:
            k = 2 if reg == "group" else 4
            case = make(loss_of(loss, k), reg, n=9, k=k, lam=0.05, seed=2)
            if reg != "l2":
                case.keywords["sigma"] = 0.01
            r = case.solve(tol=0.1)
            kappa = r.sigma / r.lam
            alphas = list(dense(r.alpha))
            primal, dual = objectives(
                case.blocks(), case.y, r.loss, reg, r.lam, kappa, np.ones(9), r.w.ravel(), alphas
            )
            assert r.primal == pytest.approx(primal, rel=1e-12)
            assert r.dual == pytest.approx(dual, rel=1e-10, abs=1e-13)
            v = sum(X_i @ a for X_i, a in zip(case.blocks(), alphas, strict=True)) / (0.05 * 9)
            np.testing.assert_allclose(grad_conjugate(reg, v, kappa), r.w.ravel(), atol=1e-9)


# ------------------------------------------------------------------ found by a hostile reader


def test_curvatures_that_overflow_only_with_their_weight_are_refused():
    """They made the inner solve of Option I run for ever."""
    row = np.array([1, 1, -1.0])
    X = np.concatenate([row, row, row])[:, None] * 8.5e153
    for loss in LOSS_NAMES:
        with pytest.raises(proxsdca.NumericalError, match="curvature"):
            proxsdca.solve(
                X, [1, 1, 1], loss=loss, offsets=[0, 3, 6, 9], lam=0.236,
                sample_weight=[1, 1e-9, 1e-9],
            )  # fmt: skip


@pytest.mark.filterwarnings("ignore::proxsdca.ConvergenceWarning")
@pytest.mark.parametrize("output", ["last", "average"])
def test_ten_thousand_classes_stay_in_the_domain(output):
    """Roundings of the projection add up over the classes that it touches."""
    k, n = 10_000, 60
    y = np.random.default_rng(0).integers(0, k, n)
    loss = MulticlassHinge(classes=np.arange(k))
    r = proxsdca.solve(np.ones((n, 1)), y, loss=loss, lam=0.01, max_epochs=5, output=output, T0=0)
    assert np.isfinite(r.gap)


def test_a_nearly_cornered_softmax_leaves_its_corner():
    """Tiny masses must not make a step that was cut short look like a solution."""
    for tiny in (1e-299, 1e-100, 1e-20):
        alpha = np.full(5, -tiny)
        alpha[0] = 4 * tiny
        new = np.eye(5)[0] - Softmax().step(alpha, np.array([0, 0, 0, 0, 5.0]), 0, 1e-3)
        expected = np.exp([0, 0, 0, 0, 5.0]) / np.exp([0, 0, 0, 0, 5.0]).sum()
        np.testing.assert_allclose(new, expected, rtol=2e-3)
    case = make("softmax", n=40, d=4, k=4)
    cold = case.solve(tol=1e-6)
    alpha = np.full((40, 4), -1e-200)
    alpha[np.arange(40), case.y] = 3e-200
    assert case.solve(tol=1e-6, warm_start=alpha).epochs <= cold.epochs + 2


def test_many_candidates_take_line_searches():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    r = proxsdca.solve(X, [0, 1], loss="multiclass_hinge", offsets=[0, 250, 500], lam=1.0, tol=0.2)
    assert r.option == "II"
    with pytest.raises(ValueError, match="at most 200 rows for each example"):
        proxsdca.solve(X, [0, 1], loss="multiclass_hinge", offsets=[0, 250, 500], option="I")


@pytest.mark.accelerators
def test_steps_of_long_examples_do_not_go_beyond():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 4)), rng.integers(0, 3, 200).astype(float)
    for scale, goes in ((1.0, True), (30.0, False)):
        r = proxsdca.solve(scale * X, y, loss="softmax", lam=1 / 200, tol=1e-3)
        assert r.converged
        assert ("beyond" in r.solver) == goes
