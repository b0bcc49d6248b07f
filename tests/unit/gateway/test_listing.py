import tracemalloc
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sshload_gateway.ssh.listing import Entry, ListingError, Page, PageOf, Request

_NAMES = st.lists(st.binary(min_size=1, max_size=3), unique=True, max_size=30)


def _entry(name: bytes) -> Entry:
    return Entry(name, "file", 0, None, None)


def _page(names: Iterable[bytes], after: bytes, limit: int, most: int) -> Page:
    found = PageOf(Request(".", after, limit, most, 1))
    for name in names:
        found.add(_entry(name))
    return found.page()


@given(_NAMES, st.integers(1, 10))
def test_pages_have_each_entry_once_in_the_order_of_their_bytes(names: list[bytes], limit: int) -> None:
    listed, after, has_more = [], b"", True
    while has_more:
        page = _page([b".", b"..", *names], after, limit, len(names))
        assert len(page.entries) == limit or not page.has_more
        listed += [one.name for one in page.entries]
        after, has_more = page.entries[-1].name if page.entries else b"", page.has_more
    assert listed == sorted(set(names) - {b".", b".."})


def test_a_directory_with_more_entries_than_may_be_is_not_listed() -> None:
    with pytest.raises(ListingError, match="more than 2 entries"):
        _page([b".", b"..", b"a", b"b", b"c"], b"", 10, 2)


def test_long_names_behind_the_page_take_no_memory() -> None:
    names = (b"%08d" % number + bytes(1_000) for number in range(20_000))
    tracemalloc.start()
    try:
        _page(names, b"", 10, 20_000)
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most_bytes < 1_000_000
