"""name_own_user: the entry that a process makes for itself under a uid that the image does not know."""

import os
from pathlib import Path

from sshload_contract.image_user import name_own_user


def test_in_an_image_the_process_becomes_the_images_user(tmp_path: Path) -> None:
    file = tmp_path / "passwd"
    file.symlink_to(tmp_path / "written")
    name_own_user(file)
    name, password, uid, group, _, home, shell = (tmp_path / "written").read_text().rstrip().split(":")
    assert (name, password, int(uid), home, shell) == ("load", "*", os.getuid(), "/home/load", "/bin/bash")
    assert int(group) == 100


def test_elsewhere_nothing_is_written(tmp_path: Path) -> None:
    file = tmp_path / "passwd"
    name_own_user(file)
    assert not file.exists()
