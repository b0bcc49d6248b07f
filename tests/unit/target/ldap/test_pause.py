"""A pause stops a process for its time, once at a time, and says when that was."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from running_target import wait_until
from sshload_target.ldap.pause import Pause

LONG_S = 600.0


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """Yield a process that does nothing."""
    with subprocess.Popen(["sleep", str(LONG_S)]) as started:
        yield started
        started.kill()


def is_stopped(process: subprocess.Popen[bytes]) -> bool:
    stat = Path(f"/proc/{process.pid}/stat").read_text()
    return stat.rpartition(")")[2].split()[0] == "T"


def began_at_s(pause: Pause) -> float:
    assert pause.last is not None
    return time.monotonic() - pause.last.began_ago_s


def test_a_process_stands_still_until_its_pause_is_over(process: subprocess.Popen[bytes]) -> None:
    pause = Pause(process.pid, 0.05)
    assert pause.last is None
    pause.begin()
    wait_until(lambda: pause.last is not None and pause.last.ended_ago_s > 0, "the end of the pause")
    wait_until(lambda: not is_stopped(process), "the process goes on")
    assert pause.last is not None
    assert pause.last.began_ago_s - pause.last.ended_ago_s >= 0.05


def test_a_pause_that_is_under_way_is_told_as_such_and_begins_no_second_time(process: subprocess.Popen[bytes]) -> None:
    pause = Pause(process.pid, LONG_S)
    pause.begin()
    wait_until(lambda: is_stopped(process), "the process stands still")
    began = began_at_s(pause)
    pause.begin()
    assert pause.last is not None
    assert pause.last.ended_ago_s == 0
    assert began_at_s(pause) == pytest.approx(began, abs=1e-3)
    pause.end()
    wait_until(lambda: not is_stopped(process), "the process goes on")


def test_each_further_pause_takes_the_place_of_the_last(process: subprocess.Popen[bytes]) -> None:
    pause = Pause(process.pid, LONG_S)
    began = []
    for _ in range(2):
        pause.begin()
        time.sleep(0.01)
        began.append(began_at_s(pause))
        pause.end()
        assert began_at_s(pause) == pytest.approx(began[-1], abs=1e-3)
    assert began[0] < began[1]


def test_a_process_that_has_gone_is_no_fault(process: subprocess.Popen[bytes]) -> None:
    pause = Pause(process.pid, LONG_S)
    process.kill()
    process.wait()
    pause.begin()
    pause.end()
    assert pause.last is not None
