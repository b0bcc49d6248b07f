"""The processes under this one: found in /proc, adopted when their parent dies, reaped, and ended."""

import ctypes
import os
import signal
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_PR_SET_CHILD_SUBREAPER = 36
_CLOCK_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class ProcessStat:
    """One line of /proc/PID/stat: user and system time in clock ticks, each cut off, and those of reaped children."""

    pid: int
    parent: int
    own_cpu_s: float
    reaped_cpu_s: float


def adopt_orphans() -> None:
    """Let orphaned descendants become our children (as they do anyway where this is PID 1), so that none is lost."""
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER) failed")


def reap() -> dict[int, int]:
    """Reap every child that has ended; return their exit codes (negative: the signal) by process id."""
    ended = {}
    with suppress(ChildProcessError):
        while (answer := os.waitpid(-1, os.WNOHANG))[0] != 0:
            ended[answer[0]] = os.waitstatus_to_exitcode(answer[1])
    return ended


def read_of_process(pid: int, name: str, proc: Path = _PROC) -> str | None:
    """Return a file of a process, None where it is gone, has no such file, or may not be read.

    A process may call itself any bytes, which the kernel cuts after fifteen, within a letter too.
    """
    try:
        return (proc / str(pid) / name).read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None


def read_stat(pid: int, proc: Path = _PROC) -> ProcessStat | None:
    """Return a process's stat, None where it is gone, or is not ours to see (hidepid of proc(5))."""
    line = read_of_process(pid, "stat", proc)
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
        stat = read_stat(int(entry.name), proc) if entry.name.isdigit() else None
        if stat is not None:
            children[stat.parent].append(stat)
    found: list[ProcessStat] = []
    waiting = [of]
    while waiting:
        below = children[waiting.pop()]
        found += below
        waiting += [stat.pid for stat in below]
    return found


def end_descendants(grace_s: float) -> bool:
    """End all processes under this one, by SIGKILL after `grace_s`, and reap them. Return whether none is left.

    SIGCHLD has to be blocked. Takes `grace_s` twice at most.
    """
    return _end(signal.SIGTERM, grace_s) or _end(signal.SIGKILL, grace_s)


def _end(with_signal: signal.Signals, within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    while True:
        for stat in descendants(os.getpid()):
            with suppress(ProcessLookupError, PermissionError):  # not ours to end: the container's end does it
                os.kill(stat.pid, with_signal)
        reap()
        if not descendants(os.getpid()):
            return True
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            return False
        signal.sigtimedwait({signal.SIGCHLD}, min(left_s, 0.1))
