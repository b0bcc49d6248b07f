"""What the library mina-sshd has of its own: a program in Java beside the worker."""

import socket
from collections.abc import Callable
from dataclasses import replace

import gevent
import pytest
from client_kinds import MINA_SSHD
from gevent.event import Event
from one_iteration import run_once
from run_configs import EXEC_TRUE, arrivals, endpoint, run_config, scenario
from ssh_server import SshServer
from sshload_contract.client import Client
from sshload_contract.vocabulary import Outcome
from sshload_contract.wire.run_config import Endpoint, RunConfig
from sshload_worker.clients.mina.connection import MinaConnection
from sshload_worker.clients.mina.virtual_machine import virtual_machine
from sshload_worker.outcomes import GeneratorFaultError
from sshload_worker.recording.health import memory_peak_bytes, used_cpu_s
from sshload_worker.scenario.target_login import prepare_login, resolve_first_hop
from unkind_servers import speaking

DEADLINE_S = 300.0
SHORT = 0.3


def config_for(target: Endpoint, client: Client) -> RunConfig:
    return replace(run_config(target, arrivals(1, 1)), client=client, scenario=scenario(EXEC_TRUE))


def test_a_connection_that_the_server_ends_is_lost(start_sshd: Callable[[str], SshServer]) -> None:
    server = start_sshd("")
    config = config_for(endpoint(server), MINA_SSHD.client())
    connection = MinaConnection(prepare_login(config, resolve_first_hop(config, print)))
    for part in (connection.connect, connection.banner, connection.kex, connection.auth, connection.keep_alive):
        part()
    assert not connection.is_lost()
    server.hang_up()
    with gevent.Timeout(DEADLINE_S):
        while not connection.is_lost():
            gevent.sleep(0.01)
    connection.close()


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        pytest.param(b"", Outcome.BANNER_TIMEOUT, id="no version"),
        pytest.param(b"SSH-2.0-silent\r\n", Outcome.KEX_TIMEOUT, id="no keys"),
    ],
)
def test_a_connection_that_is_given_up_ends_although_its_server_is_silent(
    sshd: SshServer, said: bytes, outcome: Outcome
) -> None:
    has_ended = Event()

    def stay_silent(connection: socket.socket) -> None:
        connection.sendall(said)
        while connection.recv(4_096):
            pass
        has_ended.set()

    with speaking(stay_silent) as port:
        target = replace(endpoint(sshd), port=port, known_hosts_path="")
        done = run_once(config_for(target, MINA_SSHD.client(banner_s=SHORT, kex_s=SHORT)))
        assert has_ended.wait(DEADLINE_S)
    assert done.outcome is outcome, done


def test_the_cpu_time_and_the_memory_of_the_java_program_are_the_workers(sshd: SshServer) -> None:
    machine = virtual_machine()
    before_s = used_cpu_s()
    for _ in range(20):
        assert run_once(config_for(endpoint(sshd), MINA_SSHD.client())).outcome is Outcome.OK
    assert used_cpu_s() > before_s
    assert (memory_peak_bytes() or 0) > 50_000_000
    assert machine is virtual_machine()


def test_a_cipher_that_it_does_not_know_is_refused_before_the_load(sshd: SshServer) -> None:
    config = config_for(endpoint(sshd), replace(MINA_SSHD.client(), ciphers=("rot13",)))
    with pytest.raises(GeneratorFaultError, match=r"spec\.client\.ciphers: mina-sshd does not know rot13"):
        run_once(config)


def test_the_java_program_ends_with_its_worker() -> None:
    machine = virtual_machine()
    machine.end()
    virtual_machine.cache_clear()
    with pytest.raises(OSError):  # noqa: PT011 - there is no such file
        machine.conversation()
