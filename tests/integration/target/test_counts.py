"""What the target counts is what clients did."""

import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from account_server import ordinary_target
from running_target import WITHIN_S, RunningTarget, make_keys, make_target_folder, ready_target, wait_until
from sshload_target.usage.process_tree import descendants

StartTarget = Callable[..., RunningTarget]
both_log_levels = pytest.mark.parametrize("log_level", ["INFO", "VERBOSE"])


@both_log_levels
def test_every_login_is_counted_once(start_target: StartTarget, log_level: str) -> None:
    target = start_target(f"LogLevel {log_level}\n")
    assert target.stats().accepted == 0
    for _ in range(3):
        target.run("true")
    wait_until(lambda: target.stats().accepted == 3, "three logins counted")
    assert target.stats().auth_failed == 0


def test_what_the_observer_takes_is_told_apart_from_what_sshd_takes(start_target: StartTarget) -> None:
    target = start_target()
    target.run("true")
    wait_until(lambda: target.stats().sessions == 0, "no session")
    before = after = target.stats()
    while after.own_cpu_s < before.own_cpu_s + 0.5:
        after = target.stats()
    assert after.sshd_cpu_s - before.sshd_cpu_s < 0.1
    assert after.cpu_s - before.cpu_s >= 0.5
    assert before.sshd_cpu_s > 0


@both_log_levels
def test_every_refused_login_is_counted_once(start_target: StartTarget, log_level: str) -> None:
    target = start_target(f"LogLevel {log_level}\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n")
    make_keys(target.folder.path / "others")
    for _ in range(2):
        refused = subprocess.run(target.ssh("true", key="../others/id_ed25519"), check=False, timeout=WITHIN_S)
        assert refused.returncode == 255
    wait_until(lambda: target.stats().auth_failed == 2, "two refusals counted")
    assert target.stats().accepted == 0


@both_log_levels
def test_sessions_are_those_that_are_open_however_they_end(start_target: StartTarget, log_level: str) -> None:
    target = start_target(f"LogLevel {log_level}\n")
    with ExitStack() as clients:
        held = [
            clients.enter_context(subprocess.Popen(target.ssh("cat"), stdin=subprocess.PIPE, stdout=subprocess.PIPE))
            for _ in range(3)
        ]
        wait_until(lambda: target.stats().sessions == 3, "three sessions")
        held[0].send_signal(signal.SIGKILL)
        wait_until(lambda: target.stats().sessions == 2, "two sessions after a client was killed")
        held[1].communicate()
        wait_until(lambda: target.stats().sessions == 1, "one session after a client took its leave")
        held[2].communicate()
        wait_until(lambda: target.stats().sessions == 0, "no session")
    assert target.stats().accepted == 3


def test_a_connection_that_has_not_logged_in_is_no_session(start_target: StartTarget) -> None:
    target = start_target()
    with socket.create_connection(("127.0.0.1", target.folder.config.sshd_port)) as connection:
        assert connection.recv(8) == b"SSH-2.0-"
        assert target.stats().sessions == 0


def _refusals(port: int, connections: int) -> int:
    """Open so many connections at once and return how many were refused before a banner."""
    with ExitStack() as open_connections:
        made = [
            open_connections.enter_context(socket.create_connection(("127.0.0.1", port), timeout=WITHIN_S))
            for _ in range(connections)
        ]
        return sum(not connection.recv(8).startswith(b"SSH-2.0-") for connection in made)


@both_log_levels
def test_drops_by_max_startups_are_counted_or_said_to_be_a_lower_bound(
    start_target: StartTarget, log_level: str
) -> None:
    target = start_target(f"LogLevel {log_level}\nMaxStartups 3:100:3\n")
    refused = _refusals(target.folder.config.sshd_port, connections=13)
    assert refused == 10

    def told() -> bool:
        stats = target.stats()
        return stats.dropped_max_startups == refused or (
            stats.dropped_max_startups > 0 and stats.dropped_is_lower_bound
        )

    wait_until(told, "drops counted, all of them or as a lower bound")
    stats = target.stats()
    assert stats.dropped_max_startups <= refused
    assert stats.dropped_penalty == 0


@both_log_levels
def test_a_server_that_tells_its_total_has_its_drops_counted_to_the_last(
    start_target: StartTarget, log_level: str
) -> None:
    target = start_target(f"LogLevel {log_level}\nMaxStartups 3:100:3\n")
    refused = _refusals(target.folder.config.sshd_port, connections=13)
    wait_until(lambda: target.stats().processes == 2, "no connection left")
    target.run("true")
    wait_until(lambda: target.stats().accepted == 1, "the login after the episode counted")
    stats = target.stats()
    tells_its_total = "exited MaxStartups throttling" in target.log()
    assert tells_its_total == (not stats.dropped_is_lower_bound)
    assert not tells_its_total or stats.dropped_max_startups == refused


@pytest.fixture(name="ordinary")
def _ordinary() -> Iterator[RunningTarget]:
    """Run a target whose sshd is an ordinary user's."""
    with tempfile.TemporaryDirectory() as name:
        started = (
            ordinary_target(Path(name), "") if os.geteuid() == 0 else ready_target(make_target_folder(Path(name), ""))
        )
        with started as target:
            yield target


def test_connections_for_which_sshd_gets_no_process_are_counted(ordinary: RunningTarget) -> None:
    """Of an ordinary user: root may start as many as he likes."""
    sshd, *_ = descendants(ordinary.process.pid)
    ordinary.run(f"prlimit --pid {sshd.pid} --nproc=0:0")
    assert ordinary.stats().refused_forks == 0
    for _ in range(2):
        refused = subprocess.run(ordinary.ssh("true"), capture_output=True, check=False, timeout=WITHIN_S)
        assert refused.returncode == 255
    wait_until(lambda: ordinary.stats().refused_forks == 2, "two refusals counted")


def test_no_drops_are_no_lower_bound(start_target: StartTarget) -> None:
    target = start_target()
    target.run("true")
    stats = target.stats()
    assert (stats.dropped_max_startups, stats.dropped_penalty, stats.dropped_is_lower_bound) == (0, 0, False)


def test_cpu_memory_and_processes_are_those_of_sshd_too(start_target: StartTarget) -> None:
    target = start_target()
    idle = target.stats()
    assert idle.processes == 2
    with subprocess.Popen(
        target.ssh("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo done; cat"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as client:
        assert client.stdout is not None
        assert client.stdout.readline() == "done\n"
        busy = target.stats()
        client.communicate()
    assert busy.cpu_s > idle.cpu_s + 0.1
    assert busy.memory_bytes > idle.memory_bytes > 1_000_000
    assert busy.memory_peak_bytes >= busy.memory_bytes
    assert busy.processes >= idle.processes + 2
    wait_until(lambda: target.stats().processes == 2, "as few processes as before")
    assert target.stats().cpu_s >= busy.cpu_s - 0.02
    assert target.stats().memory_peak_bytes >= busy.memory_bytes


def test_the_stats_name_the_sshd_and_the_time(start_target: StartTarget) -> None:
    target = start_target()
    stats = target.stats()
    assert stats.at_unix_s == pytest.approx(time.time(), abs=60)
    assert stats.sshd_version.startswith("OpenSSH_")


def test_the_log_is_passed_on_in_lines(start_target: StartTarget) -> None:
    target = start_target()
    target.run("true")
    wait_until(lambda: "Accepted publickey for " in target.log(), "the log passed on")
    assert "\r" not in target.log()
    assert target.log().startswith("Server listening on 127.0.0.1 port ")
