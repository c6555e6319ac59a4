"""What `proxsdca.testing` says of losses and regularisers, right ones and wrong ones."""

import ctypes
import math
import re
import subprocess
import sys

import numpy as np
import pytest
from problems import all_losses
from scipy.special import xlog1py, xlogy

from proxsdca.losses import CompiledLoss, Huber, Logistic, Loss, Squared
from proxsdca.regularizers import L1L2, Group, Regularizer
from proxsdca.testing import Finding, LawError, Report, check_loss, check_regularizer


def laws(findings):
    return {found.law for found in findings}


# --------------------------------------------------------------------------- right losses


class Expectile(Loss):
    def __init__(self, tau=0.3):
        super().__init__(gamma=0.5 / max(tau, 1 - tau))
        self.tau = tau

    def weight(self, r):
        return 2 * np.where(r > 0, 1 - self.tau, self.tau)

    def value(self, z, y):
        return self.weight(z - y) * (z - y) ** 2 / 2

    def subgradient(self, z, y):
        return self.weight(z - y) * (z - y)

    def conjugate(self, a, y):
        return a * y + a * a / (2 * self.weight(a))


class Solved(Loss):
    """The logistic loss, with no conjugate."""

    gamma, lipschitz, classification = 4.0, 1.0, True

    def value(self, z, y):
        return np.logaddexp(0, -y * z)

    def subgradient(self, z, y):
        return -y / (1 + np.exp(np.minimum(y * z, 700)))


class Smooth(Solved):
    def conjugate(self, a, y):
        t = -y * a
        return np.where((t >= 0) & (t <= 1), xlogy(t, t) + xlog1py(1 - t, -t), np.inf)


class Pinball(Loss):
    """0.3 (y - z) where y > z, else 0.7 (z - y)."""

    lipschitz = 0.7

    def value(self, z, y):
        return np.maximum(0.3 * (y - z), 0.7 * (z - y))

    def subgradient(self, z, y):
        return np.where(z > y, 0.7, -0.3)

    def conjugate(self, a, y):
        return np.where((a >= -0.3) & (a <= 0.7), a * y, np.inf)

    def domain(self, y):
        return -0.7, 0.3

    def exact_step(self, b, m, y, q):
        return min(max(b + (y - m) / q, -0.7), 0.3)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("loss", all_losses(), ids=repr)
def test_built_in_losses_obey_all_laws(loss, seed):
    report = check_loss(loss, seed=seed)
    assert report.ok
    assert not report.remarks


@pytest.mark.parametrize("loss", [Expectile(), Expectile(0.9), Smooth(), Pinball()], ids=repr)
def test_right_losses_pass_without_remarks(loss):
    for seed in range(3):
        assert check_loss(loss, seed=seed) == Report(repr(loss), (), ())


def test_bad_arguments():
    for targets, words in (([], "targets is empty"), ([1.0, np.nan], r"targets\[1\] = nan")):
        with pytest.raises(ValueError, match=words):
            check_loss(Solved(), targets)
    for more in ({"d": 0}, {"lam": 0.0}, {"sigma": np.nan}):
        with pytest.raises(ValueError, match=f"{next(iter(more))} = "):
            check_regularizer(ElasticNet(), **more)


def test_a_conjugate_that_is_solved_for():
    assert laws(check_loss(Solved()).remarks) == {"conjugate"}
    assert laws(check_loss(Quartic()).remarks) == {"conjugate"}


def test_other_targets():
    assert check_loss(Expectile(), [-1e3, 20.0, 1e5])
    assert check_loss(Squared(), 7)


