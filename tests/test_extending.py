"""docs/extending.md: its examples run as they stand."""

import re
from pathlib import Path

import numpy as np
import pytest
from own import Expectile
from problems import make
from scipy import sparse
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


def test_the_cython_examples(tmp_path):
    (meson,) = blocks("meson")
    source = tmp_path / "project"
    source.mkdir()
    for name, text in zip(("expectile", "least"), blocks("cython"), strict=True):
        (source / f"{name}.pyx").write_text(text)
    (source / "meson.build").write_text(
        meson + meson.splitlines()[-1].replace("expectile", "least")
    )
    expectile, least = build(source, tmp_path / "build", "expectile", "least")

    assert proxsdca.testing.check_loss(expectile.expectile(0.8)).ok
    case = make("squared", n=50, d=4)
    ours, theirs = (
        case.solve(loss=loss, tol=1e-9) for loss in (expectile.expectile(0.8), Expectile(0.8))
    )
    assert ours.primal == pytest.approx(theirs.primal, abs=ours.gap + theirs.gap)
    np.testing.assert_allclose(ours.w, theirs.w, atol=1e-4)

    case = make("logistic", "l1l2", n=50, d=4)
    X, w = sparse.csr_array(case.X), np.empty(4)
    parts = X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)
    intercept, gap, rounding, converged = least.solve(*parts, case.y, w)
    theirs = case.solve(tol=1e-6, fit_intercept=True)
    assert converged
    assert gap + rounding > 0
    np.testing.assert_allclose(
        np.append(w, intercept), np.append(theirs.w, theirs.intercept), atol=0.01
    )
    with pytest.raises(ValueError, match=r"y holds only the class 1\.0"):
        least.solve(*parts, np.ones(50), w)


def test_the_c_example(tmp_path):
    (example,) = blocks("c")
    source = tmp_path / "project"
    source.mkdir()
    (source / "fit.c").write_text(example)
    lines = [line.strip() for line in DOCUMENT.splitlines() if "include" in line]
    (source / "meson.build").write_text(
        "\n".join(
            [
                "project('fit', 'c', default_options: ['werror=true'])",
                "py = import('python').find_installation(pure: false)",
                next(line for line in lines if line.startswith("include = run_command")),
                next(line for line in lines if line.startswith("py.extension_module('fit'")),
            ]
        )
    )
    (module,) = build(source, tmp_path / "build", "fit")
    assert module.__name__ == "fit"
