# The step options of Procedure Prox-SDCA for alpha_i in R^k: see vector_losses.pxd for beta.
#
# All of them are for
#     min over beta' of  omega(beta') - m^T beta' + |X_i (beta' - beta)|_D'^2 / (2 lambda n).
# Where x_i serves all classes, |X_i z|_2 = |x_i|_2 |z|_2; for the q-norm |X_i z|_D' is at most
# |x_i|_D' |z|_2, which is at most the |X_i| |z|_1 of Option III.  Options III to V are in the norm
# |.|_1, in which |X_i| is the largest |psi(x_i, j)|_D'.

from libc.math cimport INFINITY, fabs

from .losses cimport clip
from .step cimport OPTION_I, OPTION_II, OPTION_III, OPTION_IV_4L2, OPTION_IV_L2, OPTION_V
from .vector_losses cimport VectorLoss


cdef struct Block:
    # An example as a step sees it.
    Py_ssize_t y, k
    const double* delta     # cost(., y)
    double* beta            # e_y - alpha_i / s_i
    double* m               # X_i^T w
    bint near               # whether a step may end near Option I ...
    bint beyond             # ... and goes beyond it
    double q, q_R           # s_i |X_i|^2 / (lambda n), s_i R^2 / (lambda n)
    double* new             # the new beta
    double* u               # room for k numbers
    double* room            # as `best` wants it


cdef inline double block_excess(VectorLoss term, Block* b) noexcept nogil:
    """phi(m) + phi*(-alpha_i / s_i) + m^T alpha_i / s_i >= 0, the example's share of P - D."""
    return (term.phi(b.y, b.delta, b.m, b.k) + term.omega(b.y, b.delta, b.beta, b.k)
            + block_inner(b))


cdef inline double block_inner(Block* b) noexcept nogil:
    """m^T alpha_i / s_i, as the sum of (m_y - m_j) beta_j."""
    cdef double inner = 0
    cdef Py_ssize_t j
    for j in range(b.k):
        inner += (b.m[b.y] - b.m[j]) * b.beta[j]
    return inner


cdef inline double fraction(VectorLoss term, int option, Block* b) noexcept nogil:
    """s of options III to V for z = new - beta, with the subgradient's beta in new; -1 where it
    cannot be computed."""
    cdef double length = 0, z_sq, numerator
    cdef Py_ssize_t j
    for j in range(b.k):
        length += fabs(b.new[j] - b.beta[j])
    z_sq = length * length
    if z_sq == 0:           # ERRATA 4
        return 0
    if option == OPTION_V:
        return term.gamma / (term.gamma + b.q_R)
    if option == OPTION_IV_4L2:
        z_sq = 4 * term.lipschitz * term.lipschitz
    elif option == OPTION_IV_L2:
        z_sq = term.lipschitz * term.lipschitz
    numerator = block_excess(term, b) + 0.5 * term.gamma * z_sq
    if not fabs(numerator) < INFINITY:
        return -1
    return clip(numerator / (z_sq * (term.gamma + (b.q if option == OPTION_III else b.q_R))), 0, 1)


cdef inline void towards(Block* b, double s) noexcept nogil:
    """new = beta + s (new - beta)."""
    cdef Py_ssize_t j
    for j in range(b.k):
        b.new[j] = b.new[j] if s == 1 else b.beta[j] + s * (b.new[j] - b.beta[j])


cdef inline void block_step(VectorLoss term, int option, Block* b) noexcept nogil:
    """The new beta by the given option, where x_i serves all classes."""
    cdef double s, square = 0
    cdef Py_ssize_t j
    if option == OPTION_I:
        if b.near:
            term.near(b.y, b.delta, b.beta, b.m, b.q, b.k, b.new, b.room)
        else:
            term.best(b.y, b.delta, b.beta, b.m, b.q, b.k, b.new, b.room)
        if b.beyond:
            term.beyond(b.beta, b.q, b.k, b.new)
        return
    term.attain(b.y, b.delta, b.m, b.k, b.new)
    if option == OPTION_II:
        for j in range(b.k):
            b.u[j] = b.new[j] - b.beta[j]
            square += b.u[j] * b.u[j]
        s = term.along(b.y, b.delta, b.beta, b.m, b.u, b.q * square, b.k) if square > 0 else 0.0
    else:
        s = fraction(term, option, b)
    if s < 0:       # phi(m) overflows: Option I achieves more than what cannot be computed
        term.best(b.y, b.delta, b.beta, b.m, b.q, b.k, b.new, b.room)
    else:
        towards(b, s)
