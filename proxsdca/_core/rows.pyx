"""The storage of X, and the passes over it that are not part of the loop."""

import numpy as np

from libc.math cimport fabs
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from .map cimport Map
from .regs cimport L1L2Map, L2Map, WeightedL1L2Map
from .signals cimport PATIENCE, poll
from .sums cimport Tally, plain_rounding, rounding, tally
from .words cimport multiply_high

cdef extern from *:
    """
    /* `tally`, of two sums side by side, in one register each. */
    typedef double proxsdca_pair __attribute__((vector_size(16)));
    typedef long long proxsdca_bits __attribute__((vector_size(16)));
    typedef struct { proxsdca_pair total, carry, size; } proxsdca_pairs;

    static inline proxsdca_pairs proxsdca_no_pairs(void) {
        const proxsdca_pairs none = {{0, 0}, {0, 0}, {0, 0}};
        return none;
    }

    static inline void proxsdca_add_products(proxsdca_pairs* s, double a, double x, double b,
                                             double y) {
        const proxsdca_bits magnitude = {0x7FFFFFFFFFFFFFFF, 0x7FFFFFFFFFFFFFFF};
        const proxsdca_pair left = {a, b}, right = {x, y}, p = left * right;
        const proxsdca_pair t = s->total + p, z = t - s->total;
        s->carry += (s->total - (t - z)) + (p - z);
        s->size += (proxsdca_pair)((proxsdca_bits)p & magnitude);
        s->total = t;
    }
    """
    ctypedef struct Pairs "proxsdca_pairs":
        double total[2]
        double carry[2]
        double size[2]
    Pairs no_pairs "proxsdca_no_pairs"() noexcept nogil
    void add_products "proxsdca_add_products"(Pairs* s, double a, double x, double b,
                                              double y) noexcept nogil


cdef L2Map IDENTITY = L2Map()      # w = v
EUCLIDEAN = L2Map, L1L2Map, WeightedL1L2Map     # maps whose |x|_D' is |x|_2


cdef class Rows:
    """X by rows, on borrowed buffers that are never written to."""

    cdef Py_ssize_t read(self, Py_ssize_t i, Py_ssize_t k, Py_ssize_t* columns,
                         double* values) noexcept nogil:
        return 0

    cdef double weigh(self, Py_ssize_t i, const double* x, double a, Tally* sums, double eta,
                      double* off, double* size, bint plainly) noexcept nogil:
        return 0

    cdef int multiply(self, const double* x, double* out, bint transposed) except -1:
        return 0

    cdef int squares(self, double* out) except -1:
        return 0

    def matvec(self, const double[::1] w):
        """Return X w."""
        out = np.zeros(self.n)
        cdef double[::1] products = out
        self.multiply(&w[0], &products[0], False)
        return out

    def rmatvec(self, const double[::1] a):
        """Return X^T a."""
        out = np.zeros(self.d)
        cdef double[::1] sums = out
        self.multiply(&a[0], &sums[0], True)
        return out

    def norms_sq(self, Map map):
        """Return |x_i|_D'^2 for every row, in the norm that belongs to the map."""
        out = np.zeros(self.n)
        cdef double[::1] norms = out
        if self.canonical and isinstance(map, EUCLIDEAN):
            self.squares(&norms[0])
        else:
            self._fold(map, norms)
        return out

    def _fold(self, Map map, double[::1] norms):
        """As `norms_sq`, for any map and rows."""
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

    def take(self, const Py_ssize_t[::1] which):
        """Return some of the rows as CSR, in copies."""
        cdef Py_ssize_t columns[BLOCK]
        cdef double values[BLOCK]
        cdef Py_ssize_t i, k, m, count, at = 0, unseen = 0, rows = which.shape[0]
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
            unseen += k + 1
            if unseen > PATIENCE:
                unseen = 0
                with nogil:
                    poll()
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
    return fold(h ^ word, 0x9FB21C651E98DF25)


cdef inline uint64_t fold(uint64_t a, uint64_t b) noexcept nogil:
    """Both halves of the product of two words; only where one of them happens to be 0 does the
    other one not matter."""
    cdef uint64_t low, high = multiply_high(a, b, &low)
    return high ^ low


