"""How long structured problems take, and how often they call their oracle."""

from __future__ import annotations

import numpy as np

from proxsdca import oracles, structured

from .data import words

COUNT = 500  # words


class Chain:
    """Words by a linear chain, to a relative gap of tol at the default lam."""

    params = (["l2", "l1l2"], [True, False])
    param_names = ("reg", "cache")
    timeout = 120

    def setup(self, reg: str, cache: bool) -> None:
        X, y, lengths, _ = words()
        rows = int(lengths[:COUNT].sum())
        self.oracle = oracles.Chain(X[:rows], y[:rows], lengths[:COUNT], classes=np.arange(26))
        self.w = np.random.default_rng(0).normal(size=self.oracle.d)

    def time_solve(self, reg: str, cache: bool) -> None:
        self.solve(reg, cache)

    def track_calls(self, reg: str, cache: bool) -> int:
        return self.solve(reg, cache).calls

    track_calls.unit = "calls"

    def time_decode(self, reg: str, cache: bool) -> None:
        self.oracle.decode(self.w)

    def solve(self, reg: str, cache: bool) -> structured.StructuredResult:
        return structured.solve(self.oracle, 10 / COUNT, reg, cache=cache, tol=5e-2)
