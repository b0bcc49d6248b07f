"""A target lives until it is told to end or its sshd ends, and leaves nothing behind."""

import os
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

from running_target import (
    WITHIN_S,
    RunningTarget,
    TargetFolder,
    make_target_folder,
    ready_target,
    started_target,
    wait_until,
)
from sshload_contract.wire.target import FileFixture
from sshload_target.usage.process_tree import descendants

StartTarget = Callable[..., RunningTarget]


def _sshd_pid(target: RunningTarget) -> int:
    (sshd,) = [stat.pid for stat in descendants(target.process.pid) if stat.parent == target.process.pid]
    return sshd


def _nobody_listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) != 0


def test_a_stop_signal_ends_sshd_its_sessions_and_what_they_left_running(target_folder: TargetFolder) -> None:
    with ready_target(target_folder) as target:
        left_running = int(target.run("setsid sleep 1000 >/dev/null 2>&1 & echo $!"))
        with subprocess.Popen(target.ssh("echo here; sleep 1000"), stdout=subprocess.PIPE, text=True) as client:
            assert client.stdout is not None
            assert client.stdout.readline() == "here\n"
            running = [stat.pid for stat in descendants(target.process.pid)]
            assert left_running in running
            assert target.stop() == 0
            assert client.wait(timeout=WITHIN_S) != 0
        assert [pid for pid in running if Path(f"/proc/{pid}").exists()] == []
        assert _nobody_listens(target_folder.config.sshd_port)
        assert _nobody_listens(target_folder.config.stats_port)
    assert not target_folder.termination_log.exists()
    assert list((target_folder.path / "private").iterdir()) == []


def test_what_ignores_the_stop_signal_is_killed(target_folder: TargetFolder) -> None:
    with ready_target(target_folder) as target:
        stubborn = "trap '' TERM HUP; echo $$; while :; do sleep 0.1; done"
        with subprocess.Popen(target.ssh(stubborn), stdout=subprocess.PIPE, text=True) as client:
            assert client.stdout is not None
            pid = int(client.stdout.readline())
            assert target.stop() == 0
            assert not Path(f"/proc/{pid}").exists()


def test_orphans_are_adopted_and_reaped(start_target: StartTarget) -> None:
    target = start_target()
    orphan = int(target.run("setsid sh -c 'echo $$; exec >/dev/null 2>&1; sleep 0.2' &"))
    wait_until(lambda: not Path(f"/proc/{orphan}").exists(), "the orphan reaped")
    wait_until(lambda: target.stats().processes == 2, "target and sshd alone")


def test_an_sshd_that_is_killed_ends_the_target_with_the_reason(target_folder: TargetFolder) -> None:
    with ready_target(target_folder) as target:
        with subprocess.Popen(target.ssh("echo here; sleep 1000"), stdout=subprocess.PIPE, text=True) as client:
            assert client.stdout is not None
            assert client.stdout.readline() == "here\n"
            running = [stat.pid for stat in descendants(target.process.pid)]
            os.kill(_sshd_pid(target), signal.SIGKILL)
            assert target.process.wait(timeout=WITHIN_S) == 1
        assert "sshd ended by itself, by SIGKILL" in target_folder.termination_log.read_text()
        assert [pid for pid in running if Path(f"/proc/{pid}").exists()] == []


def test_an_sshd_whose_port_is_taken_ends_the_target_with_its_own_words(target_folder: TargetFolder) -> None:
    with socket.create_server(("127.0.0.1", target_folder.config.sshd_port)), started_target(target_folder) as target:
        assert target.process.wait(timeout=WITHIN_S) == 1
    assert "Address already in use" in target_folder.termination_log.read_text()


def test_an_http_port_that_is_taken_ends_the_target_with_the_reason(target_folder: TargetFolder) -> None:
    with socket.create_server(("127.0.0.1", target_folder.config.stats_port)), started_target(target_folder) as target:
        assert target.process.wait(timeout=WITHIN_S) == 1
    assert f"port {target_folder.config.stats_port}" in target_folder.termination_log.read_text()


def test_while_it_makes_fixtures_it_is_alive_not_ready_and_stops_when_told(tmp_path: Path) -> None:
    endless = FileFixture("endless", 10**13)
    with started_target(make_target_folder(tmp_path, "LogLevel INFO\n", files=(endless,))) as target:
        wait_until((tmp_path / "home/endless").exists, "the making of fixtures")
        assert target.http_status("/healthz") == 200
        assert target.http_status("/readyz") == 503
        assert _nobody_listens(target.folder.config.sshd_port)
        assert target.stop() == 0


def test_a_restarted_container_serves_the_same_home_again(target_folder: TargetFolder) -> None:
    for _ in range(2):
        with ready_target(target_folder) as target:
            assert target.run("echo back") == "back\n"
            assert target.stop() == 0


def test_an_unknown_path_is_not_found(start_target: StartTarget) -> None:
    target = start_target()
    assert [target.http_status(path) for path in ("/healthz", "/readyz", "/", "/stats/../etc/passwd")] == [
        200,
        200,
        404,
        404,
    ]
