"""The processes of a local run: started in sessions of their own, and ended with all that they started.

Nothing of it outlives the run, and nothing else is ended: a shell gives its own children to the command that it
becomes (`sshload run f > >(tee log)`, `sleep 9 & exec sshload run f`). An ordinary end goes through `ProcessTree.end`.
When this process is killed outright, the kernel sends its children SIGTERM (PR_SET_PDEATHSIG, set by setpriv(1)). What
a child leaves behind is handed to this process by the kernel (PR_SET_CHILD_SUBREAPER), and so can be found and ended.
"""

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_POLL_S = 0.02
_SETPRIV = "/usr/bin/setpriv"  # util-linux, which Debian and Ubuntu cannot be without
_CHRT = "/usr/bin/chrt"  # util-linux, as setpriv
_LOWEST_REAL_TIME = "1"


@dataclass(frozen=True, slots=True)
class _Process:
    """A process of this machine. Its number may be another's later, but not with the same start (in clock ticks)."""

    pid: int
    parent: int = field(compare=False)  # which changes when that one ends
    session: int = field(compare=False)
    started: int


@dataclass(frozen=True, slots=True)
class _Earlier:
    """What ran before the run did: this process's session, and the children that it has from before."""

    session: int
    processes: frozenset[_Process]

    def has(self, process: _Process) -> bool:
        """Return whether a process is of those, or of a session of theirs, which no process of a run can enter."""
        return process in self.processes or process.session in {self.session, *(one.session for one in self.processes)}


class ProcessTree:
    """All processes of one run. Their output goes to `<name>.log` in `log_dir`, standard error included.

    Their temporary files go into `temporary_dir`. One tree per process: it reaps every child of the process, its own or
    handed down.
    """

    def __init__(self, log_dir: Path, temporary_dir: Path) -> None:
        self._log_dir = log_dir
        self._temporary_dir = temporary_dir
        self._started: dict[str, subprocess.Popen[bytes]] = {}
        self._earlier = _Earlier(os.getsid(0), frozenset(_descendants(os.getpid())))
        _become_subreaper()

    def start(self, name: str, command: Sequence[str]) -> None:
        """Start `command` under `name`; raises OSError when it cannot be started."""
        with self.log_path(name).open("wb") as log:
            self._started[name] = subprocess.Popen(  # noqa: S603 - the commands are our own, without a shell
                [_SETPRIV, "--pdeathsig", "TERM", "--", *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._log_dir,
                env={**os.environ, "TMPDIR": str(self._temporary_dir)},
                start_new_session=True,
            )

    def log_path(self, name: str) -> Path:
        """Return where the output of `name` stands."""
        return self._log_dir / f"{name}.log"

    def names(self) -> tuple[str, ...]:
        """Return the names of all that was started, in that order."""
        return tuple(self._started)

    def exit_code(self, name: str) -> int | None:
        """Return how `name` ended, None while it runs; ended by a signal: 128 and its number, as a shell says it."""
        self._reap()
        code = self._started[name].poll()
        return 128 - code if code is not None and code < 0 else code

    def terminate(self, name: str) -> None:
        """Ask one process to end; nothing where it has ended."""
        process = self._started.get(name)
        if process is not None and process.poll() is None:
            process.send_signal(signal.SIGTERM)

    def end(self, grace_s: float, hurried: Callable[[], bool] = lambda: False) -> None:
        """End everything: SIGTERM to what was started, SIGKILL to the rest after `grace_s`, or when `hurried`."""
        for process in self._started.values():
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + grace_s
        while (
            time.monotonic() < deadline
            and not hurried()
            and any(process.poll() is None for process in self._started.values())
        ):
            time.sleep(_POLL_S)
        self._kill_descendants()

    def _kill_descendants(self) -> None:
        while left := tuple(_descendants(os.getpid(), self._earlier.has)):
            for process in left:
                _kill(process.pid)
            time.sleep(_POLL_S)
            self._reap()

    def _reap(self) -> None:
        """Collect children that ended: ours by their handle, those handed down by the kernel by their id."""
        ours = {process.pid: process for process in self._started.values()}
        while (ended := _ended_child()) is not None:
            if ended in ours:
                ours[ended].poll()
            else:
                os.waitpid(ended, 0)


def _become_subreaper() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"prctl(PR_SET_CHILD_SUBREAPER): {os.strerror(code)}")


def _ended_child() -> int | None:
    try:
        ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    return ended.si_pid if ended is not None else None


def _descendants(ancestor: int, is_left_out: Callable[[_Process], bool] = lambda _: False) -> Iterator[_Process]:
    """Yield the processes under `ancestor`, by the parents that /proc names, but those left out and all under them."""
    running = {process.pid: process for process in _processes()}
    for process in running.values():
        step = process
        while not is_left_out(step) and step.parent != ancestor and step.parent in running:
            step = running[step.parent]
        if step.parent == ancestor and not is_left_out(step):
            yield process


def _processes() -> Iterator[_Process]:
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text(encoding="utf-8", errors="replace")  # a name may be cut within a letter
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue  # it ended between the listing and the reading, or is not ours to see
        # proc(5): the name in brackets may hold anything, so count from its last bracket: state, parent, ...
        fields = stat.rpartition(")")[2].split()
        yield _Process(int(entry.name), parent=int(fields[1]), session=int(fields[3]), started=int(fields[19]))


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # it ended by itself


def may_run_at_real_time() -> bool:
    """Return whether this user may start processes at real-time priority (root, or RLIMIT_RTPRIO)."""
    tried = subprocess.run(at_real_time(["true"]), capture_output=True, check=False)  # noqa: S603 - our own command
    return tried.returncode == 0


def at_real_time(command: Sequence[str]) -> list[str]:
    """Return the command that runs `command` at the lowest real-time priority."""
    return [_CHRT, "--rr", _LOWEST_REAL_TIME, *command]
