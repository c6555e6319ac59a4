"""`proxsdca convert`."""

from __future__ import annotations

import argparse
import sys
import time

from .. import io
from .._progress import Bar
from ._arguments import size
from ._results import show_json

EXAMPLES = """
examples:
  proxsdca convert huge.svm.gz huge           then: proxsdca train huge -o huge.model
  cat part*.svm | proxsdca convert - huge --values float32
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("source", metavar="SOURCE", help="svmlight text, plain or compressed, or -")
    parser.add_argument("folder", metavar="FOLDER", help="the folder to make")
    parser.add_argument(
        "--zero-based", action="store_true", help="the indices of the text begin at 0 instead of 1"
    )
    parser.add_argument("--features", type=size, metavar="D", help="the number of columns")
    parser.add_argument(
        "--values", choices=("float64", "float32"), default="float64",
        help="how numbers are kept; by default %(default)s",
    )  # fmt: skip
    parser.add_argument("--overwrite", action="store_true", help="replace a folder made like this")
    parser.add_argument("--json", action="store_true", help="say the result as a line of JSON")
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def convert(arguments: argparse.Namespace) -> int:
    """Turn svmlight text of any size into a folder that is solved on without being in memory."""
    begun, bar = time.perf_counter(), Bar(0 if arguments.quiet else 1)

    def progress(done: int, total: int | None) -> None:
        bar.show(done / total if total else None, f"{done / 1e6:,.1f} MB read",
                 time.perf_counter() - begun)  # fmt: skip

    try:
        X, _, qid = io.convert(
            arguments.source,
            arguments.folder,
            zero_based=arguments.zero_based,
            n_features=arguments.features,
            dtype=arguments.values,
            overwrite=arguments.overwrite,
            progress=progress,
        )
    finally:
        bar.close()
    rows, columns = X.shape
    if arguments.json:
        show_json({"command": "convert", "folder": arguments.folder, "rows": rows,
                   "columns": columns, "nonzeros": X.nnz, "qid": qid is not None})  # fmt: skip
    else:
        print(f"{rows:,} rows, {columns:,} columns, {X.nnz:,} nonzeros in {arguments.folder}")
    sys.stdout.flush()
    return 0
