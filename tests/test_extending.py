"""docs/extending.md: its examples run as they stand."""

import re
from pathlib import Path

import numpy as np
import pytest
from own import Expectile
from problems import make
from test_cython_api import build

import proxsdca

DOCUMENT = (Path(__file__).parent.parent / "docs" / "extending.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", DOCUMENT, re.DOTALL)


@pytest.fixture(scope="module")
def names():
    pytest.importorskip("numba")  # which one of the examples is about
    found = {}
    for block in blocks("python"):
        exec(compile(block, "extending.md", "exec"), found)
    return found


def test_the_loss_is_twenty_lines_of_python():
    first = blocks("python")[0]
    assert "class Expectile(proxsdca.losses.Loss)" in first
    assert len([line for line in first.splitlines() if line.strip()]) <= 20


def test_the_python_examples(names):
    assert names["r"].converged
    case = make("squared", n=50, d=4)
    kinds = (names["Expectile"](0.8), names["FastExpectile"](0.8), names["compiled"])
    results = [case.solve(loss=loss, tol=1e-8) for loss in (*kinds, Expectile(0.8))]
    for r in results:
        assert r.converged
        assert r.primal == pytest.approx(results[-1].primal, abs=r.gap + results[-1].gap)
    assert proxsdca.solve(case.X, case.y, loss="huber", reg=names["Nonnegative"]()).w.min() >= 0


def test_the_cython_example(tmp_path):
    whole, loop = blocks("cython")
    (meson,) = blocks("meson")
    source = tmp_path / "project"
    source.mkdir()
    (source / "expectile.pyx").write_text(whole)
    (source / "meson.build").write_text(meson)
    (module,) = build(source, tmp_path / "build", "expectile")
    assert proxsdca.testing.check_loss(module.expectile(0.8)).ok
    case = make("squared", n=50, d=4)
    ours, theirs = (
        case.solve(loss=loss, tol=1e-9) for loss in (module.expectile(0.8), Expectile(0.8))
    )
    assert ours.primal == pytest.approx(theirs.primal, abs=ours.gap + theirs.gap)
    np.testing.assert_allclose(ours.w, theirs.w, atol=1e-4)
    # what the other one calls is there
    declared = (Path(proxsdca.__file__).parent / "cython_api.pxd").read_text()
    for name in set(re.findall(r"cython_api\.(\w+)", DOCUMENT)) - {"pxd"}:
        assert re.search(rf"\b{name}\b", declared), name
    assert loop.count("cython_api.") >= 8


def test_the_c_example_uses_what_the_header_has():
    (example,) = blocks("c")
    header = (Path(proxsdca.get_include()) / "proxsdca.h").read_text()
    for name in set(re.findall(r"\bproxsdca_\w+", example)):
        assert name in header
    for member in re.findall(r"\.(\w+) =", example):
        assert re.search(rf"\b{member}\b", header), member
