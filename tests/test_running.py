"""Callbacks, logging, interruption, and what a solve leaves behind."""

import logging
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from problems import make

import proxsdca


def test_callback_sees_every_certificate():
    case = make("hinge", n=60, d=30)
    seen = []
    r = case.solve(callback=seen.append, tol=1e-5, certify_every=2, max_epochs=10_000, option="I")
    assert [c.gap for c in seen] == r.history["gap"].tolist()
    assert all(isinstance(c, proxsdca.Check) for c in seen)
    assert seen[-1].target == r.target
    assert {c.epoch % 2 for c in seen} == {0}


def test_a_true_callback_stops_and_a_truthy_one_does_not():
    case = make("hinge", n=60, d=30)
    with pytest.warns(proxsdca.ConvergenceWarning, match="callback"):
        r = case.solve(callback=lambda c: c.epoch >= 3, tol=1e-9, certify_every=1, solver="plain")
    assert r.epochs == 3
    assert r.status is proxsdca.Status.STOPPED
    with pytest.warns(proxsdca.ConvergenceWarning, match="callback"):
        assert case.solve(callback=lambda c: np.True_, tol=1e-9, certify_every=1).epochs == 1
    again = case.solve(callback=lambda c: "no", tol=1e-3, certify_every=1)
    assert again.converged


def test_a_raising_callback_propagates():
    def complain(check):
        raise LookupError(check.epoch)

    with pytest.raises(LookupError, match="2"):
        make("hinge", n=60, d=30).solve(callback=complain, tol=1e-9, certify_every=2)


def test_a_callback_may_solve():
    inner = make("squared", n=10, d=2)
    r = make("hinge", n=30, d=5).solve(
        callback=lambda c: inner.solve().converged and None, certify_every=1
    )
    assert r.converged


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"callback": 3}, TypeError, "callback = 3"),
        ({"certify_every": 0}, ValueError, "certify_every = 0"),
        ({"certify_every": 1.5}, TypeError, "certify_every = 1.5"),
        ({"output": "mean"}, ValueError, "output = 'mean'.*'last', 'average', 'random', 'best'"),
        ({"T0": -1}, ValueError, "T0 = -1"),
        ({"verbose": -1}, ValueError, "verbose = -1"),
        ({"verbose": True}, TypeError, "verbose = True"),
        ({"order": "importanse"}, ValueError, "did you mean 'importance'"),
        ({"max_epochs": 2.0}, TypeError, "max_epochs = 2.0"),
        ({"max_epochs": True}, TypeError, "max_epochs = True"),
        ({"max_epochs": -1}, ValueError, "max_epochs = -1"),
        ({"max_seconds": np.nan}, ValueError, "max_seconds = nan"),
        ({"tol": -1e-3}, ValueError, "tol = -0.001"),
        ({"tol": "tight"}, TypeError, "tol = 'tight'"),
        ({"eps": -1}, ValueError, "eps = -1"),
        ({"lam": 0}, ValueError, "lam = 0.*> 0"),
        ({"lam": np.nan}, ValueError, "lam = nan"),
        ({"lam": "big"}, TypeError, "lam = 'big'"),
        ({"sigma": 0.1}, ValueError, "sigma = 0.1: reg = 'l2' has no sigma"),
        ({"sigma": -1, "reg": "l1l2"}, ValueError, "sigma = -1"),
        ({"loss": "hinje"}, ValueError, "did you mean 'hinge'"),
        ({"loss": 3}, TypeError, "loss = 3"),
        ({"reg": "l3"}, ValueError, "reg = 'l3'.*'l2', 'l1l2'"),
        ({"option": "V"}, ValueError, "option = 'V' does not exist for loss 'hinge'"),
        ({"option": "VI"}, ValueError, "option = 'VI'.*choices|option = 'VI'.*Choices"),
        ({"seed": -1}, ValueError, "seed = -1"),
        ({"seed": 1.5}, TypeError, "seed = 1.5"),
        ({"seed": True}, TypeError, "seed = True"),
    ],
)
def test_bad_arguments(keywords, error, message):
    case = make("hinge", n=10, d=3)
    before = case.X.copy(), case.y.copy()
    with pytest.raises(error, match=message):
        case.solve(**keywords)
    np.testing.assert_array_equal(case.X, before[0])
    np.testing.assert_array_equal(case.y, before[1])


