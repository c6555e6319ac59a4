"""grad g*, g and g* of every regulariser, against numerical ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy_twin import g, g_conjugate, grad_conjugate
from problems import REG_NAMES
from scipy.optimize import minimize_scalar

import proxsdca
from proxsdca._core.regs import gradient
from proxsdca.regularizers import L1L2, REGULARIZERS

vectors = arrays(float, 4, elements=st.floats(-5, 5))


def mapped(reg, v, lam, sigma):
    w = np.empty_like(v)
    gradient(reg.map(lam, sigma, len(v)), np.array(v), w)
    return w


@given(st.sampled_from(REG_NAMES), vectors, st.floats(0.1, 10), st.floats(0, 3))
def test_gradient_against_a_numerical_minimiser(name, v, lam, sigma):
    w = mapped(REGULARIZERS[name](), v, lam, sigma)
    for j in range(len(v)):
        found = minimize_scalar(
            lambda t, j=j: g(name, np.array([t]), sigma / lam) - t * v[j],
            bounds=(-6, 6), options={"xatol": 1e-10},
        )  # fmt: skip
        assert w[j] == pytest.approx(found.x, abs=1e-6)


@given(st.sampled_from(REG_NAMES), vectors, vectors, st.floats(0.1, 10), st.floats(0, 3))
def test_fenchel_young_with_equality_at_the_gradient(name, v, other, lam, sigma):
    kappa = sigma / lam
    w = mapped(REGULARIZERS[name](), v, lam, sigma)
    assert g(name, w, kappa) + g_conjugate(name, v, kappa) == pytest.approx(w @ v, abs=1e-9)
    assert g(name, other, kappa) + g_conjugate(name, v, kappa) >= other @ v - 1e-9


@given(st.sampled_from(REG_NAMES), vectors, vectors, st.floats(0.1, 10), st.floats(0, 3))
def test_conjugate_is_one_smooth(name, v, change, lam, sigma):
    """(hbound): g*(v + dv) <= g*(v) + grad g*(v)^T dv + |dv|^2 / 2."""
    kappa = sigma / lam
    bound = g_conjugate(name, v, kappa) + grad_conjugate(name, v, kappa) @ change
    assert g_conjugate(name, v + change, kappa) <= bound + change @ change / 2 + 1e-9


@given(vectors, arrays(float, 4, elements=st.floats(0, 4)), st.floats(0, 3))
def test_feature_weights(v, weights, sigma):
    w = mapped(L1L2(weights), v, 0.5, sigma)
    np.testing.assert_allclose(w, grad_conjugate("l1l2", v, weights * sigma / 0.5), atol=1e-12)


def test_equal_feature_weights_are_a_larger_sigma():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 5)), rng.normal(size=40)
    one = proxsdca.solve(X, y, loss="squared", reg="l1l2", sigma=0.2, tol=1e-10)
    two = proxsdca.solve(X, y, loss="squared", reg=L1L2(np.full(5, 2.0)), sigma=0.1, tol=1e-10)
    np.testing.assert_allclose(one.w, two.w, atol=1e-7)
    assert one.primal == pytest.approx(two.primal, abs=one.gap + two.gap + 1e-14)


def test_bad_feature_weights():
    X, y = np.eye(3), np.arange(3.0)
    for weights, message in (
        ([1, 2], r"l1_weights has shape \(2,\)"),
        ([1, -2, 1], r"l1_weights\[1\] = -2"),
        ([1, np.nan, 1], r"l1_weights\[1\] = nan"),
    ):
        with pytest.raises(ValueError, match=message):
            proxsdca.solve(X, y, loss="squared", reg=L1L2(weights))


def test_repr():
    assert repr(L1L2()) == "L1L2()"
    assert "[1, 2]" in repr(L1L2([1, 2]))
