"""From 10,000 to 3,000,000 examples: epochs, time per epoch and memory, with lam n fixed.

Generated rows of norm 1 have 20 nonzeros in n / 10 columns, as unevenly used as words are, and
noisy labels. The columns grow with n, as vocabularies do, so that problems of all sizes are alike:
with d fixed, rows that hardly meet at 10,000 examples cover all columns many times at 3,000,000.
`--columns` fixes d all the same. With lam = 1/n the curvature |x_i|^2 / (lam n) is 1 at every n,
and the paper promises a number of epochs that does not grow. An epoch stands beside kernel_limit's
bare C loop on the same rows, in turns, and a whole run, with its certificates, shuffles and set-up,
beside as many of those loops. Each n has a process of its own. Linux only.
"""

from __future__ import annotations

import argparse
import multiprocessing
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import kernel_limit
import numpy as np
from suites.data import zipf_problem
from suites.peak import peak

import proxsdca

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000)
NONZEROS = 20
GAP = 1e-4
RUNS = (("hinge", "plain"), ("hinge", "auto"), ("smooth_hinge", "plain"), ("smooth_hinge", "auto"))
WORST = {"epochs": 1.3, "ratio": 1.5}  # growth, and an epoch beside the bare loop
AGAIN, LONG = 4, 3.0  # the fastest of so many more runs counts, unless one takes longer
MB = 1e6
HEADER = (
    "n", "d", "loss", "solver", "epochs needed", "times the first", "epochs run", "made of",
    "ms an epoch", "plain C ms", "epoch / plain", "run / plain", "seconds", "peak MB",
    "8 (4n + 4d) + 20 MB", "8 (4.2n + 5d) + 2 MB",
)  # fmt: skip


def goal(n: int, d: int) -> float:
    """What a run should take beyond X and y, in bytes, whatever the shape."""
    return 8 * (4 * n + 4 * d) + 20 * MB


def counted(n: int, d: int) -> float:
    """What it takes without accelerators, by counting arrays: see the README of this folder."""
    return 8 * (4.2 * n + 5 * d) + 2 * MB


def measure(n: int, d: int) -> list[dict]:
    """Every run at that size."""
    X, y = zipf_problem(n, d, NONZEROS)
    library = kernel_limit.compiled()
    found = []
    beside: dict[str, tuple[float, ...]] = {}
    for loss, solver in RUNS:
        solve = partial(proxsdca.solve, X, y, loss=loss, lam=1 / n, tol=0.0, eps=GAP, solver=solver)
        r, size = peak(solve)
        seconds = float(r.history["seconds"][-1])
        for _ in range(AGAIN if seconds < LONG else 0):
            seconds = min(seconds, float(solve().history["seconds"][-1]))
        needed = solve(certify_every=1)
        assert r.converged
        assert needed.converged
        if loss not in beside:
            epochs = list(kernel_limit.run(library, X, y, "l2", loss))
            own, plain = ([epoch[key] for epoch in epochs] for key in ("epoch", "plain"))
            ratio = np.median(np.divide(own, plain))
            beside[loss] = float(np.median(own)), float(np.median(plain)), float(ratio)
        own, plain, ratio = beside[loss]
        found.append({
            "n": n, "d": d, "loss": loss, "solver": solver, "needed": needed.epochs,
            "epochs": r.epochs, "used": r.solver,
            "own": own, "plain": plain, "ratio": ratio, "run": seconds / (r.epochs * plain),
            "seconds": seconds, "peak": size, "goal": goal(n, d), "counted": counted(n, d),
        })  # fmt: skip
    return found


def everywhere(sizes: Iterable[int], columns: int | None) -> Iterator[dict]:
    """All runs, each size in a process of its own."""
    for n in sizes:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            yield from pool.apply(measure, (n, columns or n // 10))


def cells(row: dict, first: dict) -> list[str]:
    """A row of the table."""
    return [
        f"{row['n']:,}", f"{row['d']:,}", row["loss"], row["solver"], str(row["needed"]),
        f"{row['needed'] / first['needed']:.2f}", str(row["epochs"]), " + ".join(row["used"]),
        f"{1e3 * row['own']:.2f}", f"{1e3 * row['plain']:.2f}", f"{row['ratio']:.2f}",
        f"{row['run']:.2f}", f"{row['seconds']:.3f}", f"{row['peak'] / MB:.0f}",
        f"{row['goal'] / MB:.0f}", f"{row['counted'] / MB:.0f}",
    ]  # fmt: skip


def draw(rows: list[dict], place: Path) -> None:
    """Epochs, time per epoch and memory over n."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 4), layout="constrained")
    epochs, times, memory = figure.subplots(1, 3)
    for loss, solver in RUNS:
        of = [row for row in rows if (row["loss"], row["solver"]) == (loss, solver)]
        n, style = [row["n"] for row in of], "o-" if solver == "auto" else "s--"
        first, name = of[0]["needed"], f"{loss}, {solver}"
        epochs.plot(n, [row["needed"] / first for row in of], style, label=f"{name}: {first} first")
        memory.plot(n, [row["peak"] / MB for row in of], style, label=name)
        if solver == "plain":
            times.plot(n, [row["ratio"] for row in of], "o-", label=f"{loss}: an epoch")
            times.plot(n, [row["run"] for row in of], "s--", label=f"{loss}: a run, plain")
    epochs.axhline(WORST["epochs"], color="grey", linestyle=":")
    times.axhline(WORST["ratio"], color="grey", linestyle=":")
    for name, style in (("goal", ":"), ("counted", "-.")):
        memory.plot(n, [row[name] / MB for row in of], style, color="grey", label=name)
    memory.set_yscale("log")
    titles = (
        f"epochs to a gap of {GAP:g} / those at n = {rows[0]['n']:,}",
        "time per epoch / bare C loop", "peak MB beyond X and y",
    )  # fmt: skip
    for axes, title in zip((epochs, times, memory), titles, strict=True):
        axes.set(xscale="log", xlabel="n", title=title)
        axes.legend()
    for axes in (epochs, times):
        axes.set_ylim(bottom=0)
    figure.savefig(place, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="the largest n")
    parser.add_argument("--columns", type=int, help="d, by default n / 10")
    parser.add_argument("--picture", type=Path, default=Path("scaling.png"))
    arguments = parser.parse_args()
    print(f"l2, lam = 1/n, eps = {GAP:g}, {NONZEROS} nonzeros a row.\n")
    print("|", " | ".join(HEADER), "|")
    print("|" + "---|" * len(HEADER))
    rows: list[dict] = []
    first: dict[tuple, dict] = {}
    for row in everywhere([n for n in SIZES if n <= arguments.largest], arguments.columns):
        rows.append(row)
        of_kind = first.setdefault((row["loss"], row["solver"]), row)
        print("|", " | ".join(cells(row, of_kind)), "|", flush=True)
    draw(rows, arguments.picture)
    print(f"\n{arguments.picture}")


if __name__ == "__main__":
    main()
