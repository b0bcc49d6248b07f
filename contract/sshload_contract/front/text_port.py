"""A small HTTP port for probes and counts: one request for each connection, answered by one thread.

It works in a thread, or in a greenlet where gevent has patched the process. Whatever comes to it, it holds LIMITS many
connections, with at most a head and one answer for each, and makes pages for at most a tenth of a CPU's time. Who asks
before that allows another page waits for it: no answer is older than its request.
"""

import logging
import selectors
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final, NamedTuple

from sshload_contract.front.admission import ACCEPTED_AT_ONCE, Admission, Limits, address_of, listen
from sshload_contract.front.cpu_share import CpuShare
from sshload_contract.front.heads import Head, HeadError, HeadReader, refusal

_LOG = logging.getLogger(__name__)
LIMITS: Final = Limits(connections=64, per_address=32)
_READ_BYTES: Final = 4_096
_NO_SOCKETS_PAUSE_S: Final = 0.05
TEXT: Final = "text/plain; charset=utf-8"
FAULT_LASTS_S: Final = 10.0
"""How long a page is not tried again after it could not be made: each time is a message in the log."""


class Answer(NamedTuple):
    """What is answered to a GET."""

    status: HTTPStatus
    content_type: str
    body: bytes


_FAULT: Final = Answer(HTTPStatus.INTERNAL_SERVER_ERROR, TEXT, b"the page could not be made: the log says why\n")


