"""Proximal stochastic dual coordinate ascent: linear models solved fast, and proven solved.

    r = proxsdca.solve(X, y, loss="hinge", reg="l1l2")
    r.w, r.gap, r.converged

`solve` minimises P(w) = mean loss + lam g(w) and returns w with a duality gap
that is recomputed from the data and bounds P(w) - min P.  `certify` computes
the same certificate for any pair (w, alpha).
"""

from importlib import import_module as _import_module
from importlib.metadata import version as _version
from pathlib import Path as _Path

from . import losses, oracles, regularizers, structured, theory
from ._checkpoint import CheckpointWarning
from ._model import load
from ._one_vs_rest import OneVsRest, one_vs_rest
from ._path import Path, path, sigma_max
from ._problem import Certificate
from ._result import Check, ConvergenceWarning, Interrupted, NumericalError, Result, Status
from ._solve import certify, solve

__version__ = _version("proxsdca")

# What not everybody needs, and what needs scikit-learn, is imported when it is first asked for.
_MODULES = ("cython_api", "io", "testing")
_ESTIMATORS = (
    "SDCAClassifier", "SDCAClassifierCV", "SDCARegressor", "SDCARegressorCV", "SDCASequenceTagger",
    "SDCASequenceTaggerCV", "from_sklearn",
)  # fmt: skip


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return _import_module(f"{__name__}.{name}")
    if name in _ESTIMATORS:
        from . import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_ESTIMATORS, *_MODULES})


def get_include() -> str:
    """The folder of proxsdca.h, for compilers."""
    return str(_Path(__file__).parent / "include")


__all__ = [
    "Certificate",
    "Check",
    "CheckpointWarning",
    "ConvergenceWarning",
    "Interrupted",
    "NumericalError",
    "OneVsRest",
    "Path",
    "Result",
    "Status",
    "certify",
    "get_include",
    "load",
    "losses",
    "one_vs_rest",
    "oracles",
    "path",
    "regularizers",
    "sigma_max",
    "solve",
    "structured",
    "theory",
]
