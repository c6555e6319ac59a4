"""A problem that is worked on step by step: what a handle of the compiled API stands for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from . import _oracle_problem, _random, _side, _spec, _validate
from ._loop import Plan, Run, Target
from ._oracle_problem import OracleProblem, OracleSide
from ._problem import Certificate
from ._result import Status
from ._side import Side
from ._vector import problem_of


class Session:
    """A run that pauses wherever it is told to.

    Parameters
    ----------
    side : Side
    plan : Plan
    """

    def __init__(self, side: Side, plan: Plan) -> None:
        self.problem = side.problem
        self._fingerprint = self.problem.fingerprint()
        self._run = Run(side, plan, side.start(None))
        self._run.begin()
        self.busy = False
        self.broken: BaseException | None = None  # after a failure the state means nothing

    @classmethod
    def of_data(cls, X: Any, y: Any, settings: dict[str, Any]) -> Session:
        """A session on rows and targets; the settings are those of `solve`."""
        option, order = settings.pop("option"), settings.pop("order")
        problem = problem_of(X, y, plain=_spec.plain(option, "last"), **settings.pop("problem"))
        if problem.shape != (problem.d,):
            raise ValueError(
                f"loss_name = {problem.loss.name!r}: a loss of one margin is needed here"
            )
        plan = _plan(
            option=_spec.option(option, problem),
            order=_validate.choice("order", order, _random.ORDERS),
            **settings,
        )
        return cls(_side.make(problem, 0.0), plan)

    @classmethod
    def of_oracle(cls, oracle: Any, settings: dict[str, Any]) -> Session:
        """A session on a structured problem."""
        from .structured import ORDERS

        option, cached = _oracle_problem.options(settings.pop("option"), None)
        order = _validate.choice("order", settings.pop("order"), ORDERS)
        problem = OracleProblem.of(oracle, cache=cached, **settings.pop("problem"))
        if option in ("III", "IV") and oracle.radius is None:
            raise ValueError(f"option = {option!r} needs the radius of the oracle")
        side = OracleSide(problem, oracle.radius, order)
        return cls(side, _plan(option=option, order=order, **settings))

    def run(self, epochs: int) -> None:
        """So many epochs more."""
        for _ in range(epochs):
            self._run.epoch()

    def limits(self, tol: float, eps: float, max_epochs: int) -> tuple[Target, int]:
        """How far `solve` is to go, validated."""
        return Target.from_arguments(tol, eps), _validate.count("max_epochs", max_epochs, 0)

    def solve(self, target: Target, max_epochs: int) -> tuple[Certificate, float, bool]:
        """Go on until the target is reached, for so many epochs at the most."""
        run = self._run
        run.plan = replace(run.plan, target=target, max_epochs=run.epochs + max_epochs)
        run.forget_limits()
        if self._certified and run.plan.target.reached(run.certificate):
            run.status = Status.CONVERGED
        run.go()
        certificate = self._checked()
        return certificate, *self.reached(certificate)

    def certify(self) -> Certificate:
        """The certificate of the state as it stands."""
        if not self._certified:
            self._run.certify()
        return self._checked()

    def reached(self, certificate: Certificate) -> tuple[float, bool]:
        """The target of the last `solve`, and whether a certificate is within it."""
        target = self._run.plan.target
        proven = self.problem.proves and target.reached(certificate)
        return target.level(certificate.primal), proven

    def _checked(self) -> Certificate:
        if self.problem.fingerprint() != self._fingerprint:
            raise ValueError("X changed while it was being solved: its memory must be left alone")
        return self.problem.check_finite(self._run.certificate)

    @property
    def _certified(self) -> bool:
        return bool(self._run.history) and self._run.certified_steps == self._run.steps

    @property
    def epochs(self) -> int:
        """How many epochs there have been."""
        return self._run.epochs

    def pair(self) -> tuple[np.ndarray, Any]:
        """w, with the intercept at the end if there is one, and alpha: the certified ones where
        nothing has changed since."""
        return self._run.pair if self._certified else self._run.output.pair()


def _plan(option: str, order: str, seed: int) -> Plan:
    return Plan(
        order=order,
        option=option,
        target=Target(0.0, 0.0),
        max_epochs=10_000,
        stream=_random.stream(seed),
    )
