# cython: boundscheck=False, wraparound=False, cdivision=True
"""A loss, a map and an oracle of one's own, and the solver run from code without Python's lock."""

from libc.math cimport INFINITY, exp, fabs, fmax, fmin, log, log1p
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from proxsdca cimport cython_api as sdca


# ------------------------------------------------------------------ the logistic loss


cdef double logistic(double z, double y, void* data) noexcept nogil:
    cdef double t = y * z
    return log1p(exp(-t)) if t > 0 else log1p(exp(t)) - t


cdef double logistic_conjugate(double a, double y, void* data) noexcept nogil:
    cdef double t = -y * a
    if not 0 <= t <= 1:
        return INFINITY
    return (t * log(t) if t > 0 else 0.0) + ((1 - t) * log1p(-t) if t < 1 else 0.0)


cdef double logistic_slope(double z, double y, void* data) noexcept nogil:
    cdef double e = exp(-fabs(z))
    return -y * (e if y * z > 0 else 1.0) / (1 + e)


cdef double logistic_step(double b, double m, double y, double q, void* data) noexcept nogil:
    """Halley's method for t = sigmoid(u), u + y m + q (t - y b) = 0, kept inside a bracket."""
    cdef double c = y * m, t0 = y * b, u = -c, low = -c - q * (1 - t0), high = -c + q * t0
    cdef double e, t, slope, f, h, bend
    cdef int _
    for _ in range(100):
        e = exp(-fabs(u))
        slope = 1 / (1 + e)
        t = slope if u > 0 else e * slope
        slope *= e * slope
        f = u + c + q * (t - t0)
        if f > 0:
            high = u
        else:
            low = u
        h = -f / (1 + q * slope)
        bend = q * slope * (1 - 2 * t) / (1 + q * slope)
        if h * bend > -1:
            h /= 1 + 0.5 * h * bend
        if fabs(h) <= 1e-5:
            t += slope * h * (1 + 0.5 * h * (1 - 2 * t))
            break
        u = u + h if low < u + h < high else 0.5 * (low + high)
    return y * fmin(fmax(t, 0), 1)


cdef double zero(double y, void* data) noexcept nogil:
    return 0 if y > 0 else -1


cdef double one(double y, void* data) noexcept nogil:
    return 1 if y > 0 else 0


cdef double nan_beyond_1(double z, double y, void* data) noexcept nogil:
    return logistic_slope(z, y, data) if fabs(z) < 1 else INFINITY - INFINITY


cdef sdca.Loss logistic_loss() noexcept nogil:
    cdef sdca.Loss loss
    memset(&loss, 0, sizeof(loss))
    loss.size = sizeof(loss)
    loss.value, loss.subgradient, loss.conjugate = logistic, logistic_slope, logistic_conjugate
    loss.gamma, loss.lipschitz, loss.classification = 4, 1, 1
    loss.exact_step, loss.lower, loss.upper = logistic_step, zero, one
    return loss


# ------------------------------------------------------------------ for scipy.LowLevelCallable


cdef api double squared(double z, double y) noexcept nogil:
    return 0.5 * (z - y) * (z - y)


cdef api double squared_slope(double z, double y) noexcept nogil:
    return z - y


cdef api double squared_conjugate(double a, double y, void* data) noexcept nogil:
    return a * (0.5 * a + y)


# ------------------------------------------------------------------ |w|^2 / 2 + kappa |w|_1


cdef double l1l2(double w, double kappa, Py_ssize_t j, void* data) noexcept nogil:
    return 0.5 * w * w + kappa * fabs(w)


cdef double soft(double v, double kappa, Py_ssize_t j, void* data) noexcept nogil:
    return v - fmin(fmax(v, -kappa), kappa)


cdef double l1l2_conjugate(double v, double kappa, Py_ssize_t j, void* data) noexcept nogil:
    cdef double w = soft(v, kappa, j, data)
    return 0.5 * w * w


cdef sdca.Map l1l2_map() noexcept nogil:
    cdef sdca.Map map
    memset(&map, 0, sizeof(map))
    map.size = sizeof(map)
    map.value, map.gradient, map.conjugate, map.has_sigma = l1l2, soft, l1l2_conjugate, 1
    return map


