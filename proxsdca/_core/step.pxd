# The step options of Procedure Prox-SDCA, for any term.
#
# All of them are for the one-dimensional problem
#     min over b' of  phi*(-b') + m b' + q/2 (b' - b)^2,    q = |x_i|^2 / (lambda n),
# whose value at b' = b minus that at the new b' bounds the increase of n D from below.

from libc.math cimport INFINITY, fabs

from .kinds cimport AnyTerm
from .losses cimport clip

cdef enum Option:
    OPTION_I = 1
    OPTION_II = 2
    OPTION_III = 3
    OPTION_IV = 4
    OPTION_V = 5
    OPTION_IV_4L2 = 6       # Option IV with 4 L^2 in the place of |z|^2
    OPTION_IV_L2 = 7        # ... with L^2, the remark's bound for the vector-valued losses


cdef inline double term_argument(AnyTerm term, double y, double alpha, double s) noexcept nogil:
    """b = alpha / s, moved to the end of the domain where a rounding of s has put it outside.

    How s = n weight / sum(weight) rounds depends on who sums; 64 roundings are forgiven.
    """
    cdef double b = alpha / s, end
    if s == 1:
        return alpha
    end = term.upper(y)
    if b > end and b - end <= 7.2e-15 * fabs(end):
        return end
    end = term.lower(y)
    if b < end and end - b <= 7.2e-15 * fabs(end):
        return end
    return b


cdef inline double excess(AnyTerm term, double y, double b, double m) noexcept nogil:
    """phi(m) + phi*(-b) + m b >= 0, row i's share of P - D (before (PC3))."""
    return term.phi(y, m) + term.phi_conj(y, -b) + m * b


cdef inline double step(AnyTerm term, int option, double y, double b, double m,
                        double q, double q_R) noexcept nogil:
    """The new b by the given option; q_R is R^2 / (lambda n)."""
    cdef double u, z, s, z_sq, numerator
    if option == OPTION_I:
        return term.best(y, b, m, q)
    u = -term.phi_slope(y, m)
    if option == OPTION_II:
        # One-dimensional and concave: the best point of the segment from b to
        # u is the best point of the line, moved into the segment.
        return clip(term.best(y, b, m, q), min(b, u), max(b, u))
    z = u - b
    if z * z == 0:      # nowhere to go (ERRATA 4), or too near for z^2 to be a number
        return b
    if option == OPTION_V:
        s = term.gamma / (term.gamma + q_R)
    else:
        z_sq = 4 * term.lipschitz * term.lipschitz if option == OPTION_IV_4L2 else z * z
        numerator = excess(term, y, b, m) + 0.5 * term.gamma * z_sq
        if not (fabs(numerator) < INFINITY and z_sq < INFINITY):
            # phi(m) overflows: Option I achieves more than what cannot be computed.
            return term.best(y, b, m, q)
        s = numerator / (z_sq * (term.gamma + (q if option == OPTION_III else q_R)))
        s = clip(s, 0, 1)       # ERRATA 4
    return clip(b + s * z, min(b, u), max(b, u))
