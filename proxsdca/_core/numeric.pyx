"""What a loss does not say of itself, solved for by its value and its subgradient.

Bad answers, of which NaN is one, end a search; whoever calls sees them in what is returned.
"""

from libc.math cimport INFINITY, NAN, fabs, fmax, fmin, isnan, sqrt

from .losses cimport clip
from .sums cimport EVALUATION, UNIT
from .term cimport BLOCK


cdef extern from *:
    """
    /* Where subgradients are as far as they go, and squares are still numbers. */
    #define PROXSDCA_FAR 1e150
    /* A slope that is attained only beyond this is one that is approached, not attained. */
    #define PROXSDCA_NEAR 1e10
    /* Times the first value of a function, and times what is near: beyond, chords say nothing. */
    #define PROXSDCA_STEEP 1e3
    #define PROXSDCA_WIDE 1e6
    /* How near, relatively, is so near that a curve counts as a line. */
    #define PROXSDCA_CLOSE 1e-10
    /* The relative change of an argument by which the slope of a conjugate is measured. */
    #define PROXSDCA_PROBE 1e-6
    /* ... and the one over which phi is compared with its slopes: 2^-10. */
    #define PROXSDCA_STRETCH 0.0009765625
    """
    const double FAR "PROXSDCA_FAR"
    const double NEAR "PROXSDCA_NEAR"
    const double STEEP "PROXSDCA_STEEP"
    const double WIDE "PROXSDCA_WIDE"
    const double CLOSE "PROXSDCA_CLOSE"
    const double PROBE "PROXSDCA_PROBE"
    const double STRETCH "PROXSDCA_STRETCH"


cdef inline double between(double low, double high, double f_low, double f_high,
                           double* width, int turn) noexcept nogil:
    """Where to look for the root of an increasing function between two points: by the chord, or in
    the middle where three chords have not halved the width."""
    cdef double part = 0.5
    cdef bint slow = False
    if turn % 3 == 0:
        slow = turn > 0 and high - low > 0.5 * width[0]
        width[0] = high - low
    if not slow and f_high - f_low < INFINITY:
        part = fmin(fmax(-f_low / (f_high - f_low), 1e-6), 1 - 1e-6)
    return low + part * (high - low)


cdef double solved_best(Term term, double y, double b, double m, double q) noexcept nogil:
    """Option I, argmin over b' of phi*(-b') + m b' + q/2 (b' - b)^2, by subgradients alone.

    At the best b' the margin is m' = m + q (b' - b), and -b' is a subgradient of phi there. So m'
    is where the increasing F(z) = b + (z - m) / q + phi'(z) passes 0; with u = -phi'(m) it lies
    between m and m + q (u - b).
    """
    cdef double low = m, high = m, slope = term.phi_slope(y, m), f = b + slope, first = fabs(f)
    cdef double s_low = slope, s_high = slope, f_low = f, f_high = f, z, least, most
    cdef double near = UNIT * (fabs(m) + fabs(y)) + 1e-200, reach = q * fabs(f), away, width = 0
    cdef double old, s_old, curve
    cdef double sign = 1 if f < 0 else -1
    cdef int turn, last = 0
    if isnan(f):
        return NAN
    if f == 0:
        return b
    # The other end: at `reach`, or, where that is far out or F is steep there, nearer by powers.
    away = fmin(reach, FAR)
    for turn in range(200):
        z = m + sign * away
        slope = term.phi_slope(y, z)
        f = b + (z - m) / q + slope
        if isnan(f):
            return NAN
        if sign * f < 0:
            if sign > 0:
                low, f_low, s_low = z, f, slope
            else:
                high, f_high, s_high = z, f, slope
            if turn == 0:               # but for roundings it was the other end
                reach = away = 2 * away
                continue
            near = away
        else:
            if sign > 0:
                high, f_high, s_high = z, f, slope
            else:
                low, f_low, s_low = z, f, slope
            reach = away
            if fabs(f) <= STEEP * first and reach <= WIDE * (fabs(m) + fabs(y)):
                break
        if not reach > 2 * near:
            break
        away = sqrt(near) * sqrt(reach)
    old, s_old = m, -b - sign * first       # the point before z
    for turn in range(800):
        # b' is where b + (z - m) / q meets -phi', which lies between these
        least = fmax(-s_high, b + (low - m) / q)
        most = fmin(-s_low, b + (high - m) / q)
        if most - least <= 2 * UNIT * (fabs(least) + fabs(most)):
            break
        old, s_old = z, slope
        z = between(low, high, f_low, f_high, &width, turn)
        if not low < z < high:
            break
        slope = term.phi_slope(y, z)
        f = b + (z - m) / q + slope
        if isnan(f):
            return NAN
        if fabs(f) <= CLOSE * (fabs(slope) + fabs(b)) and fabs(slope) < INFINITY:
            # b' lies between the two, |f| apart; by the curvature it is here
            curve = fmax((slope - s_old) / (z - old), 0)
            if q * curve < INFINITY:
                return clip(f / (1 + 1 / (q * curve)) - slope if curve > 0 else -slope + f,
                            term.lower(y), term.upper(y))
        # an end that stays counts half, so that both come near
        if f > 0:
            high, f_high, s_high = z, f, slope
            f_low *= 0.5 if last > 0 else 1.0
            last = 1
        else:
            low, f_low, s_low = z, f, slope
            f_high *= 0.5 if last < 0 else 1.0
            last = -1
    f_low, f_high = b + (low - m) / q + s_low, b + (high - m) / q + s_high
    z = low
    if f_high > f_low and f_high - f_low < INFINITY:
        z = low + (high - low) * clip(-f_low / (f_high - f_low), 0, 1)
    z = clip(b + (z - m) / q, fmin(-s_high, -s_low), fmax(-s_high, -s_low))
    return clip(z, term.lower(y), term.upper(y))


