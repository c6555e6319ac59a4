"""Which accelerators may be used, and were; random problems solved with them and without."""

import itertools
import json
import warnings

import numpy as np
import pytest
import references
from problems import make
from random_problems import OTHER, random_problem
from scipy import sparse

import proxsdca
from proxsdca._accelerators import ACCELERATORS, ALL, chosen, fitting
from proxsdca._cli import main
from proxsdca._shrinking import Shrinking
from proxsdca.estimators import SDCAClassifier, SDCAClassifierCV, SDCARegressor, SDCARegressorCV

pytestmark = pytest.mark.accelerators

NAMES = tuple(ACCELERATORS)
SLOW = {"n": 120, "d": 12, "density": 0.5, "lam": 1e-6, "seed": 5}  # hard enough for Newton


def slow_rows():
    return make("hinge", **SLOW)


# ------------------------------------------------------------ names


@pytest.mark.parametrize(
    ("solver", "allowed"),
    [("auto", ALL), ("plain", set()), ("newton", {"newton"}), ((), set()),
     (["newton", "screening"], {"newton", "screening"}), (NAMES, ALL),
     (iter(NAMES[:2]), set(NAMES[:2])), ({"faces"}, {"faces"})],
    ids=repr,
)  # fmt: skip
def test_names(solver, allowed):
    assert chosen(solver) == allowed


@pytest.mark.parametrize("solve", [proxsdca.solve, proxsdca.one_vs_rest, proxsdca.path])
@pytest.mark.parametrize(
    ("solver", "error", "words"),
    [("newtn", ValueError, ("solver = 'newtn'", "did you mean 'newton'", "'auto'", "'plain'")),
     (["newton", "fast"], ValueError, ("solver[1] = 'fast'", *NAMES)),
     (["auto"], ValueError, ("solver[0] = 'auto'", *NAMES)),
     (None, TypeError, ("solver = None",)), (3, TypeError, ("solver = 3",)),
     ([None], TypeError, ("solver[0] = None", *NAMES))],
    ids=repr,
)  # fmt: skip
def test_errors_name_the_argument_and_the_choices(solve, solver, error, words):
    case = make("squared")
    y = np.sign(case.y) if solve is proxsdca.one_vs_rest else case.y
    with pytest.raises(error) as caught:
        solve(case.X, y, loss="squared", solver=solver)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("output", ["last", "best", "average", "random"])
@pytest.mark.parametrize("option", ["auto", "I", "II", "IV"])
def test_what_an_option_and_an_output_leave(option, output):
    whole = option == "auto" and output in ("last", "best")
    assert fitting(ALL, option, output) == (ALL if whole else {"screening"})
    assert fitting(frozenset({"newton"}), option, output) == ({"newton"} if whole else set())
    assert fitting(frozenset(), option, output) == frozenset()


# ------------------------------------------------------------ what was used


def test_a_result_says_what_it_was_made_of(tmp_path):
    case = slow_rows()
    found = {s: case.solve(solver=s, tol=1e-3, max_epochs=10**6) for s in ("auto", "plain")}
    assert "newton" in found["auto"].solver
    assert found["plain"].solver == ("epochs",)
    assert found["plain"].epochs > 2 * found["auto"].epochs
    for r in found.values():
        assert r.converged
        assert " + ".join(r.solver) in r.summary()
        r.save(tmp_path / "model")
        assert proxsdca.Result.load(tmp_path / "model").solver == r.solver


def test_several_names_allow_just_these():
    case = make("logistic", "l1", n=60, d=40, seed=2)
    case.keywords["sigma"] = 0.3 * proxsdca.sigma_max(case.X, case.y, loss="logistic")
    allowed = case.solve(solver=("screening", "newton"), certify_every=1, tol=1e-9)
    refused = case.solve(solver="newton", certify_every=1, tol=1e-9)
    assert "screening" in allowed.solver
    assert "screening" not in refused.solver


@pytest.mark.parametrize("solver", ["auto", "plain", "newton", ["newton", "faces"]])
def test_the_bits_are_those_of_the_names(solver):
    case = slow_rows()
    first, again = (case.solve(solver=solver, tol=1e-3, max_epochs=10**5) for _ in range(2))
    assert np.array_equal(first.w, again.w)
    assert np.array_equal(first.alpha, again.alpha)
    assert (first.gap, first.solver) == (again.gap, again.solver)


