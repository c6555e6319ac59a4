"""The laws of a loss."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import _validate
from ..losses import CompiledLoss, Loss
from ._report import (
    ROUGH,
    TINY,
    UNIT,
    Array,
    BrokenCall,
    Finding,
    Report,
    examine,
    n_,
    raised,
    worst,
)

HUGE = 1e9  # slopes beyond are none that a dual variable comes to


class _At:
    """A loss at one target y: z with phi(z) and phi'(z), a with phi*(a)."""

    def __init__(self, loss: Loss, y: float, rng: np.random.Generator) -> None:
        self.loss, self.y, self.rng = loss, y, rng
        z = np.linspace(-8, 8, 81)
        far = np.array([20.0, 100.0, 500.0, 1e3, 1e6])
        z = np.unique(np.r_[z, z + y, rng.normal(y, 3, 30), far, -far, rng.normal(size=4) * 1e3])
        z = np.unique(np.r_[z, self.around_kinks(z)])
        phi, s = self.ask("value", z), self.ask("subgradient", z)
        finite = np.isfinite(phi) & np.isfinite(s)  # far out, phi may overflow
        bad = (np.abs(z - y) <= 5) & ~finite
        if bad.any():
            k = int(np.argmax(bad))
            raise BrokenCall(
                f"value({n_(z[k])}, {n_(y)}) = {n_(phi[k])} and subgradient = {n_(s[k])}: "
                "finite numbers are needed there"
            )
        self.z, self.phi, self.s = z[finite], phi[finite], s[finite]
        self.noise = ROUGH * (np.abs(self.phi) + np.abs(self.s) * (np.abs(self.z) + abs(y))) + TINY
        self.lower, self.upper = self.domain()
        few = rng.permutation(np.flatnonzero(np.abs(self.s) < HUGE))[:100]
        near = self.s[np.abs(self.z - y) <= 8]
        reach = min(max(1.0, float(np.abs(near).max())), 1e3)
        low, high = max(self.lower, -reach), min(self.upper, reach)
        inside = np.r_[low, high, np.linspace(low, high, 15), rng.uniform(low, high, 15)]
        self.b = np.unique(np.clip(np.r_[inside, -self.s[few]], self.lower, self.upper))
        self.a = -self.b[::-1]
        self.conj = self.ask("conjugate", self.a)
        self.conj_noise = ROUGH * (np.abs(self.conj) + np.abs(self.a) * (1 + abs(y))) + TINY

    def around_kinks(self, z: Array) -> Array:
        """Points about the places where the slope changes the most, found by bisection."""
        s = self.ask("subgradient", z)
        near = np.minimum(np.abs(z[:-1]), np.abs(z[:-1] - self.y)) <= 10
        jump = np.where(near, np.abs(np.diff(s)), 0)
        steepest = np.argsort(jump / np.diff(z))[-10:]
        low, high, s_low, s_high = z[steepest], z[steepest + 1], s[steepest], s[steepest + 1]
        for _ in range(32):
            middle = low + (high - low) / 2
            s_mid = self.ask("subgradient", middle)
            left = np.abs(s_mid - s_low) >= np.abs(s_high - s_mid)
            low, s_low = np.where(left, low, middle), np.where(left, s_low, s_mid)
            high, s_high = np.where(left, middle, high), np.where(left, s_mid, s_high)
        away = np.array([1e-9, 1e-6, 1e-4, 1e-3, 1e-2])
        return np.concatenate([low, high, np.add.outer(low, np.r_[-away, 0, away]).ravel()])

    def tell(self, method: str, *arguments: float) -> Any:
        """What a method says of numbers, as it is."""
        try:
            return getattr(self.loss, method)(*arguments)
        except Exception as error:
            shown = f"{method}({', '.join(map(n_, arguments))})"
            raise BrokenCall(f"{shown} {raised(error)}") from error

    def call(self, method: str, *arguments: float) -> float:
        """What a method says of numbers, which is to be a number."""
        found = np.asarray(self.tell(method, *arguments), float)
        if found.shape != () or np.isnan(found):
            shown = f"{method}({', '.join(map(n_, arguments))})"
            raise BrokenCall(f"{shown} = {found!r}: a number is needed")
        return float(found)

    def ask(self, method: str, x: Array, y: Any = None) -> Array:
        """What a method says of an array."""
        given, y = x.copy(), self.y if y is None else y
        try:
            answer = getattr(self.loss, method)(given, y)
            if answer is None:
                raise BrokenCall(f"{method} returns None: is a return missing?")
            found = np.asarray(answer, float)
        except BrokenCall:
            raise
        except Exception as error:
            for number in x:
                self.call(method, float(number), self.y)  # tells which, if one of them does it
            raise BrokenCall(
                f"{method} of the array {x[:2]}..., y = {n_(self.y)} {raised(error)}, and does "
                "not for single numbers: it is to work elementwise, with np.where for if and "
                "np.maximum for max"
            ) from error
        if found.shape != x.shape:
            raise BrokenCall(
                f"{method} of an array of shape {x.shape} has shape {found.shape}: one number for "
                f"each is needed{'; is there a sum or a mean in it?' if not found.shape else ''}"
            )
        if not np.array_equal(given, x, equal_nan=True):
            raise BrokenCall(f"{method} changes the array it is given: does it work in place?")
        if np.isnan(found).any():
            k = int(np.argmax(np.isnan(found)))
            raise BrokenCall(
                f"{method}({n_(x[k])}, {n_(self.y)}) = nan: a number, or an infinity, is needed; "
                "0 * inf, inf - inf or the log of a negative number?"
            )
        return found

    def domain(self) -> tuple[float, float]:
        lower, upper = (float(end) for end in self.tell("domain", self.y))
        if not lower <= upper:
            raise BrokenCall(f"domain({n_(self.y)}) = ({n_(lower)}, {n_(upper)}): no interval")
        return lower, upper


