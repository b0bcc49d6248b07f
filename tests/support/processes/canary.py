"""Canaries: credentials that nothing else looks like, and the one search for them, in whatever form they appear.

A text is looked for as it is, in base64 (wherever in a longer text it began) and in hexadecimal; a private key as the
bytes that are its secret, in the same forms and as Python prints bytes, and by the marks of a private key's file.
"""

import base64
import secrets
import stat
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_ssh_private_key

KEY_MARKS = (b"PRIVATE KEY-----", base64.b64encode(b"openssh-key-v1\0").rstrip(b"=")[:-1])
_BASE64_GROUP = 3
_LINE = 70
_PUBLIC = 3
"""So many lines of a key's file, its first included, say what every such file says, and the public key."""

_LARGEST_FILE_BYTES = 20_000_000


@dataclass(frozen=True, slots=True)
class Canary:
    """Secret bytes by the name of the credential that they are of, as `password` or `private key`."""

    planted: Mapping[str, bytes]

    def found_in(self, place: str, content: bytes | str) -> list[str]:
        """Return a sentence for each credential that stands in the content of a place, with the form that it has."""
        data = content.encode() if isinstance(content, str) else content
        joined = b"".join(data.split())  # base64 in lines
        seen = {
            name: next((form for form, text in _forms(secret) if text in data or text in joined), "")
            for name, secret in self.planted.items()
        }
        return [f"{place} has the {name} as {form}" for name, form in seen.items() if form]

    def found_by_others(self, folders: Iterable[Path]) -> list[str]:
        """Return a sentence for each file below the folders that has a credential and that another user could read.

        Folders above those that are given count as open to everybody.
        """
        return [
            sentence
            for folder in folders
            for path in _open_files(folder)
            for sentence in self.found_in(f"{path}, which others may read,", _content(path))
        ]


def new_text() -> str:
    """Return a password or passphrase that is like no other text."""
    return f"canary-{secrets.token_hex(16)}"


def new_key(path: Path, passphrase: str = "") -> Mapping[str, bytes]:
    """Make a private key for ssh at a path, and return what is secret of it."""
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", "", "-f", str(path)]
    subprocess.run(command, check=True)
    return secrets_of_key(path.read_bytes(), passphrase)


def secrets_of_key(data: bytes, passphrase: str = "") -> Mapping[str, bytes]:
    """Return what is secret of a file with an Ed25519 key in OpenSSH's format: the key, and the lines that it is in."""
    key = load_ssh_private_key(data, passphrase.encode() or None)
    assert isinstance(key, Ed25519PrivateKey)
    lines = enumerate(data.splitlines(), start=1)
    whole = {f"private key's line {number}": line for number, line in lines if len(line) == _LINE and number > _PUBLIC}
    return {"private key": key.private_bytes_raw(), **whole}


def _forms(secret: bytes) -> Iterator[tuple[str, bytes]]:
    yield "it is", secret
    yield "hexadecimal", secret.hex().encode()
    yield "hexadecimal in capitals", secret.hex().upper().encode()
    yield "Python prints it", repr(secret)[2:-1].encode()
    for before in range(_BASE64_GROUP):
        # The first group has bits of what stands before the secret, the last one of what stands behind it.
        whole = base64.b64encode(b"\0" * before + secret)
        last = -4 if (before + len(secret)) % _BASE64_GROUP else None
        inside = whole[4 if before else 0 : last]
        yield f"base64 behind {before} others", inside
        yield f"base64 for URLs behind {before} others", inside.translate(bytes.maketrans(b"+/", b"-_"))


def _open_files(path: Path) -> Iterator[Path]:
    """Yield the files at and below a path that others may read, and through whose folders they may pass."""
    mode = _mode(path)
    if stat.S_ISDIR(mode) and mode & (stat.S_IXGRP | stat.S_IXOTH):
        for inner in list(path.iterdir()):
            yield from _open_files(inner)
    elif stat.S_ISREG(mode) and mode & (stat.S_IRGRP | stat.S_IROTH):
        yield path


def _mode(path: Path) -> int:
    try:
        return path.lstat().st_mode
    except FileNotFoundError:  # it has gone while it was looked at
        return 0


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST_FILE_BYTES)
    except (FileNotFoundError, PermissionError):
        return b""
