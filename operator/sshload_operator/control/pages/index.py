"""What the pages know of each object: a line for the lists, and the course so far of a run that is under way.

It comes from watch events, so that no request for a page makes the operator list anything. Texts are cut: anybody who
may write a status decides how long they are.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from sshload_contract.shortened import shortened

from sshload_operator.api.kinds import COMPARISON, KINDS, SCHEDULE, TEST, Kind
from sshload_operator.api.shapes.forms import timestamp_text
from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.api.status.comparison import ComparisonStatus
from sshload_operator.api.status.head import written
from sshload_operator.api.status.load_test import Progress, TestStatus
from sshload_operator.api.status.schedule import ScheduleCondition, ScheduleStatus
from sshload_operator.state import Phase

Key = tuple[str, str]
MOST_POINTS: Final = 300
_TEXT_CHARACTERS: Final = 300
_TREND: Final = 30


@dataclass(frozen=True, slots=True)
class Line:
    """One object in a list. `is_live`: a run of it is under way. `is_over`: it has ended.

    `trend` has a schedule's figures, the oldest first. `version` is the object's resourceVersion: a page made from it
    is stale once the object has another version.
    """

    namespace: str
    name: str
    uid: str
    version: str
    is_live: bool
    is_over: bool
    state: str
    passed: bool | None
    message: str
    time: str
    figures: Mapping[str, float | str] = field(default_factory=dict)
    trend: tuple[float | None, ...] = ()


@dataclass(slots=True)
class Course:
    """A run that is under way, by uid and number: how it stands, and points.

    A point is [seconds, completed/s, median ms, errors %].
    """

    of: tuple[str, int]
    standing: dict[str, Any]
    points: list[tuple[float | None, ...]] = field(default_factory=list)

    def add(self, progress: Progress) -> None:
        """Add the present progress of the run. With more than MOST_POINTS points, every second one is dropped."""
        at_s = progress.elapsed_seconds
        if not self.points or (self.points[-1][0] or 0.0) < at_s:
            self.points.append((at_s, progress.completed_rate, progress.recent_p50_ms, progress.error_percent))
        if len(self.points) > MOST_POINTS:
            del self.points[1::2]


class Index:
    """All objects of all kinds, by namespace and name. Only the event loop's thread uses it."""

    def __init__(self) -> None:
        self._lines: dict[str, dict[Key, Line]] = {kind.plural: {} for kind in KINDS}
        self._courses: dict[Key, Course] = {}
        self._followers: dict[Key, set[asyncio.Event]] = {}

    def changed(self, plural: str, event_type: str | None, body: Mapping[str, Any]) -> None:
        """Take in a watch event of an object."""
        key = (body["metadata"]["namespace"], body["metadata"]["name"])
        if event_type == "DELETED":
            line = self._lines[plural].get(key)
            if line is not None and line.uid == body["metadata"]["uid"]:  # a former object's end may be told late
                self._drop(plural, key)
            return
        if plural == TEST.plural:
            status = read_fitting(TestStatus, body.get("status"))
            self._lines[plural][key] = _test_line(body, status)
            self._follow(key, body["metadata"]["uid"], status)
        else:
            self._lines[plural][key] = _OWNER_LINES[plural](body)

    def forget(self, plural: str, is_gone: Callable[[Key], bool]) -> None:
        """Take in that objects of a kind are gone."""
        for key in filter(is_gone, tuple(self._lines.get(plural, ()))):
            self._drop(plural, key)

    def find(self, kind: Kind, key: Key) -> Line | None:
        """Return an object's line, None where there is none."""
        return self._lines[kind.plural].get(key)

    def lines(self, kind: Kind, namespace: str = "") -> Iterator[Line]:
        """Yield the objects of a kind, of one namespace or of all."""
        return (line for line in self._lines[kind.plural].values() if namespace in ("", line.namespace))

    def course(self, key: Key) -> Course | None:
        """Return how the run of a test stands, None where none is under way."""
        return self._courses.get(key)

    def follow(self, key: Key) -> asyncio.Event:
        """Return an event that is set whenever a test changes, until `unfollow`."""
        changed = asyncio.Event()
        self._followers.setdefault(key, set()).add(changed)
        return changed

    def unfollow(self, key: Key, changed: asyncio.Event) -> None:
        """Stop setting an event that `follow` returned."""
        followers = self._followers.get(key, set())
        followers.discard(changed)
        if not followers:
            self._followers.pop(key, None)

    def _drop(self, plural: str, key: Key) -> None:
        del self._lines[plural][key]
        if plural == TEST.plural:
            self._courses.pop(key, None)
            self._tell(key)

    def _follow(self, key: Key, uid: str, status: TestStatus) -> None:
        if status.phase in (None, Phase.PENDING, Phase.FINISHED):
            self._courses.pop(key, None)
        else:
            course = self._courses.get(key)
            if course is None or course.of != (uid, status.run):
                course = self._courses[key] = Course((uid, status.run), {})
            if status.progress is not None:
                course.add(status.progress)
            course.standing = {
                "phase": str(status.phase),
                "message": shortened(status.message, _TEXT_CHARACTERS),
                **({} if status.progress is None else written(status.progress)),
            }
        self._tell(key)

    def _tell(self, key: Key) -> None:
        for changed in self._followers.get(key, ()):
            changed.set()


