"""The API for Cython and C, through a project that knows only what is installed."""

import importlib.util
import os
import shlex
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from own import Expectile
from problems import make
from scipy import LowLevelCallable, sparse

import proxsdca
from proxsdca import structured

HERE = Path(__file__).parent
OK, BAD_INPUT, BAD_HANDLE, BUSY, NUMERICAL, INTERRUPTED, FAILED = range(7)


def build(source: Path, folder: Path, *modules: str):
    """Build a meson project with the tools of this environment, and import its modules.

    PROXSDCA_MESON_ARGS has more arguments for meson, such as those of the sanitizers.
    """
    tools = str(Path(sys.executable).parent)
    environment = os.environ | {"PATH": tools + os.pathsep + os.environ["PATH"]}
    meson = [sys.executable, "-m", "mesonbuild.mesonmain"]
    more = shlex.split(os.environ.get("PROXSDCA_MESON_ARGS", ""))
    for command in (
        [*meson, "setup", str(folder), str(source), *more],
        [*meson, "compile", "-C", str(folder)],
    ):
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, cwd="/", check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    found = []
    for name in modules:
        (path,) = folder.glob(f"{name}.*.so")
        spec = importlib.util.spec_from_file_location(name, path)
        found.append(importlib.util.module_from_spec(spec))
        spec.loader.exec_module(found[-1])
    return found


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return build(
        HERE / "cython_api", tmp_path_factory.mktemp("outside") / "build", "outside", "plain_c"
    )


@pytest.fixture(scope="module")
def outside(project):
    return project[0]


@pytest.fixture(scope="module")
def plain_c(project):
    return project[1]


def csr(case):
    X = sparse.csr_array(case.X)
    return X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32), case.y


def classes(n=60, d=4, k=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, np.argmax(X[:, :k] + 0.3 * rng.normal(size=(n, k)), axis=1).astype(float), k


# ------------------------------------------------------------------ from code without the lock


@pytest.mark.parametrize("intercept", [False, True])
def test_a_run_without_pythons_lock(outside, intercept):
    case = make("logistic", "l1l2", n=80, d=8, lam=0.02, sigma=0.005)
    arrays = csr(case)
    before = [array.copy() for array in arrays]
    w, alpha = np.empty(8), np.empty(80)
    found = outside.solve_nogil(*arrays, w, alpha, 0.02, 0.005, 1e-7, intercept)
    assert found["codes"] == [OK] * 8
    assert found["shape"] == (80, 8)
    assert found["first"]["epochs"] == 3
    assert found["last"]["converged"] == 1
    assert found["after release"] == BAD_HANDLE
    theirs = case.solve(tol=1e-7, fit_intercept=intercept)
    last = found["last"]
    assert abs(last["primal"] - theirs.primal) <= max(last["gap"], theirs.gap) + 1e-14
    # what is read is what was certified
    intercepts = {"intercept": found["intercept"]} if intercept else {}
    check = case.certify(w, alpha, **intercepts)
    assert check.primal == pytest.approx(last["primal"], rel=1e-14)
    # with an intercept, certify rounds alpha once more
    assert check.gap == pytest.approx(last["gap"], abs=1e-11 if intercept else 1e-14)
    for array, same in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, same)


def test_threads_have_their_own_handles(outside):
    case = make("logistic", n=200, d=8)
    arrays = csr(case)
    results = []

    def work():
        w, alpha = np.empty(8), np.empty(200)
        found = outside.solve_nogil(*arrays, w, alpha, 0.01, 0.001, 1e-8)
        results.append((found["codes"], w.tobytes(), alpha.tobytes()))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [results[0]] * 6
    assert results[0][0] == [OK] * 8


def test_a_structured_problem_without_pythons_lock(outside):
    X, y, k = classes()
    w = np.empty(12)
    code, found, words = outside.solve_structured(X, y, k, w, 0.01, 1e-4)
    assert code == OK, words
    assert found["converged"] == 1
    theirs = proxsdca.solve(X, y.astype(int), loss="multiclass_hinge", lam=0.01, tol=1e-4)
    assert abs(found["primal"] - theirs.primal) <= max(found["gap"], theirs.gap)


# ------------------------------------------------------------------ objects for Python


