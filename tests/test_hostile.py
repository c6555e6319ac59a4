"""Hostile input: no crash, no hang, nothing written to, and what is refused is refused by name.

As a script, for sanitizers and mutants: python tests/test_hostile.py [N [SEED [FIRST]]]
"""

import collections
import contextlib
import faulthandler
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import Case
from scipy import sparse
from strategies import DENSE_ORDERS, OPEN, Call, Made, Planted, Whatever, cases, csr, hostile

import proxsdca
from proxsdca.regularizers import L1, L1L2, Group

PROBLEM = ("loss", "reg", "lam", "sigma", "sample_weight")
ARGUMENTS = re.compile(
    r"(?:sum\()?(X|y|loss|reg|lam|sigma|sample_weight|l1_weights|side|tol|eps|max_epochs|"
    r"max_seconds|option|order|output|T0|seed|warm_start|certify_every|callback|verbose|"
    r"groups|weights|p|constant|geometry|method|B)\b"
)
LIMIT = 20  # seconds until a call counts as hanging


class Hang(BaseException):
    """A call took too long."""


def _alarm(number, frame):
    raise Hang


@contextlib.contextmanager
def campaign_rules():
    """Numpy's warnings are errors, others are not looked at, and a clock can ring."""
    handler = signal.signal(signal.SIGALRM, _alarm)
    try:
        with warnings.catch_warnings(), np.errstate(all="warn", under="ignore"):
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)
            yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, handler)


def memory(thing, depth=0):
    """All memory that an argument consists of, as it is now; its own attributes are not asked."""
    if isinstance(thing, np.ndarray):
        owner, base = thing, np.ndarray.base.__get__
        while isinstance(base(owner), np.ndarray):
            owner = base(owner)
        array = np.asarray(owner)
        array = array[tuple(slice(None) if step else slice(1) for step in array.strides)]
        return repr(array.tolist()) if array.dtype.hasobject else array.tobytes()
    if isinstance(thing, (list, tuple)):
        return [memory(part, depth + 1) for part in thing]
    if isinstance(thing, dict):
        return [(repr(key), memory(value, depth + 1)) for key, value in thing.items()]
    if isinstance(thing, (int, float, complex, str, bytes, type(None))):
        return repr(thing)
    if depth > 4 or not hasattr(thing, "__dict__"):
        return None
    return [memory(v, depth + 1) for v in vars(thing).values() if not isinstance(v, (bool, int))]


def judge(call: Call, thorough: bool) -> str:
    """Make the call, and return how it ended; an AssertionError where that is not right."""
    X, y, keywords = call.X, call.y, call.keywords
    given = [X, y, {k: v for k, v in keywords.items() if k not in ("callback", "seed")}]
    before = memory(given)
    signal.alarm(LIMIT)
    try:
        keywords = {k: v() if isinstance(v, Made) else v for k, v in keywords.items()}
        result = proxsdca.solve(X, y, **keywords)
    except Exception as error:
        signal.alarm(0)
        _judge_refusal(call, error)
        end = type(error).__name__
    else:
        signal.alarm(0)
        assert not call.blame or call.lenient, f"solved, but {sorted(call.blame)} should be refused"
        certificate = [result.primal, result.dual, result.gap, result.rounding]
        assert np.isfinite(certificate).all(), certificate
        assert result.gap >= -result.rounding, certificate
        assert np.isfinite(result.w).all()
        assert np.isfinite(result.alpha).all()
        if thorough and not call.once:
            problem = {name: keywords[name] for name in PROBLEM if name in keywords}
            found = proxsdca.certify(X, y, result.w, result.alpha, **problem)
            check_again(result, found)
            if not call.lenient:  # and X meant what it was meant to mean
                plain = proxsdca.certify(call.plain, y, result.w, result.alpha, **problem)
                np.testing.assert_allclose(list(found)[:2], list(plain)[:2], rtol=1e-9, atol=1e-12)
        end = "solved"
    finally:
        signal.alarm(0)
    assert call.meddles or memory(given) == before, "its buffers were changed"
    return end


