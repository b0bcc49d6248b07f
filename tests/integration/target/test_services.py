"""What scenarios need of a target it serves, to real clients: terminals, forwards, SFTP, scp and git.

Whoever runs the tests as root has all of it served by an ordinary user too, as in a container of the restricted kind.
"""

import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from account_server import ordinary_target
from running_target import WITHIN_S, RunningTarget, make_target_folder, ready_target
from sshload_contract.wire.target import FileFixture, RepositoryFixture

FILES = (FileFixture("file-100k", 102_400),)
REPOSITORIES = (RepositoryFixture("deep/repo.git", commits=7, size_bytes=50_000),)
SFTP = "LogLevel INFO\nSubsystem sftp internal-sftp\n"
ORDINARY = "an ordinary user"

pytestmark = pytest.mark.xdist_group("services of a target")


@pytest.fixture(scope="module", params=["root", ORDINARY] if os.geteuid() == 0 else [ORDINARY])
def target(request: pytest.FixtureRequest) -> Iterator[RunningTarget]:
    """Run a target with fixtures, whose sshd is of this user."""
    with tempfile.TemporaryDirectory() as name:
        if request.param == ORDINARY and os.geteuid() == 0:
            with ordinary_target(Path(name), SFTP, files=FILES, repositories=REPOSITORIES) as target:
                yield target
        else:
            folder = make_target_folder(Path(name), SFTP, files=FILES, repositories=REPOSITORIES)
            with ready_target(folder) as target:
                yield target


def output(*command: str | Path, given: str = "", **environment: str) -> str:
    """Return what the command prints."""
    done = subprocess.run(
        command,
        input=given,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=WITHIN_S,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.root
def test_a_terminal_is_given(target: RunningTarget) -> None:
    assert output(*target.ssh("tty", options=("-tt",))).startswith("/dev/pts/")


@pytest.mark.root
def test_a_login_shell_on_a_terminal_answers_and_ends(target: RunningTarget) -> None:
    assert "sum-42" in output(*target.ssh(options=("-tt",)), given="echo sum-$((40+2))\nexit\n")


def test_a_connection_is_forwarded(target: RunningTarget) -> None:
    stats = f"127.0.0.1:{target.folder.config.stats_port}"
    answer = output(*target.ssh(options=("-W", stats)), given="GET /healthz HTTP/1.0\r\n\r\n")
    assert "200 OK" in answer.splitlines()[0]


def test_sftp_reads_writes_lists_and_removes(target: RunningTarget, tmp_path: Path) -> None:
    home = target.folder.config.home
    batch = f"""
        get {home}/file-100k {tmp_path}/got
        mkdir {home}/made
        put {tmp_path}/got {home}/made/put
        rename {home}/made/put {home}/made/renamed
        ls -1 {home}/made
        rm {home}/made/renamed
        rmdir {home}/made
    """
    told = output("sftp", "-q", "-b", "-", *target.ssh_options(), "127.0.0.1", given=batch)
    assert [line for line in told.splitlines() if not line.startswith("sftp>")] == [f"{home}/made/renamed"]
    assert (tmp_path / "got").stat().st_size == 102_400
    assert not (Path(home) / "made").exists()


def test_scp_reads_and_writes(target: RunningTarget, tmp_path: Path) -> None:
    home = target.folder.config.home
    scp = ["scp", "-O", "-q", *target.ssh_options()]
    output(*scp, f"127.0.0.1:{home}/file-100k", tmp_path / "got")
    output(*scp, tmp_path / "got", f"127.0.0.1:{home}/sent")
    assert (Path(home) / "sent").read_bytes() == (tmp_path / "got").read_bytes() != b""


def test_a_repository_is_cloned_whole(target: RunningTarget, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    url = f"ssh://127.0.0.1{target.folder.config.home}/deep/repo.git"
    output("git", "clone", "-q", url, clone, GIT_SSH_COMMAND=shlex.join(["ssh", *target.ssh_options()]))
    assert output("git", "-C", clone, "rev-list", "--count", "HEAD") == "7\n"
    assert sum(file.stat().st_size for file in clone.glob("file-*")) == 50_000
