"""The command `proxsdca`."""

import dataclasses
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import proxsdca
from proxsdca import _checkpoint
from proxsdca._cli import COMMANDS, _demo, _info, _pictures, _train, command, main

SMALL = ["demo", "--quick", "--rows", "300", "--columns", "400"]
COMMAND = [sys.executable, "-c", "import sys; from proxsdca._cli import main; sys.exit(main())"]


@pytest.fixture(autouse=True)
def in_a_directory_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(*arguments):
    """In a process of its own."""
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)


def test_the_script_is_installed():
    (script,) = entry_points(group="console_scripts", name="proxsdca")
    assert script.load() is command


# -------------------------------------------------------------------- demo


def check_demo(out):
    header, *table, note = out.split("\n\n")[1].splitlines()
    assert note.startswith("promised: ")
    columns = ["gap", "relative", "epochs", "promised", "seconds", "nonzeros", "status"]
    assert header.split() == ["loss", "+", "reg", *columns]
    assert len(table) == len(_demo.PROBLEMS)
    for line, (loss, reg) in zip(table, _demo.PROBLEMS, strict=True):
        assert line.startswith(f"{loss} + {reg} ")
        assert float(line.split()[4]) <= _demo.TOL
        assert line.endswith("converged")
    assert f"{len(table)} of {len(table)} gaps within their targets" in out
    assert "recomputed in plain NumPy" in out
    assert out.rstrip().endswith("the same")


def test_demo(capsys):
    pytest.importorskip("matplotlib")
    assert main([*SMALL, "--output", "picture.png"]) == 0
    out, err = capsys.readouterr()
    check_demo(out)
    assert out.startswith("300 rows, 400 columns, ")
    assert "convergence drawn in picture.png" in out
    assert Path("picture.png").read_bytes().startswith(b"\x89PNG")
    assert err.splitlines()[0] == "solving hinge + l2 (1 of 6)"
    assert len(err.splitlines()) == 6


def test_demo_as_a_process():
    done = run(*SMALL, "--seed", "3")
    assert done.returncode == 0, done.stderr
    check_demo(done.stdout)
    assert "Traceback" not in done.stderr


def test_demo_depends_on_the_seed_alone(capsys):
    def table(seed):
        assert main([*SMALL, "--seed", seed]) == 0
        rows = capsys.readouterr().out.split("\n\n")[1].splitlines()[1:]
        return [row.split()[:7] + row.split()[8:] for row in rows]  # without the seconds

    assert table("1") == table("1") != table("2")


