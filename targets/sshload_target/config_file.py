"""The configuration file that the operator gives to a program of the target's image."""

from pathlib import Path
from typing import TypeVar

from sshload_contract.bounds import ContractError
from sshload_contract.wire.codec import from_json

from sshload_target.errors import ConfigRefusedError

C = TypeVar("C")


def read_config_file(kind: type[C], file: Path) -> C:
    """Return the configuration in a file; raises ConfigRefusedError with the path of what is wrong in it."""
    try:
        return from_json(kind, file.read_text())
    except (OSError, ContractError) as error:
        raise ConfigRefusedError(f"{file}: {error}") from error
