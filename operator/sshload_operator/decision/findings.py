"""Conditions in Kubernetes' form: recomputed in every pass, whatever kind of object they are of.

Only the time of a transition is remembered; it moves exactly when a condition's status does.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeVar

from sshload_operator.state import Condition, ConditionStatus

MESSAGE_LIMIT_CHARACTERS = 4_000

Word = TypeVar("Word", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Finding:
    """What a condition is to say. `reason` is a word of the reasons of the object's kind."""

    status: ConditionStatus
    reason: StrEnum
    message: str


def conditions(findings: Mapping[Word, Finding], before: Iterable[Condition], now: datetime) -> tuple[Condition, ...]:
    """Return one condition per type, in the order of the findings."""
    known = {condition.type: condition for condition in before}
    return tuple(_condition(kind, finding, known.get(kind), now) for kind, finding in findings.items())


def read_conditions(
    items: Iterable[Mapping[str, Any]], types: type[StrEnum], reasons: type[StrEnum]
) -> Iterator[Condition]:
    """Yield the conditions of a status as it is written, but those with words that this version does not know."""
    for item in items:
        kind, held = word(types, item["type"]), word(ConditionStatus, item["status"])
        reason, since = word(reasons, item["reason"]), read_time(item["lastTransitionTime"])
        if kind is not None and held is not None and reason is not None and since is not None:
            yield Condition(kind, held, reason, item["message"], since)


def condition_body(condition: Condition) -> dict[str, Any]:
    """Return a condition as a status has it."""
    return {
        "type": str(condition.type),
        "status": str(condition.status),
        "reason": str(condition.reason),
        "message": condition.message,
        "lastTransitionTime": time_text(condition.last_transition_time),
    }


def word(kind: type[Word], text: str | None) -> Word | None:
    """Return the word of an enumeration, None where it has none such."""
    try:
        return kind(text) if text is not None else None
    except ValueError:
        return None


def read_time(text: str | None) -> datetime | None:
    """Return a time that a status has, None where it has none, or one that the API server takes and Python does not.

    Such as the year 0, a zone 99 hours away, or a small `t`: nobody but a person writes these.
    """
    try:
        return datetime.fromisoformat(text).astimezone(UTC) if text else None
    except (ValueError, OverflowError):
        return None


def time_text(time: datetime | None) -> str | None:
    """Return a time as Kubernetes writes it, in whole seconds of UTC."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if time is not None else None


def _condition(kind: StrEnum, finding: Finding, before: Condition | None, now: datetime) -> Condition:
    same = before is not None and before.status is finding.status
    since = before.last_transition_time if before is not None and same else now
    message = finding.message[:MESSAGE_LIMIT_CHARACTERS]
    return Condition(kind, finding.status, finding.reason, message, last_transition_time=since)
