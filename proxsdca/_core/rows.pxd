# The storage of X, row by row: CSR or dense, float32 or float64, with 32 or 64
# bit indices.  A class only holds the borrowed buffers; how a row is read is
# written once, below, and specialised by type.

cimport cython
from libc.stdint cimport int32_t, int64_t

from .kinds cimport AnyMap, SeparableMap
from .sums cimport Tally


cdef extern from *:
    """
    #define proxsdca_prefetch(address) __builtin_prefetch((const void*)(address))
    /* A function that only prefetches counts as one that does nothing, and calls of it are left
       out, unless it has something that must be kept. */
    #define proxsdca_not_nothing() __asm__ volatile("")
    #define proxsdca_outside(j, d) __builtin_expect((size_t)(j) >= (size_t)(d), 0)
    """
    bint outside "proxsdca_outside"(Py_ssize_t j, Py_ssize_t d) noexcept nogil
    void not_nothing "proxsdca_not_nothing"() noexcept nogil
    void prefetch_line "proxsdca_prefetch"(const void* address) noexcept nogil


cdef enum:
    BLOCK = 256
    LEAD = 64       # entries of a row, at the most, that are asked for beforehand


cdef struct Record:
    # A sum over iterates of a number that changes now and then.
    double total
    double since            # the time up to which the total reaches, by the number's clock


cdef inline void hold(Record* record, double value, double until) noexcept nogil:
    """The value stood from `since` until `until`."""
    record.total += value * (until - record.since)
    record.since = until


cdef class Rows:
    cdef readonly Py_ssize_t n, d, nnz
    cdef readonly bint canonical        # columns strictly increase within each row
    cdef object buffers                 # keeps what the pointers point to alive
    cdef object parts                   # all of X as contiguous arrays, or None

    # Copy up to BLOCK entries of row i, from the k-th on, and say how many: for
    # the passes outside the loop, which are written for all storages at once.
    cdef Py_ssize_t read(self, Py_ssize_t i, Py_ssize_t k, Py_ssize_t* columns,
                         double* values) noexcept nogil

    # x_i^T x, with a bound on its error and the sum of absolute values; sums += a x_i: what a
    # certificate needs of a row. eta is what an operation may lose to underflow. Plainly, `carry`
    # counts the summands.
    cdef double weigh(self, Py_ssize_t i, const double* x, double a, Tally* sums, double eta,
                      double* off, double* size, bint plainly) noexcept nogil
    # out = X x, or out += X^T x; |x_i|_2^2 where rows are canonical
    cdef int multiply(self, const double* x, double* out, bint transposed) except -1
    cdef int squares(self, double* out) except -1


@cython.final
cdef class CSR32i32(Rows):
    cdef const float* data
    cdef const int32_t* indices
    cdef const int32_t* indptr


@cython.final
cdef class CSR64i32(Rows):
    cdef const double* data
    cdef const int32_t* indices
    cdef const int32_t* indptr


@cython.final
cdef class CSR32i64(Rows):
    cdef const float* data
    cdef const int64_t* indices
    cdef const int64_t* indptr


@cython.final
cdef class CSR64i64(Rows):
    cdef const double* data
    cdef const int64_t* indices
    cdef const int64_t* indptr


@cython.final
cdef class Dense32(Rows):
    cdef const float* data
    cdef Py_ssize_t row_stride


@cython.final
cdef class Dense64(Rows):
    cdef const double* data
    cdef Py_ssize_t row_stride


@cython.final
cdef class Strided32(Rows):
    cdef const float* data
    cdef Py_ssize_t row_stride, column_stride


@cython.final
cdef class Strided64(Rows):
    cdef const double* data
    cdef Py_ssize_t row_stride, column_stride


ctypedef fused SparseRows:
    CSR32i32
    CSR64i32
    CSR32i64
    CSR64i64

ctypedef fused ContiguousRows:
    Dense32
    Dense64

ctypedef fused AnyRows:
    CSR32i32
    CSR64i32
    CSR32i64
    CSR64i64
    Dense32
    Dense64
    Strided32
    Strided64


# The buffers were validated, but they are the caller's: another thread may write
# to them during a run.  What is read is therefore confined once more; a run on
# changing data ends in an error, never outside the buffers.

