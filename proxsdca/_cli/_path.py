"""`proxsdca path`."""

from __future__ import annotations

import argparse

from .._path import Path
from .._path import path as solve_path
from .._result import Interrupted
from ._arguments import distinct, new_file, number, size
from ._pictures import draw
from ._problem import add_problem, problem
from ._results import show_json
from ._signals import code, undisturbed

EXAMPLES = """
examples:
  proxsdca path train.svm -o lasso.path --plot lasso.png            50 sigmas, squared + l1
  proxsdca path train.svm -o ridge.path --reg l2 --lams 1 0.1 0.01
"""
TABLE = "{:>10} {:>10} {:>14} {:>10} {:>9} {:>7}  {}"
COLUMNS = ("sigmas", "lams", "primal", "gap", "rounding", "target", "nonzeros", "epochs")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add_problem(parser, "squared", "l1", 1e-4)
    parser.add_argument(
        "-o", "--model", type=new_file, required=True, metavar="PATH", help="where the path goes"
    )
    points = parser.add_mutually_exclusive_group()
    points.add_argument("--sigmas", type=number, nargs="+", metavar="S", help="the sigmas")
    points.add_argument("--lams", type=number, nargs="+", metavar="L", help="a path of lam instead")
    parser.add_argument(
        "--num", type=size, default=50, metavar="N", help="how many sigmas; by default %(default)s"
    )
    parser.add_argument(
        "--ratio",
        type=number,
        default=0.01,
        help="the last sigma over the first, sigma_max; by default %(default)s",
    )


def path(arguments: argparse.Namespace) -> int:
    """Solve along a path of sigma or lam, with a proof at every point."""
    distinct(arguments, ("model", "plot"), ("data", "target", "weights"))
    X, y, keywords = problem(arguments)
    try:
        found: Path | None = solve_path(
            X, y, **keywords, sigmas=arguments.sigmas, lams=arguments.lams, num=arguments.num,
            ratio=arguments.ratio,
        )  # fmt: skip
    except Interrupted as stop:
        found = stop.path
    with undisturbed():
        if found is not None:
            found.save(arguments.model)
            _say(arguments, found, draw(arguments.plot, found))
        return code(0 if found is not None and found.converged.all() else 1)


def _say(arguments: argparse.Namespace, found: Path, drawn: str) -> None:
    if arguments.json:
        points = {name: getattr(found, name).tolist() for name in COLUMNS}
        converged = bool(found.converged.all())
        show_json({"command": "path", "model": str(arguments.model), "converged": converged,
                   **points})  # fmt: skip
        return
    print(TABLE.format("sigma", "lam", "P(w)", "gap", "nonzeros", "epochs", "status"))
    for k in range(len(found)):
        print(
            TABLE.format(
                f"{found.sigmas[k]:.3e}", f"{found.lams[k]:.3e}" if found.lams[k] else "-",
                f"{found.primal[k]:.8g}",
                f"{found.gap[k]:.2e}", found.nonzeros[k], found.epochs[k],
                "proven" if found.converged[k] else "NOT within its target",
            )
        )  # fmt: skip
    print(f"saved in {arguments.model}{drawn}")