def test_compiled_losses():
    numbers = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * 2)

    def huber(factor):
        return CompiledLoss(
            name="huber",
            gamma=1.0,
            lipschitz=1.0,
            value=numbers(lambda z, y: min((z - y) ** 2 / 2, 0.5) + max(abs(z - y) - 1, 0)),
            subgradient=numbers(lambda z, y: factor * min(max(z - y, -1), 1)),
            conjugate=numbers(lambda a, y: a * y + a * a / 2 if abs(a) <= 1 else math.inf),
        )

    report = check_loss(huber(1.0))
    assert laws(report.remarks) == {"pickle", "roundings"}
    assert "another process" in str(report)
    assert "subgradient" in laws(check_loss(huber(0.5), raises=False).failures)


def test_numba_losses():
    numba = pytest.importorskip("numba")
    numbers = numba.types.double(numba.types.double, numba.types.double)
    assert check_loss(
        CompiledLoss(
            gamma=1.0,
            value=numba.cfunc(numbers)(lambda z, y: (z - y) ** 2 / 2),
            subgradient=numba.cfunc(numbers)(lambda z, y: z - y),
            conjugate=numba.cfunc(numbers)(lambda a, y: a * y + a * a / 2),
        )
    )


# --------------------------------------------------------------------------- wrong losses


class WrongSign(Expectile):
    def conjugate(self, a, y):
        return a * y - a * a / (2 * self.weight(a))


class WrongSignOfY(Expectile):
    def conjugate(self, a, y):
        return a * a / (2 * self.weight(a)) - a * y


class ConjugateTooSmall(Expectile):
    def conjugate(self, a, y):
        return a * y + a * a / (4 * self.weight(a))


class ConjugateTooLarge(Expectile):
    def conjugate(self, a, y):
        return a * y + a * a / self.weight(a)


class ConjugateOffAtKink(Pinball):
    """Right at all slopes that z have, not between them."""

    def conjugate(self, a, y):
        inside = (a + 0.3) * (0.7 - a)
        return np.where(inside >= 0, a * y + 0.01 * np.maximum(inside, 0), np.inf)


class FiniteBeyond(Pinball):
    def conjugate(self, a, y):
        return a * y


class TooWide(Pinball):
    def domain(self, y):
        return -1.0, 0.3


class Unlimited(Pinball):
    def domain(self, y):
        return -np.inf, np.inf


class TooNarrow(Pinball):
    def domain(self, y):
        return -0.7, 0.2


class ForAInsteadOfB(Pinball):
    def domain(self, y):
        return -0.3, 0.7


class NoInterval(Pinball):
    def domain(self, y):
        return 0.3, -0.7


class TooSmooth(Expectile):
    def __init__(self):
        Loss.__init__(self, gamma=1.0)
        self.tau = 0.3


class NotSmooth(Loss):
    lipschitz, gamma = 0.7, 1.0
    value, subgradient, conjugate = Pinball.value, Pinball.subgradient, Pinball.conjugate


class NotConvex(Expectile):
    def value(self, z, y):
        return super().value(z, y) + 0.5 * np.cos(3 * (z - y))


class SubgradientSign(Expectile):
    def subgradient(self, z, y):
        return -super().subgradient(z, y)


class SubgradientFactor(Expectile):
    def subgradient(self, z, y):
        return 2 * super().subgradient(z, y)


class SubgradientFalls(Pinball):
    def subgradient(self, z, y):
        return np.where(z > y + 2, 0.4, super().subgradient(z, y))


class LipschitzTooSmall(Loss):
    lipschitz = 0.5
    value, subgradient, conjugate = Pinball.value, Pinball.subgradient, Pinball.conjugate


class WrongStep(Pinball):
    def exact_step(self, b, m, y, q):
        return min(max(b + (y - m) / (1 + q), -0.7), 0.3)


class NaN(Expectile):
    def value(self, z, y):
        return super().value(z, y) * np.where(abs(z - y - 0.7) < 0.2, np.nan, 1)


class Infinite(Expectile):
    def value(self, z, y):
        return np.where(z - y > 3, np.inf, super().value(z, y))


class Summed(Expectile):
    def value(self, z, y):
        return np.sum(super().value(z, y))


