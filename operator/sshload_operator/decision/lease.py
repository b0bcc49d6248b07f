"""Whether an operator may take a Lease (coordination.k8s.io/v1) that it has found. Pure.

Clocks of two nodes may differ by minutes, so the times in a Lease are ignored. A waiting operator measures by its own
clock how long the Lease has not changed: a holder that is alive changes it several times within its duration.
"""

from dataclasses import dataclass
from typing import Final, TypeAlias

LONGEST_S: Final = 60.0
"""The longest accepted duration. Without it, anyone who can write a Lease could block the operator for ever."""


@dataclass(frozen=True, slots=True)
class FoundLease:
    """A Lease as it was read. `holder` is empty if nobody holds it, `version` is its resourceVersion."""

    holder: str
    duration_s: float
    version: str


@dataclass(frozen=True, slots=True)
class ObservedLease:
    """The newest observed version of a Lease, and when it was first observed, by the clock of the observer."""

    lease: FoundLease
    since_s: float


@dataclass(frozen=True, slots=True)
class Take:
    """The asker may take the Lease if it still has this version; an empty version: if it does not exist."""

    version: str


@dataclass(frozen=True, slots=True)
class WaitFor:
    """Another operator holds the Lease, for at most this long if it does not change."""

    holder: str
    at_most_s: float


LeaseStep: TypeAlias = Take | WaitFor


def seen(before: ObservedLease | None, found: FoundLease | None, now_s: float) -> ObservedLease | None:
    """Return the observation after a read: a version that was already observed keeps its time."""
    if found is None or (before is not None and before.lease.version == found.version):
        return before if found is not None else None
    return ObservedLease(found, now_s)


def lease_step(sighting: ObservedLease | None, now_s: float, asker: str) -> LeaseStep:
    """Return what `asker` may do with a Lease, None if there is none."""
    if sighting is None:
        return Take("")
    lease = sighting.lease
    left_s = sighting.since_s + min(lease.duration_s, LONGEST_S) - now_s
    if lease.holder in ("", asker) or left_s <= 0:
        return Take(lease.version)
    return WaitFor(lease.holder, left_s)
