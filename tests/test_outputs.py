"""Orders, outputs, warm starts and limits: how a run goes and what it returns."""

import numpy as np
import pytest
from numpy_twin import grad_conjugate, prox_sdca
from problems import LOSS_NAMES, REG_NAMES, Case, make
from scipy import sparse

import proxsdca
from proxsdca import _random, theory
from proxsdca._core.order import alias_table
from proxsdca._problem import Problem
from proxsdca._side import RowSide
from proxsdca.losses import LOSSES

SEEDS = 20
OUTPUTS = ("last", "average", "random", "best")


# ----------------------------------------------------------------- outputs


@pytest.mark.parametrize("reg", REG_NAMES)
@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared", "absolute"])
def test_the_lazy_average_is_the_naive_one(loss, reg):
    """The mean of the w's of the iterates T0 ... T - 1, whatever grad g* is (ERRATA 5)."""
    case = make(loss, reg, n=25, d=11, seed=3)  # from d = 10 on the q-norm is none with p = 2
    case.keywords["sample_weight"] = np.r_[np.zeros(3), np.linspace(0.5, 2, 22)]
    problem = Problem.from_arguments(
        case.X, case.y, loss, case.keywords["reg"], None, None, case.keywords["sample_weight"]
    )
    T0, epochs = 31, 6
    with pytest.warns(proxsdca.ConvergenceWarning):
        r = case.solve(output="average", T0=T0, tol=0.0, max_epochs=epochs, order="uniform", seed=4)
    # the same visits, one at a time
    rows = np.flatnonzero(problem.weight)
    order = _random.Order("uniform", rows, _random.stream(4))
    visits = np.concatenate([order.next().copy() for _ in range(epochs)])
    alpha, v = np.zeros(25), np.zeros(11)
    side = RowSide(problem)
    core = side.epoch(side.curvature(), alpha, v)
    ws, vs, alphas = [], [], []
    for i in visits:
        vs.append(v.copy())
        ws.append(grad_conjugate(reg, v, problem.sigma / problem.lam).copy())
        alphas.append(alpha.copy())
        core.run(np.array([i]))
    np.testing.assert_allclose(r.w, np.mean(ws[T0:], axis=0), rtol=0, atol=1e-12)
    np.testing.assert_allclose(r.alpha, np.mean(alphas[T0:], axis=0), rtol=0, atol=1e-12)
    # w_j moves where v_j does not, which a sum that waits for v_j alone would miss
    stale = [ws[T0]]
    for t in range(T0 + 1, len(ws)):
        stale.append(np.where(vs[t] != vs[t - 1], ws[t], stale[-1]))
    missed = np.abs(np.mean(stale, axis=0) - r.w).max()
    assert missed > 1e-6 if reg in ("qnorm", "group") else missed < 1e-12
    if reg == "l1l2":
        literal = grad_conjugate(
            reg, case.X.T @ r.alpha / (problem.lam * 25), problem.sigma / problem.lam
        )
        assert np.abs(literal - r.w).max() > 1e-6  # the figure's w(alpha_bar) is another point


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("output", OUTPUTS)
def test_each_output_has_its_own_certificate(loss, output):
    case = make(loss, "l1l2", n=60, d=8, seed=1)
    r = case.solve(output=output, T0=60, tol=1e-3, max_epochs=20_000)
    assert r.output == output
    check = case.certify(r.w, r.alpha)
    assert (check.primal, check.dual) == (r.primal, r.dual)
    assert r.converged
    assert r.gap + r.rounding <= 1e-3 * r.primal


@pytest.mark.filterwarnings("ignore::proxsdca.ConvergenceWarning")
def test_the_random_output_is_uniform_over_T0_to_T_minus_1():
    """With one row per epoch the iterate that was kept can be read off alpha."""
    X, y = np.ones((1, 1)), np.array([3.0])
    keywords = {"loss": "poisson", "lam": 1.0, "option": "III", "tol": 0.0}
    iterates = [proxsdca.solve(X, y, max_epochs=t, **keywords).alpha[0] for t in range(9)]
    assert len(set(iterates)) == 9
    counts = np.zeros(9)
    for seed in range(3000):
        r = proxsdca.solve(X, y, output="random", T0=2, max_epochs=8, seed=seed, **keywords)
        counts[iterates.index(r.alpha[0])] += 1
    assert not counts[:2].any()  # T0 = 2 is the first
    assert counts[8] == 0  # T is not among them (ERRATA 10)
    assert np.sum((counts[2:8] - 500) ** 2 / 500) < 26  # chi^2 with 5 degrees, 1e-4