class Centred(Expectile):
    """Right for numbers, wrong for arrays."""

    def value(self, z, y):
        return super().value(z, y) + (np.mean(z) if np.ndim(z) else z) * 0.01 - 0.01 * z


class InPlace(Expectile):
    def subgradient(self, z, y):
        z -= y
        return self.weight(z) * z


class Unbounded(Expectile):
    def value(self, z, y):
        return -0.5 * z

    def subgradient(self, z, y):
        return -0.5 + 0 * z

    def conjugate(self, a, y):
        return np.where(a == -0.5, 0.0, np.inf)


class Cancels(Expectile):
    """(1e4 + phi) - 1e4."""

    def value(self, z, y):
        return (1e4 + super().value(z, y)) - 1e4

    def value_size(self, z, y):
        return abs(self.value(z, y)) + abs(z - y) * (abs(z) + abs(y))


class ConjugateCancels(Expectile):
    def conjugate(self, a, y):
        return (1e4 + super().conjugate(a, y)) - 1e4


class Raises(Expectile):
    def value(self, z, y):
        if np.any(np.abs(z - y - 0.3) < 0.1):
            raise ZeroDivisionError("no value here")
        return super().value(z, y)


class NumbersOnly(Expectile):
    def value(self, z, y):
        return (0.7 if z > y else 0.3) * (z - y) ** 2


class NoReturn(Solved):
    def value(self, z, y):
        super().value(z, y)


class NoConjugateWrongSign(Solved):
    def subgradient(self, z, y):
        return -super().subgradient(z, y)


class Quartic(Loss):
    """Python's numbers raise where its powers overflow, far out where the domain is read off."""

    def value(self, z, y):
        return (z - y) ** 4 / 4

    def subgradient(self, z, y):
        return (z - y) ** 3


class Overflows(Solved):
    def value(self, z, y):
        if np.ndim(z):
            return np.array([self.value(x, y) for x in z])
        return math.log1p(math.exp(-y * z))


# The mistake, the law that finds it, and what the words have to say.
MISTAKES = [
    (WrongSign, "Fenchel-Young", r"value\(\S+, \S+\) \+ conjugate\(.* is less than z a = "),
    (WrongSign, "conjugate", "above the chord from .*not convex"),
    (WrongSignOfY, "Fenchel-Young", "wrong sign"),
    (WrongSignOfY, "Fenchel-Young equality", "these must be equal"),
    (ConjugateTooSmall, "Fenchel-Young", "the conjugate is too small there"),
    (ConjugateTooLarge, "Fenchel-Young equality", "conjugate.*these must be equal"),
    (ConjugateTooLarge, "conjugate", r"but z a - value\(z\) is \S+ at z = "),
    (ConjugateOffAtKink, "conjugate", r"but z a - value\(z\) is \S+ at z = "),
    (FiniteBeyond, "domain", r"\(-0.7, 0.3\), but conjugate\(.* outside it"),
    (TooWide, "domain", r"goes to -0.7, not to -1, as z goes to inf: it is too wide"),
    (TooWide, "domain", r"conjugate\(\S+, \S+\) is infinite, at b = \S+ inside it"),
    (Unlimited, "domain", r"goes to 0.3, not to inf, as z goes to -inf|not to -inf, .*too wide"),
    (TooNarrow, "domain", r"leaves out b = 0.3 = -subgradient\(\S+\): it is too narrow"),
    (ForAInsteadOfB, "domain", r"\(-0.3, 0.7\) leaves out b = -0.7"),
    (NoInterval, "calls", r"domain\(\S+\) = \(0.3, -0.7\): no interval"),
    (TooSmooth, "gamma", r"gamma = 1, but .*gamma must be 0.714\d* at the most"),
    (NotSmooth, "gamma", "from -0.3 to 0.7, .*only gamma = 0 is valid"),
    (NotConvex, "value", "at .* above the chord from .* not convex"),
    (SubgradientSign, "subgradient", "a wrong sign"),
    (SubgradientSign, "subgradient", "it falls from"),
    (SubgradientFactor, "subgradient", r"is less than value\(\S+\) \+ s \(z' - z\) = "),
    (SubgradientFalls, "subgradient", "it falls from 0.7 at z = .* to 0.4"),
    (LipschitzTooSmall, "lipschitz", r"0.5, but subgradient\(.* = 0.7: L must be at least 0.7"),
    (WrongStep, "exact step", r"step\(b=\S+, m=\S+, y=\S+, q=\S+\) = .* above its least value"),
    (NaN, "calls", r"value\(\S+, -2.3\) = nan"),
    (Infinite, "calls", r"value\(\S+, \S+\) = inf"),
    (Summed, "calls", r"has shape \(\): one number for each"),
    (Centred, "calls", r"alone, but \S+ in an array"),
    (InPlace, "calls", "changes the array"),
    (Unbounded, "bounded", r"subgradient\(100000000, \S+\) = -0.5: value goes on falling"),
    (Cancels, "roundings", "8 roundings of value_size = .*cancel"),
    (
        ConjugateCancels,
        "roundings",
        r"conjugate\(\S+, \S+\) is off by .* 8 roundings of conjugate_size",
    ),
    (Raises, "calls", r"value\(\S+, -2.3\) raised ZeroDivisionError\('no value here'\)"),
    (NoReturn, "calls", "value returns None: is a return missing"),
    (NoConjugateWrongSign, "subgradient", "the slope of value is about .* a wrong sign"),
    (NumbersOnly, "calls", "does not for single numbers: .*np.where for if"),
    (Overflows, "calls", r"value\(-\S+, 1\) raised OverflowError|value\(\d+, -1\) raised Overf"),
]


