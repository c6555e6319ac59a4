"""Structured prediction: the procedure of section 3.3, its certificate, its steps, its cache."""

import contextlib
import gc
import itertools
import pickle
import signal
import threading
import time
import weakref
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from structured_twin import Labelled, Table, dual, primal, prox_sdca, table

import proxsdca
from proxsdca import oracles, regularizers, structured, theory
from proxsdca._oracle_problem import OracleProblem, OracleSide


def solved(oracle, lam=0.1, reg="l2", **keywords):
    """A run whose end is looked at, whether or not it converged."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", proxsdca.ConvergenceWarning)
        return structured.solve(oracle, lam, reg, **keywords)


def weights(oracle, result):
    """beta of all labels, from what the result shows."""
    beta = [np.zeros(len(delta)) for delta in oracle.delta]
    for i in range(oracle.n):
        for j, weight in result.alpha.of(i):
            beta[i][j] += weight
        beta[i][0] += 1 - beta[i].sum()
    return beta


def reference(oracle, lam, sigma=0.0):
    """The optimum by cvxpy."""
    cp = pytest.importorskip("cvxpy")
    w, t = cp.Variable(oracle.d), cp.Variable(oracle.n)
    constraints = []
    for i in range(oracle.n):
        xi, delta = oracle.planes(i)
        constraints.append(t[i] >= delta - xi @ w)
    objective = cp.sum(t) / oracle.n + lam / 2 * cp.sum_squares(w) + sigma * cp.norm1(w)
    problem = cp.Problem(cp.Minimize(objective), constraints)
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return float(problem.value)


WAYS = [
    {"option": "II"},
    {"option": "II", "cache": False},
    {"option": "III"},
    {"option": "IV"},
    {"option": "II", "order": "gap"},
    {"option": "II", "cache": False, "order": "gap"},
]


# ------------------------------------------------------------------ the optimum


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("reg", ["l2", "l1l2", regularizers.L1L2([1, 0, 2, 1, 0.5, 3])], ids=str)
@pytest.mark.parametrize("kind", [Labelled, Table])
def test_every_step_reaches_the_optimum_within_its_gap(way, reg, kind):
    oracle = table(3, kind=kind)
    if kind is Table and way["option"] != "II":
        oracle.rho = [
            float(np.linalg.norm(oracle.planes(i)[0], axis=1).max()) for i in range(oracle.n)
        ]
    sigma = None if reg == "l2" else 0.02
    exact = way["option"] == "II" and way.get("cache", True)
    tol = 1e-6 if exact else 0.05
    r = structured.solve(oracle, 0.05, reg, sigma=sigma, tol=tol, **way)
    assert r.converged
    assert r.recomputed is (kind is Labelled)
    assert r.certified
    if isinstance(reg, str):
        best = reference(oracle, 0.05, r.sigma)
        assert r.dual - r.rounding <= best + 1e-8
        assert r.primal >= best - 1e-8
        assert r.primal - best <= r.gap + r.rounding + 1e-8
        assert r.primal == pytest.approx(primal(oracle, r.w, 0.05, r.sigma), rel=1e-12)
    if kind is Labelled and isinstance(reg, str):
        D, _ = dual(oracle, weights(oracle, r), 0.05, r.sigma)
        assert r.dual == pytest.approx(D, rel=1e-12)


@given(seed=st.integers(0, 10_000), way=st.sampled_from(WAYS), log_lam=st.integers(-4, 2))
@settings(max_examples=40, deadline=None)
def test_a_gap_is_what_all_labels_say_it_is(seed, way, log_lam):
    oracle, lam = table(seed, n=5, d=4), 10.0**log_lam
    sigma = 0.1 * lam
    r = solved(oracle, lam, "l1l2", sigma=sigma, max_epochs=4, **way)
    D, _ = dual(oracle, weights(oracle, r), lam, sigma)
    assert r.gap >= -r.rounding
    assert r.primal == pytest.approx(primal(oracle, r.w, lam, sigma), rel=1e-12, abs=1e-12)
    assert r.dual == pytest.approx(D, rel=1e-10, abs=1e-12)
    assert r.rounding <= 1e-10 * (1 + abs(r.primal))


# ------------------------------------------------------- the paper's procedure


@pytest.mark.parametrize("option", ["II", "III", "IV"])
def test_the_kernel_follows_the_procedure_in_numpy(option):
    oracle = table(5)
    w, beta, D_i, duals, _ = prox_sdca(oracle, 0.1, 7 * list(range(oracle.n)), option)
    r = solved(oracle, 0.1, option=option, cache=False, order="cyclic", max_epochs=7, tol=0)
    assert r.w == pytest.approx(w, rel=1e-12, abs=1e-12)
    assert r.dual == pytest.approx(duals[-1], rel=1e-12)
    assert r.dual == pytest.approx(-D_i.mean() - 0.05 * w @ w, rel=1e-12)
    for i in range(oracle.n):
        found = np.zeros_like(beta[i])
        for j, weight in r.alpha.of(i):
            found[j] += weight
        assert found[1:] == pytest.approx(beta[i][1:], rel=1e-10, abs=1e-14)


def test_options_iii_and_iv_follow_it_with_l1_too():
    oracle = table(6)
    for option in ("III", "IV"):
        w, _, _, duals, _ = prox_sdca(oracle, 0.1, 5 * list(range(oracle.n)), option, sigma=0.03)
        r = solved(
            oracle, 0.1, "l1l2", sigma=0.03, option=option, order="cyclic", max_epochs=5, tol=0
        )
        assert r.w == pytest.approx(w, rel=1e-12, abs=1e-12)
        assert r.dual == pytest.approx(duals[-1], rel=1e-12)


def test_line_searches_on_the_true_dual_rise_at_least_as_much_with_l1():
    oracle = table(7)
    for epochs in (1, 2, 5):
        duals = prox_sdca(oracle, 0.1, range(oracle.n), "II", sigma=0.2)[3]
        r = solved(
            oracle, 0.1, "l1l2", sigma=0.2, cache=False, order="cyclic", max_epochs=epochs, tol=0
        )
        assert r.dual >= duals[-1] - 1e-12


def test_errata_1_the_papers_sign_of_D_lets_the_true_dual_fall_and_the_gap_stall():
    oracle, lam = table(8, n=20), 0.2
    order = np.random.default_rng(0).integers(0, oracle.n, 4000)
    _, beta, _, duals, gaps = prox_sdca(oracle, lam, order, "IV", sign=1)
    assert np.diff(duals).min() < -1e-3  # the true dual falls
    stall = 2 * np.mean([beta[i] @ oracle.delta[i] for i in range(oracle.n)])
    assert gaps[-1] > 0.5 * stall > 0.1  # and what is reported stays near twice the mean cost
    _, _, _, duals, gaps = prox_sdca(oracle, lam, order, "IV")
    assert np.diff(duals).min() > -1e-12
    assert gaps[-1] < 0.05 * stall
    r = solved(oracle, lam, option="IV", order="uniform", max_epochs=200, tol=0)
    assert r.gap < 0.05 * stall
    assert r.dual == pytest.approx(duals[-1], rel=1e-2)


@pytest.mark.parametrize("way", [*WAYS, {"option": "II", "cache": False, "order": "uniform"}])
@pytest.mark.parametrize("reg", ["l2", "l1l2"])
def test_the_dual_never_falls(way, reg):
    oracle = table(9, n=15)
    duals = []
    solved(
        oracle, 0.02, reg, sigma=None if reg == "l2" else 0.05, max_epochs=30, tol=1e-9,
        certify_every=1, callback=lambda check: duals.append(check.dual), **way,
    )  # fmt: skip
    assert len(duals) >= 5
    assert np.diff(duals).min() >= -1e-13


def test_the_dual_rises_with_every_single_visit():
    oracle = table(10, n=8)
    for cache in (False, True):
        for reg, sigma in (("l2", None), ("l1l2", 0.1)):
            problem = OracleProblem.of(oracle, reg, 0.05, sigma, cache)
            side = OracleSide(problem, None, "cyclic")
            atoms, room = problem.zero_alpha(), problem.room()
            v = np.zeros(problem.d)
            core = side.epoch(np.zeros(problem.n), atoms, v)
            last = 0.0
            for t in range(200):
                visit = core.revisit if cache and t % 3 else core.run
                visit(np.array([t * 5 % problem.n]))
                now = problem.evaluate(np.zeros(problem.d), atoms, room)
                assert now.dual >= last - 1e-13
                last = now.dual
            assert room.touched == pytest.approx(v, abs=1e-12)


@pytest.mark.parametrize("remark", [True, False])
@pytest.mark.parametrize("output", ["average", "random"])
def test_the_corollary_and_its_remark_bound_the_iterations(remark, output):
    oracle, lam, eps = table(11, n=10), 0.5, 0.2
    R = max(map(oracle.radius, range(oracle.n)))
    at_zero = primal(oracle, np.zeros(oracle.d), lam)
    T0, T = theory.structured_steps(oracle.n, R, lam, eps, at_zero, remark)
    epochs = int(np.ceil(T / oracle.n))
    gaps = [
        solved(
            oracle, lam, option="IV", order="uniform", output=output, T0=int(T0), tol=0, seed=seed,
            max_epochs=epochs, certify_every=epochs,
        ).gap
        for seed in range(20)
    ]  # fmt: skip
    assert np.mean(gaps) <= eps
    assert np.mean(gaps) > 0


# ---------------------------------------------------------------------- outputs


@pytest.mark.parametrize("cache", [False, True])
@pytest.mark.parametrize("kind", [Labelled, Table])
@pytest.mark.parametrize("reg", ["l2", "l1l2"])
def test_averages_are_those_of_the_iterates(cache, kind, reg):
    oracle = table(12, n=6, kind=kind)
    sigma = None if reg == "l2" else 0.05
    problem = OracleProblem.of(oracle, reg, 0.05, sigma, cache)
    side = OracleSide(problem, None, "cyclic")
    atoms, v = problem.zero_alpha(), np.zeros(problem.d)
    core = side.epoch(np.zeros(problem.n), atoms, v)
    order = np.random.default_rng(1).integers(0, 6, 60)
    core.run(order[:20])
    core.record()
    total, vs, costs = np.zeros(problem.d), np.zeros(problem.d), 0.0
    for t in range(20, 60):
        total += core.w
        vs += v
        room = problem.room()
        found = problem.evaluate(np.zeros(problem.d), atoms, room)
        costs += found.dual + problem.lam / 2 * np.sum(np.square(core.w))
        core.run(order[t : t + 1])
        if cache and t % 7 == 0:
            core.revisit(np.arange(6))
    w, mean = np.empty(problem.d), problem.zero_alpha()
    core.average(w, mean)
    assert w == pytest.approx(total / 40, rel=1e-12, abs=1e-13)
    room = problem.room()
    found = problem.evaluate(np.zeros(problem.d), mean, room)
    assert room.touched == pytest.approx(vs / 40, rel=1e-11, abs=1e-12)
    kappa = 0.0 if sigma is None else sigma / 0.05
    s = np.sign(room.touched) * np.maximum(np.abs(room.touched) - kappa, 0)
    assert found.dual == pytest.approx(costs / 40 - 0.025 * s @ s, rel=1e-11)


@pytest.mark.parametrize("output", ["last", "average", "random", "best"])
@pytest.mark.parametrize("cache", [False, True])
@pytest.mark.parametrize("kind", [Labelled, Table])
def test_every_output_has_its_own_certificate(output, cache, kind):
    oracle = table(13, kind=kind)
    r = solved(oracle, 0.1, cache=cache, output=output, T0=24, max_epochs=12, tol=1e-9)
    assert r.output == output
    assert r.primal == pytest.approx(primal(oracle, r.w, 0.1), rel=1e-12)
    again = structured.certify(oracle, r.w, r, lam=0.1)
    assert again.primal == r.primal
    assert again.dual == pytest.approx(r.dual, rel=1e-14)


def test_average_without_radius_needs_T0():
    with pytest.raises(ValueError, match="T0 is needed for this output"):
        structured.solve(table(1, kind=Table), output="average")
    r = solved(table(1), 1.0, output="average", tol=0.3)
    assert r.converged


# ------------------------------------------------------- calls, cache, determinism


def test_a_cache_takes_fewer_calls():
    oracle = table(14, n=40, d=20, most=8)
    plain = structured.solve(oracle, 0.02, cache=False, tol=1e-3)
    calls = oracle.calls
    assert calls == plain.calls
    cached = structured.solve(oracle, 0.02, tol=1e-3)
    assert oracle.calls - calls == cached.calls
    assert cached.calls < plain.calls / 4
    assert cached.primal == pytest.approx(plain.primal, abs=plain.gap + cached.gap)


@pytest.mark.parametrize("way", [*WAYS, {"order": "uniform"}, {"output": "random", "T0": 30}])
def test_the_seed_fixes_every_bit(way):
    results = []
    for _ in range(2):
        r = solved(table(15), 0.05, max_epochs=6, seed=7, **way)
        results.append((r.w.tobytes(), r.primal, r.dual, r.calls, r.alpha.of(3)))
    assert results[0] == results[1]
    other = solved(table(15), 0.05, max_epochs=6, seed=8, **way)
    assert other.w.tobytes() != results[0][0]


def test_compiled_and_python_oracles_run_alike():
    class Wrapped:
        def __init__(self, ready):
            self.ready, self.n, self.d = ready, ready.n, ready.d
            self.argmax, self.features, self.radius = ready.argmax, ready.features, ready.radius

    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(30, 4)), rng.integers(0, 3, 30)
    for ready in (oracles.Multiclass(X, y), oracles.Chain(X, y, [1, 5, 4, 10, 3, 7])):
        for way in ({"cache": False}, {"option": "IV"}):
            a = solved(ready, 0.05, max_epochs=20, tol=1e-9, certify_every=20, **way)
            b = solved(Wrapped(ready), 0.05, max_epochs=20, tol=1e-9, certify_every=20, **way)
            assert a.w == pytest.approx(b.w, rel=1e-9, abs=1e-10)
            assert a.gap == pytest.approx(b.gap, rel=1e-6, abs=1e-12)
            assert (a.recomputed, b.recomputed) == (True, True)


def test_an_overridden_argmax_is_called():
    rng = np.random.default_rng(3)
    calls = []

    class Mine(oracles.Multiclass):
        def argmax(self, i, w):
            calls.append(i)
            return super().argmax(i, w)

    r = structured.solve(Mine(rng.normal(size=(10, 3)), np.arange(10) % 3), 0.1)
    assert len(calls) == r.calls > 0


def test_warm_starts_continue():
    oracle = table(16, n=30, d=10)
    first = structured.solve(oracle, 0.05, tol=1e-6)
    for cache in (True, False):
        again = structured.solve(oracle, 0.05, cache=cache, tol=1e-5, warm_start=first)
        assert again.epochs == 0
        assert again.dual == pytest.approx(first.dual, rel=1e-12)
    plain = solved(oracle, 0.05, cache=False, max_epochs=3, tol=0)
    back = structured.solve(oracle, 0.05, tol=1e-6, warm_start=plain.alpha)
    assert back.converged
    near = structured.solve(oracle, 0.04, "l1l2", sigma=0.001, tol=1e-5, warm_start=first)
    assert near.converged
    unlabelled = table(16, n=30, d=10, kind=Table)
    first = solved(unlabelled, 0.05, cache=False, max_epochs=3, tol=0)
    more = solved(unlabelled, 0.05, cache=False, max_epochs=0, warm_start=first)
    assert more.dual == pytest.approx(first.dual, rel=1e-12)
    with pytest.raises(ValueError, match="warm_start has no labels"):
        structured.solve(unlabelled, 0.05, warm_start=first)
    with pytest.raises(TypeError, match="warm_start must be"):
        structured.solve(oracle, warm_start=np.zeros(3))
    with pytest.raises(TypeError, match="warm_start must be"):
        structured.solve(table(1), warm_start=first)


def test_limits_callbacks_and_summary():
    oracle = table(17)
    r = solved(oracle, 0.01, tol=0, max_epochs=3)
    assert (r.status, r.epochs) == (proxsdca.Status.MAX_EPOCHS, 3)
    assert "12 examples, 6 weights" in r.summary()
    r = solved(oracle, 0.01, tol=0, max_seconds=0.0)
    assert r.status is proxsdca.Status.MAX_SECONDS
    r = solved(oracle, 0.01, tol=0, certify_every=1, callback=lambda check: True)
    assert (r.status, r.epochs) == (proxsdca.Status.STOPPED, 1)
    with pytest.warns(proxsdca.ConvergenceWarning, match="raise max_epochs"):
        structured.solve(oracle, 0.01, tol=0, max_epochs=1)
    for method in (r.predict, r.predict_proba, r.decision_function):
        with pytest.raises(TypeError, match="decode"):
            method([[0.0]])
    assert structured.solve(oracle).lam == 1 / oracle.n
    carried = solved(table(17, kind=Table), 0.01)
    assert not carried.recomputed
    assert "carried" in carried.summary()


# --------------------------------------------------------- beside the block engine


@pytest.mark.parametrize("reg", ["l2", "l1l2"])
def test_multiclass_by_oracle_and_by_the_block_engine_agree(reg):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(60, 5)), rng.integers(0, 4, 60)
    cost = rng.random((4, 4)) * (1 - np.eye(4))
    sigma = None if reg == "l2" else 0.01
    block = proxsdca.solve(
        X, y, loss=proxsdca.losses.MulticlassHinge(cost), reg=reg, lam=0.05, sigma=sigma, tol=1e-6
    )
    oracle = oracles.Multiclass(X, y, cost)
    r = structured.solve(oracle, 0.05, reg, sigma=sigma, tol=1e-6)
    assert abs(r.primal - block.primal) <= r.gap + block.gap + 1e-12
    assert oracle.matrix(r.w) == pytest.approx(block.w, abs=1e-2)
    assert (oracle.decode(r.w, X).labels == block.predict(X)).mean() > 0.9


def test_chains_of_length_one_are_multiclass():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(50, 4)), rng.integers(0, 3, 50)
    r = structured.solve(oracles.Chain(X, y, np.ones(50, int)), 0.05, tol=1e-6)
    # start and end are two features that are 1
    block = proxsdca.solve(
        np.column_stack([X, np.ones((50, 2))]), y, loss="multiclass_hinge", lam=0.05, tol=1e-6
    )
    assert abs(r.primal - block.primal) <= r.gap + block.gap + 1e-12
    parts = oracles.Chain(X, y, np.ones(50, int)).parts(r.w)
    assert parts.start == pytest.approx(parts.end, abs=1e-12)
    assert not parts.transitions.any()


# ------------------------------------------------------------------- bad oracles


class Bad(Labelled):
    """An oracle with one thing wrong, at example 3."""

    wrong = None

    def argmax(self, i, w):
        answer = super().argmax(i, w)
        return self.wrong(answer, w) if i == 3 else answer


BAD = {
    "no answer": (lambda a, w: None, TypeError, r"argmax\(3, w\) returns None: \(\(indices"),
    "no pair": (lambda a, w: (5, 1.0), TypeError, r"argmax\(3, w\) returns 5 first"),
    "too long": (lambda a, w: (*a, 1, 2), TypeError, r"argmax\(3, w\) returns"),
    "index": (
        lambda a, w: (([0, 99], [1.0, 2.0]), 1.0, 1),
        ValueError,
        r"argmax\(3, w\): indices\[1\] = 99: 0 to 5 is allowed",
    ),
    "negative index": (
        lambda a, w: (([-1], [1.0]), 1.0, 1),
        ValueError,
        r"indices\[0\] = -1: 0 to 5 is allowed",
    ),
    "float index": (lambda a, w: (([0.5], [1.0]), 1.0, 1), TypeError, "dtype float64"),
    "lengths": (
        lambda a, w: (([0, 1], [1.0]), 1.0, 1),
        ValueError,
        r"values has shape \(1,\), there are 2 indices",
    ),
    "nan": (
        lambda a, w: (([0], [np.nan]), 1.0, 1),
        ValueError,
        r"argmax\(3, w\): values\[0\] = nan: a finite",
    ),
    "delta nan": (lambda a, w: (a[0], np.nan, 1), ValueError, r"argmax\(3, w\): delta = nan"),
    "delta": (
        lambda a, w: (a[0], -1.0, 1),
        ValueError,
        r"argmax\(3, w\): delta = -1.0: a finite number >= 0",
    ),
    "delta text": (lambda a, w: (a[0], "1", 1), TypeError, "delta = '1'"),
    "no label": (lambda a, w: a[:2], ValueError, "returns no label, which oracle.features needs"),
    "features": (
        lambda a, w: (([0], [123.0]), 7.0, 1),
        ValueError,
        r"features\(3, label\) is not what oracle.argmax\(3, w\) said",
    ),
    "writes": (lambda a, w: w.fill(1), ValueError, "read-only"),
    "makes writable": (lambda a, w: w.setflags(write=True), ValueError, "WRITEABLE"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("cache", [False, True])
def test_bad_answers_are_refused_with_the_number_of_the_example(name, cache):
    oracle = table(18, kind=Bad)
    oracle.wrong, kind, match = BAD[name]
    with pytest.raises(kind, match=match):
        structured.solve(oracle, 0.1, cache=cache)


@pytest.mark.parametrize("cache", [False, True])
@pytest.mark.parametrize("kind", [Labelled, Table])
def test_a_best_margin_below_zero_proves_the_argmax_wrong(cache, kind):
    class Worst(kind):
        def argmax(self, i, w):
            if i != 4:
                return super().argmax(i, w)
            xi, delta = self.planes(i)
            j = int(np.argmin(delta - xi @ w))
            at = np.flatnonzero(xi[j])
            return (
                ((at, xi[j, at]), delta[j], j) if kind is Labelled else ((at, xi[j, at]), delta[j])
            )

    with pytest.raises(ValueError, match=r"argmax\(4, w\) is wrong: its answer has the margin -"):
        structured.solve(table(19, kind=Worst), 0.01, cache=cache)


def test_a_margin_below_that_of_a_kept_label_proves_it_too():
    class Forgetful(Labelled):
        def argmax(self, i, w):
            answer = super().argmax(i, w)
            self.seen = getattr(self, "seen", 0) + (i == 2)
            if i != 2 or self.seen == 1 or answer[2] == 0:
                return answer
            return (*self.features(i, 0), 0)

    with pytest.raises(ValueError, match=r"argmax\(2, w\) is wrong.* a label that it found before"):
        structured.solve(table(20, kind=Forgetful), 0.01, tol=1e-6)


def test_an_approximate_oracle_is_never_certified():
    class Approximate(Labelled):
        approximate = True

        def argmax(self, i, w):
            return (*self.features(i, 1), 1)

    r = structured.solve(table(21, kind=Approximate), 0.1)
    assert not r.converged
    assert not r.certified
    assert r.status is proxsdca.Status.UNCERTIFIED
    assert "Uncertified" in r.summary()


@pytest.mark.parametrize("cache", [False, True])
def test_an_exception_comes_out_as_it_is_with_a_note(cache):
    class Broken(Exception):
        pass

    thrown = Broken("x")

    class Raising(Labelled):
        def argmax(self, i, w):
            if i == 5:
                raise thrown
            return super().argmax(i, w)

    with pytest.raises(Broken) as caught:
        structured.solve(table(22, kind=Raising), 0.1, cache=cache)
    assert caught.value is thrown
    assert "in oracle.argmax(5, w)" in thrown.__notes__


def test_an_oracle_may_solve_problems_of_its_own():
    inner = table(23, n=5, d=3)

    class Nested(Labelled):
        def argmax(self, i, w):
            assert structured.solve(inner, 0.1, tol=0.1).converged
            return super().argmax(i, w)

    r = structured.solve(table(24, n=5, kind=Nested), 0.1)
    plain = structured.solve(table(24, n=5), 0.1)
    assert r.w.tobytes() == plain.w.tobytes()


def test_w_is_a_view_that_may_be_kept():
    kept = []

    class Keeping(Labelled):
        def argmax(self, i, w):
            kept.append(w)
            return super().argmax(i, w)

    structured.solve(table(25, kind=Keeping), 0.1)
    assert np.isfinite(np.sum(kept))


@pytest.mark.parametrize(
    ("attributes", "kind", "match"),
    [
        ({"n": 0}, ValueError, "oracle.n = 0: an integer from 1 to"),
        ({"n": 2.5}, TypeError, "oracle.n = 2.5"),
        ({"d": -1}, ValueError, "oracle.d = -1"),
        ({"d": 2**62}, ValueError, "oracle.d = 4611686018427387904: an integer from"),
        ({"argmax": 3}, TypeError, "oracle.argmax = 3"),
        ({"features": 3}, TypeError, "oracle.features = 3"),
        ({"approximate": 2}, TypeError, "oracle.approximate = 2"),
    ],
)
def test_attributes_of_oracles_are_judged(attributes, kind, match):
    oracle = table(26)
    for name, value in attributes.items():
        setattr(oracle, name, value)
    with pytest.raises(kind, match=match):
        structured.solve(oracle)


@pytest.mark.parametrize(
    ("keywords", "kind", "match"),
    [
        ({"lam": 0}, ValueError, "lam = 0"),
        ({"reg": "group"}, ValueError, "structured problems have 'l2' and 'l1l2'"),
        ({"sigma": 1.0}, ValueError, "has no sigma"),
        ({"option": "I"}, ValueError, "option = 'I' is not known"),
        ({"option": "IV", "cache": True}, ValueError, "cache = True"),
        ({"cache": 1}, TypeError, "cache = 1"),
        ({"order": "importance"}, ValueError, "order = 'importance' is not known"),
        ({"output": "mean"}, ValueError, "output = 'mean'"),
        ({"tol": -1}, ValueError, "tol = -1"),
        ({"T0": -1}, ValueError, "T0 = -1"),
        ({"seed": -1}, ValueError, "seed = -1"),
    ],
)
def test_arguments_are_judged(keywords, kind, match):
    with pytest.raises(kind, match=match):
        structured.solve(table(27), **keywords)


def test_an_oracle_without_radius_has_line_searches_only():
    with pytest.raises(ValueError, match="option = 'IV' needs R"):
        structured.solve(table(28, kind=Table), option="IV")
    oracle = table(28)
    oracle.radius = lambda i: -1.0
    with pytest.raises(ValueError, match=r"oracle.radius\(0\) = -1.0"):
        structured.solve(oracle, option="IV")
    with pytest.raises(TypeError, match="has no 'n'"):
        structured.solve(object())


def test_numbers_that_overflow_are_said_to():
    oracle = table(29)
    oracle.psi = [psi * 1e200 for psi in oracle.psi]
    with pytest.raises(proxsdca.NumericalError):
        structured.solve(oracle, 1e-3)


# ------------------------------------------------------------- threads and signals


def test_threads_share_a_compiled_oracle():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(300, 10)), rng.integers(0, 5, 300)
    oracle = oracles.Chain(X, y, np.full(60, 5))
    alone = structured.solve(oracle, 0.01).w.tobytes()
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(structured.solve(oracle, 0.01).w.tobytes()))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [alone] * 4


def test_data_that_change_meanwhile_are_noticed():
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 3, 40)
    oracle = oracles.Multiclass(X, y)

    def change(check):
        X[0, 0] += 1

    with pytest.raises(ValueError, match="X changed while it was being solved"):
        structured.solve(oracle, 0.01, callback=change)


def test_ctrl_c_returns_the_best_so_far():
    class Slow(Labelled):
        def argmax(self, i, w):
            if self.calls == 100:
                signal.raise_signal(signal.SIGINT)
            return super().argmax(i, w)

    with pytest.raises(proxsdca.Interrupted) as caught:
        structured.solve(table(30, kind=Slow), 0.001, tol=1e-12, certify_every=1)
    best = caught.value.result
    assert best.status is proxsdca.Status.INTERRUPTED
    assert np.isfinite(best.gap)
    with pytest.raises(proxsdca.Interrupted) as caught:
        structured.solve(table(30, n=200, kind=Slow), 0.001)
    assert caught.value.result.gap == np.inf
    assert not caught.value.result.w.any()


def test_dual_points_in_cycles_of_references_are_collected():
    """Collecting a cycle clears what an Atoms needs for dropping its labels, unless told not to."""
    oracle = table(31)
    result = structured.solve(oracle, 0.1)
    watched = weakref.ref(oracle)
    oracle.cycle = result  # result -> oracle -> result
    result.alpha.of(0)
    del oracle, result
    gc.collect()
    assert watched() is None


# ------------------------------------------------- found by hostile readers, once


def test_labels_of_an_oracle_with_other_classes_do_not_fit():
    rng = np.random.default_rng(8)
    many = oracles.Multiclass(rng.normal(size=(200, 2)), np.arange(200) % 100)  # d = 200
    r = solved(many, 0.001, max_epochs=5)
    few = oracles.Multiclass(rng.normal(size=(200, 100)), np.arange(200) % 2)  # d = 200
    with pytest.raises(ValueError, match="alpha: what was found with another kind of oracle"):
        structured.certify(few, np.zeros(200), r, lam=0.01)
    with pytest.raises(ValueError, match="warm_start: what was found with another kind"):
        structured.solve(few, 0.01, warm_start=r)
    chains = [oracles.Chain(np.ones((8, p)), np.arange(8) % k, [4, 4]) for p, k in ((1, 3), (5, 2))]
    assert chains[0].d == chains[1].d
    first = solved(chains[0], 0.01, max_epochs=3)
    with pytest.raises(ValueError, match="another kind of oracle"):
        structured.solve(chains[1], 0.01, warm_start=first)
    labels = rng.integers(0, 2, (5, 3))
    trees = [oracles.Multilabel(np.eye(5), labels, [edge]) for edge in ((0, 1), (1, 2))]
    first = solved(trees[0], 0.01, max_epochs=3)
    with pytest.raises(ValueError, match="another kind of oracle"):
        structured.solve(trees[1], 0.01, warm_start=first)
    same = oracles.Multilabel(np.eye(5), labels, [(0, 1)])
    assert structured.certify(same, first.w, first, lam=0.01).dual == pytest.approx(first.dual)


def test_weights_of_labels_are_read_within_bounds():
    r = structured.solve(oracles.Multiclass(np.eye(6), list("abcabc")), 0.01)
    for i in (-1, 6, 10**9):
        with pytest.raises(IndexError, match="0 to 5 is allowed"):
            r.alpha.of(i)
    for i in range(6):
        for label, weight in r.labels(i):
            assert label in "abc"
            assert 0 < weight <= 1
            assert r.oracle.features(i, label)[1] == 1
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(r.alpha)


def test_what_an_oracle_was_made_of_may_change_without_harm():
    rng = np.random.default_rng(9)
    X, Y = rng.normal(size=(6, 3)), rng.integers(0, 2, (6, 3)).astype(np.int32)
    edges = np.array([[0, 1], [1, 2]])
    oracle = oracles.Multilabel(X, Y, edges)
    before = structured.solve(oracle, 0.01).w.tobytes()
    Y[:], edges[:] = 10**8, 10**7
    assert structured.solve(oracle, 0.01).w.tobytes() == before
    with pytest.raises(ValueError, match="read-only"):
        oracle.edges[0, 1] = 10**7
    cost = np.asfortranarray(rng.random((3, 3)) * (1 - np.eye(3)))
    multiclass = oracles.Multiclass(X, [0, 1, 2, 0, 1, 2], cost)
    before = structured.solve(multiclass, 0.01).w.tobytes()
    cost[:] = -5
    assert structured.solve(multiclass, 0.01).w.tobytes() == before
    chain = oracles.Chain(X, [0, 1, 2, 0, 1, 2], [3, 3])
    with pytest.raises(ValueError, match="read-only"):
        chain.lengths[0] = 10**6


def test_an_x_that_changed_since_is_refused_and_never_read_beyond():
    full = np.random.default_rng(10).normal(size=(5, 40))
    full[:, 20:] = 0
    X = sparse.csr_matrix(full)
    oracle = oracles.Multiclass(X, [0, 1, 2, 0, 1])
    X.indptr[:] = [0, 100, 100, 100, 100, 100]
    with pytest.raises(ValueError, match="X has changed since the oracle was made"):
        structured.solve(oracle, 0.01)
    w = np.ones(oracle.d)
    (indices, _), _ = oracle.features(0, 1)
    assert len(indices) <= 40
    oracle.argmax(0, w)
    oracle.decode(w)
    Z = np.random.default_rng(11).normal(size=(8, 3))
    for made in (oracles.Chain(Z, np.arange(8) % 2, [4, 4]), oracles.Multilabel(Z, np.eye(8, 2))):
        r = structured.solve(made, 0.1)
        Z *= 1e6
        with pytest.raises(ValueError, match="X has changed"):
            structured.certify(made, r.w, r, lam=0.1)
        Z /= 1e6
        Z[:] = np.random.default_rng(11).normal(size=(8, 3))


def test_rounding_of_python_oracles_allows_for_labels_that_were_not_the_answer():
    """Where argmax says y_i, another label may have been rounded down."""
    bad = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        planes = [(rng.normal(size=300) * 1e3, float(abs(rng.normal()))) for _ in range(3)]

        class Summing:
            n, d = 1, 300

            def argmax(self, i, w, planes=planes):
                margins = [delta - float(np.cumsum(xi * w)[-1]) for xi, delta in planes]
                j = int(np.argmax(margins))
                return (*self.features(i, j), j) if margins[j] > 0 else (((), ()), 0.0, -1)

            def features(self, i, label, planes=planes):
                return (np.arange(300), planes[label][0]), planes[label][1]

        r = solved(Summing(), 1e-9 if seed % 2 else 1e-3, tol=0, max_epochs=100, seed=seed)
        w = [Fraction(float(value)) for value in r.w]
        P = max(
            Fraction(delta) - sum(Fraction(float(x)) * b for x, b in zip(xi, w, strict=True))
            for xi, delta in planes
        )
        P = max(P, Fraction(0)) + Fraction(r.lam) * sum(b * b for b in w) / 2
        bad += P - Fraction(r.primal) > Fraction(r.rounding)
    assert bad == 0


def test_rounding_grows_with_the_steps_of_a_carried_dual():
    class Carried:
        n, d, radius = 1, 2, 20.0

        def argmax(self, i, w):
            inside = 0.1 - (0.3 * w[0] + 0.7 * w[1]) > 0
            return (([0, 1], [0.3, 0.7]), 0.1) if inside else (((), ()), 0.0)

    lam = 2.0
    best = Fraction(0.1) ** 2 * Fraction(lam) / (2 * (Fraction(0.3) ** 2 + Fraction(0.7) ** 2))
    r = solved(Carried(), lam, option="III", tol=0, max_epochs=20_000, certify_every=2000)
    assert not r.recomputed
    for dual_value, rounding in zip(r.history["dual"], r.history["rounding"], strict=True):
        assert Fraction(float(dual_value)) - best <= Fraction(float(rounding))


def test_a_tiny_w_is_allowed_for():
    """The norm of w must not underflow."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(1, 400)) * 1e150
        oracle = oracles.Multiclass(X, [0], cost=[[0, 0], [0, 0]], classes=[0, 1])
        w = rng.normal(size=(400, 2)) * 1e-165
        x = X[0] / 1e150
        w[:, 1] -= x * (x @ (w[:, 1] - w[:, 0])) / (x @ x)
        alpha = solved(oracle, 1e280, max_epochs=0)
        found = structured.certify(oracle, w.ravel(), alpha, lam=1e-20)
        exact = [[Fraction(float(value)) for value in row] for row in w]
        margin = sum(Fraction(float(a)) * (b[1] - b[0]) for a, b in zip(X[0], exact, strict=True))
        P = max(margin, Fraction(0))
        P += Fraction(1e-20) * sum(b * b for row in exact for b in row) / 2
        assert P - Fraction(found.primal) <= Fraction(found.rounding)


