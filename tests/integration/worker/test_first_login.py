"""The login before the load of whole runs: by whom it is made, what is tried again, and what does not end the run."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import gevent
import pytest
from client_kinds import SSH2_PYTHON, Kind, every_kind_usually
from free_ports import free_port
from gevent.event import Event
from gevent.server import StreamServer
from reports import counts_of
from run_configs import arrivals, client, endpoint, run_config
from ssh_server import SshServer
from sshload_contract.load import Search
from sshload_contract.thresholds import ErrorRateThreshold
from sshload_contract.vocabulary import Outcome, RunEnd
from sshload_contract.wire.report import LoginFailure
from sshload_contract.wire.run_config import RunConfig
from sshload_worker.login.login import Address, Login
from sshload_worker.scenario import first_login
from sshload_worker.scenario.first_login import UnreachableError, log_in_once, wait_within
from sshload_worker.scenario.target_login import prepare_login, resolve
from unkind_servers import speaking
from whole_run import whole_run

DEADLINE_S = 300.0


def logging_in_first(server: SshServer, workers: int = 1, **timeouts_s: float) -> RunConfig:
    config = run_config(endpoint(server), arrivals(10, 1.0), workers=workers)
    return replace(config, log_in_first=True, client=client(**timeouts_s))


@every_kind_usually(SSH2_PYTHON)
def test_each_worker_logs_in_once_with_the_client_of_the_run_and_counts_nothing_of_it(
    start_sshd: Callable[[str], SshServer], tmp_path: Path, kind: Kind
) -> None:
    server = start_sshd("")
    config = replace(logging_in_first(server, workers=2), client=kind.client())
    with whole_run(tmp_path, config) as run:
        summary = run.summary()
        assert run.exit_codes() == [0, 0]
    assert summary.end is RunEnd.COMPLETED, summary.message
    counts = {step.step: step.count for step in summary.trial.steps}
    assert counts["total"] == counts["login"] == sum(agreed.count for agreed in summary.trial.negotiated) == 10
    assert server.accepted() == 10 + config.workers


def test_a_search_logs_in_before_its_first_trial_only(start_sshd: Callable[[str], SshServer], tmp_path: Path) -> None:
    server = start_sshd("")
    search = Search(arrivals(2, 1.0), most=4, precision=0.05, confirm=1, budget_s=120.0)
    config = replace(logging_in_first(server), load=search)
    with whole_run(tmp_path, replace(config, thresholds=(ErrorRateThreshold(below=0.5),))) as run:
        summary = run.summary()
    assert len(summary.trials) > 1
    assert server.accepted() == 1 + sum(trial.load.started for trial in summary.trials)


def test_a_login_that_fails_is_told_and_leaves_the_load_undone(sshd: SshServer, tmp_path: Path) -> None:
    config = logging_in_first(sshd, workers=2)
    stranger = replace(config.target, private_key_path=str(sshd.keys.stranger))
    with whole_run(tmp_path, replace(config, target=stranger)) as run:
        summary = run.summary()
        assert run.exit_codes() == [0, 0]
    assert summary.end is RunEnd.LOGIN_FAILED
    assert summary.login_failure is not None
    assert (summary.login_failure.outcome, summary.login_failure.jump_host) == (Outcome.AUTH_REJECTED, 0)
    assert (summary.login_failure.host, summary.login_failure.port) == ("127.0.0.1", sshd.port)
    assert (summary.trial.load.scheduled, summary.trial.errors, summary.trial.steps) == (0, (), ())


@pytest.mark.parametrize(
    "words", [b"Exceeded MaxStartups\r\n", b"Not allowed at this time\r\n"], ids=["throttled", "dropped"]
)
def test_a_server_that_only_says_too_many_is_loaded_all_the_same(sshd: SshServer, tmp_path: Path, words: bytes) -> None:
    with speaking(lambda connection: connection.sendall(words)) as port:
        config = logging_in_first(sshd, connect_s=0.5)
        target = replace(config.target, port=port, known_hosts_path="")
        with whole_run(tmp_path, replace(config, target=target)) as run:
            summary = run.summary()
    assert summary.end is RunEnd.COMPLETED, summary.message
    assert summary.trial.load.failed == summary.trial.load.started == 10


@pytest.mark.root
def test_of_a_name_with_several_addresses_one_that_lets_the_worker_in_suffices(
    start_sshd: Callable[[str], SshServer], tmp_path: Path
) -> None:
    server = start_sshd("")
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.99 farm.example.org\n127.0.0.1 farm.example.org\n")
    launcher = ["unshare", "--mount", "sh", "-ec", f'mount --bind {hosts} /etc/hosts; exec "$@"', "sh"]
    config = logging_in_first(server, connect_s=0.5)
    target = replace(config.target, host="farm.example.org", known_hosts_path="")
    with whole_run(tmp_path, replace(config, target=target), launcher=launcher) as run:
        summary = run.summary()
    assert summary.end is RunEnd.COMPLETED, summary.message
    assert counts_of(summary, Outcome.REFUSED) == summary.trial.load.failed == 5


@contextmanager
def listening_later(port: int, served_by: SshServer) -> Iterator[Callable[[str], None]]:
    """Yield a function that opens `port`, which leads to the server from then on."""
    relay = StreamServer(("127.0.0.1", port), lambda client, _: _relay(client, served_by.port))

    def begin(_: str) -> None:
        if not relay.started:
            relay.start()

    yield begin
    relay.stop()


def _relay(client_side: socket.socket, port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as server_side:
        gevent.joinall(
            [gevent.spawn(_pass_on, client_side, server_side), gevent.spawn(_pass_on, server_side, client_side)],
            count=1,
        )


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    while data := source.recv(65_536):
        sink.sendall(data)


def test_a_refused_connection_is_told_and_tried_again(sshd: SshServer) -> None:
    port, told = free_port(), []
    config = logging_in_first(sshd)
    target = replace(config.target, port=port, known_hosts_path="")
    addresses = resolve(target, told.append)
    login = prepare_login(replace(config, target=target), addresses)
    with listening_later(port, sshd) as begin:

        def tell(problem: str) -> None:
            told.append(problem)
            begin(problem)

        assert log_in_once(0, login, addresses, tell) is None
    assert told == [f"127.0.0.1:{port}: Connection refused"]


@contextmanager
def silent(hosts: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Take connections at these addresses and say nothing; yield the port, and who was connected to."""
    connected: list[str] = []
    held = Event()

    def take(connection: socket.socket, _: object) -> None:
        connected.append(connection.getsockname()[0])
        held.wait()

    port = free_port()
    servers = [StreamServer((host, port), take) for host in hosts]
    for server in servers:
        server.start()
    try:
        yield port, connected
    finally:
        held.set()
        for server in servers:
            server.stop()


