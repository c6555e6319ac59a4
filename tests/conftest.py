"""Hypothesis profiles, the `long` marker: a hundredth of a campaign runs by default, and
PROXSDCA_SOLVER, which takes the place of solver="auto": PROXSDCA_SOLVER=plain pytest."""

import os

import pytest
from hypothesis import HealthCheck, settings

from proxsdca import _accelerators

settings.register_profile(
    "default",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("default")

SOLVER = os.environ.get("PROXSDCA_SOLVER", "auto")


def pytest_configure(config):
    """Let "auto" allow what PROXSDCA_SOLVER names, with commas between names."""
    if SOLVER != "auto":
        real = _accelerators.chosen
        allowed = real(SOLVER.split(",") if "," in SOLVER else SOLVER)
        _accelerators.chosen = lambda solver: allowed if solver == "auto" else real(solver)


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="run campaigns in full")


@pytest.fixture
def campaign(request):
    """campaign(full): how many cases to run, a hundredth of the full figure without --long."""
    long = request.config.getoption("--long")
    return lambda full: full if long else max(1, full // 100)


def pytest_collection_modifyitems(config, items):
    if SOLVER != "auto":
        needed = pytest.mark.skip(reason=f"about accelerators: PROXSDCA_SOLVER={SOLVER}")
        for item in items:
            if "accelerators" in item.keywords:
                item.add_marker(needed)
    if config.getoption("--long") or "long" in (config.getoption("-m") or ""):
        return
    skip = pytest.mark.skip(reason="a long campaign: run with --long")
    for item in items:
        if "long" in item.keywords:
            item.add_marker(skip)
