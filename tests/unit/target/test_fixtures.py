"""Fixtures are as they were asked for, and stay in the home."""

import os
import zlib
from pathlib import Path

import pytest
from sshload_contract.wire.target import DirectoryFixture, FileFixture, RepositoryFixture
from sshload_target.errors import ConfigRefusedError, InterruptedTargetError
from sshload_target.fixtures import _chown_recursively, make_directory, make_file, make_repository, refuse_escapes

ME = (os.getuid(), os.getgid())
USER = (1, 2) if os.geteuid() == 0 else ME  # who may, gives it to another user than himself


def _never() -> bool:
    return False


@pytest.mark.parametrize("size_bytes", [0, 1, 26_624, 1_048_576, 2_500_001])
def test_a_file_has_its_size(tmp_path: Path, size_bytes: int) -> None:
    make_file(tmp_path, FileFixture("deep/down/file", size_bytes), ME, _never)
    assert (tmp_path / "deep/down/file").stat().st_size == size_bytes


def test_no_compression_makes_a_file_smaller(tmp_path: Path) -> None:
    make_file(tmp_path, FileFixture("file", 2_000_000), ME, _never)
    assert len(zlib.compress((tmp_path / "file").read_bytes(), level=9)) > 2_000_000


def test_a_file_is_made_anew_when_the_container_restarts(tmp_path: Path) -> None:
    make_file(tmp_path, FileFixture("file", 5_000), ME, _never)
    make_file(tmp_path, FileFixture("file", 3_000), ME, _never)
    assert (tmp_path / "file").stat().st_size == 3_000


def test_a_directory_has_its_number_of_empty_files_also_after_a_restart(tmp_path: Path) -> None:
    for _ in range(2):
        make_directory(tmp_path, DirectoryFixture("a/dir", 321), ME)
    files = list((tmp_path / "a/dir").iterdir())
    assert len(files) == 321
    assert {file.stat().st_size for file in files} == {0}


def test_a_stop_signal_ends_the_making_of_a_large_file(tmp_path: Path) -> None:
    answers = iter([False, False, True])
    with pytest.raises(InterruptedTargetError):
        make_file(tmp_path, FileFixture("file", 10**12), ME, lambda: next(answers))


@pytest.mark.parametrize(
    "path", ["../file", "a/../../file", "a/..", "..", "/etc/passwd", "//etc", "", ".", ".ssh/authorized_keys", "a\0b"]
)
def test_a_path_that_leads_elsewhere_is_refused_by_its_name(path: str) -> None:
    with pytest.raises(ConfigRefusedError, match="fixture path"):
        refuse_escapes(path)


@pytest.mark.parametrize("path", ["file-26k", "a/b/c", "..a", "a..b/c", "./file", "name with spaces"])
def test_a_path_below_the_home_is_taken(path: str) -> None:
    refuse_escapes(path)


@pytest.mark.parametrize("path", ["../file", "a/../../file", ".ssh/file", ""])
def test_nothing_is_made_at_a_path_that_is_refused(tmp_path: Path, path: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with pytest.raises(ConfigRefusedError, match="fixture path"):
        make_file(home, FileFixture(path, 10), ME, _never)
    assert list(tmp_path.rglob("*")) == [home]


def test_all_that_is_made_is_the_users_and_others_may_read_it(tmp_path: Path) -> None:
    make_file(tmp_path, FileFixture("deep/down/file", 1), USER, _never)
    make_directory(tmp_path, DirectoryFixture("deep/dir", 3), USER)
    made = list(tmp_path.rglob("*"))
    assert {(path.stat().st_uid, path.stat().st_gid) for path in made} == {USER}
    assert {oct(path.stat().st_mode & 0o777) for path in made} == {"0o755", "0o644"}


@pytest.mark.root
def test_a_link_in_a_repository_is_given_to_the_user_and_not_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    (tmp_path / "other").touch()
    (tmp_path / "repo/link").symlink_to(tmp_path / "other")
    _chown_recursively(tmp_path / "repo", USER)
    assert ((tmp_path / "repo/link").lstat().st_uid, (tmp_path / "other").stat().st_uid) == (USER[0], 0)


@pytest.mark.root
def test_a_repository_is_the_users_also_where_its_group_is_ours(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    _chown_recursively(tmp_path / "repo", (1, 0))
    assert (tmp_path / "repo").stat().st_uid == 1


def test_a_directory_leaves_no_file_open_even_where_it_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir/file-000002").symlink_to(tmp_path / "elsewhere")
    was_open = len(list(Path("/proc/self/fd").iterdir()))
    make_directory(tmp_path, DirectoryFixture("dir", 2), ME)
    with pytest.raises(OSError, match="symbolic links"):
        make_directory(tmp_path, DirectoryFixture("dir", 3), ME)
    assert len(list(Path("/proc/self/fd").iterdir())) == was_open
    assert not (tmp_path / "elsewhere").exists()


def _played_git(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> str:
    """Return how the making of a repository is refused where git does this."""
    (folder / "git").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    with pytest.raises(ConfigRefusedError) as raised:
        make_repository(folder, RepositoryFixture("repo.git", 1, 1), ME, _never)
    return str(raised.value)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        pytest.param("printf 'out of\\n order\\377' >&2; exit 3", "out of order\N{REPLACEMENT CHARACTER}", id="init"),
        pytest.param(
            "case $1 in -C) printf 'disk\\n full\\377' >&2; exit 1; esac",
            "disk full\N{REPLACEMENT CHARACTER}",
            id="import",
        ),
        pytest.param("case $1 in -C) exit 7; esac", "exit code 7", id="import, without a word"),
    ],
)
def test_what_git_complains_of_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, said: str) -> None:
    assert _played_git(tmp_path, monkeypatch, script) == f"fixture 'repo.git' cannot be made by git: {said}"


def test_a_machine_without_git_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigRefusedError, match="there is no git here: install git"):
        make_repository(tmp_path, RepositoryFixture("repo.git", 1, 1), ME, _never)


@pytest.mark.parametrize("path", ["away/file", "file"])
def test_a_symbolic_link_leads_nowhere_else(tmp_path: Path, path: str) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    home.mkdir()
    elsewhere.mkdir()
    (home / "away").symlink_to(elsewhere)
    (home / "file").symlink_to(elsewhere / "file")
    with pytest.raises(ConfigRefusedError):
        make_file(home, FileFixture(path, 10), ME, _never)
    assert list(elsewhere.iterdir()) == []


def test_a_directory_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
    make_file(tmp_path, FileFixture("thing", 10), ME, _never)
    with pytest.raises(ConfigRefusedError, match="not a folder"):
        make_directory(tmp_path, DirectoryFixture("thing", 10), ME)
