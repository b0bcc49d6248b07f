"""The search for the capacity: the highest load at which every threshold holds, from trials that may contradict.

It goes up from the least load by growing factors until a trial fails. Then it always tries the load that, by all trials
so far, is as likely below the limit as above it, until the limit is known well enough. The bounds are loads that were
tried, and the majority of a load's trials decides, as in MLRsearch (draft-ietf-bmwg-mlrsearch) with a goal exceed ratio
of one half. If the generator cannot make a load, this load and all above it are left out. The reasons and the figures
are in docs/design/20261121-the-search.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sshload_contract.load.search import GROWTH, Search
from sshload_contract.vocabulary import SearchEnd

from sshload_worker.search.belief import believe
from sshload_worker.search.ladder import Ladder, VotesByRung, ladder

TRIALS_LIMIT = 60
FINEST_PRECISION = 0.001
_OVERLOADED_BELOW = 0.95
_FIRST_STEP_FROM_HINT = 3
_RUNGS_FAR_APART = 8
"""If the bounds are further apart, the next load follows from the rate that an overloaded server completed."""

_FAR = 3
"""If the limit is more than so many times the precision away from the reported one, it is missed by far."""

_DOUBT = 0.5
_CHANCE_FAIL = 0.17
_NO_RUNG = -1


@dataclass(frozen=True, slots=True)
class PastTrial:
    """One trial. `passed` is None if it was invalid because of the generator. `stolen` says that steal caused this.

    `completed` is the rate that it completed, in the unit of `load`, None if this says nothing about the limit.
    """

    load: float
    passed: bool | None
    completed: float | None
    stolen: bool = False


@dataclass(frozen=True, slots=True)
class NextTrial:
    """Try this load next."""

    load: float


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The bounds at the search's end: `lower` passed and is the capacity, `upper` failed. None if there is none.

    The majority of a bound's trials passed or failed. With FOUND, MOST_HELD and LEAST_BROKEN the bounds are confirmed,
    with GENERATOR_LIMIT `lower` is: at least `confirm` + 1 trials agree, at the bound or beyond. With FOUND and
    LEAST_BROKEN the limit is near `lower` with a probability that grows with `confirm`, and no load below `lower`
    failed in the majority of its trials.
    """

    lower: float | None
    upper: float | None
    end: SearchEnd


def next_step(search: Search, seen: Sequence[PastTrial]) -> NextTrial | SearchResult:
    """Return the load to try next, or the result. It depends only on the trials so far, and there always is one.

    Raises ValueError if there is nothing to search, or too finely.
    """
    step = _Evidence(search, seen).next_step()
    if isinstance(step, NextTrial) and len(seen) >= TRIALS_LIMIT:
        return partial_result(search, seen, SearchEnd.TOO_MANY_TRIALS)
    return step


def partial_result(search: Search, seen: Sequence[PastTrial], end: SearchEnd) -> SearchResult:
    """Return the result of the trials so far, for a search that ends early. The bounds may be unconfirmed."""
    standing = _Evidence(search, seen)
    return standing.found(standing.lower, standing.upper, end)


