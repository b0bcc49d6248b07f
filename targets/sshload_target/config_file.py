"""The configuration file that the operator gives to a program of the target's image, with a version of its own."""

from pathlib import Path
from typing import Protocol, TypeVar

from sshload_contract.wire.bounds import ContractError
from sshload_contract.wire.codec import from_json

from sshload_target.errors import ConfigRefusedError


class _Versioned(Protocol):
    @property
    def version(self) -> int: ...


C = TypeVar("C", bound=_Versioned)


def read_config_file(kind: type[C], file: Path, version: int) -> C:
    """Return the configuration in a file; raises ConfigRefusedError with the path of what is wrong in it."""
    try:
        config = from_json(kind, file.read_text())
    except (OSError, ContractError) as error:
        raise ConfigRefusedError(f"{file}: {error}") from error
    if config.version != version:
        raise ConfigRefusedError(f"{file}: version {config.version}, expected {version}")
    return config
