"""Which ends of runs must be posted to the webhook, and the content of each POST. Pure.

An annotation of the object says which of its ends was delivered last. So an operator that was killed between a verdict
and its delivery finds the end again, and delivers it at least once. The id of an event is the same each time, so that
the receiver can recognize a repetition.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Final

from sshload_contract.declared import Absent, Text
from sshload_contract.shortened import shortened

from sshload_operator.api.inert_text import printable
from sshload_operator.api.kinds import API_VERSION, COMPARISON, GROUP, SCHEDULE, TEST, Kind
from sshload_operator.api.shapes.forms import timestamp_text
from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.api.status.comparison import ComparisonStatus
from sshload_operator.api.status.head import RunStatus, written
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.api.status.measured import figures_of_run
from sshload_operator.decision.owner import Owner, owner_of
from sshload_operator.planning.plan import EndEvent, Webhook
from sshload_operator.state import Phase

NOTIFIED_ANNOTATION: Final = f"{GROUP}/notified"
"""The end of the object's runs that the webhook accepted last, by the id of its event."""

_MESSAGE_CHARACTERS: Final = 1_000
_RUN_FIELDS: Final = ("run", "verdict", "reason", "message", "startTime", "completionTime", "progress")
_CAPACITY_FIELDS: Final = ("inWords", "value", "unit", "end", "lowerBound", "upperBound")
_FIRST_BACK_OFF_S: Final = 1.0
_LONGEST_BACK_OFF_S: Final = 300.0
_MOST_DOUBLINGS: Final = 20


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
    """The end of one run of an object, as a CloudEvent. Delivery is given up at `until`."""

    kind: Kind
    namespace: str
    name: str
    uid: str
    until: datetime
    event: Mapping[str, Any]

    @property
    def id(self) -> str:
        """The id of the event."""
        return str(self.event["id"])


def due(kind: Kind, body: Mapping[str, Any], webhook: Webhook, now: datetime) -> Notification | None:
    """Return the end of an object's newest run, None if there is none, nobody asked for it, or it was delivered."""
    metadata, status = body["metadata"], body.get("status")
    head = read_fitting(_Head, status)
    if not head.is_finished:
        return None
    owner = owner_of(metadata) if kind is TEST else None
    ended = _event(kind, owner)
    if ended not in webhook.events or head.completion_time is None:
        return None
    if webhook.namespaces and metadata["namespace"] not in webhook.namespaces:
        return None
    # Anyone who may write a status can put any time into it.
    until = min(head.completion_time, now) + timedelta(seconds=webhook.max_age_s)
    event_id = f"{metadata['uid']}/{head.run}/{timestamp_text(head.completion_time)}"
    delivered = (metadata.get("annotations") or {}).get(NOTIFIED_ANNOTATION)
    if until <= now or delivered == event_id:
        return None
    envelope = {
        "specversion": "1.0",
        "id": event_id,
        "source": f"/apis/{API_VERSION}/namespaces/{metadata['namespace']}/{kind.plural}/{metadata['name']}",
        "type": f"dev.sshload.{ended}.ended",
        "time": timestamp_text(head.completion_time),
        "datacontenttype": "application/json",
    }
    event = {**envelope, "data": _data(kind, metadata, status, owner)}
    return Notification(kind, metadata["namespace"], metadata["name"], metadata["uid"], until, event)


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


def _data(kind: Kind, metadata: Mapping[str, Any], status: Any, owner: Owner | None) -> Mapping[str, Any]:
    known = read_fitting(TestStatus if kind is TEST else ComparisonStatus, status)
    whole = written(known)
    found = {"kind": kind.name, **{name: metadata[name] for name in ("namespace", "name", "uid")}}
    if owner is not None:
        found["schedule"] = owner.name
    found |= _fields(whole, _RUN_FIELDS if kind is COMPARISON else _RUN_FIELDS[:-1])
    found["message"] = shortened(printable(str(whole.get("message", ""))), _MESSAGE_CHARACTERS)
    if "capacity" in whole:
        found["capacity"] = _fields(whole["capacity"], _CAPACITY_FIELDS)
    if isinstance(known, TestStatus) and known.results is not None:
        of_run = {one.name: one.value for one in figures_of_run(known)}
        found["results"] = {**of_run, **_fields(whole["results"], ("p99Ms",))}
    return found


def _fields(whole: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: whole[name] for name in names if name in whole}
