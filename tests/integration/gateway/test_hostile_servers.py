import asyncio
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import asyncssh
import pytest
from bare_ssh_server import CHANNEL_DATA, CHANNEL_REQUEST, CHANNEL_SUCCESS, string
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from sshload_contract.allow_list import AllowedTarget
from sshload_gateway.ssh.command import Command, CommandOutcome, Execution, Result
from sshload_gateway.ssh.destinations import destinations
from sshload_gateway.ssh.failures import ServerError, SessionRefusedError
from sshload_gateway.ssh.listing import Listing, Page, Request
from sshload_gateway.ssh.login import Account, Secrets, SshLogin
from staged_ssh_server import CHANNEL_EOF, DISCONNECT, GLOBAL_REQUEST, WINDOW_ADJUST, Fields, StagedServer


@dataclass(frozen=True)
class HostileServer:
    """A running server."""

    port: int
    host_key: str
    """As a line of authorized_keys."""


@contextmanager
def hostile_server(serve: Callable[[StagedServer], object]) -> Iterator[HostileServer]:
    """Exchange keys in order on each connection, let the user in and then call `serve`, until the block ends."""
    key = Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)

    def take(connection: socket.socket) -> None:
        with connection, suppress(OSError, EOFError):
            server = StagedServer(connection, key)
            server.exchange_own_keys()
            server.let_in()
            serve(server)

    def listen() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                threading.Thread(target=take, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=listen, daemon=True).start()
        try:
            yield HostileServer(listening.getsockname()[1], public.decode())
        finally:
            listening.shutdown(socket.SHUT_RDWR)


_PATIENCE_S = 300.0
_IGNORE, _NO_SUCH_MESSAGE = 2, 192
_SIGNALS_OF_AN_END = 2
_CHANNEL_FAILURE = 100  # RFC 4254 section 9
_SFTP_STATUS, _SFTP_HANDLE, _SFTP_NAME = 101, 102, 104  # draft-ietf-secsh-filexfer-02 section 3


def test_a_command_that_the_server_has_not_confirmed_is_ended_too() -> None:
    begun = threading.Event()
    signals: list[tuple[bytes, bytes]] = []

    def serve(server: StagedServer) -> None:
        server.open_channel()
        server.hear_start()
        server.hear(CHANNEL_EOF)
        begun.set()
        while len(signals) < _SIGNALS_OF_AN_END:
            asked = Fields(server.hear(CHANNEL_REQUEST)[5:])
            kind, _ = asked.string(), asked.flag()
            signals.append((kind, asked.string()))
        server.await_end()

    with hostile_server(serve) as running:
        result = _play(running, lambda ssh: _run(ssh, timeout_s=2))

    assert begun.is_set()
    assert signals == [(b"signal", b"TERM"), (b"signal", b"KILL")]
    assert (result.outcome, result.has_ended) == (CommandOutcome.TIMEOUT, False)


def test_stdin_follows_a_command_before_the_server_has_confirmed_it() -> None:
    def serve(server: StagedServer) -> None:
        server.open_channel()
        server.hear_start()
        read = Fields(server.hear(CHANNEL_DATA)[5:]).string()
        server.hear(CHANNEL_EOF)
        server.about_channel(CHANNEL_SUCCESS)
        server.say(read)
        server.exit(0)
        server.close_channel()
        server.await_end()

    with hostile_server(serve) as running:
        result = _play(running, lambda ssh: _run(ssh, stdin=b"read this"))

    assert (result.outcome, result.exit_code, result.stdout) == (CommandOutcome.EXITED, 0, b"read this")


def test_a_command_that_the_server_refuses_is_told_as_refused_whatever_it_was_to_read() -> None:
    def serve(server: StagedServer) -> None:
        server.open_channel()
        server.hear_start()
        server.about_channel(_CHANNEL_FAILURE)
        server.await_end()

    with hostile_server(serve) as running, pytest.raises(ServerError, match="refused to run a command"):
        _play(running, lambda ssh: _run(ssh, stdin=b"read this"))


@pytest.mark.parametrize(("stdin", "is_sound"), [(b"", True), (b"nobody takes this", False)])
def test_a_connection_whose_channel_stays_open_after_a_refusal_gets_no_other_command(
    stdin: bytes, *, is_sound: bool
) -> None:
    def serve(server: StagedServer) -> None:
        server.open_shut_channel()
        server.hear_start()
        server.about_channel(_CHANNEL_FAILURE)
        server.hear(DISCONNECT)

    async def refused(ssh: asyncssh.SSHClientConnection) -> bool:
        execution = Execution(Command("true", stdin, _PATIENCE_S, 1_024))
        with pytest.raises(ServerError, match="refused to run a command"):
            await execution.run(ssh)
        return execution.is_sound

    with hostile_server(serve) as running:
        assert _play(running, refused) == is_sound


def test_a_server_that_takes_stdin_by_the_byte_gets_none() -> None:
    data: list[bytes] = []

    def serve(server: StagedServer) -> None:
        server.open_channel(packet_bytes=1)
        data.append(server.hear(CHANNEL_DATA, DISCONNECT))

    with hostile_server(serve) as running, pytest.raises(SessionRefusedError):
        _play(running, lambda ssh: _run(ssh, timeout_s=2, stdin=b"read this"))
    assert [message[0] for message in data] in ([], [DISCONNECT])