@pytest.mark.parametrize(("kind", "law", "words"), MISTAKES)
def test_mistakes_in_losses_are_found(kind, law, words):
    if law == "roundings" and np.finfo(np.longdouble).nmant == np.finfo(float).nmant:
        pytest.skip("long double has no more digits")
    for seed in range(2):
        report = check_loss(kind(), seed=seed, raises=False)
        assert not report
        texts = [found.text for found in report.failures if found.law == law]
        assert any(re.search(words, text) for text in texts), str(report)
        with pytest.raises(LawError) as caught:
            check_loss(kind(), seed=seed)
        assert str(caught.value) == str(report)


@pytest.mark.parametrize(
    ("kind", "only"),
    [
        (TooSmooth, {"gamma"}),
        (NotSmooth, {"gamma"}),
        (LipschitzTooSmall, {"lipschitz"}),
        (WrongStep, {"exact step"}),
        (Cancels, {"roundings"}),
        (ConjugateCancels, {"roundings"}),
    ],
)
def test_other_laws_are_not_blamed(kind, only):
    assert laws(check_loss(kind(), raises=False).failures) == only


def test_interruptions_are_not_findings():
    class Interrupted(Expectile):
        def value(self, z, y):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check_loss(Interrupted())


def test_only_losses_are_checked():
    for other in ("hinge", Logistic, L1L2()):
        with pytest.raises(TypeError, match=r"subclass of proxsdca\.losses\.Loss"):
            check_loss(other)


# -------------------------------------------------------------------------------- remarks


class Timid(Loss):
    """gamma and lipschitz as if nothing were known, and -1 added."""

    def value(self, z, y):
        return np.hypot(1, z - y) - 2

    def subgradient(self, z, y):
        return (z - y) / np.hypot(1, z - y)

    def conjugate(self, a, y):
        with np.errstate(invalid="ignore"):
            return np.where(np.abs(a) <= 1, a * y - np.sqrt(1 - a * a) + 2, np.inf)


class Careful(Loss):
    gamma, lipschitz = 0.5, 2.0
    value, subgradient, conjugate = Timid.value, Timid.subgradient, Timid.conjugate


