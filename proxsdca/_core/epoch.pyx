"""The one loop: visit coordinates in a given order, step, keep v up to date.

For each coordinate i it needs a term (term.pxd), for each entry of v a map
(map.pxd), and a storage to read x_i from (rows.pxd).  The kernel is written
once and specialised for the listed types; a term or map that is not listed
runs through the same source by virtual calls.
"""

import numpy as np

from libc.float cimport DBL_MIN
from libc.math cimport exp, fabs, fmax, fmin, isfinite, isnan, sqrt

from .columns cimport LossMap, Penalty
from .kinds cimport AnyMap, AnyTerm, SeparableMap
from .loop cimport Loop
from .losses cimport Hinge, Logistic, SmoothHinge, Squared, SquaredHinge
from .map cimport Map
from .regs cimport GroupMap, L1L2Map, L2Map, QNormMap, WeightedL1L2Map
from .rows cimport (
    AnyRows, CSR32i32, CSR32i64, CSR64i32, CSR64i64, Dense32, Dense64, Record, Rows, Strided32,
    Strided64, axpy, column, dot, hold, lead_of, prefetch_line, prefetch_row, prefetch_start,
    span, value,
)
from .step cimport OPTION_I, step, term_argument
from .term cimport Term


cdef enum:
    AHEAD = 8       # rows; far enough for memory to answer before the row is due
    LIFT = 2        # times n nonzeros of columns, after which the intercept is fitted again


cdef class Epoch(Loop):
    """The state that the loop changes, and what it notices on the way.

    Parameters
    ----------
    rows, term, map : Rows, Term, Map
        Where x_i, phi_i and grad g* come from.
    target : (n,) array
        y.
    weight : (n,) array or None
        The repetitions s_i; None means 1 each.
    curvature : (n,) array
        |x_i|_D'^2 / (lambda n).
    scale : float
        1 / (lambda n).
    q_R : float
        R^2 / (lambda n).
    option : int
        The step option.
    virtual : bool
        Call term and map virtually, whatever they are.
    bias : (1,) array or None
        The intercept; None where there is none.
    bias_scale : float
        By how much it moves with alpha_i.
    lift : (n,) array or None
        What an x_i counts as for the intercept; None means 1 each.
    """

    cdef Rows rows
    cdef Term term
    cdef const double[::1] target, weight, curvature, lift
    cdef readonly double[::1] alpha

    # For the column side.  A step moves map(v) by at most its length |b' - b| q^(1/2), so that a
    # coordinate with slack stays where it is, unvisited, while the path is short of `quiet`.
    cdef double path
    cdef double[::1] quiet
    cdef Py_ssize_t unlifted        # nonzeros visited since the intercept was fitted

    # For shrinking: which rows would stay where they are if their margin moved by `calm` to either
    # side, which is at least the furthest that the steps since `forget` have moved one.
    cdef unsigned char[::1] rests
    cdef public double calm
    cdef public bint looks          # whether rows are only looked at, and all stay where they are

    def __init__(self, Rows rows, Term term, Map map, const double[::1] target, weight,
                 const double[::1] curvature, double[::1] alpha, double[::1] v, *,
                 double scale, double q_R, int option, bint virtual=False, bias=None,
                 double bias_scale=0, lift=None):
        self.rows, self.term, self.lift = rows, term, lift
        self.target, self.weight, self.curvature = target, weight, curvature
        self.alpha = alpha
        self.path, self.unlifted = 0, 0
        self.quiet = np.zeros(alpha.shape[0] if isinstance(term, Penalty) else 1)
        self.rests, self.calm, self.looks = None, 0, False
        Loop.__init__(self, map, v, scale, q_R, option, virtual, bias, bias_scale)

    def record(self):
        """From here on, sum the iterates w and alpha."""
        self.start_records(self.alpha.shape[0])

    def state(self):
        return {**Loop.state(self), "path": self.path, "unlifted": self.unlifted,
                "quiet": np.array(self.quiet), "calm": self.calm, "looks": self.looks}

    def restore(self, state):
        Loop.restore(self, state)
        self.path, self.unlifted, self.calm = state["path"], state["unlifted"], state["calm"]
        self.looks = state["looks"]
        np.copyto(np.asarray(self.quiet), state["quiet"])

    def watch(self, unsigned char[::1] rests):
        """From here on, note in `rests` which rows are at rest."""
        self.rests = rests

    def average(self, double[::1] w, double[::1] alpha):
        """Write the means of the recorded w and alpha; there must be at least one."""
        cdef Py_ssize_t i
        self.average_w(w)
        for i in range(alpha.shape[0]):
            hold(&self.alpha_record[i], self.alpha[i], self.recorded)
            alpha[i] = self.alpha_record[i].total / self.recorded

    def run(self, const Py_ssize_t[::1] order):
        """Visit the rows of the order, one after the other."""
        cdef Rows rows = self.rows
        if not order.shape[0]:
            return
        if isinstance(self.map, LossMap):
            (<LossMap>self.map).wake()
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


