"""Credentials that the configuration names: files in the shape of a request to store one, stored at the start."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pydantic import ValidationError
from sshload_contract.error_text import reason_of

from sshload_gateway.api.credentials import read_keys
from sshload_gateway.api.shapes import CredentialRequest
from sshload_gateway.config import ConfigError, GivenCredential
from sshload_gateway.ssh.destinations import Destinations
from sshload_gateway.store.credentials import Credentials, NewCredential

_LARGEST_BYTES: Final = 64 * 1024


def read_given(given: Sequence[GivenCredential], allowed: Destinations) -> tuple[NewCredential, ...]:
    """Return what the files hold; raises ConfigError with what is wrong, and without a word of a private key."""
    return tuple(_read(f"credentials.{number}.file: {one.file}", one, allowed) for number, one in enumerate(given))


def _read(place: str, given: GivenCredential, allowed: Destinations) -> NewCredential:
    try:
        asked = CredentialRequest.model_validate_json(_content(given.file))
    except OSError as error:
        raise ConfigError(f"{place}: {reason_of(error)}") from None
    except ValidationError as error:
        fault = error.errors(include_input=False, include_context=False)[0]
        where = ".".join(map(str, fault["loc"])) or "the file"
        raise ConfigError(f"{place}: {where}: {fault['msg']}") from None
    refusal = allowed.refusal(asked.host, asked.port)
    if refusal:
        raise ConfigError(f"{place}: {refusal}")
    keys = read_keys(asked)
    if keys.faults:
        within, problem = keys.faults[0]
        raise ConfigError(f"{place}: {'.'.join(map(str, within))}: {problem}")
    return NewCredential(
        given.owner,
        asked.name,
        asked.host,
        asked.port,
        asked.user,
        keys.host_keys,
        keys.login.public,
        keys.login.private,
    )


def _content(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_LARGEST_BYTES)


async def store_given(given: Sequence[NewCredential], credentials: Credentials) -> None:
    """Store them. One that is stored as it is keeps its version; raises DatabaseUnavailableError.

    Raises TooManyCredentialsError if an owner would have more than one may.
    """
    for one in given:
        stored = await credentials.find(one.owner, one.name)
        if stored is None or not stored.is_like(one):
            await credentials.put(one)
