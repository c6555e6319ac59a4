"""Losses of one's own, in Python: solved like the built-in ones, and certified as truly."""

import copy
import gc
import itertools
import pickle
import threading
import weakref
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from own import KINDS, Delegate, Expectile, Whole, WithConjugate
from problems import LOSS_NAMES, Case, all_losses, make
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from test_losses import loss_and_point

import proxsdca
from proxsdca.losses import LOSSES, Loss

LOGISTIC = LOSSES["logistic"]()

# ------------------------------------------------------------------ what is missing, solved for

curvatures = st.floats(-9, 9).map(lambda exponent: 10.0**exponent)


@given(loss_and_point(st.one_of(st.floats(-6, 6), st.floats(-1e6, 1e6))), curvatures)
def test_the_step_that_is_solved_for_is_the_exact_one(point, q):
    loss, y, m, b = point
    found, exact = (each.step(b, m, y, q) for each in (WithConjugate(loss), loss))
    lower, upper = loss.domain(y)
    assert lower <= found <= upper

    def cost(c):
        return loss.conjugate(-c, y) + m * c + q / 2 * (c - b) ** 2

    noise = abs(m * exact) + q * (exact**2 + b**2) + abs(loss.conjugate(-exact, y)) + abs(m * found)
    assert cost(found) <= cost(exact) + 1e-13 * noise + 1e-300


@pytest.mark.parametrize("m", [10.0, 260.0, 300.0, 600.0, 8241.0])
def test_steps_of_steep_losses(m):
    """Where slopes overflow, the way back is found by powers."""
    poisson = LOSSES["poisson"]()
    for q, y in itertools.product((1e-3, 1.0, 1e3), (0.0, 1.0)):
        found, exact = (loss.step(-4.0, m, y, q) for loss in (Delegate(poisson), poisson))
        assert found == pytest.approx(exact, rel=1e-9)


def test_conjugates_of_steep_losses():
    class Steep(Loss):
        def value(self, z, y):
            with np.errstate(over="ignore"):
                return np.exp(1000 * z) / 1000 - z

        def subgradient(self, z, y):
            with np.errstate(over="ignore"):
                return np.exp(1000 * z) - 1

    for a in (-0.5, 0.0, 5.0, 1e6):
        exact = (a + 1) / 1000 * (np.log(a + 1) - 1)
        assert Steep().conjugate(a, 0.0) == pytest.approx(exact, rel=1e-12)
    assert Steep().conjugate(-1.5, 0.0) == np.inf


@given(loss_and_point())
def test_the_conjugate_that_is_solved_for_bounds_it_from_above(point):
    loss, y, z, b = point
    own = Delegate(loss)
    if loss.name == "poisson" and b == y:
        b = y - 0.5  # the slope -y is approached without end
    found, exact = own.conjugate(-b, y), loss.conjugate(-b, y)
    if loss.name == "poisson" and 0 < y < 1e-150 and found == np.inf:
        return  # above it in any case, of what underflows
    _, size = own.sizes(z, -b, y)
    assert exact - 8 * 1.2e-16 * size - 1e-150 <= found <= exact + 8 * 1.2e-16 * size + 1e-150
    assert size <= 1e5 * (1 + abs(y)) * (1 + abs(exact))
    assert own.conjugate(-b, y) == found


@pytest.mark.parametrize("loss", all_losses(), ids=repr)
def test_the_domain_that_is_read_off_the_slopes(loss):
    for y in [-1.0, 1.0] if loss.classification else [max(loss.target_min, -2.5), 0.0, 1.5]:
        for own in (Delegate(loss), WithConjugate(loss)):
            lower, upper = own.domain(y)
            assert (lower, upper) == pytest.approx(loss.domain(y), abs=1e-300)
            for end, away in ((lower, -1), (upper, 1)):
                if np.isfinite(end):
                    assert own.conjugate(-(end + away * 1e-9), y) == np.inf


