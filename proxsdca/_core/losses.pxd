# The formulas of the scalar losses.  They stand here, inline in final classes,
# so that the loop calls them without a virtual call; names, parameters and
# documentation are in losses.pyx.  a is the argument of phi*, b = alpha / s,
# so that phi* is always taken at a = -b.

cimport cython
from libc.math cimport INFINITY, exp, expm1, fabs, log, log1p

from .term cimport Term


cdef class Loss(Term):
    cdef readonly bint classification   # y is -1 or +1
    cdef readonly double target_min     # y below this is refused
    cdef readonly bint quadratic        # phi* is a quadratic inside its domain, but for kinks
    # For formulas that are written in Python: which of them there are, the domains of b that were
    # asked for, and the first exception in each thread, as the loop cannot raise it.
    cdef bint python
    cdef bint has_conjugate, has_step, has_domain, has_value_size, has_conjugate_size
    cdef dict ends
    cdef dict failures

    cdef double answer(self, str method, tuple arguments) noexcept
    cdef bint answers(self, str method, Py_ssize_t n, const double* y, const double* x,
                      double* out) noexcept
    cdef double end(self, double y, int which) noexcept
    cdef void fail(self, BaseException error, str call) noexcept


cdef object copied(const double* x, Py_ssize_t n)


cdef inline double clip(double x, double lo, double hi) noexcept nogil:
    x = x if x > lo else lo
    return x if x < hi else hi


cdef extern from *:
    """
    #ifdef __SSE2__
    #include <emmintrin.h>
    static inline double proxsdca_clamp(double x, double lo, double hi)
    {
        __m128d y = _mm_max_sd(_mm_set_sd(x), _mm_set_sd(lo));
        return _mm_cvtsd_f64(_mm_min_sd(y, _mm_set_sd(hi)));
    }
    #else
    static inline double proxsdca_clamp(double x, double lo, double hi)
    {
        x = x > lo ? x : lo;
        return x < hi ? x : hi;
    }
    #endif
    """
    # `clip`, never by branches: whether a step ends inside the domain nobody foresees
    double clamp "proxsdca_clamp"(double x, double lo, double hi) noexcept nogil


cdef inline double soft(double x, double threshold) noexcept nogil:
    # sign(x) [|x| - threshold]_+ without a branch
    return x - clip(x, -threshold, threshold)


cdef inline double xlogx(double x) noexcept nogil:
    return x * log(x) if x > 0 else 0.0


cdef inline double wright_omega(double d) noexcept nogil:
    """The root s of s + log s = d, by the Fritsch-Shafer-Crowley iteration."""
    cdef double e, s, r, w, c
    cdef int _
    if d < -40:
        return exp(d)
    if d <= 1:
        e = exp(d)
        s = e / (1 + 0.632 * e)
    else:
        s = d - log(d)
    for _ in range(4):
        r = d - s - log(s)
        w = 1 + s
        c = w + r * (2.0 / 3.0)
        s *= 1 + r / w * (c - 0.5 * r / w) / (c - r / w)
        if fabs(r) < 1e-5 * w:      # the error shrinks with the fourth power
            break
    return s


@cython.final
cdef class Hinge(Loss):
    cdef inline double phi(self, double y, double z) noexcept nogil:
        cdef double t = 1 - y * z
        return t if t > 0 else 0.0

    cdef inline double phi_conj(self, double y, double a) noexcept nogil:
        cdef double t = -y * a
        return -t if 0 <= t <= 1 else INFINITY

    cdef inline double phi_slope(self, double y, double z) noexcept nogil:
        return -y if y * z < 1 else 0.0

    cdef inline double best(self, double y, double b, double m, double q) noexcept nogil:
        return y * clamp(y * b + (1 - y * m) / q, 0, 1)

    cdef inline double lower(self, double y) noexcept nogil:
        return 0.0 if y > 0 else -1.0

    cdef inline double upper(self, double y) noexcept nogil:
        return 1.0 if y > 0 else 0.0


