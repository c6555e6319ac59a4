"""Second-order ascent for vector-valued losses with g(w) = |w|^2 / 2, in two ways.

All of alpha, where d is small.  A proximal step on the dual,

    max over alpha of D(alpha) - mu/2 1/n sum_i s_i |beta_i - beta0_i|^2,

has the smooth primal

    F(w) = lam/2 |w|^2
           + 1/n sum_i s_i max_beta [(beta - e_y)^T X_i^T w - omega(beta)
                                     - mu/2 |beta - beta0_i|^2],

whose inner solutions are the `best` of the loss, and whose Hessian is lam I + 1/n sum_i s_i X_i J_i
X_i^T with the losses' `bend` for J_i: only examples whose beta is not at a corner count.  For a
smooth loss mu = 0 does, and F is P itself.  Here are the passes that Newton's method needs, and
the conjugate gradients for its equations; `_newton.py` has the order of the calls.

The faces that alpha is on, for the multiclass hinge where d is large: `ascend_faces`.
"""

import numpy as np

from libc.math cimport fmax
from libc.string cimport memcpy

from .blocks cimport add_row, margins, total
from .equations cimport Equations, factorise, inner, substitute
from .duals cimport Duals
from .regs cimport L2Map
from .rows cimport (
    AnyRows, CSR32i32, CSR32i64, CSR64i32, CSR64i64, Dense32, Dense64, Rows, Strided32, Strided64,
    column, dot, span, value,
)
from .signals cimport PATIENCE, poll
from .sums cimport Sum, add, result
from .vector_losses cimport VectorLoss


cdef enum:
    MOST_BLOCKS = 4_000_000     # numbers in the blocks of the preconditioner, beyond which it is
    MOST_WORK = 200_000_000     # diagonal; products that go into them
    MOST_STEPS = 50             # of conjugate gradients along faces
    TASK_MARGINS = 1
    TASK_BLOCKS = 2
    TASK_GATHER = 3
    TASK_SCATTER = 4


cdef extern from *:
    """
    /* beta_j below this add nothing to the Hessian that Newton's method would miss; those of a
       sparse beta are nothing but roundings below the other, and are dropped for good. */
    #define PROXSDCA_NEGLIGIBLE 1e-10
    #define PROXSDCA_NOTHING 1e-14
    """
    const double NEGLIGIBLE "PROXSDCA_NEGLIGIBLE"
    const double NOTHING "PROXSDCA_NOTHING"


