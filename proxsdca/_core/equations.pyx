"""H x = -gradient, for an H that can be multiplied with."""

import numpy as np

from libc.math cimport INFINITY, sqrt

from .wide cimport go_along, inner_wide, turn


cdef class Equations:
    """What has `product`, the one with H, and `precondition`, by what H is near to."""

    def product(self, const double[::1] x, double[::1] out):
        """out = H x."""
        raise NotImplementedError

    def precondition(self, const double[::1] r, double[::1] out):
        """out = M^-1 r."""
        raise NotImplementedError

    cdef void advance(self, double a) noexcept:
        """x has moved by a p, whose product was the last one; from 0 on, for a = 0."""

    def solve(self, const double[::1] gradient, double[::1] x, double accuracy, Py_ssize_t most,
              double enough=0, double radius=INFINITY):
        """x = -H^-1 gradient, to a part of its size in the preconditioner's norm, or until `left`
        is small enough, or until |x| gets to the radius, where it stays.

        Returns the number of steps of the method of conjugate gradients.
        """
        cdef Py_ssize_t step = 0, dim = self.dim
        cdef double[::1] r = np.negative(gradient)
        cdef double[::1] p = np.zeros(dim)
        cdef double[::1] Hp = np.zeros(dim)
        cdef double[::1] z = np.zeros(dim)
        cdef double rz, last, first, bend, a, size = 0, along = 0, length = 0
        cdef bint outside
        x[:] = 0
        self.advance(0)
        self.precondition(r, z)
        self.residual = r
        if self.exact:
            x[:], r[:] = z, 0
            self.left = 0
            return 0
        p[:] = z
        rz = first = inner_wide(&r[0], &z[0], dim)
        self.left = inner_wide(&r[0], &r[0], dim)
        while (step < most and rz > accuracy * accuracy * first and rz > 0
               and self.left > enough):
            self.product(p, Hp)
            bend = inner_wide(&p[0], &Hp[0], dim)
            if not bend > 0:
                break
            a = rz / bend
            outside = False
            if radius < INFINITY:
                size = inner_wide(&x[0], &x[0], dim)
                along = inner_wide(&x[0], &p[0], dim)
                length = inner_wide(&p[0], &p[0], dim)
                outside = size + a * (2 * along + a * length) > radius * radius
            if outside:
                a = (sqrt(along * along + length * (radius * radius - size)) - along) / length
            self.left = go_along(a, &p[0], &Hp[0], &x[0], &r[0], dim)
            self.advance(a)
            self.precondition(r, z)
            last, rz = rz, inner_wide(&r[0], &z[0], dim)
            turn(rz / last, &z[0], &p[0], dim)
            step += 1
            if outside:
                break
        return step
