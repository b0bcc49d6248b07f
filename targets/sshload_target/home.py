"""The user's home: its mode, and the key that may log in."""

import os
import pwd
from pathlib import Path

from sshload_target.errors import ConfigRefusedError

_MARK = "# made by sshload: the only key that may log in"


def find_user(name: str) -> pwd.struct_passwd:
    """Return the user's entry; raises ConfigRefusedError where there is none, or where sshd could not become it."""
    try:
        user = pwd.getpwnam(name)
    except KeyError:
        raise ConfigRefusedError(f"user {name!r} is not in the user database of this container") from None
    if os.geteuid() not in (0, user.pw_uid):
        raise ConfigRefusedError(
            f"sshd runs as uid {os.geteuid()} and cannot log in {name!r} (uid {user.pw_uid}): run it as that user"
        )
    return user


def owner_of_files(user: pwd.struct_passwd) -> tuple[int, int]:
    """Return the uid and gid to give files to. Who is not root keeps the group that the process has."""
    return user.pw_uid, user.pw_gid if os.geteuid() == 0 else -1


def make_home(home: Path, public_key: Path, owner: tuple[int, int]) -> Path:
    """Make `home` (0700) and the authorized_keys in it, which is returned.

    Raises ConfigRefusedError where that would overwrite keys that somebody else put there.
    """
    if not home.is_absolute() or home == Path("/"):
        raise ConfigRefusedError(f"home {str(home)!r} has to be an absolute path below /")
    authorized_keys = home / ".ssh" / "authorized_keys"
    if authorized_keys.exists() and not authorized_keys.read_text().startswith(_MARK):
        raise ConfigRefusedError(f"{authorized_keys} exists and was not made by sshload: it is left alone")
    key = public_key.read_text().strip()
    for folder in (home, authorized_keys.parent):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.chown(folder, *owner)
        folder.chmod(0o700)
    authorized_keys.write_text(f"{_MARK}\n{key}\n")
    authorized_keys.chmod(0o600)
    os.chown(authorized_keys, *owner)
    return authorized_keys
