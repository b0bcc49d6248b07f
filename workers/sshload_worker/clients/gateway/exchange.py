"""One HTTP/1.1 connection to a gateway: one request and its whole answer at a time, as long as both sides keep it open.

h11 parses the answers: it limits the size of what precedes a body, and refuses what RFC 9112 does not allow. Nothing is
sent twice, because a retry would hide the failure that is to be measured.

A gateway may send many large answers at once, so the memory for all of them together is limited too. It may also repeat
the caller's token, which is removed before any part of an answer becomes a message.
"""

from dataclasses import dataclass
from time import monotonic_ns

import h11
from sshload_contract.vocabulary import Outcome

from sshload_worker.clients.gateway.stream import Stream
from sshload_worker.outcomes import StepFailure

ANSWER_LIMIT_BYTES = 16 * 2**20
UNDER_WAY_LIMIT_BYTES = 256 * 2**20
"""How many bytes of bodies a worker holds at once, over all its connections."""
REDACTED = b"(token)"
_HEAD_LIMIT_BYTES = 32_768
_INTERIM_ANSWERS_LIMIT = 10
"""How many answers of status 1xx may precede the answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer: its status, its Retry-After unparsed, its body, and how long it took since the request."""

    status: int
    retry_after: str
    body: bytes
    took_ns: int


class _UnderWay:
    """Counts the bytes of all bodies that are being received."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, count: int) -> None:
        """Count more bytes; raises StepFailure if they exceed the limit."""
        self.count += count
        if self.count > UNDER_WAY_LIMIT_BYTES:
            raise StepFailure(
                Outcome.GENERATOR_FAULT,
                f"the answers being received exceed the worker's limit of {UNDER_WAY_LIMIT_BYTES:,} bytes together:"
                " use commands with less output, or raise spec.workers.replicas",
            )


_UNDER_WAY = _UnderWay()


class Exchange:
    """One connection that is open. `authority` is the Host header of its requests."""

    def __init__(self, stream: Stream, authority: str) -> None:
        self._stream = stream
        self._authority = authority
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD_LIMIT_BYTES)
        self.is_over = False
        """Whether no further request can be sent."""

    def ask(self, method: str, target: str, token: str, body: bytes = b"") -> Answer:
        """Send a request, and return its answer; raises StepFailure if there is none, or it is not HTTP.

        After a failure, or a kill, the connection is over.
        """
        self.is_over = True
        headers = [("Host", self._authority), ("Authorization", f"Bearer {token}"), ("Accept", "application/json")]
        if body:
            headers += [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        request = self._http.send(h11.Request(method=method, target=target, headers=headers)) or b""
        if body:
            request += self._http.send(h11.Data(data=body)) or b""
        request += self._http.send(h11.EndOfMessage()) or b""
        begin_ns = monotonic_ns()
        self._stream.send(request)
        try:
            answer = self._answer(begin_ns, token.encode())
        except h11.RemoteProtocolError as error:
            said = str(error).replace(token, REDACTED.decode())
            raise StepFailure(Outcome.BAD_ANSWER, f"the answer is not HTTP: {said}") from None
        is_whole = self._http.our_state is h11.DONE and self._http.their_state is h11.DONE
        if is_whole and self._http.trailing_data == (b"", False):  # no data was sent without a request
            self._http.start_next_cycle()
            self.is_over = False
        return answer

    def _answer(self, begin_ns: int, token: bytes) -> Answer:
        body = bytearray()
        try:
            head = self._read(body)
            took_ns = monotonic_ns() - begin_ns
            said = bytes(body).replace(token, REDACTED)
            return Answer(head.status_code, _retry_after(head, token), said, took_ns)
        finally:
            _UNDER_WAY.count -= len(body)

    def _read(self, body: bytearray) -> h11.Response:
        """Read an answer to its end, with its body into `body`, and count the body's bytes; return the head."""
        head, interim = None, 0
        while True:
            match self._next_event():
                case h11.InformationalResponse():
                    interim += 1
                    if interim > _INTERIM_ANSWERS_LIMIT:
                        raise StepFailure(Outcome.BAD_ANSWER, f"more than {_INTERIM_ANSWERS_LIMIT} interim answers")
                case h11.Response() as response:
                    head = response
                case h11.Data(data=data):
                    body += data
                    _UNDER_WAY.add(len(data))
                    if len(body) > ANSWER_LIMIT_BYTES:
                        raise StepFailure(Outcome.BAD_ANSWER, f"the answer has more than {ANSWER_LIMIT_BYTES:,} bytes")
                case h11.EndOfMessage() if head is not None:
                    return head
                case _:
                    raise StepFailure(Outcome.DISCONNECTED, "the gateway closed the connection before its answer")

    def _next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            data = self._stream.receive()
            self._http.receive_data(data)
            if not data:
                return self._last_event()
        return event

    def _last_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """Return the event for the end of the connection: the end of a body without a length, or a loss."""
        try:
            return self._http.next_event()
        except h11.RemoteProtocolError:
            raise StepFailure(
                Outcome.DISCONNECTED, "the gateway closed the connection in the middle of its answer"
            ) from None


def _retry_after(response: h11.Response, token: bytes) -> str:
    found = next((value for name, value in response.headers if name == b"retry-after"), b"")
    return str(found.replace(token, REDACTED)[:40].decode("ascii", "replace"))
