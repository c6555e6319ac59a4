"""The storage of X, and the passes over it that are not part of the loop."""

import numpy as np

from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from .map cimport Map
from .signals cimport PATIENCE, poll


cdef class Rows:
    """X by rows, on borrowed buffers that are never written to."""

    cdef Py_ssize_t read(self, Py_ssize_t i, Py_ssize_t k, Py_ssize_t* columns,
                         double* values) noexcept nogil:
        return 0

    def matvec(self, const double[::1] w):
        """Return X w."""
        return self._product(w, False)

    def rmatvec(self, const double[::1] a):
        """Return X^T a."""
        return self._product(a, True)

    def _product(self, const double[::1] x, bint transposed):
        out = np.zeros(self.d if transposed else self.n)
        cdef double[::1] sums = out
        cdef Py_ssize_t columns[BLOCK]
        cdef double values[BLOCK]
        cdef Py_ssize_t i, k, m, count, unseen = 0
        with nogil:
            for i in range(self.n):
                k = 0
                while not (transposed and x[i] == 0):
                    count = self.read(i, k, columns, values)
                    if transposed:
                        for m in range(count):
                            sums[columns[m]] += values[m] * x[i]
                    else:
                        for m in range(count):
                            sums[i] += values[m] * x[columns[m]]
                    k += count
                    unseen += count + 1
                    if unseen > PATIENCE:
                        unseen = 0
                        poll()
                    if count < BLOCK:
                        break
        return out

    def norms_sq(self, Map map):
        """Return |x_i|_D'^2 for every row, in the norm that belongs to the map."""
        out = np.zeros(self.n)
        cdef double[::1] norms = out
        cdef double[::1] scratch = np.zeros(1 if self.canonical else self.d)
        cdef double state[2]
        cdef Py_ssize_t columns[BLOCK]
        cdef double values[BLOCK]
        cdef Py_ssize_t i, k, m, count, unseen = 0
        with nogil:
            for i in range(self.n):
                state[0] = state[1] = 0
                k = 0
                while not self.canonical:   # entries of one column add up before they are squared
                    count = self.read(i, k, columns, values)
                    for m in range(count):
                        scratch[columns[m]] += values[m]
                    k += count
                    if count < BLOCK:
                        k = 0
                        break
                while True:
                    count = self.read(i, k, columns, values)
                    if not self.canonical:
                        for m in range(count):
                            values[m] = scratch[columns[m]]
                            scratch[columns[m]] = 0
                    map.fold(state, columns, values, count)
                    k += count
                    unseen += count + 1
                    if unseen > PATIENCE:
                        unseen = 0
                        poll()
                    if count < BLOCK:
                        break
                norms[i] = map.norm_sq(state)
        return out

    def sample(self, Py_ssize_t step):
        """Return the rows 0, step, 2 step, ... as CSR, in copies."""
        return self.take(np.arange(0, self.n, step))

    def take(self, const Py_ssize_t[::1] which):
        """Return some of the rows as CSR, in copies."""
        cdef Py_ssize_t columns[BLOCK]
        cdef double values[BLOCK]
        cdef Py_ssize_t i, k, m, count, at = 0, rows = which.shape[0]
        starts = np.zeros(rows + 1, np.int64)
        cdef int64_t[::1] indptr = starts
        for i in range(rows):
            k = 0
            while True:
                count = self.read(which[i], k, columns, values)
                k += count
                if count < BLOCK:
                    break
            indptr[i + 1] = indptr[i] + k
        entries, places = np.zeros(starts[-1]), np.zeros(starts[-1], np.int64)
        cdef double[::1] data = entries
        cdef int64_t[::1] indices = places
        for i in range(rows):
            k = 0
            while True:
                count = self.read(which[i], k, columns, values)
                for m in range(min(count, indptr[i + 1] - at)):     # X may have changed meanwhile
                    indices[at], data[at] = columns[m], values[m]
                    at += 1
                k += count
                if count < BLOCK:
                    break
            at = indptr[i + 1]
        return csr_rows(entries, places, starts, self.d, self.canonical)

    def zero_rows(self, const double[::1] norms):
        """Return which rows have no entry other than 0; only rows of norm 0 are looked at."""
        out = np.zeros(self.n, bool)
        cdef unsigned char[::1] zero = out.view(np.uint8)
        cdef Py_ssize_t columns[BLOCK]
        cdef double values[BLOCK]
        cdef Py_ssize_t i, k, m, count
        with nogil:
            for i in range(self.n):
                zero[i] = norms[i] == 0
                k = 0
                while zero[i]:
                    count = self.read(i, k, columns, values)
                    for m in range(count):
                        if values[m] != 0:
                            zero[i] = 0
                    k += count
                    if count < BLOCK:
                        break
        return out

    def fingerprint(self):
        """A number that changes, almost surely, with any bit of X."""
        cdef uint64_t h = 0x9E3779B97F4A7C15, word
        cdef Py_ssize_t i, k, m, count, unseen = 0
        cdef Py_ssize_t columns[BLOCK]
        cdef double values[BLOCK]
        if self.parts is not None:
            for part in self.parts:
                h = mix(h, hash_bytes(part.reshape(-1, order="A").view(np.uint8)))
            return h
        with nogil:
            for i in range(self.n):
                k = 0
                while True:
                    count = self.read(i, k, columns, values)
                    for m in range(count):
                        memcpy(&word, &values[m], sizeof(word))
                        h = mix(h, word)
                    k += count
                    unseen += count + 1
                    if unseen > PATIENCE:
                        unseen = 0
                        poll()
                    if count < BLOCK:
                        break
        return h


