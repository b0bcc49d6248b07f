"""What whole logs of real sshds add up to; how many were dropped in truth was counted on the client's side."""

from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sshload_target.sshd.log import LogCounts, add_event
from sshload_target.sshd.log_line import DropEpisode, Dropped, DropReason, read_log_line

DROP_9 = "drop connection #2 from [127.0.0.1]:60696 on [127.0.0.1]:2301 past MaxStartups\n"
DROP_10 = "drop connection #2 from [127.0.0.1]:48876 on [127.0.0.1]:2303 Maxstartups\n"
PENALTY_10 = "drop connection #0 from [127.0.0.1]:40780 on [127.0.0.1]:2305 penalty: failed authentication\n"
BEGIN_9 = "beginning MaxStartups throttling\n"
EXIT_9 = "exited MaxStartups throttling after 00:00:01, 10 connections dropped\n"
REST_10 = "Maxstartups logging rate-limited: additional 7 connections dropped\n"


def _counts(log: str) -> LogCounts:
    events = (read_log_line(line) for line in log.splitlines())
    return reduce(add_event, (event for event in events if event is not None), LogCounts())


@pytest.mark.parametrize(
    ("log", "dropped", "is_lower_bound"),
    [
        pytest.param("", 0, False, id="nothing"),
        pytest.param(BEGIN_9 + DROP_9, 1, True, id="9.2 INFO, ten dropped, more to be told"),
        pytest.param(BEGIN_9 + DROP_9 + EXIT_9, 10, False, id="9.2 INFO, ten dropped, all told"),
        pytest.param(BEGIN_9 + 10 * DROP_9 + EXIT_9, 10, False, id="9.2 VERBOSE, ten dropped, told twice"),
        pytest.param(2 * (BEGIN_9 + DROP_9 + EXIT_9), 20, False, id="9.2 INFO, two episodes"),
        pytest.param(2 * (BEGIN_9 + 10 * DROP_9 + EXIT_9), 20, False, id="9.2 VERBOSE, two episodes"),
        pytest.param(BEGIN_9 + 12 * DROP_9 + EXIT_9, 12, False, id="a total below the lines before it"),
        pytest.param(2 * DROP_10, 2, False, id="10.0, two dropped, below the limit of the rate"),
        pytest.param(3 * DROP_10, 3, True, id="10.0, ten dropped, three told"),
        pytest.param(3 * DROP_10 + DROP_10 + REST_10, 11, True, id="10.0, eleven dropped, the rest told late"),
    ],
)
def test_drops_by_max_startups_are_counted_as_far_as_they_are_told(
    log: str, dropped: int, *, is_lower_bound: bool
) -> None:
    counts = _counts(log)
    assert (counts.dropped_max_startups, counts.dropped_penalty) == (dropped, 0)
    assert counts.is_lower_bound is is_lower_bound


@pytest.mark.parametrize(("told", "is_lower_bound"), [(6, False), (7, True)])
def test_drops_by_penalties_are_counted_apart(told: int, *, is_lower_bound: bool) -> None:
    counts = _counts(told * PENALTY_10)
    assert (counts.dropped_max_startups, counts.dropped_penalty) == (0, told)
    assert counts.is_lower_bound is is_lower_bound


def test_a_penalty_says_nothing_about_how_drops_by_max_startups_are_told() -> None:
    """9.8 and 9.9 tell penalties in the words of 10.0, and each episode's total as before."""
    counts = _counts(PENALTY_10 + BEGIN_9 + DROP_9 + EXIT_9)
    assert (counts.dropped_max_startups, counts.dropped_penalty, counts.is_lower_bound) == (10, 1, False)


def test_the_running_total_of_a_long_episode_is_not_added_to_the_lines_before_it() -> None:
    """9.2 at INFO tells the first drop, after five minutes the total so far with one line, and the total at the end."""
    log = BEGIN_9 + DROP_9 + "in MaxStartups throttling for 00:05:01, 1010 connections dropped\n" + DROP_9
    assert _counts(log).dropped_max_startups == 1010
    log += "exited MaxStartups throttling after 00:06:00, 1020 connections dropped\n"
    assert (_counts(log).dropped_max_startups, _counts(log).is_lower_bound) == (1020, False)


def test_logins_are_counted_at_every_log_level_once() -> None:
    accepted = (
        "Accepted publickey for load from 127.0.0.1 port 33034 ssh2: ED25519 SHA256:Qxd4M9s4po4KvgPJr0kyWOfT5F8\n"
    )
    key_found = "Accepted key ED25519 SHA256:Qxd4M9s4po4KvgPJr0kyWOfT5F8 found at /home/load/.ssh/authorized_keys:1\n"
    assert _counts(2 * accepted).accepted == 2
    assert _counts(2 * (2 * key_found + accepted)).accepted == 2


def test_connections_that_ended_without_a_login_are_counted() -> None:
    failed = "Connection closed by authenticating user root 127.0.0.1 port 60660 [preauth]\n"
    assert _counts(3 * failed + "Server listening on :: port 22.\n") == LogCounts(auth_failed=3)


def test_processes_that_sshd_could_not_start_are_counted() -> None:
    log = "fork: Resource temporarily unavailable\ndo_exec_pty: fork: Resource temporarily unavailable\n"
    assert _counts(log).refused_forks == 2


@given(st.lists(st.sampled_from([True, False]), min_size=1), st.integers(min_value=1, max_value=50))
def test_an_episode_counts_the_same_whatever_part_of_it_was_told(told: list[bool], episodes: int) -> None:
    counts = LogCounts()
    for _ in range(episodes):
        for line_is_told in told:
            if line_is_told:
                counts = add_event(counts, Dropped(DropReason.MAX_STARTUPS, rate_limited=False))
        counts = add_event(counts, DropEpisode(len(told), ended=True))
    assert counts.dropped_max_startups == episodes * len(told)
    assert not counts.is_lower_bound