def login_at(hosts: list[str], port: int, config: RunConfig) -> tuple[Login, tuple[Address, ...]]:
    """Return the login to a name that has these addresses, and the addresses."""
    target = replace(config.target, port=port, known_hosts_path="")
    addresses = tuple(address for host in hosts for address in resolve(replace(target, host=host), print))
    return prepare_login(replace(config, target=target), addresses), addresses


def test_all_addresses_of_a_name_that_are_dead_share_the_time_of_one_and_are_named(
    sshd: SshServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits_s, attempt = list[float](), first_login._attempt

    def note_limit(worker: int, login: Login) -> LoginFailure | None:
        limits_s.append(login.client.timeouts.banner_s)
        return attempt(worker, login)

    monkeypatch.setattr(first_login, "_attempt", note_limit)
    hosts = [f"127.0.0.{number}" for number in range(1, 9)]
    config = logging_in_first(sshd, connect_s=0.2, banner_s=0.8, kex_s=0.2, auth_s=0.2)
    with silent(hosts) as (port, connected):
        login, addresses = login_at(hosts, port, config)
        failure = log_in_once(0, login, addresses, lambda _: None)
        with gevent.Timeout(DEADLINE_S):
            while sorted(set(connected)) != hosts:  # a server may take its connection after the client has gone
                gevent.sleep(0.01)
    assert limits_s[0] == 0.1
    assert failure is not None
    assert failure.outcome is Outcome.BANNER_TIMEOUT
    assert failure.message.startswith(", ".join(hosts) + ": banner took longer than 0."), failure.message


def both_families(monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    """Let each name have the address ::1 first, and then 127.0.0.1."""
    found = [
        (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("::1", port, 0, 0)),
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port)),
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)