cdef class Newton(Equations):
    """The passes over X.

    Parameters
    ----------
    rows, term, delta, weight
        As in `BlockEpoch`.
    duals : Duals
        The examples; its alpha does not matter.
    lam : float
    """

    cdef Rows rows
    cdef VectorLoss term
    cdef L2Map plain
    cdef const double[::1] delta, weight
    cdef Duals shape
    cdef double lam, mu
    cdef bint explicit, blocked
    cdef readonly Py_ssize_t touched    # nonzeros read
    cdef readonly Py_ssize_t free       # examples with curvature
    cdef readonly double rebuild        # how many steps of `solve` a preconditioner costs
    cdef Py_ssize_t width               # columns of w: k, or 1 where X_i is explicit
    # The curvature of the free examples: which they are, and beta on its support.
    cdef Py_ssize_t[::1] example, start, classes
    cdef double[::1] beta, at_support, blocks
    cdef Duals collected                # whose curvature that is
    cdef double[::1] ones, rooms
    # Of the examples, by the last `respond` to mu > 0: the leads, and who has moved.
    cdef readonly object leads, moved
    cdef double[::1] lead
    cdef unsigned char[::1] moves

    def __init__(self, Rows rows, VectorLoss term, delta, weight, Duals duals, double lam):
        self.rows, self.term, self.plain = rows, term, L2Map()
        self.delta, self.weight, self.shape, self.lam = delta, weight, duals, lam
        self.explicit = duals.k == 0
        self.width = 1 if self.explicit else duals.k
        self.dim = rows.d * self.width
        self.blocked = Newton.blocked_for(rows.d, self.width)
        self.ones, self.rooms = np.ones(duals.widest), np.zeros(8 * (duals.widest + 7))
        self.leads = np.full(duals.n if term.sparse else 0, np.inf)
        self.moved = np.zeros(len(self.leads), np.uint8)
        self.lead, self.moves = self.leads, self.moved
        self.example, self.start = np.empty(duals.n, np.intp), np.zeros(duals.n + 1, np.intp)
        # most of it is never touched where beta is sparse
        self.classes, self.beta = np.empty(self.entries, np.intp), np.empty(self.entries)

    @staticmethod
    def blocked_for(Py_ssize_t d, Py_ssize_t width):
        """Whether the preconditioner has whole blocks, for w with so many rows and columns."""
        return d * width * d <= MOST_BLOCKS

    @property
    def shared(self):
        """Whether x_i serves all classes."""
        return not self.explicit

    @property
    def entries(self):
        """Numbers in all z together."""
        cdef Py_ssize_t last = self.shape.n - 1
        return self.shape.first(last) + self.shape.size(last)

    def margins(self, const double[::1] w, double[::1] z):
        """z = X_i^T w for every example."""
        self.touched += self.rows.nnz
        self._pass(TASK_MARGINS, w, z)

    def respond(self, const double[::1] z, dz, double t, Duals base, double mu, Duals out):
        """The beta that attain the losses at z + t dz, into `out`, which may be None for mu = 0.

        For mu > 0, `leads` says by how much the classes of those lead that are at a corner; it is
        negative for the others, and infinite for examples of no weight. `moved` says who is
        not at the corner where `base` has it, or has been at none.

        Returns
        -------
        smooth : float
            The mean of the smoothed losses.
        loss, conjugate : float
            The means of s_i phi and of s_i omega.
        """
        cdef const double[::1] direction = dz
        cdef Py_ssize_t i, j, k, y, first, top = 0, widest = self.shape.widest
        cdef double* at = &self.rooms[0]
        cdef double* beta = at + widest
        cdef double* old = at + 2 * widest
        cdef double* room = at + 3 * widest
        cdef const double* delta
        cdef double s = 1, smoothed, square, omega
        cdef Sum smooth = Sum(0, 0, 0, 0), loss = Sum(0, 0, 0, 0), conjugate = Sum(0, 0, 0, 0)
        cdef Py_ssize_t n = self.shape.n, unseen = 0
        cdef bint kept = True
        self.collected, self.free = out, 0
        with nogil:
            for i in range(n):
                k, y, first = self.shape.size(i), self.shape.target_view[i], self.shape.first(i)
                if self.weight is not None:
                    s = self.weight[i]
                    if s == 0:
                        continue
                if direction is None:
                    memcpy(at, &z[first], k * sizeof(double))
                else:
                    for j in range(k):
                        at[j] = z[first + j] + t * direction[first + j]
                self.ones[y] = 0
                delta = &self.ones[0]
                if self.delta is not None:
                    delta = &self.delta[first if self.explicit else y * k]
                if mu == 0:
                    smoothed = self.term.phi(y, delta, at, k)
                else:
                    base.read(i, old)
                    if s != 1:
                        for j in range(k):
                            old[j] /= s
                    old[y] = fmax(1 - total(old, k), 0)
                    self.lead[i] = self.term.lead(y, delta, old, at, mu, k, room, &smoothed, &top)
                    self.moves[i] = self.lead[i] < 0 or old[top] < 1
                add(&loss, s * smoothed)
                if mu > 0 and self.lead[i] >= 0:    # beta is the corner `top`
                    square = 1 - 2 * old[top]
                    for j in range(k):
                        square += old[j] * old[j]
                    add(&conjugate, -s * delta[top])
                    add(&smooth, s * (at[top] - at[y] + delta[top] - 0.5 * mu * square))
                    self.ones[y] = 1
                    kept = kept and out.corner(i, top, s)
                    unseen += k
                    continue
                if mu > 0:
                    self.term.best(y, delta, old, at, mu, k, beta, room)
                    square = smoothed = 0
                    for j in range(k):
                        square += (beta[j] - old[j]) * (beta[j] - old[j])
                        smoothed += beta[j] * (at[j] - at[y])
                    omega = self.term.omega(y, delta, beta, k)
                    smoothed -= omega + 0.5 * mu * square
                    add(&conjugate, s * omega)
                elif out is not None:
                    self.term.attain(y, delta, at, k, beta)
                    add(&conjugate, s * self.term.omega(y, delta, beta, k))
                add(&smooth, s * smoothed)
                self.ones[y] = 1
                if out is not None:
                    self.collect(i, beta, k)
                    if s != 1:
                        for j in range(k):
                            beta[j] *= s
                    kept = kept and out.write(i, beta)
                unseen += k
                if unseen > PATIENCE:
                    unseen = 0
                    poll()
        if not kept:
            raise MemoryError
        return result(&smooth) / n, result(&loss) / n, result(&conjugate) / n

    def conjugate(self, Duals alpha):
        """The mean of s_i omega(beta_i)."""
        cdef Py_ssize_t i, j, k, y, first, n = self.shape.n
        cdef double* beta = &self.rooms[0]
        cdef const double* delta
        cdef double s = 1
        cdef Sum sum = Sum(0, 0, 0, 0)
        for i in range(n):
            k, y, first = self.shape.size(i), self.shape.target_view[i], self.shape.first(i)
            if self.weight is not None:
                s = self.weight[i]
                if s == 0:
                    continue
            alpha.read(i, beta)
            for j in range(k):
                beta[j] /= s
            beta[y] = fmax(1 - total(beta, k), 0)
            self.ones[y] = 0
            delta = &self.ones[0]
            if self.delta is not None:
                delta = &self.delta[first if self.explicit else y * k]
            add(&sum, s * self.term.omega(y, delta, beta, k))
            self.ones[y] = 1
        return result(&sum) / n

    def curve(self, Duals beta, double mu, bint precondition):
        """Take the Hessian at this beta, and make a preconditioner of it if that is asked for."""
        cdef Py_ssize_t i, j, k, y
        cdef double* b = &self.rooms[0]
        cdef double s = 1
        self.mu = mu
        if beta is not self.collected:
            self.free = 0
            for i in range(self.shape.n):
                k, y = self.shape.size(i), self.shape.target_view[i]
                if self.weight is not None:
                    s = self.weight[i]
                    if s == 0:
                        continue
                beta.read(i, b)
                for j in range(k):
                    b[j] /= s
                b[y] = fmax(1 - total(b, k), 0)
                self.collect(i, b, k)
        self.at_support = np.zeros(self.start[self.free])
        if not precondition:
            return
        self.blocks = np.zeros(self.dim * self.rows.d if self.blocked else self.dim)
        self._pass(TASK_BLOCKS, None, self.blocks)
        if self.blocked:
            for j in range(self.width):
                factorise(&self.blocks[j * self.rows.d * self.rows.d], self.rows.d, self.lam)
        else:
            for j in range(self.dim):
                self.blocks[j] += self.lam

    cdef inline void collect(self, Py_ssize_t i, const double* beta, Py_ssize_t k) noexcept nogil:
        """Take example i into the curvature, if it has any."""
        cdef double least = NOTHING if self.term.sparse else NEGLIGIBLE
        cdef Py_ssize_t j, used = self.start[self.free]
        for j in range(k):
            if beta[j] > least:
                self.classes[used], self.beta[used] = j, beta[j]
                used += 1
        if used > self.start[self.free] + 1:
            self.example[self.free] = i
            self.free += 1
            self.start[self.free] = used

    def product(self, const double[::1] x, double[::1] out):
        """out = H x = lam x + 1/n sum_i s_i X_i J_i X_i^T x."""
        cdef Py_ssize_t f, j, first
        out[:] = 0
        self._pass(TASK_GATHER, x, self.at_support)
        for f in range(self.free):
            first = self.start[f]
            self.term.bend(&self.beta[first], self.start[f + 1] - first, self.mu,
                           &self.at_support[first], &self.at_support[first])
        self._pass(TASK_SCATTER, self.at_support, out)
        for j in range(self.dim):
            out[j] = out[j] / self.shape.n + self.lam * x[j]

    def precondition(self, const double[::1] r, double[::1] out):
        """out = M^-1 r: block by block, on the w whose columns add up to 0, where w* is."""
        cdef Py_ssize_t j, c, d = self.rows.d, k = self.width
        cdef double[::1] part = np.empty(d)
        memcpy(&out[0], &r[0], self.dim * sizeof(double))
        centre(&out[0], d, k)
        if not self.blocked:
            for j in range(self.dim):
                out[j] /= self.blocks[j]
        else:
            for c in range(k):
                for j in range(d):
                    part[j] = out[j * k + c]
                substitute(&self.blocks[c * d * d], d, &part[0])
                for j in range(d):
                    out[j * k + c] = part[j]
        centre(&out[0], d, k)

    def ascend_faces(self, Duals alpha, double[::1] v, const double[::1] curvature,
                     double accuracy, passes_left):
        """Raise D along the faces of the simplices that alpha is on, for omega linear on them.

        With p_i in the span of the face of example i, n D(beta + p) is quadratic in p: conjugate
        gradients go towards its maximum, and what leaves the simplices is projected back, by
        shorter steps until the dual has risen.

        Parameters
        ----------
        alpha : Duals
            Overwritten where the dual rises.
        v : array
            v(alpha), overwritten likewise.
        curvature : (n,) array
            |X_i|^2 / (lambda n).
        accuracy : float
            The part of the gradient that may be left.
        passes_left : callable
            How many passes over X there is time for.

        Returns
        -------
        bool
            Whether the dual has risen.
        """
        self.curve(alpha, 1.0, False)
        cdef Py_ssize_t size = self.start[self.free], f, a, step = 0, i, y, k, support, first, j
        cdef double[::1] direction = np.zeros(size)
        cdef double[::1] r = np.zeros(size)
        cdef double[::1] p = np.zeros(size)
        cdef double[::1] z = np.zeros(size)
        cdef double[::1] moved = np.zeros(size)
        cdef double[::1] wide = np.zeros(self.dim)
        cdef double* mass = &self.rooms[0]
        cdef double* room = mass + self.shape.widest
        cdef double* target = mass + 4 * self.shape.widest
        cdef double* zeros = mass + 5 * self.shape.widest
        cdef double s, rz, start, last, bend, step_length, t = 1, gain
        cdef double scale = 1 / (self.lam * self.shape.n)
        cdef bint kept = True
        if not size:
            return False
        # the slope of n D along the face: s_i (delta + X_i^T v), without its mean
        self._pass(TASK_GATHER, v, r)
        for f in range(self.free):
            i, y, first = self.example[f], self.shape.target_view[self.example[f]], self.start[f]
            s = 1 if self.weight is None else self.weight[i]
            for a in range(first, self.start[f + 1]):
                r[a] = s * (r[a] + self.cost(i, y, self.classes[a]))
        cdef double[::1] slope = np.array(r)
        self.within_faces(r, curvature, z, False)
        r[:] = z
        self.within_faces(r, curvature, z, True)
        p[:] = z
        rz = start = inner(&r[0], &z[0], size)
        while step < MOST_STEPS and rz > accuracy * accuracy * start and rz > 0:
            if passes_left() < 10:      # what two steps and the line search take
                break
            wide[:] = 0
            self._pass(TASK_SCATTER, p, wide)       # sum_i s_i X_i p_i
            bend = scale * inner(&wide[0], &wide[0], self.dim)
            if not bend > 0:
                break
            step_length = rz / bend
            self._pass(TASK_GATHER, wide, moved)
            for f in range(self.free):
                s = 1 if self.weight is None else self.weight[self.example[f]]
                for a in range(self.start[f], self.start[f + 1]):
                    direction[a] += step_length * p[a]
                    moved[a] *= s * scale
            self.within_faces(moved, curvature, z, False)
            for a in range(size):
                r[a] -= step_length * z[a]
            self.within_faces(r, curvature, z, True)
            last, rz = rz, inner(&r[0], &z[0], size)
            for a in range(size):
                p[a] = z[a] + rz / last * p[a]
            step += 1
        for _ in range(6):
            # beta + t direction, projected onto each face; moved is what that changes
            for f in range(self.free):
                first, support = self.start[f], self.start[f + 1] - self.start[f]
                for a in range(support):
                    target[a] = self.beta[first + a] + t * direction[first + a]
                self.term.best(0, zeros, target, zeros, 1, support, mass, room)
                for a in range(support):
                    moved[first + a] = mass[a] - self.beta[first + a]
            wide[:] = 0
            self._pass(TASK_SCATTER, moved, wide)
            gain = inner(&slope[0], &moved[0], size)
            gain -= 0.5 * scale * inner(&wide[0], &wide[0], self.dim)
            if gain > 0:
                break
            t *= 0.3
        if not gain > 0:
            return False
        for j in range(self.dim):
            v[j] -= scale * wide[j]
        for f in range(self.free):
            i = self.example[f]
            s = 1 if self.weight is None else self.weight[i]
            k = self.shape.size(i)
            for j in range(k):
                mass[j] = 0
            for a in range(self.start[f], self.start[f + 1]):
                mass[self.classes[a]] = s * (self.beta[a] + moved[a])
            kept = kept and alpha.write(i, mass)
        if not kept:
            raise MemoryError
        return True

    cdef double cost(self, Py_ssize_t i, Py_ssize_t y, Py_ssize_t j) noexcept:
        """delta_j of example i."""
        if self.delta is None:
            return j != y
        return self.delta[self.shape.first(i) + j if self.explicit else y * self.shape.k + j]

    cdef void within_faces(self, const double[::1] x, const double[::1] curvature, double[::1] out,
                           bint precondition) noexcept:
        """x without its mean on each face, over the face's curvature where that is asked for."""
        cdef Py_ssize_t f, a
        cdef double mean, c = 1, s
        for f in range(self.free):
            mean = 0
            for a in range(self.start[f], self.start[f + 1]):
                mean += x[a]
            mean /= self.start[f + 1] - self.start[f]
            if precondition:
                s = 1 if self.weight is None else self.weight[self.example[f]]
                c = 1 / fmax(s * s * curvature[self.example[f]], 1e-300)
            for a in range(self.start[f], self.start[f + 1]):
                out[a] = c * (x[a] - mean)

    def _pass(self, int task, const double[::1] x, double[::1] out):
        cdef Rows rows = self.rows
        if isinstance(rows, CSR32i32):
            sweep(self, <CSR32i32>rows, task, x, out)
        elif isinstance(rows, CSR64i32):
            sweep(self, <CSR64i32>rows, task, x, out)
        elif isinstance(rows, CSR32i64):
            sweep(self, <CSR32i64>rows, task, x, out)
        elif isinstance(rows, CSR64i64):
            sweep(self, <CSR64i64>rows, task, x, out)
        elif isinstance(rows, Dense32):
            sweep(self, <Dense32>rows, task, x, out)
        elif isinstance(rows, Dense64):
            sweep(self, <Dense64>rows, task, x, out)
        elif isinstance(rows, Strided32):
            sweep(self, <Strided32>rows, task, x, out)
        else:
            sweep(self, <Strided64>rows, task, x, out)


