"""The loads that a search may try: a ladder from the least to the most, half the precision from rung to rung.

As the loads are few, a trial that is repeated is repeated at the very same load, and counted with those before.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, floor, log, log10

_RUNGS_PER_PRECISION = 2
_DIGITS_BEYOND_STEP = 1


@dataclass(frozen=True, slots=True, eq=False)
class Ladder:
    """Ascending loads, at least one; a rung is an index into `loads`.

    A ladder equals only itself: it is a key of what is kept, and hashing all of its loads each time takes longer.
    """

    loads: tuple[float, ...]

    @property
    def top(self) -> int:
        """Return the rung of the most."""
        return len(self.loads) - 1

    def at_or_below(self, load: float) -> int:
        """Return the highest rung that is not above the load; the lowest where all are."""
        return max(bisect_right(self.loads, load) - 1, 0)

    def nearest(self, load: float) -> int:
        """Return the rung nearest to the load."""
        above = min(bisect_left(self.loads, load), self.top)
        below = max(above - 1, 0)
        return above if self.loads[above] - load <= load - self.loads[below] else below


@lru_cache(maxsize=16)
def ladder(least: float, most: float, precision: float, *, whole: bool) -> Ladder:
    """Return the rungs from `least` to `most`, both of them included.

    Neighbours are apart by about half of `precision`, in ratio, or less; whole loads by that, or by 1 where it is less.
    """
    ratio = (1 + precision) ** (1 / _RUNGS_PER_PRECISION)
    return Ladder(tuple(_whole_loads(least, most, ratio) if whole else _loads(least, most, ratio)))


def _loads(least: float, most: float, ratio: float) -> Iterator[float]:
    """Yield evenly spaced ratios, in as few digits as tell the rungs well apart."""
    steps = ceil(log(most / least) / log(ratio))
    yield least
    for step in range(1, steps):
        load = least * (most / least) ** (step / steps)
        yield round(load, _DIGITS_BEYOND_STEP - floor(log10(load * (ratio - 1))))
    if steps:
        yield most


def _whole_loads(least: float, most: float, ratio: float) -> Iterator[float]:
    load = ceil(least)
    while load < floor(most):
        yield float(load)
        load = max(load + 1, floor(load * ratio))
    yield float(floor(most))
