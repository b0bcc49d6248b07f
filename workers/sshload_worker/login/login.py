"""Login: all that logins at one server need, settled once before the start of a run."""

import socket
from dataclasses import dataclass

from sshload_contract.run_config import Auth, Client

from sshload_worker.login.known_hosts import HostKeys

Address = tuple[socket.AddressFamily, tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Credentials:
    """What `auth` needs, the rest being empty. The private key is in OpenSSH's or PEM format, and not encrypted."""

    auth: Auth
    private_key: bytes
    certificate: bytes
    password: str
    agent_socket: str


@dataclass(frozen=True, slots=True)
class Login:
    """One server, and how to log in to it. `via` are the jump hosts on the way, first things first.

    `address` is resolved, and None for a server that only a jump host reaches: that resolves `host` itself.
    """

    address: Address | None
    host: str
    port: int
    user: str
    credentials: Credentials
    host_keys: HostKeys
    client: Client
    via: tuple["Login", ...]
