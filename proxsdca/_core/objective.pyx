"""P(w), D(alpha) and their difference, recomputed from the data, with error bounds.

One pass over X serves both: P needs the margins X w of the w that is returned, D
needs X^T alpha of the alpha that is returned, and nothing is taken from the loop.
The pass is the same whether X is stored by rows or by columns.  It is made plainly first, where
a sum is off by at most u times the additions that a summand goes through, times the sum of absolute
values.  If that is not far below the gap, all long sums are compensated, so that the bound on their
rounding does not grow with n:

    |computed sum - sum| <= u |sum| + (u + 2 (k u)^2) sum of absolute values,

where k counts the summands, each a product rounded once.  It holds in whatever order
they are added up: each addition's error is known exactly, at most u times what has
been added up by then, and the errors are added up plainly, k of them at the most.
The values phi and phi* are off by at most EVALUATION roundings of the sizes that each loss states,
which covers the library's functions (two roundings at most) and the few operations around them;
plainly, those of the logistic loss are off by as many roundings of 1 more.  Sample weights
s_i = n weight_i / sum are rounded at most four times, b = alpha_i / s_i once more: `conj_spread`
and a term in v cover eight.
"""

import numpy as np

from libc.math cimport INFINITY, NAN, fabs, fmax, fmin, isnan

from .intercept cimport best_intercept
from .losses cimport Hinge, Logistic, Squared
from .map cimport Map
from .regs cimport L1Map
from .rows cimport Rows
from .signals cimport PATIENCE, poll
from .step cimport term_argument
from .sums cimport EVALUATION, UNIT, Sum, Tally, add, result, rounding
from .term cimport BLOCK, Term
from .wide cimport entropies, exp_each, log_each


# Sums are made plainly first, with bounds that grow with the summands; where the bound on their
# rounding is more than this part of the gap, they are made again. (w, alpha) alone decides that.
# Problems with the squared loss are often solved to the last digit, and not tried plainly.
cdef double PLAINLY = 1e-3


# The losses that certificates call statically, any other one virtually. No summands of their phi
# cancel, which is its own size.
ctypedef fused SomeTerm:
    Hinge
    Logistic
    Squared
    Term


cdef inline double argument(Term term, double y, double alpha, double s) noexcept nogil:
    """b = alpha_i / s_i, NaN where it is not in the domain; s_i = 0 forces alpha_i = 0."""
    cdef double b
    if s == 0:
        return 0.0 if alpha == 0 else NAN
    b = term_argument(term, y, alpha, s)
    return b if within(term, y, b) else NAN


cdef inline double conj_spread(Term term, double y, double b) noexcept nogil:
    """How much phi*(-b) moves where b is off by 8 roundings, as alpha_i / s_i may be.

    By convexity the larger change is at one of the ends.
    """
    cdef double h = 8 * UNIT * fabs(b), middle = term.phi_conj(y, -b)
    cdef double below = fmax(b - h, term.lower(y)), above = fmin(b + h, term.upper(y))
    return fmax(fabs(term.phi_conj(y, -below) - middle), fabs(term.phi_conj(y, -above) - middle))


def feasible(Term term, const double[::1] target, weight_or_none, const double[::1] alpha,
             double[::1] inside):
    """Write alpha into `inside`, put back into the domain of phi* where a rounding left it.

    Returns the first row whose alpha lies further outside, or -1.
    """
    cdef const double[::1] weight = weight_or_none
    cdef Py_ssize_t i
    cdef double s = 1, b
    for i in range(alpha.shape[0]):
        if weight is not None:
            s = weight[i]
        b = argument(term, target[i], alpha[i], s)
        if isnan(b):
            return i
        inside[i] = alpha[i] if s == 1 or s == 0 else s * b
    return -1


