"""What `verbose` shows."""

import io
import math
import sys

import numpy as np
import pytest
from problems import make

import proxsdca
from proxsdca import Check
from proxsdca._progress import NAMES, Progress, _duration


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Broken(io.StringIO):
    def write(self, text):
        raise BrokenPipeError

    def isatty(self):
        raise OSError


def check(epoch=3, seconds=1.0, gap=1e-2, target=1e-4, rounding=0.0):
    return Check(epoch, seconds, 0.5 + gap, 0.5, gap, rounding, 17, target)


def shown(verbose, calls, stream=None):
    stream = io.StringIO() if stream is None else stream
    progress = Progress(verbose, stream)
    for call in calls:
        progress(call) if isinstance(call, Check) else progress.estimate(*call)
    progress.close()
    return stream.getvalue()


def test_silence():
    assert shown(0, [(1, 1.0, 1e-3, 0.0), check()]) == ""


def test_nothing_to_show():
    for verbose in (0, 1, 2):
        assert shown(verbose, []) == shown(verbose, [], Terminal()) == ""


def test_one_live_line_on_a_terminal():
    text = shown(1, [(1, 0.5, 1e-4, 0.0), (2, 0.1, 1e-4, 1.0), check(3, 2.0)], Terminal())
    assert text.count("\n") == 1
    assert text.endswith("\n")
    first, second, third = text[:-1].split("\r")[1:]
    assert "epoch 1" in first
    assert "~gap 5.00e-01" in first
    assert "target 1.00e-04" in first
    assert "~gap 1.00e-01" in second
    assert "~" not in third
    assert "gap 1.00e-02" in third


def test_a_shorter_state_erases_a_longer_one():
    first, second = shown(1, [check(1, 700.0), check(1, 9e8, gap=0.0)], Terminal()).split("\r")[1:]
    assert len(second.rstrip("\n")) >= len(first)


def test_a_narrow_terminal_is_not_wrapped(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    states = shown(1, [check(1, 0.0), check(2, 1.0)], Terminal()).rstrip("\n").split("\r")[1:]
    assert [len(state) for state in states] == [19, 19]


def test_plain_lines_come_at_most_once_a_second_and_the_last_one_always():
    calls = [(k, 1.0 / (k + 1), 1e-9, 0.1 * k) for k in range(35)]
    lines = shown(1, calls).splitlines()
    assert [line.split()[1] for line in lines] == ["0", "10", "20", "30", "34"]


def test_the_last_state_is_shown_on_a_terminal():
    calls = [(k, 1.0 / (k + 1), 1e-9, 0.001 * k) for k in range(50)]
    states = shown(1, calls, Terminal()).split("\r")[1:]
    assert len(states) == 2
    assert "epoch 49" in states[-1]


@pytest.mark.parametrize(("seconds", "left"), [(1, "9.0 s"), (8, "2.0 s"), (10, "0.0 s")])
def test_time_left_is_exact_for_a_steady_decrease(seconds, left):
    calls = [(1, 1.0, math.exp(-10), 0.0), (9, math.exp(-seconds), math.exp(-10), float(seconds))]
    assert shown(1, calls).splitlines()[-1].endswith(f"left {left}")


@pytest.mark.parametrize(
    ("gap", "target", "left"),
    [(0.5, 2.0**-31, "30 s"), (0.5, 2.0**-101, "1 min 40 s"), (0.0, 1e-3, "0.0 s"),
     (0.5, 0.0, "--"), (1.0, 1e-3, "--"), (2.0, 1e-3, "--"), (math.inf, 1e-3, "--"),
     (math.nan, 1e-3, "--"), (-1.0, -2.0, "--"), (1 - 2.0**-53, 1e-3, "--")],
)  # fmt: skip
def test_time_left_after_one_second(gap, target, left):
    text = shown(1, [(1, 1.0, 1e-3, 0.0), (2, gap, target, 1.0)])
    assert text.splitlines()[-1].endswith(f"left {left}")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0.0 s"), (9.94, "9.9 s"), (9.96, "10 s"), (59.6, "1 min 00 s"), (3599.9, "1 h 00 min"),
     (7330, "2 h 02 min"), (1e9, "--"), (-1, "--"), (math.inf, "--"), (math.nan, "--")],
)  # fmt: skip
def test_durations(seconds, text):
    assert _duration(seconds) == text


def test_the_rounding_error_counts():
    assert "gap 3.00e-02" in shown(1, [check(gap=1e-2, rounding=2e-2)])


def test_a_line_a_certificate():
    calls = [check(1), (2, 0.1, 1e-4, 1.0), check(1000, 12345.678, 1e-300), check(3, gap=-1e-17)]
    header, *lines = shown(2, calls).splitlines()
    assert tuple(header.split()) == NAMES
    assert sorted(NAMES) == sorted(Check._fields)
    assert len(lines) == 3
    assert {len(line) for line in lines} == {len(header)}
    assert lines[0].split()[0] == "1"
    assert lines[0].split()[-1] == "17"


@pytest.mark.parametrize("verbose", [1, 2])
def test_a_broken_stream_is_given_up(verbose):
    closed = io.StringIO()
    closed.close()
    for stream in (closed, Broken()):
        progress = Progress(verbose, stream)
        progress.estimate(1, 1.0, 1e-3, 0.0)
        progress(check())
        progress.close()


def test_no_stderr(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    progress = Progress(1)
    progress(check())
    progress.close()


def test_closing_twice():
    stream = Terminal()
    progress = Progress(1, stream)
    progress(check())
    progress.close()
    progress.close()
    assert stream.getvalue().count("\n") == 1


def test_solve_shows_and_is_not_affected(capsys):
    case = make(n=60)
    silent = case.solve(tol=1e-6, certify_every=2)
    assert capsys.readouterr() == ("", "")
    for verbose in (1, 2):
        result = case.solve(tol=1e-6, certify_every=2, verbose=verbose)
        out, err = capsys.readouterr()
        assert out == ""
        assert err.endswith("\n")
        assert np.array_equal(result.w, silent.w)
        assert np.array_equal(result.alpha, silent.alpha)
    assert len(err.splitlines()) == 1 + len(result.history)


def test_solve_survives_a_closed_stderr(monkeypatch):
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    assert proxsdca.solve(np.eye(3), [1.0, 2.0, 3.0], loss="squared", verbose=1).converged
