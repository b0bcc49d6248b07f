import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import requests
from account_server import Place
from gateway_process import Caller, GatewayProcess, TokenIssuer, gateway_process
from running_target import wait_until
from ssh_server import SshServer

pytestmark = pytest.mark.xdist_group("gateway")

_LATER = TokenIssuer("later")


@pytest.fixture(scope="module")
def jwks() -> Iterator["_Jwks"]:
    """An issuer's key set at a URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield _Jwks(server)
        server.shutdown()
        thread.join()


class _Jwks:
    """A key set that the test changes."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self.url = f"http://127.0.0.1:{server.server_port}/"
        self._server = server

    def hold(self, *issuers: TokenIssuer) -> None:
        self._server.key_set = json.dumps({"keys": [issuer.jwk() for issuer in issuers]}).encode()  # type: ignore[attr-defined]


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.server.key_set)  # type: ignore[attr-defined]

    def log_message(self, *_arguments: object) -> None:
        pass


@pytest.fixture(scope="module")
def limited(place: Place, sshd: SshServer, jwks: _Jwks) -> Iterator[GatewayProcess]:
    """A gateway that fetches keys, and admits two requests of a caller in a long time."""
    folder = place.folder / "gateway-with-limits"
    folder.mkdir()
    issuer = TokenIssuer()
    jwks.hold(issuer)
    limits = {"requestsPerSecond": 0.001, "requestsAtOnce": 2, "bodyBytes": 2_048}
    with gateway_process(
        folder, [sshd.port], issuer=issuer, limits=limits, tokens={"jwksUrl": jwks.url, "jwksFile": None}
    ) as running:
        yield running