@pytest.mark.filterwarnings("ignore::proxsdca.ConvergenceWarning")
@pytest.mark.parametrize("reg", REG_NAMES)
@pytest.mark.parametrize("output", ["average", "random"])
@pytest.mark.parametrize("loss", ["hinge", "absolute", "epsilon_insensitive", "quantile"])
def test_theorem_2_for_the_output(loss, output, reg):
    n, lam, eps = 25, 0.5, 0.05
    case = make(loss, reg, n=n, d=5, seed=2)
    kind = LOSSES[loss]()
    R = np.sqrt(np.max(np.sum(case.X**2, axis=1)))
    eps_D = case.certify(np.zeros(5), np.zeros(n), lam=lam).gap
    T0, T = theory.lipschitz_steps(n, R, lam, kind.lipschitz, eps, eps_D)
    for option in kind.options:
        gaps = [
            case.solve(lam=lam, option=option, order="uniform", seed=seed, tol=0.0, eps=0.0,
                       output=output, T0=int(np.ceil(T0)), max_epochs=int(np.ceil(T / n))).gap
            for seed in range(SEEDS)
        ]  # fmt: skip
        assert np.mean(gaps) <= eps


@pytest.mark.filterwarnings("ignore::proxsdca.ConvergenceWarning")
@pytest.mark.parametrize("output", ["average", "random"])
@pytest.mark.parametrize("loss", [n for n in LOSS_NAMES if LOSSES[n]().gamma > 0])
def test_theorem_1_for_the_output(loss, output):
    n, lam, eps = 30, 0.1, 1e-2
    case = make(loss, "l1l2", n=n, d=5, seed=2)
    kind = LOSSES[loss]()
    R = np.sqrt(np.max(np.sum(case.X**2, axis=1)))
    eps_D = case.certify(np.zeros(5), np.zeros(n), lam=lam).gap
    work = n + R**2 / (lam * kind.gamma)
    T0 = theory.burn_in(n, R, lam, kind.gamma, kind.lipschitz, eps, eps_D)
    assert pytest.approx(work * np.log(work * eps_D / (work * eps))) == T0  # T - T0 = work
    for option in kind.options:
        gaps = [
            case.solve(lam=lam, option=option, order="uniform", seed=seed, tol=0.0, eps=0.0,
                       output=output, T0=int(np.ceil(T0)),
                       max_epochs=int(np.ceil((T0 + work) / n))).gap
            for seed in range(SEEDS)
        ]  # fmt: skip
        assert np.mean(gaps) <= eps


def test_the_default_T0_follows_the_theorems():
    assert theory.burn_in(10, 1, 0.1, 0, 1, 0.1) == theory.lipschitz_steps(10, 1, 0.1, 1, 0.1)[0]
    assert theory.burn_in(10, 1, 0.1, 0, np.inf, 0.1) == np.inf
    assert theory.burn_in(10, 1, 0.1, 1, 1, 0.0) == np.inf
    assert theory.burn_in(10, 1, 0.1, 1, 1, 5.0) == 0
    case = make("logistic", n=50, d=5)
    r = case.solve(output="average", tol=1e-2)
    assert r.converged


def test_best_is_never_worse_than_last():
    case = make("hinge", n=60, d=10, seed=7, lam=1e-3)
    keywords = {"tol": 1e-9, "max_epochs": 37, "certify_every": 1}
    with pytest.warns(proxsdca.ConvergenceWarning):
        last, best = case.solve(**keywords), case.solve(**keywords, output="best")
    assert best.primal == last.history["primal"].min()
    assert best.dual == last.history["dual"].max()
    assert best.gap <= last.gap
    assert (np.diff(best.history["gap"]) <= 0).all()
    check = case.certify(best.w, best.alpha)
    assert (check.primal, check.dual) == (best.primal, best.dual)


# ------------------------------------------------------------------ orders


def test_alias_table_draws_in_proportion():
    p = np.array([0.0, 1, 2, 3, 0, 4, 1e-9])
    share = p / p.sum()
    keep, alias = np.empty(7), np.empty(7, np.intp)
    alias_table(p.copy(), keep, alias)
    chance = keep / 7
    np.add.at(chance, alias, (1 - keep) / 7)
    np.testing.assert_allclose(chance, share, atol=1e-15)
    stream, draws = _random.stream(0), np.empty(50_000, np.intp)
    stream.draw_weighted(draws, keep, alias)
    counts = np.bincount(draws, minlength=7)
    assert counts[0] == counts[4] == 0
    used = share > 1e-6
    assert np.sum((counts - 50_000 * share)[used] ** 2 / (50_000 * share[used])) < 26


