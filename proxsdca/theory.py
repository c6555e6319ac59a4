"""What the paper promises: how many steps suffice for an expected gap.

n examples, R the largest |x_i| in the geometry's norm (ERRATA 9), phi (1/gamma)-smooth or
L-Lipschitz. The theorems are for uniformly random i and assume mean phi_i(0) <= 1; eps_D in the
place of that 1 makes them true in general: D(alpha*) - D(0), or anything above it such as
P(0) - D(0) (ERRATA 8).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ._core.regs import L2Map, QNormMap
from ._core.rows import Rows

LARGE = 1e300
# |x|_2 and |x|_inf, as the core computes norms
_NORMS = {"l2": L2Map(), "qnorm": QNormMap(2.0, 1.0, np.zeros(1), False, False)}


def smooth_steps(n: int, R: float, lam: float, gamma: float, eps: float, eps_D: float = 1) -> float:
    """Theorem 1: T after which E[P(w) - D(alpha)] <= eps, for (1/gamma)-smooth losses.

    T = (n + R^2/(lam gamma)) log((n + R^2/(lam gamma)) eps_D / eps). The paper's eps_D = 1 bounds
    D(alpha*) - D(0) where mean phi_i(0) <= 1; in general it is at most P(0) - D(0).
    """
    if not 0 < lam * gamma < math.inf or not eps > 0:
        return math.inf
    work = n + R * R / (lam * gamma)  # products, as a power that overflows raises an error
    return work * max(0.0, math.log(work * eps_D / eps)) if eps_D > 0 else 0.0


def lipschitz_steps(
    n: int, R: float, lam: float, L: float, eps: float, eps_D: float = 1, z_sq: float | None = None
) -> tuple[float, float]:
    """Theorem 2: (T0, T) such that the average or a random one of the iterates T0 ... T - 1
    has E[P - D] <= eps, for L-Lipschitz losses.

    With G = 4 (R L)^2 and t0 = max(0, ceil(n log(2 lam n eps_D / G))):
    T0 = max(t0, 4 G/(lam eps) - 2 n + t0), T = T0 + max(n, G/(lam eps)). Where more is known of
    z = u - alpha_i than |z|^2 <= 4 L^2, z_sq is that bound and G = R^2 z_sq.
    """
    if not lam * eps > 0:
        return math.inf, math.inf
    G = R * R * (4 * L * L if z_sq is None else z_sq)
    ratio = min(2 * lam * n * eps_D / G, LARGE) if G > 0 else 0.0
    t0 = max(0, math.ceil(n * math.log(ratio))) if ratio > 0 else 0
    T0 = max(t0, 4 * G / (lam * eps) - 2 * n + t0)
    return T0, T0 + max(n, G / (lam * eps))


def burn_in(
    n: int, R: float, lam: float, gamma: float, L: float, eps: float, eps_D: float = 1
) -> float:
    """T0, after which the averaged and the random output start, by the theorem that applies.

    Theorem 1 with T - T0 = n + R^2/(lam gamma), so that T0 = (n + R^2/(lam gamma)) log(eps_D/eps);
    Theorem 2 for Lipschitz losses; infinity where there is neither gamma nor L, or eps = 0.
    """
    if eps <= 0:
        return math.inf
    if gamma > 0:
        return (n + R * R / (lam * gamma)) * math.log(max(1.0, eps_D / eps))
    return lipschitz_steps(n, R, lam, L, eps, eps_D)[0] if math.isfinite(L) else math.inf


# ----------------------------------------------- the q-norm (section 3.2)


def default_p(d: int) -> float:
    """The even number nearest to log d + sqrt(log^2 d - 2 log d); 2 for d < 8 (ERRATA 3)."""
    if d < 8:
        return 2.0
    log_d = math.log(d)
    return 2.0 * max(1, round((log_d + math.sqrt(log_d**2 - 2 * log_d)) / 2))


def valid_constant(d: int, p: float) -> float:
    """c = (p - 1) d^(2/p): c/2 |w|_q^2 is 1-strongly convex in |w|_1 on R^d (ERRATA 2)."""
    return (p - 1) * math.pow(d, 2 / p)


def paper_constant(d: int) -> tuple[float, float]:
    """The paper's p = log d and c = 3 log d; p = 2 and c = d where log d < 2 (ERRATA 3)."""
    if d < 8:
        return 2.0, float(d)
    return math.log(d), 3 * math.log(d)


# --------------------------------------- the reductions of l1 (3.1 and 3.2)


def l1_bound(loss_at_zero: float, sigma: float) -> float:
    """B = mean phi_i(0) / sigma >= |w*|_1, as sigma |w*|_1 <= P(w*) <= P(0) (ERRATA 6).

    Any P(w) in the place of mean phi_i(0) gives one too, and a better one where it is lower.
    """
    return loss_at_zero / sigma


def l1_lam(eps: float, B: float, c: float = 1.0) -> float:
    """lam = eps / (c B^2): an (eps/2)-solution of the surrogate is an eps-solution for l1.

    c is 1 for l2 with B >= |w*|_2, the q-norm's constant with B >= |w*|_1 for the q-norm.
    """
    return eps / c / B / B if B > 0 else math.inf


def steps(n: int, R: float, lam: float, gamma: float, L: float, eps: float, eps_D: float) -> float:
    """The T of the theorem that applies; infinity where neither does."""
    if gamma > 0:
        return smooth_steps(n, R, lam, gamma, eps, eps_D)
    return lipschitz_steps(n, R, lam, L, eps, eps_D)[1] if math.isfinite(L) else math.inf