class NeverTheSame(Expectile):
    def __eq__(self, other):
        return self is other

    __hash__ = Expectile.__hash__


def test_remarks():
    remarks = {found.law: found.text for found in check_loss(Timid()).remarks}
    assert remarks.keys() == {"gamma", "lipschitz", "below 0"}
    assert float(remarks["gamma"].split("up to ")[1].split()[0]) == pytest.approx(1, rel=1e-3)
    assert "no slope beyond 1 " in remarks["lipschitz"]
    assert "= -1: reg='l1'" in remarks["below 0"]
    remarks = {found.law: found.text for found in check_loss(Careful()).remarks}
    assert remarks.keys() == {"gamma", "lipschitz", "below 0"}
    assert remarks["gamma"].startswith("0.5, though ")
    assert remarks["lipschitz"].startswith("2, though ")
    assert check_loss(NeverTheSame()).remarks == (Finding("pickle", "it does not equal its copy"),)


def test_the_report_in_words():
    report = Report("Mine()", (Finding("gamma", "too large"),), (Finding("pickle", "no"),))
    assert str(report).splitlines() == [
        "Mine(): 1 law is broken",
        "  gamma: too large",
        "  remark, pickle: no",
    ]
    assert str(check_loss(Huber())) == "Huber(delta=1.0): no law is broken"


def test_import_is_light():
    words = "import sys, proxsdca.testing; sys.exit('scipy.optimize' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", words], cwd="/", check=False).returncode == 0


# --------------------------------------------------------------------------- regularisers


def soft(v, kappa):
    return np.sign(v) * np.maximum(np.abs(v) - kappa, 0)


class ElasticNet(Regularizer):
    separable = has_sigma = True

    def value(self, w, kappa, j):
        return w * w / 2 + kappa * np.abs(w)

    def gradient(self, v, kappa, j):
        return soft(v, kappa)


class Whole(ElasticNet):
    """The same, not taken as separable."""

    separable = False

    def value(self, w, kappa, j):
        return np.sum(super().value(w, kappa, j))


class NonNegative(Regularizer):
    separable = has_sigma = True

    def value(self, w, kappa, j):
        return np.where(w >= 0, w * w / 2 + kappa * np.abs(w), np.inf)

    def gradient(self, v, kappa, j):
        return np.maximum(v - kappa, 0)

    def conjugate(self, v, kappa, j):
        return np.maximum(v - kappa, 0) ** 2 / 2


class Towards(Regularizer):
    """(w_j - c_j)^2 / 2, with a c_j for each feature."""

    separable = True
    centres = np.arange(6) / 3

    def value(self, w, kappa, j):
        return (w - self.centres[j]) ** 2 / 2

    def gradient(self, v, kappa, j):
        return v + self.centres[j]


class Length(Regularizer):
    """|w|_2^2 / 2 + kappa |w|_2."""

    has_sigma = True

    def value(self, w, kappa, j):
        return w @ w / 2 + kappa * np.linalg.norm(w)

    def gradient(self, v, kappa, j):
        return v * max(0, 1 - kappa / max(np.linalg.norm(v), 1e-300))


@pytest.mark.parametrize("kind", [ElasticNet, Whole, NonNegative, Towards, Length])
def test_right_regularisers_pass(kind):
    for seed in range(3):
        assert check_regularizer(kind(), seed=seed) == Report(repr(kind()), (), ())
    assert check_regularizer(kind(), 6, lam=1e-3, sigma=1e-2)
    assert kind is Towards or check_regularizer(kind(), 1)


class Weak(ElasticNet):
    def value(self, w, kappa, j):
        return w * w / 4 + kappa * np.abs(w)

    def gradient(self, v, kappa, j):
        return 2 * soft(v, kappa)


class OnlyL1(ElasticNet):
    """|w|_1, whose v^T w - g(w) has its maximum at 0 or nowhere."""

    def value(self, w, kappa, j):
        return kappa * np.abs(w)

    def gradient(self, v, kappa, j):
        return 0 * v


