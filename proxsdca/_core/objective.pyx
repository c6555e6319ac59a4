"""P(w), D(alpha) and their difference, recomputed from the data, with error bounds.

One pass over X serves both: P needs the margins x_i^T w of the w that is
returned, D needs v = sum_i x_i alpha_i / (lambda n) of the alpha that is
returned, and nothing is taken from the loop.  All long sums are compensated,
so that the bound on their rounding does not grow with n:

    |computed sum - sum| <= u |sum| + (u + 2 (k u)^2) sum of absolute values,

where k counts the summands, each a product rounded once.  The values phi and
phi* are off by at most EVALUATION roundings of the sizes that each loss states,
which covers the library's functions (two roundings at most) and the few
operations around them.  Sample weights s_i = n weight_i / sum are rounded at
most four times, b = alpha_i / s_i once more: `conj_spread` and a term in v
cover eight.
"""

from libc.math cimport NAN, fabs, fmax, fmin, isnan

from .losses cimport term_argument
from .map cimport Map
from .rows cimport BLOCK, Rows
from .signals cimport PATIENCE, poll
from .sums cimport EVALUATION, UNIT, Sum, add, result, rounding
from .term cimport Term


cdef extern from "<fenv.h>" nogil:
    ctypedef struct fenv_t:
        pass
    int FE_UNDERFLOW
    int feholdexcept(fenv_t*)
    int fesetenv(const fenv_t*)
    int fetestexcept(int)


cdef inline double argument(Term term, double y, double alpha, double s) noexcept nogil:
    """b = alpha_i / s_i, NaN where it is not in the domain; s_i = 0 forces alpha_i = 0."""
    cdef double b
    if s == 0:
        return 0.0 if alpha == 0 else NAN
    b = term_argument(term, y, alpha, s)
    return b if term.lower(y) <= b <= term.upper(y) else NAN


cdef inline double conj_spread(Term term, double y, double b) noexcept nogil:
    """How much phi*(-b) moves where b is off by 8 roundings, as alpha_i / s_i may be.

    By convexity the larger change is at one of the ends.
    """
    cdef double h = 8 * UNIT * fabs(b), middle = term.phi_conj(y, -b)
    cdef double below = fmax(b - h, term.lower(y)), above = fmin(b + h, term.upper(y))
    return fmax(fabs(term.phi_conj(y, -below) - middle), fabs(term.phi_conj(y, -above) - middle))


def first_infeasible(Term term, const double[::1] target, weight_or_none,
                     const double[::1] alpha):
    """The first row whose alpha lies outside the domain of phi*, or -1."""
    cdef const double[::1] weight = weight_or_none
    cdef Py_ssize_t i
    for i in range(alpha.shape[0]):
        if isnan(argument(term, target[i], alpha[i], 1 if weight is None else weight[i])):
            return i
    return -1


def evaluate(Rows rows, Term term, Map map, const double[::1] target, weight_or_none,
             const double[::1] w, const double[::1] alpha, double[::1] v,
             double[:, ::1] scratch, double lam, double eta=0.0):
    """Evaluate P(w) and D(alpha), and write v(alpha) into v, but where both are 0.

    Parameters
    ----------
    rows, term, map, target, weight_or_none
        The problem, as in `Epoch`.
    w : (d,) array
    alpha : (n,) array
    v : (d,) array
        Overwritten with sum_i x_i alpha_i / (lam n).
    scratch : (d, 2) array
        Overwritten.
    lam : float
    eta : float
        A bound on what one operation may lose to underflow; 0 if none does.

    Returns
    -------
    primal, dual : float
    error_primal, error_dual : float
        Bounds on their rounding errors.
    infeasible : int
        The first row whose alpha lies outside the domain of phi*, or -1; if
        there is one, the other values mean nothing.
    underflow : bool
        Whether an operation lost digits to underflow; then only the bounds of
        a call with eta = 2^-1074 hold.
    """
    cdef fenv_t environment
    feholdexcept(&environment)      # the flags are read here, and must not show outside
    try:
        *found, infeasible = _evaluate(
            rows, term, map, target, weight_or_none, w, alpha, v, scratch, lam, eta
        )
        return *found, infeasible, fetestexcept(FE_UNDERFLOW) != 0
    finally:
        fesetenv(&environment)


