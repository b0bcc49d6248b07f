"""Settling: before each trial, wait until a managed target is ready and, after another trial, idle again.

A target is idle if it has no session left, and no more processes than before the first trial: only its processes show
which connections sshd still serves that were abandoned before their login. It must also have reported all logins before
the load, so that they are not counted as the load's.
"""

import logging
from collections.abc import Callable
from time import monotonic

import gevent
from sshload_contract.wire.target import TargetStats

from sshload_worker.coordination.stats import UnresponsiveError, ask_for_pause, check_ready, fetch_stats

_FIRST_READY_TIMEOUT_S = 0.2  # the first packet to a new Service is sometimes lost
_LONGEST_READY_TIMEOUT_S = 1.0
_READY_POLL_S = 0.1
_FIRST_IDLE_POLL_S = 0.05
_LONGEST_IDLE_POLL_S = 0.25
IDLE_TIMEOUT_S = 30.0
_PAUSE_TIMEOUT_S = 10.0
log = logging.getLogger(__name__)


class Settling:
    """One target during all trials of a run. `stats_url` is empty for an external target, which has no stats.

    `idle_timeout_s` is how long the target may take to become idle. Then the trial begins nevertheless, and reports it.
    With `awaits_idle` false it is enough that the target is ready.
    """

    def __init__(
        self,
        stats_url: str,
        on_problem: Callable[[str], None],
        idle_timeout_s: float = IDLE_TIMEOUT_S,
        *,
        awaits_idle: bool = True,
    ) -> None:
        self._stats_url = stats_url
        self._idle_timeout_s = idle_timeout_s
        self._awaits_idle = awaits_idle
        self._on_problem = on_problem
        self._processes_before: int | None = None
        self._accepted_before = 0
        self._logins = 0

    def settle(self) -> str:
        """Wait until the target is ready, and idle or overdue; report each problem, and "" when it is ready.

        Return its remaining activity, empty if there is none.
        """
        if not self._stats_url:
            return ""
        self._await_ready()
        self._on_problem("")
        if not self._awaits_idle:
            return ""
        deadline_s = monotonic() + self._idle_timeout_s
        pause_s = _FIRST_IDLE_POLL_S  # usually the logins before the load have ended completely by then
        while True:
            stats = self.stats()
            target_activity = self._target_activity(stats) if stats is not None else ""
            if not target_activity or monotonic() >= deadline_s:
                return target_activity
            gevent.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_IDLE_POLL_S)

    def expect(self, logins: int) -> None:
        """Count the target as idle only when it has counted `logins` logins since it was first seen."""
        self._logins = logins

    def stats(self) -> TargetStats | None:
        """Return the target's present counts, None if it has or reports none."""
        if not self._stats_url:
            return None
        try:
            return fetch_stats(TargetStats, self._stats_url)
        except UnresponsiveError as problem:
            log.warning("no counts from the target: %s", problem)
            return None

    def pause_directory(self) -> None:
        """Have the target let its directory pause. Where it does not, its counts say so."""
        try:
            ask_for_pause(self._stats_url, _PAUSE_TIMEOUT_S)
        except UnresponsiveError as problem:
            log.warning("the target's directory does not pause: %s", problem)

    def _await_ready(self) -> None:
        timeout_s = _FIRST_READY_TIMEOUT_S
        while True:
            begin_s = monotonic()
            try:
                check_ready(self._stats_url, timeout_s)
            except UnresponsiveError as problem:
                self._on_problem(str(problem))
                if monotonic() - begin_s >= timeout_s:
                    timeout_s = min(2 * timeout_s, _LONGEST_READY_TIMEOUT_S)
                gevent.sleep(_READY_POLL_S)
            else:
                return

    def _target_activity(self, stats: TargetStats) -> str:
        if self._processes_before is None:
            self._processes_before, self._accepted_before = stats.processes, stats.accepted
        more = max(stats.processes - self._processes_before, 0)
        if not stats.sessions and not more:
            missing = max(self._accepted_before + self._logins - stats.accepted, 0)
            return f"when the trial began, the target had not yet reported {missing} earlier logins" if missing else ""
        return (
            f"when the trial began, the target still had {stats.sessions} sessions open and {more} processes more than "
            f"before the first trial"
        )
