"""An epoch beside the least that it must do: a bare C loop of dots and axpys.

The bare loop takes a dot on every row of the order and an axpy on exactly the
rows that the epoch changed; it knows no loss and takes no step. Both run in
turns on the same order, each on data that the other has just read, and must
leave the same v. Real data are looked for in the folder that PROXSDCA_DATA
names.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from suites import kernel
from suites.data import available, load, zipf_problem

from proxsdca import _random
from proxsdca._side import RowSide

EPOCHS = 10  # a run; another run would repeat them
RUNS = 3  # for each type of values, in turns
VARIANTS = ("plain", "tuned")
HEADER = (
    "data", "reg", "values", "rows changed", "epoch ms", "plain C ms", "tuned C ms",
    "epoch / plain", "epoch / tuned", "float32 / float64", "shuffle ms",
)  # fmt: skip


def compiled() -> ctypes.CDLL:
    """kernel_limit.c, compiled as the package is."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "kernel_limit.so")
        source = Path(__file__).with_suffix(".c")
        flags = ["-O3", "-ffp-contract=off", "-fPIC", "-shared"]
        subprocess.run(["gcc", *flags, str(source), "-o", str(library)], check=True)
        return ctypes.CDLL(str(library))


def bare_loop(library: ctypes.CDLL, variant: str, X: sp.csr_matrix) -> Callable[..., float]:
    """The C loop on X, as a function of order, coefficient and v."""
    call = library[f"{variant}_{X.dtype}"]
    call.restype = ctypes.c_double

    def pointer(array: np.ndarray) -> ctypes.c_void_p:
        return ctypes.c_void_p(array.ctypes.data)

    def run(order: np.ndarray, coefficient: np.ndarray, v: np.ndarray) -> float:
        return call(
            pointer(order), ctypes.c_ssize_t(len(order)), pointer(X.indptr), pointer(X.indices),
            pointer(X.data), pointer(coefficient), pointer(v),
        )  # fmt: skip

    return run


def timed(call: Callable[..., Any], *args: Any) -> tuple[Any, float]:
    """What one call returns, and the seconds it takes."""
    begin = time.perf_counter()
    value = call(*args)
    return value, time.perf_counter() - begin


def run(
    library: ctypes.CDLL, X: sp.csr_matrix, y: np.ndarray, reg: str, loss: str = "hinge"
) -> Iterator[dict]:
    """One epoch after the other: seconds of its parts, and the share of rows changed."""
    problem = kernel.problem(X, y, loss, reg)
    scale = RowSide(problem).scale
    epoch = kernel.epoch(problem)
    alpha, v = np.asarray(epoch.alpha), np.asarray(epoch.v)
    loops = {variant: bare_loop(library, variant, X) for variant in VARIANTS}
    orders = _random.Order("permutation", np.arange(len(y)), _random.stream(0))
    for _ in range(EPOCHS):
        found = {}
        order, found["shuffle"] = timed(orders.next)
        old_alpha, old_v = alpha.copy(), v.copy()
        _, found["epoch"] = timed(epoch.run, order)
        coefficient = scale * (alpha - old_alpha)
        found["changed"] = np.count_nonzero(coefficient) / len(y)
        for variant, loop in loops.items():
            bare_v = old_v.copy()
            _, found[variant] = timed(loop, order, coefficient, bare_v)
            np.testing.assert_allclose(bare_v, v, rtol=1e-9, atol=1e-12)
        yield found


def compare(library: ctypes.CDLL, X: sp.csr_matrix, y: np.ndarray, reg: str) -> Iterator[list]:
    """The cells of the table for float64 and for float32."""
    types = {dtype: X.astype(dtype) for dtype in ("float64", "float32")}
    found: dict[str, list[dict]] = {dtype: [] for dtype in types}
    for _ in range(RUNS):
        for dtype, A in types.items():
            found[dtype] += run(library, A, y, reg)
    double = np.array([epoch["epoch"] for epoch in found["float64"]])
    for dtype, all_epochs in found.items():
        t = {key: np.array([epoch[key] for epoch in all_epochs]) for key in all_epochs[0]}
        yield [
            reg, dtype, f"{np.mean(t['changed']):.0%}",
            *(f"{1e3 * np.median(t[key]):.2f}" for key in ("epoch", *VARIANTS)),
            *(f"{np.median(t['epoch'] / t[key]):.2f}" for key in VARIANTS),
            f"{np.median(t['epoch'] / double):.2f}", f"{1e3 * np.median(t['shuffle']):.2f}",
        ]  # fmt: skip


def main() -> None:
    problems = [(name, *load(name)) for name in ("reuters", "covtype") if available(name)]
    if not problems:
        print("No reuters.npz or covtype.npz in the folder PROXSDCA_DATA: generated data only.\n")
        problems = [("zipf", *zipf_problem(50_000, 20_000, 40))]
    library = compiled()
    print(f"Hinge, lam = 1/n, {RUNS} runs of {EPOCHS} epochs: medians, and medians of ratios.\n")
    print("|", " | ".join(HEADER), "|")
    print("|" + "---|" * len(HEADER))
    for name, X, y in problems:
        for reg in ("l2", "l1l2"):
            for cells in compare(library, X, y, reg):
                print("|", " | ".join([name, *cells]), "|", flush=True)


if __name__ == "__main__":
    main()