def test_an_open_domain_ends_before_the_conjugate_is_infinite():
    class Slow(Loss):  # |z| - log(1 + |z|), whose slope z / (1 + |z|) never is 1
        gamma = 1.0
        lipschitz = 1.0

        def value(self, z, y):
            return np.abs(z - y) - np.log1p(np.abs(z - y))

        def subgradient(self, z, y):
            return (z - y) / (1 + np.abs(z - y))

    class Closed(Slow):
        def conjugate(self, a, y):
            with np.errstate(divide="ignore", invalid="ignore"):
                inside = np.where(np.abs(a) < 1, -np.abs(a) - np.log1p(-np.abs(a)), np.inf)
            return a * y + inside

    assert Slow().conjugate(1.0, 0.0) == np.inf
    lower, upper = Closed().domain(0.0)
    assert -1 < lower < upper < 1
    assert upper == pytest.approx(1, abs=1e-14)
    case = make("absolute", n=30, d=4)
    for loss in (Slow(), Closed()):
        r = proxsdca.solve(case.X, case.y, loss=loss, fit_intercept=True, tol=1e-6)
        assert r.converged
        P = proxsdca.certify(
            case.X, case.y, r.w, r.alpha, loss=Closed(), intercept=r.intercept
        ).primal
        assert r.primal == pytest.approx(P, rel=1e-12)


class NaiveLogistic(Loss):
    """log(1 + e^(-y z)), which is off by a rounding of 1 where it is small."""

    gamma, lipschitz, classification = 4.0, 1.0, True

    def value(self, z, y):
        return np.log(1 + np.exp(-y * z))

    def subgradient(self, z, y):
        return -y / (1 + np.exp(y * z))

    def conjugate(self, a, y):
        t = np.clip(-y * a, 1e-300, 1 - 1e-16)
        inside = t * np.log(t) + (1 - t) * np.log(1 - t)
        return np.where((-y * a >= 0) & (-y * a <= 1), inside, np.inf)


class NaivePoisson(Loss):
    """e^z - y z + y log y - y, summands that cancel where it fits."""

    target_min = 0.5

    def value(self, z, y):
        return np.exp(z) - y * z + y * np.log(y) - y

    def subgradient(self, z, y):
        with np.errstate(over="ignore"):
            return np.exp(z) - y

    def conjugate(self, a, y):
        t = np.maximum(a + y, 1e-300)
        return np.where(a + y >= 0, t * np.log(t) - t - (y * np.log(y) - y), np.inf)


class PseudoHuber(Loss):
    """c^2 (sqrt(1 + (r/c)^2) - 1), whose c^2 cancels."""

    gamma = 1.0

    def __init__(self, c=100.0):
        self.c, self.lipschitz = c, c

    def value(self, z, y):
        return self.c**2 * (np.sqrt(1 + ((z - y) / self.c) ** 2) - 1)

    def subgradient(self, z, y):
        return (z - y) / np.sqrt(1 + ((z - y) / self.c) ** 2)