# ------------------------------------------------------------------ k classes, by looking at all


cdef struct Classes:
    const double* X
    const double* y
    Py_ssize_t n, d, k
    int wrong               # a mistake to make


cdef double score(const Classes* c, Py_ssize_t i, const double* w, Py_ssize_t j) noexcept nogil:
    cdef double total = 0
    cdef Py_ssize_t f
    for f in range(c.d):
        total += c.X[i * c.d + f] * w[j * c.d + f]
    return total


cdef int worst_class(Py_ssize_t i, const double* w, int* label, void* data) noexcept nogil:
    cdef const Classes* c = <const Classes*>data
    cdef double best = -INFINITY, value
    cdef Py_ssize_t j
    for j in range(c.k):
        value = score(c, i, w, j) + (1 if j != <Py_ssize_t>c.y[i] else 0)
        if value > best:
            best = value
            label[0] = <int>j
    return 7 if c.wrong == 1 and i == 3 else 0


cdef Py_ssize_t class_plane(Py_ssize_t i, const int* label, Py_ssize_t* indices, double* values,
                            double* delta, void* data) noexcept nogil:
    cdef const Classes* c = <const Classes*>data
    cdef Py_ssize_t y = <Py_ssize_t>c.y[i], j = label[0], f
    delta[0] = 1 if j != y else 0
    if c.wrong == 2:
        return 2 * c.d + 1
    if j == y:
        return 0
    for f in range(c.d):
        indices[f], values[f] = y * c.d + f, c.X[i * c.d + f]
        indices[c.d + f], values[c.d + f] = j * c.d + f, -c.X[i * c.d + f]
    if c.wrong == 3:
        indices[0] = c.k * c.d
    return 2 * c.d


cdef sdca.Oracle class_oracle(Classes* classes) noexcept nogil:
    cdef sdca.Oracle oracle
    memset(&oracle, 0, sizeof(oracle))
    oracle.size, oracle.data = sizeof(oracle), classes
    oracle.n, oracle.d = classes.n, classes.k * classes.d
    oracle.label_size, oracle.plane_size = 1, 2 * classes.d
    oracle.argmax, oracle.plane = worst_class, class_plane
    return oracle


# ------------------------------------------------------------------ what the tests call


cdef class Owner:
    """Keeps a Classes where it is."""
    cdef Classes classes
    cdef object arrays


def logistic_object(name="outside"):
    """For proxsdca.solve."""
    cdef sdca.Loss loss = logistic_loss()
    return sdca.loss_object(&loss, name, None)


def l1l2_object():
    cdef sdca.Map map = l1l2_map()
    return sdca.regularizer_object(&map, "outside_l1l2", None)


def class_oracle_object(const double[:, ::1] X, const double[::1] y, Py_ssize_t k, int wrong=0):
    cdef Owner owner = Owner()
    owner.classes = Classes(&X[0, 0], &y[0], X.shape[0], X.shape[1], k, wrong)
    owner.arrays = X, y
    cdef sdca.Oracle oracle = class_oracle(&owner.classes)
    return sdca.oracle_object(&oracle, owner)


def version():
    return sdca.version(), sdca.API_VERSION


def sizes():
    """What plain_c.sizes() must say too."""
    cdef sdca.Loss loss
    cdef sdca.Settings settings
    cdef sdca.Certificate certificate
    return {
        "loss": sizeof(sdca.Loss), "map": sizeof(sdca.Map), "oracle": sizeof(sdca.Oracle),
        "data": sizeof(sdca.Data), "settings": sizeof(sdca.Settings),
        "certificate": sizeof(sdca.Certificate),
        "loss.exact_step": <char*>&loss.exact_step - <char*>&loss,
        "loss.conjugate_size": <char*>&loss.conjugate_size - <char*>&loss,
        "settings.side": <char*>&settings.side - <char*>&settings,
        "certificate.epochs": <char*>&certificate.epochs - <char*>&certificate,
    }


