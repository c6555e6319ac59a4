"""Laws that every loss obeys, and every step option on its own one-dimensional problem."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy_twin import formulas
from numpy_twin import step as twin_step
from problems import LOSS_NAMES, all_losses
from scipy.optimize import minimize_scalar

from proxsdca.losses import LOSSES, OPTIONS, Hinge, Huber, Loss

losses = st.sampled_from(all_losses())
margins = st.floats(-6, 6)
unit = st.floats(0, 1)


def target(draw, loss):
    if loss.classification:
        return draw(st.sampled_from([-1.0, 1.0]))
    if loss.target_min == 0:
        return draw(st.one_of(st.integers(0, 5).map(float), st.floats(0, 5)))
    return draw(st.floats(-4, 4))


def dual_point(draw, loss, y, reach=4.0):
    """b in the domain of phi*(-b), its ends included."""
    lower, upper = loss.domain(y)
    lower, upper = max(lower, -reach), min(upper, reach)
    return draw(st.one_of(st.just(lower), st.just(upper), st.floats(lower, upper)))


@st.composite
def loss_and_point(draw, margin=margins):
    loss = draw(losses)
    y = target(draw, loss)
    return loss, y, draw(margin), dual_point(draw, loss, y)


@given(loss_and_point())
def test_fenchel_young(point):
    loss, y, z, b = point
    assert loss.value(z, y) + loss.conjugate(-b, y) >= -z * b - 1e-12 * (1 + abs(z * b))


@given(loss_and_point())
def test_equality_at_the_subgradient(point):
    loss, y, z, _ = point
    a = loss.subgradient(z, y)
    value = loss.value(z, y)
    assert loss.conjugate(a, y) == pytest.approx(
        z * a - value, abs=1e-11 * (1 + value + abs(z * a))
    )


@given(loss_and_point(), margins, unit)
def test_value_is_convex_and_not_negative(point, other, s):
    loss, y, z, _ = point
    mixed = loss.value(s * z + (1 - s) * other, y)
    chord = s * loss.value(z, y) + (1 - s) * loss.value(other, y)
    assert mixed <= chord + 1e-12 * (1 + chord)
    assert mixed >= -1e-12


@given(st.data())
def test_conjugate_is_gamma_strongly_convex(data):
    loss, y, _, b = data.draw(loss_and_point())
    c, s = dual_point(data.draw, loss, y), data.draw(unit)
    between = np.clip(s * b + (1 - s) * c, min(b, c), max(b, c))  # rounding may leave the domain
    mixed = loss.conjugate(-between, y)
    chord = s * loss.conjugate(-b, y) + (1 - s) * loss.conjugate(-c, y)
    assert mixed <= chord - loss.gamma / 2 * s * (1 - s) * (b - c) ** 2 + 1e-12 * (1 + abs(chord))


@given(loss_and_point(), margins)
def test_lipschitz_constant(point, other):
    loss, y, z, b = point
    if np.isfinite(loss.lipschitz):
        change = abs(loss.value(z, y) - loss.value(other, y))
        assert change <= loss.lipschitz * abs(z - other) + 1e-12
        assert abs(b) <= loss.lipschitz
    else:
        assert abs(loss.subgradient(-1e3, y)) > 4 or abs(loss.subgradient(1e2, y)) > 4


@pytest.mark.parametrize("loss", all_losses(), ids=repr)
def test_the_constants_are_the_best(loss):
    """gamma and L are attained, not merely valid."""
    z = np.linspace(-8, 8, 3201)
    y = 1.0
    if loss.gamma > 0:
        curvature = np.diff(loss.subgradient(z, y)) / np.diff(z)
        assert curvature.max() == pytest.approx(1 / loss.gamma, rel=1e-4)
    if np.isfinite(loss.lipschitz):
        assert np.abs(loss.subgradient(z, y)).max() == pytest.approx(loss.lipschitz, rel=1e-3)


@given(loss_and_point())
def test_domain(point):
    loss, y, _, b = point
    assert np.isfinite(loss.conjugate(-b, y))
    lower, upper = loss.domain(y)
    for end, away in ((lower, -1), (upper, 1)):
        if np.isfinite(end):
            assert loss.conjugate(-(end + away * 1e-9), y) == np.inf


@given(loss_and_point())
def test_conjugate_against_a_numerical_maximiser(point):
    loss, y, _, b = point
    lower, upper = loss.domain(y)
    b = np.clip(b, lower + 0.02, upper - 0.02)  # at the ends the maximiser runs off to infinity
    if not np.isfinite(loss.conjugate(-b, y)):
        return  # an interval shorter than that
    found = minimize_scalar(
        lambda z: float(loss.value(z, y)) + z * b, bounds=(-30, 30), options={"xatol": 1e-10}
    )
    grid = np.linspace(-30, 30, 4001)
    best = max(-found.fun, np.max(-grid * b - loss.value(grid, y)))
    assert loss.conjugate(-b, y) == pytest.approx(best, abs=1e-6)


@given(loss_and_point())
def test_formulas_of_the_twin(point):
    loss, y, z, b = point
    twin = formulas(loss)
    for ours, theirs in (
        (loss.value(z, y), twin.value(z, y)),
        (loss.conjugate(-b, y), twin.conjugate(-b, y)),
        (loss.subgradient(z, y), twin.slope(z, y)),
    ):
        assert ours == pytest.approx(theirs, rel=1e-12, abs=1e-12)


curvatures = st.floats(-12, 12).map(lambda exponent: 10.0**exponent)


@given(
    loss_and_point(st.one_of(margins, st.floats(-1e8, 1e8), st.sampled_from([-1e8, 1e8]))),
    curvatures,
)
def test_option_I_is_exact_for_any_input(point, q):
    """The one-dimensional problem's own duality gap at the new b is down to rounding.

    With m' = m + q (b' - b), phi(m') + phi*(-b') + m' b' bounds how far b' is from the best.
    """
    loss, y, m, b = point
    new = loss.step(b, m, y, q)
    lower, upper = loss.domain(y)
    assert lower <= new <= upper
    margin = m + q * (new - b)
    gap = loss.value(margin, y) + loss.conjugate(-new, y) + margin * new
    # what a rounding of b' and of m' moves: b' (m' + q b') and the loss's own slope
    scale = (1 + abs(new) + abs(b)) * (1 + abs(m) + q * (abs(new) + abs(b)))
    if gap > 1e-13 * scale:
        # m' may be cancellation's; then no neighbour of b' may be better than rounding
        def cost(c):
            return loss.conjugate(-c, y) + m * c + q / 2 * (c - b) ** 2

        for away in (1e-3, 1e-6, 1e-9):
            for c in (new + away * (1 + abs(new)), new - away * (1 + abs(new))):
                if lower <= c <= upper:
                    noise = 1e-15 * (abs(m * c) + q * (c * c + b * b) + abs(loss.conjugate(-c, y)))
                    assert cost(new) <= cost(c) + noise
        assert gap <= 1e-9 * scale


@given(loss_and_point(), st.floats(-3, 3).map(lambda exponent: 10.0**exponent), st.floats(1, 3))
def test_every_option_against_a_grid_or_the_paper(point, q, larger):
    loss, y, m, b = point
    u = -float(loss.subgradient(m, y))

    def cost(c):
        return loss.conjugate(-c, y) + m * c + q / 2 * (c - b) ** 2

    lower, upper = (float(np.clip(end, -30, 30)) for end in loss.domain(y))
    for option in loss.options:
        new = loss.step(b, m, y, q, option, q * larger)
        assert new == pytest.approx(
            twin_step(loss, option, b, m, y, q, q * larger), rel=1e-9, abs=1e-9
        )
        assert cost(new) <= cost(b) + 1e-12 * (1 + abs(cost(b))) or option == "V"
        if option in ("I", "II"):
            first, last = (lower, upper) if option == "I" else (min(b, u), max(b, u))
            grid = np.linspace(max(first, -30), min(last, 30), 2001)
            assert cost(new) <= np.min(cost(grid)) + 1e-9 * (1 + abs(cost(new)))
        assert min(b, u) - 1e-9 <= new <= max(b, u) + 1e-9  # all of them stay between b and u


@given(loss_and_point(), st.floats(-3, 3).map(lambda exponent: 10.0**exponent), unit)
def test_option_III_reaches_what_PC3_promises_for_every_s(point, q, s):
    loss, y, m, b = point
    z = -float(loss.subgradient(m, y)) - b
    excess = loss.value(m, y) + loss.conjugate(-b, y) + m * b
    promised = s * (excess + (loss.gamma * (1 - s) - s * q) / 2 * z * z)
    for option in ("I", "II", "III"):
        new = loss.step(b, m, y, q, option)
        gained = loss.conjugate(-b, y) - loss.conjugate(-new, y) - m * (new - b)
        gained -= q / 2 * (new - b) ** 2
        assert gained >= promised - 1e-10 * (1 + abs(excess) + q * z * z)


@pytest.mark.parametrize("name", LOSS_NAMES)
def test_options_that_exist(name):
    loss = LOSSES[name]()
    smooth, lipschitz = loss.gamma > 0, np.isfinite(loss.lipschitz)
    assert set(OPTIONS) - set(loss.options) == (
        {"IV-L2"}  # the remark's, for vector-valued losses
        | (set() if smooth else {"V"})
        | (set() if lipschitz and not smooth else {"IV-4L2"})
    )
    for option in set(OPTIONS) - set(loss.options):
        with pytest.raises(
            ValueError, match=f"option = '{option}' does not exist for loss '{name}'"
        ):
            loss.step(0.0, 0.0, 1.0, 1.0, option)


@pytest.mark.parametrize("loss", all_losses(), ids=repr)
def test_repr_equality_and_pickling(loss):
    assert eval(repr(loss), vars(__import__("proxsdca.losses", fromlist=["*"]))) == loss
    assert pickle.loads(pickle.dumps(loss)) == loss
    assert hash(pickle.loads(pickle.dumps(loss))) == hash(loss)
    assert isinstance(loss, Loss)


def test_losses_with_other_parameters_differ():
    assert Huber(0.5) != Huber(1.0)
    assert Hinge() != Huber(1.0)


@pytest.mark.parametrize(
    ("name", "parameter", "bad"),
    [
        ("smooth_hinge", "gamma", (0, -1, np.inf, np.nan)),
        ("quantile", "tau", (0, 1, -0.5, np.nan)),
        ("epsilon_insensitive", "eps", (-1e-9, np.inf, np.nan)),
        ("huber", "delta", (0, -1, np.inf, np.nan)),
    ],
)
def test_bad_parameters(name, parameter, bad):
    for value in bad:
        with pytest.raises(ValueError, match=f"{parameter} = .*is needed"):
            LOSSES[name](value)
