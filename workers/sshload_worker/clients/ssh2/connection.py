"""One SSH connection by ssh2-python (libssh2), for one greenlet or shared by several."""

import struct
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import cast

from ssh2 import session as ssh2_session
from ssh2.exceptions import SSH2Error
from ssh2.nonblocking import open_channel
from sshload_contract.vocabulary import Outcome, Timing
from sshload_contract.wire.report import IMPLICIT_MAC, Negotiated

from sshload_worker.clients.authentication import Authentication
from sshload_worker.clients.delay import new_descriptor
from sshload_worker.clients.file_protocols import begin_read, begin_write
from sshload_worker.clients.interface import Connection, RemoteFile, Sftp
from sshload_worker.clients.ssh2.auth import authenticate
from sshload_worker.clients.ssh2.channel import DEFAULT_READ_BYTES, SSH2Channel
from sshload_worker.clients.ssh2.driver import Driver
from sshload_worker.clients.ssh2.idle import IdleSession, await_reply
from sshload_worker.clients.ssh2.jump import TunnelDescriptor
from sshload_worker.clients.ssh2.settings import DEFAULT_PACKET_BYTES, DEFAULT_WINDOW_BYTES, new_session
from sshload_worker.clients.ssh2.sftp import open_sftp
from sshload_worker.clients.ssh2.shared_driver import SharedDriver
from sshload_worker.clients.tcp import Descriptor, await_banner
from sshload_worker.login.login import Login
from sshload_worker.outcomes import StepFailure

_ORIGIN_HOST = b"127.0.0.1"
_ORIGIN_PORT = 0


