"""Estimators that keep scikit-learn's contract; they call `solve`, `path` and the like.

They need the extra `sklearn`, which is imported with this module and not with `proxsdca`.
"""

try:
    import sklearn as _sklearn  # noqa: F401
except ImportError as _missing:
    raise ImportError(
        "the estimators of proxsdca need scikit-learn: install proxsdca[sklearn]"
    ) from _missing

from ._base import Unscaled
from ._classifier import SDCAClassifier
from ._cv import SDCAClassifierCV, SDCARegressorCV
from ._from_sklearn import from_sklearn
from ._regressor import SDCARegressor
from ._tagger import SDCASequenceTagger, SDCASequenceTaggerCV

__all__ = [
    "SDCAClassifier",
    "SDCAClassifierCV",
    "SDCARegressor",
    "SDCARegressorCV",
    "SDCASequenceTagger",
    "SDCASequenceTaggerCV",
    "Unscaled",
    "from_sklearn",
]