def spread_rows(n=1000, d=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, rng


@pytest.mark.parametrize("loss", ["squared", "hinge", "absolute"])
def test_importance_needs_fewer_epochs_where_norms_spread(loss):
    X, rng = spread_rows()
    y = np.sign(X @ rng.normal(size=30) + 0.1 * rng.normal(size=1000))
    spread = X * 10.0 ** rng.uniform(-2, 1, size=(1000, 1))
    epochs = {
        order: np.mean([
            proxsdca.solve(spread, y, loss=loss, order=order, tol=1e-4, certify_every=1, seed=seed,
                           lam=0.01, max_epochs=10_000, option="I").epochs
            for seed in range(3)
        ])
        for order in ("uniform", "importance")
    }  # fmt: skip
    assert epochs["importance"] < epochs["uniform"]


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_importance_costs_nothing_on_unit_rows(loss):
    X, rng = spread_rows()
    y = np.sign(X @ rng.normal(size=30) + 0.3 * rng.normal(size=1000))
    epochs = {
        order: np.mean([
            proxsdca.solve(X, y, loss=loss, order=order, tol=1e-4, certify_every=1, seed=k).epochs
            for k in range(10)
        ])
        for order in ("uniform", "importance")
    }  # fmt: skip
    assert epochs["importance"] <= 1.1 * epochs["uniform"]


@pytest.mark.parametrize("order", _random.ORDERS)
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_rows_of_zeros_are_settled_once(loss, order):
    case = make(loss, "l1l2", n=40, d=5, seed=3)
    case.X[5:15] = 0
    case = case.csr()
    r = case.solve(order=order, tol=1e-5, max_epochs=20_000)
    assert r.converged
    zero, y = slice(5, 15), case.y[5:15]
    kind = LOSSES[loss]()
    np.testing.assert_array_equal(r.alpha[zero], -kind.subgradient(np.zeros(10), y))
    fenchel = kind.value(0.0, y) + kind.conjugate(-r.alpha[zero], y)
    np.testing.assert_allclose(fenchel, 0, atol=1e-14)


def test_only_zero_rows():
    y = np.array([-1, 1, 1])
    r = proxsdca.solve(sparse.csr_array((3, 2)), y, loss="hinge", tol=0.0, eps=1e-12)
    assert r.converged
    assert r.epochs == 0
    np.testing.assert_array_equal(r.alpha, y)


# ------------------------------------------------------------- warm starts


@pytest.mark.parametrize("reg", REG_NAMES)
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_warm_start_from_a_result(loss, reg):
    case = make(loss, reg, n=80, d=10, seed=5)
    tol = 1e-6 if LOSSES[loss]().gamma == 0 else 1e-8
    cold = case.solve(tol=tol, max_epochs=50_000)
    again = case.solve(tol=tol, warm_start=cold)
    assert again.epochs == 0
    assert again.gap <= cold.target
    more = case.solve(tol=tol, lam=1 / 160, warm_start=cold.alpha, max_epochs=50_000)
    assert more.converged
    assert not np.shares_memory(more.alpha, cold.alpha)


def test_warm_start_after_rows_were_added():
    case = make("logistic", n=100, d=6)
    first = Case(case.X[:80], case.y[:80], case.keywords).solve(tol=1e-8)
    cold = case.solve(tol=1e-8)
    warm = case.solve(tol=1e-8, warm_start=first)
    assert warm.converged
    assert warm.primal == pytest.approx(cold.primal, abs=warm.gap + cold.gap)
    assert warm.epochs <= cold.epochs


def test_bad_warm_starts():
    case = make("hinge", n=6, d=3)
    for start, message in (
        (np.r_[0, 0, 5 * case.y[2], 0, 0, 0], r"warm_start\[2\] = -?5\.0 is outside the domain \["),
        (np.zeros(7), r"warm_start has shape \(7,\)"),
        ([0, np.nan], r"warm_start\[1\] = nan"),
        (np.zeros((2, 3)), r"warm_start has shape \(2, 3\)"),
    ):
        with pytest.raises(ValueError, match=message):
            case.solve(warm_start=start)
    with pytest.raises(TypeError, match="warm_start"):
        case.solve(warm_start="yes")


# --------------------------------------------------------- twin once more


def test_the_average_against_the_twin():
    """One epoch in cyclic order from T0 = 0: the mean of the iterates 0 ... n - 1."""
    case = make("squared", "l1l2", n=8, d=4, lam=0.2, sigma=0.05)
    with pytest.warns(proxsdca.ConvergenceWarning):
        r = case.solve(output="average", T0=0, order="cyclic", max_epochs=1, tol=0.0)
    kind, ones = LOSSES["squared"](), np.ones(8)
    ws = [
        prox_sdca(case.X, case.y, kind, "l1l2", 0.2, 0.25, ones, range(t), "I")[2] for t in range(8)
    ]
    np.testing.assert_allclose(r.w, np.mean(ws, axis=0), atol=1e-13)
