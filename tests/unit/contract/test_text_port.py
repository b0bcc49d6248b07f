"""The small HTTP port of targets, programs in the path and masters, over real sockets."""

import contextlib
import itertools
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from http.client import HTTPConnection

import pytest
from socket_floods import PLAIN, TIMEOUT_S, closed, flood
from sshload_contract.front.admission import Limits
from sshload_contract.front.text_port import LIMITS, TEXT, Answer, TextPort
from sshload_target.sshd.network import open_peers

LARGE = b"x" * 10_000_000  # more than the sockets of both ends hold


def text(content: bytes) -> Callable[[], Answer]:
    return lambda: Answer(HTTPStatus.OK, TEXT, content)


@contextmanager
def served(limits: Limits = LIMITS, **pages: Callable[[], Answer]) -> Iterator[int]:
    """Serve these pages at a port of loopback."""
    port = TextPort("127.0.0.1", 0, {f"/{name}": page for name, page in pages.items()}, limits)
    try:
        yield port.port
    finally:
        port.close()


def answer(port: int, path: str, method: str = "GET") -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
    try:
        connection.request(method, path)
        got = connection.getresponse()
        return got.status, got.read()
    finally:
        connection.close()


def wait_until(is_so: Callable[[], bool]) -> None:
    until_s = time.monotonic() + 30.0
    while not is_so():
        assert time.monotonic() < until_s
        time.sleep(0.05)


def test_each_path_has_its_page() -> None:
    with served(healthz=text(b"ok\n"), stats=text(LARGE)) as port:
        assert answer(port, "/healthz?verbose") == (200, b"ok\n")
        assert answer(port, "/stats") == (200, LARGE)
        assert answer(port, "/healthz", "HEAD") == (200, b"")
        assert answer(port, "/other") == (404, b"the paths are /healthz, /stats\n")
        assert answer(port, "/healthz", "POST")[0] == 405


def test_only_the_head_of_a_page_answers_head() -> None:
    with served(healthz=text(b"ok\n")) as port, socket.create_connection(("127.0.0.1", port)) as asking:
        asking.sendall(b"HEAD /healthz HTTP/1.1\r\n\r\n")
        got = b"".join(iter(lambda: asking.recv(4_096), b""))
    assert b"Content-Length: 3\r\n" in got
    assert got.endswith(b"\r\n\r\n")


def test_a_page_that_cannot_be_made_is_an_answer_and_one_message_and_the_port_lives_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken() -> Answer:
        raise ValueError("no counts")

    with served(stats=broken, healthz=text(b"ok\n")) as port:
        assert [answer(port, "/stats")[0] for _ in range(20)] == [500] * 20
        assert answer(port, "/healthz")[0] == 200
    assert caplog.messages == ["/stats could not be made"]


@pytest.mark.slow
def test_pages_are_made_for_a_tenth_of_the_time_however_often_they_are_requested() -> None:
    made_s: list[float] = []

    def slow() -> Answer:
        made_s.append(time.monotonic())
        compute(0.05)
        return Answer(HTTPStatus.OK, TEXT, b"counts")

    with served(stats=slow) as port:
        until_s = time.monotonic() + 2.0
        while time.monotonic() < until_s:
            assert answer(port, "/stats") == (200, b"counts")
    assert made_s
    assert all(later - earlier >= 0.5 for earlier, later in itertools.pairwise(made_s))


def compute(cpu_s: float) -> None:
    until_s = time.thread_time() + cpu_s
    while time.thread_time() < until_s:
        pass


@pytest.mark.slow
@pytest.mark.parametrize("work", [compute, time.sleep], ids=["on a CPU", "waiting for one"])
def test_no_answer_is_older_than_its_request(work: Callable[[float], None]) -> None:
    logins = 0

    def counts() -> Answer:
        now = str(logins).encode()
        work(0.05)
        return Answer(HTTPStatus.OK, TEXT, now)

    with served(stats=counts) as port:
        for logins in range(5):
            assert answer(port, "/stats") == (200, str(logins).encode())


@pytest.mark.parametrize("kind", ["silent", "half a head"])
def test_who_sends_no_whole_head_in_time_is_closed(kind: str) -> None:
    with served(Limits(64, 64, head_s=0.3), healthz=text(b"ok\n")) as port, ExitStack() as held:
        connections = [held.enter_context(one) for one in flood("127.0.0.1", port, kind, 20)]
        assert len(connections) == 20
        wait_until(lambda: closed(connections) == 20)


def test_a_head_that_comes_byte_by_byte_has_no_longer() -> None:
    with served(Limits(64, 64, head_s=0.3), healthz=text(b"ok\n")) as port:
        until_s = time.monotonic() + 30.0
        with socket.create_connection(("127.0.0.1", port)) as connection:
            while not closed([connection]):
                assert time.monotonic() < until_s
                with contextlib.suppress(OSError):
                    connection.sendall(b"G")
                time.sleep(0.02)


def test_who_does_not_take_the_answer_in_time_is_closed() -> None:
    with served(Limits(64, 64, answer_s=0.3), metrics=text(LARGE)) as port, ExitStack() as held:
        connections = [held.enter_context(one) for one in flood("127.0.0.1", port, "one request", 10)]
        wait_until(lambda: not open_peers(port))
        received = [_all(connection) for connection in connections]
    assert all(len(content) < len(LARGE) for content in received)


def _all(connection: socket.socket) -> bytes:
    connection.settimeout(TIMEOUT_S)
    content = b""
    try:
        while data := connection.recv(1_000_000):
            content += data
    except OSError:
        pass
    return content


@pytest.mark.slow
@pytest.mark.parametrize("kind", PLAIN)
def test_a_flood_shuts_out_neither_its_own_address_nor_another_one(kind: str) -> None:
    with served(metrics=text(LARGE), healthz=text(b"ok\n")) as port, ExitStack() as held:
        for source in ("127.0.0.2", "127.0.0.3", "127.0.0.4", ""):
            for connection in flood("127.0.0.1", port, kind, 80, sources=(source,)):
                held.enter_context(connection)
        for _ in range(20):
            assert answer(port, "/healthz") == (200, b"ok\n")


def test_no_more_connections_are_open_than_there_may_be() -> None:
    with served(Limits(8, 4), healthz=text(b"ok\n")) as port, ExitStack() as held:
        connections = flood("127.0.0.1", port, "half a head", 40, sources=("127.0.0.1", "127.0.0.2", "127.0.0.3"))
        for connection in connections:
            held.enter_context(connection)
        wait_until(lambda: closed(connections) >= 32)
        assert closed(connections) == 32
