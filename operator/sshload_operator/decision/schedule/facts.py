"""What a decision about a schedule is made from: which one it is, its tests, and what its status says of the past."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sshload_contract.vocabulary import SearchEnd, Verdict

from sshload_operator.api.errors import SpecError
from sshload_operator.api.kinds import GROUP
from sshload_operator.api.schedule.spec import ScheduleSpec
from sshload_operator.decision.baseline.candidates import installed_hash
from sshload_operator.decision.baseline.find import measured_by
from sshload_operator.decision.baseline.measured import own_delay_ms
from sshload_operator.decision.findings import read_conditions, read_time, word
from sshload_operator.decision.schedule.words import ScheduleCondition, ScheduleReason
from sshload_operator.state import Condition, Phase

SCHEDULE_LABEL: Final = f"{GROUP}/schedule"
SCHEDULED_ANNOTATION: Final = f"{GROUP}/scheduled-timestamp"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MINUTE: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class ScheduleIdentity:
    """Which object it is, and since when there is one."""

    namespace: str
    name: str
    uid: str
    generation: int
    created: datetime


@dataclass(frozen=True, slots=True)
class Figures:
    """What a run measured, as its status has it; None where it did not measure that.

    A bound at which a search ended is no `capacity`; `capacity_in_words` tells of it.
    """

    capacity: float | None
    capacity_in_words: str | None
    p99_ms: float | None
    completed_rate: float | None


@dataclass(frozen=True, slots=True)
class ScheduledTest:
    """One test of the schedule. `time` is the one it was scheduled for. It is active until it is finished.

    `measured` is the hash of what it measured if a later one can have it as its baseline, else None. `installed` is the
    hash of the resources that the installation gave its pods, empty where they are not known. Its latencies may include
    `delay_ms` of its generator's own delay.
    """

    name: str
    uid: str
    time: datetime
    deleting: bool
    finished: bool
    verdict: Verdict | None
    completion_time: datetime | None
    figures: Figures
    measured: str | None = None
    installed: str = ""
    delay_ms: float | None = None

    @property
    def active(self) -> bool:
        """Whether it is, or may be, under way: one that is being deleted too, until it is gone, as CronJob has it."""
        return not self.finished


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why the API server did not create a test just now."""

    reason: ScheduleReason
    message: str


@dataclass(frozen=True, slots=True)
class ScheduleMemory:
    """What the status says of the past, which is all that survives a restart of the operator, tests excepted.

    `calendar` is the schedule and time zone that were last seen, and `calendar_since` the time of their last change:
    None where they have not changed since the creation. `written` is the whole status as it stands.
    """

    last_schedule_time: datetime | None
    last_successful_time: datetime | None
    last_completion_time: datetime | None
    last_verdict: Verdict | None
    calendar: str
    calendar_since: datetime | None
    conditions: tuple[Condition, ...]
    written: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    """All facts of one decision. `obstacle` is why a test that was to be created a moment ago was not."""

    schedule: ScheduleIdentity
    spec: ScheduleSpec | SpecError
    memory: ScheduleMemory
    tests: Sequence[ScheduledTest]
    obstacle: Obstacle | None
    now: datetime


def identity(body: Mapping[str, Any]) -> ScheduleIdentity:
    """Return which object it is, as the API server shows it."""
    metadata = body["metadata"]
    created = datetime.fromisoformat(metadata["creationTimestamp"])
    return ScheduleIdentity(metadata["namespace"], metadata["name"], metadata["uid"], metadata["generation"], created)


def remembered(written: Mapping[str, Any]) -> ScheduleMemory:
    """Return what a status says of the past. Words that this version does not know count as absent."""
    return ScheduleMemory(
        last_schedule_time=read_time(written.get("lastScheduleTime")),
        last_successful_time=read_time(written.get("lastSuccessfulTime")),
        last_completion_time=read_time(written.get("lastCompletionTime")),
        last_verdict=word(Verdict, written.get("lastVerdict")),
        calendar=written.get("calendar", ""),
        calendar_since=read_time(written.get("calendarSince")),
        conditions=tuple(read_conditions(written.get("conditions", ()), ScheduleCondition, ScheduleReason)),
        written=written,
    )


def scheduled_test(body: Mapping[str, Any]) -> ScheduledTest:
    """Return what matters of a test that a schedule owns."""
    metadata, status = body["metadata"], body.get("status") or {}
    results = status.get("results") or {}
    capacity = status.get("capacity") or {}
    return ScheduledTest(
        name=metadata["name"],
        uid=metadata["uid"],
        time=_scheduled_time(metadata),
        deleting="deletionTimestamp" in metadata,
        finished=status.get("phase") == Phase.FINISHED,
        verdict=word(Verdict, status.get("verdict")),
        completion_time=read_time(status.get("completionTime")),
        figures=Figures(
            capacity=capacity.get("value") if capacity.get("end") == SearchEnd.FOUND else None,
            capacity_in_words=capacity.get("inWords"),
            p99_ms=results.get("p99Ms"),
            completed_rate=results.get("completedRate"),
        ),
        measured=measured_by(body),
        installed=installed_hash(status),
        delay_ms=own_delay_ms(status),
    )


def child_name(schedule_name: str, time: datetime) -> str:
    """Return the name of the test of a scheduled time: the same time, the same name, so that there is never a second.

    As CronJob's Jobs, by the minutes since 1970, because no calendar is finer than that.
    """
    return f"{schedule_name}-{(time - _EPOCH) // _MINUTE}"


def _scheduled_time(metadata: Mapping[str, Any]) -> datetime:
    """Return the annotated time; the creation where somebody took the annotation away or garbled it."""
    annotated = read_time(metadata.get("annotations", {}).get(SCHEDULED_ANNOTATION))
    return annotated or datetime.fromisoformat(metadata["creationTimestamp"])
