"""Another run beside the one of a report: an earlier run, or its baseline. Each chart has the curves of both."""

import sys
from collections.abc import Iterator
from math import isclose
from typing import Any, Final

from sshload_contract.vocabulary import MEASURED_VERDICTS

from sshload_operator.api.load_test import parse
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.api.shapes.forms import timestamp_text
from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.api.status.compared import place
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.api.status.measured import COMPARED, Figure, figures
from sshload_operator.planning.differs import difference, installed_difference, other_login
from sshload_operator.report.distribution import distributions
from sshload_operator.report.over_time import over_time
from sshload_operator.report.saved_run import SavedRun

_MOST_FIGURES: Final = 200
_NOTHING: Final = {"value": None, "low": None, "high": None}
_LARGEST: Final = sys.float_info.max
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
        "difference": _difference(run, other)
        or installed_difference(ours.installed, theirs.installed)
        or other_login(ours.results, theirs.results),
        "figures": _beside(ours, theirs),
        "overTime": None if other.summary is None else over_time(other.summary),
        "distributions": [] if other.summary is None else distributions(other.summary),
    }


def _difference(run: SavedRun, other: SavedRun) -> str:
    try:
        return difference(parse(run.spec), parse(other.spec))
    except SpecError:
        return _UNPARSED


def _beside(ours: TestStatus, theirs: TestStatus) -> list[dict[str, Any]]:
    here, there = ({one.key: one for one in _figures(status)} for status in (ours, theirs))
    keys = sorted({**here, **there}, key=place)[:_MOST_FIGURES]
    return [_figure(key, here.get(key), there.get(key)) for key in keys]


def _figure(key: str, here: Figure | None, there: Figure | None) -> dict[str, Any]:
    return {
        "figure": key,
        "here": _NOTHING if here is None else here.interval,
        "there": _NOTHING if there is None else there.interval,
        "ratio": None if here is None or there is None else _ratio(here.value, there.value),
        "apart": None if here is None or there is None else _apart(here, there),
    }


def _ratio(here: float | None, there: float | None) -> float | None:
    if here is None or not there or isclose(there, 0, abs_tol=1e-9):
        return None
    return float(f"{min(here / there, _LARGEST):.6g}")


def _apart(here: Figure, there: Figure) -> bool | None:
    if here.low is None or here.high is None or there.low is None or there.high is None:
        return None
    return here.low > there.high or here.high < there.low


def _figures(status: TestStatus) -> Iterator[Figure]:
    """Yield the figures of a run that was measured: of each step, those that comparisons compare."""
    if status.verdict in MEASURED_VERDICTS:
        yield from (one for one in figures(status) if not one.step or one.name in COMPARED)
