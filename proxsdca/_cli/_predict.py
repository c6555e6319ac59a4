"""`proxsdca predict`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from .._files import atomic
from .._model import load
from .._one_vs_rest import OneVsRest
from .._result import Result
from .._validate import vector
from ._arguments import distinct, new_file
from ._inputs import add_data, read_data
from ._results import show_json

EXAMPLES = """
examples:
  proxsdca predict spam.model test.svm                        a label a line
  proxsdca predict spam.model test.svm -o labels.txt
  proxsdca predict spam.model test.svm --probabilities        a number for each class
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="what `proxsdca train` has saved")
    add_data(parser)
    parser.add_argument(
        "-o", "--output", type=new_file, metavar="FILE",
        help="where the predictions go; by default standard output",
    )  # fmt: skip
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--probabilities", action="store_true", help="instead of labels")
    what.add_argument("--margins", action="store_true", help="x^T w + beta instead of labels")
    parser.add_argument("--json", action="store_true", help="say all in a line of JSON")


def predict(arguments: argparse.Namespace) -> int:
    """Predict labels or numbers for new data; where they are known, say how many are right."""
    distinct(arguments, ("output",), ("model", "data", "target"))
    model = single_model(arguments.model)
    X, y = read_data(arguments, model.w.shape[0])
    labels = model.predict(X)
    shown = labels
    if arguments.probabilities:
        shown = model.predict_proba(X)
    elif arguments.margins:
        shown = model.decision_function(X)
    score = {} if y is None else _score(model, labels, y)
    if arguments.json:
        show_json({"command": "predict", "rows": len(labels), **score,
                   **({"output": str(arguments.output)} if arguments.output else
                      {"predictions": shown.tolist()})})  # fmt: skip
    else:
        for name, value in score.items():
            print(f"{name} {value:.6g} on {len(labels):,} rows", file=sys.stderr)
    _write(arguments.output, shown, quiet=arguments.json)
    return 0


def single_model(name: str) -> Any:
    """The model in a file, one that has a single w."""
    model = load(name)
    if isinstance(model, (Result, OneVsRest)):
        return model
    found = getattr(model, "result_", None)  # of an estimator
    if found is None:
        raise ValueError(f"{name}: it holds a {type(model).__name__}, which is no single model")
    return found


def _score(model: Any, predicted: np.ndarray, y: Any) -> dict[str, float]:
    """The share of labels that are right, or the mean squared error."""
    y = vector("y", y, len(predicted))
    if getattr(model, "classes", None) is None:
        return {"mean squared error": float(np.mean((predicted - y) ** 2))}
    return {"accuracy": float(np.mean(predicted == y))}


def _write(path: Path | None, values: np.ndarray, quiet: bool) -> None:
    """A row a line, numbers so that they are read back as they were."""
    rows = values.reshape(len(values), -1)
    lines = "".join(" ".join(_shown(item) for item in row) + "\n" for row in rows.tolist())
    if path is not None:
        with atomic(path) as file:
            file.write(lines.encode())
    elif not quiet:
        sys.stdout.write(lines)


def _shown(item: Any) -> str:
    return str(int(item)) if isinstance(item, float) and item.is_integer() else str(item)