def test_the_procedure_of_the_paper_is_one_call_away():
    """Nothing but what numpy does with the same order: solver="plain" is option I to the letter."""
    case = slow_rows()
    plain, step = ({"solver": "plain"}, {"option": "I", "solver": "plain"})
    a, b = (case.solve(tol=1e-3, max_epochs=10**5, **keywords) for keywords in (plain, step))
    assert np.array_equal(a.alpha, b.alpha)
    assert a.epochs == b.epochs


# ------------------------------------------------------------ where it may be said


def test_paths():
    case = make("squared", n=80, d=12, density=0.5, seed=1)
    used = {}
    for solver in ("auto", "plain", ["newton"]):
        results = []
        found = proxsdca.path(
            case.X, case.y, loss="squared", reg="l2", lams=[1e-2, 1e-5], tol=1e-8, solver=solver,
            max_epochs=10**6, callback=results.append,
        )  # fmt: skip
        assert found.converged.all()
        used[str(solver)] = set().union(*(r.solver for r in results))
    assert "newton" in used["auto"]
    assert "newton" in used["['newton']"]
    assert used["plain"] == {"epochs"}


def test_one_vs_rest():
    case = slow_rows()
    labels = np.where(case.y > 0, "yes", "no")
    used = {}
    for solver in ("auto", "plain"):
        results = []
        found = proxsdca.one_vs_rest(
            case.X, labels, lam=SLOW["lam"], solver=solver, callback=results.append, tol=1e-2,
            max_epochs=10**5,
        )  # fmt: skip
        assert found.converged.all()
        used[solver] = set().union(*(r.solver for r in results))
    assert "newton" in used["auto"]
    assert used["plain"] == {"epochs"}


@pytest.mark.parametrize("solver", ["auto", "plain", ("screening",)])
@pytest.mark.parametrize("kind", [SDCAClassifier, SDCARegressor, SDCAClassifierCV, SDCARegressorCV])
def test_estimators(kind, solver, monkeypatch, tmp_path):
    """What they are told arrives at `solve`, and nothing else does."""
    seen = []

    def noted(value):
        seen.append(value)
        return chosen(value)

    monkeypatch.setattr(proxsdca._accelerators, "chosen", noted)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    y = X[:, 0] + 0.1 * rng.normal(size=60)
    if "Classifier" in kind.__name__:
        y = np.digitize(y, [-0.5, 0.5])
    more = {"num": 3, "cv": 2} if "CV" in kind.__name__ else {}
    model = kind(solver=solver, tol=1e-3, **more).fit(X, y)
    assert seen
    assert set(seen) == {solver}
    assert model.get_params()["solver"] == solver
    model.save(tmp_path / "model")
    assert kind.load(tmp_path / "model").get_params()["solver"] == solver


def test_estimators_refuse_other_names():
    X, y = np.eye(4), [0, 1, 0, 1]
    with pytest.raises(ValueError, match="solver = 'saga' is not known"):
        SDCAClassifier(solver="saga").fit(X, y)


@pytest.fixture
def text(tmp_path):
    """The hard problem as a file."""
    case = slow_rows()
    proxsdca.io.write(tmp_path / "train.svm", sparse.csr_array(case.X), case.y)
    return tmp_path / "train.svm"


@pytest.mark.parametrize(
    ("solver", "used"), [(None, "newton"), ("auto", "newton"), ("plain", None),
                         ("screening,newton", "newton"), ("screening", None)],
)  # fmt: skip
def test_the_command_line(text, solver, used, capsys):
    given = [] if solver is None else ["--solver", solver]
    model = str(text.with_name("model"))
    how = ["--lam", "1e-6", "--max-epochs", "100000", "--tol", "1e-2", "--quiet", "--json"]
    assert main(["train", str(text), "-o", model, *how, *given]) == 0
    said = json.loads(capsys.readouterr().out)["solver"]
    named = (solver or "auto").split(",")
    assert set(said) <= {"epochs", *(ALL if named == ["auto"] else named)}
    assert (used in said) == (used is not None)
    assert tuple(said) == proxsdca.load(model).solver