cdef inline uint64_t mix(uint64_t h, uint64_t word) noexcept nogil:
    h = (h ^ word) * <uint64_t>0x9FB21C651E98DF25
    return h ^ (h >> 32)


cdef uint64_t hash_bytes(const unsigned char[::1] view) except? 0:
    """Four lanes, so that the multiplications overlap."""
    cdef const unsigned char* bytes = &view[0] if view.shape[0] else NULL
    cdef Py_ssize_t k = 0, size = view.shape[0], stop
    cdef uint64_t w[4]
    cdef uint64_t h0 = 1, h1 = 2, h2 = 3, h3 = 4
    with nogil:
        while k + 32 <= size:
            stop = min(size - 31, k + 8 * PATIENCE)
            while k < stop:
                memcpy(w, bytes + k, 32)
                h0 = mix(h0, w[0])
                h1 = mix(h1, w[1])
                h2 = mix(h2, w[2])
                h3 = mix(h3, w[3])
                k += 32
            poll()
        while k < size:
            h0 = mix(h0, bytes[k])
            k += 1
    return mix(mix(mix(h0, h1), h2), h3)


cdef inline Py_ssize_t read_block(AnyRows rows, Py_ssize_t i, Py_ssize_t k, Py_ssize_t* columns,
                                  double* values) noexcept nogil:
    cdef Py_ssize_t first, count = span(rows, i, &first) - k, m
    count = count if count < BLOCK else BLOCK
    for m in range(count):
        columns[m] = column(rows, first, k + m)
        values[m] = value(rows, first, k + m)
    return count


cdef class CSR32i32(Rows):
    cdef Py_ssize_t read(self, Py_ssize_t i, Py_ssize_t k, Py_ssize_t* columns,
                         double* values) noexcept nogil:
        return read_block(self, i, k, columns, values)


cdef class CSR64i32(Rows):
    cdef Py_ssize_t read(self, Py_ssize_t i, Py_ssize_t k, Py_ssize_t* columns,
                         double* values) noexcept nogil:
        return read_block(self, i, k, columns, values)


cdef class CSR32i64(Rows):
    cdef Py_ssize_t read(self, Py_ssize_t i, Py_ssize_t k, Py_ssize_t* columns,
                         double* values) noexcept nogil:
        return read_block(self, i, k, columns, values)


cdef class CSR64i64(Rows):
    cdef Py_ssize_t read(self, Py_ssize_t i, Py_ssize_t k, Py_ssize_t* columns,
                         double* values) noexcept nogil:
        return read_block(self, i, k, columns, values)


