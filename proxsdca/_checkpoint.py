"""A run's state in a file, from which another process goes on to the same bits."""

from __future__ import annotations

import logging
import os
import re
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from importlib.metadata import version
from typing import Any

import numpy as np

from . import _container, _files, _validate
from ._container import Damaged

logger = logging.getLogger("proxsdca")
logger.addHandler(logging.NullHandler())  # who wants to hear it adds another

PREVIOUS = ".previous"  # what is added to the path of the generation before


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written, or not be read; the run goes on without it."""


def digest(*values: Any) -> str | None:
    """A few letters that change, almost surely, with any bit of the values; None where all are."""
    if all(value is None for value in values):
        return None
    found = blake2b(digest_size=16)
    for value in values:
        _update(found, value)
    return found.hexdigest()


def _update(found: Any, value: Any) -> None:
    if isinstance(value, (list, tuple)):
        found.update(f"{type(value).__name__} {len(value)} ".encode())
        for item in value:
            _update(found, item)
    elif isinstance(value, dict):
        _update(found, sorted(value.items()))
    elif hasattr(type(value), "__array__"):
        array = np.asarray(value)
        found.update(f"{array.dtype.str} {array.shape} ".encode())
        if array.dtype == object:
            _update(found, array.ravel().tolist())
        else:
            found.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    else:  # an address says nothing in another process
        shown = re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))
        found.update(f"{type(value).__name__} {shown} ".encode())


def overwrite(array: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The array, with the values of a state, which must be just as many."""
    if (values.shape, values.dtype) != (array.shape, array.dtype):
        raise ValueError(
            f"it has {values.dtype} of shape {values.shape} in the place of {array.dtype} of "
            f"shape {array.shape}"
        )
    np.copyto(array, values)
    return array


class Checkpoint:
    """Where a run saves its state now and then, and where it was resumed from.

    Parameters
    ----------
    path : path
        The newest generation; the one before has ``.previous`` added to its name.
    every : float
        Seconds between two of them.
    run : dict
        What fixes every bit of the run. It has strings, numbers and None.
    resume : bool
        Whether to look for a state to go on from. Where there is no file yet, there is none.

    Attributes
    ----------
    found : dict or None
        The state.

    Raises
    ------
    ValueError
        With the path, where it is a state of another run, naming the differences.
    """

    def __init__(self, path: Any, every: float, run: dict[str, Any], resume: bool) -> None:
        self.path, self.every, self._run = path, every, run
        self._worth_keeping = True  # whether the newest generation is; a damaged one is not
        self._told = ""  # what was last said of a failure, once for each reason
        self.found: Any = self._find() if resume else None
        self._next = time.perf_counter() + every

    @property
    def due(self) -> bool:
        """Whether it is time to save."""
        return time.perf_counter() >= self._next

    def save(self, state: dict[str, Any]) -> None:
        """Write a state; where that fails, say so and leave what is there."""
        value = {"run": self._run, "state": state}
        keep = self.path + PREVIOUS if self._worth_keeping else None
        try:
            _container.save(self.path, "Checkpoint", value, keep=keep)
            self._worth_keeping = True
        except (OSError, MemoryError) as error:
            message = f"checkpoint {self.path}: it could not be written ({error}); the run goes on"
            if message != self._told:
                _tell(message)
            self._told = message
        self._next = time.perf_counter() + self.every

    def _find(self) -> Any:
        """The state in the newest file that can be read."""
        for path in (self.path, self.path + PREVIOUS):
            _files.clear(path)
        problems = []
        for path in (self.path, self.path + PREVIOUS):
            if not os.path.exists(path):
                continue
            try:
                content = _container.load(path, _no_object)
            except (OSError, Damaged) as error:
                problems.append(str(error))
                continue
            for problem in problems:
                _tell(f"checkpoint {problem}; the one before is taken")
            self._worth_keeping = not problems
            return self._judged(path, content)
        if problems:
            raise ValueError(f"checkpoint {'; '.join(problems)}")
        return None

    def _judged(self, path: str, content: _container.Content) -> Any:
        """The state, if it is one of this run."""
        if content.kind != "Checkpoint":
            raise ValueError(f"checkpoint {path}: it holds a {content.kind}")
        if content.written_by != version("proxsdca"):
            raise ValueError(
                f"checkpoint {path}: it was written by proxsdca {content.written_by}, this is "
                f"{version('proxsdca')}, whose bits may differ; warm_start goes on from a result"
            )
        with self.restoring():
            before, state = content.value["run"], content.value["state"]
            differences = [
                _difference(name, before.get(name), self._run.get(name))
                for name in {**self._run, **before}
                if before.get(name) != self._run.get(name)
            ]
        if differences:
            raise ValueError(f"checkpoint {path} is one of another run: {', '.join(differences)}")
        return state

    @contextmanager
    def restoring(self) -> Iterator[None]:
        """Refuse a state that does not fit, whoever made it."""
        try:
            yield
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
            raise ValueError(f"checkpoint {self.path}: its state does not fit: {error}") from error


def _difference(name: str, before: Any, now: Any) -> str:
    """What differs, in words; digests say nothing to a reader."""
    if name.endswith("*"):
        return f"{name[:-1]} is not what it was"
    return f"{name} was {before!r} and is {now!r}"


def _no_object(kind: str, fields: dict[str, Any]) -> Any:
    raise Damaged(f"it holds a {kind!r}, which no checkpoint does")


def _tell(message: str) -> None:
    logger.warning("%s", message)
    warnings.warn(message, CheckpointWarning, stacklevel=2)


def place(path: Any) -> str:
    """Where checkpoints go, judged before a long run finds out."""
    try:
        found = os.fspath(path)
    except TypeError:
        found = None
    if not isinstance(found, str) or not found:
        raise _validate.wrong_type("checkpoint", path, "a path is needed")
    folder = os.path.dirname(found) or "."
    if not os.path.isdir(folder):
        raise ValueError(f"checkpoint = {found!r}: there is no folder {folder!r}")
    if os.path.isdir(found):
        raise ValueError(f"checkpoint = {found!r}: it is a folder, a file is needed")
    return found
