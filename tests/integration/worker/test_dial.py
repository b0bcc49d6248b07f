import socket
from collections.abc import Callable

import gevent
import pytest
from free_ports import free_port
from ssh_server import SshServer
from sshload_worker.scenario import first_login
from sshload_worker.scenario.first_login import dial_until_accepted, dial_until_banner
from unkind_servers import speaking

_DEADLINE_S = 300.0


@pytest.fixture(autouse=True)
def _no_attempt_ends_for_being_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is told is to be what the server did, however busy the machine is."""
    for limit in ("_FIRST_DIAL_ATTEMPT_S", "_DIAL_ATTEMPT_S", "_GREETING_S"):
        monkeypatch.setattr(first_login, limit, _DEADLINE_S)


def problems_until(dial: Callable[..., None], port: int) -> list[str]:
    told: list[str] = []
    with gevent.Timeout(_DEADLINE_S):
        dial("127.0.0.1", port, told.append)
    return told


def test_a_server_that_greets_is_greeted_at_once(sshd: SshServer) -> None:
    assert problems_until(dial_until_banner, sshd.port) == []
    assert problems_until(dial_until_accepted, sshd.port) == []


@pytest.mark.parametrize(
    ("first", "problem"),
    [
        pytest.param(b"Not allowed at this time\r\n", "sent 'Not allowed at this time', which is not", id="a refusal"),
        pytest.param(b"", "the server closed the connection", id="nothing"),
        pytest.param(b"x" * 10_000, "the server sent 'xxx", id="an endless text"),
    ],
)
def test_a_server_is_asked_again_until_it_greets(first: bytes, problem: str) -> None:
    answers = [first, first, b"a line before it\r\nSSH-2.0-double\r\n"]
    with speaking(lambda connection: connection.sendall(answers.pop(0))) as port:
        told = problems_until(dial_until_banner, port)
    assert len(told) == 2
    assert all(problem in one for one in told)
    assert answers == []


def test_an_attempt_without_an_answer_is_given_up_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel drops what comes for a queue that is full, as a network may that is about to learn of a Service."""
    monkeypatch.setattr(first_login, "_FIRST_DIAL_ATTEMPT_S", 0.01)
    told: list[str] = []
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):
            waiting = gevent.spawn(dial_until_accepted, "127.0.0.1", port, told.append)
            with gevent.Timeout(_DEADLINE_S):
                while len(told) < 2:
                    gevent.sleep(0.01)
            assert not waiting.ready()
            listener.accept()[0].close()
            waiting.get(timeout=_DEADLINE_S)
    assert set(told) == {f"127.0.0.1:{port}: timed out"}


def test_a_port_that_nobody_listens_at_is_told() -> None:
    port = free_port()
    told: list[str] = []
    waiting = gevent.spawn(dial_until_banner, "127.0.0.1", port, told.append)
    with gevent.Timeout(_DEADLINE_S):
        while not told:
            gevent.sleep(0.01)
    waiting.kill()
    assert told[0] == f"127.0.0.1:{port}: Connection refused"


def test_a_full_sshd_greets_when_it_has_room_again(start_sshd: Callable[[str], SshServer]) -> None:
    """An sshd answers one that has not logged in, and drops any other, until that one goes."""
    server = start_sshd("MaxStartups 1:100:1")
    told: list[str] = []
    with socket.create_connection(("127.0.0.1", server.port)) as first:
        assert first.recv(4) == b"SSH-"
        waiting = gevent.spawn(dial_until_banner, "127.0.0.1", server.port, told.append)
        with gevent.Timeout(_DEADLINE_S):
            while not told:
                gevent.sleep(0.01)
        assert not waiting.ready()
    waiting.get(timeout=_DEADLINE_S)
