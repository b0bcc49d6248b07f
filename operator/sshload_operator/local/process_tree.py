"""The processes of a local run: started in sessions of their own, and ended with all that they started.

Nothing outlives the run. An ordinary end goes through `ProcessTree.end`. When this process is killed outright, the
kernel sends its children SIGTERM (PR_SET_PDEATHSIG, set by setpriv(1)). What a child leaves behind is handed to this
process by the kernel (PR_SET_CHILD_SUBREAPER), and so can be found and ended too.
"""

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_POLL_S = 0.02
_SETPRIV = "/usr/bin/setpriv"  # util-linux, which Debian and Ubuntu cannot be without
_CHRT = "/usr/bin/chrt"  # util-linux, as setpriv
_LOWEST_REAL_TIME = "1"


class ProcessTree:
    """All processes of one run. Their output goes to `<name>.log` in `log_dir`, standard error included.

    One tree per process: it reaps every child of the process, its own or handed down.
    """

    def __init__(self, log_dir: Path) -> None:
        self._log_dir = log_dir
        self._started: dict[str, subprocess.Popen[bytes]] = {}
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
        while left := tuple(_descendants(os.getpid())):
            for pid in left:
                _kill(pid)
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


def _descendants(ancestor: int) -> Iterator[int]:
    """Yield the process ids under `ancestor`, by the parents that /proc names."""
    parents = dict(_parents())
    for pid, parent in parents.items():
        step = parent
        while step not in (ancestor, 0) and step in parents:
            step = parents[step]
        if step == ancestor:
            yield pid


def _parents() -> Iterator[tuple[int, int]]:
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text(encoding="utf-8", errors="replace")  # a name may be cut within a letter
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue  # it ended between the listing and the reading, or is not ours to see
        # proc(5): the name in brackets may hold anything, so count from its last bracket: state, parent
        yield int(entry.name), int(stat.rpartition(")")[2].split()[1])


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # it ended by itself


def may_run_at_real_time() -> bool:
    """Tell whether this user may start processes at real-time priority (root, or RLIMIT_RTPRIO)."""
    tried = subprocess.run(at_real_time(["true"]), capture_output=True, check=False)  # noqa: S603 - our own command
    return tried.returncode == 0


def at_real_time(command: Sequence[str]) -> list[str]:
    """Return the command that runs `command` at the lowest real-time priority."""
    return [_CHRT, "--rr", _LOWEST_REAL_TIME, *command]
