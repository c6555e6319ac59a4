"""The column side: the same problems, the same loop, another order of work."""

import tracemalloc

import numpy as np
import pytest
from numpy_twin import formulas
from problems import SMOOTH, VARIANTS, Case, make, regulariser, targets
from scipy import sparse

import proxsdca
from proxsdca._problem import Problem
from proxsdca._side import ColumnSide
from proxsdca.losses import LOSSES
from proxsdca.regularizers import L1, L1L2

pytestmark = pytest.mark.filterwarnings("ignore::proxsdca.ConvergenceWarning")

WEIGHT = np.array([1, 0, 2, 3, 1, 0, 1, 2, 0, 1, 1, 5.0])
SEPARABLE = ("l2", "l1l2", "l1")


def smooth_losses() -> list:
    """Every smooth loss, and the variants."""
    losses = [LOSSES[name]() for name in SMOOTH]
    return losses + [LOSSES[name](**VARIANTS[name]) for name in SMOOTH if name in VARIANTS]


def problem_of(case, **more) -> Problem:
    keywords = {"lam": None, "sigma": None, "sample_weight": None, **case.keywords, **more}
    return Problem.from_arguments(case.X, case.y, side="columns", **keywords)


def storages(X) -> dict:
    """The same numbers, as both sides may get them."""
    wide = sparse.csc_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    return {
        "C": np.ascontiguousarray(X),
        "Fortran": np.asfortranarray(X),
        "CSR": sparse.csr_array(X),
        "CSC": sparse.csc_array(X),
        "CSC int64": wide,
        "COO": sparse.coo_array(X),
    }


def soft(x, t):
    return np.sign(x) * np.maximum(np.abs(x) - t, 0)


def descend(X, y, loss, lam, sigma, s, c, epochs, w=None):
    """Coordinate descent on n P, the columns in turn: slow, and apart from the package."""
    (n, d), phi = X.shape, formulas(loss)
    w = np.zeros(d) if w is None else w.copy()
    q = s @ X**2 / loss.gamma
    for _ in range(epochs):
        z = X @ w
        for j in range(d):
            if q[j] == 0:
                continue
            slope = s * np.array([phi.slope(zi, yi) for zi, yi in zip(z, y, strict=True)])
            new = soft(q[j] * w[j] - X[:, j] @ slope, n * sigma * c[j]) / (q[j] + n * lam)
            z = z + X[:, j] * (new - w[j])
            w[j] = new
    return w


# ------------------------------------------------------------ the same problem


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reg", ["l2", "l1l2", "l1_weights"])
@pytest.mark.parametrize("loss", smooth_losses(), ids=repr)
def test_rows_and_columns_meet_within_their_gaps(loss, reg, weighted):
    case = make(loss, "l2", n=12, d=7, seed=1, lam=0.05, tol=1e-8, max_epochs=20000)
    if reg != "l2":
        c = None if reg == "l1l2" else np.array([0, 1, 2, 0.5, 1, 3, 1])
        case.keywords.update(reg=L1L2(c), sigma=0.02)
    if weighted:
        case.keywords["sample_weight"] = WEIGHT
    rows = case.solve(side="rows")
    assert (rows.side, rows.converged) == ("rows", True)
    for name, X in storages(case.X).items():
        columns = Case(X, case.y, case.keywords).solve(side="columns")
        assert columns.side == "columns", name
        assert columns.converged, name
        assert rows.primal - columns.primal <= rows.gap + rows.rounding
        assert columns.primal - rows.primal <= columns.gap + columns.rounding
        assert columns.lam == rows.lam
        assert columns.sigma == rows.sigma


@pytest.mark.parametrize("reg", SEPARABLE)
@pytest.mark.parametrize("loss", SMOOTH)
def test_certify_finds_what_the_column_side_reports(loss, reg):
    case = make(loss, reg, n=20, d=9, seed=2)
    r = case.solve(side="columns", tol=1e-5, max_epochs=20000)
    assert r.converged
    c = case.certify(r.w, r.alpha, sigma=None if reg == "l2" else r.sigma)
    assert c.primal == pytest.approx(r.primal, rel=1e-14)
    assert abs(c.gap - r.gap) <= c.rounding + r.rounding