cdef class Dense32(Rows):
    cdef Py_ssize_t read(self, Py_ssize_t i, Py_ssize_t k, Py_ssize_t* columns,
                         double* values) noexcept nogil:
        return read_block(self, i, k, columns, values)


cdef class Dense64(Rows):
    cdef Py_ssize_t read(self, Py_ssize_t i, Py_ssize_t k, Py_ssize_t* columns,
                         double* values) noexcept nogil:
        return read_block(self, i, k, columns, values)


cdef class Strided32(Rows):
    cdef Py_ssize_t read(self, Py_ssize_t i, Py_ssize_t k, Py_ssize_t* columns,
                         double* values) noexcept nogil:
        return read_block(self, i, k, columns, values)


cdef class Strided64(Rows):
    cdef Py_ssize_t read(self, Py_ssize_t i, Py_ssize_t k, Py_ssize_t* columns,
                         double* values) noexcept nogil:
        return read_block(self, i, k, columns, values)


ctypedef fused Float32Rows:
    CSR32i32
    CSR32i64
    Dense32
    Strided32

ctypedef fused Int32Rows:
    CSR32i32
    CSR64i32


cdef size_t address(array):
    return array.__array_interface__["data"][0]


cdef Rows bind(AnyRows rows, data, indices, indptr, strides):
    """Point the rows at the buffers; Python's types were checked by the caller."""
    if AnyRows in Float32Rows:
        rows.data = <const float*>address(data)
    else:
        rows.data = <const double*>address(data)
    if AnyRows in SparseRows:
        if AnyRows in Int32Rows:
            rows.indices = <const int32_t*>address(indices)
            rows.indptr = <const int32_t*>address(indptr)
        else:
            rows.indices = <const int64_t*>address(indices)
            rows.indptr = <const int64_t*>address(indptr)
    elif AnyRows in ContiguousRows:
        rows.row_stride = strides[0]
    else:
        rows.row_stride, rows.column_stride = strides
    rows.buffers = (data, indices, indptr)
    if AnyRows in SparseRows:
        rows.parts = rows.buffers
    elif data.flags.c_contiguous or data.flags.f_contiguous:
        rows.parts = (data,)
    return rows


def csr_rows(data, indices, indptr, Py_ssize_t d, bint canonical):
    """Rows on CSR parts: contiguous arrays, already validated, both index arrays of one type.

    Parameters
    ----------
    data : float32 or float64 array
    indices, indptr : int32 or int64 arrays
    d : int
        The number of columns.
    canonical : bool
        Whether the column indices of every row are strictly increasing.
    """
    cdef Rows rows
    kind = (data.dtype.itemsize, indices.dtype.itemsize)
    if kind == (4, 4):
        rows = bind[CSR32i32](CSR32i32.__new__(CSR32i32), data, indices, indptr, None)
    elif kind == (8, 4):
        rows = bind[CSR64i32](CSR64i32.__new__(CSR64i32), data, indices, indptr, None)
    elif kind == (4, 8):
        rows = bind[CSR32i64](CSR32i64.__new__(CSR32i64), data, indices, indptr, None)
    else:
        rows = bind[CSR64i64](CSR64i64.__new__(CSR64i64), data, indices, indptr, None)
    rows.n, rows.d, rows.nnz, rows.canonical = len(indptr) - 1, d, len(data), canonical
    return rows


def dense_rows(array):
    """Rows on a dense float32 or float64 array with any strides, already validated."""
    cdef Rows rows
    strides = tuple(stride // array.itemsize for stride in array.strides)
    # The stride of an axis of length 1 means nothing, whatever numpy reports.
    if strides[1] == 1 or array.shape[1] == 1:
        if array.itemsize == 4:
            rows = bind[Dense32](Dense32.__new__(Dense32), array, None, None, strides)
        else:
            rows = bind[Dense64](Dense64.__new__(Dense64), array, None, None, strides)
    elif array.itemsize == 4:
        rows = bind[Strided32](Strided32.__new__(Strided32), array, None, None, strides)
    else:
        rows = bind[Strided64](Strided64.__new__(Strided64), array, None, None, strides)
    rows.n, rows.d = array.shape
    rows.nnz, rows.canonical = rows.n * rows.d, True
    return rows
