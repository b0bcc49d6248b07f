"""Private keys and certificates, which people bring in a Secret, as they are looked over before the start.

Input: the file. No passphrase is given: decrypting is the library's work, which the file makes as long as it likes.
Oracle: only GeneratorFaultError is raised, and its message has nothing of the file. Of a key that was read an agent's
identity can be made, and a certificate can be held against it.
"""

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sshload_worker.login.certificate import check_user_certificate
from sshload_worker.login.private_key import agent_identity, read_private_key
from sshload_worker.outcomes import GeneratorFaultError

_SHOWN_CHARACTERS = 70
_KINDS = (
    ("-t", "ed25519", "-N", "open sesame", "-a", "1"),
    ("-t", "ecdsa", "-N", ""),
    ("-t", "ecdsa", "-m", "PEM", "-N", ""),
    ("-t", "rsa", "-b", "1024", "-m", "PKCS8", "-N", ""),
    ("-t", "ed25519", "-N", ""),
)


def seeds() -> Iterator[bytes]:
    """Yield keys of each kind as ssh-keygen writes them, and a certificate."""
    with tempfile.TemporaryDirectory() as folder:
        for number, options in enumerate(_KINDS):
            key = Path(folder) / f"key{number}"
            _keygen(*options, "-C", "", "-f", str(key))
            yield key.read_bytes()
        _keygen("-s", str(key), "-I", "id", "-n", "load", f"{key}.pub")
        yield Path(f"{key}-cert.pub").read_bytes()


def _keygen(*arguments: str) -> None:
    subprocess.run(["ssh-keygen", "-q", *arguments], check=True, capture_output=True)


def check(data: bytes) -> None:
    """Read the file as a key and as a certificate."""
    public_blob = b""
    try:
        key = read_private_key(data, "", "the key")
        agent_identity(key)
        public_blob = key.public_blob
        assert key.public_line
    except GeneratorFaultError as error:
        _assert_nothing_told(str(error), data)
    try:
        check_user_certificate(data, public_blob, 1_800_000_000.0, "the certificate")
    except GeneratorFaultError as error:
        _assert_nothing_told(str(error), data)


def _assert_nothing_told(message: str, file: bytes) -> None:
    """Fail where a message has a line of the file that is long enough to be of a key."""
    for line in file.split(b"\n"):
        assert len(line) < _SHOWN_CHARACTERS or line.decode("ascii", "replace") not in message