@pytest.mark.parametrize("loss", SMOOTH)
def test_alpha_belongs_to_w(loss):
    """alpha_i = -s_i phi'(x_i^T w), with no scale where there is lam."""
    case = make(loss, "l1l2", n=12, d=5, seed=2, sample_weight=WEIGHT)
    r = case.solve(side="columns", tol=1e-6, max_epochs=20000)
    s = 12 * WEIGHT / WEIGHT.sum()
    slope = [formulas(r.loss).slope(z, y) for z, y in zip(case.X @ r.w, case.y, strict=True)]
    np.testing.assert_allclose(r.alpha, -s * slope, rtol=1e-9, atol=1e-12)


# ------------------------------------------------------------ the same loop


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reg", [*SEPARABLE, "l1_weights"])
@pytest.mark.parametrize(
    "loss", [loss for loss in smooth_losses() if loss.name != "logistic"], ids=repr
)
def test_the_loop_is_coordinate_descent(loss, reg, weighted, monkeypatch):
    """Epoch for epoch to rounding; without screening, which may spare w_j a detour from 0."""
    monkeypatch.setattr(ColumnSide, "screen", lambda *_: None)
    case = make(loss, "l2", n=12, d=7, seed=3)
    c, lam, sigma = np.ones(7), 0.03, 0.02
    if reg == "l1_weights":
        c = np.array([0, 1, 2, 0.5, 1, 3, 1])
    if reg == "l1":
        lam = 0.0
    if reg == "l2":
        sigma = 0.0
    case.keywords["reg"] = L1L2(c) if reg == "l1_weights" else reg
    case.keywords.update(lam=lam or None, sigma=sigma or None)
    case.keywords["sample_weight"] = WEIGHT if weighted else None
    s = 12 * WEIGHT / WEIGHT.sum() if weighted else np.ones(12)
    for epochs in (1, 2, 7):
        r = case.solve(side="columns", order="cyclic", certify_every=1, tol=0.0, max_epochs=epochs)
        assert r.epochs == epochs
        expected = descend(case.X, case.y, loss, lam, sigma, s, c, epochs)
        np.testing.assert_allclose(r.w, expected, rtol=1e-10, atol=1e-13)


def objective(X, y, loss, lam, sigma, s, w):
    """P(w), in NumPy."""
    phi = formulas(loss)
    losses = [t * phi.value(z, yi) for t, z, yi in zip(s, X @ w, y, strict=True)]
    return np.mean(losses) + lam / 2 * w @ w + sigma * np.abs(w).sum()


@pytest.mark.parametrize("scale", [0.1, 1, 30])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", smooth_losses(), ids=repr)
def test_every_visit_lowers_P_by_what_the_bound_on_the_curvature_promises(loss, weighted, scale):
    """Steps by the curvature where v is, as for the logistic loss, must do no worse."""
    case = make(loss, "l1l2", n=12, d=7, seed=3, lam=0.03, sigma=0.02)
    case.X *= scale
    weight = WEIGHT + 0.5 if weighted else None
    s = 12 * weight / weight.sum() if weighted else np.ones(12)
    problem = problem_of(case, sample_weight=weight)
    side, rng, phi = ColumnSide(problem), np.random.default_rng(0), formulas(loss)
    w, v = rng.normal(size=7) * (rng.random(7) < 0.5) / scale, np.zeros(12)
    side.load(w, v)
    q = s @ case.X**2 / loss.gamma
    core = side.epoch(side.curvature(), w, v)
    before = objective(case.X, case.y, loss, 0.03, 0.02, s, w)
    for j in rng.integers(0, 7, 60):
        b, slope = w[j], [phi.slope(z, y) for z, y in zip(case.X @ w, case.y, strict=True)]
        m = case.X[:, j] @ (s * slope)
        new = soft(q[j] * b - m, 12 * 0.02) / (q[j] + 12 * 0.03)
        promise = m * (new - b) + q[j] / 2 * (new - b) ** 2
        promise += 12 * (0.02 * (abs(new) - abs(b)) + 0.015 * (new**2 - b**2))
        core.run(np.array([j]))
        after = objective(case.X, case.y, loss, 0.03, 0.02, s, w)
        assert promise <= 1e-14
        assert after <= before + promise / 12 + 1e-13 * (1 + before)
        before = after


