"""RatedTime: in which window and stage something counts for a rate, by the instant at which it happens.

A rate says how often something happened in a stretch of time. So an end counts in the window and the stage in which it
ends, and bytes where they move, whenever their iteration was due: what the warm-up began ends in the measured window,
and what the measured window began may end after it. In a steady load the two balance. To leave out both would make
every rate too low, by a share that grows with the length of an iteration.

Latencies, outcomes and counts are kept by the window in which an iteration was *due* (`Due.window`). A percentile by
ends would leave out what is still running at the end of the window, which are the slowest (coordinated omission).
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Final, Self

from sshload_contract.load import Load
from sshload_contract.vocabulary import Window, is_of_jump_host

_NEVER_NS: Final = 2**63
_NS_PER_S: Final = 1_000_000_000
_WARM_UP, _RAMP, _MEASURED = 1, 2, 3
_OF_HELD: Final = re.compile(r"held\.(connect|banner|kex|auth|login|keepAlive|hold)$")


class RatedTime:
    """The parts of one worker's load, as monotonic nanoseconds. Each contains its beginning, and not its end.

    Between warm-up and the rest of the measured window is the ramp of held sessions, which is empty in other loads.
    Without bounds, all time is measured.
    """

    __slots__ = ("_bounds_ns", "_stage_ends_ns")

    def __init__(
        self,
        start_ns: int = -_NEVER_NS,
        measured_ns: int = -_NEVER_NS,
        ramp_end_ns: int = -_NEVER_NS,
        end_ns: int = _NEVER_NS,
        stage_ends_ns: tuple[int, ...] = (),
    ) -> None:
        self._bounds_ns = [start_ns, measured_ns, ramp_end_ns, end_ns]
        self._stage_ends_ns = stage_ends_ns

    @classmethod
    def of(cls, load: Load, warm_up_s: float, start_ns: int) -> Self:
        """Return the parts of a load that starts at an instant."""

        def at(offset_s: float) -> int:
            return start_ns + int(offset_s * _NS_PER_S)

        ends_s = list(accumulate(load.stage_durations_s, initial=warm_up_s))[1:]
        ramp_end_s = warm_up_s + load.before_iterations_s
        # The last interval of a burst may have no length: its iterations are all that is measured.
        end_ns = at(warm_up_s + load.lasts_s) if load.lasts_s else _NEVER_NS
        return cls(start_ns, at(warm_up_s), at(ramp_end_s), end_ns, tuple(at(end_s) for end_s in ends_s))

    @property
    def end_ns(self) -> int:
        """When the load ends."""
        return self._bounds_ns[-1]

    def end_at(self, instant_ns: int) -> None:
        """End the load at an instant: nothing counts from then on. A later end than the present one changes nothing."""
        self._bounds_ns = [min(bound_ns, instant_ns) for bound_ns in self._bounds_ns]

    def part_at(self, instant_ns: int) -> int:
        """Return the number of the part that contains the instant; parts with higher numbers follow."""
        return bisect_right(self._bounds_ns, instant_ns)

    def stage_at(self, instant_ns: int) -> int:
        """Return the stage of an instant in the measured window, counted from 1; 0 in a load of a single stage."""
        return min(bisect_right(self._stage_ends_ns, instant_ns) + 1, len(self._stage_ends_ns))

    def shares(self, begin_ns: int, end_ns: int, count: int) -> Iterator[tuple[int, int]]:
        """Yield how many of the bytes that moved evenly from `begin_ns` to `end_ns` moved in which part.

        The shares are whole numbers that add up to `count`.
        """
        moved = 0
        for part in range(self.part_at(begin_ns), self.part_at(end_ns) + 1):
            until_ns = min(self._bounds_ns[part], end_ns) if part < len(self._bounds_ns) else end_ns
            by_then = count if until_ns >= end_ns else count * (until_ns - begin_ns) // (end_ns - begin_ns)
            yield part, by_then - moved
            moved = by_then


def window_of(step: str, part: int) -> Window | None:
    """Return the window for whose rates a step counts in a part, None if for none.

    In the ramp, only the steps of held sessions and of jump hosts count: the others begin after it.
    """
    if part == _WARM_UP:
        return Window.WARM_UP
    counts = part == _MEASURED or (part == _RAMP and counts_in_ramp(step))
    return Window.MEASURED if counts else None


def counts_in_ramp(step: str) -> bool:
    """Return whether a step belongs to held sessions, or to jump hosts, which both they and iterations use."""
    return _OF_HELD.match(step) is not None or is_of_jump_host(step)
