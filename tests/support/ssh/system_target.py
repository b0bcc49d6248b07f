"""A real target as its distribution has it: root's sshd with PAM and accounts, in namespaces of its own."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from running_target import WITHIN_S, RunningTarget, TargetFolder, make_target_folder
from sshload_contract.population import Population, new_population_secret, read_population, user_home, user_name
from sshload_contract.wire.codec import to_json
from sshload_contract.wire.target import PamSwitches, TargetSystem

AS_IT_IS = PamSwitches(**dict.fromkeys((field.name for field in fields(PamSwitches)), None))
_SSHD_CONFIG = """AllowUsers user*
PasswordAuthentication yes
KbdInteractiveAuthentication yes
UsePAM yes
PrintMotd no
"""


@dataclass(frozen=True, slots=True)
class SystemFolder(TargetFolder):
    """Where such a target's files are."""

    def command(self) -> list[str]:
        """Return the target's command line."""
        return [*TargetFolder.command(self), "--own-namespaces"]


def make_system_folder(
    path: Path, users: int = 2, *, sshd_config: str = "", fixtures: Mapping[str, Any] | None = None, **system: Any
) -> SystemFolder:
    """Write keys, the secret of a population and a configuration for a target with its accounts.

    `fixtures` are fields of a TargetConfig, as `files`, and `system` further fields of a TargetSystem.
    """
    first = user_name(1)
    made = make_target_folder(path, "", user=first, **(fixtures or {}))
    (path / "keys" / "population").write_text(new_population_secret())
    (path / "keys").chmod(0o700)
    for file in (path / "keys").iterdir():
        file.chmod(0o600)
    config = replace(
        made.config,
        home=user_home(first),
        sshd_config=_SSHD_CONFIG + sshd_config,
        system=replace(TargetSystem(users=users, pam=AS_IT_IS, max_logins=None), **system),
    )
    made.config_path.write_text(to_json(config))
    return SystemFolder(path, config)


def population_of(folder: TargetFolder) -> Population:
    """Return the population of a target."""
    assert folder.config.system is not None
    return read_population((folder.path / "keys" / "population").read_text(), folder.config.system.users)


def run_as(
    target: RunningTarget,
    name: str,
    *command: str,
    key_of: str = "",
    options: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command as a user who logs in with the key that is derived for them, or for another user.

    What begins with a hyphen is an option of ssh, and so are `options`, which come first.
    """
    key = _key(target.folder, key_of or name)
    stated = [word for option in (f"User={name}", *options) for word in ("-o", option)]
    words = [word for word in command if not word.startswith("-")]
    asked = ["ssh", *stated, *(word for word in command if word.startswith("-")), *target.ssh_options(key)]
    return subprocess.run(
        [*asked, "127.0.0.1", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=WITHIN_S,
        env=environment,
    )


def _key(folder: TargetFolder, name: str) -> str:
    """Return the file with the derived key of a user, in the folder of the keys."""
    key = folder.path / "keys" / name
    if not key.exists():
        private = Ed25519PrivateKey.from_private_bytes(population_of(folder).key_seed(name))
        key.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
        key.chmod(0o600)
    return name
