"""The losses of k margins: multiclass hinge with costs, and softmax.

phi is a function of z = X_i^T w in R^k with the target class y. Section 3.3 of the paper writes
phi*; its sign is put right here (ERRATA 1). With alpha_i / s_i = e_y - beta, beta in the simplex,

    hinge:    phi(z) = max_j (delta_j - z_y + z_j),   phi*(-alpha_i / s_i) = -delta^T beta,
    softmax:  phi(z) = log sum_j exp(z_j) - z_y,      phi*(...) = sum_j beta_j log beta_j.
"""

import numpy as np

from libc.float cimport DBL_MIN
from libc.math cimport INFINITY, fabs, fmax, fmin, log

from .equations cimport inner
from .losses cimport clip, wright_omega, xlogx
from .losses import OPTIONS
from .block_step cimport Block, block_step
from .sums cimport EVALUATION, UNIT, Sum, add, result
from .wide cimport (
    add_each_exp, add_each_x_log_x, go_beyond, log_each, log_sum_exp, softmax, softmax_start,
    softmax_step, sum_x_log_x, two_largest,
)


cdef extern from *:
    """
    /* The part of a step on a softmax example that may be missed, and where near will do. */
    #define PROXSDCA_LEFT 3e-3
    #define PROXSDCA_ROUGH 0.1
    /* A move of log beta, from which on Newton's method had better start elsewhere. */
    #define PROXSDCA_SHORT 8.0
    /* How much longer than to the end of a step one goes beyond it, at the most, and what part of
       each beta_j is left there at the least. */
    #define PROXSDCA_BEYOND 0.33
    #define PROXSDCA_KEPT 0.3
    """
    const double LEFT "PROXSDCA_LEFT"
    const double ROUGH "PROXSDCA_ROUGH"
    const double SHORT "PROXSDCA_SHORT"
    const double BEYOND "PROXSDCA_BEYOND"
    const double KEPT "PROXSDCA_KEPT"