def evaluate(Rows storage, bint by_columns, Term term, Map map, const double[::1] target,
             weight, const double[::1] w, alpha, double[::1] touched, double[:, ::1] sums,
             double[:, ::1] visited, double lam, bint rescale=False, double beta=0.0,
             double slack=-1.0, double eta=0.0):
    """Evaluate P(w) and D(alpha).

    Parameters
    ----------
    storage : Rows
        X by rows, or, where `by_columns`, its columns.
    term, map, target, weight
        The loss and g.
    w : (d,) array
    alpha : (n,) array
        Where there are weights, inside the domain of phi*: see `feasible`.
    touched : array
        Overwritten: v = sum_i x_i alpha_i / (lam n) by rows, z = X w + beta by columns.
    sums : (len(touched), 3) array
        Overwritten: bounds on the errors of `touched`; of no use; sums of absolute values.
    visited : (3, number of rows of the storage) array
        Overwritten: z by rows, v by columns; bounds on their errors; sums of absolute values.
        By rows, where slack is negative, fewer than there are will do, for so many at a time.
    lam : float
    rescale : bool
        Whether the dual may be that of c alpha instead, c in [0, 1], where that is larger.
    beta : float
        The intercept; alpha has to add up to 0 where it is free, which is not looked at here.
    slack : float
        Where it is not negative, beta is where a search starts for one with which P is at most
        so much above the least.
    eta : float
        A bound on what one operation may lose to underflow; 0 if none does.

    Returns
    -------
    primal, dual : float
    error_primal, error_dual : float
        Bounds on their rounding errors.
    c : float
    alpha : array
        The dual is that of this alpha, which is c times the one that was given.
    beta : float
        The intercept that P has.
    infeasible : int
        The first row whose alpha lies outside the domain of phi*, or -1; if there is one, the dual
        means nothing.
    failed : int
        The first row at which a formula that is not ours failed, or -1; if there is one, nothing
        means anything.
    underflow : bool
        Whether an operation lost digits to underflow; then only the bounds of
        a call with eta = 2^-1074 hold.
    """
    cdef fenv_t environment
    feholdexcept(&environment)      # the flags are read here, and must not show outside
    try:
        good = False
        if not isinstance(term, Squared):
            found = _evaluate(term, storage, by_columns, map, target, weight, w, alpha, touched,
                              sums, visited, lam, rescale, beta, slack, eta, True)
            primal, dual, error_primal, error_dual = found[:4]
            good = error_primal + error_dual <= PLAINLY * (primal - dual)
        if not good:
            found = _evaluate(term, storage, by_columns, map, target, weight, w, alpha, touched,
                              sums, visited, lam, rescale, beta, slack, eta, False)
        return *found, fetestexcept(FE_UNDERFLOW) != 0
    finally:
        fesetenv(&environment)


cdef tuple _evaluate(Term term, Rows storage, bint by_columns, Map map,
                     const double[::1] target, const double[::1] weight, const double[::1] w,
                     const double[::1] alpha, double[::1] touched, double[:, ::1] sums,
                     double[:, ::1] visited, double lam, bint rescale, double beta, double slack,
                     double eta, bint plainly):
    cdef double c = 1
    cdef Py_ssize_t n = target.shape[0], d = w.shape[0], infeasible = -1, failed = -1
    cdef Py_ssize_t first = 0, some
    cdef const double* s = &weight[0] if weight is not None else NULL
    cdef Objective o
    cdef Losses losses = Losses(Sum(0, 0, 0, 0), 0, 0, -1)
    cdef Values z, v
    cdef Tally* tallies
    cdef bint in_parts = not by_columns and slack < 0   # then margins need not be kept
    cdef bint nothing = is_zero(w) and is_zero(alpha)
    tallies = clear_sums(sums)
    z = v = Values(&visited[0, 0], &visited[1, 0], &visited[2, 0], 1)
    while first < storage.n:
        some = min(storage.n - first, visited.shape[1])
        correlate(storage, first, some, alpha if by_columns else w, w if by_columns else alpha,
                  nothing, tallies, visited, eta, plainly)
        if in_parts:
            add_intercept(z, some, beta)
            add_losses(term, some, &target[first], s + first if s != NULL else NULL, z, eta,
                       plainly, &losses)
        first += some
    if plainly:
        close_plain_sums(touched, sums, eta)
    else:
        close_sums(summands_of(storage), touched, sums, eta)
    if by_columns:
        z = values_of(touched, sums)
    else:
        v = values_of(touched, sums)
    scale_by(v, d, 1 / (lam * n), 0 if weight is None else 8, eta)
    if not in_parts:
        if slack >= 0:
            beta = best_intercept(term, &target[0], s, z.value, n, beta, slack * n, 0)
        add_intercept(z, n, beta)
        add_losses(term, n, &target[0], s, z, eta, plainly, &losses)
    o.primal = mean_of(&losses, eta, &o.error_primal)
    failed = losses.failed
    with nogil:
        with_g(&o, map, &w[0], d, lam, eta)
    map.bounded(o.primal, o.error_primal)
    if rescale and isinstance(map, L1Map):
        c = best_scale(term, target, weight, alpha, <L1Map>map, v, d)
        if c != 1:
            alpha = np.multiply(alpha, c)
            scale_by(v, d, c, 8, eta)
    o.dual = -mean_conjugate(term, target, weight, alpha, 1, eta, plainly, &o.error_dual,
                             &infeasible, &failed)
    with nogil:
        with_g_conjugate(&o, map, v, d, lam, eta)
    return (o.primal, o.dual, o.error_primal, o.error_dual, c, np.asarray(alpha), beta, infeasible,
            failed)