@cython.final
cdef class SmoothHinge(Loss):
    cdef inline double phi(self, double y, double z) noexcept nogil:
        cdef double t = 1 - y * z
        if t <= 0:
            return 0.0
        if t >= self.gamma:
            return t - 0.5 * self.gamma
        return t * t / (2 * self.gamma)

    cdef inline double phi_conj(self, double y, double a) noexcept nogil:
        cdef double t = -y * a
        return -t + 0.5 * self.gamma * t * t if 0 <= t <= 1 else INFINITY

    cdef inline double phi_slope(self, double y, double z) noexcept nogil:
        return -y * clip((1 - y * z) / self.gamma, 0, 1)

    cdef inline double best(self, double y, double b, double m, double q) noexcept nogil:
        cdef double t = y * b
        return y * clamp(t + (1 - y * m - self.gamma * t) / (self.gamma + q), 0, 1)

    cdef inline double lower(self, double y) noexcept nogil:
        return 0.0 if y > 0 else -1.0

    cdef inline double upper(self, double y) noexcept nogil:
        return 1.0 if y > 0 else 0.0

    cdef inline double conj_size(self, double y, double a) noexcept nogil:
        return fabs(a) + 0.5 * self.gamma * a * a


@cython.final
cdef class SquaredHinge(Loss):
    cdef inline double phi(self, double y, double z) noexcept nogil:
        cdef double t = 1 - y * z
        return t * t if t > 0 else 0.0

    cdef inline double phi_conj(self, double y, double a) noexcept nogil:
        cdef double t = -y * a
        return -t + 0.25 * t * t if t >= 0 else INFINITY

    cdef inline double phi_slope(self, double y, double z) noexcept nogil:
        cdef double t = 1 - y * z
        return -2 * y * t if t > 0 else 0.0

    cdef inline double best(self, double y, double b, double m, double q) noexcept nogil:
        cdef double t = y * b
        t += (1 - y * m - 0.5 * t) / (0.5 + q)
        return y * t if t > 0 else 0.0

    cdef inline double lower(self, double y) noexcept nogil:
        return 0.0 if y > 0 else -INFINITY

    cdef inline double upper(self, double y) noexcept nogil:
        return INFINITY if y > 0 else 0.0

    cdef inline double conj_size(self, double y, double a) noexcept nogil:
        return fabs(a) + 0.25 * a * a


@cython.final
cdef class Logistic(Loss):
    cdef inline double phi(self, double y, double z) noexcept nogil:
        cdef double t = y * z
        return log1p(exp(-t)) if t > 0 else log1p(exp(t)) - t

    cdef inline double phi_conj(self, double y, double a) noexcept nogil:
        cdef double t = -y * a
        if not 0 <= t <= 1:
            return INFINITY
        return xlogx(t) + ((1 - t) * log1p(-t) if t < 1 else 0.0)

    cdef inline double phi_slope(self, double y, double z) noexcept nogil:
        cdef double e = exp(-fabs(z))
        return -y * (e if y * z > 0 else 1.0) / (1 + e)

    cdef inline double response(self, double y, double z, double* b) noexcept nogil:
        cdef double t = y * z
        return log1p(self.odds(y, z, b)) - (0.0 if t > 0 else t)

    cdef inline double odds(self, double y, double z, double* b) noexcept nogil:
        """exp(-|y z|), which serves phi and its derivative."""
        cdef double t = y * z, e = exp(-fabs(t))
        b[0] = y * (e if t > 0 else 1.0) / (1 + e)
        return e

    cdef inline double best(self, double y, double b, double m, double q) noexcept nogil:
        return self.root(y, b, m, q, 1e-5)

    cdef inline double near(self, double y, double b, double m, double q) noexcept nogil:
        """`best`, but for a part of the move of 0.005 at the most: less than 0.0001 of its rise."""
        return self.root(y, b, m, q, 0.1)

    cdef inline double root(self, double y, double b, double m, double q,
                            double last) noexcept nogil:
        """Option I by Newton's method of third order, up to a move of u by `last` or less."""
        # With t = y b' = sigmoid(u), u is the root of the increasing function
        # F(u) = u + y m + q (sigmoid(u) - y b).  Halley from u = -y m, where
        # the root ends up as the run converges; bisection where Halley leaves
        # the bracket or does not halve the last move.  As the sigmoid's second
        # and third derivatives are at most its first, a step of length h leaves
        # an error of at most h^3 / 2.  With e = exp(-|u|) F is f / (1 + e), F' is
        # slope / (1 + e)^2 and F'' is bend / (1 + e)^3: so h takes one division.
        cdef double t0 = y * b, c = y * m
        cdef double u = -c, e, one, p, slope, f, h, bend, move = INFINITY
        # The sigmoid lies in [0, 1], and is 0 or 1 in double precision outside -745 ... 40.
        cdef double lo = max(-c - q * (1 - t0), min(-c, -745.0))
        cdef double hi = min(-c + q * t0, max(-c, 40.0))
        cdef int _
        for _ in range(128):
            e = exp(-fabs(u))
            one = 1 + e
            p = (1.0 if u > 0 else e) / one
            f = (u + c) * one + q * ((1.0 if u > 0 else e) - t0 * one)
            if f > 0:
                hi = u
            else:
                lo = u
            slope = one * one + q * e
            bend = q * e * (e - 1 if u > 0 else 1 - e)
            if q < 1e100:
                h = slope * slope
                if f * bend < h:
                    h -= 0.5 * f * bend
                h = -f * slope * one / h
            else:       # in quotients, as products would overflow
                h = -f * one / slope
                bend /= slope * one
                if h * bend > -1:
                    h /= 1 + 0.5 * h * bend
            if fabs(h) <= last or fabs(h) <= 1e-15 * fabs(u):
                return y * clip(p + p * (1 - p) * h * (1 + 0.5 * h * (1 - 2 * p)), 0, 1)
            if not (lo < u + h < hi and fabs(h) <= 0.5 * move):
                h = 0.5 * (lo + hi) - u
            u += h
            move = fabs(h)
        return y * clip(p, 0, 1)

    cdef inline double lower(self, double y) noexcept nogil:
        return 0.0 if y > 0 else -1.0

    cdef inline double upper(self, double y) noexcept nogil:
        return 1.0 if y > 0 else 0.0

    cdef inline double conj_size(self, double y, double a) noexcept nogil:
        return self.size_beside(self.phi_conj(y, a), a)

    cdef inline double size_beside(self, double conj, double a) noexcept nogil:
        """`conj_size`, where phi*(a) is at hand."""
        # near t = 1 a rounding of t moves (1 - t) log(1 - t) by up to 37 roundings
        return fabs(conj) + 5 * fabs(a)


