"""What PID 1 owes to the processes under it, each in a process of its own that has adopted them."""

import errno
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from own_process import in_own_process
from sshload_target import pid1
from sshload_target.pid1 import (
    AWAITED_SIGNALS,
    Ended,
    adopt_orphans,
    end_descendants,
    exit_in_words,
    stop_is_pending,
    wait_for_end,
)
from sshload_target.usage.process_tree import descendants

SHORT_S = 0.01
ENOUGH_S = 2.0
LONG_S = 600.0


def alone(play: Callable[[], Any]) -> Any:
    """Return what a function returns in a process that adopts orphans and waits for signals, as PID 1 does."""

    def adopting() -> Any:
        signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED_SIGNALS)
        adopt_orphans()
        return play()

    return in_own_process(adopting)


def started(script: str) -> int:
    """Start a shell that has no signal blocked; return its process id when it has said so."""
    told, telling = os.pipe()
    pid = os.posix_spawn(
        "/bin/sh",
        ["sh", "-c", script],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, telling, 1)],
        setsigmask=[],
    )
    os.close(telling)
    with os.fdopen(told) as said:
        assert said.readline() == "ready\n"
    return pid


def asleep() -> int:
    return started("echo ready; exec >&-; exec sleep 1000")


@pytest.mark.parametrize(("pending", "is_one"), [((), False), ((signal.SIGCHLD,), False), ((signal.SIGTERM,), True)])
def test_a_stop_is_pending_where_a_stop_signal_has_come(pending: Sequence[int], *, is_one: bool) -> None:
    def play() -> bool:
        for number in pending:
            os.kill(os.getpid(), number)
        return stop_is_pending()

    assert alone(play) is is_one


def test_an_interrupt_is_a_stop_too() -> None:
    assert {signal.SIGTERM, signal.SIGINT, signal.SIGCHLD} == AWAITED_SIGNALS


def test_an_orphan_is_adopted() -> None:
    def play() -> bool:
        script = "sleep 1000 >/dev/null & echo ready; echo $!"
        with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, text=True) as parent:
            assert parent.stdout is not None
            orphan = int(parent.stdout.read().split()[1])
        return orphan in {stat.pid for stat in descendants(os.getpid()) if stat.parent == os.getpid()}

    assert alone(play) is True


def test_a_kernel_that_lets_nobody_adopt_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pid1, "_PR_SET_CHILD_SUBREAPER", 1_000_000)
    with pytest.raises(OSError, match="PR_SET_CHILD_SUBREAPER") as raised:
        adopt_orphans()
    assert raised.value.errno == errno.EINVAL


@pytest.mark.parametrize(
    ("script", "code"), [("exit 0", 0), ("exit 3", 3), ("kill -KILL $$", -signal.SIGKILL), ("kill -INT $$", -2)]
)
def test_a_server_that_ends_by_itself_is_told_by_its_exit_code_or_signal(script: str, code: int) -> None:
    assert alone(lambda: _code(wait_for_end(started(f"echo ready; {script}"), lambda: None))) == code


def _code(ended: Ended | None) -> int:
    assert ended is not None
    return ended.exit_code


def test_it_is_told_which_of_several_servers_has_ended() -> None:
    def play() -> Any:
        server, other = asleep(), started("echo ready; exit 7")
        ended = wait_for_end(server, lambda: None, [other])
        return [ended == Ended(other, 7), Path(f"/proc/{server}").exists()]

    assert alone(play) == [True, True]


@pytest.mark.parametrize(
    ("code", "words"), [(0, "exit code 0"), (255, "exit code 255"), (-1, "by SIGHUP"), (-9, "by SIGKILL")]
)
def test_an_end_is_told_as_an_exit_code_or_a_signal(code: int, words: str) -> None:
    assert exit_in_words(code) == words


