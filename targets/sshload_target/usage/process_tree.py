"""The processes under this one, and what they use, from /proc: the source where the container has no cgroup."""

import os
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from time import process_time

from sshload_contract.wire.target import Usage

from sshload_target.usage.values import Limits

_PROC = Path("/proc")
_BYTES_PER_KB = 1_024
_NS_PER_S = 1_000_000_000
_CLOCK_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class ProcessStat:
    """One line of /proc/PID/stat: user and system time in clock ticks, each cut off, and those of reaped children."""

    pid: int
    parent: int
    threads: int
    own_cpu_s: float
    reaped_cpu_s: float


def _read_process_file(place: str, name: str, proc: Path = _PROC) -> str | None:
    """Return a file of a process, or of a thread of it; None if it is gone, has none such, or may not be read.

    A process may call itself any bytes, which the kernel cuts after fifteen, within a letter too.
    """
    try:
        return (proc / place / name).read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None


def _read_stat(pid: int, proc: Path = _PROC) -> ProcessStat | None:
    """Return a process's stat, None if it is gone, or is not ours to see (hidepid of proc(5))."""
    line = _read_process_file(str(pid), "stat", proc)
    if line is None:
        return None
    after_name = line.rpartition(")")[2].split()
    user, system, reaped_user, reaped_system = (int(ticks) for ticks in after_name[11:15])  # fields 14 to 17
    return ProcessStat(
        pid=pid,
        parent=int(after_name[1]),
        threads=int(after_name[17]),  # field 20
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
            cpu_s=process_time() + (own.reaped_cpu_s if own is not None else 0.0) + sum(map(self._cpu_s, below)),
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
        return _cpu_s(process, self.proc) + process.reaped_cpu_s

    def _anonymous_bytes(self, pid: int) -> int:
        return _status_bytes(pid, "RssAnon", self.proc) or 0


@dataclass(frozen=True, slots=True)
class ProgramUsage:
    """What the processes of a program have used since they began; None if the kernel does not report memory."""

    cpu_s: float
    memory_peak_bytes: int | None


def read_program_usage(proc: Path = _PROC) -> ProgramUsage:
    """Return what the living processes under this one have used, without this one.

    The memory is the most resident memory that each of them had, added up.
    """
    below = descendants(os.getpid(), proc)
    peaks = [_status_bytes(process.pid, "VmHWM", proc) for process in below]
    known = [peak for peak in peaks if peak is not None]
    return ProgramUsage(
        cpu_s=sum(_cpu_s(process, proc) + process.reaped_cpu_s for process in below),
        memory_peak_bytes=sum(known) if known else None,
    )


def cpu_s_of(pids: Collection[int], proc: Path = _PROC) -> float:
    """Return the CPU time of processes and of all under them, since they began."""
    found = (stat for pid in pids for stat in (_read_stat(pid, proc), *descendants(pid, proc)))
    return sum(_cpu_s(stat, proc) + stat.reaped_cpu_s for stat in found if stat is not None)


def _cpu_s(process: ProcessStat, proc: Path) -> float:
    """Return a process's own CPU time; schedstat is exact, but of each living thread, and not in every kernel."""
    pid = str(process.pid)
    places = [pid] if process.threads == 1 else [f"{pid}/task/{thread}" for thread in _threads(process.pid, proc)]
    schedstats = (_read_process_file(place, "schedstat", proc) for place in places)
    threads_ns = sum(int(schedstat.split()[0]) for schedstat in schedstats if schedstat)
    return max(process.own_cpu_s, threads_ns / _NS_PER_S)


def _threads(pid: int, proc: Path) -> list[str]:
    try:
        return [entry.name for entry in (proc / str(pid) / "task").iterdir()]
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return []


def _status_bytes(pid: int, name: str, proc: Path) -> int | None:
    """Return an amount of memory in /proc/PID/status, None if it is not there."""
    status = _read_process_file(str(pid), "status", proc) or ""
    found = [line.split()[1] for line in status.splitlines() if line.startswith(f"{name}:")]
    return int(found[0]) * _BYTES_PER_KB if found else None
