"""`proxsdca path`."""

from __future__ import annotations

import argparse
import sys

from .._path import Path
from .._path import path as solve_path
from .._result import Interrupted
from ._arguments import new_file, number, size
from ._inputs import add_data, add_features, add_weights, needed_target, read_data, read_weights
from ._pictures import NO_PICTURE, save_picture
from ._results import show_json
from ._signals import undisturbed
from ._train import add_problem, add_run, add_saying, order_of

EXAMPLES = """
examples:
  proxsdca path train.svm -o lasso.path --plot lasso.png            50 sigmas, squared + l1
  proxsdca path train.svm -o ridge.path --reg l2 --lams 1 0.1 0.01
"""
TABLE = "{:>10} {:>10} {:>14} {:>10} {:>9} {:>7}  {}"
COLUMNS = ("sigmas", "lams", "primal", "gap", "rounding", "target", "nonzeros", "epochs")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add_data(parser)
    parser.add_argument(
        "-o", "--model", type=new_file, required=True, metavar="PATH", help="where the path goes"
    )
    add_problem(parser, "squared", "l1")
    points = parser.add_mutually_exclusive_group()
    points.add_argument("--sigmas", type=number, nargs="+", metavar="S", help="the sigmas")
    points.add_argument("--lams", type=number, nargs="+", metavar="L", help="a path of lam instead")
    parser.add_argument("--num", type=size, default=50, metavar="N", help="how many sigmas")
    parser.add_argument(
        "--ratio", type=number, default=0.01, help="the last sigma over the first, sigma_max"
    )
    add_features(parser)
    add_weights(parser)
    add_run(parser, 1e-4)
    add_saying(parser)


def path(arguments: argparse.Namespace) -> int:
    """Solve along a path of sigma or lam, with a proof at every point."""
    X, y = read_data(arguments, arguments.features)
    code, found = 0, None
    try:
        found = solve_path(
            X,
            needed_target(y, arguments),
            loss=arguments.loss,
            reg=arguments.reg,
            lam=arguments.lam,
            sigma=arguments.sigma,
            sigmas=arguments.sigmas,
            lams=arguments.lams,
            num=arguments.num,
            ratio=arguments.ratio,
            sample_weight=read_weights(arguments),
            fit_intercept=arguments.intercept,
            side=arguments.side,
            tol=arguments.tol,
            eps=arguments.eps,
            max_epochs=arguments.max_epochs,
            order=order_of(arguments),
            seed=arguments.seed,
            verbose=0 if arguments.quiet else 1,
        )
    except Interrupted as stop:
        found, code = stop.path, 130
    with undisturbed() as ended_by:
        if found is not None:
            found.save(arguments.model)
            _say(arguments, found)
        return ended_by(code) or (0 if found is not None and found.converged.all() else 1)


def _say(arguments: argparse.Namespace, found: Path) -> None:
    drawn = arguments.plot is not None and save_picture(arguments.plot, found)
    if arguments.plot is not None and not drawn:
        print(f"proxsdca: {NO_PICTURE}", file=sys.stderr)
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
                f"{found.sigmas[k]:.3e}", f"{found.lams[k]:.3e}", f"{found.primal[k]:.8g}",
                f"{found.gap[k]:.2e}", found.nonzeros[k], found.epochs[k],
                "proven" if found.converged[k] else "NOT within its target",
            )
        )  # fmt: skip
    print(f"saved in {arguments.model}" + (f", drawn in {arguments.plot}" if drawn else ""))
