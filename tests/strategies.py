"""Inputs of `solve`: hypothesis strategies for good ones, a fast raw generator for hostile ones.

`hostile(rng)` makes one call, good or with faults planted in it, together with what must become
of it: without a fault it must be solved, with one it must be refused, and the refusal must name
an argument that has a fault. Its text is enough to understand a failure, its seed to repeat it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from problems import LOSS_NAMES, REG_NAMES, SMOOTH, Case, regulariser, targets
from scipy import sparse

from proxsdca.losses import LOSSES
from proxsdca.regularizers import L1, L1L2, REGULARIZERS, Group, QNorm, Regularizer

NAN, INF = math.nan, math.inf
CLASSIFIERS = tuple(name for name in LOSS_NAMES if LOSSES[name]().classification)

# ------------------------------------------------------------ good problems


def parts(rng, A, index=np.int32):
    """CSR parts of A, with explicit zeros, duplicates and unsorted rows as it comes."""
    row, col = np.nonzero(A if rng.random() < 0.5 else np.ones_like(A))
    data = A[row, col]
    if rng.random() < 0.3 and data.dtype.kind == "f":
        data, row, col = np.tile(data / 2, 2), np.tile(row, 2), np.tile(col, 2)
    order = np.lexsort((rng.random(len(row)) if rng.random() < 0.4 else col, row))
    indptr = np.searchsorted(row[order], np.arange(len(A) + 1))
    return data[order], col[order].astype(index), indptr.astype(index)


def assemble(layout, shape, kind="array", blocksize=None, **attributes):
    """A sparse matrix of exactly these attributes, past all of scipy's own checks."""
    keywords = {} if blocksize is None else {"blocksize": blocksize}
    X = getattr(sparse, f"{layout}_{kind}")(shape, **keywords)
    for name, value in attributes.items():
        setattr(X, name, value)
    return X


def misaligned(array):
    memory = np.zeros(array.nbytes + 1, np.uint8)
    copy = memory[1:].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def strided(array):
    """Every second entry of a larger array, backwards."""
    return np.repeat(array, 2, axis=0)[::-2][::-1]


DENSE_ORDERS: dict[str, Callable] = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided rows": strided,
    "strided columns": lambda A: strided(A.T).T,
    "reversed": lambda A: np.ascontiguousarray(A[::-1, ::-1])[::-1, ::-1],
    "misaligned": misaligned,
    "swapped": lambda A: A.astype(A.dtype.newbyteorder()),
}


@st.composite
def dense(draw, reals=(np.float32, np.float64), max_side=8):
    """A dense matrix in any order; n = 1, d = 1, zeros and empty rows among them."""
    n, d = draw(st.integers(1, max_side)), draw(st.integers(1, max_side))
    eighths = st.integers(-40, 40) | st.just(0)
    values = draw(st.lists(eighths, min_size=n * d, max_size=n * d))
    A = np.reshape(values, (n, d)).astype(draw(st.sampled_from(reals))) / 8
    return DENSE_ORDERS[draw(st.sampled_from(list(DENSE_ORDERS)))](A)


@st.composite
def csr(draw, A=None):
    """A CSR matrix, that of A if given: int32 or int64, unsorted, with duplicates and zeros."""
    A = np.asarray(draw(dense()) if A is None else A, order="C")
    A = A.astype(A.dtype.newbyteorder("="))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    data, indices, indptr = parts(rng, A, draw(st.sampled_from([np.int32, np.int64])))
    kind = draw(st.sampled_from(["array", "matrix"]))
    return assemble("csr", A.shape, kind, data=data, indices=indices, indptr=indptr)


@st.composite
def weights(draw, size):
    """Nonnegative weights, some of them 0, not all."""
    tenths = draw(st.lists(st.integers(0, 30), min_size=size, max_size=size))
    return np.array(tenths) / 10 if any(tenths) else np.ones(size)


@st.composite
def cases(draw):
    """A well-formed problem, on a dense matrix, for any loss and regulariser."""
    name, reg = draw(st.sampled_from(LOSS_NAMES)), draw(st.sampled_from((*REG_NAMES, "l1")))
    X = draw(dense())
    if name in CLASSIFIERS and len(X) == 1:
        X = np.concatenate([X, -X])
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    y = targets(LOSSES[name](), X @ rng.normal(size=X.shape[1]), rng)
    keywords = {"loss": name, "reg": regulariser(reg, X.shape[1])}
    keywords["sigma" if reg == "l1" else "lam"] = draw(st.sampled_from([0.01, 0.1, 1.0, 10.0]))
    if draw(st.booleans()):
        keywords["sample_weight"] = draw(weights(len(X)))
    if reg in ("l1l2", "qnorm") and draw(st.booleans()):
        keywords["reg"] = REGULARIZERS[reg](l1_weights=draw(weights(X.shape[1])))
    columns = name in SMOOTH and reg in ("l2", "l1l2", "l1")
    keywords["side"] = draw(st.sampled_from(("auto", "rows", "columns")[: 2 + columns]))
    return Case(X, y, keywords)


# -------------------------------------------------------------- hostile calls

# Bugs of the package that are known: what the descriptions of the calls that show them contain.
# The campaign passes such calls over, a test that is expected to fail makes them.
OPEN = {
    "labels that become": "labels that are text are read twice",
    "dense claims": "a broadcast matrix is read for hours before the length of y is looked at",
    "as an array is read": "X may change after its validation, before its fingerprint",
    "LyingInt": "an int that compares wrongly is believed",
    "LyingText": "a str that compares wrongly is believed",
}


class Planted(Exception):
    """What a hostile object raises by itself: it may pass through `solve`."""


class Call(NamedTuple):
    """A call of `solve`, and what must become of it."""

    description: str
    X: Any
    y: Any
    keywords: dict
    blame: dict  # argument -> the errors allowed where it is to blame; empty: must be solved
    lenient: bool  # it may be solved or refused, only not crash
    absurd: bool  # it may run out of memory
    meddles: bool  # it changes its own buffers
    once: bool  # its objects can be read only once
    plain: np.ndarray  # X as a plain matrix


BOTH = (ValueError, TypeError)


@dataclass
class Draft:
    """A call in the making."""

    rng: np.random.Generator
    A: np.ndarray
    X: Any = None
    y: Any = None
    loss: str = "hinge"
    keywords: dict = field(default_factory=dict)
    notes: list = field(default_factory=list)
    blame: dict = field(default_factory=dict)
    lenient: bool = False
    absurd: bool = False
    meddles: bool = False
    once: bool = False
    shared: bool = False  # y is memory of X

    def pick(self, choices):
        return choices[self.rng.integers(len(choices))]

    def chance(self, p):
        return self.rng.random() < p

    def fault(self, argument, errors, note):
        errors = errors if isinstance(errors, tuple) else (errors,)
        self.blame[argument] = (*self.blame.get(argument, ()), *errors)
        self.notes.append(f"{argument}: {note}")

    def set_loss(self, name):
        """Another loss, with targets and keywords that suit it."""
        self.loss = name
        rng, n = self.rng, len(self.A)
        self.keywords["loss"] = LOSSES[name]() if self.chance(0.2) else name
        for key in ("option", "warm_start", "side"):
            self.keywords.pop(key, None)
        if name not in CLASSIFIERS:
            self.y = rng.integers(0 if name == "poisson" else -6, 7, n) / 2
        else:
            self.y = rng.integers(0, 2, n) * 2.0 - 1
            self.y[:2] = [-1, 1][:n]

    def set_reg(self, reg):
        """Another regulariser, with keywords that suit it."""
        k, name = self.keywords, getattr(reg, "name", reg)
        k["reg"] = reg
        if name == "l2":
            k.pop("sigma", None)
        elif name == "l1":
            k.pop("lam", None)
            k.pop("warm_start", None)
            if k.get("output") in ("average", "random"):
                del k["output"]
            sigma = k.get("sigma")
            k["sigma"] = sigma if isinstance(sigma, float) and sigma > 0 else 0.125
        if name in ("qnorm", "group") or getattr(reg, "geometry", "auto") != "auto":
            k.pop("side", None)


