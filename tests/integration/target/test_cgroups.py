"""What the kernel tells of real cgroups, and of what it does where their limits are reached."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from own_cgroups import own_cgroups
from running_target import wait_until
from sshload_target.usage.cgroups import find_v1_reader, find_v2_reader
from sshload_target.usage.resources import UsageReader
from sshload_target.usage.values import Limits

MEMORY_BYTES = 64 * 1024 * 1024
PROCESSES = 4
LIMITS = Limits(cpu_cores=1.5, memory_bytes=MEMORY_BYTES, processes=PROCESSES)
PROGRAM = """
import os, subprocess, sys
for line in sys.stdin:
    if line == "fork\\n":
        try:
            while True: os.posix_spawnp("sleep", ["sleep", "60"], os.environ)
        except OSError as error: print(error.strerror, flush=True)
    if line == "eat\\n":
        subprocess.run([sys.executable, "-c", "x = bytearray(b'x' * 200_000_000)"])
        print("eaten", flush=True)
"""


@pytest.fixture(name="contained")
def _contained() -> Iterator[subprocess.Popen[str]]:
    """Start a process that has cgroups to itself."""
    command = [sys.executable, "-c", PROGRAM]
    with (
        own_cgroups(cpu_cores=1.5, memory_bytes=MEMORY_BYTES, processes=PROCESSES) as cgroups,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        ) as process,
    ):
        cgroups.put(process.pid)
        yield process
        os.killpg(process.pid, signal.SIGKILL)


def reader_of(process: subprocess.Popen[str]) -> UsageReader:
    """Return the reader that this process would have as a container's first."""
    own, mounts = Path(f"/proc/{process.pid}/cgroup").read_text(), Path("/proc/self/mountinfo").read_text()
    reader = find_v2_reader(own, mounts) or find_v1_reader(own, mounts)
    assert reader is not None
    return reader


def asked(process: subprocess.Popen[str], what: str) -> str:
    """Have the process do `what` and return what it answers."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{what}\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


@pytest.mark.root
def test_the_limits_that_the_kernel_keeps_are_read(contained: subprocess.Popen[str]) -> None:
    assert reader_of(contained).limits() == LIMITS


@pytest.mark.root
def test_processes_that_the_kernel_refuses_are_counted(contained: subprocess.Popen[str]) -> None:
    reader = reader_of(contained)
    assert reader.read().refused_forks == 0
    assert asked(contained, "fork") == "Resource temporarily unavailable"
    assert (reader.read().processes, reader.read().refused_forks) == (PROCESSES, 1)


@pytest.mark.root
def test_a_process_that_the_kernel_kills_for_its_memory_is_counted(contained: subprocess.Popen[str]) -> None:
    reader = reader_of(contained)
    assert reader.read().oom_kills == 0
    assert asked(contained, "eat") == "eaten"
    wait_until(lambda: reader.read().oom_kills == 1, "the kill counted")
    assert reader.read().memory_peak_bytes <= MEMORY_BYTES
