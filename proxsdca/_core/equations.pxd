# Symmetric positive definite equations: dense ones by Cholesky's method, others by conjugate
# gradients.

from libc.math cimport fmax, sqrt

from .wide cimport inner_each


cdef class Equations:
    cdef readonly Py_ssize_t dim        # numbers in w
    cdef readonly bint exact            # whether `precondition` is by H itself
    cdef readonly double[::1] residual  # -gradient - H x where `solve` has ended ...
    cdef readonly double left           # ... and its squared length

    cdef void advance(self, double a) noexcept


cdef inline double inner(const double* x, const double* y, Py_ssize_t count) noexcept nogil:
    """x^T y, in four partial sums."""
    cdef double s0 = 0, s1 = 0, s2 = 0, s3 = 0
    cdef Py_ssize_t j = 0
    while j + 4 <= count:
        s0 += x[j] * y[j]
        s1 += x[j + 1] * y[j + 1]
        s2 += x[j + 2] * y[j + 2]
        s3 += x[j + 3] * y[j + 3]
        j += 4
    while j < count:
        s0 += x[j] * y[j]
        j += 1
    return (s0 + s1) + (s2 + s3)


cdef inline void factorise(double* A, Py_ssize_t d, double lam) noexcept nogil:
    """The lower triangle of A becomes L with L L^T = A + lam I, by tiles of 4 x 4."""
    cdef Py_ssize_t i, j, k, a, b, first, top
    cdef const double* x[4]
    cdef const double* y[4]
    cdef double sums[16]            # of the products in the columns before the tile
    cdef double s
    for first in range(0, d, 4):
        for b in range(4):
            y[b] = A + min(first + b, d - 1) * d
        for top in range(first, d, 4):
            for a in range(4):
                x[a] = A + min(top + a, d - 1) * d
            inner_each(x, y, first // 4, sums)
            inner_each(x, y + 2, first // 4, sums + 8)
            for i in range(top, min(top + 4, d)):
                for j in range(first, min(first + 4, i + 1)):
                    a, b = i - top, j - first
                    s = A[i * d + j] - sums[8 * (b // 2) + 2 * a + b % 2]
                    for k in range(first, j):
                        s -= A[i * d + k] * A[j * d + k]
                    A[i * d + j] = s / A[j * d + j] if j < i else sqrt(fmax(s + lam, lam))


cdef inline void substitute(const double* L, Py_ssize_t d, double* x) noexcept nogil:
    """x = (L L^T)^-1 x."""
    cdef Py_ssize_t i, j
    for i in range(d):
        x[i] = (x[i] - inner(L + i * d, x, i)) / L[i * d + i]
    for i in range(d - 1, -1, -1):
        x[i] /= L[i * d + i]
        for j in range(i):
            x[j] -= L[i * d + j] * x[i]
