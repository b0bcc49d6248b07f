"""The key revocation list (KRL) of a target, which ssh-keygen(1) makes: keys of users, and keys that nobody has."""

import hashlib
import shutil
import subprocess
from base64 import b64encode
from collections.abc import Iterator, Sequence
from pathlib import Path

from sshload_target.errors import ConfigRefusedError

_MAKE_TIMEOUT_S = 120


def make_revocation_list(keys: Sequence[str], others: int, folder: Path) -> Path:
    """Make the list of public `keys` and so many others, and return its path.

    Raises ConfigRefusedError if ssh-keygen does not make it.
    """
    wanted, path = folder / "revoked_keys.txt", folder / "revoked_keys"
    wanted.write_text("".join(f"{line}\n" for line in _specification(keys, others)))
    program = shutil.which("ssh-keygen")
    if program is None:
        raise ConfigRefusedError("ssh-keygen, which makes the list of revoked keys, is not installed: openssh-client")
    done = subprocess.run(  # noqa: S603 -- the program is the installer's choice, the arguments are ours
        [program, "-q", "-k", "-f", str(path), str(wanted)],
        capture_output=True,
        text=True,
        check=False,
        timeout=_MAKE_TIMEOUT_S,
    )
    wanted.unlink()
    if done.returncode != 0:
        raise ConfigRefusedError(f"ssh-keygen cannot make the list of revoked keys: {' '.join(done.stderr.split())}")
    return path


def _specification(keys: Sequence[str], others: int) -> Iterator[str]:
    """Yield the lines that ssh-keygen reads (KEY REVOCATION LISTS in its manual)."""
    yield from (f"key: {key}" for key in keys)
    for number in range(others):
        digest = hashlib.sha256(b"nobody %d" % number).digest()
        yield f"hash: SHA256:{b64encode(digest).decode().rstrip('=')}"