def test_a_refused_call_does_not_advance_the_generator():
    generator = np.random.default_rng(0)
    state = generator.bit_generator.state
    with pytest.raises(ValueError, match="tol"):
        make().solve(seed=generator, tol=-1)
    assert generator.bit_generator.state == state


def test_nothing_is_printed_and_logging_is_used(capfd, caplog):
    with caplog.at_level(logging.DEBUG, logger="proxsdca"):
        make("hinge", n=30, d=5).solve()
    out, err = capfd.readouterr()
    assert out == err == ""
    assert any("Check(" in r.getMessage() for r in caplog.records)
    assert any(r.levelno == logging.INFO and "Result(" in r.getMessage() for r in caplog.records)


def test_verbose_writes_to_standard_error(capfd):
    case = make("hinge", n=60, d=30)
    case.solve(verbose=2, tol=1e-6, certify_every=5, max_epochs=10_000)
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("\n") >= 2
    case.solve(verbose=1, tol=1e-6, max_epochs=10_000)
    out, err = capfd.readouterr()
    assert out == ""
    assert err.endswith("\n")


@pytest.fixture(autouse=True)
def interruptible():
    """A background job may have been started with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt_soon(delay: float) -> None:
    threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT)).start()


@pytest.mark.parametrize("keywords", [{}, {"certify_every": 1}, {"output": "average", "T0": 10**6}])
def test_an_interruption_carries_the_best_certified_result(keywords):
    case = make("hinge", "l1l2", n=3000, d=100, density=1.0, lam=1e-9, sigma=1e-10)
    interrupt_soon(0.3)
    with pytest.raises(KeyboardInterrupt) as caught:
        case.solve(tol=0.0, max_epochs=10**9, **keywords)
    assert isinstance(caught.value, proxsdca.Interrupted)
    r = caught.value.result
    assert r.status is proxsdca.Status.INTERRUPTED
    assert not r.converged
    check = case.certify(r.w, r.alpha)
    assert (check.primal, check.dual) == (r.primal, r.dual)
    assert r.gap < 1
    assert case.solve(lam=0.1, tol=1e-2).converged  # and the next one runs as ever


def test_an_interruption_before_any_certificate():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 200)), rng.choice([-1.0, 1.0], 20_000)
    interrupt_soon(0.15)
    with pytest.raises(proxsdca.Interrupted) as caught:
        proxsdca.solve(X, y, tol=0.0, max_epochs=10**9)
    r = caught.value.result
    assert r.gap <= 1
    assert proxsdca.certify(X, y, r.w, r.alpha).gap == r.gap


SIGINT_SCRIPT = """
import os, signal, sys, time, threading, warnings
import numpy as np, proxsdca
from scipy import sparse
warnings.simplefilter("ignore")
signal.signal(signal.SIGINT, signal.default_int_handler)    # a background job may ignore it
delay, shape = float(sys.argv[1]), sys.argv[2]
rng = np.random.default_rng(0)
if shape == "long-row":
    X, y = np.ones((1, 10_000_000)), np.array([1.0])
    keywords = dict(loss="squared", option="V")
else:
    X = sparse.random_array((20_000, 5_000), density=0.01, format="csr", rng=rng)
    y = rng.choice([-1.0, 1.0], 20_000)
    keywords = dict(loss="hinge", reg="l1l2")
sent = []
def send():
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)
timer = threading.Timer(delay, send)
try:
    timer.start()
    while True:                 # some runs end, at the limit of rounding, before the signal
        proxsdca.solve(X, y, tol=0.0, max_epochs=10**9, **keywords)
except proxsdca.Interrupted as stop:
    print(time.perf_counter() - sent[0], stop.result.gap)
except KeyboardInterrupt:       # before a run began: nothing to carry
    print(time.perf_counter() - sent[0], "nan")
