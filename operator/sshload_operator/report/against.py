"""Another run beside the one of a report: an earlier run, or its baseline. Each chart has the curves of both."""

from collections.abc import Iterator
from math import isclose
from typing import Any, Final

from sshload_contract.vocabulary import MEASURED_VERDICTS

from sshload_operator.api.load_test import parse
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.api.shapes.forms import timestamp_text
from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.api.status.results import Results
from sshload_operator.decision.baseline.differs import difference, installed_difference
from sshload_operator.decision.comparison.figures import place
from sshload_operator.report.distribution import distributions
from sshload_operator.report.over_time import over_time
from sshload_operator.report.saved_run import SavedRun

_PERCENTILES: Final = (50, 90, 99)
_MOST_FIGURES: Final = 200
_UNPARSED: Final = "a spec of the two cannot be read by this release, so it is not known whether they measured the same"


def against(run: SavedRun, other: SavedRun) -> dict[str, Any]:
    """Return the other run: its courses and distributions, and the figures of both side by side.

    A figure's `ratio` is this run's to the other's. `apart` says that the intervals of the two do not overlap; null if
    one of them is not known. An interval covers the chance within one run, not the differences from one run to the
    next. `difference` is the first reason why the two did not measure the same; "" for none.
    """
    ours, theirs = (read_fitting(TestStatus, one.status) for one in (run, other))
    completed = theirs.completion_time
    return {
        "test": {"name": other.name, "namespace": other.namespace},
        "verdict": {
            "word": theirs.verdict,
            "reason": theirs.reason,
            "message": theirs.message,
            "completionTime": None if completed is None else timestamp_text(completed),
        },
        "difference": _difference(run, other) or installed_difference(ours.installed, theirs.installed),
        "figures": _beside(ours, theirs),
        "overTime": None if other.summary is None else over_time(other.summary),
        "distributions": [] if other.summary is None else distributions(other.summary),
    }


def _difference(run: SavedRun, other: SavedRun) -> str:
    try:
        return difference(parse(run.spec), parse(other.spec))
    except SpecError:
        return _UNPARSED


_Bounds = tuple[float | None, float | None, float | None]


def _beside(ours: TestStatus, theirs: TestStatus) -> list[dict[str, Any]]:
    here, there = (dict(_figures(status)) for status in (ours, theirs))
    keys = sorted({**here, **there}, key=place)[:_MOST_FIGURES]
    nothing: _Bounds = (None, None, None)
    return [_figure(key, here.get(key, nothing), there.get(key, nothing)) for key in keys]


def _figure(key: str, here: _Bounds, there: _Bounds) -> dict[str, Any]:
    return {
        "figure": key,
        "here": dict(zip(("value", "low", "high"), here, strict=True)),
        "there": dict(zip(("value", "low", "high"), there, strict=True)),
        "ratio": _ratio(here[0], there[0]),
        "apart": _apart(here, there),
    }


def _ratio(here: float | None, there: float | None) -> float | None:
    return None if here is None or not there or isclose(there, 0, abs_tol=1e-9) else float(f"{here / there:.6g}")


def _apart(here: _Bounds, there: _Bounds) -> bool | None:
    (_, low, high), (_, other_low, other_high) = here, there
    if low is None or high is None or other_low is None or other_high is None:
        return None
    return low > other_high or high < other_low


def _figures(status: TestStatus) -> Iterator[tuple[str, _Bounds]]:
    """Yield the figures of a run that was measured, each with its interval if that is known."""
    capacity, results = status.capacity, status.results
    if status.verdict not in MEASURED_VERDICTS:
        return
    if capacity is not None:
        yield "capacity", (capacity.found, capacity.lower_bound, capacity.upper_bound)
    if results is not None:
        yield from _of_results(results)


def _of_results(results: Results) -> Iterator[tuple[str, _Bounds]]:
    yield "offeredRate", (results.offered_rate, None, None)
    yield "completedRate", (results.completed_rate, results.completed_rate_low, results.completed_rate_high)
    yield "errorPercent", (results.error_percent, None, None)
    for step in results.all_steps:
        for percentile in _PERCENTILES:
            found = step.percentile(percentile)
            if found is not None:
                yield f"{step.step}.p{percentile}Ms", (found.ms, found.low_ms, found.high_ms)