def test_demo_without_matplotlib(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(SMALL) == 0
    out = capsys.readouterr().out
    check_demo(out)
    assert "pip install 'proxsdca[plot]'" in out
    assert not list(Path().iterdir())


def test_demo_on_a_terminal(capsys, monkeypatch):
    pytest.importorskip("tqdm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert main(SMALL) == 0
    out, err = capsys.readouterr()
    check_demo(out)
    assert "100% |" in err
    assert "solving" not in err


def test_demo_on_a_terminal_without_tqdm(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert main(SMALL) == 0
    out, err = capsys.readouterr()
    check_demo(out)
    assert len(err.splitlines()) == 6


@pytest.mark.parametrize(("rows", "columns"), [(2, 2), (3, 1_000)])
def test_demo_of_the_smallest_sizes(rows, columns, capsys):
    assert main(["demo", "--rows", str(rows), "--columns", str(columns)]) == 0
    check_demo(capsys.readouterr().out)


def test_the_problem():
    X, labels, values = _demo._documents(2_000, 5_000, 0)
    assert isinstance(X, sparse.csr_array)
    assert X.shape == (2_000, 5_000)
    assert 50 < X.nnz / 2_000 < 70
    assert np.allclose(X.power(2).sum(axis=1), 1)
    assert set(labels) == {-1, 1}
    assert np.isfinite(values).all()
    used = np.bincount(X.indices, minlength=5_000)
    assert used[:50].sum() > 10 * used[-50:].sum()
    assert (_demo._documents(2_000, 5_000, 0)[0] != X).nnz == 0


def test_the_demo_finds_a_false_result():
    X, labels, _ = _demo._documents(200, 300, 0)
    result = proxsdca.solve(X, labels, reg="l1l2", tol=1e-3)
    assert _demo._certified(X, [(labels, result)])
    assert _demo._recomputed(X, labels, result)
    assert not _demo._certified(2 * X, [(labels, result)])
    assert not _demo._recomputed(2 * X, labels, result)


def test_demo_fails_where_the_proof_does(monkeypatch):
    monkeypatch.setattr(_demo, "_recomputed", lambda *arguments: False)
    assert main(SMALL) == 1


# -------------------------------------------------------------------- info


def test_info(capsys):
    assert main(["info"]) == 0
    facts = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert facts["proxsdca"] == proxsdca.__version__
    assert facts["numpy"] == np.__version__
    assert facts["Cython"].startswith("3.")
    assert facts["threads"] == "1"
    assert {"Python", "scipy", "compiler", "build", "SIMD", "processor"} <= set(facts)


def test_the_build_flags_are_those_of_the_build():
    build = (Path(__file__).parent.parent / "meson.build").read_text()
    assert all(f"'{flag}'" in build for flag in _info.FLAGS)


def test_info_where_numpy_hides_the_processor(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy._core._multiarray_umath", None)
    assert main(["info"]) == 0
    assert "processor    unknown" in capsys.readouterr().out


# -------------------------------------------------------------- exit codes


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"proxsdca {proxsdca.__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_help(command, capsys):
    assert main([command, "--help"]) == 0
    out = capsys.readouterr().out
    assert f"usage: proxsdca {command}" in out
    assert command in ("demo",) or "example" in out
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert command in out
    assert "143 terminated" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [([], "command"), (["nothing"], "nothing"), (["demo", "--row", "5"], "--row"),
     (["demo", "--rows", "1"], "an integer from 2"), (["demo", "--columns", "x"], "'x'"),
     (["demo", "--rows", "99999999999"], "--rows"), (["demo", "--seed", "-1"], "--seed"),
     (["demo", "--output", "no/where.png"], "there is no directory"),
     (["demo", "--output", "picture.txt"], ".png"), (["info", "--rows", "2"], "--rows"),
     (["train", "x"], "--model"), (["train", "x", "-o", "no/where"], "there is no directory"),
     (["train", "x", "-o", "."], "it is a directory"), (["train", "x", "-o", "y"], "x: No such"),
     (["train", "x", "-o", "y", "--loss", "hing"], "did you mean 'hinge'"),
     (["train", "x", "-o", "y", "--loss", "huber:deta=1"], "its parameters: delta"),
     (["train", "x", "-o", "y", "--loss", "huber:delta"], "parameter=value is needed"),
     (["train", "x", "-o", "y", "--loss", "huber:delta=-1"], "delta = -1.0"),
     (["train", "x", "-o", "y", "--tol", "nan"], "a number >= 0 is needed"),
     (["train", "x", "-o", "y", "--resume"], "--checkpoint FILE is needed"),
     (["train", "x", "-o", "y", "--warm-start", "no"], "no: No such file"),
     (["predict", "no", "x"], "no: No such file"), (["certify", "no", "x"], "no: No such file"),
     (["convert", "no", "folder"], "no: No such file"), (["completion", "sh"], "bash")],
)  # fmt: skip
def test_bad_usage(arguments, said, capsys):
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert err.startswith("proxsdca")
    assert said in err


def test_bad_usage_as_a_process():
    done = run("demo", "--rows", "none")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)


def test_ctrl_c(capsys, monkeypatch):
    def interrupt(*arguments, **keywords):
        raise KeyboardInterrupt

    monkeypatch.setattr(_demo, "solve", interrupt)
    assert main(SMALL) == 130
    assert capsys.readouterr().err.splitlines()[-1] == "proxsdca: interrupted"


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), MemoryError("much")])
def test_what_the_system_refuses(error, capsys, monkeypatch):
    def fail(*arguments):
        raise error

    monkeypatch.setattr(_demo, "save_picture", fail)
    assert main(SMALL) == 2
    assert str(error.args[-1]) in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.skipif(os.name != "posix", reason="a pipe that breaks")