class Made(NamedTuple):
    """An object that is made when the call is, as its constructor may refuse."""

    kind: type
    parameters: dict

    def __call__(self):
        return self.kind(**self.parameters)


def draft(rng) -> Draft:
    """A good call."""
    n, d = (int(k) for k in rng.integers(1, 8, 2))
    A = rng.integers(-24, 25, (n, d)) / 8 * (rng.random((n, d)) < 0.7)
    A[0, 0] = 1
    it = Draft(rng, A)
    names = [name for name in LOSS_NAMES if n > 1 or name not in CLASSIFIERS]
    it.set_loss(it.pick(names))
    it.keywords["max_epochs"] = int(rng.integers(0, 6))
    _store(it)
    _dress_targets(it)
    _choose_keywords(it)
    return it


def hostile(rng) -> Call:
    """One call: a third of them good, most others with one fault, some with several."""
    it, u = draft(rng), rng.random()
    for _ in range(0 if u < 0.3 else 1 if u < 0.9 else rng.integers(2, 4)):
        it.pick(PLANTS)(it)
    return Call(
        "; ".join(it.notes), it.X, it.y, it.keywords, it.blame, it.lenient, it.absurd, it.meddles,
        it.once, it.A,
    )  # fmt: skip


# What is odd about a good call. A stays what X means.


class Whatever:
    """An object that is an array when asked."""

    def __init__(self, *answers):
        self.answers, self.times = answers, itertools.count()

    def __array__(self, dtype=None, copy=None):
        answer = self.answers[min(next(self.times), len(self.answers) - 1)]
        if isinstance(answer, Exception):
            raise answer
        return answer if dtype is None else answer.astype(dtype)


class Liar(np.ndarray):
    """An array that says of itself what is not so."""

    shape = property(lambda self: (10**6, 10**6))
    strides = property(lambda self: (1, 1))
    size = property(lambda self: 0)
    dtype = property(lambda self: np.dtype("f4"))
    data = property(lambda self: None)
    ctypes = property(lambda self: None)
    flags = property(lambda self: None)
    __array_interface__ = property(lambda self: {"data": (8, False)})

    def __len__(self):
        return 10**6

    def __getitem__(self, key):
        raise Planted

    def astype(self, *args, **keywords):
        raise Planted


def shifty(X, **answers):
    """X with attributes that give one answer after the other; the last one stays."""
    answers = {name: iter(list(values)) for name, values in answers.items()}
    last = {}

    def read(name):
        last[name] = next(answers[name], last.get(name))
        return last[name]

    attributes = {name: property(lambda self, name=name: read(name)) for name in answers}
    kind = type(f"Shifty{type(X).__name__}", (type(X),), attributes)
    Y = kind.__new__(kind)
    vars(Y).update(vars(X))
    return Y


def _store(it: Draft) -> None:
    """X in any storage."""
    it.notes.append(f"n, d = {it.A.shape}")
    it.pick((_store_dense, _store_compressed, _store_compressed, _store_coordinates))(it)


def _store_dense(it: Draft) -> None:
    rng, A = it.rng, it.A
    kind = it.pick((*DENSE_ORDERS, *_OTHER_DENSE))
    if kind in DENSE_ORDERS:
        it.X = DENSE_ORDERS[kind](A.astype(it.pick(("f4", "f8"))))
    else:
        it.X = _OTHER_DENSE[kind](A)
        it.once = kind == "read once"
        if kind in ("bool", "int8", "uint64", "broadcast"):
            it.A = np.array(it.X, np.float64)
    if type(it.X) is np.ndarray and rng.random() < 0.2:
        it.X.flags.writeable = False
    it.notes.append(f"X dense {kind}")


_OTHER_DENSE: dict[str, Callable] = {
    "list": lambda A: A.tolist(),
    "tuples": lambda A: tuple(map(tuple, A.tolist())),
    "half": lambda A: A.astype(np.float16),
    "longdouble": lambda A: A.astype(np.longdouble),
    "swapped longdouble": lambda A: A.astype(np.dtype("g").newbyteorder()),
    "bool": lambda A: A != 0,
    "int8": lambda A: A.astype(np.int8),
    "uint64": lambda A: abs(A).astype(np.uint64),
    "matrix": lambda A: np.asmatrix(A),
    "memoryview": lambda A: memoryview(np.ascontiguousarray(A)),
    "broadcast": lambda A: np.broadcast_to(A[0], A.shape),
    "read once": lambda A: Whatever(A, Planted()),
    "liar": lambda A: A.view(Liar),
}


def _compressed(it: Draft, layout=None, real=None):
    """layout, shape and attributes of a good CSR, CSC or BSR matrix of A."""
    layout = layout or it.pick(("csr", "csr", "csc", "bsr"))
    index, real = it.pick((np.int32, np.int64)), real or it.pick(("f4", "f8", "f8"))
    A, (n, d) = it.A.astype(real), it.A.shape
    if layout == "bsr":
        h, w = (it.pick([k for k in range(1, m + 1) if m % k == 0]) for m in (n, d))
        down, across = n // h, d // w
        data = A.reshape(down, h, across, w).swapaxes(1, 2).reshape(-1, h, w)
        indices, indptr = np.tile(np.arange(across), down), np.arange(down + 1) * across
        return layout, {
            "data": data, "indices": indices.astype(index), "indptr": indptr.astype(index),
            "blocksize": (h, w),
        }  # fmt: skip
    data, indices, indptr = parts(it.rng, A if layout == "csr" else A.T, index)
    return layout, {"data": data, "indices": indices, "indptr": indptr}


def _store_compressed(it: Draft) -> None:
    layout, found = _compressed(it)
    kind = it.pick(("array", "matrix"))
    oddity = it.pick((None, None, *_ODD_PARTS, "tail", "mixed", "overlap", "shifty", "shape"))
    if oddity in _ODD_PARTS:
        name = it.pick(("data", "indices", "indptr"))
        found[name] = _ODD_PARTS[oddity](found[name])
    elif oddity == "tail" and layout != "bsr":  # beyond the last row nothing is looked at
        found["data"] = np.append(found["data"], [NAN, INF])
        found["indices"] = np.append(found["indices"], found["indices"].dtype.type(-7))
    elif oddity == "mixed":
        found["indptr"] = found["indptr"].astype(it.pick(("i2", "u4", "i8", ">i4", "u1")))
    elif oddity == "overlap" and layout == "csr":
        k = min(it.A.shape)
        it.A = it.A[:, :k][:k] * 0 + np.eye(k)
        line = np.arange(k + 1, dtype=found["indptr"].dtype)
        found = {"data": np.ones(k), "indices": line[:k], "indptr": line}
        it.set_loss("squared")
        it.y, it.shared = found["data"], True
    it.X = assemble(layout, it.A.shape, kind, **found)
    if oddity == "shifty":
        name = it.pick(("data", "indices", "indptr"))
        wrong = it.pick((found[name][:0], found[name] + found[name].dtype.type(100), None))
        it.X, it.once = shifty(it.X, **{name: [found[name], wrong]}), True
    elif oddity == "shape":
        it.X, it.once = shifty(it.X, shape=[it.A.shape, (10**9, 10**9)]), True
    it.notes.append(f"X {layout} {kind} {oddity or ''}")


_ODD_PARTS: dict[str, Callable] = {
    "misaligned": misaligned,
    "strided": strided,
    "swapped": lambda a: a.astype(a.dtype.newbyteorder()),
    "read-only": lambda a: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape),
    "longer type": lambda a: a.astype("g" if a.dtype.kind == "f" else "i8"),
    "list": lambda a: a.tolist(),
    "liar": lambda a: a.view(Liar),
}
_ODD_PARTS["list"] = lambda a: a.tolist() if a.ndim == 1 else a


