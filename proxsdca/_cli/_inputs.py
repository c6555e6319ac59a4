"""The data that a command works on."""

from __future__ import annotations

import argparse
import reprlib
from pathlib import Path
from typing import Any

import numpy as np

from .. import io
from ._arguments import size

FORMATS = (
    "svmlight text, plain or compressed; a folder made by `proxsdca convert`; scipy's .npz; a "
    "dense .npy; or - for standard input"
)


def add_data(parser: argparse.ArgumentParser) -> None:
    """The arguments that say where X and y are."""
    parser.add_argument("data", metavar="DATA", help=FORMATS)
    parser.add_argument(
        "--target", metavar="FILE", help="y, as a .npy or a number a line, instead of that in DATA"
    )
    parser.add_argument(
        "--zero-based", action="store_true", help="the indices of a text begin at 0 instead of 1"
    )


def add_features(parser: argparse.ArgumentParser) -> None:
    """How many columns X has, where that is not what a model says."""
    parser.add_argument(
        "--features", type=size, metavar="D", help="the number of columns, where a text has fewer"
    )


def add_weights(parser: argparse.ArgumentParser) -> None:
    """The argument for weights of examples."""
    parser.add_argument(
        "--weights", metavar="FILE", help="sample weights, as a .npy or a number a line"
    )


def read_data(arguments: argparse.Namespace, features: int | None = None) -> tuple[Any, Any]:
    """X and y."""
    X, y, _ = io.read(arguments.data, zero_based=arguments.zero_based, n_features=features)
    if arguments.target is not None:
        y = read_numbers(arguments.target)
    return X, y


def needed_target(y: Any, arguments: argparse.Namespace) -> Any:
    """y, which has to be there."""
    if y is None:
        raise ValueError(f"{arguments.data}: it has no y; --target FILE gives it")
    return y


def read_numbers(name: str) -> np.ndarray:
    """A vector of numbers in a file."""
    if Path(name).suffix == ".npy":
        try:
            array: np.ndarray = np.load(name, allow_pickle=False)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        return array
    numbers = []
    with open(name, encoding="utf-8", errors="replace") as file:
        for place, line in enumerate(file, 1):
            try:
                numbers.append(float(line))
            except ValueError:
                shown = reprlib.repr(line.strip())
                raise ValueError(f"{name}:{place}: {shown} is not a number") from None
    return np.array(numbers)


def read_weights(arguments: argparse.Namespace) -> np.ndarray | None:
    """The sample weights, if any."""
    return None if arguments.weights is None else read_numbers(arguments.weights)
