"""Peak memory beyond the caller's arrays while solving: resident, against its bound, and counted.

Each resident figure is of a process of its own, which loads the data, resets the kernel's record of
its peak and solves. news20-2gram is looked for in the folder that PROXSDCA_DATA names. Linux only.
What stays with an example, and with a feature, is what NumPy has allocated, of generated data with
many of one and few of the other.
"""

from __future__ import annotations

import multiprocessing
import tracemalloc
import warnings
from typing import Any

from suites.data import available, load, zipf_problem
from suites.peak import peak

import proxsdca

MB = 1e6
NAME = "news20-2gram"
MANY, FEW = 200_000, 100  # examples, or features
RUNS: dict[str, dict[str, Any]] = {
    "hinge, l2 or l1l2": {"loss": "hinge"},
    "the same with sample weights": {"loss": "hinge", "weighted": True},
    "the same with an intercept": {"loss": "hinge", "fit_intercept": True},
    'the same, output="average"': {"loss": "hinge", "output": "average"},
    "hinge, l1": {"loss": "hinge", "reg": "l1"},
    "logistic, l1, by columns": {"loss": "logistic", "reg": "l1"},
    "logistic, l2, Newton": {"loss": "logistic", "lam": 1e-9, "solver": "newton"},
}


def measure(reg: str) -> tuple[int, int, float, int]:
    """n, d, the certified relative gap and the bytes that solving took at its peak."""
    X, y = load(NAME) if available(NAME) else zipf_problem(20_000, 500_000, 100)
    r, size = peak(lambda: proxsdca.solve(X, y, loss="hinge", reg=reg, tol=1e-3))
    return *X.shape, r.gap / r.primal, size


def numbers(
    n: int, d: int, weighted: bool = False, solver: Any = "plain", **keywords: Any
) -> float:
    """How many numbers of 8 bytes NumPy allocates at the peak of a short run."""
    X, y = zipf_problem(n, d, 4)
    if keywords.get("reg") == "l1" and keywords["loss"] == "logistic":
        X = X.tocsc()  # else the transposed copy would count
    weight = 1 + abs(y) / 2 if weighted else None
    tracemalloc.start()
    proxsdca.solve(X, y, tol=1e-3, max_epochs=40, sample_weight=weight, solver=solver, **keywords)
    size = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return size / 8


def main() -> None:
    if not available(NAME):
        print(f"No {NAME}.npz in the folder PROXSDCA_DATA: generated data instead.\n")
    print("| data | loss | reg | n | d | relative gap | peak MB | bound 8 (4n + 4d) + 20 MB |")
    print("|" + "---|" * 8)
    for reg in ("l2", "l1l2"):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            n, d, gap, size = pool.apply(measure, (reg,))
        bound = 8 * (4 * n + 4 * d) + 20 * MB
        print(f"| {NAME if available(NAME) else 'zipf'} | hinge | {reg} | {n} | {d} | {gap:.1e} "
              f"| {size / MB:.1f} | {bound / MB:.1f} |")  # fmt: skip
    print("\n| numbers of 8 bytes | an example | a feature |")
    print("|" + "---|" * 3)
    warnings.simplefilter("ignore", proxsdca.ConvergenceWarning)  # short runs do
    for name, keywords in RUNS.items():
        example = numbers(MANY, FEW, **keywords) / MANY
        feature = (numbers(FEW, MANY, **keywords) - FEW * example) / MANY
        print(f"| {name} | {example:.1f} | {feature:.1f} |")


if __name__ == "__main__":
    main()
