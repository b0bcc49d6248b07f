"""What tests have started: it is ended with all below it, and what is left behind fails them."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from below import descendants, end_with_all_below, state

LEAVING = """
import subprocess
from below import none_left_behind
import below
below._ENDS_WITHIN_S = {seconds}
with none_left_behind():
    subprocess.run(["sh", "-c", "setsid sleep {left} & echo $!"], check=True)
"""


def left_behind(left: float, seconds: float) -> tuple[int, str, int]:
    """Let tests leave an orphan behind that runs for so long; return the exit code, what was said, and the orphan."""
    program = [sys.executable, "-c", LEAVING.format(left=left, seconds=seconds)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr, int(done.stdout)


def await_end(processes: set[int]) -> None:
    while any(state(pid) not in {"", "Z"} for pid in processes):
        time.sleep(0.01)


def test_an_orphan_that_runs_on_is_named_and_ended() -> None:
    code, said, orphan = left_behind(3_600, seconds=0)
    assert code == 1
    named = r"tests have left processes behind: (sh -c )?(setsid )?sleep 3600( & echo \$!)?$"  # itself, or not yet
    assert re.search(named, said, re.MULTILINE)
    await_end({orphan})


def test_an_orphan_that_ends_soon_is_waited_for() -> None:
    assert left_behind(0.1, seconds=60)[0] == 0


@pytest.mark.parametrize("is_stopped", [True, False], ids=["stopped", "running"])
def test_a_process_is_ended_with_all_below_it(*, is_stopped: bool) -> None:
    command = ["sh", "-c", "setsid sh -c 'sleep 3600; true' & wait"]
    with subprocess.Popen(command) as process:
        while len(below := descendants(process.pid)) < 2:
            assert process.poll() is None
        if is_stopped:
            process.send_signal(signal.SIGSTOP)
        end_with_all_below(process.pid)
        assert process.wait() == -signal.SIGTERM
    await_end(below)


SPAWNING = """
import os, sys
os.posix_spawn("/bin/true", ["true"], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, sys.argv[1], os.O_RDONLY, 0)])
"""
"""What a process in vfork(2) is whose child has not begun its program: the child waits for who writes into a pipe."""


def test_a_process_whose_child_was_stopped_before_its_program_is_ended_with_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen([sys.executable, "-c", SPAWNING, pipe]) as process:
        while not (below := descendants(process.pid)) or state(process.pid) != "D":
            assert process.poll() is None
        end_with_all_below(process.pid)
        assert process.wait() == -signal.SIGTERM
    await_end(below)
