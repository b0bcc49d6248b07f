"""The status of an SSHLoadTestSchedule, written as a whole, and which finished tests it keeps."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sshload_contract.vocabulary import Verdict

from sshload_operator.api.schedule.spec import ScheduleSpec
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.api.status.schedule import (
    MOST_POINTS,
    ActiveTest,
    ScheduleCondition,
    ScheduleReason,
    ScheduleStatus,
    TrendPoint,
)
from sshload_operator.decision.baseline.find import is_clean
from sshload_operator.decision.life_cycle import Finding, conditions, settled
from sshload_operator.decision.owner import Cause
from sshload_operator.decision.schedule.facts import ScheduledTest, ScheduleFacts
from sshload_operator.decision.schedule.starts import calendar_since
from sshload_operator.planning.differs import comparable_hash
from sshload_operator.state import ConditionStatus

CAUSES: Final = {Cause.REFUSED: ScheduleReason.CREATE_REFUSED, Cause.NAME_TAKEN: ScheduleReason.NAME_TAKEN}


def surplus(spec: ScheduleSpec, tests: Iterable[ScheduledTest]) -> tuple[ScheduledTest, ...]:
    """Return the finished tests beyond the limits: the oldest with Passed, and the oldest with any other verdict.

    The tests with which the next one is compared are kept whatever the limits are.
    """
    finished = [test for test in in_order(tests) if test.finished and not test.deleting]
    passed = [test for test in finished if test.verdict is Verdict.PASSED]
    failed = [test for test in finished if test.verdict is not Verdict.PASSED]
    kept = _baselines(spec, finished)
    old = (*_oldest(passed, spec.passed_limit), *_oldest(failed, spec.failed_limit))
    return tuple(test for test in old if test not in kept)


def _baselines(spec: ScheduleSpec, tests: Iterable[ScheduledTest]) -> Sequence[ScheduledTest]:
    """Return the tests with which the next one is compared: the last that passed, and the oldest (see find_baseline).

    The installation is assumed to be that of the newest of them: tests on pods with other resources are not baselines.
    """
    ours = spec.template.parsed
    if ours.baseline is None or ours.baseline.test:
        return ()
    wanted = comparable_hash(ours)
    usable = sorted(
        (test for test in tests if test.measured == wanted and is_clean(ours, test.delay_ms)),
        key=_completion,
    )
    installed = usable[-1].installed if usable else ""
    usable = [test for test in usable if not installed or test.installed in ("", installed)]
    passed = [test for test in usable if test.verdict is Verdict.PASSED]
    return (*usable[:1], *(passed or usable)[-1:])


def in_order(tests: Iterable[ScheduledTest]) -> list[ScheduledTest]:
    """Return the tests in the order of their scheduled times."""
    return sorted(tests, key=lambda test: (test.time, test.name))


def last_completed(tests: Iterable[ScheduledTest]) -> ScheduledTest | None:
    """Return the test that finished last."""
    ended = [test for test in tests if test.finished and test.completion_time is not None]
    return max(ended, key=_completion, default=None)


def last_passed_time(tests: Iterable[ScheduledTest]) -> datetime | None:
    """Return when the last test that passed ended."""
    passed = last_completed(test for test in tests if test.verdict is Verdict.PASSED)
    return passed.completion_time if passed is not None else None


def trend(tests: Iterable[ScheduledTest]) -> tuple[TrendPoint, ...]:
    """Return the results of the kept runs for a status, the oldest first."""
    return tuple(_point(test) for test in in_order(tests) if test.finished)[-MOST_POINTS:]


def _oldest(tests: Sequence[ScheduledTest], limit: int) -> Sequence[ScheduledTest]:
    return tests[: max(0, len(tests) - limit)]


def _completion(test: ScheduledTest) -> tuple[datetime, str]:
    assert test.completion_time is not None  # noqa: S101 - the callers have sorted out those without
    return test.completion_time, test.name


def _point(test: ScheduledTest) -> TrendPoint:
    return TrendPoint(
        test=test.name,
        time=test.time,
        verdict=test.verdict,
        capacity=test.figures.capacity,
        capacity_in_words=test.figures.capacity_in_words,
        p99_ms=test.figures.p99_ms,
        completed_rate=test.figures.completed_rate,
    )


@dataclass(frozen=True, slots=True)
class ScheduleTimes:
    """Times that a decision has computed: the scheduled time that was served last, and the next one."""

    last_schedule_time: datetime | None
    next_time: datetime | None


@dataclass(frozen=True, slots=True)
class _LastRun:
    """The run that ended last, by the tests or else as it is remembered."""

    completion_time: datetime | None
    verdict: Verdict | None


def status(facts: ScheduleFacts, schedule_times: ScheduleTimes, kept: Iterable[ScheduledTest]) -> ScheduleStatus:
    """Return the whole status, with the trend of the tests that are `kept`."""
    last, memory, spec = _last_run(facts), facts.remembered.status, facts.spec
    active = tuple(ActiveTest(test.name, test.uid) for test in in_order(facts.tests) if test.active)
    passed_time = max(filter(None, (last_passed_time(facts.tests), memory.last_successful_time)), default=None)
    if isinstance(spec, SpecError):
        calendar, since = memory.calendar, memory.calendar_since
    else:
        calendar, since = spec.calendar_text, calendar_since(spec, memory, facts.now)
    return ScheduleStatus(
        observed_generation=facts.schedule.generation,
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
        conditions=conditions(_findings(facts, schedule_times, last), memory.conditions, facts.now),
    )


def _last_run(facts: ScheduleFacts) -> _LastRun:
    seen, memory = last_completed(facts.tests), facts.remembered.status
    remembered_time = memory.last_completion_time
    if seen is None or (remembered_time is not None and (seen.completion_time or remembered_time) < remembered_time):
        return _LastRun(remembered_time, memory.last_verdict)
    return _LastRun(seen.completion_time, seen.verdict)


def _findings(
    facts: ScheduleFacts, schedule_times: ScheduleTimes, last: _LastRun
) -> Mapping[ScheduleCondition, Finding]:
    ready = _ready(facts, schedule_times)
    return {
        ScheduleCondition.VALID: _valid(facts),
        ScheduleCondition.PASSED: _passed(last),
        **settled(ScheduleCondition, ready.reason, ready.message, ready=ready.status is ConditionStatus.TRUE),
    }


def _valid(facts: ScheduleFacts) -> Finding:
    if isinstance(facts.spec, SpecError):
        return Finding(ConditionStatus.FALSE, ScheduleReason.INVALID_SPEC, str(facts.spec))
    message = f'"{facts.spec.schedule}" in {facts.spec.zone.key}, and a template that can be read'
    return Finding(ConditionStatus.TRUE, ScheduleReason.SPEC_ACCEPTED, message)


def _ready(facts: ScheduleFacts, schedule_times: ScheduleTimes) -> Finding:
    if isinstance(facts.spec, SpecError):
        return Finding(ConditionStatus.FALSE, ScheduleReason.INVALID_SPEC, str(facts.spec))
    if facts.obstacle is not None:
        return Finding(ConditionStatus.FALSE, CAUSES[facts.obstacle.cause], facts.obstacle.message)
    if facts.deleting:
        message = "the schedule was deleted, and remains until its finalizers are removed: no tests are started"
        return Finding(ConditionStatus.FALSE, ScheduleReason.SCHEDULE_DELETED, message)
    if facts.spec.suspend:
        return Finding(ConditionStatus.TRUE, ScheduleReason.SUSPENDED, "spec.suspend is set: no tests are started")
    if schedule_times.next_time is None:
        message = "the schedule has no time in the future"
        return Finding(ConditionStatus.FALSE, ScheduleReason.NEVER_FIRES, message)
    return Finding(ConditionStatus.TRUE, ScheduleReason.SCHEDULED, "tests are started as scheduled")


def _passed(last: _LastRun) -> Finding:
    match last.verdict:
        case None:
            return Finding(ConditionStatus.UNKNOWN, ScheduleReason.NO_RUN_YET, "no run has ended yet")
        case Verdict.PASSED:
            return Finding(ConditionStatus.TRUE, ScheduleReason.LAST_RUN_PASSED, "the last run passed")
        case Verdict.FAILED:
            return Finding(ConditionStatus.FALSE, ScheduleReason.LAST_RUN_FAILED, "the last run failed")
        case other:
            message = f"the last run says nothing about the server: its verdict is {other}"
            return Finding(ConditionStatus.UNKNOWN, ScheduleReason.LAST_RUN_UNDECIDED, message)
