"""Repositories are as git itself sees them, and stay in the home."""

import os
import resource
import subprocess
from pathlib import Path

import pytest
from running_target import WITHIN_S
from sshload_contract.wire.target import RepositoryFixture
from sshload_target.errors import ConfigRefusedError, InterruptedTargetError
from sshload_target.fixtures import make_repository

ME = (os.getuid(), os.getgid())


def make(home: Path, commits: int, size_bytes: int, path: str = "repo.git") -> None:
    make_repository(home, RepositoryFixture(path, commits, size_bytes), ME, lambda: False)


def git(repository: Path, *arguments: str) -> str:
    command = ["git", "-C", repository, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=WITHIN_S).stdout.strip()


def content_bytes(repository: Path) -> int:
    """Return the sum of the sizes of all versions of all files."""
    objects = git(repository, "cat-file", "--batch-all-objects", "--batch-check=%(objecttype) %(objectsize)")
    return sum(int(line.split()[1]) for line in objects.splitlines() if line.startswith("blob "))


@pytest.mark.parametrize(("commits", "size_bytes"), [(1, 0), (1, 26_624), (3, 4_000_001), (150, 1_000_000), (300, 7)])
def test_a_repository_has_its_commits_and_its_bytes_all_reached_by_head(
    tmp_path: Path, commits: int, size_bytes: int
) -> None:
    make(tmp_path, commits, size_bytes, "deep/down/repo.git")
    repository = tmp_path / "deep/down/repo.git"
    git(repository, "fsck", "--full", "--strict")
    assert git(repository, "rev-list", "--count", "HEAD") == str(commits)
    assert git(repository, "symbolic-ref", "HEAD") == "refs/heads/main"
    assert git(repository, "rev-parse", "--is-bare-repository") == "true"
    distinct_blobs_lose_repeats = size_bytes < commits  # most commits then have a blob of 0 bytes
    assert content_bytes(repository) == size_bytes or distinct_blobs_lose_repeats


def test_no_compression_and_no_delta_makes_a_clone_smaller(tmp_path: Path) -> None:
    make(tmp_path, commits=70, size_bytes=2_000_000)
    git(tmp_path / "repo.git", "repack", "-adfq", "--window=250")
    (pack,) = (tmp_path / "repo.git/objects/pack").glob("*.pack")
    assert pack.stat().st_size > 2_000_000


def test_all_of_it_is_in_one_pack(tmp_path: Path) -> None:
    make(tmp_path, commits=2, size_bytes=1_000)
    said = git(tmp_path / "repo.git", "count-objects", "-v").splitlines()
    assert {"count: 0", "packs: 1", "in-pack: 6"} <= set(said)


def test_a_repository_is_made_anew_when_the_container_restarts(tmp_path: Path) -> None:
    make(tmp_path, commits=3, size_bytes=100)
    make(tmp_path, commits=2, size_bytes=100)
    assert git(tmp_path / "repo.git", "rev-list", "--count", "HEAD") == "2"


def test_commits_are_dated_and_named_one_after_the_other(tmp_path: Path) -> None:
    make(tmp_path, commits=3, size_bytes=100)
    assert git(tmp_path / "repo.git", "log", "--format=%s by %an, %ct").splitlines() == [
        "Commit 3 by sshload, 1700000002",
        "Commit 2 by sshload, 1700000001",
        "Commit 1 by sshload, 1700000000",
    ]


@pytest.mark.parametrize("like_a_repository", ["", "HEAD", "objects/"])
def test_something_else_in_its_place_is_left_alone(tmp_path: Path, like_a_repository: str) -> None:
    (tmp_path / "repo.git").mkdir()
    (tmp_path / "repo.git/precious").write_text("mine")
    if like_a_repository == "HEAD":
        (tmp_path / "repo.git/HEAD").write_text("ref: refs/heads/main")
    elif like_a_repository:
        (tmp_path / "repo.git" / like_a_repository).mkdir()
    with pytest.raises(ConfigRefusedError, match="not a git repository"):
        make(tmp_path, commits=1, size_bytes=1)
    assert (tmp_path / "repo.git/precious").read_text() == "mine"


def test_a_stop_signal_ends_the_making_of_a_large_repository_which_a_restart_makes_anew(tmp_path: Path) -> None:
    answers = iter([*[False] * 10, True])
    with pytest.raises(InterruptedTargetError):
        make_repository(tmp_path, RepositoryFixture("repo.git", 3, 10**12), ME, lambda: next(answers))
    make(tmp_path, commits=1, size_bytes=10)
    assert git(tmp_path / "repo.git", "rev-list", "--count", "HEAD") == "1"


def test_no_commits_make_an_empty_repository(tmp_path: Path) -> None:
    make(tmp_path, commits=0, size_bytes=0)
    assert git(tmp_path / "repo.git", "for-each-ref") == ""


def test_a_git_that_cannot_write_is_told(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(ConfigRefusedError, match=r"'repo\.git' cannot be made by git: \S"):
            make(tmp_path, commits=1, size_bytes=10_000_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_all_of_it_is_the_users(tmp_path: Path) -> None:
    """Git serves no repository of somebody else's. Who may, gives it to another user than himself."""
    owner = (1, 1) if os.geteuid() == 0 else ME
    make_repository(tmp_path, RepositoryFixture("deep/repo.git", 2, 10), owner, lambda: False)
    assert {(path.stat().st_uid, path.stat().st_gid) for path in tmp_path.rglob("*")} == {owner}


def test_nobodys_configuration_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "gitconfig"
    config.write_text("[init]\n\tdefaultObjectFormat = sha256\n[core]\n\tbare = nonsense\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    make(tmp_path, commits=1, size_bytes=10)
    monkeypatch.undo()
    assert len(git(tmp_path / "repo.git", "rev-parse", "HEAD")) == 40