class SSH2Connection:
    """One connection (clients.interface.Connection)."""

    times_parts = True

    def __init__(self, login: Login, through: Connection | None = None) -> None:
        self._login = login
        self._address: tuple[object, ...] = (login.host, login.port)
        self._descriptor: Descriptor
        if login.address is not None:
            family, self._address = login.address
            self._descriptor = new_descriptor(login.client, family, login.source_address)
        else:
            self._descriptor = TunnelDescriptor(cast("SSH2Connection", through))
        client = login.client
        self._read_bytes = client.read_buffer_bytes or DEFAULT_READ_BYTES
        self._window_bytes = client.window_bytes or DEFAULT_WINDOW_BYTES
        self._packet_bytes = client.packet_bytes or DEFAULT_PACKET_BYTES
        self._sizes_are_default = client.window_bytes is None and client.packet_bytes is None
        self._driver: Driver | None = None
        self._server_version = ""
        self.authentication: Authentication | None = None
        self._idle: IdleSession | None = None
        self._was_lost = False

    def connect(self) -> None:
        """Open the TCP connection, or the channel through the jump host."""
        self._descriptor.connect(self._address)

    def banner(self) -> None:
        """Wait for the server's version line."""
        self._server_version = await_banner(self._descriptor)

    def kex(self) -> None:
        """Exchange keys, and check the host key against the known ones."""
        session = new_session(self._login.client, self._login.host_keys)
        self._driver = Driver(session, self._descriptor)
        self._driver.until_done(Timing.KEX, self._descriptor.call_corked, session.handshake, self._descriptor)
        blob, _ = session.hostkey()
        refusal = self._login.host_keys.refusal(blob)
        if refusal:
            raise StepFailure(Outcome.HOST_KEY_MISMATCH, refusal)

    def auth(self) -> None:
        """Authenticate with the login's credentials."""
        self.authentication = Authentication(self._login.credentials)
        authenticate(self.driver, self._login, self.authentication)

    def negotiated(self) -> Negotiated:
        """Return the algorithms that the handshake negotiated, and the server's version."""
        method = self.driver.session.methods
        cipher = method(ssh2_session.LIBSSH2_METHOD_CRYPT_CS)
        own_mac = "poly1305" in cipher or "gcm" in cipher
        return Negotiated(
            kex=method(ssh2_session.LIBSSH2_METHOD_KEX),
            cipher=cipher,
            mac=IMPLICIT_MAC if own_mac else method(ssh2_session.LIBSSH2_METHOD_MAC_CS),
            host_key=method(ssh2_session.LIBSSH2_METHOD_HOSTKEY),
            server_version=self._server_version,
        )

    def is_lost(self) -> bool:
        """Return whether the server has closed the connection, without reading from it."""
        return self._was_lost or self._descriptor.peer_has_closed()

    def keep_alive(self) -> None:
        """Send a keep-alive request, and wait for the reply."""
        await_reply(self.driver)

    def rest(self, lost: Callable[[StepFailure], object]) -> None:
        """Answer the server from the loop until `resume`."""
        self._idle = IdleSession(self.driver, partial(self._end_of_rest, lost))

    def request_keep_alive(self, replied: Callable[[], object]) -> None:
        """Send a keep-alive request while the connection rests."""
        if self._idle is not None:
            self._idle.request_keep_alive(replied)

    def resume(self) -> None:
        """Leave the connection to whoever uses it next."""
        if self._idle is not None:
            self._idle.end()
            self._idle = None

    def _end_of_rest(self, lost: Callable[[StepFailure], object], failure: StepFailure) -> None:
        self._was_lost = True
        lost(failure)

    def open_channel(self) -> SSH2Channel:
        """Open a session channel."""
        driver = self.driver
        if self._sizes_are_default:  # the binding's own call uses these, and is cheaper
            opened = driver.until_opened(Timing.CHANNEL_OPEN, driver.session.open_session)
            return SSH2Channel(driver, opened, self._read_bytes)
        return self._opened(b"session", b"")

    def open_forward(self, host: str, port: int) -> SSH2Channel:
        """Open a channel that the server forwards to `host` and `port`."""
        return self._opened(b"direct-tcpip", _direct_tcpip_message(host, port))

    def open_sftp(self) -> Sftp:
        """Open a channel with the SFTP subsystem."""
        return open_sftp(self.driver, self._login.client)

    def scp_read(self, path: str) -> RemoteFile:
        """Start to read a file by scp.

        libssh2's own scp is not used: it discards the server's messages, and after a failure it keeps the whole process
        busy until the server closes the channel, possibly forever.
        """
        return begin_read(self.open_channel(), path)

    def scp_write(self, path: str, size_bytes: int) -> RemoteFile:
        """Start to write a file by scp, without libssh2's own scp for the same reasons."""
        return begin_write(self.open_channel(), path, size_bytes)

    def close(self) -> None:
        """Send a disconnect message if possible, and end the connection. Never waits."""
        self.resume()
        if self._driver is not None:
            with suppress(SSH2Error):  # the server may have closed the connection already
                self._driver.session.disconnect()
        self._descriptor.shut_down()
        if self._driver is not None:
            for subsystem in self._driver.subsystems:
                subsystem.free()
            self._driver.subsystems.clear()
        self._driver = None

    @property
    def driver(self) -> Driver:
        """The session's driver, from the key exchange on; raises StepFailure once the connection is closed."""
        if self._driver is None:
            raise StepFailure(Outcome.DISCONNECTED, "the connection is closed")
        return self._driver

    def _opened(self, kind: bytes, message: bytes) -> SSH2Channel:
        driver = self.driver
        arguments = driver.session, kind, self._window_bytes, self._packet_bytes, message
        return SSH2Channel(driver, driver.until_opened(Timing.CHANNEL_OPEN, open_channel, *arguments), self._read_bytes)


def _direct_tcpip_message(host: str, port: int) -> bytes:
    """Return the type-specific data of the request: the target's and the originator's host and port."""
    return _string(host.encode()) + struct.pack(">I", port) + _string(_ORIGIN_HOST) + struct.pack(">I", _ORIGIN_PORT)


def _string(text: bytes) -> bytes:
    return struct.pack(">I", len(text)) + text


class SharedConnection(SSH2Connection):
    """A connection that several greenlets share after `auth`, each with its own channels."""

    def auth(self) -> None:
        """Authenticate with the login's credentials."""
        super().auth()
        self._driver = SharedDriver(self.driver.session, self._descriptor)

    def rest(self, lost: Callable[[StepFailure], object]) -> None:
        """Do nothing: the driver answers the server whenever no greenlet uses the session."""

    def is_lost(self) -> bool:
        """Return whether the server has closed the connection, or the session cannot be used any more."""
        driver = self._driver
        return super().is_lost() or (isinstance(driver, SharedDriver) and bool(driver.lost))

    def close(self) -> None:
        """Fail all operations in progress, and end the connection. Never waits."""
        driver = self._driver
        if isinstance(driver, SharedDriver):
            driver.close("the connection was closed")
        super().close()