def l1_steps(
    n: int,
    R: float,
    B: float,
    eps: float,
    gamma: float = 0.0,
    L: float = math.inf,
    c: float = 1.0,
    eps_D: float = 1,
) -> float:
    """The corollaries of sections 3.1 (R = max |x_i|_2, c = 1) and 3.2 (R = max |x_i|_inf, c the
    q-norm's constant): steps after which the l1 problem is solved to eps, in expectation.

    n + c R^2 B^2/(eps gamma) or n + c (L R B/eps)^2 up to constants and logarithms, which are those
    of the theorem at lam = eps/(c B^2) and the accuracy eps/2.
    """
    return steps(n, R, l1_lam(eps, B, c), gamma, L, eps / 2, eps_D)


def structured_steps(
    n: int, R: float, lam: float, eps: float, eps_D: float = 1, remark: bool = True
) -> tuple[float, float]:
    """The corollary of section 3.3: (T0, T) for structured output learning, R = max |psi|_2.

    Theorem 2 with L = 2. By the remark |z|_D^2 <= 4 instead of 4 L^2 = 16, so that G = (2 R)^2, the
    constant is 5 instead of 20, and the logarithm is that of 2 lam n eps_D / (2 R)^2 (ERRATA 11).
    """
    return lipschitz_steps(n, R, lam, 2.0, eps, eps_D, z_sq=4.0 if remark else None)


def l1_geometry(rows: Rows, d: int) -> str:
    """The geometry whose corollary promises fewer iterations: "l2" or "qnorm".

    Both have c R^2 B^2 / eps, with the same B and eps: what decides is max_i |x_i|_2^2 against
    c max_i |x_i|_inf^2.
    """
    c = valid_constant(d, default_p(d))
    l2, qnorm = (float(rows.norms_sq(norm).max()) for norm in _NORMS.values())
    return "l2" if l2 <= c * qnorm else "qnorm"


# --------------------------------------------------------------- predictions


class Prediction(NamedTuple):
    """What the theory promises for a problem in one geometry.

    Attributes
    ----------
    geometry : str
        "l2" or "qnorm": the norm in which R is measured and g is strongly convex.
    R : float
        max_i |x_i|_2 or max_i |x_i|_inf; with sample weights, max_i s_i^(1/2) |x_i|.
    gamma, L : float
        The loss is (1/gamma)-smooth, and L-Lipschitz.
    c : float
        The constant of the q-norm; 1 for l2.
    B : float or None
        The bound on |w*| from which lam follows, for reg = "l1".
    lam : float
    eps, eps_D : float
        The accuracy, and P(0) - D(0).
    steps, epochs : float
        After so many the expected gap is at most eps: infinity where no theorem applies.
    """

    geometry: str
    R: float
    gamma: float
    L: float
    c: float
    B: float | None
    lam: float
    eps: float
    eps_D: float
    steps: float
    epochs: float


def predict(
    X: ArrayLike,
    y: ArrayLike,
    loss: Any = "hinge",
    reg: Any = "l2",
    *,
    lam: float | None = None,
    sigma: float | None = None,
    sample_weight: ArrayLike | None = None,
    offsets: ArrayLike | None = None,
    eps: float | None = None,
    tol: float = 1e-3,
) -> dict[str, Prediction]:
    """How many epochs the theory promises, from what it reads off the data.

    Parameters
    ----------
    X, y, loss, reg, lam, sigma, sample_weight, offsets
        The problem, as in `solve`.
    eps : float, optional
        The accuracy; by default tol P(0).
    tol : float

    Returns
    -------
    dict of str to Prediction
        One for each geometry that serves: "l2", "qnorm", or both for reg = "l1".
    """
    from . import _validate
    from ._vector import problem_of
    from .losses import VectorLoss
    from .regularizers import L1, QNorm

    problem = problem_of(X, y, loss, reg, lam, sigma, sample_weight, offsets=offsets)
    n, d, kind = problem.n, problem.d, problem.reg
    at_zero = problem.evaluate(np.zeros(d), problem.zero_alpha(), problem.room())
    if eps is None:
        # where P(0) = 0, w = 0 is a solution to any accuracy
        eps = _validate.positive("tol", tol) * max(at_zero.primal, np.finfo(float).tiny)
    eps = _validate.positive("eps", eps)
    # P(0) - D(0) of the surrogates too: 0 belongs to alpha = 0
    eps_D = at_zero.certificate.gap
    s = np.ones(n) if problem.weight is None else problem.weight
    heaviest = float(s.max())
    gamma, L = problem.loss.gamma, problem.loss.lipschitz
    found = {}
    for geometry in ("l2", "qnorm"):
        if not isinstance(kind, L1) and (geometry == "qnorm") != isinstance(kind, QNorm):
            continue
        R = math.sqrt(float((s * problem.norms_sq(_NORMS[geometry])).max()))
        c, B, lam, accuracy = 1.0, None, problem.lam, eps
        if geometry == "qnorm":
            c = (kind if isinstance(kind, QNorm) else QNorm()).p_and_c(d)[1]
        if isinstance(kind, L1):
            B = kind.bound(at_zero.primal, problem.sigma, d)
            lam, accuracy = l1_lam(eps, B, c), eps / 2
        # row i is (s_i/gamma)-smooth and s_i L-Lipschitz: R has one root of s_i, L the other
        # and z = u - alpha_i is at most L long, not 2 L, for vector-valued losses (the remark)
        spread = L / 2 if isinstance(problem.loss, VectorLoss) else L
        T = steps(n, R, lam, gamma, spread * math.sqrt(heaviest), accuracy, eps_D)
        found[geometry] = Prediction(geometry, R, gamma, L, c, B, lam, eps, eps_D, T, T / n)
    return found