class _Evidence:
    """The evidence of the trials so far, by the rungs of the ladder.

    `likely` is the highest rung that is more likely below the limit than above it, -1 if not even the lowest is.
    `lower` is the highest rung up to `likely` that passes, and `upper` the lowest above it that fails, each by the
    majority of its trials. `generator_limit` is the lowest rung that the generator cannot make, or the one above the
    top.
    """

    def __init__(self, search: Search, seen: Sequence[PastTrial]) -> None:
        self.search = search
        least = search.least
        if not 0 < least.amount <= search.most or search.precision < FINEST_PRECISION or search.confirm < 0:
            raise ValueError(f"{search} has no loads to try, too many, or trials that confirm nothing")
        self.ladder: Ladder = ladder(least.amount, search.most, search.precision, whole=least.is_whole)
        self.ballot = VotesByRung()
        judged = []
        for trial in seen:
            rung = self.ladder.nearest(trial.load)
            self.ballot.count(rung, passed=trial.passed, stolen=trial.stolen, completed=trial.completed)
            if trial.passed is not None:
                judged.append((rung, trial.passed))
        self.agreeing = search.confirm + 1
        given_up = self.ballot.first_given_up()
        self.generator_limit = self.ladder.top + 1 if given_up is None else given_up
        self.belief = believe(self.ladder, search.precision, judged)
        self.likely = min(self.belief.highest_likely, self.generator_limit - 1)
        self.lower = self.ballot.highest_passing(self.likely + 1)
        self.upper = self.ballot.lowest_failing(
            above=_NO_RUNG if self.lower is None else self.lower, below=self.generator_limit
        )

    def next_step(self) -> NextTrial | SearchResult:
        lowest_failing = self.ballot.lowest_failing(above=_NO_RUNG, below=self.generator_limit)
        if lowest_failing is None:
            return self.search_upwards()
        if self.likely + 1 == self.generator_limit:  # then the failure is the least likely of the results
            return self.try_rung(lowest_failing)
        return self.narrow_bounds(self.likely, self.likely + 1)

    def search_upwards(self) -> NextTrial | SearchResult:
        """Search for a load that fails, while none is known below the generator's limit."""
        undecided = self.ballot.undecided(self.generator_limit)
        if undecided is not None:
            return self.try_rung(undecided)
        lower = self.ballot.highest_passing(self.generator_limit)
        if lower is None and self.generator_limit > 0:
            return self.try_rung(0)
        if lower is not None and lower + 1 < self.generator_limit:
            return self.try_rung(self.next_higher_rung(lower))
        if lower is not None and not self.is_lower(lower):
            return self.try_rung(lower)
        return self.end_at_generator_limit(lower)

    def next_higher_rung(self, lower: int) -> int:
        """Return the rung to try after one that passed: by a growing factor, at most halfway to `generator_limit`."""
        factor = GROWTH ** len(self.ballot.by_rung)
        grown = max(self.ladder.at_or_below(self.ladder.loads[lower] * factor), lower + 1)
        return grown if self.generator_limit > self.ladder.top else min(grown, (lower + self.generator_limit) // 2)

    def end_at_generator_limit(self, lower: int | None) -> NextTrial | SearchResult:
        if self.generator_limit > self.ladder.top:
            return self.found(lower, None, SearchEnd.MOST_HELD)
        if self.ballot.is_given_up(self.generator_limit):
            return self.found(lower, None, SearchEnd.GENERATOR_LIMIT)
        return self.try_rung(self.generator_limit)

    def narrow_bounds(self, lower: int, upper: int) -> NextTrial | SearchResult:
        """Bring the bounds together around the likely limit, and confirm them. `lower` is -1 if no load is likely."""
        hinted = self.between_bounds()
        if hinted is not None:
            return self.try_rung(hinted)
        if not self.is_sure(lower):
            is_lower_known = lower == _NO_RUNG or self.ballot.judged(lower) >= self.ballot.judged(upper)
            return self.try_rung(upper if is_lower_known else lower)
        doubtful = self.ballot.lowest_failing(above=_NO_RUNG, below=lower)
        if doubtful is not None:
            return self.try_rung(doubtful)
        if lower == _NO_RUNG:
            return self.found(None, upper, SearchEnd.LEAST_BROKEN) if self.is_upper(upper) else self.try_rung(upper)
        if self.is_lower(lower) and self.is_upper(upper):
            return self.found(lower, upper, SearchEnd.FOUND)
        return self.try_rung(upper if self.is_lower(lower) else lower)

    def is_sure(self, lower: int) -> bool:
        """Return whether the limit is near the rung with enough probability, and almost certainly not far from it.

        The allowed doubt is half a trial of `confirm` + 1 for the first, and for the second the probability that as
        many trials fail by chance, at about one in six each.
        """
        near, not_far = 1 - _DOUBT / self.agreeing, 1 - _CHANCE_FAIL**self.agreeing
        return self.nearness(lower, 1) >= near and self.nearness(lower, _FAR) >= not_far

    def nearness(self, lower: int, times: float) -> float:
        """Return the probability that the limit is within `times` the precision of a rung, or below the next rung."""
        loads, ratio = self.ladder.loads, (1 + self.search.precision) ** times
        if lower == _NO_RUNG:
            return self.belief.between(0, loads[0])
        return self.belief.between(loads[lower] / ratio, max(loads[lower] * ratio, loads[lower + 1]))

    def is_lower(self, rung: int) -> bool:
        """Return whether a rung is a confirmed lower bound: it passes, and enough trials agree."""
        return self.ballot.lead(rung) > 0 and self.ballot.passes_at_or_above(rung) >= self.agreeing

    def is_upper(self, rung: int) -> bool:
        return self.ballot.lead(rung) < 0 and self.ballot.fails_at_or_below(rung) >= self.agreeing

    def between_bounds(self) -> int | None:
        """Return the rung to try by the rate that an overloaded server completed, None if this gives none."""
        lower, upper = self.lower, self.upper
        if lower is None or upper is None or upper - lower <= _RUNGS_FAR_APART:
            return None
        hint = self.hint(upper)
        if hint is None:
            return None
        halfway = (lower + upper) // 2
        if lower < hint < upper:
            return hint
        if lower >= hint:
            return min(lower + _FIRST_STEP_FROM_HINT + (lower - hint) // 2, halfway)
        return max(upper - _FIRST_STEP_FROM_HINT - (hint - upper) // 2, halfway)

    def hint(self, upper: int) -> int | None:
        """Return the rung of the rate that an overloaded server completed, in the least overloaded of such trials."""
        for rung, votes in sorted(self.ballot.by_rung.items()):
            overloaded_below = self.ladder.loads[rung] * _OVERLOADED_BELOW
            if rung >= upper and votes.completed is not None and votes.completed < overloaded_below:
                return self.ladder.at_or_below(votes.completed)
        return None

    def try_rung(self, rung: int) -> NextTrial:
        return NextTrial(self.ladder.loads[rung])

    def found(self, lower: int | None, upper: int | None, end: SearchEnd) -> SearchResult:
        loads = self.ladder.loads
        return SearchResult(None if lower is None else loads[lower], None if upper is None else loads[upper], end)