def test_entries_of_one_place_are_added_exactly():
    class Twice:
        n = d = 1

        def argmax(self, i, w):
            inside = 1 - w[0] > 0
            return (([0, 0, 0], [1e16, 1.0, -1e16]), 1.0) if inside else (((), ()), 0.0)

    r = structured.solve(Twice(), 1.0)
    assert r.primal == pytest.approx(0.5, abs=1e-3)

    class Infinite(Twice):
        def argmax(self, i, w):
            return ([0, 0], [1e308, 1e308]), 1.0

    with pytest.raises(ValueError, match=r"values at index 0 add up to infinity"):
        structured.solve(Infinite(), 1.0)


@pytest.mark.parametrize("size", [1e9, 1e20, 1e100])
def test_weights_far_below_a_rounding_of_one_are_weights(size):
    oracle = oracles.Multiclass(np.array([[size, 1.0]]), [0], classes=[0, 1])
    for cache in (True, False):
        r = structured.solve(oracle, 1.0, cache=cache, max_epochs=50, eps=1e-9)
        assert r.converged
    rng = np.random.default_rng(12)
    oracle = oracles.Multiclass(rng.normal(size=(50, 3)) * 1e8, rng.integers(0, 3, 50))
    assert solved(oracle, 1e-3, max_epochs=20).dual > 0  # it moves, if slowly


