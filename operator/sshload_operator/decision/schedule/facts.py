"""The facts for a decision about a schedule: its identity, its tests, and what its status remembers."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sshload_contract.declared import Timestamp
from sshload_contract.vocabulary import Verdict

from sshload_operator.api.kinds import GROUP
from sshload_operator.api.names import extended
from sshload_operator.api.schedule.spec import ScheduleSpec
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.api.shapes.forms import Misfit, read_timestamp
from sshload_operator.api.status.head import Remembered
from sshload_operator.api.status.schedule import ScheduleStatus
from sshload_operator.decision.baseline.find import EarlierTest, installed_hash, measured_by
from sshload_operator.decision.baseline.measured import own_delay_ms
from sshload_operator.decision.owner import OwnerSubject

SCHEDULED_ANNOTATION: Final = f"{GROUP}/scheduled-timestamp"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MINUTE: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class ScheduleIdentity:
    """The identity of a schedule, and when it was created."""

    namespace: str
    name: str
    uid: str
    generation: int
    created: datetime


@dataclass(frozen=True, slots=True)
class Figures:
    """What a run measured, by its status; None if it did not measure that.

    If a search ended at its min or max, there is no `capacity`; `capacity_in_words` mentions the bound.
    """

    capacity: float | None
    capacity_in_words: str | None
    p99_ms: float | None
    completed_rate: float | None


@dataclass(frozen=True, slots=True)
class ScheduledTest:
    """One test of the schedule. `time` is its scheduled time. It is active until it is finished.

    `measured` is the hash of what it measured if a later one can have it as its baseline, else None. `installed` is the
    hash of the resources that the installation gave its pods, empty if they are not known. Its latencies may include
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
        """Whether it is, or may be, in progress: as with CronJob, one that is being deleted too, until it is gone."""
        return not self.finished


@dataclass(frozen=True, kw_only=True)
class ScheduleFacts(OwnerSubject[ScheduledTest]):
    """All facts of one decision about a schedule."""

    schedule: ScheduleIdentity
    spec: ScheduleSpec | SpecError
    remembered: Remembered[ScheduleStatus]


def identity(body: Mapping[str, Any]) -> ScheduleIdentity:
    """Return the identity of a schedule from its object."""
    metadata = body["metadata"]
    created = datetime.fromisoformat(metadata["creationTimestamp"])
    return ScheduleIdentity(metadata["namespace"], metadata["name"], metadata["uid"], metadata["generation"], created)


def scheduled_test(body: Mapping[str, Any]) -> ScheduledTest:
    """Return the relevant part of a test that a schedule owns."""
    metadata, test = body["metadata"], EarlierTest.of(body)
    status, results, capacity = test.status, test.status.results, test.status.capacity
    return ScheduledTest(
        name=metadata["name"],
        uid=metadata["uid"],
        time=_scheduled_time(metadata),
        deleting="deletionTimestamp" in metadata,
        finished=test.is_finished,
        verdict=status.verdict,
        completion_time=status.completion_time,
        figures=Figures(
            capacity=None if capacity is None else capacity.found,
            capacity_in_words=status.capacity_in_words,
            p99_ms=None if results is None else results.p99_ms,
            completed_rate=None if results is None else results.completed_rate,
        ),
        measured=measured_by(test),
        installed=installed_hash(status),
        delay_ms=own_delay_ms(status),
    )


def child_name(schedule_name: str, time: datetime) -> str:
    """Return the name of the test for a scheduled time: always the same, so that there is never a second test.

    As with CronJob's Jobs, it ends with the minutes since 1970, because no calendar is finer than that.
    """
    return extended(schedule_name, f"-{(time - _EPOCH) // _MINUTE}")


def _scheduled_time(metadata: Mapping[str, Any]) -> datetime:
    """Return the annotated time, or the creation time if somebody has removed or garbled the annotation."""
    try:
        return read_timestamp(Timestamp(), metadata.get("annotations", {}).get(SCHEDULED_ANNOTATION))
    except Misfit:
        return datetime.fromisoformat(metadata["creationTimestamp"])
