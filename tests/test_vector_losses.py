"""Laws of the vector-valued losses: conjugates, subgradients, and every step option on its own."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize
from scipy.special import entr, logsumexp
from vector_twin import costs, formulas, line_search, project

from proxsdca.losses import OPTIONS, VECTOR_LOSSES, MulticlassHinge, Softmax

NAMES = tuple(VECTOR_LOSSES)


def skewed(k, seed=0):
    """Costs that are neither symmetric nor all alike, some of them 0."""
    rng = np.random.default_rng(seed)
    cost = rng.random((k, k)) * 2 * (rng.random((k, k)) < 0.8)
    np.fill_diagonal(cost, 0)
    return cost


def losses(k, seed=0):
    return [MulticlassHinge(), MulticlassHinge(skewed(k, seed)), Softmax()]


@st.composite
def loss_and_point(draw):
    """A loss, z, y and a beta of the simplex, corners and edges among them."""
    k = draw(st.integers(2, 7))
    loss = draw(st.sampled_from(losses(k, draw(st.integers(0, 3)))))
    z = np.array(draw(st.lists(st.floats(-20, 20), min_size=k, max_size=k)))
    raw = np.array(draw(st.lists(st.floats(0, 1), min_size=k, max_size=k)))
    raw = np.where(raw < 0.3, 0, raw)
    beta = raw / raw.sum() if raw.sum() > 0 else np.eye(k)[draw(st.integers(0, k - 1))]
    return loss, z, draw(st.integers(0, k - 1)), beta


def unit(k, y):
    return np.eye(k)[y]


@given(loss_and_point())
def test_fenchel_young_with_equality_at_the_subgradient(point):
    loss, z, y, beta = point
    k = len(z)
    a = beta - unit(k, y)
    value = loss.value(z, y)[0]
    assert value + loss.conjugate(a, y)[0] >= a @ z - 1e-9 * (1 + np.abs(z).max())
    u = loss.subgradient(z, y)[0]
    assert u.sum() == pytest.approx(0, abs=1e-12)
    assert value + loss.conjugate(u, y)[0] == pytest.approx(u @ z, abs=1e-9 * (1 + np.abs(z).max()))


@given(loss_and_point(), st.lists(st.floats(-5, 5), min_size=7, max_size=7))
def test_a_subgradient_bounds_from_below_and_L_from_above(point, shift):
    loss, z, y, _ = point
    h = np.array(shift[: len(z)])
    value, moved = loss.value(z, y)[0], loss.value(z + h, y)[0]
    assert moved >= value + loss.subgradient(z, y)[0] @ h - 1e-9
    assert abs(moved - value) <= loss.lipschitz * np.abs(h).max() + 1e-9
    if loss.gamma > 0:
        bound = value + loss.subgradient(z, y)[0] @ h + np.abs(h).max() ** 2 / (2 * loss.gamma)
        assert moved <= bound + 1e-9


@given(loss_and_point(), st.floats(0, 1), st.integers(0, 99))
def test_the_conjugate_is_strongly_convex_in_the_norm_1(point, t, seed):
    loss, z, y, beta = point
    k, rng = len(z), np.random.default_rng(seed)
    other = rng.dirichlet(np.ones(k))
    a, b = beta - unit(k, y), other - unit(k, y)
    between = loss.conjugate(t * a + (1 - t) * b, y)[0]
    chord = t * loss.conjugate(a, y)[0] + (1 - t) * loss.conjugate(b, y)[0]
    assert between <= chord - loss.gamma / 2 * t * (1 - t) * np.abs(a - b).sum() ** 2 + 1e-10


def conjugate_by_lp(a, delta, y):
    """max over (v, t) of v.a - t such that t >= delta_j - v_y + v_j for every j."""
    k = len(a)
    constraints = np.hstack([np.eye(k), -np.ones((k, 1))])
    constraints[:, y] -= 1
    found = linprog(
        np.append(-a, 1.0), A_ub=constraints, b_ub=-delta, bounds=[(None, None)] * (k + 1)
    )
    return -found.fun if found.status == 0 else np.inf


@pytest.mark.parametrize("k", [2, 3, 5])
def test_the_hinges_conjugate_against_a_linear_programme(k):
    rng = np.random.default_rng(k)
    for loss in losses(k)[:2]:
        for _ in range(10):
            y, beta = int(rng.integers(k)), rng.dirichlet(np.ones(k))
            a = beta - unit(k, y)
            assert loss.conjugate(a, y)[0] == pytest.approx(
                conjugate_by_lp(a, costs(loss, y, k), y), abs=1e-8
            )
        for outside in (np.eye(k)[0], -np.eye(k)[0], 1.5 * (unit(k, 1) - unit(k, 0))):
            y = 0
            assert conjugate_by_lp(outside, costs(loss, y, k), y) == np.inf
            assert loss.conjugate(outside, y)[0] == np.inf


def test_softmaxs_conjugate_against_a_numerical_one():
    rng = np.random.default_rng(0)
    for k in (2, 3, 6):
        for _ in range(5):
            y, beta = int(rng.integers(k)), rng.dirichlet(np.ones(k))
            a = beta - unit(k, y)
            found = minimize(lambda z, a=a, y=y: Softmax().value(z, y)[0] - a @ z, np.zeros(k))
            assert Softmax().conjugate(a, y)[0] == pytest.approx(-found.fun, abs=1e-6)
        corner = unit(k, 1) - unit(k, 0)
        assert Softmax().conjugate(corner, 0)[0] == 0
        assert Softmax().conjugate(np.zeros(k), 0)[0] == 0
        assert Softmax().conjugate(-corner, 0)[0] == np.inf


curvatures = st.floats(-9, 9).map(lambda exponent: 10.0**exponent)


def gained(loss, y, m, q, beta, new):
    """What the step's own problem rises by."""
    phi = formulas(loss, y, len(m))
    clipped = np.clip(new, 0, 1)
    return (
        phi.omega(beta) - phi.omega(clipped) + m @ (new - beta) - q / 2 * np.sum((new - beta) ** 2)
    )


