"""Conditions of a status, in Kubernetes' form, whatever kind of object they are of."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Generic, TypeVar

from sshload_operator.api.status.figures import Message, ReasonWord, Time
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
