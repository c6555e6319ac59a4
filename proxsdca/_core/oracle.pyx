"""The contract of an oracle, see oracle.pxd, and oracles that are written in Python."""

import numpy as np

from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.math cimport fabs, fmax, sqrt
from libc.stdint cimport int32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy

from .signals cimport PATIENCE, poll
from .sums cimport UNIT


cdef class Oracle:
    """A structured problem's examples, as the loop sees them."""

    cdef Py_ssize_t size(self, Py_ssize_t i) noexcept nogil:
        return self.widest

    cdef int argmax(self, Py_ssize_t i, const double* w, bint costs, double* work, int32_t* label,
                    double* value) except -1 nogil:
        with gil:
            raise NotImplementedError("argmax")

    cdef int plane(self, Py_ssize_t i, const int32_t* label, Py_ssize_t* indices, double* values,
                   Plane* plane) except -1 nogil:
        with gil:
            raise NotImplementedError("plane")

    cdef int proven(self, Py_ssize_t i, const int32_t* label, Py_ssize_t* indices, double* values,
                    Plane* plane) except -1 nogil:
        return self.plane(i, label, indices, values, plane)

    cdef double doubt(self, Py_ssize_t i, double norm) noexcept nogil:
        return 0

    cdef bint same(self, Py_ssize_t i, const int32_t* a, const int32_t* b) noexcept nogil:
        return memcmp(a, b, self.size(i) * sizeof(int32_t)) == 0

    cdef void keep(self, const int32_t* label) noexcept nogil:
        pass

    cdef void drop(self, const int32_t* label) noexcept nogil:
        pass

    cdef void lighten(self, const int32_t* label) noexcept nogil:
        pass

    cdef int adopt(self, Py_ssize_t i, const int32_t* label, int32_t* to) except -1:
        memcpy(to, label, self.size(i) * sizeof(int32_t))
        return 0

    def shape(self):
        """What labels of two oracles have in common where one fits the other."""
        return [self.size(i) for i in range(self.n)]

    def look_at(self, w):
        """The array that argmax will be given."""

    def shown(self, const int32_t[::1] label):
        """A label as Python sees it."""
        return np.array(label)

    def answer(self, Py_ssize_t i, const double[::1] w):
        """(indices, values), delta and label of the largest margin of example i at w."""
        cdef int32_t[::1] label = np.zeros(self.widest, np.int32)
        cdef double[::1] work = np.empty(self.workspace + 1)
        cdef double value
        self.argmax(i, &w[0], True, &work[0], &label[0], &value)
        found = np.array(label[:self.size(i)])
        return *self.features(i, found), found

    def features(self, Py_ssize_t i, const int32_t[::1] label):
        """(indices, values) and delta of a label of example i."""
        cdef Py_ssize_t[::1] indices = np.empty(self.longest + 1, np.intp)
        cdef double[::1] values = np.empty(self.longest + 1)
        cdef Plane plane
        self.plane(i, &label[0], &indices[0], &values[0], &plane)
        return ((np.asarray(indices[:plane.count]), np.asarray(values[:plane.count])), plane.delta)

    def decode(self, const double[::1] w, int32_t[::1] labels, double[::1] scores):
        """The label of every example with the largest w^T psi(x_i, j), one after the other, and
        that score."""
        cdef double[::1] work = np.empty(self.workspace + 1)
        cdef Py_ssize_t i, begin = 0
        cdef double seen = 0
        with nogil:
            for i in range(self.n):
                self.argmax(i, &w[0], False, &work[0], &labels[begin], &scores[i])
                begin += self.size(i)
                seen += 1 + self.work / self.n
                if seen > PATIENCE:
                    seen = 0
                    poll()


cdef class StoredPlane:
    """A plane that an oracle written in Python has found.

    Parameters
    ----------
    indices, values : arrays
        The entries of xi.
    delta : float
    label : object
        What the oracle calls it; None where it does not say.
    """

    cdef Py_ssize_t count
    cdef Py_ssize_t* indices
    cdef double* values
    cdef uint64_t fingerprint
    cdef readonly double delta
    cdef double length                  # |xi|_2
    cdef readonly object label

    def __init__(self, const Py_ssize_t[::1] indices, const double[::1] values, double delta,
                 label):
        cdef Py_ssize_t e
        cdef uint64_t bits
        self.count, self.delta, self.label = indices.shape[0], delta, label
        self.indices = <Py_ssize_t*>malloc((self.count + 1) * sizeof(Py_ssize_t))
        self.values = <double*>malloc((self.count + 1) * sizeof(double))
        if self.indices == NULL or self.values == NULL:
            raise MemoryError
        self.fingerprint = 0
        self.length = norm(values)
        for e in range(self.count):
            self.indices[e], self.values[e] = indices[e], values[e]
            memcpy(&bits, &self.values[e], sizeof(bits))
            self.fingerprint = mix(mix(self.fingerprint, <uint64_t>indices[e]), bits)

    def __dealloc__(self):
        self.lighten()

    cdef void lighten(self) noexcept:
        """Forget the entries, which the label will give again."""
        free(self.indices)
        free(self.values)
        self.indices, self.values = NULL, NULL

    cdef bint equals(self, StoredPlane other) noexcept:
        return (self.delta == other.delta and self.count == other.count
                and self.fingerprint == other.fingerprint)


