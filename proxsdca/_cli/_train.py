"""`proxsdca train`."""

from __future__ import annotations

import argparse

from .._model import load
from .._result import Interrupted, Result
from .._solve import solve
from ..losses import OPTIONS
from ._arguments import distinct, new_file, number, size
from ._pictures import draw
from ._problem import add_problem, problem
from ._results import facts, show_json
from ._signals import code, undisturbed

EXAMPLES = """
examples:
  proxsdca train train.svm -o spam.model
  proxsdca train train.svm.gz -o spam.model --loss logistic --reg l1l2 --lam 1e-4 --sigma 1e-5 \\
      --intercept --tol 1e-6 --plot spam.png
  proxsdca train big/ -o big.model --checkpoint big.ckpt --resume
  zcat train.svm.gz | proxsdca train - -o spam.model --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add_problem(parser, "hinge", "l2", 1e-3)
    parser.add_argument(
        "-o", "--model", type=new_file, required=True, metavar="MODEL", help="where the model goes"
    )
    parser.add_argument("--max-seconds", type=number, metavar="S", help="the most seconds")
    parser.add_argument(
        "--option", choices=("auto", *OPTIONS), default="auto", help="the paper's step options"
    )
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


def train(arguments: argparse.Namespace) -> int:
    """Fit a model to data, with a proof of how good it is."""
    if arguments.resume and arguments.checkpoint is None:
        raise ValueError("--resume: --checkpoint FILE is needed, the file to go on from")
    warm_start = None if arguments.warm_start is None else load(arguments.warm_start)
    if not isinstance(warm_start, (Result, type(None))):
        raise ValueError(f"{arguments.warm_start}: it holds no single result to start from")
    distinct(arguments, ("model", "plot", "checkpoint"), ("data", "target", "weights"))
    X, y, keywords = problem(arguments)
    try:
        result = solve(
            X, y, **keywords, max_seconds=arguments.max_seconds, option=arguments.option,
            warm_start=warm_start,
            certify_every=arguments.certify_every or (1 if arguments.plot else None),
            checkpoint=arguments.checkpoint, checkpoint_every=arguments.checkpoint_every,
            resume=arguments.resume,
        )  # fmt: skip
    except Interrupted as stop:
        result = stop.result
    with undisturbed():
        result.save(arguments.model)
        drawn = draw(arguments.plot, [result])
        if arguments.json:
            show_json({"command": "train", "model": str(arguments.model), **facts(result)})
        else:
            print(f"{result.summary()}\nsaved in {arguments.model}{drawn}")
        return code(0 if result.converged else 1)
