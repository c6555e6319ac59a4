"""Steps along several columns at once, by a quadratic model of the loss.

At margins z = X w the objective n P(w + p) is about

    n P(w) + slope^T X p + 1/2 (X p)^T diag(bend) X p + n g(w + p) - n g(w),

slope_i = s_i phi'(z_i), bend_i = s_i phi''(z_i), g the penalty.  Here p is 0 but for a set of
columns.  Of few columns the matrix of the model, H = X^T diag(bend) X, is made, and from there on
the model is solved in so many numbers as there are columns.  That takes a copy of the columns by
rows; of more rows than so rough a model deserves, some: those that bend much, and of the others
each with a probability in proportion to bend, the more heavily the less likely it was.  Of many
columns the model is descended along one after the other, as the loop does it, but without an
evaluation of phi'.  An intercept is one more column, of ones and without a penalty.
"""

import numpy as np

from libc.math cimport fabs, fmax, fmin, isnan, log, sqrt
from cpython.pyport cimport PY_SSIZE_T_MAX
from libc.stdint cimport int32_t, int64_t

from .columns cimport Penalty
from .equations cimport factorise, substitute
from .losses cimport Logistic, Squared, soft
from .regs cimport L2Map
from .rows cimport (
    AnyRows, CSR32i32, CSR32i64, CSR64i32, CSR64i64, Dense32, Dense64, Rows, Strided32,
    Strided64, column, dot, span, value,
)
from .rows import csr_rows
from .signals cimport PATIENCE, poll
from .term cimport BLOCK as LOSSES
from .term cimport Term
from .wide cimport add_each, entropies, exp_each, log_each


cdef extern from *:
    """
    #define PROXSDCA_LEAST_BEND 1e-7
    #define PROXSDCA_RIDGE 1e-13
    """
    const double LEAST_BEND "PROXSDCA_LEAST_BEND"   # of phi'', as a part of 1 / gamma
    const double RIDGE "PROXSDCA_RIDGE"             # of H, once its diagonal is 1

cdef enum:
    SWEEPS = 5          # along one column after the other, between two looks at what is left
    TURNS = 100         # of steps along all of them together
    ROWS = 2048         # that are copied at a time


