"""Usage over time, and of real processes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sshload_contract.wire.target import Usage
from sshload_target.usage.cgroups import CgroupV1Reader, CgroupV2Reader
from sshload_target.usage.process_tree import ProcessTreeReader, descendants
from sshload_target.usage.resources import CgroupFiles, Resources, choose_reader
from sshload_target.usage.values import Limits

usages = st.builds(
    Usage,
    cpu_s=st.floats(min_value=0, max_value=1e6),
    cpu_throttled_s=st.floats(min_value=0, max_value=1e6),
    memory_bytes=st.integers(min_value=0, max_value=10**12),
    memory_is_upper_bound=st.booleans(),
    memory_peak_bytes=st.integers(min_value=0, max_value=10**12),
    processes=st.integers(min_value=0, max_value=10_000),
    oom_kills=st.integers(min_value=0, max_value=100),
    refused_forks=st.integers(min_value=0, max_value=100),
)


class Readings:
    """A source whose readings are given."""

    def __init__(self, readings: list[Usage]) -> None:
        self._readings = iter(readings)

    def read(self) -> Usage:
        """Return the next one."""
        return next(self._readings)

    def limits(self) -> Limits:
        """Return none."""
        return Limits()


@given(st.lists(usages, min_size=2))
def test_totals_never_fall_and_the_peak_covers_every_reading(readings: list[Usage]) -> None:
    resources = Resources(Readings(readings))
    seen = [resources.read() for _ in readings]
    for before, after, read in zip(seen, seen[1:], readings[1:], strict=False):
        assert after.cpu_s >= before.cpu_s
        assert after.cpu_throttled_s >= before.cpu_throttled_s
        assert after.memory_peak_bytes >= max(before.memory_peak_bytes, read.memory_bytes)
        assert (after.memory_bytes, after.processes) == (read.memory_bytes, read.processes)


@pytest.fixture(name="busy_grandchild")
def _busy_grandchild() -> Iterator[subprocess.Popen[str]]:
    """Start a child whose own child has used 0.5 s of CPU and 50 MB before the child prints a line."""
    work = (
        "import subprocess, sys, time\n"
        "grandchild = subprocess.Popen([sys.executable, '-c', '''\n"
        "import sys, time\n"
        "ballast = bytearray(b'x' * 50_000_000)\n"
        "while time.process_time() < 0.5: pass\n"
        "print('done', flush=True)\n"
        "sys.stdin.read()\n"
        "'''], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)\n"
        "print(grandchild.stdout.readline(), end='', flush=True)\n"
        "sys.stdin.read()\n"
        "grandchild.stdin.close()\n"
        "grandchild.wait()\n"
    )
    child = subprocess.Popen([sys.executable, "-c", work], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    yield child
    child.communicate()


@pytest.mark.slow
def test_a_process_tree_counts_its_grandchildren_living_and_reaped(busy_grandchild: subprocess.Popen[str]) -> None:
    before = ProcessTreeReader().read()
    assert busy_grandchild.stdout is not None
    assert busy_grandchild.stdout.readline() == "done\n"
    living = ProcessTreeReader().read()
    assert living.processes >= 3
    assert living.cpu_s >= 0.5
    assert living.memory_bytes >= 50_000_000
    busy_grandchild.communicate()
    reaped = ProcessTreeReader().read()
    assert reaped.processes == living.processes - 2
    assert reaped.cpu_s >= living.cpu_s - 0.02  # two clock ticks of rounding
    assert reaped.memory_bytes <= living.memory_bytes - 50_000_000
    assert before.cpu_s <= living.cpu_s


@pytest.mark.parametrize("name", [b"fourteen bytes\xc3", b"a) R 1 (b"], ids=["cut within a letter", "brackets"])
def test_a_process_may_call_itself_anything(name: bytes) -> None:
    work = f"open('/proc/self/comm', 'wb').write({name!r}); print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", work], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdout.readline()
        assert child.pid in {stat.pid for stat in descendants(os.getpid())}
        assert ProcessTreeReader().read().processes >= 2
        child.stdin.write(b"\n")
        child.stdin.flush()


def test_a_process_that_is_not_pid_1_measures_its_own_tree() -> None:
    assert os.getpid() != 1
    assert isinstance(choose_reader(), ProcessTreeReader)


def usage(cpu_s: float, throttled_s: float, memory_bytes: int, peak_bytes: int) -> Usage:
    return Usage(cpu_s, throttled_s, memory_bytes, False, peak_bytes, 3, 4, 5)


def test_a_total_that_falls_stays_and_the_peak_is_the_most_that_was_ever_read() -> None:
    readings = [usage(5.0, 2.0, 90, 10), usage(3.0, 1.0, 40, 20), usage(7.0, 4.0, 10, 95)]
    resources = Resources(Readings(readings))
    assert [resources.read() for _ in readings] == [
        usage(5.0, 2.0, 90, 90),
        usage(5.0, 2.0, 40, 90),
        usage(7.0, 4.0, 10, 95),
    ]


@pytest.mark.parametrize(
    ("own", "mounts", "kind"),
    [
        pytest.param("0::/\n", "30 20 0:26 / {}/v2 ro - cgroup2 cgroup rw\n", CgroupV2Reader, id="v2"),
        pytest.param(
            "1:memory,cpuacct:/c\n",
            "30 20 0:26 /c {}/v1 ro - cgroup cgroup rw,memory,cpuacct\n",
            CgroupV1Reader,
            id="v1",
        ),
        pytest.param("", "", ProcessTreeReader, id="neither"),
        pytest.param(None, "", ProcessTreeReader, id="a kernel without cgroups"),
    ],
)
def test_a_container_is_measured_by_the_cgroup_that_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str | None, mounts: str, kind: type
) -> None:
    files = {
        "v2": ("cpu.stat", "memory.current", "memory.stat", "cgroup.procs"),
        "v1": ("cpuacct.usage", "memory.usage_in_bytes", "memory.stat", "cgroup.procs"),
    }
    for folder, names in files.items():
        (tmp_path / folder).mkdir()
        for name in names:
            (tmp_path / folder / name).touch()
    if own is not None:
        (tmp_path / "cgroup").write_text(own)
    (tmp_path / "mountinfo").write_text(mounts.format(tmp_path))
    monkeypatch.setattr(os, "getpid", lambda: 1)
    assert isinstance(choose_reader(CgroupFiles(tmp_path / "cgroup", tmp_path / "mountinfo")), kind)