def test_the_radius_of_rows_with_entries_that_stand_twice():
    X = sparse.csr_array((np.ones(100), np.zeros(100, int), np.array([0, 100])), shape=(1, 2))
    oracle = oracles.Multiclass(X, [0], classes=[0, 1])
    assert oracle.radius(0) == pytest.approx(100)
    assert structured.solve(oracle, 1000.0, option="III", max_epochs=50).converged


def test_seconds_are_kept_with_slow_oracles():
    class Slow:
        n, d = 300, 1

        def argmax(self, i, w):
            time.sleep(0.005)
            return (([0], [1.0]), 1.0) if w[0] < 1 else (((), ()), 0.0)

    r = solved(Slow(), 0.1, max_seconds=0.05)
    assert r.touched < 100  # calls; the certificate needs its own


def test_calls_are_counted_as_they_are_made():
    oracle = table(32)
    first = solved(oracle, 0.1, max_epochs=2)
    assert oracle.calls == first.calls
    again = solved(oracle, 0.1, max_epochs=1, warm_start=first)
    assert oracle.calls == first.calls + again.calls
    average = solved(oracle, 0.5, output="average", tol=0.5, max_epochs=20)
    assert oracle.calls == first.calls + again.calls + average.calls


def test_what_an_oracle_without_features_said_is_good_for_no_other():
    class One:
        n = d = 1

        def __init__(self, x):
            self.x = x

        def argmax(self, i, w):
            inside = 1 - self.x * w[0] > 0
            return (([0], [self.x]), 1.0) if inside else (((), ()), 0.0)

    first = structured.solve(One(0.0), 1.0)
    with pytest.raises(ValueError, match="warm_start: what was found with another kind of oracle"):
        structured.solve(One(1.0), 1.0, warm_start=first)
    with pytest.raises(ValueError, match="alpha: what was found with another kind of oracle"):
        structured.certify(One(1.0), [0.0], first, lam=1.0)
    assert structured.solve(first.oracle, 1.0, warm_start=first).epochs == 0


