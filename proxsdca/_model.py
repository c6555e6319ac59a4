"""Models in files: what `save` writes and `load` makes anew, without pickles."""

from __future__ import annotations

import dataclasses
import enum
import importlib
import os
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from . import _container, _spec
from ._container import Damaged
from .losses import LOSSES, VECTOR_LOSSES, Loss, VectorLoss
from .regularizers import REGULARIZERS, Regularizer

if TYPE_CHECKING:
    from typing_extensions import Self

KINDS: dict[str, Any] = {}  # the classes whose objects can be saved, by their names
ESTIMATORS = f"{__package__}.estimators"  # where those are that need scikit-learn
# what a field's annotation allows; any other annotation allows anything
ALLOWED: dict[str, Any] = {
    "np.ndarray": np.ndarray,
    "np.ndarray | None": (np.ndarray, type(None)),
    "tuple[np.ndarray, ...]": tuple,
    "tuple[str, ...]": tuple,
    "sparse.csc_array": sparse.csc_array,
    "float": float,
    "float | None": (float, type(None)),
    "int": int,
    "bool": bool,
    "str": str,
    "Loss": Loss,
    "Regularizer": Regularizer,
}


class Saved:
    """What has `save` and `load`: a dataclass, or a class with `_fields` and `_of_fields`."""

    def __init_subclass__(cls, **others: Any) -> None:
        super().__init_subclass__(**others)
        known = KINDS.get(cls.__name__)
        if known is None or not known.__module__.startswith(f"{__package__}."):
            KINDS[cls.__name__] = cls  # those of the package stay what they are

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to one file, which takes the place of `path` when all of it is on the disk.

        It is no pickle: a JSON header and raw arrays, with checksums.

        Parameters
        ----------
        path : path

        Raises
        ------
        TypeError
            Where a part is nothing that a file can hold; nothing is written then.
        OSError
        """
        _container.save(path, type(self).__name__, self, _describe)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, loss: Any = None, reg: Any = None) -> Self:
        """What `save` has written.

        Parameters
        ----------
        path : path
        loss, reg : Loss, Regularizer, optional
            The ones of your own, where the model was fitted with such: a file has no code, only
            their names.

        Raises
        ------
        ValueError
            With the path, where the file is damaged in any way, or not of this class.
        OSError
        """
        found = load(path, loss=loss, reg=reg)
        if not isinstance(found, cls):
            raise ValueError(
                f"{os.fspath(path)}: it holds a {type(found).__name__}, not a {cls.__name__}"
            )
        return found

    def _fields(self) -> dict[str, Any]:
        """All that makes the object what it is."""
        assert dataclasses.is_dataclass(self)
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @classmethod
    def _of_fields(cls, fields: dict[str, Any]) -> Any:
        """The object that has these fields, judged."""
        assert dataclasses.is_dataclass(cls)
        annotations = {field.name: field.type for field in dataclasses.fields(cls)}
        later = {
            field.name: field.default  # what files of earlier versions do not have
            for field in dataclasses.fields(cls)
            if field.default is not dataclasses.MISSING
        }
        fields = {**later, **fields}
        if fields.keys() != annotations.keys():
            odd = sorted(fields.keys() ^ annotations.keys())
            raise Damaged(f"a {cls.__name__} has the fields {sorted(annotations)}, but for {odd}")
        for name, annotation in annotations.items():
            value, allowed = fields[name], ALLOWED.get(str(annotation), object)
            if not isinstance(value, allowed) or (allowed is int and isinstance(value, bool)):
                raise Damaged(f"{cls.__name__}.{name} is a {type(value).__name__}")
        return cls(**fields)


def load(path: str | os.PathLike[str], *, loss: Any = None, reg: Any = None) -> Any:
    """The model in a file, of whatever class: `Result`, `OneVsRest`, `Path` or an estimator.

    Parameters
    ----------
    path : path
        What `save` has written.
    loss, reg : Loss, Regularizer, optional
        The ones of your own that the model was fitted with.

    Raises
    ------
    ValueError
        With the path, where the file is damaged in any way.
    OSError
    """
    own = {
        "own loss": None if loss is None else _spec.loss(loss),
        "own regularizer": None if reg is None else _spec.reg(reg),
    }

    def make(kind: str, fields: dict[str, Any]) -> Any:
        if kind in own:
            return _own(kind, own[kind], fields["name"])
        return _make(kind, fields)

    content = _container.load(path, make)
    if not isinstance(content.value, Saved) or type(content.value).__name__ != content.kind:
        raise Damaged(f"{os.fspath(path)}: it holds a {content.kind}, which is no model")
    return content.value


def _describe(value: Any) -> tuple[str, dict[str, Any]] | None:
    """The kind and the fields of an object."""
    kind = type(value).__name__
    if KINDS.get(kind) is type(value):
        if isinstance(value, enum.Enum):
            return kind, {"name": value.name}
        return kind, value._fields() if isinstance(value, Saved) else dataclasses.asdict(value)
    if isinstance(value, (Loss, VectorLoss)):
        known: Any = {**LOSSES, **VECTOR_LOSSES}
        return _part("loss", value, type(value) in known.values())
    if isinstance(value, Regularizer):
        return _part("regularizer", value, type(value) in REGULARIZERS.values())
    return None


def _part(kind: str, part: Any, known: bool) -> tuple[str, dict[str, Any]]:
    """A loss or a regulariser: one of ours by its name and parameters, another by its name."""
    if not known:
        return f"own {kind}", {"name": part.name}
    parameters = {name: _plain(getattr(part, name)) for name in part.parameters}
    return kind, {"name": part.name, "parameters": parameters}


def _plain(value: Any) -> Any:
    """A parameter without the container, such as a data frame's column, that it came in."""
    if value is None or isinstance(value, (str, int, float, np.generic)):
        return value
    if isinstance(value, (list, tuple, range)):
        items = [_plain(item) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    return np.array(value)  # one that may be changed, as the part will have its own


def _own(kind: str, given: Any, name: str) -> Any:
    """The part of one's own that a model was fitted with."""
    keyword = "loss" if kind == "own loss" else "reg"
    if given is None:
        raise Damaged(
            f"it was fitted with a {kind.removeprefix('own ')} that is not one of proxsdca's, "
            f"{name!r}: give it, load(path, {keyword}=...)"
        )
    if given.name != name:
        raise Damaged(f"it was fitted with {name!r}: {keyword} is {given.name!r}")
    return given


def _make(kind: str, fields: dict[str, Any]) -> Any:
    """The object of a kind that has these fields."""
    if kind == "loss":
        return {**LOSSES, **VECTOR_LOSSES}[fields["name"]](**fields["parameters"])
    if kind == "regularizer":
        return REGULARIZERS[fields["name"]](**fields["parameters"])
    if kind not in KINDS and kind.startswith(("SDCA", "Unscaled")):
        try:
            importlib.import_module(ESTIMATORS)
        except ImportError as error:
            raise Damaged(f"it holds a {kind!r}: {error}") from error
    if kind not in KINDS:
        raise Damaged(f"it holds a {kind!r}, which is not known")
    cls = KINDS[kind]
    if issubclass(cls, enum.Enum):
        return cls[fields["name"]]
    return cls._of_fields(fields) if issubclass(cls, Saved) else cls(**fields)
