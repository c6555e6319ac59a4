"""Models in files: what is saved comes back to the last bit, and nothing else comes back at all."""

import ast
import contextlib
import ctypes
import dataclasses
import importlib.util
import itertools
import json
import math
import os
import pickle
import resource
import stat
import subprocess
import sys
import textwrap
import threading
import tracemalloc
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from own import ElasticNet, Expectile
from problems import LOSS_NAMES, REG_NAMES, make
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold
from vector_problems import make as make_vector
from vector_problems import make_explicit, skewed

import proxsdca
from proxsdca import (
    SDCAClassifier,
    SDCAClassifierCV,
    SDCARegressor,
    SDCARegressorCV,
    SDCASequenceTagger,
    SDCASequenceTaggerCV,
    _container,
    _files,
    _model,
    structured,
)
from proxsdca.estimators import Unscaled
from proxsdca.losses import (
    LOSSES,
    CompiledLoss,
    EpsilonInsensitive,
    Huber,
    MulticlassHinge,
    Quantile,
    SmoothHinge,
    Softmax,
)
from proxsdca.oracles import Chain
from proxsdca.regularizers import L1, L1L2, Group, QNorm, Regularizer

CORPUS = Path(__file__).parent / "corpus"


def listed(value):
    """A parameter without the container that it came in."""
    if isinstance(value, (list, tuple, range)):
        return [*map(listed, value)]
    return value if isinstance(value, (str, type(None))) else np.asarray(value).tolist()


def same(a, b, name="it"):
    """Whether two values are equal in every bit, dtypes and flags among them."""
    a, b = (x.item() if isinstance(x, np.generic) else x for x in (a, b))
    assert type(a) is type(b), name
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype, name
        assert a.shape == b.shape, name
        assert a.flags.writeable == b.flags.writeable, name
        if a.flags.contiguous or a.flags.f_contiguous:
            assert a.strides == b.strides, name
        if a.dtype == object:
            same(a.tolist(), b.tolist(), name)
        else:
            assert a.tobytes() == b.tobytes(), name
    elif sparse.issparse(a):
        assert a.shape == b.shape, name
        for part in ("data", "indices", "indptr"):
            same(getattr(a, part), getattr(b, part), f"{name}.{part}")
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b), name
        for k, (x, y) in enumerate(zip(a, b, strict=True)):
            same(x, y, f"{name}[{k}]")
    elif isinstance(a, dict):
        same([*a], [*b], f"the keys of {name}")
        same([*a.values()], [*b.values()], name)
    elif isinstance(a, float):
        assert a.hex() == b.hex(), name
    elif dataclasses.is_dataclass(a):
        for field in dataclasses.fields(a):
            if field.name != "oracle" and (field.name != "alpha" or "oracle" not in vars(a)):
                same(getattr(a, field.name), getattr(b, field.name), f"{name}.{field.name}")
    elif hasattr(a, "parameters"):  # a loss or a regulariser
        for key in a.parameters:
            assert listed(getattr(a, key)) == listed(getattr(b, key)), f"{name}.{key}"
    elif isinstance(a, proxsdca.estimators._base.SDCABase):
        same(dict(sorted(vars(a).items())), dict(sorted(vars(b).items())), name)
    else:
        assert a == b, name


@pytest.fixture(scope="module", autouse=True)
def no_waiting_for_the_disk():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield


@pytest.fixture
def again(tmp_path):
    """again(model): what comes back, once it was seen to be the same."""

    def trip(model, **own):
        path = tmp_path / "model"
        model.save(path)
        written = path.read_bytes()
        found = type(model).load(path, **own)
        same(model, found)
        same(found, proxsdca.load(str(path), **own))
        found.save(path)
        assert path.read_bytes() == written
        assert os.listdir(tmp_path) == ["model"]
        return found

    return trip


def result(**keywords):
    """A small model."""
    return make("hinge", n=10, d=4).solve(**keywords)


# ------------------------------------------------------------------------------ what comes back


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_every_loss_and_regulariser(again, loss):
    for reg, intercept in itertools.product((*REG_NAMES, "l1"), (False, True)):
        case = make(loss, reg, n=12, d=6, fit_intercept=intercept)
        r = case.solve(tol=1e-2)
        found = again(r)
        np.testing.assert_array_equal(found.predict(case.X), r.predict(case.X))
        assert repr(found) == repr(r)
        assert found.summary() == r.summary()


def test_a_model_that_comes_back_certifies_starts_and_pickles(again):
    for case in (make("logistic", "l1l2", lam=0.1, sigma=0.01), make_vector("multiclass_hinge")):
        r = case.solve()
        found = again(r)
        assert case.certify(found.w, found.alpha) == case.certify(r.w, r.alpha)
        assert case.certify(found.w, found.alpha).gap == r.gap
        same(case.solve(warm_start=found).w, case.solve(warm_start=r).w)
        assert case.solve(warm_start=found).epochs == 0
        loaded = pickle.loads(pickle.dumps(found))
        assert repr(loaded) == repr(r)
        np.testing.assert_array_equal(loaded.w, r.w)


@pytest.mark.parametrize(
    "loss",
    [
        SmoothHinge(0.3),
        Quantile(0.7),
        EpsilonInsensitive(0.25),
        Huber(delta=np.float64(0.1)),
        SmoothHinge(np.float32(0.1)),
    ],
)
def test_parameters_of_losses(again, loss):
    found = again(make(loss, n=10, d=4).solve())
    assert found.loss == loss


