"""client.networkDelay: each round trip takes longer by what is said, and nothing else of a connection is changed."""

import asyncio
import os
import resource
import select
import signal
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from time import monotonic_ns

import gevent
import pytest
from client_kinds import SSH2_PYTHON, Kind, every_kind_in_the_process
from free_ports import free_port
from gevent.event import Event
from one_iteration import prepare, run_once
from run_configs import EXEC_TRUE, arrivals, endpoint, run_config, scenario
from ssh_server import SshServer
from sshload_contract.steps import SftpWriteStep, Verify
from sshload_contract.vocabulary import Outcome, Window
from sshload_contract.wire.run_config import RunConfig
from sshload_worker.clients.delay import new_descriptor, prepare_delay, relay_of
from sshload_worker.clients.delay_relay import _Relay
from sshload_worker.clients.tcp import Descriptor
from sshload_worker.outcomes import StepFailure
from sshload_worker.recording import health
from sshload_worker.recording.health import HealthMonitor
from sshload_worker.recording.histogram import LatencyHistogram
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.step_clock import Due

DELAY_S = 0.02
DEADLINE_S = 300.0
LONG_S = 2.0
HISTOGRAM_ERROR = 0.999
# Counted from the start of the connection: a part is the shorter by as much as the end before it was noticed late.
ROUND_TRIPS_BY_THE_END_OF = {"connect": 1, "banner": 2, "kex": 4, "auth": 6, "command": 8}
FEW_FILES = 48
LOOPBACK = {socket.AF_INET: ("127.0.0.1", 0), socket.AF_INET6: ("::1", 0)}
PIECE = bytes(range(256)) * 256
PIECES = 192  # 12 MiB, which is more than the kernel's buffers hold


@pytest.fixture(autouse=True)
def _relays_end() -> Iterator[None]:
    yield
    for delay_s in (DELAY_S, LONG_S):
        relay_of(delay_s).end()
    relay_of.cache_clear()


def delayed(kind: Kind, server: SshServer) -> RunConfig:
    config = run_config(endpoint(server), arrivals(1, 1))
    return replace(config, client=replace(kind.client(), network_delay_s=DELAY_S), scenario=scenario(EXEC_TRUE))


def descriptor(delay_s: float, family: socket.AddressFamily = socket.AF_INET) -> Descriptor:
    """Return a descriptor of the product's, whose relay runs."""
    client = replace(SSH2_PYTHON.client(), network_delay_s=delay_s)
    prepare_delay(client)
    return new_descriptor(client, family)


@every_kind_in_the_process
def test_each_part_of_an_iteration_takes_the_round_trips_longer_that_it_makes(sshd: SshServer, kind: Kind) -> None:
    config = delayed(kind, sshd)
    recorder = Recorder(config.run_id, 0)
    now_ns = monotonic_ns()
    prepare(config, recorder).run(Due(at_ns=now_ns, window=Window.MEASURED))
    report = recorder.take_report(HealthMonitor().health(connections=0, overflows=0), final=True)
    assert {one.outcome for one in report.histograms} == {Outcome.OK}
    took_us = {one.step: LatencyHistogram.decode(one.data).min_us() or 0 for one in report.histograms}
    round_trip_us = 2 * DELAY_S * 1_000_000 * HISTOGRAM_ERROR
    gone_by_us = 0
    for step, round_trips in ROUND_TRIPS_BY_THE_END_OF.items():
        gone_by_us += took_us[step]
        assert gone_by_us >= round_trips * round_trip_us, (step, took_us)


def test_files_pass_the_relay_whole(sftp_sshd: SshServer, tmp_path: Path) -> None:
    step = SftpWriteStep(name="", path=str(tmp_path / "file"), size_bytes=3_000_000, verify=Verify.CONTENT)
    done = run_once(replace(delayed(SSH2_PYTHON, sftp_sshd), scenario=scenario(step)))
    assert done.outcome is Outcome.OK, done


def test_a_refusal_is_that_of_the_server() -> None:
    near = descriptor(DELAY_S)
    with pytest.raises(StepFailure) as refused:
        near.connect(("127.0.0.1", free_port()))
    assert refused.value.outcome is Outcome.REFUSED
    near.shut_down()


