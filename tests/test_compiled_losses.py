"""Losses that somebody else has compiled: numba, ctypes, LowLevelCallables with user data."""

import copy
import ctypes
import math
import pickle
import threading

import numpy as np
import pytest
from own import Expectile, WithConjugate
from problems import LOSS_NAMES, make
from scipy import LowLevelCallable

import proxsdca
from proxsdca.losses import LOSSES, CompiledLoss

BINARY = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double)
WITH_DATA = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double, ctypes.c_void_p)
UNARY = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
CONSTANTS = ("gamma", "lipschitz", "classification", "target_min")


def through_ctypes(loss, *, without=(), **more):
    """The formulas of a loss of the package, as if they had been compiled elsewhere."""
    functions = {
        "value": BINARY(lambda z, y: float(loss.value(z, y))),
        "subgradient": BINARY(lambda z, y: float(loss.subgradient(z, y))),
        "conjugate": BINARY(lambda a, y: float(loss.conjugate(a, y))),
        "exact_step": ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * 4)(
            lambda b, m, y, q: float(loss.step(b, m, y, q))
        ),
        "lower": UNARY(lambda y: float(loss.domain(y)[0])),
        "upper": UNARY(lambda y: float(loss.domain(y)[1])),
        "value_size": BINARY(lambda z, y: loss.sizes(z, 0.0, y)[0]),
        "conjugate_size": BINARY(lambda a, y: loss.sizes(0.0, a, y)[1]),
    }
    for name in without:
        del functions[name]
    constants = {name: getattr(loss, name) for name in CONSTANTS}
    return CompiledLoss(**functions, **constants, **more)


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_every_formula_is_called(loss):
    """With all of them the runs are the same, to the last bit."""
    case = make(loss, "l1l2", n=30, d=5, seed=1)
    how = {"tol": 1e-4, "max_epochs": 500, "solver": "plain"}
    ours = case.solve(loss=through_ctypes(LOSSES[loss]()), **how)
    theirs = case.solve(**how)
    np.testing.assert_array_equal(ours.alpha, theirs.alpha)
    if loss in ("logistic", "squared"):  # whose certificates have ways of their own
        assert abs(ours.gap - theirs.gap) <= ours.rounding + theirs.rounding
    else:
        assert ours.gap == theirs.gap
        assert ours.rounding == pytest.approx(theirs.rounding, abs=1e-300)


@pytest.mark.parametrize("loss", ["hinge", "logistic", "huber", "poisson"])
def test_what_is_missing_is_solved_for(loss):
    case = make(loss, n=30, d=5, seed=1)
    inner = LOSSES[loss]()
    tol = 1e-3 if inner.gamma == 0 else 1e-7
    theirs = case.solve(tol=tol)
    optional = ("exact_step", "lower", "upper", "value_size", "conjugate_size")
    for without in (optional, (*optional, "conjugate")):
        for more in ({}, {"fit_intercept": True}):
            ours = case.solve(loss=through_ctypes(inner, without=without), tol=tol, **more)
            assert ours.converged
            if not more:
                assert abs(ours.primal - theirs.primal) <= max(ours.gap, theirs.gap) + 1e-13


def test_numba():
    numba = pytest.importorskip("numba")

    @numba.cfunc("float64(float64, float64)")
    def value(z, y):
        t = -y * z
        return max(t, 0.0) + math.log1p(math.exp(-abs(t)))

    @numba.cfunc("float64(float64, float64)")
    def subgradient(z, y):
        e = math.exp(-abs(z))
        return -y * (e if y * z > 0 else 1.0) / (1 + e)

    @numba.cfunc("float64(float64, float64)")
    def conjugate(a, y):
        t = -y * a
        if not 0 <= t <= 1:
            return math.inf
        return (t * math.log(t) if t > 0 else 0.0) + ((1 - t) * math.log1p(-t) if t < 1 else 0.0)

    loss = CompiledLoss(
        value=value, subgradient=subgradient, conjugate=conjugate, gamma=4.0, lipschitz=1.0,
        classification=True, name="numba's",
    )  # fmt: skip
    for reg in ("l2", "l1l2", "l1", "qnorm"):
        case = make("logistic", reg, n=60, d=11)
        ours, theirs = (case.solve(loss=each, tol=1e-7) for each in (loss, "logistic"))
        assert ours.converged
        assert abs(ours.primal - theirs.primal) <= max(ours.gap, theirs.gap) + 1e-14
        assert "numba's" in repr(ours)


def test_user_data():
    """A function may take one pointer more, that of its LowLevelCallable."""

    def tau(data):
        return ctypes.cast(data, ctypes.POINTER(ctypes.c_double))[0]

    def formula(method):
        call = WITH_DATA(lambda x, y, data: float(getattr(Expectile(tau(data)), method)(x, y)))
        data = ctypes.c_double(0.8)
        return LowLevelCallable(call, ctypes.cast(ctypes.pointer(data), ctypes.c_void_p)), data

    kept = {name: formula(name) for name in ("value", "subgradient", "conjugate")}
    loss = CompiledLoss(**{name: call for name, (call, _) in kept.items()}, gamma=0.625)
    assert loss.value(2.0, 1.0) == pytest.approx(0.2)
    assert loss.value(0.0, 1.0) == pytest.approx(0.8)
    case = make("squared", n=30, d=5)
    ours, theirs = (case.solve(loss=each, tol=1e-8) for each in (loss, Expectile(0.8)))
    np.testing.assert_array_equal(ours.alpha, theirs.alpha)
    del kept  # the data are kept by the callables, these by the loss
    assert case.solve(loss=loss, tol=1e-8).gap == ours.gap


