"""The parts of a CSR matrix as those of a CSC matrix, or the other way round."""

import numpy as np

from libc.stdint cimport int32_t, int64_t

from .rows cimport outside
from .signals cimport PATIENCE, poll

ctypedef fused real:
    float
    double

ctypedef fused integer:
    int32_t
    int64_t


def transposed(const real[::1] data, const integer[::1] indices, const integer[::1] indptr,
               Py_ssize_t d):
    """Sort entries that are stored by rows by their columns, and within these by their rows.

    Parameters
    ----------
    data, indices : (nnz,) arrays
    indptr : (n + 1,) array
    d : int
        The number of columns.

    Returns
    -------
    data, indices, indptr : arrays
        New memory, of the same types. None where the parts do not fit together, as they will not
        while another thread writes to them: whatever they hold, nothing else is read or written.
    """
    kind = np.int32 if integer is int32_t else np.int64
    cdef Py_ssize_t n = indptr.shape[0] - 1, nnz = indices.shape[0], i, j, k, at, unseen = 0
    cdef Py_ssize_t first, last = 0
    sorted, places, starts = np.empty_like(data), np.empty(nnz, kind), np.zeros(d + 1, kind)
    ends = np.zeros(d, kind)        # of what has been put into each column
    cdef real[::1] values = sorted
    cdef integer[::1] rows = places, begin = starts, end = ends
    cdef bint fit = data.shape[0] == nnz and n >= 0 and d > 0
    if not fit:
        return None
    with nogil:
        for k in range(nnz):
            j = indices[k]
            if outside(j, d):
                fit = False
                break
            begin[j + 1] += 1
            if k % PATIENCE == 0:
                poll()
        for j in range(d):
            end[j] = begin[j]
            begin[j + 1] += begin[j]
        for i in range(n):
            first, last = last, indptr[i + 1]
            fit = fit and first <= last <= nnz
            if not fit:
                break
            for k in range(first, last):
                j = indices[k]
                if outside(j, d) or end[j] >= begin[j + 1]:
                    fit = False
                    break
                at = end[j]
                values[at], rows[at] = data[k], i
                end[j] += 1
            unseen += last - first + 1
            if unseen > PATIENCE:
                unseen = 0
                poll()
    return (sorted, places, starts) if fit and last == nnz else None