cdef L2Map PLAIN = L2Map()


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
    cdef readonly object slope, moved       # slope_i, and what margins last moved by
    cdef readonly Py_ssize_t touched        # nonzeros read
    # the set: its columns, as many numbers as it has, with the intercept, and their thresholds
    cdef const Py_ssize_t[::1] chosen
    cdef readonly Py_ssize_t size
    cdef double[::1] threshold, ridge
    # how many of its entries are in each row, and altogether with those that are 0
    cdef int32_t[::1] count
    cdef Py_ssize_t stored
    # a copy of a block of rows: how far columns have been read, where the next entry of a row
    # goes, and those that are taken, one after the other
    cdef Py_ssize_t first, past, end
    cdef Py_ssize_t[::1] cursor, slot, start
    cdef double[::1] heft, values
    cdef int32_t[::1] place
    # the model's gradient and matrix, and where there is none, its gradient in z
    cdef public double[::1] gradient
    cdef public double[:, ::1] H
    cdef double[::1] tilt
    cdef double[::1] curvature              # its second derivatives along the columns
    cdef const double[::1] moves
    cdef Py_ssize_t[::1] order              # what is to be visited, `waiting` of them
    cdef readonly Py_ssize_t waiting
    cdef double quiet, fallen
    # a copy of some examples
    cdef Py_ssize_t bits
    cdef int64_t[::1] starts, places
    cdef double[::1] thinned

    def __init__(self, Rows columns, Term term, const double[::1] target, weight, Penalty penalty,
                 const double[::1] l1_weights, bint free):
        self.columns, self.term, self.penalty = columns, term, penalty
        self.target, self.weight, self.l1_weights, self.free = target, weight, l1_weights, free
        self.slope, self.bend = np.empty(columns.d), np.empty(columns.d)
        self.moved = np.empty(columns.d)
        self.slope_view = self.slope
        self.count = np.empty(columns.d, np.int32)
        self.place, self.values = np.empty(1, np.int32), np.empty(1)

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
        cdef bint logistic = isinstance(self.term, Logistic)
        with nogil:
            while i < n:
                count = min(n - i, LOSSES)
                for k in range(count):
                    if self.weight is not None:
                        s = self.weight[i + k]
                    at[k] = c * self.slope_view[i + k] / s if s > 0 else 0.0
                if logistic:
                    entropies(count, &self.target[i], at, values)
                else:
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
        self.threshold, self.ridge = np.zeros(self.size), np.zeros(self.size)
        for j in range(chosen.shape[0]):
            self.threshold[j] = self.penalty.l1 * self.l1_weights[chosen[j]]
            self.ridge[j] = self.penalty.l2

    # ------------------------------------------------------------- few columns, and their matrix

    def products(self):
        """How many products H takes for each entry of the set."""
        cdef Py_ssize_t i, entries = 0
        cdef double products = 0
        self.count[:] = self.free
        self.stored = self.columns.d * self.free
        with_columns(self, COUNT, None)
        for i in range(self.columns.d):
            entries += self.count[i]
            products += 0.5 * self.count[i] * (self.count[i] + 1.0)
        self.touched += 2 * self.stored     # with the copy of a first H
        return products / max(1, entries)

    def differentiate(self):
        """Take the gradient of the model."""
        self.gradient = np.empty(self.size)
        with_columns(self, SLOPE, self.gradient)
        if self.free:
            self.gradient[self.size - 1] = self.slope.sum()
        self.touched += self.stored

    def curve(self, double most):
        """Make H, where phi'' has changed, of about so many rows at the most.

        Its diagonal is that of all rows in any case.  Returns whether the rest is.
        """
        cdef Py_ssize_t n = self.columns.d, size = self.size, i, j, k, rows = 0
        cdef Py_ssize_t block = ROWS if self.columns.canonical else max(1, n)
        cdef double t, total = 0, least = 0, mass = 0.5, alike
        cdef double[::1] scale
        cdef double* H
        for i in range(n):
            rows += self.count[i] > 0
            total += self.bend[i] if self.count[i] > 0 else 0.0
        if rows > 2 * most and total > 0:
            least = total / most
        self.slot, self.start = np.empty(block, np.intp), np.empty(block + 1, np.intp)
        self.heft, self.cursor = np.empty(block), np.zeros(self.chosen.shape[0], np.intp)
        self.H = np.zeros((size, size))
        H = &self.H[0, 0]
        self.first = 0
        while self.first < n:
            self.past = min(n, self.first + block)
            rows = self.choose_rows(least, &mass)
            with_columns(self, COPY, None)
            if self.free:
                for i in range(self.past - self.first):
                    if self.slot[i] < self.end:
                        self.place[self.slot[i]] = <int32_t>(size - 1)
                        self.values[self.slot[i]] = 1
            self.add_rows(rows, H)
            self.first = self.past
        if least > 0:
            self.curvature = np.empty(size)
            with_columns(self, BEND, None)
            self.touched += self.stored
            scale = np.empty(size)
            # a part less beside the diagonal, as columns are not that much alike
            alike = 1 - 0.25 * fmin(1, size / most)
            for j in range(size):
                t = H[j * size + j]
                scale[j] = sqrt(self.curvature[j] / t) if t > 0 else 0.0
            for j in range(size):
                for k in range(j):
                    H[j * size + k] *= alike * scale[j] * scale[k]
                H[j * size + j] = self.curvature[j]
        for j in range(size):
            for k in range(j):
                H[k * size + j] = H[j * size + k]
        return least == 0

    def learn(self, const double[::1] p, const double[::1] y):
        """Let H p = y, the change of the gradient along a step p (the update of Broyden, Fletcher,
        Goldfarb and Shanno)."""
        cdef Py_ssize_t size = self.size, j
        cdef double[::1] Hp = np.zeros(size)
        cdef double modelled = 0, actual = 0
        cdef double* H = &self.H[0, 0]
        for j in range(size):
            if p[j] != 0:
                add_each(p[j], H + j * size, &Hp[0], size)
        for j in range(size):
            modelled += p[j] * Hp[j]
            actual += p[j] * y[j]
        if not (modelled > 0 and actual > 0.01 * modelled):
            return
        for j in range(size):
            add_each(y[j] / actual, &y[0], H + j * size, size)
            add_each(-Hp[j] / modelled, &Hp[0], H + j * size, size)

    cdef Py_ssize_t choose_rows(self, double least, double* mass) except -1:
        """Those of the block that H is made of, their weights, and where their entries go: all, if
        least is 0, and else with a probability of bend / least; returns how many."""
        cdef Py_ssize_t i, rows = 0, end = 0, first = self.first
        cdef const double* bend = &self.bend[first]
        cdef const int32_t* count = &self.count[first]
        cdef Py_ssize_t* slot = &self.slot[0]
        cdef Py_ssize_t* start = &self.start[0]
        cdef double* weight = &self.heft[0]
        cdef double each = 1 / least if least > 0 else 0.0, sum = mass[0]
        for i in range(self.past - first):
            slot[i] = PY_SSIZE_T_MAX
            if count[i] == 0:
                continue
            sum += bend[i] * each if bend[i] < least else 1.0
            if sum >= 1:
                sum -= 1
                slot[i] = start[rows] = end
                weight[rows] = bend[i] if bend[i] > least else least
                end += count[i]
                rows += 1
        mass[0] = sum
        start[rows] = self.end = end
        if self.place.shape[0] < end:
            self.place = np.empty(end + end // 2, np.int32)
            self.values = np.empty(end + end // 2)
        # X may change meanwhile: no place may be left as it was
        self.place[:end] = 0
        self.values[:end] = 0
        return rows

    cdef int add_rows(self, Py_ssize_t rows, double* H) except -1:
        """Add what they make of H, below the diagonal."""
        cdef Py_ssize_t i, a, b, size = self.size, unseen = 0
        cdef const Py_ssize_t* start = &self.start[0]
        cdef const int32_t* place = &self.place[0]
        cdef const double* values = &self.values[0]
        cdef double* to
        cdef double t
        cdef bint whole = self.columns.canonical        # none stands twice
        with nogil:
            for i in range(rows):
                for a in range(start[i], start[i + 1]):
                    to = H + place[a] * size
                    t = self.heft[i] * values[a]
                    if whole and start[i + 1] - start[i] == size:   # then none is missing
                        add_each(t, values + start[i], to, a + 1 - start[i])
                        continue
                    for b in range(start[i], a + 1):
                        to[place[b]] += t * values[b]
                unseen += (start[i + 1] - start[i]) * (start[i + 1] - start[i])
                if unseen > PATIENCE:
                    self.touched += unseen // 4
                    unseen = 0
                    poll()
        self.touched += unseen // 4
        return 0

    def gap(self, const double[::1] u):
        """About what n (P - D) would be if there were no other columns, by the gradient.

        Returns also what alpha is to be divided by to be feasible. Where that is 1 the gap is
        exact; else it is a lower bound, as phi* is convex.
        """
        cdef Py_ssize_t j
        cdef double inner = 0, peak = 1, over, others = 0
        for j in range(self.size):
            over = fabs(self.gradient[j]) - self.threshold[j]
            if j == self.chosen.shape[0]:       # at the beta that there is
                others += fabs(over)
                continue
            inner += u[j] * self.gradient[j]
            if over > 0 and self.ridge[j] > 0:
                others += 0.5 * over * over / self.ridge[j]
            elif over > 0:
                peak = fmax(peak, fabs(self.gradient[j]) / self.threshold[j])
        return self.penalties(u) + inner / peak + others, peak

    def solve(self, double[::1] u, double accuracy):
        """Minimise the model from u on, until a part of the first violation is left.

        Returns by how much the model has fallen.
        """
        cdef Py_ssize_t size = self.size, j, sweeps = 0, turns = 0
        cdef double first = 0, left, enough, least = 0
        cdef double[::1] tilt = np.array(self.gradient), old = np.array(u)
        cdef double[::1] room = np.empty(size * size + 2 * size)
        cdef Py_ssize_t[::1] support = np.empty(size, np.intp)
        cdef double fall = 0
        with nogil:
            for j in range(size):
                first = fmax(first, self.violation(j, u[j], tilt[j]))
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
                    while self.newton_step(u, tilt, room, support):
                        poll()
                poll()
            # p^T (gradient + H p / 2), and tilt = gradient + H p
            for j in range(size):
                fall -= 0.5 * (u[j] - old[j]) * (
                    tilt[j] + self.gradient[j] + self.ridge[j] * (u[j] + old[j]))
                fall -= self.threshold[j] * (fabs(u[j]) - fabs(old[j]))
        return fall

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

    cdef bint newton_step(self, double[::1] u, double[::1] tilt, double[::1] room,
                          Py_ssize_t[::1] support) noexcept nogil:
        """Minimise the model over what is not 0, as far as the first of it that becomes 0.

        Returns whether there was one: then less is left, for another step.
        """
        cdef Py_ssize_t count = self.support(u, support), j, k, stop = -1
        cdef double* factor = &room[0]
        cdef double* step = factor + self.size * self.size
        cdef double* unit = step + self.size
        cdef double t = 1
        for j in range(count):
            k = support[j]
            t = self.H[k, k] + self.ridge[k]
            unit[j] = 1 / sqrt(t) if t > 0 else 1.0
            for k in range(j):
                factor[j * count + k] = self.H[support[j], support[k]] * unit[j] * unit[k]
            k = support[j]
            factor[j * count + j] = t * unit[j] * unit[j]
            step[j] = -self.derivative(k, u[k], tilt[k]) * unit[j]
        factorise(factor, count, RIDGE)
        substitute(factor, count, step)
        t = 1
        for j in range(count):
            k = support[j]
            step[j] *= unit[j]
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

    # ------------------------------------------------------------- any columns

    def thin(self, Py_ssize_t bits):
        """Return the columns of X with every 2^bits-th entry of theirs, in copies."""
        cdef Rows columns = self.columns
        cdef Py_ssize_t d = (columns.d >> bits) + ((columns.d & ((1 << bits) - 1)) > 0)
        cdef Py_ssize_t room = columns.nnz
        if columns.canonical:
            room = min(room, columns.n * d)
        starts = np.zeros(columns.n + 1, np.int64)
        places, entries = np.empty(room, np.int64), np.empty(room)
        self.bits, self.starts, self.places, self.thinned = bits, starts, places, entries
        with_columns(self, THIN, None)
        self.starts, self.places, self.thinned = None, None, None
        count = starts[columns.n]       # what is left over was never touched
        return csr_rows(entries[:count], places[:count], starts, d, columns.canonical)

    def margins(self, const double[::1] p):
        """X p, for a p along the columns of the set, in an array that is used again."""
        self.moved[...] = 0
        self.moves = p
        with_columns(self, MARGINS, self.moved)
        return self.moved


ctypedef enum Task:
    COUNT
    COPY
    SLOPE
    BEND
    SWEEP
    MARGINS
    THIN


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
    if task == COUNT:
        count_rows(set, columns)
    elif task == COPY:
        copy_rows(set, columns)
    elif task == THIN:
        thin_out(set, columns)
    elif task == SLOPE:
        slope_along(set, columns, out)
    elif task == BEND:
        bend_along(set, columns)
    elif task == SWEEP:
        sweep(set, columns, out)
    else:
        carry(set, columns, out)
    return 0


cdef int count_rows(WorkingSet set, AnyRows columns) except -1:
    """Count the entries of each row."""
    cdef Py_ssize_t c, k, first, count, unseen = 0
    cdef int32_t* counts = &set.count[0]
    with nogil:
        for c in range(set.chosen.shape[0]):
            count = span(columns, set.chosen[c], &first)
            for k in range(count):
                counts[column(columns, first, k)] += value(columns, first, k) != 0
            set.stored += count
            unseen += count + 1
            if unseen > PATIENCE:
                unseen = 0
                poll()
    return 0


cdef int copy_rows(WorkingSet set, AnyRows columns) except -1:
    """Copy the entries of a block of rows to where the next one goes, if anywhere."""
    cdef Py_ssize_t c, k, i, at, first, count, begun, unseen = 0, end = set.end
    cdef Py_ssize_t low = set.first, high = set.past
    cdef Py_ssize_t* slot = &set.slot[0]
    cdef int32_t* place = &set.place[0]
    cdef double* values = &set.values[0]
    cdef double x
    with nogil:
        for c in range(set.chosen.shape[0]):
            count = span(columns, set.chosen[c], &first)
            k = begun = set.cursor[c]
            while k < count:
                i = column(columns, first, k)
                if i >= high:
                    break
                if i >= low:        # else X has changed
                    at, x = slot[i - low], value(columns, first, k)
                    if at < end and x != 0:
                        place[at], values[at] = <int32_t>c, x
                        slot[i - low] = at + 1
                k += 1
            set.cursor[c] = k
            unseen += k - begun + 1
            if unseen > PATIENCE:
                unseen = 0
                poll()
    return 0


cdef int slope_along(WorkingSet set, AnyRows columns, double[::1] out) except -1:
    """The derivatives of the model along its columns."""
    cdef L2Map plain = PLAIN
    cdef Py_ssize_t c, first, unseen = 0
    with nogil:
        for c in range(set.chosen.shape[0]):
            out[c] = dot(columns, set.chosen[c], plain, &set.slope_view[0])
            unseen += span(columns, set.chosen[c], &first) + 1
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


cdef int thin_out(WorkingSet set, AnyRows columns) except -1:
    """Copy every 2^bits-th entry of all columns, as far as there is room."""
    cdef Py_ssize_t j, k, i, first, at = 0, unseen = 0, mask = (1 << set.bits) - 1
    cdef Py_ssize_t count, room = set.places.shape[0], bits = set.bits
    cdef int64_t* places = &set.places[0]
    cdef double* entries = &set.thinned[0]
    with nogil:
        for j in range(columns.n):
            count = span(columns, j, &first)
            for k in range(count):
                i = column(columns, first, k)
                if i & mask == 0 and at < room:     # X may have changed meanwhile
                    places[at], entries[at] = i >> bits, value(columns, first, k)
                    at += 1
            set.starts[j + 1] = at
            unseen += count + 1
            if unseen > PATIENCE:
                unseen = 0
                poll()
    return 0


cdef double look_at(WorkingSet model, SomeTerm term, const double[::1] z) except? -1:
    cdef double at[LOSSES]
    cdef double losses[LOSSES]
    cdef double further[LOSSES]
    cdef double total = 0, most = 1 / term.gamma, odds
    cdef Py_ssize_t n = z.shape[0], i = 0, k, count
    cdef const double* y
    cdef const double* s
    cdef double* slope
    cdef double* bend
    cdef bint unknown
    with nogil:
        while i < n:
            count = min(n - i, LOSSES)
            y, slope, bend = &model.target[i], &model.slope_view[i], &model.bend[i]
            if SomeTerm is Logistic:
                for k in range(count):
                    slope[k] = y[k] * z[i + k]
                    losses[k] = -slope[k] if slope[k] < 0 else 0.0
                    at[k] = -fabs(slope[k])
                exp_each(at, further, count)
                for k in range(count):
                    at[k] = 1 / (1 + further[k])
                    slope[k] = -y[k] * at[k] * (further[k] if slope[k] > 0 else 1.0)
                    bend[k] = at[k] * at[k] * (further[k] if further[k] > 2.3e-16 else 2.3e-16)
                    at[k] = 1 + further[k]
            elif SomeTerm is Squared:
                for k in range(count):
                    losses[k] = term.phi(y[k], z[i + k])
                    slope[k] = term.phi_slope(y[k], z[i + k])
                    bend[k] = 1
            else:
                term.phis(count, y, &z[i], losses)
                term.phi_slopes(count, y, &z[i], slope)
                unknown = isnan(term.conj_curve(y[0], -slope[0]))
                if unknown:     # then by a difference
                    for k in range(count):
                        at[k] = z[i + k] + 1e-6 * fmax(1, fabs(z[i + k]))
                    term.phi_slopes(count, y, at, further)
                for k in range(count):
                    if unknown:
                        bend[k] = (further[k] - slope[k]) / (at[k] - z[i + k])
                    else:
                        bend[k] = 1 / term.conj_curve(y[k], -slope[k])
                    bend[k] = fmin(fmax(bend[k], LEAST_BEND * most), most)
            if model.weight is not None:
                if SomeTerm is Logistic:
                    log_each(at, at, count)
                s = &model.weight[i]
                for k in range(count):
                    if SomeTerm is Logistic:
                        losses[k] += at[k]
                    if s[k] > 0:
                        total += s[k] * losses[k]
                        slope[k] *= s[k]
                        bend[k] *= s[k]
                    else:
                        slope[k] = bend[k] = 0
            elif SomeTerm is Logistic:
                odds = 1        # so that one logarithm does for all
                for k in range(count):
                    total += losses[k]
                    odds *= at[k]
                total += log(odds)
            else:
                for k in range(count):
                    total += losses[k]
            i += count
    return total
