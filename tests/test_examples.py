"""The examples run, and do what they say."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from proxsdca import structured

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_matchings_are_learnt_and_proven(capsys):
    names = runpy.run_path(str(EXAMPLES / "matching.py"))
    oracle = names["Matching"](*names["made_up"](60, seed=2))
    r = structured.solve(oracle, lam=0.01)
    assert r.converged
    assert r.recomputed
    assert r.w[2] < 0.2 * r.w[:2].min()
    for label in (oracle.y[0], oracle.y[0][::-1]):
        assert oracle.radius(0) >= np.linalg.norm(oracle.psi(0, label))
    names["main"]()
    assert "of new pairs are wrong" in capsys.readouterr().out


def test_a_page_of_words_is_drawn(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.delenv("PROXSDCA_DATA", raising=False)
    page = tmp_path / "page.png"
    monkeypatch.setattr(sys, "argv", ["ocr_words.py", str(page)])
    runpy.run_path(str(EXAMPLES / "ocr_words.py"), run_name="__main__")
    assert page.read_bytes().startswith(b"\x89PNG")
    assert page.stat().st_size > 20_000
    assert "made-up words" in capsys.readouterr().out