@pytest.mark.parametrize(("size", "lam"), [(1e-100, 1e-201), (1e-150, 1e-280), (1e-60, 1e-100)])
def test_tiny_entries_beside_ordinary_ones(size, lam):
    rng = np.random.default_rng(13)
    X, y = rng.normal(size=(9, 2)) * size, np.arange(9) % 3
    oracle = oracles.Chain(X, y, [3, 3, 3])
    duals = []
    with contextlib.suppress(proxsdca.NumericalError):
        solved(
            oracle, lam, max_epochs=100, certify_every=1, tol=0,
            callback=lambda check: duals.append((check.dual, check.rounding)),
        )  # fmt: skip
    for (before, slack), (after, _) in itertools.pairwise(duals):
        assert after >= before - slack - 1e-9 * abs(before)


def test_approximate_oracles_promise_nothing():
    class Approximate(Labelled):
        approximate = True

    oracle = table(36, kind=Approximate)
    r = structured.solve(oracle, 0.1)
    oracle.approximate = False
    assert not r.certified
    oracle.approximate = True
    with pytest.raises(ValueError, match="nothing can be certified"):
        structured.certify(oracle, r.w, r, lam=0.1)
    with pytest.raises(ValueError, match="output = 'best'"):
        structured.solve(oracle, 0.1, output="best")


