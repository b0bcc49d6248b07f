"""The advice on MaxStartups where logins wait for something else than the CPU: sshd's rule, played many times.

A login waits 40 to 120 ms, as for LDAP or PAM, whatever the others do; the target's CPU could make 2,000 in a second.
"""

from collections.abc import Iterator
from itertools import repeat
from math import inf
from random import Random

import pytest
from circles import in_pairs
from sshd_queue import Played, SshdQueue, play, seeded
from sshload_operator.decision.max_startups.advice import needed, recommended
from sshload_operator.decision.max_startups.arrivals import Even, LoginService, Memoryless
from sshload_operator.decision.max_startups.measured import Logins
from sshload_operator.decision.max_startups.prediction import LONGEST, SHORTEST, predicted
from sshload_operator.decision.max_startups.setting import MaxStartups

DRAWS = 60
WAIT_S = 0.08
LASTED_S = 60
CPU_ALLOWS_PER_S = 2_000.0
ARRIVALS = [pytest.param(Even, id="evenly spaced"), pytest.param(Memoryless, id="Poisson")]
SETTINGS = [MaxStartups(5, 50, 20), MaxStartups(3, 100, 3)]


def waits(random: Random) -> float:
    """Return a login's time in units of its mean: 40 to 120 ms."""
    return random.uniform(0.5, 1.5)


def gaps_s(manner: type[Even | Memoryless], per_s: int, random: Random) -> Iterator[float]:
    """Return the gaps between the connections of a run."""
    attempted = per_s * LASTED_S
    if manner is Even:
        return repeat(1 / per_s, attempted)
    return (random.expovariate(per_s) for _ in range(attempted))


def seen(
    manner: type[Even | Memoryless], per_s: int, setting: MaxStartups, draw: int, counted: float = 1.0
) -> tuple[Played, Logins]:
    """Play a run, and return what became of its connections, and what its clients measured.

    sshd counts a connection for so many times as long as its client sees it log in.
    """
    random = seeded(f"{per_s}/{setting}/{draw}")
    queue = SshdQueue(LoginService(WAIT_S * counted, inf), setting, waits, random)
    played = play(gaps_s(manner, per_s, random), queue)
    logins = Logins(
        arrivals=manner(per_s),
        attempted=played.attempted,
        dropped=played.dropped,
        unexplained=0,
        lasted_s=LASTED_S,
        alone_s=WAIT_S / 2,
        time_s=played.took_s / played.logged_in / counted,
        overflowed=False,
        cpu_allows_per_s=CPU_ALLOWS_PER_S,
    )
    return played, logins


@pytest.mark.slow
@pytest.mark.parametrize("manner", ARRIVALS)
def test_a_setting_that_loses_nothing_is_found_and_no_maximum_is_claimed(manner: type[Even | Memoryless]) -> None:
    wide = MaxStartups(100, 30, 150)
    for draw in range(DRAWS):
        played, logins = seen(manner, 30, wide, draw)
        need = needed((logins,), wide)
        assert played.dropped == 0
        assert (need.use, need.start_if_waiting) == (0.0, None)
        assert need.start is not None
        assert seen(manner, 30, recommended(need.start), draw)[0].dropped == 0


@pytest.mark.slow
@in_pairs(
    (
        "counted",
        [
            pytest.param(SHORTEST, id="shorter"),
            pytest.param(1.0, id="as long"),
            pytest.param(LONGEST, id="longer"),
        ],
    ),
    ("setting", SETTINGS),
    ("manner", ARRIVALS),
)
def test_the_band_of_the_prediction_holds_the_loss_that_is_seen_in_95_of_100_runs(
    manner: type[Even | Memoryless], setting: MaxStartups, counted: float
) -> None:
    held = 0
    for draw in range(DRAWS):
        played, logins = seen(manner, 45, setting, draw, counted)
        foreseen = predicted((logins,), setting)
        held += foreseen is not None and foreseen.explains(played.drop_share)
    assert held >= 0.95 * DRAWS, held


@pytest.mark.slow
@in_pairs(("setting", SETTINGS), ("manner", ARRIVALS))
def test_the_loss_is_predicted_within_five_points_where_sshd_counts_what_clients_see(
    manner: type[Even | Memoryless], setting: MaxStartups
) -> None:
    for draw in range(DRAWS):
        played, logins = seen(manner, 45, setting, draw)
        foreseen = predicted((logins,), setting)
        assert foreseen is not None
        assert abs(foreseen.dropped - played.drop_share) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("manner", ARRIVALS)
def test_where_a_third_is_lost_no_loss_and_twice_the_loss_are_outside_of_the_band(
    manner: type[Even | Memoryless],
) -> None:
    setting = MaxStartups(3, 100, 3)
    for draw in range(DRAWS):
        played, logins = seen(manner, 45, setting, draw)
        foreseen = predicted((logins,), setting)
        assert foreseen is not None
        assert not foreseen.explains(0.0)
        assert not foreseen.explains(2 * played.drop_share)