def test_much_arrives_whole_with_its_end() -> None:
    arrived: list[bytes] = []
    all_has_arrived = Event()

    def take(server: socket.socket) -> None:
        connection, _ = server.accept()
        with closing(connection):
            while piece := connection.recv(len(PIECE)):
                arrived.append(piece)
        all_has_arrived.set()

    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        gevent.spawn(take, server)
        near = descriptor(DELAY_S)
        near.connect(server.getsockname())
        for _ in range(PIECES):
            send_all(near, PIECE)
        near.socket.shutdown(socket.SHUT_WR)
        all_has_arrived.wait()
        near.shut_down()
    assert b"".join(arrived) == PIECE * PIECES


def send_all(near: Descriptor, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[near.socket.send(rest) :]
        except BlockingIOError:
            near.wait_writable()


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6], ids=["IPv4", "IPv6"])
def test_the_relay_goes_on_after_a_server_that_ended_before_its_client(family: socket.AddressFamily) -> None:
    with closing(socket.create_server(LOOPBACK[family], family=family)) as server, gevent.Timeout(DEADLINE_S):
        for _ in range(3):
            near, far = connected(server, family)
            far.close()
            near.wait_readable()
            near.socket.send(b"bye")
            near.shut_down()
        near, far = connected(server, family)
        far.sendall(b"heard")
        near.wait_readable()
        assert near.socket.recv(100) == b"heard"
        near.shut_down()
        far.close()


def test_nothing_is_left_in_the_relay_of_connections_that_both_sides_have_ended() -> None:
    relay_files = Path(f"/proc/{relay_of(DELAY_S).pid}/fd")
    with closing(socket.create_server(("127.0.0.1", 0))) as server, gevent.Timeout(DEADLINE_S):
        before = len(list(relay_files.iterdir()))
        for _ in range(10):
            near, far = connected(server)
            near.shut_down()
            assert far.recv(1) == b""
            far.close()
        while len(list(relay_files.iterdir())) > before:
            gevent.sleep(0.01)


def test_a_client_that_gives_up_before_it_is_connected_leaves_no_connection_to_the_server() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server, gevent.Timeout(DEADLINE_S):
        near = descriptor(LONG_S)
        connecting = gevent.spawn(near.connect, server.getsockname())
        far, _ = server.accept()
        connecting.kill()
        near.shut_down()
        with closing(far), pytest.raises(ConnectionResetError):
            far.recv(1)


def test_a_client_that_gives_up_as_the_server_accepts_resets_the_connection() -> None:
    """The server has the connection already, and the relay does not know it yet."""

    async def give_up(server: socket.socket) -> socket.socket:
        connecting = asyncio.create_task(
            _Relay("token", 0).connected(socket.AF_INET, server.getsockname(), quick_ack=True)
        )
        await asyncio.sleep(0)  # lets the connection begin; accept() below holds the event loop until it is made
        far, _ = server.accept()
        connecting.cancel()
        with suppress(asyncio.CancelledError):
            await connecting
        return far

    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        # A thread of its own, because another test's event loop may run in this one.
        far = gevent.get_hub().threadpool.apply(lambda: asyncio.run(give_up(server)))
    with closing(far), pytest.raises(ConnectionResetError):
        far.recv(1)


def test_what_a_server_said_before_it_reset_the_connection_arrives_first() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server, gevent.Timeout(DEADLINE_S):
        near, far = connected(server)
        far.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        far.sendall(b"the reason")
        far.close()
        while not near.peer_has_closed():
            gevent.sleep(0.01)
        assert near.socket.recv(100) == b"the reason"
        with pytest.raises(ConnectionResetError):
            near.socket.recv(100)
        near.shut_down()