@pytest.mark.parametrize("loss", SMOOTH)
def test_rows_of_weight_zero_are_as_if_absent(loss):
    """Step for step: they have no say in the curvature either."""
    case = make(loss, "l1l2", n=12, d=7, seed=3, lam=0.03, sigma=0.02, side="columns")
    used, keywords = WEIGHT > 0, {"order": "cyclic", "tol": 0.0, "max_epochs": 3}
    without = Case(case.X[used], case.y[used], case.keywords)
    one = case.solve(sample_weight=WEIGHT, **keywords)
    two = without.solve(sample_weight=WEIGHT[used], **keywords)
    np.testing.assert_allclose(one.w, two.w, rtol=1e-10, atol=1e-13)


def run_core(case, epochs, virtual=False, anew=False):
    """Epochs of the compiled loop by itself: w, v, and the nonzeros that it read.

    A loop that is made anew for every epoch skips no visit.
    """
    problem = problem_of(case)
    side = ColumnSide(problem)
    w, v, rng = np.zeros(problem.d), np.zeros(problem.n), np.random.default_rng(0)
    side.load(w, v)
    curvature, visited = side.curvature(), 0
    core = side.epoch(curvature, w, v, virtual=virtual)
    for _ in range(epochs):
        if anew:
            core = side.epoch(curvature, w, v, virtual=virtual)
        core.forget()
        core.run(rng.permutation(problem.d))
        visited += core.visited
    return w, v, visited


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("storage", ["CSC", "CSC int64", "Fortran"])
@pytest.mark.parametrize("reg", SEPARABLE)
@pytest.mark.parametrize("loss", SMOOTH)
def test_skipped_visits_would_have_changed_nothing(loss, reg, storage, dtype):
    case = make(loss, reg, n=40, d=30, seed=4, sigma=None if reg == "l2" else 0.02)
    case.X = storages(case.X.astype(dtype))[storage]
    one, two = (run_core(case, 60, anew=anew) for anew in (False, True))
    np.testing.assert_array_equal(one[0], two[0])
    np.testing.assert_array_equal(one[1], two[1])
    if reg == "l2":
        assert one[2] == two[2]
    else:
        assert np.count_nonzero(one[0]) < 30
        assert one[2] < 0.9 * two[2]  # and there was something to skip


@pytest.mark.parametrize("storage", ["CSC", "CSC int64", "Fortran"])
@pytest.mark.parametrize("reg", SEPARABLE)
@pytest.mark.parametrize("loss", [name for name in SMOOTH if name != "logistic"])
def test_static_and_virtual_calls_give_the_same_bits(loss, reg, storage):
    """But for the logistic loss, whose steps by the curvature at v are static only."""
    for dtype in (np.float64, np.float32):
        case = make(loss, reg, n=40, d=30, seed=4, sigma=None if reg == "l2" else 0.02)
        case.X = storages(case.X.astype(dtype))[storage]
        one, two = (run_core(case, 20, virtual) for virtual in (False, True))
        np.testing.assert_array_equal(one[0], two[0])
        np.testing.assert_array_equal(one[1], two[1])


def test_int32_and_int64_indices_give_the_same_bits():
    case = make("logistic", "l1", n=60, d=40, seed=5)
    found = storages(case.X)
    one, two = (
        Case(found[k], case.y, case.keywords).solve(tol=1e-6, max_epochs=20000)
        for k in ("CSC", "CSC int64")
    )
    np.testing.assert_array_equal(one.w, two.w)
    np.testing.assert_array_equal(one.alpha, two.alpha)


def test_dense_and_sparse_agree():
    case = make("logistic", "l1l2", n=60, d=40, seed=5, tol=1e-6, side="columns")
    one, *others = (Case(X, case.y, case.keywords).solve() for X in storages(case.X).values())
    for other in others:
        np.testing.assert_allclose(other.w, one.w, rtol=1e-10, atol=1e-10)


