"""The user's own files in place of Secrets: what logs in to an external target, and to each jump host."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sshload_contract.wire.run_config import Endpoint, GatewayEndpoint

from sshload_operator.api.target import ExternalTarget, GatewayTarget
from sshload_operator.local.sshd import LocalRunError
from sshload_operator.manifests.mounts import (
    CERTIFICATE,
    GATEWAY_CA,
    GATEWAY_TOKEN,
    PASSPHRASE,
    PASSWORD,
    PRIVATE_KEY,
    CredentialPaths,
    credential_files,
    external_endpoint,
    gateway_endpoint,
)

_OPTIONS = {
    PRIVATE_KEY: "identity",
    CERTIFICATE: "certificate",
    PASSPHRASE: "passphrase-file",
    PASSWORD: "password-file",
}


@dataclass(frozen=True, slots=True)
class Credentials:
    """The files for one server, None for those that were not given."""

    identity: Path | None = None
    certificate: Path | None = None
    passphrase_file: Path | None = None
    password_file: Path | None = None
    known_hosts: Path | None = None
    token_file: Path | None = None
    ca_file: Path | None = None


def target_endpoint(target: ExternalTarget | GatewayTarget, given: Credentials) -> Endpoint | GatewayEndpoint:
    """Return how workers speak to a target that exists; raises LocalRunError if none is named, OSError."""
    if isinstance(target, GatewayTarget):
        return _gateway_endpoint(target, given)
    return _endpoint(target, given, "--", "FILE", "client.auth")


def via_endpoints(
    hosts: tuple[ExternalTarget, ...], given: Mapping[str, Credentials], known_hosts: Path | None
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
        files = Credentials(
            identity=own.identity,
            certificate=own.certificate,
            passphrase_file=own.passphrase_file,
            password_file=own.password_file,
            known_hosts=own.known_hosts or known_hosts,
        )
        endpoints.append(_endpoint(host, files, "--via-", f"{host.host}=FILE", "via[].auth"))
    return tuple(endpoints)


def _gateway_endpoint(target: GatewayTarget, given: Credentials) -> GatewayEndpoint:
    if given.token_file is None:
        raise LocalRunError(
            f"requests to {target.host} need a token: give it with --token-file FILE (in a cluster,"
            f" {GATEWAY_TOKEN} of the Secret {target.token_secret})"
        )
    if target.ca_secret and given.ca_file is None:
        raise LocalRunError(
            f"the certificate of {target.host} is verified with your own CA certificates: give them with --ca-file"
            f" FILE (in a cluster, {GATEWAY_CA} of the Secret {target.ca_secret})"
        )
    ca_path = readable(given.ca_file) if target.ca_secret else ""
    return gateway_endpoint(target, readable(given.token_file), ca_path)


def readable(path: Path | None) -> str:
    """Return the absolute path of a file that can be read, empty for none; raises OSError."""
    if path is None:
        return ""
    with path.open("rb"):
        return str(path.absolute())


def _endpoint(server: ExternalTarget, given: Credentials, dashes: str, value: str, field: str) -> Endpoint:
    files = {
        PRIVATE_KEY: given.identity,
        CERTIFICATE: given.certificate,
        PASSPHRASE: given.passphrase_file,
        PASSWORD: given.password_file,
    }
    for name in credential_files(server):
        if files[name] is None:
            raise LocalRunError(
                f"the test logs in to {server.host} by {server.auth} (spec.{field}): give what it needs with"
                f" {dashes}{_OPTIONS[name]} {value} (in a cluster, {name} of the Secret {server.credentials_secret})"
            )
    if given.known_hosts is None and not server.insecure_ignore_host_key:
        raise LocalRunError(
            f"the host key of {server.host} is checked: give the right key with {dashes}known-hosts {value}"
            f" (`ssh-keyscan -p {server.port} {server.host}` prints the server's key; compare it first)"
        )
    paths = CredentialPaths(
        private_key=readable(given.identity),
        certificate=readable(given.certificate),
        passphrase=readable(given.passphrase_file),
        password=readable(given.password_file),
        known_hosts=readable(given.known_hosts),
    )
    return external_endpoint(server, paths)
