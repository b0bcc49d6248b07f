from hypothesis import given
from hypothesis import strategies as st
from sshload_gateway.identity.rate_limit import RateLimit


def test_a_burst_is_admitted_and_no_more() -> None:
    limit = RateLimit(rate=1, burst=3)

    assert [limit.take("ada", 0) for _ in range(4)] == [0, 0, 0, 1]


def test_a_caller_may_come_back_when_it_was_told_to() -> None:
    limit = RateLimit(rate=0.1, burst=1)
    limit.take("ada", 0)
    retry_s = limit.take("ada", 0)

    assert retry_s == 10
    assert limit.take("ada", retry_s) == 0


def test_callers_do_not_share_a_bucket() -> None:
    limit = RateLimit(rate=1, burst=1)

    assert [limit.take(name, 0) for name in ("ada", "bob", "ada")] == [0, 0, 1]


@given(st.lists(st.floats(0, 5), max_size=100), st.integers(1, 5), st.floats(0.1, 10))
def test_no_caller_exceeds_burst_and_rate(pauses_s: list[float], burst: int, rate: float) -> None:
    limit = RateLimit(rate, burst)
    now_s, admitted = 0.0, 0
    for pause_s in pauses_s:
        now_s += pause_s
        admitted += limit.take("ada", now_s) == 0

    assert admitted <= burst + rate * now_s + 1e-6


def test_who_called_lately_is_not_forgotten_for_those_who_come_after() -> None:
    limit = RateLimit(rate=1, burst=1)
    assert limit.take("ada", 0) == 0
    for number in range(9_999):
        limit.take(str(number), 0)
    assert limit.take("ada", 0) > 0
    for number in range(9_999, 15_000):
        limit.take(str(number), 0)
    assert limit.take("ada", 0) > 0


def test_no_more_callers_are_kept_than_a_number_and_who_called_longest_ago_goes() -> None:
    limit = RateLimit(rate=1, burst=1)
    for number in range(20_000):
        limit.take(str(number), 0)
    assert len(limit._buckets) == 10_000
    assert limit.take("0", 0) == 0


def test_a_bucket_fills_to_the_burst_and_no_further_however_long_its_caller_is_away() -> None:
    limit = RateLimit(rate=1, burst=2)
    limit.take("ada", 0)
    assert [limit.take("ada", 1_000) for _ in range(3)] == [0, 0, 1]
    assert [limit.take("ada", 1_001), limit.take("ada", 1_001)] == [0, 1]


def test_a_caller_is_told_the_whole_seconds_until_its_next_request() -> None:
    limit = RateLimit(rate=0.4, burst=1)
    limit.take("ada", 0)
    assert [limit.take("ada", at_s) for at_s in (0, 1, 2, 2.4)] == [3, 2, 1, 1]
    assert limit.take("ada", 2.5) == 0
