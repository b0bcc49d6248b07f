import socket
from collections.abc import Iterator

import gevent
import pytest
from sshload_worker.clients.idle_sockets import IdleSockets

TURNS = 20


class Watched:
    """One end of a pair of sockets, and what was told of it."""

    def __init__(self) -> None:
        self.near, self.far = socket.socketpair()
        self.told: list[tuple[int, bool]] = []
        self.sockets = IdleSockets(lambda number, closed: self.told.append((number, closed)))
        self.sockets.add(self.near.fileno())

    def newly_told(self) -> list[bool]:
        """Let the loop turn, and return what was told meanwhile: for each time whether the other side has closed."""
        del self.told[:]
        for _ in range(TURNS):
            gevent.sleep(0.001)
        assert {number for number, _ in self.told} <= {self.near.fileno()}
        return [closed for _, closed in self.told]


@pytest.fixture
def watched() -> Iterator[Watched]:
    watched = Watched()
    yield watched
    watched.sockets.close()
    watched.near.close()
    watched.far.close()


def test_what_nobody_reads_is_told_once(watched: Watched) -> None:
    assert watched.newly_told() == [False]  # there is room to write
    assert watched.newly_told() == []
    watched.far.send(b"unread")
    assert watched.newly_told() == [False]
    assert watched.newly_told() == []
    watched.far.send(b"more")
    assert watched.newly_told() == [False]


def test_a_close_is_told_as_one(watched: Watched) -> None:
    watched.newly_told()
    watched.far.send(b"last words")
    watched.far.close()
    assert watched.newly_told()[-1] is True
    assert watched.newly_told() == []


def test_what_was_closed_before_it_was_added_is_told(watched: Watched) -> None:
    watched.sockets.remove(watched.near.fileno())
    watched.far.close()
    assert watched.newly_told() == []
    watched.sockets.add(watched.near.fileno())
    assert watched.newly_told() == [True]


def test_more_sockets_than_are_told_of_at_once_are_all_told_of() -> None:
    told: set[int] = set()
    sockets = IdleSockets(lambda number, _: told.add(number))
    pairs = [socket.socketpair() for _ in range(50)]
    for near, _ in pairs:
        sockets.add(near.fileno())
    for _ in range(TURNS):
        gevent.sleep(0.001)
    assert told == {near.fileno() for near, _ in pairs}
    sockets.close()
    for pair in pairs:
        for end in pair:
            end.close()
