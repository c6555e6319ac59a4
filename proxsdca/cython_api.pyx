"""What other libraries cimport, see cython_api.pxd, and the table that C has it from.

A handle is a number that is never given twice, so that one which was released is always known.  The
work is that of the Python layer; the loop in it, and what it calls of others', runs without
Python's lock.
"""

import itertools
from threading import local

import numpy as np

from cpython.buffer cimport PyBUF_READ
from cpython.bytes cimport PyBytes_AS_STRING
from cpython.exc cimport PyErr_Fetch, PyErr_Restore
from cpython.memoryview cimport PyMemoryView_FromMemory
from cpython.pycapsule cimport PyCapsule_New
from cpython.ref cimport PyObject
from libc.math cimport INFINITY
from libc.string cimport memcpy, memset

from ._core.compiled_loss cimport Function, LossFunctions, loss_of
from ._core.compiled_map cimport MapFunctions, formulas_of
from ._core.compiled_oracle cimport OracleFunctions, oracle_of

cdef dict sessions = {}             # handle -> Session
cdef object errors = local()        # what last_error says to a thread, as bytes
cdef object numbers = itertools.count(1)

cdef enum:
    LARGEST = 4096      # the most that is believed of a struct's size


class HandleError(ValueError):
    """A handle that is not one, or not any more."""


class BusyError(RuntimeError):
    """A handle that another thread is working on."""


# ------------------------------------------------------------------ structs of any size


cdef int take(str name, const void* given, size_t least, void* to, size_t ours) except -1:
    """Copy a struct of the size that it says, which is at least that up to its first optional
    member.

    A shorter one was compiled with an earlier version, and is filled up with zeros; a longer one
    with a later version, and must not ask for what is not known here. Where a struct grows, its
    least stays what it is now.
    """
    cdef size_t size, k
    if given == NULL:
        raise ValueError(f"{name} is NULL")
    size = (<const size_t*>given)[0]
    if size < least or size > LARGEST or (size != ours and size % sizeof(void*)):
        raise ValueError(
            f"{name}.size = {size}: {least} to {LARGEST} is allowed, in steps of a pointer, {ours} "
            f"in this version; set it to the size of the struct"
        )
    memset(to, 0, ours)
    memcpy(to, given, min(size, ours))
    for k in range(ours, size):
        if (<const unsigned char*>given)[k] != 0:
            raise ValueError(
                f"{name}.size = {size}, in this version of proxsdca it is {ours}, and what lies "
                f"beyond is not all zero: it asks for something that a later version has"
            )
    return 0


cdef int needed(str name, const void* pointer) except -1:
    if pointer == NULL:
        raise ValueError(f"{name} is NULL, and is needed")
    return 0


cdef str text(str name, const char* given, str default):
    if given == NULL:
        return default
    try:
        return given.decode()
    except UnicodeDecodeError:
        raise ValueError(f"{name} is not a text in UTF-8") from None


cdef inline Function function(void* address, void* data) noexcept:
    return Function(address, data, True)


cdef object loss_object(const Loss* loss, str name, object owner):
    cdef Loss own
    cdef LossFunctions f
    take("loss", loss, <char*>&own.exact_step - <char*>&own, &own, sizeof(Loss))
    needed("loss.value", <void*>own.value)
    needed("loss.subgradient", <void*>own.subgradient)
    f.value = function(<void*>own.value, own.data)
    f.subgradient = function(<void*>own.subgradient, own.data)
    f.conjugate = function(<void*>own.conjugate, own.data)
    f.exact_step = function(<void*>own.exact_step, own.data)
    f.lower = function(<void*>own.lower, own.data)
    f.upper = function(<void*>own.upper, own.data)
    f.value_size = function(<void*>own.value_size, own.data)
    f.conjugate_size = function(<void*>own.conjugate_size, own.data)
    return loss_of(f, owner, name, {
        "gamma": own.gamma,
        "lipschitz": own.lipschitz if own.lipschitz != 0 else INFINITY,
        "classification": own.classification != 0,
        "target_min": own.target_min if own.has_target_min else -INFINITY,
    })


