"""svmlight text: our reader beside scikit-learn's, in seconds and memory.

The data sets `a9a` and `news20-20` are looked for in the folder that PROXSDCA_DATA names; those
that are not there are left out. A large file is generated. Memory is told on Linux only.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file
from suites.data import available, load, zipf_problem
from suites.peak import PROC, peak

from proxsdca import io


def ours(path: str):
    return io.read(path)[:2]


def sklearn(path: str):
    return load_svmlight_file(path, zero_based=False)


def seconds(repeats: int, path: str) -> list[float]:
    """The least of each reader, interleaved."""
    best = [np.inf, np.inf]
    for _ in range(repeats):
        for k, reader in enumerate((ours, sklearn)):
            begun = time.perf_counter()
            reader(path)
            best[k] = min(best[k], time.perf_counter() - begun)
    return best


def memory(reader, path: str) -> float:
    """Peak memory beyond what there was before, by the bytes of the result."""
    (X, y), size = peak(lambda: reader(path))
    return size / (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes + y.nbytes)


def row(name: str, path: Path, repeats: int) -> None:
    mine, theirs = seconds(repeats, str(path))
    peaks = ["-", "-"]
    if PROC.exists():
        for k, reader in enumerate((ours, sklearn)):
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                peaks[k] = f"{pool.apply(memory, (reader, str(path))):.2f}"
    size = path.stat().st_size / 1e6
    print(f"| {name} | {size:.1f} | {mine:.3f} | {size / mine:.0f} | {theirs:.3f} | "
          f"{theirs / mine:.1f} | {peaks[0]} | {peaks[1]} |", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--gigabytes", type=float, default=1.0)
    gigabytes = parser.parse_args().gigabytes
    print("| data | MB | ours s | MB/s | scikit-learn s | ratio | ours memory | scikit-learn's |")
    print("|" + "---|" * 8)
    with tempfile.TemporaryDirectory() as folder:
        for name in filter(available, ("a9a", "news20-20")):
            path = Path(folder, f"{name}.svm")
            io.write(path, *load(name))
            row(name, path, 5)
        if gigabytes:
            small, path = Path(folder, "small.svm"), Path(folder, "large.svm")
            X, y = zipf_problem(10_000, 100_000, 100)
            io.write(small, X, y)
            text = small.read_bytes()
            with path.open("wb") as file:
                for _ in range(max(1, round(gigabytes * 1e9 / len(text)))):
                    file.write(text)
            row("generated", path, 1)


if __name__ == "__main__":
    main()
