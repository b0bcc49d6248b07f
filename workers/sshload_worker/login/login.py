"""Login: what logins to one server need, prepared once before the start. Its credentials are read from files."""

import socket
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import time
from typing import Protocol

from sshload_contract.client import BY_KEY, Auth, Client
from sshload_contract.error_text import reason_of
from sshload_contract.kerberos import Kerberos
from sshload_contract.wire.run_config import Endpoint

from sshload_worker.login.certificate import check_user_certificate
from sshload_worker.login.known_hosts import HostKeys
from sshload_worker.login.private_key import PrivateKey, read_private_key, start_agent
from sshload_worker.login.tickets import Tickets, by_keytab, by_password, by_ticket_cache
from sshload_worker.outcomes import GeneratorFaultError

Address = tuple[socket.AddressFamily, tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Credentials:
    """The credentials that `auth` needs. The others are empty.

    The private key is in OpenSSH's format, not encrypted. Its public half and the certificate are lines as ssh-keygen
    writes them. With Auth.AGENT there is only the socket of the agent, which has the key, with Auth.GSSAPI there are
    only the tickets.
    """

    auth: Auth
    private_key: bytes
    public_key: bytes
    certificate: bytes
    password: str
    agent_socket: str
    tickets: Tickets | None = None


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


@dataclass(frozen=True, slots=True)
class Login:
    """One server, and how to log in to it. `via` are the jump hosts on the way, in order.

    `address` is resolved. It is None for a server behind a jump host, because the jump host resolves `host` itself.
    If the name has several addresses, `turns` yields a Login for each of them in turn, for ever; otherwise it is None.

    If a `population` logs in, `user` and `credentials` are those of `place` in it, from 0. `source_address` is the
    address to connect from, empty for any.
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

    def at_next_address(self) -> "Login":
        """Return the Login for the next connection, with the address whose turn it is."""
        return self if self.turns is None else next(self.turns)

    def in_turn(self, turn: int) -> "Login":
        """Return the Login for a connection, with the next address and the user whose turn it is.

        Raises StepFailure if the user's credentials cannot be used.
        """
        login = self.at_next_address()
        return login if self.population is None else self.population.login_of(login, turn)


NOBODYS = Credentials(
    auth=Auth.PASSWORD, private_key=b"", public_key=b"", certificate=b"", password="", agent_socket=""
)


def credentials_with_password(auth: Auth, password: str) -> Credentials:
    """Return the credentials of a login by password."""
    return replace(NOBODYS, auth=auth, password=password)


def credentials_with_key(auth: Auth, key: PrivateKey, certificate: bytes) -> Credentials:
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
    return replace(NOBODYS, auth=Auth.GSSAPI, tickets=tickets)


def read_credentials(endpoint: Endpoint, server: str, kerberos: Kerberos | None = None) -> Credentials:
    """Return the credentials for `endpoint`; raises GeneratorFaultError, which calls it `server` ("the target").

    For Auth.AGENT it starts an ssh-agent with the key, which ends with this process. For Auth.GSSAPI the tickets are
    not there yet: `Tickets.get` gets them.
    """
    if endpoint.auth is Auth.GSSAPI:
        password = _read_secret(endpoint.password_path, f"{server}'s password") if endpoint.password_path else ""
        return credentials_with_tickets(endpoint, server, endpoint.user, password, kerberos)
    if endpoint.auth not in BY_KEY:
        password = _read_secret(endpoint.password_path, f"{server}'s password")
        return credentials_with_password(endpoint.auth, password)
    key = _read_key(endpoint, server)
    if endpoint.auth is Auth.AGENT:
        agent = start_agent(key)
        return replace(NOBODYS, auth=Auth.AGENT, agent_socket=agent.socket_path)
    certificate = _read_certificate(endpoint, key, server) if endpoint.auth is Auth.CERTIFICATE else b""
    return credentials_with_key(endpoint.auth, key, certificate)


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
        read = partial(read_file, endpoint.ticket_cache_path, f"{server}'s ticket cache")
        read()
        return by_ticket_cache(read)
    role = f"{server}'s keytab"
    return by_keytab(read_file(endpoint.keytab_path, role), user, role)


def _read_key(endpoint: Endpoint, server: str) -> PrivateKey:
    role = f"{server}'s private key"
    data = read_file(endpoint.private_key_path, role)
    passphrase = ""
    if endpoint.passphrase_path:
        passphrase = _read_secret(endpoint.passphrase_path, f"the passphrase of {role}")
    return read_private_key(data, passphrase, f"{role} ({Path(endpoint.private_key_path).name})")


def _read_certificate(endpoint: Endpoint, key: PrivateKey, server: str) -> bytes:
    role = f"{server}'s certificate"
    data = read_file(endpoint.certificate_path, role)
    check_user_certificate(data, key.public_blob, time(), f"{role} ({Path(endpoint.certificate_path).name})")
    return data


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
