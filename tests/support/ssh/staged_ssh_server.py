"""One SSH connection's server, taken from stage to stage: each is in order, so that a fault can follow anywhere.

It lets anybody in who signs, without a look at the signature, and gives one channel. What it hears on the way that
needs no answer it passes over; the end of the client's input and its close of the channel it answers with a close.
"""

import socket
import struct
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from bare_ssh_server import (
    CHANNEL_CLOSE,
    CHANNEL_CONFIRMATION,
    CHANNEL_DATA,
    CHANNEL_REQUEST,
    CHANNEL_SUCCESS,
    KEXINIT,
    SERVICE_ACCEPT,
    USERAUTH_SUCCESS,
    BareServer,
    Exchange,
    string,
)
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from unkind_servers import speaking

DISCONNECT, SERVICE_REQUEST, USERAUTH_REQUEST, USERAUTH_FAILURE, USERAUTH_KEY_KNOWN = 1, 5, 50, 51, 60
GLOBAL_REQUEST, REQUEST_FAILURE = 80, 82
CHANNEL_OPEN, WINDOW_ADJUST, CHANNEL_EXTENDED_DATA, CHANNEL_EOF = 90, 93, 95, 96
WINDOW_BYTES, PACKET_BYTES = 2**21, 2**15
METHODS = b"publickey"

_SFTP_INIT, _SFTP_VERSION = 1, 2  # draft-ietf-secsh-filexfer-02 section 3
_STARTS = (b"exec", b"shell", b"subsystem")


class StagedServer(BareServer):
    """A server to be taken through the stages of RFC 4252 and RFC 4254 in their order."""

    def __init__(self, connection: socket.socket, host_key: Ed25519PrivateKey) -> None:
        super().__init__(connection)
        self.connection = connection
        self._host_key = host_key
        self.window_bytes = 0
        self._client_channel = 0
        self._has_closed = False
        self._sftp = b""

    def hear_offer(self) -> None:
        """Exchange versions, and wait until the client offers a key exchange."""
        self.greet()
        self.hear(KEXINIT)

    def exchange_own_keys(self) -> None:
        """Exchange keys in order."""
        self.exchange_keys(Exchange(host_key=self._host_key))

    def exchange_strange_keys(self) -> None:
        """Exchange keys with a host key that is not the server's."""
        self.exchange_keys(Exchange())

    def exchange_forged_keys(self) -> None:
        """Exchange keys with the server's host key, for which another one signs."""
        self.exchange_keys(Exchange(host_key=self._host_key, forged=True))

    def offer_unknown_keys(self) -> None:
        """Offer a key exchange by a method that nobody knows."""
        self.offer_keys(Exchange(method="unknown@example.org"))
        self.await_end()

    def hear(self, *kinds: int) -> bytes:
        """Return the client's next message of these kinds; others are answered or passed over."""
        while (message := self.receive())[0] not in kinds:
            self._pass_over(message)
        return message

    def accept_service(self) -> None:
        """Agree to authenticate."""
        self.hear(SERVICE_REQUEST)
        self.send(bytes([SERVICE_ACCEPT]) + string(b"ssh-userauth"))

    def hear_signature(self) -> None:
        """Ask for a signature until the client sends one."""
        while True:
            request = Fields(self.hear(USERAUTH_REQUEST)[1:])
            _, _, method = request.string(), request.string(), request.string()
            if method != b"publickey":
                self.send(bytes([USERAUTH_FAILURE]) + string(METHODS) + bytes(1))
                continue
            is_signed = request.flag()
            algorithm, key = request.string(), request.string()
            if is_signed:
                return
            self.send(bytes([USERAUTH_KEY_KNOWN]) + string(algorithm) + string(key))

    def let_in(self) -> None:
        """Let the user in."""
        self.accept_service()
        self.hear_signature()
        self.send(bytes([USERAUTH_SUCCESS]))

    def hear_channel(self) -> None:
        """Wait until the client asks for a channel."""
        asked = Fields(self.hear(CHANNEL_OPEN)[1:])
        asked.string()
        self._client_channel, self.window_bytes = asked.number(), asked.number()

    def open_channel(self, window_bytes: int = WINDOW_BYTES, packet_bytes: int = PACKET_BYTES) -> None:
        """Give the channel that the client asks for, with so much room for what it sends, and in each packet."""
        self.hear_channel()
        self.about_channel(CHANNEL_CONFIRMATION, struct.pack(">III", 0, window_bytes, packet_bytes))

    def open_shut_channel(self) -> None:
        """Give the channel without any room for what the client sends."""
        self.open_channel(window_bytes=0)

    def let_start(self) -> None:
        """Serve a client up to its request for a command, shell or subsystem, which is not answered."""
        self.exchange_own_keys()
        self.let_in()
        self.open_channel()
        self.hear_start()

    def hear_start(self) -> None:
        """Wait until the client asks for a command, shell or subsystem."""
        while True:
            asked = Fields(self.hear(CHANNEL_REQUEST)[5:])
            kind = asked.string()
            if kind in _STARTS:
                return
            if asked.flag():
                self.about_channel(CHANNEL_SUCCESS)

    def start(self) -> None:
        """Grant what the client asks for."""
        self.hear_start()
        self.about_channel(CHANNEL_SUCCESS)

    def about_channel(self, kind: int, rest: bytes = b"") -> None:
        """Send a message that begins with the client's number of the channel."""
        self.send(struct.pack(">BI", kind, self._client_channel) + rest)

    def say(self, data: bytes, *, stderr: bool = False) -> None:
        """Send data, whatever room the client has left for it."""
        self.window_bytes -= len(data)
        for begin in range(0, len(data), PACKET_BYTES):
            piece = string(data[begin : begin + PACKET_BYTES])
            if stderr:
                self.about_channel(CHANNEL_EXTENDED_DATA, struct.pack(">I", 1) + piece)
            else:
                self.about_channel(CHANNEL_DATA, piece)

    def say_for_ever(self, data: bytes, *, stderr: bool = False) -> None:
        """Send data again and again, as fast as the client gives room."""
        while True:
            while self.window_bytes < len(data):
                message = self.receive()
                if message[0] != CHANNEL_EOF:  # which ends what the client says, and not what it is told
                    self._pass_over(message)
            self.say(data, stderr=stderr)

    def exit(self, code: int) -> None:
        """Tell an exit status."""
        self.about_channel(CHANNEL_REQUEST, string(b"exit-status") + bytes(1) + struct.pack(">I", code))

    def exit_by(self, signal: bytes) -> None:
        """Tell an exit signal."""
        said = string(signal) + bytes(1) + string(b"") + string(b"")
        self.about_channel(CHANNEL_REQUEST, string(b"exit-signal") + bytes(1) + said)

    def end_output(self) -> None:
        """Say that no more comes."""
        self.about_channel(CHANNEL_EOF)

    def close_channel(self) -> None:
        """Close the channel, unless it is closed."""
        if not self._has_closed:
            self._has_closed = True
            self.about_channel(CHANNEL_CLOSE)

    def hear_sftp(self) -> tuple[int, bytes, "Fields"]:
        """Return the type of the client's next SFTP request, its number as it is sent, and what follows."""
        while len(self._sftp) < 4 or len(self._sftp) < 4 + struct.unpack(">I", self._sftp[:4])[0]:
            message = self.hear(CHANNEL_DATA)
            self._sftp += Fields(message[5:]).string()
        packet = Fields(self._sftp).string()
        self._sftp = self._sftp[4 + len(packet) :]
        return packet[0], packet[1:5], Fields(packet[5:])

    def say_sftp(self, kind: int, rest: bytes) -> None:
        """Send an SFTP packet."""
        self.say(string(bytes([kind]) + rest))

    def begin_sftp(self) -> None:
        """Agree on version 3."""
        kind, *_ = self.hear_sftp()
        assert kind == _SFTP_INIT, kind
        self.say_sftp(_SFTP_VERSION, struct.pack(">I", 3))

    def _pass_over(self, message: bytes) -> None:
        if message[0] == WINDOW_ADJUST:
            self.window_bytes += struct.unpack(">I", message[5:9])[0]
        elif message[0] == CHANNEL_EOF:
            self.end_output()
            self.close_channel()
        elif message[0] == CHANNEL_CLOSE:
            self.close_channel()
        elif message[0] == GLOBAL_REQUEST:
            asked = Fields(message[1:])
            asked.string()
            if asked.flag():
                self.send(bytes([REQUEST_FAILURE]))


