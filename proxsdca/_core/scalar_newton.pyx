"""Second-order ascent for losses of one margin with g(w) = |w|^2 / 2: the passes over X.

As in newton.pyx, a proximal step on the dual,

    max over alpha of D(alpha) - mu/2 1/n sum_i s_i (b_i - b0_i)^2,   b_i = alpha_i / s_i,

has the smooth primal

    F(w) = lam/2 |w|^2
           + 1/n sum_i s_i max_b [-b x_i^T w - phi*(-b) - mu/2 (b - b0_i)^2],

whose inner solutions are the steps of Option I with q = mu, and whose Hessian is lam I + 1/n sum_i
s_i x_i x_i^T / (c_i + mu) with the second derivatives c_i of phi*(-b) at them: only examples inside
the domain count.  For a smooth loss mu = 0 does, and F is P itself.
"""

import numpy as np

from libc.math cimport INFINITY, fabs, fmax, frexp, log1p
from libc.string cimport memcpy, memset

from .equations cimport Equations, factorise, substitute
from .losses cimport Hinge, Logistic, clip
from .regs cimport L2Map
from .rows cimport (
    AnyRows, CSR32i32, CSR32i64, CSR64i32, CSR64i64, Dense32, Dense64, Rows, SparseRows, Strided32,
    Strided64, axpy, column, dot, lead_of, prefetch_row, span, value,
)
from .signals cimport PATIENCE, poll
from .step cimport term_argument
from .sums cimport Sum, add, result
from .term cimport Term
from .wide cimport divide_each, exp_each, hinge_responses_each, log_each, scale_each

ctypedef fused SomeTerm:
    Logistic
    Term


cdef enum:
    WIDEST = 600                    # columns, up to which the preconditioner is H itself ...
    MOST_WORK = 4_000_000_000       # ... if it takes no more products than this, in dense rows
    MOST = 40                       # examples for each column in a thin preconditioner, ...
    AHEAD = 8                       # examples between the one that is read and one that will be
    PART = 8                        # ... or one of so many, if that is more
    SPREAD = 4                      # times faster are products in order than scattered ones
    LANES = 8                       # losses side by side, ...
    GROUP = 8                       # ... and one after the other, for one logarithm
    BATCH = LANES * GROUP
    OCTAVES = 128                   # of curvature that are told apart
    TASK_MARGINS = 1
    TASK_LOOK = 2
    TASK_BLOCK = 3
    TASK_PRODUCT = 4


# The part of H's diagonal in the preconditioner lam I + ... where that is no more than a diagonal.
# The few directions in which H is large by all of it are the ones that conjugate gradients find
# by themselves.
cdef double DIAGONAL = 0.1
cdef double LEAST = 1e-300              # a normal number whose logarithm is taken for that of 0


cdef inline int octave_of(double bend) noexcept nogil:
    """About log2(1 / bend), from 0 on."""
    cdef int exponent
    frexp(bend, &exponent)
    return min(max(-exponent, 0), OCTAVES - 1)