cdef inline Py_ssize_t span(AnyRows rows, Py_ssize_t i, Py_ssize_t* first) noexcept nogil:
    """How many entries row i has, and where they begin."""
    cdef Py_ssize_t count
    if AnyRows in SparseRows:
        first[0] = rows.indptr[i]
        count = rows.indptr[i + 1] - first[0]
        if first[0] < 0 or count < 0 or count > rows.nnz - first[0]:
            count = 0
        return count
    else:
        first[0] = i * rows.row_stride
        return rows.d


cdef inline Py_ssize_t column(AnyRows rows, Py_ssize_t first, Py_ssize_t k) noexcept nogil:
    cdef Py_ssize_t j
    if AnyRows in SparseRows:
        j = rows.indices[first + k]
        if outside(j, rows.d):
            j = 0
        return j
    else:
        return k


cdef inline double value(AnyRows rows, Py_ssize_t first, Py_ssize_t k) noexcept nogil:
    if AnyRows in SparseRows or AnyRows in ContiguousRows:
        return rows.data[first + k]
    else:
        return rows.data[first + k * rows.column_stride]


cdef inline void prefetch_start(AnyRows rows, Py_ssize_t i) noexcept nogil:
    if AnyRows in SparseRows:
        prefetch_line(&rows.indptr[i])


cdef inline void prefetch_row(AnyRows rows, Py_ssize_t i, Py_ssize_t lead) noexcept nogil:
    """The first entries of a row; the hardware finds the ones after them by itself.

    As many for each row, so that the branches are foreseen.
    """
    cdef Py_ssize_t first, k
    if AnyRows in SparseRows:
        first = rows.indptr[i]
        prefetch_line(&rows.indices[first])
    else:
        first = i * rows.row_stride
    prefetch_line(&rows.data[first])
    prefetch_line(&rows.data[first] + 8)
    for k in range(16, lead, 16):
        if AnyRows in SparseRows:
            prefetch_line(&rows.indices[first + k])
        prefetch_line(&rows.data[first + k])
        prefetch_line(&rows.data[first + k] + 8)
    not_nothing()


cdef inline Py_ssize_t lead_of(Rows rows) noexcept nogil:
    """How many entries to ask for: those of a row, on average."""
    return min(rows.nnz // max(1, rows.n) + 1, LEAD)


cdef inline double dot(AnyRows rows, Py_ssize_t i, AnyMap map, const double* v) noexcept nogil:
    """x_i^T grad g*(v), in four partial sums so that additions overlap."""
    cdef Py_ssize_t first, count = span(rows, i, &first), k = 0
    cdef Py_ssize_t j0, j1, j2, j3
    cdef double s0 = 0, s1 = 0, s2 = 0, s3 = 0
    while k + 4 <= count:
        j0 = column(rows, first, k)
        j1 = column(rows, first, k + 1)
        j2 = column(rows, first, k + 2)
        j3 = column(rows, first, k + 3)
        s0 += value(rows, first, k) * map.at(j0, v[j0])
        s1 += value(rows, first, k + 1) * map.at(j1, v[j1])
        s2 += value(rows, first, k + 2) * map.at(j2, v[j2])
        s3 += value(rows, first, k + 3) * map.at(j3, v[j3])
        k += 4
    while k < count:
        j0 = column(rows, first, k)
        s0 += value(rows, first, k) * map.at(j0, v[j0])
        k += 1
    return (s0 + s1) + (s2 + s3)


cdef inline void axpy(AnyRows rows, Py_ssize_t i, double c, AnyMap map, double* v,
                      Record* record, double now) noexcept nogil:
    """v += c x_i, entry by entry, so that a column that stands twice is right.

    Where there is a record, each w_j that ends here is added to its sum: w_j changes only
    when v_j does, or up to a factor that the map sums (ERRATA 5).
    """
    cdef Py_ssize_t first, count = span(rows, i, &first), k, j
    cdef double old
    for k in range(count):
        j = column(rows, first, k)
        old = v[j]
        v[j] = old + c * value(rows, first, k)
        if record != NULL:
            if AnyMap in SeparableMap:
                hold(&record[j], map.at(j, old), now)
            else:
                hold(&record[j], map.held(j, old), map.clock(j))
        map.moved(j, old, v[j])
    map.settle()
