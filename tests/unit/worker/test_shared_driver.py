"""Whose turn it is in a session that many greenlets share: of attempts that wait, open, or have half sent a packet.

The attempts are the tests' own; the session is libssh2's, without a server.
"""

import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import gevent
import pytest
from ssh2.error_codes import LIBSSH2_ERROR_EAGAIN
from ssh2.exceptions import ChannelFailure, ProtocolError, SocketDisconnectError, SocketSendError
from ssh2.session import LIBSSH2_SESSION_BLOCK_OUTBOUND, Session
from sshload_contract.vocabulary import Outcome, Timing
from sshload_worker.clients.ssh2 import shared_driver
from sshload_worker.clients.ssh2.shared_driver import SharedDriver
from sshload_worker.clients.tcp import Descriptor
from sshload_worker.outcomes import StepFailure

WITHIN_S = 60.0


class Played(Session):
    """A session of which the test says whether a packet is half sent."""

    is_blocked = False

    def block_directions(self) -> int:
        return LIBSSH2_SESSION_BLOCK_OUTBOUND if self.is_blocked else 0


class Line:
    """A shared session, its server's end of the connection, and what was attempted in which order."""

    def __init__(self, driver: SharedDriver, session: Played, server: socket.socket) -> None:
        self.driver, self.session, self.server = driver, session, server
        self.log: list[str] = []
        self.answered: set[str] = set()

    def attempt(self, name: str, error: BaseException | None = None, *, half: int = 0) -> Callable[[], Any]:
        """Return an attempt that raises an error, or else returns its name once it is `answered`.

        So many times it leaves a packet half sent before.
        """
        left = half

        def call() -> Any:
            nonlocal left
            self.log.append(name)
            self.session.is_blocked = left > 0
            left -= 1
            if error is not None:
                raise error
            return name if left < 0 and name in self.answered else LIBSSH2_ERROR_EAGAIN

        return call

    def answer(self, *names: str) -> None:
        """Let the server answer these, and say so on the connection."""
        self.answered.update(names)
        self.server.sendall(b"x")

    def does(self, attempt: Callable[[], Any], *, opens: bool = False) -> "gevent.Greenlet[..., Any]":
        """Begin an operation; its greenlet returns what came of it, or the failure."""

        def run() -> Any:
            begin = self.driver.until_opened if opens else self.driver.until_done
            try:
                return begin(Timing.EXEC, attempt)
            except StepFailure as failure:
                return failure

        greenlet = gevent.spawn(run)
        gevent.idle()
        return greenlet

    def serve(self, _: Session) -> int:
        """Take what the server has said, in place of the library."""
        self.log.append("serve")
        with suppress(BlockingIOError):
            self.driver.descriptor.socket.recv(100)
        return 0


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Iterator[Line]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        server, _ = listener.accept()
    client.setblocking(False)
    session = Played()
    driver = SharedDriver(session, Descriptor(client, quick_ack=True))  # type: ignore[arg-type]
    line = Line(driver, session, server)

    monkeypatch.setattr(shared_driver, "serve_all", line.serve)
    with server, gevent.Timeout(WITHIN_S):
        yield line
        driver.close("the test is over")


def test_each_waiter_gets_what_its_own_attempt_returned(line: Line) -> None:
    first, second = line.does(line.attempt("first")), line.does(line.attempt("second"))
    line.answer("second")
    assert second.get() == "second"
    line.answer("first")
    assert first.get() == "first"


def test_an_error_is_raised_where_its_attempt_is_waited_for_and_the_session_goes_on(line: Line) -> None:
    other = line.does(line.attempt("other"))
    assert line.does(line.attempt("refused", ChannelFailure())).get().outcome is Outcome.CHANNEL_REFUSED
    with pytest.raises(ZeroDivisionError):
        line.driver.until_done(Timing.EXEC, line.attempt("fault", ZeroDivisionError()))
    line.answer("other")
    assert other.get() == "other"
    assert not line.driver.lost


def test_channels_are_opened_one_after_the_other_and_others_are_attempted_meanwhile(line: Line) -> None:
    first, second = (line.does(line.attempt(name), opens=True) for name in ("first", "second"))
    other = line.does(line.attempt("other"))
    line.answer("other", "second")
    assert other.get() == "other"
    assert "second" not in line.log
    line.answer("first")
    assert (first.get(), second.get()) == ("first", "second")


def test_who_has_half_sent_a_packet_sends_the_rest_before_anybody_else(line: Line) -> None:
    """It waits for room in the socket, which is there, and not for what the server says, which is nothing."""
    line.answered = {"half", "other"}
    first, second = line.does(line.attempt("half", half=2)), line.does(line.attempt("other"))
    assert (first.get(), second.get()) == ("half", "other")
    assert [name for name in line.log if name != "serve"] == ["half", "half", "half", "other"]


def test_who_waited_for_a_half_sent_packet_is_attempted_at_once_when_it_is_sent(line: Line) -> None:
    """What the library has received since may be the answer, and the server may say nothing more."""
    waits, half = line.does(line.attempt("waits")), line.attempt("half", half=2)

    def sends_the_rest() -> Any:
        line.answered = {"half"}
        if (result := half()) == "half":
            line.answered = {"waits"}
        return result

    assert line.does(sends_the_rest).get() == "half"
    assert waits.get() == "waits"


def test_a_time_limit_is_raised_where_it_ends_a_wait(line: Line) -> None:
    with pytest.raises(gevent.Timeout), gevent.Timeout(0.01):
        line.driver.until_done(Timing.EXEC, line.attempt("waiting"))
    assert not line.driver.lost