def solve_nogil(const double[::1] values, const int[::1] indices, const int[::1] indptr,
                const double[::1] y, double[::1] w, double[::1] alpha, double lam, double sigma,
                double tol, bint intercept=False, Py_ssize_t epochs=3):
    """The whole run without Python's lock; returns the codes, and what was found."""
    cdef sdca.Data data
    cdef sdca.Settings settings
    cdef sdca.Loss loss
    cdef sdca.Map map
    cdef sdca.Certificate first, last
    cdef sdca.Handle handle = 0
    cdef int codes[8]
    cdef Py_ssize_t n = 0, d = 0
    cdef double beta = 0
    with nogil:
        loss, map = logistic_loss(), l1l2_map()
        memset(&data, 0, sizeof(data))
        data.size, data.n, data.d = sizeof(data), y.shape[0], w.shape[0]
        data.values, data.indices, data.indptr = &values[0], &indices[0], &indptr[0]
        data.y = &y[0]
        memset(&settings, 0, sizeof(settings))
        settings.size, settings.loss, settings.map = sizeof(settings), &loss, &map
        settings.lam, settings.sigma, settings.has_sigma = lam, sigma, 1
        settings.fit_intercept = intercept
        first.size = last.size = sizeof(first)
        codes[0] = sdca.create(&data, &settings, &handle)
        codes[1] = sdca.run(handle, epochs)
        codes[2] = sdca.certify(handle, &first)
        codes[3] = sdca.solve(handle, tol, 0, 10000, &last)
        codes[4] = sdca.shape(handle, &n, &d)
        codes[5] = sdca.read_w(handle, &w[0], w.shape[0], &beta)
        codes[6] = sdca.read_alpha(handle, &alpha[0], alpha.shape[0])
        codes[7] = sdca.release(handle)
    return {
        "codes": list(codes), "shape": (n, d), "intercept": beta, "first": first, "last": last,
        "error": sdca.last_error().decode(), "after release": sdca.run(handle, 1),
    }


def solve_structured(const double[:, ::1] X, const double[::1] y, Py_ssize_t k, double[::1] w,
                     double lam, double tol):
    """A structured problem without Python's lock."""
    cdef Classes classes = Classes(&X[0, 0], &y[0], X.shape[0], X.shape[1], k, 0)
    cdef sdca.Oracle oracle
    cdef sdca.Settings settings
    cdef sdca.Certificate certificate
    cdef sdca.Handle handle = 0
    cdef int code
    with nogil:
        oracle = class_oracle(&classes)
        memset(&settings, 0, sizeof(settings))
        settings.size, settings.lam = sizeof(settings), lam
        certificate.size = sizeof(certificate)
        code = sdca.create_structured(&oracle, &settings, &handle)
        if code == sdca.OK:
            code = sdca.solve(handle, tol, 0, 1000, &certificate)
        if code == sdca.OK:
            code = sdca.read_w(handle, &w[0], w.shape[0], NULL)
        sdca.release(handle)
    return code, certificate, sdca.last_error().decode()


def loss_of_size(Py_ssize_t size, int tail=0):
    """A loss in memory of just that size, as another version would have it, or a refusal."""
    cdef sdca.Loss full = logistic_loss()
    cdef char* memory = <char*>calloc(max(size, <Py_ssize_t>sizeof(size_t)), 1)
    try:
        memcpy(memory, &full, min(size, <Py_ssize_t>sizeof(full)))
        (<size_t*>memory)[0] = <size_t>size
        if size > <Py_ssize_t>sizeof(full):
            memory[size - 1] = tail
        return sdca.loss_object(<sdca.Loss*>memory, "sized", None)
    finally:
        free(memory)


def loss_without(str member):
    cdef sdca.Loss loss = logistic_loss()
    if member == "value":
        loss.value = NULL
    elif member == "subgradient":
        loss.subgradient = NULL
    elif member == "conjugate":
        loss.conjugate = NULL
    elif member == "exact_step":
        loss.exact_step = NULL
    elif member == "nan":
        loss.subgradient, loss.exact_step = nan_beyond_1, NULL
    return sdca.loss_object(&loss, member, None)


def null_loss():
    return sdca.loss_object(NULL, "null", None)


