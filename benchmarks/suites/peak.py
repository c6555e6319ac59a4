"""Peak resident memory of a call, as Linux counts it."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

PROC = Path("/proc/self")


def resident(field: str) -> int:
    """VmRSS, the resident memory now, or VmHWM, its peak, in bytes."""
    status = (PROC / "status").read_text()
    return 1024 * int(re.search(rf"{field}:\s+(\d+) kB", status)[1])


def peak(call: Callable[[], Any]) -> tuple[Any, int]:
    """What the call returns, and the bytes it took at its peak beyond those held before."""
    ctypes.CDLL(None).malloc_trim(0)  # what was freed before must not count as room
    (PROC / "clear_refs").write_text("5")  # resets VmHWM
    before = resident("VmRSS")
    value = call()
    return value, resident("VmHWM") - before
