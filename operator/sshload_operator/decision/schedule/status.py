"""The status of an SSHLoadTestSchedule, written as a whole."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sshload_contract.vocabulary import Verdict

from sshload_operator.api.errors import SpecError
from sshload_operator.decision.findings import Finding, condition_body, conditions, time_text
from sshload_operator.decision.schedule.facts import Question, ScheduledTest
from sshload_operator.decision.schedule.history import in_order, last_completed, last_passed_time, trend
from sshload_operator.decision.schedule.starts import calendar_since
from sshload_operator.decision.schedule.words import ScheduleCondition, ScheduleReason
from sshload_operator.state import ConditionStatus


@dataclass(frozen=True, slots=True)
class Standing:
    """What a decision found out: the scheduled time that was served last, and the one that comes next."""

    last_schedule_time: datetime | None
    next_time: datetime | None


@dataclass(frozen=True, slots=True)
class _LastRun:
    """The run that ended last, as the tests show it, else as it is remembered."""

    completion_time: datetime | None
    verdict: Verdict | None


def status(asked: Question, standing: Standing, kept: Iterable[ScheduledTest]) -> dict[str, Any]:
    """Return the status as the CRD's schema has it, with the trend of the tests that are `kept`."""
    last, memory = _last_run(asked), asked.memory
    active = [{"name": test.name, "uid": test.uid} for test in in_order(asked.tests) if test.active]
    passed_time = max(filter(None, (last_passed_time(asked.tests), memory.last_successful_time)), default=None)
    valid = not isinstance(asked.spec, SpecError)
    since = calendar_since(asked.spec, memory, asked.now) if not isinstance(asked.spec, SpecError) else None
    optional = {
        "lastScheduleTime": time_text(standing.last_schedule_time),
        "lastSuccessfulTime": time_text(passed_time),
        "lastCompletionTime": time_text(last.completion_time),
        "lastVerdict": str(last.verdict) if last.verdict is not None else None,
        "nextScheduleTime": time_text(standing.next_time),
        "calendar": memory.calendar if isinstance(asked.spec, SpecError) else asked.spec.calendar_text,
        "calendarSince": time_text(since if valid else memory.calendar_since),
        "active": active,
        "trend": trend(kept),
    }
    found = conditions(_findings(asked, standing, last), memory.conditions, asked.now)
    return {
        "observedGeneration": asked.schedule.generation,
        "activeCount": len(active),
        "conditions": [condition_body(condition) for condition in found],
        **{key: value for key, value in optional.items() if value},
    }


def _last_run(asked: Question) -> _LastRun:
    seen, memory = last_completed(asked.tests), asked.memory
    remembered_time = memory.last_completion_time
    if seen is None or (remembered_time is not None and (seen.completion_time or remembered_time) < remembered_time):
        return _LastRun(remembered_time, memory.last_verdict)
    return _LastRun(seen.completion_time, seen.verdict)


def _findings(asked: Question, standing: Standing, last: _LastRun) -> Mapping[ScheduleCondition, Finding]:
    valid, ready = _valid(asked), _ready(asked, standing)
    stalled = ConditionStatus.TRUE if ready.status is ConditionStatus.FALSE else ConditionStatus.FALSE
    return {
        ScheduleCondition.VALID: valid,
        ScheduleCondition.PASSED: _passed(last),
        ScheduleCondition.READY: ready,
        ScheduleCondition.RECONCILING: Finding(ConditionStatus.FALSE, ready.reason, ready.message),
        ScheduleCondition.STALLED: Finding(stalled, ready.reason, ready.message),
    }


def _valid(asked: Question) -> Finding:
    if isinstance(asked.spec, SpecError):
        return Finding(ConditionStatus.FALSE, ScheduleReason.INVALID_SPEC, str(asked.spec))
    message = f'"{asked.spec.schedule}" in {asked.spec.zone.key}, and a template that can be read'
    return Finding(ConditionStatus.TRUE, ScheduleReason.SPEC_ACCEPTED, message)


def _ready(asked: Question, standing: Standing) -> Finding:
    if isinstance(asked.spec, SpecError):
        return Finding(ConditionStatus.FALSE, ScheduleReason.INVALID_SPEC, str(asked.spec))
    if asked.obstacle is not None:
        return Finding(ConditionStatus.FALSE, asked.obstacle.reason, asked.obstacle.message)
    if asked.spec.suspend:
        return Finding(ConditionStatus.TRUE, ScheduleReason.SUSPENDED, "spec.suspend is set: no tests are started")
    if standing.next_time is None:
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
