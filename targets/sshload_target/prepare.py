"""Preparation before sshd starts: keys, home, fixtures, and a configuration that sshd accepts."""

import os
import pwd
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sshload_contract.population import user_home, user_name
from sshload_contract.wire.target import (
    DirectoryFixture,
    FileFixture,
    RepositoryFixture,
    TargetConfig,
    TargetSystem,
)

from sshload_target.config_file import read_config_file
from sshload_target.errors import ConfigRefusedError
from sshload_target.fixtures import make_directory, make_file, make_repository, refuse_escapes
from sshload_target.pid1 import stop_is_pending
from sshload_target.sshd.program import OwnSettings, check_measurable, read_effective_config, render_sshd_config
from sshload_target.sshd.revocation import make_revocation_list
from sshload_target.system.shared_fixtures import link_from_homes, make_shared_folder

if TYPE_CHECKING:
    from sshload_target.system.make import MadeSystem

_AUTHORIZED_KEYS_HEADER = "# made by sshload: the only key that may log in"
_ROOT = (0, 0)
_HOST_KEY_FILES = ("ssh_host_ed25519_key", "ssh_host_ecdsa_key")


def read_config(file: Path) -> TargetConfig:
    """Return the configuration in a file; raises ConfigRefusedError with the path of what is wrong in it."""
    config = read_config_file(TargetConfig, file)
    fixtures: tuple[FileFixture | DirectoryFixture | RepositoryFixture, ...]
    fixtures = (*config.files, *config.directories, *config.repositories)
    for fixture in fixtures:
        refuse_escapes(fixture.path)
    return config


class Prepared(NamedTuple):
    """What sshd is started with: the path of its configuration file, and what it makes of that (`sshd -T`).

    `system` is what was made for a target that has one.
    """

    sshd_config: Path
    effective: str
    system: "MadeSystem | None"


def prepare(config: TargetConfig, private_dir: Path, sshd: Path, listen_address: str) -> Prepared:
    """Make all that sshd needs, and return what it is started with.

    Host keys and configuration go to `private_dir`, the rest to the user's home. The configuration is checked before
    the fixtures are made. Raises ConfigRefusedError, and InterruptedTargetError where a stop signal is pending.
    """
    home, keys_dir = Path(config.home), Path(config.keys_dir)
    system = _make_system(config.system, keys_dir)
    owner, check_modes = _owner(config.user, home) if system is None else (_ids_of_first(system), True)
    try:
        host_keys = _copy_host_keys(keys_dir, private_dir)
        host_certificates = tuple(filter(Path.exists, (keys_dir / f"{name}-cert.pub" for name in _HOST_KEY_FILES)))
        authorized_keys = None if config.system else _make_home(home, keys_dir / "id_ed25519.pub", owner)
    except OSError as error:
        raise ConfigRefusedError(f"keys and home cannot be made ready: {error}") from error
    own = OwnSettings(
        port=config.sshd_port,
        listen_address=listen_address,
        host_keys=host_keys,
        host_certificates=host_certificates,
        authorized_keys=authorized_keys,
        user_ca=_user_ca(keys_dir),
        revoked_keys=_revocation_list(config, private_dir),
        check_modes=check_modes,
    )
    sshd_config = _write_sshd_config(config.sshd_config, own, private_dir)
    effective = read_effective_config(sshd, sshd_config)
    refusal = check_measurable(effective, config.sshd_port)
    if refusal:
        raise ConfigRefusedError(refusal)
    if system is None or len(system.accounts) == 1:
        _make_fixtures(config, home, owner)
    else:
        _make_fixtures(config, make_shared_folder(), _ROOT)
        link_from_homes(system.accounts)
    return Prepared(sshd_config, effective, system)


def _make_fixtures(config: TargetConfig, folder: Path, owner: tuple[int, int]) -> None:
    for file in config.files:
        make_file(folder, file, owner, stop_is_pending)
    for directory in config.directories:
        make_directory(folder, directory, owner)
    for repository in config.repositories:
        make_repository(folder, repository, owner, stop_is_pending)