def test_a_server_that_listens_at_the_second_family_of_its_name_alone_is_reached_there(
    sshd: SshServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    both_families(monkeypatch, sshd.port)
    config = logging_in_first(sshd)
    target = replace(config.target, host="farm.example.org", known_hosts_path="")
    addresses = resolve(target, pytest.fail)
    assert addresses == ((socket.AF_INET, ("127.0.0.1", sshd.port)),)
    assert log_in_once(0, prepare_login(replace(config, target=target), addresses), addresses, pytest.fail) is None


def test_where_nothing_listens_at_either_family_each_address_is_told(
    sshd: SshServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    both_families(monkeypatch, port)
    config = logging_in_first(sshd, connect_s=0.1)
    target = replace(config.target, host="farm.example.org", port=port, known_hosts_path="")
    addresses = resolve(target, pytest.fail)
    failure = log_in_once(0, prepare_login(replace(config, target=target), addresses), addresses, lambda _: None)
    assert failure is not None
    assert (failure.outcome, failure.message) == (Outcome.REFUSED, "::1, 127.0.0.1: Connection refused")


def test_the_one_address_of_a_name_is_told_with_its_failure(sshd: SshServer) -> None:
    config = logging_in_first(sshd, connect_s=0.1)
    target = replace(config.target, host="localhost", port=free_port(), known_hosts_path="")
    address = (socket.AF_INET, ("127.0.0.1", target.port))
    failure = log_in_once(0, prepare_login(replace(config, target=target), (address,)), (address,), lambda _: None)
    assert failure is not None
    assert failure.message == "127.0.0.1: Connection refused"


def test_an_address_that_may_get_no_load_is_not_connected_to(sshd: SshServer, monkeypatch: pytest.MonkeyPatch) -> None:
    both_families(monkeypatch, sshd.port)
    asked: list[str] = []

    def refuse(address: Address) -> str:
        asked.append(str(address[1][0]))
        return "is not allowed" if address[0] is socket.AF_INET else ""

    addresses = resolve(replace(endpoint(sshd), host="farm.example.org"), pytest.fail, refusal=refuse)
    assert [address[1][0] for address in addresses] == ["::1"]
    assert "127.0.0.1" in asked


@pytest.mark.parametrize(("banner_s", "shared_s"), [(0.008, "0.004"), (0.001, "0.001")])
def test_short_limits_that_addresses_share_stay_above_nothing(sshd: SshServer, banner_s: float, shared_s: str) -> None:
    hosts = ["127.0.0.1", "127.0.0.2"]
    config = logging_in_first(sshd, connect_s=0.2, banner_s=banner_s, kex_s=0.2, auth_s=0.2)
    with silent(hosts) as (port, _):
        login, addresses = login_at(hosts, port, config)
        told: list[str] = []
        log_in_once(0, login, addresses, told.append)
    assert told[0] == f"127.0.0.1:{port}: banner took longer than {shared_s} s"


def test_what_refuses_the_credentials_is_not_asked_again(start_sshd: Callable[[str], SshServer]) -> None:
    server = start_sshd("LogLevel VERBOSE")
    config = logging_in_first(server)
    target = replace(config.target, private_key_path=str(server.keys.stranger))
    told: list[str] = []
    addresses = resolve(target, told.append)
    failure = log_in_once(3, prepare_login(replace(config, target=target), addresses), addresses, told.append)
    assert failure is not None
    assert (failure.worker, failure.outcome, told) == (3, Outcome.AUTH_REJECTED, [])
    assert server.log.count("Connection from ") == 1


def test_what_is_waited_for_too_long_is_not_reached_for_the_last_reason_told() -> None:
    def wait(tell: Callable[[str], None]) -> None:
        tell("first")
        tell("second")
        gevent.sleep(60)

    told: list[str] = []
    with pytest.raises(UnreachableError, match="second"):
        wait_within(0.01, wait, told.append)
    assert told == ["first", "second"]
