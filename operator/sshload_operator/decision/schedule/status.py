"""The status of an SSHLoadTestSchedule, written as a whole."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from sshload_contract.vocabulary import Verdict

from sshload_operator.api.errors import SpecError
from sshload_operator.api.schedule.words import ScheduleCondition, ScheduleReason
from sshload_operator.api.status.schedule import ActiveTest, ScheduleStatus
from sshload_operator.decision.findings import Finding, conditions
from sshload_operator.decision.schedule.facts import ScheduledTest, ScheduleSituation
from sshload_operator.decision.schedule.history import in_order, last_completed, last_passed_time, trend
from sshload_operator.decision.schedule.starts import calendar_since
from sshload_operator.state import ConditionStatus


@dataclass(frozen=True, slots=True)
class ScheduleTimes:
    """What a decision found out: the scheduled time that was served last, and the one that comes next."""

    last_schedule_time: datetime | None
    next_time: datetime | None


@dataclass(frozen=True, slots=True)
class _LastRun:
    """The run that ended last, as the tests show it, else as it is remembered."""

    completion_time: datetime | None
    verdict: Verdict | None


def status(
    situation: ScheduleSituation, schedule_times: ScheduleTimes, kept: Iterable[ScheduledTest]
) -> ScheduleStatus:
    """Return the whole status, with the trend of the tests that are `kept`."""
    last, memory, spec = _last_run(situation), situation.remembered.status, situation.spec
    active = tuple(ActiveTest(test.name, test.uid) for test in in_order(situation.tests) if test.active)
    passed_time = max(filter(None, (last_passed_time(situation.tests), memory.last_successful_time)), default=None)
    if isinstance(spec, SpecError):
        calendar, since = memory.calendar, memory.calendar_since
    else:
        calendar, since = spec.calendar_text, calendar_since(spec, memory, situation.now)
    return ScheduleStatus(
        observed_generation=situation.schedule.generation,
        last_schedule_time=schedule_times.last_schedule_time,
        last_successful_time=passed_time,
        last_completion_time=last.completion_time,
        last_verdict=last.verdict,
        next_schedule_time=schedule_times.next_time,
        calendar=calendar,
        calendar_since=since,
        active_count=len(active),
        active=active,
        trend=trend(kept),
        conditions=conditions(_findings(situation, schedule_times, last), memory.conditions, situation.now),
    )


def _last_run(situation: ScheduleSituation) -> _LastRun:
    seen, memory = last_completed(situation.tests), situation.remembered.status
    remembered_time = memory.last_completion_time
    if seen is None or (remembered_time is not None and (seen.completion_time or remembered_time) < remembered_time):
        return _LastRun(remembered_time, memory.last_verdict)
    return _LastRun(seen.completion_time, seen.verdict)


def _findings(
    situation: ScheduleSituation, schedule_times: ScheduleTimes, last: _LastRun
) -> Mapping[ScheduleCondition, Finding]:
    valid, ready = _valid(situation), _ready(situation, schedule_times)
    stalled = ConditionStatus.TRUE if ready.status is ConditionStatus.FALSE else ConditionStatus.FALSE
    return {
        ScheduleCondition.VALID: valid,
        ScheduleCondition.PASSED: _passed(last),
        ScheduleCondition.READY: ready,
        ScheduleCondition.RECONCILING: Finding(ConditionStatus.FALSE, ready.reason, ready.message),
        ScheduleCondition.STALLED: Finding(stalled, ready.reason, ready.message),
    }


def _valid(situation: ScheduleSituation) -> Finding:
    if isinstance(situation.spec, SpecError):
        return Finding(ConditionStatus.FALSE, ScheduleReason.INVALID_SPEC, str(situation.spec))
    message = f'"{situation.spec.schedule}" in {situation.spec.zone.key}, and a template that can be read'
    return Finding(ConditionStatus.TRUE, ScheduleReason.SPEC_ACCEPTED, message)


def _ready(situation: ScheduleSituation, schedule_times: ScheduleTimes) -> Finding:
    if isinstance(situation.spec, SpecError):
        return Finding(ConditionStatus.FALSE, ScheduleReason.INVALID_SPEC, str(situation.spec))
    if situation.obstacle is not None:
        return Finding(ConditionStatus.FALSE, situation.obstacle.reason, situation.obstacle.message)
    if situation.spec.suspend:
        return Finding(ConditionStatus.TRUE, ScheduleReason.SUSPENDED, "spec.suspend is set: no tests are started")
    if schedule_times.next_time is None:
        message = "the schedule names no time that is still to come"
        return Finding(ConditionStatus.FALSE, ScheduleReason.NEVER_FIRES, message)
    return Finding(ConditionStatus.TRUE, ScheduleReason.SCHEDULED, "tests are started as scheduled")


def _passed(last: _LastRun) -> Finding:
    match last.verdict:
        case None:
            return Finding(ConditionStatus.UNKNOWN, ScheduleReason.NO_RUN_YET, "no run has come to an end yet")
        case Verdict.PASSED:
            return Finding(ConditionStatus.TRUE, ScheduleReason.LAST_RUN_PASSED, "the last run passed")
        case Verdict.FAILED:
            return Finding(ConditionStatus.FALSE, ScheduleReason.LAST_RUN_FAILED, "the last run failed")
        case other:
            message = f"the last run says nothing about the server: it is {other}"
            return Finding(ConditionStatus.UNKNOWN, ScheduleReason.LAST_RUN_UNDECIDED, message)
