"""Which failures a pause of the worker may have caused, by hand-made cases. All instants are in milliseconds here."""

import pytest
from sshload_contract.judgement.pauses import Pauses
from sshload_contract.vocabulary import Outcome

_NS_PER_MS = 1_000_000
LIMIT_MS = 1_000
SERVERS_OWN = (Outcome.EXIT_CODE, Outcome.AUTH_REJECTED, Outcome.OUTPUT_MISMATCH, Outcome.REFUSED)
BY_ANOTHER_CLOCK = (
    Outcome.DISCONNECTED,
    Outcome.NO_EXIT_STATUS,
    Outcome.SFTP_CONNECTION_LOST,
    Outcome.TLS_FAILED,
    Outcome.UNFINISHED,
    Outcome.GATEWAY_TIMEOUT,
    Outcome.COMMAND_TIMEOUT,
)
BY_LIMIT = tuple(
    outcome for outcome in Outcome if outcome.value.endswith("Timeout") and outcome not in BY_ANOTHER_CLOCK
)
BY_CROWD = (
    Outcome.CONNECT_FAILED,
    Outcome.THROTTLED,
    Outcome.PENALISED,
    Outcome.DROPPED_UNKNOWN,
    Outcome.RESET_BEFORE_BANNER,
    Outcome.CHANNEL_REFUSED,
    Outcome.EXEC_REJECTED,
    Outcome.RATE_LIMITED,
    Outcome.GATEWAY_BUSY,
    Outcome.BAD_GATEWAY,
    Outcome.PROXY_ERROR,
)


def is_doubted(outcome: Outcome, *pauses_ms: tuple[int, int], begin_ms: int = 0, now_ms: int = LIMIT_MS) -> bool:
    pauses = Pauses()
    for begin, end in pauses_ms:
        pauses.add(begin * _NS_PER_MS, end * _NS_PER_MS)
    return pauses.may_have_caused(outcome, begin_ms * _NS_PER_MS, now_ms * _NS_PER_MS)


@pytest.mark.parametrize("outcome", Outcome)
def test_without_a_pause_nothing_is_doubted(outcome: Outcome) -> None:
    assert not is_doubted(outcome)
    assert not is_doubted(outcome, begin_ms=LIMIT_MS)  # of a step that took no time either
    assert not is_doubted(outcome, (100, 120), begin_ms=119, now_ms=121)  # as long as a sound worker's turns


@pytest.mark.parametrize("outcome", SERVERS_OWN)
def test_no_pause_makes_what_the_server_said_doubtful(outcome: Outcome) -> None:
    assert not is_doubted(outcome, (0, 900))


@pytest.mark.parametrize("outcome", BY_LIMIT)
def test_a_limit_is_doubted_if_pauses_took_a_tenth_of_it_in_the_step_or_as_long_before(outcome: Outcome) -> None:
    assert is_doubted(outcome, (400, 500))
    assert not is_doubted(outcome, (400, 499))
    assert is_doubted(outcome, (100, 150), (700, 750))
    assert is_doubted(outcome, (-1_100, -1_000))
    assert not is_doubted(outcome, (-1_201, -1_001))


@pytest.mark.parametrize("outcome", BY_ANOTHER_CLOCK + BY_CROWD)
def test_what_depends_on_another_clock_or_on_a_crowd_is_doubted_for_ten_times_the_length_of_a_pause(
    outcome: Outcome,
) -> None:
    assert is_doubted(outcome, (400, 500), begin_ms=1_499, now_ms=1_500)
    assert not is_doubted(outcome, (400, 500), begin_ms=1_500, now_ms=1_501)


@pytest.mark.parametrize("outcome", BY_CROWD)
def test_a_refusal_of_a_crowd_is_not_doubted_later_however_long_it_took(outcome: Outcome) -> None:
    assert not is_doubted(outcome, (-1_100, -1_000))


def test_the_longest_pause_is_not_forgotten_for_a_shorter_one_after_it() -> None:
    assert is_doubted(Outcome.THROTTLED, (0, 5_000), (6_000, 6_030), now_ms=54_000)


def test_pauses_without_end_take_no_more_memory_and_the_latest_are_known() -> None:
    pauses = Pauses()
    for number in range(50_000):
        pauses.add(number * 100 * _NS_PER_MS, (number * 100 + 50) * _NS_PER_MS)
    now_ns = 50_000 * 100 * _NS_PER_MS
    assert pauses.may_have_caused(Outcome.STEP_TIMEOUT, now_ns - 1_000 * _NS_PER_MS, now_ns)
    assert not pauses.may_have_caused(Outcome.STEP_TIMEOUT, 2 * now_ns - 1_000 * _NS_PER_MS, 2 * now_ns)
    assert len(pauses._ends_ns) < len(pauses._sums_ns) < 10_000
