import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import pytest
from account_server import Place, account_server
from free_ports import free_port
from gateway_process import Caller, GatewayProcess, gateway_process
from running_target import wait_until
from ssh_server import SshServer

pytestmark = pytest.mark.xdist_group("gateway")

_MANY = 12


class _Servers:
    """A gateway whose logins may take 20 seconds, and servers with faults."""

    def __init__(self, gateway: GatewayProcess, by_name: dict[str, SshServer]) -> None:
        self.gateway = gateway
        self.by_name = by_name

    def caller(self, fault: str) -> Caller:
        caller = self.gateway.caller(fault)
        caller.store("server", self.by_name[fault]).raise_for_status()
        return caller


@pytest.fixture(scope="module")
def servers(place: Place, sshd: SshServer) -> Iterator[_Servers]:
    with ExitStack() as running:
        one_session = running.enter_context(account_server(place, "one-session", "MaxSessions 1"))
        no_session = running.enter_context(account_server(place, "no-session", "MaxSessions 0"))
        one_startup = running.enter_context(account_server(place, "one-startup", "MaxStartups 1:100:1"))
        hanging_up = running.enter_context(account_server(place, "hanging-up"))
        hung = running.enter_context(_hung_server())
        by_name = {
            "gone": replace(sshd, port=free_port()),
            "hung": replace(sshd, port=hung),
            "one-session": one_session,
            "no-session": no_session,
            "one-startup": one_startup,
            "hanging-up": hanging_up,
        }
        folder = place.folder / "gateway-of-faults"
        folder.mkdir()
        ports = [sshd.port, *(server.port for server in by_name.values())]
        pool = {"waitS": 60, "loginS": 20, "refusalPauseS": 600}
        yield _Servers(running.enter_context(gateway_process(folder, ports, pool=pool)), by_name)


@contextmanager
def _hung_server() -> Iterator[int]:
    """A server that accepts, and says nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listening:
        yield listening.getsockname()[1]


def test_a_server_that_is_gone_is_a_bad_gateway(servers: _Servers) -> None:
    answer = servers.caller("gone").run("server", "true")

    assert (answer.status_code, answer.json()["kind"]) == (502, "unreachable")


def test_a_server_that_says_nothing_is_a_gateway_timeout(servers: _Servers) -> None:
    answer = servers.caller("hung").run("server", "true")

    assert (answer.status_code, answer.json()["kind"]) == (504, "timeout")


def test_commands_get_connections_of_their_own_where_the_server_refuses_channels(servers: _Servers) -> None:
    caller = servers.caller("one-session")
    refused = servers.gateway.metric("sshload_gateway_refused_sessions_total")

    answers = _at_once(caller, "sleep 0.2", _MANY)

    assert {answer.status_code for answer in answers} == {200}
    assert servers.gateway.metric("sshload_gateway_refused_sessions_total") > refused
    assert {answer.status_code for answer in _at_once(caller, "sleep 0.2", _MANY)} == {200}


def test_a_server_that_opens_no_session_is_a_bad_gateway(servers: _Servers) -> None:
    answer = servers.caller("no-session").run("server", "true")

    assert (answer.status_code, answer.json()["kind"]) == (502, "no-session")


def test_commands_wait_for_a_server_that_is_at_its_max_startups(servers: _Servers) -> None:
    server = servers.by_name["one-startup"]
    caller = servers.caller("one-startup")
    with ThreadPoolExecutor(1) as others, socket.create_connection(("127.0.0.1", server.port)):
        answer = others.submit(caller.run, "server", "echo in")
        server.await_log("drop connection")

    assert answer.result().json()["stdout"] == "in\n"


def test_another_host_key_is_a_bad_gateway_and_no_login_is_tried_again(servers: _Servers, sshd: SshServer) -> None:
    caller = servers.gateway.caller("wrong-host-key")
    strange = sshd.keys.stranger.with_suffix(".pub").read_text()
    caller.store("server", sshd, hostKeys=[strange]).raise_for_status()
    failed = servers.gateway.metric("sshload_gateway_logins_total", outcome="host-key")

    answers = [caller.run("server", "true") for _ in range(3)]

    assert {(answer.status_code, answer.json()["kind"]) for answer in answers} == {(502, "host-key")}
    assert servers.gateway.metric("sshload_gateway_logins_total", outcome="host-key") == failed + 1


def test_a_key_that_may_not_log_in_is_a_bad_gateway(servers: _Servers, sshd: SshServer) -> None:
    caller = servers.gateway.caller("stranger")
    caller.store("server", sshd, privateKey=sshd.keys.stranger.read_text()).raise_for_status()
    answer = caller.run("server", "true")

    assert (answer.status_code, answer.json()["kind"]) == (502, "authentication")


def test_a_connection_that_the_server_ends_is_replaced(servers: _Servers, place: Place) -> None:
    server = servers.by_name["hanging-up"]
    caller = servers.caller("hanging-up")
    begun = place.folder / "home" / "begun"
    with ThreadPoolExecutor(1) as others:
        running = others.submit(caller.run, "server", f"touch {begun}; exec sleep 30")
        wait_until(begun.exists, "the command begins")
        server.hang_up()
        lost = running.result().json()

    assert (lost["outcome"], lost["exitCode"], lost["hasEnded"]) == ("connection-lost", None, False)
    assert caller.run("server", "echo again").json()["stdout"] == "again\n"


def _at_once(caller: Caller, command: str, times: int) -> list:
    with ThreadPoolExecutor(times) as others:
        return list(others.map(lambda _: caller.run("server", command), range(times)))