def _test_line(body: Mapping[str, Any], status: TestStatus) -> Line:
    measured = status.results or status.progress
    figures = {
        "completed/s": None if measured is None else measured.completed_rate,
        "p99 ms": None if measured is None else measured.p99_ms,
        "errors %": None if measured is None else measured.error_percent,
        "capacity": status.capacity_in_words,
    }
    return _line(
        body,
        is_live=status.phase not in (None, Phase.PENDING, Phase.FINISHED),
        is_over=status.is_finished,
        word=str(status.verdict or status.phase or Phase.PENDING),
        message=status.message,
        time=status.completion_time or status.start_time,
        figures=figures,
    )


def _comparison_line(body: Mapping[str, Any]) -> Line:
    status = read_fitting(ComparisonStatus, body.get("status"))
    return _line(
        body,
        is_live=bool(status.phase) and not status.is_finished,
        is_over=status.is_finished,
        word=str(status.verdict or status.phase or Phase.PENDING),
        message=status.message,
        time=status.completion_time or status.start_time,
        figures={"tests": status.progress or None},
    )


def _schedule_line(body: Mapping[str, Any]) -> Line:
    status = read_fitting(ScheduleStatus, body.get("status"))
    message = next((one.message for one in status.conditions if one.type is ScheduleCondition.READY), "")
    last = status.trend[-1] if status.trend else None
    searches = last is not None and last.capacity_in_words is not None
    return _line(
        body,
        is_live=bool(status.active),
        is_over=False,
        word=str(status.last_verdict or "no run yet"),
        message=message,
        time=status.last_completion_time,
        figures={
            "p99 ms": None if last is None else last.p99_ms,
            "capacity": None if last is None else last.capacity_in_words,
        },
        trend=tuple(point.capacity if searches else point.p99_ms for point in status.trend[-_TREND:]),
    )


def _line(  # noqa: PLR0913 - what the kinds say of their own
    body: Mapping[str, Any],
    *,
    is_live: bool,
    is_over: bool,
    word: str,
    message: str,
    time: datetime | None,
    figures: Mapping[str, float | str | None],
    trend: Sequence[float | None] = (),
) -> Line:
    metadata = body["metadata"]
    return Line(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        version=str(metadata["resourceVersion"]),
        is_live=is_live,
        is_over=is_over,
        state=word,
        passed={"Passed": True, "Conclusive": True, "Failed": False}.get(word),
        message=shortened(message, _TEXT_CHARACTERS),
        time="" if time is None else timestamp_text(time),
        figures={name: value for name, value in figures.items() if value is not None},
        trend=tuple(trend),
    )


_OWNER_LINES: Final[Mapping[str, Callable[[Mapping[str, Any]], Line]]] = {
    COMPARISON.plural: _comparison_line,
    SCHEDULE.plural: _schedule_line,
}