class Concave(ElasticNet):
    def value(self, w, kappa, j):
        return w * w / 2 + 3 * np.cos(2 * w)


class Threshold(ElasticNet):
    def gradient(self, v, kappa, j):
        return soft(v, kappa / 2)


class NearlyRight(ElasticNet):
    def gradient(self, v, kappa, j):
        return soft(v, kappa) * 1.001


class Conjugate(NonNegative):
    def conjugate(self, v, kappa, j):
        return np.maximum(v - kappa, 0) ** 2 / 4


class LargeConjugate(NonNegative):
    def conjugate(self, v, kappa, j):
        return np.maximum(v - kappa, 0) ** 2


class NotSeparable(ElasticNet):
    def value(self, w, kappa, j):
        return w * w / 2 + kappa * np.linalg.norm(w) / max(1, len(w))


class IgnoresJ(Towards):
    def gradient(self, v, kappa, j):
        return v + self.centres[: len(v)]


class Shape(ElasticNet):
    separable = False


class NotThere(NonNegative):
    def gradient(self, v, kappa, j):
        return v - kappa


class NoNumber(ElasticNet):
    def gradient(self, v, kappa, j):
        return v * soft(v, kappa) / v


class Fails(ElasticNet):
    def conjugate(self, v, kappa, j):
        raise RuntimeError("not written yet")


class InPlaceToo(ElasticNet):
    def gradient(self, v, kappa, j):
        v[np.abs(v) < kappa] = 0
        return v


class ComesBack(Length):
    def largest(self, u, k=1):
        return 0.5 * super().largest(u, k)


class NeverZero(Towards):
    has_sigma = True


REG_MISTAKES = [
    (Weak, "strong convexity", r"g bends by 0.5\d* \|w' - w\|\^2 / 2 only"),
    (Weak, "strong convexity", r"are \S+ apart, the v only"),
    (OnlyL1, "gradient", r"v\^T w - g\(w\) = 0, but it is \S+ at"),
    (Concave, "value", "above the mean .*not convex"),
    (Threshold, "gradient", "with kappa = 0.6: a wrong threshold"),
    (NearlyRight, "gradient", r"w = gradient\(\[.*but it is"),
    (Conjugate, "Fenchel-Young", r"is less than v\^T w = .*too small"),
    (LargeConjugate, "Fenchel-Young equality", "these must be equal"),
    (NotSeparable, "separable", r"value of feature \d at .* depends on the other features"),
    (IgnoresJ, "separable", r"gradient of feature \d .* alone, .*: it ignores j"),
    (Shape, "calls", r"has shape \(6,\): \(\) is needed, as separable = False"),
    (NotThere, "calls", "g is infinite"),
    (NoNumber, "calls", r"gradient\(.* = \[.*nan.*\]: numbers are needed"),
    (Fails, "calls", r"conjugate\(.* raised RuntimeError\('not written yet'\)"),
    (InPlaceToo, "calls", "changes the array"),
    (ComesBack, "kappa", "must not bring features back"),
]


@pytest.mark.parametrize(("kind", "law", "words"), REG_MISTAKES)
def test_mistakes_in_regularisers_are_found(kind, law, words):
    for seed in range(2):
        report = check_regularizer(kind(), seed=seed, raises=False)
        assert not report
        texts = [found.text for found in report.failures if found.law == law]
        assert any(re.search(words, text) for text in texts), str(report)
    with pytest.raises(LawError, match=r"laws? (is|are) broken"):
        check_regularizer(kind())


def test_remarks_on_regularisers():
    assert laws(check_regularizer(NeverZero()).remarks) == {"kappa"}


def test_only_regularisers_with_formulas_are_checked():
    for other in ("l2", L1L2(), Group([0, 0, 1]), Regularizer(), Loss):
        with pytest.raises(TypeError, match="with value and gradient is needed"):
            check_regularizer(other)
