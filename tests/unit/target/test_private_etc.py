"""Accounts are written only into an /etc that was made for that, and is no machine's."""

import shutil
from pathlib import Path

import pytest
from sshload_target.errors import ConfigRefusedError
from sshload_target.system import private_etc
from sshload_target.system.private_etc import copy_etc, refuse_unless_private

SHADOW = "root:$y$j9T$hash:1::::::\ndaemon:!:1::::::\n"


@pytest.fixture
def etc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of an /etc of a test's own."""
    original = tmp_path / "original"
    original.mkdir()
    (original / "shadow").write_text(SHADOW)
    (original / "shadow").chmod(0o640)
    (original / "shadow-").write_text(SHADOW)
    (original / "hosts").write_text("127.0.0.1 localhost\n")
    monkeypatch.setattr(private_etc, "ETC", original)
    copy = tmp_path / "etc"
    copy.mkdir()
    copy_etc(copy)
    return copy


def mounts(folder: Path, *places: Path) -> Path:
    """Return a mountinfo with mounts at these places."""
    file = folder / "mountinfo"
    file.write_text("".join(f"36 35 0:32 / {place} rw shared:1 - tmpfs tmpfs rw\n" for place in places))
    return file


def test_a_marked_copy_that_is_mounted_is_private(etc: Path, tmp_path: Path) -> None:
    refuse_unless_private(etc, mounts(tmp_path, Path("/"), etc))


def test_a_marked_copy_that_is_no_mount_is_refused(etc: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigRefusedError, match="not a private one"):
        refuse_unless_private(etc, mounts(tmp_path, Path("/"), etc / "sshload"))


def test_a_mount_without_a_mark_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigRefusedError, match="not a private one"):
        refuse_unless_private(tmp_path, mounts(tmp_path, tmp_path))


def test_a_mark_that_was_copied_with_its_folder_is_refused(etc: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "backup"
    shutil.copytree(etc, elsewhere)
    with pytest.raises(ConfigRefusedError, match="not a private one"):
        refuse_unless_private(elsewhere, mounts(tmp_path, elsewhere))


def test_this_machines_own_etc_is_refused() -> None:
    with pytest.raises(ConfigRefusedError, match="not a private one"):
        refuse_unless_private()


def test_the_copy_has_the_files_and_modes_and_no_password(etc: Path) -> None:
    assert (etc / "hosts").read_text() == "127.0.0.1 localhost\n"
    assert (etc / "shadow").read_text() == "root:*:1::::::\ndaemon:*:1::::::\n"
    assert (etc / "shadow").stat().st_mode & 0o777 == 0o640
    assert not (etc / "shadow-").exists()
