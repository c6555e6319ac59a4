"""Regularisers of one's own, in Python."""

import copy
import pickle

import cvxpy as cp
import mpmath
import numpy as np
import pytest
from own import ElasticNet, Nonnegative, Pairs, Weighted, WholeElasticNet
from problems import make

import proxsdca
from proxsdca.regularizers import L1L2, Group, Regularizer

WEIGHTS = np.array([0.0, 1.0, 2.0, 0.5, 1.0, 3.0])
TWINS = [
    (ElasticNet(), "l1l2"),
    (WholeElasticNet(), "l1l2"),
    (Weighted(WEIGHTS), L1L2(WEIGHTS)),
    (Pairs(), Group(np.arange(6) // 2)),
]


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared", "poisson"])
@pytest.mark.parametrize(("own", "built_in"), TWINS, ids=lambda reg: repr(reg)[:12])
def test_the_same_problem_as_the_built_in_one(own, built_in, loss):
    case = make(loss, n=40, d=6, seed=2, lam=0.05, sigma=0.02)
    tol = 1e-4 if loss == "hinge" else 1e-8
    for more in ({}, {"fit_intercept": True}, {"sample_weight": np.arange(40) % 3}):
        ours, theirs = (
            case.solve(reg=reg, tol=tol, max_epochs=3000, solver="plain", **more)
            for reg in (own, built_in)
        )
        assert ours.converged
        assert abs(ours.primal - theirs.primal) <= max(ours.gap, theirs.gap) + 1e-13
        if not more:
            np.testing.assert_allclose(ours.w, theirs.w, atol=1e-9)
            check = case.certify(ours.w, ours.alpha, reg=built_in)
            assert check.gap == pytest.approx(ours.gap, abs=check.rounding + ours.rounding)


@pytest.mark.parametrize("output", ["average", "random", "best"])
@pytest.mark.parametrize(("own", "built_in"), TWINS, ids=lambda reg: repr(reg)[:12])
def test_outputs(own, built_in, output):
    case = make("logistic", n=40, d=6, seed=2, lam=0.05, sigma=0.02)
    ours, theirs = (
        case.solve(reg=reg, output=output, T0=60, tol=1e-3, max_epochs=8) for reg in (own, built_in)
    )
    np.testing.assert_allclose(ours.w, theirs.w, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.alpha, theirs.alpha, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("loss", ["softmax", "multiclass_hinge"])
@pytest.mark.parametrize("own", [ElasticNet(), WholeElasticNet()], ids=repr)
def test_several_classes(own, loss):
    case = make("squared", n=40, d=4)
    labels = np.argmax(case.X[:, :3], axis=1)
    ours, theirs = (
        proxsdca.solve(case.X, labels, loss=loss, reg=reg, lam=0.05, sigma=0.01, tol=1e-5)
        for reg in (own, "l1l2")
    )
    assert ours.w.shape == (4, 3)
    assert abs(ours.primal - theirs.primal) <= max(ours.gap, theirs.gap) + 1e-13


def test_against_cvxpy():
    case = make("huber", n=50, d=6, seed=3)
    r = case.solve(reg=Nonnegative(), lam=0.1, sigma=0.03, tol=1e-9)
    w = cp.Variable(6)
    P = cp.sum(cp.huber(case.X @ w - case.y, 1)) / (2 * 50)
    P += 0.05 * cp.sum_squares(w) + 0.03 * cp.norm1(w)
    best = cp.Problem(cp.Minimize(P), [w >= 0]).solve(solver="CLARABEL")
    assert r.converged
    assert r.w.min() == 0
    assert -1e-7 <= r.primal - best <= r.gap + 1e-7


@pytest.mark.parametrize(("own", "built_in"), TWINS, ids=lambda reg: repr(reg)[:12])
def test_sigma_max_and_paths(own, built_in):
    if isinstance(own, Weighted):
        own, built_in = Weighted(WEIGHTS + 1), L1L2(WEIGHTS + 1)
    case = make("logistic", n=40, d=6, seed=2)
    ours, theirs = (
        proxsdca.sigma_max(case.X, case.y, loss="logistic", reg=reg) for reg in (own, built_in)
    )
    assert ours == pytest.approx(theirs, rel=1e-12)
    p, q = (proxsdca.path(case.X, case.y, loss="logistic", reg=reg) for reg in (own, built_in))
    assert p.converged.all()
    np.testing.assert_allclose(p.primal, q.primal, atol=max(p.gap.max(), q.gap.max()))
    assert p.nonzeros[0] == 0
    assert proxsdca.solve(case.X, case.y, loss="logistic", reg=own, sigma=2 * ours).w.any() == 0


def test_without_sigma():
    class Ridge(Regularizer):
        separable = True

        def value(self, w, kappa, j):
            assert kappa == 0
            return w**2 / 2

        def gradient(self, v, kappa, j):
            return v

    case = make("squared", n=20, d=4)
    ours, theirs = (case.solve(reg=reg, tol=1e-9, option="I") for reg in (Ridge(), "l2"))
    assert ours.primal == pytest.approx(theirs.primal, rel=1e-12)
    assert (ours.reg.name, ours.sigma) == ("Ridge", 0.0)
    with pytest.raises(ValueError, match=r"sigma = 0\.1: reg = 'Ridge' has no sigma"):
        case.solve(reg=Ridge(), sigma=0.1)
    assert pickle.loads(pickle.dumps(Nonnegative())).gradient(np.ones(1), 0.5, 0) == [0.5]


def test_estimators_take_it():
    case = make("squared", n=40, d=6)
    model = proxsdca.SDCARegressor(reg=Nonnegative(), lam=0.1).fit(case.X, case.y)
    assert model.coef_.min() >= 0
    assert isinstance(copy.deepcopy(model).reg, Nonnegative)


class Smooth(Regularizer):
    """w^2 / 2 + kappa log cosh w, as a textbook has it."""

    separable = True
    has_sigma = True

    def value(self, w, kappa, j):
        return w**2 / 2 + kappa * np.log(np.cosh(w))

    def gradient(self, v, kappa, j):
        w = v / (1 + kappa)
        for _ in range(60):
            w = w - (w + kappa * np.tanh(w) - v) / (1 + kappa / np.cosh(w) ** 2)
        return w


class SmoothWithConjugate(Smooth):
    def conjugate(self, v, kappa, j):
        w = self.gradient(v, kappa, j)
        r = np.abs(w)
        return v * w - w**2 / 2 - kappa * (r + np.log1p(np.exp(-2 * r)) - np.log(2))


@pytest.mark.parametrize("scale", [1e-3, 0.1, 1.0])
@pytest.mark.parametrize("kind", [Smooth, SmoothWithConjugate])
def test_roundings_of_formulas_that_cancel_are_covered(kind, scale):
    """In 40 digits, for averages too, whose w is not that of v."""
    lam, sigma = 0.1, 10.0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(20, 3)), scale * rng.normal(size=20)
        r = proxsdca.solve(
            X, y, loss="squared", reg=kind(), lam=lam, sigma=sigma, tol=1e-3, output="average"
        )
        with mpmath.workdps(40):
            assert abs(mpmath.mpf(r.gap) - exact_smooth_gap(X, y, r, lam, sigma)) <= r.rounding


def exact_smooth_gap(X, y, r, lam, sigma):
    """P(w) - D(alpha) for the squared loss with `Smooth`, in the digits of the context."""
    E = [[mpmath.mpf(x) for x in row] for row in X.tolist()]
    n, lam = len(E), mpmath.mpf(lam)
    margins = [mpmath.fdot(row, r.w.tolist()) for row in E]
    targets, alpha = (list(map(mpmath.mpf, part.tolist())) for part in (y, r.alpha))
    kappa = mpmath.mpf(sigma) / lam

    def g(w):
        return w**2 / 2 + kappa * mpmath.log(mpmath.cosh(w))

    primal = mpmath.fsum((z - t) ** 2 / 2 for z, t in zip(margins, targets, strict=True)) / n
    primal += lam * mpmath.fsum(g(mpmath.mpf(t)) for t in r.w.tolist())
    dual = -mpmath.fsum(b**2 / 2 - b * t for b, t in zip(alpha, targets, strict=True)) / n
    for column in zip(*E, strict=True):
        v = mpmath.fdot(column, alpha) / (lam * n)
        w = mpmath.findroot(lambda w, v=v: w + kappa * mpmath.tanh(w) - v, v / (1 + kappa))
        dual -= lam * (v * w - g(w))
    return primal - dual


# ------------------------------------------------------------------ bad input


class Boom(Exception):
    pass


class Failing(ElasticNet):
    def __init__(self, method, after, how):
        self.method, self.left, self.how = method, after, how

    def _answer(self, method, x, found):
        if method == self.method:
            self.left -= 1
            if self.left < 0:
                return self.how(x)
        return found

    def value(self, w, kappa, j):
        return self._answer("value", w, super().value(w, kappa, j))

    def gradient(self, v, kappa, j):
        return self._answer("gradient", v, super().gradient(v, kappa, j))


def boom(x):
    raise Boom("boom")


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
@pytest.mark.parametrize(
    ("how", "kind", "message"),
    [
        (boom, Boom, "boom"),
        (lambda x: x * np.nan, ValueError, "is nan where its argument is"),
        (lambda x: x[:-1], ValueError, "has shape"),
        (lambda x: "no", ValueError, "could not convert"),
    ],
)
@pytest.mark.parametrize("method", ["value", "gradient"])
def test_what_fails_in_mid_run_comes_out(method, how, kind, message, loss):
    case = make("logistic", n=30, d=5)
    for after in (0, 1, 30) if method == "gradient" else (0, 1):
        reg = Failing(method, after, how)
        with pytest.raises(kind, match=message) as caught:
            case.solve(loss=loss, reg=reg, tol=1e-9)
        assert f"in Failing.{method}(..., kappa=" in caught.value.__notes__[-1]
        reg.left = 10**9
        assert case.solve(loss=loss, reg=reg).converged


def test_a_class_that_lacks_something_is_told_what():
    class Nothing(Regularizer):
        pass

    class Half(Regularizer):
        def value(self, w, kappa, j):
            return w @ w / 2

    case = make("logistic", n=10, d=3)
    with pytest.raises(TypeError, match=r"Nothing lacks value\(w, kappa, j\), g itself"):
        case.solve(reg=Nothing())
    with pytest.raises(TypeError, match=r"Half lacks gradient\(v, kappa, j\), the gradient of g\*"):
        case.solve(reg=Half())
    with pytest.raises((TypeError, ValueError), match="reg"):
        case.solve(reg=Regularizer())


def test_formulas_that_contradict_each_other_are_refused():
    class Quarter(ElasticNet):
        def conjugate(self, v, kappa, j):
            return self.gradient(v, kappa, j) ** 2 / 4

    class InPlace(ElasticNet):
        def gradient(self, v, kappa, j):
            return v.clip(0, 1, out=v)

    case = make("squared", n=30, d=4)
    for loss, labels in (("squared", case.y), ("softmax", np.arange(30) % 3)):
        with pytest.raises(
            ValueError, match=r"contradict .*check_regularizer looks for mistakes in"
        ):
            proxsdca.solve(case.X, labels, loss=loss, reg=Quarter(), lam=1e-2)
    with pytest.raises(ValueError, match="read-only"):
        case.solve(reg=InPlace())


def test_a_w_outside_its_domain():
    case = make("squared", n=10, d=3)
    with pytest.raises(ValueError, match=r"P\(w\) is infinite: w lies outside .*'Nonnegative'"):
        case.certify(np.array([1.0, -1.0, 0.0]), np.zeros(10), reg=Nonnegative())


def test_repr_shows_what_the_constructor_takes():
    class Box(ElasticNet):
        def __init__(self, low, high=1.0):
            self.low, self.high = low, high

    assert repr(Box(-1.0)) == "Box(low=-1.0, high=1.0)"
    with pytest.raises(TypeError, match=r"reg = ElasticNet, a class: .* ElasticNet\(\)"):
        proxsdca.solve(np.eye(2), [1.0, 2.0], loss="squared", reg=ElasticNet)


def test_what_only_the_built_in_ones_have():
    case = make("logistic", n=10, d=4)
    with pytest.raises(ValueError, match=r"side = 'columns' needs a penalty .*'ElasticNet'"):
        case.solve(reg=ElasticNet(), side="columns")
    oracle = proxsdca.oracles.Multiclass(case.X, np.arange(10) % 3)
    with pytest.raises(ValueError, match="reg = 'ElasticNet': structured problems have"):
        proxsdca.structured.solve(oracle, reg=ElasticNet())
