"""asyncssh's connection, over TCP or inside a channel of a jump host.

It stops between key exchange and authentication, so that they are timed separately. From a channel, the banner is read
first, and then the channel is handed over to asyncssh.
"""

import socket
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import asyncssh
from asyncssh.connection import SSHClientConnection
from asyncssh.constants import MSG_DISCONNECT, MSG_KEXINIT, MSG_NEWKEYS, MSG_USERAUTH_FAILURE
from asyncssh.misc import HostKeyNotVerifiable, KeyExchangeFailed
from asyncssh.packet import SSHPacket
from asyncssh.public_key import SSHKey, decode_ssh_certificate, decode_ssh_public_key
from gevent.event import Event
from sshload_contract.client import Auth

from sshload_worker.clients.tcp import Descriptor
from sshload_worker.login.login import Login
from sshload_worker.outcomes import StepFailure

if TYPE_CHECKING:
    from sshload_worker.clients.authentication import Authentication

_PIECE_BYTES = 262_144


class _Owner(asyncssh.SSHClient):
    """asyncssh's callbacks for the events of a connection, and for the user's answers."""

    def __init__(self, milestones: "Milestones") -> None:
        self._milestones = milestones
        self._has_asked = False

    def connection_lost(self, exc: Exception | None) -> None:
        """Record the end of the connection."""
        self._milestones.end(exc)

    def auth_completed(self) -> None:
        """Record that the login is complete."""
        self._milestones.authenticated.set()

    def auth_banner_received(self, msg: str, lang: str) -> None:  # noqa: ARG002 - asyncssh's signature
        """Take a text of the server."""
        if self._milestones.authentication is not None:
            self._milestones.authentication.says(msg.encode())

    def kbdint_auth_requested(self) -> str | None:
        """Accept keyboard-interactive, once: as the login's method, or after the server has accepted the first one."""
        found = self._milestones.authentication
        if found is None or self._has_asked or self._milestones.failure is not None:
            return None
        if found.credentials.auth is not Auth.KEYBOARD_INTERACTIVE and not self._milestones.is_partly_authenticated:
            return None
        self._has_asked = True
        return ""

    def kbdint_challenge_received(
        self,
        name: str,  # noqa: ARG002 - asyncssh's signature
        instructions: str,
        lang: str,  # noqa: ARG002 - asyncssh's signature
        prompts: Sequence[tuple[str, bool]],
    ) -> list[str] | None:
        """Answer the prompts, or none of them."""
        found = self._milestones.authentication
        if found is None:
            return None
        try:
            answers = found.answer(instructions.encode(), [prompt.encode() for prompt, _ in prompts])
        except StepFailure as failure:
            self._milestones.failure = StepFailure(failure.outcome, failure.message)
            return None
        return [answer.decode() for answer in answers]

    def password_change_requested(self, prompt: str, lang: str) -> Any:  # noqa: ARG002 - asyncssh's signature
        """Record that the password has expired, and change nothing."""
        found = self._milestones.authentication
        if found is not None:
            found.says(prompt.encode())
            self._milestones.failure = found.asked_for_new_password()
        return NotImplemented


_NO_METHOD = b"none"
"""With which asyncssh asks the server for its methods (RFC 4252 section 5.2)."""


class Milestones:
    """The milestones of a connection. The end of the connection sets all of them, so that every waiter wakes."""

    def __init__(self) -> None:
        self.keys_exchanged = Event()
        self.authenticated = Event()
        self.ended = Event()
        self.error: Exception | None = None
        self.disconnect_text = ""
        self.offered_methods: tuple[str, ...] = ()
        self.is_partly_authenticated = False
        self.is_refused = False
        self.authentication: Authentication | None = None
        self.failure: StepFailure | None = None

    def end(self, error: Exception | None) -> None:
        """Record the end, and its error unless one is known already."""
        self.error = self.error or error
        for milestone in (self.ended, self.keys_exchanged, self.authenticated):
            milestone.set()