def _store_coordinates(it: Draft) -> None:
    layout, kind = it.pick(("coo", "coo", "dia", "lil", "dok")), it.pick(("array", "matrix"))
    it.X = getattr(sparse, f"{layout}_{kind}")(it.A.astype(it.pick(("f4", "f8"))))
    oddity = it.pick((None, "shifty", "odd"))
    if layout == "dok" or (layout == "lil" and oddity == "odd"):
        oddity = None
    if oddity == "shifty":
        names = {"coo": ("data", "row", "col"), "lil": ("rows", "data")}.get(
            layout, ("data", "offsets")
        )
        name = it.pick(names)
        it.X, it.once = shifty(it.X, **{name: [getattr(it.X, name), None]}), True
    elif oddity == "odd":
        it.X.data = it.pick(list(_ODD_PARTS.values()))(it.X.data)
    it.notes.append(f"X {layout} {kind} {oddity or ''}")


def _dress_targets(it: Draft) -> None:
    """y in any guise."""
    if it.shared:
        return
    kinds = _LABELS if it.loss in CLASSIFIERS else _TARGETS
    kind = it.pick(list(kinds))
    it.y = kinds[kind](it.y)
    it.once |= kind == "read once"
    it.notes.append(f"y {kind}")


_TARGETS: dict[str, Callable] = {
    "plain": lambda y: y,
    "list": lambda y: y.tolist(),
    "f4": lambda y: y.astype(np.float32),
    "f2": lambda y: y.astype(np.float16),
    "swapped": lambda y: y.astype(y.dtype.newbyteorder()),
    "misaligned": misaligned,
    "strided": strided,
    "read once": lambda y: Whatever(y, Planted()),
    "liar": lambda y: y.view(Liar),
    "broadcast": lambda y: np.broadcast_to(2.0, y.shape),
}
_LABELS: dict[str, Callable] = {
    **{name: make for name, make in _TARGETS.items() if name != "broadcast"},
    "bool": lambda y: y > 0,
    "int": lambda y: (y > 0).astype(np.uint8),
    "text": lambda y: np.where(y > 0, "yes", "no"),
    "bytes": lambda y: np.where(y > 0, b"yes", b"no"),
    "objects": lambda y: np.where(y > 0, "yes", "no").astype(object),
    "dates": lambda y: np.where(y > 0, np.datetime64("2020-01-01"), np.datetime64("2019-01-01")),
    "huge": lambda y: [10**400 if label > 0 else -(10**400) for label in y],
    "infinite": lambda y: y * INF,
}


def _choose_keywords(it: Draft) -> None:
    """Any good values of the other keywords."""
    k, n, d = it.keywords, *it.A.shape
    loss = LOSSES[it.loss]()
    for name, values in _GOOD.items():
        if it.chance(0.15):
            k[name] = it.pick(values)
    if it.chance(0.3):
        k["option"] = it.pick(loss.options)
    if it.chance(0.25):
        k["side"] = it.pick(("auto", "rows", np.str_("rows")))
        if loss.gamma > 0 and it.chance(0.6):
            k["side"], k["option"], k["output"] = "columns", "auto", it.pick(("last", "best"))
    it.set_reg(it.pick(_REGS)(it.rng, d) if it.chance(0.6) else "l2")
    if it.chance(0.25):
        k["sample_weight"] = it.pick(list(_TARGETS.values()))(it.rng.integers(1, 4, n) / 2)
        it.once |= isinstance(k["sample_weight"], Whatever)
    if it.chance(0.15) and getattr(k["reg"], "name", k["reg"]) != "l1":
        k["warm_start"] = np.zeros(it.rng.integers(0, n + 1))
    if it.chance(0.03):
        k["seed"] = np.random.default_rng(3)
    if it.chance(0.05):
        k["callback"] = it.pick((lambda check: True, lambda check: np.ones(3), print_nothing))


def print_nothing(check):
    str(check)


def _labels_of_groups(rng, d):
    """The number of each feature's group, without gaps."""
    return np.unique(rng.integers(0, d, d), return_inverse=True)[1]


def _lists_of_groups(rng, d):
    labels = _labels_of_groups(rng, d)
    return [np.flatnonzero(labels == k).tolist() for k in range(labels.max() + 1)]


_REGS: tuple[Callable, ...] = (
    lambda rng, d: "l2",
    lambda rng, d: "l1l2",
    lambda rng, d: L1L2(l1_weights=rng.integers(0, 3, d) / 2),
    lambda rng, d: "qnorm",
    lambda rng, d: QNorm(rng.choice([2, 2.5, 3, 40]), l1_weights=rng.integers(0, 3, d) / 2),
    lambda rng, d: QNorm(constant="paper"),
    lambda rng, d: Group(_labels_of_groups(rng, d).astype(rng.choice(["i1", "u2", "i4", "i8"]))),
    lambda rng, d: Group(_labels_of_groups(rng, d).tolist()),
    lambda rng, d: Group(groups := _lists_of_groups(rng, d), rng.integers(0, 3, len(groups)) / 2),
    lambda rng, d: "l1",
    lambda rng, d: L1(l1_weights=rng.integers(1, 3, d) / 2),
    lambda rng, d: L1(str(rng.choice(["l2", "qnorm"])), B=1e6),
)

_GOOD: dict[str, tuple] = {
    "lam": (1, 0.5, np.float32(0.1), Fraction(1, 3), np.array(0.25), np.array([[2.0]]), 1e6, 1e-3),
    "sigma": (0, 0.0, -0.0, 0.01, np.longdouble(0.1), 1e3),
    "tol": (0, 1e-9, 0.5, 1e300),
    "eps": (None, 0, 1e-3, 1e308),
    "max_seconds": (None, 0, 1e-300, 1e300),
    "order": ("permutation", "uniform", "cyclic", "importance", "blocks", np.str_("cyclic")),
    "output": ("last", "average", "random", "best"),
    "T0": (None, 0, 3, np.uint8(7), 10**30),
    "seed": (0, None, 10**40, np.int8(3), np.random.SeedSequence(5)),
    "verbose": (0,),
    "certify_every": (None, 1, 2, 10**30),
}

# Faults. Each plant makes a call that must be refused, whatever else is wrong with it.


class LyingInt(int):
    """-3 that is less than nothing."""

    __lt__ = __le__ = __gt__ = __ge__ = lambda self, other: False


class LyingText(str):
    """A text that is equal to anything."""

    __eq__ = lambda self, other: True  # noqa: E731
    __hash__ = str.__hash__


