from sshload_gateway.store.remembered import Remembered

_MANY = 1_000


def test_what_was_kept_is_found_at_the_same_version() -> None:
    remembered = Remembered[str, str]()
    remembered.keep("ada", "hers", 1)
    remembered.keep("bob", "his", 1)

    assert [remembered.find(name, 1) for name in ("ada", "bob", "eve")] == ["hers", "his", None]


def test_nothing_is_found_after_a_write() -> None:
    remembered = Remembered[str, str]()
    remembered.keep("ada", "hers", 1)

    assert remembered.find("ada", 2) is None
    remembered.keep("bob", "his", 2)
    assert [remembered.find(name, 2) for name in ("ada", "bob")] == [None, "his"]


def test_nothing_is_kept_or_found_where_the_version_is_not_known() -> None:
    remembered = Remembered[str, str]()
    remembered.keep("ada", "hers", None)
    assert remembered.find("ada", None) is None

    remembered.keep("ada", "hers", 1)
    assert remembered.find("ada", None) is None


def test_no_more_than_a_number_is_kept_and_what_is_asked_for_stays() -> None:
    remembered = Remembered[int, int]()
    for number in range(_MANY):
        remembered.keep(number, number, 1)
        assert remembered.find(0, 1) == 0

    kept = [number for number in range(_MANY) if remembered.find(number, 1) is not None]
    assert len(kept) < _MANY
    assert kept[-1] == _MANY - 1
