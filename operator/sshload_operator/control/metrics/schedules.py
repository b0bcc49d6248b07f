"""The metrics of schedules for Prometheus, read from their statuses. Labels: namespace, schedule, verdict."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.api.status.schedule import ScheduleStatus
from sshload_operator.control.metrics.published import Published

_LABELS: Final = ("namespace", "schedule")


@dataclass(frozen=True, slots=True)
class ScheduleFigures:
    """What is published of one schedule. Times are Unix seconds, None for never."""

    last_schedule_unix_s: float | None
    last_passed_unix_s: float | None
    verdict: str
    active: int
    suspended: bool
    created_unix_s: float


class SchedulesCollector(Published[ScheduleFigures]):
    """The figures of all schedules, by namespace and name."""

    def figures(self, body: Mapping[str, Any]) -> ScheduleFigures:
        """Return what is published of a schedule."""
        status = read_fitting(ScheduleStatus, body.get("status"))
        return ScheduleFigures(
            last_schedule_unix_s=_unix_s(status.last_schedule_time),
            last_passed_unix_s=_unix_s(status.last_successful_time),
            verdict=str(status.last_verdict or ""),
            active=status.active_count or 0,
            suspended=bool(body["spec"].get("suspend")),
            created_unix_s=datetime.fromisoformat(body["metadata"]["creationTimestamp"]).timestamp(),
        )

    def collect(self) -> Iterator[Metric]:
        """Yield the families of all schedules."""
        scheduled = GaugeMetricFamily(
            "sshload_schedule_last_schedule_timestamp_seconds",
            "The scheduled time that a test was last made for.",
            labels=_LABELS,
        )
        passed = GaugeMetricFamily(
            "sshload_schedule_last_passed_timestamp_seconds", "When a run last ended as Passed.", labels=_LABELS
        )
        verdict = GaugeMetricFamily(
            "sshload_schedule_last_verdict", "1 for the verdict of the last run.", labels=(*_LABELS, "verdict")
        )
        active = GaugeMetricFamily("sshload_schedule_active_tests", "Tests that are under way.", labels=_LABELS)
        suspended = GaugeMetricFamily(
            "sshload_schedule_suspended", "1 where no tests are started, else 0.", labels=_LABELS
        )
        created = GaugeMetricFamily(
            "sshload_schedule_created_timestamp_seconds", "When the schedule was created.", labels=_LABELS
        )
        for key, figures in self.published.items():
            created.add_metric(key, figures.created_unix_s)
            if figures.last_schedule_unix_s is not None:
                scheduled.add_metric(key, figures.last_schedule_unix_s)
            if figures.last_passed_unix_s is not None:
                passed.add_metric(key, figures.last_passed_unix_s)
            if figures.verdict:
                verdict.add_metric((*key, figures.verdict), 1)
            active.add_metric(key, figures.active)
            suspended.add_metric(key, figures.suspended)
        yield from (created, scheduled, passed, verdict, active, suspended)


def _unix_s(time: datetime | None) -> float | None:
    return time.timestamp() if time is not None else None
