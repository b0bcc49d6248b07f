"""One SSH connection by asyncssh."""

from typing import Any

from asyncssh.packet import String, UInt32
from asyncssh.sftp import SFTPClient
from gevent import Timeout
from sshload_contract.vocabulary import Outcome, Timing
from sshload_contract.wire.report import IMPLICIT_MAC, Negotiated

from sshload_worker.clients.asyncssh.channel import AsyncsshChannel, Inbox, RequestChannel
from sshload_worker.clients.asyncssh.driver import Driver, event_loop
from sshload_worker.clients.asyncssh.gssapi import GssClient
from sshload_worker.clients.asyncssh.protocol import Protocol, Tunnel
from sshload_worker.clients.asyncssh.settings import connection_options
from sshload_worker.clients.asyncssh.sftp import AsyncsshSftp
from sshload_worker.clients.authentication import Authentication
from sshload_worker.clients.delay import new_descriptor
from sshload_worker.clients.file_protocols import read_by_scp, write_by_scp
from sshload_worker.clients.interface import Connection
from sshload_worker.clients.tcp import Descriptor, await_banner
from sshload_worker.login.login import Login
from sshload_worker.login.tickets import no_kdc_yet
from sshload_worker.outcomes import StepFailure

_WINDOW_BYTES = 2_097_152  # asyncssh's own defaults
_PACKET_BYTES = 32_768
_ORIGIN = (String("127.0.0.1"), UInt32(0))  # the originator's address that the server is told (RFC 4254 section 7.2)