def _make_system(system: TargetSystem | None, keys_dir: Path) -> "MadeSystem | None":
    if system is None:
        return None
    from sshload_target.system.make import make_system  # noqa: PLC0415 - other targets need no cryptography

    return make_system(system, keys_dir)


def _ids_of_first(system: "MadeSystem") -> tuple[int, int]:
    """Return the ids to give files to. Who answers for accounts may not run yet."""
    number = system.accounts[0].number
    return number, number


def _revocation_list(config: TargetConfig, private_dir: Path) -> Path | None:
    """Make the list of revoked keys, if there is one: those that let its users in. Raises ConfigRefusedError."""
    revoked = config.revoked_keys
    if revoked is None:
        return None
    users = 1 if config.system is None else config.system.users
    homes = (config.home if config.system is None else user_home(user_name(number)) for number in revoked.of(users))
    try:
        texts = [_authorized_keys(Path(home)).read_text() for home in homes]
    except OSError as error:
        raise ConfigRefusedError(f"the keys to revoke cannot be read: {error}") from error
    keys = [line for text in texts for line in text.splitlines() if line and not line.startswith("#")]
    return make_revocation_list(keys, revoked.others, private_dir)


def _authorized_keys(home: Path) -> Path:
    return home / ".ssh" / "authorized_keys"


def _user_ca(keys_dir: Path) -> Path | None:
    user_ca = keys_dir / "user_ca.pub"
    return user_ca if user_ca.exists() else None


def _write_sshd_config(text: str, own: OwnSettings, private_dir: Path) -> Path:
    given = private_dir / "sshd_config"
    given.write_text(text)
    path = private_dir / "sshd_config_of_target"
    path.write_text(render_sshd_config(own, given))
    return path


def _is_home_of(user: pwd.struct_passwd, home: Path) -> bool:
    """Whether StrictModes can be kept: it stops looking at folders at the home that the user database states."""
    return home.resolve().is_relative_to(Path(user.pw_dir).resolve())


def _find_user(name: str) -> pwd.struct_passwd:
    """Return the user's entry; raises ConfigRefusedError if there is none, or if sshd could not become it."""
    try:
        user = pwd.getpwnam(name)
    except KeyError:
        raise ConfigRefusedError(f"user {name!r} is not in the user database of this container") from None
    if os.geteuid() not in (0, user.pw_uid):
        raise ConfigRefusedError(
            f"sshd runs as uid {os.geteuid()} and cannot log in {name!r} (uid {user.pw_uid}): run it as that user"
        )
    return user


def _owner(name: str, home: Path) -> tuple[tuple[int, int], bool]:
    """Return the uid and gid to give a user's files to, and whether StrictModes can be kept.

    Who is not root keeps the group that the process has.
    """
    user = _find_user(name)
    return (user.pw_uid, user.pw_gid if os.geteuid() == 0 else -1), _is_home_of(user, home)


def _make_home(home: Path, public_key: Path, owner: tuple[int, int]) -> Path:
    """Make `home` (0700) and the authorized_keys in it, which is returned.

    Raises ConfigRefusedError if that would overwrite keys that somebody else put there.
    """
    if not home.is_absolute() or home == Path("/"):
        raise ConfigRefusedError(f"home {str(home)!r} has to be an absolute path below /")
    authorized_keys = _authorized_keys(home)
    if authorized_keys.exists() and not authorized_keys.read_text().startswith(_AUTHORIZED_KEYS_HEADER):
        raise ConfigRefusedError(f"{authorized_keys} exists and was not made by sshload: it is left alone")
    key = public_key.read_text().strip()
    for folder in (home, authorized_keys.parent):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.chown(folder, *owner)
        folder.chmod(0o700)
    authorized_keys.write_text(f"{_AUTHORIZED_KEYS_HEADER}\n{key}\n")
    authorized_keys.chmod(0o600)
    os.chown(authorized_keys, *owner)
    return authorized_keys


def _copy_host_keys(keys_dir: Path, into: Path) -> tuple[Path, ...]:
    """Copy the host keys into the folder `into`, readable by us only, and return their new paths."""
    return tuple(_copy_host_key(keys_dir / name, into / name) for name in _HOST_KEY_FILES)


def _copy_host_key(source: Path, target: Path) -> Path:
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(source.read_bytes())
    return target
