"""What stands before the HTTP ports of the operator: strangers reach them, and they share the operator's process.

A port holds few connections, in all and of one address. A connection carries one request: its head is collected here,
bounded, and the server behind gets it only when it is whole, with no more than its body. So what one connection can
make the server keep is one small request, whatever is sent. Addresses take turns at TLS handshakes, because each costs
the event loop a millisecond.
"""

import asyncio
import socket
import ssl
from asyncio import sslproto
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, Final

from aiohttp import web
from sshload_contract.front.admission import ACCEPTED_AT_ONCE, Admission, Limits, address_of, listen
from sshload_contract.front.heads import Head, HeadError, HeadReader, refusal

from sshload_operator.control.metrics.serving_certificate import ServingCertificate
from sshload_operator.control.turns import Turns

_BODY_BYTES: Final = 65_536
_EXCESS_BYTES: Final = 65_536
_REFUSED_S: Final = 1.0
_HANDSHAKES_BEGUN_AT_ONCE: Final = 1
_BETWEEN_HANDSHAKES_S: Final = 0.02
"""Of one address: 50 of them per second cost a twentieth of a CPU."""
_NO_SOCKETS_PAUSE_S: Final = 0.05
_SHUTDOWN_S: Final = 1.0
_OF_A_CONNECTION: Final = frozenset((b"connection", b"keep-alive", b"upgrade"))

MakeProtocol = Callable[[], asyncio.Protocol]


class Front:
    """One port on all addresses, before an application of aiohttp."""

    def __init__(self, port: int, limits: Limits) -> None:
        self._port = port
        self.limits = limits
        self._admission: Admission[_Connection] = Admission(limits)
        self._by_transport: dict[asyncio.BaseTransport, _Connection] = {}
        self._connections: set[_Connection] = set()
        self.handshakes = Turns(_HANDSHAKES_BEGUN_AT_ONCE, _BETWEEN_HANDSHAKES_S)
        self._listening: socket.socket | None = None
        self._runner: web.AppRunner | None = None
        self._following: asyncio.Task[None] | None = None

    async def start(self, app: web.Application, certificate: ServingCertificate | None = None) -> None:
        """Listen, by TLS with a certificate; raises OSError where the port is taken, and CertificateError."""
        tls = None if certificate is None else await certificate.context()
        self._listening = listen("", self._port)
        # What a client that is gone has asked for is not done: whoever asks again and again would let it pile up.
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5, handler_cancellation=True)
        await self._runner.setup()
        make_protocol = self._runner.server
        assert make_protocol is not None  # noqa: S101 - it has been set up
        loop = asyncio.get_running_loop()
        loop.add_reader(self._listening.fileno(), self._accept, self._listening, make_protocol, tls)
        if certificate is not None:
            self._following = loop.create_task(certificate.follow())

    async def stop(self) -> None:
        """Stop listening, let answers that are being made end, and close all connections."""
        if self._following is not None:
            self._following.cancel()
        if self._listening is not None:
            asyncio.get_running_loop().remove_reader(self._listening.fileno())
            self._listening.close()
            self._listening = None
        if self._runner is not None:
            await self._runner.cleanup()
        for connection in list(self._connections):
            connection.abort()

    @contextmanager
    def serving(self, transport: asyncio.BaseTransport | None, most_s: float | None = None) -> Iterator[None]:
        """Do not close the connection for another one while this lasts: `most_s`, or as long as an answer may take."""
        connection = None if transport is None else self._by_transport.get(transport)
        if connection is None:
            yield
            return
        self._admission.keep(connection)
        connection.has_until(self.limits.answer_s if most_s is None else most_s)
        try:
            yield
        finally:
            self._admission.wait(connection)
            connection.has_until(self.limits.answer_s)

    def opened(self, connection: "_Connection", transport: asyncio.Transport) -> None:
        """Know the connection by its transport: with TLS, from the end of the handshake."""
        self._by_transport[transport] = connection

    def closed(self, connection: "_Connection") -> None:
        """Forget the connection."""
        self._admission.remove(connection)
        self._connections.discard(connection)
        if connection.transport is not None:
            self._by_transport.pop(connection.transport, None)

    def _accept(self, listening: socket.socket, make_protocol: MakeProtocol, tls: ssl.SSLContext | None) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                accepted, peer = listening.accept()
            except BlockingIOError:
                return
            except OSError:  # no file descriptor is left, or the peer is gone
                loop = asyncio.get_running_loop()
                loop.remove_reader(listening.fileno())
                loop.call_later(_NO_SOCKETS_PAUSE_S, self._go_on, listening, make_protocol, tls)
                return
            address = address_of(peer)
            connection = _Connection(self, accepted, make_protocol)
            leaving = self._admission.admit(connection, address)
            if leaving is connection:
                accepted.close()
                continue
            if leaving is not None:
                leaving.abort()
            self._connections.add(connection)
            connection.begin(address, tls)

    def _go_on(self, listening: socket.socket, make_protocol: MakeProtocol, tls: ssl.SSLContext | None) -> None:
        if self._listening is listening:
            asyncio.get_running_loop().add_reader(listening.fileno(), self._accept, listening, make_protocol, tls)


