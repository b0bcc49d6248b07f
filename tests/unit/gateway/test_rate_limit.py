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