def test_a_problem_without_costs_is_solved_at_once():
    X = np.random.default_rng(0).normal(size=(4, 2))
    r = structured.solve(oracles.Multiclass(X, [0, 1, 0, 1], cost=np.zeros((2, 2))))
    assert r.converged
    assert (r.primal, r.dual, r.rounding) == (0, 0, 0)
    assert repr(r).startswith("StructuredResult(")
    unnamed = structured.solve(table(37, kind=Table), 0.1)
    assert unnamed.labels(0) == []
    with pytest.raises(TypeError, match=r"has no decode\(w"):
        unnamed.decode()


def test_small_print():
    class Stops(Labelled):
        def argmax(self, i, w):
            answer = super().argmax(i, w)
            return answer if self.calls < 40 else answer[:2]

    with pytest.raises(ValueError, match="returns no label"):
        structured.solve(table(33, kind=Stops), 0.001, tol=1e-9)
    oracle = table(34, kind=Table)
    oracle.rho = [1.0, 2.0]
    with pytest.raises(ValueError, match=r"oracle.rho has shape \(2,\): a number, or \(12,\)"):
        structured.solve(oracle, option="IV")
    calls = []
    ready = oracles.Multiclass(np.eye(4), [0, 1, 0, 1])
    plain = ready.argmax
    ready.argmax = lambda i, w: calls.append(i) or plain(i, w)
    assert structured.solve(ready, 0.1).calls == len(calls) > 0

    class Interrupting(Labelled):
        def argmax(self, i, w):
            raise KeyboardInterrupt

    with pytest.raises(proxsdca.Interrupted) as caught:
        structured.solve(table(35, kind=Interrupting), tol=0)
    assert caught.value.result.target == 0
    oracles.Multilabel(np.ones((2, 1)), np.eye(2, 4000), [(0, j) for j in range(1, 4000)])
