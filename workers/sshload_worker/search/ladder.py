"""The loads that a search may try, and the votes that trials give for each.

The loads are a ladder from the least to the greatest, with half the precision between rungs. Because the loads are few,
a trial is repeated at exactly the same load, and counted with the earlier ones.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from math import ceil, floor, log, log10

from sshload_contract.load.search import STEPS_PER_PRECISION
from sshload_contract.thresholds import GIVEN_UP_AFTER, unjudged

_DIGITS_BEYOND_STEP = 1

_NEVER_JUDGED_AFTER = 3


@dataclass(frozen=True, slots=True, eq=False)
class Ladder:
    """Ascending loads, at least one; a rung is an index into `loads`.

    A ladder equals only itself: it is a key of caches, and hashing all its loads each time would take longer.
    """

    loads: tuple[float, ...]

    @property
    def top(self) -> int:
        """The rung of the greatest load."""
        return len(self.loads) - 1

    def at_or_below(self, load: float) -> int:
        """Return the highest rung that is not above the load, or the lowest if all are above it."""
        return max(bisect_right(self.loads, load) - 1, 0)

    def nearest(self, load: float) -> int:
        """Return the rung nearest to the load."""
        above = min(bisect_left(self.loads, load), self.top)
        below = max(above - 1, 0)
        return above if self.loads[above] - load <= load - self.loads[below] else below


@lru_cache(maxsize=16)
def ladder(least: float, most: float, precision: float, *, whole: bool) -> Ladder:
    """Return the rungs from `least` to `most`, both included.

    The ratio of neighbours is about half of `precision` or less. Whole loads are at least 1 apart.
    """
    ratio = (1 + precision) ** (1 / STEPS_PER_PRECISION)
    return Ladder(tuple(_whole_loads(least, most, ratio) if whole else _loads(least, most, ratio)))


def _loads(least: float, most: float, ratio: float) -> Iterator[float]:
    """Yield loads at equal ratios, with as few digits as distinguish the rungs well."""
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


@dataclass(slots=True)
class _Votes:
    """The trials of one rung. `completed` is the lowest rate that a failed trial completed, None if unknown.

    Trials that are invalid because of steal count as `stolen`, other invalid ones as `invalid`.
    """

    passes: int = 0
    fails: int = 0
    invalid: int = 0
    stolen: int = 0
    completed: float | None = None

    @property
    def lead(self) -> int:
        """By how many the passes outnumber the fails."""
        return self.passes - self.fails

    @property
    def unjudged(self) -> float:
        """By how many the invalid trials outnumber those that were judged."""
        return unjudged(self.invalid, self.stolen, self.passes + self.fails)


@dataclass(slots=True)
class VotesByRung:
    """The votes by rung. More load is never easier: a pass counts for the rungs below too, a fail for those above."""

    by_rung: dict[int, _Votes] = field(default_factory=dict)

    def count(self, rung: int, *, passed: bool | None, stolen: bool, completed: float | None) -> None:
        """Count one trial. `passed` is None if it was invalid, and `stolen` is true if steal caused this."""
        votes = self.by_rung.setdefault(rung, _Votes())
        if passed is None and stolen:
            votes.stolen += 1
        elif passed is None:
            votes.invalid += 1
        elif passed:
            votes.passes += 1
        else:
            votes.fails += 1
            votes.completed = min((rate for rate in (votes.completed, completed) if rate), default=None)

    def first_given_up(self) -> int | None:
        """Return the lowest rung that was given up, because the generator repeatedly could not make its load."""
        return min((rung for rung, votes in self.by_rung.items() if votes.unjudged >= GIVEN_UP_AFTER), default=None)

    def is_given_up(self, rung: int) -> bool:
        """Return whether it is no use to try this rung again."""
        return self.by_rung[rung].unjudged >= _NEVER_JUDGED_AFTER

    def lead(self, rung: int) -> int:
        """Return by how many the passes of a rung outnumber its fails."""
        return self.by_rung[rung].lead if rung in self.by_rung else 0

    def judged(self, rung: int) -> int:
        """Return the number of a rung's trials that passed or failed."""
        votes = self.by_rung.get(rung, _Votes())
        return votes.passes + votes.fails

    def lowest_failing(self, *, above: int, below: int) -> int | None:
        """Return the lowest rung between the two at which the majority of trials failed, None if there is none."""
        failing = (rung for rung, votes in self.by_rung.items() if above < rung < below and votes.lead < 0)
        return min(failing, default=None)

    def highest_passing(self, below: int) -> int | None:
        """Return the highest rung under `below` at which the majority of trials passed, None if there is none."""
        return max((rung for rung, votes in self.by_rung.items() if rung < below and votes.lead > 0), default=None)

    def undecided(self, below: int) -> int | None:
        """Return the lowest rung under `below` that was tried, but is neither decided nor given up, None if none is."""
        return min(
            (
                rung
                for rung, votes in self.by_rung.items()
                if rung < below and votes.lead == 0 and votes.unjudged < GIVEN_UP_AFTER
            ),
            default=None,
        )

    def passes_at_or_above(self, rung: int) -> int:
        """Return the number of passed trials at the rung and above."""
        return sum(votes.passes for other, votes in self.by_rung.items() if other >= rung)

    def fails_at_or_below(self, rung: int) -> int:
        """Return the number of failed trials at the rung and below."""
        return sum(votes.fails for other, votes in self.by_rung.items() if other <= rung)
