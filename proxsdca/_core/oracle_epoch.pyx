"""The loop of section 3.3: v moves along the planes that an oracle finds.

A visit of example i calls the oracle, for the label whose margin is the largest at w, and moves
beta_i towards it: all weights shrink by 1 - s, and that label's gains s.  With z the change of
alpha_i for s = 1, X_i z is a sparse direction, and

    n (D(s) - D(0)) >= s excess - s^2/2 |X_i z|^2 / (lambda n),                       (PC3)
    excess = P_i + D_i + lambda n w^T w_i >= 0,

D_i = phi_i*(-alpha_i) = -sum_j beta_ij delta(j, y_i) (ERRATA 1).  Option II maximises this bound
for the true |X_i z|^2, Option III for 4 R_i^2, Option IV for 4 R^2; for an l1l2 regulariser, whose
g* is not quadratic, Option II goes on from there as long as the true dual rises.

Labels that were found before are kept with their weights, and weight may move from one to another
without asking the oracle: `revisit`, and the end of every visit.
"""

import numpy as np

from libc.float cimport DBL_MIN, FLT_MAX
from libc.math cimport INFINITY, fabs, fmax, fmin, isfinite
from libc.stdlib cimport free, realloc

from .atoms cimport Atoms, Example, at
from .kinds cimport SeparableMap
from .loop cimport Loop
from .map cimport Map
from .oracle cimport Oracle, Plane, dot, size_of
from .regs cimport L1L2Map, L2Map, WeightedL1L2Map
from .rows cimport Record, hold
from .step cimport OPTION_II, OPTION_III


cdef enum:
    EXCHANGES = 10          # of weight between two labels, for each label, at the most
    LIFETIME = 10           # true calls that a label outlives without weight
    SEARCHES = 6            # evaluations of a line search
    LONGEST = 1000          # times the step that (PC3) allows, at the most


cdef extern from *:
    """
    #define PROXSDCA_ENOUGH 0.01
    """
    const double ENOUGH "PROXSDCA_ENOUGH"       # part of the largest difference that may stay


cdef class OracleEpoch(Loop):
    """The state that the loop changes, and what it notices on the way.

    Parameters
    ----------
    oracle : Oracle
    map : Map
        grad g*, one that is separable.
    curvature : (n,) array
        4 R_i^2 / (lambda n), for Option III.
    atoms : Atoms
        The labels found, with their weights.
    v : (d,) array
    gaps : (n,) array
        Overwritten: each example's excess, as the last visit found it.
    scale : float
        1 / (lambda n).
    q_R : float
        4 R^2 / (lambda n), for Option IV.
    option : int
    """

    def __init__(self, Oracle oracle, Map map, const double[::1] curvature, Atoms atoms,
                 double[::1] v, double[::1] gaps, *, double scale, double q_R, int option):
        self.oracle, self.atoms, self.curvature, self.gaps = oracle, atoms, curvature, gaps
        self.w = np.asarray(v) if isinstance(map, L2Map) else np.zeros(v.shape[0])
        self.w_view = self.w
        self.dense = np.zeros(oracle.d)
        self.direction.dense = &self.dense[0]
        self.work = np.empty(oracle.workspace + 1)
        self.indices = np.empty(oracle.longest + 1, np.intp)
        self.values = np.empty(oracle.longest + 1)
        self.label = np.zeros(oracle.widest, np.int32)
        self.wrong = -1
        Loop.__init__(self, map, v, scale, q_R, option, False)

    def __dealloc__(self):
        free(self.direction.indices)
        free(self.direction.values)
        free(self.bundle.planes)
        free(self.bundle.m)
        free(self.bundle.indices)
        free(self.bundle.values)

    def reset(self):
        """v was replaced: w follows."""
        cdef Py_ssize_t j
        if isinstance(self.map, L2Map):
            return
        for j in range(self.v.shape[0]):
            self.w_view[j] = self.map.at(j, self.v[j])

    @property
    def entries(self):
        """About how many entries of planes a pass over the atoms takes."""
        return (self.atoms.count + 1) * (self.oracle.longest + 100)

    def record(self):
        """From here on, sum the iterates w and alpha."""
        self.start_records(1)
        self.atoms.start_totals()

    def average(self, double[::1] w, Atoms alpha):
        """Write the means of the recorded w and alpha; there must be at least one."""
        self.average_w(w)
        alpha.average(self.atoms, self.recorded)

    def run(self, const Py_ssize_t[::1] order):
        """Call the oracle for the examples of the order, one after the other."""
        self._visit(order, True)

    def revisit(self, const Py_ssize_t[::1] order):
        """Move weight among the labels that are kept, for the examples of the order."""
        self._visit(order, False)

    def _visit(self, const Py_ssize_t[::1] order, bint call):
        cdef Map map = self.map
        self.oracle.look_at(self.w)
        if isinstance(map, L2Map):
            with_lock(self, <L2Map>map, order, call)
        elif isinstance(map, L1L2Map):
            with_lock(self, <L1L2Map>map, order, call)
        else:
            with_lock(self, <WeightedL1L2Map>map, order, call)