def test_a_reader_that_went_away():
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as out:
        done = subprocess.run(
            [*COMMAND, "info"], stdout=out, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (141, "")


# ----------------------------------------------- train, predict, certify, path


@pytest.fixture
def data(capsys):
    """demo-train.svm and demo-test.svm: 900 and 100 rows."""
    assert main(["demo", "--files", "--rows", "1000", "--columns", "400"]) == 0
    capsys.readouterr()
    return "demo-train.svm"


def train(*arguments):
    return main(["train", "demo-train.svm", "-o", "m", "--quiet", *arguments])


def said(capsys):
    return json.loads(capsys.readouterr().out)


def test_the_first_half_hour(data, capsys):
    assert train("--loss", "logistic", "--reg", "l1l2", "--plot", "m.png") == 0
    out = capsys.readouterr().out
    assert "logistic + l1l2: 900 rows" in out
    assert "CONVERGED" in out
    assert out.splitlines()[-1] == "saved in m, drawn in m.png"
    assert Path("m.png").read_bytes().startswith(b"\x89PNG")

    assert main(["predict", "m", "demo-test.svm", "-o", "labels.txt"]) == 0
    assert capsys.readouterr().err.startswith("accuracy 0.")
    assert main(["certify", "m", data]) == 0
    assert "TRUE; within the target" in capsys.readouterr().out

    X, y, _ = proxsdca.io.read(data)
    r = proxsdca.solve(X, y, loss="logistic", reg="l1l2", certify_every=1)
    loaded = proxsdca.Result.load("m")
    assert np.array_equal(r.w, loaded.w)
    assert np.array_equal(r.alpha, loaded.alpha)
    test = proxsdca.io.read("demo-test.svm", n_features=X.shape[1])
    assert np.array_equal(np.loadtxt("labels.txt"), r.predict(test.X))


def test_json(data, capsys):
    assert train("--json") == 0
    found = said(capsys)
    r = proxsdca.load("m")
    assert found["gap"] == r.gap
    assert found["converged"] is True
    assert found["classes"] == [-1.0, 1.0]
    assert main(["predict", "m", "demo-test.svm", "--json"]) == 0
    found = said(capsys)
    assert found["rows"] == len(found["predictions"]) == 100
    assert 0.5 < found["accuracy"] <= 1
    assert main(["certify", "m", data, "--json"]) == 0
    found = said(capsys)
    assert (found["true"], found["within_target"], found["said"]) == (True, True, r.gap)
    assert main(["info", "m", "--json"]) == 0
    assert said(capsys)["gap"] == r.gap
    assert main(["info", data, "--json"]) == 0
    assert said(capsys)["rows"] == 900
    assert main(["convert", data, "folder", "--json", "--quiet"]) == 0
    assert said(capsys)["rows"] == 900
    assert main(["path", data, "-o", "p", "--num", "4", "--quiet", "--json"]) == 0
    found = said(capsys)
    assert len(found["sigmas"]) == 4
    assert found["converged"] is True


def test_what_is_trained_is_what_solve_says(data, capsys):
    weights = np.linspace(0.5, 1.5, 900)
    np.save("weights.npy", weights)
    Path("weights.txt").write_text("\n".join(map(repr, weights.tolist())))
    X, y, _ = proxsdca.io.read(data)
    np.save("y.npy", y)
    for given in ("weights.npy", "weights.txt"):
        arguments = ["--loss", "huber:delta=0.5", "--reg", "l1l2", "--lam", "0.01", "--sigma",
                     "0.001", "--intercept", "--tol", "1e-6", "--seed", "3"]  # fmt: skip
        assert train(*arguments, "--weights", given, "--target", "y.npy") == 0
        r = proxsdca.solve(
            X, y, loss=proxsdca.losses.Huber(0.5), reg="l1l2", lam=0.01, sigma=0.001,
            fit_intercept=True, tol=1e-6, seed=3, sample_weight=weights,
        )  # fmt: skip
        assert np.array_equal(r.w, proxsdca.load("m").w)
        assert r.intercept == proxsdca.load("m").intercept
    capsys.readouterr()
    assert main(["certify", "m", data, "--weights", "weights.npy"]) == 0
    assert main(["certify", "m", data]) == 1  # other weights are another problem
    assert "NOT TRUE: these are not the rows, labels or weights" in capsys.readouterr().out
    assert main(["certify", "m", data, "--json"]) == 1
    assert said(capsys)["true"] is False


def test_certify_finds_a_false_gap(data, capsys):
    assert train() == 0
    r = proxsdca.load("m")
    big, half = math.inf, r.gap / 2
    for lie in (
        {"gap": half}, {"gap": half, "rounding": 1.0}, {"gap": 0.0, "rounding": big}, {"gap": big},
        {"primal": r.primal - half}, {"dual": r.dual + half}, {"target": big}, {"w": 2 * r.w},
    ):  # fmt: skip
        dataclasses.replace(r, **lie).save("lie")
        assert main(["certify", "lie", data]) == 1, lie
        assert "NOT TRUE" in capsys.readouterr().out
    X, y, _ = proxsdca.io.read(data)
    X.data[7] += 0.1
    proxsdca.io.write("other.svm", X, y)
    dataclasses.replace(r, rounding=0.0).save("m")
    assert main(["certify", "m", "other.svm"]) in (0, 1)  # near, and said to be what it is
    assert main(["certify", "m", "demo-test.svm"]) == 2
    assert "900" in capsys.readouterr().err
    proxsdca.io.write("other.svm", X, np.where(y > 0, 2, 1))
    assert main(["certify", "m", "other.svm"]) == 2
    assert "its labels are not those of the model" in capsys.readouterr().err


def test_not_converged_is_1_and_saved(data, capsys):
    assert train("--max-epochs", "1", "--tol", "1e-9") == 1
    out, err = capsys.readouterr()
    assert "MAX_EPOCHS" in out
    assert err == ""  # no warning: the exit code says it
    r = proxsdca.load("m")
    assert not r.converged
    assert main(["certify", "m", data]) == 1  # true, and above the target
    assert "TRUE; above the target" in capsys.readouterr().out
    assert train("--tol", "1e-5", "--warm-start", "m") == 0


def test_standard_input(data):
    for path, more in ((data, []), ("demo-train.svm.gz", [])):
        if path.endswith(".gz"):
            X, y, _ = proxsdca.io.read(data)
            proxsdca.io.write(path, X, y)
        with open(path, "rb") as file:
            done = subprocess.run(
                [*COMMAND, "train", "-", "-o", "m", "--quiet", *more], stdin=file,
                capture_output=True, text=True, check=False,
            )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert train("--json") == 0
    assert main(["info", "m"]) == 0


@pytest.mark.parametrize(
    ("text", "place"),
    [("1 1:2\n-1 0:3\n", ":2:4: "), ("1 1:nan\n", ":1:3: "), ("1 1:2\n2 1:1_0\n", ":2:3: "),
     ("1 1:2\n1 1:3\n", "only the class"), ("", "no rows"), ("1 1:2\n2 1:2\n3 1:2", "3 classes")],
)  # fmt: skip
def test_bad_data_is_2_with_one_line(text, place, capsys):
    Path("bad.svm").write_text(text)
    assert main(["train", "bad.svm", "-o", "m"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert place in err
    assert not Path("m").exists()


def test_a_model_of_another_kind(data, capsys):
    assert main(["path", data, "-o", "p", "--num", "3", "--quiet", "--plot", "p.png"]) == 0
    assert "proven" in capsys.readouterr().out
    assert Path("p.png").exists()
    for arguments in (["predict", "p", data], ["certify", "p", data]):
        assert main(arguments) == 2
        assert "p: it holds" in capsys.readouterr().err
    assert train("--warm-start", "p") == 2
    assert main(["predict", data, data]) == 2
    assert "it is not a file that proxsdca has saved" in capsys.readouterr().err
    assert main(["info", "p"]) == 0
    assert "Path" in capsys.readouterr().out


def test_models_of_several_classes(capsys):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    y = np.argmax(X[:, :3], axis=1)
    proxsdca.io.write("three.svm", X, y)
    assert main(["train", "three.svm", "-o", "m", "--loss", "softmax", "--quiet"]) == 0
    assert main(["certify", "m", "three.svm"]) == 0
    capsys.readouterr()
    assert main(["predict", "m", "three.svm", "--probabilities"]) == 0
    out, err = capsys.readouterr()
    p = np.array([line.split() for line in out.splitlines()], float)
    assert p.shape == (300, 3)
    assert np.allclose(p.sum(axis=1), 1)
    assert "accuracy 0.9" in err
    assert main(["predict", "m", "three.svm", "--margins"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 300
    proxsdca.one_vs_rest(X, y, loss="logistic").save("ovr")
    proxsdca.SDCAClassifier("logistic").fit(X, y).save("fitted")
    for model in ("ovr", "fitted"):
        assert main(["predict", model, "three.svm"]) == 0
        assert "accuracy 0.9" in capsys.readouterr().err


def test_a_folder_is_solved_on_in_blocks(data, capsys):
    assert main(["convert", data, "folder", "--quiet"]) == 0
    assert main(["convert", data, "folder", "--quiet"]) == 2  # it is there already
    assert main(["convert", data, "folder", "--quiet", "--overwrite"]) == 0
    assert main(["train", "folder", "-o", "m", "--quiet"]) == 0
    assert proxsdca.load("m").order == "blocks"
    assert main(["certify", "m", data]) == 0
    assert main(["info", "folder"]) == 0
    assert "900" in capsys.readouterr().out


def test_arrays(data, capsys):
    X, y, _ = proxsdca.io.read(data)
    np.save("X.npy", X.toarray())
    assert main(["train", "X.npy", "-o", "m", "--quiet"]) == 2
    assert "--target" in capsys.readouterr().err
    np.save("y.npy", y)
    assert main(["train", "X.npy", "-o", "m", "--quiet", "--target", "y.npy"]) == 0
    proxsdca.io.write("X.npz", X, y)
    assert main(["certify", "m", "X.npz"]) == 0
    assert main(["predict", "m", "X.npy"]) == 0


def test_a_regression(capsys):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    proxsdca.io.write("r.svm", X, X @ [1.0, 2, 3])
    assert main(["train", "r.svm", "-o", "m", "--loss", "squared", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["predict", "m", "r.svm"]) == 0
    out, err = capsys.readouterr()
    assert np.array_equal(np.array(out.split(), float), proxsdca.load("m").predict(X))
    assert err.startswith("mean squared error")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell, capsys):
    assert main(["completion", shell]) == 0
    out = capsys.readouterr().out
    for word in (*COMMANDS, "softmax", "permutation", "max-epochs"):
        assert word in out
    if found := shutil.which(shell):
        assert subprocess.run([found, "-n"], input=out, text=True, check=False).returncode == 0


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "found"),
    [("tr", ["train"]), ("train --max-e", ["--max-epochs"]), ("train --loss hu", ["huber"]),
     ("train x --side c", ["columns"]), ("completion fi", ["fish"]), ("train da", ["data.svm"])],
)  # fmt: skip
def test_bash_completes(words, found, capsys):
    Path("data.svm").touch()
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out + (
        f"COMP_WORDS=(proxsdca {words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _proxsdca\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(["bash"], input=script, capture_output=True, text=True, check=False)
    assert done.stdout.split() == found, done.stderr


def test_a_checkpoint_that_fails_is_said(data, capsys, monkeypatch):
    def full(*arguments, **keywords):
        raise OSError(28, "No space left on device", "c")

    monkeypatch.setattr(_checkpoint._container, "save", full)
    arguments = ["--checkpoint", "c", "--checkpoint-every", "0", "--tol", "1e-6"]
    monkeypatch.setattr(_train.Result, "save", lambda self, path: None)
    assert train(*arguments) == 0
    err = capsys.readouterr().err
    assert "proxsdca: checkpoint c: it could not be written" in err
    assert "No space left" in err


def test_resuming(data, capsys):
    steps = ["--checkpoint", "c", "--checkpoint-every", "0", "--tol", "1e-8"]
    assert train(*steps, "--max-seconds", "0.02") in (0, 1)
    assert Path("c").exists()
    assert main(["info", "c"]) == 0
    assert "Checkpoint" in capsys.readouterr().out
    assert train(*steps, "--resume") == 0
    X, y, _ = proxsdca.io.read(data)
    assert np.array_equal(proxsdca.load("m").w, proxsdca.solve(X, y, tol=1e-8).w)
    assert train(*steps, "--resume", "--lam", "0.5") == 2
    assert "lam was" in capsys.readouterr().err


SLOW = ["--lam=1e-13", "--tol=1e-9", "--max-epochs=100000000", "--solver=plain", "--json"]


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_leave_the_best_that_was_certified(number, code):
    rng = np.random.default_rng(0)
    X, y, data = rng.normal(size=(2_000, 8)), rng.choice([-1, 1], 2_000), "noise.svm"
    proxsdca.io.write(data, X, y)
    process = subprocess.Popen(
        [*COMMAND, "train", data, "-o", "m", *SLOW, "--certify-every", "5"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    seen = process.stderr.readline()  # of the progress: it runs
    assert "epoch" in seen
    time.sleep(0.3)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert "Traceback" not in err
    assert json.loads(out)["status"] == "INTERRUPTED"
    r = proxsdca.load("m")
    assert r.status is proxsdca.Status.INTERRUPTED
    c = proxsdca.certify(X, y, r.w, r.alpha, lam=1e-13)
    assert c.gap <= r.gap + r.rounding + c.rounding


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_interrupted_before_there_is_anything():
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [*COMMAND, "train", "-", "-o", "m"], stdin=reader, stderr=subprocess.PIPE, text=True
    )
    os.close(reader)
    time.sleep(2)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    os.close(writer)
    assert process.returncode == 143
    assert len(err.splitlines()) == 1
    assert not Path("m").exists()


@pytest.mark.parametrize(
    "arguments",
    [["-o", "demo-train.svm"], ["-o", "m", "--checkpoint", "./demo-train.svm"],
     ["-o", "x.png", "--plot", "x.png"], ["-o", "m", "--checkpoint", "m"]],
)  # fmt: skip
def test_no_output_takes_the_place_of_an_input(arguments, data, capsys):
    before = Path(data).read_bytes()
    assert main(["train", data, "--quiet", *arguments]) == 2
    assert "it is given twice" in capsys.readouterr().err
    assert Path(data).read_bytes() == before
    assert train() == 0
    for output in ("m", data):
        assert main(["predict", "m", data, "-o", output]) == 2


@pytest.mark.parametrize("name", ["", "-", "new/", "/dev/null"])
def test_places_that_no_model_can_have(name, data, capsys):
    assert main(["train", data, "-o", name]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("y", [[1.0], np.ones((100, 1)), np.ones(99), np.full(100, np.nan)])
def test_scores_need_a_target_for_each_row(y, data, capsys):
    assert train() == 0
    np.save("y.npy", y)
    assert main(["predict", "m", "demo-test.svm", "--target", "y.npy"]) == 2
    assert "proxsdca: y" in capsys.readouterr().err


def test_json_has_null_for_what_is_no_number(capsys):
    proxsdca.io.write("p.svm", [[1.0], [1.0]], [1, 3])
    assert main(["train", "p.svm", "-o", "m", "--loss", "poisson", "--quiet"]) == 0
    proxsdca.io.write("far.svm", [[1e6]], [1])
    capsys.readouterr()
    with np.errstate(over="ignore"):
        assert main(["predict", "m", "far.svm", "--json"]) == 0
    assert said(capsys)["predictions"] == [None]


@pytest.mark.skipif(os.name != "posix", reason="a shell")
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&-"])
def test_closed_streams(closed, data):
    line = f'"$@" train {data} -o m --quiet {closed}'
    done = subprocess.run(
        ["sh", "-c", line, "sh", *COMMAND], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert proxsdca.load("m").converged
    line = '"$@" train - -o m --quiet <&-'
    done = subprocess.run(
        ["sh", "-c", line, "sh", *COMMAND], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "standard input is closed" in done.stderr


def test_a_picture_that_fails_spoils_nothing(data, capsys, monkeypatch):
    def full(*arguments, **keywords):
        raise OSError(28, "No space left on device", "m.png")

    monkeypatch.setattr(_pictures, "atomic", full)
    assert train("--plot", "m.png", "--json") == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["converged"] is True
    assert "no picture: [Errno 28]" in err
    assert not Path("m.png").exists()


@pytest.mark.skipif(os.name != "posix", reason="limits")
def test_a_full_disk_leaves_the_old_folder(data):
    assert main(["convert", data, "folder", "--quiet"]) == 0
    line = 'ulimit -f 8; "$@" convert demo-train.svm folder --quiet --overwrite'
    done = subprocess.run(
        ["bash", "-c", line, "bash", *COMMAND], capture_output=True, text=True, check=False
    )
    assert done.returncode in (2, -signal.SIGXFSZ)
    assert proxsdca.io.read("folder").X.shape[0] == 900
    assert main(["info", "folder"]) == 0
