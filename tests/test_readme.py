"""The README's examples run as they stand, one after the other."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pytest

README = (Path(__file__).parent.parent / "README.md").read_text()
SHELL = re.search(r"<!-- shell -->\n```sh\n(.*?)```", README, re.DOTALL)[1]


@pytest.mark.accelerators  # the command does not hear of PROXSDCA_SOLVER
@pytest.mark.filterwarnings("ignore::proxsdca.ConvergenceWarning")
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scripts = os.path.dirname(sys.executable)
    monkeypatch.setenv("PATH", scripts + os.pathsep + os.environ["PATH"])
    done = subprocess.run(
        ["bash", "-euc", SHELL], capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert "TRUE; within the target" in done.stdout
    assert "accuracy 0." in done.stderr
    assert Path("demo.png").stat().st_size > 10_000

    matplotlib.use("Agg")
    _, *blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)  # the first is the headline
    assert len(blocks) >= 5
    names = {}
    for place, block in enumerate(blocks):
        exec(compile(block, "README.md", "exec"), names)
        if not place:
            assert np.array_equal(names["r"].w, names["same"].w)
    assert names["r"].converged