cdef int with_lock(OracleEpoch state, SeparableMap map, const Py_ssize_t[::1] order,
                   bint call) except -1:
    """Oracles that are written in Python need its lock, compiled ones leave it to others."""
    if state.oracle.python:
        sweep(state, map, order, call)
    else:
        with nogil:
            sweep(state, map, order, call)
    return 0


# ------------------------------------------------------------------ directions


cdef inline bint spread(Direction* to, const Plane* plane, double factor) noexcept nogil:
    """Add a multiple of a plane; False where memory ran out."""
    cdef Py_ssize_t e, j, capacity
    cdef void* moved
    if to.count + plane.count > to.capacity:
        capacity = to.count + plane.count + to.capacity // 2
        moved = realloc(to.indices, capacity * sizeof(Py_ssize_t))
        if moved == NULL:
            return False
        to.indices = <Py_ssize_t*>moved
        moved = realloc(to.values, capacity * sizeof(double))
        if moved == NULL:
            return False
        to.values = <double*>moved
        to.capacity = capacity
    for e in range(plane.count):
        j = plane.indices[e]
        if to.dense[j] == 0:        # where a sum came back to 0, j will stand twice
            to.indices[to.count] = j
            to.count += 1
        to.dense[j] += factor * plane.values[e]
    return True


cdef inline double collect(Direction* to) noexcept nogil:
    """Take the values out of `dense`; returns the sum of their squares."""
    cdef Py_ssize_t e
    cdef double x, total = 0
    for e in range(to.count):
        x = to.dense[to.indices[e]]
        to.dense[to.indices[e]] = 0
        to.values[e] = x
        total += x * x
    return total


cdef inline void shift(OracleEpoch state, SeparableMap map, double factor,
                       double now) noexcept nogil:
    """v += factor times the direction; `now` counts iterates as `recorded` does."""
    cdef Direction* along = &state.direction
    cdef double* v = &state.v[0]
    cdef double* w = &state.w_view[0]
    cdef Record* record = state.w_record
    cdef Py_ssize_t e, j
    for e in range(along.count):
        j = along.indices[e]
        if record != NULL:
            hold(&record[j], map.at(j, v[j]), now + (map.now - state.recorded))
        v[j] += factor * along.values[e]
        if SeparableMap is not L2Map:
            w[j] = map.at(j, v[j])


cdef inline double slope_at(OracleEpoch state, SeparableMap map, double rise, double s,
                            double* bend) noexcept nogil:
    """The derivative of n D along the direction, and minus the second one."""
    cdef Direction* along = &state.direction
    cdef double* v = &state.v[0]
    cdef double w, total = 0, curved = 0
    cdef Py_ssize_t e, j
    for e in range(along.count):
        j = along.indices[e]
        w = map.at(j, v[j] + s * state.scale * along.values[e])
        total += w * along.values[e]
        curved += along.values[e] * along.values[e] if w != 0 else 0.0
    bend[0] = curved * state.scale
    return rise - total


cdef inline double search(OracleEpoch state, SeparableMap map, double slope, double q, double rise,
                          double most) noexcept nogil:
    """The s in [0, most] of Option II.

    Where the map is not linear, D is concave but bends less than q says: as far as its derivative
    is seen to be positive, it rises.
    """
    cdef double s = most if slope >= q * most else slope / q
    cdef double t = s, enough = 0.01 * slope, high = -1, slope_high = 0, bend, found
    if SeparableMap is not L2Map:
        for _ in range(SEARCHES):
            found = slope_at(state, map, rise, t, &bend)
            if found >= 0 or t <= s:
                s, slope = t, found
                if s >= most or not slope > enough:
                    break
            else:
                high, slope_high = t, found
            if high >= 0:
                t = s + (high - s) * slope / (slope - slope_high)
            else:
                t = fmin(most, s + slope / bend) if bend * (most - s) > slope else most
            if not s < t:
                break
    return s


# ------------------------------------------------------------------- one visit


cdef inline int no_memory() except -1 nogil:
    with gil:
        raise MemoryError


