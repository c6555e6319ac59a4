# Losses of k margins z = X_i^T w with a target class y.
#
# Both of them are largest values over the probability simplex, so that the dual variable of an
# example is alpha_i / s_i = e_y - beta with beta in the simplex, and
#     phi*(-alpha_i / s_i) = omega(beta),   phi(z) = max_beta (beta - e_y)^T z - omega(beta).
# Everything below is in terms of beta; delta is the column cost(., y), with delta_y = 0.

cimport cython


cdef class VectorLoss:
    cdef readonly double gamma          # phi is (1/gamma)-smooth in the max norm; 0 where it is not
    cdef readonly double lipschitz      # in the max norm
    cdef readonly bint sparse           # whether most entries of beta are 0 at a solution

    cdef double phi(self, Py_ssize_t y, const double* delta, const double* z,
                    Py_ssize_t k) noexcept nogil
    cdef double omega(self, Py_ssize_t y, const double* delta, const double* beta,
                      Py_ssize_t k) noexcept nogil
    # The derivative of omega at beta; -infinity where there is none at 0.
    cdef void omega_slope(self, const double* delta, const double* beta, Py_ssize_t k,
                          double* slope) noexcept nogil
    # The beta that attains phi(z): -u = beta - e_y is a subgradient.
    cdef void attain(self, Py_ssize_t y, const double* delta, const double* z, Py_ssize_t k,
                     double* beta) noexcept nogil
    # Option I: argmin over beta' of omega(beta') - m^T beta' + q/2 |beta' - beta|_2^2, q > 0.
    # beta and m may be read, and room has 5 k numbers, with k rounded up to whole eights.
    cdef void best(self, Py_ssize_t y, const double* delta, const double* beta, const double* m,
                   double q, Py_ssize_t k, double* new, double* room) noexcept nogil
    # A step that may end near that one, where this is faster.
    cdef void near(self, Py_ssize_t y, const double* delta, const double* beta, const double* m,
                   double q, Py_ssize_t k, double* new, double* room) noexcept nogil
    # From beta through the end of such a step, and on, where others that see the same w will move
    # it the same way.
    cdef void beyond(self, const double* beta, double q, Py_ssize_t k, double* new) noexcept nogil
    # Option II: argmin over s in [0, 1] of omega(beta + s z) - s m^T z + Q/2 s^2.
    cdef double along(self, Py_ssize_t y, const double* delta, const double* beta,
                      const double* m, const double* z, double Q, Py_ssize_t k) noexcept nogil

    # Where `best` for q = mu ends at a corner, which is then `top`, by how much its class leads
    # there; else something negative.  phi is phi(z) in any case.  For a sparse beta alone; room
    # has k numbers.
    cdef double lead(self, Py_ssize_t y, const double* delta, const double* beta, const double* z,
                     double mu, Py_ssize_t k, double* room, double* phi,
                     Py_ssize_t* top) noexcept nogil

    # The derivative of beta' with respect to m, beta' being `best` for q = mu, or `attain` where
    # mu = 0: its product with t, and its diagonal.  beta' is given on its support.
    cdef void bend(self, const double* beta, Py_ssize_t k, double mu, const double* t,
                   double* product) noexcept nogil
    cdef void bend_diagonal(self, const double* beta, Py_ssize_t k, double mu,
                            double* diagonal) noexcept nogil

    # phi and omega with bounds on their rounding errors, the latter where each beta_j, j != y, is
    # off by a relative error `off`, and beta_y is 1 less the sum of the others.
    cdef double bounded_phi(self, Py_ssize_t y, const double* delta, const double* z,
                            Py_ssize_t k, double* error) noexcept nogil
    cdef double bounded_omega(self, Py_ssize_t y, const double* delta, const double* beta,
                              Py_ssize_t k, double off, double* error) noexcept nogil


@cython.final
cdef class MulticlassHinge(VectorLoss):
    cdef readonly object cost
    cdef readonly object classes


@cython.final
cdef class Softmax(VectorLoss):
    cdef readonly object classes
    cdef bint solve(self, const double* beta, const double* m, double q, Py_ssize_t k,
                    double* new, double* room, double left) noexcept nogil
    cdef void far(self, const double* beta, const double* m, double q, Py_ssize_t k,
                  double* new, double* room) noexcept nogil