NO_REALS = ("1", b"1", 1j, [1.0], object(), np.ones(2), np.ones(0), np.True_, True, True, True)
NO_INTEGERS = (*NO_REALS, 1.0, 2.5, NAN, np.float64(2), Fraction(2), np.array([1]))
NOT_POSITIVE = (0, -1, -0.0, NAN, INF, -INF, 10**400, -(10**400), np.float32(NAN), np.array(-1.0))
NEGATIVE = (-1, -1e-300, NAN, INF, -INF, 10**400, Fraction(-1, 3), np.array([NAN]))
NO_CHOICES = ("", "nonsense", "LAST", "hinje", "x" * 10_000, "\0", LyingText("nonsense"))
NO_TEXT = (3, 0.5, b"hinge", ["hinge"], (), np.ones(2), object(), np.array("cyclic"), True)
BELOW_ZERO = (-1, np.int64(-1), -(10**40), LyingInt(-3))
BAD_KEYWORDS: list[tuple[str, Any, tuple]] = [
    *(("lam", value, (TypeError,)) for value in NO_REALS),
    *(("lam", value, (ValueError,)) for value in (*NOT_POSITIVE, 1e-300, 1e300, 5e-324)),
    *((name, value, (TypeError,)) for name in ("tol", "eps", "max_seconds") for value in NO_REALS),
    *((name, value, (ValueError,)) for name in ("tol", "eps", "max_seconds") for value in NEGATIVE),
    *(
        (name, value, (TypeError,))
        for name in ("max_epochs", "T0", "verbose", "certify_every")
        for value in NO_INTEGERS
    ),
    *(
        (name, value, (ValueError,))
        for name in ("max_epochs", "T0", "verbose", "certify_every")
        for value in BELOW_ZERO
    ),
    ("certify_every", 0, (ValueError,)),
    *((name, None, (TypeError,)) for name in ("tol", "max_epochs", "verbose")),
    *(
        (name, value, (TypeError,))
        for name in ("loss", "reg", "option", "order", "output", "side")
        for value in (*NO_TEXT, None)
    ),
    *(
        (name, value, (ValueError,))
        for name in ("loss", "reg", "option", "order", "output", "side")
        for value in NO_CHOICES
    ),
    ("loss", LOSSES["hinge"], (TypeError,)),
    ("reg", L1L2, (TypeError,)),
    ("reg", Regularizer(), (TypeError,)),
    *(("seed", value, (TypeError,)) for value in (*NO_INTEGERS, np.random.RandomState(0))),
    *(("seed", value, (ValueError,)) for value in BELOW_ZERO),
    *(("callback", value, (TypeError,)) for value in (1, "print", [], 0, False)),
]


def plant_keyword(it: Draft) -> None:
    name = it.pick(sorted({name for name, _, _ in BAD_KEYWORDS}))
    plant_one_keyword(it, name)


def plant_one_keyword(it: Draft, name: str) -> None:
    value, errors = it.pick([(value, errors) for key, value, errors in BAD_KEYWORDS if key == name])
    if name == "lam":
        it.set_reg("l2")
    if name in ("option", "output"):
        it.keywords.pop("side", None)
    it.keywords[name] = value
    it.fault(name, errors, f"{value!r:.60} ({type(value).__name__})")


def plant_sigma(it: Draft) -> None:
    reg = it.pick(("l2", "l1l2", "qnorm", Group(np.zeros(it.A.shape[1], int)), "l1", "l1 at 0"))
    it.set_reg("l1" if reg == "l1 at 0" else reg)
    if reg == "l2":
        value, errors = it.pick((0, 0.1, "1", NAN)), ValueError
    elif reg == "l1 at 0":
        value, errors = it.pick((0, 0.0, -0.0)), ValueError
    else:
        values, errors = it.pick(((NO_REALS, TypeError), (NEGATIVE, ValueError)))
        value = it.pick(values)
    it.keywords["sigma"] = value
    it.fault("sigma", errors, f"{value!r:.60} for {reg}")


def plant_lam(it: Draft) -> None:
    """l1 has none."""
    it.set_reg("l1")
    it.keywords["lam"] = it.pick((1, 0.5, "1", NAN, 0))
    it.fault("lam", ValueError, f"{it.keywords['lam']!r} for l1")


def plant_side(it: Draft) -> None:
    """Columns where there are none."""
    kind = it.pick(("loss", "reg", "option", "output", "geometry"))
    if kind == "loss":
        rough = [name for name in LOSS_NAMES if name not in SMOOTH]
        it.set_loss(it.pick([name for name in rough if len(it.A) > 1 or name not in CLASSIFIERS]))
    else:
        it.set_loss(it.pick(("squared", "huber")))
    if kind == "reg":
        it.set_reg(it.pick(("qnorm", Group(np.zeros(it.A.shape[1], int)))))
    elif kind == "geometry":
        it.set_reg(L1(it.pick(("l2", "qnorm"))))
    elif kind != "loss":
        it.set_reg(it.pick(("l2", "l1l2", "l1")))
        values = {"option": ("II", "III", "V"), "output": ("average", "random")}[kind]
        it.keywords[kind] = it.pick(values)
    it.keywords["side"] = "columns"
    it.fault("side", ValueError, f"columns in spite of the {kind}")


def plant_parameter(it: Draft) -> None:
    """A parameter that a regulariser refuses as soon as it is made."""
    kind, name = it.pick(
        ((QNorm, "p"), (QNorm, "constant"), (L1, "geometry"), (L1, "method"), (L1, "B"))
    )
    if name in ("p", "B"):
        values, errors = it.pick(((NO_REALS, TypeError), (NOT_POSITIVE, ValueError)))
        if name == "p" and it.chance(0.5):
            values, errors = (1, 1.5, np.nextafter(2, 1), Fraction(3, 2)), ValueError
    else:
        values, errors = it.pick((((*NO_TEXT, None), TypeError), (NO_CHOICES, ValueError)))
    value = it.pick(values)
    it.set_reg("l1" if kind is L1 else "qnorm")
    it.keywords["reg"] = Made(kind, {name: value})
    it.fault(name, errors, f"{value!r:.60} ({type(value).__name__}) of {kind.__name__}")


def plant_literal(it: Draft) -> None:
    it.set_reg("l1")
    it.keywords.pop("side", None)
    it.keywords.update(reg=L1(method="literal"), eps=it.pick((None, 0, 0.0)))
    it.fault("method", ValueError, "literal without eps")


def plant_groups(it: Draft) -> None:
    d = it.A.shape[1]
    labels, lists = _labels_of_groups(it.rng, d), _lists_of_groups(it.rng, d)
    kind = it.pick(list(_BAD_GROUPS))
    make, errors = _BAD_GROUPS[kind]
    it.set_reg("group")
    it.keywords["reg"] = Made(Group, {"groups": make(it, labels, lists, d)})
    it.fault("groups", errors, f"groups: {kind}")


_BAD_GROUPS: dict[str, tuple[Callable, Any]] = {
    "label missing": (lambda it, labels, lists, d: labels[:-1], ValueError),
    "label too many": (lambda it, labels, lists, d: np.append(labels, 0), ValueError),
    "gap": (lambda it, labels, lists, d: np.where(labels == 0, d, labels), ValueError),
    "negative": (lambda it, labels, lists, d: _with(labels, -1), ValueError),
    "huge": (lambda it, labels, lists, d: _with(labels, 2**62), ValueError),
    "beyond int64": (lambda it, labels, lists, d: _with(labels.tolist(), 2**70), BOTH),
    "floats": (lambda it, labels, lists, d: labels.astype(float), TypeError),
    "bools": (lambda it, labels, lists, d: labels > 0, TypeError),
    "text": (lambda it, labels, lists, d: labels.astype(str), TypeError),
    "objects": (lambda it, labels, lists, d: labels.astype(object), TypeError),
    "masked": (lambda it, labels, lists, d: np.ma.masked_array(labels), TypeError),
    "a column": (lambda it, labels, lists, d: labels[:, None], ValueError),
    "no dimension": (lambda it, labels, lists, d: np.array(0), ValueError),
    "nothing": (lambda it, labels, lists, d: it.pick(([], (), labels[:0])), BOTH),
    "feature missing": (lambda it, labels, lists, d: [*lists[:-1], lists[-1][:-1]], BOTH),
    "feature twice": (lambda it, labels, lists, d: [*lists, [0]], ValueError),
    "twice in one": (lambda it, labels, lists, d: [*lists[:-1], lists[-1] * 2], ValueError),
    "empty group": (lambda it, labels, lists, d: [*lists, np.zeros(0, int)], ValueError),
    "feature too large": (lambda it, labels, lists, d: [*lists, [d]], ValueError),
    "feature negative": (lambda it, labels, lists, d: [*lists, [-1]], ValueError),
    "feature a float": (lambda it, labels, lists, d: [*lists, [0.5]], TypeError),
    "feature text": (lambda it, labels, lists, d: [*lists, ["0"]], TypeError),
    "mixed": (lambda it, labels, lists, d: [*lists, 0], ValueError),
    "deep": (lambda it, labels, lists, d: [[group] for group in lists], ValueError),
    "ragged": (lambda it, labels, lists, d: [*lists, [0, [0]]], BOTH),
    "not iterable": (lambda it, labels, lists, d: it.pick((5, 0.5, object(), True)), BOTH),
    "an array by itself": (lambda it, labels, lists, d: Whatever(labels[:-1]), BOTH),
}


