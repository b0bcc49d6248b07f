"""Forks that end, whatever a mutant does there: spin, wait for ever, ignore signals, take memory, leave processes.

A fork says which of its parts it is at, and has for each of them a limit of its own time: that which passed, less what
it waited for a CPU. So a busy machine kills no mutant, and one that waits for what never comes takes no longer than one
that spins. The limits are the parent's to keep: tests replace handlers of signals and the timers of their process.
"""

import ctypes
import mmap
import os
import resource
import signal
import struct
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from os import _exit, close, fork, waitpid  # those of the system: Locust has gevent replace what it finds here
from pathlib import Path
from select import poll

_PLACE = struct.Struct("q")
_LOOKED_AFTER_MS = 50
_NS = 1e9
_MOST_BYTES = 6 << 30
_MOST_CPU_S = 3600
"""Only a fork that nobody watches any more comes so far."""
_PR_SET_PDEATHSIG = 1


class Fork:
    """A process that was forked from this one. `is_child` says which of both has returned from making it."""

    def __init__(self) -> None:
        self._place = mmap.mmap(-1, _PLACE.size)
        parent = os.getpid()
        self._pid = fork()
        self.is_child = self._pid == 0
        if self.is_child:
            _bound(parent)

    def reach(self, part: int) -> None:
        """Note in the child that a part begins: the first is 0, where it is from the beginning."""
        _PLACE.pack_into(self._place, 0, part)

    def wait(self, limits_s: Sequence[float]) -> int | None:
        """Return in the parent how the child ended, None if a part took longer than its limit. It leaves no process."""
        ended = os.pidfd_open(self._pid)
        in_time = self._is_in_time(ended, limits_s)
        close(ended)
        for kill in (os.killpg, os.kill):
            with suppress(ProcessLookupError, PermissionError):
                kill(self._pid, signal.SIGKILL)
        _, status = waitpid(self._pid, 0)
        self._place.close()
        return os.waitstatus_to_exitcode(status) if in_time else None

    def _is_in_time(self, ended: int, limits_s: Sequence[float]) -> bool:
        looks, clock = poll(), OwnTime(self._pid)
        looks.register(ended)
        at, began_s = 0, clock.now_s()
        while not looks.poll(_LOOKED_AFTER_MS):
            (place,) = _PLACE.unpack_from(self._place)
            now_s = clock.now_s()
            if place != at:
                at, began_s = place, now_s
            elif now_s - began_s > limits_s[at]:
                return False
        return True


class OwnTime:
    """A clock of a process that stands still while one of its threads waits for a CPU."""

    def __init__(self, pid: int) -> None:
        self._threads = Path(f"/proc/{pid}/task")
        self._waited_ns: dict[str, int] = {}

    def now_s(self) -> float:
        """Return what time it is for the process."""
        with suppress(OSError):  # it has ended, or a thread of it
            for thread in self._threads.iterdir():
                self._waited_ns[thread.name] = int((thread / "schedstat").read_bytes().split()[1])
        return time.monotonic() - sum(self._waited_ns.values()) / _NS


def run_in_fork(run: Callable[[Fork], int], limits_s: Sequence[float], failed: int) -> int | None:
    """Return what a function returns in a fork, `failed` if it raises, None if one of its parts takes too long."""
    child = Fork()
    if child.is_child:
        code = failed
        with suppress(BaseException):
            code = run(child)
        _exit(code)
    return child.wait(limits_s)


def _bound(parent: int) -> None:
    os.setpgid(0, 0)
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (_MOST_CPU_S, _MOST_CPU_S))
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        _exit(1)