cdef double norm(const double[::1] x) noexcept:
    """|x|_2, whose squares neither overflow nor underflow."""
    cdef double peak = 0, total = 0
    cdef Py_ssize_t e
    for e in range(x.shape[0]):
        peak = fmax(peak, fabs(x[e]))
    if peak == 0:
        return 0
    for e in range(x.shape[0]):
        total += (x[e] / peak) * (x[e] / peak)
    return peak * sqrt(total)


cdef inline uint64_t mix(uint64_t h, uint64_t word) noexcept nogil:
    h = (h ^ word) * <uint64_t>0x9FB21C651E98DF25
    return h ^ (h >> 32)


cdef inline StoredPlane stored(const int32_t* label):
    cdef PyObject* pointer
    memcpy(&pointer, label, sizeof(pointer))
    return <StoredPlane>pointer


cdef class PythonOracle(Oracle):
    """An oracle that calls Python; a label is a reference to a `StoredPlane`.

    Parameters
    ----------
    n, d : int
    find : callable
        (i, w) -> StoredPlane with the largest margin at w, which is read-only.
    again : callable or None
        (i, StoredPlane) -> StoredPlane, from its label and the data alone.
    exact : bool
        Whether what find returns is what it should be.
    owner : object
        The oracle itself: what it said is good for no other, unless again says it once more.
    """

    cdef object find, again, w
    cdef StoredPlane latest
    cdef object owner
    cdef double reach, dearest, count       # the largest |xi|_2, delta, number of entries seen

    def __init__(self, Py_ssize_t n, Py_ssize_t d, find, again, bint exact, owner=None):
        self.n, self.d, self.exact = n, d, exact
        self.find, self.again = find, again
        self.widest = sizeof(PyObject*) // sizeof(int32_t)
        self.python, self.known = True, again is not None
        self.work = 1e9 * n         # nobody knows: a look at the clock after every call
        self.owner = owner

    def look_at(self, w):
        # a view of read-only memory, which nobody can make writable again
        self.w = np.frombuffer(memoryview(w).toreadonly())

    cdef int argmax(self, Py_ssize_t i, const double* w, bint costs, double* work, int32_t* label,
                    double* value) except -1 nogil:
        cdef PyObject* pointer
        with gil:
            found = self.find(i, self.w)
            if not isinstance(found, StoredPlane):
                raise TypeError("find must return a StoredPlane")
            self.measure(<StoredPlane>found)
            pointer = <PyObject*>found
            memcpy(label, &pointer, sizeof(pointer))
            Py_INCREF(found)
        return 0

    cdef void measure(self, StoredPlane found) noexcept:
        self.reach = fmax(self.reach, found.length)
        self.dearest = fmax(self.dearest, found.delta)
        self.count = fmax(self.count, <double>found.count)

    def shape(self):
        return [] if self.again is not None else [id(self.owner)]

    cdef double doubt(self, Py_ssize_t i, double norm) noexcept nogil:
        # as if it summed its margins plainly, in any order: those of two labels, which are no
        # longer than those it has shown
        return 2 * (self.count + 2) * UNIT * (self.reach * norm + self.dearest)

    cdef int plane(self, Py_ssize_t i, const int32_t* label, Py_ssize_t* indices, double* values,
                   Plane* plane) except -1 nogil:
        with gil:
            show(stored(label), plane)
        return 0

    cdef int proven(self, Py_ssize_t i, const int32_t* label, Py_ssize_t* indices, double* values,
                    Plane* plane) except -1 nogil:
        with gil:
            self.latest = stored(label)         # which keeps it alive
            if self.again is not None:
                self.latest = self.again(i, self.latest)
            self.measure(self.latest)
            show(self.latest, plane)
        return 0

    cdef bint same(self, Py_ssize_t i, const int32_t* a, const int32_t* b) noexcept nogil:
        with gil:
            return stored(a).equals(stored(b))

    cdef void keep(self, const int32_t* label) noexcept nogil:
        with gil:
            Py_INCREF(stored(label))

    cdef void drop(self, const int32_t* label) noexcept nogil:
        with gil:
            Py_DECREF(stored(label))

    cdef void lighten(self, const int32_t* label) noexcept nogil:
        with gil:
            stored(label).lighten()

    cdef int adopt(self, Py_ssize_t i, const int32_t* label, int32_t* to) except -1:
        cdef StoredPlane found = stored(label)
        cdef PyObject* pointer
        if self.again is not None:
            found = self.again(i, found)
        elif found.indices == NULL:
            raise ValueError("warm_start: its labels need features, which the oracle has not")
        pointer = <PyObject*>found
        memcpy(to, &pointer, sizeof(pointer))
        Py_INCREF(found)
        return 0

    def shown(self, const int32_t[::1] label):
        return stored(&label[0]).label


cdef void show(StoredPlane stored, Plane* plane) noexcept:
    plane.count, plane.delta = stored.count, stored.delta
    plane.indices, plane.values = stored.indices, stored.values
