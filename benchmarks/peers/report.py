"""The tables, and the picture of the frontiers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .measure import TARGETS

RACE = (
    "case", "target", "ours s", "epochs", "used", "best peer", "its s", "peer / ours", "others s",
)  # fmt: skip
FLOOR = (
    "case", "nonzeros", "MB", "GB/s", "read ms", "epoch / read",
    *(f"solved to {target:g}, in reads" for target in TARGETS),
)  # fmt: skip
COLOURS = {
    "liblinear": "#d95f02", "scikit-learn": "#1b9e77", "snapml": "#7570b3", "cyanure": "#e7298a",
    "celer": "#a6761d", "skglm": "#66a61e", "lightning": "#666666",
}  # fmt: skip
OURS = "#0b3c8c"
MARKERS = "osD^vP*X"
LOWEST = 1e-7  # of the pictures


def heading(names: tuple[str, ...]) -> str:
    """The first two lines of a table."""
    return f"| {' | '.join(names)} |\n{'|---' * len(names)}|"


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _seconds(t: float) -> str:
    return f"{t:.2g}" if t < 0.1 else f"{t:.2f}" if t < 10 else f"{t:.0f}"


def best_peer(record: dict, target: float) -> tuple[str, float] | None:
    """The fastest of the others, and its seconds."""
    found = {k: s for k, s in record["targets"][f"{target:g}"].items() if k != "ours"}
    return min(found.items(), key=lambda item: item[1]) if found else None


def ratio(record: dict, target: float) -> float | None:
    """Seconds of the best peer divided by ours; above 1 we are faster."""
    peer, ours = best_peer(record, target), record["targets"][f"{target:g}"].get("ours")
    return peer[1] / ours if peer and ours else None


def race(record: dict) -> str:
    """The lines of one case, a target each."""
    lines, over = [], f"> {record['cap']:g}"
    for target in TARGETS:
        times = record["targets"][f"{target:g}"]
        mine = next(point for point in record["ours"] if np.isclose(point["tol"], target))
        peer, r = best_peer(record, target), ratio(record, target)
        others = sorted((s, k) for k, s in times.items() if k != "ours" and k != peer[0])
        never = [k for k in record["peers"] if k not in times]
        shown = [f"{k} {_seconds(s)}" for s, k in others]
        shown += [f"{k} -" for k in never]
        lines.append(_line([
            record["case"], f"{target:g}", _seconds(times["ours"]) if "ours" in times else over,
            str(mine["epochs"]), "+".join(mine["used"]), peer[0] if peer else "-",
            _seconds(peer[1]) if peer else "-",
            "-" if r is None else f"{r:.2f}" if r >= 1 else f"**{r:.2f}**", ", ".join(shown),
        ]))  # fmt: skip
    return "\n".join(lines)


def means(records: list[dict]) -> str:
    """Geometric means of the best peer's seconds divided by ours."""
    found = {target: [ratio(record, target) for record in records] for target in TARGETS}
    found = {target: [r for r in ratios if r] for target, ratios in found.items()}
    everything = [r for ratios in found.values() for r in ratios]
    if not everything:
        return "Nothing to compare."
    parts = [
        f"{_mean(ratios):.2f} at {target:g} ({len(ratios)} cases)"
        for target, ratios in found.items()
        if ratios
    ]
    slower = sum(r < 1 for r in everything)
    return (
        f"Best peer / ours, geometric mean: {', '.join(parts)}, {_mean(everything):.2f} over all; "
        f"slower than the best peer in {slower} of {len(everything)}."
    )


def doubts(records: list[dict]) -> list[str]:
    """The cases whose reference is too far from the optimum to judge peers at the last target."""
    return [
        f"{record['case']}: the reference is known to {record['reference']['gap']:.0e} only."
        for record in records
        if record["reference"]["gap"] > 0.1 * TARGETS[-1]
    ]


def _mean(ratios: list[float]) -> float:
    return float(np.exp(np.mean(np.log(ratios))))


