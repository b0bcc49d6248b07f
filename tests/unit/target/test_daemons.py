"""Daemons beside sshd are ready before it begins, in their order, and one that fails is told with its last words."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from sshload_target.errors import InterruptedTargetError, TargetError
from sshload_target.system import daemons
from sshload_target.system.daemons import Daemon, start_daemons


def daemon(name: str, script: str, is_ready: Callable[[], bool]) -> Daemon:
    return Daemon(name, ("/bin/sh", "-c", script), is_ready, {"WHO": name})


def test_each_is_ready_before_the_next_begins(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    started = start_daemons(
        (
            daemon("first", f"sleep 0.1; touch {first}; exec sleep 1000", first.exists),
            daemon("second", f"test -e {first} && touch {second}; exec sleep 1000", second.exists),
        ),
        tmp_path,
    )
    try:
        assert [one.name for one in started] == ["first", "second"]
    finally:
        for one in started:
            os.kill(one.pid, signal.SIGKILL)
            os.waitpid(one.pid, 0)


def test_one_that_ends_is_told_with_its_last_lines_and_its_variables(tmp_path: Path) -> None:
    script = "for line in 1 2 3 4 5 6; do echo $WHO says $line >&2; done; exit 3"
    with pytest.raises(
        TargetError, match=r"slapd ended by itself, exit code 3; its last lines:\nslapd says 2\n"
    ) as told:
        start_daemons((daemon("slapd", script, lambda: False),), tmp_path)
    assert "says 1" not in str(told.value)


def test_one_that_does_not_get_ready_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemons, "_READY_WITHIN_S", 0.1)
    with pytest.raises(TargetError, match=r"slow is not ready after 0\.1 s"):
        start_daemons((daemon("slow", "exec sleep 1", lambda: False),), tmp_path)


def test_one_that_is_not_installed_is_told(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=r"krb5kdc cannot be started: .*No such file"):
        start_daemons((Daemon("krb5kdc", (str(tmp_path / "krb5kdc"),), lambda: True),), tmp_path)


def test_a_stop_is_heard_while_one_gets_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemons, "stop_is_pending", lambda: True)
    with pytest.raises(InterruptedTargetError, match="stopped while slow was starting"):
        start_daemons((daemon("slow", "exec sleep 1", lambda: False),), tmp_path)
