"""Result.plot() and Result.summary()."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
from problems import make

import proxsdca
from proxsdca._plot import plot
from proxsdca._summary import summary


@pytest.fixture(scope="module")
def matplotlib():
    module = pytest.importorskip("matplotlib")
    module.use("Agg")
    return module


@pytest.fixture(autouse=True)
def close_figures():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="module")
def result():
    return make(n=60).solve(tol=1e-6, certify_every=1)


def changed(result, **fields):
    """The result with another history."""
    history = result.history.copy()
    for name, value in fields.items():
        history[name] = value
    return dataclasses.replace(result, history=history)


def lines(panel, marker=True):
    """The drawn lines that have points; those of the legend have none, those of targets two."""
    drawn = [line for line in panel.lines if len(line.get_xdata())]
    return [line for line in drawn if (line.get_marker() != "None") == marker]


def labels(panel):
    return [text.get_text() for text in panel.get_legend().get_texts()]


def test_the_panels_show_the_history(matplotlib, result):
    figure = result.plot()
    left, right = figure.axes
    dual, primal = lines(left)
    assert np.array_equal(primal.get_xdata(), result.history["epoch"])
    assert np.array_equal(primal.get_ydata(), result.history["primal"])
    assert np.array_equal(dual.get_ydata(), result.history["dual"])
    (gap,) = lines(right)
    assert np.array_equal(gap.get_ydata(), result.history["gap"] + result.history["rounding"])
    (target,) = lines(right, marker=False)
    assert target.get_linestyle() == "--"
    assert list(target.get_ydata()) == [result.target] * 2
    assert right.get_yscale() == "log"
    assert labels(left) == ["primal", "dual"]
    assert labels(right) == ["hinge + l2", "target"]
    assert all(p.get_title() and p.get_xlabel() and p.get_ylabel() for p in (left, right))


def test_it_can_be_saved(matplotlib, result, tmp_path):
    result.plot(result).savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_seconds(matplotlib, result):
    left, right = result.plot(x="seconds").axes
    assert np.array_equal(lines(right)[0].get_xdata(), result.history["seconds"])
    assert "seconds" in left.get_xlabel()
    assert right.get_xlabel() == "seconds"


def test_several_results(matplotlib, result):
    other = make(n=60, loss="squared", reg="l1l2").solve(tol=1e-6)
    figure = result.plot(other, labels=["one", "two"])
    assert labels(figure.axes[1]) == ["one", "two", "target"]
    first, second = lines(figure.axes[1])
    assert first.get_color() != second.get_color()
    assert first.get_marker() != second.get_marker()
    assert labels(result.plot(other).axes[1])[1] == "squared + l1l2"


def test_more_results_than_colours(matplotlib, result):
    figure = plot([result] * 20)
    looks = {(line.get_color(), line.get_marker()) for line in lines(figure.axes[1])}
    assert len(looks) == 20


def test_labels_say_what_differs(matplotlib):
    case = make(n=40)
    results = [case.solve(lam=lam, order=order) for lam in (0.1, 0.2) for order in ("cyclic",)]
    assert labels(plot(results).axes[1])[:2] == ["hinge + l2, lam 0.1", "hinge + l2, lam 0.2"]
    results += [case.solve(lam=0.1, order="permutation")]
    assert len({*labels(plot(results).axes[1])}) == 4


def test_one_point(matplotlib, result):
    single = dataclasses.replace(result, history=result.history[-1:])
    left, right = single.plot().axes
    assert left.get_xscale() == "linear"
    assert left.get_xlim()[0] == 0
    for line in lines(left) + lines(right):
        assert len(line.get_xdata()) == 1
        assert line.get_marker() not in ("None", "")
    start = changed(single, epoch=0)
    start.plot().canvas.draw()


def test_the_objective_has_a_logarithmic_axis_where_the_run_is_long(matplotlib, result):
    long = changed(result, epoch=1 + 9 * np.arange(len(result.history)))
    left, right = long.plot().axes
    assert (left.get_xscale(), right.get_xscale()) == ("log", "linear")
    assert "logarithmic" in left.get_xlabel()
    left, _ = changed(long, epoch=long.history["epoch"] - 1).plot().axes
    assert left.get_xscale() == "linear"


@pytest.mark.parametrize("gap", [0.0, -1e-17, -1.0])
@pytest.mark.parametrize("primal", [0.0, 1.0])
def test_a_gap_lost_in_rounding_is_drawn(matplotlib, result, gap, primal):
    flat = changed(result, gap=gap, rounding=0.0, primal=primal)
    figure = flat.plot()
    drawn = lines(figure.axes[1])[0].get_ydata()
    assert (drawn > 0).all()
    low, high = figure.axes[1].get_ylim()
    assert low < drawn.min() <= drawn.max() < high
    figure.canvas.draw()


def test_no_target(matplotlib, result):
    figure = dataclasses.replace(result, target=0.0).plot()
    assert lines(figure.axes[1], marker=False) == []


def test_an_interrupted_run_may_have_no_history(matplotlib, result):
    empty = dataclasses.replace(result, history=result.history[:0], target=0.0)
    empty.plot().canvas.draw()
    assert len(lines(empty.plot(result).axes[1])) == 1
    assert "epochs in 0.00 s" in empty.summary()


def test_given_axes(matplotlib, result):
    figure = matplotlib.figure.Figure()
    axes = figure.subplots(2, 1)
    assert result.plot(axes=axes) is figure
    assert lines(axes[1])


def test_refusals(matplotlib, result):
    with pytest.raises(ValueError, match=r"x = 'epoch' is not known.*'epochs'.*'seconds'"):
        result.plot(x="epoch")
    with pytest.raises(ValueError, match="labels has length 2: 1 is needed"):
        result.plot(labels=["a", "b"])
    with pytest.raises(ValueError, match="results is empty"):
        plot([])


def test_without_matplotlib(monkeypatch, result):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'proxsdca\[plot\]'"):
        result.plot()


def test_a_display_is_not_needed(matplotlib, tmp_path):
    code = (
        "import proxsdca, numpy as np;"
        "r = proxsdca.solve(np.eye(3), [1., 2., 3.], loss='squared'); r.plot().savefig('p.png')"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    assert (tmp_path / "p.png").exists()


def test_summary(result):
    text = result.summary()
    assert text == summary(result)
    assert 6 <= len(text.splitlines()) <= 8
    for part in (
        "hinge + l2: 60 rows, 8 columns", "lam = 0.0166667", "sigma = 0", f"{result.gap:.3e} +- ",
        f"target {result.target:.3e}", "CONVERGED", f"{result.epochs} epochs in ", "option I",
        "order permutation", "output last", "8 of 8 weights are not zero",
    ):  # fmt: skip
        assert part in text, part


def test_summary_of_a_run_that_fell_short():
    with pytest.warns(proxsdca.ConvergenceWarning):
        result = make(n=40).solve(tol=0.0, max_epochs=2)
    assert "MAX_EPOCHS: max_epochs was reached" in result.summary()