class TextPort:
    """Serves pages by their paths until `close`. An empty host is each address. Raises OSError if the port is taken."""

    def __init__(
        self, host: str, port: int, pages: Mapping[str, Callable[[], Answer]], limits: Limits = LIMITS
    ) -> None:
        self._pages = {path: _Page(path, make) for path, make in pages.items()}
        self._missing = f"the paths are {', '.join(pages)}\n".encode()
        self._limits = limits
        self._admission: Admission[_Connection] = Admission(limits)
        self._deadlines: dict[_Connection, float] = {}
        self._listening = listen(host, port)
        self._waking, self._woken = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listening, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._serve, name="http", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """The port at which it listens."""
        number: int = self._listening.getsockname()[1]
        return number

    def close(self) -> None:
        """Stop listening and close all connections."""
        self._waking.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            for key, _ in self._selector.select(self._until_next_deadline_s()):
                if key.fileobj is self._woken:
                    self._end()
                    return
                if key.fileobj is self._listening:
                    self._accept()
                elif key.data in self._deadlines:  # else it was closed for another one of this turn
                    self._go_on(key.data)
            self._answer_waiting()
            self._close_late()

    def _accept(self) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                accepted, peer = self._listening.accept()
            except BlockingIOError:
                return
            except OSError:  # no file descriptor is left, or the peer is gone
                time.sleep(_NO_SOCKETS_PAUSE_S)
                return
            accepted.setblocking(False)
            connection = _Connection(accepted)
            leaving = self._admission.admit(connection, address_of(peer))
            if leaving is connection:
                accepted.close()
                continue
            if leaving is not None:
                self._close(leaving)
            self._selector.register(accepted, selectors.EVENT_READ, connection)
            self._deadlines[connection] = time.monotonic() + self._limits.head_s

    def _go_on(self, connection: "_Connection") -> None:
        try:
            if not connection.outgoing:
                self._read(connection)
            while connection.outgoing:
                sent = connection.socket.send(connection.outgoing[0])
                connection.outgoing[0] = connection.outgoing[0][sent:]
                if not connection.outgoing[0]:
                    del connection.outgoing[0]
                if not connection.outgoing:
                    self._close(connection)
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            self._close(connection)

    def _read(self, connection: "_Connection") -> None:
        """Read; answer as soon as the head is whole, or wrong. Raises OSError where the peer is gone."""
        data = connection.socket.recv(_READ_BYTES)
        if not data:
            raise ConnectionResetError
        try:
            head = connection.reader.feed(data)
        except HeadError as error:
            self._selector.unregister(connection.socket)
            self._send(connection, refusal(error))
            return
        if head is not None:
            self._selector.unregister(connection.socket)
            self._answer(connection, head)

    def _answer(self, connection: "_Connection", head: Head) -> None:
        connection.wants_body = head.method != "HEAD"
        page = self._pages.get(head.path)
        if head.method not in {"GET", "HEAD"}:
            self._send_answer(connection, Answer(HTTPStatus.METHOD_NOT_ALLOWED, TEXT, b"only GET is answered\n"))
        elif page is None:
            self._send_answer(connection, Answer(HTTPStatus.NOT_FOUND, TEXT, self._missing))
        else:
            connection.awaits = page
            page.waiting[connection] = None
            self._deadlines[connection] = time.monotonic() + self._limits.answer_s

    def _answer_waiting(self) -> None:
        for page in self._pages.values():
            if page.waiting and page.share.free_at_s <= time.monotonic():
                answer = page.make()
                for connection in page.waiting:
                    connection.awaits = None
                    self._send_answer(connection, answer)
                page.waiting.clear()

    def _send_answer(self, connection: "_Connection", answer: Answer) -> None:
        self._send(connection, _head_of(answer))
        if answer.body and connection.wants_body:
            connection.outgoing.append(memoryview(answer.body))  # not copied: all connections share the page

    def _send(self, connection: "_Connection", head: bytes) -> None:
        self._selector.register(connection.socket, selectors.EVENT_WRITE, connection)
        self._deadlines[connection] = time.monotonic() + self._limits.answer_s
        connection.outgoing = [memoryview(head)]

    def _until_next_deadline_s(self) -> float | None:
        soonest_s = min(
            (*self._deadlines.values(), *(page.share.free_at_s for page in self._pages.values() if page.waiting)),
            default=None,
        )
        return None if soonest_s is None else max(0.0, soonest_s - time.monotonic())

    def _close_late(self) -> None:
        now_s = time.monotonic()
        for connection in [late for late, until_s in self._deadlines.items() if until_s <= now_s]:
            self._close(connection)

    def _close(self, connection: "_Connection") -> None:
        self._admission.remove(connection)
        del self._deadlines[connection]
        if connection.awaits is None:
            self._selector.unregister(connection.socket)
        else:
            del connection.awaits.waiting[connection]
        connection.socket.close()

    def _end(self) -> None:
        for connection in list(self._deadlines):
            self._close(connection)
        self._selector.close()
        self._listening.close()
        self._woken.close()


@dataclass(eq=False, slots=True)
class _Connection:
    socket: socket.socket
    reader: HeadReader = field(default_factory=HeadReader)
    outgoing: list[memoryview] = field(default_factory=list)
    wants_body: bool = True
    awaits: "_Page | None" = None
    """The page that it has asked for. Until it is made, the selector does not watch the connection."""


class _Page:
    """Is made with its share of a CPU, and after a fault only once in FAULT_LASTS_S."""

    def __init__(self, path: str, make: Callable[[], Answer]) -> None:
        self._path = path
        self._make = make
        self.waiting: dict[_Connection, None] = {}
        self.share = CpuShare()
        self._broken_until_s = 0.0

    def make(self) -> Answer:
        if time.monotonic() < self._broken_until_s:
            return _FAULT
        try:
            with self.share.used():
                return self._make()
        except Exception:  # noqa: BLE001 -- the port outlives each page
            _LOG.exception("%s could not be made", self._path)
            self._broken_until_s = time.monotonic() + FAULT_LASTS_S
            return _FAULT


def _head_of(answer: Answer) -> bytes:
    status = answer.status
    lines = (
        f"HTTP/1.1 {status.value} {status.phrase}",
        f"Content-Type: {answer.content_type}",
        f"Content-Length: {len(answer.body)}",
        "Connection: close",
        "\r\n",
    )
    return "\r\n".join(lines).encode("ascii")
