"""P(w), D(alpha) and their difference, recomputed from the data, with error bounds.

One pass over X serves both: P needs the margins x_i^T w of the w that is
returned, D needs v = sum_i x_i alpha_i / (lambda n) of the alpha that is
returned, and nothing is taken from the loop.  All long sums are compensated,
so that the bound on their rounding does not grow with n:

    |computed sum - sum| <= u |sum| + (u + 2 (k u)^2) sum of absolute values,

where k counts the summands, each a product rounded once.
"""

from libc.math cimport INFINITY, fabs, fmax

from .losses cimport term_argument
from .map cimport Map
from .rows cimport BLOCK, Rows
from .sums cimport EVALUATION, UNIT, Sum, add, result, rounding
from .term cimport Term


def evaluate(Rows rows, Term term, Map map, const double[::1] target, weight_or_none,
             const double[::1] w, const double[::1] alpha, double[::1] v,
             double[:, ::1] scratch, double lam):
    """Evaluate P(w) and D(alpha), and write v(alpha) into v.

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

    Returns
    -------
    primal, dual, rounding : float
        rounding bounds the error of primal - dual.
    infeasible : int
        The first row whose alpha lies outside the domain of phi*, or -1; the
        dual is then minus infinity.
    """
    cdef const double[::1] weight = weight_or_none
    cdef Py_ssize_t columns[BLOCK]
    cdef double values[BLOCK]
    cdef Py_ssize_t n = rows.n, d = rows.d, i, j, k, m, count, infeasible = -1
    cdef Sum losses = Sum(0, 0, 0, 0), conjugates = Sum(0, 0, 0, 0), margin
    cdef double s = 1, a, b, y, z, off, x, p, t, slope, error_p = 0, error_d = 0
    cdef double primal, dual, g, g_conj, error_g, error_g_conj, slack
    cdef double scale = 1 / (lam * n)
    with nogil:
        for j in range(d):
            v[j] = scratch[j, 0] = scratch[j, 1] = 0
        for i in range(n):
            y, a = target[i], alpha[i]
            b = a
            if weight is not None:
                s = weight[i]
                b = term_argument(term, y, a, s) if s != 0 else 0.0
            margin = Sum(0, 0, 0, 0)
            k = 0
            while True:
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
                if count < BLOCK:
                    break
            if s == 0:
                if a != 0 and infeasible < 0:
                    infeasible = i
                continue
            z = result(&margin)
            off = rounding(z, margin.size, margin.count)
            slope = term.lipschitz
            if slope == INFINITY:       # by convexity, the slopes at the ends bound all between
                slope = fmax(fabs(term.phi_slope(y, z - off)), fabs(term.phi_slope(y, z + off)))
            add(&losses, s * term.phi(y, z))
            error_p += s * (slope * off + EVALUATION * UNIT * term.phi_size(y, z))
            x = term.phi_conj(y, -b)
            if x == INFINITY:
                infeasible = i if infeasible < 0 else infeasible
                continue
            add(&conjugates, s * x)
            error_d += s * EVALUATION * UNIT * term.conj_size(y, -b)
        for j in range(d):
            x = v[j] + scratch[j, 0]
            off = rounding(x, scratch[j, 1], n)
            v[j] = x * scale
            scratch[j, 0] = off * scale + 4 * UNIT * fabs(v[j])
        g = map.value(&w[0], d, &error_g)
        g_conj = map.conjugate(&v[0], &scratch[0, 0], d, &error_g_conj)
    x = result(&losses)
    error_p = (error_p + rounding(x, losses.size, n)) / n + lam * error_g
    primal = x / n + lam * g
    x = result(&conjugates)
    error_d = (error_d + rounding(x, conjugates.size, n)) / n + lam * error_g_conj
    dual = -x / n - lam * g_conj
    # the divisions, the products with lam and the last sums; a hundredth more
    # covers the rounding of the bounds themselves
    slack = 4 * UNIT * ((losses.size + conjugates.size) / n + lam * (fabs(g) + fabs(g_conj)))
    slack = 1.01 * (error_p + error_d + slack)
    return primal, -INFINITY if infeasible >= 0 else dual, slack, infeasible