# ------------------------------------------------------------ skipping and screening


def wide_case(loss, seed, sigma_share, n=30, d=60):
    """More columns than rows, and a solution with few of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-1, 1, d)
    w = np.zeros(d)
    w[rng.choice(d, 5, replace=False)] = rng.normal(size=5) * 2
    case = Case(X, targets(LOSSES[loss](), X @ w, rng), {"loss": loss, "reg": "l1"})
    case.keywords["sigma"] = sigma_share * problem_of(case, sigma=1.0).sigma_max()
    return case


def certain_support(case):
    """The features that every solution uses: |x_j^T alpha*| / n is sigma, w_j is not 0."""
    tight = case.solve(side="columns", output="last", tol=1e-11, max_epochs=300_000)
    assert tight.gap <= 1e-9 * tight.primal
    far = np.abs(tight.w) * np.linalg.norm(case.X, axis=0) > 1e-3
    return np.flatnonzero(far)


@pytest.mark.parametrize("output", ["last", "best"])
@pytest.mark.parametrize("share", [0.5, 0.1, 0.02])
@pytest.mark.parametrize("loss", SMOOTH)
def test_screening_never_drops_a_feature_of_the_solution(loss, share, output, monkeypatch):
    case = wide_case(loss, 6, share)
    masks, screen = [], ColumnSide.screen

    def watched(self, *arguments):
        masks.append(screen(self, *arguments))
        return masks[-1]

    with monkeypatch.context() as patch:
        patch.setattr(ColumnSide, "screen", lambda *_: None)
        support = certain_support(case)  # found without screening
    monkeypatch.setattr(ColumnSide, "screen", watched)
    for order in ("cyclic", "permutation"):
        r = case.solve(
            certify_every=1, order=order, output=output, tol=1e-7, max_epochs=50_000,
            solver="screening",
        )  # fmt: skip
        assert r.converged
        for kept in masks:
            assert kept[support].all()
    assert share < 0.1 or not all(kept.all() for kept in masks)  # there was something to drop


@pytest.mark.parametrize("loss", SMOOTH)
def test_screening_leads_to_the_same_objective(loss, monkeypatch):
    case = wide_case(loss, 7, 0.1)
    one = case.solve(tol=1e-7, certify_every=1, max_epochs=50_000)
    monkeypatch.setattr(ColumnSide, "screen", lambda *_: None)
    two = case.solve(tol=1e-7, certify_every=1, max_epochs=50_000)
    assert one.converged
    assert two.converged
    assert abs(one.primal - two.primal) <= max(one.gap + one.rounding, two.gap + two.rounding)


@pytest.mark.parametrize("output", ["last", "best"])
def test_screening_is_given_the_gap_of_the_alpha_it_looks_at(output, monkeypatch):
    """The radius is right only for the alpha whose correlations are in `room`."""
    case = wide_case("squared", 8, 0.05)
    sigma, n, screen = case.keywords["sigma"], len(case.y), ColumnSide.screen

    def watched(self, b, curvature, found, room):
        # D_B(alpha) >= the dual that counts, for the alpha with X^T alpha / n = room.visited[0]
        least = np.linalg.lstsq(case.X.T / n, room.visited[0], rcond=None)[0]
        np.testing.assert_allclose(case.X.T @ least / n, room.visited[0], rtol=0, atol=1e-9)
        value = least @ case.y / n - least @ least / (2 * n)
        over = max(0.0, np.abs(room.visited[0]).max() - sigma)
        bound = value - found.primal / sigma * over
        assert found.dual <= bound + 1e-9 * abs(bound)
        return screen(self, b, curvature, found, room)

    monkeypatch.setattr(ColumnSide, "screen", watched)
    case.solve(output=output, certify_every=1, tol=1e-7, max_epochs=5000)


def test_zero_columns_get_zero_weights():
    case = make("logistic", "l1l2", n=20, d=6, seed=2)
    case.X[:, [1, 4]] = 0
    for start in (None, case.solve(side="rows")):
        r = case.solve(side="columns", tol=1e-6, warm_start=start, max_epochs=5000)
        assert r.converged
        assert r.w[1] == r.w[4] == 0


# ------------------------------------------------------------ memory


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("storage", ["CSC", "CSC int64", "Fortran"])
def test_columns_are_read_where_they_lie(storage, dtype):
    case = make("squared", "l1", n=9, d=5, seed=1)
    X = case.X = storages(case.X.astype(dtype))[storage]
    problem = problem_of(case)
    before = problem.storage.rmatvec(np.ones(5))
    data = X if storage == "Fortran" else X.data
    data *= 2  # seen through the same memory
    np.testing.assert_array_equal(problem.storage.rmatvec(np.ones(5)), 2 * before)


@pytest.mark.parametrize("storage", ["CSC", "Fortran"])
def test_no_copy_of_X_is_ever_made(storage):
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.normal(size=(300, 2000)))
    X = X if storage == "Fortran" else sparse.csc_array(X)
    y = rng.normal(size=300)
    proxsdca.solve(X, y, loss="squared", reg="l1", max_epochs=2)
    tracemalloc.start()
    try:
        proxsdca.solve(X, y, loss="squared", reg="l1", max_epochs=2)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 300 * 2000 * 8 / 4


@pytest.mark.parametrize("side", ["rows", "columns"])
@pytest.mark.parametrize("storage", ["C", "Fortran", "CSR", "CSC"])
def test_X_is_never_written_to(storage, side):
    case = make("logistic", "l1l2", n=15, d=6, seed=1)
    X = case.X = storages(case.X)[storage]
    parts = [X] if isinstance(X, np.ndarray) else [X.data, X.indices, X.indptr]
    before = [part.copy() for part in parts]
    for part in (*parts, case.y):
        part.flags.writeable = False
    assert case.solve(side=side, tol=1e-6, max_epochs=5000).converged
    for part, copy in zip(parts, before, strict=True):
        np.testing.assert_array_equal(part, copy)


# ------------------------------------------------------------ which side


def condition(X, lam, gamma, m):
    return 1 + np.sum(X**2) / m / (lam * gamma * len(X))


@pytest.mark.parametrize("reg", ["l2", "l1l2"])
def test_auto_is_by_rows_where_rows_converge_as_well(reg):
    """Many more features than rows: coordinate descent crawls, the dual has few coordinates."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10, 75)), rng.normal(size=10)
    r = proxsdca.solve(X, y, loss="squared", reg=reg, lam=1e-3)
    assert (r.side, r.converged) == ("rows", True)
    assert r.epochs < 100