cdef class ScalarNewton(Equations):
    """The passes over X.

    Parameters
    ----------
    rows, term, target, weight
        As in `Epoch`; the term has a `conj_curve`.
    lam : float
    """

    cdef Rows rows
    cdef Term term
    cdef L2Map plain
    cdef const double[::1] target, weight
    cdef double lam
    cdef readonly bint blocked
    cdef Py_ssize_t visited                 # rows
    cdef readonly Py_ssize_t free       # examples with curvature
    cdef readonly double rebuild        # how many steps of `solve` a preconditioner costs
    cdef readonly bint thin             # whether it has but a part of the examples
    # The curvature s_i / (n (c_i + mu)) of the examples, and which of them are free.
    cdef double[::1] bend
    cdef Py_ssize_t[::1] example
    cdef double[:, ::1] sums            # a gradient, and the diagonal of H less lam
    # The preconditioner, the examples that it is made of, and the curvature that each stands for.
    cdef double[::1] block, part
    cdef Py_ssize_t[::1] member
    cdef Py_ssize_t members
    # X p for the last product with H, and X x for the x that `solve` has made of them.
    cdef double[::1] seen, image

    def __init__(self, Rows rows, Term term, const double[::1] target, weight, double lam):
        self.rows, self.term, self.plain = rows, term, L2Map()
        self.target, self.weight, self.lam = target, weight, lam
        self.dim = rows.d
        self.blocked = ScalarNewton.blocked_for(rows.n, rows.d)
        self.example, self.member = (np.empty(rows.n, np.intp) for _ in range(2))
        self.bend, self.seen, self.image, self.part = (np.zeros(rows.n) for _ in range(4))
        self.sums = np.zeros((rows.d, 2))
        self.block = np.empty(rows.d * rows.d if self.blocked else rows.d)

    @property
    def touched(self):
        """Nonzeros read, as if rows were of equal length: choices follow it, and as it is never
        rounded down, there are as many passes in every storage."""
        cdef object visited = self.visited, nnz = self.rows.nnz     # whose product may be large
        return -(-visited * nnz // self.rows.n)

    @staticmethod
    def blocked_for(Py_ssize_t n, Py_ssize_t d):
        """Whether the preconditioner is H itself, for so many rows and columns."""
        return d <= WIDEST and 0.5 * d * d * n <= MOST_WORK

    @staticmethod
    def cost_of_factors(Py_ssize_t n, Py_ssize_t d, Py_ssize_t nnz):
        """About how many products with H it takes to make H and its factors: products for each row,
        and d^3 / 6 of them for the factors."""
        return 0.1 * (min(SPREAD * nnz / n, d) + d * d * (d / 6.0) / max(1, nnz))

    @property
    def entries(self):
        """Numbers in all z together."""
        return self.rows.n

    def margins(self, const double[::1] w, double[::1] z):
        """z = X w."""
        self._pass(TASK_MARGINS, w, z)

    def margins_of_step(self, const double[::1] step, double[::1] dz):
        """dz = X step, for the step that `solve` has found."""
        if self.exact or self.free < self.rows.n:   # products are with the free examples alone
            self.margins(step, dz)
        else:
            dz[:] = self.image

    cdef void advance(self, double a) noexcept:
        cdef Py_ssize_t i
        if a == 0:
            self.image[:] = 0
            return
        for i in range(self.rows.n):
            self.image[i] += a * self.seen[i]

    def respond(self, const double[::1] z, dz, double t, const double[::1] base, double mu, out):
        """The alpha that attain the losses at z + t dz, into `out` where that is not None.

        Returns
        -------
        smooth : float
            The mean of the smoothed losses.
        loss, conjugate : float
            The means of s_i phi and of s_i phi*.
        """
        cdef const double[::1] direction = dz
        cdef double[::1] alpha = out
        if (isinstance(self.term, Hinge) and self.weight is None and mu > 0
                and alpha is not None):
            return hinge_responses(self.target, z, direction, t, base, mu, alpha)
        cdef Py_ssize_t i, n = self.rows.n
        cdef double s = 1, y, m, b, old, phi, conj, smoothed
        cdef Sum smooth = Sum(0, 0, 0, 0), loss = Sum(0, 0, 0, 0), conjugate = Sum(0, 0, 0, 0)
        with nogil:
            for i in range(n):
                if self.weight is not None:
                    s = self.weight[i]
                    if s == 0:
                        continue
                y = self.target[i]
                m = z[i] if direction is None else z[i] + t * direction[i]
                phi = smoothed = self.term.phi(y, m)
                add(&loss, s * phi)
                if mu > 0:
                    old = term_argument(self.term, y, base[i], s)
                    b = self.term.best(y, old, m, mu)
                    conj = self.term.phi_conj(y, -b)
                    smoothed = -b * m - conj - 0.5 * mu * (b - old) * (b - old)
                    add(&conjugate, s * conj)
                elif alpha is not None:
                    b = -self.term.phi_slope(y, m)
                    add(&conjugate, s * self.term.phi_conj(y, -b))
                add(&smooth, s * smoothed)
                if alpha is not None:
                    alpha[i] = s * b
                if i % PATIENCE == PATIENCE - 1:
                    poll()
        return result(&smooth) / n, result(&loss) / n, result(&conjugate) / n

    def response(self, const double[::1] z, dz, double t, double[::1] out):
        """The alpha = -s phi'(z + t dz) of a smooth loss, into `out`; the mean of s_i phi."""
        cdef const double[::1] direction = dz
        if isinstance(self.term, Logistic):
            if self.weight is None:
                return logistic_responses(self.target, z, direction, t, out)
            return responses(<Logistic>self.term, self.target, self.weight, z, direction, t, out)
        return responses(self.term, self.target, self.weight, z, direction, t, out)

    def conjugate(self, const double[::1] alpha):
        """The mean of s_i phi*(-alpha_i / s_i)."""
        if isinstance(self.term, Logistic) and self.weight is None:
            return logistic_conjugates(self.target, alpha)
        cdef Py_ssize_t i, n = self.rows.n
        cdef double s = 1, y
        cdef Sum total = Sum(0, 0, 0, 0)
        with nogil:
            for i in range(n):
                if self.weight is not None:
                    s = self.weight[i]
                    if s == 0:
                        continue
                y = self.target[i]
                add(&total, s * self.term.phi_conj(y, -term_argument(self.term, y, alpha[i], s)))
                if i % PATIENCE == PATIENCE - 1:
                    poll()
        return result(&total) / n

    def follow(self, const double[::1] dz, double[::1] alpha):
        """Move alpha along the tangent of the responses, as z moves by dz, within the domain.

        Where the domain is not left and dz = X p with H p = -gradient + r, X^T alpha / (lambda n)
        is w + p - r / lambda afterwards, without a pass to see it.

        Returns
        -------
        bool
            Whether the domain would have been left.
        """
        cdef Py_ssize_t f, i, n = self.rows.n
        cdef double s = 1, y, b, inside
        cdef bint left = False
        for f in range(self.free):
            i = self.example[f]
            if self.weight is not None:
                s = self.weight[i]
            y = self.target[i]
            b = (alpha[i] - n * self.bend[i] * dz[i]) / s
            inside = clip(b, self.term.lower(y), self.term.upper(y))
            left = left or inside != b
            alpha[i] = s * inside
        return left

    def curve(self, const double[::1] alpha, double mu, bint precondition):
        """Take the Hessian at this alpha, and make a preconditioner of it if that is asked for."""
        self._bend(alpha, mu)
        self.exact = False
        if precondition:
            if not self.blocked:
                self._pass(TASK_LOOK, alpha, None)
            self.prepare(False)

    def look(self, const double[::1] alpha, double[::1] out, double spared=0):
        """Take the Hessian of a smooth loss at this alpha, and write 1/n sum_i x_i alpha_i into
        `out`. Products with H leave out examples with no more curvature than `spared` together.
        """
        cdef Py_ssize_t j
        self._bend(alpha, 0)
        self._pass(TASK_LOOK, alpha, None)
        if not self.blocked:        # whose products are with each example
            self._spare(spared)
        for j in range(self.dim):
            out[j] = self.sums[j, 0] / self.rows.n
        self.exact = False

    def prepare(self, bint thin):
        """Make a preconditioner M for the Hessian that was taken: H itself, or its diagonal.

        Where `thin`, after a look, M has no more examples than decide about it, each with a
        part of the curvature of those that it stands for; few have a rare column, which keeps its
        own diagonal.
        """
        cdef Py_ssize_t j, d = self.dim, n = self.rows.n, most = max(MOST * d, n // PART)
        self.thin = thin = thin and self.blocked and 2 * most < self.free
        self.exact = self.blocked and not thin
        self._choose(most if thin else 0)
        if self.blocked:
            self.block[:] = 0
            self._pass(TASK_BLOCK, None, self.block)
            if thin:
                for j in range(d):
                    self.block[j * d + j] = fmax(self.block[j * d + j], self.sums[j, 1])
            factorise(&self.block[0], d, self.lam)
            self.rebuild = ScalarNewton.cost_of_factors(n, d, self.rows.nnz)
        else:
            for j in range(d):
                self.block[j] = self.lam + DIAGONAL * self.sums[j, 1]
            self.rebuild = 0

    cdef void _choose(self, Py_ssize_t most) noexcept:
        """Who is to be in M: all, or about so many at the most, where those with little curvature
        stand for others."""
        cdef Py_ssize_t f, i
        cdef double least = 0, left = 0, bend
        self.members = 0
        if most:
            for f in range(self.free):
                least += self.bend[self.example[f]]
            least /= most
        for f in range(self.free):
            i = self.example[f]
            bend = self.bend[i]
            if bend < least:
                left += bend
                if left < least:
                    continue
                left -= least
                bend = least
            self.member[self.members], self.part[self.members] = i, bend
            self.members += 1

    cdef void _bend(self, const double[::1] alpha, double mu) noexcept:
        cdef Py_ssize_t i, n = self.rows.n
        cdef double s = 1, c
        self.free = 0
        for i in range(n):
            self.bend[i] = 0
            if self.weight is not None:
                s = self.weight[i]
                if s == 0:
                    continue
            c = self.term.conj_curve(self.target[i], alpha[i] / s) + mu
            if 0 < c < INFINITY:
                self.example[self.free], self.bend[i] = i, s / (n * c)
                self.free += 1

    cdef void _spare(self, double spared) noexcept:
        """Let those with the least curvature, no more than so much together, count as not free."""
        cdef double sums[OCTAVES]
        cdef Py_ssize_t f, i, free = self.free
        cdef int k
        memset(sums, 0, sizeof(sums))
        for f in range(free):
            sums[octave_of(self.bend[self.example[f]])] += self.bend[self.example[f]]
        k = OCTAVES - 1
        while k >= 0 and sums[k] <= spared:
            spared -= sums[k]
            k -= 1
        self.free = 0
        for f in range(free):
            i = self.example[f]
            if octave_of(self.bend[i]) <= k:
                self.example[self.free] = i
                self.free += 1

    def product(self, const double[::1] x, double[::1] out):
        scale_each(self.lam, &x[0], &out[0], self.dim)
        self._pass(TASK_PRODUCT, x, out)

    def precondition(self, const double[::1] r, double[::1] out):
        if self.blocked:
            memcpy(&out[0], &r[0], self.dim * sizeof(double))
            substitute(&self.block[0], self.dim, &out[0])
        else:
            divide_each(&r[0], &self.block[0], &out[0], self.dim)

    def _pass(self, int task, vector, double[::1] out):
        cdef const double[::1] x = vector
        cdef Rows rows = self.rows
        if isinstance(rows, CSR32i32):
            visit(self, <CSR32i32>rows, task, x, out)
        elif isinstance(rows, CSR64i32):
            visit(self, <CSR64i32>rows, task, x, out)
        elif isinstance(rows, CSR32i64):
            visit(self, <CSR32i64>rows, task, x, out)
        elif isinstance(rows, CSR64i64):
            visit(self, <CSR64i64>rows, task, x, out)
        elif isinstance(rows, Dense32):
            visit(self, <Dense32>rows, task, x, out)
        elif isinstance(rows, Dense64):
            visit(self, <Dense64>rows, task, x, out)
        elif isinstance(rows, Strided32):
            visit(self, <Strided32>rows, task, x, out)
        else:
            visit(self, <Strided64>rows, task, x, out)


cdef tuple hinge_responses(const double[::1] target, const double[::1] z, const double[::1] dz,
                           double t, const double[::1] base, double mu, double[::1] out):
    """What `respond` returns for hinges without weights, side by side."""
    cdef Py_ssize_t at, i, k, count, n = target.shape[0]
    cdef double y[BATCH]
    cdef double m[BATCH]
    cdef double old[BATCH]
    cdef double new[BATCH]
    cdef double sums[3]
    cdef Sum smooth = Sum(0, 0, 0, 0), loss = Sum(0, 0, 0, 0), conjugate = Sum(0, 0, 0, 0)
    with nogil:
        for at in range((n + BATCH - 1) // BATCH):
            i = BATCH * at
            count = min(n - i, BATCH)
            for k in range(count, BATCH):       # which adds nothing
                y[k], m[k], old[k] = 1, 1, 0
            memcpy(y, &target[i], count * sizeof(double))
            memcpy(m, &z[i], count * sizeof(double))
            memcpy(old, &base[i], count * sizeof(double))
            if dz is not None:
                for k in range(count):
                    m[k] += t * dz[i + k]
            hinge_responses_each(y, m, old, mu, BATCH, new, sums)
            memcpy(&out[i], new, count * sizeof(double))
            add(&smooth, sums[0])
            add(&loss, sums[1])
            add(&conjugate, -sums[2])
            if i % PATIENCE < BATCH:
                poll()
    return result(&smooth) / n, result(&loss) / n, result(&conjugate) / n


cdef double responses(SomeTerm term, const double[::1] target, const double[::1] weight,
                      const double[::1] z, const double[::1] dz, double t,
                      double[::1] out) except? -1:
    cdef Py_ssize_t i, n = target.shape[0]
    cdef double s = 1, b
    cdef Sum total = Sum(0, 0, 0, 0)
    with nogil:
        for i in range(n):
            if weight is not None:
                s = weight[i]
                if s == 0:
                    continue
            add(&total, s * term.response(target[i], z[i] if dz is None else z[i] + t * dz[i], &b))
            out[i] = s * b
            if i % PATIENCE == PATIENCE - 1:
                poll()
    return result(&total) / n


cdef double logistic_responses(const double[::1] target, const double[::1] z,
                               const double[::1] dz, double t, double[::1] out) except? -1:
    """The same without weights, side by side: a batch needs as many logarithms as it has lanes.

    log(1 + e) + log(1 + e') = log(1 + (e + e' + e e')), to which small e are no less exact.
    """
    cdef Py_ssize_t at, i, k, g, count, n = target.shape[0]
    cdef double m[BATCH]
    cdef double e[BATCH]
    cdef double odds[LANES]
    cdef double linear[LANES]
    cdef Sum total = Sum(0, 0, 0, 0)
    with nogil:
        for at in range((n + BATCH - 1) // BATCH):
            i = BATCH * at
            count = min(n - i, BATCH)
            for k in range(count):
                m[k] = z[i + k]
            if dz is not None:
                for k in range(count):
                    m[k] += t * dz[i + k]
            for k in range(count):
                m[k] *= target[i + k]
            for k in range(count, BATCH):
                m[k] = INFINITY
            for k in range(BATCH):
                e[k] = -fabs(m[k])
            exp_each(e, e, BATCH)
            for k in range(count):
                out[i + k] = target[i + k] * (e[k] if m[k] > 0 else 1.0) / (1 + e[k])
            for k in range(LANES):
                odds[k] = linear[k] = 0
            for g in range(GROUP):
                for k in range(LANES):
                    odds[k] += e[LANES * g + k] + odds[k] * e[LANES * g + k]
                    linear[k] += m[LANES * g + k] if m[LANES * g + k] < 0 else 0.0
            for k in range(LANES):
                add(&total, log1p(odds[k]) - linear[k])
            if i % PATIENCE < BATCH:
                poll()
    return result(&total) / n


cdef double logistic_conjugates(const double[::1] target, const double[::1] alpha) except? -1:
    """The mean of phi*(-alpha_i) = t log t + (1 - t) log(1 - t), side by side.

    What 1 - t loses in rounding is nothing to t log t, but is to the other where t is small.
    """
    cdef Py_ssize_t at, i, k, count, n = target.shape[0]
    cdef double t[BATCH]
    cdef double u[BATCH]
    cdef double log_t[BATCH]
    cdef double log_u[BATCH]
    cdef double outside = 0, sum
    cdef Sum total = Sum(0, 0, 0, 0)
    with nogil:
        for at in range((n + BATCH - 1) // BATCH):
            i = BATCH * at
            count = min(n - i, BATCH)
            for k in range(count):
                t[k] = target[i + k] * alpha[i + k]
            for k in range(count, BATCH):
                t[k] = 0
            for k in range(BATCH):
                outside = 1.0 if t[k] < 0 or t[k] > 1 else outside
                u[k] = 1 - t[k]
                log_t[k] = t[k] if t[k] > LEAST else LEAST
                log_u[k] = u[k] if u[k] > LEAST else LEAST
            log_each(log_t, log_t, BATCH)
            log_each(log_u, log_u, BATCH)
            sum = 0
            for k in range(BATCH):
                sum += t[k] * log_t[k] + (u[k] * log_u[k] + ((1 - u[k]) - t[k]))
            add(&total, sum)
            if i % PATIENCE < BATCH:
                poll()
    return INFINITY if outside else result(&total) / n


cdef int visit(ScalarNewton state, AnyRows rows, int task, const double[::1] x,
               double[::1] out) except -1:
    """One pass over all rows, over the free ones, or over those in the preconditioner."""
    cdef Py_ssize_t f, i, e, g, at, b, first, count, d = rows.d, unseen = 0
    cdef bint every = task == TASK_MARGINS or task == TASK_LOOK
    cdef Py_ssize_t visits = rows.n
    cdef double bend, slope, entry
    cdef Py_ssize_t lead = lead_of(rows)
    cdef double* sums = &state.sums[0, 0]
    cdef double[::1] dense = np.zeros(d if task == TASK_BLOCK else 1)
    if task == TASK_LOOK:
        state.sums[:] = 0
    elif task == TASK_BLOCK:
        visits = state.members
    elif task == TASK_PRODUCT:
        visits = state.free
    with nogil:
        for f in range(visits):
            if task == TASK_BLOCK:
                i, bend = state.member[f], state.part[f]
                if f + AHEAD < visits:
                    prefetch_row(rows, state.member[f + AHEAD], lead)
            else:
                i = f if every else state.example[f]
                bend = state.bend[i]
            count = span(rows, i, &first)
            if task == TASK_MARGINS:
                out[i] = dot(rows, i, state.plain, &x[0])
            elif task == TASK_PRODUCT:
                state.seen[i] = dot(rows, i, state.plain, &x[0])
                axpy(rows, i, bend * state.seen[i], state.plain, &out[0], NULL, 0)
            elif task == TASK_LOOK:
                slope = x[i]
                for e in range(count):
                    at, entry = column(rows, first, e), value(rows, first, e)
                    sums[2 * at] += slope * entry
                    sums[2 * at + 1] += bend * entry * entry
            elif AnyRows in SparseRows and SPREAD * count < d:
                for e in range(count):
                    at = column(rows, first, e)
                    entry = bend * value(rows, first, e)
                    for g in range(e + 1 if rows.canonical else count):
                        b = column(rows, first, g)
                        if b <= at:         # a column may stand twice
                            out[at * d + b] += entry * value(rows, first, g)
                unseen += count * count // 2
            else:
                for e in range(count):
                    dense[column(rows, first, e)] += value(rows, first, e)
                for e in range(count):
                    at = column(rows, first, e)
                    entry = bend * value(rows, first, e)
                    for b in range(at + 1):
                        out[at * d + b] += entry * dense[b]
                for e in range(count):
                    dense[column(rows, first, e)] = 0
                unseen += count * d // 2
            unseen += count + 1
            if unseen > 4 * PATIENCE:
                unseen = 0
                poll()
    state.visited += visits
    return 0
