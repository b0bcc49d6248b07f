"""A real sshd whose user is not root, as a gateway's are: sshd signals no command of root.

Root adds the user to sshd's own copy of /etc. Anybody else logs in as oneself.
"""

import getpass
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from own_users import NAME, UID, etc_with_user
from ssh_server import Keys, SshServer, make_keys, ssh_server

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