@pytest.mark.parametrize(
    "reg",
    [
        L1L2(np.arange(6.0)),
        L1L2([1, 2, np.int64(3), 4.5, np.float32(5), 6]),
        L1L2((1, 2, 3, 4, 5, 6)),
        L1L2(pd.Series(np.arange(6.0), index=list("abcdef"))),
        L1L2(np.arange(6, dtype=">f4")),
        L1L2(np.broadcast_to(2.0, 6)),
        Group([range(3), range(3, 6)]),
        Group([[0, 1], np.array([2, 3, 4]), (5,)], weights=[1, 2.5, 0]),
        Group(pd.Series([0, 0, 1, 1, 2, 2])),
        QNorm(p=4, constant="valid"),
        QNorm(constant="paper", l1_weights=[1] * 6),
        L1(geometry="qnorm", B=100, l1_weights=np.ones(6)),
        L1(geometry="l2"),
    ],
    ids=repr,
)
def test_parameters_of_regularisers(tmp_path, reg):
    case = make("smooth_hinge", n=12, d=6, sigma=0.01)
    r = case.solve(reg=reg, tol=1e-2)
    r.save(tmp_path / "a")
    found = proxsdca.Result.load(tmp_path / "a")
    assert type(found.reg) is type(reg)
    same(case.solve(reg=found.reg, tol=1e-2).w, r.w)
    found.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


LABELS = [
    np.array(["no", "yes"]),
    np.array(["no", "yes"], "<U20"),
    np.array(["\ud800 lone", "ünï\U0001f600"]),
    np.array([b"no", b"yes"]),
    np.array([-3, 7]),
    np.array([0, 200], np.uint8),
    np.array([0.5, 2.5]),
    np.array([False, True]),
    np.array(["a", "b"], object),
    np.array([1, 10**30], object),
    np.array(["2001-01-01", "2002-02-02"], "M8[D]"),
    np.array(["2001-01-01", "2002-02-02"], "M8[ns]"),
    np.array([1, 2], "m8[25s]"),
]


@pytest.mark.parametrize("labels", LABELS, ids=lambda labels: f"{labels.dtype} {labels[0]}")
def test_labels(again, labels):
    case = make("hinge", n=12, d=4)
    y = labels[(case.y > 0).astype(int)]
    r = proxsdca.solve(case.X, y)
    same(again(r).predict(case.X), r.predict(case.X))
    softmax = proxsdca.solve(case.X, y, loss=Softmax(classes=labels))
    assert again(softmax).loss == softmax.loss
    costs = proxsdca.solve(case.X, y, loss=MulticlassHinge([[0, 2], [1, 0]], labels))
    same(again(costs).loss.cost, costs.loss.cost)
    same(again(costs).loss.classes, costs.loss.classes)
    again(proxsdca.one_vs_rest(case.X, y))
    if labels.dtype.kind in "Uib" or labels[0] == "a":
        again(SDCAClassifier(warm_start=True).fit(case.X, y))
        again(SDCAClassifier(costs.loss).fit(case.X, y))


@pytest.mark.parametrize("loss", ["softmax", "multiclass_hinge", MulticlassHinge(skewed(4))])
@pytest.mark.parametrize("reg", ["l2", "l1l2", "qnorm", "group"])
def test_vector_losses(again, loss, reg):
    case = make_vector(loss, reg, n=12, d=4)
    for intercept in (False, True):
        r = case.solve(fit_intercept=intercept, tol=1e-2)
        same(again(r).predict(case.X), r.predict(case.X))
    if isinstance(loss, str):
        case = make_explicit(loss, reg, n=12, d=4)
        offsets = case.keywords["offsets"]
        r = case.solve(tol=1e-2)
        same(again(r).predict(case.X, offsets), r.predict(case.X, offsets))


def test_results_that_did_not_converge(again):
    case = make("absolute", n=12, d=4)
    for more in ({"max_epochs": 0}, {"max_epochs": 1}, {"callback": lambda check: True}):
        with pytest.warns(proxsdca.ConvergenceWarning):
            r = case.solve(tol=1e-12, option="I", **more)
        assert again(r).status is r.status
    odd = dataclasses.replace(r, gap=math.nan, dual=-math.inf, target=math.inf, rounding=-0.0)
    assert again(odd).dual == -math.inf


def test_one_vs_rest_and_paths(again):
    case = make_vector("softmax", n=20, d=4)
    for keep in (False, True):
        o = proxsdca.one_vs_rest(case.X, case.y, loss="logistic", keep_alpha=keep)
        found = again(o)
        same(found.predict_proba(case.X), o.predict_proba(case.X))
        if keep:
            warm = proxsdca.one_vs_rest(case.X, case.y, loss="logistic", warm_start=found)
            assert (warm.epochs <= o.epochs).all()
            assert warm.converged.all()
        for more in ({"num": 5}, {"lams": [1, 0.1], "reg": "l1l2", "fit_intercept": True}):
            again(proxsdca.path(case.X, case.X[:, 0], keep_alpha=keep, **more))
        for loss in ("softmax", "multiclass_hinge"):
            path = proxsdca.path(
                case.X, case.y, loss=loss, reg="l1l2", num=20, keep_alpha=keep, tol=1e-2
            )
            found = again(path)
            assert len(found) == 20
            assert repr(found) == repr(path)


def test_structured_results(again):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 3)), rng.integers(0, 2, 12)
    oracle = Chain(X, y, [4, 4, 4])
    r = structured.solve(oracle, lam=0.1)
    found = again(r)
    assert found.alpha is found.oracle is None
    assert found.summary().splitlines()[1:] == r.summary().splitlines()[1:]
    assert repr(found) == repr(r)
    with pytest.raises(ValueError, match="has no labels"):
        found.labels(0)
    with pytest.raises(TypeError, match="has no decode"):
        found.decode()


def doubled_hinge():
    functions = {
        "value": lambda z, y: 2 * max(0.0, 1 - y * z),
        "subgradient": lambda z, y: -2 * y * (y * z < 1),
    }
    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double)
    functions = {name: kind(function) for name, function in functions.items()}
    return CompiledLoss(**functions, lipschitz=2.0, classification=True, name="doubled")


class Own(L1L2):
    """A subclass of one of ours is not one of ours."""

    name = "l1l2"


