"""A loss whose formulas are compiled functions of somebody else's, called without Python's lock."""

import re

from scipy import LowLevelCallable

from cpython.pycapsule cimport PyCapsule_GetContext, PyCapsule_GetName, PyCapsule_GetPointer
from libc.math cimport NAN

from .losses cimport clip
from .numeric cimport (
    default_conjugate_size, default_value_size, solved_best, solved_conjugate, solved_end,
)


cdef inline double call_1(const Function* f, double x) noexcept nogil:
    return (<Unary>f.address)(x, f.data) if f.takes_data else (<PlainUnary>f.address)(x)


cdef inline double call_2(const Function* f, double x, double y) noexcept nogil:
    if f.takes_data:
        return (<Binary>f.address)(x, y, f.data)
    return (<PlainBinary>f.address)(x, y)


cdef inline double call_4(const Function* f, double b, double m, double y,
                          double q) noexcept nogil:
    if f.takes_data:
        return (<Quaternary>f.address)(b, m, y, q, f.data)
    return (<PlainQuaternary>f.address)(b, m, y, q)


cdef Function function_of(str name, given, int arguments) except *:
    """The address of a LowLevelCallable, or of what can be made one."""
    cdef Function found = Function(NULL, NULL, False)
    cdef const char* signature
    doubles = ", ".join(["double"] * arguments)
    wanted = [f"double ({doubles})", f"double ({doubles}, void *)"]
    either = " or ".join(wanted) + " is needed"
    if given is None:
        return found
    if not isinstance(given, LowLevelCallable):
        try:
            given = LowLevelCallable(getattr(given, "ctypes", given))       # numba's have it there
        except (TypeError, ValueError):
            raise TypeError(
                f"{name} = {given!r}: a scipy.LowLevelCallable, a numba.cfunc (njit gives no "
                f"address) or a ctypes function whose restype and argtypes are set, {either}"
            ) from None
    capsule = tuple.__getitem__(given, 0)
    signature = PyCapsule_GetName(capsule)
    shown = signature.decode()
    doubles = ",".join(["double"] * arguments)
    found_data = re.fullmatch(rf"double\({doubles}(,\w+\*)?\)", re.sub(r"\s+", "", shown))
    if not found_data:
        raise ValueError(f"{name} has the signature {shown!r}: {either}")
    found.address = PyCapsule_GetPointer(capsule, signature)
    found.data = PyCapsule_GetContext(capsule)
    found.takes_data = found_data[1] is not None
    return found


