"""Sessions that nothing uses: by every library, each request of the server is answered, and new keys are exchanged."""

import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from bare_ssh_server import CHANNEL_CONFIRMATION, CHANNEL_REQUEST, CHANNEL_SUCCESS, string
from client_kinds import Kind, every_kind, every_kind_in_the_process
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from gevent import Timeout
from gevent.event import AsyncResult
from master_here import counted, failures, one_load
from run_configs import EXEC_TRUE, client, endpoint, run_config, scenario
from ssh2_connections import logged_in, login_to
from ssh_server import SshServer
from sshload_contract.load import HoldLoad, ThinkTime, UsersLoad, UsersStage
from sshload_contract.vocabulary import Outcome, Window
from sshload_contract.wire.run_config import RunConfig, SessionReuse
from sshload_worker.clients.libraries import prepare_library
from staged_ssh_server import (
    CHANNEL_OPEN,
    GLOBAL_REQUEST,
    PACKET_BYTES,
    REQUEST_FAILURE,
    WINDOW_BYTES,
    Stage,
    StagedServer,
)
from unkind_servers import speaking

if TYPE_CHECKING:
    from sshload_worker.clients.ssh2.connection import SSH2Connection
    from sshload_worker.outcomes import StepFailure

PATIENCE_S = 300.0
WELL = (Window.MEASURED, Outcome.OK)
IMPATIENT = "ClientAliveInterval 1\nClientAliveCountMax 1\nRekeyLimit default 1s\n"
"""A server that ends a session without a reply after two seconds, and asks for new keys every second."""

LONGER_THAN_A_SERVER_WAITS_S = 6.0
HOLD = HoldLoad(sessions=4, ramp_up_s=0.5, duration_s=LONGER_THAN_A_SERVER_WAITS_S, keep_alive_s=0.0, probe_rate=0.0)
CHANNEL_FAILURE, OPEN_FAILURE = 100, 92
"""RFC 4254 section 9."""


def by(kind: Kind, config: RunConfig) -> RunConfig:
    prepare_library(kind.library)
    return replace(config, client=kind.client())


@every_kind
def test_a_held_session_answers_a_server_that_asks_for_signs_of_life_and_new_keys(
    start_sshd: Callable[[str], SshServer], kind: Kind
) -> None:
    server = start_sshd(IMPATIENT)
    with one_load(by(kind, run_config(endpoint(server), HOLD))) as load:
        totals = load.finish()
    assert failures(totals) == set()
    assert counted(totals, "held.hold") == {WELL: 4}
    assert server.accepted() == 4


@every_kind_in_the_process
@pytest.mark.parametrize(
    ("reuse", "pool"), [(SessionReuse.USER, 0), (SessionReuse.POOL, 1)], ids=["a user's session", "a pool's session"]
)
def test_a_session_between_two_iterations_answers_them_too(
    start_sshd: Callable[[str], SshServer], kind: Kind, reuse: SessionReuse, pool: int
) -> None:
    server = start_sshd(IMPATIENT)
    think_time = ThinkTime(LONGER_THAN_A_SERVER_WAITS_S, LONGER_THAN_A_SERVER_WAITS_S)
    stage = UsersStage(users=1, duration_s=600.0)
    load = UsersLoad(stages=(stage,), spawn_rate=0.0, think_time=think_time)
    reused = replace(scenario(EXEC_TRUE), session_reuse=reuse, pool_sessions=pool)
    with one_load(by(kind, replace(run_config(endpoint(server), load), scenario=reused))) as running:
        running.wait_until(lambda _: running.heard.count("total") >= 2)
        totals = running.stop()
    assert server.accepted() == 1
    assert set(counted(totals, "total")) == {WELL}


@contextmanager
def resting(sshd: SshServer, serve: Stage) -> "Iterator[tuple[SSH2Connection, AsyncResult[StepFailure]]]":
    """Log in to a server that lets anybody in, and then does `serve`; yield what ends the connection's rest as well."""

    def take(connection: socket.socket) -> None:
        server = StagedServer(connection, Ed25519PrivateKey.generate())
        server.exchange_own_keys()
        server.let_in()
        serve(server)

    lost: AsyncResult[StepFailure] = AsyncResult()
    with speaking(take) as port:
        settings = replace(client(), ciphers=("aes128-gcm@openssh.com",))
        there = (socket.AF_INET, ("127.0.0.1", port))
        with logged_in(replace(login_to(sshd, settings), address=there)) as connection:
            yield connection, lost


def test_each_request_is_answered_to_the_channel_that_the_server_knows(sshd: SshServer) -> None:
    answers: AsyncResult[list[bytes]] = AsyncResult()
    own_number, opened_number = struct.pack(">I", 7), struct.pack(">I", 9)

    def ask(server: StagedServer) -> None:
        server.hear_channel()
        sizes = struct.pack(">II", WINDOW_BYTES, PACKET_BYTES)
        server.about_channel(CHANNEL_CONFIRMATION, own_number + sizes)
        server.send(bytes([GLOBAL_REQUEST]) + string(b"keepalive@openssh.com") + bytes([1]))
        heard = [server.hear(REQUEST_FAILURE)]
        server.about_channel(CHANNEL_REQUEST, string(b"keepalive@openssh.com") + bytes([1]))
        heard.append(server.hear(CHANNEL_FAILURE))
        server.send(bytes([CHANNEL_OPEN]) + string(b"unknown@example.org") + opened_number + sizes)
        heard.append(server.hear(OPEN_FAILURE)[:9])
        answers.set(heard)
        server.await_end()

    with resting(sshd, ask) as (connection, lost), Timeout(PATIENCE_S):
        channel = connection.open_channel()
        connection.rest(lost.set)
        unknown_type = struct.pack(">I", 3)
        assert answers.get() == [
            bytes([REQUEST_FAILURE]),
            bytes([CHANNEL_FAILURE]) + own_number,
            bytes([OPEN_FAILURE]) + opened_number + unknown_type,
        ]
        del channel  # which would have been closed, had nothing referred to it
    assert not lost.ready()


def test_what_a_server_sends_unasked_without_end_ends_the_session_before_it_fills_the_memory(sshd: SshServer) -> None:
    sent = 0

    def flood(server: StagedServer) -> None:
        nonlocal sent
        while True:
            server.send(bytes([CHANNEL_SUCCESS]) + bytes(PACKET_BYTES))
            sent += PACKET_BYTES

    with resting(sshd, flood) as (connection, lost), Timeout(PATIENCE_S):
        connection.rest(lost.set)
        assert lost.get().outcome is Outcome.DISCONNECTED
    assert sent < 64 * 2**20
