"""The lower limit for the capacity that a search finds, and when a search gives up an amount."""

from dataclasses import dataclass
from typing import ClassVar

from sshload_contract.thresholds.kind import Terms, ThresholdKind

GIVEN_UP_AFTER = 2
"""A search gives up an amount once it has so many unjudged trials, as `unjudged` counts them."""
_STOLEN_AS_ONE = 4


@dataclass(frozen=True, slots=True)
class CapacityThreshold(ThresholdKind):
    """The capacity that a search finds is to be above this amount."""

    kind: ClassVar[str] = "capacity"
    why_unseen: ClassVar[str] = "no capacity is known"
    is_on_capacity: ClassVar[bool] = True
    above: float

    def terms_in(self, unit: str) -> Terms:
        """Return it for programs, in the unit of a search."""
        return Terms(self.kind, self.above, unit)


def unjudged(invalid: int, stolen: int, judged: int) -> float:
    """Return how many more trials of an amount were invalid than were judged.

    `stolen` trials are invalid because the host took CPU time from a worker's machine. They are not included in
    `invalid`. Four of them count as one: steal does not depend on the load, so the next trial may well be judged.
    """
    return invalid + stolen / _STOLEN_AS_ONE - judged
