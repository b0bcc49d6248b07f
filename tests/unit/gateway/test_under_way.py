import pytest
from sshload_gateway.identity.under_way import TooManyUnderWayError, UnderWay


def test_a_caller_has_so_many_requests_under_way_and_then_one_for_each_that_ends() -> None:
    under_way = UnderWay(2)
    with under_way.one("ada"):
        with under_way.one("ada"):
            with pytest.raises(TooManyUnderWayError), under_way.one("ada"):
                raise AssertionError
            with under_way.one("bob"):
                pass
        with under_way.one("ada"):
            pass


def test_a_request_that_fails_is_under_way_no_more() -> None:
    under_way = UnderWay(1)
    for _ in range(2):
        with pytest.raises(KeyError), under_way.one("ada"):
            raise KeyError


def test_requests_that_ended_leave_a_caller_all_its_room_and_nothing_in_memory() -> None:
    under_way = UnderWay(2)
    for _ in range(3):
        with under_way.one("ada"), under_way.one("ada"), pytest.raises(TooManyUnderWayError), under_way.one("ada"):
            raise AssertionError
    with under_way.one("ada"):
        assert under_way._counts == {"ada": 1}
    assert dict(under_way._counts) == {}
