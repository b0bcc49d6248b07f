"""Who may begin next where only so many tests may run at once. Fair between namespaces: none waits for all of another.

The tests that wait are ordered by how many tests of their namespace run or wait before them, then by age.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sshload_operator.planning.limits import Limits


@dataclass(frozen=True, slots=True, order=True)
class Waiting:
    """A test that waits to begin, since it was created."""

    since: datetime
    namespace: str
    name: str


def position(me: Waiting, waiting: Iterable[Waiting], running: Counter[str], limits: Limits) -> int:
    """Return how many tests begin before this one does, itself included; 0 where it may begin now.

    `waiting` holds all tests that wait, `running` how many run in each namespace.
    """
    running, ahead = Counter(running), 0
    for one in _in_order(waiting, running):
        if _has_room(one.namespace, running, limits):
            running[one.namespace] += 1
            if one == me:
                return 0
        else:
            ahead += 1
            if one == me:
                return ahead
    return 0


def _in_order(waiting: Iterable[Waiting], running: Counter[str]) -> list[Waiting]:
    before, ranked = Counter(running), []
    for one in sorted(waiting):
        ranked.append((before[one.namespace], one))
        before[one.namespace] += 1
    return [one for _, one in sorted(ranked)]


def _has_room(namespace: str, running: Counter[str], limits: Limits) -> bool:
    here, everywhere = limits.tests_per_namespace, limits.tests
    return (here is None or running[namespace] < here) and (everywhere is None or running.total() < everywhere)