@pytest.mark.parametrize("command", ["train", "path"])
@pytest.mark.parametrize("solver", ["newtn", "newton,fast", "auto,plain", ""])
def test_the_command_line_refuses(text, command, solver, capsys):
    arguments = [str(text), "-o", str(text.with_name("model")), "--solver", solver]
    assert main([command, *arguments]) == 2
    assert "is not known" in (said := capsys.readouterr().err)
    assert "'working_sets'" in said


# ------------------------------------------------------------ random problems

BLOCKS = 10
MOST = 100_000  # epochs; some of the reductions of l1 need more
EARLY = 3_000  # and of runs whose gap need not be small


def interval(r):
    """Where the least value of P is, as a result proves it."""
    return r.dual - r.rounding, r.primal + r.rounding


def same_bits(a, b):
    """Whether two results are the same to the last bit."""
    dense = [
        [x.toarray() if sparse.issparse(x) else np.asarray(x) for x in (r.w, r.alpha)]
        for r in (a, b)
    ]
    whole = all(map(np.array_equal, *dense)) and np.array_equal(a.intercept, b.intercept)
    return whole and (a.primal, a.gap, a.rounding, a.epochs, a.solver, a.status) == (
        b.primal, b.gap, b.rounding, b.epochs, b.solver, b.status
    )  # fmt: skip


def always_ends(problem):
    """Whether theory, or Newton's method, promises the target within the epochs there are.

    The reductions of l1 make no such promise, and descent along single columns none with an
    intercept; nor do, at any lam, losses with kinks where there are no second-order ascents.
    """
    newton = problem.reg.name == "l2" and not problem.keywords["fit_intercept"]
    smooth = problem.loss.gamma > 0
    return problem.reg.name != "l1" and (newton or smooth) and problem.loss.name != "poisson"


def optimum(problem, sigma):
    """cvxpy's least P, and how well it is known."""
    weight = problem.keywords.get("sample_weight")
    n = len(problem.y)
    return references.optimum(
        problem.A, problem.y, problem.loss, problem.reg, problem.keywords.get("lam", 0.0), sigma,
        None if weight is None else n * weight / weight.sum(), problem.keywords["fit_intercept"],
    )  # fmt: skip


def against_the_others(number, problem, r):
    """What the paper's procedure, and each accelerator by itself, prove of the same problem."""
    name = NAMES[number % len(NAMES)]
    plain = problem.solve(solver="plain", tol=1e-6, max_epochs=EARLY)
    alone = problem.solve(solver=name, tol=problem.tol, max_epochs=EARLY)
    assert set(plain.solver) <= {"epochs"}
    assert set(alone.solver) <= {"epochs", name}
    for a, b in itertools.permutations((r, plain, alone), 2):
        assert interval(a)[0] <= interval(b)[1]


def against_cvxpy(problem, r):
    """The optimum that nobody here computed."""
    if "offsets" in problem.keywords:
        return
    best, tolerance = optimum(problem, r.sigma)
    lower, upper = interval(r)
    assert lower - tolerance <= best <= upper + tolerance
    assert r.primal <= best + r.gap + r.rounding + tolerance


