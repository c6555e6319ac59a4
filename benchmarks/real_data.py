"""Real data to a certified relative gap of 1e-4, beside liblinear and scikit-learn.

Peers have no gap to stop by: for each the loosest tolerance counts at which
P(w) is within 1e-4 of the optimum, relatively, and only that fit is timed. All
contenders then run in turns.
Data are looked for in the folder that PROXSDCA_DATA names.
"""

from __future__ import annotations

import argparse
import time
import warnings
from functools import partial

import numpy as np
import scipy.sparse as sp
from peers.problem import Problem
from peers.race import in_turns, loosest
from peers.solvers import solvers
from suites.data import available, load, zipf_problem

import proxsdca

TARGET = 1e-4  # relative gap for us, relative suboptimality for peers
REFERENCE = 1e-7  # relative gap of the reference optimum, where cheap
CAP = 60.0  # seconds for one solver on one problem
ROUNDS = 3  # of all contenders in turns; the best time counts
LIBRARIES = ("liblinear", "scikit-learn")
HEADER = (
    "data", "loss", "reg", "epochs", "relative gap", "suboptimality <=", "proxsdca s",
    "liblinear s", "scikit-learn s", "reference's gap",
)  # fmt: skip


def row(title: str, X: sp.csr_matrix, y: np.ndarray, loss: str, reg: str) -> list[str]:
    """One line of the table."""
    lam = 1 / len(y)
    problem = Problem(X, y, loss, reg, lam, 0.1 * lam if reg == "l1l2" else 0.0)

    def reached(w: np.ndarray) -> bool:
        return problem.primal(w) <= (1 + TARGET) * reference.primal

    reference = problem.solve(REFERENCE, CAP / 2)
    begin = time.perf_counter()
    r = problem.solve(TARGET, CAP)
    best = {"proxsdca": time.perf_counter() - begin}
    runs = {"proxsdca": partial(problem.fit, TARGET, CAP)}
    for name, fit in solvers(problem, LIBRARIES).items():
        if found := loosest(fit, CAP, reached):
            runs[name], best[name] = partial(fit, found[0]), found[1]
    in_turns(runs, best, ROUNDS, reached)

    def cell(library: str) -> str:
        times = (
            f"{t:.3f} {solver}".strip()
            for (at, _, solver), t in ((key.partition(" "), t) for key, t in best.items())
            if at == library
        )
        return ", ".join(times) or "-"

    return [
        title, loss, reg, str(r.epochs), f"{r.gap / r.primal:.1e}",
        f"{problem.primal(r.w) / reference.dual - 1:.1e}",
        cell("proxsdca") + ("" if r.converged else " (not reached)"), cell("liblinear"),
        cell("scikit-learn"), f"{reference.gap / reference.primal:.0e}",
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a9a only")
    wanted = ("a9a",) if parser.parse_args().quick else ("a9a", "w8a", "reuters", "covtype")
    missing = [name for name in wanted if not available(name)]
    if missing:
        print(f"Not in the folder PROXSDCA_DATA: {', '.join(missing)}.\n")
    warnings.simplefilter("ignore", proxsdca.ConvergenceWarning)
    print("|", " | ".join(HEADER), "|")
    print("|" + "---|" * len(HEADER))
    generated = [] if len(missing) < len(wanted) else ["zipf"]
    for name in [*(name for name in wanted if name not in missing), *generated]:
        X, y = zipf_problem(20_000, 10_000, 30) if name == "zipf" else load(name)
        for loss in ("hinge", "logistic"):
            for reg in ("l2", "l1l2"):
                print("|", " | ".join(row(name, X, y, loss, reg)), "|", flush=True)


if __name__ == "__main__":
    main()
