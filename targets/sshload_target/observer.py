"""Observer: what a target saw, as TargetStats."""

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from sshload_contract.steal import machine_cpu
from sshload_contract.wire.target import TargetStats

from sshload_target.facts import ServerFacts
from sshload_target.sshd.listen_queue import ListenQueue
from sshload_target.sshd.log import SshdLog
from sshload_target.sshd.network import read_proc_file
from sshload_target.usage.resources import Resources

if TYPE_CHECKING:
    from sshload_target.ldap.running import Directory

_STAT = Path("/proc/stat")


class Observer:
    """One target's counts, from any thread. `facts` and `directory` are set before sshd starts."""

    def __init__(self, sshd_version: str, log: SshdLog, queue: ListenQueue, resources: Resources) -> None:
        self.facts = ServerFacts()
        self.directory: Directory | None = None
        self._sshd_version = sshd_version
        self._log = log
        self._resources = resources
        self._queue = queue
        self._start_unix_s, self._start_s = time.time(), time.monotonic()

    @property
    def ready(self) -> bool:
        """Whether sshd listens."""
        return self._log.listening

    def stats(self) -> TargetStats:
        """Return the counts by now."""
        own_cpu_s = time.process_time()
        usage, limits = asdict(self._resources.read()), self._resources.limits()
        sessions = self._log.sessions()
        counts = self._log.counts
        return TargetStats(
            **{**usage, "refused_forks": max(usage["refused_forks"], counts.refused_forks)},
            at_unix_s=self._start_unix_s + time.monotonic() - self._start_s,
            sshd_version=self._sshd_version,
            accepted=counts.accepted,
            auth_failed=counts.auth_failed,
            dropped_max_startups=counts.dropped_max_startups,
            dropped_penalty=counts.dropped_penalty,
            dropped_is_lower_bound=counts.is_lower_bound,
            sessions=sessions,
            cpu_limit_cores=limits.cpu_cores,
            machine_cpu=machine_cpu(read_proc_file(_STAT)),
            memory_limit_bytes=limits.memory_bytes,
            processes_limit=limits.processes,
            listen_overflows=self._queue.overflows(),
            own_cpu_s=own_cpu_s,
            **asdict(self.facts),
            ldap=None if self.directory is None else self.directory.facts,
        )