cdef int correlate(Rows storage, Py_ssize_t begin, Py_ssize_t count, const double[::1] x,
                   const double[::1] b, bint nothing, Tally* tallies, double[:, ::1] visited,
                   double eta, bint plainly) except -1:
    """A x into visited[0], and A^T b into the tallies, for some rows A of the storage.

    Bounds on the errors of A x go into visited[1], the sums of absolute values into visited[2].
    Where x and b are 0, which is `nothing`, X is not needed.
    """
    cdef Py_ssize_t i
    cdef double mean = storage.nnz / <double>storage.n + 1, entries = 0  # of a row; since a look
    with nogil:
        for i in range(count):
            if nothing:
                visited[0, i] = visited[1, i] = visited[2, i] = 0
                continue
            visited[0, i] = storage.weigh(begin + i, &x[0], b[begin + i], tallies, eta,
                                          &visited[1, i], &visited[2, i], plainly)
            entries += mean
            if entries > PATIENCE:
                entries = 0
                poll()
    return 0


# Losses that are called virtually are asked for many at once: those in Python cost a call.

cdef struct LossBlock:
    double value[BLOCK]
    double below[BLOCK]         # the slopes as far to either side as z may be off
    double above[BLOCK]
    double size[BLOCK]


cdef void losses_of(Term term, Py_ssize_t count, const double* y, Values z, Py_ssize_t first,
                    LossBlock* out) noexcept nogil:
    cdef double at[BLOCK]
    cdef Py_ssize_t k
    term.phis(count, y, z.value + first, out.value)
    term.phi_sizes(count, y, z.value + first, out.size)
    for k in range(count):
        at[k] = z.value[first + k] - z.off[(first + k) * z.stride]
    term.phi_slopes(count, y, at, out.below)
    for k in range(count):
        at[k] = z.value[first + k] + z.off[(first + k) * z.stride]
    term.phi_slopes(count, y, at, out.above)


cdef void logistic_losses_of(Py_ssize_t count, const double* y, Values z, Py_ssize_t first,
                             LossBlock* out) noexcept nogil:
    """log(1 + exp(-y z)), by functions that are good to five roundings; and |phi'|.

    With e <= 1 that makes 5 e / (1 + e) + 1 + 5 log(1 + e) + 1 roundings at most beside those of
    what is added: fewer than EVALUATION of one more than what comes out.
    """
    cdef double odds[BLOCK]
    cdef double ones[BLOCK]
    cdef double t
    cdef Py_ssize_t k
    for k in range(count):
        odds[k] = -fabs(z.value[first + k])
    exp_each(odds, odds, count)
    for k in range(count):
        ones[k] = 1 + odds[k]
    log_each(ones, out.value, count)
    for k in range(count):
        t = y[k] * z.value[first + k]
        out.value[k] += 0.0 if t > 0 else -t
        out.size[k] = 1 + out.value[k]
        out.above[k] = (odds[k] if t > 0 else 1.0) / ones[k]


cdef struct ConjugateBlock:
    double argument[BLOCK]      # b, as `term_argument` has it
    double value[BLOCK]
    double size[BLOCK]


cdef void conjugates_of(Term term, Py_ssize_t count, const double* y, const double* alpha,
                        const double* s, double c, bint logistic,
                        ConjugateBlock* out) noexcept nogil:
    """phi* of count examples; that of the logistic loss likewise by functions of our own."""
    cdef double at[BLOCK]
    cdef Py_ssize_t k
    cdef bint inside
    for k in range(count):
        out.argument[k] = c * alpha[k]
        if s != NULL:
            out.argument[k] = term_argument(term, y[k], c * alpha[k], s[k]) if s[k] != 0 else 0.0
        # outside the domain, which is refused, nobody else is asked
        inside = logistic or within(term, y[k], out.argument[k])
        at[k] = -out.argument[k] if inside else 0.0
    if logistic:
        entropies(count, y, at, out.value)
        for k in range(count):
            out.size[k] = 1 + fabs(out.value[k])
    else:
        term.phi_conjs(count, y, at, out.value)
        term.conj_sizes(count, y, at, out.size)