@pytest.mark.parametrize(
    "own",
    [{"loss": Expectile(0.3)}, {"reg": ElasticNet()}, {"loss": doubled_hinge()}, {"reg": Own()},
     {"loss": Expectile(0.3), "reg": ElasticNet()}],
    ids=str,
)  # fmt: skip
def test_parts_of_ones_own_are_kept_by_name(tmp_path, own):
    path = tmp_path / "model"
    case = make("hinge", n=12, d=4)
    r = case.solve(**own, tol=1e-2)
    r.save(path)
    found = proxsdca.Result.load(path, **own)
    same(found.w, r.w)
    for name, part in own.items():
        assert getattr(found, name) is part
        with pytest.raises(ValueError, match=rf"{path}: .*{part.name}.*load\(path, {name}=...\)"):
            proxsdca.load(path, **{key: value for key, value in own.items() if key != name})
        others = {"loss": "squared", "reg": "l1"}
        with pytest.raises(ValueError, match=rf"{path}: .*: {name} is '{others[name]}'"):
            proxsdca.load(path, **{**own, name: others[name]})


# ---------------------------------------------------------------------------------- estimators


def estimators():
    """Each with what it is fitted to."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    k, names = rng.integers(0, 3, 30), np.array(["a", "b", "c"])
    frame = pd.DataFrame(X, columns=["one", "two", "three"])
    weights = {"a": 1, "b": np.float64(2.5), "c": np.int64(1)}
    costs = MulticlassHinge(skewed(3), names)
    yield SDCAClassifier(), (X, k > 0)
    yield SDCAClassifier(class_weight={np.int64(0): 1, 1: np.float32(2)}), (frame, k > 0)
    yield SDCAClassifier("logistic", class_weight=weights), (frame, names[k])
    yield SDCAClassifier("logistic", multi_class="joint", fit_intercept=np.False_), (X, k)
    yield SDCAClassifier(costs, lam=Unscaled(0.5), tol=np.float32(1e-2)), (X, names[k])
    yield SDCAClassifier(SmoothHinge(0.3), L1L2(pd.Series([1, 2, 3.0])), sigma=1e-2), (X, k)
    yield SDCAClassifier(reg=Group([range(2), [2]]), sigma=np.float64(1e-2)), (X, k > 0)
    yield SDCAClassifier("softmax", random_state=np.int64(3), class_weight="balanced"), (X, k)
    yield SDCARegressor(), (frame, X[:, 0])
    yield SDCARegressor("poisson", "l1", sigma=Unscaled(1.0, per="rows")), (X, k)
    yield SDCARegressorCV(num=3, cv=2), (frame, X[:, 0])
    yield SDCARegressorCV("huber", "l2", lams=[1, 0.1], cv=[(k > 0, k > 1)] * 19), (X, k)
    yield SDCAClassifierCV(num=2, cv=2, reg="l1l2"), (frame, names[k])
    yield SDCAClassifierCV("softmax", num=2, cv=2, lams=np.array([1.0, 0.1])), (X, k)
    yield SDCASequenceTagger(), (frame, names[k], [10] * 3)
    yield SDCASequenceTagger(reg="l1l2", lam=Unscaled(1), normalize=True), (X, k)
    yield SDCASequenceTaggerCV(num=2, cv=2), (X, names[k], [10] * 3)


@pytest.mark.parametrize(("model", "data"), estimators(), ids=lambda x: str(x)[:50])
def test_estimators(again, model, data):
    def answers(model):
        names = ("predict", "decision_function", "predict_proba")
        rows = [data[0][:n] for n in (1, 2, 30)]  # of which BLAS may make different bits
        return [getattr(model, name)(X) for name in names if hasattr(model, name) for X in rows]

    assert again(model.fit(*data)) is not model
    found = again(model)
    same(answers(found), answers(model))
    assert found.score(*data) == model.score(*data)
    same(answers(pickle.loads(pickle.dumps(found))), answers(model))
    same(found.fit(*data).coef_, model.coef_)
    model.sparsify()
    sparsified = again(model)
    same(answers(sparsified), answers(model))
    same(sparsified.densify().coef_, model.densify().coef_)
    sparsified.coef_ *= 2  # which may be changed, and nothing else changes with it
    if hasattr(sparsified, "result_"):
        assert not sparsified.result_.w.flags.writeable


def test_an_estimator_goes_on_where_the_saved_one_was(again):
    case = make_vector("softmax", n=30, d=4)
    for model in (SDCAClassifier("softmax", warm_start=True), SDCARegressor(warm_start=True)):
        found = again(model.fit(case.X, case.y))
        assert model.n_iter_ > 0
        assert found.fit(case.X, case.y).n_iter_ == 0
        assert found.fit(case.X[:20], case.y[:20]).n_iter_ > 0


def test_arrays_that_may_change_are_not_shared(tmp_path):
    model = SDCASequenceTagger().fit(np.eye(3), [0, 1, 0], [3])
    model.start_, model.end_ = np.zeros(2), np.zeros(2)
    model.save(tmp_path / "model")
    found = proxsdca.load(tmp_path / "model")
    found.start_ += 1
    assert not found.end_.any()


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (SDCAClassifier(random_state=np.random.RandomState(0)), "random_state"),
        (SDCAClassifierCV(cv=KFold(2), num=2), "cv"),
        (SDCAClassifierCV(cv=2, num=2, scoring=lambda model, X, y: 0.0), "scoring"),
        (SDCARegressorCV(cv=2, sigmas=pd.Series([1.0])), "sigmas"),
    ],
)
def test_what_no_file_can_hold_is_named(tmp_path, model, name):
    case = make("hinge", n=12, d=4)
    path = tmp_path / "model"
    path.write_bytes(b"before")
    with pytest.raises(TypeError, match=rf"parameters\['{name}'\] is a .*, which no file can hold"):
        model.fit(case.X, case.y).save(path)
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["model"]


def test_only_what_is_fitted_is_saved(tmp_path):
    with pytest.raises(NotFittedError):
        SDCAClassifier().save(tmp_path / "model")
    assert not os.listdir(tmp_path)


# ------------------------------------------------------------------- containers of other values

leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(10**40), 10**40)
    | st.floats()
    | st.text(st.characters(), max_size=5)
    | npst.arrays(
        st.one_of(
            npst.boolean_dtypes(),
            npst.integer_dtypes(endianness="<"),
            npst.floating_dtypes(sizes=(16, 32, 64), endianness="<"),
            npst.unicode_string_dtypes(endianness="<"),
            npst.datetime64_dtypes(endianness="<"),
        ),
        npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
    )
)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3)
        | inner.map(lambda value: [value] * 20)
    ),
    max_leaves=6,
)


@given(values)
def test_any_value_comes_back(tmp_path_factory, value):
    path = tmp_path_factory.getbasetemp() / "value"
    _container.save(path, "value", value)
    found = _container.load(path, None)
    if isinstance(value, float) and math.isnan(value):
        assert math.isnan(found.value)
    else:
        same(found.value, value)
    written = path.read_bytes()
    _container.save(path, "value", found.value)
    assert path.read_bytes() == written


@pytest.mark.parametrize(
    "value",
    [
        1j,
        b"bytes",
        {1, 2},
        object(),
        np.array([1j]),
        np.array([[1, "a"]], object),
        np.array("a", object),
        np.array([object()]),
        np.array([[1], None], object)[:1],
        np.array([math.nan], object),
        np.ma.masked_equal([1, 2], 2),
        np.zeros(2, np.longdouble),
        np.longdouble(1),
        np.zeros(2, [("a", "f8", 2)]),
        np.zeros(2, "V8"),
        np.zeros(2, np.dtype([(f"f{k}", "i1") for k in range(65)])),
        np.datetime64("2001-01-01"),
        sparse.coo_array(np.eye(2)),
        sparse.csr_matrix(np.eye(2)),
        sparse.csr_array(np.eye(2) * 1j),
        proxsdca.Check(*range(8)).__class__,
    ],
    ids=lambda value: repr(value)[:30],
)
def test_other_values_are_refused(tmp_path, value):
    with pytest.raises(TypeError, match="value"):
        _container.save(tmp_path / "a", "value", {"key": [value]})
    assert not os.listdir(tmp_path)


def test_values_without_end_are_refused(tmp_path):
    endless = []
    endless.append({"a": (endless,)})
    own = np.empty(1, object)
    own[0] = own
    deepest = sparse.csr_array(np.eye(2))
    for _ in range(_container.DEEPEST):
        deepest = [deepest]
    _container.save(tmp_path / "a", "value", deepest)
    same(_container.load(tmp_path / "a", None).value, deepest)
    for value in (endless, own, [deepest]):
        with pytest.raises(TypeError, match="nested too deeply"):
            _container.save(tmp_path / "b", "value", value)
    assert os.listdir(tmp_path) == ["a"]


def test_a_class_that_only_has_the_name_of_ours(tmp_path, monkeypatch):
    monkeypatch.setattr(_model, "KINDS", dict(_model.KINDS))

    class Result(proxsdca.Result):
        pass

    class Mine(proxsdca.Result):
        pass

    class Status:
        name = "CONVERGED"

    r = result()
    with pytest.raises(TypeError, match="Result is a Result, which no file can hold"):
        Result(**vars(r)).save(tmp_path / "a")
    with pytest.raises(TypeError, match=r"Result\.status is a Status, which no file can hold"):
        dataclasses.replace(r, status=Status()).save(tmp_path / "a")
    Mine(**vars(r)).save(tmp_path / "a")
    assert type(proxsdca.load(tmp_path / "a")) is Mine
    same(proxsdca.Result.load(tmp_path / "a").w, r.w)
    r.save(tmp_path / "a")
    assert type(proxsdca.load(tmp_path / "a")) is proxsdca.Result
    for other in (Mine, proxsdca.OneVsRest, SDCAClassifier):
        with pytest.raises(ValueError, match=f"a: it holds a Result, not a {other.__name__}"):
            other.load(tmp_path / "a")


# -------------------------------------------------------------------------------- damaged files


def damage(path):
    """Cut a file anywhere, and flip each of its bits: every time it is refused, with the path."""
    data = path.read_bytes()
    refusal = f"{path}: "
    cuts = flips = 0

    def attempt():
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            proxsdca.load(path)
        assert str(caught.value).startswith(refusal)

    with open(path, "r+b", buffering=0) as file:
        for place, byte in enumerate(data):
            for bit in range(8):
                os.pwrite(file.fileno(), bytes([byte ^ 1 << bit]), place)
                attempt()
                flips += 1
            os.pwrite(file.fileno(), bytes([byte]), place)
        assert path.read_bytes() == data
        for length in reversed(range(len(data))):
            file.truncate(length)
            attempt()
            cuts += 1
    assert (flips, cuts) == (8 * len(data), len(data))
    for more in (b"\0", b"x", b"\0" * 64, data):
        path.write_bytes(data + more)
        attempt()
    path.write_bytes(data)


def test_every_truncation_and_every_flipped_bit(tmp_path):
    case = make("hinge", n=40, d=5)
    r = proxsdca.solve(case.X, np.where(case.y > 0, "yes", "no"))
    path = tmp_path / "model"
    r.save(path)
    assert path.stat().st_size == pytest.approx(2048, rel=0.2)
    damage(path)
    same(proxsdca.load(path), r)


@pytest.mark.long
@pytest.mark.parametrize("path", sorted(CORPUS.glob("v*/*.model")), ids=lambda path: path.stem)
def test_every_damage_to_the_corpus(tmp_path, path):
    copy = tmp_path / "model"
    copy.write_bytes(path.read_bytes())
    damage(copy)
    proxsdca.load(copy)


def entry(array, **other):
    """How a header describes an array."""
    described = {
        "dtype": array.dtype.str,
        "shape": list(array.shape),
        "order": "C",
        "writeable": False,
        "checksum": blake2b(array.tobytes(), digest_size=32).hexdigest(),
    }
    return [*{**described, **other}.values()]


def forge(path, header, *arrays, version=1, length=None):
    """A file with the right digests around any header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    begin = b"proxsdca" + version.to_bytes(4, "little")
    begin += (len(text) if length is None else length).to_bytes(8, "little")
    data = begin + blake2b(begin + text, digest_size=32).digest() + text
    for array in (b"", *arrays):
        data += array if isinstance(array, bytes) else array.tobytes()
        data += b"\0" * (-len(data) % 64)
    # over what is there, as some file systems wait for the disk where a file was emptied
    with open(os.open(path, os.O_WRONLY | os.O_CREAT), "wb") as file:
        file.write(data)
        file.truncate()


