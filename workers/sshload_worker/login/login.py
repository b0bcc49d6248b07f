"""Login: all that logins at one server need, settled once before the start of a run."""

import socket
from collections.abc import Iterator
from dataclasses import dataclass

from sshload_contract.run_config import Auth, Client

from sshload_worker.login.known_hosts import HostKeys

Address = tuple[socket.AddressFamily, tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Credentials:
    """The credentials that `auth` needs, the rest being empty.

    The private key is in OpenSSH's format, not encrypted; its public half and the certificate are lines as ssh-keygen
    writes them. With Auth.AGENT there is only the socket of the agent, which has the key.
    """

    auth: Auth
    private_key: bytes
    public_key: bytes
    certificate: bytes
    password: str
    agent_socket: str


@dataclass(frozen=True, slots=True)
class Login:
    """One server, and how to log in to it. `via` are the jump hosts on the way, first things first.

    `address` is resolved, and None for a server that only a jump host reaches: that resolves `host` itself.
    Where the name has several, `turns` yields a Login for each of them, over and over, and is None otherwise.
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

    def at_next_address(self) -> "Login":
        """Return the Login, at the address whose turn it is, for the next connection."""
        return self if self.turns is None else next(self.turns)
