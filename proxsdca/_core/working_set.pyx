"""Steps along several columns at once, by a quadratic model of the loss.

At margins z = X w the objective n P(w + p) is about

    n P(w) + slope^T X p + 1/2 (X p)^T diag(bend) X p + n g(w + p) - n g(w),

slope_i = s_i phi'(z_i), bend_i = s_i phi''(z_i), g the penalty.  Here p is 0 but for a set of
columns.  Of few columns there is a copy by rows: the matrix of the model, H = X^T diag(bend) X,
takes one pass over it, and from there on the model is solved in so many numbers as there are
columns.  Of many, the model is descended along one column after the other, as the loop does it, but
without an evaluation of phi'.  An intercept is one more column, of ones and without a penalty.
"""

import numpy as np

from libc.math cimport fabs, fmax, fmin, isnan, log
from libc.stdint cimport int32_t

from .columns cimport Penalty
from .equations cimport factorise, substitute
from .losses cimport Logistic, Squared, soft
from .rows cimport (
    AnyRows, CSR32i32, CSR32i64, CSR64i32, CSR64i64, Dense32, Dense64, Rows, Strided32,
    Strided64, column, span, value,
)
from .signals cimport PATIENCE, poll
from .term cimport BLOCK as LOSSES
from .term cimport Term


cdef extern from *:
    """
    #define PROXSDCA_LEAST_BEND 1e-7
    #define PROXSDCA_RIDGE 1e-13
    """
    const double LEAST_BEND "PROXSDCA_LEAST_BEND"   # of phi'', as a part of 1 / gamma
    const double RIDGE "PROXSDCA_RIDGE"             # of H, as a part of its largest entry

cdef enum:
    SWEEPS = 5          # along one column after the other, between two looks at what is left
    TURNS = 100         # of steps along all of them together


ctypedef fused SomeTerm:
    Logistic
    Squared
    Term


