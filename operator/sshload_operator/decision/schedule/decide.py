"""What must be done for a schedule: a pure function of its spec, its tests, what is remembered, and the time.

A decision that creates a test writes no status: it is executed, and then the next decision is made with the test. So a
status never mentions a test that was not created, and an operator that was killed in between finds the test by its name
and does not create it twice.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sshload_operator.api.kinds import SCHEDULE
from sshload_operator.api.names import label_value
from sshload_operator.api.schedule.spec import ConcurrencyPolicy, ScheduleSpec
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.api.shapes.forms import timestamp_text
from sshload_operator.api.status.schedule import ScheduleReason
from sshload_operator.decision.life_cycle import changed_status
from sshload_operator.decision.owner import OwnerDecision
from sshload_operator.decision.schedule.facts import (
    SCHEDULED_ANNOTATION,
    ScheduledTest,
    ScheduleFacts,
    ScheduleIdentity,
    child_name,
)
from sshload_operator.decision.schedule.starts import MANY_MISSED, Starts, is_too_late, starts
from sshload_operator.decision.schedule.status import CAUSES, ScheduleTimes, status, surplus
from sshload_operator.manifests.labels import SCHEDULE_LABEL
from sshload_operator.manifests.owned_test import Owner, owned_test
from sshload_operator.state import Announcement, Manifest

_SHORTEST_WAIT_S: Final = 0.01
_AFTER_REFUSAL_S: Final = 30.0


@dataclass(frozen=True, kw_only=True)
class ScheduleSubject(ScheduleFacts):
    """A schedule with the rules of a decision about it."""

    def refuse(self) -> OwnerDecision | None:
        """Report a spec that cannot be read, once for each generation."""
        if not isinstance(self.spec, SpecError):
            return None
        occasion = str(self.schedule.generation)
        said = Announcement(ScheduleReason.INVALID_SPEC, str(self.spec), warning=True, occasion=occasion)
        return self._write(ScheduleTimes(self._last_time, next_time=None), None, (said,))

    def hold_back(self) -> OwnerDecision | None:
        """Start no tests while the schedule is suspended, or remains for its finalizers."""
        if isinstance(self.spec, SpecError) or not (self.spec.suspend or self.deleting):
            return None
        return self._write(ScheduleTimes(self._last_time, next_time=None), None)

    def go_on(self) -> OwnerDecision:
        """Start the test that is due, or wait for the next start."""
        spec = self.spec
        if isinstance(spec, SpecError):
            raise spec
        times = starts(self.schedule, spec, self.remembered.status, self.now)
        due = times.due(self.now)
        if due is None:
            return self._wait(times, self._last_time)
        if any(test.name == child_name(self.schedule.name, due) for test in self.tests):
            return self._wait(Starts(times.calendar, due, times.jitter, times.uid), due)
        return self._start(spec, times, due)

    @property
    def _last_time(self) -> datetime | None:
        return self.remembered.status.last_schedule_time

    def _start(self, spec: ScheduleSpec, times: Starts, due: datetime) -> OwnerDecision:
        if is_too_late(spec, times.begin(due), self.now):
            message = f"the test of {due:%Y-%m-%dT%H:%M:%SZ} was not started within spec.startingDeadlineSeconds"
            return self._wait(times, self._last_time, _said(due, ScheduleReason.MISSED, message, warning=True))
        active = [test for test in self.tests if test.active]
        if active and spec.concurrency is ConcurrencyPolicy.FORBID:
            message = f"{active[0].name} is still under way, and spec.concurrencyPolicy is Forbid"
            return self._wait(times, self._last_time, _said(due, ScheduleReason.ALREADY_ACTIVE, message, warning=False))
        if self.obstacle is not None:
            said = _said(due, CAUSES[self.obstacle.cause], self.obstacle.message, warning=True)
            return self._wait(times, self._last_time, said, at_most_s=_AFTER_REFUSAL_S)
        is_replacing = spec.concurrency is ConcurrencyPolicy.REPLACE
        replaced = tuple(test for test in active if not test.deleting) if is_replacing else ()
        created = child(self.schedule, spec, due)
        words = f"created the test {created['metadata']['name']}"
        news = (_said(due, ScheduleReason.CREATED, words, warning=False), *self._many_missed(spec, times, due))
        return OwnerDecision(
            delete=replaced, create=created, announcements=(*_deleted(replaced), *news), requeue_after_s=0.0
        )

    def _many_missed(self, spec: ScheduleSpec, times: Starts, due: datetime) -> tuple[Announcement, ...]:
        window = spec.starting_deadline + spec.jitter if spec.starting_deadline is not None else None
        count = times.missed(due, self.now - window if window is not None else times.earliest)
        if count <= MANY_MISSED:
            return ()
        message = (
            f"more than {MANY_MISSED} starts were missed, and one test makes up for them."
            " Set or decrease spec.startingDeadlineSeconds, or check the clocks"
        )
        return (_said(due, ScheduleReason.TOO_MANY_MISSED, message, warning=True),)

    def _wait(
        self,
        times: Starts,
        last_schedule_time: datetime | None,
        *said: Announcement,
        at_most_s: float | None = None,
    ) -> OwnerDecision:
        following = times.next(self.now)
        waits = [] if at_most_s is None else [at_most_s]
        if following is not None:
            waits.append(max(_SHORTEST_WAIT_S, (following[1] - self.now) / timedelta(seconds=1)))
        schedule_times = ScheduleTimes(last_schedule_time, following[0] if following is not None else None)
        return self._write(schedule_times, min(waits, default=None), said)

    def _write(
        self,
        schedule_times: ScheduleTimes,
        requeue_after_s: float | None,
        said: tuple[Announcement, ...] = (),
    ) -> OwnerDecision:
        old = () if isinstance(self.spec, SpecError) else surplus(self.spec, self.tests)
        whole = status(self, schedule_times, [test for test in self.tests if test not in old])
        return OwnerDecision(
            status=changed_status(self.remembered, whole),
            discard=old,
            announcements=(*said, *_deleted(old)),
            requeue_after_s=requeue_after_s,
        )


def _deleted(tests: tuple[ScheduledTest, ...]) -> tuple[Announcement, ...]:
    return tuple(
        _said(test.time, ScheduleReason.DELETED, f"deleted the test {test.name}", warning=False) for test in tests
    )


def _said(time: datetime, reason: ScheduleReason, message: str, *, warning: bool) -> Announcement:
    return Announcement(reason, message, warning=warning, occasion=timestamp_text(time))


def child(schedule: ScheduleIdentity, spec: ScheduleSpec, time: datetime) -> Manifest:
    """Return the test to be created from the template."""
    labels = {**spec.template.labels, SCHEDULE_LABEL: label_value(schedule.name)}
    annotations = {**spec.template.annotations, SCHEDULED_ANNOTATION: time.astimezone(spec.zone).isoformat()}
    owner = Owner(SCHEDULE, schedule.namespace, schedule.name, schedule.uid)
    return owned_test(owner, child_name(schedule.name, time), spec.template.spec, labels, annotations)