def check_again(result, found) -> None:
    """`certify` says the same of what was returned: to the bit, but that it reads rows, and that
    for l1 the loop scales alpha after v was summed."""
    certificate = (result.primal, result.dual, result.gap, result.rounding)
    if result.side == "rows" and result.reg.name != "l1":
        assert tuple(found) == certificate
    else:
        assert abs(found.gap - result.gap) <= found.rounding + result.rounding


def _judge_refusal(call: Call, error: Exception) -> None:
    if isinstance(error, MemoryError):
        assert call.absurd, "out of memory"
        return
    if isinstance(error, Planted):
        allowed = call.lenient or any(Planted in errors for errors in call.blame.values())
        assert allowed, "an object was read twice, or used as it should not be"
        return
    assert isinstance(error, (ValueError, TypeError, proxsdca.NumericalError)), "no such refusal"
    if isinstance(error, proxsdca.NumericalError):
        numerical = any(ArithmeticError in errors for errors in call.blame.values())
        assert call.lenient or numerical, "no reason for a numerical error"
        return
    named = ARGUMENTS.match(str(error))
    assert named, "no argument is named"
    assert not str(error).startswith("X is sparse"), "which it may be"
    if call.lenient:
        return
    assert named[1] in call.blame, f"{named[1]} is blamed, not {sorted(call.blame) or 'nothing'}"
    assert isinstance(error, call.blame[named[1]]), f"{call.blame[named[1]]} expected"
    vague = "as scipy makes them" in str(error) and "junk" not in call.description
    assert not vague, "the fault is not named"


def run(count: int, seed: int, first: int = 0, report=None, bug=None) -> collections.Counter:
    """Make and judge the inputs `first` ... `first + count - 1` of the campaign `seed`.

    Calls that show an open bug are passed over, or with `bug` all but those that show that one.
    """
    ends: collections.Counter = collections.Counter()
    with campaign_rules():
        for k in range(first, first + count):
            rng = np.random.default_rng([seed, k])
            with np.errstate(all="ignore"):
                call = hostile(rng)
            shown = [known for known in OPEN if known in call.description]
            if (bug not in shown) if bug else shown:
                ends["passed over"] += 1
                continue
            try:
                ends[judge(call, thorough=rng.random() < 0.1)] += 1
            except (Exception, Hang) as error:
                cause = error.__context__ or error
                text = (
                    f"input {k} of seed {seed}: {call.description}"
                    f"\n  keywords {call.keywords!r:.600}"
                    f"\n  {type(error).__name__}: {error}\n  after {cause!r:.600}"
                )
                if report is None:
                    raise AssertionError(text) from error
                report(k, text, error)
    return ends


def test_hostile_campaign(campaign):
    count = campaign(100_000)
    ends = run(count, seed=0)
    assert sum(ends.values()) == count
    assert 0.2 * count < ends["solved"] < 0.6 * count


@pytest.mark.parametrize("bug", OPEN)
def test_open_bugs(bug, monkeypatch, request):
    """A bug that is mended makes this test fail: take it off the list."""
    request.applymarker(pytest.mark.xfail(raises=AssertionError, reason=OPEN[bug]))
    monkeypatch.setitem(globals(), "LIMIT", 2)
    run(5000, seed=1, bug=bug)


