"""A threshold may stand on exactly the timings that a run takes, whatever the kind of its step."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from one_iteration import LOGIN_AND_TOTAL, one_pass
from specs.small import SMALL
from specs.spec import Spec, changed
from ssh_server import Keys, ssh_server
from sshload_contract.steps import TIMINGS
from sshload_contract.vocabulary import Outcome
from sshload_operator.api.load_test import parse
from sshload_operator.api.shapes.errors import SpecError

STEPS: dict[str, Spec] = {
    "exec": {"command": "echo"},
    "sftpRead": {"path": "HOME/file"},
    "sftpWrite": {"path": "HOME/written", "size": 10, "verify": "size"},
    "sftpList": {"path": "HOME"},
    "sftpStat": {"path": "HOME/file"},
    "sftpMkdir": {"path": "HOME/made"},
    "sftpRmdir": {"path": "HOME/empty"},
    "sftpRename": {"path": "HOME/old", "to": "HOME/new"},
    "sftpRemove": {"path": "HOME/old"},
    "sftpSetstat": {"path": "HOME/file", "mode": "0600"},
    "sftpSymlink": {"path": "HOME/link", "to": "file"},
    "scpRead": {"path": "HOME/file"},
    "scpWrite": {"path": "HOME/written", "size": 10, "verify": "content"},
    "shell": {"command": "cat", "send": "hello\n", "expect": "hello"},
    "forward": {"host": "127.0.0.1", "port": 1, "expect": "SSH-2.0"},
    "gitUploadPack": {"repository": "HOME/git"},
    "rsync": {"upload": {"path": "HOME/rsynced", "size": 10}},
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Make a folder with what the steps need."""
    for name in ("file", "old"):
        (tmp_path / name).write_text("content")
    (tmp_path / "empty").mkdir()
    commit = ["commit", "--quiet", "--allow-empty", "--message=x"]
    who = ["-c", "user.name=x", "-c", "user.email=x@example.com"]
    for words in (["init", "--quiet", tmp_path / "git"], ["-C", tmp_path / "git", *who, *commit]):
        subprocess.run(["git", *words], check=True)
    return tmp_path


def a_spec(kind: str, home: Path, port: int) -> Spec:
    """Return a spec with one step of this kind, which finds what it needs."""
    step: dict[str, Any] = json.loads(json.dumps(STEPS[kind]).replace("HOME", str(home)))
    return changed(SMALL, "scenario.steps", [{kind: {**step, "port": port} if "port" in step else step}])


def may_stand_on(spec: Spec, timing: str) -> bool:
    try:
        parse({**spec, "thresholds": [{"latency": {"step": str(timing), "percentile": 50, "below": "1s"}}]})
    except SpecError:
        return False
    return True


@pytest.mark.parametrize("kind", STEPS)
def test_the_timings_of_a_step_are_those_that_a_threshold_may_stand_on(
    kind: str, home: Path, tmp_path: Path, keys: Keys
) -> None:
    with ssh_server(tmp_path, keys, "Subsystem sftp internal-sftp") as server:
        spec = a_spec(kind, home, server.port)
        done = one_pass(server, *parse(spec).scenario.steps)
    assert (done.outcome, done.message) == (Outcome.OK, "")
    assert set(done.timed) == {word for word in TIMINGS if may_stand_on(spec, word)} - LOGIN_AND_TOTAL
