"""One pause of a generator that is sound otherwise, of 0.1 to 5 s, at every moment of what it measures.

30 iterations a second, each a login and a command of 0.6 s, with a limit of 1 s and a promise that hardly one may fail.
Nothing fails without the pause, or what fails is the server's. The pause begins at moments that divide the time from
one arrival to the next but one, each with others in each phase of its course.
"""

from collections.abc import Iterator
from math import inf

import pytest
from circles import in_pairs
from lagging_generator import Course, Draw, Lag, OnePause, StartLimit, measured
from sshload_contract.judgement.own_delay import own_delay
from sshload_contract.judgement.threshold import judge_threshold
from sshload_contract.load import ArrivalProcess, ArrivalsLoad, ArrivalsStage
from sshload_contract.thresholds import ErrorRateThreshold, ThroughputThreshold

RATE, LASTS_S, COMMAND_S, LIMIT_S = 30, 60.0, 0.6, 1.0
LOGIN_VISITS_S = (0.0, 0.1, 0.1, 0.1)
PAUSES_S = (0.1, 0.2, 0.4, 0.55, 1.0, 2.0, 5.0)
MOMENTS = 6
HARDLY_ONE = ErrorRateThreshold(0.0005)
NEARLY_ALL = ThroughputThreshold(RATE * 0.98)
ONE_IN_A_HUNDRED = ErrorRateThreshold(0.01)


def draw(lag: Lag, *, hung_of_hundred: int = 0, limit: StartLimit | None = None) -> Draw:
    """Return a load on a server that has room for all. `hung_of_hundred` of its commands take ten times as long."""
    works_s = [[*LOGIN_VISITS_S, COMMAND_S * (10 if number < hung_of_hundred else 1)] for number in range(100)]
    stage = ArrivalsStage(rate=RATE, duration_s=LASTS_S)
    return Draw(
        server="queue",
        cores=10_000,
        overhead=0.0,
        due_s=[number / RATE for number in range(int(RATE * LASTS_S))],
        users=0,
        think_s=0.0,
        until_s=LASTS_S,
        works_s=[works_s[number * 37 % 100] for number in range(100)],
        login_visits=len(LOGIN_VISITS_S),
        round_trip_s=0.001,
        chances=[(number * 0.618) % 1 for number in range(100)],
        limit=limit,
        time_limit_s=LIMIT_S,
        lags=(lag,),
        load=ArrivalsLoad(stages=(stage,), process=ArrivalProcess.CONSTANT, max_in_flight=1000, seed=0),
    )


def moments() -> Iterator[float]:
    """Yield begins of a pause, somewhere in the load."""
    for moment in range(MOMENTS):
        yield 20.0 + 2 / RATE * moment / MOMENTS


@pytest.mark.slow
@in_pairs(
    (
        "limit",
        [pytest.param(None, id="any crowd"), pytest.param(StartLimit(15, 60), id="MaxStartups")],
    ),
    ("pause_s", PAUSES_S),
)
def test_no_pause_makes_a_server_fail_of_which_nothing_fails_without_it(
    pause_s: float, limit: StartLimit | None
) -> None:
    for begin_s in moments():
        drawn = draw(OnePause(begin_s, pause_s), limit=limit)
        _, _, found = measured(drawn)
        for threshold in (HARDLY_ONE, NEARLY_ALL):
            assert judge_threshold(threshold, drawn.load, found.trial).result.met is not False, begin_s


def test_without_a_pause_nothing_fails() -> None:
    for limit in (None, StartLimit(15, 60)):
        assert not Course(draw(OnePause(inf, 0.0), limit=limit)).run().failures


@pytest.mark.slow
@pytest.mark.parametrize("pause_s", [length for length in PAUSES_S if length < LASTS_S / 100])
def test_no_pause_excuses_a_server_that_hangs(pause_s: float) -> None:
    """Without it three in a hundred hang, and the pause is too short to be near more than a few of them."""
    for begin_s in moments():
        drawn = draw(OnePause(begin_s, pause_s), hung_of_hundred=3)
        _, _, found = measured(drawn)
        assert own_delay(found.trial).is_small_beside_any_limit
        assert judge_threshold(ONE_IN_A_HUNDRED, drawn.load, found.trial).result.met is False, begin_s


@pytest.mark.slow
@pytest.mark.parametrize("pause_s", PAUSES_S)
def test_no_pause_excuses_a_server_of_which_a_fifth_hangs_all_the_time(pause_s: float) -> None:
    for begin_s in moments():
        drawn = draw(OnePause(begin_s, pause_s), hung_of_hundred=20)
        _, _, found = measured(drawn)
        assert judge_threshold(ONE_IN_A_HUNDRED, drawn.load, found.trial).result.met is False, begin_s
