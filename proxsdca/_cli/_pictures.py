"""Pictures, drawn without a display."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

from .._files import atomic
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
    drawing = BytesIO()
    picture.savefig(drawing, dpi=150, format=path.suffix[1:].lower())
    with atomic(path) as file:
        file.write(drawing.getvalue())
    return True


def draw(path: Path | None, drawn: Sequence[Result] | SolutionPath) -> str:
    """Save a picture if there is a place for it; what is to be said of it after other things."""
    if path is None:
        return ""
    problem = NO_PICTURE
    try:
        if save_picture(path, drawn):
            return f", drawn in {path}"
    except OSError as error:  # what was solved is worth more
        problem = f"no picture: {error}"
    print(f"proxsdca: {problem}", file=sys.stderr)
    return ""