@pytest.mark.parametrize("side", ["rows", "columns"])
def test_saturated_rows_neither_stop_nor_mislead_a_step(side):
    """Logistic rows far on the right side, or far on the wrong one after a warm start."""
    X = np.array([[1e3], [1e-3], [-1e-3]])
    y = np.array([1.0, 1, -1])
    keywords = {"loss": "logistic", "reg": "l1", "sigma": 1e-6, "side": side}
    first = proxsdca.solve(X, y, **keywords)
    assert first.converged
    X, y = np.vstack([X, [[1e3]]]), np.r_[y, -1]
    primals = [
        proxsdca.solve(X, y, warm_start=first, **keywords).primal,
        proxsdca.solve(X, y, **keywords).primal,
    ]
    assert primals[0] == pytest.approx(primals[1], rel=2e-3)


@pytest.mark.parametrize("loss", list(LOSSES))
def test_auto_for_l1_is_by_columns_where_the_loss_is_smooth(loss):
    r = make(loss, "l1", n=20, d=4).solve(max_epochs=2)
    assert r.side == ("columns" if loss in SMOOTH else "rows")


@pytest.mark.parametrize(
    "keywords",
    [
        {"reg": L1(geometry="l2")},
        {"reg": L1(geometry="qnorm")},
        {"reg": L1(method="literal"), "eps": 0.1},
        {"reg": "l1", "option": "III"},
        {"reg": "qnorm"},
    ],
    ids=str,
)
def test_auto_is_by_rows_where_only_rows_can(keywords):
    case = make("logistic", "l2", n=5, d=40)
    assert case.solve(**{"max_epochs": 2, **keywords}).side == "rows"


