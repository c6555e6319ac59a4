"""`proxsdca train`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from .._model import load
from .._random import ORDERS
from .._result import Interrupted, Result
from .._solve import solve
from ..losses import OPTIONS
from ._arguments import limit, loss, new_file, number, picture, reg, seed, size
from ._inputs import add_data, add_features, add_weights, needed_target, read_data, read_weights
from ._pictures import NO_PICTURE, save_picture
from ._results import facts, show_json
from ._signals import undisturbed

EXAMPLES = """
examples:
  proxsdca train train.svm -o spam.model
  proxsdca train train.svm.gz -o spam.model --loss logistic --reg l1l2 --lam 1e-4 --sigma 1e-5 \\
      --intercept --tol 1e-6 --plot spam.png
  proxsdca train big/ -o big.model --checkpoint big.ckpt --resume
  zcat train.svm.gz | proxsdca train - -o spam.model --json
"""


def add_problem(parser: argparse.ArgumentParser, loss_name: str, reg_name: str) -> None:
    """What is minimised."""
    parser.add_argument(
        "--loss", type=loss, default=loss_name, metavar="NAME",
        help="hinge, logistic, squared, huber:delta=0.5, ...; by default %(default)s",
    )  # fmt: skip
    parser.add_argument(
        "--reg", type=reg, default=reg_name, metavar="NAME",
        help="l2, l1l2, l1, qnorm; by default %(default)s",
    )  # fmt: skip
    parser.add_argument("--lam", type=number, help="the weight of g; by default 1/n")
    parser.add_argument("--sigma", type=number, help="the weight of the l1 norm")
    parser.add_argument("--intercept", action="store_true", help="fit a free intercept")


def add_run(parser: argparse.ArgumentParser, tol: float) -> None:
    """How it is minimised, and how far."""
    parser.add_argument(
        "--tol", type=number, default=tol, help="the relative gap to prove; by default %(default)s"
    )
    parser.add_argument("--eps", type=number, help="the absolute gap to prove; either suffices")
    parser.add_argument("--max-epochs", type=limit, default=10_000, metavar="N")
    parser.add_argument("--side", choices=("auto", "rows", "columns"), default="auto")
    parser.add_argument(
        "--order", choices=ORDERS,
        help='by default "permutation", and "blocks" for a folder, which reads it nearly in order',
    )  # fmt: skip
    parser.add_argument("--seed", type=seed, default=0, metavar="S")


def add_saying(parser: argparse.ArgumentParser) -> None:
    """What is said on the way and at the end."""
    parser.add_argument("--json", action="store_true", help="say the result as a line of JSON")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument("--plot", type=picture, metavar="PATH.png", help="draw a picture as well")


def order_of(arguments: argparse.Namespace) -> str:
    """The order that was asked for, or the one that suits the data."""
    on_disk = os.path.isdir(arguments.data)
    return arguments.order or ("blocks" if on_disk else "permutation")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add_data(parser)
    parser.add_argument(
        "-o", "--model", type=new_file, required=True, metavar="MODEL", help="where the model goes"
    )
    add_problem(parser, "hinge", "l2")
    add_features(parser)
    add_weights(parser)
    add_run(parser, 1e-3)
    parser.add_argument("--max-seconds", type=number, metavar="S")
    parser.add_argument("--option", choices=("auto", *OPTIONS), default="auto", help="the step")
    parser.add_argument(
        "--certify-every", type=size, metavar="N",
        help="certify after every N epochs; with --plot, 1 by default",
    )  # fmt: skip
    parser.add_argument("--warm-start", metavar="MODEL", help="start from this model's alpha")
    parser.add_argument(
        "--checkpoint", type=new_file, metavar="FILE", help="save the state here now and then"
    )
    parser.add_argument(
        "--checkpoint-every", type=number, default=60.0, metavar="S",
        help="seconds between two of them; by default %(default)s",
    )  # fmt: skip
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint")
    add_saying(parser)


def train(arguments: argparse.Namespace) -> int:
    """Fit a model to data, with a proof of how good it is."""
    if arguments.resume and arguments.checkpoint is None:
        raise ValueError("--resume: --checkpoint FILE is needed, the file to go on from")
    warm_start = None if arguments.warm_start is None else load(arguments.warm_start)
    if not isinstance(warm_start, (Result, type(None))):
        raise ValueError(f"{arguments.warm_start}: it holds no single result to start from")
    X, y = read_data(arguments, arguments.features)
    code = 0
    try:
        result = solve(
            X,
            needed_target(y, arguments),
            loss=arguments.loss,
            reg=arguments.reg,
            lam=arguments.lam,
            sigma=arguments.sigma,
            sample_weight=read_weights(arguments),
            fit_intercept=arguments.intercept,
            side=arguments.side,
            tol=arguments.tol,
            eps=arguments.eps,
            max_epochs=arguments.max_epochs,
            max_seconds=arguments.max_seconds,
            option=arguments.option,
            order=order_of(arguments),
            seed=arguments.seed,
            warm_start=warm_start,
            certify_every=arguments.certify_every or (1 if arguments.plot else None),
            verbose=0 if arguments.quiet else 1,
            checkpoint=arguments.checkpoint,
            checkpoint_every=arguments.checkpoint_every,
            resume=arguments.resume,
        )
    except Interrupted as stop:
        result, code = stop.result, 130
    with undisturbed() as ended_by:
        result.save(arguments.model)
        _say(arguments, result)
    return ended_by(code) or (0 if result.converged else 1)


def _say(arguments: argparse.Namespace, result: Result) -> None:
    drawn = arguments.plot is not None and save_picture(arguments.plot, [result])
    if arguments.plot is not None and not drawn:
        print(f"proxsdca: {NO_PICTURE}", file=sys.stderr)
    if arguments.json:
        show_json({"command": "train", "model": str(arguments.model), **facts(result)})
        return
    print(result.summary())
    print(f"saved in {arguments.model}{_also(arguments.plot if drawn else None)}")


def _also(picture: Path | None) -> str:
    return f", drawn in {picture}" if picture is not None else ""
