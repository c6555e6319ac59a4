"""`proxsdca info`."""

from __future__ import annotations

import argparse
import os
import platform
import re
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from .. import _container, io
from .._core.regs import gradient
from .._model import load
from ._results import facts, show_json

EXAMPLES = """
examples:
  proxsdca info                   versions, how the package was built, what the processor has
  proxsdca info spam.model        what a model is, and what is proven of it
  proxsdca info train.svm         how many rows, columns and nonzeros data have
"""
FLAGS = ("buildtype=release", "-ffp-contract=off", "-fno-math-errno")  # of meson.build
ZSTD = ("compression.zstd", "zstandard")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("file", nargs="?", metavar="FILE", help="a model, a checkpoint or data")
    parser.add_argument("--zero-based", action="store_true", help="indices of a text begin at 0")
    parser.add_argument("--json", action="store_true", help="say it as a line of JSON")


def info(arguments: argparse.Namespace) -> int:
    """Print versions and how the package was built, or what a file holds."""
    found = _system() if arguments.file is None else _file(arguments.file, arguments.zero_based)
    if arguments.json:
        show_json(found)
        return 0
    width = max(map(len, found))
    for name, value in found.items():
        print(f"{name:<{width}}  {value}")
    return 0


def _file(name: str, zero_based: bool) -> dict[str, Any]:
    """What a file holds."""
    if name != "-" and os.path.isfile(name) and _begins(name, _container.MAGIC):
        return _saved(name)
    X, y, qid = io.read(name, zero_based=zero_based)
    rows, columns = X.shape
    found = {"data": name, "rows": rows, "columns": columns}
    if hasattr(X, "nnz"):
        found["nonzeros"] = X.nnz
    if y is not None:
        labels = np.unique(y)
        many = f"{len(labels):,} numbers from {labels[0]} to {labels[-1]}"
        found["labels"] = labels.tolist() if len(labels) <= 20 else many
    return {**found, "qid": qid is not None}


def _begins(name: str, magic: bytes) -> bool:
    with open(name, "rb") as file:
        return file.read(len(magic)) == magic


def _saved(name: str) -> dict[str, Any]:
    content = _container.load(name, lambda kind, fields: {"kind": kind, **fields})
    head = {"file": name, "kind": content.kind, "written by": f"proxsdca {content.written_by}"}
    if content.kind == "Checkpoint":
        run, state = content.value["run"], content.value["state"]
        settings = {key: value for key, value in run.items() if not key.endswith("*")}
        return {**head, "epochs": state["counts"]["epochs"], "seconds": state["seconds"],
                **settings}  # fmt: skip
    if content.kind == "Result":
        return {**head, **facts(load(name))}
    if content.kind == "Path":
        found = load(name)
        return {
            **head,
            "points": len(found),
            "loss": repr(found.loss),
            "reg": repr(found.reg),
            "converged": int(found.converged.sum()),
            "largest gap": float(found.gap.max()),
        }
    return head


def _system() -> dict[str, Any]:
    return {
        "proxsdca": version("proxsdca"),
        "Python": f"{platform.python_version()} ({platform.python_implementation()})",
        "system": f"{platform.system()} {platform.machine()}",
        **{name: _version(name) for name in ("numpy", "scipy", "matplotlib", "tqdm")},
        "zstd": "yes" if any(_importable(name) for name in ZSTD) else "not installed",
        "Cython": _cython(),
        "compiler": _compiler(),
        "build flags": " ".join(FLAGS),
        "SIMD": "what every processor of this architecture has (no -march)",
        "processor": _features(),
        "threads": "1",
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _importable(name: str) -> bool:
    try:
        import_module(name)
    except ImportError:
        return False
    return True


def _cython() -> str:
    """The version that compiled the package, which the type of its functions is named by."""
    found = re.fullmatch(r"_cython_(\w+)", type(gradient).__module__)
    return found[1].replace("_", ".") if found else "unknown"


def _compiler() -> str:
    """What the compiler wrote into the compiled module about itself."""
    compiled = Path(sys.modules[gradient.__module__].__file__ or "").read_bytes()
    found = re.search(rb"GCC: \([^)]*\) [\d.]+|clang version [\d.]+", compiled)
    return found[0].decode().replace("GCC: ", "GCC ") if found else "unknown"


def _features() -> str:
    """The SIMD instruction sets that numpy finds in the processor."""
    try:
        umath: Any = import_module("numpy._core._multiarray_umath")
        return " ".join(name for name, there in umath.__cpu_features__.items() if there)
    except (ImportError, AttributeError):
        return "unknown"
