"""sigma |w|_1 alone: solved by columns or by the paper's reductions, certified for that problem."""

import functools
import warnings

import cvxpy as cp
import numpy as np
import pytest
from numpy_twin import _p_and_c, formulas
from problems import LOSS_NAMES, SMOOTH, Case, all_losses, make, zero_gap_alpha
from references import mean_loss

import proxsdca
from proxsdca import theory
from proxsdca._problem import Problem
from proxsdca.losses import LOSSES
from proxsdca.regularizers import L1

ALL_LOSSES = all_losses()
GEOMETRIES = ("auto", "l2", "qnorm")
N, D = 24, 9
C = np.array([1, 2, 0.5, 1, 3, 1, 0.7, 1, 1])
WEIGHT = np.random.default_rng(5).integers(0, 4, N).astype(float)


def problem_of(case, **more) -> Problem:
    keywords = {"lam": None, "sigma": None, "sample_weight": None, **case.keywords, **more}
    return Problem.from_arguments(case.X, case.y, **keywords)


def optimum(X, y, loss, l1, weight) -> tuple[float, float]:
    """cvxpy's min of mean loss + sum_j l1_j |w_j|, and a tolerance for it."""
    w = cp.Variable(X.shape[1])
    objective = mean_loss(loss, X @ w, y, weight) + cp.norm1(cp.multiply(l1, w))
    problem = cp.Problem(cp.Minimize(objective))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem.solve(solver=cp.CLARABEL)
    assert problem.status == "optimal"
    return problem.value, 1e-7 * (1 + abs(problem.value))


@functools.cache
def l1_case(loss, weighted=False, c=False, share=0.1) -> tuple[Case, float, float]:
    """A problem with sigma = share sigma_max, its optimum by cvxpy and the tolerance of that."""
    case = make(loss, "l1", n=N, d=D, seed=1)
    if c:
        case.keywords["reg"] = L1(l1_weights=C)
    if weighted:
        case.keywords["sample_weight"] = WEIGHT
    case.keywords["sigma"] = sigma = share * problem_of(case, sigma=1.0).sigma_max()
    kind = LOSSES[loss]() if isinstance(loss, str) else loss
    s = N * WEIGHT / WEIGHT.sum() if weighted else np.ones(N)
    return case, *optimum(case.X, case.y, kind, sigma * (C if c else np.ones(D)), s)


def mean_conjugate(loss, alpha, y, s):
    phi = formulas(loss)
    parts = (t * phi.conjugate(-a / t, yi) for a, yi, t in zip(alpha, y, s, strict=True) if t)
    return sum(parts) / len(y)


def bounded_dual(X, y, loss, sigma, alpha, B, c=1.0, s=None):
    """D_B(alpha) of ERRATA 7, where sum_j c_j |w_j| <= B."""
    s = np.ones(len(y)) if s is None else s
    over = np.max(np.abs(X.T @ alpha) / (len(y) * c)) - sigma
    return -mean_conjugate(loss, alpha, y, s) - B * max(0.0, over)


# ------------------------------------------------------------ it is solved


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("loss", ALL_LOSSES, ids=repr)
def test_the_certificate_reaches_the_target_and_is_right(loss, geometry):
    case, best, tolerance = l1_case(loss)
    tol = 1e-4 if geometry == "auto" else 1e-3
    r = case.solve(reg=L1(geometry=geometry), tol=tol, max_epochs=50_000)
    assert r.converged
    assert r.side == ("columns" if geometry == "auto" and loss.gamma > 0 else "rows")
    assert r.gap + r.rounding <= tol * r.primal
    assert -tolerance <= r.primal - best <= r.gap + r.rounding + tolerance
    assert r.dual <= best + tolerance