cdef inline double slope_at(Term term, double y, double z) noexcept nogil:
    """phi'(z), 0 where formulas that avoid an overflow do not quite come to 0."""
    cdef double slope = term.phi_slope(y, z)
    return 0.0 if fabs(slope) < 1e-100 else slope


cdef double solved_conjugate(Term term, double y, double a, double* size) noexcept nogil:
    """phi*(a) = max_z (z a - phi(z)), from above, and, if asked for, what its rounding is relative
    to.

    Where phi'(z_1) <= a <= phi'(z_2), the tangents of z a - phi(z) at z_1 and z_2 bound it from
    above; z_1 and z_2 come together until that is as good as a rounding.
    """
    cdef double low = 0, high = 0, s_low, s_high, h_low, h_high, z = 0, slope, h, over, scale
    cdef double step = 1, width = 0
    cdef bint upwards
    cdef int turn
    slope = slope_at(term, y, 0)
    if isnan(slope) or isnan(a):
        return NAN
    s_low = s_high = slope
    upwards = slope < a
    while slope != a:
        z = step if upwards else -step
        slope = slope_at(term, y, z)
        if isnan(slope):
            return NAN
        if upwards:
            high, s_high = z, slope
            if slope >= a:
                break
            low, s_low = z, slope
        else:
            low, s_low = z, slope
            if slope <= a:
                break
            high, s_high = z, slope
        step *= 2
        if step > FAR:
            return INFINITY     # no slope comes up to a
    if slope == a and fabs(z) > NEAR * (1 + fabs(y)):
        return INFINITY         # the slopes come near a without end
    h_low, h_high = a * low - term.phi(y, low), a * high - term.phi(y, high)
    for turn in range(2000):
        if isnan(h_low) or isnan(h_high):
            return NAN
        z = low if h_low > h_high else high
        scale = fabs(a * z) + fabs(fmax(h_low, h_high))
        over = 0
        if s_low < a < s_high:
            over = INFINITY
            if s_high - s_low < INFINITY and h_low > -INFINITY and h_high > -INFINITY:
                # where the tangents meet, above the better of the two
                over = (h_low * ((s_high - a) / (s_high - s_low))
                        + h_high * ((a - s_low) / (s_high - s_low))
                        + (a - s_low) / (s_high - s_low) * (s_high - a) * (high - low))
                over = fmax(over - fmax(h_low, h_high), 0)
        if not over > UNIT * scale:
            break
        z = between(low, high, s_low - a, s_high - a, &width, turn)
        if not low < z < high:
            break
        slope = slope_at(term, y, z)
        h = a * z - term.phi(y, z)
        if isnan(slope):
            return NAN
        if slope >= a:
            high, s_high, h_high = z, slope, h
        if slope <= a:
            low, s_low, h_low = z, slope, h
    if size != NULL:
        size[0] = (2 * scale + over / (EVALUATION * UNIT)
                   + fmax(term.phi_size(y, low), term.phi_size(y, high)))
    return fmax(h_low, h_high) + over


cdef double solved_end(Term term, double y, bint upper) noexcept nogil:
    """An end of the domain of b: -phi' as far out as it goes, or a number before it where phi* is
    infinite there.  0 is in the domain in any case, as phi is bounded from below."""
    cdef double far = -FAR if upper else FAR, inside, back
    cdef double end = -slope_at(term, y, far), half = -slope_at(term, y, far / sqrt(FAR))
    if isnan(end) or isnan(half):
        return NAN
    if not fabs(end) < 1e100 or fabs(end) > 1.5 * fabs(half) > 0:       # it goes on growing
        return INFINITY if upper else -INFINITY
    end = fmax(end, 0) if upper else fmin(end, 0)
    inside, back = end, UNIT * fabs(end)
    while inside != 0 and term.phi_conj(y, -inside) == INFINITY:
        inside = end - back if upper else end + back
        back *= 2
        if back > 0.5 * fabs(end):
            return end
    return inside


