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
from sshload_operator.api.forms import timestamp_text
from sshload_operator.api.kinds import API_VERSION, SCHEDULE, TEST
from sshload_operator.api.names import label_value
from sshload_operator.api.schedule.spec import ConcurrencyPolicy, ScheduleSpec
from sshload_operator.api.schedule.words import ScheduleReason
from sshload_operator.api.status.head import written
from sshload_operator.decision.schedule.facts import (
    SCHEDULE_LABEL,
    SCHEDULED_ANNOTATION,
    ScheduledTest,
    ScheduleIdentity,
    ScheduleSituation,
    child_name,
)
from sshload_operator.decision.schedule.history import surplus
from sshload_operator.decision.schedule.starts import MANY_MISSED, Starts, is_too_late, starts
from sshload_operator.decision.schedule.status import ScheduleTimes, status
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


def decide(situation: ScheduleSituation) -> ScheduleDecision:
    """Return what is to be done now. Total: every combination of facts has a decision."""
    spec = situation.spec
    if isinstance(spec, SpecError):
        return _refused(situation, spec)
    times = starts(situation.schedule, spec, situation.remembered.status, situation.now)
    if spec.suspend:
        return _write_status(
            situation, ScheduleTimes(situation.remembered.status.last_schedule_time, next_time=None), None, ()
        )
    due = times.due(situation.now)
    if due is None:
        return _wait(situation, times, situation.remembered.status.last_schedule_time, ())
    if _find(situation, due) is not None:
        return _wait(situation, _served(times, due), due, ())
    return _start(situation, spec, times, due)


def _start(situation: ScheduleSituation, spec: ScheduleSpec, times: Starts, due: datetime) -> ScheduleDecision:
    last = situation.remembered.status.last_schedule_time
    if is_too_late(spec, times.begin(due), situation.now):
        message = f"the test of {due:%Y-%m-%dT%H:%M:%SZ} was not started within spec.startingDeadlineSeconds"
        return _wait(situation, times, last, (_said(due, ScheduleReason.MISSED, message, warning=True),))
    active = [test for test in situation.tests if test.active]
    if active and spec.concurrency is ConcurrencyPolicy.FORBID:
        message = f"{active[0].name} is still under way, and spec.concurrencyPolicy is Forbid"
        return _wait(situation, times, last, (_said(due, ScheduleReason.ALREADY_ACTIVE, message, warning=False),))
    if situation.obstacle is not None:
        said = _said(due, situation.obstacle.reason, situation.obstacle.message, warning=True)
        return _wait(situation, times, last, (said,), at_most_s=_AFTER_REFUSAL_S)
    is_replacing = spec.concurrency is ConcurrencyPolicy.REPLACE
    replaced = tuple(test for test in active if not test.deleting) if is_replacing else ()
    created = child(situation.schedule, spec, due)
    words = f"created the test {created['metadata']['name']}"
    news = (_said(due, ScheduleReason.CREATED, words, warning=False), *_many_missed(situation, spec, times, due))
    return ScheduleDecision(replaced, created, None, (), (*_deleted(replaced), *news), 0.0)


def _many_missed(situation: ScheduleSituation, spec: ScheduleSpec, times: Starts, due: datetime) -> tuple[Said, ...]:
    window = spec.starting_deadline + spec.jitter if spec.starting_deadline is not None else None
    count = times.missed(due, situation.now - window if window is not None else times.earliest)
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


def _find(situation: ScheduleSituation, time: datetime) -> ScheduledTest | None:
    name = child_name(situation.schedule.name, time)
    return next((test for test in situation.tests if test.name == name), None)


def _wait(
    situation: ScheduleSituation,
    times: Starts,
    last_schedule_time: datetime | None,
    said: tuple[Said, ...],
    at_most_s: float | None = None,
) -> ScheduleDecision:
    following = times.next(situation.now)
    waits = [] if at_most_s is None else [at_most_s]
    if following is not None:
        waits.append(max(_SHORTEST_WAIT_S, (following[1] - situation.now) / timedelta(seconds=1)))
    schedule_times = ScheduleTimes(last_schedule_time, following[0] if following is not None else None)
    return _write_status(situation, schedule_times, min(waits, default=None), said)


def _write_status(
    situation: ScheduleSituation, schedule_times: ScheduleTimes, requeue_after_s: float | None, said: tuple[Said, ...]
) -> ScheduleDecision:
    old = () if isinstance(situation.spec, SpecError) else surplus(situation.spec, situation.tests)
    whole = written(status(situation, schedule_times, [test for test in situation.tests if test not in old]))
    changed = whole if whole != situation.remembered.written else None
    return ScheduleDecision((), None, changed, old, (*said, *_deleted(old)), requeue_after_s)


def _refused(situation: ScheduleSituation, error: SpecError) -> ScheduleDecision:
    said = Announcement(ScheduleReason.INVALID_SPEC, str(error), warning=True)
    schedule_times = ScheduleTimes(situation.remembered.status.last_schedule_time, next_time=None)
    return _write_status(situation, schedule_times, None, ((str(situation.schedule.generation), said),))


def _said(time: datetime, reason: ScheduleReason, message: str, *, warning: bool) -> Said:
    return timestamp_text(time), Announcement(reason, message, warning=warning)


def child(schedule: ScheduleIdentity, spec: ScheduleSpec, time: datetime) -> Manifest:
    """Return the test to be created: the template's, with the schedule as its controller."""
    return {
        "apiVersion": API_VERSION,
        "kind": TEST.name,
        "metadata": {
            "name": child_name(schedule.name, time),
            "namespace": schedule.namespace,
            "labels": {**spec.template.labels, SCHEDULE_LABEL: label_value(schedule.name)},
            "annotations": {
                **spec.template.annotations,
                SCHEDULED_ANNOTATION: time.astimezone(spec.zone).isoformat(),
            },
            "ownerReferences": [
                {
                    "apiVersion": API_VERSION,
                    "kind": SCHEDULE.name,
                    "name": schedule.name,
                    "uid": schedule.uid,
                    "controller": True,
                    "blockOwnerDeletion": False,
                }
            ],
        },
        "spec": spec.template.spec,
    }