cdef int with_map(Epoch state, AnyRows rows, const Py_ssize_t[::1] order) except -1:
    cdef Map map = state.map
    if state.virtual:
        sweep(state, rows, map, state.term, order)
    elif isinstance(map, L2Map):
        with_term(state, rows, <L2Map>map, order)
    elif isinstance(map, L1L2Map):
        with_term(state, rows, <L1L2Map>map, order)
    elif isinstance(map, WeightedL1L2Map):
        with_term(state, rows, <WeightedL1L2Map>map, order)
    elif isinstance(map, QNormMap):
        sweep(state, rows, <QNormMap>map, state.term, order)
    elif isinstance(map, GroupMap):
        sweep(state, rows, <GroupMap>map, state.term, order)
    elif isinstance(map, LossMap) and isinstance(state.term, Penalty):
        sweep(state, rows, <LossMap>map, <Penalty>state.term, order)
    else:
        sweep(state, rows, map, state.term, order)
    return 0


cdef int with_term(Epoch state, AnyRows rows, SeparableMap map,
                   const Py_ssize_t[::1] order) except -1:
    cdef Term term = state.term
    if isinstance(term, Hinge):
        sweep(state, rows, map, <Hinge>term, order)
    elif isinstance(term, SmoothHinge):
        sweep(state, rows, map, <SmoothHinge>term, order)
    elif isinstance(term, SquaredHinge):
        sweep(state, rows, map, <SquaredHinge>term, order)
    elif isinstance(term, Logistic):
        sweep(state, rows, map, <Logistic>term, order)
    elif isinstance(term, Squared):
        sweep(state, rows, map, <Squared>term, order)
    elif SeparableMap is L2Map and isinstance(term, Penalty):      # squared loss, by columns
        sweep(state, rows, map, <Penalty>term, order)
    else:
        sweep(state, rows, map, term, order)
    return 0


cdef inline double local_best(AnyRows rows, Py_ssize_t i, LossMap map, Penalty term, double y,
                              double b, double m, double q) noexcept nogil:
    """The step of a column by the loss's curvature where v is, instead of by its bound 1/gamma.

    Where phi'' bounds the third derivative, phi''(z + t) <= phi''(z) e^|t|, so that
    sum_i s_i min(phi''(v_i) e^(|x_ij| r), 1/gamma) x_ij^2 bounds the curvature of n P wherever
    |b' - b| <= r: a step within r lowers P by as much as this bound says. The first r are such
    that one exponential serves all i, the later ones see which v_i the step takes outwards.
    """
    cdef Py_ssize_t first, count = span(rows, i, &first), k, j
    cdef double x, here = 0, peak = 0, e = 0.1, r, new = b
    for k in range(count):
        j = column(rows, first, k)
        if map.counts(j):
            x = value(rows, first, k)
            here += map.curve(j) * x * x
            peak = fmax(peak, fabs(x))
    while e < 2:
        new = term.best(y, b, m, fmin(here * exp(e), q))
        if fabs(new - b) * peak <= e:
            return new
        e *= 2
    r = e / peak if new > b else -e / peak
    for _ in range(100):
        here = 0
        for k in range(count):
            j = column(rows, first, k)
            if map.counts(j):
                x = value(rows, first, k)
                here += map.curve_within(j, x * r) * x * x
        new = term.best(y, b, m, fmax(here, DBL_MIN))
        if fabs(new - b) <= fabs(r):
            return new
        r *= 2
    return b