cdef object regularizer_object(const Map* map, str name, object owner):
    from .regularizers import CompiledRegularizer

    cdef Map own
    take("map", map, <char*>&own.conjugate - <char*>&own, &own, sizeof(Map))
    needed("map.value", <void*>own.value)
    needed("map.gradient", <void*>own.gradient)
    f = MapFunctions(own.value, own.gradient, own.conjugate, own.data)
    return CompiledRegularizer(formulas_of(f, owner, name), own.has_sigma != 0)


cdef object oracle_object(const Oracle* oracle, object owner):
    cdef Oracle own
    take("oracle", oracle, <char*>&own.radius - <char*>&own, &own, sizeof(Oracle))
    needed("oracle.argmax", <void*>own.argmax)
    needed("oracle.plane", <void*>own.plane)
    for name, number, least in (
        ("n", own.n, 1), ("d", own.d, 1), ("label_size", own.label_size, 1),
        ("plane_size", own.plane_size, 0),
    ):
        if not least <= number < 2**40:
            raise ValueError(f"oracle.{name} = {number}: {least} to 2^40 is allowed")
    f = OracleFunctions(own.argmax, own.plane, own.radius, own.data)
    return oracle_of(f, owner, own.n, own.d, own.label_size, own.plane_size, own.approximate != 0)


# ------------------------------------------------------------------ borrowed data


cdef object borrowed(str name, const void* pointer, count, dtype):
    """A read-only array on memory that stays the caller's."""
    kind = np.dtype(dtype)
    size = count * kind.itemsize
    if not 0 <= size < 2**62:
        raise ValueError(f"{name} has {count} numbers, which is not a size")
    if size == 0:
        return np.zeros(0, kind)
    needed(name, pointer)
    return np.frombuffer(PyMemoryView_FromMemory(<char*>pointer, size, PyBUF_READ), kind)


cdef object rows_of(const Data* data):
    """X as the Python layer takes it."""
    kind, whole = "f4" if data.float32 else "f8", "i8" if data.int64 else "i4"
    n, d = data.n, data.d
    for name, number in (("n", n), ("d", d)):
        if not 1 <= number < 2**60:
            raise ValueError(f"data.{name} = {number}: a number >= 1 is needed")
    if data.indices == NULL and data.indptr == NULL:
        stride = data.row_stride or d
        if stride < d:
            raise ValueError(f"data.row_stride = {stride}: 0, or a number >= d = {d} is needed")
        flat = borrowed("data.values", data.values, (n - 1) * stride + d, kind)
        size = flat.itemsize
        return np.lib.stride_tricks.as_strided(flat, (n, d), (stride * size, size), writeable=False)
    from scipy.sparse import csr_array

    X = csr_array((n, d), dtype=kind)
    X.indptr = borrowed("data.indptr", data.indptr, n + 1, whole)
    nnz = int(X.indptr[n])
    if nnz < 0:
        raise ValueError(f"data.indptr[{n}] = {nnz}: a number >= 0 is needed")
    X.indices = borrowed("data.indices", data.indices, nnz, whole)
    X.data = borrowed("data.values", data.values, nnz, kind)
    return X


cdef dict settings_of(const Settings* given, object owner, default_loss):
    """The settings as the Python layer takes them."""
    cdef Settings own
    take("settings", given, sizeof(Settings), &own, sizeof(Settings))
    if own.sigma != 0 and not own.has_sigma:
        raise ValueError(f"settings.sigma = {own.sigma!r}, but settings.has_sigma is 0")
    if own.map != NULL:
        reg = regularizer_object(own.map, "map", owner)
    else:
        reg = text("settings.reg_name", own.reg_name, "l2")
    if default_loss is None:
        for name, is_set in (
            ("loss", own.loss != NULL), ("loss_name", own.loss_name != NULL),
            ("fit_intercept", own.fit_intercept != 0), ("side", own.side != NULL),
        ):
            if is_set:
                raise ValueError(f"settings.{name}: a structured problem has none")
    problem = {
        "reg": reg,
        "lam": own.lam if own.lam != 0 else None,
        "sigma": own.sigma if own.has_sigma else None,
    }
    if default_loss is not None:
        if own.loss != NULL:
            problem["loss"] = loss_object(own.loss, "loss", owner)
        else:
            problem["loss"] = text("settings.loss_name", own.loss_name, default_loss)
        problem["fit_intercept"] = own.fit_intercept != 0
        problem["side"] = text("settings.side", own.side, "auto")
    return {
        "problem": problem,
        "seed": own.seed,
        "option": text("settings.option", own.option, "auto"),
        "order": text("settings.order", own.order, "permutation"),
    }


