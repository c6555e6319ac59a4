"""alpha for vector-valued losses, dense or compact; see duals.pxd."""

import numpy as np
from scipy import sparse

from libc.math cimport INFINITY, fabs
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

from .rows cimport BLOCK, Rows, prefetch_line
from .sums cimport Sum, add, result
from .wide cimport add_each_x


cdef class Duals:
    """alpha = 0 for n examples.

    Parameters
    ----------
    target : (n,) array of intp
        y, each below the number of classes of its example.
    k : int
        The number of classes; 0 where offsets say it.
    offsets : (n + 1,) array of intp or None
    """

    def __init__(self, target, Py_ssize_t k, offsets=None):
        self.n, self.k = len(target), k
        self.target, self.offsets = target, offsets
        self.target_view = target
        if offsets is not None:
            self.offsets_view = offsets
        self.widest = k if k else int(np.diff(offsets).max())

    cdef void prefetch(self, Py_ssize_t i) noexcept nogil:
        pass

    cdef void read(self, Py_ssize_t i, double* mass) noexcept nogil:
        pass

    cdef bint write(self, Py_ssize_t i, const double* mass) noexcept nogil:
        return False

    cdef bint copy(self, Py_ssize_t i, Duals other, Py_ssize_t at) noexcept nogil:
        return False

    cdef bint corner(self, Py_ssize_t i, Py_ssize_t j, double mass) noexcept nogil:
        return False

    def state(self):
        """alpha to the last bit: how many entries rows have, where these stand, and what they are.

        `restore` takes it over.
        """
        cdef double[::1] row = np.zeros(self.widest)
        cdef Py_ssize_t i, j, k = 0
        counts = np.zeros(self.n, np.int64)
        cdef int64_t[::1] count = counts
        for i in range(self.n):
            self.read(i, &row[0])
            for j in range(self.size(i)):
                count[i] += row[j] != 0
        classes, masses = np.empty(int(counts.sum()), np.int64), np.empty(int(counts.sum()))
        cdef int64_t[::1] place = classes
        cdef double[::1] mass = masses
        for i in range(self.n):
            self.read(i, &row[0])
            for j in range(self.size(i)):
                if row[j] != 0:
                    place[k], mass[k] = j, row[j]
                    k += 1
        return {"counts": counts, "classes": classes, "masses": masses}

    def restore(self, state):
        """Take over the alpha of a state."""
        cdef double[::1] row = np.zeros(self.widest)
        cdef const int64_t[::1] count = state["counts"], place = state["classes"]
        cdef const double[::1] mass = state["masses"]
        cdef Py_ssize_t i, e, k = 0
        if count.shape[0] != self.n or place.shape[0] != mass.shape[0]:
            raise ValueError("the state is one of another problem")
        for i in range(self.n):
            row[:] = 0
            if count[i] < 0 or count[i] > mass.shape[0] - k:
                raise ValueError("the state is one of another problem")
            for e in range(k, k + count[i]):
                if not 0 <= place[e] < self.size(i):
                    raise ValueError("the state is one of another problem")
                row[place[e]] = mass[e]
            k += count[i]
            if not self.write(i, &row[0]):
                raise MemoryError

    def like(self):
        """alpha = 0, for the same examples."""
        return type(self)(self.target, self.k, self.offsets)

    def tidy(self):
        """Prepare for passes over all rows in order."""

    def assign(self, Duals other):
        """Take the values of another alpha of the same examples."""
        cdef Py_ssize_t i
        cdef bint kept = True
        with nogil:
            for i in range(self.n):
                kept = kept and self.copy(i, other, i)
        if not kept:
            raise MemoryError

    def take(self, which):
        """alpha of some of the examples, all of k classes, as an alpha of its own."""
        cdef const Py_ssize_t[::1] places = which
        cdef Duals few = type(self)(np.ascontiguousarray(self.target[which]), self.k)
        cdef Py_ssize_t i
        cdef bint kept = True
        for i in range(few.n):
            kept = kept and few.copy(i, self, places[i])
        if not kept:
            raise MemoryError
        return few

    def put(self, const Py_ssize_t[::1] which, Duals few):
        """The other way round: alpha of these examples becomes that of the few."""
        cdef Py_ssize_t i
        cdef bint kept = True
        for i in range(few.n):
            kept = kept and self.copy(which[i], few, i)
        if not kept:
            raise MemoryError

    def load(self, Rows alpha, weight):
        """Take the rows of an (m, k) alpha from outside, m <= n.

        Returns the first (i, j, value, reason) that is not as it should be, or None.
        """
        cdef double[::1] row = np.zeros(self.widest)
        cdef Py_ssize_t columns[BLOCK]
        cdef double values[BLOCK]
        cdef Py_ssize_t i, e, entry, count
        for i in range(alpha.n):
            row[:] = 0
            entry = 0
            while True:
                count = alpha.read(i, entry, columns, values)
                for e in range(count):
                    row[columns[e]] += values[e]
                entry += count
                if count < BLOCK:
                    break
            if bad := self._take(i, row, weight):
                return bad
        return None

    def load_flat(self, const double[::1] alpha, weight):
        """As `load`, for the examples whose rows, stacked, alpha has."""
        cdef double[::1] row = np.zeros(self.widest)
        cdef Py_ssize_t i = 0
        while i < self.n and self.first(i) + self.size(i) <= alpha.shape[0]:
            memcpy(&row[0], &alpha[self.first(i)], self.size(i) * sizeof(double))
            if bad := self._take(i, row, weight):
                return bad
            i += 1
        return None

    def _take(self, Py_ssize_t i, double[::1] row, weight):
        """Keep a row of alpha, or say why not."""
        cdef Py_ssize_t j, y = self.target_view[i]
        cdef Sum mass = Sum(0, 0, 0, 0)
        cdef double at_y = row[y], s = 1 if weight is None else weight[i], total
        for j in range(self.size(i)):
            if j == y:
                continue
            if row[j] > 0:
                return i, j, row[j], "a number <= 0 is needed for a class other than the target"
            row[j] = 0 - row[j]
            add(&mass, row[j])
        total = result(&mass) if mass.total < INFINITY else INFINITY
        if not fabs(at_y - total) <= 1e-12 * (fabs(at_y) + total + s):
            return i, y, at_y, f"{total!r} is needed, so that the row sums to 0"
        if not total <= s * (1 + 1e-12):
            return i, y, at_y, f"at most {s!r} is needed, to be in the domain of phi*"
        if not self.write(i, &row[0]):
            raise MemoryError
        return None

    def export(self, bint compressed):
        """alpha as an array: (n, k), CSR where `compressed`; with offsets, stacked."""
        cdef double[::1] row = np.zeros(self.widest)
        cdef Py_ssize_t i, j, y, count, first, used = 0
        cdef double others
        cdef double found[4]
        cdef double[::1] values
        cdef int32_t[::1] indices
        cdef Py_ssize_t[::1] indptr
        if compressed:
            begins = np.zeros(self.n + 1, np.intp)
            indptr = begins
            for i in range(self.n):
                self.read(i, &row[0])
                count = 0
                for j in range(self.size(i)):
                    count += row[j] != 0
                indptr[i + 1] = indptr[i] + (count + 1 if count else 0)
            used = indptr[self.n]
            data, columns = np.zeros(used), np.zeros(used, np.int32)
            values, indices = data, columns
            used = 0
        else:
            data = np.zeros(self.n * self.k if self.k else int(self.offsets[self.n]))
            values = data
        for i in range(self.n):
            self.read(i, &row[0])
            y, count, first = self.target_view[i], self.size(i), self.first(i)
            add_each_x(&row[0], count, found)
            others = found[0] + found[1]
            if compressed:
                for j in range(count):
                    if row[j] != 0 or (j == y and others != 0):
                        values[used] = others if j == y else -row[j]
                        indices[used] = j
                        used += 1
            else:
                for j in range(count):
                    values[first + j] = 0 - row[j]
                values[first + y] = others
        if compressed:
            if used < 2**31:
                begins = begins.astype(np.int32)
            return sparse.csr_array((data, columns, begins), shape=(self.n, self.k))
        return data.reshape(self.n, self.k) if self.k else data