def plant_group_weights(it: Draft) -> None:
    groups = _lists_of_groups(it.rng, it.A.shape[1])
    value = plant_vector(it, "weights", it.rng.integers(1, 3, len(groups)) / 2, minimum=0)
    it.set_reg(Group(groups, object() if value is None else value))


def plant_option(it: Draft) -> None:
    """An option that the loss does not have."""
    missing = {"hinge": ("V",), "squared": ("IV-4L2",), "absolute": ("V",)}
    it.set_loss(it.pick([name for name in missing if len(it.A) > 1 or name != "hinge"]))
    it.keywords["option"] = it.pick(missing[it.loss])
    it.fault("option", ValueError, f"{it.keywords['option']} for {it.loss}")


# arrays of a wrong type, for any argument

STRUCTURE = np.dtype([("a", "f8"), ("b", "i4")])
NO_NUMBERS: dict[str, Callable] = {
    "complex": lambda a: a + 0j,
    "objects": lambda a: a.astype(object),
    "text": lambda a: a.astype(str),
    "bytes": lambda a: a.astype("S8"),
    "dates": lambda a: a.astype("M8[s]"),
    "durations": lambda a: a.astype("m8[s]"),
    "structured": lambda a: np.zeros(a.shape, STRUCTURE),
    "masked": lambda a: np.ma.masked_array(a, mask=False),
    "masked in part": lambda a: np.ma.masked_equal(a, a.flat[0]),
    "sparse": lambda a: sparse.csr_array(np.atleast_2d(a.reshape(a.shape[0], -1))),
    "an array of complex": lambda a: Whatever(a + 0j),
    "frame of objects": lambda a: FakeFrame(a),
}
NO_ARRAYS: dict[str, Callable] = {
    "None": lambda a: None,
    "dict": lambda a: {0: 1.0},
    "set": lambda a: {1.0},
    "generator": lambda a: (x for x in (1.0, 2.0)),
    "object": lambda a: object(),
    "text": lambda a: "text",
    "ragged": lambda a: [[1.0, 2.0], [3.0]],
    "deep": lambda a: [[1.0], [[2.0]]],
    "no array": lambda a: Whatever([1.0]),
    "raises ValueError": lambda a: Whatever(ValueError("mine")),
    "raises TypeError": lambda a: Whatever(TypeError("mine")),
    "raises RuntimeError": lambda a: Whatever(RuntimeError("mine")),
    "raises its own": lambda a: Whatever(Planted()),
    "interface": lambda a: Interface(),
}


class FakeFrame(Whatever):
    """Half a data frame."""

    def __init__(self, array):
        super().__init__(array.astype(object))

    def to_numpy(self, dtype=None, na_value=None):
        return np.full((2, 2), "text")


class Interface:
    __array_interface__ = property(lambda self: {"shape": (3,), "typestr": "<q9", "version": 3})


def wrong_shapes(it: Draft, a):
    """The same numbers in other shapes."""
    m = len(a)
    return it.pick(
        (
            a[:, None], a[None], a[:0], np.append(a, a[:1]), a[: m - 1], a.reshape(m, 1, 1),
            np.array(1.0), np.ones(2 * m), np.broadcast_to(1.0, (m, m, m)),
            np.broadcast_to(1.0, 2**50), 1.0,
        )
    )  # fmt: skip


def with_bad_number(it: Draft, a, *bad):
    """A copy with a NaN or an infinity, in a type that holds it."""
    a = np.array(a, it.pick(("f2", "f4", "f8", "g", ">f8")))
    a.flat[it.rng.integers(a.size)] = it.pick(bad or (NAN, INF, -INF))
    return it.pick((np.asfortranarray, strided, np.asarray))(a)


def plant_type(it: Draft, name: str, a) -> Any:
    kind = it.pick(list(NO_NUMBERS))
    it.fault(name, TypeError, kind)
    return NO_NUMBERS[kind](a)


def plant_no_array(it: Draft, name: str, a) -> Any:
    kind = it.pick(list(NO_ARRAYS))
    it.fault(name, (*BOTH, Planted), f"no array: {kind}")
    return NO_ARRAYS[kind](a)


def plant_vector(it: Draft, name: str, a, minimum=-INF) -> Any:
    """A fault of a vector of reals: its type, its shape, or a number."""
    fault = it.rng.integers(5)
    if fault == 0:
        return plant_type(it, name, a)
    if fault == 1:
        return plant_no_array(it, name, a)
    if fault == 2:
        it.fault(name, ValueError, "shape")
        return wrong_shapes(it, a)
    if fault == 3 and minimum == 0:
        it.fault(name, ValueError, "negative")
        return with_bad_number(it, a, -1.0, -7.0, -1e-5)
    it.fault(name, ValueError, "not finite")
    return with_bad_number(it, a)


# y


def plant_regression_target(it: Draft) -> None:
    it.set_loss(it.pick(("squared", "absolute", "huber", "quantile", "epsilon_insensitive")))
    it.y = plant_vector(it, "y", it.y)


def plant_poisson_target(it: Draft) -> None:
    it.set_loss("poisson")
    it.y = plant_vector(it, "y", it.y, minimum=0)


def plant_labels(it: Draft) -> None:
    it.set_loss(it.pick(("hinge", "smooth_hinge", "squared_hinge", "logistic")))
    n = len(it.A)
    if it.chance(0.1):
        it.y = plant_no_array(it, "y", it.y)
        return
    kind = it.pick(list(_BAD_LABELS))
    make, errors = _BAD_LABELS[kind]
    it.y = make(it, np.resize([-1.0, 1.0], n))
    it.fault("y", errors if n > 1 else (*BOTH, Planted), f"labels: {kind}")


def _with(values, value):
    values[-1] = value
    return values


_BAD_LABELS: dict[str, tuple[Callable, Any]] = {
    "shape": (lambda it, y: wrong_shapes(it, y), ValueError),
    "complex": (lambda it, y: y + 0j, TypeError),
    "structured": (lambda it, y: y.view([("a", "f8")]), TypeError),
    "void": (lambda it, y: y.view("V8"), TypeError),
    "masked": (lambda it, y: np.ma.masked_array(y, mask=False), TypeError),
    "sparse": (lambda it, y: sparse.coo_array(y), TypeError),
    "nan": (lambda it, y: np.append(y[:-1], NAN), ValueError),
    "nan among objects": (lambda it, y: _with(y.astype(object), NAN), ValueError),
    "nan in text": (lambda it, y: _with(["a" if k > 0 else "b" for k in y], NAN), ValueError),
    "None": (lambda it, y: _with(y.tolist(), None), ValueError),
    "NaT": (lambda it, y: _with(y.astype("M8[s]"), "NaT"), ValueError),
    "one class": (lambda it, y: np.ones_like(y) * it.pick((0, 1, INF)), ValueError),
    "one text": (lambda it, y: ["yes"] * len(y), ValueError),
    "many classes": (lambda it, y: np.arange(len(y)) if len(y) > 2 else y * 0, ValueError),
    "no order": (lambda it, y: np.resize(np.array([1, "a"], object), len(y)), TypeError),
    "no comparison": (lambda it, y: np.array([object() for _ in y]), TypeError),
    "comparison raises": (lambda it, y: np.array([Spiteful() for _ in y]), (*BOTH, Planted)),
}


class Spiteful:
    def __eq__(self, other):
        raise Planted

    __ne__ = __lt__ = __eq__
    __hash__ = object.__hash__


# weights and warm starts


