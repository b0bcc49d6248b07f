"""Conditions in Kubernetes' form: recomputed in every pass, whatever kind of object they are of.

Only the time of a transition is remembered; it moves exactly when a condition's status does.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sshload_contract.thresholds import ThresholdResult
from sshload_contract.vocabulary import Verdict

from sshload_operator.api.status.conditions import Condition, Word
from sshload_operator.api.status.load_test import BaselineStatus
from sshload_operator.state import ConditionStatus, Reason

MESSAGE_LIMIT_CHARACTERS = 4_000


@dataclass(frozen=True, slots=True)
class Finding:
    """What a condition is to say. `reason` is a word of the reasons of the object's kind."""

    status: ConditionStatus
    reason: StrEnum
    message: str


def conditions(
    findings: Mapping[Word, Finding], before: Iterable[Condition[Word]], now: datetime
) -> tuple[Condition[Word], ...]:
    """Return one condition per type, in the order of the findings."""
    known = {condition.type: condition for condition in before}
    return tuple(_condition(kind, finding, known.get(kind), now) for kind, finding in findings.items())


def _condition(kind: Word, finding: Finding, before: Condition[Word] | None, now: datetime) -> Condition[Word]:
    same = before is not None and before.status is finding.status
    since = before.last_transition_time if before is not None and same else now
    message = finding.message[:MESSAGE_LIMIT_CHARACTERS]
    return Condition(kind, finding.status, finding.reason, message, last_transition_time=since)


Conclusion = tuple[Verdict, Reason, str]


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on a summary. `baseline` is the test that had a say in it, None where none had."""

    verdict: Verdict
    reason: Reason
    message: str
    thresholds: tuple[ThresholdResult, ...]
    baseline: BaselineStatus | None = None
