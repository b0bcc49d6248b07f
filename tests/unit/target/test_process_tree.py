"""What the processes under this one use, from files as the kernel writes them in /proc."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from sshload_contract.wire.target import Usage
from sshload_target.usage import process_tree
from sshload_target.usage.process_tree import (
    ProcessStat,
    ProcessTreeReader,
    ProgramUsage,
    descendants,
    read_program_usage,
)
from sshload_target.usage.values import Limits

OWN, CHILD, GRANDCHILD, STRANGER = 900_000, 900_001, 900_002, 900_003
HZ = os.sysconf("SC_CLK_TCK")


@pytest.fixture(autouse=True)
def _own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_tree, "process_time", lambda: 1_000.0)
    monkeypatch.setattr(os, "getpid", lambda: OWN)


def process(  # noqa: PLR0913 - the fields of stat(5) that count
    proc: Path,
    pid: int,
    parent: int,
    *,
    cpu_s: tuple[float, float] = (0, 0),
    reaped_s: tuple[float, float] = (0, 0),
    threads_ns: tuple[int, ...] | None = None,
    threads: int = 1,
    status: str = "",
) -> None:
    """Write the files of a process. `threads_ns` is what schedstat says of each thread, None in kernels without it."""
    place = proc / str(pid)
    (place / "task").mkdir(parents=True)
    ticks = " ".join(str(int(seconds * HZ)) for seconds in (*cpu_s, *reaped_s))
    stat = f"{pid} (a) R 1 (b) S {parent} 7 7 0 -1 4194560 11 12 13 14 {ticks} 20 0 {threads} 0 5555 66 77\n"
    (place / "stat").write_text(stat)
    (place / "status").write_text(status)
    for number, run_ns in enumerate(threads_ns or ()):
        thread = place / "task" / str(pid + 10 * number)
        thread.mkdir()
        (thread / "schedstat").write_text(f"{run_ns} 22 33\n")
        if not number:
            (place / "schedstat").write_text(f"{run_ns} 22 33\n")


@pytest.fixture(name="proc")
def _proc(tmp_path: Path) -> Path:
    """Return the /proc of this process with a child, a grandchild of several threads, and a stranger."""
    (tmp_path / "uptime").write_text("1 1\n")
    process(tmp_path, OWN, 1, cpu_s=(50, 50), reaped_s=(3, 4), status="RssAnon:\t 10 kB\nVmHWM:\t 1000 kB\n")
    status = "VmPeak:\t 9 kB\nVmHWM:\t 300 kB\nRssAnon:\t 200 kB\n"
    process(tmp_path, CHILD, OWN, cpu_s=(0.25, 0.25), reaped_s=(0.05, 0.2), threads_ns=(750_000_000,), status=status)
    process(tmp_path, GRANDCHILD, CHILD, threads_ns=(10**9, 2 * 10**9), threads=2, status="VmHWM:\t 50 kB\n")
    process(tmp_path, STRANGER, 1, cpu_s=(70, 70), status="RssAnon:\t 5 kB\nVmHWM:\t 5 kB\n")
    return tmp_path


def test_the_tree_is_this_process_with_all_that_are_under_it_and_nobody_else(proc: Path) -> None:
    assert [stat.pid for stat in descendants(OWN, proc)] == [CHILD, GRANDCHILD]
    assert descendants(CHILD, proc) == [ProcessStat(GRANDCHILD, CHILD, 2, 0.0, 0.0)]
    assert ProcessTreeReader(proc).read() == Usage(
        cpu_s=1_000 + 7 + 0.75 + 0.25 + 3,
        cpu_throttled_s=0.0,
        memory_bytes=210 * 1_024,
        memory_is_upper_bound=True,
        memory_peak_bytes=0,
        processes=3,
        oom_kills=0,
        refused_forks=0,
    )
    assert ProcessTreeReader(proc).limits() == Limits()


def test_a_program_is_what_runs_under_this_process_with_the_most_memory_of_each(proc: Path) -> None:
    assert read_program_usage(proc) == ProgramUsage(0.75 + 0.25 + 3, 350 * 1_024)


def test_memory_that_the_kernel_does_not_tell_is_not_taken_for_none_in_use(tmp_path: Path) -> None:
    process(tmp_path, OWN, 1)
    process(tmp_path, CHILD, OWN, cpu_s=(1, 0))
    assert read_program_usage(tmp_path) == ProgramUsage(1.0, None)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_kernel_without_exact_times_tells_clock_ticks(tmp_path: Path, threads: int) -> None:
    process(tmp_path, CHILD, OWN, cpu_s=(1.5, 0.25), reaped_s=(0.5, 0.25), threads=threads)
    assert read_program_usage(tmp_path).cpu_s == 2.5
    assert ProcessTreeReader(tmp_path).read().cpu_s == 1_002.5


def test_of_threads_that_have_ended_the_process_remembers_the_time(tmp_path: Path) -> None:
    process(tmp_path, CHILD, OWN, cpu_s=(4, 1), threads_ns=(10**9, 10**9), threads=2)
    assert read_program_usage(tmp_path).cpu_s == 5.0


def test_a_process_that_ends_while_it_is_read_counts_for_nothing(proc: Path) -> None:
    (proc / str(GRANDCHILD) / "stat").unlink()
    for name in ("schedstat", "status"):
        (proc / str(CHILD) / name).unlink()
    assert read_program_usage(proc) == ProgramUsage(0.5 + 0.25, None)


@pytest.mark.parametrize("error", [FileNotFoundError, ProcessLookupError, PermissionError])
def test_what_is_gone_or_may_not_be_read_of_a_process_counts_for_nothing(
    proc: Path, monkeypatch: pytest.MonkeyPatch, error: type[OSError]
) -> None:
    read, listed = Path.read_text, Path.iterdir

    def fail(path: Path) -> None:
        if path.name in hidden:
            raise error

    def read_text(path: Path, **how: str) -> str:
        fail(path)
        return read(path, **how)

    def iterdir(path: Path) -> Iterator[Path]:
        fail(path)
        return listed(path)

    monkeypatch.setattr(Path, "read_text", read_text)
    monkeypatch.setattr(Path, "iterdir", iterdir)
    hidden = {"task"}
    assert read_program_usage(proc).cpu_s == 0.75 + 0.25
    hidden = {"schedstat", "status"}
    assert read_program_usage(proc) == ProgramUsage(0.5 + 0.25, None)
    hidden = {"stat"}
    assert read_program_usage(proc) == ProgramUsage(0, None)
