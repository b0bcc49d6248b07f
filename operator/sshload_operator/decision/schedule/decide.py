"""What is to be done about a schedule: a pure function of its spec, its tests, what is remembered, and the time.

A decision that makes a test writes no status: it is carried out, and then decided anew by what is there. So a
status never speaks of a test that was not made; and an operator that was killed in between finds the test by its name,
and does not make it twice.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from sshload_operator.api.errors import SpecError
from sshload_operator.api.schedule.spec import ConcurrencyPolicy, ScheduleSpec
from sshload_operator.decision.findings import time_text
from sshload_operator.decision.schedule.child import child
from sshload_operator.decision.schedule.facts import Question, ScheduledTest, child_name
from sshload_operator.decision.schedule.history import surplus
from sshload_operator.decision.schedule.starts import MANY_MISSED, Starts, is_too_late, starts
from sshload_operator.decision.schedule.status import Standing, status
from sshload_operator.decision.schedule.words import ScheduleReason
from sshload_operator.state import Announcement, Manifest

_SHORTEST_WAIT_S: Final = 0.01
_AFTER_REFUSAL_S: Final = 30.0

# What is to be said, and the occasion on which it is said once: a scheduled time, or a generation of the spec.
Said: TypeAlias = tuple[str, Announcement]


@dataclass(frozen=True, slots=True)
class ScheduleDecision:
    """What is to be done, in this order: delete what is replaced, create, write the status, announce, discard.

    `status` is the whole status as it is patched, None where it stands already or where a look at what was made comes
    first. `discard` are the tests beyond the limits, whose verdicts the status remembers. `requeue_after_s` is the time
    to the next pass when nothing happens before; None: wait for an event.
    """

    replace: tuple[ScheduledTest, ...]
    create: Manifest | None
    status: Mapping[str, Any] | None
    discard: tuple[ScheduledTest, ...]
    announcements: tuple[Said, ...]
    requeue_after_s: float | None


def decide(asked: Question) -> ScheduleDecision:
    """Return what is to be done now. Total: every combination of facts has a decision."""
    spec = asked.spec
    if isinstance(spec, SpecError):
        return _refused(asked, spec)
    times = starts(asked.schedule, spec, asked.memory, asked.now)
    if spec.suspend:
        return _standing(asked, Standing(asked.memory.last_schedule_time, next_time=None), None, ())
    due = times.due(asked.now)
    if due is None:
        return _wait(asked, times, asked.memory.last_schedule_time, ())
    if _find(asked, due) is not None:
        return _wait(asked, _served(times, due), due, ())
    return _start(asked, spec, times, due)


def _start(asked: Question, spec: ScheduleSpec, times: Starts, due: datetime) -> ScheduleDecision:
    last = asked.memory.last_schedule_time
    if is_too_late(spec, times.begin(due), asked.now):
        message = f"the test of {due:%Y-%m-%dT%H:%M:%SZ} was not started within spec.startingDeadlineSeconds"
        return _wait(asked, times, last, (_said(due, ScheduleReason.MISSED, message, warning=True),))
    active = [test for test in asked.tests if test.active]
    if active and spec.concurrency is ConcurrencyPolicy.FORBID:
        message = f"{active[0].name} is still under way, and spec.concurrencyPolicy is Forbid"
        return _wait(asked, times, last, (_said(due, ScheduleReason.ALREADY_ACTIVE, message, warning=False),))
    if asked.obstacle is not None:
        said = _said(due, asked.obstacle.reason, asked.obstacle.message, warning=True)
        return _wait(asked, times, last, (said,), at_most_s=_AFTER_REFUSAL_S)
    is_replacing = spec.concurrency is ConcurrencyPolicy.REPLACE
    replaced = tuple(test for test in active if not test.deleting) if is_replacing else ()
    created = child(asked.schedule, spec, due)
    words = f"created the test {created['metadata']['name']}"
    news = (_said(due, ScheduleReason.CREATED, words, warning=False), *_many_missed(asked, spec, times, due))
    return ScheduleDecision(replaced, created, None, (), (*_deleted(replaced), *news), 0.0)


def _many_missed(asked: Question, spec: ScheduleSpec, times: Starts, due: datetime) -> tuple[Said, ...]:
    window = spec.starting_deadline + spec.jitter if spec.starting_deadline is not None else None
    count = times.missed(due, asked.now - window if window is not None else times.earliest)
    if count <= MANY_MISSED:
        return ()
    message = (
        f"more than {MANY_MISSED} starts were missed, and one test makes up for them."
        " Set or decrease spec.startingDeadlineSeconds, or check the clocks"
    )
    return (_said(due, ScheduleReason.TOO_MANY_MISSED, message, warning=True),)


def _deleted(tests: tuple[ScheduledTest, ...]) -> tuple[Said, ...]:
    return tuple(
        _said(test.time, ScheduleReason.DELETED, f"deleted the test {test.name}", warning=False) for test in tests
    )


def _served(times: Starts, due: datetime) -> Starts:
    return Starts(times.calendar, due, times.jitter, times.uid)


def _find(asked: Question, time: datetime) -> ScheduledTest | None:
    name = child_name(asked.schedule.name, time)
    return next((test for test in asked.tests if test.name == name), None)


def _wait(
    asked: Question,
    times: Starts,
    last_schedule_time: datetime | None,
    said: tuple[Said, ...],
    at_most_s: float | None = None,
) -> ScheduleDecision:
    following = times.next(asked.now)
    waits = [] if at_most_s is None else [at_most_s]
    if following is not None:
        waits.append(max(_SHORTEST_WAIT_S, (following[1] - asked.now) / timedelta(seconds=1)))
    standing = Standing(last_schedule_time, following[0] if following is not None else None)
    return _standing(asked, standing, min(waits, default=None), said)


def _standing(
    asked: Question, standing: Standing, requeue_after_s: float | None, said: tuple[Said, ...]
) -> ScheduleDecision:
    old = () if isinstance(asked.spec, SpecError) else surplus(asked.spec, asked.tests)
    whole = status(asked, standing, [test for test in asked.tests if test not in old])
    changed = whole if whole != asked.memory.written else None
    return ScheduleDecision((), None, changed, old, (*said, *_deleted(old)), requeue_after_s)


def _refused(asked: Question, error: SpecError) -> ScheduleDecision:
    said = Announcement(ScheduleReason.INVALID_SPEC, str(error), warning=True)
    standing = Standing(asked.memory.last_schedule_time, next_time=None)
    return _standing(asked, standing, None, ((str(asked.schedule.generation), said),))


def _said(time: datetime, reason: ScheduleReason, message: str, *, warning: bool) -> Said:
    return time_text(time) or "", Announcement(reason, message, warning=warning)
