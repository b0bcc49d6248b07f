"""A real sshd whose user is not root, as a gateway's are: sshd signals no command of root.

Root adds the user to sshd's own copy of /etc. Anybody else logs in as oneself.

`ordinary_target` is a target whose sshd is an ordinary user's, as in a container of the restricted kind: for root, who
can become one. Terminals are mounted there as the runtime of containers mounts them: sshd ends a session whose terminal
is not of the group tty.
"""

import getpass
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from running_target import RunningTarget, TargetFolder, make_target_folder, started_target
from ssh_server import Keys, SshServer, make_keys, ssh_server
from sshload_contract.wire.target import DirectoryFixture, FileFixture, RepositoryFixture

UID = 10_001  # as in the target's image
NAME = "load"


def etc_with_user(folder: Path, home: Path) -> Path:
    """Return a copy of /etc in this folder, with a user NAME who lives in `home`. Only root can make it."""
    subprocess.run(["cp", "--archive", "/etc", folder / "etc"], check=True)
    with (folder / "etc/passwd").open("a") as users:
        users.write(f"{NAME}:*:{UID}:{UID}::{home}:/bin/sh\n")
    return folder / "etc"


_AS_ROOT = 'mount --bind "$0" /etc; exec "$@"'


@dataclass(frozen=True)
class Place:
    """A folder that every user can read, and keys in it."""

    folder: Path
    keys: Keys


@contextmanager
def readable_place() -> Iterator[Place]:
    """Give a folder with keys that are not below pytest's, which only its owner can read."""
    with TemporaryDirectory(prefix="sshload-gateway-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        home = folder / "home"
        home.mkdir()
        if getpass.getuser() == "root":
            os.chown(home, UID, UID)
            etc_with_user(folder, home)
        yield Place(folder, make_keys(folder))


@contextmanager
def account_server(place: Place, name: str, directives: str = "") -> Iterator[SshServer]:
    """Run sshd with these directives, its files in a folder of this name, until the block ends."""
    folder = place.folder / name
    folder.mkdir()
    is_root = getpass.getuser() == "root"
    within = ["unshare", "--mount", "sh", "-ec", _AS_ROOT, str(place.folder / "etc")] if is_root else []
    lines = f"{directives}\nLogLevel VERBOSE\nSubsystem sftp internal-sftp\nSetEnv HOME={place.folder / 'home'}"
    with ssh_server(folder, place.keys, lines, within=within) as server:
        yield replace(server, user=NAME) if is_root else server


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
