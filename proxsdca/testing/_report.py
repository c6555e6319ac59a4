"""What was found, in words; and how laws are looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
UNIT = 2.0**-53
ROUGH = 1e-10  # relative: above all roundings, below all mistakes
TINY = 1e-12  # the same where everything is about 0


@dataclass(frozen=True)
class Finding:
    """What was found where a law was looked at."""

    law: str
    text: str


@dataclass(frozen=True)
class Report:
    """What was found: failures are wrong, remarks are valid but worth knowing."""

    name: str
    failures: tuple[Finding, ...]
    remarks: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether no law is broken."""
        return not self.failures

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        count = len({found.law for found in self.failures})
        head = f"{count or 'no'} {'laws are' if count > 1 else 'law is'} broken"
        lines = [f"{self.name}: {head}"]
        lines += [f"  {found.law}: {found.text}" for found in self.failures]
        lines += [f"  remark, {found.law}: {found.text}" for found in self.remarks]
        return "\n".join(lines)


class LawError(AssertionError):
    """A loss or a regulariser breaks a law; the message is the report."""


class BrokenCall(Exception):
    """A method raised, or what it returned is nothing to go on with."""


def n_(x: Any) -> str:
    return f"{float(x):.9g}"


def raised(error: Exception) -> str:
    return " ".join([f"raised {error!r}", *getattr(error, "__notes__", ())[:1]])


def worst(excess: Array, far: Array | None = None) -> tuple[int, ...] | None:
    """Where excess > 0 is the largest, or, of what is plain to see, the least far out."""
    excess = np.where(np.isnan(excess), -np.inf, excess)  # inf - inf is none
    if not excess.size or not excess.max() > 0:
        return None
    plain = excess >= min(0.99 * excess.max(), 1e6)
    k = int(np.argmax(excess if far is None else np.where(plain, -far, -np.inf)))
    return tuple(int(at) for at in np.unravel_index(k, excess.shape))


def examine(
    name: str,
    places: Iterable[Callable[[], Any]],
    laws: Iterable[tuple[str, Callable[[Any], str | None]]],
    remarks_on: Callable[[Any], list[Finding]],
    raises: bool,
) -> Report:
    """The first break of each law at the places, which are made one by one."""
    ats, failures, remarks = [], [], []
    with np.errstate(all="ignore"):  # formulas may overflow far out
        for made in places:
            try:
                ats.append(made())
            except BrokenCall as error:
                failures.append(Finding("calls", str(error)))
        del failures[1:]  # the same at the next target
        for law, check in laws:
            for at in ats:
                try:
                    text = check(at)
                except BrokenCall as error:
                    law, text = "calls", str(error)
                if text:
                    failures.append(Finding(law, text))
                    break
        if not any(found.law == "calls" for found in failures):
            remarks = remarks_on(ats)
    report = Report(name, tuple(dict.fromkeys(failures)), tuple(remarks))
    if raises and not report.ok:
        raise LawError(str(report))
    return report
