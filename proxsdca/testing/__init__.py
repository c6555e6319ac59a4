"""Whether the parts of a loss, or of a regulariser, of one's own fit together.

The certificates hold for the formulas they are given: a conjugate with a wrong sign certifies
nonsense. `check_loss` and `check_regularizer` look for that at many points, and say in words what
they find. What they do not find is not proven to be right.
"""

from ._loss_laws import check_loss
from ._regularizer_laws import check_regularizer
from ._report import Finding, LawError, Report

__all__ = ["Finding", "LawError", "Report", "check_loss", "check_regularizer"]