"""


def test_interruption_at_random_instants(campaign):
    """200 in full: the reaction times are printed for the record, not judged here."""
    rng = np.random.default_rng(0)
    reactions = []
    for k in range(campaign(200)):
        shape = "long-row" if k % 4 == 0 else "sparse"
        delay = rng.uniform(0.01, 1.6)
        done = subprocess.run(
            [sys.executable, "-c", SIGINT_SCRIPT, str(delay), shape],
            capture_output=True, text=True, timeout=120, cwd="/", check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        reactions.append(float(done.stdout.split()[0]))
    print(f"slowest {max(reactions):.3f} s, 99th percentile {np.quantile(reactions, 0.99):.3f} s")


def test_memory_comes_back():
    resource = pytest.importorskip("resource")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 300)), rng.choice([-1.0, 1.0], 3000)

    def resident() -> int:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * resource.getpagesize()

    if not os.path.exists("/proc/self/statm"):
        pytest.skip("no /proc")
    levels = []
    for _ in range(12):
        interrupt_soon(0.05)
        with pytest.raises(KeyboardInterrupt):
            proxsdca.solve(X, y, tol=0.0, max_epochs=10**9, output="average", T0=1)
        levels.append(resident())
    assert levels[-1] <= levels[3] + 2_000_000


def test_a_solve_leaves_the_process_as_it_was():
    handler = signal.getsignal(signal.SIGINT)
    environment, threads = dict(os.environ), threading.active_count()
    state = np.geterr()
    make().solve()
    assert signal.getsignal(signal.SIGINT) is handler
    assert dict(os.environ) == environment
    assert threading.active_count() == threads
    assert np.geterr() == state


def test_changing_data_under_a_run_is_never_called_converged():
    """Another thread writes nonsense into X: no crash, and no certificate for either X."""
    from scipy import sparse

    rng = np.random.default_rng(0)
    for trial in range(6):
        X = sparse.random_array((2000, 300), density=0.05, format="csr", rng=rng)
        y = rng.choice([-1.0, 1.0], 2000)
        stop = threading.Event()

        def spoil(X=X, stop=stop, trial=trial):
            noise = np.random.default_rng(trial)
            part = (X.indices, X.data, X.indptr)[trial % 3]
            while not stop.is_set():
                k = noise.integers(len(part))
                part[k] = noise.integers(-(2**31), 2**31 - 1)
                time.sleep(0)

        thread = threading.Thread(target=spoil)
        thread.start()
        try:
            with np.errstate(all="ignore"), pytest.raises((ValueError, ArithmeticError)):
                proxsdca.solve(X, y, tol=1e-12, max_epochs=300)
        finally:
            stop.set()
            thread.join()


# -------------------------------------------------------------- extremes


@pytest.mark.filterwarnings("ignore::proxsdca.ConvergenceWarning")
@pytest.mark.parametrize("reg", ["l2", "l1l2"])
@pytest.mark.parametrize("loss", list(proxsdca.losses.LOSSES))
def test_extremes_end_in_a_true_certificate_or_name_the_row(loss, reg):
    unnamed = []
    for lam in (1e-12, 1e-6, 1.0, 1e6, 1e12):
        for scale in (1e-150, 1e-160, 1e-10, 1.0, 1e10, 1e150, 1e160):
            for n, d in ((2, 1), (5, 3)):
                case = make(loss, reg, n=n, d=d, seed=n, lam=lam)
                case.X[1] *= scale
                case.X[:, -1] = case.X[:, 0]  # a column twice
                try:
                    with np.errstate(over="ignore"):
                        r = case.solve(max_epochs=50, tol=1e-6)
                except proxsdca.NumericalError as error:
                    unnamed.extend([str(error)] * ("row" not in str(error)))
                    continue
                assert np.isfinite([r.primal, r.dual, r.gap, r.rounding]).all()
                assert np.isfinite(r.w).all()
                assert np.isfinite(r.alpha).all()
                assert r.gap >= -r.rounding
    assert not unnamed


def test_subnormal_data():
    X = np.full((3, 2), 5e-324)
    r = proxsdca.solve(X, [1.0, -1.0, 1.0], loss="squared", tol=1e-9)
    assert r.converged


@pytest.mark.parametrize(
    ("loss", "reg"), [("hinge", "l2"), ("logistic", "l1"), ("softmax", "l1l2"), ("hinge", "qnorm")]
)
def test_no_bit_depends_on_how_an_epoch_is_cut(loss, reg, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5_000, 6))  # long enough for the gap to be estimated on a sample
    y = np.where(X @ rng.normal(size=6) + rng.normal(size=5_000) > 0, 1, -1)
    whole = proxsdca.solve(X, y, loss=loss, reg=reg, tol=1e-4)
    monkeypatch.setattr("proxsdca._loop.CHUNK", 6 * 333)
    cut = proxsdca.solve(X, y, loss=loss, reg=reg, tol=1e-4)
    assert np.array_equal(whole.w, cut.w)
    assert whole.history["epoch"].tolist() == cut.history["epoch"].tolist()