@pytest.mark.parametrize("side", ["rows", "columns"])
@pytest.mark.parametrize(("weighted", "c"), [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_sample_weights_and_l1_weights(loss, weighted, c, side):
    if side == "columns" and loss not in SMOOTH:
        pytest.skip("by rows only")
    case, best, tolerance = l1_case(loss, weighted, c)
    r = case.solve(side=side, tol=1e-3, max_epochs=50_000)
    assert r.converged
    assert -tolerance <= r.primal - best <= r.gap + r.rounding + tolerance


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_duplicated_rows_are_weights(loss):
    case, *_ = l1_case(loss, weighted=True)
    counts = WEIGHT.astype(int)
    twice = Case(np.repeat(case.X, counts, axis=0), np.repeat(case.y, counts), dict(case.keywords))
    twice.keywords["sample_weight"] = None
    for geometry in ("auto", "l2"):
        one, two = (
            problem.solve(reg=L1(geometry=geometry), tol=1e-3, max_epochs=50_000)
            for problem in (case, twice)
        )
        assert one.converged
        assert two.converged
        assert abs(one.primal - two.primal) <= max(one.gap, two.gap) + one.rounding + two.rounding


def test_columns_divided_by_c_are_l1_weights():
    case, *_ = l1_case("logistic", c=True)
    scaled = Case(case.X / C, case.y, {**case.keywords, "reg": "l1"})
    for side in ("rows", "columns"):
        one, two = (p.solve(side=side, tol=1e-4, max_epochs=50_000) for p in (case, scaled))
        assert abs(one.primal - two.primal) <= max(one.gap, two.gap) + one.rounding + two.rounding


@pytest.mark.parametrize("order", ["permutation", "uniform", "cyclic", "importance"])
@pytest.mark.parametrize("loss", ["hinge", "logistic", "absolute"])
def test_every_order(loss, order):
    case, best, tolerance = l1_case(loss)
    for side in ("rows", "auto"):
        r = case.solve(order=order, side=side, tol=1e-3, max_epochs=50_000)
        assert r.converged
        assert r.primal - best <= r.gap + r.rounding + tolerance


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_every_output(loss):
    case, best, tolerance = l1_case(loss)
    for output in ("average", "random"):  # of which there is none where the surrogate changes
        with pytest.raises(ValueError, match=f"output = '{output}': reg = 'l1'"):
            case.solve(output=output, side="rows")
    r = case.solve(output="best", side="rows", tol=0.01, max_epochs=5000)
    assert r.converged
    assert r.primal - best <= r.gap + r.rounding + tolerance


def test_the_default_sigma_is_a_hundredth_of_sigma_max():
    case = make("logistic", "l1", n=N, d=D, seed=1)
    sigma_max = np.max(np.abs(case.X.T @ (case.y / 2))) / N
    for side in ("rows", "columns"):
        assert case.solve(side=side, tol=0.1).sigma == pytest.approx(0.01 * sigma_max, rel=1e-12)
    c = case.solve(reg=L1(l1_weights=C), tol=0.1)
    expected = 0.01 * np.max(np.abs(case.X.T @ (case.y / 2)) / C) / N
    assert c.sigma == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("c", [None, C], ids=["plain", "l1_weights"])
def test_from_sigma_max_on_zero_is_certified_at_once(loss, geometry, c):
    case = make(loss, "l1", n=N, d=D, seed=1)
    reg = L1(geometry=geometry, l1_weights=c)
    sigma_max = problem_of(case, reg=reg, sigma=1.0).sigma_max()
    for share in (1 + 1e-12, 1.5, 1e6):
        r = case.solve(reg=reg, sigma=share * sigma_max, tol=1e-9)
        assert r.converged
        assert r.epochs == 0
        assert not r.w.any()
    below = case.solve(reg=reg, sigma=0.8 * sigma_max, tol=1e-3, max_epochs=50_000)
    assert below.converged
    assert below.w.any() or not loss_is_smooth_at_zero(loss)


def loss_is_smooth_at_zero(loss):
    """Then sigma_max is the least sigma whose solution is 0."""
    return loss not in ("absolute", "quantile", "epsilon_insensitive")


@pytest.mark.parametrize("side", ["rows", "columns"])
def test_one_row_or_one_column(side):
    for n, d in ((1, 5), (5, 1), (1, 1)):
        case = make("squared", "l1", n=n, d=d, density=1.0, tol=1e-6, max_epochs=50_000)
        assert case.solve(side=side).converged


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_data_of_zeros_are_solved_at_once(loss):
    """sigma_max = 0: whatever sigma is, w = 0 is the solution."""
    X, y = np.zeros((3, 2)), np.array([1.0, 2, 3])
    for sigma in (0.1, None):
        r = proxsdca.solve(X, y, loss=loss, reg="l1", sigma=sigma)
        assert (r.converged, r.epochs, r.w.any()) == (True, 0, False)


# ------------------------------------------------------------ the certificate is never wrong


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", ALL_LOSSES, ids=repr)
def test_no_alpha_proves_too_much(loss, weighted):
    """D_B(alpha) <= min P, whatever alpha is, and is the formula of ERRATA 7."""
    case, best, tolerance = l1_case(loss, weighted)
    s = N * WEIGHT / WEIGHT.sum() if weighted else np.ones(N)
    sigma, rng = case.keywords["sigma"], np.random.default_rng(2)
    near = case.solve(tol=1e-3, max_epochs=50_000)
    for k in range(60):
        alpha = s * zero_gap_alpha(loss, N, case.y, rng)
        if k % 3:  # near the solution, where a bound that is too large would show
            t = 10.0 ** rng.uniform(-4, 0)
            alpha = (1 - t) * near.alpha + t * alpha
        w = near.w + rng.normal(size=D) * 10.0 ** rng.uniform(-4, 0)
        c = case.certify(w, alpha)
        assert c.dual <= best + tolerance + c.rounding
        expected = bounded_dual(case.X, case.y, loss, sigma, alpha, c.primal / sigma, 1.0, s)
        assert c.dual == pytest.approx(expected, rel=1e-10, abs=1e-10)
        assert c.gap == c.primal - c.dual


@pytest.mark.parametrize("loss", ALL_LOSSES, ids=repr)
def test_the_bounded_dual_is_at_least_what_a_surrogate_proves(loss, campaign):
    """D_B >= D_surrogate - lam c/2 B^2 for l2 (c = 1) and the q-norm: B t <= t^2/(2a) + a B^2/2."""
    rng = np.random.default_rng(3)
    for _ in range(campaign(10_000)):
        n, d = rng.integers(1, 8), rng.integers(1, 20)
        case = make(loss, n=n, d=d, seed=int(rng.integers(1 << 30)))
        alpha = zero_gap_alpha(loss, n, case.y, rng) * rng.random()
        sigma, lam, B = 10.0 ** rng.uniform(-3, 1, 3)
        s = np.maximum(np.abs(case.X.T @ alpha) / n - sigma, 0)
        conjugates = mean_conjugate(loss, alpha, case.y, np.ones(n))
        p, c = _p_and_c(d)
        bound = bounded_dual(case.X, case.y, loss, sigma, alpha, B)
        for scale, norm in ((1.0, np.linalg.norm(s)), (c, np.linalg.norm(s, p))):
            surrogate = -conjugates - norm**2 / (2 * lam * scale)
            carried = surrogate - lam * scale / 2 * B**2
            assert bound >= carried - 1e-12 * (1 + abs(carried))


@pytest.mark.parametrize("loss", ALL_LOSSES, ids=repr)
def test_the_dual_is_that_of_the_best_multiple_of_alpha(loss):
    """Never less than at alpha itself, and the best of a grid where phi* is simple."""
    case, best, tolerance = l1_case(loss)
    problem, rng = problem_of(case), np.random.default_rng(4)
    near, room = case.solve(tol=1e-3, max_epochs=50_000), problem.room()
    for _ in range(15):
        t = 10.0 ** rng.uniform(-3, 0)
        alpha = (1 - t) * near.alpha + t * zero_gap_alpha(loss, N, case.y, rng)
        found = problem.evaluate(near.w, alpha, room, rescale=True)
        assert 0 < found.shrink <= 1
        np.testing.assert_allclose(found.alpha, found.shrink * alpha, rtol=1e-15)
        B = found.primal / problem.sigma

        def dual(c, alpha=alpha, B=B):
            return bounded_dual(case.X, case.y, loss, problem.sigma, c * alpha, B)

        assert found.dual == pytest.approx(dual(found.shrink), rel=1e-10, abs=1e-10)
        assert found.dual >= dual(1.0) - 1e-10
        assert found.dual <= best + tolerance + 1e-12
        if loss.name not in ("logistic", "poisson"):
            grid = max(dual(c) for c in np.linspace(0, 1, 41))
            if grid > 0:  # else alpha points the wrong way, and D(0) = 0 says as much as P >= 0
                assert found.dual >= grid - 1e-9 * (1 + grid)


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_certify_reproduces_the_gap(loss, geometry):
    for weighted in (False, True):
        case, *_ = l1_case(loss, weighted)
        r = case.solve(reg=L1(geometry=geometry), tol=1e-2, max_epochs=50_000)
        c = case.certify(r.w, r.alpha)
        assert abs(c.gap - r.gap) <= c.rounding + r.rounding
        assert c.primal == pytest.approx(r.primal, rel=1e-13)
        last = r.history[-1]
        assert (last["primal"], last["gap"]) == (r.primal, r.gap)


def test_certify_takes_any_pair():
    case, best, tolerance = l1_case("squared")
    w = np.linalg.lstsq(case.X, case.y, rcond=None)[0]
    c = case.certify(w, case.y - case.X @ w)
    assert c.primal - best <= c.gap + c.rounding + tolerance


# ------------------------------------------------------------ what it refuses


@pytest.mark.parametrize("solver", [proxsdca.solve, proxsdca.certify])
@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"sigma": -1.0}, r"sigma = -1\.0: a finite number >= 0"),
        ({"sigma": np.nan}, r"sigma = nan: a finite number"),
        ({"sigma": np.inf}, r"sigma = inf: a finite number"),
        ({"sigma": 0.0}, r"sigma = 0\.0: reg = 'l1' needs a number > 0"),
        ({"lam": 0.1}, r"lam = 0\.1: reg = 'l1' .* has no lam; reg = 'l1l2' has both"),
        ({"reg": L1(l1_weights=[1, 0, 1])}, r"l1_weights\[1\] = 0\.0: a number > 0.*'l1l2'"),
        ({"reg": L1(l1_weights=[1, -2, 1])}, r"l1_weights\[1\] = -2\.0"),
        ({"reg": L1(l1_weights=[1, np.nan, 1])}, r"l1_weights\[1\] = nan"),
        ({"reg": L1(l1_weights=[1, 1])}, r"l1_weights has shape \(2,\), X has 3 columns"),
    ],
    ids=str,
)
def test_bad_arguments_are_named(solver, keywords, message):
    case = make("squared", "l1", n=10, d=3)
    pair = () if solver is proxsdca.solve else (np.zeros(3), np.zeros(10))
    with pytest.raises(ValueError, match=message):
        solver(case.X, case.y, *pair, **{**case.keywords, **keywords})


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"B": 0.0}, r"B = 0\.0: a finite number > 0"),
        ({"B": -1.0}, r"B = -1\.0: a finite number > 0"),
        ({"B": np.nan}, "B = nan"),
        ({"geometry": "l3"}, r"geometry = 'l3' is not known.*'auto', 'l2', 'qnorm'"),
        ({"method": "word"}, r"method = 'word' is not known.*'auto', 'literal'"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(keywords, message):
    with pytest.raises(ValueError, match=message):
        L1(**keywords)


# ------------------------------------------------------------ the paper's procedure


@pytest.mark.parametrize("geometry", ["l2", "qnorm"])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_the_literal_procedure_gives_an_eps_solution(loss, geometry):
    """lam = eps / (c B^2) throughout, with the paper's c."""
    case, best, tolerance = l1_case(loss, share=0.3)
    c = 1.0 if geometry == "l2" else 3 * np.log(D)
    B = float(
        np.mean([formulas(LOSSES[loss]()).value(0.0, y) for y in case.y]) / case.keywords["sigma"]
    )
    eps = 0.1 * best
    reg = L1(geometry=geometry, method="literal", B=B)
    r = case.solve(reg=reg, eps=eps, tol=0.0, max_epochs=50_000)
    assert r.converged
    assert r.side == "rows"
    assert r.lam == pytest.approx(eps / (c * B**2), rel=1e-12)
    assert r.lam == theory.l1_lam(eps, B, c)
    assert r.gap + r.rounding <= eps
    assert r.primal - best <= eps + tolerance
    other = case.solve(tol=1e-3, max_epochs=50_000)
    assert abs(r.primal - other.primal) <= max(r.gap, other.gap) + r.rounding + other.rounding


def test_the_literal_default_of_B():
    case, *_ = l1_case("hinge", share=0.5)
    r = case.solve(reg=L1(geometry="l2", method="literal"), eps=0.1, tol=0.0, max_epochs=50_000)
    assert r.converged
    assert r.lam == theory.l1_lam(0.1, 1 / r.sigma)


def test_the_literal_procedure_with_l1_weights():
    """sigma sum_j c_j |w_j| <= P bounds |w|_1 by P / (sigma min c): B = 1/sigma is not enough."""
    case, *_ = l1_case("hinge", share=0.5)
    c = np.full(D, 0.05)
    keywords = {"sigma": case.keywords["sigma"] / 0.05, "eps": 0.1, "tol": 0.0}
    reg = L1(geometry="l2", method="literal", l1_weights=c)
    r = case.solve(reg=reg, max_epochs=5000, **keywords)
    assert r.converged


def test_the_literal_procedure_needs_eps():
    case, *_ = l1_case("hinge")
    with pytest.raises(ValueError, match=r"method = 'literal' needs eps > 0"):
        case.solve(reg=L1(method="literal"))


def test_a_B_that_is_known_helps_no_less():
    case, best, tolerance = l1_case("hinge")
    w = case.solve(tol=1e-4, max_epochs=50_000).w
    for geometry in ("l2", "qnorm"):
        reg = L1(geometry=geometry, B=1.1 * float(np.abs(w).sum()))
        r = case.solve(reg=reg, tol=1e-3, max_epochs=50_000)
        assert r.converged
        assert r.primal - best <= r.gap + r.rounding + tolerance


@pytest.mark.filterwarnings("ignore::proxsdca.ConvergenceWarning")
@pytest.mark.parametrize("geometry", ["l2", "qnorm"])
def test_a_B_that_is_too_small_is_named(geometry):
    case, *_ = l1_case("squared")
    w = case.solve(tol=1e-4, max_epochs=50_000).w
    reg = L1(geometry=geometry, method="literal", B=1e-3 * float(np.abs(w).sum()))
    with pytest.raises(ValueError, match=r"\bB\b"):
        case.solve(reg=reg, eps=1e-3, tol=0.0)


@pytest.mark.filterwarnings("ignore::proxsdca.ConvergenceWarning")
def test_a_B_that_is_too_small_never_gives_a_wrong_certificate():
    case, best, tolerance = l1_case("squared")
    for method in ("literal", "auto"):
        try:
            reg = L1(geometry="l2", method=method, B=1e-3)
            r = case.solve(reg=reg, eps=1e-3, tol=0.0, max_epochs=2000)
        except ValueError:  # it may be refused
            continue
        assert r.primal - best <= r.gap + r.rounding + tolerance


def test_auto_geometry_takes_the_smaller_bound():
    """max |x_i|_2^2 against c max |x_i|_inf^2: short rows for l2, flat long ones for the q-norm."""
    rng = np.random.default_rng(0)
    flat = rng.choice([-1.0, 1.0], size=(20, 400))
    sparse_rows = np.zeros((20, 400))
    sparse_rows[np.arange(20), rng.integers(0, 400, 20)] = 1.0
    y = np.where(rng.random(20) < 0.5, 1.0, -1.0)
    y[:2] = -1, 1
    c = theory.valid_constant(400, theory.default_p(400))
    assert c < 400
    for X, name, other in ((flat, "qnorm", "l2"), (sparse_rows, "l2", "qnorm")):
        auto, same, different = (
            proxsdca.solve(X, y, reg=L1(geometry=g), tol=0.1, max_epochs=50_000)
            for g in ("auto", name, other)
        )
        np.testing.assert_array_equal(auto.w, same.w)
        assert auto.lam == same.lam != different.lam