@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_problems(block, campaign):
    """10,000 in full, over all losses, regularisers, storages and odd data."""
    count, missed = max(30, campaign(10_000) // BLOCKS), []
    for number in range(block, BLOCKS * count, BLOCKS):
        problem = random_problem(number)
        try:
            r = problem.solve(tol=problem.tol, max_epochs=MOST)
            at_rounding = r.status is proxsdca.Status.ROUNDING
            if not (r.converged or at_rounding):
                assert not always_ends(problem)
                missed.append((number, r.gap / r.primal))
            assert r.converged == (r.gap + r.rounding <= r.target)
            c = problem.certify(r)
            off = c.rounding + r.rounding
            assert abs(c.primal - r.primal) <= off
            if problem.keywords["fit_intercept"]:  # alpha is balanced again, on a grid of its own
                off += 1e-12 * (1 + abs(r.primal))
            assert abs(c.gap - r.gap) <= off
            if r.epochs < EARLY:  # the same bits, however X is stored
                keywords = {"tol": problem.tol, "max_epochs": MOST}
                assert same_bits(r, problem.solve(**keywords))
                assert same_bits(r, problem.solve(OTHER[problem.layout], **keywords))
            against_the_others(number, problem, r)
            if number // BLOCKS % 8 == 0:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    against_cvxpy(problem, r)
        except BaseException as error:
            error.add_note(f"problem {number}: {problem}")
            raise
    print(f"block {block}: {len(missed)} of {count} without their target: {missed}")
    assert len(missed) <= 2 + 0.01 * count


def test_proximal_steps_go_on_where_only_P_still_falls():
    """The dual was as high as roundings allow, and the run went round in circles."""
    assert random_problem(364).solve(tol=1e-6, max_epochs=2_000).converged


# ------------------------------------------------------------ steps


def test_the_first_epoch_grows():
    """The t-th of n steps has its margin and its curvature times (n / t)^(1/2)."""
    case = make("logistic", n=40, d=6, lam=0.1, seed=3)
    problem = case.problem()
    side = proxsdca._side.RowSide(problem)
    curvature, n = side.curvature(), problem.n
    assert side.grows(curvature)
    alpha, v, order = np.zeros(n), np.zeros(problem.d), np.random.default_rng(0).permutation(n)
    epoch = side.epoch(curvature, alpha, v)
    epoch.growing = True
    epoch.forget(n)
    for part in np.array_split(order, 3):  # however it is cut
        epoch.run(part)
    X = np.asarray(case.X.todense() if sparse.issparse(case.X) else case.X, float)
    expected, w = np.zeros(n), np.zeros(problem.d)
    for t, i in enumerate(order, 1):
        stretch = np.sqrt(n / t)
        margin, q = X[i] @ w * stretch, curvature[i] * stretch
        expected[i] = problem.loss.step(0.0, margin, problem.target[i], q)
        w += X[i] * expected[i] / (problem.lam * n)
    np.testing.assert_allclose(alpha, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(v, w, rtol=1e-9, atol=1e-12)


def test_problems_with_much_curvature_do_not_grow():
    for lam, grows in ((1.0, True), (1e-4, False)):
        r = make("logistic", n=40, d=6, lam=lam, seed=3).solve(solver=["growing"], tol=1e-6)
        assert ("growing" in r.solver) == grows
        assert r.converged


def test_near_steps_rise_nearly_as_high():
    """One row with the entry 1, so that v is its margin: the rise beside that of Option I."""
    rng = np.random.default_rng(0)
    shorter = 0
    for _ in range(300):
        q, m = 10 ** rng.uniform(-3, 2), rng.normal() * 3
        y, t = rng.choice([-1.0, 1.0]), rng.uniform()
        problem = proxsdca._problem.Problem.from_arguments(
            np.array([[1.0], [0.0]]), np.array([y, -y]), "logistic", "l2", 0.5 / q, None, None
        )
        side = proxsdca._side.RowSide(problem)
        ends = {}
        for near in (False, True):
            alpha = np.array([y * t, 0.0])
            epoch = side.epoch(side.curvature(), alpha, np.array([m]))
            epoch.near = near
            epoch.run(np.array([0]))
            ends[near] = alpha[0]

        def value(b, m=m, q=q, y=y, t=t):
            a = np.array([-b])
            conjugate = proxsdca.losses.Logistic().conjugate(a, np.array([y]))[0]
            return conjugate + m * b + 0.5 * q * (b - y * t) ** 2

        start, exact, found = value(y * t), value(ends[False]), value(ends[True])
        shorter += ends[True] != ends[False]
        assert start - found >= 0.999 * (start - exact) - 1e-13
    assert shorter > 100


# ------------------------------------------------------------ means, and when they are certified


def test_w_is_a_mean_where_phi_has_kinks():
    case = make("hinge", n=400, d=30, density=0.3, seed=2, lam=1e-2)
    r = case.solve(solver=["shrinking", "averaging"], tol=0.5, certify_every=1)
    alone = case.solve(solver=["shrinking"], tol=0.5, certify_every=1)
    assert "averaging" in r.solver
    X = np.asarray(case.X.todense() if sparse.issparse(case.X) else case.X, float)
    for found, same in ((r, False), (alone, True)):
        v = X.T @ found.alpha / (case.keywords["lam"] * len(case.y))
        assert np.allclose(found.w, v, rtol=1e-9) == same
    # the same alpha after the first epoch, and a better w
    assert r.history["dual"][0] == alone.history["dual"][0]
    assert r.history["primal"][0] < alone.history["primal"][0]


def test_shrinking_ends_where_the_rows_that_move_are_solved(monkeypatch):
    """No whole epoch comes after the passes that have solved them."""
    seen = []
    solved = proxsdca._loop.Run._solved

    def noted(run, shrinking):
        seen.append(solved(run, shrinking))
        return seen[-1]

    monkeypatch.setattr(proxsdca._loop.Run, "_solved", noted)
    case = make("hinge", n=400, d=30, density=0.3, seed=2, lam=1e-2)
    assert case.solve(solver=["shrinking"], tol=1e-6).converged
    assert seen[-1]
    assert not any(seen[:-1])


def test_a_certificate_is_not_put_off_where_little_is_left():
    schedule = proxsdca._loop.Schedule(False, None, False)
    for _ in range(2):
        schedule.seen(3, 1.0, 0.8)
    assert not schedule.due(5, 5, 0.5, 1.0)
    assert schedule.due(5, 5, 0.05, 1.0)
    assert not schedule.due(5, 5, 0.0, 0.0)


def test_a_mean_that_is_past_is_not_certified(monkeypatch):
    """Where a run ends after steps along faces, w is where these have led."""
    ended = []
    ascend = proxsdca._loop.Run._ascend_faces

    def last(run, *most):
        ascend(run, *most)
        run.status = proxsdca.Status.STOPPED
        ended.append(run)

    monkeypatch.setattr(proxsdca._loop.Run, "_ascend_faces", last)
    case = make("hinge", n=300, d=700, density=0.3, seed=1, lam=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        r = case.solve(tol=1e-9)
    assert ended
    X = np.asarray(case.X.todense() if sparse.issparse(case.X) else case.X, float)
    np.testing.assert_allclose(r.w, X.T @ r.alpha / (1e-4 * 300), rtol=1e-9)


def test_few_rows_that_are_slow_are_solved_by_newton(monkeypatch):
    """After a look at all rows, where passes over them are not enough."""
    seen = []
    ascend = proxsdca._loop.Run._ascend_part

    def noted(run, which):
        seen.append((run.looks, len(which) / run.problem.n))
        ascend(run, which)

    monkeypatch.setattr(proxsdca._loop.Run, "_ascend_part", noted)
    case = make("hinge", n=4000, d=40, density=0.3, seed=2, lam=3e-4)
    r = case.solve(tol=1e-7)
    assert r.converged
    assert "newton" in r.solver
    assert seen
    assert all(looks and part <= 0.2 for looks, part in seen)
    assert r.epochs < case.solve(tol=1e-7, solver=["shrinking", "averaging"]).epochs


def test_when_newton_takes_the_place_of_passes():
    shrinking = Shrinking(10)
    shrinking.seen(1.0, 1.0, 0.02)
    shrinking.passed(0.5)
    shrinking.passed(0.45)  # so that 0.1 of the gap is not near
    shrinking.seen(1.0, 0.4, 0.02)
    assert not shrinking.solvable(0.0, False)
    assert not shrinking.solvable(0.3, False)
    assert shrinking.solvable(0.19, False)  # many passes of that rate are needed
    assert shrinking.solvable(0.4, True)
    shrinking.least = shrinking.gap
    assert not shrinking.solvable(0.19, False)  # as before
    shrinking.seen(1.0, 0.15, 1e-6)
    assert not shrinking.solvable(0.19, False)  # few of many rows, far from the target
    assert shrinking.solvable(0.09, False)  # but passes were not enough
    shrinking.seen(1.0, 0.05, 1e-6)
    shrinking.passed(0.001)  # as they are here
    assert not shrinking.solvable(0.09, False)
