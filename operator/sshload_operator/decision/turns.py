"""Which test may begin next if the number of concurrent tests is limited. Namespaces take turns.

Waiting tests are ordered by how many tests of their namespace run or wait before them, then by age.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sshload_operator.planning.installation import Limits

QUEUE_PASS_S: Final = 1.0
QUEUE_PASS_MOST_S: Final = 60.0
QUEUE_LOOKS_PER_S: Final = 20


@dataclass(frozen=True, slots=True, order=True)
class Waiting:
    """A test that has been waiting to begin since it was created."""

    since: datetime
    namespace: str
    name: str


def positions(waiting: Iterable[Waiting], running: Mapping[str, int], limits: Limits) -> dict[Waiting, int]:
    """Return the position of each test in the queue, from 1; 0 for those that may begin now.

    `waiting` has all waiting tests, `running` the number of running tests in each namespace by their statuses. Anyone
    who may write statuses can claim any number, so a namespace is counted for at most as many as it may have.
    """
    here, everywhere = limits.tests_per_namespace, limits.tests
    begun, found, ahead = Counter(running), {}, 0
    taken = sum(count if here is None else min(count, here) for count in running.values())
    for one in _in_order(waiting, running):
        if (here is None or begun[one.namespace] < here) and (everywhere is None or taken < everywhere):
            begun[one.namespace] += 1
            taken += 1
            found[one] = 0
        else:
            ahead += 1
            found[one] = ahead
    return found


def next_look_at_queue_s(position: int) -> float:
    """Return when to check the queue again: later for a test far back, so that a long queue costs little."""
    return min(QUEUE_PASS_MOST_S, QUEUE_PASS_S + position / QUEUE_LOOKS_PER_S)


def _in_order(waiting: Iterable[Waiting], running: Mapping[str, int]) -> list[Waiting]:
    before, ranked = Counter(running), []
    for one in sorted(waiting):
        ranked.append((before[one.namespace], one))
        before[one.namespace] += 1
    return [one for _, one in sorted(ranked)]
