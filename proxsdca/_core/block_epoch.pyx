"""The loop for vector-valued alpha_i: the same as in epoch.pyx, with k numbers a visit.

X_i comes in two forms.  Shared: x_i serves all k classes, v and w are (d, k), flattened, and X_i z
is the outer product of x_i and z.  Explicit: the columns of X_i are k_i rows of the storage, from
offsets[i] on.  What differs between them stands in the functions that take `explicit`.
"""

import numpy as np

from libc.float cimport DBL_MIN
from libc.math cimport fabs, fmax
from libc.string cimport memcpy

from .blocks cimport add_row, margins, total
from .block_step cimport Block, block_inner, block_step, fraction, towards
from .duals cimport Duals
from .kinds cimport AnyMap, SeparableMap
from .loop cimport Loop
from .map cimport Map
from .regs cimport GroupMap, L1L2Map, L2Map, QNormMap, WeightedL1L2Map
from .rows cimport (
    AnyRows, CSR32i32, CSR32i64, CSR64i32, CSR64i64, Dense32, Dense64, Record, Rows, Strided32,
    Strided64, axpy, column, dot, hold, lead_of, prefetch_row, prefetch_start, span, value,
)
from .step cimport OPTION_I, OPTION_II
from .vector_losses cimport VectorLoss
from .wide cimport difference


cdef enum:
    SOON = 4            # examples
    INNER = 50          # steps of the inner solve for each class, at the most
    MOST = 16           # one in so many classes must change for whole rows of v to be written
    WIDE = 64           # classes, beyond which alpha is kept compact
    ROOMS = 12          # vectors of k numbers that a visit needs, in whole eights


cdef inline double* aligned(double* x) noexcept nogil:
    """The first one from x on that begins a line of the cache."""
    return <double*>((<size_t>x + 63) & ~<size_t>63)


