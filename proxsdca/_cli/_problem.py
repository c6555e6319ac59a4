"""The arguments that `train` and `path` share, and what they are for the solver."""

from __future__ import annotations

import argparse
import os
from typing import Any

from .._accelerators import ACCELERATORS
from .._random import ORDERS
from ..losses import LOSSES, VECTOR_LOSSES
from ._arguments import limit, loss, number, picture, reg, seed, solver
from ._inputs import add_data, add_features, add_weights, needed_target, read_data, read_weights


def add_problem(parser: argparse.ArgumentParser, loss_name: str, reg_name: str, tol: float) -> None:
    """What is minimised, how, how far, and what is said of it."""
    add_data(parser)
    add_features(parser)
    add_weights(parser)
    _add_objective(parser, loss_name, reg_name)
    _add_run(parser, tol)
    _add_saying(parser)


def problem(arguments: argparse.Namespace) -> tuple[Any, Any, dict[str, Any]]:
    """X, y, and the keywords."""
    X, y = read_data(arguments, arguments.features)
    names = ("loss", "reg", "lam", "sigma", "side", "tol", "eps", "max_epochs", "solver", "seed")
    keywords = {name: getattr(arguments, name) for name in names}
    keywords["sample_weight"] = read_weights(arguments)
    keywords["fit_intercept"] = arguments.intercept
    on_disk = os.path.isdir(arguments.data)
    keywords["order"] = arguments.order or ("blocks" if on_disk else "permutation")
    keywords["verbose"] = 0 if arguments.quiet else 1
    return X, needed_target(y, arguments), keywords


def _add_objective(parser: argparse.ArgumentParser, loss_name: str, reg_name: str) -> None:
    """What is minimised."""
    parser.add_argument(
        "--loss", type=loss, default=loss_name, metavar="NAME",
        help=f"{', '.join([*LOSSES, *VECTOR_LOSSES])}; a parameter as in huber:delta=0.5; "
        "by default %(default)s",
    )  # fmt: skip
    parser.add_argument(
        "--reg", type=reg, default=reg_name, metavar="NAME",
        help="l2: lam/2 |w|^2; l1l2: that and sigma |w|_1; l1: sigma |w|_1 alone; qnorm; "
        "by default %(default)s",
    )  # fmt: skip
    parser.add_argument("--lam", type=number, help="the weight of |w|^2 / 2; by default 1/n")
    parser.add_argument(
        "--sigma",
        type=number,
        help="the weight of |w|_1; by default lam/10, and sigma_max/100 for l1",
    )
    parser.add_argument("--intercept", action="store_true", help="fit a free intercept")


def _add_run(parser: argparse.ArgumentParser, tol: float) -> None:
    """How it is minimised, and how far."""
    parser.add_argument(
        "--tol", type=number, default=tol, help="the relative gap to prove; by default %(default)s"
    )
    parser.add_argument("--eps", type=number, help="the absolute gap to prove; either suffices")
    parser.add_argument(
        "--max-epochs", type=limit, default=10_000, metavar="N",
        help="the most passes over the data; by default %(default)s",
    )  # fmt: skip
    parser.add_argument(
        "--solver", type=solver, default="auto", metavar="NAMES",
        help=f"what may stand beside the epochs: auto, plain (nothing), or, with commas between "
        f"them, {', '.join(ACCELERATORS)}",
    )  # fmt: skip
    parser.add_argument(
        "--side", choices=("auto", "rows", "columns"), default="auto",
        help="what is visited one after the other: examples or features",
    )  # fmt: skip
    parser.add_argument(
        "--order", choices=ORDERS,
        help='by default "permutation", and "blocks" for a folder, which reads it nearly in order',
    )  # fmt: skip
    parser.add_argument(
        "--seed", type=seed, default=0, metavar="S", help="of the order; fixes every bit"
    )


def _add_saying(parser: argparse.ArgumentParser) -> None:
    """What is said on the way and at the end."""
    parser.add_argument("--json", action="store_true", help="say the result as a line of JSON")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument("--plot", type=picture, metavar="PATH.png", help="draw a picture as well")
