"""A thousand searches of servers with a known limit: how near they end, by how many trials, and MLRsearch beside."""

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

SEARCHES = 1000
COMPARED = 250
CALM = (Noise(), Noise(0.01))
NOISY = (Noise(0.02), Noise(0.02, 0.02), Noise(0.05))
NOISES = (*CALM, *NOISY)
OUTSIDE = ((LEAST / 2, SearchEnd.LEAST_BROKEN), (MOST * 2, SearchEnd.MOST_HELD))
ONLY_VERDICTS_OR_RATES = (pytest.param(False, id="verdicts only"), pytest.param(True, id="completed rates too"))
GOAL = Goal(LEAST, MOST, PROMISE, confirm=2, whole=False)


@pytest.mark.parametrize("noise", NOISES, ids=str)
@pytest.mark.parametrize("completed", ONLY_VERDICTS_OR_RATES)
def test_95_percent_of_searches_end_within_the_precision_of_the_limit(noise: Noise, *, completed: bool) -> None:
    ended = figures([ours(server) for server in servers(noise, SEARCHES, completed=completed)])
    assert ended.within >= 0.95, ended
    assert ended.trials_max < TRIALS_LIMIT, ended


@pytest.mark.parametrize("precision", [0.01, 0.1])
def test_the_same_holds_of_a_finer_and_of_a_coarser_precision_with_noise_of_half_its_size(precision: float) -> None:
    noise = Noise(precision / 2, 0.01)
    ended = figures([ours(server, precision) for server in servers(noise, SEARCHES, completed=False)], precision)
    assert ended.within >= 0.95, ended


@pytest.mark.parametrize("noise", NOISES)
def test_by_verdicts_mlrsearch_takes_a_tenth_more_trials_or_more_and_ends_no_nearer(noise: Noise) -> None:
    mine, theirs = both(noise, completed=False)
    assert 1.1 * mine.trials_mean <= theirs.trials_mean, (mine, theirs)
    assert mine.within >= theirs.within - 0.01, (mine, theirs)


@pytest.mark.parametrize(("noise", "more"), [*((noise, 1.03) for noise in CALM), *((noise, 1.0) for noise in NOISY)])
def test_by_rates_too_mlrsearch_takes_as_many_trials_and_ends_no_nearer(noise: Noise, more: float) -> None:
    """With next to no noise it takes up to 3 % fewer: it begins at the most, and never looks at the least."""
    mine, theirs = both(noise, completed=True)
    assert mine.trials_mean <= more * theirs.trials_mean, (mine, theirs)
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
