"""What a loss of one's own costs: ns per step of the logistic loss, built in and not.

The same epochs of Option I on rows of 30 nonzeros, in turns, best of several. The Cython loss is
the one of tests/cython_api, built here with meson; numba's is left out where it is not installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from suites import kernel

import proxsdca
from proxsdca import _random
from proxsdca.losses import CompiledLoss, Loss

CONSTANTS: dict[str, Any] = {"gamma": 4.0, "lipschitz": 1.0, "classification": True}


class PythonLogistic(Loss):
    """Numbers by math, arrays by numpy: the loop asks for numbers, certificates for arrays."""

    gamma, lipschitz, classification = 4.0, 1.0, True

    def value(self, z, y):
        t = -y * z
        if isinstance(t, float):
            return max(t, 0.0) + math.log1p(math.exp(-abs(t)))
        return np.maximum(t, 0.0) + np.log1p(np.exp(-np.abs(t)))

    def subgradient(self, z, y):
        if isinstance(z, float):
            e = math.exp(-abs(z))
            return -y * (e if y * z > 0 else 1.0) / (1 + e)
        e = np.exp(-np.abs(z))
        return -y * np.where(y * z > 0, e, 1.0) / (1 + e)

    def conjugate(self, a, y):
        t = -y * a
        if isinstance(t, float):
            if not 0 <= t <= 1:
                return math.inf
            return (t * math.log(t) if t else 0.0) + ((1 - t) * math.log1p(-t) if t < 1 else 0.0)
        inside = (t >= 0) & (t <= 1)
        t = np.clip(t, 1e-300, 1 - 1e-16)
        return np.where(inside, t * np.log(t) + (1 - t) * np.log1p(-t), np.inf)


class NumpyLogistic(PythonLogistic):
    """The same as one writes it at first: numpy for both."""

    def value(self, z, y):
        return np.logaddexp(0, -y * z)

    def subgradient(self, z, y):
        e = np.exp(-np.abs(z))
        return -y * np.where(y * z > 0, e, 1.0) / (1 + e)

    def conjugate(self, a, y):
        inside = (-y * a >= 0) & (-y * a <= 1)
        t = np.clip(-y * a, 1e-300, 1 - 1e-16)
        return np.where(inside, t * np.log(t) + (1 - t) * np.log1p(-t), np.inf)


def numba_losses() -> dict[str, Loss]:
    """The formulas of numba: with the exact step, without it, and without the conjugate."""
    try:
        from numba import cfunc
    except ImportError:
        print("numba is not installed: its losses are left out.\n")
        return {}

    @cfunc("float64(float64, float64)")
    def value(z, y):
        t = -y * z
        return max(t, 0.0) + math.log1p(math.exp(-abs(t)))

    @cfunc("float64(float64, float64)")
    def subgradient(z, y):
        e = math.exp(-abs(z))
        return -y * (e if y * z > 0 else 1.0) / (1 + e)

    @cfunc("float64(float64, float64)")
    def conjugate(a, y):
        t = -y * a
        if not 0 <= t <= 1:
            return math.inf
        return (t * math.log(t) if t > 0 else 0.0) + ((1 - t) * math.log1p(-t) if t < 1 else 0.0)

    @cfunc("float64(float64, float64, float64, float64)")
    def exact_step(b, m, y, q):
        # Halley's method for t = sigmoid(u), u + y m + q (t - y b) = 0, kept inside a bracket
        c, t0 = y * m, y * b
        u, low, high, t = -c, -c - q * (1 - t0), -c + q * t0, 0.5
        for _ in range(100):
            e = math.exp(-abs(u))
            slope = 1 / (1 + e)
            t = slope if u > 0 else e * slope
            slope *= e * slope
            f = u + c + q * (t - t0)
            if f > 0:
                high = u
            else:
                low = u
            h = -f / (1 + q * slope)
            bend = q * slope * (1 - 2 * t) / (1 + q * slope)
            if h * bend > -1:
                h /= 1 + 0.5 * h * bend
            if abs(h) <= 1e-5:
                t += slope * h * (1 + 0.5 * h * (1 - 2 * t))
                break
            u = u + h if low < u + h < high else 0.5 * (low + high)
        return y * min(max(t, 0.0), 1.0)

    formulas = {"value": value, "subgradient": subgradient, "conjugate": conjugate}
    return {
        "numba": CompiledLoss(**formulas, exact_step=exact_step, **CONSTANTS),
        "numba, step solved for": CompiledLoss(**formulas, **CONSTANTS),
        "numba, conjugate too": CompiledLoss(value=value, subgradient=subgradient, **CONSTANTS),
    }


def cython_loss(folder: Path) -> Loss:
    """The loss of tests/cython_api."""
    source = Path(__file__).parent.parent / "tests" / "cython_api"
    meson = [sys.executable, "-m", "mesonbuild.mesonmain"]
    for command in (["setup", str(folder), str(source)], ["compile", "-C", str(folder)]):
        subprocess.run([*meson, *command], check=True, stdout=subprocess.DEVNULL)
    (path,) = folder.glob("outside.*.so")
    spec = importlib.util.spec_from_file_location("outside", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.logistic_object()


def rows(n: int, d: int, nonzeros: int) -> tuple[sp.csr_array, np.ndarray]:
    """Rows of so many nonzeros, and labels."""
    rng = np.random.default_rng(0)
    indices = np.concatenate([rng.choice(d, nonzeros, replace=False) for _ in range(n)])
    data = rng.normal(size=n * nonzeros) / math.sqrt(nonzeros)
    X = sp.csr_array((data, indices, np.arange(0, n * nonzeros + 1, nonzeros)), shape=(n, d))
    return X, np.where(X @ rng.normal(size=d) + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nonzeros", type=int, default=30)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    n = 20_000
    X, y = rows(n, 5_000, options.nonzeros)
    with tempfile.TemporaryDirectory() as folder:
        losses: dict[str, Any] = {"built in": "logistic", "Cython": cython_loss(Path(folder, "b"))}
        losses |= numba_losses()
        losses |= {"Python, math": PythonLogistic(), "Python, numpy": NumpyLogistic()}
        compare(X, y, losses, options.epochs, options.runs)


def compare(X: Any, y: np.ndarray, losses: dict[str, Any], epochs: int, runs: int) -> None:
    """Print a row for each loss."""
    n = len(y)
    seconds: dict[str, list[list[float]]] = {name: [] for name in losses}
    for run in range(runs):
        in_turns = {
            name: kernel.epoch(kernel.problem(X, y, loss, "l2"))
            for name, loss in losses.items()
            if run == 0 or not name.startswith("Python")  # which need no second look
        }
        orders = _random.Order("permutation", np.arange(n), _random.stream(run))
        taken: dict[str, list[float]] = {name: [] for name in in_turns}
        for _ in range(epochs):
            order = orders.next()
            for name, epoch in in_turns.items():
                begin = time.perf_counter()
                epoch.run(order)
                taken[name].append(time.perf_counter() - begin)
        for name, each in taken.items():
            seconds[name].append(each)
    base = np.array(seconds["built in"])
    print(f"{n:,} rows of {X.nnz // n} nonzeros, {epochs} epochs, {runs} runs in turns\n")
    print("| loss | ns per step, best epoch | beside the built-in, median of epochs | P(w) | gap |")
    print("|---|---|---|---|---|")
    for name, loss in losses.items():
        found = np.array(seconds[name])
        ratio = np.median(found / base[: len(found)])
        r = proxsdca.solve(X, y, loss=loss, tol=1e-6)
        cells = name, f"{1e9 * found.min() / n:.0f}", f"{ratio:.2f}", f"{r.primal:.12f}"
        print("|", " | ".join([*cells, f"{r.gap:.1e}"]), "|", flush=True)


if __name__ == "__main__":
    main()