def read(path):
    """The header and the payload of a file."""
    data = Path(path).read_bytes()
    end = 52 + int.from_bytes(data[12:20], "little")
    return json.loads(data[52:end]), data[end + -end % 64 :]


def refused(path, reason=": ", **own):
    """Refused with a ValueError that has the path and is not too long."""
    with pytest.raises(ValueError, match=reason) as caught:
        proxsdca.load(path, **own)
    assert str(caught.value).startswith(f"{path}: ")
    assert len(str(caught.value)) < 600


def of_value(value, arrays=(), kind="Result"):
    return {"kind": kind, "written_by": "0", "value": value, "arrays": [*arrays]}


def test_a_forged_file_that_is_right_is_read(tmp_path):
    """So that those below are refused for what they are meant to be."""
    path = tmp_path / "model"
    r = result()
    r.save(path)
    header, payload = read(path)
    forge(path, header, payload)
    same(proxsdca.load(path), r)


def places(node, path=()):
    """Where there is something in a header."""
    yield path
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, inner in items:
        if isinstance(inner, (dict, list)):
            yield from places(inner, (*path, key))
        else:
            yield (*path, key)


NONSENSE = [
    None, True, -1, 2**63, 10**4000, 0.5, 1e400, "", "x" * 100_000, [], {}, [[]], {"kind": "array"},
    {"kind": "array", "at": -1}, {"kind": "array", "at": True}, {"kind": "array", "at": 0.0},
    {"kind": "array", "at": "0"}, {"kind": "array", "at": 99}, {"kind": "dict", "items": [[[], 1]]},
    {"kind": "dict", "items": [1]}, {"kind": "tuple", "items": 1}, {"kind": "float", "value": "1"},
    {"kind": []}, {"kind": "loss", "fields": {"name": "quantile", "parameters": {"tau": 7}}},
    {"kind": "loss", "fields": {"name": [], "parameters": {}}}, {"kind": "csr"},
    {"kind": "regularizer", "fields": {"name": "qnorm", "parameters": {"p": "x"}}},
    {"kind": "regularizer", "fields": {"name": "l2", "parameters": {"p": 2}}},
    {"kind": "own loss", "fields": {"name": "mine"}}, {"kind": "own regularizer", "fields": {}},
    {"kind": "Status", "fields": {"name": "GONE"}}, {"kind": "Result", "fields": {}},
    {"kind": "SDCAClassifier", "fields": {}}, {"kind": "SDCABase", "fields": 1},
    {"kind": "SDCANothing", "fields": {}}, {"kind": "labels", "items": "abc", "writeable": True},
    {"kind": "labels", "items": [[1]], "writeable": True}, {"kind": "labels", "items": []},
    {"kind": "Unscaled", "fields": {"x": 1}}, {"kind": "os.system", "fields": {"x": "true"}},
]  # fmt: skip