def test_no_key_exchange_is_offered_in_which_the_server_chooses_a_group() -> None:
    async def offered(ssh: asyncssh.SSHClientConnection) -> bytes:
        return ssh._client_kexinit

    with hostile_server(StagedServer.await_end) as running:
        offer = _play(running, offered)
    assert b"curve25519-sha256" in offer
    assert b"diffie-hellman-group14-sha256" in offer
    assert b"group-exchange" not in offer
    assert not [bits for bits in (b"group16", b"group17", b"group18") if bits in offer]


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(bytes([_IGNORE]) + string(b""), id="empty packets"),
        pytest.param(bytes([GLOBAL_REQUEST]) + string(b"any@example.org") + b"\1", id="requests"),
        pytest.param(bytes([_NO_SUCH_MESSAGE]), id="messages that nobody knows"),
    ],
)
def test_a_server_that_floods_a_connection_is_closed_and_keeps_nobody_waiting(message: bytes) -> None:
    def serve(server: StagedServer) -> None:
        while True:
            server.send(message)

    async def play(ssh: asyncssh.SSHClientConnection) -> int:
        turns = 0
        while ssh._transport is not None:
            await asyncio.sleep(0)
            turns += 1
        return turns

    with hostile_server(serve) as running:
        assert _play(running, play) > 2_000 // 64


@pytest.mark.parametrize("where", ["exec", "sftp"])
def test_a_server_that_floods_the_channel_of_a_command_is_closed(where: str) -> None:
    def serve(server: StagedServer) -> None:
        server.open_channel()
        server.start()
        if where == "sftp":
            server.begin_sftp()
        while True:
            server.about_channel(WINDOW_ADJUST, struct.pack(">I", 0))

    with hostile_server(serve) as running:
        if where == "exec":
            assert _play(running, _run).outcome is CommandOutcome.CONNECTION_LOST
        else:
            with pytest.raises(ServerError):
                _play(running, _list)


def test_a_command_of_which_no_session_is_opened_in_time_has_not_run() -> None:
    def serve(server: StagedServer) -> None:
        server.hear_channel()
        server.hear(DISCONNECT)

    with hostile_server(serve) as running, pytest.raises(ServerError, match="nothing ran"):
        _play(running, lambda ssh: _run(ssh, timeout_s=0.1))


def test_a_connection_that_is_lost_before_the_server_confirms_a_command_is_told_as_lost() -> None:
    def serve(server: StagedServer) -> None:
        server.open_channel()
        server.hear_start()

    with hostile_server(serve) as running:
        result = _play(running, _run)

    assert (result.outcome, result.exit_code, result.has_ended) == (CommandOutcome.CONNECTION_LOST, None, False)


def test_a_connection_that_is_reset_before_the_server_confirms_a_command_is_told_as_lost() -> None:
    def serve(server: StagedServer) -> None:
        server.open_channel()
        server.hear_start()
        server.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    with hostile_server(serve) as running:
        assert _play(running, _run).outcome is CommandOutcome.CONNECTION_LOST


def test_a_name_that_is_too_long_ends_a_listing() -> None:
    def serve(server: StagedServer) -> None:
        _list_directory(server, struct.pack(">I", 1) + string(b"x" * 1_025) + string(b"") + bytes(4))

    with hostile_server(serve) as running, pytest.raises(ServerError, match="more than 1024 bytes"):
        _play(running, _list)


def test_a_packet_with_more_names_than_are_read_at_once_ends_a_listing() -> None:
    def serve(server: StagedServer) -> None:
        count = 25_000
        _list_directory(server, struct.pack(">I", count) + count * (string(b"x") + string(b"") + bytes(4)))

    with hostile_server(serve) as running, pytest.raises(ServerError, match="SFTP"):
        _play(running, _list)


def test_a_listing_that_cannot_be_read_is_told_as_the_servers_fault() -> None:
    def serve(server: StagedServer) -> None:
        _list_directory(server, struct.pack(">I", 2**31))

    with hostile_server(serve) as running, pytest.raises(ServerError, match="SFTP as expected"):
        _play(running, _list)


@pytest.mark.parametrize("stages", [("open_channel", "hear_start"), ("open_channel", "start")])
def test_a_connection_that_is_lost_before_sftp_begins_is_the_servers_fault(stages: Sequence[str]) -> None:
    def serve(server: StagedServer) -> None:
        for stage in stages:
            getattr(server, stage)()

    with hostile_server(serve) as running, pytest.raises(ServerError, match="SFTP as expected"):
        _play(running, _list)


def _list_directory(server: StagedServer, names: bytes) -> None:
    """Open the directory that the client asks for, and answer with these names."""
    server.open_channel()
    server.start()
    server.begin_sftp()
    closed = struct.pack(">III", 0, 0, 0)
    for kind, rest in ((_SFTP_HANDLE, string(b"handle")), (_SFTP_NAME, names), (_SFTP_STATUS, closed)):
        _, number, _ = server.hear_sftp()
        server.say_sftp(kind, number + rest)
    server.await_end()


async def _list(ssh: asyncssh.SSHClientConnection) -> Page:
    return await Listing(Request(".", b"", 100, 100, _PATIENCE_S)).run(ssh)


async def _run(ssh: asyncssh.SSHClientConnection, timeout_s: float = _PATIENCE_S, stdin: bytes = b"") -> Result:
    return await Execution(Command("true", stdin, timeout_s, 1_024)).run(ssh)


def _play(server: HostileServer, work: Any) -> Any:
    """Log in to a server as the gateway does, and do some work on the connection."""

    async def play() -> Any:
        login = SshLogin(destinations([AllowedTarget("127.0.0.1", (server.port,))], ()), _PATIENCE_S)
        account = Account("127.0.0.1", server.port, "load", "ada", 1)
        key = asyncssh.generate_private_key("ssh-ed25519").export_private_key("openssh")
        ssh = await login(account, lambda: Secrets(key, (server.host_key,)), lambda: None)
        try:
            return await work(ssh)
        finally:
            ssh.abort()

    return asyncio.run(play())