cdef inline bint within(Term term, double y, double b) noexcept nogil:
    """Whether b is in the domain of phi*(-b)."""
    return term.lower(y) <= b <= term.upper(y)


cdef struct Losses:
    Sum sum                     # of s_i phi(z_i)
    double error                # a bound on the errors of its summands
    Py_ssize_t count, failed    # how many there were; the first where a formula failed, or -1


cdef int add_losses_of(SomeTerm term, Py_ssize_t n, const double* target, const double* weight,
                       Values z, double eta, bint plainly, Losses* to) except -1:
    """Add s_i phi(z_i) of n examples."""
    cdef Py_ssize_t i
    cdef double s = 1, y, m, off, slope, loss, size
    cdef LossBlock losses_at
    cdef Py_ssize_t k
    with nogil:
        for i in range(n):
            if SomeTerm is Term:
                if i % BLOCK == 0:
                    losses_of(term, min(n - i, BLOCK), &target[i], z, i, &losses_at)
            elif SomeTerm is Logistic:
                if plainly and i % BLOCK == 0:
                    logistic_losses_of(min(n - i, BLOCK), &target[i], z, i, &losses_at)
            if weight != NULL:
                s = weight[i]
                if s == 0:
                    continue
            y, m, off = target[i], z.value[i], z.off[i * z.stride]
            # by convexity, the slopes at the ends bound all between
            if SomeTerm is Term:
                k = i % BLOCK
                loss, size = losses_at.value[k], losses_at.size[k]
                slope = fmax(fabs(losses_at.below[k]), fabs(losses_at.above[k]))
            elif SomeTerm is Logistic:
                if plainly:
                    k = i % BLOCK
                    loss, size, slope = losses_at.value[k], losses_at.size[k], losses_at.above[k]
                else:
                    loss = size = term.response(y, m, &slope)
                # |phi'| moves by a factor of exp(off) at the most
                slope = fabs(slope) * (1 + 2 * off) if off < 1 else 1
            else:
                slope = fmax(fabs(term.phi_slope(y, m - off)), fabs(term.phi_slope(y, m + off)))
                loss = size = term.phi(y, m)
            add(&to.sum, s * loss)
            to.error += s * (slope * off + EVALUATION * UNIT * size + 4 * eta)
            if SomeTerm is Term:
                if term.foreign and (isnan(loss) or isnan(to.error)):
                    to.failed = to.count + i
                    break
            if i % PATIENCE == 0:
                poll()
    to.count += n
    return 0


cdef int add_losses(Term term, Py_ssize_t n, const double* target, const double* weight, Values z,
                    double eta, bint plainly, Losses* to) except -1:
    if to.failed >= 0:
        return 0
    if isinstance(term, Hinge):
        return add_losses_of(<Hinge>term, n, target, weight, z, eta, plainly, to)
    if isinstance(term, Logistic):
        return add_losses_of(<Logistic>term, n, target, weight, z, eta, plainly, to)
    if isinstance(term, Squared):
        return add_losses_of(<Squared>term, n, target, weight, z, eta, plainly, to)
    return add_losses_of(term, n, target, weight, z, eta, plainly, to)


cdef double mean_of(Losses* losses, double eta, double* error) noexcept nogil:
    """1/n sum_i s_i phi(z_i), and a bound on its error."""
    cdef double total = result(&losses.sum), n = losses.count
    error[0] = (losses.error + rounding(total, losses.sum.size, n)) / n
    error[0] += 4 * UNIT * losses.sum.size / n + 4 * eta
    return total / n


