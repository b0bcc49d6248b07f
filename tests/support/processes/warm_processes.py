"""Processes that need not import anything: each is forked from one that has imported what its program needs.

Python and the imports take a quarter of a second of CPU for a master or a worker, half a second for `sshload`, one for
an operator, and one and a half for a gateway. A process that is forked here runs the same `main` with the same
arguments, and ends the same way. Its /proc/PID/cmdline and environ are not its own. Tests of these, and of how a
process starts, take the real program instead.

As a program this is the process that is forked: it reads one request per line, and answers each with a process id.
"""

import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

_POLL_S = 0.01
_TEMPORARY = tempfile.gettempdir()
"""As it is before any test names another one."""


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
    """The process that is forked, of one program. It ends when its standard input is closed, as by this one's end."""

    def __init__(self, program: str) -> None:
        self._program = program
        self._process: subprocess.Popen[str] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._count = 0
        self._starting = threading.Lock()

    def start(
        self, arguments: Sequence[str], stdout: Path, stderr: Path, more_environment: Mapping[str, str] | None = None
    ) -> WarmProcess:
        """Start the program with these arguments, in this folder; output is appended to the two files.

        It may be called from several threads.
        """
        with self._starting:
            return self._started(arguments, stdout, stderr, more_environment or {})

    def _started(
        self, arguments: Sequence[str], stdout: Path, stderr: Path, more_environment: Mapping[str, str]
    ) -> WarmProcess:
        if self._process is None or self._folder is None:
            self._folder = tempfile.TemporaryDirectory(dir=_TEMPORARY)
            self._process = subprocess.Popen(
                [sys.executable, __file__, self._program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        self._count += 1
        ended_path = Path(self._folder.name, str(self._count))
        request = {
            "arguments": list(arguments),
            "environment": {**os.environ, **more_environment},
            "folder": str(Path.cwd()),
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

    def end(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.communicate()
            self._process = None


_FORKS = {name: _Forks(name) for name in ("worker", "sshload", "operator", "gateway")}

start_warm_worker = _FORKS["worker"].start
"""Start `python -m sshload_worker`."""

start_warm_sshload = _FORKS["sshload"].start
"""Start `sshload`."""

start_warm_operator = _FORKS["operator"].start
"""Start `python -m sshload_operator`."""

start_warm_gateway = _FORKS["gateway"].start
"""Start `python -m sshload_gateway`."""


def end_what_is_forked() -> None:
    """End the processes that are forked, where no more of theirs is to be started."""
    for forks in _FORKS.values():
        forks.end()


@dataclass(frozen=True, slots=True)
class _Program:
    """A program that has imported what it needs, and how it is forked and waited for."""

    main: Callable[[list[str]], object]
    fork: Callable[[], int] = os.fork
    waitpid: Callable[[int, int], tuple[int, int]] = os.waitpid


def _worker() -> _Program:
    """Import what masters and workers need."""
    from sshload_worker.locust_runner.locust_import import import_runner  # noqa: PLC0415 - other programs do without

    import_runner()
    import gevent.resolver.thread  # noqa: PLC0415 - after the patch
    import sshload_worker.clients.ssh2.connection  # noqa: PLC0415
    import sshload_worker.coordination.http_server  # noqa: PLC0415
    import sshload_worker.coordination.master  # noqa: PLC0415
    import sshload_worker.coordination.roles  # noqa: PLC0415
    import sshload_worker.coordination.worker  # noqa: F401, PLC0415
    from gevent import monkey  # noqa: PLC0415

    def main(arguments: list[str]) -> int:
        from sshload_worker.__main__ import main  # noqa: PLC0415

        gevent.reinit()
        gevent.get_hub().loop.update_now()  # time limits would else begin when the loop was made, at an import
        return main(arguments)

    # As before the patch: gevent's own would put watchers into a loop that never runs in this process.
    return _Program(main, *(monkey.get_original("os", name) for name in ("fork", "waitpid")))


def _sshload() -> _Program:
    """Import all commands, and what those import that ask a cluster: the client of the API server takes a second."""
    import sshload_operator.cli.cluster.follow  # noqa: PLC0415 - other programs do without
    import sshload_operator.control.api_server.client  # noqa: PLC0415
    import sshload_operator.control.api_server.cluster  # noqa: F401, PLC0415
    from sshload_operator.cli import commands  # noqa: PLC0415

    for entry in commands._COMMANDS.values():
        import_module(f"{commands.__package__}.{entry.module}")
    _make_shapes()

    def main(arguments: list[str]) -> None:
        # As from a terminal: a shell in the background hands down an ignored SIGINT, and nohup an ignored SIGHUP.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        _collect_garbage_again()
        sys.argv = ["sshload", *arguments]
        commands.main()

    return _Program(main)


def _operator() -> _Program:
    """Import the operator."""
    from sshload_operator import __main__ as operator  # noqa: PLC0415 - other programs do without

    _make_shapes()

    def main(arguments: list[str]) -> None:
        _collect_garbage_again()
        sys.argv = ["sshload-operator", *arguments]
        operator.main()

    return _Program(main)


def _make_shapes() -> None:
    """Make the shapes of all kinds: each process would make those that it needs, in a tenth of a second."""
    from sshload_operator.api.comparison.spec import WrittenComparison  # noqa: PLC0415 - other programs do without
    from sshload_operator.api.schedule.spec import WrittenSchedule  # noqa: PLC0415
    from sshload_operator.api.shapes.reading import shape_of  # noqa: PLC0415
    from sshload_operator.api.spec import WrittenSpec  # noqa: PLC0415
    from sshload_operator.api.status.comparison import ComparisonStatus  # noqa: PLC0415
    from sshload_operator.api.status.load_test import TestHead, TestStatus  # noqa: PLC0415
    from sshload_operator.api.status.schedule import ScheduleStatus  # noqa: PLC0415

    specs = (WrittenComparison, WrittenSchedule, WrittenSpec)
    for declared in (*specs, ComparisonStatus, ScheduleStatus, TestHead, TestStatus):
        shape_of(declared)


def _gateway() -> _Program:
    """Import a gateway."""
    from sshload_gateway import __main__ as gateway  # noqa: PLC0415 - other programs do without

    def main(arguments: list[str]) -> None:
        _collect_garbage_again()
        sys.argv = ["sshload-gateway", *arguments]
        gateway.main()

    return _Program(main)


_PROGRAMS: Mapping[str, Callable[[], _Program]] = {
    "worker": _worker,
    "sshload": _sshload,
    "operator": _operator,
    "gateway": _gateway,
}


def _collect_garbage_again() -> None:
    """Search for garbage from now on, as a process does that has just begun."""
    gc.freeze()
    gc.enable()


def _serve(name: str) -> object:
    """Import a program, fork for each request, and return the exit code: each forked process its own."""
    gc.disable()  # as in a worker's main
    program = _PROGRAMS[name]()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    requests = b""
    while piece := os.read(0, 65_536):
        *lines, requests = (requests + piece).split(b"\n")
        for line in lines:
            if program.fork() == 0:
                return _start_and_report(json.loads(line), program)
    return 0


def _start_and_report(request: dict[str, Any], program: _Program) -> object:
    """Start the process, tell its id, and write down how it ended; in the process itself, run it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = program.fork()
    if pid == 0:
        _settle(request)
        return program.main(request["arguments"])
    os.write(1, b"%d\n" % pid)
    os.close(1)
    _, status = program.waitpid(pid, 0)
    ended = Path(request["ended"])
    part = ended.with_suffix(".part")
    part.write_text(str(os.waitstatus_to_exitcode(status)))
    part.rename(ended)
    os._exit(0)


def _settle(request: dict[str, Any]) -> None:
    """Give this process its output, its environment and its folder."""
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
    os.chdir(request["folder"])
    tempfile.tempdir = None


if __name__ == "__main__":
    sys.exit(_serve(sys.argv[1]))  # type: ignore[arg-type]  # None, or a code