cdef int sweep(Newton state, AnyRows rows, int task, const double[::1] x,
               double[::1] out) except -1:
    if task == TASK_MARGINS:
        all_margins(state, rows, x, out)
    elif task == TASK_GATHER:
        gather(state, rows, x, out)
    elif task == TASK_SCATTER:
        scatter(state, rows, x, out)
    else:
        curve_blocks(state, rows, out)
    return 0


cdef int all_margins(Newton state, AnyRows rows, const double[::1] w, double[::1] z) except -1:
    cdef Py_ssize_t i, first, k, unseen = 0
    with nogil:
        for i in range(state.shape.n):
            first, k = state.shape.first(i), state.shape.size(i)
            margins(rows, state.explicit, i, first, state.plain, &w[0], k, &z[first])
            unseen += k * rows.d
            if unseen > 10 * PATIENCE:
                unseen = 0
                poll()
    return 0


cdef int gather(Newton state, AnyRows rows, const double[::1] w, double[::1] out) except -1:
    """X_i^T w on the support of each free example."""
    cdef Py_ssize_t f, i, a, e, at, first, count, begin, end, k, unseen = 0, touched = 0
    cdef double entry
    with nogil:
        for f in range(state.free):
            i, begin, end = state.example[f], state.start[f], state.start[f + 1]
            k = state.shape.size(i)
            count = span(rows, i, &first)
            if state.explicit:
                for a in range(begin, end):
                    out[a] = dot(rows, state.shape.first(i) + state.classes[a], state.plain, &w[0])
                    touched += span(rows, state.shape.first(i) + state.classes[a], &first)
            elif end - begin == k:
                margins(rows, False, i, 0, state.plain, &w[0], k, &out[begin])
                touched += count
            else:
                for a in range(begin, end):
                    out[a] = 0
                for e in range(count):
                    entry = value(rows, first, e)
                    at = column(rows, first, e) * k
                    for a in range(begin, end):
                        out[a] += entry * w[at + state.classes[a]]
                touched += count
            unseen += (end - begin) * (count + 1)
            if unseen > PATIENCE:
                unseen = 0
                poll()
    state.touched += touched
    return 0


