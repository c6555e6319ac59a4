"""The command `proxsdca`."""

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import proxsdca
from proxsdca import _cli
from proxsdca._cli import main

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
    assert script.load() is main


# -------------------------------------------------------------------- demo


def check_demo(out):
    header, *table, note = out.split("\n\n")[1].splitlines()
    assert note.startswith("promised: ")
    columns = ["gap", "relative", "epochs", "promised", "seconds", "nonzeros", "status"]
    assert header.split() == ["loss", "+", "reg", *columns]
    assert len(table) == len(_cli.PROBLEMS)
    for line, (loss, reg) in zip(table, _cli.PROBLEMS, strict=True):
        assert line.startswith(f"{loss} + {reg} ")
        assert float(line.split()[4]) <= _cli.TOL
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
    X, labels, values = _cli._documents(2_000, 5_000, 0)
    assert isinstance(X, sparse.csr_array)
    assert X.shape == (2_000, 5_000)
    assert 50 < X.nnz / 2_000 < 70
    assert np.allclose(X.power(2).sum(axis=1), 1)
    assert set(labels) == {-1, 1}
    assert np.isfinite(values).all()
    used = np.bincount(X.indices, minlength=5_000)
    assert used[:50].sum() > 10 * used[-50:].sum()
    assert (_cli._documents(2_000, 5_000, 0)[0] != X).nnz == 0


def test_the_demo_finds_a_false_result():
    X, labels, _ = _cli._documents(200, 300, 0)
    result = proxsdca.solve(X, labels, reg="l1l2", tol=1e-3)
    assert _cli._certified(X, [(labels, result)])
    assert _cli._recomputed(X, labels, result)
    assert not _cli._certified(2 * X, [(labels, result)])
    assert not _cli._recomputed(2 * X, labels, result)


def test_demo_fails_where_the_proof_does(monkeypatch):
    monkeypatch.setattr(_cli, "_recomputed", lambda *arguments: False)
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
    assert all(f"'{flag}'" in build for flag in _cli.FLAGS)


def test_info_where_numpy_hides_the_processor(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy._core._multiarray_umath", None)
    assert main(["info"]) == 0
    assert "processor    unknown" in capsys.readouterr().out


# -------------------------------------------------------------- exit codes


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"proxsdca {proxsdca.__version__}\n"


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "--help"], ["info", "--help"]])
def test_help(arguments, capsys):
    assert main(arguments) == 0
    assert "usage: proxsdca" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [([], "command"), (["nothing"], "nothing"), (["demo", "--row", "5"], "--row"),
     (["demo", "--rows", "1"], "an integer from 2"), (["demo", "--columns", "x"], "'x'"),
     (["demo", "--rows", "99999999999"], "--rows"), (["demo", "--seed", "-1"], "--seed"),
     (["demo", "--output", "no/where.png"], "there is no directory"),
     (["demo", "--output", "picture.txt"], ".png"), (["info", "--rows", "2"], "--rows")],
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

    monkeypatch.setattr(_cli, "solve", interrupt)
    assert main(SMALL) == 130
    assert capsys.readouterr().err.splitlines()[-1] == "proxsdca: interrupted"


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), MemoryError("much")])
def test_what_the_system_refuses(error, capsys, monkeypatch):
    def fail(*arguments):
        raise error

    monkeypatch.setattr(_cli, "_save", fail)
    assert main(SMALL) == 1
    assert capsys.readouterr().err.splitlines()[-1] == f"proxsdca: {error}"


@pytest.mark.skipif(os.name != "posix", reason="a pipe that breaks")
def test_a_reader_that_went_away():
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as out:
        done = subprocess.run(
            [*COMMAND, "info"], stdout=out, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (1, "")