cdef inline double move(AnyRows rows, Py_ssize_t i, AnyMap map, double* v, AnyTerm term,
                        int option, double y, double s, double alpha, double m, double q,
                        double q_R, double scale, double beta, double bias_scale,
                        Record* record, double now, bint near) noexcept nogil:
    """Take the step of row i and return the new alpha_i.

    Where the map says so, its curvature is not to be trusted: a step that lowers the true dual
    is taken back, and taken again with twice the curvature.
    """
    cdef double b = alpha if s == 1 else term_argument(term, y, alpha, s)
    cdef double new, before, rise, g_rise
    if option == OPTION_I:      # inline, where it is what there is to do
        if AnyTerm is Logistic or AnyTerm is Term:
            new = s * (term.near(y, b, m, q) if near else term.best(y, b, m, q))
        else:
            new = s * term.best(y, b, m, q)
    else:
        new = s * step(term, option, y, b, m, q, q_R)
    if AnyMap is LossMap and AnyTerm is Penalty:
        if map.self_concordant and new != alpha:
            new = local_best(rows, i, map, term, y, b, m, q)
    if AnyMap is QNormMap or AnyMap is Map:
        if map.checked:
            while new != alpha:
                before = map.kept_conjugate()
                axpy(rows, i, scale * (new - alpha), map, v, record, now)
                # n times the rise of the dual; lambda n = 1 / scale
                rise = s * (term.phi_conj(y, -b) - term.phi_conj(y, -new / s))
                g_rise = (map.kept_conjugate() - before) / scale
                g_rise += (new - alpha) * (beta + 0.5 * bias_scale * (new - alpha))
                if rise - g_rise >= -1e-12 * (fabs(rise) + fabs(g_rise) + fabs(before) / scale):
                    break
                axpy(rows, i, -scale * (new - alpha), map, v, record, now)
                q, q_R = 2 * q, 2 * q_R
                new = s * step(term, option, y, b, m, q, q_R)
            return new
    if new != alpha:
        axpy(rows, i, scale * (new - alpha), map, v, record, now)
        if AnyMap is LossMap:
            if map.deferred:
                recall(rows, i, map)
    return new


cdef void recall(AnyRows rows, Py_ssize_t i, LossMap map) noexcept nogil:
    """Ask a loss in Python for what row i has moved."""
    cdef Py_ssize_t first, count = span(rows, i, &first), k
    for k in range(count):
        map.postpone(column(rows, first, k))
    map.refresh()


