"""The processes under this one, and what they use, from /proc: the source where the container has no cgroup."""

import os
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from sshload_target.usage.values import Limits, Usage

_PROC = Path("/proc")
_BYTES_PER_KB = 1_024
_NS_PER_S = 1_000_000_000
_CLOCK_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class ProcessStat:
    """One line of /proc/PID/stat: user and system time in clock ticks, each cut off, and those of reaped children."""

    pid: int
    parent: int
    own_cpu_s: float
    reaped_cpu_s: float


def _read_process_file(pid: int, name: str, proc: Path = _PROC) -> str | None:
    """Return a file of a process, None where it is gone, has no such file, or may not be read.

    A process may call itself any bytes, which the kernel cuts after fifteen, within a letter too.
    """
    try:
        return (proc / str(pid) / name).read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None


def _read_stat(pid: int, proc: Path = _PROC) -> ProcessStat | None:
    """Return a process's stat, None where it is gone, or is not ours to see (hidepid of proc(5))."""
    line = _read_process_file(pid, "stat", proc)
    if line is None:
        return None
    after_name = line.rpartition(")")[2].split()
    user, system, reaped_user, reaped_system = (int(ticks) for ticks in after_name[11:15])  # fields 14 to 17
    return ProcessStat(
        pid=pid,
        parent=int(after_name[1]),
        own_cpu_s=(user + system) / _CLOCK_TICKS_PER_S,
        reaped_cpu_s=(reaped_user + reaped_system) / _CLOCK_TICKS_PER_S,
    )


def descendants(of: int, proc: Path = _PROC) -> list[ProcessStat]:
    """Return the living processes under `of`."""
    children: defaultdict[int, list[ProcessStat]] = defaultdict(list)
    for entry in proc.iterdir():
        stat = _read_stat(int(entry.name), proc) if entry.name.isdigit() else None
        if stat is not None:
            children[stat.parent].append(stat)
    found: list[ProcessStat] = []
    waiting = [of]
    while waiting:
        below = children[waiting.pop()]
        found += below
        waiting += [stat.pid for stat in below]
    return found


@dataclass(frozen=True, slots=True)
class ProcessTreeReader:
    """Reads /proc. Ended processes count by what their parents have reaped, so no CPU time is lost.

    What a living process has reaped is counted in whole clock ticks: of each session that is open now, up to 20 ms are
    missing until it ends.
    The memory is the sum of resident anonymous pages. Pages that processes share after a fork count for each of them,
    so it is an upper bound of those; the page cache is not in it.
    """

    proc: Path = _PROC

    def read(self) -> Usage:
        """Return the usage now."""
        own = _read_stat(os.getpid(), self.proc)
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
        schedstat = _read_process_file(process.pid, "schedstat", self.proc)
        first_thread_ns = int(schedstat.split()[0]) if schedstat else 0
        return max(process.own_cpu_s, first_thread_ns / _NS_PER_S) + process.reaped_cpu_s

    def _anonymous_bytes(self, pid: int) -> int:
        status = _read_process_file(pid, "status", self.proc) or ""
        found = [line.split()[1] for line in status.splitlines() if line.startswith("RssAnon:")]
        return int(found[0]) * _BYTES_PER_KB if found else 0
