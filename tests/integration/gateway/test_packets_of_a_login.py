"""What packets a connection of the gateway sends, as a real sshd tells of those that it gets."""

import asyncio
import logging
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import asyncssh
import pytest
from account_server import Place, account_server
from ssh_server import SshServer
from sshload_contract.allow_list import AllowedTarget
from sshload_gateway.ssh.command import Command, Execution
from sshload_gateway.ssh.destinations import destinations
from sshload_gateway.ssh.login import Account, Secrets, SshLogin

_PATIENCE_S = 300.0
_HOST = "127.0.0.1"


async def command(server: SshServer, line: str = "echo here") -> str:
    """Log in, and return what a command says on the connection."""
    login = SshLogin(destinations([AllowedTarget(_HOST, (server.port,))], ()), _PATIENCE_S)
    host_key = server.keys.host.with_suffix(".pub").read_text()
    secrets = Secrets(server.keys.user.read_bytes(), (host_key,))
    account = Account(_HOST, server.port, server.user, "ada", 1)
    async with await login(account, lambda: secrets, lambda: None) as ssh:
        return (await Execution(Command(line, b"", _PATIENCE_S, 2**24)).run(ssh)).stdout.decode()


@pytest.mark.parametrize(
    ("cipher", "told"),
    [("aes128-gcm@openssh.com", 0), ("chacha20-poly1305@openssh.com", 0), ("aes128-ctr", 1)],
)
def test_no_empty_packets_are_sent_after_a_login_where_the_cipher_authenticates_each_packet(
    place: Place, cipher: str, told: int
) -> None:
    with account_server(place, f"ciphers-{cipher}", f"Ciphers {cipher}\nLogLevel DEBUG3") as server:
        assert asyncio.run(command(server)) == "here\n"
        before, _, after = server.log.partition("Accepted publickey for ")
        assert "Received SSH2_MSG_IGNORE" in before  # sshd tells of them
        assert min(after.count("Received SSH2_MSG_IGNORE"), 1) == told


def test_what_runs_is_in_no_log_however_much_asyncssh_says(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "asyncssh")
    with account_server(place, "talkative") as server:
        assert asyncio.run(command(server, "echo of-nobodys-business")) == "of-nobodys-business\n"

    assert "Auth for user" in caplog.text  # it does log
    assert "nobodys" not in caplog.text


@pytest.mark.parametrize("cipher", ["aes128-gcm@openssh.com", "chacha20-poly1305@openssh.com", "aes128-ctr"])
def test_a_command_goes_on_while_keys_are_exchanged_again(place: Place, cipher: str) -> None:
    directives = f"Ciphers {cipher}\nRekeyLimit 100K\nLogLevel DEBUG3"
    with account_server(place, f"rekeying-{cipher}", directives) as server:
        assert len(asyncio.run(command(server, "head -c 1000000 /dev/zero"))) == 1_000_000
        assert server.log.count("SSH2_MSG_NEWKEYS received") > 2


@contextmanager
def silent_port() -> Iterator[int]:
    """A port whose queue of connections is full, so that the kernel drops whoever dials it without an answer."""
    with closing(socket.create_server((_HOST, 0), backlog=0)) as server:
        port = server.getsockname()[1]
        waiting = socket.create_connection((_HOST, port))
        with closing(waiting):
            yield port


def unanswered_from(port: int) -> set[int]:
    """Return the local ports of connections to this port that the kernel waits for (SYN_SENT, proc_net_tcp(5))."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    there = [(row[1].split(":")[1], row[2].split(":")[1], row[3]) for row in rows]
    return {int(local, 16) for local, remote, state in there if int(remote, 16) == port and state == "02"}


def test_a_dial_without_an_answer_is_repeated_from_another_local_port() -> None:
    """Where connection tracking sends all packets from the first port the wrong way, only another port gets through."""

    async def two_ports(port: int) -> None:
        login = SshLogin(destinations([AllowedTarget(_HOST, (port,))], ()), _PATIENCE_S)
        key = asyncssh.generate_private_key("ssh-ed25519").export_private_key("openssh")
        account = Account(_HOST, port, "load", "ada", 1)
        dialing = asyncio.ensure_future(login(account, lambda: Secrets(key, ()), lambda: None))
        seen: set[int] = set()
        async with asyncio.timeout(_PATIENCE_S):
            while len(seen) < 2:
                seen |= unanswered_from(port)
                await asyncio.sleep(0.02)
        dialing.cancel()
        await asyncio.wait([dialing])

    with silent_port() as port:
        asyncio.run(two_ports(port))
