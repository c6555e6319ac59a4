"""The one loop: visit coordinates in a given order, step, keep v up to date.

For each coordinate i it needs a term (term.pxd), for each entry of v a map
(map.pxd), and a storage to read x_i from (rows.pxd).  The kernel is written
once and specialised for the listed types; a term or map that is not listed
runs through the same source by virtual calls.
"""

from libc.float cimport DBL_MIN
from libc.math cimport isfinite
from libc.stdlib cimport calloc, free

from .losses cimport (
    AnyTerm, Hinge, Logistic, SmoothHinge, Squared, SquaredHinge, term_argument,
)
from .map cimport Map
from .regs cimport AnyMap, L1L2Map, L2Map, WeightedL1L2Map
from .rows cimport (
    AnyRows, CSR32i32, CSR32i64, CSR64i32, CSR64i64, Dense32, Dense64, Record, Rows, Strided32,
    Strided64, axpy, dot, hold, prefetch_line, prefetch_row,
    prefetch_start, span,
)
from .step cimport excess, step
from .term cimport Term


cdef enum:
    AHEAD = 8       # rows; far enough for memory to answer before the row is due


cdef class Epoch:
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
    """

    cdef Rows rows
    cdef Term term
    cdef Map map
    cdef const double[::1] target, weight, curvature
    cdef readonly double[::1] alpha, v
    cdef double scale
    cdef readonly double q_R
    cdef int option
    cdef bint virtual

    # Sums over a sample of the visits since `forget`, each at the state it found:
    cdef readonly Py_ssize_t sampled
    cdef readonly double excess     # s_i (phi + phi* + m b); its mean estimates P - D
    cdef readonly double loss       # s_i phi; its mean estimates the mean loss
    cdef readonly double inner      # alpha_i x_i^T w; its mean estimates lambda v^T w
    cdef readonly Py_ssize_t visited, changed   # nonzeros of the rows visited, and changed
    cdef readonly Py_ssize_t broken             # the first row whose margin is not finite, or -1

    # Sums of w and alpha over the iterates since `record`, for the averaged output
    cdef Record* w_record
    cdef Record* alpha_record
    cdef readonly Py_ssize_t recorded

    def __init__(self, Rows rows, Term term, Map map, const double[::1] target, weight,
                 const double[::1] curvature, double[::1] alpha, double[::1] v, *,
                 double scale, double q_R, int option, bint virtual=False):
        self.rows, self.term, self.map = rows, term, map
        self.target, self.weight, self.curvature = target, weight, curvature
        self.alpha, self.v = alpha, v
        self.scale, self.q_R, self.option, self.virtual = scale, q_R, option, virtual
        self.broken = -1
        self.forget()
        self.reset()

    def __dealloc__(self):
        free(self.w_record)
        free(self.alpha_record)

    def record(self):
        """From here on, sum the iterates w and alpha."""
        self.w_record = <Record*>calloc(self.v.shape[0], sizeof(Record))
        self.alpha_record = <Record*>calloc(self.alpha.shape[0], sizeof(Record))
        if self.w_record == NULL or self.alpha_record == NULL:
            raise MemoryError

    def average(self, double[::1] w, double[::1] alpha):
        """Write the means of the recorded w and alpha; there must be at least one."""
        cdef Py_ssize_t i, j
        for j in range(w.shape[0]):
            hold(&self.w_record[j], self.map.at(j, self.v[j]), self.recorded)
            w[j] = self.w_record[j].total / self.recorded
        for i in range(alpha.shape[0]):
            hold(&self.alpha_record[i], self.alpha[i], self.recorded)
            alpha[i] = self.alpha_record[i].total / self.recorded

    def forget(self):
        """Start the sums anew."""
        self.excess = self.loss = self.inner = 0
        self.sampled = self.visited = self.changed = 0

    def reset(self):
        """Tell the map that v was replaced."""
        self.map.reset(&self.v[0], self.v.shape[0])

    def run(self, const Py_ssize_t[::1] order):
        """Visit the rows of the order, one after the other."""
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


cdef int with_map(Epoch state, AnyRows rows, const Py_ssize_t[::1] order) except -1:
    cdef Map map = state.map
    if state.virtual:
        with_term(state, rows, map, order)
    elif isinstance(map, L2Map):
        with_term(state, rows, <L2Map>map, order)
    elif isinstance(map, L1L2Map):
        with_term(state, rows, <L1L2Map>map, order)
    elif isinstance(map, WeightedL1L2Map):
        with_term(state, rows, <WeightedL1L2Map>map, order)
    else:
        with_term(state, rows, map, order)
    return 0


cdef int with_term(Epoch state, AnyRows rows, AnyMap map,
                   const Py_ssize_t[::1] order) except -1:
    cdef Term term = state.term
    if state.virtual:
        sweep(state, rows, map, term, order)
    elif isinstance(term, Hinge):
        sweep(state, rows, map, <Hinge>term, order)
    elif isinstance(term, SmoothHinge):
        sweep(state, rows, map, <SmoothHinge>term, order)
    elif isinstance(term, SquaredHinge):
        sweep(state, rows, map, <SquaredHinge>term, order)
    elif isinstance(term, Logistic):
        sweep(state, rows, map, <Logistic>term, order)
    elif isinstance(term, Squared):
        sweep(state, rows, map, <Squared>term, order)
    else:
        sweep(state, rows, map, term, order)
    return 0


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
    cdef double total_excess = 0, total_loss = 0, total_inner = 0
    cdef Py_ssize_t sampled = 0, visited = 0, changed = 0, broken = -1
    cdef Py_ssize_t count = visits.shape[0], t, i, first, entries, now
    cdef Record* record = state.w_record
    cdef Py_ssize_t recorded = state.recorded
    # phi and phi* may cost more than the step: in long runs every fourth visit is enough
    cdef Py_ssize_t mask = 3 if count >= 4096 else 0
    cdef double s = 1, y, b, m, q, new
    with nogil:
        for t in range(count):
            if t + 2 * AHEAD < count:
                i = order[t + 2 * AHEAD]
                prefetch_line(&alpha[i])
                prefetch_line(&target[i])
                prefetch_line(&curvature[i])
                prefetch_start(rows, i)
            if t + AHEAD < count:
                prefetch_row(rows, order[t + AHEAD])
            i = order[t]
            y = target[i]
            b = alpha[i]
            q = curvature[i]
            if weight != NULL:
                s = weight[i]
                if s == 0:
                    continue
                b = term_argument(term, y, b, s)
                q *= s
            q = q if q > DBL_MIN else DBL_MIN   # a row of zeros: no 0 / 0 in any step
            m = dot(rows, i, map, v)
            if not isfinite(m):
                broken = i
                break
            entries = span(rows, i, &first)
            visited += entries
            if t & mask == 0:
                sampled += 1
                total_excess += s * excess(term, y, b, m)
                total_loss += s * term.phi(y, m)
                total_inner += s * b * m
            new = s * step(term, option, y, b, m, q, q_R * s)
            if new != alpha[i]:
                now = recorded + t + 1
                if record != NULL:
                    hold(&state.alpha_record[i], alpha[i], now)
                axpy(rows, i, scale * (new - alpha[i]), map, v, record, now)
                alpha[i] = new
                changed += entries
    state.excess += total_excess
    state.loss += total_loss
    state.inner += total_inner
    state.sampled += sampled
    state.visited += visited
    state.changed += changed
    if record != NULL:
        state.recorded += count
    if broken >= 0:
        state.broken = broken
    return 0
