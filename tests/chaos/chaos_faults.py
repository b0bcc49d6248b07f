"""What befalls an operator: killed at a write, answered wrongly, late or not at all, or told too little by a watch.

A fault is made again for each run. `reached` says whether its moment came at all.
"""

import asyncio
import re
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from api_proxy import ApiProxy, ApiRequest, Meddling, Write
from operator_process import OperatorProcess

FOR_A_WHILE_S = 4.0
_RUN_ID = re.compile(r"(?<=-)[0-9a-f]{10}(?=-|$)")
_DIGEST = re.compile(r"\.[0-9a-f]{12}$")


class Fault(Protocol):
    """One thing that goes wrong in a run."""

    reached: bool

    def befall(self, proxy: ApiProxy, operator: OperatorProcess, /) -> None:
        """Let it go wrong from now on."""


@dataclass(frozen=True, slots=True, order=True)
class Point:
    """A request as it can be found again in another run: the nth of its verb for an object of this name."""

    verb: str
    resource: str
    name: str
    nth: int

    def __str__(self) -> str:
        return f"{self.verb} {self.resource} {self.name or '-'} #{self.nth}"


@dataclass(slots=True)
class Points:
    """Names each request of a run."""

    _seen: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def next(self, asked: ApiRequest) -> Point:
        """Return the point of the next request."""
        key = (asked.verb, asked.resource, named(asked.name))
        self._seen[key] += 1
        return Point(*key, self._seen[key])


def named(name: str) -> str:
    """Return the name that an object has in every run."""
    return _DIGEST.sub("", _RUN_ID.sub("RUN", name))


@dataclass(slots=True)
class Killed:
    """The operator is killed before or after one write."""

    point: Point
    before: bool
    reached: bool = False
    _points: Points = field(default_factory=Points)

    def __str__(self) -> str:
        return f"killed {'before' if self.before else 'after'} {self.point}"

    def befall(self, proxy: ApiProxy, operator: OperatorProcess, /) -> None:
        """Kill at the point."""

        def kill(write: Write) -> bool:
            if self.reached or self._points.next(write.asked) != self.point:
                return False
            operator.kill()
            self.reached = True
            return True

        if self.before:
            proxy.before = kill
        else:
            proxy.after = kill


@dataclass(slots=True)
class Answered:
    """A request is meddled with; for a while, all requests of its verb for objects of that name from then on."""

    point: Point
    meddling: Meddling
    for_a_while: bool
    reached: bool = False
    _points: Points = field(default_factory=Points)
    _until_s: float = 0.0

    def __str__(self) -> str:
        return f"{self.meddling} to {self.point}{' and for a while' if self.for_a_while else ''}"

    def befall(self, proxy: ApiProxy, _operator: OperatorProcess, /) -> None:
        """Meddle with the requests."""

        def meddle(asked: ApiRequest) -> Meddling | None:
            point = self._points.next(asked)
            if point == self.point:
                self.reached, self._until_s = True, time.monotonic() + (FOR_A_WHILE_S if self.for_a_while else 0.0)
                return self.meddling
            same = replace(point, nth=self.point.nth) == self.point
            return self.meddling if same and time.monotonic() < self._until_s else None

        proxy.meddle = meddle


@dataclass(frozen=True, slots=True, order=True)
class Told:
    """An event of a watch as it can be found again in another run: the nth of its type about an object."""

    resource: str
    type: str
    name: str
    nth: int

    def __str__(self) -> str:
        return f"{self.type} {self.resource} {self.name} #{self.nth}"


@dataclass(slots=True)
class Events:
    """Names each event of a run's watches."""

    _seen: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def next(self, watch: ApiRequest, event: Mapping[str, Any]) -> Told:
        """Return the name of the next event."""
        key = (watch.resource, event["type"], named(event["object"]["metadata"].get("name", "")))
        self._seen[key] += 1
        return Told(*key, self._seen[key])


@dataclass(slots=True)
class Heard:
    """Nothing goes wrong; which requests there were, and which events, is noted: the reference."""

    reached: bool = True
    requests: list[Point] = field(default_factory=list)
    events: list[Told] = field(default_factory=list)
    _points: Points = field(default_factory=Points)
    _events: Events = field(default_factory=Events)

    def __str__(self) -> str:
        return "nothing"

    def befall(self, proxy: ApiProxy, _operator: OperatorProcess, /) -> None:
        """Note what is asked and told."""

        def note(asked: ApiRequest) -> None:
            self.requests.append(self._points.next(asked))

        async def hear(watch: ApiRequest, event: Mapping[str, Any]) -> bool:
            if event["type"] != "BOOKMARK":
                self.events.append(self._events.next(watch, event))
            return True

        proxy.meddle, proxy.let_through = note, hear


@dataclass(slots=True)
class Dropped:
    """One event of a watch never arrives."""

    event: Told
    reached: bool = False
    _events: Events = field(default_factory=Events)

    def __str__(self) -> str:
        return f"dropped {self.event}"

    def befall(self, proxy: ApiProxy, _operator: OperatorProcess, /) -> None:
        """Drop the event."""

        async def drop(watch: ApiRequest, event: Mapping[str, Any]) -> bool:
            if event["type"] == "BOOKMARK" or self._events.next(watch, event) != self.event:
                return True
            self.reached = True
            return False

        proxy.let_through = drop


@dataclass(slots=True)
class Frozen:
    """One watch stands still from one event on, for a while; then it tells all."""

    event: Told
    for_s: float
    reached: bool = False
    _events: Events = field(default_factory=Events)
    _until_s: float = 0.0

    def __str__(self) -> str:
        return f"frozen for {self.for_s:g} s at {self.event}"

    def befall(self, proxy: ApiProxy, _operator: OperatorProcess, /) -> None:
        """Hold the events back."""

        async def hold(watch: ApiRequest, event: Mapping[str, Any]) -> bool:
            if watch.resource != self.event.resource or event["type"] == "BOOKMARK":
                return True
            if self._events.next(watch, event) == self.event:
                self.reached, self._until_s = True, time.monotonic() + self.for_s
            await asyncio.sleep(max(0.0, self._until_s - time.monotonic()))
            return True

        proxy.let_through = hold
