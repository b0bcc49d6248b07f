"""Processes of a run that need not import anything: each is forked from one that has imported what a worker needs.

Starting Python and importing Locust takes a second or two of CPU, for the master and for each worker of every run. A
process that is forked here runs the same `main` with the same arguments, and ends the same way. Tests of how a process
starts take the real program instead.

As a program this is the process that is forked: it reads one request per line, and answers each with a process id.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

_POLL_S = 0.01


class WarmProcess:
    """A process that was forked for a test, with the methods of a Popen."""

    def __init__(self, pid: int, ended_path: Path) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._ended_path = ended_path

    def poll(self) -> int | None:
        """Return the exit code, that of a signal negative, None while the process runs."""
        if self.returncode is None:
            with suppress(FileNotFoundError):
                self.returncode = int(self._ended_path.read_text())
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit code; raises subprocess.TimeoutExpired."""
        deadline_s = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if timeout is not None and deadline_s is not None and time.monotonic() > deadline_s:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
            time.sleep(_POLL_S)
        return code

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal unless the process has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM unless the process has ended."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL unless the process has ended."""
        self.send_signal(signal.SIGKILL)


class _Forks:
    """The process that is forked. It ends with this one, which closes its standard input."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._count = 0

    def start(self, folder: Path, arguments: Sequence[str], stdout: Path, stderr: Path) -> WarmProcess:
        """Start `python -m sshload_worker` with these arguments; output is appended to the two files."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        self._count += 1
        ended_path = folder / f"ended-{self._count}"
        request = {
            "arguments": list(arguments),
            "environment": dict(os.environ),
            "stdout": str(stdout),
            "stderr": str(stderr),
            "ended": str(ended_path),
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the process that is forked has ended"
        return WarmProcess(int(answer), ended_path)


_forks = _Forks()
start_warm = _forks.start


def _serve() -> int:
    """Import everything, fork for each request, and return the exit code: each forked process its own."""
    import gc  # noqa: PLC0415 - a test that imports this module has its own order

    gc.disable()  # as in a worker's main
    from sshload_worker.locust_runner.locust_import import import_runner  # noqa: PLC0415 - likewise

    import_runner()
    import gevent.resolver.thread  # noqa: F401, PLC0415 - after the patch
    import sshload_worker.clients.ssh2.connection  # noqa: PLC0415
    import sshload_worker.coordination.http_server  # noqa: PLC0415
    import sshload_worker.coordination.master  # noqa: PLC0415
    import sshload_worker.coordination.roles  # noqa: PLC0415
    import sshload_worker.coordination.worker  # noqa: F401, PLC0415
    from gevent import monkey  # noqa: PLC0415

    # As before the patch: gevent's own would put watchers into a loop that never runs in this process.
    fork, waitpid = (monkey.get_original("os", name) for name in ("fork", "waitpid"))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    requests = b""
    while piece := os.read(0, 65_536):
        *lines, requests = (requests + piece).split(b"\n")
        for line in lines:
            if fork() == 0:
                return _start_and_report(json.loads(line), fork, waitpid)
    return 0


def _start_and_report(
    request: dict[str, Any], fork: Callable[[], int], waitpid: Callable[[int, int], tuple[int, int]]
) -> int:
    """Start the process, tell its id, and write down how it ended; in the process itself, run it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = fork()
    if pid == 0:
        return _run(request)
    os.write(1, b"%d\n" % pid)
    os.close(1)
    _, status = waitpid(pid, 0)
    ended = Path(request["ended"])
    part = ended.with_suffix(".part")
    part.write_text(str(os.waitstatus_to_exitcode(status)))
    part.rename(ended)
    os._exit(0)


def _run(request: dict[str, Any]) -> int:
    """Be `python -m sshload_worker`."""
    import tempfile  # noqa: PLC0415

    import gevent  # noqa: PLC0415
    from sshload_worker.__main__ import main  # noqa: PLC0415

    gevent.reinit()
    gevent.get_hub().loop.update_now()  # time limits would else begin when the loop was made, which was at an import
    for descriptor, path, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, request["stdout"], os.O_WRONLY | os.O_CREAT | os.O_APPEND),
        (2, request["stderr"], os.O_WRONLY | os.O_CREAT | os.O_APPEND),
    ):
        opened = os.open(path, flags, 0o644)
        os.dup2(opened, descriptor)
        os.close(opened)
    os.environ.clear()
    os.environ.update(request["environment"])
    tempfile.tempdir = None
    return main(request["arguments"])


if __name__ == "__main__":
    sys.exit(_serve())
