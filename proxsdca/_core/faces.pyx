"""Ascent along the face that alpha is on, for losses of one margin whose phi* is a quadratic there.

The free examples are those whose alpha_i is inside its domain.  While the others stay, and so does
the support of w = grad g*(v), n D is a quadratic of their alpha_i, with the Hessian -(C + Q), where
C_ii is the second derivative of s_i phi*(-alpha_i / s_i) and Q_ik = x_i^T x_k / (lambda n), over
the columns in the support.  Conjugate gradients go towards its maximum; what leaves the domain is
projected back, by shorter steps until the true dual has risen.

Q may be singular along directions in which D goes on rising until they leave the domain, as for two
equal rows of different labels: a proximal term, MU of Q's diagonal, keeps these long but finite.
"""

import numpy as np

from libc.math cimport INFINITY

from .equations cimport inner
from .losses cimport clip
from .map cimport Map
from .regs cimport L2Map
from .rows cimport (
    AnyRows, CSR32i32, CSR32i64, CSR64i32, CSR64i64, Dense32, Dense64, Rows, Strided32, Strided64,
    axpy, dot,
)
from .signals cimport PATIENCE, poll
from .sums cimport Sum, add, result
from .term cimport Term


cdef enum:
    SHORTEST = 6            # halvings of a step


cdef extern from *:
    """
    #define PROXSDCA_MU 1e-3
    """
    const double MU "PROXSDCA_MU"


