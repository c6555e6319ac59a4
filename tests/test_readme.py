"""The README's examples run as they stand, one after the other."""

import re
from pathlib import Path

import matplotlib
import pytest

README = (Path(__file__).parent.parent / "README.md").read_text()


@pytest.mark.filterwarnings("ignore::proxsdca.ConvergenceWarning")
def test_the_examples_run():
    matplotlib.use("Agg")
    _, *blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)  # the first is the headline
    assert len(blocks) >= 5
    names = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    assert names["r"].converged
