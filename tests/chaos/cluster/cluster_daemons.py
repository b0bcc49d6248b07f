"""Processes of the cluster that are stopped, or killed and started again. Their names are those of tests/cluster."""

import contextlib
import os
import subprocess
from collections.abc import Iterator


def cluster(*words: str) -> str:
    """Run a verb of tests/cluster/cluster, and return what it prints; raises AssertionError with its complaints."""
    program = os.environ.get("SSHLOAD_CLUSTER")
    assert program, "SSHLOAD_CLUSTER is not set: this needs the cluster that scripts/bring-up makes of plain processes"
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"cluster {' '.join(words)}: {done.stderr}"
    return done.stdout


@contextlib.contextmanager
def paused(process: str) -> Iterator[None]:
    """Stop a process by SIGSTOP until the block ends."""
    cluster("pause", process)
    try:
        yield
    finally:
        cluster("resume", process)


@contextlib.contextmanager
def killed(process: str) -> Iterator[None]:
    """Kill a process, and start it again when the block ends."""
    cluster("kill", process)
    try:
        yield
    finally:
        cluster("start", process)