cdef class Faces:
    """Steps along faces.

    Parameters
    ----------
    rows, term, target, weight
        As in `Epoch`; the term has a `conj_slope` and a `conj_curve`.
    map : Map
        Separable, with g*(v) = |grad g*(v)|^2 / 2.
    scale : float
        1 / (lambda n).

    `most` is how many steps of conjugate gradients there may be.
    """

    cdef Rows rows
    cdef Term term
    cdef Map map
    cdef L2Map plain
    cdef const double[::1] target, weight
    cdef double scale
    cdef Py_ssize_t visited                 # rows
    cdef readonly Py_ssize_t free           # examples inside their domain
    cdef public Py_ssize_t most
    cdef Py_ssize_t[::1] example            # which they are
    cdef double[::1] bend                   # C_ii, with the proximal term
    cdef double[::1] wide                   # of the length of v

    def __init__(self, Rows rows, Term term, Map map, const double[::1] target, weight,
                 double scale):
        self.rows, self.term, self.map, self.plain = rows, term, map, L2Map()
        self.target, self.weight, self.scale = target, weight, scale
        self.example, self.bend = np.empty(rows.n, np.intp), np.empty(rows.n)
        self.wide, self.most = np.empty(rows.d), 300

    @property
    def touched(self):
        """Nonzeros read, as if rows were of equal length: choices follow it, and as it is never
        rounded down, there are as many passes in every storage."""
        cdef object visited = self.visited, nnz = self.rows.nnz     # whose product may be large
        return -(-visited * nnz // self.rows.n)

    cdef inline double s(self, Py_ssize_t i) noexcept nogil:
        return 1 if self.weight is None else self.weight[i]

    def ascend_faces(self, double[::1] alpha, double[::1] v, const double[::1] curvature,
                     double accuracy, passes_left):
        """Raise D.

        Parameters
        ----------
        alpha : (n,) array
            Overwritten where the dual rises.
        v : (d,) array
            v(alpha), overwritten likewise.
        curvature : (n,) array
            |x_i|^2 / (lambda n).
        accuracy : float
            The part of the gradient that may be left.
        passes_left : callable
            How many passes over X there is time for.

        Returns
        -------
        bool
            Whether the dual has risen.
        """
        cdef Py_ssize_t i, f, j, step = 0, d = self.rows.d
        cdef double c, bend, rz, last, first, a, s, t = 1
        cdef double* wide = &self.wide[0]
        self.free = 0
        for i in range(self.rows.n):
            s = self.s(i)
            c = self.term.conj_curve(self.target[i], alpha[i] / s) if s > 0 else INFINITY
            if c < INFINITY and curvature[i] > 0:
                self.example[self.free] = i
                self.bend[self.free] = c / s + MU * curvature[i]
                self.free += 1
        if self.free == 0:
            return False
        cdef double[::1] r = np.empty(self.free)
        cdef double[::1] z = np.empty(self.free)
        cdef double[::1] p = np.empty(self.free)
        cdef double[::1] at = np.empty(self.free)
        cdef double[::1] direction = np.zeros(self.free)
        cdef double[::1] support = np.empty(d)
        for j in range(d):
            wide[j] = self.map.at(j, v[j])
            support[j] = wide[j] != 0 or isinstance(self.map, L2Map)
        self._pass(False, at)
        for f in range(self.free):
            i = self.example[f]
            r[f] = -(self.term.conj_slope(self.target[i], alpha[i] / self.s(i)) + at[f])
            p[f] = z[f] = r[f] / (self.bend[f] + curvature[i])
        rz = first = inner(&r[0], &z[0], self.free)
        while step < self.most and rz > accuracy * accuracy * first and passes_left() > 4:
            self._pass(True, p)
            for j in range(d):
                wide[j] *= support[j]
            self._pass(False, at)
            bend = 0
            for f in range(self.free):
                at[f] += self.bend[f] * p[f]
                bend += at[f] * p[f]
            if not bend > 0:
                break
            a = rz / bend
            for f in range(self.free):
                direction[f] += a * p[f]
                r[f] -= a * at[f]
                z[f] = r[f] / (self.bend[f] + curvature[self.example[f]])
            last, rz = rz, inner(&r[0], &z[0], self.free)
            for f in range(self.free):
                p[f] = z[f] + rz / last * p[f]
            step += 1
        for _halving in range(SHORTEST):
            if self.rise(alpha, v, direction, t, p, at) > 0:
                for f in range(self.free):
                    alpha[self.example[f]] = p[f]
                for j in range(d):
                    v[j] += wide[j]
                return True
            t *= 0.5
        return False

    cdef double rise(self, const double[::1] alpha, const double[::1] v,
                     const double[::1] direction, double t, double[::1] new,
                     double[::1] change) except? -1:
        """n times the rise of D by a step of length t, projected into the domain.

        Writes the new alpha_i of the free examples, what they change by, and the change of v.
        """
        cdef Py_ssize_t i, f, j
        cdef double s, y, old, b, before, after
        cdef Sum total = Sum(0, 0, 0, 0)
        for f in range(self.free):
            i = self.example[f]
            s, y = self.s(i), self.target[i]
            old = alpha[i] / s
            b = clip(old + t * direction[f] / s, self.term.lower(y), self.term.upper(y))
            add(&total, s * (self.term.phi_conj(y, -old) - self.term.phi_conj(y, -b)))
            new[f] = s * b
            change[f] = new[f] - alpha[i]
        self._pass(True, change)
        for j in range(self.rows.d):
            before, after = self.map.at(j, v[j]), self.map.at(j, v[j] + self.wide[j])
            add(&total, -0.5 * (after - before) * (after + before) / self.scale)
        return result(&total)

    def _pass(self, bint scatter, double[::1] x):
        """wide = 1/(lambda n) sum_i x_i x[i] over the free examples, or x[i] = x_i^T wide."""
        cdef Rows rows = self.rows
        if isinstance(rows, CSR32i32):
            visit(self, <CSR32i32>rows, scatter, x)
        elif isinstance(rows, CSR64i32):
            visit(self, <CSR64i32>rows, scatter, x)
        elif isinstance(rows, CSR32i64):
            visit(self, <CSR32i64>rows, scatter, x)
        elif isinstance(rows, CSR64i64):
            visit(self, <CSR64i64>rows, scatter, x)
        elif isinstance(rows, Dense32):
            visit(self, <Dense32>rows, scatter, x)
        elif isinstance(rows, Dense64):
            visit(self, <Dense64>rows, scatter, x)
        elif isinstance(rows, Strided32):
            visit(self, <Strided32>rows, scatter, x)
        else:
            visit(self, <Strided64>rows, scatter, x)


cdef int visit(Faces state, AnyRows rows, bint scatter, double[::1] x) except -1:
    cdef Py_ssize_t f, i, each = rows.nnz // rows.n + 1, unseen = 0
    cdef double* wide = &state.wide[0]
    if scatter:
        state.wide[:] = 0
    with nogil:
        for f in range(state.free):
            i = state.example[f]
            if scatter:
                axpy(rows, i, state.scale * x[f], state.plain, wide, NULL, 0)
            else:
                x[f] = dot(rows, i, state.plain, wide)
            unseen += each
            if unseen > 4 * PATIENCE:
                unseen = 0
                poll()
    state.visited += state.free
    return 0