cdef class DenseDuals(Duals):
    """Every number, one after the other."""

    def __init__(self, target, Py_ssize_t k, offsets=None):
        super().__init__(target, k, offsets)
        self.mass = np.zeros(self.n * k if k else int(offsets[len(offsets) - 1]))

    cdef void prefetch(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t first = self.first(i), j
        for j in range(0, self.size(i), 8):
            prefetch_line(&self.mass[first + j])

    cdef void read(self, Py_ssize_t i, double* mass) noexcept nogil:
        memcpy(mass, &self.mass[self.first(i)], self.size(i) * sizeof(double))

    cdef bint write(self, Py_ssize_t i, const double* mass) noexcept nogil:
        memcpy(&self.mass[self.first(i)], mass, self.size(i) * sizeof(double))
        self.mass[self.first(i) + self.target_view[i]] = 0
        return True

    cdef bint copy(self, Py_ssize_t i, Duals other, Py_ssize_t at) noexcept nogil:
        memcpy(&self.mass[self.first(i)], &(<DenseDuals>other).mass[other.first(at)],
               self.size(i) * sizeof(double))
        return True

    cdef bint corner(self, Py_ssize_t i, Py_ssize_t j, double mass) noexcept nogil:
        memset(&self.mass[self.first(i)], 0, self.size(i) * sizeof(double))
        if j != self.target_view[i]:
            self.mass[self.first(i) + j] = mass
        return True


cdef class CompactDuals(Duals):
    """Only what is not 0: a span of a growing pool for each row."""

    def __cinit__(self, target, *args, **kwargs):
        self.spans = <Span*>calloc(max(1, len(target)), sizeof(Span))
        if self.spans == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.spans)
        free(self.pool)

    @property
    def nbytes(self):
        """The memory that alpha takes."""
        return self.n * sizeof(Span) + self.capacity * sizeof(Entry)

    cdef void prefetch(self, Py_ssize_t i) noexcept nogil:
        prefetch_line(&self.spans[i])

    cdef void read(self, Py_ssize_t i, double* mass) noexcept nogil:
        cdef Entry* entry = self.pool + self.spans[i].first
        cdef Py_ssize_t e
        memset(mass, 0, self.size(i) * sizeof(double))
        for e in range(self.spans[i].count):
            mass[entry[e].j] = entry[e].mass

    cdef bint write(self, Py_ssize_t i, const double* mass) noexcept nogil:
        cdef Py_ssize_t j, y = self.target_view[i], k = self.size(i), count = 0
        cdef Entry* entry
        for j in range(k):
            count += mass[j] != 0
        count -= mass[y] != 0
        if count > self.spans[i].capacity and not self.make_room(i, count):
            return False
        entry = self.pool + self.spans[i].first
        self.spans[i].count = count
        count = 0
        for j in range(k):
            if mass[j] != 0 and j != y:
                entry[count].mass, entry[count].j = mass[j], j
                count += 1
        return True

    cdef bint copy(self, Py_ssize_t i, Duals other, Py_ssize_t at) noexcept nogil:
        cdef Span source = (<CompactDuals>other).spans[at]
        cdef Py_ssize_t count = source.count
        if count > self.spans[i].capacity and not self.make_room(i, count):
            return False
        self.spans[i].count = count
        if count:
            memcpy(self.pool + self.spans[i].first, (<CompactDuals>other).pool + source.first,
                   count * sizeof(Entry))
        return True

    cdef bint corner(self, Py_ssize_t i, Py_ssize_t j, double mass) noexcept nogil:
        cdef Py_ssize_t count = j != self.target_view[i]
        if count > self.spans[i].capacity and not self.make_room(i, count):
            return False
        self.spans[i].count = count
        if count:
            self.pool[self.spans[i].first].mass, self.pool[self.spans[i].first].j = mass, j
        return True

    cdef bint make_room(self, Py_ssize_t i, Py_ssize_t count) noexcept nogil:
        """A span of at least that many entries, at the end of the pool."""
        cdef Py_ssize_t wanted = count + count // 4 if count > 4 else count + 1, larger
        cdef void* moved
        self.wasted += self.spans[i].capacity
        self.spans[i].capacity = self.spans[i].count = 0
        if self.used + wanted > self.capacity and self.wasted > self.used // 4:
            self.compact()
        if self.used + wanted > self.capacity:
            larger = self.capacity + self.capacity // 4 + wanted + 1024
            moved = realloc(self.pool, larger * sizeof(Entry))
            if moved == NULL:
                return False
            self.pool, self.capacity = <Entry*>moved, larger
        self.spans[i].first, self.spans[i].capacity = self.used, wanted
        self.used += wanted
        return True

    def tidy(self):
        """Put the rows one after the other, as passes over them want them."""
        self.compact()

    cdef void compact(self) noexcept nogil:
        """Close the gaps that rows left behind when they moved; only with memory for a copy."""
        cdef Entry* pool = <Entry*>malloc(self.capacity * sizeof(Entry))
        cdef Py_ssize_t i, used = 0
        if pool == NULL:
            return
        for i in range(self.n):
            if self.spans[i].count:
                memcpy(pool + used, self.pool + self.spans[i].first,
                       self.spans[i].count * sizeof(Entry))
            self.spans[i].first = used
            used += self.spans[i].capacity
        free(self.pool)
        self.pool, self.used, self.wasted = pool, used, 0
