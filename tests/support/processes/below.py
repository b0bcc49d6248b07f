"""The processes below another one: which they are, and how all of them are ended."""

import ctypes
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_ENDED = ("", "Z")  # as in proc_pid_stat(5)
_STILL = ("T", "D", *_ENDED)
"""What a process is that was sent SIGSTOP and starts no other one before SIGCONT.

One that waits without heeding signals ("D") begins no other any more: fork(2) fails where a signal is pending. In
vfork(2) it waits for a child, which was stopped before its execve(2), so that it never gets to "T" itself.
"""
_ENDS_WITHIN_S = 60.0
_POLL_S = 0.02
_STAT_BYTES = 4_096


def descendants(ancestor: int) -> set[int]:
    """Return the processes below this one."""
    parents = {}
    for name in filter(str.isdecimal, os.listdir("/proc")):  # noqa: PTH208 - hundreds, each time that a server ends
        with suppress(OSError):
            parents[int(name)] = _parent(f"/proc/{name}/stat")
    found = {ancestor}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {ancestor}


def _parent(stat: str) -> int:
    descriptor = os.open(stat, os.O_RDONLY)
    try:
        return int(os.read(descriptor, _STAT_BYTES).rpartition(b")")[2].split(None, 2)[1])
    finally:
        os.close(descriptor)


def state(pid: int) -> str:
    """Return the state of a process, empty where there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def end_with_all_below(pid: int) -> None:
    """End a process by SIGTERM, and those below it by SIGKILL. Stopped first, none can leave a child behind."""
    seen: set[int] = set()
    while more := {pid, *descendants(pid)} - seen:
        for one in more:
            _signal(one, signal.SIGSTOP)
        while any(state(one) not in _STILL for one in more):
            time.sleep(_POLL_S)
        seen |= more
    for one in seen - {pid}:
        _signal(one, signal.SIGKILL)
    for number in (signal.SIGTERM, signal.SIGCONT):
        _signal(pid, number)


@contextmanager
def none_left_behind() -> Iterator[None]:
    """Fail, and end them, where processes that were started meanwhile run on at the end, below whomever."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # so that orphans stay below this process
    before = descendants(os.getpid())
    yield
    give_up_s = time.monotonic() + _ENDS_WITHIN_S
    while (left := _running(before)) and time.monotonic() < give_up_s:
        time.sleep(_POLL_S)
    for pid in left:
        _signal(pid, signal.SIGKILL)
    assert not left, f"tests have left processes behind: {', '.join(left.values())}"


def _running(before: set[int]) -> dict[int, str]:
    """Return the command lines of the processes that are new below this one, by their ids."""
    new = descendants(os.getpid()) - before
    return {pid: _command_line(pid) for pid in new if state(pid) not in _ENDED}


def _command_line(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    return ""


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)
