import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count

import gevent
import pytest
from gevent import sleep
from sshload_contract.vocabulary import Outcome
from sshload_worker.clients.tcp import Descriptor, await_banner, open_socket
from sshload_worker.outcomes import StepFailure
from unkind_servers import speaking

VERSION = b"SSH-2.0-server\r\n"
MOST_LINES = 1_024
LONGEST_LINE = b"x" * 254 + b"\n"
FLOOD_LINES = 100_000


@contextmanager
def connected_to(said: bytes) -> Iterator[Descriptor]:
    """Connect to a server that says this and closes."""

    def say(connection: socket.socket) -> None:
        with suppress(ConnectionError):  # the client does not listen to the end
            connection.sendall(said)

    with speaking(say) as port:
        descriptor = Descriptor(open_socket(socket.AF_INET), quick_ack=False)
        descriptor.connect(("127.0.0.1", port))
        try:
            yield descriptor
        finally:
            descriptor.shut_down()


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\n" * MOST_LINES, id="as many lines as OpenSSH reads"),
        pytest.param(LONGEST_LINE, id="a line as long as the RFC allows"),
    ],
)
def test_the_version_is_found_behind_what_may_come_before_it(before: bytes) -> None:
    with connected_to(before + VERSION) as descriptor:
        assert await_banner(descriptor) == "SSH-2.0-server"
        assert descriptor.socket.recv(len(VERSION)) == VERSION


@pytest.mark.parametrize(
    ("before", "message"),
    [
        pytest.param(b"\n" * (MOST_LINES + 1), "no SSH version in 1,024 lines:", id="a line too many"),
        pytest.param(b"hello\n" * FLOOD_LINES, "no SSH version in 1,024 lines: hello", id="lines without end"),
        pytest.param(b"x" + LONGEST_LINE, "x" * 255, id="a line too long"),
    ],
)
def test_a_server_that_says_more_before_its_version_does_not_speak_ssh(before: bytes, message: str) -> None:
    with connected_to(before + VERSION) as descriptor, pytest.raises(StepFailure) as failed:
        await_banner(descriptor)
    assert failed.value.outcome is Outcome.NOT_SSH
    assert failed.value.message == message


@pytest.mark.parametrize("version", ["SSH-2.0-server", "SSH-1.99-server"])
def test_a_version_of_both_protocols_is_understood(version: str) -> None:
    with connected_to(version.encode() + b"\r\n") as descriptor:
        assert await_banner(descriptor) == version


@pytest.mark.parametrize(
    ("said", "outcome", "message"),
    [
        pytest.param(b"SSH-2.0-ser", Outcome.RESET_BEFORE_BANNER, "in the middle of its banner", id="half a line"),
        pytest.param(b"SSH-1.5-old\r\n", Outcome.NOT_SSH, "does not speak SSH 2: SSH-1.5-old", id="SSH 1"),
        pytest.param(
            b"SSH-2.0-" + b"x" * 248, Outcome.NOT_SSH, "of more than 255 bytes: SSH-2.0-xx", id="a line too long"
        ),
    ],
)
def test_a_version_line_that_no_client_should_take_is_refused_here(said: bytes, outcome: Outcome, message: str) -> None:
    with connected_to(said) as descriptor, pytest.raises(StepFailure) as failed:
        await_banner(descriptor)
    assert failed.value.outcome is outcome
    assert message in failed.value.message


def test_others_run_while_a_server_sends_line_after_line() -> None:
    turns = count()

    def take_turns() -> None:
        while True:
            next(turns)
            sleep(0)

    said = b"\n" * MOST_LINES + VERSION
    with connected_to(said) as descriptor:
        descriptor.wait_readable()
        while len(descriptor.socket.recv(len(said), socket.MSG_PEEK)) < len(said):
            sleep(0)
        other = gevent.spawn(take_turns)
        await_banner(descriptor)
        other.kill()
    assert next(turns) >= MOST_LINES