class AsyncsshConnection:
    """One connection (clients.interface.Connection)."""

    times_parts = True
    scp_read = read_by_scp
    scp_write = write_by_scp

    def __init__(self, login: Login, through: Connection | None = None) -> None:
        self._login = login
        self._jump = through
        self._loop = event_loop()
        options = connection_options(login)
        self._tickets = login.credentials.tickets
        limit_s = login.client.timeouts.auth_s
        self._cache_path = "" if self._tickets is None else self._tickets.cache_of_login(limit_s)
        self._no_ticket = None if self._tickets is None else self._tickets.failure
        self._gss = None if self._tickets is None else GssClient(self._cache_path, login.host)
        self._protocol = Protocol(self._loop.asyncio, options, login, self._gss)
        self._driver = Driver(self._loop, self._protocol)
        self._tunnel = Tunnel()
        self._descriptor: Descriptor | None = None
        if login.address is not None:
            family, self._address = login.address
            self._descriptor = new_descriptor(login.client, family, login.source_address)
            self._protocol.descriptor = self._descriptor
        self._is_handed_over = False
        self.authentication: Authentication | None = None
        self._server_version = ""

    def connect(self) -> None:
        if self._descriptor is not None:
            self._descriptor.connect(self._address)
        elif isinstance(self._jump, AsyncsshConnection):
            self._jump.open_tunnel(self._tunnel, self._login.host, self._login.port)
        else:
            raise StepFailure(Outcome.GENERATOR_FAULT, "a server without an address needs a jump host")

    def banner(self) -> None:
        self._server_version = await_banner(self._descriptor or self._tunnel)

    def kex(self) -> None:
        if self._descriptor is None:
            self._driver.call(Timing.KEX, self._tunnel.hand_over, self._protocol)
        else:
            self._is_handed_over = True
            self._driver.run(Timing.KEX, self._hand_over(self._descriptor.socket))
        self._protocol.milestones.keys_exchanged.wait()
        self._driver.check(Timing.KEX)

    def auth(self) -> None:
        if self._no_ticket is not None:
            raise self._no_ticket
        milestones = self._protocol.milestones
        authentication = self.authentication = milestones.authentication = Authentication(self._login.credentials)
        self._driver.call(Timing.AUTH, self._protocol.log_in)
        try:
            milestones.authenticated.wait()
        except Timeout:
            if self._gss is not None and self._gss.waits_for_kdc:
                raise no_kdc_yet(self._login.client.timeouts.auth_s) from None
            raise
        if milestones.failure is not None:
            raise milestones.failure
        try:
            self._driver.check(Timing.AUTH)
        except StepFailure as failure:
            if self._gss is not None and self._gss.failure is not None:
                raise self._gss.failure from None
            is_refused = failure.outcome is Outcome.AUTH_REJECTED or (
                milestones.is_refused and failure.outcome is not Outcome.TOO_MANY_AUTH_FAILURES
            )
            if not is_refused or not milestones.offered_methods:
                raise authentication.failed(failure) from None
            # a server may also end the connection after it has refused, before asyncssh gives up
            raise authentication.refused(milestones.offered_methods) from None
        authentication.end(is_accepted=True)
        if self._gss is not None and self._tickets is not None and self._tickets.fresh:
            authentication.parts.append((Timing.AUTH_KDC, *self._gss.first_token_ns))

    def negotiated(self) -> Negotiated:
        cipher, mac = (str(self._protocol.get_extra_info(name)) for name in ("send_cipher", "send_mac"))
        return Negotiated(
            kex=self._protocol.kex_name,
            cipher=cipher,
            mac=IMPLICIT_MAC if mac == cipher else mac,
            host_key=self._protocol.host_key_name,
            server_version=self._server_version,
        )

    def is_lost(self) -> bool:
        if self._protocol.milestones.ended.is_set():
            return True
        if self._descriptor is not None:
            return self._descriptor.peer_has_closed()
        return self._jump is not None and self._jump.is_lost()

    def keep_alive(self) -> None:
        self._driver.run(Timing.KEEP_ALIVE, self._protocol.send_keepalive())
        self._driver.check(Timing.KEEP_ALIVE)

    def open_channel(self) -> AsyncsshChannel:
        return self._channel(b"session")

    def open_forward(self, host: str, port: int) -> AsyncsshChannel:
        return self._channel(b"direct-tcpip", String(host), UInt32(port), *_ORIGIN)

    def open_tunnel(self, tunnel: Tunnel, host: str, port: int) -> None:
        """Open a channel to a server behind this one; `tunnel` receives its data."""
        target = (String(host), UInt32(port), *_ORIGIN)
        self._driver.run(Timing.CHANNEL_OPEN, self._opened(tunnel, b"direct-tcpip", *target))

    def open_sftp(self) -> AsyncsshSftp:
        requests = self._driver.run(Timing.CHANNEL_OPEN, self._sftp())
        return AsyncsshSftp(self._driver, requests, self._login.client)

    def close(self) -> None:
        if self._descriptor is not None and not self._is_handed_over:
            self._descriptor.shut_down()  # once handed over, asyncssh closes it
        self._loop.post(self._protocol.close)
        if self._tickets is not None:
            self._tickets.give_back(self._cache_path)
        if self._jump is not None:
            self._jump.close()

    def _channel(self, kind: bytes, *arguments: bytes) -> AsyncsshChannel:
        inbox = Inbox(self._driver)
        channel = self._driver.run(Timing.CHANNEL_OPEN, self._opened(inbox, kind, *arguments))
        return AsyncsshChannel(self._driver, channel, inbox)

    async def _hand_over(self, connected: Any) -> None:
        await self._loop.asyncio.create_connection(lambda: self._protocol, sock=connected)

    async def _sftp(self) -> SFTPClient:
        return await self._protocol.start_sftp_client()

    async def _opened(self, session: Inbox | Tunnel, kind: bytes, *arguments: bytes) -> RequestChannel:
        client = self._login.client
        window_bytes, packet_bytes = client.window_bytes or _WINDOW_BYTES, client.packet_bytes or _PACKET_BYTES
        channel = RequestChannel(
            self._protocol, self._loop.asyncio, "strict", None, "strict", window_bytes, packet_bytes
        )
        await channel.open(session, kind, *arguments)
        if kind != b"session":
            await channel.begin_reading()
        return channel