cdef int scatter(Newton state, AnyRows rows, const double[::1] y, double[::1] out) except -1:
    """out += sum_i s_i X_i y_i, over the free examples."""
    cdef Py_ssize_t f, i, a, e, at, first, count, begin, end, k, unseen = 0, touched = 0
    cdef double entry, s = 1
    with nogil:
        for f in range(state.free):
            i, begin, end = state.example[f], state.start[f], state.start[f + 1]
            k = state.shape.size(i)
            if state.weight is not None:
                s = state.weight[i]
            if state.explicit:
                for a in range(begin, end):
                    count = span(rows, state.shape.first(i) + state.classes[a], &first)
                    touched += count
                    for e in range(count):
                        out[column(rows, first, e)] += s * y[a] * value(rows, first, e)
            else:
                count = span(rows, i, &first)
                touched += count
                if end - begin == k:
                    add_row(rows, i, s, &y[begin], k, &out[0])
                else:
                    for e in range(count):
                        entry = s * value(rows, first, e)
                        at = column(rows, first, e) * k
                        for a in range(begin, end):
                            out[at + state.classes[a]] += entry * y[a]
            unseen += (end - begin) * (count + 1)
            if unseen > PATIENCE:
                unseen = 0
                poll()
    state.touched += touched
    return 0