class Fields:
    """The fields of a message, one after the other (RFC 4251 section 5)."""

    def __init__(self, message: bytes) -> None:
        self._rest = message

    def string(self) -> bytes:
        """Return the next one, a string."""
        return self._take(self.number())

    def number(self) -> int:
        """Return the next one, a uint32."""
        return int.from_bytes(self._take(4), "big")

    def long_number(self) -> int:
        """Return the next one, a uint64."""
        return int.from_bytes(self._take(8), "big")

    def flag(self) -> bool:
        """Return the next one, a boolean."""
        return self._take(1) != b"\0"

    def _take(self, count: int) -> bytes:
        taken, self._rest = self._rest[:count], self._rest[count:]
        return taken


Stage = Callable[[StagedServer], object]
"""A part of what a server does."""


class Staged:
    """A running server of such connections: its port, its host key, and how many connections have begun and ended."""

    def __init__(self, port: int, host_key: bytes) -> None:
        self.port = port
        self.host_key = host_key
        self.begun = 0
        self.ended = 0

    def known_hosts(self) -> str:
        """Return what a client is to know of it (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT)."""
        return f"[127.0.0.1]:{self.port} ssh-ed25519 {b64encode(self.host_key).decode()}\n"


@contextmanager
def staged(serve: Stage) -> Iterator[Staged]:
    """Run a server that takes each connection through `serve` until the block ends."""
    key = Ed25519PrivateKey.generate()

    def take(connection: socket.socket) -> None:
        server.begun += 1
        try:
            with suppress(OSError):  # the client has gone
                serve(StagedServer(connection, key))
        finally:
            server.ended += 1

    with speaking(take) as port:
        server = Staged(port, string(b"ssh-ed25519") + string(key.public_key().public_bytes_raw()))
        yield server