def floors(records: list[dict]) -> str:
    """The table of floors."""
    lines = [heading(FLOOR)]
    for record in records:
        f = record["floor"]
        reads = (record["targets"][f"{target:g}"].get("ours") for target in TARGETS)
        lines.append(_line([
            record["case"], f"{record['nonzeros']:,}", f"{f['bytes'] / 1e6:.1f}",
            f"{f['bytes per second'] / 1e9:.1f}", f"{1e3 * f['read']:.3f}",
            f"{f['epoch'] / f['read']:.1f}",
            *("-" if s is None else f"{s / f['read']:,.0f}" for s in reads),
        ]))  # fmt: skip
    return "\n".join(lines)


def draw(records: list[dict], file: Path) -> None:
    """One panel a case: seconds against relative suboptimality, ours certified."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = min(3, len(records))
    rows = -(-len(records) // columns)
    figure = Figure(figsize=(6.4 * columns, 3.9 * rows + 0.6), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel, record in zip(panels, records, strict=False):
        _panel(panel, record)
    for panel in panels[len(records) :]:
        panel.axis("off")
    figure.suptitle(
        "Seconds (one thread) against relative suboptimality: below and to the left is better",
        fontsize=12,
    )
    figure.savefig(file, dpi=110)


def _panel(panel, record: dict) -> None:
    """The frontiers of one case; the legend has the seconds at the targets."""
    from matplotlib.ticker import LogLocator, NullFormatter

    entries = []

    def line(points: list[tuple[float, float]], label: str, **style) -> None:
        x, y = np.array(sorted(points)).T
        y = np.minimum.accumulate(np.maximum(y, LOWEST))  # the best that is there by then
        shown = np.searchsorted(-y, -LOWEST) + 1  # up to the first that leaves the picture
        x, y = x[:shown], y[:shown]
        (artist,) = panel.plot(x, y, **style)
        entries.append((artist, label))

    ours = record["ours"]
    times = record["targets"]

    def label(name: str) -> str:
        each = (times[f"{target:g}"].get(name) for target in TARGETS)
        return f"{name}  {' | '.join('-' if s is None else _seconds(s) for s in each)}"

    first, last = (f"{target:g}" for target in TARGETS)
    line(
        [(p["seconds"], p["gap"]) for p in ours], label("ours") + "  (certified)",
        color=OURS, linewidth=2.6, marker="o", markersize=4, zorder=5,
    )  # fmt: skip
    line(
        [(p["seconds"], p["suboptimality"]) for p in ours], "ours, true suboptimality",
        color=OURS, linewidth=1.2, linestyle=":", zorder=4,
    )  # fmt: skip
    seen: dict[str, int] = {}
    names = [name for name, points in record["peers"].items() if points]
    far = np.inf

    def place(name: str) -> tuple[float, float]:
        return times[first].get(name, far), times[last].get(name, far)

    for name in sorted(names, key=place):
        library = name.split()[0]
        number = seen[library] = seen.get(library, -1) + 1
        line(
            [(p["seconds"], p["suboptimality"]) for p in record["peers"][name]], label(name),
            color=COLOURS[library], linewidth=1.1, marker=MARKERS[number % len(MARKERS)],
            markersize=4, alpha=0.9,
        )  # fmt: skip
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    panel.xaxis.set_major_formatter("{x:g}")
    panel.xaxis.set_minor_formatter(NullFormatter())
    panel.set_ylim(LOWEST * 0.7, 2)
    for target in TARGETS:
        panel.axhline(target, color="0.8", linewidth=0.8, zorder=0)
    panel.set_title(record["case"] + ("" if record["data"] != "generated" else " (generated)"),
                    fontsize=10, fontweight="bold", loc="left")  # fmt: skip
    panel.tick_params(labelsize=8)
    panel.spines[["top", "right"]].set_visible(False)
    legend = panel.legend(
        *zip(*entries, strict=True), loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=7.5,
        frameon=False, title=f"s to {first} | {last}", title_fontsize=7.5, alignment="left",
        handlelength=1.8, labelspacing=0.35,
    )  # fmt: skip
    for text, (artist, _) in zip(legend.get_texts(), entries, strict=True):
        text.set_color(artist.get_color())