cdef double conjugate_mean(SomeTerm term, const double[::1] target, const double[::1] weight,
                           const double[::1] alpha, double c, double eta, bint plainly,
                           double* error, Py_ssize_t* infeasible, Py_ssize_t* failed) except? -1:
    """1/n sum_i s_i phi*(-c alpha_i / s_i), a bound on its error (but for the rounding of c), and
    the first row where it is infinite."""
    cdef Py_ssize_t i, n = target.shape[0]
    cdef Sum conjugates = Sum(0, 0, 0, 0)
    cdef double s = 1, y, b, conjugate, size, total, error_sum = 0
    cdef ConjugateBlock at
    cdef Py_ssize_t k
    cdef bint outside
    with nogil:
        for i in range(n):
            if SomeTerm is Term or (SomeTerm is Logistic and plainly):
                if i % BLOCK == 0:
                    conjugates_of(term, min(n - i, BLOCK), &target[i], &alpha[i],
                                  &weight[i] if weight is not None else NULL, c,
                                  SomeTerm is Logistic, &at)
            if weight is not None:
                s = weight[i]
                if s == 0:
                    continue
            y = target[i]
            if SomeTerm is Term or (SomeTerm is Logistic and plainly):
                k = i % BLOCK
                b, conjugate, size = at.argument[k], at.value[k], at.size[k]
                outside = not within(term, y, b)
            else:
                b = c * alpha[i] if weight is None else term_argument(term, y, c * alpha[i], s)
                conjugate = term.phi_conj(y, -b)
                if SomeTerm is Hinge:
                    size = fabs(conjugate)
                elif SomeTerm is Logistic:
                    size = term.size_beside(conjugate, -b)
                else:
                    size = term.conj_size(y, -b)
                outside = conjugate == INFINITY and not within(term, y, b)
            if outside:
                infeasible[0] = i
                break
            add(&conjugates, s * conjugate)
            error_sum += s * (EVALUATION * UNIT * size + 4 * eta)
            if weight is not None:
                error_sum += s * conj_spread(term, y, b)
            if SomeTerm is Term:
                if term.foreign and (isnan(conjugate) or isnan(error_sum)):
                    failed[0] = i
                    break
            if i % PATIENCE == 0:
                poll()
    total = result(&conjugates)
    error[0] = (error_sum + rounding(total, conjugates.size, n)) / n
    error[0] += 4 * UNIT * conjugates.size / n + 4 * eta
    return total / n


cdef double mean_conjugate(Term term, const double[::1] target, const double[::1] weight,
                           const double[::1] alpha, double c, double eta, bint plainly,
                           double* error, Py_ssize_t* infeasible, Py_ssize_t* failed) except? -1:
    if isinstance(term, Hinge):
        return conjugate_mean(<Hinge>term, target, weight, alpha, c, eta, plainly, error,
                              infeasible, failed)
    if isinstance(term, Logistic):
        return conjugate_mean(<Logistic>term, target, weight, alpha, c, eta, plainly, error,
                              infeasible, failed)
    if isinstance(term, Squared):
        return conjugate_mean(<Squared>term, target, weight, alpha, c, eta, plainly, error,
                              infeasible, failed)
    return conjugate_mean(term, target, weight, alpha, c, eta, plainly, error, infeasible,
                          failed)


cdef double best_scale(Term term, const double[::1] target, const double[::1] weight,
                       const double[::1] alpha, L1Map map, Values v, Py_ssize_t d) except? -1:
    """The c in [0, 1] at which the dual of the l1 problem at c alpha is about the largest.

    It is S(c) - B [c |v|_inf - sigma]_+ with S(c) = -mean phi*(-c alpha), concave and 0 at c = 0,
    and bends at c = sigma / |v|_inf. Beyond, it falls: S'(c) <= S(c) / c <= P(w) / c there, and
    B |v|_inf is P(w) / c. So what is left to see is whether S falls before already, which a
    parabola through 0, half the way and c tells; it is exact for quadratic conjugates.
    """
    cdef double peak = map.peak(v.value, d), kink, half, whole, ignored
    cdef Py_ssize_t nowhere, failed = -1
    kink = map.sigma / peak if peak > map.sigma else 1.0
    if kink > 0.9:      # near the solution, where alpha is as long as it should be
        return kink
    half = -mean_conjugate(term, target, weight, alpha, 0.5 * kink, 0, True, &ignored,
                           &nowhere, &failed)
    whole = -mean_conjugate(term, target, weight, alpha, kink, 0, True, &ignored, &nowhere,
                            &failed)
    if not 4 * half > 3 * whole:        # the parabola's slope at c is 3 whole - 4 half, times 1 / c
        return kink
    return kink * fmin(fmax((4 * half - whole) / (8 * half - 4 * whole), 1e-3), 1)


cdef bint is_zero(const double[::1] x) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(x.shape[0]):
        if x[k] != 0:
            return False
    return True