@cython.final
cdef class Squared(Loss):
    cdef inline double phi(self, double y, double z) noexcept nogil:
        return 0.5 * (z - y) * (z - y)

    cdef inline double phi_conj(self, double y, double a) noexcept nogil:
        return a * (0.5 * a + y)

    cdef inline double phi_slope(self, double y, double z) noexcept nogil:
        return z - y

    cdef inline double best(self, double y, double b, double m, double q) noexcept nogil:
        return b + (y - m - b) / (1 + q)

    cdef inline double conj_size(self, double y, double a) noexcept nogil:
        return fabs(a) * (0.5 * fabs(a) + fabs(y))


@cython.final
cdef class Absolute(Loss):
    cdef inline double phi(self, double y, double z) noexcept nogil:
        return fabs(z - y)

    cdef inline double phi_conj(self, double y, double a) noexcept nogil:
        return y * a if fabs(a) <= 1 else INFINITY

    cdef inline double phi_slope(self, double y, double z) noexcept nogil:
        return 1.0 if z > y else (-1.0 if z < y else 0.0)

    cdef inline double best(self, double y, double b, double m, double q) noexcept nogil:
        return clip(b + (y - m) / q, -1, 1)

    cdef inline double lower(self, double y) noexcept nogil:
        return -1.0

    cdef inline double upper(self, double y) noexcept nogil:
        return 1.0


@cython.final
cdef class Quantile(Loss):
    cdef readonly double tau

    cdef inline double phi(self, double y, double z) noexcept nogil:
        return self.tau * (y - z) if y > z else (1 - self.tau) * (z - y)

    cdef inline double phi_conj(self, double y, double a) noexcept nogil:
        return y * a if -self.tau <= a <= 1 - self.tau else INFINITY

    cdef inline double phi_slope(self, double y, double z) noexcept nogil:
        return 1 - self.tau if z > y else (-self.tau if z < y else 0.0)

    cdef inline double best(self, double y, double b, double m, double q) noexcept nogil:
        return clip(b + (y - m) / q, self.tau - 1, self.tau)

    cdef inline double lower(self, double y) noexcept nogil:
        return self.tau - 1

    cdef inline double upper(self, double y) noexcept nogil:
        return self.tau


