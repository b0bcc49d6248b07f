"""The status of an SSHLoadTestSchedule, and its words: conditions and reasons."""

from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Annotated, ClassVar, Final

from sshload_contract.declared import Absent, Items, Text
from sshload_contract.vocabulary import Verdict

from sshload_operator.api.status.figures import Amount, Count, ObjectName, Time, Uid
from sshload_operator.api.status.head import Column, Condition, ObjectStatus

MOST_POINTS: Final = 200


@unique
class ScheduleCondition(StrEnum):
    """The conditions that every status of a schedule carries. The last three are kstatus's.

    They speak of the schedule, but for PASSED, which speaks of the last run that came to an end: a schedule that finds
    its server slow is a healthy schedule.
    """

    VALID = "Valid"
    PASSED = "Passed"
    READY = "Ready"
    RECONCILING = "Reconciling"
    STALLED = "Stalled"


@unique
class ScheduleReason(StrEnum):
    """Why a status is as it is, and what an Event is about."""

    SCHEDULED = "Scheduled"
    SUSPENDED = "Suspended"
    SCHEDULE_DELETED = "Deleted"
    SPEC_ACCEPTED = "SpecAccepted"
    INVALID_SPEC = "InvalidSpec"
    NEVER_FIRES = "NeverFires"
    CREATE_REFUSED = "CreateRefused"
    NAME_TAKEN = "NameTaken"
    NO_RUN_YET = "NoRunYet"
    LAST_RUN_PASSED = "LastRunPassed"
    LAST_RUN_FAILED = "LastRunFailed"
    LAST_RUN_UNDECIDED = "LastRunUndecided"
    # Events, called as CronJob calls them where it has such
    CREATED = "SuccessfulCreate"
    DELETED = "SuccessfulDelete"
    MISSED = "MissSchedule"
    TOO_MANY_MISSED = "TooManyMissedTimes"
    ALREADY_ACTIVE = "TestAlreadyActive"


@dataclass(frozen=True, slots=True)
class ActiveTest:
    """A test."""

    name: Annotated[ObjectName, "Its name."]
    uid: Annotated[Uid, "Its uid."]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendPoint:
    """A finished run."""

    test: Annotated[ObjectName, "The name of the SSHLoadTest."]
    time: Annotated[Time, "The time that it was scheduled for."]
    verdict: Annotated[Verdict | None, "Its verdict."] = None
    capacity: Annotated[
        Amount | None,
        "The highest load at which every threshold held. Absent where none was searched, or none was found.",
    ] = None
    capacity_in_words: Annotated[
        str | None,
        Text(64),
        "The capacity in words, with its unit. Only a capacity that was found is a plain amount, such as 118"
        " arrivals/s.",
    ] = None
    p99_ms: Annotated[Amount | None, "The 99th percentile of the whole iteration, in milliseconds."] = None
    completed_rate: Annotated[Amount | None, "Iterations completed per second."] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleStatus(ObjectStatus):
    """What became of the schedule. Written by the operator only."""

    columns: ClassVar[tuple[Column, ...]] = (
        Column("Schedule", ".spec.schedule", "When tests are started."),
        Column("Zone", ".spec.timeZone", wide=True),
        Column("Suspend", ".spec.suspend"),
        Column("Active", ".status.activeCount"),
        Column("Last", ".status.lastScheduleTime", "Time since the scheduled time of the last test."),
        Column("Verdict", ".status.lastVerdict"),
        Column("Capacity", ".status.trend[-1:].capacityInWords"),
        Column("P99ms", ".status.trend[-1:].p99Ms", wide=True),
        Column("Next", ".status.nextScheduleTime", wide=True, as_text=True),
        Column("Message", ".status.conditions[?(@.type=='Ready')].message", wide=True),
    )
    last_schedule_time: Annotated[
        Time | None, "The scheduled time of the last test that was made. It may have started later."
    ] = None
    last_successful_time: Annotated[Time | None, "When a run last ended as Passed."] = None
    last_completion_time: Annotated[Time | None, "When a run last ended."] = None
    last_verdict: Annotated[Verdict | None, "The verdict of the run that ended last."] = None
    next_schedule_time: Annotated[
        Time | None, "The scheduled time of the next test, before jitter. Absent while the schedule is suspended."
    ] = None
    calendar: Annotated[str, Text(200), Absent(""), "The schedule and time zone that were seen last."] = ""
    calendar_since: Annotated[Time | None, "When the change was seen. The new ones do not apply to earlier times."] = (
        None
    )
    active_count: Annotated[Count | None, "How many tests are under way."] = None
    active: Annotated[
        tuple[ActiveTest, ...],
        Items(most=10_000, key=("name",)),
        Absent(()),
        "The tests that are under way, the oldest first.",
    ] = ()
    trend: Annotated[
        tuple[TrendPoint, ...],
        Items(most=MOST_POINTS, key=("test",)),
        Absent(()),
        "What the kept runs found, the oldest first.",
    ] = ()
    conditions: Annotated[
        tuple[Condition[ScheduleCondition], ...],
        Items(most=8, key=("type",)),
        Absent(()),
        "Valid: the spec is valid. Passed: the last run passed; Unknown where it says nothing about the"
        " server. Ready: tests are started as scheduled, or the schedule is suspended. Reconciling and Stalled as"
        " kstatus has them, for Argo CD, Flux and `kubectl wait`.",
    ] = ()
