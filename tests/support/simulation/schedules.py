"""A schedule in virtual time: its object, its tests, a clock that tests set, and an operator that may be away.

It plays the API server and the tests' own runs; decisions are made and carried out as the operator does.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from typing import Any

from specs.small import SMALL
from sshload_operator.api.schedule.spec import ScheduleSpec, parse_schedule
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.api.status.head import remembered
from sshload_operator.api.status.schedule import ScheduleStatus
from sshload_operator.control.live.owner_pass import execute
from sshload_operator.decision.life_cycle import decide
from sshload_operator.decision.owner import Obstacle, OwnedTest, OwnerDecision, OwnerSubject
from sshload_operator.decision.schedule.decide import ScheduleSubject
from sshload_operator.decision.schedule.facts import ScheduledTest, ScheduleIdentity, scheduled_test
from sshload_operator.state import Announcement

UID = "11111111-2222-3333-4444-555555555555"


def at(text: str) -> datetime:
    """Return an instant: `10:00` is that of 1 June 2026, else as ISO 8601 has it, in UTC where it says nothing."""
    whole = f"2026-06-01T{text}" if "T" not in text else text
    time = datetime.fromisoformat(whole)
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def schedule_spec(**fields: Any) -> dict[str, Any]:
    """Return the spec of a schedule as it is written: every hour, unless `fields` say otherwise."""
    return {"schedule": "0 * * * *", "testTemplate": {"spec": SMALL}, **fields}


@dataclass(slots=True)
class SimSchedule:
    """One schedule and its world. `tests` are bodies as the API server has them, `events` reasons in their order."""

    created: datetime
    now: datetime
    spec: dict[str, Any]
    status: Mapping[str, Any] = field(default_factory=dict)
    generation: int = 1
    tests: dict[str, dict[str, Any]] = field(default_factory=dict)
    made: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    obstacle: Obstacle | None = None
    duration: timedelta | None = None
    last: OwnerDecision | None = None

    @property
    def starts(self) -> list[str]:
        """The scheduled times of all tests that were ever made, in the order of their making."""
        return [f"{EPOCH + timedelta(minutes=int(name.rpartition('-')[2])):%dT%H:%M}" for name in self.made]

    @property
    def active(self) -> list[str]:
        """The names of the tests that the status says are under way."""
        return [found["name"] for found in self.status.get("active", ())]

    def go_to(self, time: str) -> "SimSchedule":
        """Let the time pass with the operator at work: passes whenever the last asked for one, and as tests end."""
        until = at(time)
        while True:
            self.run_pass()
            ends = [test["ends"] for test in self.tests.values() if "ends" in test and self.now < test["ends"] <= until]
            wait_s = self.last.requeue_after_s if self.last is not None else None
            asked = [] if wait_s is None else [self.now + timedelta(seconds=wait_s)]
            following = min([*ends, *asked], default=None)
            if following is None or following > until:
                break
            self.now = following
            self._end_tests()
        self.now = until
        return self.run_pass()

    def away_until(self, time: str) -> "SimSchedule":
        """Let the time pass, or the clock be set, with the operator away."""
        self.now = at(time)
        self._end_tests()
        return self

    def run_pass(self, *, killed_after_create: bool = False) -> "SimSchedule":
        """Do one pass."""
        passing = execute(self._subject(), _World(self, killed_after_create))
        try:
            passing.send(None)  # nothing in it waits
        except StopIteration as done:
            self.last = done.value
            assert self.last is not None
            assert self.last.requeue_after_s != 0.0, "a pass does not come to an end"
        except _KilledError:
            return self
        return self

    def change(self, **fields: Any) -> "SimSchedule":
        """Change the spec, and let the operator see it."""
        self.spec = {**self.spec, **fields}
        self.generation += 1
        return self.run_pass()

    def finish(self, name: str, verdict: str = "Passed", **status: Any) -> "SimSchedule":
        """Let a test come to its end, and the operator see it."""
        self._finish(name, verdict, **status)
        return self.run_pass()

    def subject(self) -> ScheduleSubject:
        """Return the facts of the next decision."""
        return replace(self._subject(), tests=self.observed())

    def observed(self) -> tuple[ScheduledTest, ...]:
        """Return the tests as the operator sees them."""
        return tuple(_read(json.dumps(test, default=datetime.isoformat)) for test in self.tests.values())

    def _end_tests(self) -> None:
        for name, test in self.tests.items():
            if "ends" in test and test["ends"] <= self.now and test["status"].get("phase") != "Finished":
                self._finish(name, "Passed")

    def _finish(self, name: str, verdict: str, **status: Any) -> None:
        ended = {"phase": "Finished", "verdict": verdict, "completionTime": f"{self.now:%Y-%m-%dT%H:%M:%SZ}"}
        self.tests[name]["status"] = {**ended, **status}

    def _create(self, manifest: Mapping[str, Any]) -> None:
        name = manifest["metadata"]["name"]
        assert name not in self.made, f"{name} is made twice"
        created = f"{self.now:%Y-%m-%dT%H:%M:%SZ}"
        metadata = {**manifest["metadata"], "uid": f"uid-of-{name}", "creationTimestamp": created}
        self.tests[name] = {**manifest, "metadata": metadata, "status": {}}
        if self.duration is not None:
            self.tests[name]["ends"] = self.now + self.duration
        self.made.append(name)

    def _subject(self) -> ScheduleSubject:
        return ScheduleSubject(
            now=self.now,
            schedule=ScheduleIdentity("ns", "nightly", UID, self.generation, self.created),
            spec=_parsed(json.dumps(self.spec)),
            remembered=remembered(ScheduleStatus, self.status),
        )


class _KilledError(Exception):
    """The operator was killed between two deeds."""


@dataclass(slots=True)
class _World:
    """The simulated cluster as the world in which decisions are carried out."""

    cluster: SimSchedule
    killed_after_create: bool

    def tests(self) -> Sequence[ScheduledTest]:
        return self.cluster.observed()

    async def decide(self, subject: OwnerSubject[ScheduledTest]) -> OwnerDecision:
        self.cluster.last = decide(subject)
        return self.cluster.last

    async def pods(self) -> Sequence[str]:
        raise AssertionError("a schedule looks for no pods, but it looked for some")

    async def look_again(self) -> bool:
        return True

    async def is_there(self) -> bool:
        return True

    async def create(self, test: Mapping[str, Any]) -> Obstacle | None:
        if self.cluster.obstacle is not None:
            return self.cluster.obstacle
        self.cluster._create(test)
        if self.killed_after_create:
            raise _KilledError
        return None

    async def abort(self, test: OwnedTest) -> None:
        raise AssertionError(f"a schedule aborts nothing, but it aborted {test.name}")

    async def delete(self, test: OwnedTest) -> None:
        del self.cluster.tests[test.name]
        self.cluster.deleted.append(test.name)

    async def write_status(self, status: Mapping[str, Any]) -> bool:
        self.cluster.status = status
        return True

    async def announce(self, announcements: Sequence[Announcement]) -> None:
        self.cluster.events += [str(said.reason) for said in announcements]


@cache
def _parsed(text: str) -> ScheduleSpec | SpecError:
    """Parse a spec; the same few are parsed thousands of times."""
    try:
        return parse_schedule(json.loads(text))
    except SpecError as error:
        return error


@lru_cache(maxsize=1024)
def _read(test: str) -> ScheduledTest:
    """Read a test; each pass reads all of them, and few have changed."""
    return scheduled_test(json.loads(test))


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def schedule(created: str = "09:55", **fields: Any) -> SimSchedule:
    """Return a schedule that was created at this time, which it is now. Its tests end when they are told to."""
    return SimSchedule(at(created), at(created), schedule_spec(**fields))


def quick(created: str = "09:55", **fields: Any) -> SimSchedule:
    """Return a schedule whose tests take a minute."""
    found = schedule(created, **fields)
    found.duration = timedelta(minutes=1)
    return found
