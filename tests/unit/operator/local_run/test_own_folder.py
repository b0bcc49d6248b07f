"""The keys of a run that was killed do not stay for ever, and those of a run that goes on are left alone."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sshload_operator.local.own_folder import own_folder

PROGRAM = """
import sys
from pathlib import Path
from sshload_operator.local.own_folder import own_folder
with own_folder(Path(sys.argv[1])) as folder:
    (folder / "keys").mkdir()
    (folder / "keys" / "id_ed25519").write_text("a key")
    print(folder, flush=True)
    sys.stdin.read()
"""


@contextmanager
def another_run(above: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A run of another process, with a key in its folder."""
    command = [sys.executable, "-c", PROGRAM, str(above)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        yield run, Path(run.stdout.readline().strip())


def test_what_a_killed_run_left_is_removed_by_the_next(tmp_path: Path) -> None:
    with another_run(tmp_path) as (run, left):
        run.send_signal(signal.SIGKILL)
    assert (left / "keys/id_ed25519").exists()
    with own_folder(tmp_path) as own:
        assert list(tmp_path.iterdir()) == [own]
    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_a_run_that_goes_on_stays(tmp_path: Path) -> None:
    with another_run(tmp_path) as (_, others), own_folder(tmp_path) as own:
        assert (others / "keys/id_ed25519").exists()
        assert own != others
    assert list(tmp_path.iterdir()) == []


@pytest.mark.root
def test_what_others_made_under_such_a_name_stays(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    of_another = tmp_path / "sshload-run-of-another"
    for folder in (kept, of_another):
        folder.mkdir()
        (folder / "file").touch()
    os.chown(of_another, 12_345, 12_345)
    (tmp_path / "sshload-run-link").symlink_to(kept)
    with own_folder(tmp_path):
        pass
    assert (kept / "file").exists()
    assert (of_another / "file").exists()
