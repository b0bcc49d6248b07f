"""Forks for mutants end, whatever is done there, and a busy machine ends none. Real processes."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from below import state
from bounded_fork import Fork, OwnTime, run_in_fork

FAILED = 1
LIMITS_S = (60.0, 0.3)
"""The second part of a fork may not take long."""
BUSY = 3
SPIN_S = 0.3


def spin(_: Fork) -> int:
    while True:
        pass


def wait_for_ever(_: Fork) -> int:
    return threading.Event().wait()


def ignore_signals(_: Fork) -> int:
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    return threading.Event().wait()


def be_killed(_: Fork) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def ask_for_much_memory(_: Fork) -> int:
    return len(bytearray(64 << 30))


def raise_an_error(_: Fork) -> int:
    raise SystemExit(0)


def in_its_second_part(run: Callable[[Fork], int], child: Fork) -> int:
    child.reach(1)
    return run(child)


@pytest.mark.parametrize("run", [spin, wait_for_ever, ignore_signals])
def test_a_part_that_takes_too_long_is_ended(run: Callable[[Fork], int]) -> None:
    assert run_in_fork(partial(in_its_second_part, run), LIMITS_S, FAILED) is None


@pytest.mark.parametrize("run", [be_killed, ask_for_much_memory, raise_an_error])
def test_what_breaks_a_fork_is_a_failure(run: Callable[[Fork], int]) -> None:
    assert run_in_fork(run, LIMITS_S, FAILED) in (FAILED, -signal.SIGKILL)


def test_what_a_fork_returns_is_told() -> None:
    assert run_in_fork(lambda _: 42, LIMITS_S, FAILED) == 42


def test_a_process_that_is_left_behind_is_ended(tmp_path: Path) -> None:
    told = tmp_path / "pid"

    def leave(_: Fork) -> int:
        told.write_text(str(subprocess.Popen(["sleep", "600"]).pid))
        return 0

    assert run_in_fork(leave, LIMITS_S, FAILED) == 0
    while state(int(told.read_text())) not in ("", "Z"):
        time.sleep(0.01)


@pytest.mark.slow
def test_the_clock_of_a_process_stands_still_while_it_waits_for_a_cpu() -> None:
    ours = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(ours)})
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(BUSY)]
    try:
        clock, began_s = OwnTime(os.getpid()), time.monotonic()
        own_s = clock.now_s()
        while time.monotonic() - began_s < SPIN_S * (BUSY + 1):
            pass
        own_s, passed_s = clock.now_s() - own_s, time.monotonic() - began_s
    finally:
        os.sched_setaffinity(0, ours)
        for process in busy:
            process.kill()
            process.wait()
    assert own_s < passed_s / 2
