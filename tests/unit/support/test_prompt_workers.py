"""Needs root, as the cluster does: the rights to give priority are what is tested.

Where the kernel grants no real-time priority, nobody gets it, and nothing waits for it.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prompt_workers import prompt_workers
from real_time import granted_policy
from running_target import wait_until

CGROUPS = Path("/sys/fs/cgroup")
WORKER = ("-m", "sshload_worker", "--role", "worker", "--config", "run.json")
MASTER = ("-m", "sshload_worker", "--role", "master", "--config", "run.json")

Start = Callable[[tuple[str, ...]], int]


@pytest.fixture(name="start")
def _start() -> Iterator[Start]:
    """Start an idle process with these arguments; it is itself, and no longer pytest's copy, when it is returned."""
    started = []

    def start(arguments: tuple[str, ...]) -> int:
        command = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()", *arguments]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        started.append(process)
        assert process.stdout is not None
        process.stdout.readline()
        return process.pid

    yield start
    for process in started:
        process.communicate()


@pytest.fixture(name="pod")
def _pod(start: Start) -> Iterator[Path]:
    """The list of processes of a cgroup that is called as those of pods are; they are moved out of it at the end."""
    top = CGROUPS if (CGROUPS / "cgroup.controllers").exists() else CGROUPS / "pids"
    place = top / f"kubepods-test-{os.getpid()}"
    place.mkdir()
    assert start
    yield place / "cgroup.procs"
    for pid in (place / "cgroup.procs").read_text().split():
        (top / "cgroup.procs").write_text(pid)
    place.rmdir()


@pytest.mark.root
def test_a_worker_in_a_pod_gets_real_time_priority_and_nobody_else(start: Start, pod: Path) -> None:
    in_pod, master_in_pod, outside = start(WORKER), start(MASTER), start(WORKER)
    for pid in (in_pod, master_in_pod):
        pod.write_text(str(pid))
    with prompt_workers():
        wait_until(lambda: os.sched_getscheduler(in_pod) == granted_policy(), "priority for the worker in a pod")
    assert [os.sched_getscheduler(pid) for pid in (master_in_pod, outside)] == [os.SCHED_OTHER] * 2


@pytest.mark.root
def test_a_process_whose_name_is_no_utf_8_ends_nothing(start: Start, pod: Path) -> None:
    name_itself = "open('/proc/self/comm', 'wb').write(b'\\xc3'); print(flush=True); input()"
    in_pod = start(WORKER)
    pod.write_text(str(in_pod))
    with subprocess.Popen([sys.executable, "-c", name_itself], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as odd:
        assert odd.stdout is not None
        odd.stdout.readline()
        with prompt_workers():
            wait_until(lambda: os.sched_getscheduler(in_pod) == granted_policy(), "priority for the worker in a pod")
        odd.communicate(b"\n")
