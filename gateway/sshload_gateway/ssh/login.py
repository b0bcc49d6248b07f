"""One login: to an address that was checked, with host keys that are pinned, within a time."""

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from typing import Any, Final, Protocol
from weakref import WeakValueDictionary

import asyncssh
from sshload_contract.addresses import Address
from sshload_contract.shortened import printable

from sshload_gateway.ssh.destinations import Destinations
from sshload_gateway.ssh.failures import LoginError, LoginFailure
from sshload_gateway.ssh.floods import Floods, Pace
from sshload_gateway.ssh.keys import load_private_key
from sshload_gateway.ssh.lean import lean_connection
from sshload_gateway.ssh.turns import read_in_turns

_FIRST_DIAL_S: Final = 1.0
_KEEPALIVE_S: Final = 15
_LONGEST_REASON: Final = 200
_LEAST_PACKET_BYTES: Final = 256
"""OpenSSH takes 32,768."""

_KEX: Final = (
    "-diffie-hellman-group-exchange-*,diffie-hellman-group16-*,diffie-hellman-group17-*,diffie-hellman-group18-*"
)
"""None in which the server chooses the group: OpenSSL looks for minutes whether a large number is prime. And none with
more than 3,072 bits, which takes up to half a second. Nothing else runs meanwhile.
"""

_CIPHERS: Final = "^aes128-gcm@openssh.com,aes256-gcm@openssh.com"
"""First those that take one call of OpenSSL for each packet: asyncssh's first choice takes six."""


@dataclass(frozen=True, slots=True)
class Account:
    """Where a version of a credential logs in, and as whom: the key of the pool, without any secret.

    It has the credential's owner and name: by its id alone, who may write the database could give one caller's
    connections to another.
    """

    host: str
    port: int
    user: str
    credential: str
    version: int
    owner: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Secrets:
    """What a login needs besides: the private key in OpenSSH's format, and the host keys that are accepted."""

    private_key: bytes
    host_keys: tuple[str, ...]


class Login(Protocol):
    """Opens connections for the pool."""

    async def __call__(
        self, account: Account, secrets: Callable[[], Secrets], on_lost: Callable[[], None]
    ) -> asyncssh.SSHClientConnection:
        """Return a connection that is logged in; raises LoginError. `on_lost` is called once it has ended."""
        ...


@dataclass(frozen=True, slots=True)
class SshLogin:
    """Logs in to allowed destinations, each within `timeout_s`."""

    destinations: Destinations
    timeout_s: float
    paces: WeakValueDictionary[str, Pace] = field(default_factory=WeakValueDictionary, compare=False)
    """By the owners of credentials, as long as one of their connections is there."""

    async def __call__(
        self, account: Account, secrets: Callable[[], Secrets], on_lost: Callable[[], None]
    ) -> asyncssh.SSHClientConnection:
        """Return a connection that is logged in; raises LoginError. `on_lost` is called once it has ended."""
        pace = self.paces.setdefault(account.owner, Pace())
        try:
            async with asyncio.timeout(self.timeout_s):
                addresses = await self.destinations.addresses(account.host, account.port)
                return await _first(addresses, account, secrets(), lambda: _Client(on_lost, Floods(pace)))
        except TimeoutError:
            what = f"{account.host} port {account.port} did not finish a login within {self.timeout_s:g} s"
            raise LoginError(LoginFailure.TIMEOUT, what) from None


class _Client(asyncssh.SSHClient):
    """Hears of the end of its connection, and accepts nothing that the server begins."""

    def __init__(self, on_lost: Callable[[], None], floods: Floods) -> None:
        self._on_lost = on_lost
        self._floods = floods

    def connection_made(self, conn: asyncssh.SSHClientConnection) -> None:
        """Let no server keep others from their turn."""
        read_in_turns(conn, self._floods)
        conn.log_received_packet = self._floods.received  # type: ignore[method-assign, assignment]

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncssh's signature
        """Tell the pool."""
        self._on_lost()


async def _first(
    addresses: tuple[Address, ...], account: Account, secrets: Secrets, client: Callable[[], asyncssh.SSHClient]
) -> asyncssh.SSHClientConnection:
    """Return a connection to the first address that answers; raises the last address's LoginError."""
    *others, last = addresses
    for address in others:
        with suppress(_UnreachableError):
            return await _connect(address, account, secrets, client)
    return await _connect(last, account, secrets, client)


