"""Hundreds of searches of servers with a known limit: how near they end, after how many trials; MLRsearch beside.

`make bench WHAT=search` searches 1,000 servers of each kind; docs/measurements/search.md has its figures. Here are as
many servers as tell a worse search from chance. A search that finds 99.9 %, as ours does up to a noise of 2 %, finds
less than 95 of 100 with a probability below 0.000001; one that finds 88 % finds 95 or more with probability 0.02. With
a noise of 5 % ours finds 97.7 %, and less than 190 of 200 with probability 0.01; one that finds 91 % finds 190 or more
with probability 0.03.
"""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from limited_server import (
    LEAST,
    MOST,
    PROMISE,
    Ended,
    LimitedServer,
    Noise,
    figures,
    mlrsearch,
    ours,
    search,
    servers,
)
from run_configs import search_for
from sshload_contract.vocabulary import SearchEnd
from sshload_worker.search.capacity_search import TRIALS_LIMIT, PastTrial

MEASURED = Path(__file__).parents[2] / "docs/measurements/search.json"
SEARCHES = 100
SEARCHES_OF_NOISY, SEARCHES_WITH_LAPSES = 200, 300
FINE_SEARCHES, OUTSIDE_SEARCHES = 40, 300
NOISY = Noise(0.05)
LAPSING = Noise(lapses=0.2)
NOISES = (Noise(), Noise(0.01), Noise(0.02), Noise(0.02, 0.02), NOISY)
COUNTS = {NOISY: SEARCHES_OF_NOISY, LAPSING: SEARCHES_WITH_LAPSES}
OUTSIDE = ((LEAST / 2, SearchEnd.LEAST_BROKEN), (MOST * 2, SearchEnd.MOST_HELD))
GOAL = search_for(LEAST, MOST, PROMISE, confirm=2, whole=False)


@cache
def searched(noise: Noise, *, completed: bool) -> Sequence[Ended]:
    """Return our searches of as many servers as this noise asks for."""
    return [ours(server) for server in servers(noise, COUNTS.get(noise, SEARCHES), completed=completed)]


def searched_param(noise: Noise, *, completed: bool) -> ParameterSet:
    """Return a kind of servers as a parameter. Its tests share one process, and there its searches.

    `make test` leaves out those of which more than a hundred are to be searched.
    """
    name = f"{noise} {'completed rates too' if completed else 'verdicts only'}"
    marks = [pytest.mark.xdist_group(name), *([pytest.mark.full] if noise in COUNTS else [])]
    return pytest.param(noise, completed, id=name, marks=marks)


BY_VERDICTS = [searched_param(noise, completed=False) for noise in NOISES]
BY_RATES = [searched_param(noise, completed=True) for noise in NOISES]
LAPSING_BY_VERDICTS, LAPSING_BY_RATES = (searched_param(LAPSING, completed=completed) for completed in (False, True))


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "completed"), [*BY_VERDICTS, *BY_RATES])
def test_95_percent_of_searches_end_within_the_precision_of_the_limit_and_95_percent_by_themselves(
    noise: Noise, *, completed: bool
) -> None:
    ended = figures(searched(noise, completed=completed))
    assert ended.within >= 0.95, ended
    assert ended.trials_p95 < TRIALS_LIMIT, ended


@pytest.mark.slow
@pytest.mark.parametrize(
    ("precision", "count"), [pytest.param(0.01, FINE_SEARCHES, marks=pytest.mark.full), (0.1, SEARCHES)]
)
def test_the_same_holds_of_a_finer_and_of_a_coarser_precision_with_noise_of_half_its_size(
    precision: float, count: int
) -> None:
    """A search that finds 80 % finds less than 95 % of 40 with probability 0.99, one that finds 99.5 % with 0.001."""
    noise = Noise(precision / 2, 0.01)
    ended = figures([ours(server, precision) for server in servers(noise, count, completed=False)], precision)
    assert ended.within >= 0.95, ended


@pytest.mark.full
@pytest.mark.parametrize("completed", [False, True], ids=["verdicts only", "completed rates too"])
def test_75_percent_do_so_where_the_limit_varies_by_twice_the_precision(*, completed: bool) -> None:
    """Ours finds 87 %, and less than 75 of 100 with probability 0.0004; one that finds 62 % with 0.996."""
    ended = figures(searched(Noise(0.10), completed=completed))
    assert ended.within >= 0.75, ended


@pytest.mark.parametrize(("noise", "completed"), [LAPSING_BY_VERDICTS, LAPSING_BY_RATES])
def test_98_of_100_do_so_where_a_fifth_of_the_trials_below_the_limit_fails(noise: Noise, *, completed: bool) -> None:
    """The promise is 99 %. The next test holds it, of the 1,000 searches that it takes to tell 99 % from 98 %.

    Ours finds 99.2 %, and less than 294 of 300 with probability 0.01; one that finds 95 % finds 294 or more with 0.007.
    """
    ended = figures(searched(noise, completed=completed))
    assert ended.within >= 0.98, ended


