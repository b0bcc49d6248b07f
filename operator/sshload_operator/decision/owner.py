"""Decisions about an object that creates and owns tests: a schedule or a comparison."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum, unique
from typing import Generic, Protocol, TypeVar

from sshload_operator.decision.life_cycle import Decision, Subject
from sshload_operator.state import Manifest


class OwnedTest(Protocol):
    """One test as its owner sees it. Another test with the same name has another uid."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def uid(self) -> str:
        """Its uid."""

    @property
    def deleting(self) -> bool:
        """Whether it was deleted and is still there."""


@unique
class Cause(StrEnum):
    """Why a test could not be created."""

    REFUSED = "Refused"
    NAME_TAKEN = "NameTaken"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a test could not be created now. `may_pass`: it may be possible later, for example when a quota has room."""

    cause: Cause
    message: str
    may_pass: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerDecision(Decision):
    """What must be done, in this order: delete, abort, create, write the status, announce, discard.

    `look_for_pods`: the pods of all tests must be listed before anything else is done, of those that somebody has
    deleted too: the decision is then made again with them. A decision that creates a test and has no status is also
    made again, with the created test. So a status never mentions a test that was not created. `discard` are tests that
    the status no longer needs. An owner that `rests` is not examined again before somebody changes it.
    """

    look_for_pods: bool = False
    delete: tuple[OwnedTest, ...] = ()
    abort: tuple[OwnedTest, ...] = ()
    create: Manifest | None = None
    discard: tuple[OwnedTest, ...] = ()
    rests: bool = False


F_co = TypeVar("F_co", bound=OwnedTest, covariant=True)


@dataclass(frozen=True, kw_only=True)
class OwnerSubject(Subject[OwnerDecision], Generic[F_co]):
    """An owner with all facts of one decision about it.

    `tests` are those that it owns. `pods` are the names of the pods of all that it has made, None if they were not
    listed. `obstacle` is why the creation of a test has just failed.
    """

    now: datetime
    tests: Sequence[F_co] = ()
    pods: Sequence[str] | None = None
    obstacle: Obstacle | None = None
    deleting: bool = False

    def leave(self, decision: OwnerDecision) -> OwnerDecision:
        """Delete all tests: garbage collection does so only when the owner is gone, and a finalizer may delay that."""
        going = tuple(test for test in self.tests if not test.deleting)
        return replace(
            decision, look_for_pods=False, delete=going, abort=(), create=None, discard=(), requeue_after_s=None
        )
