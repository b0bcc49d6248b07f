"""Hundreds of searches of servers with a known limit: how near they end, after how many trials; MLRsearch beside."""

import pytest
from limited_server import (
    LEAST,
    MOST,
    PROMISE,
    Figures,
    LimitedServer,
    Noise,
    figures,
    mlrsearch,
    ours,
    search,
    servers,
)
from sshload_contract.vocabulary import SearchEnd
from sshload_worker.search.capacity_search import TRIALS_LIMIT, Goal, Seen

SEARCHES = 300
LAPSED = 1000
COMPARED = 150
CALM = (Noise(), Noise(0.01))
NOISY = (Noise(0.02), Noise(0.02, 0.02), Noise(0.05))
NOISES = (*CALM, *NOISY)
OUTSIDE = ((LEAST / 2, SearchEnd.LEAST_BROKEN), (MOST * 2, SearchEnd.MOST_HELD))
ONLY_VERDICTS_OR_RATES = (pytest.param(False, id="verdicts only"), pytest.param(True, id="completed rates too"))
GOAL = Goal(LEAST, MOST, PROMISE, confirm=2, whole=False)


@pytest.mark.parametrize("noise", NOISES, ids=str)
@pytest.mark.parametrize("completed", ONLY_VERDICTS_OR_RATES)
def test_95_percent_of_searches_end_within_the_precision_of_the_limit_and_95_percent_by_themselves(
    noise: Noise, *, completed: bool
) -> None:
    ended = figures([ours(server) for server in servers(noise, SEARCHES, completed=completed)])
    assert ended.within >= 0.95, ended
    assert ended.trials_p95 < TRIALS_LIMIT, ended


@pytest.mark.parametrize("precision", [0.01, 0.1])
def test_the_same_holds_of_a_finer_and_of_a_coarser_precision_with_noise_of_half_its_size(precision: float) -> None:
    noise = Noise(precision / 2, 0.01)
    ended = figures([ours(server, precision) for server in servers(noise, COMPARED, completed=False)], precision)
    assert ended.within >= 0.95, ended


@pytest.mark.parametrize("completed", ONLY_VERDICTS_OR_RATES)
def test_75_percent_do_so_where_the_limit_varies_by_twice_the_precision(*, completed: bool) -> None:
    ended = figures([ours(server) for server in servers(Noise(0.10), SEARCHES, completed=completed)])
    assert ended.within >= 0.75, ended


@pytest.mark.parametrize("completed", ONLY_VERDICTS_OR_RATES)
def test_99_percent_do_so_where_a_fifth_of_the_trials_below_the_limit_fails(*, completed: bool) -> None:
    ended = figures([ours(server) for server in servers(Noise(lapses=0.2), LAPSED, completed=completed)])
    assert ended.within >= 0.99, ended


@pytest.mark.parametrize("noise", [*NOISES, Noise(lapses=0.2)], ids=str)
def test_by_verdicts_mlrsearch_takes_as_many_trials_or_more_and_ends_no_nearer(noise: Noise) -> None:
    mine, theirs = both(noise, completed=False)
    assert mine.trials_mean <= 1.03 * theirs.trials_mean, (mine, theirs)
    assert mine.within >= theirs.within - 0.01, (mine, theirs)


@pytest.mark.parametrize("noise", [*NOISES, Noise(lapses=0.2)], ids=str)
def test_by_rates_mlrsearch_takes_at_most_two_fifths_fewer_and_ends_no_nearer(noise: Noise) -> None:
    """It trusts the rate that an overloaded server completed, and a lapse that it meets."""
    mine, theirs = both(noise, completed=True)
    assert mine.trials_mean <= 5 / 3 * theirs.trials_mean, (mine, theirs)
    assert mine.within >= theirs.within - 0.01, (mine, theirs)


def both(noise: Noise, *, completed: bool) -> tuple[Figures, Figures]:
    """Search the same servers by both, with as many agreeing trials at each bound, and bounds as near."""
    mine = [ours(server) for server in servers(noise, COMPARED, completed=completed)]
    theirs = [mlrsearch(server) for server in servers(noise, COMPARED, completed=completed)]
    return figures(mine), figures(theirs)


@pytest.mark.parametrize(("limit", "end"), OUTSIDE)
def test_a_limit_outside_of_the_loads_is_told_as_such_after_a_few_trials(limit: float, end: SearchEnd) -> None:
    for seed in range(SEARCHES):
        found, seen = search(GOAL, LimitedServer(seed, Noise(0.05), limit=limit).trial)
        assert (found.end, len(seen) <= 6) == (end, True)


@pytest.mark.parametrize(("limit", "end"), OUTSIDE)
def test_flakes_hardly_ever_hide_a_limit_that_is_outside_of_the_loads(limit: float, end: SearchEnd) -> None:
    noise = Noise(0.02, 0.02)
    ended = [search(GOAL, LimitedServer(seed, noise, limit=limit).trial)[0].end for seed in range(SEARCHES)]
    assert ended.count(end) >= 0.98 * SEARCHES


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

    def trial(self, load: float) -> Seen:
        fails = self.exhausted and self.random.random() < 0.5
        self.exhausted = load >= 2 * self.limit
        return Seen(load, passed=False, completed=None) if fails else super().trial(load)


class LaggingServer(LimitedServer):
    """Each tenth trial is invalid, whatever its load."""

    def trial(self, load: float) -> Seen:
        return Seen(load, None, None) if self.random.random() < 0.1 else super().trial(load)


@pytest.mark.parametrize("server", [ExhaustedServer, LaggingServer])
def test_trials_that_suffer_from_what_is_around_them_do_not_mislead(server: type[LimitedServer]) -> None:
    ended = figures([ours(server(seed, Noise(0.01))) for seed in range(SEARCHES)])
    assert ended.within >= 0.95, ended
