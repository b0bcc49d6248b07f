"""The life cycle of an object of any kind: the order of the questions of a decision, and what all statuses share.

The operator repeatedly observes an object, decides, and writes its status. A decision knows the past only from the
status, so an operator that was killed at any point continues where it was.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Generic, TypeVar

from sshload_contract.shortened import shortened

from sshload_operator.api.status.head import Condition, ObjectStatus, Remembered, RunStatus, Word, written
from sshload_operator.planning.plan import is_of_generation, is_same_spec
from sshload_operator.state import Announcement, ConditionStatus

MESSAGE_LIMIT_CHARACTERS: Final = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What must be done for an object of any kind; each kind adds its own actions.

    `status` is the whole status to be patched, None if it is unchanged. `requeue_after_s` is the time to the next pass
    if nothing happens before; None: wait for an event.
    """

    status: Mapping[str, Any] | None = None
    announcements: tuple[Announcement, ...] = ()
    requeue_after_s: float | None = None


D = TypeVar("D", bound=Decision)


class Subject(ABC, Generic[D]):
    """An object with all facts of one decision.

    Each method answers one question of the life cycle, with a decision, or None if it does not apply. `deleting` says
    that the object was deleted and remains for its finalizers: no run begins, the one in progress ends, and its status
    is still written.
    """

    deleting: bool

    def keep(self) -> D | None:
        """Keep the end of a run, if the status is about the present spec."""
        return None

    @abstractmethod
    def refuse(self) -> D | None:
        """Report a spec that cannot be read."""

    def end_at_once(self) -> D | None:
        """End a run on request, or one that can never begin."""
        return None

    @abstractmethod
    def hold_back(self) -> D | None:
        """Do not start a run for now."""

    def end(self) -> D | None:
        """End the run in progress."""
        return None

    @abstractmethod
    def go_on(self) -> D:
        """Start a run, continue it, or wait."""

    @abstractmethod
    def leave(self, decision: D) -> D:
        """Return what must be done instead of `decision` when the object is being deleted."""


def decide(subject: Subject[D]) -> D:
    """Return what must be done now. Pure and total: every combination of facts has a decision."""
    rules = (subject.keep, subject.refuse, subject.end_at_once, subject.hold_back, subject.end)
    decision = next((found for rule in rules if (found := rule()) is not None), None) or subject.go_on()
    return subject.leave(decision) if subject.deleting else decision


def current_run(spec_hash: str, generation: int, past: RunStatus) -> int:
    """Return the number of the run to plan: the remembered one while it measures the same, else a new one."""
    if not is_same_spec(spec_hash, generation, past) or past.is_aborted or not is_run_of(generation, past.run):
        return generation
    return past.run


def is_run_of(generation: int, run: int) -> bool:
    """Return whether an object of this generation can have had this run.

    Objects whose names contain a run are deleted. Anyone who may write a status can put any number into it, and could
    choose one that results in the name of another object.
    """
    return 0 < run <= generation


def is_resumed(spec_hash: str, generation: int, past: RunStatus) -> bool:
    """Return whether the status is about a run of this spec that is in progress."""
    return not past.is_finished and is_same_spec(spec_hash, generation, past)


def is_over(spec_hash: str, generation: int, past: RunStatus, *, abort: bool) -> bool:
    """Return whether the status is the end of a run of this spec. An aborted run is over only while `abort` is set."""
    return past.is_finished and is_same_spec(spec_hash, generation, past) and (abort or not past.is_aborted)


def is_over_unread(generation: int, past: RunStatus) -> bool:
    """Return whether the status is the end of a run of a spec that only an older operator could read."""
    return past.is_finished and bool(past.spec_hash) and is_of_generation(generation, past)


def refused_at(generation: int, past: RunStatus, now: datetime) -> datetime | None:
    """Return when a spec that cannot be read was first refused."""
    before = past.is_finished and not past.spec_hash and past.run == generation
    return past.completion_time if before else now


def changed_status(remembered: Remembered[Any], status: ObjectStatus) -> Mapping[str, Any] | None:
    """Return the whole status as it is written, None if it is unchanged."""
    if isinstance(status, RunStatus):
        status = replace(status, message=shortened(status.message, MESSAGE_LIMIT_CHARACTERS))
    whole = written(status)
    return None if whole == remembered.written else whole


def changed_generation(remembered: Remembered[Any], generation: int) -> Mapping[str, Any] | None:
    """Return the remembered status with this observed generation; None if it has it already."""
    whole = remembered.seen_at(generation)
    return None if whole == remembered.written else whole


@dataclass(frozen=True, slots=True)
class Finding:
    """The content of a condition. `reason` is one of the reasons of the object's kind."""

    status: ConditionStatus
    reason: StrEnum
    message: str


def conditions(
    findings: Mapping[Word, Finding], before: Iterable[Condition[Word]], now: datetime
) -> tuple[Condition[Word], ...]:
    """Return one condition per type, in the order of the findings. lastTransitionTime changes only with the status."""
    known = {condition.type: condition for condition in before}
    return tuple(_condition(kind, finding, known.get(kind), now) for kind, finding in findings.items())


def _condition(kind: Word, finding: Finding, before: Condition[Word] | None, now: datetime) -> Condition[Word]:
    since = before.last_transition_time if before is not None and before.status is finding.status else now
    message = shortened(finding.message, MESSAGE_LIMIT_CHARACTERS)
    return Condition(kind, finding.status, finding.reason, message, last_transition_time=since)


def in_progress(words: type[Word], reason: StrEnum, message: str) -> dict[Word, Finding]:
    """Return kstatus's conditions of an object in progress: it is not known yet whether it will be ready."""
    says = Finding(ConditionStatus.UNKNOWN, reason, message)
    return {words("Ready"): says, words("Reconciling"): replace(says, status=ConditionStatus.TRUE)}


def settled(words: type[Word], reason: StrEnum, message: str, *, ready: bool) -> dict[Word, Finding]:
    """Return kstatus's conditions of an object in its final state: ready, or stalled until somebody changes it.

    With these Argo CD, Flux and `kubectl wait` distinguish the two. Reconciling and Stalled are absent unless they are
    true, as kstatus requires.
    """
    if ready:
        return {words("Ready"): Finding(ConditionStatus.TRUE, reason, message)}
    return {
        words("Ready"): Finding(ConditionStatus.FALSE, reason, message),
        words("Stalled"): Finding(ConditionStatus.TRUE, reason, message),
    }