@pytest.mark.parametrize(
    "model",
    [
        lambda: make_vector("multiclass_hinge", n=8, d=3).solve(),
        lambda: SDCAClassifier(lam=Unscaled(1.0), class_weight={1: 2}).fit(np.eye(4), [0, 0, 1, 1]),
    ],
    ids=["result", "estimator"],
)
def test_nonsense_anywhere_in_a_header(tmp_path, model):
    path = tmp_path / "model"
    model().save(path)
    header, payload = read(path)
    new = np.zeros((2, 3))
    count = 0
    for k, place in enumerate([*places(header)][1:]):
        *way, last = place
        for j, nonsense in enumerate((*NONSENSE, "left out")):
            if (j + k) % 5:  # each place sees some, each nonsense many places
                continue
            changed = json.loads(json.dumps(header))
            node = changed
            for key in way:
                node = node[key]
            if nonsense == "left out":
                del node[last]
            else:
                node[last] = nonsense
            forge(path, changed, payload)
            try:
                found = proxsdca.load(path)
            except ValueError as error:
                refusal = str(error)
                assert refusal.startswith(f"{path}: ")
                assert len(refusal) < 600
                count += 1
            else:  # where anything is allowed: it must not crash when it is used
                with contextlib.suppress(Exception):
                    found.predict(new)
    assert count > 300


def uses(found, case, path):
    """What can be done with a result."""
    return (
        found.summary,
        found.__repr__,
        lambda: found.predict(case.X),
        lambda: case.solve(warm_start=found, max_epochs=1),
        lambda: case.certify(found.w, found.alpha),
        lambda: found.save(path),
    )


def test_arrays_in_each_others_place(tmp_path):
    """Are refused, or give a model that refuses in its turn; nothing crashes."""
    path = tmp_path / "model"
    cases = make_vector("multiclass_hinge", n=8, d=3, k=3), make("logistic", n=8, d=3)
    for case in cases:
        case.solve().save(path)
        header, payload = read(path)
        names = [place for place in places(header["value"]) if place[-1:] == ("at",)]
        for place, at in itertools.product(names, range(len(header["arrays"]))):
            changed = json.loads(json.dumps(header))
            node = changed["value"]
            for key in place[:-1]:
                node = node[key]
            node["at"] = at
            forge(path, changed, payload)
            with contextlib.suppress(Exception):
                found = proxsdca.load(path)
                for use in uses(found, case, path):
                    with contextlib.suppress(Exception):
                        use()


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'"' + b"x" * 1000,
        b"[" * 1_000_000,
        b'{"a":' * 1_000_000,
        b"1" * 100_000,
        b'{"kind": NaN}',
        b"\xff\xfe",
        '{"kind": 1}'.encode("utf-16"),
        b'{"kind": "Result", "written_by": "0", "value": 1, "value": 2, "arrays": []}',
        b'{"kind": "Result", "written_by": "0", "value": 1, "arrays": []}',
        b'{"kind": "Result", "written_by": 0, "value": 1, "arrays": []}',
        b'{"kind": "int", "written_by": "0", "value": 1, "arrays": []}',
        b'{"kind": ["Result"], "written_by": "0", "value": 1, "arrays": []}',
        b'{"kind": "Result", "written_by": "0", "value": 1, "arrays": {"a": 1}}',
        b'{"kind": "Result", "written_by": "0", "value": 1, "arrays": "abc"}',
        b'{"kind": "Result", "written_by": "0", "value": 1, "arrays": [["<f8", [0]]]}',
    ],
    ids=lambda text: text[:20],
)
def test_headers_that_are_none(tmp_path, text):
    forge(tmp_path / "model", text)
    refused(tmp_path / "model")


