"""Hypothesis profiles and the `long` marker: a hundredth of a campaign runs by default."""

import os

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "default",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("default")


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="run campaigns in full")


@pytest.fixture
def campaign(request):
    """campaign(full): how many cases to run, a hundredth of the full figure without --long."""
    long = request.config.getoption("--long")
    return lambda full: full if long else max(1, full // 100)


def pytest_collection_modifyitems(config, items):
    if config.getoption("--long") or "long" in (config.getoption("-m") or ""):
        return
    skip = pytest.mark.skip(reason="a long campaign: run with --long")
    for item in items:
        if "long" in item.keywords:
            item.add_marker(skip)
