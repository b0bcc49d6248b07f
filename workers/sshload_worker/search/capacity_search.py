"""The search for the capacity: the highest load at which every threshold holds, from trials that may contradict.

From the least upwards by growing factors until a trial fails, then by halves, in log space, between the highest load
that passed and the lowest that failed. What a load is follows from the majority of its trials, as in MLRsearch
(draft-ietf-bmwg-mlrsearch) with a goal exceed ratio of one half; a tie is tried again, and so is a fail below a pass,
which otherwise prevails. Loads from one that the generator cannot make upwards are left out. The reasons and the
figures: docs/design/20261121-the-search.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor

from sshload_contract.vocabulary import SearchEnd

from sshload_worker.search.ladder import Ladder, ladder
from sshload_worker.search.votes import Ballot

TRIALS_LIMIT = 60
FINEST_PRECISION = 0.001
_GROWTH = 8.0
_OVERLOADED_BELOW = 0.95
_FIRST_STEP_FROM_HINT = 3
_LEAD = 2


@dataclass(frozen=True, slots=True)
class Goal:
    """What is searched: a load from `least` to `most`, both included, as near to the limit as `precision` (0.05: 5 %).

    Each bound is confirmed by `confirm` further trials. `whole` loads are users, sessions or connections. Raises
    ValueError where there is nothing to search, or `precision` is below FINEST_PRECISION.
    """

    least: float
    most: float
    precision: float
    confirm: int
    whole: bool

    def __post_init__(self) -> None:
        if not 0 < self.least <= self.most:
            raise ValueError(f"no loads from {self.least} to {self.most}")
        if self.whole and ceil(self.least) > floor(self.most):
            raise ValueError(f"no whole loads from {self.least} to {self.most}")
        if self.precision < FINEST_PRECISION:
            raise ValueError(f"a precision of {self.precision} is finer than {FINEST_PRECISION}")
        if self.confirm < 0:
            raise ValueError(f"{self.confirm} trials confirm nothing")


@dataclass(frozen=True, slots=True)
class Seen:
    """One trial. `passed` is None where it was invalid: the generator gave out.

    `completed` is the rate that it completed, in the unit of `load`, None where that says nothing of the limit.
    """

    load: float
    passed: bool | None
    completed: float | None


@dataclass(frozen=True, slots=True)
class Try:
    """Try this load next."""

    load: float


@dataclass(frozen=True, slots=True)
class Found:
    """The bounds at the search's end: `lower` passed and is the capacity, `upper` failed; None where there is none.

    At either, most of its trials say so. By FOUND, MOST_HELD and LEAST_BROKEN they are confirmed, by GENERATOR_LIMIT
    `lower` is: `confirm` + 1 trials or more agree, at the bound or beyond, and 2 more than those that contradict (1,
    if `confirm` is 0).
    """

    lower: float | None
    upper: float | None
    end: SearchEnd


def next_step(goal: Goal, seen: Sequence[Seen]) -> Try | Found:
    """Return the load to try next, or what was found. The same past has the same answer, and every past has one."""
    step = _Standing(goal, seen).next_step()
    if isinstance(step, Try) and len(seen) >= TRIALS_LIMIT:
        return cut_short(goal, seen, SearchEnd.TOO_MANY_TRIALS)
    return step


def cut_short(goal: Goal, seen: Sequence[Seen], end: SearchEnd) -> Found:
    """Return what the trials say so far, for a search that ends before its time. The bounds may be unconfirmed."""
    standing = _Standing(goal, seen)
    return standing.found(standing.lower, standing.upper, end)


class _Standing:
    """What the trials say so far: by the rungs of the ladder, `lower` passes, and `upper`, above it, fails.

    `wall` is the lowest rung that the generator cannot make, or the one above the top; it ends the ladder.
    """

    def __init__(self, goal: Goal, seen: Sequence[Seen]) -> None:
        self.ladder: Ladder = ladder(goal.least, goal.most, goal.precision, whole=goal.whole)
        self.ballot = Ballot()
        for trial in seen:
            rung = self.ladder.nearest(trial.load)
            self.ballot.count(rung, passed=trial.passed, completed=trial.completed)
        self.agreeing = goal.confirm + 1
        given_up = self.ballot.beyond_the_generator()
        self.wall = self.ladder.top + 1 if given_up is None else given_up
        self.upper = self.ballot.lowest_failing(self.wall)
        self.open_below = self.wall if self.upper is None else self.upper
        self.lower = self.ballot.highest_passing(self.open_below)

    def next_step(self) -> Try | Found:
        again = self.ballot.undecided(self.open_below)
        if again is not None:
            return self.try_rung(again)
        if self.upper is None:
            return self.rise()
        if self.ballot.passes_above(self.upper) and self.upper_lacks(self.upper):
            return self.try_rung(self.upper)
        if self.lower is None:
            return self.look_at_the_least(self.upper)
        return self.close_in(self.lower, self.upper)

    def rise(self) -> Try | Found:
        """Look for a load that fails, where none is known below the wall."""
        if self.lower is not None and self.lower + 1 < self.wall:
            factor = _GROWTH ** len(self.ballot.by_rung)
            grown = max(self.ladder.at_or_below(self.ladder.loads[self.lower] * factor), self.lower + 1)
            halfway = (self.lower + self.wall) // 2
            return self.try_rung(grown if self.wall > self.ladder.top else min(grown, halfway))
        if self.lower is None and self.wall > 0:
            return self.try_rung(0)
        if self.lower is not None and self.lower_lacks(self.lower):
            return self.try_rung(self.lower)
        if self.wall > self.ladder.top:
            return self.found(self.lower, None, SearchEnd.MOST_HELD)
        if self.ballot.never_judged(self.wall):
            return self.found(self.lower, None, SearchEnd.GENERATOR_LIMIT)
        return self.try_rung(self.wall)

    def close_in(self, lower: int, upper: int) -> Try | Found:
        """Bring the bounds together, and confirm them where they are neighbours."""
        if upper - lower > 1:
            return self.try_rung(self.between(lower, upper))
        lower_lacks, upper_lacks = self.lower_lacks(lower), self.upper_lacks(upper)
        if lower_lacks or upper_lacks:
            return self.try_rung(upper if upper_lacks >= lower_lacks else lower)
        return self.found(lower, upper, SearchEnd.FOUND)

    def look_at_the_least(self, upper: int) -> Try | Found:
        """Confirm that even the least fails, where no load passed."""
        if upper == 0 and not self.upper_lacks(upper):
            return self.found(None, upper, SearchEnd.LEAST_BROKEN)
        return self.try_rung(0)

    def between(self, lower: int, upper: int) -> int:
        """Return the rung to try between the bounds: near what an overloaded server completed, or halfway."""
        halfway = (lower + upper) // 2
        hint = self.hint(upper)
        if hint is None:
            return halfway
        if lower < hint < upper:
            return hint
        if lower >= hint:
            return min(lower + _FIRST_STEP_FROM_HINT + (lower - hint) // 2, halfway)
        return max(upper - _FIRST_STEP_FROM_HINT - (hint - upper) // 2, halfway)

    def hint(self, upper: int) -> int | None:
        """Return the rung of what a server completed that was overloaded, of several the least overloaded one's."""
        for rung, votes in sorted(self.ballot.by_rung.items()):
            overloaded_below = self.ladder.loads[rung] * _OVERLOADED_BELOW
            if rung >= upper and votes.completed is not None and votes.completed < overloaded_below:
                return self.ladder.at_or_below(votes.completed)
        return None

    def lower_lacks(self, rung: int) -> int:
        return self.lacking(self.ballot.passes_at_or_above(rung), self.ballot.fails_at_or_below(rung))

    def upper_lacks(self, rung: int) -> int:
        return self.lacking(self.ballot.fails_at_or_below(rung), self.ballot.passes_at_or_above(rung))

    def lacking(self, agreeing: int, contradicting: int) -> int:
        """Return how many more trials must agree before a bound is confirmed, 0 where it is."""
        return max(self.agreeing - agreeing, min(_LEAD, self.agreeing) - (agreeing - contradicting), 0)

    def try_rung(self, rung: int) -> Try:
        return Try(self.ladder.loads[rung])

    def found(self, lower: int | None, upper: int | None, end: SearchEnd) -> Found:
        loads = self.ladder.loads
        return Found(None if lower is None else loads[lower], None if upper is None else loads[upper], end)
