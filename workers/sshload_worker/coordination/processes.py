"""The parent of a pod's worker processes: starts them, forwards signals, and exits like the first one that failed.

It imports only the standard library, so that it takes little of the pod's memory. If one process fails, the others are
terminated, and their exit codes do not matter: a run that has lost a worker is over, and the master must know at once.
"""

import mmap
import os
import signal
import subprocess
import sys
from contextlib import suppress
from struct import Struct
from types import FrameType

_NUMBER = Struct("=Q")
_GRACE_S = 15.0
"""How long processes have after a signal to exit: their final report waits for steps that cannot be cut off."""

_SIGNALLED = 128


def make_board(processes: int) -> int:
    """Return the descriptor of a new board's memory, which can be passed to child processes."""
    descriptor = os.memfd_create("sshload-ports")
    os.ftruncate(descriptor, processes * _NUMBER.size)
    return descriptor


class PortBoard:
    """The number of connections of each process of a pod, because their source ports come from one range.

    The board is shared memory with one number for each process. With a negative descriptor there is no other process.
    """

    def __init__(self, descriptor: int, process: int) -> None:
        alone = descriptor < 0
        self._offset = 0 if alone else process * _NUMBER.size
        self._memory = mmap.mmap(descriptor, _NUMBER.size if alone else 0)

    def total(self, connections: int) -> int:
        """Store how many connections this process has, and return how many all processes have."""
        _NUMBER.pack_into(self._memory, self._offset, connections)
        return sum(number for (number,) in _NUMBER.iter_unpack(self._memory))


class _Processes:
    """The running processes by pid, and the exit code of the first one that failed, 0 if none has."""

    def __init__(self) -> None:
        self.failure = 0
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._forwarded_signal = 0

    def start(self, command: list[str], board: int) -> None:
        """Start one process with the board, and forward a signal to it that came before."""
        # Its standard input is a pipe that nobody writes to. It closes when this process ends, for whatever reason.
        process = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=(board,))  # noqa: S603 - our own program
        self._running[process.pid] = process
        if self._forwarded_signal:
            self.forward_signal(self._forwarded_signal)

    def forward_signal(self, number: int, _: FrameType | None = None) -> None:
        """Send a signal to all running processes, and kill those that have not ended in time."""
        self._forwarded_signal = number
        self._signal_all(number)
        signal.setitimer(signal.ITIMER_REAL, _GRACE_S)

    def kill(self, *_: object) -> None:
        """Kill all running processes. They were told to exit before."""
        self._signal_all(signal.SIGKILL)

    def _signal_all(self, number: int) -> None:
        for pid in self._running:
            with suppress(ProcessLookupError):  # it was just waited for, and is not removed yet
                os.kill(pid, number)

    def wait(self) -> None:
        """Wait until all have ended. As PID 1 of its container, this process also reaps orphaned processes."""
        while self._running:
            pid, status = os.wait()
            process = self._running.pop(pid, None)
            if process is None:
                continue
            code = os.waitstatus_to_exitcode(status)
            process.returncode = code  # it has been waited for
            exit_code = code if code >= 0 else _SIGNALLED - code
            if exit_code and not self.failure:
                self.failure = exit_code
                self.forward_signal(signal.SIGTERM)


def run_processes(count: int, arguments: list[str]) -> int:
    """Run `count` worker processes with these arguments, each with its own number; return the exit code."""
    board = make_board(count)
    command = [sys.executable, "-m", "sshload_worker", *arguments, "--board", str(board)]
    processes = _Processes()
    for forwarded in (signal.SIGTERM, signal.SIGINT):
        signal.signal(forwarded, processes.forward_signal)
    signal.signal(signal.SIGALRM, processes.kill)
    for number in range(count):
        processes.start([*command, "--process", str(number)], board)
    processes.wait()
    return processes.failure
