"""Who cannot run a target with accounts on this machine is told why, before anything starts."""

import os
from pathlib import Path

import pytest
from sshload_operator.local import system
from sshload_operator.local.sshd import LocalRunError
from sshload_operator.local.system import check_system


def test_another_user_than_root_is_told_why_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(LocalRunError, match=r"spec\.target\.managed\.system needs root, because only root's sshd"):
        check_system()


def machine(script: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a script stand for the program that asks the kernel."""
    program = folder / "unshare"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(system, "_UNSHARE", (str(program),))


def test_root_is_taken_where_the_kernel_gives_namespaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine("exit 0", tmp_path, monkeypatch)
    check_system()


def test_what_the_kernel_refuses_is_told_in_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine("echo unshare failed: Operation not permitted >&2; exit 1", tmp_path, monkeypatch)
    with pytest.raises(LocalRunError, match=r"which this machine refuses \(unshare failed: Operation not permitted\)"):
        check_system()


def test_a_machine_without_the_program_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(system, "_UNSHARE", ("/nowhere/unshare",))
    with pytest.raises(LocalRunError, match="needs unshare"):
        check_system()