def test_nested_too_deeply(tmp_path):
    value = 0
    for _ in range(200):
        value = [value]
    forge(tmp_path / "model", of_value(value))
    refused(tmp_path / "model", "nested too deeply")


def test_what_is_no_model(tmp_path):
    status = {"kind": "Status", "fields": {"name": "CONVERGED"}}
    for kind in ("Status", "Result", "nothing"):
        forge(tmp_path / "model", of_value(status, kind=kind))
        refused(tmp_path / "model", "which is no model")


def test_lies_about_lengths_and_versions(tmp_path):
    path = tmp_path / "model"
    for length in (0, 1, 10**6, 2**24 + 1, 2**63, 2**64 - 1):
        forge(path, of_value(1), length=length)
        refused(path)
    for version in (0, 2, 2**32 - 1):
        forge(path, of_value(1), version=version)
        refused(path, f"it has version {version} of the format, 1 can be read")


ZEROS = np.zeros(4)


@pytest.mark.parametrize(
    "other",
    [
        {"dtype": "O"}, {"dtype": "|O8"}, {"dtype": "<f3"}, {"dtype": ">f8"}, {"dtype": "<c16"},
        {"dtype": "|V8"}, {"dtype": "<U0"}, {"dtype": "f8,f8"}, {"dtype": "<f8\n"}, {"dtype": 8},
        {"dtype": "<M8[x]"}, {"dtype": [["a", "|O8"]]}, {"dtype": [["a", "<f8"]] * 2},
        {"dtype": [["a", [["b", "<f8"]]]]}, {"dtype": [[1, "<f8"]]}, {"dtype": []}, {"dtype": None},
        {"dtype": "<U9999999"}, {"dtype": "float64"}, {"dtype": {"a": "<f8"}},
        {"shape": [-4]}, {"shape": [4.0]}, {"shape": [True, 4]}, {"shape": ["4"]}, {"shape": 4},
        {"shape": [-2, -2]}, {"shape": [4, 1, 1, 1, 1]}, {"shape": None}, {"shape": [5]},
        {"shape": [3]}, {"shape": [2**63]}, {"shape": [2**64 + 4]}, {"shape": [2**32, 2**32]},
        {"shape": [2**62, 2**62, 0]}, {"shape": [0]}, {"shape": [10**4000] * 4}, {"shape": "4"},
        {"order": "A"}, {"order": None}, {"order": []}, {"writeable": 1}, {"writeable": None},
        {"checksum": ""}, {"checksum": None}, {"checksum": "0" * 64}, {"checksum": []},
    ],
    ids=lambda other: str(other)[:40],
)  # fmt: skip
def test_arrays_that_are_none(tmp_path, other):
    forge(tmp_path / "model", of_value({"kind": "array", "at": 0}, [entry(ZEROS, **other)]), ZEROS)
    refused(tmp_path / "model")


def test_bytes_that_are_no_value(tmp_path):
    path = tmp_path / "model"
    for dtype, data in (("|b1", b"\2"), ("<U1", b"\0\0\x11\0"), ("<U1", b"\xff" * 4)):
        for column in (dtype, [["a", dtype]]):
            array = np.frombuffer(data, np.uint8)
            described = entry(array, dtype=column, shape=[1])
            forge(path, of_value({"kind": "array", "at": 0}, [described]), data)
            refused(path, "there is a (byte|character)")


def csr(**other):
    """A forged sparse array [[1, 0, 2], [0, 3, 0]], and its parts."""
    parts = {
        "data": np.array([1.0, 2, 3]),
        "indices": np.array([0, 2, 1], np.int32),
        "indptr": np.array([0, 2, 3], np.int32),
    }
    shape = other.pop("shape", [2, 3])
    arrays = [*{**parts, **other}.values()]
    kinds = [{"kind": "array", "at": k} for k in range(3)]
    return of_value({"kind": "csr", "shape": shape, "parts": kinds}, map(entry, arrays)), arrays


@pytest.mark.parametrize(
    "other",
    [
        {"indices": np.array([0, 3, 1], np.int32)},
        {"indices": np.array([0, -1, 1], np.int32)},
        {"indices": np.array([0, 2, 1], np.int64)},
        {"indices": np.array([0, 2, 1], np.int8), "indptr": np.array([0, 2, 3], np.int8)},
        {"indices": np.array([0, 2, 1], np.uint32), "indptr": np.array([0, 2, 3], np.uint32)},
        {"indices": np.array([0, 2], np.int32)},
        {"indices": np.array([[0, 2, 1]], np.int32)},
        {"indptr": np.array([0, 3], np.int32)},
        {"indptr": np.array([0, 4, 3], np.int32)},
        {"indptr": np.array([1, 2, 3], np.int32)},
        {"indptr": np.array([0, 2, 2**31 - 1], np.int32)},
        {"indptr": np.array([], np.int32)},
        {"indptr": np.array(0, np.int32)},
        {"data": np.array(["a", "b", "c"])},
        {"data": np.array([1, 2, 3], "M8[s]")},
        {"data": np.array([1.0])},
        {"shape": [2, 2]},
        {"shape": [2]},
        {"shape": [2, 3, 1]},
        {"shape": [2, -3]},
        {"shape": [2**62, 3]},
        {"shape": [2, 2**62]},
        {"shape": [2.0, 3]},
        {"shape": [True, 3]},
        {"shape": None},
        {"shape": "23"},
    ],
    ids=lambda other: str(other)[:50],
)
def test_sparse_arrays_that_are_none(tmp_path, other):
    header, arrays = csr()
    forge(tmp_path / "a", header, *arrays)
    found = _container.load(tmp_path / "a", None).value
    np.testing.assert_array_equal(found.toarray(), [[1, 0, 2], [0, 3, 0]])
    header, arrays = csr(**other)
    forge(tmp_path / "a", header, *arrays)
    with pytest.raises(ValueError, match=f"{tmp_path / 'a'}: .*(shape|fit together|damaged)"):
        _container.load(tmp_path / "a", None)


