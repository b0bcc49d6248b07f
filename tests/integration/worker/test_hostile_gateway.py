"""A gateway that floods the worker, or repeats the caller's token, harms neither the worker nor its reports."""

import array
import fcntl
import socket
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import gevent
import pytest
from gateway_stand_in import TOKEN, Reply, command_reply, stand_in
from gevent.event import Event
from one_iteration import Counted, run_once
from run_configs import EXEC_TRUE, arrivals, client, run_config, scenario
from sshload_contract.vocabulary import Outcome
from sshload_worker.clients.delay import new_descriptor
from sshload_worker.clients.gateway import exchange
from sshload_worker.clients.gateway.exchange import Exchange
from sshload_worker.clients.gateway.stream import PlainStream
from sshload_worker.outcomes import StepFailure
from unkind_servers import speaking

DEADLINE_S = 300.0
MORE_THAN_ONE_PIECE = b"x" * 100_000
MIB = 2**20


@contextmanager
def stream_to(port: int) -> Iterator[tuple[PlainStream, int]]:
    """Connect; yield the stream and the number of its socket."""
    descriptor = new_descriptor(client(), socket.AF_INET)
    descriptor.connect(("127.0.0.1", port))
    try:
        yield PlainStream(descriptor), descriptor.fileno()
    finally:
        descriptor.shut_down()


def await_unread(number: int, count: int) -> None:
    """Wait until the kernel has so many bytes to be read."""
    waiting = array.array("i", [0])
    with gevent.Timeout(DEADLINE_S):
        while waiting[0] < count:
            gevent.sleep(0.001)
            fcntl.ioctl(number, termios.FIONREAD, waiting)


def test_others_have_their_turn_while_there_is_always_something_to_read() -> None:
    turns = []
    with (
        speaking(lambda connection: connection.sendall(MORE_THAN_ONE_PIECE)) as port,
        stream_to(port) as (stream, number),
    ):
        await_unread(number, len(MORE_THAN_ONE_PIECE))
        gevent.spawn(turns.append, "another greenlet's")
        stream.receive()
        assert not turns
        stream.receive()
    assert turns == ["another greenlet's"]


def test_what_many_large_answers_take_together_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "UNDER_WAY_LIMIT_BYTES", 3 * MIB)
    may_end = Event()

    def half_an_answer(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (4 * MIB) + b"x" * 2 * MIB)
        may_end.wait()

    def ask(port: int) -> StepFailure | None:
        with stream_to(port) as (stream, _):
            try:
                Exchange(stream, "gateway").ask("GET", "/", TOKEN)
            except StepFailure as failure:
                return failure
        return None

    with speaking(half_an_answer) as port, gevent.Timeout(DEADLINE_S):
        asking = [gevent.spawn(ask, port) for _ in range(2)]
        [ended, *_] = gevent.wait(asking, count=1)
        assert ended.value is not None
        assert ended.value.outcome is Outcome.GENERATOR_FAULT
        gevent.killall(asking)
        may_end.set()
        assert exchange._UNDER_WAY.count == 0


def run_against(folder: Path, reply: Reply) -> Counted:
    with stand_in(lambda _, __: reply) as gateway:
        config = run_config(gateway.endpoint(folder), arrivals(1, 1))
        return run_once(replace(config, scenario=scenario(EXEC_TRUE)))


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(Reply(401, {"kind": "token", "detail": f"{TOKEN} has expired"}), id="a problem"),
        pytest.param(Reply(503, {}, {"Retry-After": TOKEN}), id="Retry-After"),
        pytest.param(Reply(raw=f"HTTP/1.1 {TOKEN}\r\n\r\n".encode(), closes=True), id="no status"),
        pytest.param(command_reply(exitCode=1, stderr="dG9rZW46IGEtdG9rZW4="), id="stderr"),
        pytest.param(command_reply(outcome="signalled", exitCode=None, signal=TOKEN), id="a signal"),
    ],
)
def test_a_token_that_the_gateway_repeats_is_in_no_message(tmp_path: Path, reply: Reply) -> None:
    done = run_against(tmp_path, reply)
    assert TOKEN not in done.message
    assert "(token)" in done.message
