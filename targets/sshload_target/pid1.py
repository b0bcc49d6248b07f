"""The duties of PID 1: adopt and reap processes, wait for a stop signal or the server's end, and end what is left."""

import ctypes
import os
import signal
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import NamedTuple

from sshload_target.usage.process_tree import descendants

STOP_SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT})
AWAITED_SIGNALS = STOP_SIGNALS | {signal.SIGCHLD}
_PR_SET_CHILD_SUBREAPER = 36
_TICK_S = 5.0  # seldom, because a look at thousands of processes is load on what is measured


def stop_is_pending() -> bool:
    """Return whether a stop signal has come that nobody has taken yet."""
    return bool(STOP_SIGNALS & signal.sigpending())


def adopt_orphans() -> None:
    """Make this process the parent of orphaned descendants, which PID 1 is by itself, so that none is lost."""
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_PR_SET_CHILD_SUBREAPER, 1) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER) failed")


def _reap() -> dict[int, int]:
    """Reap every child that has ended; return their exit codes (negative: the signal) by process id."""
    ended = {}
    with suppress(ChildProcessError):
        while (answer := os.waitpid(-1, os.WNOHANG))[0] != 0:
            ended[answer[0]] = os.waitstatus_to_exitcode(answer[1])
    return ended


def exit_in_words(exit_code: int) -> str:
    """Return how a process ended: its exit code, or by which signal where that is negative."""
    return f"exit code {exit_code}" if exit_code >= 0 else f"by {signal.Signals(-exit_code).name}"


class Ended(NamedTuple):
    """A process that ended by itself, with its exit code (negative: the signal that ended it)."""

    pid: int
    exit_code: int


def wait_for_end(server_pid: int, tick: Callable[[], object], others: Collection[int] = ()) -> Ended | None:
    """Wait, reaping whatever ends under us, until the server or one of `others` has ended, or a stop signal has come.

    Return which it was; None after a stop signal, when the server has been sent SIGTERM. `tick` is called now and then
    while nothing happens. AWAITED_SIGNALS have to be blocked in every thread.
    """
    while True:
        received = signal.sigtimedwait(AWAITED_SIGNALS, _TICK_S)
        if (received is not None and received.si_signo in STOP_SIGNALS) or stop_is_pending():
            os.kill(server_pid, signal.SIGTERM)
            return None
        ended = _reap()
        for pid in (server_pid, *others):
            if pid in ended:
                return Ended(pid, ended[pid])
        if received is None:
            tick()


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
        _reap()
        if not descendants(os.getpid()):
            return True
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            return False
        signal.sigtimedwait({signal.SIGCHLD}, min(left_s, 0.1))
