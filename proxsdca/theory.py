"""What the paper promises: how many steps suffice for an expected gap."""

from __future__ import annotations

import math


def smooth_steps(n: int, R: float, lam: float, gamma: float, eps: float, eps_D: float = 1) -> float:
    """Theorem 1: T after which E[P(w) - D(alpha)] <= eps, for (1/gamma)-smooth losses.

    T = (n + R^2/(lam gamma)) log((n + R^2/(lam gamma)) eps_D / eps). The paper's eps_D = 1 bounds
    D(alpha*) - D(0) where mean phi_i(0) <= 1; in general it is at most P(0) - D(0).
    """
    work = n + R**2 / (lam * gamma)
    return work * max(0.0, math.log(work * eps_D / eps))


def lipschitz_steps(
    n: int, R: float, lam: float, L: float, eps: float, eps_D: float = 1
) -> tuple[float, float]:
    """Theorem 2: (T0, T) such that the average or a random one of the iterates T0 ... T - 1
    has E[P - D] <= eps, for L-Lipschitz losses.

    With G = 4 (R L)^2 and t0 = max(0, ceil(n log(2 lam n eps_D / G))):
    T0 = max(t0, 4 G/(lam eps) - 2 n + t0), T = T0 + max(n, G/(lam eps)).
    """
    G = 4 * (R * L) ** 2
    t0 = max(0, math.ceil(n * math.log(2 * lam * n * eps_D / G))) if G > 0 < eps_D else 0
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
        return (n + R**2 / (lam * gamma)) * math.log(max(1.0, eps_D / eps))
    return lipschitz_steps(n, R, lam, L, eps, eps_D)[0] if math.isfinite(L) else math.inf