class _UnreachableError(LoginError):
    """Nothing listens at this address, and the next one may do."""


async def _connect(
    address: Address, account: Account, secrets: Secrets, client: Callable[[], asyncssh.SSHClient]
) -> asyncssh.SSHClientConnection:
    where = f"{account.host} port {account.port}"
    host_keys = [asyncssh.import_public_key(line) for line in secrets.host_keys]
    try:
        ssh = await asyncssh.connect(
            config=None,  # no file of this machine's user decides anything
            known_hosts=(host_keys, [], []),
            username=account.user,
            client_keys=[load_private_key(secrets.private_key)],
            client_factory=client,
            agent_path=None,
            gss_host=None,
            preferred_auth=("publickey",),
            disable_trivial_auth=True,
            keepalive_interval=_KEEPALIVE_S,
            compression_algs=None,
            encryption_algs=_CIPHERS,
            kex_algs=_KEX,
            sock=await _dial(address, account.port),  # last: nothing that fails leaves it open
        )
        return _refuse_small_packets(lean_connection(ssh))
    except asyncssh.HostKeyNotVerifiable:
        what = f"{where} shows a host key that is not the credential's: compare hostKeys with the server's"
        raise LoginError(LoginFailure.HOST_KEY, what) from None
    except asyncssh.PermissionDenied:
        what = f"{where} refused the login of {account.user}: look for the key in its authorized_keys"
        raise LoginError(LoginFailure.AUTHENTICATION, what) from None
    except (asyncssh.ConnectionLost, ConnectionResetError, BrokenPipeError):
        what = f"{where} dropped the connection before the login was done (MaxStartups, PerSourcePenalties?)"
        raise LoginError(LoginFailure.DROPPED, what) from None
    except (asyncssh.Error, ValueError) as error:
        what = f"{where} does not speak SSH as expected: {_one_line(error)}"
        raise LoginError(LoginFailure.PROTOCOL, what) from None
    except OSError as error:
        what = f"{where} cannot be reached: {_one_line(error)}"
        raise _UnreachableError(LoginFailure.UNREACHABLE, what) from None


async def _dial(address: Address, port: int) -> socket.socket:
    """Return a connected socket. After 1, 2, 4 ... s without an answer, the dial is repeated from another local port.

    The kernel repeats a lost packet from the same port. If a packet passes before kube-proxy has written a Service's
    rules, connection tracking sends all packets from that port the same wrong way.
    """
    limit_s = _FIRST_DIAL_S
    while True:
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                return await _connected(address, port)
        limit_s *= 2


async def _connected(address: Address, port: int) -> socket.socket:
    opened = socket.socket(socket.AF_INET if isinstance(address, IPv4Address) else socket.AF_INET6, socket.SOCK_STREAM)
    try:
        opened.setblocking(False)
        await asyncio.get_running_loop().sock_connect(opened, (str(address), port))
    except BaseException:
        opened.close()
        raise
    return opened


def _refuse_small_packets(ssh: asyncssh.SSHClientConnection) -> asyncssh.SSHClientConnection:
    """Let a connection end where the server opens a channel whose packets may hold next to nothing; return it.

    asyncssh sends what the window has room for at one go, whatever the size of its packets. At a byte each, a megabyte
    of stdin takes it ten seconds, in which the gateway serves nobody.
    """
    add = ssh.add_channel

    def add_channel(channel: Any) -> int:
        confirm = channel.process_open_confirmation

        def confirmed(number: int, window: int, packet_bytes: int, packet: Any) -> None:
            if packet_bytes < _LEAST_PACKET_BYTES:
                raise asyncssh.ProtocolError(f"packets of {packet_bytes} bytes are too small")
            confirm(number, window, packet_bytes, packet)

        channel.process_open_confirmation = confirmed
        return add(channel)

    ssh.add_channel = add_channel  # type: ignore[method-assign, assignment]  # no option does it
    return ssh


def _one_line(error: BaseException) -> str:
    """Return what an error says, printable and bounded: the server may have written it."""
    text = " ".join(str(error).split())
    return printable(text)[:_LONGEST_REASON]
