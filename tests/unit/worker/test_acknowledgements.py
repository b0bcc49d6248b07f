"""Acknowledgements: none is left to the kernel, which would delay it by up to 40 ms, where a server may wait for it."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import gevent
import pytest
from ssh2.error_codes import LIBSSH2_ERROR_EAGAIN
from ssh2.session import LIBSSH2_SESSION_BLOCK_INBOUND, LIBSSH2_SESSION_BLOCK_OUTBOUND
from sshload_contract.vocabulary import Timing
from sshload_worker.clients.delay_relay import _Side
from sshload_worker.clients.ssh2.driver import Driver
from sshload_worker.clients.tcp import Descriptor, open_socket

INBOUND = LIBSSH2_SESSION_BLOCK_INBOUND
EITHER = INBOUND | LIBSSH2_SESSION_BLOCK_OUTBOUND


class Session:
    """What a driver asks a session for."""

    def __init__(self, directions: int) -> None:
        self.block_directions: Callable[[], int] = lambda: directions


@contextmanager
def connected() -> Iterator[tuple[Descriptor, socket.socket]]:
    """Connect to a server with Nagle's algorithm: it sends nothing small before all else is acknowledged."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        descriptor = Descriptor(open_socket(socket.AF_INET), quick_ack=True)
        descriptor.connect(listener.getsockname())
        server, _ = listener.accept()
        with server:
            descriptor.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)  # as a connection is after a while
            yield descriptor, server
        descriptor.shut_down()


WAITS = pytest.mark.parametrize("directions", [pytest.param(INBOUND, id="inbound"), pytest.param(EITHER, id="either")])


@WAITS
def test_the_first_part_of_an_answer_is_acknowledged_before_the_wait_for_its_rest(directions: int) -> None:
    """The call that asks may have read it already: a fast server answers before that call returns."""
    received: list[bytes] = []

    with connected() as (descriptor, server):

        def ask_and_read() -> int:
            if not received:
                descriptor.socket.send(b"request")
                server.recv(100)
                server.send(b"begin")
                server.send(b"rest")
            received.append(descriptor.socket.recv(100))
            return 0 if len(received) > 1 else LIBSSH2_ERROR_EAGAIN

        driver = Driver(Session(directions), descriptor)
        asking = gevent.spawn(driver.until_opened, Timing.CHANNEL_OPEN, ask_and_read)
        gevent.sleep(0)  # it waits now
        assert received == [b"begin"]
        assert descriptor.socket.recv(100, socket.MSG_PEEK) == b"rest"
        asking.get()


@WAITS
def test_an_answer_is_acknowledged_when_it_arrives_and_not_when_the_client_gets_to_read_it(directions: int) -> None:
    """Else a server that waits for it would wait for a busy client too, and the latency would contain that."""

    def ask_and_read() -> int:
        if not server_asked:
            descriptor.socket.send(b"request")
        return 0 if server_asked else LIBSSH2_ERROR_EAGAIN

    with connected() as (descriptor, server):
        server_asked = b""
        asking = gevent.spawn(Driver(Session(directions), descriptor).until_opened, Timing.CHANNEL_OPEN, ask_and_read)
        gevent.sleep(0)  # it waits now, and has no turn before the assertion
        server_asked = server.recv(100)
        server.send(b"begin")
        server.send(b"rest")
        assert descriptor.socket.recv(100, socket.MSG_PEEK) == b"beginrest"
        asking.get()


class Transport:
    """What a side of the relay asks for its socket."""

    def __init__(self, connection: object) -> None:
        self._connection = connection

    def get_extra_info(self, _: str) -> object:
        return self._connection


def test_the_relay_of_a_delay_acknowledges_what_the_server_says_before_it_passes_it_on() -> None:
    with connected() as (descriptor, server):
        side = _Side(quick_ack=True)
        side.connection_made(cast("Any", Transport(descriptor.socket)))
        server.send(b"begin")
        server.send(b"rest")
        side.data_received(descriptor.socket.recv(100))
        assert descriptor.socket.recv(100) == b"rest"
