"""Certificates of structured problems against rational arithmetic, over all labels there are."""

import itertools
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import proxsdca
from proxsdca import oracles, structured


def exact(x):
    return Fraction(float(x))


def margins(oracle, w, labels):
    """delta - w^T xi of every label of every example, as fractions."""
    w = [exact(value) for value in w]
    for i in range(oracle.n):
        found = {}
        for label in labels(i):
            (indices, values), delta = oracle.features(i, label)
            entries = [exact(x) * w[j] for j, x in zip(indices, values, strict=True)]
            found[label] = exact(delta) - sum(entries)
        yield found


def objectives(oracle, r, labels):
    """P(w) and D(alpha), exactly; weights that a rounding left above 1 are scaled back."""
    n, lam, kappa = oracle.n, exact(r.lam), exact(r.sigma) / exact(r.lam)
    P = sum(max(found.values()) for found in margins(oracle, r.w, labels)) / n
    for value in r.w:
        P += lam * (exact(value) ** 2 / 2 + kappa * abs(exact(value)))
    costs, v = Fraction(0), [Fraction(0)] * oracle.d
    for i in range(n):
        weights = [(label, exact(weight)) for label, weight in r.alpha.of(i)]
        total = max(Fraction(1), sum(weight for _, weight in weights))
        for label, weight in weights:
            (indices, values), delta = oracle.features(i, label)
            costs += weight / total * exact(delta)
            for j, x in zip(indices, values, strict=True):
                v[j] += weight / total * exact(x)
    v = [value / (lam * n) for value in v]
    g = sum(max(abs(value) - kappa, 0) ** 2 for value in v) / 2
    return P, costs / n - lam * g


def chain(seed, spread):
    """A few short chains, with entries of very different sizes."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 4, 4)
    X = rng.normal(size=(int(lengths.sum()), 2)) * 10.0 ** rng.integers(-spread, spread + 1, 2)
    X[rng.random(X.shape) < 0.2] *= 1e6
    y = rng.integers(0, 3, len(X))
    oracle = oracles.Chain(X, y, lengths, classes=[0, 1, 2])
    return oracle, lambda i: itertools.product(range(3), repeat=int(oracle.lengths[i]))


def tree(seed, spread):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4, 2)) * 10.0 ** rng.integers(-spread, spread + 1, 2)
    oracle = oracles.Multilabel(X, rng.integers(0, 2, (4, 3)), [(0, 2), (1, 2)])
    return oracle, lambda i: itertools.product((0, 1), repeat=3)


@pytest.mark.parametrize("make", [chain, tree])
@given(
    seed=st.integers(0, 100_000),
    spread=st.sampled_from([0, 3, 40]),
    log_lam=st.integers(-6, 6),
    epochs=st.integers(0, 6),
    cache=st.booleans(),
    reg=st.sampled_from(["l2", "l1l2"]),
    output=st.sampled_from(["last", "average", "best"]),
)
@settings(max_examples=60, deadline=None)
def test_rounding_bounds_the_error_of_primal_and_dual(
    make, seed, spread, log_lam, epochs, cache, reg, output
):
    oracle, labels = make(seed, spread)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", proxsdca.ConvergenceWarning)
        r = structured.solve(
            oracle, 10.0**log_lam, reg, max_epochs=epochs, cache=cache, output=output, T0=3, tol=0
        )
    P, D = objectives(oracle, r, labels)
    assert abs(exact(r.primal) - P) + abs(exact(r.dual) - D) <= exact(r.rounding)
    assert P >= D
    size = abs(r.primal) + abs(r.dual) + float(np.abs(r.w).max()) ** 2 * r.lam
    assert r.rounding <= 1e-6 * size + 1e-300


def test_a_wide_choice_of_scales_is_solved_or_refused():
    rng = np.random.default_rng(0)
    for log in (-160, -100, -20, 20, 100, 149, 160):
        for log_lam in (-200, -50, 0, 50, 200):
            X = rng.normal(size=(12, 3)) * 10.0**log
            oracle = oracles.Chain(X, np.arange(12) % 3, [4, 4, 4])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", proxsdca.ConvergenceWarning)
                try:
                    r = structured.solve(oracle, 10.0**log_lam, max_epochs=20)
                except proxsdca.NumericalError:
                    continue
            assert np.isfinite([r.primal, r.dual, r.gap, r.rounding]).all()
            assert np.isfinite(r.w).all()
            assert r.gap >= -r.rounding


def cancelling(kind):
    """One example and a w for which the largest margin is lost in the rounding of scores."""
    X = np.array([[1e16, 1.0, -1e16], [0.0, 0.0, 0.0]])
    # class 0 has the score 0, class 1 the score 1, of which (1e16 + 1) - 1e16 leaves 0
    unary = np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 1.0]])
    if kind is oracles.Multiclass:
        oracle = kind(X, [0, 1], cost=np.zeros((2, 2)))
        return oracle, unary.ravel(), lambda i: range(2)
    if kind is oracles.Chain:
        oracle = kind(X, [0, 1], [1, 1], normalize=True)
        w = np.concatenate([unary.ravel(), np.zeros(8)])
        w[-4] = 1.5  # the start of class 0, which makes up for the cost of class 1
        return oracle, w, lambda i: [(0,), (1,)]
    # the label costs 1 and has the score 1 - 1.5, of which rounding leaves -1.5
    oracle = kind(np.column_stack([X, [1.0, 0.0]]), [[0], [0]], [])
    return oracle, np.array([1.0, 1.0, 1.0, -1.5]), lambda i: [(0,), (1,)]


@pytest.mark.parametrize("kind", [oracles.Multiclass, oracles.Chain, oracles.Multilabel])
def test_a_maximum_that_rounding_hides_is_allowed_for(kind):
    oracle, w, labels = cancelling(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", proxsdca.ConvergenceWarning)
        alpha = structured.solve(oracle, 1.0, max_epochs=0).alpha
    found = structured.certify(oracle, w, alpha, lam=1.0)
    P = sum(max(m.values()) for m in margins(oracle, w, labels)) / 2
    P += sum(exact(value) ** 2 for value in w) / 2
    assert exact(found.primal) + exact(found.rounding) >= P
    assert 0.1 < found.rounding < 1e3
    assert exact(found.primal) < P - Fraction(1, 10)  # it was hidden indeed
