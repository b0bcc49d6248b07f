"""Routes of credentials."""

import asyncio
from dataclasses import dataclass
from typing import Final

from fastapi import APIRouter, Path, Request, Response
from fastapi.exceptions import RequestValidationError

from sshload_gateway.api.callers import TOKEN, Caller
from sshload_gateway.api.problems import NotAllowedError, documented
from sshload_gateway.api.shapes import NAME_PATTERN, PREFIX, CredentialRequest, StoredCredential, StoredCredentials, at
from sshload_gateway.api.state import Gateway
from sshload_gateway.sessions import NoSuchCredentialError
from sshload_gateway.ssh.keys import KeyPair, read_host_key, read_private_key
from sshload_gateway.store.credentials import Credential, NewCredential

ROUTES: Final = APIRouter(prefix=PREFIX, dependencies=[TOKEN], tags=["credentials"])


@ROUTES.post(
    "/credentials",
    status_code=201,
    responses={200: {"description": "Replaced", "model": StoredCredential}, **documented(403, 409, 413, 422)},
    summary="Store a credential, or replace one",
    operation_id="storeCredential",
)
async def store(body: CredentialRequest, request: Request, response: Response, caller: Caller) -> StoredCredential:
    """Store a login under a name. One that exists is replaced: commands that run go on, later ones use the new one.

    201 means that it is new, 200 that it was replaced.
    """
    gateway = Gateway.of(request)
    refusal = gateway.destinations.refusal(body.host, body.port)
    if refusal:
        raise NotAllowedError(refusal)
    keys = await asyncio.to_thread(read_keys, body)
    if keys.faults:
        raise RequestValidationError(
            [{"loc": ("body", *place), "msg": fault, "type": "value_error"} for place, fault in keys.faults]
        )
    login = keys.login
    stored = await gateway.sessions.credentials.put(
        NewCredential(caller, body.name, body.host, body.port, body.user, keys.host_keys, login.public, login.private)
    )
    if stored.version > 1:
        response.status_code = 200
        gateway.pool.supersede(stored.id, before_version=stored.version)
    return _shown(stored)


@ROUTES.get("/credentials", responses=documented(), summary="List your credentials", operation_id="listCredentials")
async def show(request: Request, caller: Caller) -> StoredCredentials:
    """List the caller's credentials by name, without private keys."""
    stored = await Gateway.of(request).sessions.credentials.of_owner(caller)
    return StoredCredentials(credentials=[_shown(one) for one in stored])


@ROUTES.delete(
    "/credentials/{credential}",
    status_code=204,
    responses=documented(404, 422),
    summary="Delete a credential",
    operation_id="deleteCredential",
)
async def delete(request: Request, caller: Caller, credential: str = Path(pattern=NAME_PATTERN)) -> None:
    """Delete a credential. Commands that run with it go on; its connections end with them."""
    gateway = Gateway.of(request)
    deleted = await gateway.sessions.credentials.delete(caller, credential)
    if deleted is None:
        raise NoSuchCredentialError
    gateway.pool.supersede(deleted)


@dataclass(frozen=True, slots=True, repr=False)
class CheckedKeys:
    """The keys of a credential. `faults` has the place and the sentence of each that cannot be used."""

    login: KeyPair
    host_keys: tuple[str, ...]
    faults: tuple[tuple[tuple[str | int, ...], str], ...]


def read_keys(asked: CredentialRequest) -> CheckedKeys:
    """Return the keys that a request has. It takes milliseconds of CPU."""
    faults: list[tuple[tuple[str | int, ...], str]] = []
    key = KeyPair(b"", "")
    try:
        key = read_private_key(asked.private_key)
    except ValueError as error:
        faults.append((("privateKey",), str(error)))
    host_keys = []
    for number, line in enumerate(asked.host_keys):
        try:
            host_keys.append(read_host_key(line))
        except ValueError as error:
            faults.append((("hostKeys", number), str(error)))
    return CheckedKeys(key, tuple(host_keys), tuple(faults))


def _shown(stored: Credential) -> StoredCredential:
    return StoredCredential(
        name=stored.name,
        version=stored.version,
        host=stored.host,
        port=stored.port,
        user=stored.user,
        public_key=stored.public_key,
        host_keys=list(stored.host_keys),
        created_at=at(stored.created_at),
        updated_at=at(stored.updated_at),
    )
