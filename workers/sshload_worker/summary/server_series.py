"""ServerSeries: what the managed target used over time, from the counts that the master fetches during a trial."""

from itertools import pairwise
from typing import Final

from sshload_contract.steal import stolen_share
from sshload_contract.wire.run_summary import SERVER_POINTS_LIMIT, ServerPoint
from sshload_contract.wire.target import TargetStats

_SHORTEST_INTERVAL_S: Final = 2.0


class ServerSeries:
    """The target's counts at instants of one trial, in seconds since the start of its load.

    `interval_s` is how often they are to be fetched: each answer costs the server CPU time, and there are at most
    SERVER_POINTS_LIMIT points.
    """

    def __init__(self, planned_s: float) -> None:
        self.interval_s = max(_SHORTEST_INTERVAL_S, planned_s / SERVER_POINTS_LIMIT)
        self._told: list[tuple[float, TargetStats]] = []

    def add(self, at_s: float, stats: TargetStats) -> None:
        """Add what the target told; nothing where no time has passed by its own clock, or there are points enough."""
        if len(self._told) > SERVER_POINTS_LIMIT:
            return
        if not self._told or (at_s > self._told[-1][0] and stats.at_unix_s > self._told[-1][1].at_unix_s):
            self._told.append((at_s, stats))

    def points(self) -> tuple[ServerPoint, ...]:
        """Return the intervals between what was told, but for those in which the target was started again."""
        return tuple(
            ServerPoint(
                at_s=at_s,
                cores=(after.cpu_s - before.cpu_s) / (after.at_unix_s - before.at_unix_s),
                stolen_share=stolen_share(before.machine_cpu, after.machine_cpu),
                sessions=after.sessions,
                memory_bytes=after.memory_bytes,
            )
            for (_, before), (at_s, after) in pairwise(self._told)
            if after.cpu_s >= before.cpu_s
        )
