"""Keys that ssh-keygen makes, each one once per process: to find one of RSA takes most of a second."""

import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

_SIZE = {"rsa": ("-b", "2048")}


def write_key(path: Path, kind: str = "ed25519", *options: str) -> Path:
    """Write a key without passphrase, and its public half beside it; another name has another key. Return the path.

    `options` are ssh-keygen's beside the type.
    """
    private, public = _made(path.name, kind, options)
    path.write_bytes(private)
    path.chmod(0o600)
    path.with_suffix(".pub").write_bytes(public)
    return path


@cache
def _made(_name: str, kind: str, options: tuple[str, ...]) -> tuple[bytes, bytes]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "key"
        command = ["ssh-keygen", "-q", "-t", kind, *_SIZE.get(kind, ()), *options, "-N", "", "-f", path]
        subprocess.run(command, check=True)
        return path.read_bytes(), path.with_suffix(".pub").read_bytes()