@given(loss_and_point(), curvatures)
def test_every_option_stays_in_the_domain_and_raises_the_dual(point, q):
    loss, m, y, beta = point
    e_y = unit(len(m), y)
    for option in loss.options:
        new = e_y - loss.step(e_y - beta, m, y, q, option, 1.5 * q)
        assert new.min() >= -1e-12
        assert new.max() <= 1 + 1e-12
        assert new.sum() == pytest.approx(1, abs=1e-9)
        size = 1 + np.abs(m).max() + q * np.sum((new - beta) ** 2)
        assert gained(loss, y, m, q, beta, new) >= -1e-9 * size


@given(loss_and_point(), curvatures)
def test_option_I_is_the_best_of_all(point, q):
    """Against the other options, the twin's formula, and random points of the simplex."""
    loss, m, y, beta = point
    k, e_y = len(m), unit(len(m), y)
    new = e_y - loss.step(e_y - beta, m, y, q)
    best = gained(loss, y, m, q, beta, new)
    others = [e_y - loss.step(e_y - beta, m, y, q, option) for option in loss.options]
    others += list(np.random.default_rng(0).dirichlet(np.full(k, 0.3), 50)) + list(np.eye(k))
    if loss.name == "multiclass_hinge":
        others.append(project(beta + (costs(loss, y, k) + m) / q))
    for other in others:
        rival = gained(loss, y, m, q, beta, other)
        # Newton's method for softmax stops where what is left is of second order
        assert best >= rival - 2e-6 * abs(rival) - 1e-9 * (1 + np.abs(m).max())


@given(loss_and_point(), curvatures)
def test_steps_near_the_best_rise_nearly_as_much(point, q):
    loss, m, y, beta = point
    e_y = unit(len(m), y)
    best, near = (
        gained(loss, y, m, q, beta, e_y - loss.step(e_y - beta, m, y, q, near=near))
        for near in (False, True)
    )
    assert near >= 0.99 * best - 1e-9 * (1 + np.abs(m).max() + q)


def test_exponentials_and_logarithms_are_good_to_five_roundings():
    """Which is what certificates count on, of the eight that EVALUATION allows for."""
    if np.finfo(np.longdouble).eps > 1e-18:
        pytest.skip("there are no numbers to compare with")
    rng = np.random.default_rng(0)
    gap = np.concatenate([rng.random(20_000) * top for top in (1e-3, 2, 700)])
    z = np.column_stack([np.zeros_like(gap), -gap])
    b = Softmax().subgradient(z, 0) + np.array([1, 0])
    ratio = b[:, 1].astype(np.longdouble) / b[:, 0]
    # two products and the ratio itself are rounded too
    assert (abs(ratio / np.exp(-gap.astype(np.longdouble)) - 1) < 7 * 2.0**-53).all()
    beta = np.exp(-gap)[:, None]
    for at in (beta, 1 - beta / 2):
        exact = at.astype(np.longdouble) * np.log(at.astype(np.longdouble))
        found = [Softmax()._rows(1, row[None], [0])[0] for row in at[::10]]
        off = abs(found - exact[::10, 0])
        assert (off <= 5 * 2.0**-53 * abs(exact[::10, 0])).all()