def refused(str what):
    """The code and the words for bad input."""
    cdef double[4] X = [1, 2, 3, 4]
    cdef double[2] y = [-1, 1]
    cdef double[2] w
    cdef int[3] indptr = [0, 1, 2]
    cdef int[2] indices = [0, 1]
    cdef sdca.Data data
    cdef sdca.Settings settings
    cdef sdca.Certificate certificate
    cdef sdca.Loss loss
    cdef sdca.Handle handle = 77
    cdef int code
    assert sdca.release(0) == sdca.OK
    memset(&data, 0, sizeof(data))
    memset(&settings, 0, sizeof(settings))
    data.size, settings.size, certificate.size = sizeof(data), sizeof(settings), sizeof(certificate)
    data.n, data.d, data.values, data.y = 2, 2, X, y
    if what == "data size":
        data.size = 8
    elif what == "settings size":
        settings.size = 1 << 20
    elif what == "values":
        data.values = NULL
    elif what == "y":
        data.y = NULL
    elif what == "n":
        data.n = -1
    elif what == "stride":
        data.row_stride = 1
    elif what == "index":
        data.indptr, data.indices = indptr, indices
        indices[1] = 5
    elif what == "indptr":
        data.indptr, data.indices = indptr, indices
        indptr[2] = -7
    elif what == "loss":
        settings.loss_name = "hinges"
    elif what == "vector loss":
        settings.loss_name = "softmax"
    elif what == "lam":
        settings.lam = -1
    elif what == "sigma":
        settings.sigma = 0.5
    elif what == "target":
        memset(&loss, 0, sizeof(loss))
        loss.size = sizeof(loss)
        loss.value, loss.subgradient, loss.conjugate = logistic, logistic_slope, logistic_conjugate
        loss.has_target_min, loss.target_min = 1, 0.5
        settings.loss = &loss
    elif what == "label":
        y[0] = 1
    if what == "null data":
        code = sdca.create(NULL, &settings, &handle)
    elif what == "null handle":
        code = sdca.create(&data, &settings, NULL)
    else:
        code = sdca.create(&data, &settings, &handle)
    if code == sdca.OK and what == "epochs":
        code = sdca.run(handle, -1)
    elif code == sdca.OK and what == "room":
        code = sdca.read_w(handle, w, 1, NULL)
    elif code == sdca.OK and what == "null w":
        code = sdca.read_w(handle, NULL, 2, NULL)
    elif code == sdca.OK and what == "tol":
        code = sdca.solve(handle, -1, 0, 10, &certificate)
    elif code == sdca.OK and what == "certificate size":
        certificate.size = 4
        code = sdca.certify(handle, &certificate)
    elif code == sdca.OK and what == "twice":
        sdca.release(handle)
        code = sdca.release(handle)
    elif code == sdca.OK and what == "never":
        code = sdca.run(123456789, 1)
    words = sdca.last_error().decode()
    if what == "null handle":
        return code, words
    if what not in ("twice", "never") and handle:
        # what was refused has changed nothing
        assert sdca.run(handle, 1) == sdca.OK
        assert sdca.release(handle) == sdca.OK
    return code, words


def failing_run():
    """A loss that is NaN in mid-run: the handle is refused from then on, and can be released."""
    cdef double[:, ::1] X = make(60, 3)
    cdef double[::1] y = signs(X)
    cdef sdca.Data data
    cdef sdca.Settings settings
    cdef sdca.Loss loss = logistic_loss()
    cdef sdca.Handle handle = 0
    loss.subgradient, loss.exact_step = nan_beyond_1, NULL
    memset(&data, 0, sizeof(data))
    memset(&settings, 0, sizeof(settings))
    data.size, data.n, data.d, data.values, data.y = sizeof(data), 60, 3, &X[0, 0], &y[0]
    settings.size, settings.loss, settings.lam = sizeof(settings), &loss, 1e-4
    codes = [sdca.create(&data, &settings, &handle), sdca.run(handle, 20)]
    words = sdca.last_error().decode()
    codes += [sdca.run(handle, 1), sdca.release(handle)]
    return codes, words


cdef double[:, ::1] make(Py_ssize_t n, Py_ssize_t d):
    import numpy as np

    return np.random.default_rng(0).normal(size=(n, d)) * 3


cdef double[::1] signs(double[:, ::1] X):
    import numpy as np

    return np.sign(np.asarray(X)[:, 0] + 0.1)