def test_the_loss_in_solve(outside):
    loss = outside.logistic_object("theirs")
    for reg in ("l2", "l1l2", "l1", outside.l1l2_object()):
        case = make("logistic", n=60, d=6)
        ours = case.solve(loss=loss, reg=reg, tol=1e-7)
        theirs = case.solve(reg="l1l2" if not isinstance(reg, str) else reg, tol=1e-7)
        assert ours.converged
        assert abs(ours.primal - theirs.primal) <= max(ours.gap, theirs.gap) + 1e-14
    assert proxsdca.testing.check_loss(loss).ok


def test_functions_that_cython_exports(outside):
    functions = {
        "value": "squared",
        "subgradient": "squared_slope",
        "conjugate": "squared_conjugate",
    }
    callables = {
        name: LowLevelCallable.from_cython(outside, export) for name, export in functions.items()
    }
    loss = proxsdca.losses.CompiledLoss(**callables, gamma=1.0)
    case = make("squared", n=40, d=5)
    ours, theirs = (case.solve(loss=each, tol=1e-8, option="I") for each in (loss, "squared"))
    np.testing.assert_allclose(ours.w, theirs.w, rtol=1e-9, atol=1e-9)


def test_the_map_in_solve(outside):
    reg = outside.l1l2_object()
    case = make("huber", n=60, d=6, lam=0.05, sigma=0.02)
    for more in ({"tol": 1e-8}, {"tol": 1e-3, "output": "average", "T0": 60}):
        ours, theirs = (case.solve(reg=each, solver="plain", **more) for each in (reg, "l1l2"))
        np.testing.assert_allclose(ours.w, theirs.w, rtol=1e-9, atol=1e-12)
    assert ours.reg.name == "outside_l1l2"
    p, q = (proxsdca.path(case.X, case.y, loss="huber", reg=each) for each in (reg, "l1l2"))
    assert p.sigma_max == pytest.approx(q.sigma_max)
    assert proxsdca.testing.check_regularizer(reg).ok
    with pytest.raises(TypeError, match="'outside_l1l2' is compiled"):
        reg.__reduce__()


@pytest.mark.parametrize("kind", ["l2", "l1l2"])
def test_the_oracle_in_structured_solve(outside, kind):
    X, y, k = classes()
    ours = structured.solve(outside.class_oracle_object(X, y, k), reg=kind, lam=0.02, tol=1e-3)
    ready = proxsdca.oracles.Multiclass(X, y.astype(int))
    theirs = structured.solve(ready, reg=kind, lam=0.02, tol=1e-3)
    assert ours.converged
    assert ours.certified
    assert ours.recomputed
    assert abs(ours.primal - theirs.primal) <= max(ours.gap, theirs.gap)
    again = structured.certify(ours.oracle, ours.w, ours, reg=kind, lam=0.02)
    assert again.gap == pytest.approx(ours.gap, abs=again.rounding)
    with pytest.raises(ValueError, match="needs R"):
        structured.solve(outside.class_oracle_object(X, y, k), option="IV")


@pytest.mark.parametrize(
    ("wrong", "kind", "message"),
    [
        (1, RuntimeError, r"oracle.argmax\(3, w\) failed: it returned 7"),
        (2, ValueError, r"oracle.plane\(\d+, label\): 9 entries: 0 to 8 are allowed"),
        (3, ValueError, r"oracle.plane\(\d+, label\): indices\[0\] = 12: 0 to 11 are allowed"),
    ],
)
def test_answers_of_an_oracle_are_judged(outside, wrong, kind, message):
    X, y, k = classes()
    with pytest.raises(kind, match=message):
        structured.solve(outside.class_oracle_object(X, y, k, wrong))


# ------------------------------------------------------------------ sizes and versions


def test_cython_and_c_have_the_same_structs(outside, plain_c):
    assert outside.sizes() == plain_c.sizes()
    assert outside.version() == (1, 1)


def test_structs_of_other_versions(outside):
    case = make("logistic", n=40, d=5)
    theirs = case.solve(tol=1e-6)
    sizes = outside.sizes()
    for size in (sizes["loss.exact_step"], sizes["loss.exact_step"] + 8, sizes["loss"], 200):
        ours = case.solve(loss=outside.loss_of_size(size), tol=1e-6)
        assert abs(ours.primal - theirs.primal) <= max(ours.gap, theirs.gap) + 1e-14
    for size in (0, 8, sizes["loss.exact_step"] - 1, sizes["loss.exact_step"] + 4, 5000):
        with pytest.raises(
            ValueError, match=rf"loss.size = {size}: 72 to 4096 is allowed, in steps"
        ):
            outside.loss_of_size(size)
    with pytest.raises(ValueError, match=r"loss.size = 200, .*something that a later version has"):
        outside.loss_of_size(200, 1)


