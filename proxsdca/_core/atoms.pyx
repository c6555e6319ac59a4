"""The dual point of a structured problem; see atoms.pxd."""

import numpy as np

cimport cython
from libc.stdint cimport int32_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy, memmove

from .oracle cimport Oracle, Plane


@cython.no_gc_clear         # labels are dropped with the help of the oracle, at the very end
cdef class Atoms:
    """Convex weights of labels, for every example; at first all of it on y_i.

    Parameters
    ----------
    oracle : Oracle
    labelled : bool
        Whether to keep labels with their weights.
    summed : bool
        Whether to keep the mean of their planes.
    """

    def __init__(self, Oracle oracle, bint labelled, bint summed):
        cdef Py_ssize_t i
        self.n, self.oracle, self.labelled, self.summed = oracle.n, oracle, labelled, summed
        self.examples = <Example*>calloc(self.n, sizeof(Example))
        self.means = <Mean*>calloc(self.n if summed else 1, sizeof(Mean))
        if self.examples == NULL or self.means == NULL:
            raise MemoryError
        for i in range(self.n):
            if not self.grow(i, 1):
                raise MemoryError
            self.examples[i].count = 1
            self.examples[i].atoms[0] = Atom(1, 0, 0)

    def __dealloc__(self):
        cdef Py_ssize_t i
        if self.examples != NULL:
            for i in range(self.n):
                self.clear(i)
                free(self.examples[i].atoms)
                free(self.examples[i].labels)
                free(self.examples[i].gram)
        if self.means != NULL and self.summed:
            for i in range(self.n):
                free(self.means[i].indices)
                free(self.means[i].values)
                free(self.means[i].totals)
        free(self.examples)
        free(self.means)

    cdef void clear(self, Py_ssize_t i) noexcept nogil:
        """Forget all atoms but y_i."""
        cdef Py_ssize_t a
        for a in range(1, self.examples[i].count):
            self.oracle.drop(self.label(i, a))
        self.examples[i].count = min(self.examples[i].count, 1)
        self.examples[i].known = 0
        self.examples[i].unit = 0

    cdef bint grow(self, Py_ssize_t i, Py_ssize_t capacity) noexcept nogil:
        cdef Example* example = &self.examples[i]
        cdef void* moved
        if capacity <= example.capacity:
            return True
        if example.capacity:
            capacity = max(capacity, example.capacity + example.capacity // 4 + 2)
        moved = realloc(example.atoms, capacity * sizeof(Atom))
        if moved == NULL:
            return False
        example.atoms = <Atom*>moved
        moved = realloc(example.labels, capacity * self.oracle.size(i) * sizeof(int32_t))
        if moved == NULL:
            return False
        example.labels = <int32_t*>moved
        example.capacity = capacity
        return True

    cdef Py_ssize_t find(self, Py_ssize_t i, const int32_t* label) noexcept nogil:
        cdef Py_ssize_t a
        for a in range(1, self.examples[i].count):
            if self.oracle.same(i, label, self.label(i, a)):
                return a
        return -1

    cdef Py_ssize_t append(self, Py_ssize_t i, const int32_t* label) noexcept nogil:
        cdef Example* example = &self.examples[i]
        cdef Py_ssize_t a = example.count
        if not self.grow(i, a + 1):
            return -1
        memcpy(self.label(i, a), label, self.oracle.size(i) * sizeof(int32_t))
        example.atoms[a] = Atom(0, 0, 0)
        example.count += 1
        return a

    cdef void remove(self, Py_ssize_t i, Py_ssize_t a) noexcept nogil:
        cdef Example* example = &self.examples[i]
        cdef Py_ssize_t after = example.count - a - 1, b
        self.oracle.drop(self.label(i, a))
        memmove(&example.atoms[a], &example.atoms[a + 1], after * sizeof(Atom))
        memmove(self.label(i, a), self.label(i, a + 1),
                after * self.oracle.size(i) * sizeof(int32_t))
        example.count -= 1
        if a < example.known:       # rows after a lose a column, and move up
            for b in range(a + 1, example.known):
                memmove(example.gram + at(b - 1, 0), example.gram + at(b, 0), a * sizeof(float))
                memmove(example.gram + at(b - 1, a), example.gram + at(b, a + 1),
                        (b - a) * sizeof(float))
            example.known -= 1

    cdef bint gram_room(self, Py_ssize_t i) noexcept nogil:
        cdef Example* example = &self.examples[i]
        cdef void* moved
        if example.count <= example.side:
            return True
        moved = realloc(example.gram, at(example.capacity, 0) * sizeof(float))
        if moved == NULL:
            return False
        example.gram = <float*>moved
        example.side = example.capacity
        return True

    cdef void hold(self, Py_ssize_t i, double now) noexcept nogil:
        cdef Example* example = &self.examples[i]
        cdef double stood = now - example.since
        cdef Py_ssize_t a, e
        example.since = now
        for a in range(example.count):
            example.atoms[a].total += stood * example.atoms[a].beta
        if self.summed and self.means[i].totals != NULL:
            for e in range(self.means[i].count):
                self.means[i].totals[e] += stood * self.means[i].values[e]
        if self.summed:
            self.means[i].total_delta += stood * self.means[i].delta

    cdef bint resize_mean(self, Py_ssize_t i, Py_ssize_t count, bint totals) noexcept nogil:
        cdef Mean* mean = &self.means[i]
        cdef Py_ssize_t e
        cdef void* moved
        if count > mean.capacity:
            moved = realloc(mean.indices, count * sizeof(Py_ssize_t))
            if moved == NULL:
                return False
            mean.indices = <Py_ssize_t*>moved
            moved = realloc(mean.values, count * sizeof(double))
            if moved == NULL:
                return False
            mean.values = <double*>moved
        if totals:
            moved = realloc(mean.totals, max(count, mean.capacity, 1) * sizeof(double))
            if moved == NULL:
                return False
            mean.totals = <double*>moved
            for e in range(mean.count, count):
                mean.totals[e] = 0
        mean.capacity = max(mean.capacity, count)
        return True

    cdef bint mix(self, Py_ssize_t i, double kept, const Plane* plane, double s,
                  double* dense) noexcept nogil:
        cdef Mean* mean = &self.means[i]
        cdef Py_ssize_t e, j, old = mean.count, fresh = old
        cdef bint room = True
        for e in range(old):                # a 1 marks what is in the mean already
            dense[mean.indices[e]] = 1
        for e in range(plane.count):
            fresh += dense[plane.indices[e]] == 0
            dense[plane.indices[e]] = 1
        for e in range(plane.count):
            dense[plane.indices[e]] = 0
        room = self.resize_mean(i, fresh, mean.totals != NULL)
        for e in range(old):
            dense[mean.indices[e]] = 1 if room else 0
        if not room:
            return False
        for e in range(plane.count):
            j = plane.indices[e]
            if dense[j] == 0:
                dense[j] = 1
                mean.indices[mean.count] = j
                mean.values[mean.count] = 0
                mean.count += 1
        for e in range(mean.count):
            dense[mean.indices[e]] = kept * mean.values[e]
        for e in range(plane.count):
            dense[plane.indices[e]] += s * plane.values[e]
        for e in range(mean.count):
            mean.values[e] = dense[mean.indices[e]]
            dense[mean.indices[e]] = 0
        mean.delta = kept * mean.delta + s * plane.delta
        mean.mixes += 1
        return True

    def start_totals(self):
        """From here on, sum the iterates, of which none is counted yet."""
        cdef Py_ssize_t i, e
        for i in range(self.n):
            if not self.summed:
                continue
            if not self.resize_mean(i, self.means[i].count, True):
                raise MemoryError
            for e in range(self.means[i].count):
                self.means[i].totals[e] = 0

    def assign(self, Atoms other):
        """Become a copy of another point of the same kind, without what has no weight, and without
        the means where labels say the same."""
        if (other.oracle is not self.oracle or self.labelled != other.labelled
                or self.summed != other.summed):
            raise ValueError("atoms of another kind")
        self.copy(other, 0)

    def average(self, Atoms other, double recorded):
        """Become the mean of the iterates that another point has summed, so many of them."""
        cdef Py_ssize_t i
        for i in range(self.n):
            other.hold(i, recorded)
        self.copy(other, recorded)

    cdef int copy(self, Atoms other, double recorded) except -1:
        """The weights of another point, or, where iterates were recorded, the means of them."""
        cdef Py_ssize_t i, a, size, count
        cdef double weight
        cdef Example* source
        for i in range(self.n):
            self.clear(i)
            source = &other.examples[i]
            size = self.oracle.size(i)
            if not self.grow(i, source.count):
                raise MemoryError
            count = 0
            for a in range(source.count):
                weight = source.atoms[a].total / recorded if recorded else source.atoms[a].beta
                if a == 0 or weight > 0:
                    self.examples[i].atoms[count] = Atom(weight, 0, 0)
                    if a:
                        memcpy(self.label(i, count), other.label(i, a), size * sizeof(int32_t))
                        self.oracle.keep(self.label(i, count))
                    count += 1
            self.examples[i].count = count
            if not self.labelled:
                self.copy_mean(i, other)
                if recorded:
                    self.means[i].delta = other.means[i].total_delta / recorded
                    for a in range(self.means[i].count):
                        self.means[i].values[a] = other.means[i].totals[a] / recorded
        return 0

    cdef int copy_mean(self, Py_ssize_t i, Atoms other) except -1:
        cdef Py_ssize_t count = other.means[i].count
        if not self.resize_mean(i, count, False):
            raise MemoryError
        self.means[i].count, self.means[i].delta = count, other.means[i].delta
        self.means[i].mixes = other.means[i].mixes
        if count:
            memcpy(self.means[i].indices, other.means[i].indices, count * sizeof(Py_ssize_t))
            memcpy(self.means[i].values, other.means[i].values, count * sizeof(double))
        return 0

    def take_over(self, Atoms other, name):
        """Start from the weights of another point, perhaps of another oracle of the same kind;
        name is what the user calls it."""
        cdef Py_ssize_t[::1] indices = np.empty(self.oracle.longest + 1, np.intp)
        cdef double[::1] values = np.empty(self.oracle.longest + 1)
        cdef int32_t[::1] label = np.zeros(self.oracle.widest, np.int32)
        cdef double[::1] dense = np.zeros(self.oracle.d if self.summed else 1)
        cdef Py_ssize_t i, a, place
        cdef double beta
        cdef Plane plane
        if (type(self.oracle) is not type(other.oracle) or self.oracle.n != other.oracle.n
                or self.oracle.d != other.oracle.d or self.oracle.shape() != other.oracle.shape()):
            raise ValueError(f"{name}: what was found with another kind of oracle does not fit")
        if self.labelled and not other.labelled:
            raise ValueError(
                f"{name} has no labels, as it was found with cache = False and without features: "
                "it serves cache = False only"
            )
        for i in range(self.n):
            if not self.labelled and not other.labelled:
                self.copy_mean(i, other)
                continue
            self.clear(i)
            self.examples[i].atoms[0].beta = other.examples[i].atoms[0].beta
            for a in range(1, other.examples[i].count):
                beta = other.examples[i].atoms[a].beta
                if beta == 0:
                    continue
                self.oracle.adopt(i, other.label(i, a), &label[0])
                self.oracle.plane(i, &label[0], &indices[0], &values[0], &plane)
                if self.summed and not self.mix(i, 1, &plane, beta, &dense[0]):
                    raise MemoryError
                if not self.labelled:
                    self.oracle.drop(&label[0])
                    continue
                if self.summed:
                    self.oracle.lighten(&label[0])
                place = self.append(i, &label[0])
                if place < 0:
                    raise MemoryError
                self.examples[i].atoms[place].beta = beta

    def of(self, Py_ssize_t i):
        """The labels of example i that have a weight, with it; that of y_i is left out."""
        cdef Py_ssize_t a, size
        cdef Example* example
        if not 0 <= i < self.n:
            raise IndexError(f"i = {i}: 0 to {self.n - 1} is allowed")
        if not self.labelled:
            return []
        example, size = &self.examples[i], self.oracle.size(i)
        return [
            (self.oracle.shown(<int32_t[:size]>self.label(i, a)), example.atoms[a].beta)
            for a in range(1, example.count) if example.atoms[a].beta > 0
        ]

    def __reduce__(self):
        raise TypeError("the weights of labels cannot be pickled: keep w, or the labels themselves")

    def __len__(self):
        return self.n

    @property
    def count(self):
        """How many labels are kept, without those of y_i."""
        cdef Py_ssize_t i, total = 0
        for i in range(self.n):
            total += self.examples[i].count - 1
        return total