cdef class VectorLoss:
    """A loss phi(z) of k margins with a target class y.

    Attributes
    ----------
    gamma : float
        phi is (1/gamma)-smooth in the max norm; 0 where it is not smooth.
    lipschitz : float
        The paper's L, in the max norm.
    sparse : bool
        Whether most of a dual solution is 0; it is then kept, and returned, as a sparse matrix.
    """

    parameters = ("classes",)
    classification = True
    target_min = -INFINITY

    cdef double phi(self, Py_ssize_t y, const double* delta, const double* z,
                    Py_ssize_t k) noexcept nogil:
        return INFINITY

    cdef double omega(self, Py_ssize_t y, const double* delta, const double* beta,
                      Py_ssize_t k) noexcept nogil:
        return INFINITY

    cdef void omega_slope(self, const double* delta, const double* beta, Py_ssize_t k,
                          double* slope) noexcept nogil:
        pass

    cdef void attain(self, Py_ssize_t y, const double* delta, const double* z, Py_ssize_t k,
                     double* beta) noexcept nogil:
        pass

    cdef void best(self, Py_ssize_t y, const double* delta, const double* beta, const double* m,
                   double q, Py_ssize_t k, double* new, double* room) noexcept nogil:
        pass

    cdef void near(self, Py_ssize_t y, const double* delta, const double* beta, const double* m,
                   double q, Py_ssize_t k, double* new, double* room) noexcept nogil:
        self.best(y, delta, beta, m, q, k, new, room)

    cdef void beyond(self, const double* beta, double q, Py_ssize_t k, double* new) noexcept nogil:
        pass

    cdef double along(self, Py_ssize_t y, const double* delta, const double* beta,
                      const double* m, const double* z, double Q, Py_ssize_t k) noexcept nogil:
        return 0

    cdef double lead(self, Py_ssize_t y, const double* delta, const double* beta, const double* z,
                     double mu, Py_ssize_t k, double* room, double* phi,
                     Py_ssize_t* top) noexcept nogil:
        phi[0] = self.phi(y, delta, z, k)
        return -1

    cdef void bend(self, const double* beta, Py_ssize_t k, double mu, const double* t,
                   double* product) noexcept nogil:
        pass

    cdef void bend_diagonal(self, const double* beta, Py_ssize_t k, double mu,
                            double* diagonal) noexcept nogil:
        pass

    cdef double bounded_phi(self, Py_ssize_t y, const double* delta, const double* z,
                            Py_ssize_t k, double* error) noexcept nogil:
        error[0] = INFINITY
        return INFINITY

    cdef double bounded_omega(self, Py_ssize_t y, const double* delta, const double* beta,
                              Py_ssize_t k, double off, double* error) noexcept nogil:
        error[0] = INFINITY
        return INFINITY

    @property
    def name(self):
        """The name by which `solve` knows the loss."""
        for name, kind in VECTOR_LOSSES.items():
            if type(self) is kind:
                return name
        return type(self).__name__

    @property
    def options(self):
        """The names of the step options that exist for this loss."""
        fits = {"V": self.gamma > 0, "IV-4L2": self.gamma == 0, "IV-L2": self.gamma == 0}
        return tuple(option for option in OPTIONS if fits.get(option, True))

    def __repr__(self):
        given = ((key, getattr(self, key)) for key in self.parameters)
        values = ", ".join(f"{key}={value!r}" for key, value in given if value is not None)
        return f"{type(self).__name__}({values})"

    def __eq__(self, other):
        return type(self) is type(other) and all(
            np.array_equal(getattr(self, key), getattr(other, key)) for key in self.parameters
        )

    def __hash__(self):
        return hash(type(self))

    def __reduce__(self):
        return type(self), tuple(getattr(self, key) for key in self.parameters)

    def _delta(self, Py_ssize_t k):
        """cost(., y) as the rows of a matrix."""
        cost = getattr(self, "cost", None)
        if cost is not None and cost.shape != (k, k):
            raise ValueError(f"cost has shape {cost.shape}, {(k, k)} is needed for {k} margins")
        return np.ascontiguousarray((1 - np.eye(k)) if cost is None else np.asarray(cost, float).T)

    def _margins(self, z, y):
        """z as (n, k) numbers and y as n classes below k, or a refusal."""
        z = np.ascontiguousarray(np.atleast_2d(np.asarray(z, float)))
        if z.ndim != 2 or not z.shape[1]:
            raise ValueError(f"z has shape {z.shape}: (n, k) with k >= 1 is needed")
        y = np.atleast_1d(np.asarray(y))
        if y.dtype.kind not in "iu" or y.shape not in ((1,), (z.shape[0],)):
            raise ValueError(f"y = {y!r}: a whole number for each of the {z.shape[0]} rows of z")
        if ((y < 0) | (y >= z.shape[1])).any():
            i = int(((y < 0) | (y >= z.shape[1])).argmax())
            raise ValueError(f"y[{i}] = {y[i]}: 0 to {z.shape[1] - 1} is allowed")
        return z, np.ascontiguousarray(np.broadcast_to(y, (z.shape[0],)), dtype=np.intp)

    def value(self, z, y):
        """phi(z) for every row of z, which is (n, k), with its target class y."""
        return self._rows(0, z, y)

    def conjugate(self, a, y):
        """phi*(a) = max over z of z^T a - phi(z) for every row; infinity outside its domain.

        The domain is a = beta - e_y with beta in the simplex; 1e-12 are forgiven.
        """
        a, y = self._margins(a, y)
        beta = a + (np.arange(a.shape[1]) == y[:, None])
        inside = (np.abs(a.sum(axis=1)) <= 1e-12) & (beta >= -1e-12).all(axis=1)
        return np.where(inside, self._rows(1, np.clip(beta, 0, 1), y), np.inf)

    def subgradient(self, z, y):
        """A subgradient of phi at every row of z."""
        z, y = self._margins(z, y)
        return self._rows(2, z, y) - (np.arange(z.shape[1]) == y[:, None])

    def _rows(self, int which, z, y):
        z, y = self._margins(z, y)
        cdef const double[:, ::1] zs = z
        cdef Py_ssize_t n = zs.shape[0], k = zs.shape[1], i
        cdef const Py_ssize_t[::1] ys = y
        cdef const double[:, ::1] deltas = self._delta(k)
        betas = np.zeros((n, k))
        values = np.zeros(n)
        cdef double[:, ::1] beta = betas
        cdef double[::1] value = values
        for i in range(n):
            if which == 0:
                value[i] = self.phi(ys[i], &deltas[ys[i], 0], &zs[i, 0], k)
            elif which == 1:
                value[i] = self.omega(ys[i], &deltas[ys[i], 0], &zs[i, 0], k)
            else:
                self.attain(ys[i], &deltas[ys[i], 0], &zs[i, 0], k, &beta[i, 0])
        return betas if which == 2 else values

    def step(self, alpha, m, Py_ssize_t y, double q, option="I", q_R=None, bint near=False,
             bint beyond=False):
        """The new alpha_i / s_i by one of the paper's step options, for X_i = x_i for all classes.

        Parameters
        ----------
        alpha : (k,) array
            The dual variable alpha_i / s_i.
        m : (k,) array
            The margins X_i^T w.
        y : int
            The target class.
        q : float
            s_i |x_i|^2 / (lambda n).
        option : str
            One of `options`.
        q_R : float, optional
            s_i R^2 / (lambda n), for options IV and V; q where it is not given.
        near : bool
            Whether Option I may end near the exact step, as accelerated runs have it.
        beyond : bool
            Whether it goes beyond that, likewise.
        """
        if option not in self.options:
            raise ValueError(f"option = {option!r} does not exist for loss "
                             f"{self.name!r}; choices: {', '.join(self.options)}")
        margins_row, _ = self._margins(m, y)
        if margins_row.shape[0] != 1 or np.shape(alpha) != (margins_row.shape[1],):
            raise ValueError(f"alpha has shape {np.shape(alpha)}, m has shape {np.shape(m)}: "
                             "equal lengths are needed")
        k = margins_row.shape[1]
        e_y = np.eye(k)[y]
        cdef double[::1] margins = np.append(margins_row[0], np.zeros(7))
        cdef double[::1] beta = np.append(e_y - np.asarray(alpha, float), np.zeros(7))
        cdef double[::1] delta = self._delta(k)[y].copy()
        room = np.zeros((7, 8 * (k // 8 + 1)))
        cdef double[:, ::1] rooms = room
        cdef Block block
        block.y, block.k, block.delta = y, k, &delta[0]
        block.beta, block.m = &beta[0], &margins[0]
        block.new, block.u, block.room = &rooms[0, 0], &rooms[1, 0], &rooms[2, 0]
        block.q = max(q, DBL_MIN)
        block.q_R = block.q if q_R is None else q_R
        block.near, block.beyond = near, beyond
        block_step(self, OPTIONS[option], &block)
        return e_y - room[0, :k]


cdef inline double larger(double x, double y) noexcept nogil:
    return x if x > y else y


cdef inline double smaller(double x, double y) noexcept nogil:
    return x if x < y else y


cdef inline double top_of(const double* x, Py_ssize_t k) noexcept nogil:
    """max_j x_j, in four partial ones so that comparisons overlap."""
    cdef double t0 = x[0], t1 = x[0], t2 = x[0], t3 = x[0]
    cdef Py_ssize_t j = 0
    while j + 4 <= k:
        t0 = larger(x[j], t0)
        t1 = larger(x[j + 1], t1)
        t2 = larger(x[j + 2], t2)
        t3 = larger(x[j + 3], t3)
        j += 4
    while j < k:
        t0 = larger(x[j], t0)
        j += 1
    return larger(larger(t0, t1), larger(t2, t3))


cdef inline double least_of(const double* x, Py_ssize_t k) noexcept nogil:
    """min_j x_j, likewise."""
    cdef double t0 = x[0], t1 = x[0], t2 = x[0], t3 = x[0]
    cdef Py_ssize_t j = 0
    while j + 4 <= k:
        t0 = smaller(x[j], t0)
        t1 = smaller(x[j + 1], t1)
        t2 = smaller(x[j + 2], t2)
        t3 = smaller(x[j + 3], t3)
        j += 4
    while j < k:
        t0 = smaller(x[j], t0)
        j += 1
    return smaller(smaller(t0, t1), smaller(t2, t3))


cdef inline Py_ssize_t largest(const double* z, const double* delta, Py_ssize_t k) noexcept nogil:
    cdef Py_ssize_t j, top = 0
    for j in range(1, k):
        if z[j] + delta[j] > z[top] + delta[top]:
            top = j
    return top


cdef object own(str name, value):
    """A read-only copy, or None."""
    if value is None:
        return None
    try:
        array = np.array(value)
    except ValueError as error:
        raise ValueError(f"{name} cannot be read as an array: {error}") from error
    array.flags.writeable = False
    return array


cdef class MulticlassHinge(VectorLoss):
    """phi(z) = max_j (cost(j, y) - z_y + z_j); phi*(-alpha) = sum_{j != y} alpha_j cost(j, y).

    The domain is alpha_j <= 0 for j != y, sum_j alpha_j = 0, alpha_y <= 1. L = 2 in the max norm.

    Parameters
    ----------
    cost : (k, k) array_like, or (rows of X,) array_like, optional
        cost[j, y] >= 0 of predicting class j where y is true, 0 on the diagonal; by default 1 off
        it. Classes are numbered in their sorted order, or as `classes` has them. With `offsets`,
        a cost for each row of X, 0 for those that y chooses.
    classes : array_like, optional
        All labels in order, where y need not have all of them.
    """

    parameters = ("cost", "classes")

    def __init__(self, cost=None, classes=None):
        self.cost, self.classes = own("cost", cost), own("classes", classes)
        self.gamma, self.lipschitz, self.sparse = 0, 2, True

    cdef double phi(self, Py_ssize_t y, const double* delta, const double* z,
                    Py_ssize_t k) noexcept nogil:
        cdef double top = z[0] + delta[0]
        cdef Py_ssize_t j
        for j in range(1, k):
            top = larger(z[j] + delta[j], top)
        return fmax(top - z[y], 0)

    cdef double omega(self, Py_ssize_t y, const double* delta, const double* beta,
                      Py_ssize_t k) noexcept nogil:
        return -inner(delta, beta, k)

    cdef void omega_slope(self, const double* delta, const double* beta, Py_ssize_t k,
                          double* slope) noexcept nogil:
        cdef Py_ssize_t j
        for j in range(k):
            slope[j] = -delta[j]

    cdef void attain(self, Py_ssize_t y, const double* delta, const double* z, Py_ssize_t k,
                     double* beta) noexcept nogil:
        cdef Py_ssize_t j, top = largest(z, delta, k)
        for j in range(k):
            beta[j] = 0
        beta[y if z[y] >= z[top] + delta[top] else top] = 1

    cdef void best(self, Py_ssize_t y, const double* delta, const double* beta, const double* m,
                   double q, Py_ssize_t k, double* new, double* room) noexcept nogil:
        """The projection of beta + (delta + m) / q onto the simplex.

        With p_j = q beta_j + delta_j + m_j it is [p_j - tau]_+ / q, tau such that they sum to 1.
        Only p_j > max p - q can be above tau; those that are not above the tau of all that are
        left go, until none does.
        """
        cdef Py_ssize_t* places = <Py_ssize_t*>(room + k)
        cdef Py_ssize_t j, count = 0, left = 0
        cdef double peak, total = 0, tau = 0
        for j in range(k):
            new[j] = q * beta[j] + delta[j] + m[j]
        peak = top_of(new, k)
        for j in range(k):      # without branches, as there is no telling which they are
            room[count], places[count] = new[j] - peak, j
            count += room[count] > -q
            new[j] = 0
        while left != count:
            left, count, total = count, 0, 0
            for j in range(left):
                total += room[j]
            tau = (total - q) / left
            for j in range(left):
                room[count], places[count] = room[j], places[j]
                count += room[count] > tau
        total = 0
        for j in range(count):
            room[j] = (room[j] - tau) / q
            total += room[j]
        for j in range(count):      # the rounding of tau counts once for each class
            new[places[j]] = room[j] / total

    cdef double along(self, Py_ssize_t y, const double* delta, const double* beta,
                      const double* m, const double* z, double Q, Py_ssize_t k) noexcept nogil:
        cdef double gain = 0
        cdef Py_ssize_t j
        for j in range(k):
            gain += (delta[j] + m[j]) * z[j]
        return clip(gain / fmax(Q, DBL_MIN), 0, 1)

    cdef double lead(self, Py_ssize_t y, const double* delta, const double* beta, const double* z,
                     double mu, Py_ssize_t k, double* room, double* phi,
                     Py_ssize_t* top) noexcept nogil:
        cdef double found[3]
        cdef double by
        cdef Py_ssize_t j = 0
        two_largest(beta, z, delta, mu, k, room, found)
        phi[0] = fmax(found[2] - z[y], 0)
        by = found[0] - found[1] - mu
        if by >= 0:
            while room[j] != found[0]:
                j += 1
            top[0] = j
        return by

    cdef void bend(self, const double* beta, Py_ssize_t k, double mu, const double* t,
                   double* product) noexcept nogil:
        """(t - mean t) / mu: what a projection onto the simplex does within a face."""
        cdef double mean = 0
        cdef Py_ssize_t j
        for j in range(k):
            mean += t[j]
        mean /= k
        for j in range(k):
            product[j] = (t[j] - mean) / mu

    cdef void bend_diagonal(self, const double* beta, Py_ssize_t k, double mu,
                            double* diagonal) noexcept nogil:
        cdef Py_ssize_t j
        for j in range(k):
            diagonal[j] = (1 - 1.0 / k) / mu

    cdef double bounded_phi(self, Py_ssize_t y, const double* delta, const double* z,
                            Py_ssize_t k, double* error) noexcept nogil:
        cdef Py_ssize_t j = largest(z, delta, k)
        # `largest` compares rounded sums
        error[0] = EVALUATION * UNIT * (fabs(delta[j]) + fabs(z[j]) + fabs(z[y]))
        return self.phi(y, delta, z, k)

    cdef double bounded_omega(self, Py_ssize_t y, const double* delta, const double* beta,
                              Py_ssize_t k, double off, double* error) noexcept nogil:
        cdef Sum total = Sum(0, 0, 0, 0)
        cdef Py_ssize_t j
        for j in range(k):
            if beta[j] != 0:
                add(&total, -delta[j] * beta[j])
        error[0] = (EVALUATION * UNIT + off) * total.size * (1 + k * UNIT)
        return result(&total)


cdef class Softmax(VectorLoss):
    """phi(z) = log sum_j exp(z_j) - z_y; gamma = 1 and L = 2 in the max norm.

    phi*(-alpha) = sum_j beta_j log beta_j with beta = e_y - alpha in the simplex.

    Parameters
    ----------
    classes : array_like, optional
        All labels in order, where y need not have all of them.
    """

    def __init__(self, classes=None):
        self.classes = own("classes", classes)
        self.gamma, self.lipschitz, self.sparse = 1, 2, False

    cdef double phi(self, Py_ssize_t y, const double* delta, const double* z,
                    Py_ssize_t k) noexcept nogil:
        return log_sum_exp(z, k) - z[y]

    cdef double omega(self, Py_ssize_t y, const double* delta, const double* beta,
                      Py_ssize_t k) noexcept nogil:
        return sum_x_log_x(beta, k)

    cdef void omega_slope(self, const double* delta, const double* beta, Py_ssize_t k,
                          double* slope) noexcept nogil:
        cdef Py_ssize_t j
        for j in range(k):
            slope[j] = 1 + log(beta[j]) if beta[j] > 0 else -INFINITY

    cdef void attain(self, Py_ssize_t y, const double* delta, const double* z, Py_ssize_t k,
                     double* beta) noexcept nogil:
        softmax(z, beta, k)

    cdef void best(self, Py_ssize_t y, const double* delta, const double* beta, const double* m,
                   double q, Py_ssize_t k, double* new, double* room) noexcept nogil:
        """log beta'_j + q beta'_j = m_j + q beta_j - tau, tau such that they sum to 1.

        Newton's method on all log beta'_j and tau at once, from what belongs to m where that is
        near enough, else from halfway to beta; if that fails on tau alone, for which it cannot.
        """
        if not self.solve(beta, m, q, k, new, room, LEFT):
            self.far(beta, m, q, k, new, room)

    cdef void near(self, Py_ssize_t y, const double* delta, const double* beta, const double* m,
                   double q, Py_ssize_t k, double* new, double* room) noexcept nogil:
        if not self.solve(beta, m, q, k, new, room, ROUGH):
            self.far(beta, m, q, k, new, room)

    cdef void beyond(self, const double* beta, double q, Py_ssize_t k, double* new) noexcept nogil:
        """Over-relaxation, which pays where steps are shorter than phi's own curvature, 2 in the
        2-norm, would have them."""
        go_beyond(beta, BEYOND * q * q / (4 + q * q), KEPT, (k + 7) // 8, new)

    cdef bint solve(self, const double* beta, const double* m, double q, Py_ssize_t k,
                    double* new, double* room, double left) noexcept nogil:
        cdef Py_ssize_t eights = (k + 7) // 8, whole = 8 * eights, j
        cdef double* drift = room       # log b - m, but for the same for all classes
        cdef double* b = room + whole
        cdef double* old = room + 2 * whole
        cdef double* stiff = room + 3 * whole
        cdef double* move = room + 4 * whole
        cdef double found[3]
        cdef double peak = softmax_start(beta, m, k, old, b, drift)
        softmax_step(old, q, eights, b, drift, stiff, move, found)
        if not found[0] < SHORT:    # rather from halfway between beta and what belongs to m
            self.attain(0, NULL, m, k, b)
            for j in range(k):
                b[j] = 0.5 * (b[j] + beta[j])
            if not least_of(b, k) > 1e-300:
                return False
            log_each(b, drift, k)
            for j in range(k):
                drift[j] -= m[j] - peak
            found[0] = INFINITY
        for _ in range(20):
            # what is left after a step of Newton's is of the order of its square
            if found[0] < 2 and (found[1] <= left * found[2] or found[1] <= 1e-24):
                for j in range(k):
                    new[j] = b[j]
                return True
            softmax_step(old, q, eights, b, drift, stiff, move, found)
        return False

    cdef void far(self, const double* beta, const double* m, double q, Py_ssize_t k,
                  double* new, double* room) noexcept nogil:
        """sum_j omega(c_j - tau) = q, with Wright's omega, which is convex in tau."""
        cdef double peak = -INFINITY, log_q = log(q), tau, total, slope, x, floor
        cdef Py_ssize_t j
        for j in range(k):
            room[j] = m[j] + q * beta[j]
            peak = fmax(peak, room[j])
        for j in range(k):
            room[j] += log_q - peak
        tau = floor = -q        # where beta'_top = 1, so that the sum is at least 1
        for _ in range(200):
            total = slope = 0
            for j in range(k):
                x = wright_omega(room[j] - tau)
                total += x
                slope += x / (1 + x)
            x = (total - q) / slope
            tau = fmax(tau + x, floor)
            if fabs(x) <= 1e-13 * (1 + fabs(tau)) or fabs(total - q) <= 1e-14 * q:
                break
        total = 0
        for j in range(k):
            new[j] = wright_omega(room[j] - tau)
            total += new[j]
        for j in range(k):
            new[j] /= total

    cdef double along(self, Py_ssize_t y, const double* delta, const double* beta,
                      const double* m, const double* z, double Q, Py_ssize_t k) noexcept nogil:
        """The root in [0, 1] of an increasing function, by Newton's method within a bracket."""
        cdef double low = 0, high = 1, s = 0.5, value, slope, gain = 0, x
        cdef Py_ssize_t j
        for j in range(k):
            gain += m[j] * z[j]
        for _ in range(100):
            value, slope = Q * s - gain, Q
            for j in range(k):
                if z[j] != 0:
                    x = beta[j] + s * z[j]
                    x = x if x > DBL_MIN else DBL_MIN
                    value += z[j] * log(x)
                    slope += z[j] * z[j] / x
            if value > 0:
                high = s
            else:
                low = s
            x = s - value / slope
            if not low < x < high:
                x = 0.5 * (low + high)
            if fabs(x - s) <= 1e-12 * x or high - low <= 1e-15:
                return x
            s = x
        return s

    cdef void bend(self, const double* beta, Py_ssize_t k, double mu, const double* t,
                   double* product) noexcept nogil:
        """beta_j (t_j - beta^T t), for mu = 0."""
        cdef double mean = 0
        cdef Py_ssize_t j
        for j in range(k):
            mean += beta[j] * t[j]
        for j in range(k):
            product[j] = beta[j] * (t[j] - mean)

    cdef void bend_diagonal(self, const double* beta, Py_ssize_t k, double mu,
                            double* diagonal) noexcept nogil:
        cdef Py_ssize_t j
        for j in range(k):
            diagonal[j] = beta[j] * (1 - beta[j])

    cdef double bounded_phi(self, Py_ssize_t y, const double* delta, const double* z,
                            Py_ssize_t k, double* error) noexcept nogil:
        cdef double peak = top_of(z, k), total
        cdef double found[4]
        add_each_exp(z, peak, k, found)
        total = found[0] + found[1]
        # each exponent is off by its rounding, so that the logarithm is by their mean
        error[0] = EVALUATION * UNIT * (
            1 + found[2] / total + log(<double>k) + fabs(peak) + fabs(z[y]))
        return log(total) + (peak - z[y])

    cdef double bounded_omega(self, Py_ssize_t y, const double* delta, const double* beta,
                              Py_ssize_t k, double off, double* error) noexcept nogil:
        cdef double x = xlogx(beta[y]), others, h
        cdef double found[4]
        off += 8 * UNIT
        add_each_x_log_x(beta, k, found)
        others = off * (found[2] + found[3])
        # beta_y is off by as much as the others together, and so by `off` at the most
        h = fmax(fabs(xlogx(fmin(beta[y] + off, 1)) - x), fabs(xlogx(fmax(beta[y] - off, 0)) - x))
        # beta_j that are not normal numbers are left out
        error[0] = ((EVALUATION * UNIT * found[2] + others + h) * (1 + k * UNIT)
                    + 1e3 * DBL_MIN * k)
        return found[0] + found[1]


# Every vector-valued loss by its name.
VECTOR_LOSSES = {
    "multiclass_hinge": MulticlassHinge,
    "softmax": Softmax,
}
