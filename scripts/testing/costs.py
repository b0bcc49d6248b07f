"""A plugin of pytest: the report of each test has its name, its circle, and its CPU time, with that of its children.

What several tests share, a fixture of a file or of the session, counts for none of them.
"""

import resource
from collections.abc import Generator
from typing import Any

import pytest

from testing.circles import Circle

_USED_BEFORE_S = pytest.StashKey[float]()
_SHARED_S = pytest.StashKey[float]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Note what was used before the test."""
    item.stash[_USED_BEFORE_S], item.config.stash[_SHARED_S] = _used_s(), 0.0
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any, request: pytest.FixtureRequest) -> Generator[None, object, object]:
    """Note what a fixture takes that several tests share, with all the fixtures that it is made of."""
    used_s, shared_s = _used_s(), request.config.stash[_SHARED_S]
    try:
        return (yield)
    finally:
        if fixturedef.scope != "function":
            request.config.stash[_SHARED_S] = shared_s + _used_s() - used_s


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the name and the cost to the last report of the test, which the report as XML takes them from."""
    report = yield
    if report.when == "teardown":
        cpu_s = _used_s() - item.stash[_USED_BEFORE_S] - item.config.stash[_SHARED_S]
        report.user_properties += [("nodeid", item.nodeid), ("cpu_s", f"{cpu_s:.3f}"), ("circle", _circle(item).value)]
    return report


def _circle(item: pytest.Item) -> Circle:
    """Return the smallest circle that has a test."""
    if item.get_closest_marker("full"):
        return Circle.ALL
    return Circle.USUAL if item.get_closest_marker("slow") else Circle.QUICK


def _used_s() -> float:
    uses = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in uses)