# ------------------------------------------------------------------ handles


cdef int failed(BaseException error) noexcept:
    """Keep the words of an error for `last_error`, and return its kind."""
    try:
        words = " ".join([str(error) or type(error).__name__, *getattr(error, "__notes__", ())])
    except Exception:
        words = type(error).__name__
    errors.words = words.encode(errors="replace")
    for kind, code in (
        (HandleError, BAD_HANDLE), (BusyError, BUSY), (ArithmeticError, NUMERICAL),
        (KeyboardInterrupt, INTERRUPTED), ((ValueError, TypeError), BAD_INPUT),
    ):
        if isinstance(error, kind):
            return code
    return FAILED


class _Worked:
    """The session of a handle, for the time of one call."""

    def __init__(self, handle):
        self.session = sessions.get(handle)
        if self.session is None:
            raise HandleError(f"handle {handle} was released, or never was one")

    def __enter__(self):
        if self.session.busy:
            raise BusyError("another thread is working on this handle")
        if self.session.broken is not None:
            raise RuntimeError(
                f"an earlier call has failed, and left no state to go on from: "
                f"{self.session.broken!r}"
            )
        self.session.busy = True
        return self.session

    def __exit__(self, kind, error, trace):
        self.session.busy = False


cdef int keep(session, Handle* handle) except -1:
    number = next(numbers)
    sessions[number] = session
    handle[0] = number
    return 0


cdef int version() noexcept nogil:
    return API_VERSION


# The two that C calls on its way out have to leave an exception that is set as it is.

cdef const char* last_error() noexcept nogil:
    cdef PyObject* pending[3]
    cdef const char* words
    with gil:
        PyErr_Fetch(&pending[0], &pending[1], &pending[2])
        kept = getattr(errors, "words", b"")
        words = PyBytes_AS_STRING(kept)     # `errors` keeps them until the next failure
        PyErr_Restore(pending[0], pending[1], pending[2])
        return words


cdef int create(const Data* data, const Settings* settings, Handle* handle) noexcept nogil:
    cdef Data own
    with gil:
        try:
            from ._session import Session

            needed("handle", handle)
            handle[0] = 0
            take("data", data, sizeof(Data), &own, sizeof(Data))
            chosen = settings_of(settings, None, "hinge")
            weight = None
            if own.sample_weight != NULL:
                weight = borrowed("data.sample_weight", own.sample_weight, own.n, "f8")
            chosen["problem"]["sample_weight"] = weight
            y = borrowed("data.y", own.y, max(own.n, 0), "f8")
            keep(Session.of_data(rows_of(&own), y, chosen), handle)
            return OK
        except BaseException as error:
            return failed(error)


cdef int create_structured(const Oracle* oracle, const Settings* settings,
                           Handle* handle) noexcept nogil:
    with gil:
        try:
            from ._session import Session

            needed("handle", handle)
            handle[0] = 0
            chosen = settings_of(settings, None, None)
            keep(Session.of_oracle(oracle_object(oracle, None), chosen), handle)
            return OK
        except BaseException as error:
            return failed(error)


cdef int release(Handle handle) noexcept nogil:
    cdef PyObject* pending[3]
    cdef int code = OK
    with gil:
        PyErr_Fetch(&pending[0], &pending[1], &pending[2])
        try:
            session = sessions.get(handle)      # 0 is none, and no reason to complain
            if session is not None and session.busy:
                raise BusyError("another thread is working on this handle")
            if sessions.pop(handle, None) is None and handle != 0:
                raise HandleError(f"handle {handle} was released, or never was one")
        except BaseException as error:
            code = failed(error)
        session = None
        PyErr_Restore(pending[0], pending[1], pending[2])
        return code


cdef int run(Handle handle, Py_ssize_t epochs) noexcept nogil:
    with gil:
        try:
            with _Worked(handle) as session:
                if epochs < 0:
                    raise ValueError(f"epochs = {epochs}: a number >= 0 is needed")
                worked(session, session.run, epochs)
            return OK
        except BaseException as error:
            return failed(error)