def plant_sample_weight(it: Draft) -> None:
    n = len(it.A)
    a = it.rng.integers(1, 4, n) / 2
    if it.chance(0.3):
        value, errors = it.pick(
            ((np.zeros(n), ValueError), (np.zeros(n, "?"), ValueError), (a * -1, ValueError))
            + (((_with(a * 1, 1e-301), ValueError),) if n > 1 else ())
        )
        it.fault("sample_weight", errors, "zeros, negative or tiny")
        it.keywords["sample_weight"] = value
    elif it.chance(0.1):
        it.set_reg("l2")
        it.keywords["sample_weight"] = np.full(n, it.pick((1e301, 1e-305)))
        it.keywords.pop("lam", None)
        it.fault("sample_weight", ValueError, "a sum beyond lam's range")
    else:
        value = plant_vector(it, "sample_weight", a, minimum=0)
        if value is None:
            value = object()
        it.keywords["sample_weight"] = value


def plant_l1_weights(it: Draft) -> None:
    value = plant_vector(it, "l1_weights", it.rng.integers(1, 3, it.A.shape[1]) / 2, minimum=0)
    kind = it.pick((L1L2, QNorm, L1))
    it.set_reg(kind(l1_weights=object() if value is None else value))


def plant_zero_l1_weight(it: Draft) -> None:
    """Nothing bounds such a feature where l1 stands alone."""
    it.set_reg(L1(l1_weights=_with(np.ones(it.A.shape[1]), 0.0)))
    it.fault("l1_weights", ValueError, "0 for l1")


def plant_warm_start(it: Draft) -> None:
    n = len(it.A)
    it.set_loss("hinge" if n > 1 else "absolute")
    if isinstance(it.keywords["reg"], L1) or it.keywords["reg"] == "l1":
        it.set_reg("l2")
    if it.chance(0.4):
        bad = it.pick((2.0, -2.0, 1e300, 1.001, NAN, INF))
        it.keywords["warm_start"] = _with(np.zeros(n), bad)
        it.fault("warm_start", ValueError, f"outside the domain: {bad}")
        it.keywords.pop("sample_weight", None)
        return
    value = plant_vector(it, "warm_start", np.zeros(n))
    if value is None or (isinstance(value, np.ndarray) and value.shape in ((n - 1,), (0,))):
        value = np.zeros(n + 1)
    it.keywords["warm_start"] = value


# X


def plant_dense(it: Draft) -> None:
    kind = it.pick(("type", "no array", "dimensions", "empty", "number", "number"))
    A = it.A
    if kind == "type":
        it.X = plant_type(it, "X", A) if it.chance(0.9) else [*A.tolist(), ["a"] * A.shape[1]]
        if sparse.issparse(it.X):  # which is fine in X
            it.X = np.ma.masked_array(A, A > 1)
        it.fault("X", TypeError, "type")
    elif kind == "no array":
        it.X = plant_no_array(it, "X", A)
    elif kind == "number":
        it.X = with_bad_number(it, A)
        it.fault("X", ValueError, "not finite")
    elif kind == "dimensions":
        it.X = it.pick((A[0], A[..., None], A[0, 0], 3.0, [], np.ones((1, 1, 1, 1))))
        it.fault("X", ValueError, "dimensions")
    else:
        n, d = A.shape
        it.X = np.ones(it.pick(((n, 0), (0, d), (0, 0))), it.pick(("f4", "f8", "i4")))
        it.fault("X", ValueError, f"empty {it.X.shape}")


HUGE = {4: (2**31 - 1, -(2**31), -2, 1 << 30), 8: (2**31, 2**32, 2**63 - 1, -(2**63), 2**62, -1)}


def plant_indptr(it: Draft) -> None:
    """A structure that scipy would follow beyond the ends of the arrays."""
    layout, p = _compressed(it)
    indptr, k = p["indptr"], int(it.rng.integers(1, len(p["indptr"])))
    huge, stored = it.pick(HUGE[indptr.itemsize]), len(p["data"])
    kind = it.pick(("first", "descent", "wrap", "no data", "length", "beyond", "huge", "few"))
    if kind == "first":
        indptr[0] = it.pick((1, -1, huge))
    elif kind == "descent":
        indptr[k] = indptr[k - 1] - it.pick((1, 2, 1000))
    elif kind == "wrap":  # differences of int32 that wrap around to something small
        indptr[1:] = np.resize([2**31 - 1, -2, 3], len(indptr) - 1)
        indptr[-1] = min(3, stored) if len(indptr) > 2 else stored + 1
    elif kind == "no data":
        indptr[1:], indptr[-1] = 3_000_000, 0 if len(indptr) > 2 else 3_000_000
        p["data"], p["indices"] = p["data"][:0], p["indices"][:0]
    elif kind == "length":
        p["indptr"] = it.pick((indptr[:-1], indptr[:0], indptr[:1], np.append(indptr, indptr[-1])))
    elif kind == "beyond":
        indptr[-1] = stored + it.pick((1, 1000, 2**31 - 1 - stored))
    elif kind == "huge":
        indptr[k] = max(huge, 2**30) if it.chance(0.5) else -1
    else:
        few = it.pick(("data", "indices"))
        p[few] = p[few][:-1]
    it.X = assemble(layout, it.A.shape, it.pick(("array", "matrix")), **p)
    it.fault("X", ValueError, f"{layout} indptr {kind}: {p['indptr']}")