cdef class CompiledLoss(Loss):
    """A loss whose formulas are compiled: the loop calls them without Python's lock.

    Parameters
    ----------
    value, subgradient, conjugate : LowLevelCallable, numba cfunc or ctypes function
        (z, y), (z, y) and (a, y), as the methods of `Loss`; conjugate may be missing. Each returns
        a double and takes doubles, and at the end, if it wants to, the user data of the
        LowLevelCallable.
    exact_step : the same, optional
        (b, m, y, q); solved for by the subgradient where it is missing.
    lower, upper : the same, optional
        (y): the ends of the domain of b.
    value_size, conjugate_size : the same, optional
        (z, y), (a, y): what the roundings of value and conjugate are relative to.
    name : str
        What it is called in messages.
    gamma, lipschitz, classification, target_min
        As for `Loss`.
    """

    def __cinit__(self, *args, **kwargs):
        self.foreign = True
        self.label = "CompiledLoss"

    def __init__(self, *, value, subgradient, conjugate=None, exact_step=None, lower=None,
                 upper=None, value_size=None, conjugate_size=None, name="CompiledLoss",
                 **constants):
        Loss.__init__(self, **constants)
        for needed, given in (("value", value), ("subgradient", subgradient)):
            if given is None:
                raise TypeError(f"{needed} = None: a compiled loss needs value and subgradient")
        self.functions = LossFunctions(
            function_of("value", value, 2), function_of("conjugate", conjugate, 2),
            function_of("subgradient", subgradient, 2), function_of("exact_step", exact_step, 4),
            function_of("lower", lower, 1), function_of("upper", upper, 1),
            function_of("value_size", value_size, 2),
            function_of("conjugate_size", conjugate_size, 2),
        )
        self.owner = (value, conjugate, subgradient, exact_step, lower, upper, value_size,
                      conjugate_size)
        self.label = str(name)
        self._forget()

    def _forget(self):
        cdef int k
        Loss._forget(self)
        if self.classification:         # other threads may be reading: never anything but an end
            for k in range(4):
                self.class_ends[k] = self.domain_end(1 if k >= 2 else -1, k % 2 == 1)
            self._raise_failure()

    @property
    def name(self):
        return self.label

    @property
    def solved(self):
        cdef const LossFunctions* f = &self.functions
        has = {"conjugate": f.conjugate.address != NULL, "exact_step": f.exact_step.address != NULL,
               "domain": f.lower.address != NULL and f.upper.address != NULL}
        return tuple(name for name, there in has.items() if not there)

    def __repr__(self):
        return f"<CompiledLoss {self.label}>"

    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return id(self)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self         # it cannot change

    def __reduce__(self):
        raise TypeError(f"loss {self.label!r} is compiled, and addresses of functions mean nothing "
                        "in another process: make it there, or write it as a class in Python")

    cdef double no_number(self, const char* name, double x, double y) noexcept nogil:
        """NaN is no answer."""
        with gil:
            call = f"{self.label}.{name.decode()}({x!r}, {y!r})"
            self.fail(ValueError(f"{call} is nan: a number, or an infinity, is needed"), call)
        return NAN

    cdef double phi(self, double y, double z) noexcept nogil:
        cdef double found = call_2(&self.functions.value, z, y)
        return found if found == found else self.no_number("value", z, y)

    cdef double phi_conj(self, double y, double a) noexcept nogil:
        cdef double found
        if self.functions.conjugate.address == NULL:
            return solved_conjugate(self, y, a, NULL)
        found = call_2(&self.functions.conjugate, a, y)
        return found if found == found else self.no_number("conjugate", a, y)

    cdef double phi_slope(self, double y, double z) noexcept nogil:
        cdef double found = call_2(&self.functions.subgradient, z, y)
        return found if found == found else self.no_number("subgradient", z, y)

    cdef double best(self, double y, double b, double m, double q) noexcept nogil:
        cdef double new
        if self.functions.exact_step.address == NULL:
            return solved_best(self, y, b, m, q)
        new = call_4(&self.functions.exact_step, b, m, y, q)
        if new != new:
            return self.no_number("exact_step", m, y)
        return clip(new, self.lower(y), self.upper(y))

    cdef double lower(self, double y) noexcept nogil:
        if self.classification:
            return self.class_ends[2 if y > 0 else 0]
        return self.domain_end(y, False)

    cdef double upper(self, double y) noexcept nogil:
        if self.classification:
            return self.class_ends[3 if y > 0 else 1]
        return self.domain_end(y, True)

    cdef double domain_end(self, double y, bint upper) noexcept nogil:
        cdef const Function* f = &self.functions.upper if upper else &self.functions.lower
        cdef double found
        if f.address == NULL:
            return solved_end(self, y, upper)
        found = call_1(f, y)
        return found if found == found else self.no_number("upper" if upper else "lower", y, y)

    cdef double phi_size(self, double y, double z) noexcept nogil:
        if self.functions.value_size.address == NULL:
            return default_value_size(self, self.functions.conjugate.address != NULL, y, z)
        return call_2(&self.functions.value_size, z, y)

    cdef double conj_size(self, double y, double a) noexcept nogil:
        cdef double size
        if self.functions.conjugate_size.address != NULL:
            return call_2(&self.functions.conjugate_size, a, y)
        if self.functions.conjugate.address != NULL:
            return default_conjugate_size(self, y, a)
        solved_conjugate(self, y, a, &size)
        return size


cdef CompiledLoss loss_of(LossFunctions functions, object owner, str label, dict constants):
    """A loss of functions whose addresses are known."""
    cdef CompiledLoss loss = CompiledLoss.__new__(CompiledLoss)
    Loss.__init__(loss, **constants)
    loss.functions, loss.owner, loss.label = functions, owner, label
    loss._forget()
    return loss