def test_a_small_file_stays_small(tmp_path):
    """However often it says that an array stands for something."""
    path = tmp_path / "model"
    array = np.zeros(100_000)
    costs = {"cost": {"kind": "array", "at": 0}}
    loss = {"kind": "loss", "fields": {"name": "multiclass_hinge", "parameters": costs}}
    loss["fields"]["parameters"] = {"kind": "dict", "items": [*map(list, costs.items())]}
    forge(path, of_value([loss] * 10_000, [entry(array)]), array)
    tracemalloc.start()
    try:
        refused(path, "array 0 stands for more than 16 things")
        assert tracemalloc.get_traced_memory()[1] < 40e6
    finally:
        tracemalloc.stop()


def test_a_claim_of_2_to_the_63_costs_nothing(tmp_path):
    """Less than a second and 64 MB; by its largest memory in a process of its own."""
    claims = [[2**63], [2**63 - 1], [2**31, 2**32], [2**40], [2**63, 0], [2**62, 2, 2**62]]
    for k, shape in enumerate(claims):
        described = entry(ZEROS, shape=shape)
        forge(tmp_path / str(k), of_value({"kind": "array", "at": 0}, [described]), ZEROS)
    text = """
        import resource, sys, time
        import proxsdca
        def peak():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        before, start = peak(), time.perf_counter()
        for path in sys.argv[1:]:
            try:
                proxsdca.load(path)
            except ValueError as error:
                assert str(error).startswith(f"{path}: ")
            else:
                raise SystemExit("it was read")
        print(time.perf_counter() - start, (peak() - before) / 1024)
    """
    paths = [str(tmp_path / str(k)) for k in range(len(claims))]
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text), *paths],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    seconds, megabytes = map(float, ran.stdout.split())
    assert seconds < 1
    assert megabytes < 64


# ------------------------------------------------------------------------- files that are none


def test_what_is_no_file_of_ours(tmp_path):
    r = result()
    r.save(tmp_path / "model")
    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("proxsdca")
    (tmp_path / "pickle").write_bytes(pickle.dumps(r))
    os.mkfifo(tmp_path / "pipe")
    for name in ("empty", "text", "pickle", "pipe"):
        refused(tmp_path / name)
    for device in ("/dev/zero", "/dev/null"):
        refused(device, "it is not a regular file")
    for name, error in (("", IsADirectoryError), ("none", FileNotFoundError)):
        with pytest.raises(error) as caught:
            proxsdca.load(tmp_path / name)
        assert str(tmp_path / name) in str(caught.value)
    (tmp_path / "link").symlink_to("model")
    same(proxsdca.load(tmp_path / "link"), r)
    same(proxsdca.load(os.fsencode(tmp_path / "model")), r)
    for nothing in (None, 0, 3.5):
        with pytest.raises(TypeError):
            proxsdca.load(nothing)


def test_a_disk_that_fails_while_reading(tmp_path, monkeypatch):
    path = tmp_path / "model"
    result().save(path)

    def fail(file, count):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(_container, "_expect_zeros", fail)
    with pytest.raises(OSError, match=f"Input/output error: '{path}'"):
        proxsdca.load(path)


def test_a_file_that_changes_while_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "model"
    result().save(path)
    data = path.read_bytes()
    check = _container._read_arrays

    def meanwhile(change):
        def read(*arguments):
            change()
            return check(*arguments)

        return read

    for size in (0, 100, len(data) - 1, len(data) + 64):
        path.write_bytes(data)
        monkeypatch.setattr(
            _container, "_read_arrays", meanwhile(lambda size=size: os.truncate(path, size))
        )
        monkeypatch.setattr("builtins.open", lambda *a, o=open, **k: o(*a, **k, buffering=0))
        if size < len(data):
            refused(path)
        else:
            proxsdca.load(path)
        monkeypatch.undo()


@pytest.mark.skipif(os.getuid() != 0, reason="only root becomes somebody else")
def test_without_permission(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    result().save(folder / "model")
    (folder / "model").chmod(0)
    for above in (tmp_path, *tmp_path.parents[:2]):
        above.chmod(above.stat().st_mode | 0o111)
    before = os.geteuid()
    try:
        os.seteuid(65534)
        with pytest.raises(PermissionError) as caught:
            proxsdca.load(folder / "model")
        assert str(folder / "model") in str(caught.value)
        with pytest.raises(PermissionError) as caught:
            result().save(folder / "other")
        assert str(folder / "other") in str(caught.value)
    finally:
        os.seteuid(before)
    assert os.listdir(folder) == ["model"]


# ------------------------------------------------------------------------------------- writing


@pytest.fixture
def unwritten(tmp_path):
    """What a failure must leave as it was."""
    path = tmp_path / "model"
    path.write_bytes(b"before")
    yield path
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["model"]


def test_a_full_disk_leaves_the_old_file(unwritten):
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        for size in (0, 100, 1000):
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, limit[1]))
            with pytest.raises(OSError, match=f"too large: '{unwritten}'"):
                result().save(unwritten)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)


