"""The user's own files in place of Secrets: what logs in to an external target, and to each jump host."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from sshload_contract.wire.run_config import Endpoint, TargetEndpoint

from sshload_operator.api.targets import JumpHost, Server
from sshload_operator.api.users import UsersKey
from sshload_operator.local.sshd import LocalRunError

_OPTIONS: Final = {
    "id": "identity",
    "id-cert.pub": "certificate",
    "passphrase": "passphrase-file",
    "password": "password-file",
    "keytab": "keytab",
    "ccache": "ticket-cache",
    "totp": "totp-file",
    "known_hosts": "known-hosts",
    "token": "token-file",
    "ca.crt": "ca-file",
    **{str(key): "users" for key in UsersKey},
    "ca": "user-ca",
    "ca-passphrase": "user-ca-passphrase-file",
}
"""The options that name files, by the keys of the Secrets that have them in a cluster."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """The files for one server, None for those that were not given."""

    identity: Path | None = None
    certificate: Path | None = None
    passphrase_file: Path | None = None
    password_file: Path | None = None
    keytab: Path | None = None
    ticket_cache: Path | None = None
    totp_file: Path | None = None
    known_hosts: Path | None = None
    token_file: Path | None = None
    ca_file: Path | None = None
    users: Path | None = None
    user_ca: Path | None = None
    user_ca_passphrase_file: Path | None = None


def target_endpoint(target: Server, given: Credentials) -> TargetEndpoint:
    """Return how workers use a target that exists; raises LocalRunError if it lacks a file, OSError."""
    return target.endpoint(_paths(target, given, "--", "FILE"))


def via_endpoints(
    hosts: tuple[JumpHost, ...], given: Mapping[str, Credentials], known_hosts: Path | None
) -> tuple[Endpoint, ...]:
    """Return how workers log in to each jump host, with the files given for its name; raises LocalRunError, OSError.

    `known_hosts` holds where a jump host has no such file of its own: host keys are public, other files are not shared.
    """
    for name in given:
        if name not in {host.host for host in hosts}:
            raise LocalRunError(f"files are given for the jump host {name}, but spec.via has no jump host of that name")
    endpoints = []
    for host in hosts:
        own = given.get(host.host, Credentials())
        files = replace(own, known_hosts=own.known_hosts or known_hosts)
        endpoints.append(host.endpoint(_paths(host, files, "--via-", f"{host.host}=FILE")))
    return tuple(endpoints)


def readable(path: Path | None) -> str:
    """Return the absolute path of a file that can be read, empty for none; raises OSError."""
    if path is None:
        return ""
    with path.open("rb"):
        return str(path.absolute())


def _paths(server: Server, given: Credentials, dashes: str, value: str) -> Mapping[str, str]:
    """Return the path of each file that was given, by its key in a Secret; raises LocalRunError if one is missing."""
    files = {file: getattr(given, option.replace("-", "_")) for file, option in _OPTIONS.items()}
    for secret in server.secrets:
        for file in secret.files:
            if files[file] is None:
                hint = secret.hint or f"in a cluster, {file} of the Secret {secret.secret}"
                raise LocalRunError(f"{secret.need} with {dashes}{_OPTIONS[file]} {value} ({hint})")
    return {file: readable(path) for file, path in files.items()}