cdef class WorkingSet:
    """The model, and the columns that it is for.

    Parameters
    ----------
    columns : Rows
        The columns of X.
    term, target, weight
        The loss.
    penalty : Penalty
    l1_weights : (d,) array
        c.
    free : bool
        Whether the last number of w is an intercept.
    """

    cdef Rows columns
    cdef Term term
    cdef Penalty penalty
    cdef const double[::1] target, weight, l1_weights
    cdef bint free
    cdef double[::1] slope_view, bend
    cdef readonly object slope              # slope_i, as an array
    cdef readonly Py_ssize_t touched        # nonzeros read
    # the set: its columns, as many numbers as it has, with the intercept, and their thresholds
    cdef const Py_ssize_t[::1] chosen
    cdef readonly Py_ssize_t size
    cdef double[::1] threshold, ridge
    # where it is copied: its entries by rows, and the model's gradient and matrix
    cdef readonly Py_ssize_t entries
    cdef readonly double products           # that H takes
    cdef Py_ssize_t[::1] start
    cdef int32_t[::1] place
    cdef double[::1] values
    cdef public double[::1] gradient
    cdef public double[:, ::1] H
    # where it is not: the derivatives of the model along its columns
    cdef double[::1] tilt, curvature        # its gradient in z, and its second derivatives
    cdef const double[::1] moves
    cdef Py_ssize_t[::1] order              # what is to be visited, `waiting` of them
    cdef readonly Py_ssize_t waiting
    cdef double quiet, fallen
    cdef bint copied

    def __init__(self, Rows columns, Term term, const double[::1] target, weight, Penalty penalty,
                 const double[::1] l1_weights, bint free):
        self.columns, self.term, self.penalty = columns, term, penalty
        self.target, self.weight, self.l1_weights, self.free = target, weight, l1_weights, free
        self.slope, self.bend = np.empty(columns.d), np.empty(columns.d)
        self.slope_view = self.slope

    def look(self, const double[::1] z):
        """Model the loss at z; returns the sum of s_i phi(z_i)."""
        if isinstance(self.term, Logistic):
            return look_at(self, <Logistic>self.term, z)
        if isinstance(self.term, Squared):
            return look_at(self, <Squared>self.term, z)
        return look_at(self, self.term, z)

    def conjugates(self, double c):
        """The sum of s_i phi*(-c alpha_i / s_i), at alpha_i = -slope_i."""
        cdef double at[LOSSES]
        cdef double values[LOSSES]
        cdef double total = 0, s = 1
        cdef Py_ssize_t n = self.slope_view.shape[0], i = 0, k, count
        with nogil:
            while i < n:
                count = min(n - i, LOSSES)
                for k in range(count):
                    if self.weight is not None:
                        s = self.weight[i + k]
                    at[k] = c * self.slope_view[i + k] / s if s > 0 else 0.0
                self.term.phi_conjs(count, &self.target[i], at, values)
                for k in range(count):
                    if self.weight is not None:
                        s = self.weight[i + k]
                    total += s * values[k] if s > 0 else 0.0
                i += count
        return total

    def penalties(self, const double[::1] u):
        """n g, of the numbers of the set."""
        cdef Py_ssize_t j
        cdef double total = 0
        for j in range(self.size):
            total += self.threshold[j] * fabs(u[j]) + 0.5 * self.ridge[j] * u[j] * u[j]
        return total

    def choose(self, const Py_ssize_t[::1] chosen):
        """Let these columns be the set."""
        cdef Py_ssize_t j
        self.chosen, self.size = chosen, chosen.shape[0] + self.free
        self.copied = False
        self.threshold, self.ridge = np.zeros(self.size), np.zeros(self.size)
        for j in range(chosen.shape[0]):
            self.threshold[j] = self.penalty.l1 * self.l1_weights[chosen[j]]
            self.ridge[j] = self.penalty.l2

    # ------------------------------------------------------------- few columns, copied by rows

    def copy(self, double most):
        """Copy the set, if H takes no more than so many products for each of its entries."""
        cdef Py_ssize_t n = self.columns.d, size = self.chosen.shape[0], i, count
        cdef Py_ssize_t[::1] start = np.zeros(n + 2, np.intp)
        cdef double products = 0
        self.start = start
        with_columns(self, COUNT, None)
        for i in range(n):
            count = start[i + 2] + self.free
            products += 0.5 * count * (count + 1)
            start[i + 2] = start[i + 1] + count
        self.entries, self.products = start[n + 1], products
        self.touched += self.entries
        self.copied = products <= most * self.entries
        if not self.copied:
            return False
        if self.place is None or self.place.shape[0] < self.entries:
            self.place = np.zeros(self.entries + self.entries // 2, np.int32)
            self.values = np.zeros(self.entries + self.entries // 2)
        # X may change meanwhile: no place of an earlier set may be left, and none beyond the end
        self.place[: self.entries] = 0
        self.values[: self.entries] = 0
        with_columns(self, COPY, None)
        if self.free:
            for i in range(n):
                if start[i + 1] >= self.entries:
                    continue
                self.place[start[i + 1]] = <int32_t>size
                self.values[start[i + 1]] = 1
                start[i + 1] += 1
        self.touched += self.entries
        return True

    def differentiate(self):
        """Take the gradient of the model."""
        cdef Py_ssize_t i, a, unseen = 0
        cdef double t
        cdef double* g
        self.gradient = np.zeros(self.size)
        g = &self.gradient[0]
        with nogil:
            for i in range(self.slope_view.shape[0]):
                t = self.slope_view[i]
                for a in range(self.start[i], self.start[i + 1]):
                    g[self.place[a]] += t * self.values[a]
                unseen += self.start[i + 1] - self.start[i]
                if unseen > PATIENCE:
                    unseen = 0
                    poll()
        self.touched += self.entries

    def curve(self):
        """Make H, where phi'' has changed."""
        cdef Py_ssize_t i, a, b, first, stop, j, k, unseen = 0, size = self.size
        cdef double t
        cdef double* H
        self.H = np.zeros((size, size))
        H = &self.H[0, 0]
        with nogil:
            for i in range(self.slope_view.shape[0]):
                first, stop = self.start[i], self.start[i + 1]
                for a in range(first, stop):
                    j = self.place[a] * size
                    t = self.bend[i] * self.values[a]
                    for b in range(first, a + 1):
                        H[j + self.place[b]] += t * self.values[b]
                unseen += (stop - first) * (stop - first)
                if unseen > PATIENCE:
                    unseen = 0
                    poll()
            for j in range(size):
                for k in range(j):
                    H[k * size + j] = H[j * size + k]
        self.touched += <Py_ssize_t>(0.5 * self.products)

    def gap(self, const double[::1] u):
        """About what n (P - D) would be if there were no other columns, by the gradient.

        Returns also what alpha is to be divided by to be feasible. Where that is 1 the gap is
        exact; else it is a lower bound, as phi* is convex.
        """
        cdef Py_ssize_t j
        cdef double inner = 0, peak = 1, over, others = 0
        for j in range(self.size):
            inner += u[j] * self.gradient[j]
            over = fabs(self.gradient[j]) - self.threshold[j]
            if j == self.chosen.shape[0]:
                others += fabs(over)
            elif over > 0 and self.ridge[j] > 0:
                others += 0.5 * over * over / self.ridge[j]
            elif over > 0:
                peak = fmax(peak, fabs(self.gradient[j]) / self.threshold[j])
        return self.penalties(u) + inner / peak + others, peak

    def solve(self, double[::1] u, double accuracy):
        """Minimise the model from u on, until a part of the first violation is left.

        Returns by how much the model has fallen.
        """
        cdef Py_ssize_t size = self.size, j, sweeps = 0, turns = 0
        cdef double first = 0, left, enough, largest = 0, least = 0
        cdef double[::1] tilt = np.array(self.gradient), old = np.array(u)
        cdef double[::1] room = np.empty(size * size + size)
        cdef Py_ssize_t[::1] support = np.empty(size, np.intp)
        cdef double fall = self.penalties(u)
        with nogil:
            for j in range(size):
                first = fmax(first, self.violation(j, u[j], tilt[j]))
                largest = fmax(largest, self.H[j, j] + self.ridge[j])
                least = fmax(least, self.threshold[j])
            enough = fmax(accuracy * first, 1e-13 * least)
            while turns < TURNS:
                self.visit_all(u, tilt)
                sweeps += SWEEPS
                left = 0
                for j in range(size):
                    left = fmax(left, self.violation(j, u[j], tilt[j]))
                if left <= enough:
                    break
                # once sweeps have cost what a factor does
                if sweeps >= self.support(u, support) / 6:
                    sweeps, turns = 0, turns + 1
                    while self.newton_step(u, tilt, RIDGE * largest, room, support):
                        poll()
                poll()
            # p^T (gradient + H p / 2), and tilt = gradient + H p
            for j in range(size):
                fall -= 0.5 * (u[j] - old[j]) * (tilt[j] + self.gradient[j])
        return fall - self.penalties(u)

    cdef void visit_all(self, double[::1] u, double[::1] tilt) noexcept nogil:
        """Lower the model along one column after the other."""
        cdef Py_ssize_t j
        for _ in range(SWEEPS):
            for j in range(self.size):
                self.shift(j, self.best(j, u[j], tilt[j], self.H[j, j]), u, tilt)

    cdef inline void shift(self, Py_ssize_t j, double new, double[::1] u,
                           double[::1] tilt) noexcept nogil:
        """u_j = new."""
        cdef double move = new - u[j]
        cdef Py_ssize_t k
        if move != 0:
            u[j] = new
            for k in range(self.size):
                tilt[k] += move * self.H[j, k]

    cdef Py_ssize_t support(self, const double[::1] u, Py_ssize_t[::1] where) noexcept nogil:
        """How many numbers are not 0, or without a penalty; and which."""
        cdef Py_ssize_t count = 0, j
        for j in range(self.size):
            if u[j] != 0 or self.threshold[j] == 0:
                where[count] = j
                count += 1
        return count

    cdef bint newton_step(self, double[::1] u, double[::1] tilt, double ridge, double[::1] room,
                          Py_ssize_t[::1] support) noexcept nogil:
        """Minimise the model over what is not 0, as far as the first of it that becomes 0.

        Returns whether there was one: then less is left, for another step.
        """
        cdef Py_ssize_t count = self.support(u, support), j, k, stop = -1
        cdef double* factor = &room[0]
        cdef double* step = factor + self.size * self.size
        cdef double t = 1
        for j in range(count):
            for k in range(j + 1):
                factor[j * count + k] = self.H[support[j], support[k]]
            k = support[j]
            factor[j * count + j] += self.ridge[k]
            step[j] = -self.derivative(k, u[k], tilt[k])
        factorise(factor, count, ridge)
        substitute(factor, count, step)
        for j in range(count):
            k = support[j]
            if self.threshold[k] > 0 and (u[k] + t * step[j]) * u[k] <= 0:
                t, stop = fmin(t, -u[k] / step[j]), k
        for j in range(count):
            k = support[j]
            self.shift(k, 0 if k == stop else u[k] + t * step[j], u, tilt)
        return stop >= 0

    # ------------------------------------------------------------- many columns, one by one

    def descend(self, stream, double[::1] u, double accuracy, Py_ssize_t most):
        """Lower the model from u on, along each column, until that lowers it by no more than a
        part of what it did at first, or for so many turns.

        Returns by how much the model has fallen.
        """
        cdef double first = 0
        order = np.arange(self.size)
        self.order, self.waiting = order, self.size
        self.curvature, self.tilt = np.empty(self.size), np.array(self.slope_view)
        with_columns(self, BEND, None)
        fall = 0.0
        for turn in range(most):
            stream.shuffle(self.order[:self.waiting])
            self.fallen, self.quiet = 0, 1 - 0.5 ** (turn + 1)
            with_columns(self, SWEEP, u)
            fall += self.fallen
            first = fmax(first, self.fallen)
            if self.fallen <= accuracy * first or not self.waiting:
                break
        return fall

    cdef inline double derivative(self, Py_ssize_t j, double u, double tilt) noexcept nogil:
        """Of the model along column j, on the side of 0 that u is on."""
        cdef double sign = 1 if u > 0 else -1 if u < 0 else 0
        return tilt + sign * self.threshold[j] + self.ridge[j] * u

    cdef inline double violation(self, Py_ssize_t j, double u, double tilt) noexcept nogil:
        if u == 0:
            return fmax(0, fabs(tilt) - self.threshold[j])
        return fabs(self.derivative(j, u, tilt))

    cdef inline double best(self, Py_ssize_t j, double u, double tilt, double q) noexcept nogil:
        if not q + self.ridge[j] > 0:
            return u
        return soft(q * u - tilt, self.threshold[j]) / (q + self.ridge[j])

    def margins(self, const double[::1] p):
        """X p, for a p along the columns of the set."""
        out = np.zeros(self.slope_view.shape[0])
        if not self.copied:
            self.moves = p
            with_columns(self, MARGINS, out)
            return out
        cdef double[::1] z = out
        cdef Py_ssize_t i, a
        cdef double total
        with nogil:
            for i in range(z.shape[0]):
                total = 0
                for a in range(self.start[i], self.start[i + 1]):
                    total += self.values[a] * p[self.place[a]]
                z[i] = total
        self.touched += self.entries
        return out


ctypedef enum Task:
    COUNT
    COPY
    BEND
    SWEEP
    MARGINS


cdef int with_columns(WorkingSet set, Task task, double[::1] out) except -1:
    cdef Rows columns = set.columns
    if isinstance(columns, CSR32i32):
        run(set, <CSR32i32>columns, task, out)
    elif isinstance(columns, CSR64i32):
        run(set, <CSR64i32>columns, task, out)
    elif isinstance(columns, CSR32i64):
        run(set, <CSR32i64>columns, task, out)
    elif isinstance(columns, CSR64i64):
        run(set, <CSR64i64>columns, task, out)
    elif isinstance(columns, Dense32):
        run(set, <Dense32>columns, task, out)
    elif isinstance(columns, Dense64):
        run(set, <Dense64>columns, task, out)
    elif isinstance(columns, Strided32):
        run(set, <Strided32>columns, task, out)
    else:
        run(set, <Strided64>columns, task, out)
    return 0


cdef int run(WorkingSet set, AnyRows columns, Task task, double[::1] out) except -1:
    if task == COUNT or task == COPY:
        by_rows(set, columns, task == COPY)
    elif task == BEND:
        bend_along(set, columns)
    elif task == SWEEP:
        sweep(set, columns, out)
    else:
        carry(set, columns, out)
    return 0


cdef int by_rows(WorkingSet set, AnyRows columns, bint fill) except -1:
    """Count the entries of row i in start[i + 2]; or write them to where the next one goes, which
    start[i + 1] says."""
    cdef Py_ssize_t c, k, i, at, first, count, entries = set.entries, unseen = 0
    cdef Py_ssize_t* start = &set.start[0]
    with nogil:
        for c in range(set.chosen.shape[0]):
            count = span(columns, set.chosen[c], &first)
            if fill:
                for k in range(count):
                    i = column(columns, first, k)
                    at = start[i + 1]
                    if at < entries:        # X may have changed meanwhile
                        set.place[at], set.values[at] = <int32_t>c, value(columns, first, k)
                        start[i + 1] = at + 1
            else:
                for k in range(count):
                    start[column(columns, first, k) + 2] += 1
            unseen += count + 1
            if unseen > PATIENCE:
                unseen = 0
                poll()
    return 0


cdef int bend_along(WorkingSet set, AnyRows columns) except -1:
    """The second derivatives of the model along its columns."""
    cdef Py_ssize_t c, k, first, count, unseen = 0
    cdef const double* bend = &set.bend[0]
    cdef double x, q
    with nogil:
        for c in range(set.chosen.shape[0]):
            count = span(columns, set.chosen[c], &first)
            q = 0
            for k in range(count):
                x = value(columns, first, k)
                q += bend[column(columns, first, k)] * x * x
            set.curvature[c] = q
            unseen += count + 1
            if unseen > PATIENCE:
                unseen = 0
                poll()
        if set.free:
            q = 0
            for k in range(set.bend.shape[0]):
                q += bend[k]
            set.curvature[set.size - 1] = q
    return 0


cdef int sweep(WorkingSet set, AnyRows columns, double[::1] u) except -1:
    """Visit the columns of the order; those that stay at 0 for a while leave it."""
    cdef Py_ssize_t t, c, k, i, first, count, kept = 0, unseen = 0, n = set.tilt.shape[0]
    cdef const double* bend = &set.bend[0]
    cdef double* tilt = &set.tilt[0]
    cdef double m, q, move
    cdef bint ones
    with nogil:
        for t in range(set.waiting):
            c = set.order[t]
            ones = c == set.chosen.shape[0]
            count = n if ones else span(columns, set.chosen[c], &first)
            m = 0
            if ones:
                for i in range(n):
                    m += tilt[i]
            else:
                for k in range(count):
                    m += value(columns, first, k) * tilt[column(columns, first, k)]
            q = set.curvature[c]
            move = set.best(c, u[c], m, q) - u[c]
            if u[c] != 0 or move != 0 or fabs(m) >= set.quiet * set.threshold[c]:
                set.order[kept] = c
                kept += 1
            if move != 0:
                u[c] += move
                set.fallen += 0.5 * (q + set.ridge[c]) * move * move
                if ones:
                    for i in range(n):
                        tilt[i] += bend[i] * move
                else:
                    for k in range(count):
                        i = column(columns, first, k)
                        tilt[i] += bend[i] * move * value(columns, first, k)
            set.touched += count
            unseen += count + 1
            if unseen > PATIENCE:
                unseen = 0
                poll()
    set.waiting = kept
    return 0


cdef int carry(WorkingSet set, AnyRows columns, double[::1] z) except -1:
    """Add what the numbers in `moves` move the margins by."""
    cdef Py_ssize_t c, k, first, count, unseen = 0
    cdef double p
    with nogil:
        for c in range(set.chosen.shape[0]):
            p = set.moves[c]
            if p == 0:
                continue
            count = span(columns, set.chosen[c], &first)
            for k in range(count):
                z[column(columns, first, k)] += p * value(columns, first, k)
            set.touched += count
            unseen += count + 1
            if unseen > PATIENCE:
                unseen = 0
                poll()
        if set.free:
            p = set.moves[set.size - 1]
            for k in range(z.shape[0]):
                z[k] += p
    return 0


cdef double look_at(WorkingSet model, SomeTerm term, const double[::1] z) except? -1:
    cdef double at[LOSSES]
    cdef double losses[LOSSES]
    cdef double slopes[LOSSES]
    cdef double further[LOSSES]
    cdef double total = 0, s = 1, bend, most = 1 / term.gamma, odds
    cdef Py_ssize_t n = z.shape[0], i = 0, k, count
    cdef const double* y
    cdef bint unknown
    with nogil:
        while i < n:
            count = min(n - i, LOSSES)
            y = &model.target[i]
            odds = 1
            if SomeTerm is Term:
                term.phis(count, y, &z[i], losses)
                term.phi_slopes(count, y, &z[i], slopes)
                unknown = isnan(term.conj_curve(y[0], -slopes[0]))
                if unknown:     # then by a difference
                    for k in range(count):
                        at[k] = z[i + k] + 1e-6 * fmax(1, fabs(z[i + k]))
                    term.phi_slopes(count, y, at, further)
            for k in range(count):
                if SomeTerm is Squared:
                    losses[k] = term.phi(y[k], z[i + k])
                    slopes[k] = term.phi_slope(y[k], z[i + k])
                if SomeTerm is Logistic:
                    if model.weight is None:    # then one logarithm does for all
                        odds *= 1 + term.odds(y[k], z[i + k], &slopes[k])
                        losses[k] = fmax(0, -y[k] * z[i + k])
                    else:
                        losses[k] = term.response(y[k], z[i + k], &slopes[k])
                    slopes[k] = -slopes[k]
                    bend = fabs(slopes[k]) * fmax(1 - fabs(slopes[k]), 2.3e-16)
                elif SomeTerm is Squared:
                    bend = 1
                else:
                    if unknown:
                        bend = (further[k] - slopes[k]) / (at[k] - z[i + k])
                    else:
                        bend = 1 / term.conj_curve(y[k], -slopes[k])
                if SomeTerm is Term:
                    bend = fmin(fmax(bend, LEAST_BEND * most), most)
                if model.weight is not None:
                    s = model.weight[i + k]
                if s > 0:
                    total += s * losses[k]
                    model.slope_view[i + k], model.bend[i + k] = s * slopes[k], s * bend
                else:
                    model.slope_view[i + k] = model.bend[i + k] = 0
            total += log(odds)
            i += count
    return total