# What roundings are relative to, where a loss does not say.  Its formulas are taken to be as good
# as exact ones whose arguments, and results, were rounded; summands that cancel to be as large as
# the loss is at z = 0 and z = -y; or else to show, in that phi(z) + phi*(a) is not z a at
# a = phi'(z), or, without a formula for phi*, in that phi does not grow as its slopes say.

cdef inline double finite(double x) noexcept nogil:
    return fabs(x) if fabs(x) < INFINITY else 0.0


cdef void add_scale(Term term, Py_ssize_t n, const double* y, double* out) noexcept nogil:
    """out += |phi(0)| + |phi(-y)|."""
    cdef double at[BLOCK]
    cdef double found[BLOCK]
    cdef Py_ssize_t k
    cdef int side
    for side in range(2):
        for k in range(n):
            at[k] = -y[k] if side else 0.0
        term.phis(n, y, at, found)
        for k in range(n):
            out[k] += finite(found[k])


cdef void misfit(Term term, Py_ssize_t n, const double* y, const double* z, const double* phi,
                 const double* slope, double* out) noexcept nogil:
    """|phi(z) + phi*(a) - z a| at a = phi'(z)."""
    cdef Py_ssize_t k
    term.phi_conjs(n, y, slope, out)
    for k in range(n):
        out[k] = finite((phi[k] - z[k] * slope[k]) + out[k])


cdef void growth_misfit(Term term, Py_ssize_t n, const double* y, const double* z,
                        const double* phi, double* out) noexcept nogil:
    """By how much phi(z + h) - phi(z) is off Milne's rule h/3 (2 s(h/4) - s(h/2) + 2 s(3h/4)) for
    its slopes, to the better side, as there may be a kink on the other."""
    cdef double at[BLOCK]
    cdef double found[BLOCK]
    cdef double grown[BLOCK]
    cdef double h
    cdef Py_ssize_t k
    cdef int side, quarter
    for side in range(2):
        for quarter in range(1, 5):
            for k in range(n):
                h = STRETCH * (fabs(z[k]) + fabs(y[k]))
                at[k] = z[k] + (0.25 if side else -0.25) * quarter * h
            if quarter < 4:
                term.phi_slopes(n, y, at, found)
            else:
                term.phis(n, y, at, found)
            for k in range(n):
                if quarter == 1:
                    grown[k] = 2 * found[k]
                elif quarter < 4:
                    grown[k] += -found[k] if quarter == 2 else 2 * found[k]
                else:
                    h = finite((found[k] - phi[k]) - (at[k] - z[k]) / 3 * grown[k])
                    out[k] = h if side == 0 else fmin(out[k], h)


cdef void default_value_sizes(Term term, bint has_conjugate, Py_ssize_t n, const double* y,
                              const double* z, double* out) noexcept nogil:
    cdef double phi[BLOCK]
    cdef double slope[BLOCK]
    cdef double off[BLOCK]
    cdef Py_ssize_t k
    term.phis(n, y, z, phi)
    term.phi_slopes(n, y, z, slope)
    if has_conjugate:
        misfit(term, n, y, z, phi, slope, off)
    else:
        growth_misfit(term, n, y, z, phi, off)
    for k in range(n):
        # twice, as phi* has its share, of which the dual value knows nothing
        out[k] = (fabs(phi[k]) + fabs(slope[k]) * (fabs(z[k]) + fabs(y[k])) + 2 * off[k] / UNIT)
    add_scale(term, n, y, out)


cdef void default_conjugate_sizes(Term term, Py_ssize_t n, const double* y, const double* a,
                                  double* out) noexcept nogil:
    cdef double at[BLOCK]
    cdef double found[BLOCK]
    cdef double middle[BLOCK]
    cdef double steepest[BLOCK]
    cdef Py_ssize_t k
    cdef int side
    term.phi_conjs(n, y, a, middle)
    for k in range(n):
        steepest[k] = 0
    for side in range(2):
        for k in range(n):
            at[k] = clip(a[k] * (1 + PROBE if side else 1 - PROBE), -term.upper(y[k]),
                         -term.lower(y[k]))
        term.phi_conjs(n, y, at, found)
        for k in range(n):
            steepest[k] = fmax(steepest[k], finite(found[k] - middle[k]) / PROBE)
    for k in range(n):
        out[k] = fabs(middle[k]) + fabs(a[k] * y[k]) + steepest[k]
