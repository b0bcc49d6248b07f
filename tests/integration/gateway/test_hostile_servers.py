import asyncio
import socket
import struct
import threading
from typing import Any

import asyncssh
from hostile_ssh_server import HostileServer, hostile_server
from sshload_contract.allow_list import AllowedTarget
from sshload_gateway.ssh.command import Command, Execution, Outcome, Result
from sshload_gateway.ssh.destinations import destinations
from sshload_gateway.ssh.login import Account, Secrets, SshLogin
from staged_ssh_server import Fields, StagedServer

_PATIENCE_S = 300.0
_SIGNALS_OF_AN_END = 2


def test_a_command_that_the_server_has_not_confirmed_is_ended_too() -> None:
    begun = threading.Event()
    signals: list[tuple[bytes, bytes]] = []

    def serve(server: StagedServer) -> None:
        server.open_channel()
        server.hear_start()
        begun.set()
        while len(signals) < _SIGNALS_OF_AN_END:
            asked = Fields(server.hear(98)[5:])
            kind, _ = asked.string(), asked.flag()
            signals.append((kind, asked.string()))
        server.await_end()

    with hostile_server(serve) as running:
        result = _play(running, lambda ssh: _run(ssh, timeout_s=2))

    assert begun.is_set()
    assert signals == [(b"signal", b"TERM"), (b"signal", b"KILL")]
    assert (result.outcome, result.has_ended) == (Outcome.TIMEOUT, False)


def test_a_connection_that_is_lost_before_the_server_confirms_a_command_is_told_as_lost() -> None:
    def serve(server: StagedServer) -> None:
        server.open_channel()
        server.hear_start()

    with hostile_server(serve) as running:
        result = _play(running, _run)

    assert (result.outcome, result.exit_code, result.has_ended) == (Outcome.CONNECTION_LOST, None, False)


def test_a_connection_that_is_reset_before_the_server_confirms_a_command_is_told_as_lost() -> None:
    def serve(server: StagedServer) -> None:
        server.open_channel()
        server.hear_start()
        server.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    with hostile_server(serve) as running:
        assert _play(running, _run).outcome is Outcome.CONNECTION_LOST


async def _run(ssh: asyncssh.SSHClientConnection, timeout_s: float = _PATIENCE_S) -> Result:
    return await Execution(Command("true", b"", timeout_s, 1_024)).run(ssh)


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