def test_as_python_sees_it():
    loss = through_ctypes(LOSSES["huber"](), name="mine")
    z, y = np.linspace(-3, 3, 7), 0.5
    np.testing.assert_array_equal(loss.value(z, y), LOSSES["huber"]().value(z, y))
    np.testing.assert_array_equal(loss.domain(z), LOSSES["huber"]().domain(z))
    assert loss.name == "mine"
    assert repr(loss) == "<CompiledLoss mine>"
    assert loss == loss
    assert loss != through_ctypes(LOSSES["huber"]())
    assert copy.copy(loss) is copy.deepcopy(loss) is loss
    with pytest.raises(TypeError, match="'mine' is compiled, and addresses"):
        pickle.dumps(loss)
    model = proxsdca.SDCARegressor(loss)
    case = make("squared", n=30, d=5)
    assert copy.deepcopy(model).fit(case.X, case.y).gap_ >= 0


def test_nan_and_its_example():
    inner = LOSSES["logistic"]()

    def subgradient(z, y):
        return math.nan if 0.5 < abs(z) < 1e9 else float(inner.subgradient(z, y))

    functions = {
        "value": BINARY(lambda z, y: float(inner.value(z, y))),
        "subgradient": BINARY(subgradient),
        "conjugate": BINARY(lambda a, y: float(inner.conjugate(a, y))),
    }
    loss = CompiledLoss(**functions, classification=True, name="half")
    case = make("logistic", n=30, d=5)
    with pytest.raises(ValueError, match=r"half\.subgradient\(.*\) is nan") as caught:
        case.solve(loss=loss, lam=1e-4)
    assert caught.value.__notes__[-1].startswith("at example ")
    with pytest.raises(ValueError, match=r"half\.subgradient\(.*\) is nan"):
        loss.subgradient(1.0, 1.0)


def test_one_loss_in_two_threads():
    """A new run looks at the domain anew, which others must not notice."""
    numba = pytest.importorskip("numba")

    @numba.cfunc("float64(float64, float64)")
    def value(z, y):
        return max(0.0, 1 - y * z) ** 2

    @numba.cfunc("float64(float64, float64)")
    def subgradient(z, y):
        return -2 * y * max(0.0, 1 - y * z)

    loss = CompiledLoss(value=value, subgradient=subgradient, gamma=0.5, classification=True)
    case = make("squared_hinge", n=300, d=5)
    found = []

    def work():
        for _ in range(10):
            found.append(case.solve(loss=loss, tol=1e-4).alpha.tobytes())

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [found[0]] * 20


def test_user_data_of_any_pointer():
    signature = [ctypes.c_double, ctypes.c_double, ctypes.c_void_p]
    value = ctypes.CFUNCTYPE(ctypes.c_double, *signature)(lambda z, y, data: (z - y) ** 2 / 2)
    slope = BINARY(lambda z, y: z - y)
    typed = LowLevelCallable(value, signature="double (double, double, double *)")
    loss = CompiledLoss(value=typed, subgradient=slope)
    assert loss.value(3.0, 1.0) == 2.0
    assert loss.solved == ("conjugate", "exact_step", "domain")


@pytest.mark.parametrize(
    ("name", "given", "kind", "message"),
    [
        ("value", None, TypeError, "value = None: a compiled loss needs value and subgradient"),
        ("value", lambda z, y: z, TypeError, r"value = <function.*double \(double, double\) or"),
        ("conjugate", 3, TypeError, "conjugate = 3: a scipy.LowLevelCallable"),
        ("conjugate", UNARY(abs), ValueError, r"conjugate has the signature 'double \(double\)'"),
        ("exact_step", BINARY(lambda a, b: a), ValueError, "exact_step has the signature"),
        (
            "lower",
            ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_double)(lambda y: 0),
            ValueError,
            r"lower has the signature 'int \(double\)'",
        ),
    ],
)
def test_bad_functions(name, given, kind, message):
    functions = {"value": BINARY(lambda z, y: 0.0), "subgradient": BINARY(lambda z, y: 0.0)}
    with pytest.raises(kind, match=message):
        CompiledLoss(**{**functions, name: given})


def test_python_and_compiled_agree():
    case = make("logistic", n=40, d=5)
    one, two = (
        case.solve(loss=loss, tol=1e-6)
        for loss in (
            WithConjugate(LOSSES["logistic"]()),
            through_ctypes(LOSSES["logistic"](), without=("exact_step", "lower", "upper")),
        )
    )
    np.testing.assert_allclose(one.alpha, two.alpha, rtol=1e-12, atol=1e-12)
