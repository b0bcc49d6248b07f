"""Room for runs: which tests of this installation run, and which wait until one of them has ended."""

import time
from collections import Counter
from datetime import datetime
from typing import Final

from sshload_operator.control.cluster import Object
from sshload_operator.control.live_objects import Key, key_of
from sshload_operator.decision.turns import Waiting, position
from sshload_operator.planning.limits import Limits
from sshload_operator.state import Phase

# Until then an operator that was started anew may not have heard of all tests that run.
_HEARD_OF_ALL_S: Final = 2.0
_AT_REST: Final = (None, Phase.PENDING, Phase.FINISHED)


class Room:
    """The tests that run or wait. Only the event loop's thread uses it."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._running: set[Key] = set()
        self._waiting: dict[Key, Waiting] = {}
        self._started_s = time.monotonic()

    def seen(self, test: Object) -> None:
        """Take in a version of a test."""
        key, phase = key_of(test), (test.get("status") or {}).get("phase")
        if phase in _AT_REST:
            self._running.discard(key)
        else:
            self._running.add(key)
            self.withdraw(key)

    def leave(self, key: Key) -> None:
        """Take in that a test is gone."""
        self._running.discard(key)
        self.withdraw(key)

    def withdraw(self, key: Key) -> None:
        """Take in that a test asks for no run any more."""
        self._waiting.pop(key, None)

    def ask(self, test: Object) -> str:
        """Give a test room for its run, and return ""; or return why it has to wait."""
        key, since = key_of(test), datetime.fromisoformat(test["metadata"]["creationTimestamp"])
        self._waiting[key] = me = Waiting(since, *key)
        in_namespaces = Counter(namespace for namespace, _ in self._running - {key})
        ahead = position(me, self._waiting.values(), in_namespaces, self._limits)
        was_queued = (test.get("status") or {}).get("phase") == Phase.PENDING
        if ahead == 0 and was_queued and time.monotonic() - self._started_s < _HEARD_OF_ALL_S:
            ahead = 1
        if ahead == 0:
            self._running.add(key)
            del self._waiting[key]
            return ""
        here, everywhere = in_namespaces[key[0]], in_namespaces.total()
        return (
            f"position {ahead} in the queue: {here} of {_shown(self._limits.tests_per_namespace)} tests run in this"
            f" namespace, {everywhere} of {_shown(self._limits.tests)} in all"
        )


def _shown(limit: int | None) -> str:
    return "any number" if limit is None else str(limit)
