"""What has to be there before sshd starts: keys, home, fixtures, and a configuration that sshd takes."""

import pwd
from pathlib import Path

from sshload_contract.codec import from_json
from sshload_contract.errors import ContractError
from sshload_contract.target_config import (
    TARGET_CONFIG_VERSION,
    DirectoryFixture,
    FileFixture,
    RepositoryFixture,
    TargetConfig,
)

from sshload_target.errors import ConfigRefusedError
from sshload_target.fixtures import make_directory, make_file, refuse_escapes
from sshload_target.home import find_user, make_home, owner_of_files
from sshload_target.host_keys import copy_host_keys
from sshload_target.repository import make_repository
from sshload_target.sshd import read_effective_config
from sshload_target.sshd_config import OwnLines, objection, render
from sshload_target.stop_signals import stop_is_pending


def read_config(file: Path) -> TargetConfig:
    """Return the configuration in a file; raises ConfigRefusedError with the path of what is wrong in it."""
    try:
        config = from_json(TargetConfig, file.read_text())
    except (OSError, ContractError) as error:
        raise ConfigRefusedError(f"{file}: {error}") from error
    if config.version != TARGET_CONFIG_VERSION:
        raise ConfigRefusedError(f"{file}: version {config.version}, expected {TARGET_CONFIG_VERSION}")
    fixtures: tuple[FileFixture | DirectoryFixture | RepositoryFixture, ...]
    fixtures = (*config.files, *config.directories, *config.repositories)
    for fixture in fixtures:
        refuse_escapes(fixture.path)
    return config


def prepare(config: TargetConfig, private_dir: Path, sshd: Path, listen_address: str) -> Path:
    """Make all that sshd needs and return the path of its configuration file.

    Host keys and configuration go to `private_dir`, the rest to the user's home. The configuration is checked before
    the fixtures are made. Raises ConfigRefusedError, and InterruptedTargetError where a stop signal is pending.
    """
    user = find_user(config.user)
    owner = owner_of_files(user)
    home, keys_dir = Path(config.home), Path(config.keys_dir)
    try:
        host_keys = copy_host_keys(keys_dir, private_dir)
        authorized_keys = make_home(home, keys_dir / "id_ed25519.pub", owner)
    except OSError as error:
        raise ConfigRefusedError(f"keys and home cannot be made ready: {error}") from error
    own = OwnLines(
        port=config.sshd_port,
        listen_address=listen_address,
        host_keys=host_keys,
        authorized_keys=authorized_keys,
        user_ca=_user_ca(keys_dir),
        check_modes=_is_home_of(user, home),
    )
    sshd_config = _write_sshd_config(config.sshd_config, own, private_dir)
    refusal = objection(read_effective_config(sshd, sshd_config), config.sshd_port)
    if refusal:
        raise ConfigRefusedError(refusal)
    for file in config.files:
        make_file(home, file, owner, stop_is_pending)
    for directory in config.directories:
        make_directory(home, directory, owner)
    for repository in config.repositories:
        make_repository(home, repository, owner, stop_is_pending)
    return sshd_config


def _user_ca(keys_dir: Path) -> Path | None:
    user_ca = keys_dir / "user_ca.pub"
    return user_ca if user_ca.exists() else None


def _write_sshd_config(text: str, own: OwnLines, private_dir: Path) -> Path:
    given = private_dir / "sshd_config"
    given.write_text(text)
    path = private_dir / "sshd_config_of_target"
    path.write_text(render(own, given))
    return path


def _is_home_of(user: pwd.struct_passwd, home: Path) -> bool:
    """Whether StrictModes can be kept: it stops looking at folders at the home that the user database states."""
    return home.resolve().is_relative_to(Path(user.pw_dir).resolve())