cdef tuple _evaluate(Rows rows, Term term, Map map, const double[::1] target,
                     const double[::1] weight, const double[::1] w, const double[::1] alpha,
                     double[::1] v, double[:, ::1] scratch, double lam, double eta):
    cdef Py_ssize_t columns[BLOCK]
    cdef double values[BLOCK]
    cdef Py_ssize_t n = rows.n, d = rows.d, i, j, k, m, count, infeasible = -1
    cdef Py_ssize_t unseen = 0
    cdef bint nothing = is_zero(w) and is_zero(alpha)       # then X is not needed
    cdef Sum losses = Sum(0, 0, 0, 0), conjugates = Sum(0, 0, 0, 0), margin
    cdef double s = 1, a, b, y, z, off, x, p, t, slope, error_p = 0, error_d = 0
    cdef double primal, dual, g = 0, g_conj = 0, error_g = 0, error_g_conj = 0
    cdef double scale = 1 / (lam * n)
    # a column may hold as many entries as there are, where rows are not canonical
    cdef double summands = n if rows.canonical else rows.nnz
    with nogil:
        if not nothing:
            for j in range(d):
                v[j] = scratch[j, 0] = scratch[j, 1] = 0
                if j % PATIENCE == 0:
                    poll()
        for i in range(n):
            y, a = target[i], alpha[i]
            if weight is not None:
                s = weight[i]
            b = argument(term, y, a, s)
            if b != a and s != 1:
                a = s * b       # where alpha_i was put back into the domain, v follows
            margin = Sum(0, 0, 0, 0)
            k = 0
            while not nothing:
                count = rows.read(i, k, columns, values)
                for m in range(count):
                    add(&margin, values[m] * w[columns[m]])
                if a != 0:
                    for m in range(count):      # Sum's `add`, spread over v and scratch
                        j = columns[m]
                        x = values[m] * a
                        t = v[j] + x
                        p = t - v[j]
                        scratch[j, 0] += (v[j] - (t - p)) + (x - p)
                        scratch[j, 1] += fabs(x)
                        v[j] = t
                k += count
                unseen += count + 1
                if unseen > PATIENCE:
                    unseen = 0
                    poll()
                if count < BLOCK:
                    break
            if isnan(b):
                infeasible = i
                break
            if s == 0:
                continue
            z = result(&margin)
            off = rounding(z, margin.size, margin.count) + margin.count * eta
            # by convexity, the slopes at the ends bound all between
            slope = fmax(fabs(term.phi_slope(y, z - off)), fabs(term.phi_slope(y, z + off)))
            add(&losses, s * term.phi(y, z))
            error_p += s * (slope * off + EVALUATION * UNIT * term.phi_size(y, z) + 4 * eta)
            add(&conjugates, s * term.phi_conj(y, -b))
            error_d += s * (EVALUATION * UNIT * term.conj_size(y, -b) + 4 * eta)
            if weight is not None:
                error_d += s * conj_spread(term, y, b)
        if not nothing:
            for j in range(d):
                x = v[j] + scratch[j, 0]
                off = rounding(x, scratch[j, 1], summands) + summands * eta
                if weight is not None:
                    off += 8 * UNIT * scratch[j, 1]     # the rounding of s_i
                v[j] = x * scale
                scratch[j, 0] = off * scale + 4 * UNIT * fabs(v[j]) + eta
                if j % PATIENCE == 0:
                    poll()
            g = map.value(&w[0], d, &error_g)
            poll()
            g_conj = map.conjugate(&v[0], &scratch[0, 0], d, &error_g_conj)
            poll()
            error_g += 4 * d * eta
            error_g_conj += 4 * d * eta
    x = result(&losses)
    error_p = (error_p + rounding(x, losses.size, n)) / n + lam * error_g
    primal = x / n + lam * g
    x = result(&conjugates)
    error_d = (error_d + rounding(x, conjugates.size, n)) / n + lam * error_g_conj
    dual = -x / n - lam * g_conj
    # the divisions, the products with lam and the last sums; a hundredth more
    # covers the rounding of the bounds themselves
    error_p = 1.01 * (error_p + 4 * UNIT * (losses.size / n + lam * fabs(g)) + 4 * eta)
    error_d = 1.01 * (error_d + 4 * UNIT * (conjugates.size / n + lam * fabs(g_conj)) + 4 * eta)
    return primal, dual, error_p, error_d, infeasible


cdef bint is_zero(const double[::1] x) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(x.shape[0]):
        if x[k] != 0:
            return False
    return True
