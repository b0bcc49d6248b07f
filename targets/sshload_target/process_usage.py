"""Usage of the process tree under this process, where there is no cgroup of our own."""

import os
from dataclasses import dataclass
from pathlib import Path

from sshload_target.limits import Limits
from sshload_target.process_tree import ProcessStat, descendants, read_of_process, read_stat
from sshload_target.usage import Usage

_PROC = Path("/proc")
_BYTES_PER_KB = 1_024
_NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class ProcessTreeReader:
    """Reads /proc. Ended processes count by what their parents have reaped, so no CPU time is lost.

    What a living process has reaped is told in whole clock ticks: of each session that is open now, up to 20 ms are
    missing until it ends.
    The memory is the sum of resident anonymous pages. Pages that processes share after a fork count for each of them,
    so it is an upper bound of those; the page cache is not in it.
    """

    proc: Path = _PROC

    def read(self) -> Usage:
        """Return the usage now."""
        own = read_stat(os.getpid(), self.proc)
        below = descendants(os.getpid(), self.proc)
        processes = ([own] if own is not None else []) + below
        return Usage(
            cpu_s=sum(self._cpu_s(process) for process in processes),
            cpu_throttled_s=0.0,
            memory_bytes=sum(self._anonymous_bytes(process.pid) for process in processes),
            memory_is_upper_bound=True,
            memory_peak_bytes=0,
            processes=len(processes),
            oom_kills=0,
            refused_forks=0,
        )

    def limits(self) -> Limits:
        """Return no limits: those that bind this tree bind others with it."""
        return Limits()

    def _cpu_s(self, process: ProcessStat) -> float:
        """Return CPU time; schedstat is exact, but of the first thread only, and not in every kernel."""
        schedstat = read_of_process(process.pid, "schedstat", self.proc)
        first_thread_ns = int(schedstat.split()[0]) if schedstat else 0
        return max(process.own_cpu_s, first_thread_ns / _NS_PER_S) + process.reaped_cpu_s

    def _anonymous_bytes(self, pid: int) -> int:
        status = read_of_process(pid, "status", self.proc) or ""
        found = [line.split()[1] for line in status.splitlines() if line.startswith("RssAnon:")]
        return int(found[0]) * _BYTES_PER_KB if found else 0