cdef int curve_blocks(Newton state, AnyRows rows, double[::1] out) except -1:
    """The blocks of H on the diagonal, one for each column of w, or its diagonal alone.

    Where that is too much work, without the examples of little curvature.
    """
    cdef Py_ssize_t f, i, a, b, e, at, first, count, support, row, k, d = rows.d, unseen = 0
    cdef Py_ssize_t n = state.shape.n
    cdef const Py_ssize_t* classes
    cdef double* block
    cdef double* diagonal = &state.rooms[0]
    cdef double[::1] dense = np.zeros(d)
    cdef double s = 1, c, entry, least = 0, work
    cdef double each = <double>rows.nnz / rows.n * (0.5 * d if state.blocked else 1)
    while True:
        work = 0
        for f in range(state.free):
            support = state.start[f + 1] - state.start[f]
            state.term.bend_diagonal(&state.beta[state.start[f]], support, state.mu, diagonal)
            for a in range(support):
                work += each * (state.mu * diagonal[a] >= least if state.mu > 0
                                else diagonal[a] >= least)
        if work <= MOST_WORK or least > 0.2:
            break
        least = fmax(1e-8, 4 * least)
    # the blocks, and their factors, beside two passes over the free examples and four triangles
    state.rebuild = (work + state.dim * (<double>d * d / 6 if state.blocked else 1.0)) / (
        2.0 * state.start[state.free] * rows.nnz / rows.n + 2.0 * state.dim * (
            d if state.blocked else 1) + 1)
    with nogil:
        for f in range(state.free):
            i = state.example[f]
            k = state.shape.size(i)
            support = state.start[f + 1] - state.start[f]
            classes = &state.classes[state.start[f]]
            if state.weight is not None:
                s = state.weight[i]
            row = state.shape.first(i)
            state.term.bend_diagonal(&state.beta[state.start[f]], support, state.mu, diagonal)
            for a in range(support):
                c = diagonal[a] * (state.mu if state.mu > 0 else 1)
                if not (c > 0 and c >= least):
                    continue
                c = diagonal[a] * s / n
                count = span(rows, row + classes[a] if state.explicit else i, &first)
                if not state.blocked:
                    for e in range(count):
                        at = column(rows, first, e)
                        at = at if state.explicit else at * k + classes[a]
                        entry = value(rows, first, e)
                        out[at] += c * entry * entry
                    continue
                block = &out[0 if state.explicit else classes[a] * d * d]
                for e in range(count):
                    dense[column(rows, first, e)] += value(rows, first, e)
                for e in range(count):
                    at = column(rows, first, e)
                    entry = c * value(rows, first, e)
                    for b in range(at + 1):
                        block[at * d + b] += entry * dense[b]
                for e in range(count):
                    dense[column(rows, first, e)] = 0
                unseen += count * d
                if unseen > 10 * PATIENCE:
                    unseen = 0
                    poll()
    return 0


def product(const double[::1] x, const double[::1] y):
    """x^T y, the same on every machine."""
    return inner(&x[0], &y[0], x.shape[0])


cdef void centre(double* w, Py_ssize_t d, Py_ssize_t k) noexcept nogil:
    """Make the columns of w add up to 0."""
    cdef Py_ssize_t j, c
    cdef double mean
    if k == 1:
        return
    for j in range(d):
        mean = 0
        for c in range(k):
            mean += w[j * k + c]
        mean /= k
        for c in range(k):
            w[j * k + c] -= mean
