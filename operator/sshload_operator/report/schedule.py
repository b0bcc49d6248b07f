"""The history of a schedule as a JSON document, `scheduleReport.v1`: the source of its page and of its Markdown."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sshload_contract.thresholds import BASELINE_UNIT
from sshload_contract.vocabulary import MEASURED_VERDICTS, Timing, Verdict

from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.api.status.measured import ERROR_PERCENT, figures
from sshload_operator.api.status.schedule import MOST_POINTS, ScheduleCondition, ScheduleStatus, TrendPoint
from sshload_operator.api.status.thresholds import ThresholdStatus
from sshload_operator.report.document import spec_text, time_text, within_limit
from sshload_operator.report.saved_run import KeptObject

SCHEDULE_REPORT_VERSION: Final = "scheduleReport.v1"
_TOO_LARGE: Final = {
    "spec": "the spec is left out: the report would be too large",
    "drift": "the drift is left out: the report would be too large",
}
_ONLY_KEPT: Final = "runs of tests that the schedule no longer keeps are not shown"


def schedule_document(schedule: KeptObject, tests: Sequence[KeptObject], release: str) -> dict[str, Any]:
    """Return the history of a schedule, from the trend in its status and its tests: at most a megabyte of JSON.

    `runs` are the finished ones, the oldest first. `drift` has the distance of each run from its baseline, in percent,
    with the threshold for it.
    """
    status = read_fitting(ScheduleStatus, schedule.status)
    statuses = {test.name: read_fitting(TestStatus, test.status) for test in tests}
    trend = status.trend[-MOST_POINTS:]
    runs = [_run(point, statuses.get(point.test)) for point in trend]
    document = {
        "version": SCHEDULE_REPORT_VERSION,
        "release": release,
        "schedule": {"name": schedule.name, "namespace": schedule.namespace},
        "verdict": {
            "word": status.last_verdict,
            "reason": "",
            "message": _message(status),
            "passed": None if status.last_verdict is None else _passed(status.last_verdict),
            "completionTime": time_text(status.last_completion_time),
        },
        "calendar": status.calendar,
        "nextScheduleTime": time_text(status.next_schedule_time),
        "active": [one.name for one in status.active],
        "runs": runs,
        "drift": [drift for point in trend for drift in _drift(point, statuses.get(point.test))],
        "spec": spec_text(schedule.spec),
        "lacks": list(_lacks(trend, statuses)),
    }
    return within_limit(document, _TOO_LARGE)


def _message(status: ScheduleStatus) -> str:
    return next((one.message for one in status.conditions if one.type is ScheduleCondition.READY), "")


def _passed(verdict: Verdict) -> bool | None:
    return {Verdict.PASSED: True, Verdict.FAILED: False}.get(verdict)


def _run(point: TrendPoint, status: TestStatus | None) -> dict[str, Any]:
    is_measured = point.verdict in MEASURED_VERDICTS
    stated = figures(status) if status is not None and is_measured else ()
    found = {one.name: one for one in stated if one.step in ("", Timing.TOTAL)}
    return {
        "test": point.test,
        "time": time_text(point.time),
        "verdict": point.verdict,
        "passed": None if point.verdict is None else _passed(point.verdict),
        "reason": "" if status is None else status.reason,
        "message": "" if status is None else status.message,
        "capacity": point.capacity,
        "capacityInWords": point.capacity_in_words,
        "errorPercent": found[ERROR_PERCENT].value if ERROR_PERCENT in found else None,
        **{
            name: found[name].interval if name in found else _of_trend(kept if is_measured else None)
            for name, kept in (("completedRate", point.completed_rate), ("p50Ms", None), ("p99Ms", point.p99_ms))
        },
    }


def _of_trend(value: float | None) -> dict[str, Any] | None:
    return None if value is None else {"value": value, "low": None, "high": None}


def _drift(point: TrendPoint, status: TestStatus | None) -> Iterator[dict[str, Any]]:
    if status is None:
        return
    for one in status.thresholds:
        if one.unit == BASELINE_UNIT and one.value is not None:
            yield {
                "test": point.test,
                "time": time_text(point.time),
                "figure": _figure(one),
                "threshold": one.words,
                "percent": one.value,
                "low": one.low,
                "high": one.high,
                "limit": one.limit,
                "passed": one.met,
                "baseline": None if status.baseline is None else status.baseline.test,
            }


def _figure(one: ThresholdStatus) -> str:
    return f"{one.step} p{one.percentile:g}" if one.step and one.percentile is not None else one.kind


def _lacks(trend: Sequence[TrendPoint], statuses: Mapping[str, TestStatus]) -> Iterator[str]:
    yield _ONLY_KEPT
    gone = sum(point.test not in statuses for point in trend)
    if gone:
        yield f"{gone} of the tests could not be read: only the data in the schedule's status is shown for them"