cdef uint64_t hash_bytes(const unsigned char[::1] view) except? 0:
    """Four lanes, so that the multiplications overlap; each takes two words."""
    cdef const unsigned char* bytes = &view[0] if view.shape[0] else NULL
    cdef Py_ssize_t k = 0, size = view.shape[0], stop
    cdef uint64_t w[8]
    # no words that data are likely to hold
    cdef uint64_t h0 = 0xA0761D6478BD642F, h1 = 0xE7037ED1A0B428DB
    cdef uint64_t h2 = 0x8EBC6AF09C88C6E3, h3 = 0x589965CC75374CC3
    with nogil:
        while k + 64 <= size:
            stop = min(size - 63, k + 8 * PATIENCE)
            while k < stop:
                memcpy(w, bytes + k, 64)
                h0 = fold(h0 ^ w[0], w[1] ^ <uint64_t>0x9E3779B97F4A7C15)
                h1 = fold(h1 ^ w[2], w[3] ^ <uint64_t>0xBF58476D1CE4E5B9)
                h2 = fold(h2 ^ w[4], w[5] ^ <uint64_t>0x94D049BB133111EB)
                h3 = fold(h3 ^ w[6], w[7] ^ <uint64_t>0xD6E8FEB86659FD93)
                k += 64
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


cdef inline int multiply_rows(AnyRows rows, const double* x, double* out,
                              bint transposed) except -1:
    cdef L2Map plain = IDENTITY
    cdef Py_ssize_t i, first, unseen = 0
    with nogil:
        for i in range(rows.n):
            if not transposed:
                out[i] = dot(rows, i, plain, x)
            elif x[i] != 0:
                axpy(rows, i, x[i], plain, out, NULL, 0)
            unseen += span(rows, i, &first) + 1
            if unseen > PATIENCE:
                unseen = 0
                poll()
    return 0


cdef inline int squares_of(AnyRows rows, double* out) except -1:
    cdef Py_ssize_t i, k, first, count, unseen = 0
    cdef double x0, x1, x2, x3, s0, s1, s2, s3
    with nogil:
        for i in range(rows.n):
            count, k = span(rows, i, &first), 0
            s0 = s1 = s2 = s3 = 0
            while k + 4 <= count:
                x0, x1 = value(rows, first, k), value(rows, first, k + 1)
                x2, x3 = value(rows, first, k + 2), value(rows, first, k + 3)
                s0, s1, s2, s3 = s0 + x0 * x0, s1 + x1 * x1, s2 + x2 * x2, s3 + x3 * x3
                k += 4
            while k < count:
                x0 = value(rows, first, k)
                s0 += x0 * x0
                k += 1
            out[i] = (s0 + s1) + (s2 + s3)
            unseen += count + 1
            if unseen > PATIENCE:
                unseen = 0
                poll()
    return 0


cdef inline double weigh_row(AnyRows rows, Py_ssize_t i, const double* x, double a, Tally* sums,
                             double eta, double* off, double* size) noexcept nogil:
    cdef Py_ssize_t first, count = span(rows, i, &first), k = 0
    cdef Pairs even = no_pairs(), odd = no_pairs()
    cdef Tally sum = Tally(0, 0, 0)
    cdef double z
    while k + 4 <= count:
        add_products(&even, value(rows, first, k), x[column(rows, first, k)],
                     value(rows, first, k + 1), x[column(rows, first, k + 1)])
        add_products(&odd, value(rows, first, k + 2), x[column(rows, first, k + 2)],
                     value(rows, first, k + 3), x[column(rows, first, k + 3)])
        k += 4
    while k < count:
        add_products(&even, value(rows, first, k), x[column(rows, first, k)], 0, 0)
        k += 1
    for k in range(2):
        tally(&sum, even.total[k])
        tally(&sum, odd.total[k])
    z = sum.total + (sum.carry + ((even.carry[0] + even.carry[1]) + (odd.carry[0] + odd.carry[1])))
    if a != 0:
        for k in range(count):
            tally(&sums[column(rows, first, k)], value(rows, first, k) * a)
    size[0] = (even.size[0] + even.size[1]) + (odd.size[0] + odd.size[1])
    off[0] = rounding(z, size[0], count) + count * eta
    return z


