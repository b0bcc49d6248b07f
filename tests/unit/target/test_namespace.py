"""What of this Python lies in a folder that is hidden in the namespaces is found, and nothing else."""

import sys
from pathlib import Path

import pytest
from sshload_target.system import namespace


def test_modules_and_programs_in_hidden_folders_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden, seen = tmp_path / "home", tmp_path / "opt"
    for folder in (hidden / "me/venv", hidden / "me/src", seen / "python"):
        folder.mkdir(parents=True)
    (hidden / "me/modules.zip").touch()
    monkeypatch.setattr(sys, "prefix", str(hidden / "me/venv"))
    monkeypatch.setattr(sys, "base_prefix", str(seen / "python"))
    monkeypatch.setattr(sys, "path", ["", str(hidden / "me/src"), str(hidden / "me/modules.zip"), str(hidden / "gone")])
    assert namespace._programs_below((str(hidden),)) == (hidden / "me/src", hidden / "me/venv")
