"""Peak resident memory beyond the caller's arrays while solving, against its bound.

Each solve has a process of its own, which loads the data, resets the kernel's
record of its peak and solves. news20-2gram is looked for in the folder that
PROXSDCA_DATA names. Linux only.
"""

from __future__ import annotations

import multiprocessing

from suites.data import available, load, zipf_problem
from suites.peak import peak

import proxsdca

MB = 1e6
NAME = "news20-2gram"


def measure(reg: str) -> tuple[int, int, float, int]:
    """n, d, the certified relative gap and the bytes that solving took at its peak."""
    X, y = load(NAME) if available(NAME) else zipf_problem(20_000, 500_000, 100)
    r, size = peak(lambda: proxsdca.solve(X, y, loss="hinge", reg=reg, tol=1e-3))
    return *X.shape, r.gap / r.primal, size


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


if __name__ == "__main__":
    main()