def worked(session, method, *arguments):
    """A call that changes the state; where it fails, there is none any more."""
    try:
        return method(*arguments)
    except BaseException as error:
        session.broken = error
        raise


cdef int solve(Handle handle, double tol, double eps, Py_ssize_t max_epochs,
               Certificate* certificate) noexcept nogil:
    cdef Certificate own
    with gil:
        try:
            with _Worked(handle) as session:
                take("certificate", certificate, sizeof(Certificate), &own, sizeof(Certificate))
                limits = session.limits(tol, eps, max_epochs)
                found, own.target, own.converged = worked(session, session.solve, *limits)
                tell(certificate, &own, found, session)
            return OK
        except BaseException as error:
            return failed(error)


cdef int certify(Handle handle, Certificate* certificate) noexcept nogil:
    cdef Certificate own
    with gil:
        try:
            with _Worked(handle) as session:
                take("certificate", certificate, sizeof(Certificate), &own, sizeof(Certificate))
                found = worked(session, session.certify)
                own.target, own.converged = session.reached(found)
                tell(certificate, &own, found, session)
            return OK
        except BaseException as error:
            return failed(error)


cdef int tell(Certificate* to, Certificate* own, found, session) except -1:
    """Write a certificate, as far as the caller's struct goes."""
    own.size = to.size
    own.primal, own.dual, own.gap, own.rounding = found
    own.epochs = session.epochs
    memcpy(to, own, min(to.size, sizeof(Certificate)))
    return 0


cdef int shape(Handle handle, Py_ssize_t* n, Py_ssize_t* d) noexcept nogil:
    with gil:
        try:
            with _Worked(handle) as session:
                if n != NULL:
                    n[0] = session.problem.n
                if d != NULL:
                    d[0] = session.problem.d
            return OK
        except BaseException as error:
            return failed(error)


cdef int read_w(Handle handle, double* w, Py_ssize_t d, double* intercept) noexcept nogil:
    with gil:
        try:
            with _Worked(handle) as session:
                problem = session.problem
                found = session.pair()[0]
                write("w", found[:problem.d], w, d)
                if intercept != NULL:
                    intercept[0] = found[problem.d] if problem.free else 0.0
            return OK
        except BaseException as error:
            return failed(error)


cdef int read_alpha(Handle handle, double* alpha, Py_ssize_t n) noexcept nogil:
    with gil:
        try:
            with _Worked(handle) as session:
                found = session.pair()[1]
                if not isinstance(found, np.ndarray):
                    raise ValueError("alpha of a structured problem is not one number an example")
                write("alpha", found, alpha, n)
            return OK
        except BaseException as error:
            return failed(error)


cdef int write(str name, found, double* to, Py_ssize_t length) except -1:
    cdef const double[::1] values = np.ascontiguousarray(found)
    if length != values.shape[0]:
        raise ValueError(f"{name} has room for {length} numbers: {values.shape[0]} is needed")
    needed(name, to)
    memcpy(to, &values[0], length * sizeof(double))
    return 0


# ------------------------------------------------------------------ for C


cdef struct Table:
    # As proxsdca_api in proxsdca.h; what is new comes at the end.
    size_t size
    void* version
    void* last_error
    void* create
    void* create_structured
    void* release
    void* run
    void* solve
    void* certify
    void* shape
    void* read_w
    void* read_alpha
    void* loss_object
    void* regularizer_object
    void* oracle_object


cdef object loss_object_c(const Loss* loss, const char* name, object owner):
    return loss_object(loss, text("name", name, "loss"), owner)


cdef object regularizer_object_c(const Map* map, const char* name, object owner):
    return regularizer_object(map, text("name", name, "map"), owner)


cdef Table table = Table(
    sizeof(Table), <void*>version, <void*>last_error, <void*>create, <void*>create_structured,
    <void*>release, <void*>run, <void*>solve, <void*>certify, <void*>shape, <void*>read_w,
    <void*>read_alpha, <void*>loss_object_c, <void*>regularizer_object_c, <void*>oracle_object,
)
_C_API = PyCapsule_New(&table, "proxsdca.cython_api._C_API", NULL)
