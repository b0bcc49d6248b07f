"""IdleSockets: watches many sockets that are idle most of the time, at no cost while they are idle.

The loop's own watchers report a socket as long as it has unread data, so a socket that nobody reads would keep the loop
busy. IdleSockets reports each change once (EPOLLET of epoll(7)), whether the data is read or not.
"""

import select
from collections.abc import Callable
from typing import Any

from gevent import get_hub, monkey

_READ = 1
_CLOSED = select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR
_CHANGES = select.EPOLLIN | select.EPOLLOUT | select.EPOLLRDHUP | select.EPOLLET
_AT_ONCE = 16
"""How many sockets are reported before the loop runs something else."""


class IdleSockets:
    """Calls `tell` with the descriptor of each socket that has changed, and whether the server has closed it.

    A change is new data, room to write, or a close. What was there before the socket was added counts as new. `tell` is
    called in the loop's own greenlet, and must neither wait nor raise.
    """

    def __init__(self, tell: Callable[[int, bool], None]) -> None:
        self._tell = tell
        self._epoll: Any = monkey.get_original("select", "epoll")()
        self._watcher: Any = get_hub().loop.io(self._epoll.fileno(), _READ)
        self._watcher.start(self._report)

    def add(self, number: int) -> None:
        """Watch an open socket; raises OSError if the kernel cannot watch any more."""
        self._epoll.register(number, _CHANGES)

    def remove(self, number: int) -> None:
        """Stop watching a socket, which must still be open."""
        self._epoll.unregister(number)

    def close(self) -> None:
        """Stop watching all sockets."""
        self._watcher.close()
        self._epoll.close()

    def _report(self) -> None:
        for number, events in self._epoll.poll(0, _AT_ONCE):
            self._tell(number, bool(events & _CLOSED))