cdef inline double weigh_row_plainly(AnyRows rows, Py_ssize_t i, const double* x, double a,
                                     Tally* sums, double eta, double* off,
                                     double* size) noexcept nogil:
    """As `weigh_row`, without the errors of additions, which are bounded by how many there are."""
    cdef Py_ssize_t first, count = span(rows, i, &first), k = 0, stop, j
    cdef double z = 0, total = 0, p0, p1, p2, p3, s0, s1, s2, s3, t0, t1, t2, t3
    while k < count:
        stop = min(k + BLOCK, count)
        s0 = s1 = s2 = s3 = t0 = t1 = t2 = t3 = 0
        while k + 4 <= stop:
            p0 = value(rows, first, k) * x[column(rows, first, k)]
            p1 = value(rows, first, k + 1) * x[column(rows, first, k + 1)]
            p2 = value(rows, first, k + 2) * x[column(rows, first, k + 2)]
            p3 = value(rows, first, k + 3) * x[column(rows, first, k + 3)]
            s0, s1, s2, s3 = s0 + p0, s1 + p1, s2 + p2, s3 + p3
            t0, t1, t2, t3 = t0 + fabs(p0), t1 + fabs(p1), t2 + fabs(p2), t3 + fabs(p3)
            k += 4
        while k < stop:
            p0 = value(rows, first, k) * x[column(rows, first, k)]
            s0, t0 = s0 + p0, t0 + fabs(p0)
            k += 1
        z += (s0 + s1) + (s2 + s3)
        total += (t0 + t1) + (t2 + t3)
    if a != 0:
        for k in range(count):
            j, p0 = column(rows, first, k), value(rows, first, k) * a
            sums[j].total += p0
            sums[j].size += fabs(p0)
            sums[j].carry += 1
    size[0] = total
    # a summand goes through BLOCK / 4 + 5 additions in its block, and those of the blocks after it
    off[0] = plain_rounding(total, min(count, BLOCK / 4 + 5) + count // BLOCK) + count * eta
    return z


cdef class CSR32i32(Rows):
    cdef Py_ssize_t read(self, Py_ssize_t i, Py_ssize_t k, Py_ssize_t* columns,
                         double* values) noexcept nogil:
        return read_block(self, i, k, columns, values)

    cdef double weigh(self, Py_ssize_t i, const double* x, double a, Tally* sums, double eta,
                      double* off, double* size, bint plainly) noexcept nogil:
        if plainly:
            return weigh_row_plainly(self, i, x, a, sums, eta, off, size)
        return weigh_row(self, i, x, a, sums, eta, off, size)

    cdef int multiply(self, const double* x, double* out, bint transposed) except -1:
        return multiply_rows(self, x, out, transposed)

    cdef int squares(self, double* out) except -1:
        return squares_of(self, out)


cdef class CSR64i32(Rows):
    cdef Py_ssize_t read(self, Py_ssize_t i, Py_ssize_t k, Py_ssize_t* columns,
                         double* values) noexcept nogil:
        return read_block(self, i, k, columns, values)

    cdef double weigh(self, Py_ssize_t i, const double* x, double a, Tally* sums, double eta,
                      double* off, double* size, bint plainly) noexcept nogil:
        if plainly:
            return weigh_row_plainly(self, i, x, a, sums, eta, off, size)
        return weigh_row(self, i, x, a, sums, eta, off, size)

    cdef int multiply(self, const double* x, double* out, bint transposed) except -1:
        return multiply_rows(self, x, out, transposed)

    cdef int squares(self, double* out) except -1:
        return squares_of(self, out)


cdef class CSR32i64(Rows):
    cdef Py_ssize_t read(self, Py_ssize_t i, Py_ssize_t k, Py_ssize_t* columns,
                         double* values) noexcept nogil:
        return read_block(self, i, k, columns, values)

    cdef double weigh(self, Py_ssize_t i, const double* x, double a, Tally* sums, double eta,
                      double* off, double* size, bint plainly) noexcept nogil:
        if plainly:
            return weigh_row_plainly(self, i, x, a, sums, eta, off, size)
        return weigh_row(self, i, x, a, sums, eta, off, size)

    cdef int multiply(self, const double* x, double* out, bint transposed) except -1:
        return multiply_rows(self, x, out, transposed)

    cdef int squares(self, double* out) except -1:
        return squares_of(self, out)


cdef class CSR64i64(Rows):
    cdef Py_ssize_t read(self, Py_ssize_t i, Py_ssize_t k, Py_ssize_t* columns,
                         double* values) noexcept nogil:
        return read_block(self, i, k, columns, values)

    cdef double weigh(self, Py_ssize_t i, const double* x, double a, Tally* sums, double eta,
                      double* off, double* size, bint plainly) noexcept nogil:
        if plainly:
            return weigh_row_plainly(self, i, x, a, sums, eta, off, size)
        return weigh_row(self, i, x, a, sums, eta, off, size)

    cdef int multiply(self, const double* x, double* out, bint transposed) except -1:
        return multiply_rows(self, x, out, transposed)

    cdef int squares(self, double* out) except -1:
        return squares_of(self, out)


cdef class Dense32(Rows):
    cdef Py_ssize_t read(self, Py_ssize_t i, Py_ssize_t k, Py_ssize_t* columns,
                         double* values) noexcept nogil:
        return read_block(self, i, k, columns, values)

    cdef double weigh(self, Py_ssize_t i, const double* x, double a, Tally* sums, double eta,
                      double* off, double* size, bint plainly) noexcept nogil:
        if plainly:
            return weigh_row_plainly(self, i, x, a, sums, eta, off, size)
        return weigh_row(self, i, x, a, sums, eta, off, size)

    cdef int multiply(self, const double* x, double* out, bint transposed) except -1:
        return multiply_rows(self, x, out, transposed)

    cdef int squares(self, double* out) except -1:
        return squares_of(self, out)


cdef class Dense64(Rows):
    cdef Py_ssize_t read(self, Py_ssize_t i, Py_ssize_t k, Py_ssize_t* columns,
                         double* values) noexcept nogil:
        return read_block(self, i, k, columns, values)

    cdef double weigh(self, Py_ssize_t i, const double* x, double a, Tally* sums, double eta,
                      double* off, double* size, bint plainly) noexcept nogil:
        if plainly:
            return weigh_row_plainly(self, i, x, a, sums, eta, off, size)
        return weigh_row(self, i, x, a, sums, eta, off, size)

    cdef int multiply(self, const double* x, double* out, bint transposed) except -1:
        return multiply_rows(self, x, out, transposed)

    cdef int squares(self, double* out) except -1:
        return squares_of(self, out)


cdef class Strided32(Rows):
    cdef Py_ssize_t read(self, Py_ssize_t i, Py_ssize_t k, Py_ssize_t* columns,
                         double* values) noexcept nogil:
        return read_block(self, i, k, columns, values)

    cdef double weigh(self, Py_ssize_t i, const double* x, double a, Tally* sums, double eta,
                      double* off, double* size, bint plainly) noexcept nogil:
        if plainly:
            return weigh_row_plainly(self, i, x, a, sums, eta, off, size)
        return weigh_row(self, i, x, a, sums, eta, off, size)

    cdef int multiply(self, const double* x, double* out, bint transposed) except -1:
        return multiply_rows(self, x, out, transposed)

    cdef int squares(self, double* out) except -1:
        return squares_of(self, out)


cdef class Strided64(Rows):
    cdef Py_ssize_t read(self, Py_ssize_t i, Py_ssize_t k, Py_ssize_t* columns,
                         double* values) noexcept nogil:
        return read_block(self, i, k, columns, values)

    cdef double weigh(self, Py_ssize_t i, const double* x, double a, Tally* sums, double eta,
                      double* off, double* size, bint plainly) noexcept nogil:
        if plainly:
            return weigh_row_plainly(self, i, x, a, sums, eta, off, size)
        return weigh_row(self, i, x, a, sums, eta, off, size)

    cdef int multiply(self, const double* x, double* out, bint transposed) except -1:
        return multiply_rows(self, x, out, transposed)

    cdef int squares(self, double* out) except -1:
        return squares_of(self, out)


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
