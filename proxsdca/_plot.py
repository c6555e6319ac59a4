"""Pictures: the convergence of results, and paths."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _validate

if TYPE_CHECKING:
    from ._path import Path
    from ._result import Result

FIELDS = {"epochs": "epoch", "seconds": "seconds"}  # x: the field of the history
# Okabe and Ito's colours, which the colour-blind can tell apart; markers say it again.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
SIZE = (10.0, 4.2)
PATH_SIZE = (8.0, 6.4)


def plot(
    results: Result | Iterable[Result],
    *,
    labels: Sequence[str] | None = None,
    x: str = "epochs",
    axes: Any = None,
) -> Any:
    """Draw primal and dual on the left and the gap with its target on the right.

    Parameters
    ----------
    results : Result or iterable of Result
        Every certificate in the history of a result is a point; ``solve(..., certify_every=1)``
        gives one an epoch.
    labels : sequence of str, optional
        One a result; by default what was solved.
    x : {"epochs", "seconds"}
        What runs along the horizontal axes.
    axes : pair of matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ImportError
        Where matplotlib is missing.

    Notes
    -----
    The gap is drawn with its rounding error added, which is what the target is held against
    and what bounds P(w) - min P.
    """
    field = FIELDS[_validate.choice("x", x, FIELDS)]
    several = list(results) if isinstance(results, Iterable) else [results]
    if not several:
        raise ValueError("results is empty: at least one result is needed")
    names = _labels(several) if labels is None else [str(label) for label in labels]
    if len(names) != len(several):
        raise ValueError(f"labels has length {len(names)}: {len(several)} is needed, one a result")
    left, right = _new_axes() if axes is None else axes

    drawn = []
    styles = zip(cycle(COLOURS), cycle(MARKERS), strict=False)
    for result, name, (colour, marker) in zip(several, names, styles, strict=False):
        history = result.history
        at, primal, dual, gap = history[field], history["primal"], history["dual"], _gap(history)
        style = {"color": colour, "marker": marker, "markersize": 4.5, "linewidth": 1.6}
        style["markevery"] = max(1, len(history) // 12)
        left.fill_between(at, dual, primal, color=colour, alpha=0.12, linewidth=0)
        left.plot(at, dual, linestyle="--", markerfacecolor="white", **style)
        left.plot(at, primal, **style)
        right.plot(at, gap, label=name, **style)
        drawn += [*gap]
        if result.target > 0:
            right.axhline(result.target, color=colour, linestyle="--", linewidth=1.1, alpha=0.8)
            drawn.append(result.target)

    key = {"color": "0.3", "linewidth": 1.4, "markersize": 4.5}
    left.plot([], [], "o-", label="primal", **key)
    left.plot([], [], "o--", label="dual", markerfacecolor="white", **key)
    right.plot([], [], "--", label="target", **key)
    left.set(title="Primal and dual objective", ylabel=r"$P(w)$ and $D(\alpha)$")
    right.set(title="Duality gap", ylabel="gap + rounding", yscale="log")
    right.set_ylim(*_decades(drawn or [1.0]))
    long = _is_long(np.concatenate([result.history[field] for result in several]))
    _scale(left, x, logarithmic=long)
    _scale(right, x, logarithmic=False)
    for panel in (left, right):
        _dress(panel)
    return left.figure


def plot_path(path: Path, axes: Any = None) -> Any:
    """Draw the coefficients of a path above, and its gaps with their targets below.

    Parameters
    ----------
    path : Path
    axes : pair of matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ImportError
        Where matplotlib is missing.
    """
    name, at = ("lam", path.lams) if path.sigma_max is None else ("sigma", path.sigmas)
    above, below = _new_axes(2, 1, PATH_SIZE) if axes is None else axes
    used = np.flatnonzero(np.bincount(path.coef.indices, minlength=path.coef.shape[0]))
    values = path.coef.tocsr()[used].toarray()
    # the features of the largest weights in colour, the others as their background
    last = np.argsort(-np.abs(values).max(axis=1)) if len(used) else used
    for place, row in reversed(list(enumerate(last))):
        style = {"color": "0.8", "linewidth": 0.8}
        if place < len(COLOURS):
            style = {"color": COLOURS[place], "linewidth": 1.6, "label": f"feature {used[row]}"}
        above.plot(at, values[row], **style)
    floor = np.finfo(float).eps * np.abs(path.primal) + np.finfo(float).tiny
    gap = np.maximum(path.gap + path.rounding, floor)
    below.plot(at, gap, color=COLOURS[0], marker="o", markersize=3.5, label="gap + rounding")
    below.plot(at, path.target, color=COLOURS[1], linestyle="--", label="target")
    title = f"{path.loss.name} + {path.reg.name}: {path.nonzeros.max()} nonzeros at most"
    above.set(title=title, ylabel="$w_j$", xscale="log")
    below.set(ylabel="gap + rounding", xlabel=f"{name} (logarithmic)", xscale="log", yscale="log")
    for panel in (above, below):
        _dress(panel)
        if at[0] > at[-1]:
            panel.invert_xaxis()
    return above.figure


def _dress(panel: Any) -> None:
    """A quiet grid, no box, and a legend where there is something to name."""
    panel.grid(color="0.9", linewidth=0.8)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
    if panel.get_legend_handles_labels()[0]:
        panel.legend(frameon=False, fontsize="small", handlelength=2.6)


def _labels(results: Sequence[Result]) -> list[str]:
    """What was solved, and where that is the same for two results, what else differs."""
    labels = [f"{r.loss.name} + {r.reg.name}" for r in results]
    for name in ("lam", "sigma", "side", "option", "order", "output"):
        values = [getattr(r, name) for r in results]
        if len(set(labels)) < len(labels) and len(set(values)) > 1:
            shown = [v if isinstance(v, str) else f"{v:.3g}" for v in values]
            labels = [f"{label}, {name} {v}" for label, v in zip(labels, shown, strict=True)]
    return labels


def _gap(history: np.ndarray) -> np.ndarray:
    """gap + rounding, lifted to what a logarithmic axis can show."""
    real = np.finfo(float)
    floor = np.maximum(real.eps * np.abs(history["primal"]), real.tiny)
    gap: np.ndarray = np.maximum(history["gap"] + history["rounding"], floor)
    return gap


def _decades(values: Sequence[float]) -> tuple[float, float]:
    """The powers of ten around the values, with some room."""
    low, high = np.log10([min(values), max(values)])
    return 10 ** np.floor(low - 0.1), 10 ** np.ceil(high + 0.1)


def _is_long(at: np.ndarray) -> bool:
    """Whether the beginning, where primal and dual meet, needs a logarithmic axis to be seen."""
    return at.size > 0 and bool(0 < 5 * at.min() <= at.max())


def _scale(panel: Any, x: str, logarithmic: bool) -> None:
    if logarithmic:
        ticker: Any = importlib.import_module("matplotlib.ticker")
        panel.set(xscale="log", xlabel=f"{x} (logarithmic)")
        panel.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        panel.xaxis.set_major_formatter("{x:g}")
        panel.xaxis.set_minor_formatter(ticker.NullFormatter())
    else:
        panel.set(xlim=(0, None), xlabel=x)
        panel.locator_params(axis="x", integer=x == "epochs")


def _new_axes(rows: int = 1, columns: int = 2, size: tuple[float, float] = SIZE) -> Any:
    try:
        pyplot: Any = importlib.import_module("matplotlib.pyplot")
    except ImportError as error:
        raise ImportError("plot needs matplotlib: pip install 'proxsdca[plot]'") from error
    return pyplot.subplots(rows, columns, figsize=size, layout="constrained")[1]
