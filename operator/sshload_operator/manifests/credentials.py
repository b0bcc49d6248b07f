"""Which files a login takes: by its authentication method, the same in a cluster and without one."""

from dataclasses import dataclass

from sshload_contract.client import Auth
from sshload_contract.wire.run_config import Endpoint

from sshload_operator.api.target import ExternalTarget

# What the keys of a Secret are called, that an author makes for an external target or a jump host.
PRIVATE_KEY = "id"
CERTIFICATE = "id-cert.pub"
PASSPHRASE = "passphrase"  # noqa: S105 - the name of a file
PASSWORD = "password"  # noqa: S105 - the name of a file

_WITH_PRIVATE_KEY = (Auth.PUBLICKEY, Auth.AGENT, Auth.CERTIFICATE)


@dataclass(frozen=True, slots=True)
class CredentialPaths:
    """Where the files for one server are, by what they hold; empty for those that there are none of."""

    private_key: str
    certificate: str
    passphrase: str
    password: str
    known_hosts: str


def credential_files(target: ExternalTarget) -> tuple[str, ...]:
    """Return the keys of the Secret that a login takes, and no others: a pod is given nothing that it does not use."""
    if target.auth not in _WITH_PRIVATE_KEY:
        return (PASSWORD,)
    certificate = (CERTIFICATE,) if target.auth is Auth.CERTIFICATE else ()
    passphrase = (PASSPHRASE,) if target.encrypted_key else ()
    return (PRIVATE_KEY, *certificate, *passphrase)


def external_endpoint(target: ExternalTarget, paths: CredentialPaths) -> Endpoint:
    """Return how workers log in to a server that exists, with those of the files that its login takes."""
    taken = credential_files(target)
    return Endpoint(
        host=target.host,
        port=target.port,
        user=target.user,
        auth=target.auth,
        private_key_path=paths.private_key if PRIVATE_KEY in taken else "",
        certificate_path=paths.certificate if CERTIFICATE in taken else "",
        passphrase_path=paths.passphrase if PASSPHRASE in taken else "",
        password_path=paths.password if PASSWORD in taken else "",
        known_hosts_path="" if target.insecure_ignore_host_key else paths.known_hosts,
    )


def managed_endpoint(host: str, port: int, user: str, auth: Auth, paths: CredentialPaths) -> Endpoint:
    """Return how workers log in to a managed target, whose keys the operator made."""
    return Endpoint(
        host=host,
        port=port,
        user=user,
        auth=auth,
        private_key_path=paths.private_key,
        certificate_path=paths.certificate if auth is Auth.CERTIFICATE else "",
        passphrase_path="",
        password_path="",
        known_hosts_path=paths.known_hosts,
    )