# ------------------------------------------------------------ what it refuses


@pytest.mark.parametrize("loss", [name for name in LOSSES if name not in SMOOTH])
def test_a_loss_without_gamma_is_refused(loss):
    with pytest.raises(ValueError, match=rf"side = 'columns'.*'{loss}' has gamma = 0.*'rows'"):
        make(loss, n=10, d=3).solve(side="columns")


@pytest.mark.parametrize("reg", ["qnorm", "group"])
def test_a_penalty_that_joins_features_is_refused(reg):
    with pytest.raises(ValueError, match=rf"side = 'columns'.*reg '{reg}'.*'rows'"):
        make("squared", reg, n=10, d=3).solve(side="columns")


@pytest.mark.parametrize(
    "keywords",
    [
        *({"option": option} for option in ("II", "III", "IV", "V")),
        {"output": "average"},
        {"output": "random"},
        {"reg": L1(method="literal"), "eps": 0.1},
        {"reg": L1(geometry="l2")},
        {"reg": L1(geometry="qnorm")},
    ],
    ids=str,
)
def test_what_only_rows_have_is_refused(keywords):
    with pytest.raises(ValueError, match=r"side = 'columns' has option 'I'.*side = 'rows'"):
        make("squared", "l1l2", n=10, d=3).solve(side="columns", **keywords)


def test_an_unknown_side_lists_the_choices():
    with pytest.raises(ValueError, match=r"side = 'cols'.*auto.*rows.*columns"):
        make("squared", n=10, d=3).solve(side="cols")


# ------------------------------------------------------------ warm starts


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reg", ["l2", "l1l2"])
@pytest.mark.parametrize("loss", SMOOTH)
def test_results_start_either_side(loss, reg, weighted):
    case = make(loss, reg, n=12, d=20, seed=4, lam=0.02)
    if weighted:
        case.keywords["sample_weight"] = WEIGHT
    sides = ("rows", "columns")
    cold = {side: case.solve(side=side, tol=1e-8, max_epochs=20000) for side in sides}
    for start, side in (("rows", "columns"), ("columns", "rows"), ("columns", "columns")):
        warm = case.solve(side=side, tol=1e-6, warm_start=cold[start])
        assert warm.converged
        assert warm.epochs == 0  # what is solved stays solved
        loose = case.solve(side=side, tol=1e-3, warm_start=cold[start], lam=0.021)
        assert loose.converged


@pytest.mark.parametrize("reg", ["l2", "l1l2"])
def test_an_array_starts_the_column_side_too(reg):
    """w = grad g*(v(alpha)), for all of alpha or for its beginning."""
    case = make("logistic", reg, n=30, d=100, seed=4)
    best = case.solve(side="rows", tol=1e-9, max_epochs=20000)
    warm = case.solve(side="columns", tol=1e-6, warm_start=best.alpha)
    assert warm.converged
    assert warm.epochs == 0
    part = case.solve(side="columns", tol=1e-6, warm_start=best.alpha[:20], max_epochs=20000)
    assert part.converged
    with pytest.raises(ValueError, match=r"warm_start\[0\].*domain"):
        case.solve(side="columns", warm_start=np.full(30, 7.0))


def test_warm_starts_of_l1():
    case = make("logistic", "l1", n=30, d=40, seed=4)
    cold = case.solve(tol=1e-7, max_epochs=50_000)
    warm = case.solve(tol=1e-6, warm_start=cold)
    assert (warm.converged, warm.epochs) == (True, 0)
    by_rows = case.solve(tol=1e-4, side="rows", warm_start=cold, max_epochs=20000)
    assert by_rows.converged
    back = case.solve(tol=1e-4, warm_start=by_rows, max_epochs=20000)
    assert (back.converged, back.epochs) == (True, 0)
    with pytest.raises(ValueError, match=r"warm_start is an array.*a Result is needed"):
        case.solve(warm_start=cold.alpha)