class PseudoHuberWithConjugate(PseudoHuber):
    def conjugate(self, a, y):
        root = np.sqrt(np.maximum(1 - (a / self.c) ** 2, 0.0))
        return np.where(np.abs(a) <= self.c, a * y + self.c**2 * (1 - root), np.inf)


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-7])
@pytest.mark.parametrize("c", [1.0, 100.0])
@pytest.mark.parametrize("kind", [PseudoHuber, PseudoHuberWithConjugate])
def test_roundings_beyond_the_size_of_the_loss_are_seen(kind, c, scale):
    """A textbook formula off by c^2 roundings, however small the loss is."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, w = rng.normal(size=(30, 3)), rng.normal(size=3) * scale
        y = X @ w + 0.1 * scale * rng.normal(size=30)
        loss = kind(c)
        w = np.linalg.lstsq(X, y)[0]
        alpha = -loss.subgradient(X @ w, y)
        found = proxsdca.certify(X, y, w, alpha, loss=loss, lam=0.01)
        with mpmath.workdps(40):
            E = [[mpmath.mpf(x) for x in row] for row in X.tolist()]
            margins = [mpmath.fdot(row, w.tolist()) for row in E]
            v = [
                mpmath.fdot(column, alpha.tolist()) / (mpmath.mpf(0.01) * 30)
                for column in zip(*E, strict=True)
            ]
            primal = mpmath.fsum(
                c**2 * (mpmath.sqrt(1 + ((z - t) / c) ** 2) - 1)
                for z, t in zip(margins, map(mpmath.mpf, y.tolist()), strict=True)
            ) / 30 + mpmath.mpf(0.01) / 2 * mpmath.fsum(mpmath.mpf(t) ** 2 for t in w.tolist())
            dual = -mpmath.fsum(
                -b * t + c**2 * (1 - mpmath.sqrt(1 - (b / c) ** 2))
                for b, t in zip(
                    map(mpmath.mpf, alpha.tolist()), map(mpmath.mpf, y.tolist()), strict=True
                )
            ) / 30 - mpmath.mpf(0.01) / 2 * mpmath.fsum(t**2 for t in v)
            assert abs(mpmath.mpf(found.gap) - (primal - dual)) <= found.rounding
        assert found.rounding <= 1e-13 * c**2


@pytest.mark.parametrize("kind", [NaiveLogistic, NaivePoisson])
def test_roundings_of_formulas_that_cancel_are_covered(kind, campaign):
    """In 40 digits: the gap that is reported is off by no more than its rounding."""
    rng = np.random.default_rng(3)
    for _ in range(campaign(5000)):
        n, d = rng.integers(1, 9), rng.integers(1, 4)
        X, w = rng.normal(size=(n, d)), rng.normal(size=d) * 10.0 ** rng.uniform(-2, 1)
        if kind is NaiveLogistic:
            n, X = n + 1, np.vstack([X, X[:1]])
            y = np.where(X @ w > 0, 1.0, -1.0) if rng.random() < 0.5 else np.ones(n)
            y[0], y[-1] = -1, 1
            alpha = y * rng.random(n) ** rng.integers(1, 20)
            P, D = exact_logistic, exact_logistic_conjugate
        else:
            y = np.maximum(np.round(np.exp(np.clip(X @ w, -5, 5))), 1.0)
            if rng.random() < 0.5:  # a fit
                w = np.linalg.lstsq(X, np.log(y))[0]
            alpha = (y - np.exp(np.clip(X @ w, -5, 5))) * (rng.random(n) < 0.8)
            P, D = exact_poisson, exact_poisson_conjugate
        alpha = np.where(rng.random(n) < 0.2, 0.0, alpha)
        c = proxsdca.certify(X, y, w, alpha, loss=kind(), lam=0.1)
        with mpmath.workdps(40):
            E = [[mpmath.mpf(x) for x in row] for row in X.tolist()]
            margins = [mpmath.fdot(row, w.tolist()) for row in E]
            v = [
                mpmath.fdot(column, alpha.tolist()) / (mpmath.mpf(0.1) * n)
                for column in zip(*E, strict=True)
            ]
            targets = list(map(mpmath.mpf, y.tolist()))
            primal = mpmath.fsum(map(P, margins, targets)) / n
            primal += mpmath.mpf(0.1) / 2 * mpmath.fsum(mpmath.mpf(t) ** 2 for t in w.tolist())
            dual = -mpmath.fsum(map(D, map(mpmath.mpf, alpha.tolist()), targets)) / n
            dual -= mpmath.mpf(0.1) / 2 * mpmath.fsum(t**2 for t in v)
            assert abs(mpmath.mpf(c.gap) - (primal - dual)) <= c.rounding
        assert c.rounding <= 1e-12 * (1 + abs(c.primal) + abs(c.dual) + float(y.max()) ** 2)


def exact_logistic(z, y):
    return mpmath.log(1 + mpmath.exp(-y * z))


def exact_logistic_conjugate(b, y):
    t = y * b
    return (t * mpmath.log(t) if t else 0) + ((1 - t) * mpmath.log(1 - t) if t != 1 else 0)


def exact_poisson(z, y):
    return mpmath.exp(z) - y * z + y * mpmath.log(y) - y


def exact_poisson_conjugate(b, y):
    t = y - b
    return (t * mpmath.log(t) if t else 0) - t - (y * mpmath.log(y) - y)


# ------------------------------------------------------------------ solved like the built-in ones


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_the_same_problem_as_the_built_in_one(loss, kind):
    case = make(loss, "l1l2", n=40, d=6, seed=1)
    tol = 1e-6 if LOSSES[loss]().gamma > 0 else 1e-4
    weights = np.arange(40) % 4
    for more in ({}, {"sample_weight": weights}, {"fit_intercept": True}):
        theirs = case.solve(tol=tol, max_epochs=3000, **more)
        ours = case.solve(loss=kind(LOSSES[loss]()), tol=tol, max_epochs=3000, **more)
        assert ours.converged
        assert abs(ours.primal - theirs.primal) <= max(ours.gap, theirs.gap) + 1e-13
        intercept = {"intercept": ours.intercept} if "fit_intercept" in more else {}
        more.pop("fit_intercept", None)
        check = case.certify(ours.w, ours.alpha, **more, **intercept)
        # with an intercept alpha is rounded once more, inside the domain
        room = 1e-10 if intercept else check.rounding + ours.rounding
        assert check.gap == pytest.approx(ours.gap, abs=room)


@pytest.mark.parametrize("option", ["II", "III", "IV", "IV-4L2", "V"])
def test_every_option(option):
    for loss in (LOGISTIC, LOSSES["hinge"]()):
        own = WithConjugate(loss)
        assert own.options == loss.options
        if option in loss.options:
            case = make(loss.name, n=40, d=6)
            ours, theirs = (
                case.solve(loss=each, option=option, max_epochs=20, tol=0.5) for each in (own, loss)
            )
            np.testing.assert_allclose(ours.alpha, theirs.alpha, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("reg", ["l2", "l1l2", "l1"])
def test_by_columns(reg):
    case = make("logistic", reg, n=40, d=8)
    ours, theirs = (
        case.solve(loss=loss, side="columns", tol=1e-7)
        for loss in (WithConjugate(LOGISTIC), LOGISTIC)
    )
    assert ours.side == theirs.side == "columns"
    assert abs(ours.primal - theirs.primal) <= max(ours.gap, theirs.gap) + 1e-14


def test_the_objective_is_the_least_that_scipy_finds():
    case = make("squared", n=80, d=5, seed=3)
    r = proxsdca.solve(case.X, case.y, loss=Expectile(0.85), lam=0.05, tol=1e-10)

    def P(w):
        u = case.y - case.X @ w
        return np.mean(np.where(u > 0, 0.85, 0.15) * u**2) + 0.025 * w @ w

    best = minimize(P, np.zeros(5), tol=1e-12).fun
    assert r.converged
    assert r.primal == pytest.approx(P(r.w), rel=1e-13)
    assert -1e-9 <= r.primal - best <= r.gap + 1e-9


def test_paths_and_estimators():
    case = make("squared", n=60, d=6, seed=4)
    p = proxsdca.path(case.X, case.y, loss=Expectile(0.7), reg="l1")
    assert p.converged.all()
    assert p.nonzeros[0] == 0
    assert p.sigma_max == pytest.approx(
        proxsdca.sigma_max(case.X, case.y, loss=Expectile(0.7), reg="l1")
    )
    half = proxsdca.path(case.X, 2 * case.y, loss=Expectile(0.5), reg="l1", sigmas=[0.2])
    same = proxsdca.path(case.X, 2 * case.y, loss="squared", reg="l1", sigmas=[0.2])
    assert half.primal == pytest.approx(same.primal, abs=same.gap[0] + half.gap[0])

    model = proxsdca.SDCARegressor(Expectile(0.7), tol=1e-8).fit(case.X, case.y)
    direct = proxsdca.solve(case.X, case.y, loss=Expectile(0.7), fit_intercept=True, tol=1e-8)
    np.testing.assert_allclose(model.coef_, direct.w, atol=1e-3)
    assert clone(model).loss == Expectile(0.7)
    grid = GridSearchCV(model, {"loss": [Expectile(0.5), Expectile(0.6)]}, cv=2)
    assert grid.fit(case.X, case.y).best_params_["loss"].tau in (0.5, 0.6)
    chosen = proxsdca.SDCARegressorCV(Expectile(0.5), reg="l1", cv=3).fit(case.X, case.y)
    assert 0 <= chosen.gap_ < 1e-2

    labels = np.array(["a", "b", "c"])[np.argmax(case.X[:, :3], axis=1)]
    ours = proxsdca.SDCAClassifier(Whole(LOGISTIC)).fit(case.X, labels)
    theirs = proxsdca.SDCAClassifier("logistic").fit(case.X, labels)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=0.05)
    assert (ours.predict(case.X) == theirs.predict(case.X)).mean() > 0.95


def test_random_pairs_in_rational_arithmetic(campaign):
    """P and D of an expectile, exactly: what is reported is off by no more than its rounding."""
    rng = np.random.default_rng(5)
    for _ in range(campaign(3000)):
        tau = Fraction(int(rng.integers(1, 16)), 16)
        n, d = rng.integers(1, 7), rng.integers(1, 5)
        X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4)
        w = rng.normal(size=d) * (rng.random(d) < 0.8)
        y = X @ w + (rng.random() < 0.5) * rng.normal(size=n)
        alpha = rng.normal(size=n) * (rng.random(n) < 0.8)
        lam = 10.0 ** rng.uniform(-3, 2)
        loss = Expectile(float(tau))
        c = proxsdca.certify(X, y, w, alpha, loss=loss, lam=lam)
        E = [[Fraction(x) for x in row] for row in X]
        margins = [sum(x * Fraction(t) for x, t in zip(row, w, strict=True)) for row in E]
        losses = sum(
            ((1 - tau) if z > Fraction(t) else tau) * (z - Fraction(t)) ** 2
            for z, t in zip(margins, y, strict=True)
        )
        primal = losses / n + Fraction(lam) / 2 * sum(Fraction(t) ** 2 for t in w)
        conjugates = sum(
            -Fraction(b) * Fraction(t) + Fraction(b) ** 2 / (4 * ((1 - tau) if b < 0 else tau))
            for b, t in zip(alpha, y, strict=True)
        )
        v = [
            sum(E[i][k] * Fraction(alpha[i]) for i in range(n)) / (Fraction(lam) * n)
            for k in range(d)
        ]
        dual = -conjugates / n - Fraction(lam) / 2 * sum(t**2 for t in v)
        assert abs(Fraction(c.gap) - (primal - dual)) <= Fraction(c.rounding)
        assert c.rounding <= 1e-13 * (abs(c.primal) + abs(c.dual) + float(np.abs(X).max() ** 2 + 1))


# ------------------------------------------------------------------ in mid-run


class Failing(WithConjugate):
    """Works, until it has been asked so many times for something."""

    def __init__(self, inner, method, after, how):
        super().__init__(inner)
        self.method, self.left, self.how = method, after, how

    def _answer(self, method, *arguments):
        if method == self.method:
            self.left -= 1
            if self.left < 0:
                return self.how(arguments)
        return getattr(self.inner, method)(*arguments)

    def value(self, z, y):
        return self._answer("value", z, y)

    def subgradient(self, z, y):
        return self._answer("subgradient", z, y)

    def conjugate(self, a, y):
        return self._answer("conjugate", a, y)


class Boom(Exception):
    pass


def boom(arguments):
    raise Boom("boom")


def nan(arguments):
    return np.nan


@pytest.mark.parametrize("more", [{}, {"fit_intercept": True}, {"side": "columns"}, {"reg": "l1"}])
@pytest.mark.parametrize("how", [boom, nan])
@pytest.mark.parametrize("method", ["value", "subgradient", "conjugate"])
def test_what_fails_in_mid_run_comes_out(method, how, more):
    case = make("logistic", n=30, d=5)
    before = case.X.copy(), case.y.copy()
    seen = []
    for after in (2, 40, 200, 900):
        loss = Failing(LOGISTIC, method, after, how)
        try:
            case.solve(loss=loss, tol=1e-9, **more)
        except (Boom, ValueError) as error:
            seen.append(error)
        loss.left = 10**9  # and nothing of it is left
        assert case.solve(loss=loss, tol=1e-2, **more).converged
    assert seen
    for error in seen:
        if how is boom:
            assert isinstance(error, Boom)
            assert any(f"in Failing.{method}(" in note for note in error.__notes__)
            assert len([note for note in error.__notes__ if note.startswith("at ")]) <= 1
        else:
            assert "nan" in str(error)
    np.testing.assert_array_equal(case.X, before[0])
    np.testing.assert_array_equal(case.y, before[1])


def test_the_example_is_named():
    case = make("squared", n=30, d=5)

    class At(Expectile):
        def subgradient(self, z, y):
            if np.ndim(z) == 0 and y == case.y[17] and abs(z) < 1e100:
                raise Boom("boom")
            return super().subgradient(z, y)

        def value(self, z, y):
            if np.any((y == case.y[11]) & (z != 0)) and self.tau == 0.9:
                raise Boom("boom")
            return super().value(z, y)

    with pytest.raises(Boom) as caught:
        proxsdca.solve(case.X, case.y, loss=At(0.5))
    assert caught.value.__notes__[-1] == "at example 17"
    for run in (
        lambda: proxsdca.certify(case.X, case.y, np.ones(5), np.zeros(30), loss=At(0.9)),
        lambda: proxsdca.solve(case.X[:16], case.y[:16], loss=At(0.9)),
    ):
        with pytest.raises(Boom) as caught:
            run()
        assert caught.value.__notes__[-1] == "at example 11"


def test_nothing_leaks_when_it_fails():
    class Kept:
        pass

    def fail(arguments):
        kept = Kept()
        references.append(weakref.ref(kept))
        raise Boom("boom")

    references = []
    case = make("logistic", n=30, d=5)
    loss = Failing(LOGISTIC, "subgradient", 50, fail)
    for _ in range(3):
        with pytest.raises(Boom):
            case.solve(loss=loss, tol=1e-9)
    gc.collect()
    assert len(references) == 3
    assert all(reference() is None for reference in references)


def test_ctrl_c_inside_a_formula_is_an_interruption():
    def interrupt(arguments):
        raise KeyboardInterrupt

    case = make("logistic", n=30, d=5)
    loss = Failing(LOGISTIC, "subgradient", 2000, interrupt)
    with pytest.raises(proxsdca.Interrupted) as caught:
        case.solve(loss=loss, tol=0, certify_every=1, callback=lambda check: None)
    loss.left = 10**9
    assert caught.value.result.gap < 0.5
    check = case.certify(caught.value.result.w, caught.value.result.alpha)
    assert check.gap == pytest.approx(caught.value.result.gap)


def test_failures_after_the_last_step_come_out(campaign):
    """Wherever an exception falls, it comes out, and nothing of it stays."""
    case = make("logistic", n=20, d=4)
    for side in ("rows", "columns"):
        calls = Failing(LOGISTIC, "subgradient", 10**9, boom)
        case.solve(loss=calls, side=side)
        most = 10**9 - calls.left
        for after in range(0, most, max(1, most // 60)):
            loss = Failing(LOGISTIC, "subgradient", after, boom)
            with pytest.raises(Boom):
                case.solve(loss=loss, side=side)
            loss.left = 10**9
            assert case.solve(loss=loss, side=side).converged


def test_a_failure_in_the_search_for_the_domain_is_not_remembered():
    class Once(Expectile):
        left = 1

        def subgradient(self, z, y):
            if np.ndim(z) == 0 and abs(z) > 1e100 and Once.left:
                Once.left = 0
                raise Boom("boom")
            return super().subgradient(z, y)

    loss = Once(0.5)
    with pytest.raises(Boom):
        loss.domain(0.5)
    assert loss.domain(0.5) == (-np.inf, np.inf)


def test_numbers_of_python_do_not_raise_where_arrays_do_not():
    class Ratio(Loss):  # sqrt(1 + r^2), in a form that divides by r
        def value(self, z, y):
            return np.hypot(1, z - y) - 1

        def subgradient(self, z, y):
            r = z - y
            return np.where(r == 0, 0.0, 1 / np.hypot(1, 1 / r) * np.sign(r))

    with np.errstate(divide="ignore"):
        r = proxsdca.solve(np.eye(2), [0.0, 1.0], loss=Ratio(), lam=0.1)
    assert r.converged
    assert Ratio().domain(0.0) == (-1.0, 1.0)


def test_slopes_that_grow_slowly_have_no_end():
    class Power(Loss):
        def value(self, z, y):
            return np.abs(z - y) ** 1.1 / 1.1

        def subgradient(self, z, y):
            return np.sign(z - y) * np.abs(z - y) ** 0.1

    assert Power().domain(1.0) == (-np.inf, np.inf)


def test_a_failure_in_one_thread_is_not_that_of_another():
    case = make("logistic", n=200, d=5)
    main = threading.get_ident()
    failures = []

    class Half(WithConjugate):
        def subgradient(self, z, y):
            if threading.get_ident() != main and np.ndim(z) == 0:
                raise Boom("boom")
            return super().subgradient(z, y)

    loss = Half(LOGISTIC)

    def other():
        for _ in range(20):
            try:
                case.solve(loss=loss)
            except Boom as error:
                failures.append(error)

    thread = threading.Thread(target=other)
    thread.start()
    for _ in range(5):
        assert case.solve(loss=loss, tol=1e-6).converged
    thread.join()
    assert len(failures) == 20


# ------------------------------------------------------------------ bad input


def test_a_class_that_lacks_something_is_told_what():
    class Nothing(Loss):
        pass

    class Half(Loss):
        def value(self, z, y):
            return z**2

    with pytest.raises(TypeError, match=r"Nothing lacks value\(z, y\), phi\(z\) itself"):
        Nothing()
    with pytest.raises(TypeError, match=r"Half lacks subgradient\(z, y\), .* steps move towards"):
        Half()
    with pytest.raises(TypeError, match=r"Loss lacks value"):
        Loss()


@pytest.mark.parametrize(
    ("constants", "kind", "message"),
    [
        ({"gamma": -1.0}, ValueError, "gamma = -1.0"),
        ({"gamma": "big"}, TypeError, "gamma = 'big'"),
        ({"lipschitz": 0.0}, ValueError, "lipschitz = 0.0"),
        ({"classification": 1}, TypeError, "classification = 1"),
        ({"target_min": np.nan}, ValueError, "target_min = nan"),
        ({"smoothness": 1.0}, TypeError, "smoothness: a loss has the constants gamma"),
    ],
)
def test_bad_constants(constants, kind, message):
    class Own(Expectile):
        def __init__(self):
            Loss.__init__(self, **constants)

    with pytest.raises(kind, match=message):
        Own()
    if "smoothness" not in constants:
        with pytest.raises(kind, match=message):
            type("Attribute", (WithConjugate,), constants)(LOGISTIC)


def test_constants_set_in_init():
    class Set(Expectile):
        def __init__(self):
            self.tau = 0.5
            self.gamma = 0.75
            self.classification = False

    assert Set().gamma == 0.75
    assert pickle.loads(pickle.dumps(Expectile(0.5))).gamma == 1.0
    with pytest.raises(TypeError, match="a loss has the constants"):
        Loss.__init__(Set(), tau=1)
    loss = Set()
    with pytest.raises(ValueError, match="gamma = -1"):
        loss.gamma = -1
    with pytest.raises(AttributeError, match="not writable"):
        LOGISTIC.gamma = 3.0


def test_formulas_that_contradict_each_other_are_refused():
    class Quarter(Expectile):
        def conjugate(self, a, y):
            return a * y + (a**2 / (4 * self._weight(a))) / 4

    case = make("squared", n=30, d=4)
    with pytest.raises(
        ValueError, match=r"is less than D\(alpha\) = .*check_loss looks for mistakes in"
    ):
        proxsdca.solve(case.X, case.y, loss=Quarter(0.6))

    class Rough(Expectile):  # off by a few 1e-12, which nobody has said
        def conjugate(self, a, y):
            return super().conjugate(a, y) - 1e-11

    r = proxsdca.solve(case.X, case.y, loss=Rough(0.6), tol=0, eps=1e-9)
    c = proxsdca.certify(case.X, case.y, r.w, r.alpha, loss=Rough(0.6))
    for found in (r, c):
        assert found.gap + found.rounding >= 0
        assert found.rounding > 1e-12


def test_a_class_instead_of_an_object():
    with pytest.raises(TypeError, match=r"loss = Expectile, a class: .* Expectile\(\)"):
        proxsdca.solve(np.eye(2), [1.0, 2.0], loss=Expectile)


def test_constants_by_class_attributes():
    class Smooth(Expectile):
        gamma = 0.25
        lipschitz = 7.0
        target_min = -3.0

        def __init__(self):
            self.tau = 0.5

    assert (Smooth().gamma, Smooth().lipschitz, Smooth().target_min) == (0.25, 7.0, -3.0)
    assert "V" in Smooth().options
    with pytest.raises(ValueError, match=r"y\[1\] = -4\.0.*Smooth"):
        proxsdca.solve(np.eye(2), [0.0, -4.0], loss=Smooth())

    class Twice(Smooth):
        def __init__(self):
            Loss.__init__(self, gamma=0.5)

    with pytest.raises(TypeError, match="gamma is given twice, by the class Twice too"):
        Twice()


def test_formulas_that_are_not_elementwise_are_refused():
    class NoReturn(Expectile):
        def value(self, z, y):
            super().value(z, y)

    with pytest.raises(TypeError, match=r"NoReturn.value returns None: is a return missing\?"):
        proxsdca.solve(np.eye(2), [1.0, 2.0], loss=NoReturn())

    class Scalar(Expectile):
        def value(self, z, y):
            return 0.5 * (z - y) ** 2 if z > y else (z - y) ** 2

    class Summed(Expectile):
        def value(self, z, y):
            return np.sum(super().value(z, y))

    X, y = np.eye(3), np.array([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="ambiguous") as caught:
        proxsdca.solve(X, y, loss=Scalar())
    assert "in Scalar.value(array, array): it has to be elementwise" in caught.value.__notes__
    with pytest.raises(ValueError, match=r"Summed\.value has shape \(\) .*\(3,\) is needed"):
        proxsdca.solve(X, y, loss=Summed())


def test_losses_without_a_minimum_are_refused():
    class Linear(Loss):
        def value(self, z, y):
            return z * y

        def subgradient(self, z, y):
            return y + 0 * z

    with pytest.raises(ValueError, match=r"Linear.conjugate\(0.0, y\[0\] = 2.0\) = inf: .*bounded"):
        proxsdca.solve(np.eye(2), [2.0, 1.0], loss=Linear())

    class Shifted(Expectile):
        def value(self, z, y):
            return super().value(z, y) - 1

        def conjugate(self, a, y):
            return super().conjugate(a, y) + 1

    case = make("squared", n=20, d=4)
    low, plain = (
        proxsdca.solve(case.X, case.y, loss=loss, tol=0, eps=1e-6)
        for loss in (Shifted(), Expectile())
    )
    assert low.primal == pytest.approx(plain.primal - 1, abs=low.gap + plain.gap)
    with pytest.raises(
        ValueError, match=r"'Shifted' is -1.0 at its least for y\[\d+\].*add a const"
    ):
        proxsdca.solve(case.X, case.y, loss=Shifted(), reg="l1")


def test_intercepts_that_do_not_exist_are_refused():
    class Falling(Loss):  # log(1 + e^(y - z)), whatever y is
        gamma = 4.0

        def value(self, z, y):
            return np.logaddexp(0, y - z)

        def subgradient(self, z, y):
            return -0.5 * (1 + np.tanh(0.5 * (y - z)))

    X, y = np.eye(3), np.array([1.0, 2.0, 3.0])
    assert proxsdca.solve(X, y, loss=Falling(), lam=0.1).converged
    with pytest.raises(ValueError, match="'Falling' with fit_intercept = True has no finite inter"):
        proxsdca.solve(X, y, loss=Falling(), lam=0.1, fit_intercept=True)


def test_alpha_outside_the_domain_is_refused():
    case = make("logistic", n=4, d=2)
    alpha = np.zeros(4)
    alpha[2] = 3.0
    with pytest.raises(ValueError, match=r"alpha\[2\] = 3.0 is outside the domain"):
        case.certify(np.zeros(2), alpha, loss=WithConjugate(LOGISTIC))

    class Everywhere(WithConjugate):  # forgets that its conjugate is infinite there
        def conjugate(self, a, y):
            return 0.0 * a

    with pytest.raises(ValueError, match=r"alpha\[2\] = 3.0 is outside the domain"):
        case.certify(np.zeros(2), alpha, loss=Everywhere(LOGISTIC))


def test_a_domain_that_is_none():
    class Empty(WithConjugate):
        def domain(self, y):
            return 1.0, -1.0

    case = make("logistic", n=4, d=2)
    with pytest.raises(ValueError, match="is no interval"):
        case.solve(loss=Empty(LOGISTIC), sample_weight=[1, 2, 1, 1])


# ------------------------------------------------------------------ as objects


class Array(Expectile):
    def __init__(self, weights):
        super().__init__(0.5)
        self.weights = weights


def test_repr_equality_copies_and_pickles():
    loss = Expectile(0.3)
    assert repr(loss) == "Expectile(tau=0.3)"
    assert loss.name == "Expectile"
    assert loss == Expectile(0.3) != Expectile(0.4)
    assert hash(loss) == hash(Expectile(0.3))
    for other in (pickle.loads(pickle.dumps(loss)), copy.copy(loss), copy.deepcopy(loss)):
        assert other == loss
        assert (other.gamma, other.tau) == (loss.gamma, 0.3)
    assert Array(np.ones(2)) == Array(np.ones(2)) != Array(np.zeros(2))
    assert pickle.loads(pickle.dumps(Array(np.ones(2)))) == Array(np.ones(2))
    case = make("squared", n=20, d=4)
    r = pickle.loads(pickle.dumps(proxsdca.solve(case.X, case.y, loss=loss)))
    assert r.loss == loss
    assert "Expectile" in r.summary()


def test_a_parameter_that_changes_between_runs_counts():
    case = make("logistic", n=20, d=4)

    class Scaled(Loss):
        classification = True

        def __init__(self):
            self.c = 1.0

        def value(self, z, y):
            return self.c * np.maximum(0, 1 - y * z)

        def subgradient(self, z, y):
            return np.where(y * z < 1, -self.c * y, 0.0)

        def conjugate(self, a, y):
            return np.where((-y * a >= 0) & (-y * a <= self.c), y * a, np.inf)

    loss = Scaled()
    one = proxsdca.solve(case.X, case.y, loss=loss, sample_weight=np.arange(20) + 1, tol=1e-4)
    loss.c = 2.0
    two = proxsdca.solve(case.X, case.y, loss=loss, sample_weight=np.arange(20) + 1, tol=1e-4)
    twice = Case(case.X, case.y, {"loss": "hinge", "lam": two.lam / 2})
    weights = np.arange(20) + 1
    assert two.primal == pytest.approx(
        2 * twice.solve(sample_weight=weights, tol=1e-4).primal, rel=3e-4
    )
    assert one.primal < two.primal
