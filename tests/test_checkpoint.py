"""Checkpoints: whatever ends a run, another process goes on from its state to the same bits."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import errno
import hashlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path

import numpy as np
import own
import pytest
import vector_problems
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from problems import LOSS_NAMES, REG_NAMES, make
from scipy import sparse
from test_compiled_losses import through_ctypes

import proxsdca
from proxsdca import _checkpoint, _container, _files, _loop, _newton, _random, losses, regularizers
from proxsdca._checkpoint import Checkpoint, CheckpointWarning

pytestmark = pytest.mark.filterwarnings("ignore::proxsdca.ConvergenceWarning")


class Crash(Exception):
    """What takes the place of a loss of power."""


def bits(result) -> str:
    """A few letters for all that a result has, but for the seconds of its history."""
    alpha, history = result.alpha, result.history
    parts = (alpha.data, alpha.indices, alpha.indptr) if sparse.issparse(alpha) else (alpha,)
    numbers = [
        repr(getattr(result, name))
        for name in (
            "primal", "dual", "gap", "rounding", "converged", "target", "status", "epochs",
            "touched", "touched_certifying", "lam", "sigma", "side", "option", "order", "output",
        )
    ]  # fmt: skip
    columns = [history[name] for name in history.dtype.names if name != "seconds"]
    arrays = [result.w, np.atleast_1d(result.intercept), *parts, *columns]
    whole = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)
    return hashlib.sha256(whole + "".join(numbers).encode()).hexdigest()


class Crashing:
    """A crash after the k-th save, the only one that is carried out, as all before it are lost;
    where k is infinite, some are."""

    def __init__(self, patch: pytest.MonkeyPatch, k: float) -> None:
        self.saves, self._k, self._save = 0, k, Checkpoint.save
        patch.setattr(Checkpoint, "save", lambda checkpoint, state: self(checkpoint, state))

    def __call__(self, checkpoint, state) -> None:
        self.saves += 1
        if self.saves >= self._k or (self._k == np.inf and self.saves % 16 == 1):
            self._save(checkpoint, state)
        if self.saves >= self._k:
            raise Crash


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    """What is on the disk does not matter here, only in what order it gets there."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


def crash(path, case, k, **keywords) -> int:
    """Run, and resume if there is a state, until a crash after the k-th save; how many there were,
    fewer than k where the run came to its end."""
    with pytest.MonkeyPatch.context() as patch:
        crashing = Crashing(patch, k)
        with contextlib.suppress(Crash):
            case.solve(checkpoint=path, checkpoint_every=0, resume=True, **keywords)
        return crashing.saves


