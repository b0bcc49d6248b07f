"""Which ends of runs must be told on a channel. Pure.

An annotation of the object says which of its ends the channel delivered last. So an operator that was killed between a
verdict and its delivery finds the end again, and delivers it at least once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum, unique
from typing import Annotated, Any, Final

from sshload_contract.declared import Absent, Default, Duration, Items, Text
from sshload_contract.names import ObjectName
from sshload_contract.shortened import shortened

from sshload_operator.api.inert_text import printable
from sshload_operator.api.kinds import COMPARISON, GROUP, SCHEDULE, TEST, Kind
from sshload_operator.api.shapes.forms import timestamp_text
from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.api.status.comparison import ComparisonStatus
from sshload_operator.api.status.head import RunStatus
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.manifests.owned_test import Owner, owner_of
from sshload_operator.state import Phase

_MESSAGE_CHARACTERS: Final = 1_000
_FIRST_BACK_OFF_S: Final = 1.0
_LONGEST_BACK_OFF_S: Final = 300.0
_MOST_DOUBLINGS: Final = 20


@unique
class EndEvent(StrEnum):
    """The end of which run: of a test that nothing made, of a test that a schedule made, of a comparison."""

    TEST = "test"
    SCHEDULE = "schedule"
    COMPARISON = "comparison"


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedEnds:
    """Which ends are told: the events, and of objects in which namespaces (none: all), while they are not too old."""

    events: Annotated[tuple[EndEvent, ...], Items(least=1, most=len(EndEvent))]
    namespaces: Annotated[tuple[ObjectName, ...], Items(most=1_000), Absent(())] = ()
    max_age_s: Annotated[float, Duration("1m", "720h"), Default("24h")]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Head(RunStatus):
    """The part of a status that shows the end of a run, for either kind. It is read from every version of an object."""

    phase: Annotated[str, Text(20), Absent("")] = ""

    @property
    def is_finished(self) -> bool:
        """Whether the run is over."""
        return self.phase == Phase.FINISHED


@dataclass(frozen=True, slots=True)
class Notification:
    """The end of one run of an object. Delivery is given up at `until`. `schedule` is what made the test, if one did.

    `id` is the same for each attempt.
    """

    event: EndEvent
    kind: Kind
    namespace: str
    name: str
    uid: str
    id: str
    time: datetime
    until: datetime
    schedule: str
    status: TestStatus | ComparisonStatus

    @property
    def message(self) -> str:
        """The status's message, in one line without control characters, and cut."""
        return shortened(printable(self.status.message), _MESSAGE_CHARACTERS)


def notified_annotation(channel: str) -> str:
    """Return the annotation with the end of an object's runs that a channel delivered last, by its id."""
    return f"{GROUP}/notified-{channel}"


def due(kind: Kind, body: Mapping[str, Any], channel: str, asked: WantedEnds, now: datetime) -> Notification | None:
    """Return the end of an object's newest run, None if there is none, nobody asked for it, or it was delivered."""
    metadata, status = body["metadata"], body.get("status")
    head = read_fitting(_Head, status)
    if not head.is_finished:
        return None
    owner = owner_of(metadata) if kind is TEST else None
    ended = _event(kind, owner)
    if ended not in asked.events or head.completion_time is None:
        return None
    if asked.namespaces and metadata["namespace"] not in asked.namespaces:
        return None
    # Anyone who may write a status can put any time into it.
    until = min(head.completion_time, now) + timedelta(seconds=asked.max_age_s)
    event_id = f"{metadata['uid']}/{head.run}/{timestamp_text(head.completion_time)}"
    delivered = (metadata.get("annotations") or {}).get(notified_annotation(channel))
    if until <= now or delivered == event_id:
        return None
    return Notification(
        event=ended,
        kind=kind,
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        id=event_id,
        time=head.completion_time,
        until=until,
        schedule="" if owner is None else owner.name,
        status=read_fitting(TestStatus, status) if kind is TEST else read_fitting(ComparisonStatus, status),
    )


def back_off_s(failures: int, chance: float) -> float:
    """Return how long to wait after this many failed attempts; `chance` (0 to 1) shortens it by up to a half."""
    longest_s = min(_FIRST_BACK_OFF_S * 2.0 ** min(failures - 1, _MOST_DOUBLINGS), _LONGEST_BACK_OFF_S)
    return longest_s * (1 - chance / 2)


def _event(kind: Kind, owner: Owner | None) -> EndEvent | None:
    """Return the type of the event; None for a test of a comparison, because the comparison has its own event."""
    if kind is COMPARISON:
        return EndEvent.COMPARISON
    if owner is None:
        return EndEvent.TEST
    return EndEvent.SCHEDULE if owner.kind is SCHEDULE else None
