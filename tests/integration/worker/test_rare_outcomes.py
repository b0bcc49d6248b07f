"""Outcomes that a kind server does not bring about, by every client library.

OpenSSH's sftp asks for its directory first, so that it hears of a status only where a server knows that.
"""

import socket
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from circles import in_pairs
from client_kinds import KINDS, KINDS_IN_THE_PROCESS, Kind, every_kind
from one_iteration import Counted, run_once
from run_configs import arrivals, endpoint, run_config, scenario
from ssh_server import SshServer
from sshload_contract.steps import SftpStatStep
from sshload_contract.vocabulary import Outcome
from sshload_contract.wire.run_config import RunConfig
from unkind_servers import speaking

SFTP_SERVER = Path(__file__).parents[2] / "support/ssh/answering_sftp_server.py"
SHORT = 0.3
DIES_WITHIN_A_PACKET, DIES_BETWEEN_PACKETS = 254, 255
STAT = SftpStatStep(name="", path="anything")


def config_for(server: SshServer, kind: Kind, **timeouts_s: float) -> RunConfig:
    return replace(run_config(endpoint(server), arrivals(1, 1)), client=kind.client(**timeouts_s))


def ended(done: Counted) -> tuple[Outcome, str]:
    return done.outcome, done.failed_step


@contextmanager
def full_backlog() -> Iterator[int]:
    """Yield a port of loopback whose listener takes nothing more in: the kernel drops every SYN."""
    with (
        socket.create_server(("127.0.0.1", 0), backlog=0) as listener,
        socket.create_connection(listener.getsockname()),
    ):
        yield listener.getsockname()[1]


@every_kind
def test_a_server_that_does_not_answer_a_syn_is_a_connect_timeout(sshd: SshServer, kind: Kind) -> None:
    with full_backlog() as port:
        config = config_for(sshd, kind, connect_s=SHORT)
        done = run_once(replace(config, target=replace(config.target, port=port, known_hosts_path="")))
    assert ended(done) == (Outcome.CONNECT_TIMEOUT, "connect")


@every_kind
def test_an_address_to_which_there_is_no_way_is_a_failed_connect(sshd: SshServer, kind: Kind) -> None:
    config = config_for(sshd, kind)
    done = run_once(replace(config, target=replace(config.target, host="255.255.255.255", known_hosts_path="")))
    assert ended(done) == (Outcome.CONNECT_FAILED, "connect")


@every_kind
def test_a_server_that_closes_as_soon_as_it_sees_no_common_algorithm_is_a_failed_kex(
    sshd: SshServer, kind: Kind
) -> None:
    """The client hears of the close no later than of what it has to choose from."""

    def offer_and_close(connection: socket.socket) -> None:
        connection.sendall(b"SSH-2.0-none\r\n" + offer("no-such-kex"))
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(4096):
            pass

    config = config_for(sshd, kind)
    with speaking(offer_and_close) as port:
        done = run_once(replace(config, target=replace(config.target, port=port, known_hosts_path="")))
    assert ended(done) == (Outcome.KEX_FAILED, "kex"), done


def offer(kex: str) -> bytes:
    """Return a packet with all that a server offers (RFC 4253 sections 6 and 7.1)."""
    both_ways = ("aes128-ctr", "aes128-ctr", "hmac-sha2-256", "hmac-sha2-256", "none", "none", "", "")
    names = (kex, "ssh-ed25519", *both_ways)
    lists = b"".join(struct.pack(">I", len(name)) + name.encode() for name in names)
    payload = bytes([20]) + bytes(16) + lists + bytes(5)
    padding = 16 - (len(payload) + 5) % 8
    return struct.pack(">IB", len(payload) + padding + 1, padding) + payload + bytes(padding)


@every_kind
def test_a_server_that_thinks_too_long_about_a_login_is_an_auth_timeout(
    start_sshd: Callable[[str], SshServer], kind: Kind
) -> None:
    server = start_sshd("AuthorizedKeysFile none\nAuthorizedKeysCommand /bin/sleep 30\nAuthorizedKeysCommandUser root")
    done = run_once(config_for(server, kind, auth_s=SHORT))
    assert ended(done) == (Outcome.AUTH_TIMEOUT, "auth")


@in_pairs(
    ("kind", KINDS_IN_THE_PROCESS),
    (
        "status, outcome",
        [
            (2, Outcome.SFTP_NO_SUCH_FILE),
            (3, Outcome.SFTP_PERMISSION_DENIED),
            (4, Outcome.SFTP_FAILURE),
            (5, Outcome.SFTP_BAD_MESSAGE),
            (6, Outcome.SFTP_NO_CONNECTION),
            (7, Outcome.SFTP_CONNECTION_LOST),
            (8, Outcome.SFTP_OP_UNSUPPORTED),
            (14, Outcome.SFTP_OTHER),
        ],
    ),
)
def test_each_status_of_sftp_has_an_outcome_of_its_name(
    start_sshd: Callable[[str], SshServer], kind: Kind, status: int, outcome: Outcome
) -> None:
    server = start_sshd(f"Subsystem sftp {sys.executable} {SFTP_SERVER} {status}")
    done = run_once(replace(config_for(server, kind), scenario=scenario(STAT)))
    assert ended(done) == (outcome, "sftpStat")


@in_pairs(
    ("kind", KINDS),
    (
        "how",
        [
            pytest.param(DIES_WITHIN_A_PACKET, id="within a packet"),
            pytest.param(DIES_BETWEEN_PACKETS, id="between two"),
        ],
    ),
)
def test_an_sftp_server_that_dies_is_a_lost_connection(
    start_sshd: Callable[[str], SshServer], kind: Kind, how: int
) -> None:
    server = start_sshd(f"Subsystem sftp {sys.executable} {SFTP_SERVER} {how}")
    done = run_once(replace(config_for(server, kind), scenario=scenario(STAT)))
    assert ended(done) == (Outcome.SFTP_CONNECTION_LOST, "sftpStat"), done