@given(loss_and_point(), curvatures)
def test_steps_beyond_the_best_keep_most_of_its_rise(point, q):
    loss, m, y, beta = point
    e_y = unit(len(m), y)
    best, beyond = (
        e_y - loss.step(e_y - beta, m, y, q, near=go, beyond=go) for go in (False, True)
    )
    assert beyond.min() >= 0
    assert beyond.sum() == pytest.approx(1)
    rise, kept = (gained(loss, y, m, q, beta, new) for new in (best, beyond))
    assert kept >= 0.8 * rise - 1e-9 * (1 + np.abs(m).max() + q)


def test_steps_go_beyond_the_best_where_they_are_short():
    """By a third of the way, the more the larger q; a step of a hinge would leave the simplex."""
    rng = np.random.default_rng(0)
    beta, m, e_y = rng.dirichlet(np.ones(6)), rng.normal(size=6), unit(6, 0)
    for q in (0.1, 2.0, 100.0):
        best, beyond, *hinge = (
            e_y - loss.step(e_y - beta, m, 0, q, beyond=go) - beta
            for loss in (Softmax(), MulticlassHinge())
            for go in (False, True)
        )
        assert beyond == pytest.approx(best * (1 + 0.33 * q**2 / (4 + q**2)), rel=1e-6)
        assert np.array_equal(*hinge)


@pytest.mark.parametrize("k", [2, 4, 9])
def test_option_I_against_cvxpy(k):
    rng = np.random.default_rng(k)
    for loss in losses(k):
        for q in (0.03, 1.0, 40.0):
            y, beta, m = int(rng.integers(k)), rng.dirichlet(np.ones(k)), rng.normal(size=k) * 3
            x = cp.Variable(k, nonneg=True)
            omega = -costs(loss, y, k) @ x if loss.sparse else -cp.sum(cp.entr(x))
            problem = cp.Problem(
                cp.Minimize(omega - m @ x + q / 2 * cp.sum_squares(x - beta)), [cp.sum(x) == 1]
            )
            problem.solve(solver=cp.CLARABEL)
            new = unit(k, y) - loss.step(unit(k, y) - beta, m, y, q)
            phi = formulas(loss, y, k)
            value = phi.omega(new) - m @ new + q / 2 * np.sum((new - beta) ** 2)
            assert value == pytest.approx(problem.value, abs=2e-6 * (1 + abs(problem.value)))


@given(loss_and_point(), curvatures)
def test_option_II_against_a_grid(point, q):
    loss, m, y, beta = point
    e_y = unit(len(m), y)
    u = loss.subgradient(m, y)[0] + e_y
    new = e_y - loss.step(e_y - beta, m, y, q, "II")
    phi, z = formulas(loss, y, len(m)), u - beta
    grid = [gained(loss, y, m, q, beta, beta + s * z) for s in np.linspace(0, 1, 101)]
    s = line_search(phi, beta, m, z, q * (z @ z))
    grid.append(gained(loss, y, m, q, beta, beta + s * z))
    size = 1 + np.abs(m).max()
    assert gained(loss, y, m, q, beta, new) >= max(grid) - 1e-9 * size


@given(loss_and_point(), st.floats(-3, 3).map(lambda exponent: 10.0**exponent), st.floats(1, 3))
def test_options_III_to_V_are_what_PC3_promises(point, q, wider):
    """(PC3): the rise is at least s (excess + ...), for the option's own s in [0, 1]."""
    loss, m, y, beta = point
    k, e_y = len(m), unit(len(m), y)
    phi = formulas(loss, y, k)
    u = phi.attain(m)
    size = np.abs(u - beta).sum() ** 2
    excess = phi.value(m) + phi.omega(beta) + m[y] - m @ beta
    for option in ("III", "IV", "IV-4L2", "IV-L2", "V"):
        if option not in loss.options:
            continue
        bound = q if option == "III" else q * wider
        z_sq = {"IV-4L2": 16.0, "IV-L2": 4.0}.get(option, size)
        if option == "V":
            s = loss.gamma / (loss.gamma + bound)
        else:
            s = (excess + loss.gamma / 2 * z_sq) / (z_sq * (loss.gamma + bound)) if z_sq else 0
            s = min(max(s, 0), 1)
        new = e_y - loss.step(e_y - beta, m, y, q, option, q * wider)
        np.testing.assert_allclose(new, beta + s * (u - beta), atol=1e-9)
        # |z|_2 <= |z|_1, so the rise is at least what the bound in the norm |.|_1 says
        promised = s * (excess + (loss.gamma * (1 - s) - s * q) / 2 * size)
        rise = gained(loss, y, m, q, beta, new)
        assert rise >= promised - 1e-8 * (1 + abs(excess) + q * size)


