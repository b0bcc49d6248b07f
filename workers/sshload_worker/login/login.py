"""Login: what logins to one server need, prepared once before the start. Its credentials are read from files."""

import socket
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Protocol

from sshload_contract.client import BY_KEY, DEFAULT_TOTP, Auth, Client, Prompt, needs_password
from sshload_contract.error_text import reason_of
from sshload_contract.kerberos import Kerberos
from sshload_contract.vocabulary import Outcome
from sshload_contract.wire.run_config import Endpoint
from sshload_contract.wire.target import is_revoked

from sshload_worker.login.certificate import UserCertificate, check_user_certificate
from sshload_worker.login.known_hosts import HostKeys
from sshload_worker.login.private_key import PrivateKey, read_private_key, start_agent
from sshload_worker.login.tickets import Tickets, by_keytab, by_password, by_ticket_cache
from sshload_worker.login.totp import SecondFactor, read_secret
from sshload_worker.outcomes import GeneratorFaultError, StepFailure

if TYPE_CHECKING:
    from sshload_worker.login.issuer import Issuer

Address = tuple[socket.AddressFamily, tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Credentials:
    """The credentials that `auth` needs. The others are empty.

    The private key is in OpenSSH's format, not encrypted. Its public half is a line as ssh-keygen writes it. With
    Auth.AGENT there is only the socket of the agent, which has the key, with Auth.GSSAPI there are only the tickets,
    and the password if that gets them. `prompts` are what answers the server's prompts; with some, the login goes on by
    keyboard-interactive where the server asks for more.
    """

    auth: Auth
    private_key: bytes
    public_key: bytes
    certificate: UserCertificate | None
    password: str
    agent_socket: str
    tickets: Tickets | None = None
    prompts: tuple[Prompt, ...] = ()
    second_factor: SecondFactor | None = None

    @property
    def certificate_line(self) -> bytes:
        """The certificate as ssh-keygen writes it, empty without one."""
        return b"" if self.certificate is None else self.certificate.line


class InTurn(Protocol):
    """The users of a population, in the order of their turns."""

    def __len__(self) -> int:
        """Return how many users there are."""

    @property
    def most_turns(self) -> int | None:
        """How many turns there are, of all workers together; None for any number."""

    def check_names(self) -> None:
        """Raise GeneratorFaultError if a name cannot stand in a command."""

    def prepare(self, turns: Iterable[int]) -> None:
        """Make the credentials of the first of these turns; raises GeneratorFaultError if one cannot be used."""

    def described(self, place: int) -> str:
        """Return which user it is, for a message: without a name from a file, which may be a person's."""

    def login_of(self, login: "Login", turn: int) -> "Login":
        """Return the Login with the user whose turn it is; raises StepFailure if their credentials cannot be used."""

    def keys(self) -> Iterator[tuple[str, bytes]]:
        """Yield the name and the public key of each user; raises GeneratorFaultError if it cannot be used."""


@dataclass(frozen=True, slots=True)
class Login:
    """One server, and how to log in to it. `via` are the jump hosts on the way, in order.

    `address` is resolved. It is None for a server behind a jump host, because the jump host resolves `host` itself.
    If the name has several addresses, `turns` yields a Login for each of them in turn, for ever; otherwise it is None.

    If a `population` logs in, `user` and `credentials` are those of `place` in it, from 0. `source_address` is the
    address to connect from, empty for any. The `issuer` signs the users' certificates if the workers do that.
    `extra_keys` are offered before the right one, which an agent does itself. The run has revoked the keys of a
    `revoked_share` of the users.
    """

    address: Address | None
    host: str
    port: int
    user: str
    credentials: Credentials
    host_keys: HostKeys
    client: Client
    via: tuple["Login", ...]
    turns: Iterator["Login"] | None
    population: InTurn | None = None
    place: int | None = None
    source_address: str = ""
    issuer: "Issuer | None" = None
    extra_keys: tuple[PrivateKey, ...] = ()
    revoked_share: float = 0.0

    def at_next_address(self) -> "Login":
        """Return the Login for the next connection, with the address whose turn it is."""
        return self if self.turns is None else next(self.turns)

    def in_turn(self, turn: int) -> "Login":
        """Return the Login for a connection, with the next address and the user whose turn it is.

        Raises StepFailure if the user's credentials cannot be used.
        """
        login = self.at_next_address()
        if self.population is not None:
            login = self.population.login_of(login, turn)
        return login if self.issuer is None else login.certified_by(self.issuer)

    def certified_by(self, issuer: "Issuer") -> "Login":
        """Return the Login with the certificate that its user has now."""
        found = self.credentials
        return replace(self, credentials=replace(found, certificate=issuer.certificate_of(self.user, found.public_key)))

    def begin(self) -> None:
        """Make certificates ready, because a load begins."""
        if self.issuer is not None:
            self.issuer.begin()

    def accepted(self) -> None:
        """Raise StepFailure if the server has let in somebody whose key the run has revoked."""
        if self._is_revoked:
            raise StepFailure(
                Outcome.REVOKED_KEY_ACCEPTED, "the server let a user in whose key is in its list of revoked keys"
            )

    @property
    def _is_revoked(self) -> bool:
        return self.revoked_share > 0 and is_revoked(self.revoked_share, (self.place or 0) + 1)

    def explain(self, refusal: StepFailure) -> StepFailure:
        """Return a refused login's failure with what the run knows of it: a revoked key, or a certificate's times."""
        if self._is_revoked and refusal.outcome is Outcome.AUTH_REJECTED:
            return StepFailure(Outcome.KEY_REVOKED, f"{refusal.message}; the run has revoked this user's key")
        certificate = self.credentials.certificate
        return refusal if certificate is None else certificate.explain(refusal, time())


NOBODYS = Credentials(
    auth=Auth.PASSWORD, private_key=b"", public_key=b"", certificate=None, password="", agent_socket=""
)


def credentials_with_password(auth: Auth, password: str) -> Credentials:
    """Return the credentials of a login by password."""
    return replace(NOBODYS, auth=auth, password=password)


def credentials_with_key(auth: Auth, key: PrivateKey, certificate: UserCertificate | None) -> Credentials:
    """Return the credentials of a login by key."""
    return replace(NOBODYS, auth=auth, private_key=key.openssh, public_key=key.public_line, certificate=certificate)


def credentials_with_tickets(
    endpoint: Endpoint, server: str, user: str, password: str, kerberos: Kerberos | None
) -> Credentials:
    """Return the credentials of a user of `endpoint`, who gets tickets by the password, or else by its files.

    The tickets are not there yet: `Tickets.get` gets them. Raises GeneratorFaultError.
    """
    fresh = kerberos is not None and kerberos.fresh_tickets
    tickets = Tickets(endpoint.host, _ticket_source(endpoint, server, user, password), fresh=fresh)
    return replace(NOBODYS, auth=Auth.GSSAPI, password=password, tickets=tickets)


def read_credentials(
    endpoint: Endpoint,
    server: str,
    client: Client | None = None,
    extra_keys: tuple[PrivateKey, ...] = (),
    *,
    is_shared: bool = False,
) -> Credentials:
    """Return the credentials for `endpoint`; raises GeneratorFaultError, which calls it `server` ("the target").

    For Auth.AGENT it starts an ssh-agent with the `extra_keys` and the key, which ends with this process. For
    Auth.GSSAPI the tickets are not there yet: `Tickets.get` gets them. If the workers sign the certificates, there is
    none yet. With `is_shared`, other workers log in as the same users.
    """
    prompts = () if client is None else client.prompts
    is_needed = needs_password(endpoint.auth, prompts) and endpoint.users is None
    password = (
        _read_secret(endpoint.password_path, f"{server}'s password") if is_needed or endpoint.password_path else ""
    )
    second_factor = None if client is None else _read_second_factor(endpoint, server, client, is_shared=is_shared)
    if endpoint.auth in BY_KEY:
        found = _read_credentials_with_key(endpoint, server, extra_keys)
    elif endpoint.auth is Auth.GSSAPI:
        kerberos = None if client is None else client.kerberos
        found = credentials_with_tickets(endpoint, server, endpoint.user, password, kerberos)
    else:
        found = credentials_with_password(endpoint.auth, password)
    return replace(found, password=password, prompts=prompts, second_factor=second_factor)


def _read_credentials_with_key(endpoint: Endpoint, server: str, extra_keys: tuple[PrivateKey, ...]) -> Credentials:
    key = _read_key(endpoint, server)
    if endpoint.auth is Auth.AGENT:
        agent = start_agent((*extra_keys, key))
        return replace(NOBODYS, auth=Auth.AGENT, agent_socket=agent.socket_path)
    is_issued = endpoint.auth is not Auth.CERTIFICATE or endpoint.user_ca_path
    return credentials_with_key(endpoint.auth, key, None if is_issued else _read_certificate(endpoint, key, server))


def read_user_ca(endpoint: Endpoint, server: str) -> PrivateKey:
    """Return the key that signs the certificates for `endpoint`; raises GeneratorFaultError."""
    return _read_private(endpoint.user_ca_path, endpoint.user_ca_passphrase_path, f"{server}'s user CA key")


def _read_second_factor(endpoint: Endpoint, server: str, client: Client, *, is_shared: bool) -> SecondFactor | None:
    """Return what makes codes of the endpoint's secret, None if no prompt needs one or users have their own."""
    if not client.answers_by_codes or (endpoint.users is not None and not endpoint.totp_path):
        return None
    role = f"{server}'s TOTP secret"
    text = _read_secret(endpoint.totp_path, role)
    secret = read_secret(text, f"{role} ({Path(endpoint.totp_path).name})")
    return SecondFactor(secret, client.totp or DEFAULT_TOTP, is_shared)


def read_file(path: str, role: str) -> bytes:
    """Return a file's content; raises GeneratorFaultError, which calls it `role`."""
    if not path:
        raise GeneratorFaultError(f"{role} is needed, but not given")
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise GeneratorFaultError(f"{role} ({Path(path).name}) cannot be read: {reason_of(error)}") from error


def _ticket_source(endpoint: Endpoint, server: str, user: str, password: str) -> Callable[[str], int]:
    """Return what gets a ticket for a user; raises GeneratorFaultError."""
    if password:
        return by_password(password, user)
    if endpoint.ticket_cache_path:
        role = f"{server}'s ticket cache"
        return by_ticket_cache(partial(read_file, endpoint.ticket_cache_path, role), role)
    role = f"{server}'s keytab"
    return by_keytab(read_file(endpoint.keytab_path, role), user, role)


def _read_key(endpoint: Endpoint, server: str) -> PrivateKey:
    return _read_private(endpoint.private_key_path, endpoint.passphrase_path, f"{server}'s private key")


def _read_private(path: str, passphrase_path: str, role: str) -> PrivateKey:
    data = read_file(path, role)
    passphrase = _read_secret(passphrase_path, f"the passphrase of {role}") if passphrase_path else ""
    return read_private_key(data, passphrase, f"{role} ({Path(path).name})")


def _read_certificate(endpoint: Endpoint, key: PrivateKey, server: str) -> UserCertificate:
    role = f"{server}'s certificate"
    data = read_file(endpoint.certificate_path, role)
    name = Path(endpoint.certificate_path).name
    return check_user_certificate(data, key.public_blob, time(), f"{role} ({name})")


def _read_secret(path: str, role: str) -> str:
    """Return the text of a file without the final line end that editors and `echo` write."""
    try:
        text = read_file(path, role).decode()
    except UnicodeDecodeError:
        raise GeneratorFaultError(f"{role} ({Path(path).name}) is not UTF-8") from None
    secret = text.removesuffix("\n").removesuffix("\r")
    if not secret:
        raise GeneratorFaultError(f"{role} ({Path(path).name}) is empty")
    return secret
