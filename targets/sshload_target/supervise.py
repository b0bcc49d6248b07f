"""Supervision: PID 1's life while sshd runs."""

import os
import signal
from collections.abc import Callable
from contextlib import suppress

from sshload_target.process_tree import reap
from sshload_target.stop_signals import AWAITED_SIGNALS, STOP_SIGNALS, stop_is_pending

_TICK_S = 5.0  # seldom, because a look at thousands of processes is load on what is measured


def wait_for_end(sshd_pid: int, tick: Callable[[], object]) -> int | None:
    """Wait, reaping whatever ends under us, until sshd has ended or a stop signal has come.

    Return sshd's exit code (negative: the signal that ended it); None after a stop signal, which sshd has been sent
    then. `tick` is called now and then while nothing happens. AWAITED_SIGNALS have to be blocked in every thread.
    """
    while True:
        received = signal.sigtimedwait(AWAITED_SIGNALS, _TICK_S)
        if (received is not None and received.si_signo in STOP_SIGNALS) or stop_is_pending():
            with suppress(ProcessLookupError):
                os.kill(sshd_pid, signal.SIGTERM)
            return None
        ended = reap()
        if sshd_pid in ended:
            return ended[sshd_pid]
        if received is None:
            tick()