@pytest.mark.parametrize("completed", [False, True], ids=["verdicts only", "completed rates too"])
def test_99_percent_of_the_searches_in_the_measured_figures_did_so(*, completed: bool) -> None:
    rows = [
        row
        for row in json.loads(MEASURED.read_text(encoding="utf-8"))["figures"]
        if (row["search"], row["confirm"], row["completed"], row["lapses"]) == ("ours", 2, completed, LAPSING.lapses)
    ]
    assert [row["within"] >= 0.99 for row in rows] == [True]


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "completed"), [*BY_VERDICTS, LAPSING_BY_VERDICTS])
def test_by_verdicts_mlrsearch_takes_as_many_trials_or_more_and_ends_no_nearer(
    noise: Noise, *, completed: bool
) -> None:
    mine, theirs = figures(searched(noise, completed=completed)), figures(by_mlrsearch(noise, completed=completed))
    assert mine.trials_mean <= 1.03 * theirs.trials_mean, (mine, theirs)
    assert mine.within >= theirs.within - 0.01, (mine, theirs)


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "completed"), [*BY_RATES, LAPSING_BY_RATES])
def test_by_rates_mlrsearch_takes_at_most_two_fifths_fewer_and_ends_no_nearer(noise: Noise, *, completed: bool) -> None:
    """It trusts the rate that an overloaded server completed, and a lapse that it meets."""
    mine, theirs = figures(searched(noise, completed=completed)), figures(by_mlrsearch(noise, completed=completed))
    assert mine.trials_mean <= 5 / 3 * theirs.trials_mean, (mine, theirs)
    assert mine.within >= theirs.within - 0.01, (mine, theirs)


def by_mlrsearch(noise: Noise, *, completed: bool) -> Sequence[Ended]:
    """Search the same servers with as many agreeing trials at each bound, and bounds as near."""
    count = len(searched(noise, completed=completed))
    return [mlrsearch(server) for server in servers(noise, count, completed=completed)]


@pytest.mark.parametrize(("limit", "end"), OUTSIDE)
def test_a_limit_outside_of_the_loads_is_told_as_such_after_a_few_trials(limit: float, end: SearchEnd) -> None:
    for seed in range(OUTSIDE_SEARCHES):
        found, seen = search(GOAL, LimitedServer(seed, Noise(0.05), limit=limit).trial)
        assert (found.end, len(seen) <= 6) == (end, True)


@pytest.mark.parametrize(("limit", "end"), OUTSIDE)
def test_flakes_hardly_ever_hide_a_limit_that_is_outside_of_the_loads(limit: float, end: SearchEnd) -> None:
    noise = Noise(0.02, 0.02)
    ended = [search(GOAL, LimitedServer(seed, noise, limit=limit).trial)[0].end for seed in range(OUTSIDE_SEARCHES)]
    assert ended.count(end) >= 0.98 * OUTSIDE_SEARCHES


@pytest.mark.slow
def test_a_limit_that_drifts_is_found_where_it_was_meanwhile() -> None:
    """It falls by 5 % within 20 trials."""
    near = 0
    for seed in range(SEARCHES):
        server = LimitedServer(seed, Noise(0.01), drift=0.95**0.05)
        at_first = server.limit
        lower = ours(server).lower
        near += lower is not None and server.limit / (1 + PROMISE) <= lower <= at_first * (1 + PROMISE)
    assert near >= 0.95 * SEARCHES


class ExhaustedServer(LimitedServer):
    """A trial after one at twice the limit or more fails by half a chance, whatever its load."""

    exhausted = False

    def trial(self, load: float) -> PastTrial:
        fails = self.exhausted and self.random.random() < 0.5
        self.exhausted = load >= 2 * self.limit
        return PastTrial(load, passed=False, completed=None) if fails else super().trial(load)


class LaggingServer(LimitedServer):
    """Each tenth trial is invalid, whatever its load."""

    def trial(self, load: float) -> PastTrial:
        return PastTrial(load, None, None) if self.random.random() < 0.1 else super().trial(load)


@pytest.mark.slow
@pytest.mark.parametrize("server", [ExhaustedServer, LaggingServer])
def test_trials_that_suffer_from_what_is_around_them_do_not_mislead(server: type[LimitedServer]) -> None:
    ended = figures([ours(server(seed, Noise(0.01))) for seed in range(SEARCHES)])
    assert ended.within >= 0.95, ended
