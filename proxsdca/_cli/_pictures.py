"""Pictures, drawn without a display."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from .._path import Path as SolutionPath
from .._plot import PATH_SIZE, SIZE, plot, plot_path
from .._result import Result

NO_PICTURE = "no picture, as matplotlib is missing: pip install 'proxsdca[plot]'"


def save_picture(path: Path, drawn: Sequence[Result] | SolutionPath) -> bool:
    """Draw the convergence of results, or a path; False where matplotlib is missing."""
    try:
        figure: Any = import_module("matplotlib.figure").Figure
    except ImportError:
        return False
    if isinstance(drawn, SolutionPath):
        picture = figure(figsize=PATH_SIZE, layout="constrained")
        plot_path(drawn, axes=picture.subplots(2, 1))
    else:
        picture = figure(figsize=SIZE, layout="constrained")
        plot(drawn, axes=picture.subplots(1, 2))
    picture.savefig(path, dpi=150)
    return True


def draw(path: Path | None, drawn: Sequence[Result] | SolutionPath) -> str:
    """Save a picture if there is a place for it; what is to be said of it after other things."""
    if path is None:
        return ""
    if save_picture(path, drawn):
        return f", drawn in {path}"
    print(f"proxsdca: {NO_PICTURE}", file=sys.stderr)
    return ""
