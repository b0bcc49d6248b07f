"""Host keys: sshd wants them private (0600), and a mounted Secret is not."""

import os
from pathlib import Path

_NAMES = ("ssh_host_ed25519_key", "ssh_host_ecdsa_key")


def copy_host_keys(keys_dir: Path, into: Path) -> tuple[Path, ...]:
    """Copy the host keys into the folder `into`, readable by us only, and return their new paths."""
    return tuple(_copy(keys_dir / name, into / name) for name in _NAMES)


def _copy(source: Path, target: Path) -> Path:
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(source.read_bytes())
    return target
