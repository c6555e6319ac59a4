"""What arguments of several commands have in common: their types, and how they are read."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from .._accelerators import ACCELERATORS, chosen
from .._spec import loss as known_loss
from .._spec import reg as known_reg
from ..losses import LOSSES, VECTOR_LOSSES
from ..regularizers import REGULARIZERS

PICTURES = (".png", ".pdf", ".svg")


class Parser(argparse.ArgumentParser):
    """One that says in one line what is wrong."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def count(text: str) -> int:
    """A number of rows or columns."""
    return integer(text, 2, 10_000_000)


def seed(text: str) -> int:
    """A seed."""
    return integer(text, 0, 2**63 - 1)


def size(text: str) -> int:
    """A number of things, one at the least."""
    return integer(text, 1, 2**48 - 1)


def limit(text: str) -> int:
    """A number of things that may be none."""
    return integer(text, 0, 2**63 - 1)


def integer(text: str, least: int, most: int) -> int:
    """An integer within bounds."""
    try:
        value = int(text.replace(",", ""))
    except ValueError:
        value = least - 1
    if not least <= value <= most:
        raise argparse.ArgumentTypeError(f"{text!r}: an integer from {least} to {most} is needed")
    return value


def number(text: str) -> float:
    """A finite number >= 0; what else it has to be, the solver says."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r}: a number >= 0 is needed")
    return value


def picture(text: str) -> Path:
    """Where a picture goes."""
    path = Path(text)
    if path.suffix.lower() not in PICTURES:
        raise argparse.ArgumentTypeError(f"{text!r}: a name ending in {', '.join(PICTURES)}")
    return new_file(text)


def new_file(text: str) -> Path:
    """Where a file goes, whose folder is there."""
    path = Path(text)
    if text in ("", "-") or text.endswith(os.sep):
        raise argparse.ArgumentTypeError(f"{text!r}: the name of a file is needed")
    if path.exists() and not path.is_file() and not path.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r}: it is not a regular file")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r}: there is no directory {str(path.parent)!r}")
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r}: it is a directory, a file is needed")
    return path


def distinct(arguments: argparse.Namespace, outputs: Sequence[str], inputs: Sequence[str]) -> None:
    """Refuse an output that would take the place of an input, or of another output."""
    places: dict[str, str] = {}
    for name in (*inputs, *outputs):
        given = getattr(arguments, name, None)
        if given is None:
            continue
        place = os.path.realpath(given)
        if place in places and name in outputs:
            raise ValueError(f"{given}: it is given twice, as {places[place]} and as {name}")
        places.setdefault(place, name)


def loss(text: str) -> Any:
    """A loss, as `name` or `name:parameter=value`."""
    return _part(text, {**LOSSES, **VECTOR_LOSSES}, known_loss)


def reg(text: str) -> Any:
    """A regulariser, as `name` or `name:parameter=value`."""
    return _part(text, REGULARIZERS, known_reg)


def solver(text: str) -> str | list[str]:
    """ "auto", "plain", or the accelerators that are allowed, with commas between them."""
    names: str | list[str] = text.split(",") if "," in text else text
    try:
        chosen(names)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return names


# what a shell completes them to
loss.names = lambda: [*LOSSES, *VECTOR_LOSSES]  # type: ignore[attr-defined]
reg.names = lambda: [*REGULARIZERS]  # type: ignore[attr-defined]
solver.names = lambda: ["auto", "plain", *ACCELERATORS]  # type: ignore[attr-defined]


def _part(text: str, kinds: Any, known: Any) -> Any:
    name, _, given = text.partition(":")
    try:
        part = known(name)
        parameters = {}
        for pair in given.split(",") if given else ():
            key, equals, value = pair.partition("=")
            if not equals:
                raise ValueError(f"{pair!r}: parameter=value is needed")
            parameters[key] = _value(value)
        if not parameters:
            return part
        odd = [key for key in parameters if key not in part.parameters]
        if odd:
            allowed = ", ".join(part.parameters) or "none"
            raise ValueError(f"{name} has no parameter {odd[0]!r}; its parameters: {allowed}")
        return kinds[name](**parameters)
    except (ValueError, TypeError) as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _value(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text
