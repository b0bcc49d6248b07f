"""Fixtures are as they were asked for, and stay in the home."""

import os
import zlib
from pathlib import Path

import pytest
from sshload_contract.wire.target import DirectoryFixture, FileFixture
from sshload_target.errors import ConfigRefusedError, InterruptedTargetError
from sshload_target.fixtures import make_directory, make_file, refuse_escapes

ME = (os.getuid(), os.getgid())


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