@pytest.mark.parametrize("name", NAMES)
def test_options_that_exist(name):
    loss = VECTOR_LOSSES[name]()
    missing = {"V"} if loss.gamma == 0 else {"IV-4L2", "IV-L2"}
    assert set(OPTIONS) - set(loss.options) == missing
    for option in missing:
        with pytest.raises(ValueError, match=f"option = '{option}' does not exist for loss"):
            loss.step(np.zeros(3), np.zeros(3), 0, 1.0, option)


def test_extreme_margins_and_curvatures():
    """No NaN, and the limits that one expects."""
    for loss in losses(4):
        for scale in (1e-300, 1e-10, 1e10, 1e150):
            m = np.array([1.0, -2.0, 0.5, 0.0]) * scale
            for q in (1e-300, 1e-10, 1.0, 1e10, 1e200):
                for beta in (np.eye(4)[1], np.full(4, 0.25), np.array([0.5, 0.5, 0, 0])):
                    for option in loss.options:
                        new = loss.step(np.eye(4)[1] - beta, m, 1, q, option)
                        assert np.isfinite(new).all()
                        assert abs(new.sum()) < 1e-9
    # a row of zeros: nothing but the margins decides
    m = np.array([3.0, 1.0, 0.0])
    hinge = MulticlassHinge().step(np.zeros(3), m, 1, 0.0)
    np.testing.assert_array_equal(hinge, [-1, 1, 0])
    soft = Softmax().step(np.zeros(3), m, 1, 0.0)
    np.testing.assert_allclose(soft, np.eye(3)[1] - np.exp(m) / np.exp(m).sum(), atol=1e-9)


@pytest.mark.parametrize("k", [50, 1000, 3000])
def test_many_classes(k):
    rng = np.random.default_rng(k)
    for loss in (MulticlassHinge(), Softmax()):
        beta, m = rng.dirichlet(np.ones(k)), rng.normal(size=k)
        e_y = unit(k, 3)
        new = e_y - loss.step(e_y - beta, m, 3, 20.0)
        assert new.sum() == pytest.approx(1, abs=1e-9)
        rise = gained(loss, 3, m, 20.0, beta, new)
        assert rise >= gained(loss, 3, m, 20.0, beta, e_y - loss.step(e_y - beta, m, 3, 20.0, "II"))
        if loss.sparse:
            expected = project(beta + (costs(loss, 3, k) + m) / 20.0)
            np.testing.assert_allclose(new, expected, atol=1e-12)


def test_public_methods_refuse_what_would_be_read_beyond_its_end():
    for loss in losses(2):
        for y in ([5], [-1], [10**6], ["a"], [0, 1]):
            with pytest.raises(ValueError, match="y"):
                loss.value([[0.0, 0.0]], y)
            with pytest.raises(ValueError, match="y"):
                loss.subgradient([[0.0, 0.0]], y)
            with pytest.raises(ValueError, match="y"):
                loss.conjugate([[0.0, 0.0]], y)
        with pytest.raises(ValueError, match="z has shape"):
            loss.value(np.zeros((1, 0)), [0])
        with pytest.raises(ValueError, match=r"y\[0\] = 7"):
            loss.step(np.zeros(2), np.zeros(2), 7, 1.0)
        with pytest.raises(ValueError, match="alpha has shape"):
            loss.step(np.zeros(3), np.zeros(2), 0, 1.0)
    with pytest.raises(ValueError, match=r"cost has shape \(2, 2\), \(3, 3\)"):
        losses(2)[1].value(np.zeros((1, 3)), [0])


def test_softmaxs_own_exponentials_and_logarithms_are_good_to_a_few_units():
    """Through `subgradient`, `value` and `conjugate`, and steps that undo numpy's log."""
    for spread in (1e-3, 1.0, 30.0, 700.0, 5000.0):
        z = np.random.default_rng(7).uniform(-spread, 0, (200, 7))
        z[:, 3] = 0
        beta = Softmax().subgradient(z, np.full(200, 3)) + unit(7, 3)
        expected = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
        assert np.abs(beta - expected).max() <= 1e-15
        far = z[:, 0] > -700
        assert np.allclose(beta[far, 0], expected[far, 0], rtol=5e-15, atol=0)
        value = logsumexp(z, axis=1)
        assert np.allclose(Softmax().value(z, np.full(200, 3)), value, rtol=1e-14, atol=1e-15)
        entropy = entr(beta).sum(axis=1)
        found = Softmax().conjugate(beta - unit(7, 3), np.full(200, 3))
        assert np.allclose(-found, entropy, rtol=1e-13, atol=1e-15)
    for size in (1e-12, 1e-6, 0.1):  # nothing is to be gained where beta is what m asks for
        beta = np.array([size, 0.3 - size, 0.7])
        kept = unit(3, 2) - Softmax().step(unit(3, 2) - beta, np.log(beta), 2, 1.0)
        assert np.allclose(kept, beta, rtol=1e-14, atol=1e-16)  # log itself is rounded
