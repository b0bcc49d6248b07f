"""The homes of accounts: each of its user alone, with the start-up files of /etc/skel and the key that lets them in.

A start-up file is one file with many names (link(2)): 100,000 homes need it once.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from sshload_target.system.accounts import Account

_SKELETON: Final = Path("/etc/skel")
_SHARED: Final = Path("/home/.skel")
_MOST_NAMES: Final = 50_000
"""Of one file: ext4 has 65,000."""
_PRIVATE: Final = 0o700
_KEY_MODE: Final = 0o600


def make_homes(accounts: Sequence[Account], keys_of: Callable[[Account], Sequence[str]]) -> None:
    """Make the homes, each with the public keys that let its user in, if there are any. Raises OSError."""
    start_files: Sequence[Path] = ()
    _SHARED.mkdir(mode=_PRIVATE)
    for place, account in enumerate(accounts):
        if place % _MOST_NAMES == 0:
            start_files = _shared_start_files(_SHARED / str(place))
        _make_home(account, start_files, "".join(f"{key}\n" for key in keys_of(account)))


def public_key(seed: bytes) -> str:
    """Return the public key of an Ed25519 key, as a line of authorized_keys."""
    return (
        Ed25519PrivateKey.from_private_bytes(seed)
        .public_key()
        .public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
        .decode()
    )


def _shared_start_files(folder: Path) -> tuple[Path, ...]:
    folder.mkdir()
    for source in _SKELETON.iterdir() if _SKELETON.is_dir() else ():
        if source.is_file():
            (folder / source.name).write_bytes(source.read_bytes())
            (folder / source.name).chmod(0o644)
    return tuple(folder.iterdir())


def _make_home(account: Account, start_files: Sequence[Path], keys: str) -> None:
    """Make one by its folders' names and few calls: there may be 100,000."""
    home, folder = str(account.home), f"{account.home}/.ssh"
    os.mkdir(home, _PRIVATE)  # noqa: PTH102 - see above
    for start_file in start_files:
        os.link(start_file, f"{home}/{start_file.name}")
    if keys:
        os.mkdir(folder, _PRIVATE)  # noqa: PTH102 - likewise
        file = os.open(f"{folder}/authorized_keys", os.O_WRONLY | os.O_CREAT | os.O_EXCL, _KEY_MODE)
        os.write(file, keys.encode())
        os.fchown(file, account.number, account.number)
        os.close(file)
        os.chown(folder, account.number, account.number)
    os.chown(home, account.number, account.number)