def test_a_start_of_another_shape_is_refused():
    case, other = make("logistic", "l1", n=30, d=4), make("logistic", "l1", n=30, d=5)
    with pytest.raises(ValueError, match=r"warm_start\.w has shape \(5,\), X has 4 columns"):
        case.solve(warm_start=other.solve())


def test_a_warm_start_is_not_changed():
    case = make("logistic", "l1", n=30, d=4)
    start = case.solve(tol=0.1)
    before = start.w.copy(), start.alpha.copy()
    case.solve(tol=1e-5, warm_start=start, max_epochs=20000)
    np.testing.assert_array_equal(start.w, before[0])
    np.testing.assert_array_equal(start.alpha, before[1])


# ------------------------------------------------------------ other people's solvers


@pytest.mark.parametrize("share", [0.3, 0.03])
@pytest.mark.parametrize("seed", range(3))
def test_scikit_learns_lasso(seed, share):
    linear = pytest.importorskip("sklearn.linear_model")
    case = wide_case("squared", seed, share)
    r = case.solve(tol=1e-6, max_epochs=50_000)
    lasso = linear.Lasso(alpha=r.sigma, fit_intercept=False, tol=1e-12, max_iter=1_000_000)
    w = lasso.fit(case.X, case.y).coef_
    primal = case.certify(w, r.alpha).primal
    assert -r.rounding <= r.primal - primal <= r.gap + r.rounding + 1e-9
    assert set(np.flatnonzero(np.abs(w) > 1e-3)) <= set(np.flatnonzero(r.w))


@pytest.mark.parametrize("share", [0.5, 0.05])
def test_scikit_learns_elastic_net(share):
    linear = pytest.importorskip("sklearn.linear_model")
    case = wide_case("squared", 3, share)
    lam, sigma = 0.05, case.keywords["sigma"]
    case.keywords.update(reg="l1l2", lam=lam)
    r = case.solve(side="columns", tol=1e-6, max_epochs=50_000)
    net = linear.ElasticNet(
        alpha=lam + sigma, l1_ratio=sigma / (lam + sigma), fit_intercept=False, tol=1e-12,
        max_iter=1_000_000,
    )  # fmt: skip
    primal = case.certify(net.fit(case.X, case.y).coef_, r.alpha).primal
    assert -r.rounding - 1e-9 <= r.primal - primal <= r.gap + r.rounding + 1e-9


@pytest.mark.parametrize(("loss", "share"), [("logistic", 0.05), ("logistic", 0.3)])
def test_scikit_learns_logistic_regression(loss, share):
    linear = pytest.importorskip("sklearn.linear_model")
    case = wide_case(loss, 4, share)
    r = case.solve(tol=1e-6, max_epochs=50_000)
    model = linear.LogisticRegression(
        solver="liblinear", C=1 / (len(case.y) * r.sigma), fit_intercept=False, tol=1e-10,
        max_iter=100_000, l1_ratio=1.0, random_state=0,
    )  # fmt: skip
    primal = case.certify(model.fit(case.X, case.y).coef_[0], r.alpha).primal
    assert -1e-8 <= r.primal - primal <= r.gap + r.rounding + 1e-8


@pytest.mark.parametrize("reg", SEPARABLE)
@pytest.mark.parametrize("loss", SMOOTH)
def test_a_long_coordinate_descent_finds_no_less(loss, reg):
    case = make(loss, "l2", n=15, d=6, seed=5)
    lam, sigma = (0.0 if reg == "l1" else 0.05), (0.0 if reg == "l2" else 0.03)
    case.keywords.update(reg=regulariser(reg, 6), lam=lam or None, sigma=sigma or None)
    r = case.solve(side="columns", tol=1e-6, max_epochs=20000)
    w = descend(case.X, case.y, LOSSES[loss](), lam, sigma, np.ones(15), np.ones(6), 150, r.w)
    primal = case.certify(w, r.alpha).primal
    assert primal >= r.dual - r.rounding
    assert r.primal - primal <= r.gap + r.rounding
