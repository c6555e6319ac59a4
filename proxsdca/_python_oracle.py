"""Oracles of any kind -> the compiled ones that the loop calls; errors that name the example."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _validate
from ._core.notes import note
from ._core.oracle import Oracle, PythonOracle, StoredPlane
from .oracles import Ready


def compiled(oracle: Any) -> Oracle:
    """What the loop calls for an oracle: itself where it is compiled, else one that calls it."""
    if isinstance(oracle, Oracle):
        return oracle
    if isinstance(oracle, Ready) and (ready := oracle.compiled) is not None:
        return ready
    adapter = Adapter(oracle)
    again = None if adapter.features is None else adapter.again
    return PythonOracle(adapter.n, adapter.d, adapter.find, again, adapter.exact, oracle)


class Adapter:
    """Calls an oracle that is written in Python, and judges its answers."""

    def __init__(self, oracle: Any) -> None:
        for name in ("n", "d", "argmax"):
            if not hasattr(oracle, name):
                raise TypeError(
                    f"oracle = {oracle!r} has no {name!r}: an oracle has n, d and argmax(i, w)"
                )
        self.oracle = oracle
        self.n = _validate.count("oracle.n", oracle.n, 1, 2**40)
        self.d = _validate.count("oracle.d", oracle.d, 1, 2**40)
        self.argmax: Callable[..., Any] = _validate.function("oracle.argmax", oracle.argmax)
        self.features = _validate.function("oracle.features", getattr(oracle, "features", None))
        self.checked = np.zeros(self.n, bool)  # whether features has been seen to agree with argmax
        self.exact = not _validate.flag("oracle.approximate", getattr(oracle, "approximate", False))

    def find(self, i: int, w: np.ndarray) -> StoredPlane:
        """The answer of argmax for example i."""
        call = f"oracle.argmax({i}, w)"
        answer = _called(call, self.argmax, i, w)
        indices, values, delta, label = _validate.plane(call, answer, self.d)
        found = StoredPlane(indices, values, delta, label)
        if self.features is not None and (len(indices) or delta):
            if label is None:
                raise ValueError(
                    f"{call} returns no label, which oracle.features needs: "
                    "(indices, values), delta, label is needed"
                )
            if not self.checked[i]:
                self._check(i, found, indices, values)
        return found

    def again(self, i: int, found: StoredPlane) -> StoredPlane:
        """The plane of a label that was found before, from the data."""
        return StoredPlane(*self._features(i, found.label))

    def _features(self, i: int, label: Any) -> tuple[np.ndarray, np.ndarray, float, Any]:
        call = f"oracle.features({i}, label)"
        answer = _called(call, self.features, i, label)
        indices, values, delta, _ = _validate.plane(call, answer, self.d)
        return indices, values, delta, label

    def _check(self, i: int, found: StoredPlane, indices: np.ndarray, values: np.ndarray) -> None:
        """Refuse features that are not those of the label that argmax has found."""
        other_indices, other_values, delta, _ = self._features(i, found.label)
        both = np.union1d(indices, other_indices)
        first, second = np.zeros(len(both)), np.zeros(len(both))
        first[np.searchsorted(both, indices)] = values
        second[np.searchsorted(both, other_indices)] = other_values
        size = 1e-9 * float(np.abs(values).max(initial=0.0))
        if not (np.abs(first - second) <= size).all() or abs(delta - found.delta) > 1e-9 * delta:
            apart = float(np.abs(first - second).max(initial=0.0))
            raise ValueError(
                f"oracle.features({i}, label) is not what oracle.argmax({i}, w) said of the label: "
                f"entries differ by up to {apart:.3g}, delta is {delta!r} and {found.delta!r}; "
                "both must give psi(x_i, y_i) - psi(x_i, label) and its cost, to 9 digits"
            )
        self.checked[i] = True


def _called(call: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a call returns; an exception of its own is noted with the call."""
    try:
        return function(*arguments)
    except BaseException as error:
        note(error, f"in {call}")
        raise


def radii(oracle: Any, n: int) -> np.ndarray | None:
    """R_i with |psi(x_i, j) - psi(x_i, j')| <= 2 R_i for all labels: radius, else rho, else None.

    Where |psi(x_i, y_i) - psi(x_i, j)| <= rho for all j, two labels are within 2 rho of each other,
    so that rho takes the place of R.
    """
    for name in ("radius", "rho"):
        given = getattr(oracle, name, None)
        if given is None:
            continue
        if callable(given):
            found = [_called(f"oracle.{name}({i})", given, i) for i in range(n)]
        else:
            array = np.asarray(given, dtype=object)
            if array.shape not in ((), (n,)):
                raise ValueError(
                    f"oracle.{name} has shape {array.shape}: a number, or {(n,)} is needed"
                )
            found = np.broadcast_to(array, (n,)).tolist()
        return np.array(
            [_validate.nonnegative(f"oracle.{name}({i})", R) for i, R in enumerate(found)]
        )
    return None