def same_bits(folder, case, luck=0, chunk=None, crashes=4, **keywords) -> None:
    """Crash, resume, crash again ...: the end is the one of a run without any of it."""
    rng = random.Random(luck)
    path = Path(folder) / "state"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        if chunk is not None:
            patch.setattr(_loop, "CHUNK", chunk)
        whole = bits(case.solve(**keywords))
        crashing = Crashing(patch, np.inf)
        saved = case.solve(checkpoint=path, checkpoint_every=0, **keywords)
        assert bits(saved) == whole, "saving changes the run"
        if crashing.saves:
            assert bits(case.solve(checkpoint=path, resume=True, **keywords)) == whole
        path.unlink(missing_ok=True)
        path.with_name("state.previous").unlink(missing_ok=True)
        for _ in range(crashes):
            k = rng.randint(1, max(1, 2 * crashing.saves // (crashes + 1)))
            if crash(path, case, k, **keywords) < k:
                break
        assert bits(case.solve(checkpoint=path, resume=True, **keywords)) == whole


# ------------------------------------------------------------------------------- the same bits


@st.composite
def runs(draw):
    """A problem with a single margin, and how it is to be solved."""
    name = draw(st.sampled_from(LOSS_NAMES))
    reg = draw(st.sampled_from([*REG_NAMES, "l1"]))
    seed = draw(st.integers(0, 99))
    n, d = draw(st.integers(1, 40)), draw(st.integers(1, 5)) * 2
    case = make(name, reg, n=n, d=d, seed=seed)
    how = {
        "tol": draw(st.sampled_from([0.0, 1e-9, 1e-3])),
        "max_epochs": draw(st.sampled_from([3, 40, 120])),
        "order": draw(st.sampled_from(["permutation", "uniform", "cyclic", "importance"])),
        "output": draw(st.sampled_from(["last", "average", "random", "best"])),
        "side": draw(st.sampled_from(["auto", "rows", "columns"])),
        "option": draw(st.sampled_from(["auto", "auto", "I", "II", "III", "V"])),
        "fit_intercept": draw(st.booleans()),
        "certify_every": draw(st.sampled_from([None, None, 1, 7])),
        "T0": draw(st.sampled_from([None, 0, 17])),
        "seed": draw(st.sampled_from([0, 5])),
    }
    if draw(st.booleans()):
        how["sample_weight"] = np.random.default_rng(seed).integers(0, 3, n) + 1e-3
    if draw(st.booleans()):
        case = case.csr()
    if draw(st.booleans()):
        how["eps"] = 1e-5
    return case, how, draw(st.sampled_from([None, 1, 20, 77])), seed


def refused(case, how) -> bool:
    """Whether there is no such run at all."""
    try:
        case.solve(**{**how, "max_epochs": 1})
    except (ValueError, proxsdca.NumericalError):
        return True
    return False


def test_any_run_of_a_single_margin_ends_in_the_same_bits(campaign, tmp_path_factory):
    @settings(max_examples=max(25, campaign(2000)))
    @given(runs())
    def check(run):
        case, how, chunk, seed = run
        assume(not refused(case, how))
        folder = tmp_path_factory.mktemp("run")
        same_bits(folder, case, seed, chunk, **how)
        shutil.rmtree(folder)

    check()


@st.composite
def vector_runs(draw):
    """A problem with several margins, and how it is to be solved."""
    seed = draw(st.integers(0, 99))
    reg = draw(st.sampled_from(vector_problems.REG_NAMES))
    shared = draw(st.booleans())
    loss = draw(st.sampled_from(vector_problems.LOSS_NAMES))
    if shared:
        k = draw(st.integers(2, 5))
        loss = vector_problems.loss_of(loss, k) if draw(st.booleans()) else loss
        case = vector_problems.make(loss, reg, n=draw(st.integers(6, 40)), k=k, seed=seed)
    else:
        case = vector_problems.make_explicit(loss, reg, n=draw(st.integers(2, 25)), seed=seed)
    how = {
        "tol": draw(st.sampled_from([0.0, 1e-9, 1e-3])),
        "max_epochs": draw(st.sampled_from([3, 60, 200])),
        "order": draw(st.sampled_from(["permutation", "uniform", "cyclic", "importance"])),
        "output": draw(st.sampled_from(["last", "average", "random", "best"])),
        "option": draw(st.sampled_from(["auto", "auto", "I", "II", "IV", "IV-L2"])),
        "fit_intercept": shared and draw(st.booleans()),
        "certify_every": draw(st.sampled_from([None, None, 7])),
    }
    if draw(st.booleans()):
        how["sample_weight"] = np.random.default_rng(seed).random(len(case.y)) + 0.1
    return case, how, draw(st.sampled_from([None, 1, 50, 333])), seed


def test_any_run_of_several_margins_ends_in_the_same_bits(campaign, tmp_path_factory):
    @settings(max_examples=max(12, campaign(1000)))
    @given(vector_runs())
    def check(run):
        case, how, chunk, seed = run
        assume(not refused(case, how))
        folder = tmp_path_factory.mktemp("run")
        same_bits(folder, case, seed, chunk, **how)
        shutil.rmtree(folder)

    check()


EPS = {"eps": 1e-2}
SPECIAL = {
    "a loss in Python": (make(own.Expectile(0.3), n=20), {}),
    "one that is solved for": (make(own.Delegate(losses.Logistic()), n=12), {}),
    "one in Python, by columns": (
        make(own.Expectile(0.3), n=20),
        {"side": "columns", "fit_intercept": True, "reg": "l1l2"},
    ),
    "a compiled loss": (make(through_ctypes(losses.Huber(0.6)), n=20), {}),
    "a regulariser in Python": (make(n=20), {"reg": own.ElasticNet()}),
    "one that is not separable": (make(n=20), {"reg": own.Pairs()}),
    "averages of that": (make(n=20), {"reg": own.Pairs(), "output": "average", "T0": 30}),
    "averages of one that is": (
        make(n=20),
        {"reg": own.Weighted(np.arange(8)), "output": "average"},
    ),
    "the paper's constant": (
        make(n=20),
        {"reg": regularizers.QNorm(constant="paper"), "output": "average", "T0": 7},
    ),
    "weighted groups": (
        make(n=20),
        {"reg": regularizers.Group(np.arange(8) // 2, [1, 2, 0, 3]), "output": "average"},
    ),
    "l1 by rows": (make(reg="l1"), {"fit_intercept": True}),
    "l1 by rows, in the q-norm": (make(reg="l1"), {"reg": regularizers.L1(geometry="qnorm")}),
    "l1 word for word": (make(reg="l1"), {"reg": regularizers.L1(method="literal"), **EPS}),
    "weighted l1 by columns": (
        make("logistic", "l1"),
        {"reg": regularizers.L1(l1_weights=np.arange(1, 9)), "fit_intercept": True},
    ),
    "working sets": (make("huber", "l1l2", n=40, d=80), {"side": "columns", "sigma": 0.01}),
    "working sets of too many columns": (
        make("logistic", "l1", n=30, d=700),
        {"sigma": 1e-4, "fit_intercept": True},
    ),
    "screening": (
        make("squared", "l1", n=30, d=80),
        {"sigma": 0.05, "fit_intercept": True, "solver": "screening"},
    ),
    "screening with draws": (
        make("squared", "l1", d=80),
        {"sigma": 0.05, "order": "uniform", "solver": "screening"},
    ),
    "a single row that is drawn": (make("squared", n=1), {"order": "importance"}),
    "ascents on all of alpha": (vector_problems.make("softmax", n=60, lam=1e-6), {"tol": 1e-9}),
    "ascents with a hinge": (
        vector_problems.make("multiclass_hinge", n=60, lam=1e-6),
        {"tol": 1e-9},
    ),
    "ascents along faces": (
        vector_problems.make("multiclass_hinge", n=60, lam=1e-6),
        {"tol": 1e-9, "max_epochs": 200},
    ),
    "rows at rest": (make("hinge", n=80, lam=1e-3), {"solver": "shrinking", "max_epochs": 40}),
    "rows at rest, and steps along their faces": (
        make("hinge", n=80, d=60, lam=1e-4),
        {"solver": ("shrinking", "faces"), "reg": "l1l2", "max_epochs": 300},
    ),
    "rows at rest, the others solved at once": (make("hinge", n=80, lam=1e-4), {"max_epochs": 300}),
    "no progress beyond roundings": (make("squared", lam=1.0), {"tol": 0, "max_epochs": 1000}),
}


@pytest.mark.parametrize("chunk", [None, 30])
@pytest.mark.parametrize("name", SPECIAL)
def test_special_runs_end_in_the_same_bits(name, chunk, tmp_path, monkeypatch):
    case, how = SPECIAL[name]
    if "faces" in name:  # which are for larger problems
        monkeypatch.setattr(_newton, "kind", lambda problem: "faces")
    same_bits(tmp_path, case, len(name), chunk, **{"tol": 1e-8, "max_epochs": 60, **how})


@pytest.mark.parametrize("how", [{}, {"fit_intercept": True}, {"reg": "l1"}, {"side": "columns"}])
def test_warm_starts(how, tmp_path):
    case = make("smooth_hinge", n=40)
    how = {"reg": "l1l2", "sigma": 0.02, **how}
    before = case.solve(**how, max_epochs=2)
    same_bits(tmp_path, case, 1, 50, **how, warm_start=before, tol=1e-8, max_epochs=100)
    if how["reg"] != "l1" and not how.get("fit_intercept"):
        start = before.alpha[:25]
        same_bits(tmp_path, case, 2, 50, **how, warm_start=start, tol=1e-8, max_epochs=100)


@pytest.mark.parametrize("seed", [lambda: 3, lambda: np.random.SeedSequence(3, spawn_key=(1,)),
                                  lambda: np.random.default_rng(3)])  # fmt: skip
def test_seeds_of_every_kind(seed, tmp_path):
    case, path = make(n=40), tmp_path / "state"
    how = {"tol": 1e-8, "max_epochs": 50, "output": "random", "T0": 10}
    whole = case.solve(seed=seed(), **how)
    assert crash(path, case, 20, seed=seed(), **how) == 20
    assert bits(case.solve(seed=seed(), checkpoint=path, resume=True, **how)) == bits(whole)


def test_without_a_seed_the_stream_goes_on(tmp_path):
    case, path = make(n=40), tmp_path / "state"
    how = {"seed": None, "tol": 0, "max_epochs": 30, "solver": "plain"}
    assert crash(path, case, 20, **how) == 20
    again = tmp_path / "again"
    shutil.copy(path, again)
    first, second = (case.solve(checkpoint=p, resume=True, **how) for p in (path, again))
    assert bits(first) == bits(second)
    with pytest.raises(ValueError, match="seed is not what it was"):
        case.solve(checkpoint=path, resume=True, **{**how, "seed": 0})


def test_a_state_in_mid_epoch_is_one_of_its_visits(tmp_path, monkeypatch):
    monkeypatch.setattr(_loop, "CHUNK", 1)
    case, path = make(n=40, density=1.0), tmp_path / "state"
    whole = case.solve(tol=1e-6, max_epochs=3)
    seen = set()
    for k in range(1, 3 * 40):
        path.unlink(missing_ok=True)
        if crash(path, case, k, tol=1e-6, max_epochs=3) < k:
            break
        counts = _container.load(path, _checkpoint._no_object).value["state"]["counts"]
        seen.add(counts["cursor"])
        assert bits(case.solve(checkpoint=path, resume=True, tol=1e-6, max_epochs=3)) == bits(whole)
    assert len(seen) == 40


def test_an_order_that_has_drawn_nothing_yet_goes_on(monkeypatch):
    """Screening makes a new one after the last epoch; memory may hold anything before."""
    monkeypatch.setattr(np, "empty_like", lambda array: np.full_like(array, -7))
    for name in _random.ORDERS:
        order = _random.Order(name, np.array([0, 2, 5]), _random.stream(0), np.ones(3))
        order.restore(order.state())


# --------------------------------------------------------------------------------- what differs

X, Y = make("logistic", n=30).X, make("logistic", n=30).y
CLASSES = np.arange(30) % 3
GROUPS, COSTS = np.arange(8) // 2, 1 - np.eye(3)
BEFORE = proxsdca.solve(X, Y, tol=1e-2, fit_intercept=True)


class Scaled(regularizers.Regularizer):
    """factor |w|^2 / 2, with a constructor that says what there is to compare."""

    separable = True

    def __init__(self, factor):
        self.factor = factor

    def value(self, w, kappa, j):
        return self.factor * w**2 / 2

    def gradient(self, v, kappa, j):
        return v / self.factor


def labels(count, last):
    """More labels than a repr shows."""
    names = np.array([f"label {k:05}" for k in range(count)], object)
    names[-2] = last
    return names


DIFFERENCES = [
    ({"X": X}, {"X": X + 1e-12 * np.eye(*X.shape)}, "X is not what it was"),
    ({"X": X}, {"X": np.asfortranarray(X)}, "X is not what it was"),
    ({"X": X}, {"X": sparse.csr_array(X)}, "X is not what it was"),
    ({"X": X[:8], "y": Y[:8]}, {"X": X[:8].T, "y": Y[:8]}, "X is not what it was"),
    ({"y": Y}, {"y": np.append(-Y[:1], Y[1:])}, "y is not what it was"),
    ({"y": Y}, {"y": Y + 3}, "y is not what it was"),
    ({"y": np.where(Y > 0, "b", "a")}, {"y": np.where(Y > 0, "c", "a")}, "y is not what it was"),
    ({"sample_weight": None}, {"sample_weight": np.arange(30) + 1.0}, "sample_weight is not"),
    ({"loss": "logistic"}, {"loss": "hinge"}, "loss was 'logistic' and is 'hinge'"),
    (
        {"loss": losses.Quantile(0.5)},
        {"loss": losses.Quantile(0.25)},
        "a parameter of the loss is not what it was",
    ),
    ({"loss": own.Expectile(0.5)}, {"loss": own.Expectile(0.25)}, "a parameter of the loss"),
    (
        {"loss": through_ctypes(losses.Huber(0.5), name="mine")},
        {"loss": through_ctypes(losses.Huber(0.25), name="yours")},
        "loss was 'mine' and is 'yours'",
    ),
    (
        {"loss": own.Whole(losses.Huber(0.5))},
        {"loss": own.Whole(losses.Huber(0.25))},
        "a parameter of the loss",
    ),
    (
        {"loss": losses.MulticlassHinge(COSTS), "y": CLASSES},
        {"loss": losses.MulticlassHinge(2 * COSTS), "y": CLASSES},
        "a parameter of the loss",
    ),
    (
        {"loss": "softmax", "y": np.zeros(15, int), "offsets": np.arange(16) * 2},
        {"loss": "softmax", "y": np.zeros(15, int), "offsets": [0, *range(3, 31, 2), 30]},
        "offsets is not what it was",
    ),
    ({"reg": "l2"}, {"reg": "qnorm"}, "reg was 'l2' and is 'qnorm'"),
    (
        {"reg": regularizers.L1L2(np.ones(8))},
        {"reg": regularizers.L1L2(np.arange(8))},
        "a parameter of the regulariser",
    ),
    (
        {"reg": regularizers.Group(GROUPS)},
        {"reg": regularizers.Group(GROUPS[::-1].copy())},
        "a parameter of the regulariser",
    ),
    ({"reg": Scaled(1.0)}, {"reg": Scaled(1.5)}, "a parameter of the regulariser"),
    ({"reg": regularizers.QNorm(3)}, {"reg": regularizers.QNorm(4)}, "a parameter of the regul"),
    ({"lam": 0.1}, {"lam": 0.2}, r"lam was 0\.1 and is 0\.2"),
    ({"reg": "l1l2", "sigma": 0.1}, {"reg": "l1l2", "sigma": 0.2}, r"sigma was 0\.1 and is 0\.2"),
    ({"fit_intercept": False}, {"fit_intercept": True}, "fit_intercept was False and is True"),
    ({"side": "rows"}, {"side": "columns"}, "side was 'rows' and is 'columns'"),
    ({"tol": 0}, {"tol": 1e-12}, r"tol was 0\.0 and is 1e-12"),
    ({"eps": None}, {"eps": 1e-12}, r"eps was 0\.0 and is 1e-12"),
    ({"max_epochs": 30}, {"max_epochs": 31}, "max_epochs was 30 and is 31"),
    ({"option": "I"}, {"option": "II"}, "option was 'I' and is 'II'"),
    ({"solver": "newton"}, {"solver": "newton", "option": "I"}, "solver was "),
    ({"order": "cyclic"}, {"order": "uniform"}, "order was 'cyclic' and is 'uniform'"),
    ({"output": "last"}, {"output": "best"}, "output was 'last' and is 'best'"),
    ({"output": "average", "T0": 3}, {"output": "average", "T0": 4}, "T0 was 3 and is 4"),
    ({"certify_every": None}, {"certify_every": 2}, "certify_every was None and is 2"),
    ({"seed": 0}, {"seed": 1}, "seed is not what it was"),
    ({"seed": np.random.default_rng(0)}, {"seed": np.random.default_rng(1)}, "seed is not"),
    ({"warm_start": None}, {"warm_start": np.zeros(30)}, "warm_start is not what it was"),
    (
        {"warm_start": BEFORE, "fit_intercept": True},
        {"warm_start": dataclasses.replace(BEFORE, intercept=0.5), "fit_intercept": True},
        "warm_start is not what it was",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other", "message"), DIFFERENCES)
def test_another_run_is_refused_by_what_differs(one, other, message, tmp_path):
    path = tmp_path / "state"

    def solve(how, **more):
        how = {"X": X, "y": Y, "loss": "logistic", "tol": 0, "max_epochs": 30, **how}
        return proxsdca.solve(how.pop("X"), how.pop("y"), checkpoint=path, **how, **more)

    with pytest.MonkeyPatch.context() as patch:
        Crashing(patch, 2)
        with pytest.raises(Crash):
            solve(one, checkpoint_every=0)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=message) as refusal:
        solve(other, resume=True)
    assert str(path) in str(refusal.value)
    assert str(refusal.value).count(" was ") + str(refusal.value).count("is not what") <= 3
    assert path.read_bytes() == before
    if "seed" not in one:
        solve(one, resume=True)


def test_labels_beyond_those_that_a_repr_shows_are_compared():
    assert _checkpoint.digest(labels(3000, "a")) != _checkpoint.digest(labels(3000, "b"))
    assert _checkpoint.digest(labels(3000, "a")) == _checkpoint.digest(labels(3000, "a"))
    assert _checkpoint.digest(lambda: 0, np.float64) == _checkpoint.digest(lambda: 0, np.float64)


def test_what_changes_no_bit_may_differ(tmp_path):
    """Not even a limit of time, whose runs certify at other epochs."""
    case = make(n=40, lam=1e-4)
    seen = []
    for k, (first, then) in enumerate([
        ({"max_seconds": 1e6}, {}),
        ({}, {"max_seconds": 1e6}),
        ({"verbose": 0}, {"verbose": 1, "callback": seen.append, "checkpoint_every": 1e-3}),
    ]):  # fmt: skip
        path = tmp_path / f"state{k}"
        whole = case.solve(tol=1e-9, max_epochs=400, option="I", **first)
        assert crash(path, case, 10, tol=1e-9, max_epochs=400, option="I", **first) == 10
        resumed = case.solve(
            checkpoint=path, resume=True, tol=1e-9, max_epochs=400, option="I", **then
        )
        assert bits(resumed) == bits(whole)
    assert seen


def test_another_version_is_refused(tmp_path, monkeypatch):
    case, path = make(), tmp_path / "state"
    with monkeypatch.context() as patch:
        patch.setattr(_container, "version", lambda name: "0.0.1")
        crash(path, case, 2, tol=0)
    with pytest.raises(ValueError, match=r"written by proxsdca 0\.0\.1, this is"):
        case.solve(checkpoint=path, resume=True, tol=0)


def test_a_file_of_another_kind_is_refused(tmp_path):
    path = tmp_path / "state"
    _container.save(path, "Result", {"w": np.zeros(3)})
    with pytest.raises(ValueError, match="it holds a Result"):
        make().solve(checkpoint=path, resume=True)


@pytest.mark.parametrize(
    "value",
    [
        [], None, {}, {"run": 3, "state": {}}, {"run": {1: 2}, "state": 1},
        {"run": {"X*": np.zeros(3)}, "state": {}},
    ],
)  # fmt: skip
def test_a_file_without_a_run_is_refused(value, tmp_path):
    path = tmp_path / "state"
    _container.save(path, "Checkpoint", value)
    with pytest.raises(ValueError, match="checkpoint"):
        make().solve(checkpoint=path, resume=True)


def paths_of(value, path=()):
    """The places of a state, from the root to the leaves."""
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from paths_of(item, (*path, key))
    elif isinstance(value, tuple):
        for k, item in enumerate(value):
            yield from paths_of(item, (*path, k))


def replaced(value, path, new):
    """The value with something else at a place."""
    if not path:
        return new
    if isinstance(value, tuple):
        return tuple(replaced(v, path[1:], new) if k == path[0] else v for k, v in enumerate(value))
    return {**value, path[0]: replaced(value[path[0]], path[1:], new)}


FORGERIES = ["text", None, -1, 10**30, np.nan, {}, (), (1,), np.zeros(0), np.zeros((2, 2)),
             np.zeros(3, np.int8), np.full(30, 10**12)]  # fmt: skip
FORGED = {
    "rows": (make(n=30), {"order": "importance", "output": "average", "fit_intercept": True}),
    "drawn": (make(n=30), {"reg": "qnorm", "order": "uniform", "output": "random", "T0": 3}),
    "groups": (make(n=30), {"reg": regularizers.Group(GROUPS)}),
    "columns": (make("logistic", "l1", n=30), {"fit_intercept": True, "solver": "screening"}),
    "working sets": (make("logistic", "l1", n=30), {"tol": 1e-9, "fit_intercept": True}),
    "reduction": (make(reg="l1", n=30), {}),
    "python": (make(n=30), {"reg": own.Pairs()}),
    "blocks": (vector_problems.make("multiclass_hinge", n=30), {"fit_intercept": True}),
    "dense blocks": (vector_problems.make("softmax", n=30), {"output": "average"}),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_states_are_refused_or_harmless(name, tmp_path, campaign, monkeypatch):
    """Whatever a file says, with checksums that fit: a ValueError, or a run that ends."""
    monkeypatch.setattr(_loop, "CHUNK", 20)
    case, how = FORGED[name]
    how = {"tol": 1e-6, "max_epochs": 20, **how}
    path, forged = tmp_path / "state", tmp_path / "forged"
    crash(path, case, 1 if name == "working sets" else 25, **how)
    value = _container.load(path, _checkpoint._no_object).value
    rng = random.Random(1)
    cases = [(place, new) for place in paths_of(value["state"]) for new in FORGERIES]
    refusals = 0
    for place, new in rng.sample(cases, min(len(cases), max(30, campaign(3000)))):
        state = replaced(value["state"], place, new)
        _container.save(forged, "Checkpoint", {**value, "state": state})
        try:
            case.solve(checkpoint=forged, resume=True, **how)
        except ValueError as error:
            refusals += "does not fit" in str(error)
        except proxsdca.NumericalError:
            pass
    assert refusals > 10


# ----------------------------------------------------------------------- files and generations


def damage(path: Path) -> None:
    """Change a bit in the middle."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def steps_in(path: Path) -> int:
    """How many steps the run had made."""
    return _container.load(path, _checkpoint._no_object).value["state"]["counts"]["steps"]


def saved(path: Path, case, generations: int, **how) -> None:
    """Let there be so many generations."""
    with pytest.MonkeyPatch.context() as patch:
        save, made = Checkpoint.save, []

        def counting(checkpoint, state):
            save(checkpoint, state)
            made.append(1)
            if len(made) == generations:
                raise Crash

        patch.setattr(Checkpoint, "save", counting)
        with pytest.raises(Crash):
            case.solve(checkpoint=path, checkpoint_every=0, **how)


HOW = {"tol": 0, "max_epochs": 30, "solver": "plain"}


def test_one_earlier_generation_is_kept_and_nothing_else(tmp_path):
    case, path = make(n=30), tmp_path / "state"
    saved(path, case, 1, **HOW)
    assert os.listdir(tmp_path) == ["state"]
    saved(path, case, 5, **HOW)
    assert sorted(os.listdir(tmp_path)) == ["state", "state.previous"]
    assert steps_in(path) == 5 * 30
    assert steps_in(tmp_path / "state.previous") == 4 * 30


def test_a_relative_path_in_the_folder_at_hand(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    saved("state", make(n=30), 2, **HOW)
    assert sorted(os.listdir()) == ["state", "state.previous"]
    assert bits(make(n=30).solve(checkpoint="state", resume=True, **HOW)) == bits(
        make(n=30).solve(**HOW)
    )


def test_a_damaged_one_is_left_for_the_one_before(tmp_path, caplog):
    case, path = make(n=30), tmp_path / "state"
    whole = bits(case.solve(**HOW))
    saved(path, case, 5, **HOW)
    damage(path)
    with pytest.warns(
        CheckpointWarning, match=re.escape(f"{path}: ") + ".*the one before is taken"
    ):
        resumed = case.solve(checkpoint=path, resume=True, **HOW)
    assert bits(resumed) == whole
    assert "the one before is taken" in caplog.text


def test_a_damaged_one_never_takes_the_place_of_the_good_one_before(tmp_path):
    case, path = make(n=30), tmp_path / "state"
    saved(path, case, 5, **HOW)
    previous = tmp_path / "state.previous"
    damage(path)
    for k in (1, 2):
        with pytest.warns(CheckpointWarning):
            saved(path, case, k, resume=True, **HOW)
        assert (steps_in(path), steps_in(previous)) == ((4 + k) * 30, (3 + k) * 30)
        damage(path)


def test_where_both_are_damaged_the_paths_are_named(tmp_path):
    case, path = make(n=30), tmp_path / "state"
    saved(path, case, 5, **HOW)
    damage(path)
    (tmp_path / "state.previous").write_bytes(b"")
    with pytest.raises(ValueError, match=r"state: .*checksum.*state\.previous: it is not a file"):
        case.solve(checkpoint=path, resume=True, **HOW)


def test_without_a_file_a_run_starts_anew(tmp_path):
    case, path = make(n=30), tmp_path / "state"
    result = case.solve(checkpoint=path, checkpoint_every=0, resume=True, **HOW)
    assert bits(result) == bits(case.solve(**HOW))
    assert path.exists()


def test_what_killed_processes_left_is_removed_and_nothing_else(tmp_path):
    case, path = make(n=30), tmp_path / "state"
    token = "0123456789abcdef"
    left = tmp_path / f".state.{token}.tmp"
    names = (".state.tmp", f".state.x.{token}.tmp", f".mystate.{token}.tmp")
    others = [tmp_path / name for name in names]
    for file in (left, *others):
        file.write_bytes(b"0")
    case.solve(checkpoint=path, **HOW)
    assert left.exists()  # perhaps of a process that is still at it
    case.solve(checkpoint=path, resume=True, **HOW)
    assert not left.exists()
    assert all(file.exists() for file in others)


@pytest.mark.parametrize(
    ("checkpoint", "error", "message"),
    [
        ("no/such/folder/state", ValueError, "there is no folder"),
        (".", ValueError, "it is a folder"),
        ("", TypeError, "a path is needed"),
        (3, TypeError, "a path is needed"),
        (b"state", TypeError, "a path is needed"),
    ],
)
def test_places_that_cannot_be_are_refused_at_once(checkpoint, error, message):
    with pytest.raises(error, match=message):
        make().solve(checkpoint=checkpoint)


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"resume": True}, ValueError, "checkpoint is needed"),
        ({"resume": 1}, TypeError, "resume"),
        ({"checkpoint": "state", "checkpoint_every": -1}, ValueError, "checkpoint_every"),
        ({"checkpoint": "state", "checkpoint_every": "1"}, TypeError, "checkpoint_every"),
    ],
)
def test_bad_arguments(keywords, error, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        make().solve(**keywords)


def test_a_checkpoint_waits_for_its_time(tmp_path):
    case, path = make(n=30), tmp_path / "state"
    case.solve(checkpoint=path, **HOW)
    assert not path.exists()


# ------------------------------------------------------------------------------ disks that fail


@pytest.mark.parametrize("function", ["open", "fsync", "fchmod", "link", "replace", "unlink"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_an_error_of_the_disk_is_told_and_the_run_goes_on(function, code, tmp_path, monkeypatch):
    case, path = make(n=30), tmp_path / "state"
    whole = bits(case.solve(**HOW))
    saved(path, case, 2, **HOW)
    where = _files if function == "open" else os
    real, calls = getattr(where, function, open), []

    def failing(*arguments, **keywords):
        calls.append(1)
        if len(calls) % 3:
            raise OSError(code, os.strerror(code))
        return real(*arguments, **keywords)

    with monkeypatch.context() as patch, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        patch.setattr(where, function, failing, raising=False)
        result = case.solve(checkpoint=path, checkpoint_every=0, resume=True, **HOW)
    assert bits(result) == whole
    if function not in ("link", "unlink"):  # without which a save gets along
        messages = [str(w.message) for w in told if w.category is CheckpointWarning]
        assert messages
        assert all(f"{path}: it could not be written ([Errno {code}]" in m for m in messages)
    assert bits(case.solve(checkpoint=path, resume=True, **HOW)) == whole
    if function != "unlink":
        assert sorted(os.listdir(tmp_path)) == ["state", "state.previous"]


def test_a_file_that_the_system_does_not_let_grow(tmp_path):
    """A real limit, in a process of its own."""
    script = """
        import os, resource, signal, sys, warnings
        import numpy as np
        import proxsdca
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(200, 50)), rng.normal(size=200)
        warnings.simplefilter("ignore", proxsdca.ConvergenceWarning)
        how = dict(loss="squared", tol=0, max_epochs=30)
        whole = proxsdca.solve(X, y, **how)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            result = proxsdca.solve(X, y, checkpoint="state", checkpoint_every=0, **how)
        assert any("could not be written" in str(w.message) for w in told), told
        assert (result.alpha == whole.alpha).all() and result.gap == whole.gap
        assert os.listdir() == [], os.listdir()
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr


def test_a_state_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    case, path = make(n=30), tmp_path / "state"
    saved(path, case, 2, **HOW)
    calls = []

    def told(name):
        real = getattr(os, name)

        def function(*arguments, **keywords):
            folder = name == "fsync" and os.path.samefile(f"/proc/self/fd/{arguments[0]}", tmp_path)
            calls.append(f"{name} folder" if folder else name)
            return real(*arguments, **keywords)

        return function

    for name in ("fsync", "link", "replace"):
        monkeypatch.setattr(os, name, told(name))
    saved(path, case, 1, resume=True, **HOW)
    assert calls == ["fsync", "link", "replace", "replace", "fsync folder"]


# -------------------------------------------------------------------------------------- kill -9

LARGE = make("hinge", "l1l2", n=1000, d=40, seed=3, lam=1e-4)
LONG = {"tol": 1e-9, "max_epochs": 20, "output": "random", "T0": 5_000}


def child(action) -> int:
    """A process that does something, and ends without a trace of pytest."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # numpy's threads are not in use
        pid = os.fork()
    if pid:
        return pid
    try:
        warnings.simplefilter("ignore")
        action()
        os._exit(0)
    except Crash:
        os._exit(3)
    except BaseException as error:
        os.write(2, repr(error).encode())
        os._exit(1)


def ended(pid: int) -> int:
    """How a process ended: its code, or less the signal."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.fixture
def real(monkeypatch):
    """Files as ever."""
    monkeypatch.undo()
    return monkeypatch


def test_kill_9_at_random_instants(tmp_path, campaign, monkeypatch):
    """Killed and resumed until it comes to its end, again and again."""
    monkeypatch.setattr(_loop, "CHUNK", 10_000)
    path, end = tmp_path / "state", tmp_path / "end"
    whole = bits(LARGE.solve(**LONG))

    def run():
        result = LARGE.solve(checkpoint=path, checkpoint_every=0, resume=True, **LONG)
        end.write_text(bits(result))

    started = time.perf_counter()
    assert ended(child(run)) == 0
    seconds = time.perf_counter() - started
    rng = random.Random(time.time_ns())
    kills = ends = 0
    while kills < max(5, campaign(200)) or not ends:
        for file in tmp_path.iterdir():
            file.unlink()
        while not end.exists():
            pid = child(run)
            time.sleep(rng.random() * 0.7 * seconds)
            os.kill(pid, signal.SIGKILL)
            code = ended(pid)
            kills += code == -signal.SIGKILL
            assert code in (0, -signal.SIGKILL)
            for file in (path, tmp_path / "state.previous"):
                assert not file.exists() or steps_in(file) > 0
        assert end.read_text() == whole
        ends += 1
    print(f"{kills} kills, {ends} runs that ended in the same bits")


class Fatal:
    """A process that kills itself at the k-th call of a function that changes files."""

    FUNCTIONS = ("open", "fchmod", "fsync", "link", "replace", "unlink", "close")

    def __init__(self, k: int, when: str) -> None:
        self._left, self._when = k, when
        for name in self.FUNCTIONS:
            setattr(os, name, self.step(getattr(os, name)))
        _files.open = self.step(open, FatalFile)

    def step(self, function, kind=None):
        def stepping(*arguments, **keywords):
            self._left -= 1
            if self._left == 0 and self._when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            if self._left == 0 and self._when == "amid" and function.__name__ == "write":
                function(arguments[0][: len(arguments[0]) // 2])
                function.__self__.flush()
                os.kill(os.getpid(), signal.SIGKILL)
            found = function(*arguments, **keywords)
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return found if kind is None else kind(found, self)

        return stepping


class FatalFile:
    """An open file, every call of which counts."""

    def __init__(self, file, fatal: Fatal) -> None:
        self.fileno, self._close = file.fileno, fatal.step(file.close)
        self.write, self.flush = fatal.step(file.write), fatal.step(file.flush)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._close()


def survives(folder: Path, generations: int, case, whole: str, how) -> None:
    """After a kill: a generation is there if one was before, and a resumed run has the same end."""
    path = folder / "state"
    found = [steps_in(file) for file in (path, folder / "state.previous") if file.exists()]
    at = generations * 30
    allowed = {0: ([], [30]), 1: ([30], [30, 30], [60, 30])}.get(
        generations, ([at, at - 30], [at, at], [at + 30, at])
    )
    assert found in allowed
    assert bits(case.solve(checkpoint=path, checkpoint_every=0, resume=True, **how)) == whole
    assert sorted(file.name for file in folder.iterdir()) == ["state", "state.previous"]


@pytest.mark.parametrize("generations", [0, 1, 2])
def test_kill_9_at_every_call_of_a_save(generations, tmp_path, campaign, real):
    """Before, amid and after each call that changes a file: without the long campaign, before all
    and after some."""
    case, how = make(n=30), {"tol": 0, "max_epochs": 8, "solver": "plain"}
    whole = bits(case.solve(**how))
    template = tmp_path / "template"
    template.mkdir()
    if generations:
        saved(template / "state", case, generations, **how)
    kills = 0
    for when in ("before", "amid", "after"):
        stride = 1 if campaign(100) > 1 else 3 if when == "before" and generations == 2 else 11
        k = 1
        while True:
            folder = tmp_path / f"{when}{k}"
            shutil.copytree(template, folder, copy_function=os.link)

            def run(folder=folder, k=k, when=when):
                save = Checkpoint.save

                def fatal_save(checkpoint, state):
                    Fatal(k, when)
                    save(checkpoint, state)
                    raise Crash

                Checkpoint.save = fatal_save
                case.solve(checkpoint=folder / "state", checkpoint_every=0, resume=True, **how)

            code = ended(child(run))
            assert code in (3, -signal.SIGKILL)
            survives(folder, generations, case, whole, how)
            shutil.rmtree(folder)
            if code == 3:
                break
            kills += 1
            k += stride
    assert kills >= 5
    print(f"{kills} kills with {generations} generations")


MARKS = "/proxsdca-begin", "/proxsdca-end"  # paths that are asked for around a save


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("strace"), reason="strace is needed")
def test_kill_9_at_the_entry_of_every_system_call_of_a_save(tmp_path, real):
    """What the functions in between do, too: strace kills a process as it enters the call."""
    case, how = make(n=30), {"tol": 0, "max_epochs": 8}
    whole = bits(case.solve(**how))
    template = tmp_path / "template"
    template.mkdir()
    saved(template / "state", case, 2, **how)
    prctl = ctypes.CDLL(None).prctl

    def traced(folder: Path, *arguments: str) -> int:
        """How a process ended whose first save after a resumption strace has seen."""
        shutil.copytree(template, folder, copy_function=os.link)
        begin, go = os.pipe()

        def run():
            prctl(0x59616D61, ctypes.c_ulong(-1), 0, 0, 0)  # PR_SET_PTRACER: anybody may
            save = Checkpoint.save

            def marked(checkpoint, state):
                os.path.exists(MARKS[0])
                save(checkpoint, state)
                os.path.exists(MARKS[1])
                os._exit(3)

            Checkpoint.save = marked
            os.read(begin, 1)
            case.solve(checkpoint=folder / "state", checkpoint_every=0, resume=True, **how)

        pid = child(run)
        strace = subprocess.Popen(
            ["strace", "-p", str(pid), *arguments], stderr=subprocess.PIPE, text=True
        )
        attached = strace.stderr.readline()
        os.write(go, b"1")
        code = ended(pid)
        strace.communicate()
        os.close(begin)
        os.close(go)
        if "attached" not in attached:
            pytest.skip(f"strace cannot attach: {attached}")
        return code

    log = tmp_path / "log"
    assert traced(tmp_path / "seen", "-o", str(log)) == 3
    calls: list[tuple[str, int]] = []  # of the save: the name, and the how manieth of that name
    counts: dict[str, int] = {}
    inside = False
    for line in log.read_text().splitlines():
        if not (found := re.match(r"(\w+)\(", line)):
            continue
        name = found[1]
        counts[name] = counts.get(name, 0) + 1
        inside = inside or MARKS[0] in line
        if MARKS[1] in line:
            break
        if inside:
            calls.append((name, counts[name]))
    kills = 0
    for k, (name, nth) in enumerate(calls):
        folder = tmp_path / str(k)
        code = traced(
            folder, "-o", os.devnull, "-e", f"trace={name}",
            "-e", f"inject={name}:signal=KILL:when={nth}",
        )  # fmt: skip
        kills += code == -signal.SIGKILL
        assert code in (3, -signal.SIGKILL)
        survives(folder, 2, case, whole, how)
        shutil.rmtree(folder)
    print(f"{kills} kills at {len(calls)} system calls: {sorted({name for name, _ in calls})}")
    assert kills > 0.9 * len(calls)


def test_margins_that_a_certificate_has_rounded_anew(tmp_path, monkeypatch):
    """In the middle of working sets, what a look finds is that of the margins as they are."""
    X = np.array([
        [0.0, -0.08527332, 0.41339104, 0.06771273], [-0.34577309, 0.2334086, 0.0, 0.0],
        [0.0, -0.81682605, 0.0, 0.0], [0.0, 0.0, 0.0, -0.47267654],
    ])  # fmt: skip
    y = np.array([-1.0, 1.0, -1.0, 1.0])
    how = {"loss": "smooth_hinge", "reg": "l1", "tol": 0.0, "max_epochs": 40, "certify_every": 1}
    save, count = Checkpoint.save, 0

    def save_one(checkpoint, state):
        nonlocal count
        count += 1
        if count == kept:
            save(checkpoint, state)

    def solve(**more):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", proxsdca.ConvergenceWarning)
            return proxsdca.solve(X, y, seed=0, **how, **more)

    whole = solve()
    for kept in range(1, 12):
        place, count = tmp_path / str(kept), 0
        monkeypatch.setattr(Checkpoint, "save", save_one)
        solve(checkpoint=place, checkpoint_every=0)
        monkeypatch.setattr(Checkpoint, "save", save)
        again = solve(checkpoint=place, resume=True)
        for name in ("epoch", "primal", "dual", "gap", "rounding"):
            np.testing.assert_array_equal(again.history[name], whole.history[name])
        np.testing.assert_array_equal(again.alpha, whole.alpha)
