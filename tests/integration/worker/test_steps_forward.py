"""The forward step: the server connects for us, or refuses to."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from free_ports import free_port
from gevent.server import StreamServer
from one_iteration import one_pass
from run_configs import client
from ssh_server import SshServer
from sshload_contract.steps import ForwardStep
from sshload_contract.vocabulary import Outcome


@contextmanager
def speaking(serve: Callable[[socket.socket], object]) -> Iterator[int]:
    """Run a server of this process that treats each connection by `serve`, and return its port."""
    server = StreamServer(("127.0.0.1", 0), lambda connection, _: serve(connection))
    server.start()
    try:
        yield server.server_port
    finally:
        server.stop()


def forward(port: int, send: str = "", expect: str = "", host: str = "127.0.0.1") -> ForwardStep:
    return ForwardStep("", host, port, send, expect)


def answer(connection: socket.socket) -> None:
    connection.sendall(b"you said " + connection.recv(100) + b"\r\n")


def test_a_forward_is_timed_in_its_parts(sshd: SshServer) -> None:
    with speaking(answer) as port:
        done = one_pass(sshd, forward(port, "hello {iteration}\n", "you said hello 0-0"))
    assert (done.outcome, done.failed) == (Outcome.OK, {}), done
    assert done.timed == {"channelOpen": 1, "echo": 1, "close": 1, "forward": 1}


def test_another_ssh_server_is_reached_through_the_server(sshd: SshServer) -> None:
    assert one_pass(sshd, forward(sshd.port, expect="SSH-2.0-", host="localhost")).outcome is Outcome.OK


def test_without_texts_a_connection_is_only_made_and_ended(sshd: SshServer) -> None:
    with speaking(lambda connection: connection.recv(1)) as port:
        done = one_pass(sshd, forward(port), forward(port))
    assert done.outcome is Outcome.OK
    assert done.timed == {"channelOpen": 2, "close": 2, "forward": 2}


def test_a_port_that_nobody_listens_on_is_a_refused_channel(sshd: SshServer) -> None:
    done = one_pass(sshd, forward(free_port()))
    assert done.failure == (Outcome.CHANNEL_REFUSED, "channelOpen")


def test_a_server_that_forbids_forwards_refuses_the_channel(start_sshd: Callable[[str], SshServer]) -> None:
    with speaking(answer) as port:
        done = one_pass(start_sshd("AllowTcpForwarding no"), forward(port))
    assert done.failure == (Outcome.CHANNEL_REFUSED, "channelOpen")
    assert "prohibited" in done.message


def test_an_answer_that_ends_before_what_is_expected_is_a_mismatch(sshd: SshServer) -> None:
    with speaking(answer) as port:
        done = one_pass(sshd, forward(port, "hello", "goodbye"))
    assert done.failure == (Outcome.OUTPUT_MISMATCH, "echo")
    assert done.message.startswith("the output ended before `expect` came")


@pytest.mark.parametrize("endless", [b"", b"x" * 65_536], ids=["silence", "noise"])
def test_an_answer_that_never_comes_is_a_timeout(sshd: SshServer, endless: bytes) -> None:
    def serve(connection: socket.socket) -> None:
        with connection:
            try:
                while endless:
                    connection.sendall(endless)
                connection.recv(1)
            except OSError:
                pass

    with speaking(serve) as port:
        done = one_pass(sshd, forward(port, expect="never"), by=client(step_s=0.3))
    assert done.failure == (Outcome.STEP_TIMEOUT, done.first_without_end("channelOpen", "echo"))
    assert done.message == "forward took longer than 0.3 s"
