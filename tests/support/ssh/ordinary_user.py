"""A target whose sshd is an ordinary user's, as in a container of the restricted kind: for root, who can become one.

The user is in the target's own copy of /etc. Terminals are mounted as the runtime of containers mounts them: sshd ends
a session whose terminal is not of the group tty.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from own_users import NAME, UID, etc_with_user
from running_target import RunningTarget, TargetFolder, make_target_folder, started_target
from sshload_contract.wire.target import DirectoryFixture, FileFixture, RepositoryFixture


@contextmanager
def ordinary_target(
    path: Path, sshd_config: str, **fixtures: tuple[FileFixture | DirectoryFixture | RepositoryFixture, ...]
) -> Iterator[RunningTarget]:
    """Run a target with this sshd_config and these fixtures, its files in `path`."""
    folder = make_target_folder(path, sshd_config, user=NAME, **fixtures)
    for place in (path, *path.rglob("*")):
        os.chown(place, UID, UID)
    with (
        TemporaryDirectory() as own,
        started_target(folder, _command(folder, etc_with_user(Path(own), path / "home"))) as target,
    ):
        target.wait_until_ready()
        assert Path(f"/proc/{target.process.pid}").stat().st_uid == UID
        yield target


def _command(folder: TargetFolder, etc: Path) -> list[str]:
    """Return what starts the target as the user, who may not be able to read this interpreter's files."""
    mounts = [
        f"mount --bind {etc} /etc",
        "mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=tty devpts /dev/pts",
        "mount --bind /dev/pts/ptmx /dev/ptmx",
    ]
    namespace = ["unshare", "--mount", "sh", "-ec", "; ".join([*mounts, 'exec "$@"']), "sh"]
    become = f"os.setgroups([]); os.setgid({UID}); os.setuid({UID})"
    program = f"import os, random, sys; from sshload_target.__main__ import main; {become}; sys.exit(main())"
    return [*namespace, sys.executable, "-c", program, *folder.command()[3:]]
