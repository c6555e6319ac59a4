# Symmetric positive definite equations: dense ones by Cholesky's method, others by conjugate
# gradients.

from libc.math cimport fmax, sqrt


cdef class Equations:
    cdef readonly Py_ssize_t dim        # numbers in w
    cdef readonly bint exact            # whether `precondition` is by H itself
    cdef readonly double[::1] residual  # -gradient - H x where `solve` has ended ...
    cdef readonly double left           # ... and its squared length


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
    """The lower triangle of A becomes L with L L^T = A + lam I."""
    cdef Py_ssize_t i, j
    cdef double x
    for i in range(d):
        for j in range(i + 1):
            x = A[i * d + j] - inner(A + i * d, A + j * d, j)
            if j < i:
                A[i * d + j] = x / A[j * d + j]
            else:
                A[i * d + i] = sqrt(fmax(x + lam, lam))


cdef inline void substitute(const double* L, Py_ssize_t d, double* x) noexcept nogil:
    """x = (L L^T)^-1 x."""
    cdef Py_ssize_t i, j
    for i in range(d):
        x[i] = (x[i] - inner(L + i * d, x, i)) / L[i * d + i]
    for i in range(d - 1, -1, -1):
        x[i] /= L[i * d + i]
        for j in range(i):
            x[j] -= L[i * d + j] * x[i]
