"""What the statuses of all kinds have in common, and how they are read and written.

A status is written as JSON by `written`. It is read by `remembered` and `shapes.read_fitting`: what an older release or
a person has written into it and does not fit its declaration is as if absent.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Final, Generic, TypeVar

from sshload_contract.declared import Absent, Text

from sshload_operator.api.shapes.reading import read_fitting, stated
from sshload_operator.api.status.figures import Count, Generation, Message, ReasonWord, Time
from sshload_operator.state import ConditionStatus

Word = TypeVar("Word", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Condition(Generic[Word]):
    """One condition."""

    type: Annotated[Word, "What the condition is about."]
    status: Annotated[ConditionStatus, "Whether it holds."]
    reason: Annotated[ReasonWord, "Why the status is so, in one word for machines."]
    message: Annotated[Message, "Why the status is so, and what to change."]
    last_transition_time: Annotated[Time, "When the condition's status last changed."]


@dataclass(frozen=True, slots=True)
class Column:
    """A column that `kubectl get` prints, `-o wide` only if it is `wide`. `path` is the field that it shows (JSONPath).

    What it says of itself is the field's own description, unless it has one. A time is printed as the time since then,
    or `as_text`, as a time to come has to be.
    """

    name: str
    path: str
    description: str = ""
    wide: bool = False
    as_text: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectStatus:
    """What every status begins with. A class variable `columns` holds what `kubectl get` prints of a kind."""

    observed_generation: Annotated[
        Generation | None,
        "The metadata.generation that this status describes. It is -1 until the operator has seen the object.",
    ] = None


UNSEEN: Final = ObjectStatus(observed_generation=-1)
"""The status of a new object, which the API server fills in: without it, kstatus would take the object for done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatus(ObjectStatus):
    """The status of an object that has runs: which run it describes."""

    run: Annotated[Count, Absent(0), "The metadata.generation that the current run was started for."] = 0
    spec_hash: Annotated[
        str, Text(64), Absent(""), "The hash of what the current run measures. A change of it starts a new run."
    ] = ""
    message: Annotated[Message, Absent(""), "Why the status is as it is, and what to change or what was found."] = ""
    completion_time: Annotated[Time | None, "When the current run was finished."] = None

    @property
    def is_finished(self) -> bool:
        """Whether the run is over: its phase is Finished."""
        raise NotImplementedError

    @property
    def is_aborted(self) -> bool:
        """Whether the run was ended by request."""
        raise NotImplementedError


S = TypeVar("S", bound=ObjectStatus)
S_co = TypeVar("S_co", bound=ObjectStatus, covariant=True)


@dataclass(frozen=True, slots=True)
class Remembered(Generic[S_co]):
    """What an object's status says of the past, which is all that survives a restart of the operator.

    `written` is the status as it stands, so that what a pass does not know again stays as it was written.
    """

    status: S_co
    written: Mapping[str, Any]

    def seen_at(self, generation: int) -> Mapping[str, Any]:
        """Return the status as it stands, except the generation that it describes."""
        return {**self.written, **written(ObjectStatus(observed_generation=generation))}


def remembered(shape: type[S], written: Mapping[str, Any] | None) -> Remembered[S]:
    """Return what a status says of the past; None is the status of an object that has none."""
    return Remembered(read_fitting(shape, written), written if isinstance(written, Mapping) else {})


def written(status: Any) -> dict[str, Any]:
    """Return a status, or a part of one, as JSON. What is None, or an optional list without items, is absent."""
    found: dict[str, Any] = stated(status)
    return found
