"""HTTP/1.1 by uvicorn and h11, with no more room and time than a client may take."""

import asyncio
from enum import Enum, auto, unique
from typing import ClassVar, Final

from sshload_contract.front.admission import Admission, Limits, address_of
from sshload_contract.front.heads import HEAD_BYTES
from uvicorn.protocols.http.h11_impl import H11Protocol

API: Final = Limits(connections=2_048, per_address=1_536)  # a load test, or a proxy, has one address
MANAGEMENT: Final = Limits(connections=64, per_address=32)


def limited(limits: Limits, *, keeps_served: bool) -> type["HttpProtocol"]:
    """Return the protocol of one port with these limits: `keeps_served` if no request is given up for a newcomer."""

    class Limited(HttpProtocol):
        port_limits = limits
        keeps = keeps_served
        admission = Admission(limits)

    return Limited


@unique
class _Awaited(Enum):
    """What a connection waits for."""

    HEAD = auto()
    BODY = auto()
    ANSWER = auto()  # of the gateway
    ANSWER_AHEAD = auto()  # likewise, by a client that has sent more before it
    TAKING = auto()  # of the answer, by the client
    NEXT = auto()  # request; uvicorn limits the time for it


class HttpProtocol(H11Protocol):
    """One connection of a client, of a port that `limited` has made.

    The limits' `head_s` is the time for a head, and `answer_s` that for a body, and for taking an answer. While the
    connection waits for its client it may be closed for a newcomer, and also if that has sent the next request before
    the answer: else a few clients could keep all connections in use.
    """

    port_limits: ClassVar[Limits]
    keeps: ClassVar[bool]
    admission: ClassVar[Admission["HttpProtocol"]]
    _awaited: _Awaited | None = None
    _is_taken = True
    _ending: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        """Begin to serve a client."""
        transport.set_write_buffer_limits(0)  # whatever waits to be taken is told by pause_writing
        super().connection_made(transport)
        leaving = self.admission.admit(self, address_of(transport.get_extra_info("peername")))
        if leaving is not None:
            leaving.abort()
        self._look()

    def abort(self) -> None:
        """Close at once, whatever is not sent."""
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Hear that the client is gone."""
        self.admission.remove(self)
        self._end_after(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take in a part of a request."""
        super().data_received(data)
        self._look()
        if self._awaited is _Awaited.ANSWER_AHEAD and len(self.conn.trailing_data[0]) > HEAD_BYTES:
            self.abort()

    def pause_writing(self) -> None:
        """Hear that the client has yet to take what was sent."""
        super().pause_writing()
        self._is_taken = False
        self._look()

    def resume_writing(self) -> None:
        """Hear that the client has taken all."""
        self._is_taken = True
        self._look()
        super().resume_writing()

    def on_response_complete(self) -> None:
        """Hear that the last part of an answer was written."""
        super().on_response_complete()
        self._look()

    def _look(self) -> None:
        """Begin the time of what is awaited now."""
        awaited = self._awaits()
        if awaited is self._awaited or self.transport.is_closing():
            return
        self._awaited = awaited
        if awaited is _Awaited.ANSWER and self.keeps:
            self.admission.keep(self)
        else:
            self.admission.wait(self)
        limits = self.port_limits
        within_s = {_Awaited.HEAD: limits.head_s, _Awaited.BODY: limits.answer_s, _Awaited.TAKING: limits.answer_s}
        self._end_after(within_s.get(awaited))

    def _awaits(self) -> _Awaited:
        if not self._is_taken:
            return _Awaited.TAKING
        if self.cycle is not None and not self.cycle.response_complete:
            if self.cycle.more_body:
                return _Awaited.BODY
            return _Awaited.ANSWER_AHEAD if self.conn.trailing_data[0] else _Awaited.ANSWER
        return _Awaited.HEAD if self.timeout_keep_alive_task is None else _Awaited.NEXT

    def _end_after(self, left_s: float | None) -> None:
        if self._ending is not None:
            self._ending.cancel()
        self._ending = None if left_s is None else self.loop.call_later(left_s, self.abort)
