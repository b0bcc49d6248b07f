"""The parent of a pod's workers: whom it starts, what it passes on, and how it ends. Shells stand for the workers."""

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from own_process import in_own_process
from sshload_worker.coordination import processes
from sshload_worker.coordination.processes import PortBoard, _Processes, make_board, run_processes

FOR_EVER = "while :; do sleep 0.01; done"


@pytest.fixture(name="pod")
def _pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return a function that runs a pod of so many processes, and returns its exit code and what each has written.

    `script` has the process's number in `$n`, a folder in `$folder`, and its arguments; it is ready when it writes.
    """
    program = tmp_path / "python"
    monkeypatch.setattr(sys, "executable", str(program))

    def run(script: str, count: int = 2, arguments: tuple[str, ...] = (), *, then: str = "") -> tuple[int, list[str]]:
        program.write_text(
            f'#!/bin/bash\nn="${{@: -1}}"; folder={tmp_path}\nsay() {{ echo "$@" >> $folder/$n; }}\n{script}\n'
        )
        program.chmod(0o755)

        def play() -> int:
            if then:
                ready = f"[ $(cat {tmp_path}/[0-9]* | grep -c ready) = {count} ]"
                until = f"while kill -0 {os.getpid()} && ! {ready}; do sleep 0.01; done"
                waiting = ["sh", "-c", f"exec 2> /dev/null; {until}; kill -{then} {os.getpid()}"]
                os.posix_spawnp("sh", waiting, os.environ)
            return run_processes(count, list(arguments))

        code = in_own_process(play)
        written = [tmp_path / str(number) for number in range(count)]
        return code, [path.read_text() if path.exists() else "" for path in written]

    return run


def test_each_process_is_a_worker_with_the_arguments_and_its_number(pod: Callable[..., Any]) -> None:
    code, said = pod('say "$@"; say $(readlink /proc/$$/fd/0 | cut -c1-4)', 3, ("--config", "a file"))
    (board,) = {text.split()[6] for text in said}
    assert code == 0
    assert said == [
        f"-m sshload_worker --config a file --board {board} --process {number}\npipe\n" for number in range(3)
    ]


def test_the_board_is_the_same_memory_for_all(pod: Callable[..., Any]) -> None:
    _, said = pod('say $(stat -L -c "%i %s" /proc/$$/fd/$5)', 3, ("one",))
    assert len(set(said)) == 1
    assert said[0].split()[1] == str(3 * 8)


@pytest.mark.parametrize(
    ("script", "code"), [("exit 3", 3), ("kill -KILL $$", 137), ("kill -USR1 $$", 138)], ids=["code", "KILL", "USR1"]
)
def test_the_end_of_the_first_that_fails_is_the_pods_and_the_others_are_terminated(
    pod: Callable[..., Any], script: str, code: int
) -> None:
    other = f"trap 'say ended; exit 5' TERM; say ready; {FOR_EVER}"
    first = f"until [ -e $folder/1 ]; do sleep 0.01; done; {script}"
    assert pod(f"if [ $n = 0 ]; then {first}; else {other}; fi") == (code, ["", "ready\nended\n"])


def test_one_that_ends_well_leaves_the_others_at_work(pod: Callable[..., Any]) -> None:
    script = "if [ $n = 0 ]; then exit 0; fi; sleep 0.3; say done"
    assert pod(script) == (0, ["", "done\n"])


@pytest.mark.parametrize("name", ["TERM", "INT"])
def test_a_signal_reaches_each_process(pod: Callable[..., Any], name: str) -> None:
    script = f"trap 'say {name}; exit 0' {name}; say ready; {FOR_EVER}"
    assert pod(script, then=name) == (0, [f"ready\n{name}\n"] * 2)


def test_a_process_that_does_not_end_in_time_is_killed(
    pod: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "_GRACE_S", 0.2)
    began_s = time.monotonic()
    assert pod(f"trap '' TERM; say ready; {FOR_EVER}", then="TERM") == (137, ["ready\n"] * 2)
    assert time.monotonic() - began_s >= 0.2


def test_a_process_has_its_time_to_end_after_a_signal(pod: Callable[..., Any]) -> None:
    script = f"trap 'sleep 0.3; say tidied; exit 0' TERM; say ready; {FOR_EVER}"
    assert pod(script, then="TERM") == (0, ["ready\ntidied\n"] * 2)


def test_a_process_that_is_started_after_a_signal_gets_it_too() -> None:
    def play() -> int:
        pod, board = _Processes(), make_board(1)
        pod.forward_signal(signal.SIGTERM)
        signal.setitimer(signal.ITIMER_REAL, 0)
        pod.start(["sleep", "1000"], board)
        pod.wait()
        signal.setitimer(signal.ITIMER_REAL, 0)
        return pod.failure

    assert in_own_process(play) == 128 + signal.SIGTERM


def test_no_process_is_sent_what_nobody_was_told() -> None:
    def play() -> Any:
        pod, board = _Processes(), make_board(1)
        pod.start(["true"], board)
        pod.wait()
        return [pod.failure, signal.getitimer(signal.ITIMER_REAL)[0]]

    assert in_own_process(play) == [0, 0.0]


def test_a_process_that_was_waited_for_is_known_to_have_ended() -> None:
    """Else its object waits for it once more, and warns, whenever it is collected."""

    def play() -> Any:
        pod, board = _Processes(), make_board(1)
        pod.start(["true"], board)
        (started,) = pod._running.values()
        pod.wait()
        return started.returncode

    assert in_own_process(play) == 0


def test_orphans_are_reaped_and_say_nothing() -> None:
    def play() -> Any:
        orphan = os.posix_spawnp("sh", ["sh", "-c", "exit 9"], os.environ)
        pod, board = _Processes(), make_board(1)
        pod.start(["sleep", "0.2"], board)
        pod.wait()
        return [pod.failure, Path(f"/proc/{orphan}").exists()]

    assert in_own_process(play) == [0, False]


def test_a_signal_passes_over_a_process_that_was_waited_for_this_moment() -> None:
    pod, board = _Processes(), make_board(1)
    try:
        pod.start(["true"], board)
        (pid,) = pod._running
        os.waitpid(pid, 0)
        pod.forward_signal(signal.SIGTERM)
        pod.kill()
        pod._running.pop(pid).returncode = 0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        os.close(board)


def test_what_the_board_totals_is_what_each_process_put_down() -> None:
    descriptor = make_board(3)
    try:
        first, third = PortBoard(descriptor, 0), PortBoard(descriptor, 2)
        assert first.total(5) == 5
        assert third.total(7) == 12
        assert first.total(1) == 8
    finally:
        os.close(descriptor)


def test_a_process_of_no_pod_has_a_board_of_its_own() -> None:
    first, second = PortBoard(-1, 0), PortBoard(-1, 1)
    assert [first.total(5), second.total(7), first.total(6)] == [5, 7, 6]