@pytest.mark.parametrize("step", ["fchmod", "fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_at_any_step_leaves_the_old_file(unwritten, monkeypatch, step, error):
    r = result()

    def fail(*arguments):
        raise error

    monkeypatch.setattr(_files.os, step, fail)
    with pytest.raises(type(error)) as caught:
        r.save(unwritten)
    if isinstance(error, OSError):
        assert str(caught.value) == f"[Errno 28] No space left on device: '{unwritten}'"
    monkeypatch.undo()


def test_all_is_on_the_disk_before_the_name_is(tmp_path, monkeypatch):
    seen = []
    replace = os.replace

    def note(handle):
        mode = os.fstat(handle).st_mode
        seen.append(("folder" if stat.S_ISDIR(mode) else "file", os.fstat(handle).st_size))

    def rename(old, new):
        seen.append(("rename", None))
        replace(old, new)

    monkeypatch.setattr(os, "fsync", note)
    monkeypatch.setattr(os, "replace", rename)
    result().save(tmp_path / "model")
    assert [name for name, _ in seen] == ["file", "rename", "folder"]
    assert seen[0][1] == (tmp_path / "model").stat().st_size


def test_where_nothing_can_be_saved(tmp_path):
    r = result()
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").touch()
    for name, error in (
        ("folder", IsADirectoryError),
        ("none/model", FileNotFoundError),
        ("file/model", NotADirectoryError),
        ("pipe", OSError),
        ("x" * 300, OSError),
    ):
        with pytest.raises(error) as caught:
            r.save(tmp_path / name)
        assert str(tmp_path / name) in str(caught.value)
    with pytest.raises(OSError, match="it is not a regular file: '/dev/null'"):
        r.save("/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert sorted(os.listdir(tmp_path)) == ["file", "folder", "pipe"]
    assert not os.listdir(tmp_path / "folder")


def test_names_links_and_permissions(tmp_path, monkeypatch):
    r = result()
    monkeypatch.chdir(tmp_path)
    longest = "é" * 127
    for name in ("model", b"bytes", Path("path"), longest):
        r.save(name)
        same(proxsdca.load(name), r)
    assert sorted(os.listdir()) == ["bytes", "model", "path", longest]
    mask = os.umask(0o027)
    try:
        r.save("masked")
    finally:
        os.umask(mask)
    assert stat.S_IMODE(os.stat("masked").st_mode) == 0o640
    os.chmod("masked", 0o600)
    r.save("masked")
    assert stat.S_IMODE(os.stat("masked").st_mode) == 0o600
    os.mkdir("folder")
    os.symlink("folder/new", "link")
    r.save("link")
    assert os.path.islink("link")
    assert os.listdir("folder") == ["new"]
    same(proxsdca.load("folder/new"), r)


def test_many_save_the_same_path_and_others_read(tmp_path):
    path = tmp_path / "model"
    models = [result(lam=lam, tol=1e-2) for lam in (1.0, 0.1)]
    models[0].save(path)
    failures = []

    def work(job):
        try:
            for _ in range(10):
                job()
        except Exception as error:
            failures.append(error)

    def check():
        found = proxsdca.load(path)
        same(found, models[0] if found.lam == 1.0 else models[1])

    jobs = [check, check, *(lambda r=r: r.save(path) for r in models)]
    threads = [threading.Thread(target=work, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert os.listdir(tmp_path) == ["model"]


# ---------------------------------------------------------------------------- pickles, versions


def test_loading_has_nothing_to_do_with_pickles(tmp_path, monkeypatch):
    for module in (_container, _model, _files):
        names = set()
        for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                names |= {getattr(node, "module", None), *(alias.name for alias in node.names)}
        assert not names & {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}

    def fail(*arguments, **keywords):
        raise AssertionError("a pickle was read")

    rng = np.random.default_rng(0)
    model = SDCAClassifier("multiclass_hinge").fit(rng.normal(size=(9, 2)), list("abc") * 3)
    model.save(tmp_path / "model")
    for name in ("load", "loads", "Unpickler", "_Unpickler"):
        monkeypatch.setattr(pickle, name, fail)
    monkeypatch.setattr(np, "load", fail)
    same(proxsdca.load(tmp_path / "model"), model)


def test_an_estimator_is_read_before_anything_of_it_was_imported(tmp_path):
    SDCARegressor().fit(np.eye(3), [1, 2, 3]).save(tmp_path / "model")
    for before, found in (("", "SDCARegressor(..., 3)"), ("sys.modules['sklearn'] = None", "")):
        text = f"""
            import sys
            {before}
            import proxsdca
            try:
                model = proxsdca.load("model")
                print(f"{{type(model).__name__}}(..., {{model.n_features_in_}})")
            except ValueError as error:
                print(error)
        """
        ran = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(text)],
            cwd=tmp_path, capture_output=True, text=True, check=True,
        )  # fmt: skip
        expected = found or "model: it holds a 'SDCARegressor': the estimators of proxsdca need"
        assert ran.stdout.startswith(expected)


@pytest.mark.parametrize("folder", sorted(CORPUS.glob("v*/")), ids=lambda folder: folder.name)
def test_files_of_every_version_are_read(folder):
    spec = importlib.util.spec_from_file_location("corpus", CORPUS / "make.py")
    corpus = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(corpus)
    expected = json.loads((folder / "expected.json").read_text())
    assert sorted(expected) == sorted(path.stem for path in folder.glob("*.model"))
    for name, values in expected.items():
        found = corpus.values_of(proxsdca.load(folder / f"{name}.model"))
        margins = [[*map(float.fromhex, each.pop("margins", []))] for each in (found, values)]
        np.testing.assert_allclose(*margins, rtol=1e-12, atol=1e-12)
        assert {key: found.get(key) for key in values} == values, name


def test_every_kind_of_loss_and_regulariser_is_a_known_one():
    """What is in the tables is made by name; `Regularizer` itself, say, is not."""
    assert Regularizer not in _model.REGULARIZERS.values()
    assert all(LOSSES[name]().name == name for name in LOSSES)