cdef int sweep(Epoch state, AnyRows rows, AnyMap map, AnyTerm term,
               const Py_ssize_t[::1] visits) except -1:
    cdef const Py_ssize_t* order = &visits[0]
    cdef const double* target = &state.target[0]
    cdef const double* curvature = &state.curvature[0]
    cdef const double* weight = &state.weight[0] if state.weight is not None else NULL
    cdef double* alpha = &state.alpha[0]
    cdef double* v = &state.v[0]
    cdef double scale = state.scale, q_R = state.q_R
    cdef int option = state.option
    # one sum after the other, so that no bit depends on how an epoch is cut
    cdef double total_excess = state.excess, total_loss = state.loss, total_inner = state.inner
    cdef Py_ssize_t sampled = 0, steps = 0, visited = 0, changed = 0, broken = -1
    cdef Py_ssize_t count = visits.shape[0], t, i, first, entries
    cdef Record* record = state.w_record
    cdef Py_ssize_t recorded = state.recorded
    cdef double started = map.now
    cdef double path = state.path
    cdef double* quiet = &state.quiet[0]
    cdef Py_ssize_t mask = state.mask, position = state.position
    cdef double s = 1, y, b, m, q, new, loss, share, beta = 0, lifted = 1
    cdef double* bias = &state.bias[0] if state.bias is not None else NULL
    cdef double bias_scale = state.bias_scale
    cdef const double* lift = &state.lift[0] if state.lift is not None else NULL
    cdef Py_ssize_t unlifted = state.unlifted
    cdef unsigned char* rests = &state.rests[0] if state.rests is not None else NULL
    cdef double calm = state.calm, stretch
    cdef Py_ssize_t lead = lead_of(rows)
    cdef bint near = state.near, growing = state.growing, looks = state.looks
    with nogil:
        for t in range(count):
            if t + 2 * AHEAD < count:
                i = order[t + 2 * AHEAD]
                prefetch_line(&alpha[i])
                prefetch_line(&target[i])
                prefetch_line(&curvature[i])
                prefetch_start(rows, i)
            if t + AHEAD < count:
                prefetch_row(rows, order[t + AHEAD], lead)
            if record != NULL and AnyMap not in SeparableMap:
                map.tick()
            i = order[t]
            y = target[i]
            b = alpha[i]
            q = curvature[i]
            if AnyTerm is Penalty:
                if path < quiet[i] and b == 0:
                    sampled += ((position + t) & mask == 0)  # its share of the gap is 0
                    continue
            if weight != NULL:
                s = weight[i]
                if s == 0:
                    continue
                b = term_argument(term, y, b, s)
                q *= s
            q = q if q > DBL_MIN else DBL_MIN   # a row of zeros: no 0 / 0 in any step
            m = dot(rows, i, map, v)
            if AnyMap is not LossMap:       # whose v has it
                if bias != NULL:
                    lifted = lift[i] if lift != NULL else 1
                    beta = bias[0] * lifted
                    m += beta
            if not isfinite(m):
                broken = i
                break
            entries = span(rows, i, &first)
            visited += entries
            steps += 1
            if (position + t) & mask == 0:
                sampled += 1
                loss = term.phi(y, m)
                share = loss + term.phi_conj(y, -b) + m * b         # `excess`, with phi at hand
                if AnyTerm is Term:
                    if term.foreign and isnan(share):
                        broken = i
                        break
                total_excess += s * share
                total_loss += s * loss
                total_inner += s * b * (m - beta)
            if AnyTerm is not Penalty and AnyTerm is not Logistic and AnyMap in SeparableMap:
                if looks:
                    rests[i] = ((term.best(y, b, m - calm, q) == b)
                                & (term.best(y, b, m + calm, q) == b))
                    continue
            if growing:     # lambda n counts for so many examples less
                stretch = sqrt(state.length / <double>(position + t + 1))
                m, q = m * stretch, q * stretch
            new = move(rows, i, map, v, term, option, y, s, alpha[i], m, q, q_R * s, scale,
                       beta, bias_scale, record, started + t + 1, near)
            if AnyTerm is Term:
                if term.foreign and not isfinite(new):
                    broken = i
                    break
            if AnyTerm is not Penalty and AnyTerm is not Logistic and AnyMap in SeparableMap:
                if rests != NULL:
                    if new != alpha[i]:
                        rests[i] = False
                        calm = fmax(calm, fabs(new - alpha[i]) / s * q)
                    else:
                        # without branches, which nobody foresees
                        rests[i] = ((calm > 0) & (term.best(y, b, m - calm, q) == b)
                                    & (term.best(y, b, m + calm, q) == b))
            if AnyTerm is Penalty:
                if new != b:
                    path += fabs(new - b) * sqrt(q)
                quiet[i] = path + term.slack(y, new, m) / sqrt(q)
            if new != alpha[i]:
                if record != NULL:
                    hold(&state.alpha_record[i], alpha[i], recorded + t + 1)
                if AnyMap is not LossMap:
                    if bias != NULL:
                        if record != NULL:
                            hold(state.bias_record, bias[0], recorded + t + 1)
                        bias[0] += (new - alpha[i]) * bias_scale * lifted
                alpha[i] = new
                changed += entries
            if AnyMap is LossMap:
                if bias != NULL:
                    unlifted += entries
                    if unlifted > LIFT * state.v.shape[0]:
                        path += map.lift(v, bias)
                        unlifted = 0
    state.path, state.unlifted, state.calm = path, unlifted, calm
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
    if broken >= 0:
        state.broken = broken
    return 0