@pytest.mark.parametrize("linger", [struct.pack("ii", 0, 0), struct.pack("ii", 1, 0)], ids=["end", "reset"])
def test_a_connection_that_a_server_closes_at_once_lasts_two_round_trips(linger: bytes) -> None:
    """One is its own, and in the other the client's acknowledgement lets the server have the connection at all."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server, gevent.Timeout(DEADLINE_S):
        near, begin_ns = descriptor(DELAY_S), monotonic_ns()
        connecting = gevent.spawn(near.connect, server.getsockname())
        far, _ = server.accept()
        far.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        far.close()
        connecting.get()
        near.wait_readable()
        assert monotonic_ns() - begin_ns >= 4 * DELAY_S * 1_000_000_000
        near.shut_down()


def test_only_a_server_that_speaks_first_is_held_for_the_acknowledgement_that_lets_it_have_the_connection() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server, gevent.Timeout(DEADLINE_S):
        asking, listening = descriptor(LONG_S), descriptor(LONG_S)
        gevent.joinall([gevent.spawn(one.connect, server.getsockname()) for one in (asking, listening)])
        asking.socket.send(b"question")
        accepted = [server.accept()[0] for _ in range(2)]
        (asked,), _, _ = select.select(accepted, [], [])
        assert asked.recv(100) == b"question"
        for far in accepted:
            far.sendall(b"answer" if far is asked else b"greeting")
        asking.wait_readable()
        assert asking.socket.recv(100) == b"answer"
        with pytest.raises(BlockingIOError):
            listening.socket.recv(100)
        listening.wait_readable()
        assert listening.socket.recv(100) == b"greeting"
        for one in (asking, listening):
            one.shut_down()
        for far in accepted:
            far.close()


def test_a_relay_without_room_for_another_connection_is_the_workers_lack_of_sockets() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server, gevent.Timeout(DEADLINE_S):
        resource.prlimit(relay_of(DELAY_S).pid, resource.RLIMIT_NOFILE, (FEW_FILES, FEW_FILES))
        kept: list[tuple[Descriptor, socket.socket]] = []
        with pytest.raises(OSError, match="Too many open files"):
            kept.extend(connected(server) for _ in range(FEW_FILES))
        assert kept
        for near, far in kept:
            near.shut_down()
            far.close()


def connected(server: socket.socket, family: socket.AddressFamily = socket.AF_INET) -> tuple[Descriptor, socket.socket]:
    """Return both ends of a connection by way of the relay."""
    near = descriptor(DELAY_S, family)
    near.connect(server.getsockname())
    return near, server.accept()[0]


@pytest.mark.parametrize(
    "request_of",
    [
        pytest.param(lambda target: b'["0123", 2, ["127.0.0.1", %d], true]\n' % target[1], id="another token"),
        pytest.param(lambda _: b"[]\n", id="another request"),
        pytest.param(lambda _: b"5\n", id="a number"),
        pytest.param(lambda _: b"no JSON\n", id="no request"),
        pytest.param(lambda _: b"x" * 5_000, id="too long a line"),
    ],
)
def test_nobody_else_gets_through_the_relay(request_of: Callable[[tuple[str, int]], bytes]) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        relay = relay_of(DELAY_S)
        with closing(socket.create_connection(relay.address)) as stranger:
            stranger.sendall(request_of(server.getsockname()))
            with suppress(ConnectionResetError):
                assert stranger.recv(1) == b""
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


def test_a_relay_that_has_ended_is_the_workers_own_fault() -> None:
    near = descriptor(DELAY_S)
    relay_of(DELAY_S).end()
    with pytest.raises(StepFailure) as failed:
        near.connect(("127.0.0.1", free_port()))
    assert failed.value.outcome is Outcome.GENERATOR_FAULT
    near.shut_down()


def test_a_relay_that_ends_without_having_heard_the_request_is_the_workers_own_fault() -> None:
    near, relay = descriptor(DELAY_S), relay_of(DELAY_S)
    os.kill(relay.pid, signal.SIGSTOP)
    connecting = gevent.spawn(near.connect, ("127.0.0.1", free_port()))
    gevent.sleep(0)
    os.kill(relay.pid, signal.SIGKILL)
    with pytest.raises(StepFailure) as failed:
        connecting.get()
    assert failed.value.outcome is Outcome.GENERATOR_FAULT
    near.shut_down()


def test_a_relay_that_stands_still_is_seen_in_the_workers_lag() -> None:
    relay = relay_of(DELAY_S)
    monitor = HealthMonitor()
    monitor.start()
    os.kill(relay.pid, signal.SIGSTOP)
    gevent.sleep(0.5)
    os.kill(relay.pid, signal.SIGCONT)
    with gevent.Timeout(DEADLINE_S):
        while monitor.health(connections=0, overflows=0).loop_lag_max_us < 400_000:
            gevent.sleep(0.05)
    assert monitor.health(connections=0, overflows=0).loop_lag_p99_us >= 100_000
    monitor.stop()


def test_a_relay_that_works_hard_is_seen_in_the_workers_cpu_share() -> None:
    relay = relay_of(DELAY_S)
    before_s = health.companions_cpu_s()[relay.pid]
    assert health.companions_delay_ns().keys() == {relay.pid}
    for _ in range(200):
        with closing(socket.create_connection(relay.address)) as stranger:
            stranger.sendall(b"5\n")
            stranger.recv(1)
    assert health.companions_cpu_s()[relay.pid] > before_s
