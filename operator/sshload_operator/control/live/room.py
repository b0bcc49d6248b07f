"""Room for runs: which tests of this installation run, and which wait until one of them has ended."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sshload_operator.api.status.load_test import head_of
from sshload_operator.control.api_server.cluster import Object
from sshload_operator.control.live.objects import Key, key_of
from sshload_operator.decision.turns import Waiting, next_look_at_queue_s, positions
from sshload_operator.planning.installation import Limits
from sshload_operator.state import Phase

# Before that, a restarted operator may not know all running tests.
_HEARD_OF_ALL_S: Final = 2.0
# A queue may move at every moment: the position of a test that cannot begin yet is updated at most this often.
_PLACE_KEEPS_S: Final = 10.0
_AT_REST: Final = (None, Phase.PENDING, Phase.FINISHED)


@dataclass(frozen=True, slots=True)
class _Told:
    """The position in the queue that a test was told, and when, in monotonic seconds."""

    position: int
    at_s: float


class Room:
    """The tests that run, those that were given room in a pass that is still under way, and those that wait.

    Only the event loop's thread uses it. Positions are computed again only after a change: a queue may be long. Those
    that have room are known by uid too: the watch may tell late that a former test of the same name is gone.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._is_limited = limits.tests is not None or limits.tests_per_namespace is not None
        self._running: dict[Key, str] = {}
        self._given: dict[Key, str] = {}
        self._waiting: dict[Key, Waiting] = {}
        self._told: dict[Key, _Told] = {}
        self._positions: dict[Waiting, int] | None = None
        self._started_s = time.monotonic()

    def changed(self, event_type: str | None, test: Object) -> None:
        """Take in a watch event of a test.

        A test that is being deleted no longer waits. If it runs, it keeps its room until its run has ended, or until it
        is gone where its children are to stay.
        """
        key, uid = key_of(test), test["metadata"]["uid"]
        if event_type == "DELETED":
            if (self._given.get(key) or self._running.get(key, uid)) == uid:
                self.leave(key)
            return
        self.seen(test)
        if "deletionTimestamp" in test["metadata"]:
            self.withdraw(key)

    def seen(self, test: Object) -> None:
        """Take in a version of a test, which may be an old one: it does not take back room that a pass was given."""
        key, phase = key_of(test), head_of(test).phase
        if (key in self._running) == (phase in _AT_REST):
            self._positions = None
        self._running.pop(key, None)
        if phase not in _AT_REST:
            self._running[key] = test["metadata"]["uid"]
        if phase not in (None, Phase.PENDING):
            self.withdraw(key)

    def end_of_pass(self, test: Object) -> None:
        """Take in a test as a pass left it: room that it was given and did not use is free again."""
        self.seen(test)
        self._free(key_of(test))

    def leave(self, key: Key) -> None:
        """Take in that a test is gone."""
        if self._running.pop(key, None) is not None:
            self._positions = None
        self._free(key)
        self.withdraw(key)

    def forget(self, is_gone: Callable[[Key], bool]) -> None:
        """Take in that tests are gone."""
        for key in filter(is_gone, {*self._running, *self._given, *self._waiting}):
            self.leave(key)

    def withdraw(self, key: Key) -> None:
        """Take in that a test no longer asks for a run."""
        self._told.pop(key, None)
        if self._waiting.pop(key, None) is not None:
            self._positions = None

    def ask(self, test: Object) -> int:
        """Give a test room for its run and return 0, or return its position in the queue."""
        if not self._is_limited:
            return 0
        key, since = key_of(test), datetime.fromisoformat(test["metadata"]["creationTimestamp"])
        self._free(key)
        if self._waiting.get(key) != Waiting(since, *key):
            self._waiting[key] = Waiting(since, *key)
            self._positions = None
        position = self._position(key)
        if position == 0 and time.monotonic() - self._started_s < _HEARD_OF_ALL_S:
            position = 1
        if position == 0:
            self._given[key] = test["metadata"]["uid"]
            self.withdraw(key)
        else:
            self._told[key] = _Told(position, time.monotonic())
        return position

    def stay_queued_s(self, key: Key) -> float | None:
        """Return how long a queued test may wait without asking again; None if it has to ask now.

        It has to ask if it may begin, if it is not known to wait, or if its position differs from the one that it was
        told, which is updated at most every 10 s.
        """
        told = self._told.get(key)
        if told is None:
            return None
        position = self._position(key)
        is_old = time.monotonic() - told.at_s >= _PLACE_KEEPS_S
        return None if position == 0 or (position != told.position and is_old) else next_look_at_queue_s(position)

    def _position(self, key: Key) -> int:
        if self._positions is None:
            running = Counter(namespace for namespace, _ in self._running | self._given)
            self._positions = positions(self._waiting.values(), running, self._limits)
        return self._positions[self._waiting[key]]

    def _free(self, key: Key) -> None:
        if self._given.pop(key, None) is not None:
            self._positions = None