def test_a_caller_that_calls_too_often_is_told_when_to_come_back(limited: GatewayProcess) -> None:
    caller = limited.caller("often")
    answers = [caller.ask("GET", "/credentials") for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert int(answers[2].headers["Retry-After"]) > 1
    assert limited.caller("seldom").ask("GET", "/credentials").status_code == 200


def test_a_caller_runs_no_more_commands_at_a_time_than_it_may(place: Place, sshd: SshServer) -> None:
    folder = place.folder / "gateway-of-one-at-a-time"
    folder.mkdir()
    begun, ended = (place.folder / "home" / f"{word}-the-only-one" for word in ("begun", "ended"))
    with gateway_process(folder, [sshd.port], limits={"underWay": 1}) as gateway, ThreadPoolExecutor(1) as others:
        caller = gateway.caller()
        caller.store("server", sshd).raise_for_status()
        running = others.submit(caller.run, "server", f"touch {begun}; until [ -e {ended} ]; do sleep 0.1; done")
        wait_until(begun.exists, "the command begins")
        refused = caller.run("server", "true")
        other = gateway.caller("bob").ask("GET", "/credentials")
        ended.touch()

        assert (refused.status_code, refused.json()["kind"]) == (429, "under-way")
        assert other.status_code == 200
        assert running.result().status_code == 200
        assert caller.run("server", "true").status_code == 200


def test_a_request_is_under_way_until_its_answer_was_taken(place: Place, sshd: SshServer) -> None:
    folder = place.folder / "gateway-of-answers-that-nobody-takes"
    folder.mkdir()
    with gateway_process(folder, [sshd.port], limits={"underWay": 1}) as gateway, socket.socket() as client:
        caller = gateway.caller()
        caller.store("server", sshd).raise_for_status()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        client.connect(("127.0.0.1", int(gateway.url.rpartition(":")[2])))
        body = json.dumps({"command": "head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2"}).encode()
        head = (
            "POST /sshapi/v2/server HTTP/1.1",
            "Host: gateway.example.com",
            f"Authorization: Bearer {caller.token}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            "Connection: close",
        )
        client.sendall("\r\n".join((*head, "", "")).encode() + body)
        wait_until(lambda: gateway.metric("sshload_gateway_commands_total", outcome="exited") > 0, "the command ends")

        assert caller.run("server", "true").status_code == 429
        answer = b"".join(iter(lambda: client.recv(1_000_000), b""))
        assert answer.count(b"\\u0000") == 2_000_000
        wait_until(lambda: caller.run("server", "true").status_code == 200, "the request is over")


def test_a_body_that_is_too_large_is_refused_whatever_its_header_says(limited: GatewayProcess) -> None:
    caller = limited.caller("large")
    body = b"{" + b" " * 4_096

    assert caller.ask("POST", "/credentials", data=body).status_code == 413
    assert caller.ask("POST", "/credentials", data=iter([body])).status_code == 413


@pytest.mark.parametrize("is_declared", [True, False])
def test_a_body_of_a_request_that_has_none_is_refused_where_it_is_too_large(
    caller: Caller, *, is_declared: bool
) -> None:
    body = b" " * (1024 * 1024 + 1)
    answer = caller.ask("GET", "/server/files", data=body if is_declared else iter([body]))

    assert answer.status_code == 413


def test_the_issuer_may_change_its_keys(limited: GatewayProcess, jwks: _Jwks) -> None:
    before = Caller(limited.url, _LATER.token("later"))
    assert before.ask("GET", "/credentials").status_code == 401
    jwks.hold(limited.issuer, _LATER)
    # The gateway fetches keys again every few seconds at most.
    wait_until(lambda: before.ask("GET", "/credentials").status_code != 401, "the new key")

    assert limited.caller("still").ask("GET", "/credentials").status_code == 200


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Basic YTpi", "Bearer nonsense", "bearer a.b.c"])
def test_without_a_token_nothing_is_answered(gateway: GatewayProcess, header: str | None) -> None:
    headers = {} if header is None else {"Authorization": header}
    for method, path in (("GET", "credentials"), ("POST", "server"), ("GET", "server/files"), ("GET", "nowhere")):
        answer = requests.request(method, f"{gateway.url}/sshapi/v2/{path}", headers=headers, timeout=300)
        assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")


def test_everybody_is_welcome(gateway: GatewayProcess) -> None:
    assert requests.get(f"{gateway.url}/sshapi/v2/", timeout=300).json()["service"] == "sshload-gateway"


def test_a_connection_that_was_idle_for_longer_than_uvicorn_keeps_one_takes_another_request(
    gateway: GatewayProcess,
) -> None:
    connection = HTTPConnection(gateway.url.removeprefix("http://"), timeout=300)
    try:
        statuses = []
        for idle_s in (6, 0):
            connection.request("GET", "/sshapi/v2/")
            answer = connection.getresponse()
            answer.read()
            statuses.append(answer.status)
            time.sleep(idle_s)
        assert statuses == [200, 200]
    finally:
        connection.close()


def test_a_body_of_nobody_is_not_read(gateway: GatewayProcess) -> None:
    address = gateway.url.removeprefix("http://").split(":")
    with socket.create_connection((address[0], int(address[1])), timeout=300) as connection:
        connection.sendall(b"POST /sshapi/v2/credentials HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n")
        assert connection.recv(1_000).startswith(b"HTTP/1.1 401 ")


def test_a_gateway_that_is_told_to_stop_ends_what_runs_and_leaves(place: Place, sshd: SshServer) -> None:
    folder = place.folder / "gateway-that-stops"
    folder.mkdir()
    begun = place.folder / "home" / "begun-before-the-stop"
    with gateway_process(folder, [sshd.port], shutdownS=300) as gateway, ThreadPoolExecutor(1) as others:
        caller = gateway.caller()
        caller.store("server", sshd).raise_for_status()
        running = others.submit(caller.run, "server", f"touch {begun}; sleep 1; echo done")
        wait_until(begun.exists, "the command begins")
        gateway.process.terminate()

        assert running.result().json()["stdout"] == "done\n"
        assert gateway.process.wait() == 0
    for line in gateway.log.splitlines():
        assert {"timestamp", "level", "logger", "message"} <= json.loads(line).keys()