def test_another_process_that_ends_is_reaped_and_ends_nothing() -> None:
    def play() -> Any:
        other, server = started("echo ready"), started("echo ready; sleep 0.1; exit 7")
        ticks: list[None] = []
        return [_code(wait_for_end(server, lambda: ticks.append(None))), len(ticks), Path(f"/proc/{other}").exists()]

    assert alone(play) == [7, 0, False]


def test_while_nothing_happens_somebody_may_look_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pid1, "_TICK_S", SHORT_S)

    def play() -> Any:
        server = asleep()
        ticks: list[None] = []

        def tick() -> None:
            ticks.append(None)
            if len(ticks) == 3:
                os.kill(server, signal.SIGKILL)

        return [_code(wait_for_end(server, tick)), len(ticks) >= 3]

    assert alone(play) == [-signal.SIGKILL, True]


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_signal_is_passed_on_to_the_server_as_a_request_to_terminate(stop: signal.Signals) -> None:
    def play() -> Any:
        server = asleep()
        os.kill(os.getpid(), stop)
        ended = wait_for_end(server, lambda: None)
        return [ended, os.waitstatus_to_exitcode(os.waitpid(server, 0)[1])]

    assert alone(play) == [None, -signal.SIGTERM]


def test_a_stop_signal_counts_where_the_server_has_just_ended_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a terminal interrupts all processes, and the server is the quicker."""

    def play() -> Any:
        server, waited = started("echo ready"), signal.sigtimedwait

        def wait(numbers: Any, within_s: float) -> Any:
            received = waited(numbers, within_s)
            os.kill(os.getpid(), signal.SIGTERM)
            return received

        monkeypatch.setattr(signal, "sigtimedwait", wait)
        return wait_for_end(server, lambda: None)

    assert alone(play) is None


def left(within_s: float, *scripts: str) -> Any:
    """Return whether the end of all processes was told, and how many are left."""

    def play() -> Any:
        for script in scripts:
            started(script)
        return [end_descendants(within_s), len(descendants(os.getpid()))]

    return alone(play)


def test_where_nothing_runs_all_has_ended() -> None:
    assert left(LONG_S) == [True, 0]


def test_processes_and_those_below_them_are_ended_and_reaped() -> None:
    assert left(LONG_S, "echo ready; sleep 1000", "sleep 1000 & echo ready; sleep 1000") == [True, 0]


def test_a_process_has_its_time_to_end_by_itself(tmp_path: Path) -> None:
    tidy = f"trap '' TERM; sleep 0.3; echo tidied > {tmp_path}/done; exit"
    assert left(LONG_S, f'trap "{tidy}" TERM; echo ready; while :; do sleep 0.01; done') == [True, 0]
    assert (tmp_path / "done").read_text() == "tidied\n"


def test_a_process_that_ends_at_the_second_request_is_asked_again_and_not_killed(tmp_path: Path) -> None:
    second = f"trap 'echo ended > {tmp_path}/done; exit' TERM"
    script = f'trap "{second}" TERM; echo ready; while :; do sleep 0.01; done'
    assert left(LONG_S, script) == [True, 0]
    assert (tmp_path / "done").read_text() == "ended\n"


def test_a_process_that_ignores_the_request_is_killed() -> None:
    assert left(ENOUGH_S, "trap '' TERM; echo ready; exec >&-; exec sleep 1000") == [True, 0]


def test_a_process_that_may_not_be_ended_is_told_to_be_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has another user, and the target may not send it signals. It is asked some times only."""
    grace_s = 0.3
    sent = []

    def refuse(_pid: int, number: int) -> None:
        sent.append(number)
        raise PermissionError

    def play() -> Any:
        server, kill = asleep(), os.kill
        monkeypatch.setattr(os, "kill", refuse)
        began_s = time.monotonic()
        all_ended = end_descendants(grace_s)
        waited = time.monotonic() - began_s >= 2 * grace_s
        kill(server, signal.SIGKILL)
        return [all_ended, sorted(set(sent)), waited, len(sent) <= 10]

    assert alone(play) == [False, [signal.SIGKILL, signal.SIGTERM], True, True]