cdef class BlockEpoch(Loop):
    """The state that the loop changes, and what it notices on the way.

    Parameters
    ----------
    rows, term, map : Rows, VectorLoss, Map
        Where X_i, phi_i and grad g* come from.
    delta : array or None
        cost(j, y) at y k + j, or, where X_i is explicit, one for each row; None where all are 1.
    weight : (n,) array or None
        The repetitions s_i; None means 1 each.
    curvature : (n,) array
        |X_i|^2 / (lambda n).
    duals : Duals
        alpha, with the target classes and the offsets.
    v : array
        v, flattened.
    scale, q_R, option, virtual, bias_scale
        As in `Epoch`.
    bias : (k,) array or None
        The intercepts of the classes.
    """

    cdef Rows rows
    cdef VectorLoss term
    cdef L2Map plain
    cdef const double[::1] delta, weight, curvature
    cdef readonly Duals duals
    cdef bint explicit, looking
    cdef double[::1] rooms, ones, gram, dense, spread

    def __init__(self, Rows rows, VectorLoss term, Map map, delta, weight,
                 const double[::1] curvature, Duals duals, double[::1] v, *,
                 double scale, double q_R, int option, bint virtual=False, bias=None,
                 double bias_scale=0):
        cdef Py_ssize_t k = duals.widest, whole = 8 * ((k + 7) // 8)
        self.rows, self.term, self.plain = rows, term, L2Map()
        self.delta, self.weight, self.curvature = delta, weight, curvature
        self.duals = duals
        self.explicit, self.spread = duals.k == 0, None
        self.rooms, self.ones = np.zeros(ROOMS * whole + 8), np.ones(k)
        square = k * k if self.explicit and option == OPTION_I else 1
        self.gram, self.dense = np.zeros(square), np.zeros(rows.d if self.explicit else 1)
        Loop.__init__(self, map, v, scale, q_R, option, virtual, bias, bias_scale)

    def forget(self, Py_ssize_t visits=0):
        """As in `Loop`; k logarithms and exponentials are for every eighth visit at the most."""
        Loop.forget(self, visits)
        if self.mask:
            self.mask = 7

    def look(self, order):
        """The mean gap of these examples, which stay as they are."""
        sums = self.excess, self.loss, self.inner
        counts = (self.sampled, self.visits, self.visited, self.changed, self.position, self.mask,
                  self.length)
        self.forget()
        self.looking = True
        try:
            self.run(order)
            return self.excess / max(1, self.sampled)
        finally:
            self.looking = False
            self.excess, self.loss, self.inner = sums
            (self.sampled, self.visits, self.visited, self.changed, self.position, self.mask,
             self.length) = counts

    def record(self):
        """From here on, sum the iterates w and alpha."""
        cdef Py_ssize_t last = self.duals.n - 1
        self.start_records(self.duals.first(last) + self.duals.size(last))

    def average(self, double[::1] w, Duals alpha):
        """Write the means of the recorded w and alpha; there must be at least one."""
        cdef Py_ssize_t i, j, first
        cdef double* mass = &self.rooms[0]
        cdef bint kept = True
        self.average_w(w)
        for i in range(alpha.n):
            self.duals.read(i, mass)
            first = alpha.first(i)
            for j in range(alpha.size(i)):
                hold(&self.alpha_record[first + j], mass[j], self.recorded)
                mass[j] = self.alpha_record[first + j].total / self.recorded
            kept = kept and alpha.write(i, mass)
        if not kept:
            raise MemoryError

    cdef double* spread_out(self, Py_ssize_t stride) except NULL:
        """A copy of v with `stride` numbers for each row of w, from a multiple of 64 bytes on."""
        cdef Py_ssize_t d = self.rows.d, k = self.duals.k, j
        cdef double* to
        if self.spread is None:
            self.spread = np.zeros(d * stride + 8)
        to = aligned(&self.spread[0])
        for j in range(d):
            memcpy(to + j * stride, &self.v[j * k], k * sizeof(double))
        return to

    cdef void gather(self, Py_ssize_t stride) noexcept:
        """v as that copy has become."""
        cdef Py_ssize_t k = self.duals.k, j
        cdef double* source = aligned(&self.spread[0])
        for j in range(self.rows.d):
            memcpy(&self.v[j * k], source + j * stride, k * sizeof(double))

    def run(self, const Py_ssize_t[::1] order):
        """Visit the examples of the order, one after the other."""
        cdef Rows rows = self.rows
        if not order.shape[0]:
            return
        if isinstance(rows, CSR32i32):
            with_map(self, <CSR32i32>rows, order)
        elif isinstance(rows, CSR64i32):
            with_map(self, <CSR64i32>rows, order)
        elif isinstance(rows, CSR32i64):
            with_map(self, <CSR32i64>rows, order)
        elif isinstance(rows, CSR64i64):
            with_map(self, <CSR64i64>rows, order)
        elif isinstance(rows, Dense32):
            with_map(self, <Dense32>rows, order)
        elif isinstance(rows, Dense64):
            with_map(self, <Dense64>rows, order)
        elif isinstance(rows, Strided32):
            with_map(self, <Strided32>rows, order)
        else:
            with_map(self, <Strided64>rows, order)


cdef int with_map(BlockEpoch state, AnyRows rows, const Py_ssize_t[::1] order) except -1:
    cdef Map map = state.map
    if state.virtual:
        sweep(state, rows, map, order)
    elif isinstance(map, L2Map):
        sweep(state, rows, <L2Map>map, order)
    elif isinstance(map, L1L2Map):
        sweep(state, rows, <L1L2Map>map, order)
    elif isinstance(map, WeightedL1L2Map):
        sweep(state, rows, <WeightedL1L2Map>map, order)
    elif isinstance(map, QNormMap):
        sweep(state, rows, <QNormMap>map, order)
    elif isinstance(map, GroupMap):
        sweep(state, rows, <GroupMap>map, order)
    else:
        sweep(state, rows, map, order)
    return 0


# --------------------------------------------------------------- changes of v


cdef inline Py_ssize_t shift(AnyRows rows, bint explicit, Py_ssize_t i, Py_ssize_t first_row,
                             AnyMap map, double* v, Py_ssize_t stride, const Block* b,
                             double factor, Py_ssize_t* moved, double* change, Record* record,
                             double now) noexcept nogil:
    """v -= factor X_i (new - beta); returns how many classes that changes."""
    cdef Py_ssize_t first, count, e, at, c, a, n_moved
    cdef double x, old
    n_moved = difference(b.new, b.beta, -factor, b.k if explicit else stride, change)
    if AnyMap in SeparableMap:
        if not explicit and record == NULL and n_moved > 0 and MOST * n_moved >= b.k:
            add_row(rows, i, 1, change, stride, v)
            return n_moved
    n_moved = 0
    for c in range(b.k):
        if b.new[c] != b.beta[c]:
            moved[n_moved] = c
            n_moved += 1
    if n_moved == 0:
        return 0
    if explicit:
        for a in range(n_moved):
            axpy(rows, first_row + moved[a], change[moved[a]], map, v, record, now)
        return n_moved
    count = span(rows, i, &first)
    for e in range(count):
        x = value(rows, first, e)
        for a in range(n_moved):
            at = column(rows, first, e) * stride + moved[a]
            old = v[at]
            v[at] = old + x * change[moved[a]]
            if record != NULL:
                if AnyMap in SeparableMap:
                    hold(&record[at], map.at(at, old), now)
                else:
                    hold(&record[at], map.held(at, old), map.clock(at))
            map.moved(at, old, v[at])
    map.settle()
    return n_moved


# --------------------------------------------------------------- explicit X_i


cdef inline double length_sq(AnyRows rows, Py_ssize_t first_row, AnyMap map, const double* z,
                             Py_ssize_t k, double* dense) noexcept nogil:
    """|X_i z|_D'^2; dense has d zeros, and has them again afterwards."""
    cdef double state[2]
    cdef Py_ssize_t c, e, j, first, count
    state[0] = state[1] = 0
    for c in range(k):
        if z[c] != 0:
            count = span(rows, first_row + c, &first)
            for e in range(count):
                dense[column(rows, first, e)] += z[c] * value(rows, first, e)
    for c in range(k):
        if z[c] != 0:
            count = span(rows, first_row + c, &first)
            for e in range(count):
                j = column(rows, first, e)
                map.fold(state, &j, &dense[j], 1)
                dense[j] = 0
    return map.norm_sq(state)


cdef inline void fill_gram(AnyRows rows, Py_ssize_t first_row, L2Map plain, Py_ssize_t k,
                           double factor, double* dense, double* gram) noexcept nogil:
    """gram = factor X_i^T X_i."""
    cdef Py_ssize_t a, c, e, first, count
    for a in range(k):
        count = span(rows, first_row + a, &first)
        for e in range(count):
            dense[column(rows, first, e)] += value(rows, first, e)
        for c in range(a, k):
            gram[a * k + c] = gram[c * k + a] = factor * dot(rows, first_row + c, plain, dense)
        for e in range(count):
            dense[column(rows, first, e)] = 0


cdef void inner_solve(VectorLoss term, Block* b, const double* gram, double* slope,
                      double* z) noexcept nogil:
    """Option I for explicit X_i, from where Option II leads to, in b.new: mass goes from the class
    where it is worth least to the one where it is worth most, by line searches, until it is worth
    the same everywhere."""
    cdef Py_ssize_t k = b.k, a, c, low, high
    cdef double worth, s, mass, bend, gain, most = 0
    for a in range(k):
        z[a] = 0
        slope[a] = b.m[a]
        for c in range(k):
            slope[a] -= gram[a * k + c] * (b.new[c] - b.beta[c])
    for _ in range(INNER * k):
        term.omega_slope(b.delta, b.new, k, b.u)
        low = high = -1
        worth = 0
        for a in range(k):
            b.u[a] = slope[a] - b.u[a]
            if high < 0 or b.u[a] > b.u[high]:
                high = a
        for a in range(k):      # the class whose mass gains the most by moving there
            if b.new[a] > 0 and a != high:
                worth = fmax(worth, b.u[high] - b.u[a])
                bend = gram[a * k + a] + gram[high * k + high] - 2 * gram[a * k + high]
                gain = (b.u[high] - b.u[a]) * (b.u[high] - b.u[a]) / fmax(bend, 1e-12 * gram[
                    a * k + a] + DBL_MIN)
                if b.u[high] > b.u[a] and (low < 0 or gain > most):
                    low, most = a, gain
        if low < 0 or not worth > 1e-9 * (1 + fabs(slope[high]) + fabs(slope[low])):
            break
        mass = b.new[low]
        bend = gram[low * k + low] + gram[high * k + high] - 2 * gram[low * k + high]
        z[high], z[low] = mass, -mass
        s = term.along(b.y, b.delta, b.new, slope, z, fmax(bend, 0) * mass * mass, k)
        z[high] = z[low] = 0
        if not s > 0:
            break
        b.new[high] += s * mass
        b.new[low] = mass - s * mass if s < 1 else 0.0
        for a in range(k):
            slope[a] -= s * mass * (gram[a * k + high] - gram[a * k + low])


cdef inline void explicit_step(BlockEpoch state, AnyRows rows, Py_ssize_t first_row, AnyMap map,
                               Block* b, double stiffness, double* room) noexcept nogil:
    """The new beta where X_i has columns of its own; stiffness is s_i / (lambda n)."""
    cdef double fit = -1
    cdef Py_ssize_t c
    state.term.attain(b.y, b.delta, b.m, b.k, b.new)
    if state.option != OPTION_I and state.option != OPTION_II:
        fit = fraction(state.term, state.option, b)
    if fit < 0:     # Option II, which achieves more than what cannot be computed
        for c in range(b.k):
            b.u[c] = b.new[c] - b.beta[c]
        fit = stiffness * length_sq(rows, first_row, map, b.u, b.k, &state.dense[0])
        fit = state.term.along(b.y, b.delta, b.beta, b.m, b.u, fit, b.k)
    towards(b, fit)
    if state.option == OPTION_I:
        fill_gram(rows, first_row, state.plain, b.k, stiffness, &state.dense[0], &state.gram[0])
        inner_solve(state.term, b, &state.gram[0], room, room + b.k)


cdef void keep_compact(VectorLoss term, Block* b) noexcept nogil:
    """Where the exact step would spread over very many classes, as it does while they are alike,
    the line search of Option II, which adds one class."""
    cdef Py_ssize_t c, before = 0, after = 0
    for c in range(b.k):
        before += b.beta[c] != 0
        after += b.new[c] != 0
    if after > 8 and after > 2 * before:
        block_step(term, OPTION_II, b)


cdef inline double bias_inner(const Block* b, const double* bias) noexcept nogil:
    """bias^T (e_y - beta)."""
    cdef double inner = bias[b.y]
    cdef Py_ssize_t c
    for c in range(b.k):
        inner -= bias[c] * b.beta[c]
    return inner


# --------------------------------------------------------------- the loop


cdef int sweep(BlockEpoch state, AnyRows rows, AnyMap map,
               const Py_ssize_t[::1] visits) except -1:
    cdef Duals duals = state.duals
    cdef VectorLoss term = state.term
    cdef const Py_ssize_t* order = &visits[0]
    cdef const Py_ssize_t* target = &duals.target_view[0]
    cdef const double* curvature = &state.curvature[0]
    cdef const double* weight = &state.weight[0] if state.weight is not None else NULL
    cdef double* v = &state.v[0]
    cdef double scale = state.scale
    cdef Py_ssize_t lead = lead_of(rows)
    cdef bint explicit = state.explicit
    cdef bint zero_one = state.delta is None
    # one sum after the other, so that no bit depends on how an epoch is cut
    cdef double total_excess = state.excess, total_loss = state.loss, total_inner = state.inner
    cdef Py_ssize_t sampled = 0, steps = 0, visited = 0, changed = 0, broken = -1
    cdef Py_ssize_t count = visits.shape[0], t, i, j, c, first, entries
    cdef Record* record = state.w_record
    cdef Py_ssize_t recorded = state.recorded
    cdef double started = map.now
    cdef Py_ssize_t mask = state.mask, position = state.position
    cdef double s = 1, loss, inner, stiffness, before, rise, g_rise
    cdef double* bias = &state.bias[0] if state.bias is not None else NULL
    cdef double bias_scale = state.bias_scale, move
    cdef bint kept = True
    cdef Block b
    b.near, b.beyond = state.near, state.beyond
    cdef double* rooms = aligned(&state.rooms[0])
    cdef Py_ssize_t widest = duals.widest, whole = 8 * ((widest + 7) // 8), stride = widest
    cdef double* change = rooms + 9 * whole
    cdef Py_ssize_t* moved = <Py_ssize_t*>(rooms + 11 * whole)
    b.beta, b.m, b.new, b.u, b.room = (rooms, rooms + whole, rooms + 2 * whole,
                                       rooms + 3 * whole, rooms + 4 * whole)
    if AnyMap is L2Map:
        if (not explicit and record == NULL and whole != widest
                and 4 * rows.d <= count * (rows.nnz // rows.n)):
            stride = whole
            v = state.spread_out(stride)
    for c in range(ROOMS * whole):      # and stays so beyond k
        rooms[c] = 0
    with nogil:
        for t in range(count):
            if t + SOON < count and not explicit:
                prefetch_row(rows, order[t + SOON], lead)
                duals.prefetch(order[t + SOON])
                if t + 2 * SOON < count:
                    prefetch_start(rows, order[t + 2 * SOON])
            if record != NULL and AnyMap not in SeparableMap:
                map.tick()
            i = order[t]
            b.y, b.k = target[i], duals.size(i)
            first = duals.first(i)
            if weight != NULL:
                s = weight[i]
                if s == 0:
                    continue
            duals.read(i, b.beta)
            if s != 1:
                for c in range(b.k):
                    b.beta[c] /= s
            b.beta[b.y] = fmax(1 - total(b.beta, b.k), 0)
            b.q, b.q_R = fmax(curvature[i] * s, DBL_MIN), state.q_R * s
            if not margins(rows, explicit, i, first, map, v, b.k, b.m, stride):
                broken = i
                break
            if bias != NULL:
                for c in range(b.k):
                    b.m[c] += bias[c]
            if zero_one:
                b.delta = &state.ones[0]
                state.ones[b.y] = 0
            else:
                b.delta = &state.delta[first if explicit else b.y * b.k]
            entries = 0
            for c in range(b.k if explicit else 1):
                entries += span(rows, first + c if explicit else i, &j)
            visited += entries
            steps += 1
            if (position + t) & mask == 0:
                sampled += 1
                loss, inner = s * term.phi(b.y, b.delta, b.m, b.k), s * block_inner(&b)
                total_excess += loss + s * term.omega(b.y, b.delta, b.beta, b.k) + inner
                total_loss += loss
                total_inner += inner
                if bias != NULL:
                    total_inner -= s * bias_inner(&b, bias)
            if state.looking:
                state.ones[b.y] = 1
                continue
            stiffness = s * scale
            while True:
                if explicit:
                    explicit_step(state, rows, first, map, &b, stiffness, change)
                else:
                    block_step(term, state.option, &b)
                    if term.sparse and b.k > WIDE and state.option == OPTION_I:
                        keep_compact(term, &b)
                before = map.kept_conjugate() if map.checked else 0.0
                j = shift(rows, explicit, i, first, map, v, stride, &b, s * scale, moved, change,
                          record, started + t + 1)
                if not map.checked or j == 0:
                    break
                # The map's curvature is not to be trusted: a step that lowers the true dual is
                # taken back, and taken again with twice the curvature.
                rise = s * (term.omega(b.y, b.delta, b.beta, b.k)
                            - term.omega(b.y, b.delta, b.new, b.k))
                g_rise = (map.kept_conjugate() - before) / scale
                if bias != NULL:
                    for c in range(b.k):
                        move = s * (b.beta[c] - b.new[c])
                        g_rise += move * (bias[c] + 0.5 * bias_scale * move)
                if rise - g_rise >= -1e-12 * (fabs(rise) + fabs(g_rise) + fabs(before) / scale):
                    break
                shift(rows, explicit, i, first, map, v, stride, &b, -s * scale, moved, change,
                      record, started + t + 1)
                b.q, b.q_R, stiffness = 2 * b.q, 2 * b.q_R, 2 * stiffness
            if zero_one:
                state.ones[b.y] = 1
            if j > 0:
                if record != NULL:
                    for c in range(b.k):
                        if c != b.y:
                            hold(&state.alpha_record[first + c], s * b.beta[c], recorded + t + 1)
                if bias != NULL:
                    for c in range(b.k):
                        if record != NULL:
                            hold(&state.bias_record[c], bias[c], recorded + t + 1)
                        bias[c] += s * (b.beta[c] - b.new[c]) * bias_scale
                if s != 1:
                    for c in range(b.k):
                        b.new[c] *= s
                kept = duals.write(i, b.new)
                changed += entries
                if not kept:
                    break
    if stride != widest:
        state.gather(stride)
    state.position += count
    state.excess = total_excess
    state.loss = total_loss
    state.inner = total_inner
    state.sampled += sampled
    state.visits += steps
    state.visited += visited
    state.changed += changed
    if record != NULL:
        state.recorded += count
        if AnyMap in SeparableMap:
            map.now += count
    if not kept:
        raise MemoryError
    if broken >= 0:
        state.broken = broken
    return 0
