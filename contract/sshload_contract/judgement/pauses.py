"""Pauses: when a worker's event loop stood still, and which failures that may have caused.

docs/reference/validity.md has the rule and its reasons.
"""

from bisect import bisect_left

from sshload_contract.judgement.own_delay import SOUND_BELOW_US, SOUND_SHARE_OF_LIMIT
from sshload_contract.vocabulary import Outcome, Trait

DELAYABLE = Outcome.having(Trait.BY_TIME) | Outcome.having(Trait.BY_CROWD)
"""What the generator's own delay may cause."""

_SHORTEST_NS = SOUND_BELOW_US * 1_000
_FELT = 10
"""For so many times its length, a pause is felt after its end: by what it brought together, and by the server."""

_KEPT = 4_096


class Pauses:
    """The pauses of one worker that are longer than 20 ms, the latest of them. Instants are monotonic nanoseconds."""

    def __init__(self) -> None:
        self._ends_ns: list[int] = []
        self._sums_ns: list[int] = [0]
        self._felt_until_ns = 0

    def add(self, begin_ns: int, end_ns: int) -> None:
        """Add a pause. It must not end before those that were added earlier."""
        length_ns = end_ns - begin_ns
        if length_ns <= _SHORTEST_NS:
            return
        if len(self._ends_ns) >= 2 * _KEPT:
            del self._ends_ns[:_KEPT], self._sums_ns[:_KEPT]
        self._ends_ns.append(end_ns)
        self._sums_ns.append(self._sums_ns[-1] + length_ns)
        self._felt_until_ns = max(self._felt_until_ns, end_ns + _FELT * length_ns)

    def may_have_caused(self, outcome: Outcome, begin_ns: int, now_ns: int) -> bool:
        """Return whether a failure would perhaps not have occurred if the worker had never paused.

        The failed step began at `begin_ns` and ends now. It reached a limit of the client through the pauses if they
        took a tenth of the limit or more, in the step or as long before it: what they brought together slows the
        server. Of other outcomes the limit is the server's, and not known: there, ten times the length of a pause is
        looked back.
        """
        if outcome not in DELAYABLE:
            return False
        if Trait.OWN_LIMIT not in outcome.traits and now_ns <= self._felt_until_ns:
            return True
        if Trait.BY_CROWD in outcome.traits:
            return False
        took_ns = max(now_ns - begin_ns, 0)
        paused_ns = self._paused_ns(begin_ns - took_ns)
        return paused_ns > 0 and paused_ns >= SOUND_SHARE_OF_LIMIT * took_ns

    def _paused_ns(self, since_ns: int) -> int:
        """Return how long the pauses took that ended after an instant."""
        return self._sums_ns[-1] - self._sums_ns[bisect_left(self._ends_ns, since_ns)]