def test_a_packet_that_nobody_would_send_on_ends_the_session(line: Line) -> None:
    waiting = line.does(line.attempt("waiting"))

    def leaves_half() -> str:
        line.session.is_blocked = True
        return "done"

    assert line.does(leaves_half).get() == "done"
    assert line.driver.lost == "the server accepted no more bytes from the shared session"
    assert (waiting.get().outcome, waiting.get().message) == (Outcome.DISCONNECTED, line.driver.lost)


def test_who_is_cut_off_in_the_middle_of_a_packet_ends_the_session_for_all(line: Line) -> None:
    with suppress(BlockingIOError):
        while True:  # until the socket takes no more
            line.driver.descriptor.socket.send(bytes(65_536))
    waiting = line.does(line.attempt("waiting"))
    line.does(line.attempt("half", half=1)).kill()
    assert waiting.get().outcome is Outcome.DISCONNECTED
    assert "in the middle of a packet" in line.driver.lost


def test_who_is_cut_off_while_it_opens_a_channel_ends_the_session_for_all(line: Line) -> None:
    line.does(line.attempt("opens"), opens=True).kill()
    assert line.does(line.attempt("later")).get().outcome is Outcome.DISCONNECTED


def test_who_is_cut_off_while_it_waits_leaves_the_session_to_the_others_and_is_attempted_no_more(line: Line) -> None:
    waiting = line.does(line.attempt("waiting"))
    line.does(line.attempt("cut")).kill()
    attempts = line.log.count("cut")
    line.answer("waiting")
    assert waiting.get() == "waiting"
    assert line.log.count("cut") == attempts


def test_an_opening_that_waits_for_another_one_can_be_cut_off_without_harm(line: Line) -> None:
    first, second = (line.does(line.attempt(name), opens=True) for name in ("first", "second"))
    second.kill()
    line.answer("first", "second")
    assert first.get() == "first"
    assert "second" not in line.log
    assert not line.driver.lost


def test_what_the_server_has_sent_before_its_end_is_still_taken_and_only_the_rest_fails(line: Line) -> None:
    late, early = line.does(line.attempt("late")), line.does(line.attempt("early"))
    line.answered = {"early", "later"}
    assert line.does(line.attempt("ends", SocketDisconnectError())).get().outcome is Outcome.DISCONNECTED
    assert early.get() == "early"
    assert (late.get().outcome, late.get().message) == (Outcome.DISCONNECTED, line.driver.lost)
    assert line.does(line.attempt("later")).get() == "later"


def test_a_broken_packet_ends_the_session_at_once(line: Line) -> None:
    waiting = line.does(line.attempt("waiting"))
    line.does(line.attempt("ends", ProtocolError())).get()
    assert waiting.get().outcome is Outcome.DISCONNECTED
    assert line.does(line.attempt("later")).get().outcome is Outcome.DISCONNECTED
    assert "later" not in line.log


def test_nobody_is_attempted_any_more_once_a_packet_was_broken(line: Line) -> None:
    ends, fails = line.attempt("ends"), ProtocolError()

    def breaks() -> Any:
        if ends() == "ends":
            raise fails
        return LIBSSH2_ERROR_EAGAIN

    broken, waiting = line.does(breaks), line.does(line.attempt("waiting"))
    line.answer("ends", "waiting")
    assert "ProtocolError" in broken.get().message
    assert waiting.get().outcome is Outcome.DISCONNECTED
    assert line.log[-1] == "ends"


def test_an_error_after_the_servers_end_of_the_connection_is_the_end_of_the_session(line: Line) -> None:
    line.server.close()
    while not line.driver.descriptor.peer_has_closed():
        gevent.sleep(0.001)
    line.does(line.attempt("refused", ChannelFailure())).get()
    assert line.driver.lost


def test_the_first_reason_for_the_end_of_a_session_is_told(line: Line) -> None:
    line.does(line.attempt("ends", SocketDisconnectError())).get()
    reason = line.driver.lost
    assert reason
    line.does(line.attempt("ends too", SocketSendError())).get()
    line.driver.close("enough")
    assert line.driver.lost == reason


def test_all_that_wait_and_all_that_come_later_fail_once_it_is_closed(line: Line) -> None:
    waiting = line.does(line.attempt("waiting"))
    line.driver.close("enough")
    for found in (waiting.get(), line.does(line.attempt("later")).get()):
        assert (found.outcome, found.message) == (Outcome.DISCONNECTED, "enough")


def test_what_is_used_no_more_is_closed_without_anybody_who_waits(line: Line) -> None:
    opened = object()
    line.answered = {"close"}
    close = line.attempt("close")
    line.driver.abandon(lambda one: close() if one is opened else None, opened)
    gevent.idle()
    assert line.log[0] == "close"
    line.driver.close("enough")
    line.log.clear()
    line.driver.abandon(lambda _: close(), opened)
    gevent.idle()
    assert line.log == []


def test_what_was_closed_is_kept_no_longer(line: Line) -> None:
    opened: Any = object()
    line.driver.keep(opened)
    line.driver.forget(opened)
    assert not line.driver._opened


def test_what_came_with_the_last_answer_is_served_and_so_is_what_comes_when_nobody_waits(line: Line) -> None:
    line.answered = {"done"}
    line.does(line.attempt("done")).get()
    gevent.idle()
    assert line.log == ["done", "serve"]
    line.answer()
    while line.log.count("serve") < 2:
        gevent.sleep(0.001)
