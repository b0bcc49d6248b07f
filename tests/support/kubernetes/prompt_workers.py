"""CPU for the workers of a cluster whose node is this machine, which the target, the cluster and others use as well.

A worker that waits for a CPU makes its run Invalid, as it should. Where workers have nodes or whole CPUs of their own
(docs/reference/validity.md) they do not wait, whatever else goes on; here real-time priority gives them the same, as
`sshload run` gives it to its own workers. So what the end-to-end tests find does not hang on who else is busy.

As a program it finds them and gives it to them, until its standard input ends.
"""

import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sshload_operator.local.process_tree import at_real_time, may_run_at_real_time

_PROC = Path("/proc")
_WORKER = b"sshload_worker\0--role\0worker\0"
_NOT_YET_ITSELF = b"runc"
"""How the name of a container's first process begins before it is what its image has it be."""

_IN_A_POD = "kubepods"
_REAL_TIME = os.sched_param(2)
"""Above the workers of `sshload run`, and above this program: equals would wait for each other."""

_CPU_CGROUP_V1 = Path("/sys/fs/cgroup/cpu/cgroup.procs")
_LOOK_EVERY_S = 0.2


@contextmanager
def prompt_workers() -> Iterator[None]:
    """Run the workers of all pods on this machine at real-time priority for a while, where this user may do so."""
    if not may_run_at_real_time():
        yield
        return
    # A process of its own, at that priority too: a thread would wait for pytest, which may itself wait for a CPU.
    finder = subprocess.Popen(at_real_time([sys.executable, __file__]), stdin=subprocess.PIPE)
    try:
        yield
    finally:
        finder.communicate()
    assert finder.returncode == 0


def _find() -> None:
    """Find new workers, soon after they have begun: they import for longer than a look takes."""
    known: set[str] = set()
    while not select.select([sys.stdin], [], [], _LOOK_EVERY_S)[0]:
        running = {entry.name for entry in _PROC.iterdir() if entry.name.isdigit()}
        known &= running
        known |= {pid for pid in running - known if _is_settled(pid)}


def _is_settled(pid: str) -> bool:
    """Give a process priority if it is a worker; return whether what it is cannot change any more.

    Only the command lines of pods are read: that of a process which is itself kept from running can make one wait.
    """
    with suppress(FileNotFoundError, ProcessLookupError):  # it may end at any moment
        is_itself = not (_PROC / pid / "comm").read_bytes().startswith(_NOT_YET_ITSELF)
        if _IN_A_POD in (_PROC / pid / "cgroup").read_text() and _WORKER in (_PROC / pid / "cmdline").read_bytes():
            _prefer(pid)
        return is_itself
    return True


def _prefer(pid: str) -> None:
    """Raise all threads of a process. A kernel with RT_GROUP_SCHED grants real time in the topmost cpu cgroup only."""
    if _CPU_CGROUP_V1.exists():
        _CPU_CGROUP_V1.write_text(pid)
    for thread in (_PROC / pid / "task").iterdir():
        with suppress(ProcessLookupError, PermissionError):  # it ended; with cgroup v2 such a kernel never does
            os.sched_setscheduler(int(thread.name), os.SCHED_RR, _REAL_TIME)


if __name__ == "__main__":
    _find()
