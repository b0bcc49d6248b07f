"""Whether an operator may take a Lease (coordination.k8s.io/v1) that it has found. Pure.

Clocks of two nodes may differ by minutes, so the times in a Lease decide nothing. Who waits looks at how long the Lease
has not changed, by its own clock: a holder that works changes it several times in its duration.
"""

from dataclasses import dataclass
from typing import Final, TypeAlias

LONGEST_S: Final = 60.0
"""The longest duration that is believed: whoever can write a Lease could hold the operator off for ever."""


@dataclass(frozen=True, slots=True)
class FoundLease:
    """A Lease as it was read. `holder` is empty if nobody holds it, `version` is its resourceVersion."""

    holder: str
    duration_s: float
    version: str


@dataclass(frozen=True, slots=True)
class ObservedLease:
    """The newest version of a Lease that was seen, and when it was seen first, by the clock of who looks."""

    lease: FoundLease
    since_s: float


@dataclass(frozen=True, slots=True)
class Take:
    """The Lease may be written as the asker's own, if it is still of this version; an empty one: if there is none."""

    version: str


@dataclass(frozen=True, slots=True)
class WaitFor:
    """The Lease is somebody else's, for at most this long if it does not change."""

    holder: str
    at_most_s: float


LeaseStep: TypeAlias = Take | WaitFor


def seen(before: ObservedLease | None, found: FoundLease | None, now_s: float) -> ObservedLease | None:
    """Return the sighting that follows from a look: a version seen before keeps the time of its first sight."""
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