def plant_indices(it: Draft) -> None:
    layout, p = _compressed(it)
    n, d = it.A.shape
    minor = {"csr": d, "csc": n, "bsr": d // p.get("blocksize", (1, 1))[1]}[layout]
    k = it.rng.integers(len(p["indices"]))
    p["indices"][k] = it.pick((-1, minor, minor + 1000, *HUGE[p["indices"].itemsize]))
    it.X = assemble(layout, it.A.shape, it.pick(("array", "matrix")), **p)
    it.fault("X", ValueError, f"{layout} indices {p['indices']}")


def plant_parts(it: Draft) -> None:
    """Parts of a wrong type or of more dimensions."""
    layout, p = _compressed(it)
    name = it.pick(("data", "data", "indices", "indptr"))
    kind = it.pick(("type", "dimensions", "number"))
    if kind == "type" and name == "data":
        p[name] = NO_NUMBERS[it.pick([k for k in NO_NUMBERS if "frame" not in k])](p[name])
        it.fault("X", TypeError, f"{layout} data {p[name]!r:.80}")
    elif kind == "type":
        types = ("?", "f4", "f8", "u8", "O", "U3", "S3", "c16", "M8[s]", "masked", "sparse", "None")
        to = it.pick(types)
        p[name] = {
            "masked": lambda a: np.ma.masked_array(a, mask=False),
            "sparse": sparse.coo_array,
            "None": lambda a: None,
        }.get(to, lambda a: a.astype(to))(p[name])
        it.fault("X", TypeError, f"{layout} {name} {to}")
    elif kind == "dimensions" or name != "data":
        flat = layout == "bsr" and name == "data"
        p[name] = p[name].reshape(-1) if flat else it.pick((p[name][:, None], p[name][None]))
        it.fault("X", ValueError, f"{layout} {name} of shape {p[name].shape}")
    else:
        p[name] = with_bad_number(it, p[name])
        it.fault("X", ValueError, f"{layout} data not finite")
    it.X = assemble(layout, it.A.shape, it.pick(("array", "matrix")), **p)


def plant_blocks(it: Draft) -> None:
    _, p = _compressed(it, "bsr")
    (n, d), (h, w) = it.A.shape, p["blocksize"]
    shape = it.pick(((n + 1, w), (h, d + 1), (0, w), (h, 0), (0, 0)))
    p["data"] = np.ones((len(p["data"]), *shape))
    if min(n, d) > 2 and it.chance(0.6):  # blocks that cover most of X, and fit into it
        shape = it.pick(((n - 1, d), (n, d - 1)))
        p = {"data": np.ones((1, *shape)), "indices": np.zeros(1, "i4"), "indptr": np.arange(2)}
    it.X = assemble("bsr", it.A.shape, it.pick(("array", "matrix")), **p)
    it.fault("X", ValueError, f"bsr blocks of shape {shape}")


JUNK_SHAPES = (None, "ab", (), (3,), (3, 4, 5), ("a", "b"), (None, 3), (NAN, 3), 7, ((1,), (2,)))


def plant_shape(it: Draft) -> None:
    n, d = it.A.shape
    layout, p = _compressed(it)
    it.X = assemble(layout, it.A.shape, it.pick(("array", "matrix")), **p)
    if layout == "csr" and it.chance(0.5):
        shape = it.pick(((n + 1, d), (2**40, d), (2**62, 3), (n - 0.5, d)))
    else:
        shape = it.pick(((n, 0), (0, d), (-n, d), (n, -d), (-n, -d), *JUNK_SHAPES))
    if it.chance(0.5):
        it.X._shape = shape
    else:
        it.X, it.once = shifty(it.X, shape=[shape, (n, d)]), True
    junk = shape in JUNK_SHAPES or isinstance(shape[0], float)
    note = "junk shape" if junk else "of shape"
    it.fault("X", BOTH, f"{layout} {note} {shape}")


def plant_dimensions(it: Draft) -> None:
    it.X = it.pick((sparse.coo_array, sparse.csr_array, sparse.dok_array))(it.A[0])
    if it.chance(0.3):
        it.X = sparse.coo_array(it.A[..., None])
    it.fault("X", ValueError, f"sparse of shape {it.X.shape}")


def plant_coordinates(it: Draft) -> None:
    n, d = it.A.shape
    X = getattr(sparse, f"coo_{it.pick(('array', 'matrix'))}")(it.A)
    kind = it.pick(("row", "col", "length", "type", "number", "dimensions"))
    coords = {"row": X.row.astype(np.int64), "col": X.col.astype(np.int64)}
    if kind in coords:
        coords[kind][-1] = it.pick((-1, {"row": n, "col": d}[kind], *HUGE[8]))
    elif kind == "length":
        name = it.pick(("row", "col"))
        coords[name] = it.pick((coords[name][:-1], np.append(coords[name], 0)))
    elif kind == "dimensions":
        name = it.pick(("row", "col"))
        coords[name] = coords[name][:, None]
    elif kind == "number":
        X.data = with_bad_number(it, X.data)
    elif it.chance(0.5):
        name = it.pick(("row", "col"))
        coords[name] = coords[name].astype(it.pick(("?", "f8", "u8", "O", "U3", "c16")))
    else:
        X.data = NO_NUMBERS[it.pick(("complex", "objects", "text", "dates", "structured"))](X.data)
    X.coords = coords["row"], coords["col"]
    it.X = X
    it.fault("X", TypeError if kind == "type" else ValueError, f"coo {kind}")


def plant_lists(it: Draft) -> None:
    n, d = it.A.shape
    X = sparse.lil_array(it.A)
    kind = it.pick(list(_BAD_LISTS))
    errors = _BAD_LISTS[kind](it, X, n, d) or ValueError
    it.X = X
    it.fault("X", errors, f"lil {kind}")


def _set(**attributes):
    def change(it, X, n, d):
        for name, value in attributes.items():
            setattr(X, name, value)
        return BOTH

    return change


def _row(name, make, errors=ValueError):
    def change(it, X, n, d):
        getattr(X, name)[0] = make(getattr(X, name)[0], d)
        return errors

    return change


def _cut(it, X, n, d):
    X.rows, X.data = X.rows[:-1], X.data[:-1]


def _move(it, X, n, d):
    """A value to the next row, but not its column."""
    X.data[-1] = X.data[0][:1] + X.data[-1]
    X.data[0] = X.data[0][1:]
    if n == 1:
        X.data[0] = []


_BAD_LISTS: dict[str, Callable] = {
    "last row missing": _cut,
    "value in another row": _move,
    "rows shorter": lambda it, X, n, d: setattr(X, "rows", X.rows[:-1]),
    "data longer": lambda it, X, n, d: setattr(X, "data", np.append(X.data, X.data)),
    "row longer": _row("rows", lambda row, d: [*row, 0]),
    "values longer": _row("data", lambda row, d: row * 1000),
    "column too large": _row("rows", lambda row, d: [*row[:-1], d]),
    "column negative": _row("rows", lambda row, d: [-1, *row[1:]]),
    "column huge": _row("rows", lambda row, d: [2**63 - 1, *row[1:]]),
    "column beyond int64": _row("rows", lambda row, d: [2**70, *row[1:]], BOTH),
    "column a float": _row("rows", lambda row, d: [0.5, *row[1:]], TypeError),
    "value nan": _row("data", lambda row, d: [NAN, *row[1:]]),
    "value None": _row("data", lambda row, d: [None, *row[1:]], TypeError),
    "value text": _row("data", lambda row, d: ["1", *row[1:]], TypeError),
    "value a list": _row("data", lambda row, d: [[1.0], *row[1:]], BOTH),
    "junk: row no list": _row("rows", lambda row, d: 7, BOTH),
    "junk: values no list": _row("data", lambda row, d: None, BOTH),
    "junk: rows None": _set(rows=None),
    "junk: data a number": _set(data=3.0),
}


def plant_dictionary(it: Draft) -> None:
    n, d = it.A.shape
    X = sparse.dok_array(it.A)
    huge = it.pick((-1, 10**6, 2**62, -(2**63)))
    (key, value), errors = it.pick(
        (
            (((n, 0), 1.0), ValueError), (((0, d), 1.0), ValueError),
            (((huge, 0), 1.0), ValueError), (((0, huge), 1.0), ValueError),
            (((0, 0), NAN), ValueError), (((0, 0), "1"), TypeError),
            (((0, 0), None), TypeError), (((0, 0), 1j), TypeError), (((0, 0.5), 1.0), TypeError),
            (((0, "a"), 1.0), TypeError), (((0, 2**70), 1.0), BOTH), (((1, 2, 3), 1.0), BOTH),
            ((7, 1.0), BOTH), (((0, 0), [1.0]), BOTH), (("ab", 1.0), TypeError),
        )
    )  # fmt: skip
    X._dict[key] = value
    it.X = X
    note = "" if isinstance(key, tuple) and len(key) == 2 else "junk "
    it.fault("X", errors, f"dok {note}{key}: {value!r}")


def plant_diagonals(it: Draft) -> None:
    X = getattr(sparse, f"dia_{it.pick(('array', 'matrix'))}")(it.A)
    kind = it.pick(("offsets", "length", "flat", "number", "type", "index type", "deep"))
    errors: Any = ValueError
    if kind == "offsets":
        X.offsets = X.offsets[:, None]
    elif kind == "length":
        X.offsets = it.pick((X.offsets[:-1], np.append(X.offsets, 99)))
    elif kind == "flat":
        X.data = X.data[0]
    elif kind == "deep":
        X.data = X.data[..., None]
    elif kind == "number":
        X.data[list(X.offsets).index(0), 0] = it.pick((NAN, INF, -INF))
    elif kind == "type":
        errors = TypeError
        X.data = NO_NUMBERS[it.pick(("complex", "objects", "text", "dates", "masked"))](X.data)
    else:
        errors = TypeError
        X.offsets = X.offsets.astype(it.pick(("?", "f8", "u8", "O", "U3")))
    it.X = X
    it.fault("X", errors, f"dia {kind}")


def plant_shifty(it: Draft) -> None:
    """An attribute that is bad when first read, and good ever after."""
    layout, p = _compressed(it)
    X = assemble(layout, it.A.shape, **p)
    name, bad = it.pick(
        (
            ("indptr", p["indptr"][:-1]), ("indptr", p["indptr"] + 1),
            ("indices", p["indices"] - 50),
            ("data", p["data"][:0]), ("data", p["data"] * NAN), ("data", p["data"] * 1j),
        )
    )  # fmt: skip
    it.X, it.once = shifty(X, **{name: [bad, p[name]]}), True
    it.fault("X", BOTH, f"shifty {layout} {name}")


def plant_meddler(it: Draft) -> None:
    """A callback that changes X under the run."""
    if it.chance(0.5):
        layout, p = _compressed(it, "csr", it.pick(("f4", "f8")))
        it.X = assemble(layout, it.A.shape, **p)
        part = p[it.pick(("data", "indices", "indptr"))]
    else:
        part = it.X = DENSE_ORDERS[it.pick(("C", "F", "strided columns"))](it.A.astype("f8"))
        part.flags.writeable = True

    def meddle(check):
        k = tuple(it.rng.integers(part.shape))
        noise = it.pick((7, -7, 1e9, 2**30, -(2**30)))
        part[k] = noise if part[k] != noise else 99

    it.meddles = True
    it.keywords.update(callback=meddle, certify_every=1, side="rows")
    it.fault("X", (ValueError, ArithmeticError), "a callback changes it")


class Meddler:
    """Targets or weights that, as they are read, change X, which was looked at before."""

    def __init__(self, array, part, value):
        self.array, self.part, self.value = array, part, value

    def __array__(self, dtype=None, copy=None):
        self.part[-1] = self.value
        return self.array


def plant_meddling_array(it: Draft) -> None:
    layout, p = _compressed(it, "csr")
    it.X = assemble(layout, it.A.shape, **p)
    name, bad = it.pick((("data", NAN), ("data", INF), ("indices", 99), ("indptr", 10**6)))
    it.set_loss("squared")
    if it.chance(0.5):
        it.y = Meddler(it.y, p[name], bad)
    else:
        it.keywords["sample_weight"] = Meddler(np.ones(len(it.A)), p[name], bad)
    it.keywords["side"] = "rows"
    it.meddles = True
    it.fault("X", (ValueError, ArithmeticError), f"{name} becomes {bad} as an array is read")


def plant_raising_callback(it: Draft) -> None:
    def complain(check):
        raise Planted

    it.keywords["callback"] = complain
    it.fault("callback", Planted, "raises")


# Oddities after which either end is right


def odd_scale(it: Draft) -> None:
    """Numbers near the ends of what double precision holds."""
    scale = it.pick((1e150, 1e160, 1e300, 1e-160, 1e-300, 5e-324))
    store = it.pick((np.asarray, sparse.csr_array, sparse.csc_array, np.asfortranarray))
    it.X, k = store(it.A * scale), it.keywords
    averaged = k.get("output") in ("average", "random") and k.get("T0") is None
    _lenient(it, f"scale {scale}{', T0 of the theorems' if averaged else ''}")


def odd_keyword(it: Draft) -> None:
    name, values = it.pick(
        (
            ("lam", (1e-280, 1e-100, 1e280, 1e100, 1e-12, 1e12)),
            ("sigma", (1e308, 1e-308, 5e-324, 1e100)),
            ("sample_weight", tuple(np.geomspace(1, k, len(it.A)) for k in (1e300, 1e-299, 1e8))),
        )
    )
    if name == "sigma":
        it.set_reg(it.pick(_REGS[1:])(it.rng, it.A.shape[1]))
    it.keywords[name] = it.pick(values)
    _lenient(it, f"{name} = {it.keywords[name]}")


def odd_targets(it: Draft) -> None:
    it.set_loss(it.pick(("squared", "absolute", "huber", "poisson", "quantile")))
    it.y = abs(it.y) * it.pick((1e300, 1e150, 1e-300, 1e20))
    _lenient(it, "targets of extreme size")


def odd_size(it: Draft) -> None:
    """Sizes that are claimed and cost nothing, until somebody believes them."""
    it.absurd, big = True, it.pick((2**50, 2**60, 2**62))
    n, d = it.A.shape
    kind = it.pick(("csc", "coo", "dok", "dia", "csr", "indices", "data", "dense"))
    if kind == "dense":
        it.X = np.broadcast_to(1.0, it.pick(((2**40, d), (n, 2**40))))
    elif kind in ("csc", "coo", "dok", "dia"):
        it.X = getattr(sparse, f"{kind}_array")(it.A)
        it.X._shape = (big, d)
    else:
        it.X = sparse.csr_array(it.A)
        if kind == "csr":
            it.X._shape = (n, big)
        elif kind == "indices":
            it.X.indices = np.broadcast_to(np.int32(0), min(big, 2**58))
        else:
            it.X.data = np.broadcast_to(np.float16(1), min(big, 2**58))
    it.once = True
    _lenient(it, f"{kind} claims 2**{big.bit_length() - 1}")


def odd_shape(it: Draft) -> None:
    n, d = it.A.shape
    layout, p = _compressed(it)
    it.X, it.once = assemble(layout, it.A.shape, **p), True
    it.X._shape = it.pick(((float(n), d), (n, float(d)), [n, d], np.array([n, d]), (n, np.int8(d))))
    _lenient(it, f"{layout} of odd shape {it.X._shape!r}")


def odd_format(it: Draft) -> None:
    """A format of its own, or one that is not its own."""
    X = it.pick((sparse.csr_array, sparse.coo_array, sparse.lil_array, sparse.bsr_array))(it.A)
    formats = ("csr", "csc", "bsr", "coo", "dia", "lil", "dok", "own", "", None, [], 3)
    it.X, it.once = shifty(X, format=[it.pick(formats)]), True
    _lenient(it, f"{type(X).__name__} of another format")


def odd_offsets(it: Draft) -> None:
    it.X = sparse.dia_array(it.A)
    it.X.offsets = it.X.offsets.astype(np.int64)
    it.X.offsets[0] = it.pick((2**63 - 1, -(2**63), 2**62, 10**6, 0))
    it.once = True
    _lenient(it, f"dia offsets {it.X.offsets}")


def odd_labels(it: Draft) -> None:
    """Labels that change when they are read again."""
    if len(it.A) == 1:
        return
    it.set_loss("hinge")
    text = np.where(it.y > 0, "yes", "no")
    other = it.pick((text[:0], text[:, None], np.array(7), Planted(), ValueError("mine"), it.y))
    it.y, it.once = Whatever(text, other), True
    _lenient(it, f"labels that become {other!r}")


def odd_warm_start(it: Draft) -> None:
    n = len(it.A)
    it.keywords["warm_start"] = Whatever(np.zeros(n), np.zeros(it.rng.integers(0, 9)))
    it.once = True
    _lenient(it, "a warm start that changes")


def _lenient(it: Draft, note: str) -> None:
    it.lenient = True
    it.notes.append(note)


PLANTS: tuple[Callable[[Draft], None], ...] = (
    plant_keyword, plant_keyword, plant_keyword, plant_keyword, plant_keyword, plant_keyword,
    plant_sigma, plant_lam, plant_side, plant_side, plant_parameter, plant_parameter, plant_literal,
    plant_groups, plant_groups, plant_group_weights, plant_zero_l1_weight, plant_option,
    plant_regression_target, plant_poisson_target, plant_labels, plant_labels, plant_sample_weight,
    plant_l1_weights, plant_warm_start, plant_dense, plant_dense, plant_indptr, plant_indptr,
    plant_indices, plant_parts, plant_parts, plant_blocks, plant_shape, plant_dimensions,
    plant_coordinates, plant_lists, plant_dictionary, plant_diagonals, plant_shifty, plant_meddler,
    plant_meddling_array, plant_raising_callback, odd_scale, odd_keyword, odd_targets, odd_size,
    odd_shape, odd_format, odd_offsets, odd_labels, odd_warm_start,
)  # fmt: skip
