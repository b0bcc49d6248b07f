"""Fixtures of several users: made once, in a folder that all may read and nobody change, with links in each home."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sshload_target.errors import ConfigRefusedError
from sshload_target.system.accounts import Account
from sshload_target.system.private_etc import ETC

_FOLDER: Final = Path("/home/.fixtures")
_GIT: Final = ETC / "gitconfig"
_ANY_OWNER: Final = "[safe]\n\tdirectory = *\n"
"""git-config(1): git reads a repository of another user only where that is said."""


def make_shared_folder() -> Path:
    """Return the folder for them, which is root's and empty; raises ConfigRefusedError."""
    try:
        _FOLDER.mkdir(mode=0o755)
        with _GIT.open("a", encoding="utf-8") as file:
            file.write(_ANY_OWNER)
    except OSError as error:
        raise ConfigRefusedError(f"fixtures cannot be made ready: {error}") from error
    return _FOLDER


def link_from_homes(accounts: Sequence[Account]) -> None:
    """Link each home to each of them; raises ConfigRefusedError."""
    try:
        for fixture in sorted(_FOLDER.iterdir()):
            for account in accounts:
                (account.home / fixture.name).symlink_to(fixture)
    except OSError as error:
        raise ConfigRefusedError(f"fixtures cannot be made ready: {error}") from error