class Protocol(SSHClientConnection):
    """One connection's protocol. It requests authentication only when `log_in` is called."""

    descriptor: Descriptor | None = None
    """The owner of the socket's file descriptor, kept until asyncssh has released it."""

    def __init__(self, loop: Any, options: Any, login: Login, gss: Any) -> None:
        self.milestones = Milestones()
        options.protocol_factory = lambda: _Owner(self.milestones)
        super().__init__(loop, options)
        self._gss = gss
        self._gss_auth = self._gss_mic_auth = gss is not None
        self._login = login
        self._quick_ack = login.client.quick_ack
        self._requested_service = b""
        self.kex_name = ""

    @property
    def host_key_name(self) -> str:
        """The negotiated host key algorithm (RFC 4253 section 7.1)."""
        offer = SSHPacket(self._server_kexinit)
        offer.get_bytes(17)  # the message's number, and the cookie
        offer.get_namelist()
        known_to_server = offer.get_namelist()
        agreed = next(name for name in self._server_host_key_algs or () if name in known_to_server)
        return str(agreed, "ascii")

    def data_received(self, data: bytes, datatype: int | None = None) -> None:
        """Process data, and have the next data acknowledged immediately if quickAck is set."""
        super().data_received(data, datatype)
        if self._quick_ack and self._transport is not None:
            connection = self._transport.get_extra_info("socket")
            if connection is not None:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)

    def connection_lost(self, exc: Exception | None = None) -> None:
        """Process what came before the end: asyncio reads nothing more once it cannot send."""
        if isinstance(exc, OSError) and self.descriptor is not None:
            with suppress(OSError):
                while self._transport is not None and (data := self.descriptor.socket.recv(_PIECE_BYTES)):
                    super().data_received(data)
        super().connection_lost(exc)

    def send_newkeys(self, k: bytes, h: bytes) -> None:
        """Finish a key exchange."""
        self.kex_name = str(self._kex.algorithm, "ascii") if self._kex else ""
        super().send_newkeys(k, h)

    def send_service_request(self, service: bytes) -> None:
        """Postpone the first request until `log_in`."""
        self._requested_service = service

    def log_in(self) -> None:
        """Request authentication."""
        super().send_service_request(self._requested_service)

    def validate_server_host_key(self, key_data: bytes) -> SSHKey:
        """Return the server's key; raises HostKeyNotVerifiable if it is not a known one."""
        refusal = self._login.host_keys.refusal(key_data)
        if refusal:
            raise HostKeyNotVerifiable(refusal)
        try:
            return decode_ssh_certificate(key_data).key
        except asyncssh.KeyImportError:
            return decode_ssh_public_key(key_data)

    async def send_keepalive(self) -> None:
        """Send a request that no server grants, and wait for the reply."""
        await self._make_global_request(b"keepalive@openssh.com")

    async def _record_offer(self, kind: int, number: int, packet: SSHPacket) -> None:
        try:
            await super()._process_kexinit(kind, number, packet)
        except KeyExchangeFailed as error:
            self.milestones.error = error  # the server fails too, and asyncssh may see its close first
            raise

    def _record_new_keys(self, kind: int, number: int, packet: SSHPacket) -> None:
        super()._process_newkeys(kind, number, packet)
        self.milestones.keys_exchanged.set()

    def _record_refusal(self, kind: int, number: int, packet: SSHPacket) -> None:
        # A copy, because asyncssh reads the packet itself afterwards.
        told = SSHPacket(packet.get_remaining_payload())
        self.milestones.offered_methods = tuple(str(name, "ascii", "replace") for name in told.get_namelist())
        self.milestones.is_partly_authenticated = told.get_boolean()
        self._record_acceptance()
        self.milestones.is_refused |= getattr(self._auth, "_method", _NO_METHOD) != _NO_METHOD
        super()._process_userauth_failure(kind, number, packet)

    def _record_acceptance(self) -> None:
        milestones = self.milestones
        if not milestones.is_partly_authenticated or milestones.authentication is None:
            return
        try:
            milestones.authentication.accepted(milestones.offered_methods)
        except StepFailure as failure:
            milestones.failure = StepFailure(failure.outcome, failure.message)

    def _record_disconnect(self, kind: int, number: int, packet: SSHPacket) -> None:
        told = SSHPacket(packet.get_remaining_payload())
        told.get_uint32()
        self.milestones.disconnect_text = told.get_string().decode("utf-8", "replace") or "without a reason"
        super()._process_disconnect(kind, number, packet)

    _packet_handlers = {  # noqa: RUF012 - asyncssh's own name and form
        **SSHClientConnection._packet_handlers,  # noqa: SLF001 - to be extended
        MSG_KEXINIT: _record_offer,
        MSG_NEWKEYS: _record_new_keys,
        MSG_DISCONNECT: _record_disconnect,
        MSG_USERAUTH_FAILURE: _record_refusal,
    }


class Tunnel:
    """A channel of a jump host, read for the banner (clients.tcp.PeekableConnection), then handed over to asyncssh."""

    def __init__(self) -> None:
        self._channel: Any = None
        self._protocol: Protocol | None = None
        self._ahead = b""
        self._ended = False
        self._changed = Event()

    @property
    def socket(self) -> "Tunnel":
        """Return what `await_banner` peeks at: this tunnel itself."""
        return self

    def recv(self, count: int, flags: int = 0) -> bytes:
        """Return at most `count` bytes, none at the end; raises BlockingIOError if there are none yet."""
        if not self._ahead and not self._ended:
            raise BlockingIOError
        taken = self._ahead[:count]
        if flags != socket.MSG_PEEK:
            self._ahead = self._ahead[count:]
        return taken

    def wait_readable(self) -> None:
        """Wait until there is something to read."""
        self._changed.clear()
        self._changed.wait()

    def peer_has_closed(self) -> bool:
        """Return whether the server has sent its last byte."""
        return self._ended

    def hand_over(self, protocol: Protocol) -> None:
        """Pass all data to `protocol`, including data that has already arrived; must be called on the loop."""
        self._protocol = protocol
        protocol.connection_made(self._channel)
        if self._ahead:
            protocol.data_received(self._ahead)
        if self._ended:
            protocol.eof_received()

    def connection_made(self, chan: Any) -> None:
        """Record the channel."""
        self._channel = chan

    def data_received(self, data: bytes, datatype: int | None) -> None:
        """Pass data on."""
        del datatype  # such channels have only one type of data
        if self._protocol is None:
            self._ahead += data
            self._changed.set()
        else:
            self._protocol.data_received(data)

    def eof_received(self) -> bool:
        """Record the end of the data."""
        self._end()
        if self._protocol is not None:
            self._protocol.eof_received()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """Record the end of the channel."""
        self._end()
        if self._protocol is not None:
            self._protocol.connection_lost(exc)

    def pause_writing(self) -> None:
        """Do nothing: asyncssh's connections write however much is queued."""

    def resume_writing(self) -> None:
        """Do nothing, for the same reason."""

    def _end(self) -> None:
        self._ended = True
        self._changed.set()