def _numbers_and_arrays(at: _At) -> str | None:
    for method, x in (("value", at.z), ("subgradient", at.z), ("conjugate", at.a)):
        x = x[:: max(1, len(x) // 20)]
        both, alone = at.ask(method, x), np.array([at.call(method, float(t), at.y) for t in x])
        each = at.ask(method, x, np.full(x.shape, at.y))
        for found, how in ((both, "in an array"), (each, "with y an array as well")):
            off = np.where(found == alone, 0, np.abs(found - alone))
            k = worst(np.where(np.isnan(off), np.inf, off) - 1e-9 * (1 + np.abs(both)))
            if k:
                return (
                    f"{method}({n_(x[k])}, {n_(at.y)}) = {n_(alone[k])} alone, but {n_(found[k])} "
                    f"{how}: it is to be elementwise"
                )
    return None


def _bulge(x: Array, f: Array, noise: Array, rng: np.random.Generator) -> str | None:
    """Where f is above one of its chords."""
    if len(x) < 3:
        return None
    k = np.arange(len(x) - 2)
    some = np.sort(rng.integers(0, len(x), (3, 2000)), axis=0)
    some = some[:, (some[0] < some[1]) & (some[1] < some[2])]
    one, two, three = np.c_[np.array([k, k + 1, k + 2]), some]
    left, right = np.array([x[three] - x[two], x[two] - x[one]]) / (x[three] - x[one])
    chord = left * f[one] + right * f[three]
    allowed = noise[two] + left * noise[one] + right * noise[three]
    found = worst((f[two] - chord) / allowed - 1, np.abs(x[one]) + np.abs(x[three]))
    if not found:
        return None
    return (
        f"at {n_(x[two][found])} it is {n_(f[two][found])}, above the chord from "
        f"{n_(x[one][found])} to {n_(x[three][found])}, which is {n_(chord[found])}: not convex"
    )


def _value_convex(at: _At) -> str | None:
    found = _bulge(at.z, at.phi, at.noise, at.rng)
    return found and f"value(., {n_(at.y)}): {found}"


def _conjugate_convex(at: _At) -> str | None:
    finite = np.isfinite(at.conj)
    found = _bulge(at.a[finite], at.conj[finite], at.conj_noise[finite], at.rng)
    return found and f"conjugate(., {n_(at.y)}): {found}"


def _bounded(at: _At) -> str | None:
    for z, sign in ((1e8, -1), (-1e8, 1)):
        s = at.call("subgradient", z, at.y)
        if s * sign > 1e-6 * np.abs(at.s).max():
            return (
                f"subgradient({n_(z)}, {n_(at.y)}) = {n_(s)}: value goes on falling, where it is "
                f"{n_(at.call('value', z, at.y))}; phi must be bounded from below"
            )
    a = float(np.clip(0.0, -at.upper, -at.lower))  # where slopes come near 0 only
    if abs(a) > TINY or not abs(at.call("conjugate", a, at.y)) < np.inf:
        return f"conjugate(0, {n_(at.y)}) is infinite; it is -min phi, a number"
    return None


def _supports(at: _At) -> str | None:
    """phi(z') >= phi(z) + s (z' - z)."""
    z, phi, s = at.z, at.phi, at.s
    change = s[:, None] * (z[None, :] - z[:, None])
    allowed = at.noise[:, None] + at.noise[None, :] + ROUGH * np.abs(change)
    k = worst(
        (phi[:, None] + change - phi[None, :]) / allowed - 1,
        np.add.outer(np.abs(z), np.abs(z)),
    )
    if not k:
        return None
    i, j = k
    return (
        f"s = subgradient({n_(z[i])}, {n_(at.y)}) = {n_(s[i])}, but value({n_(z[j])}) = "
        f"{n_(phi[j])} is less than value({n_(z[i])}) + s (z' - z) = {n_(phi[i] + change[k])}; "
        f"the slope of value is about {n_(_slope(at, float(z[i])))} there: a wrong sign, a missing "
        "factor, or a value that is not convex?"
    )


def _slope(at: _At, z: float) -> float:
    h = 1e-5 * (1 + abs(z))
    return float((at.call("value", z + h, at.y) - at.call("value", z - h, at.y)) / (2 * h))


def _increases(at: _At) -> str | None:
    size = np.abs(at.s[1:]) + np.abs(at.s[:-1]) + np.abs(at.z[1:]) + abs(at.y)
    k = worst(-np.diff(at.s) - ROUGH * size - TINY)
    if k is None:
        return None
    return (
        f"it falls from {n_(at.s[k])} at z = {n_(at.z[k])} to {n_(at.s[1:][k])} at "
        f"z = {n_(at.z[1:][k])}, y = {n_(at.y)}; the slopes of a convex phi do not fall"
    )


def _fenchel_young(at: _At) -> str | None:
    product = np.multiply.outer(at.z, at.a)
    allowed = at.noise[:, None] + at.conj_noise[None, :] + ROUGH * np.abs(product)
    k = worst(
        (product - at.phi[:, None] - at.conj[None, :]) / allowed - 1,
        np.add.outer(np.abs(at.z), np.abs(at.a)),
    )
    if not k:
        return None
    z, a = n_(at.z[k[0]]), n_(at.a[k[1]])
    return (
        f"value({z}, {n_(at.y)}) + conjugate({a}, {n_(at.y)}) = {n_(at.phi[k[0]])} + "
        f"{n_(at.conj[k[1]])} = {n_(at.phi[k[0]] + at.conj[k[1]])} is less than z a = "
        f"{n_(product[k])}; the conjugate is too small there: a wrong sign or a missing factor?"
    )


def _equality(at: _At) -> str | None:
    """phi(z) + phi*(a) = z a at a = phi'(z)."""
    a = np.clip(at.s, -at.upper, -at.lower)  # where it is out by a rounding
    few = np.flatnonzero((np.abs(a - at.s) <= 1e-9 * (1 + np.abs(at.s))) & (np.abs(a) < HUGE))
    few = at.rng.permutation(few)[:100]
    z, a, phi, conj = at.z[few], a[few], at.phi[few], at.ask("conjugate", a[few])
    allowed = at.noise[few] + 10 * ROUGH * (np.abs(z * a) + np.abs(phi)) + TINY
    k = worst(np.abs(phi + conj - z * a) / allowed - 1, np.abs(z))
    if k is None:
        return None
    return (
        f"a = subgradient({n_(z[k])}, {n_(at.y)}) = {n_(a[k])}, and conjugate(a) = {n_(conj[k])}, "
        f"but z a - value(z) = {n_(z[k] * a[k])} - {n_(phi[k])} = {n_(z[k] * a[k] - phi[k])}; "
        "these must be equal: conjugate and subgradient are not of the same phi"
    )


def _maximum(at: _At) -> str | None:
    """phi*(a) = max_z (z a - phi(z)), also for a that no z has as its slope."""
    from scipy.optimize import minimize_scalar

    for k in at.rng.permutation(len(at.a))[:16]:
        a, conj = float(at.a[k]), at.conj[k]
        h = at.z * a - at.phi
        best = int(np.argmax(h))
        away = 1e-3 * (1 + abs(at.z[best]))  # closer by, roundings hide which side is the higher
        low, high = np.searchsorted(at.z, at.z[best] + [-away, away]) - [1, 0]
        if low < 0 or high == len(h):
            continue  # the maximum lies further out, or at no z
        found = minimize_scalar(
            lambda z, a=a: at.call("value", float(z), at.y) - z * a,
            bounds=(at.z[low], at.z[high]),
            method="bounded",
            options={"xatol": 1e-10},
        )
        z, most = max((at.z[best], h[best]), (found.x, -found.fun), key=lambda pair: pair[1])
        size = abs(most) + abs(a * z) + abs(a * at.y)
        if not abs(conj - most) <= 1e-6 * size + 1e-9:
            return (
                f"conjugate({n_(a)}, {n_(at.y)}) = {n_(conj)}, but z a - value(z) is "
                f"{n_(most)} at z = {n_(z)}, and no larger anywhere"
            )
    return None


def _slopes_in_domain(at: _At) -> str | None:
    slack = 1e-12 * (1 + np.abs(at.s))
    k = worst(np.maximum(at.lower + at.s, -at.s - at.upper) - slack)
    if k is None:
        return None
    return (
        f"domain({n_(at.y)}) = ({n_(at.lower)}, {n_(at.upper)}) leaves out b = {n_(-at.s[k])} = "
        f"-subgradient({n_(at.z[k])}): it is too narrow, or for a instead of b = -a"
    )


def _domain_is_reached(at: _At) -> str | None:
    for end, side in ((at.lower, 1.0), (at.upper, -1.0)):
        here, there = (-at.call("subgradient", side * far, at.y) for far in (1e4, 1e8))
        bounded = abs(there - here) <= 1e-6 * abs(there) + TINY
        if bounded and abs(end - there) > 1e-6 * (1 + abs(there)):
            return (
                f"domain({n_(at.y)}) = ({n_(at.lower)}, {n_(at.upper)}), but b = -subgradient(z) "
                f"goes to {n_(there)}, not to {n_(end)}, as z goes to {side * np.inf}: it is too "
                f"{'wide' if side * (there - end) > 0 else 'narrow'}"
            )
    return None


def _conjugate_and_domain(at: _At) -> str | None:
    words = f"domain({n_(at.y)}) = ({n_(at.lower)}, {n_(at.upper)}), but conjugate"
    k = worst(np.where(np.isfinite(at.conj), 0.0, 1.0))
    if k:
        return f"{words}({n_(at.a[k])}, {n_(at.y)}) is infinite, at b = {n_(-at.a[k])} inside it"
    for end, side in ((at.lower, -1), (at.upper, 1)):
        for away in (1e-9, 1e-3, 1.0, 1e3) if abs(end) < np.inf else ():
            b = end + side * away * max(1.0, abs(end))
            conj = at.call("conjugate", -b, at.y)
            if conj < np.inf:
                return (
                    f"{words}({-b!r}, {n_(at.y)}) = {n_(conj)}, at b = {b!r} outside it, where no "
                    "slope of phi is -b: it must be infinite there, unless slopes grow so "
                    "slowly that domain(y) is to be written"
                )
    return None


def _steepness(at: _At) -> tuple[Array, Array, Array]:
    """The change of phi' between neighbours beyond rounding, their distance, and where."""
    dz = np.diff(at.z)
    size = np.abs(at.s[1:]) + np.abs(at.s[:-1])
    size += (np.abs(at.z[1:]) + abs(at.y)) / (at.loss.gamma or 1.0)
    return np.maximum(np.abs(np.diff(at.s)) - 8 * UNIT * size, 0), dz, at.z[:-1]


def _gamma(at: _At) -> str | None:
    gamma = at.loss.gamma
    if gamma == 0:
        return None
    ds, dz, z = _steepness(at)
    k = worst(ds / dz * gamma - (1 + 1e-6), np.abs(z) + 1e-3 / dz)
    if not k:
        return None
    valid = 0.0 if dz[k] < 1e-5 and ds[k] > 1e4 * dz[k] / gamma else float(dz[k] / ds[k])
    z1, z2 = float(z[k]), float(z[k] + dz[k])
    return (
        f"gamma = {n_(gamma)}, but from z = {z1!r} to {z2!r}, y = {n_(at.y)}, the subgradient goes "
        f"from {n_(at.s[k])} to {n_(at.s[1:][k])}, further than |z - z'| / gamma = "
        f"{n_(dz[k] / gamma)}; "
        + (f"gamma must be {n_(valid)} at the most" if valid else "only gamma = 0 is valid")
    )


def _lipschitz(at: _At) -> str | None:
    L, k = at.loss.lipschitz, int(np.argmax(np.abs(at.s)))
    if abs(at.s[k]) <= L * (1 + 1e-9):
        return None
    return (
        f"lipschitz = {n_(L)}, but subgradient({n_(at.z[k])}, {n_(at.y)}) = {n_(at.s[k])}: L must "
        f"be at least {n_(abs(at.s[k]))}"
    )


def _exact_step(at: _At) -> str | None:
    """With m' = m + q (b' - b), phi(m') + phi*(-b') + m' b' bounds how far b' is from the best."""
    some = at.rng.permutation(at.b[np.abs(at.b) <= 1e3])[:3]
    bs = np.r_[at.b[np.abs(at.b) <= 1e3][[0, -1]], some]
    for b in map(float, bs):
        for m in np.r_[np.linspace(-6, 6, 5), at.rng.uniform(-6, 6, 2)]:
            for q in 10.0 ** np.r_[-3:4, at.rng.uniform(-3, 3)]:
                new = at.call("step", b, float(m), at.y, float(q))
                margin = m + q * (new - b)
                gap = np.inf
                if at.lower <= new <= at.upper:
                    gap = at.call("value", float(margin), at.y) + margin * new
                    gap += at.call("conjugate", -new, at.y)
                scale = (1 + abs(new) + abs(b)) * (1 + abs(m) + q * (abs(new) + abs(b)))
                if not gap <= 1e-9 * scale:
                    return (
                        f"step(b={b!r}, m={float(m)!r}, y={n_(at.y)}, q={float(q)!r}) = {new!r}, "
                        f"at which phi*(-b') + m b' + q/2 (b' - b)^2 is up to {n_(gap)} above its "
                        "least value: exact_step is wrong, or conjugate and subgradient are"
                    )
    return None


def _roundings(at: _At) -> str | None:
    """Against the same formula in long double, where it can be had."""
    if np.finfo(np.longdouble).nmant <= np.finfo(float).nmant:
        return None
    near = np.abs(at.z) <= 1e3
    for which, method, x in ((0, "value", at.z[near]), (1, "conjugate", at.a)):
        x = at.rng.permutation(x)[:80]
        try:
            exact = getattr(at.loss, method)(x.astype(np.longdouble), np.longdouble(at.y))
        except Exception:
            continue
        if not isinstance(exact, np.ndarray) or exact.dtype != np.longdouble:
            continue
        found = at.ask(method, x)
        a = float(at.a[0])
        pairs = ((t, a) if which == 0 else (0.0, t) for t in map(float, x))
        own = "as it says" if hasattr(at.loss, f"{method}_size") else "the default"
        sizes = np.array([at.tell("sizes", *pair, at.y)[which] for pair in pairs])
        allowed = 8 * UNIT * sizes
        error = np.where(found == exact, 0, np.abs(found - exact)).astype(float)
        k = worst(np.where(np.isfinite(error), error, 0) / (allowed + 1e-300) - 1)
        if k:
            return (
                f"{method}({float(x[k])!r}, {n_(at.y)}) is off by {n_(error[k])}, but 8 roundings "
                f"of {method}_size = {n_(sizes[k])}, {own}, are {n_(allowed[k])}: large summands "
                f"cancel; write it otherwise, or a {method}_size that returns the sum of their "
                "absolute values"
            )
    return None


LOSS_LAWS: tuple[tuple[str, Callable[[_At], str | None]], ...] = (
    ("calls", _numbers_and_arrays),
    ("value", _value_convex),
    ("bounded", _bounded),
    ("subgradient", _supports),
    ("subgradient", _increases),
    ("Fenchel-Young", _fenchel_young),
    ("Fenchel-Young equality", _equality),
    ("conjugate", _conjugate_convex),
    ("conjugate", _maximum),
    ("domain", _slopes_in_domain),
    ("domain", _domain_is_reached),
    ("domain", _conjugate_and_domain),
    ("gamma", _gamma),
    ("lipschitz", _lipschitz),
    ("exact step", _exact_step),
    ("roundings", _roundings),
)


def _loss_remarks(ats: list[_At]) -> list[Finding]:
    remarks, loss = [], ats[0].loss
    gamma, L = loss.gamma, loss.lipschitz
    ds, dz, z = (np.concatenate(part) for part in zip(*map(_steepness, ats), strict=True))
    steep, near = ds / dz, np.abs(z) <= 15
    if (
        gamma == 0
        and 0 < steep[near].max() < 1e4
        and steep[~near].max() <= (1 + 1e-6) * steep[near].max()
    ):
        best = 1 / max(steep.max(), 1e-300)
        text = f"0, though phi' has no kinks that were seen: gamma up to {n_(best)} seems valid, "
        remarks.append(Finding("gamma", text + "and a smooth phi is solved faster"))
    elif 0 < steep.max() * gamma <= 1 and 0 < steep[dz > 5e-5].max() * gamma < 0.9:
        best = 1 / steep[dz > 5e-5].max()
        remarks.append(Finding("gamma", f"{n_(gamma)}, though {n_(best)} seems valid"))
    z, s = np.concatenate([at.z for at in ats]), np.abs(np.concatenate([at.s for at in ats]))
    most = float(s.max())
    if np.isinf(L) and 0 < most <= (1 + 1e-3) * s[np.abs(z) <= 100].max():
        remarks.append(Finding("lipschitz", f"inf, though no slope beyond {n_(most)} was seen"))
    elif most * 1.1 < L < np.inf:
        remarks.append(Finding("lipschitz", f"{n_(L)}, though no slope beyond {n_(most)} was seen"))
    for at in ats:
        k = int(np.argmin(at.phi))
        if at.phi[k] < -at.noise[k]:
            text = f"value({n_(at.z[k])}, {n_(at.y)}) = {n_(at.phi[k])}: reg='l1', whose bounds "
            remarks.append(Finding("below 0", text + "need phi >= 0, refuses such a loss"))
            break
    if "conjugate" in loss.solved:
        text = "is missing, and solved for by value and subgradient, which is slow"
        remarks.append(Finding("conjugate", text))
    if isinstance(loss, CompiledLoss):
        text = "those of a compiled loss cannot be looked at; they are taken as said"
        remarks.append(Finding("roundings", text))
    return remarks + _copies(loss)


def _copies(checked: Any) -> list[Finding]:
    try:
        same = bool(pickle.loads(pickle.dumps(checked)) == checked)
    except Exception as error:
        return [Finding("pickle", f"no copy for another process can be made: {error!r}")]
    return [] if same else [Finding("pickle", "it does not equal its copy")]


def check_loss(
    loss: Loss, targets: ArrayLike | None = None, *, seed: int = 0, raises: bool = True
) -> Report:
    """Whether value, subgradient, conjugate, domain, constants and steps of a loss fit together.

    Parameters
    ----------
    loss : Loss
        Of one's own, compiled or built in.
    targets : array_like, optional
        The y to look at; by default -1 and 1 for classification, else a few numbers that
        `target_min` allows.
    seed : int
        For the points that are chosen at random.
    raises : bool
        Whether a broken law raises.

    Returns
    -------
    Report
        The laws that are broken, and remarks.

    Raises
    ------
    LawError
        If a law is broken; the message says which, and where.
    """
    if not isinstance(loss, Loss):
        raise TypeError(f"loss = {loss!r}: an object of a subclass of proxsdca.losses.Loss")
    if targets is None:
        some = (-1.0, 1.0) if loss.classification else (loss.target_min, -2.3, 0.0, 0.5, 1.0, 3.7)
        targets = sorted({y for y in some if np.isfinite(y) and y >= loss.target_min})
    ys = _validate.vector("targets", np.atleast_1d(targets), np.size(targets))
    if not len(ys):
        raise ValueError("targets is empty: at least one y is needed")
    rng = np.random.default_rng(seed)
    loss._forget()
    places = [partial(_At, loss, float(y), rng) for y in ys]
    return examine(repr(loss), places, LOSS_LAWS, _loss_remarks, raises)