@cython.final
cdef class EpsilonInsensitive(Loss):
    cdef readonly double eps

    cdef inline double phi(self, double y, double z) noexcept nogil:
        cdef double t = fabs(z - y) - self.eps
        return t if t > 0 else 0.0

    cdef inline double phi_conj(self, double y, double a) noexcept nogil:
        return y * a + self.eps * fabs(a) if fabs(a) <= 1 else INFINITY

    cdef inline double phi_slope(self, double y, double z) noexcept nogil:
        return 1.0 if z - y > self.eps else (-1.0 if y - z > self.eps else 0.0)

    cdef inline double best(self, double y, double b, double m, double q) noexcept nogil:
        return clip(soft(q * b + (y - m), self.eps) / q, -1, 1)

    cdef inline double lower(self, double y) noexcept nogil:
        return -1.0

    cdef inline double upper(self, double y) noexcept nogil:
        return 1.0

    cdef inline double phi_size(self, double y, double z) noexcept nogil:
        cdef double r = fabs(z - y)
        return r + self.eps if r - self.eps > -1e-15 * (r + self.eps) else 0.0

    cdef inline double conj_size(self, double y, double a) noexcept nogil:
        return fabs(y * a) + self.eps * fabs(a)


@cython.final
cdef class Huber(Loss):
    cdef readonly double delta

    cdef inline double phi(self, double y, double z) noexcept nogil:
        cdef double r = fabs(z - y)
        return 0.5 * r * r if r <= self.delta else self.delta * (r - 0.5 * self.delta)

    cdef inline double phi_conj(self, double y, double a) noexcept nogil:
        return a * (0.5 * a + y) if fabs(a) <= self.delta else INFINITY

    cdef inline double phi_slope(self, double y, double z) noexcept nogil:
        return clip(z - y, -self.delta, self.delta)

    cdef inline double best(self, double y, double b, double m, double q) noexcept nogil:
        return clip(b + (y - m - b) / (1 + q), -self.delta, self.delta)

    cdef inline double lower(self, double y) noexcept nogil:
        return -self.delta

    cdef inline double upper(self, double y) noexcept nogil:
        return self.delta

    cdef inline double conj_size(self, double y, double a) noexcept nogil:
        return fabs(a) * (0.5 * fabs(a) + fabs(y))


@cython.final
cdef class Poisson(Loss):
    # Written with r = z - log y and t = y - b so that nothing large cancels
    # near the fit: phi = y (e^r - 1 - r), phi*(-b) = t log(t / y) + b - b log y.

    cdef inline double phi(self, double y, double z) noexcept nogil:
        cdef double r
        if y == 0:
            return exp(z)
        r = z - log(y)
        return y * (expm1(r) - r) if r < 1 else exp(z) - y * (1 + r)

    cdef inline double phi_conj(self, double y, double a) noexcept nogil:
        cdef double t = y + a
        if t < 0:
            return INFINITY
        if a > y:
            return (xlogx(t) - xlogx(y)) - a
        if a == 0:
            return 0.0
        return (t * log1p(a / y) if t > 0 else 0.0) - a + a * log(y)

    cdef inline double phi_slope(self, double y, double z) noexcept nogil:
        return exp(z) - y

    cdef inline double best(self, double y, double b, double m, double q) noexcept nogil:
        # t = y - b' solves log t + q t = c: with s = q t, s + log s = c + log q
        cdef double c = m + q * (y - b)
        cdef double s
        if not c < 1e300:
            return b - m / q        # log t is nothing beside q t
        s = wright_omega(c + log(q))
        return y - (exp(c - s) if s < 1 else s / q)

    cdef inline double upper(self, double y) noexcept nogil:
        return y

    cdef inline double phi_size(self, double y, double z) noexcept nogil:
        cdef double r, e
        if y == 0:
            return exp(z)
        r = z - log(y)
        e = fabs(y * expm1(r)) if r < 1 else exp(z)
        return e + y * fabs(r) + e * (fabs(r) + fabs(log(y)))       # r itself is rounded

    cdef inline double conj_size(self, double y, double a) noexcept nogil:
        cdef double t = y + a
        if a == 0:
            return 0.0
        if a > y:
            return fabs(xlogx(t)) + fabs(xlogx(y)) + 2 * a
        return (t * fabs(log1p(a / y)) if t > 0 else 0.0) + fabs(a) * (2 + fabs(log(y)))