def test_null_pointers(outside):
    with pytest.raises(ValueError, match="loss is NULL"):
        outside.null_loss()
    for member in ("value", "subgradient"):
        with pytest.raises(ValueError, match=rf"loss.{member} is NULL, and is needed"):
            outside.loss_without(member)
    case = make("logistic", n=40, d=5)
    for member in ("conjugate", "exact_step"):
        assert case.solve(loss=outside.loss_without(member), tol=1e-6).converged


def test_nan_in_mid_run(outside):
    case = make("logistic", n=40, d=5)
    with pytest.raises(ValueError, match=r"nan.subgradient\(.*\) is nan") as caught:
        case.solve(loss=outside.loss_without("nan"), lam=1e-4)
    assert caught.value.__notes__[-1].startswith("at example ")
    codes, words = outside.failing_run()
    assert codes == [OK, BAD_INPUT, FAILED, OK]
    assert "is nan" in words
    assert "at example " in words


@pytest.mark.parametrize(
    ("what", "code", "message"),
    [
        ("data size", BAD_INPUT, "data.size = 8: 80 to 4096 is allowed"),
        ("settings size", BAD_INPUT, "settings.size = 1048576"),
        ("null data", BAD_INPUT, "data is NULL"),
        ("null handle", BAD_INPUT, "handle is NULL"),
        ("values", BAD_INPUT, "data.values is NULL"),
        ("y", BAD_INPUT, "data.y is NULL"),
        ("n", BAD_INPUT, "data.n = -1"),
        ("stride", BAD_INPUT, "data.row_stride = 1"),
        ("index", BAD_INPUT, "X.indices[1] = 5: 0 to 1 is allowed"),
        ("indptr", BAD_INPUT, "data.indptr[2] = -7"),
        ("loss", BAD_INPUT, "loss = 'hinges' is not known; did you mean 'hinge'?"),
        ("vector loss", BAD_INPUT, "a loss of one margin is needed"),
        ("lam", BAD_INPUT, "lam = -1.0"),
        ("sigma", BAD_INPUT, "settings.sigma = 0.5, but settings.has_sigma is 0"),
        ("target", BAD_INPUT, "y[0] = -1.0"),
        ("label", BAD_INPUT, "y holds only the class 1.0"),
        ("epochs", BAD_INPUT, "epochs = -1"),
        ("room", BAD_INPUT, "w has room for 1 numbers: 2 is needed"),
        ("null w", BAD_INPUT, "w is NULL"),
        ("tol", BAD_INPUT, "tol = -1.0"),
        ("certificate size", BAD_INPUT, "certificate.size = 4"),
        ("twice", BAD_HANDLE, "was released, or never was one"),
        ("never", BAD_HANDLE, "handle 123456789 was released, or never was one"),
    ],
)
def test_bad_input(outside, what, code, message):
    found, words = outside.refused(what)
    assert found == code
    assert message in words


# ------------------------------------------------------------------ from C


def test_a_loss_with_a_parameter_in_c(plain_c):
    case = make("squared", n=60, d=5)
    primal, gap, rounding, converged, w = plain_c.solve(
        np.ascontiguousarray(case.X).tobytes(), case.y.tobytes(), 60, 5, 0.3, 0.05, 1e-8
    )
    assert converged
    assert rounding < 1e-12
    theirs = case.solve(loss=Expectile(0.3), lam=0.05, tol=1e-8)
    assert abs(primal - theirs.primal) <= max(gap, theirs.gap) + 1e-14
    np.testing.assert_allclose(np.frombuffer(w), theirs.w, atol=1e-3)
    ours = case.solve(loss=plain_c.expectile_object(), lam=0.05, tol=1e-8)
    assert ours.primal == pytest.approx(primal, abs=gap + ours.gap)
    with pytest.raises(RuntimeError, match=r"1: lam = -1\.0"):
        plain_c.solve(case.X.tobytes(), case.y.tobytes(), 60, 5, 0.3, -1.0, 1e-8)


def test_the_header_is_installed():
    header = Path(proxsdca.get_include()) / "proxsdca.h"
    assert "proxsdca_import" in header.read_text()
    declared = (Path(proxsdca.__file__).parent / "cython_api.pxd").read_text()
    assert "cimport" not in declared.split("\n\n", 1)[1]
    assert "cdef class" not in declared.split("\n\n", 1)[1]