class _Connection(asyncio.Protocol):
    """One connection: the head, the body, and then nothing more reaches the server behind."""

    def __init__(self, front: Front, accepted: socket.socket, make_protocol: MakeProtocol) -> None:
        self._front = front
        self._socket = accepted
        self._make_protocol = make_protocol
        self._reader = HeadReader()
        self._behind: asyncio.Protocol | None = None
        self._body_left = 0
        self._excess_left = _EXCESS_BYTES
        self._beginning: asyncio.Task[asyncio.Transport] | None = None
        self._ending: asyncio.TimerHandle | None = None
        self._below: asyncio.Transport | None = None  # of the socket
        self.transport: asyncio.Transport | None = None  # of what is read and written: with TLS another one

    def begin(self, address: str, tls: ssl.SSLContext | None) -> None:
        """Take the socket over, with a TLS handshake if there is a context."""
        self._socket.setblocking(False)
        self.has_until(self._front.limits.head_s)
        beginning = self._connect(self) if tls is None else self._shake_hands(address, tls)
        self._beginning = asyncio.get_running_loop().create_task(beginning)
        self._beginning.add_done_callback(self._begun)

    async def _shake_hands(self, address: str, tls: ssl.SSLContext) -> asyncio.Transport:
        async with self._front.handshakes.turn(address):
            return await self._connect(_Tls(asyncio.get_running_loop(), self, tls, self.forget))

    async def _connect(self, protocol: asyncio.BaseProtocol) -> asyncio.Transport:
        transport, _ = await asyncio.get_running_loop().connect_accepted_socket(lambda: protocol, self._socket)
        return transport

    def _begun(self, beginning: asyncio.Task[asyncio.Transport]) -> None:
        self._beginning = None
        if beginning.cancelled() or beginning.exception() is not None:
            self._socket.close()
            self.forget()
        else:
            self._below = beginning.result()

    def has_until(self, left_s: float | None) -> None:
        """Abort the connection after `left_s`; None: never."""
        if self._ending is not None:
            self._ending.cancel()
        self._ending = None if left_s is None else asyncio.get_running_loop().call_later(left_s, self.abort)

    def abort(self) -> None:
        """Close at once, whatever is not sent."""
        if self._below is not None:
            self._below.abort()
        elif self._beginning is not None:
            self._beginning.cancel()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for a head."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - of a socket
        self.transport = transport
        self._front.opened(self, transport)

    def data_received(self, data: bytes) -> None:
        """Collect the head, hand it on when it is whole, then the body, and then nothing more."""
        if self._behind is None:
            self._collect(data)
            return
        if self._body_left:
            self._behind.data_received(data[: self._body_left])
        excess = len(data) - self._body_left
        self._body_left = max(0, -excess)
        self._excess_left -= max(0, excess)
        if self._excess_left < 0:
            self.abort()

    def _collect(self, data: bytes) -> None:
        assert self.transport is not None  # noqa: S101 - data comes after connection_made
        try:
            head = self._reader.feed(data)
            self._body_left = 0 if head is None else _body_bytes(head)
        except HeadError as error:
            self.transport.write(refusal(error))
            # No close yet: with bytes unread it would be a reset, and lose the answer. Paused TLS would collect them.
            (self._below or self.transport).pause_reading()
            self.has_until(_REFUSED_S)
            return
        if head is None or self.transport.is_closing():
            return
        self._behind = self._make_protocol()
        self._behind.connection_made(self.transport)
        self.has_until(self._front.limits.answer_s)
        self._behind.data_received(_of_one_request(head))
        if self._reader.rest:
            self.data_received(self._reader.rest)

    def eof_received(self) -> bool | None:
        """Hand it on."""
        return None if self._behind is None else self._behind.eof_received()

    def pause_writing(self) -> None:
        """Hand it on."""
        if self._behind is not None:
            self._behind.pause_writing()

    def resume_writing(self) -> None:
        """Hand it on."""
        if self._behind is not None:
            self._behind.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Make room."""
        behind = self._behind
        self.forget()
        if behind is not None:
            behind.connection_lost(exc)

    def forget(self) -> None:
        """Make room, and let go of what leads back to here: else all of it would wait for the garbage collector."""
        self.has_until(None)
        self._front.closed(self)
        self._behind = self._below = self.transport = None


class _Tls(sslproto.SSLProtocol):
    """TLS with a buffer for small requests: asyncio's own has 256 kB. A handshake that fails is the peer's affair."""

    max_size = 16_384

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        above: asyncio.Protocol,
        context: ssl.SSLContext,
        forget: Callable[[], None],
    ) -> None:
        nobody: Any = None  # waits for the handshake
        super().__init__(loop, above, context, nobody, server_side=True, ssl_shutdown_timeout=_SHUTDOWN_S)
        self._let_go = forget

    def connection_lost(self, exc: BaseException | None) -> None:
        """Say so after a handshake that failed, too: what is above hears only of later ends."""
        super().connection_lost(exc)
        asyncio.get_running_loop().call_soon(self._let_go)


def _body_bytes(head: Head) -> int:
    length = head.body_bytes()
    if length > _BODY_BYTES:
        raise HeadError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    return length


def _of_one_request(head: Head) -> bytes:
    """Return the head as the server behind gets it: the answer is the last of the connection."""
    fields = [name + b": " + value for name, value in head.fields if name not in _OF_A_CONNECTION]
    return b"\r\n".join((head.line, *fields, b"Connection: close", b"", b""))