@pytest.mark.long
def test_every_deleted_check_is_noticed():
    command = [sys.executable, str(Path(__file__).with_name("mutate_validator.py"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# ------------------------------------------- what the campaign finds seldom


@pytest.mark.parametrize(
    ("scale", "keywords"),
    [
        (1e160, {"loss": "absolute", "reg": "l1", "sigma": 0.125}),
        (1e300, {"loss": "hinge", "reg": L1("qnorm"), "sigma": 0.125}),
        (1.0, {"loss": "hinge", "reg": "l1", "sigma": 1e-308}),
        (1.0, {"loss": "huber", "reg": L1("qnorm"), "sigma": 1e308}),
        (1e160, {"loss": "hinge", "reg": Group([0, 0, 1]), "sigma": 0.125}),
        (1.0, {"loss": "hinge", "reg": Group([0, 0, 1], [0, 1]), "sigma": 1e308}),
        (1.0, {"loss": "hinge", "reg": L1L2([0, 1, 1]), "sigma": 1e308}),
        (1e150, {"loss": "squared_hinge", "side": "columns"}),
    ],
    ids=str,
)
def test_extreme_numbers_are_solved_or_refused(scale, keywords):
    X, y = np.array([[1.0, 2, 0], [-1, 0, 3], [0, 1, 1]]) * scale, np.array([1.0, -1, 1])
    with campaign_rules(), contextlib.suppress(ValueError, proxsdca.NumericalError):
        r = proxsdca.solve(X, y, max_epochs=5, **keywords)
        assert np.isfinite([r.primal, r.dual, r.gap, r.rounding]).all()


def test_extreme_targets_of_l1():
    X, y = np.array([[1.0, 2, 0], [-1, 0, 3], [0, 1, 1]]), np.array([1e300, -1e300, 1e299])
    with campaign_rules(), contextlib.suppress(proxsdca.NumericalError):
        proxsdca.solve(X, y, loss="absolute", reg="l1", sigma=0.125, max_epochs=5)


@pytest.mark.filterwarnings("ignore::proxsdca.ConvergenceWarning")
@pytest.mark.parametrize("side", ["rows", "columns"])
def test_X_is_read_once(side):
    A = np.random.default_rng(0).normal(size=(2, 40))
    r = proxsdca.solve(Whatever(A, Planted()), [1.0, 2.0], loss="squared", lam=1e-3, side=side)
    assert r.side == side


@pytest.mark.parametrize("name", ["option", "output"])
def test_an_array_for_a_choice_is_refused_by_name(name):
    with pytest.raises(TypeError, match=name):
        proxsdca.solve(np.eye(2), [0.0, 1.0], loss="squared", **{name: np.ones(2)})


# ------------------------------------------------------------- good problems


@pytest.mark.filterwarnings("ignore::proxsdca.ConvergenceWarning")
@given(st.data(), cases())
def test_dense_and_sparse_agree_and_every_result_is_certified(data, case):
    """The same problem in another storage is the same problem, and what is returned is proven."""
    keywords = {"max_epochs": 30, "tol": 1e-9, "order": "cyclic", "certify_every": 10}
    sparse_case = Case(data.draw(csr(case.X)), case.y, case.keywords)
    results = [c.solve(**keywords) for c in (case, sparse_case)]
    problem = {name: value for name, value in case.keywords.items() if name in PROBLEM}
    for c, r in zip((case, sparse_case), results, strict=True):
        check_again(r, proxsdca.certify(c.X, c.y, r.w, r.alpha, **problem))
        assert r.gap >= -r.rounding
        assert r.converged == (r.gap + r.rounding <= r.target)
    if any("working_sets" in r.solver and not r.converged for r in results):
        return  # whose steps are counted in entries, which zeros are where X is dense
    size = 1 + abs(results[0].w).max()
    np.testing.assert_allclose(results[1].w, results[0].w, rtol=0, atol=1e-10 * size)
    np.testing.assert_allclose(results[1].primal, results[0].primal, rtol=1e-10, atol=1e-10)


# --------------------------------------------------------- changing memory


def _storage(kind: str, rng):
    """X, and the arrays of its memory."""
    A = rng.normal(size=(300, 40)) * (rng.random((300, 40)) < 0.3)
    layout, real, index = kind.split()
    if layout == "csr":
        X = sparse.csr_array(A.astype(real))
        X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
        return X, {"data": X.data, "indices": X.indices, "indptr": X.indptr}
    X = DENSE_ORDERS[layout.replace("-", " ")](A.astype(real))
    return X, {"data": X}


STORAGES = [
    *(f"csr {real} {index}" for real in ("f4", "f8") for index in ("i4", "i8")),
    *(f"{order} {real} -" for order in ("C", "F", "strided-columns") for real in ("f4", "f8")),
]


WHEN = [
    "running",
    pytest.param("any time", marks=pytest.mark.xfail(reason=OPEN["as an array is read"])),
]


@pytest.mark.parametrize("when", WHEN)
@pytest.mark.parametrize("kind", STORAGES)
def test_memory_changed_by_another_thread(kind, when, campaign):
    """Another thread writes to X once: an error, or a certificate for X as it was or is."""
    rng = np.random.default_rng(0)
    for trial in range(campaign(300) * 3):
        X, memory_of = _storage(kind, rng)
        y, before = rng.choice([-1.0, 1.0], 300), X.copy()
        part = list(memory_of.values())[trial % len(memory_of)]
        ready, delay = threading.Event(), rng.exponential(0.005)
        noise = [(tuple(rng.integers(part.shape)), rng.integers(-(2**31), 2**31)) for _ in range(9)]

        def spoil(part=part, ready=ready, delay=delay, noise=noise):
            ready.wait()
            time.sleep(delay)
            for place, value in noise:
                part[place] = value

        thread = threading.Thread(target=spoil)
        thread.start()
        if when == "any time":
            ready.set()
        keywords = {"loss": "logistic", "lam": 1e-4, "tol": 0.0, "max_epochs": 100}
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                r = proxsdca.solve(
                    X, y, **keywords, certify_every=5, callback=lambda check, go=ready: go.set()
                )
            except (ValueError, ArithmeticError) as error:
                assert ARGUMENTS.match(str(error)) or "row" in str(error)  # noqa: PT017
                continue
            finally:
                ready.set()
                thread.join()
        for X_then in (before, X):
            with contextlib.suppress(ValueError):
                found = proxsdca.certify(X_then, y, r.w, r.alpha, loss="logistic", lam=1e-4)
                if tuple(found) == (r.primal, r.dual, r.gap, r.rounding):
                    break
        else:
            pytest.fail("a certificate for no X that ever was")


RACE = """
import sys, threading, warnings
import numpy as np, proxsdca
from scipy import sparse
warnings.simplefilter("ignore")
sys.setswitchinterval(1e-5)
rng = np.random.default_rng(0)
X = sparse.random_array((2000, 500), density=0.2, rng=rng).asformat(sys.argv[1])
y, part = rng.choice([-1.0, 1.0], 2000), getattr(X, sys.argv[2])
good, over = part[-1].item(), threading.Event()
def spoil():
    while not over.is_set():
        part[-1] = 2**30
        part[-1] = good
thread = threading.Thread(target=spoil)
thread.start()
try:
    for _ in range(int(sys.argv[3])):
        try:
            proxsdca.solve(X, y, max_epochs=1)
        except ValueError as error:
            assert str(error).startswith("X"), error
finally:
    over.set()
"""


@pytest.mark.parametrize(
    ("layout", "part"),
    [
        ("csr", "indices"),
        ("csr", "indptr"),
        ("bsr", "indices"),
        ("csc", "indices"),
        ("csc", "indptr"),
        ("coo", "row"),
        ("coo", "col"),
    ],
)
def test_a_race_with_the_validation(layout, part, campaign):
    """An index that is good and bad by turns, and seen as good: no crash in the conversion."""
    command = [sys.executable, "-c", RACE, layout, part, str(campaign(2000))]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
    assert done.returncode == 0, done.stderr


# ------------------------------------------------------------- as a script


def main(arguments: list[str]) -> int:
    """The campaign as a script: failures are counted, a hang of native code ends it."""
    count, seed, first = (*map(int, arguments), *(10_000, 0, 0)[len(arguments) :])
    failures = []

    def report(k, text, error):
        failures.append(text)
        if len(failures) <= 20:
            print(text, flush=True)

    faulthandler.enable()
    began, ends = time.perf_counter(), collections.Counter()
    for start in range(first, first + count, 1000):
        faulthandler.dump_traceback_later(300, exit=True)
        ends += run(min(1000, first + count - start), seed, start, report)
    faulthandler.cancel_dump_traceback_later()
    print(
        f"{count} inputs, {time.perf_counter() - began:.1f} s: {dict(ends)}, {len(failures)} wrong"
    )
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
