"""IdleSockets: many sockets on which nothing happens for most of the time, watched at no cost while nothing does.

The loop's own watchers tell for as long as there is something to read, so one that nobody reads from would keep the
loop busy. These tell once of each change (EPOLLET of epoll(7)), whether it is read or not.
"""

import select
from collections.abc import Callable
from typing import Any

from gevent import get_hub, monkey

_READ = 1
_CLOSED = select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR
_CHANGES = select.EPOLLIN | select.EPOLLOUT | select.EPOLLRDHUP | select.EPOLLET
_AT_ONCE = 16
"""How many sockets are told of before others get their turn of the loop."""


class IdleSockets:
    """Calls `tell` with the number of each socket that something is new of, and whether the other side has closed it.

    That is data, room to write, or a close. What was there before a socket was added is new too. `tell` is called in
    the loop's own greenlet, and must neither wait nor raise.
    """

    def __init__(self, tell: Callable[[int, bool], None]) -> None:
        self._tell = tell
        self._epoll: Any = monkey.get_original("select", "epoll")()
        self._watcher: Any = get_hub().loop.io(self._epoll.fileno(), _READ)
        self._watcher.start(self._look)

    def add(self, number: int) -> None:
        """Watch an open socket; raises OSError where the kernel watches no more."""
        self._epoll.register(number, _CHANGES)

    def remove(self, number: int) -> None:
        """Watch a socket no more, which is still open."""
        self._epoll.unregister(number)

    def close(self) -> None:
        """Watch nothing more."""
        self._watcher.close()
        self._epoll.close()

    def _look(self) -> None:
        for number, events in self._epoll.poll(0, _AT_ONCE):
            self._tell(number, bool(events & _CLOSED))