cdef int read_planes(OracleEpoch state, Py_ssize_t i) except -1 nogil:
    """The planes of all atoms, into memory of the visit, and their margins into m."""
    cdef Example* example = &state.atoms.examples[i]
    cdef Bundle* bundle = &state.bundle
    cdef Py_ssize_t a, used = 0
    cdef void* moved
    if bundle.capacity < example.count + 1:
        moved = realloc(bundle.planes, 2 * (example.count + 1) * sizeof(Plane))
        if moved == NULL:
            no_memory()
        bundle.planes = <Plane*>moved
        moved = realloc(bundle.m, 8 * (example.count + 1) * sizeof(double))
        if moved == NULL:
            no_memory()
        bundle.m = <double*>moved
        bundle.capacity = 2 * (example.count + 1)
        bundle.beta, bundle.old = bundle.m + bundle.capacity, bundle.m + 2 * bundle.capacity
        bundle.change = bundle.m + 3 * bundle.capacity
    if bundle.room < (example.count + 1) * (state.oracle.longest + 1):
        bundle.room = 2 * (example.count + 1) * (state.oracle.longest + 1)
        moved = realloc(bundle.indices, bundle.room * sizeof(Py_ssize_t))
        if moved == NULL:
            no_memory()
        bundle.indices = <Py_ssize_t*>moved
        moved = realloc(bundle.values, bundle.room * sizeof(double))
        if moved == NULL:
            no_memory()
        bundle.values = <double*>moved
    bundle.planes[0] = Plane(0, NULL, NULL, 0)
    bundle.m[0] = 0
    for a in range(1, example.count):
        state.oracle.plane(i, state.atoms.label(i, a), bundle.indices + used,
                           bundle.values + used, &bundle.planes[a])
        used += bundle.planes[a].count
        bundle.m[a] = bundle.planes[a].delta - dot(&bundle.planes[a], &state.w_view[0])
    bundle.used = used
    return 0


cdef int know_products(OracleEpoch state, Py_ssize_t i) except -1 nogil:
    """The Gram matrix of all atoms, whose planes are there."""
    cdef Example* example = &state.atoms.examples[i]
    cdef Bundle* bundle = &state.bundle
    cdef double* dense = &state.dense[0]
    cdef Py_ssize_t a, b, e
    cdef double norm_sq
    cdef Plane* plane
    if not state.atoms.gram_room(i):
        no_memory()
    while example.known < example.count:
        a = example.known
        plane = &bundle.planes[a]
        for e in range(plane.count):
            dense[plane.indices[e]] += plane.values[e]
        norm_sq = dot(plane, dense)
        if not isfinite(state.scale * norm_sq):
            state.broken = i
        if example.unit == 0:
            example.unit = norm_sq
        for b in range(a + 1):
            # single precision is enough: no step relies on it
            example.gram[at(a, b)] = <float>fmax(fmin(
                dot(&bundle.planes[b], dense) / fmax(example.unit, DBL_MIN), FLT_MAX), -FLT_MAX)
        for e in range(plane.count):
            dense[plane.indices[e]] = 0
        example.known += 1
    return 0


