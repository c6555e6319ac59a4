"""Peak memory of a solve, beyond the caller's arrays."""

from __future__ import annotations

from pathlib import Path

import proxsdca

from .data import zipf_problem
from .peak import peak


class Memory:
    """n = 50,000 and d = 500,000, so that vectors of length d show."""

    params = (["l2", "l1l2"],)
    param_names = ("reg",)
    unit = "bytes"

    def setup(self, reg: str) -> None:
        if not Path("/proc/self/clear_refs").exists():
            raise NotImplementedError("Linux only")
        self.X, self.y = zipf_problem(50_000, 500_000, 50)

    def track_peak(self, reg: str) -> int:
        return peak(lambda: proxsdca.solve(self.X, self.y, reg=reg))[1]