cdef inline double apart(const Example* example, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    """|xi_a - xi_b|^2, in units."""
    cdef const float* gram = example.gram
    return fmax((<double>gram[at(a, a)] - gram[at(a, b)]) + (<double>gram[at(b, b)]
                                                             - gram[at(a, b)]), 0)


cdef void balance(OracleEpoch state, const Example* example) noexcept nogil:
    """Maximise the bound (PC3) over the weights of the atoms: weight goes from where it is worth
    less to where it is worth most, as far as that raises the bound, until it is worth the same."""
    cdef Py_ssize_t a, high, low, count = example.count
    cdef const float* gram = example.gram
    cdef double scale = state.scale * example.unit
    cdef double* m = state.bundle.m
    cdef double* beta = state.bundle.beta
    cdef double s, gap, bend, gain, most, enough = -1
    for _ in range(EXCHANGES * count):
        high = 0
        for a in range(1, count):
            if m[a] > m[high]:
                high = a
        low, most, gap = -1, 0, 0
        for a in range(count):
            if beta[a] > 0 and m[a] < m[high]:
                bend = scale * apart(example, a, high)
                s = m[high] - m[a]
                gap = fmax(gap, s)
                # the gain of the step, but for a factor
                gain = s * s / bend if s < bend * beta[a] else beta[a] * (2 * s - bend * beta[a])
                if gain > most:
                    low, most = a, gain
        if enough < 0:
            enough = ENOUGH * gap
        if low < 0 or not gap > enough:
            break
        bend = scale * apart(example, low, high)
        s = m[high] - m[low]
        s = s / bend if s < bend * beta[low] else beta[low]
        beta[high] += s
        beta[low] = beta[low] - s if s < beta[low] else 0.0
        state.bundle.change[high] += s
        state.bundle.change[low] -= s
        for a in range(count):
            m[a] -= s * scale * (<double>gram[at(a, high)] - gram[at(a, low)])


cdef double settle(OracleEpoch state, SeparableMap map, Py_ssize_t i, double now) except? -1 nogil:
    """Bring the weights of the atoms, whose planes and margins are there, into balance; returns by
    how much the largest margin was above the mean."""
    cdef Example* example = &state.atoms.examples[i]
    cdef Bundle* bundle = &state.bundle
    cdef Py_ssize_t a, high = 0
    cdef double excess = 0, slope = 0, rise = 0, s = 1, most = INFINITY, q, others = 0
    for a in range(example.count):
        bundle.beta[a] = example.atoms[a].beta
        bundle.change[a] = 0
        bundle.old[a] = bundle.m[a]
        excess -= bundle.beta[a] * bundle.m[a]
        if bundle.m[a] > bundle.m[high]:
            high = a
    example.atoms[high].idle = 0
    excess += bundle.m[high]
    if not excess > 0:
        return 0
    know_products(state, i)
    if state.broken >= 0:
        return excess
    balance(state, example)
    state.direction.count = 0
    for a in range(example.count):
        # v moves by what weights can; that of y_i, whose plane is 0, is the rest, to any precision
        if a or bundle.beta[a] == 0:
            bundle.change[a] = bundle.beta[a] - example.atoms[a].beta
        q = bundle.change[a]
        if q != 0:
            slope += q * bundle.old[a]
            rise += q * bundle.planes[a].delta
            if not spread(&state.direction, &bundle.planes[a], q):
                no_memory()
            if q < 0:
                most = fmin(most, example.atoms[a].beta / -q)
    q = collect(&state.direction) * state.scale
    if not isfinite(q):
        state.broken = i
        return excess
    if most == INFINITY:        # nothing moved
        return excess
    # the true length decides how far to go; a step that is all roundings must not be blown up
    s = search(state, map, slope, q, rise, fmin(most, LONGEST))
    if fabs(s - 1) < 1e-6:
        s = 1
    if s > 0:
        if state.w_record != NULL:
            state.atoms.hold(i, now)
        shift(state, map, s * state.scale, now)
        for a in range(example.count):
            if s != 1:
                bundle.beta[a] = fmax(example.atoms[a].beta + s * bundle.change[a], 0)
                if bundle.beta[a] < 1e-12 * example.atoms[a].beta:
                    bundle.beta[a] = 0
            example.atoms[a].beta = bundle.beta[a]
            others += bundle.beta[a]
            if bundle.beta[a] > bundle.beta[high]:
                high = a
        # all roundings end in the largest weight, so that they never add up
        others -= bundle.beta[high]
        example.atoms[high].beta = 1 - others
        state.changed += 1
    return excess


cdef int forget(OracleEpoch state, Py_ssize_t i) noexcept nogil:
    """Drop the atoms that have been of no use for long."""
    cdef Example* example = &state.atoms.examples[i]
    cdef Py_ssize_t a = 1
    while a < example.count:
        if example.atoms[a].beta == 0:
            example.atoms[a].idle += 1
        else:
            example.atoms[a].idle = 0
        if example.atoms[a].idle > LIFETIME and state.w_record == NULL:
            state.atoms.remove(i, a)
        else:
            a += 1
    return 0


cdef int blame(OracleEpoch state, Py_ssize_t i, double margin, double size,
               Py_ssize_t high) noexcept nogil:
    """Remember an answer whose margin is below that of an atom by more than roundings."""
    size += size_of(&state.bundle.planes[high], &state.w_view[0])
    if state.oracle.exact and state.oracle.python and margin < state.bundle.m[high] - 1e-9 * size:
        state.wrong, state.wrong_margin, state.larger_margin = i, margin, state.bundle.m[high]
    return 0


cdef inline double notice(OracleEpoch state, Py_ssize_t i, double margin, double mean,
                          double delta) noexcept nogil:
    """The excess of an example with these numbers, P_i being its margin."""
    cdef double excess = margin - mean
    state.gaps[i] = fmax(excess, 0)
    state.excess += excess
    state.loss += margin
    state.inner += delta - mean
    state.sampled += 1
    return excess


cdef int visit_cached(OracleEpoch state, Atoms atoms, SeparableMap map, Py_ssize_t i,
                      double now) except -1 nogil:
    """Call the oracle, add its answer to the atoms, and bring their weights into balance."""
    cdef Example* example = &atoms.examples[i]
    cdef Bundle* bundle = &state.bundle
    cdef double mean = 0, delta = 0, value
    cdef Py_ssize_t a, high = 0, place
    cdef Plane* plane
    read_planes(state, i)
    for a in range(example.count):
        mean += example.atoms[a].beta * bundle.m[a]
        delta += example.atoms[a].beta * bundle.planes[a].delta
        if bundle.m[a] > bundle.m[high]:
            high = a
    plane = &bundle.planes[example.count]
    state.oracle.argmax(i, &state.w_view[0], True, &state.work[0], &state.label[0], &value)
    state.oracle.plane(i, &state.label[0], bundle.indices + bundle.used,
                       bundle.values + bundle.used, plane)
    value = plane.delta - dot(plane, &state.w_view[0])
    if not isfinite(value):
        state.broken = i
        state.oracle.drop(&state.label[0])
        return 0
    if value < bundle.m[high]:
        blame(state, i, value, size_of(plane, &state.w_view[0]), high)
    notice(state, i, value, mean, delta)
    if plane.count or plane.delta != 0:
        place = atoms.find(i, &state.label[0])
        if place < 0:
            place = atoms.append(i, &state.label[0])
            if place < 0:
                no_memory()
            state.oracle.keep(&state.label[0])
            bundle.m[place] = value
    state.oracle.drop(&state.label[0])
    settle(state, map, i, now)
    forget(state, i)
    return 0


cdef int visit(OracleEpoch state, Atoms atoms, SeparableMap map, Py_ssize_t i,
               double now) except -1 nogil:
    """Call the oracle, and step towards its answer: the paper's procedure."""
    cdef Example* example = &atoms.examples[i]
    cdef Plane plane, own = atoms.mean(i)
    cdef double excess, s, q, value, mean = own.delta - dot(&own, &state.w_view[0])
    cdef Py_ssize_t a, place
    state.oracle.argmax(i, &state.w_view[0], True, &state.work[0], &state.label[0], &value)
    state.oracle.plane(i, &state.label[0], &state.indices[0], &state.values[0], &plane)
    value = plane.delta - dot(&plane, &state.w_view[0])
    if not isfinite(value):
        state.broken = i
        state.oracle.drop(&state.label[0])
        return 0
    if (value < 0 and state.oracle.exact and state.oracle.python
            and value < -1e-9 * size_of(&plane, &state.w_view[0])):
        state.wrong, state.wrong_margin, state.larger_margin = i, value, 0
    excess = notice(state, i, value, mean, own.delta)
    if excess > 0:
        state.direction.count = 0
        if not spread(&state.direction, &plane, 1) or not spread(&state.direction, &own, -1):
            no_memory()
        q = collect(&state.direction) * state.scale
        if not isfinite(q):
            state.broken = i
            state.oracle.drop(&state.label[0])
            return 0
        if state.option == OPTION_II:
            s = search(state, map, excess, q, plane.delta - own.delta, 1)
        else:
            q = state.curvature[i] if state.option == OPTION_III else state.q_R
            s = 1.0 if excess >= q else excess / q
        if state.w_record != NULL:
            atoms.hold(i, now)
        shift(state, map, s * state.scale, now)
        state.changed += 1
        if not atoms.mix(i, 1 - s, &plane, s, &state.dense[0]):
            no_memory()
        if atoms.labelled:
            for a in range(example.count):
                example.atoms[a].beta *= 1 - s
            place = 0
            if plane.count or plane.delta != 0:
                place = atoms.find(i, &state.label[0])
            if place < 0:
                state.oracle.lighten(&state.label[0])
                place = atoms.append(i, &state.label[0])
                if place < 0:
                    no_memory()
                state.oracle.keep(&state.label[0])
            example.atoms[place].beta += s
    state.oracle.drop(&state.label[0])
    return 0


cdef int sweep(OracleEpoch state, SeparableMap map, const Py_ssize_t[::1] order,
               bint call) except -1 nogil:
    cdef Py_ssize_t t, i, count = order.shape[0]
    cdef double now = state.recorded
    for t in range(count):
        i = order[t]
        if not call:
            if state.atoms.examples[i].count > 1:
                read_planes(state, i)
                state.cached += settle(state, map, i, now)
            continue
        state.visits += 1
        state.visited += 1
        if state.w_record != NULL:
            now += 1
        if state.atoms.summed:
            visit(state, state.atoms, map, i, now)
        else:
            visit_cached(state, state.atoms, map, i, now)
        if state.broken >= 0 or state.wrong >= 0:
            break
        if state.w_record != NULL:
            state.recorded += 1
            map.now += 1
    return 0
