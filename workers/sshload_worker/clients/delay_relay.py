"""The relay that simulates a network delay: the process that `clients.delay` starts. It uses the standard library only.

It relays TCP connections from this machine to servers, and delays the data in each direction by the same time. It never
waits for one piece before it accepts the next, so it does not limit the throughput as long as no more than
`_MOST_IN_TRANSIT_BYTES` of a direction are in transit.

A client sends its request, one line of JSON: the relay's token, a socket family, a socket address, and whether quickAck
is set. The relay connects to the server after one delay, and answers the client after another: the reply is four bytes,
the errno of the connection, or 0 if it was made. Over a real network the server would accept the connection only when
the client's acknowledgement arrives, which is two delays later than here. So the server's first data, or its end of the
connection, is delayed by two more delays, unless data from the client has reached the server before: that would have
arrived after the acknowledgement.

The ends and resets of connections are relayed like data: each arrives one delay later, after all data sent before it.

A kernel timer (timerfd_create(2)) wakes the relay, because the event loop's own timers have a resolution of only a
millisecond.
"""

import asyncio
import ctypes
import errno
import heapq
import json
import os
import resource
import secrets
import signal
import socket
import struct
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from time import monotonic_ns
from typing import cast

_NS_PER_S = 1_000_000_000
_NS_PER_US = 1_000
_PROBE_NS = 10_000_000
_MOST_IN_TRANSIT_BYTES = 67_108_864
_REQUEST_BYTES = 1_024
_BACKLOG = 4_096
_CLOCK_MONOTONIC = 1
_TIMER_FLAGS = os.O_NONBLOCK | os.O_CLOEXEC
_ABSOLUTE = 1
_ERRNO = struct.Struct(">I")
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
_SPARE_FILES = 32


class _TimeSpec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _TimerSpec(ctypes.Structure):
    _fields_ = (("interval", _TimeSpec), ("value", _TimeSpec))


class _Timer:
    """Calls functions at given times, in their order, on the running event loop."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = self._libc.timerfd_create(_CLOCK_MONOTONIC, _TIMER_FLAGS)
        if self._descriptor < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")
        self._calls: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = count()
        asyncio.get_running_loop().add_reader(self._descriptor, self._fire)

    def call_at(self, due_ns: int, call: Callable[[], None]) -> None:
        """Call `call` at a monotonic time, or immediately if that has passed."""
        entry = (due_ns, next(self._numbers), call)
        heapq.heappush(self._calls, entry)
        if self._calls[0] is entry:
            self._arm()

    def _fire(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._descriptor, 8)
        try:
            while self._calls and self._calls[0][0] <= monotonic_ns():
                heapq.heappop(self._calls)[2]()
        finally:  # a call that fails must not prevent those of other connections
            if self._calls:
                self._arm()

    def _arm(self) -> None:
        # A time that has passed fires immediately.
        spec = _TimerSpec(_TimeSpec(0, 0), _TimeSpec(*divmod(self._calls[0][0], _NS_PER_S)))
        self._libc.timerfd_settime(self._descriptor, _ABSOLUTE, ctypes.byref(spec), None)


class _Direction:
    """The data in transit in one direction: pieces in their order, each with its time of arrival.

    `back` is the opposite direction between the same two connections.
    """

    def __init__(self, timer: _Timer, delay_ns: int, source: asyncio.Transport, sink: asyncio.Transport) -> None:
        self.back: _Direction | None = None
        self.has_delivered = False
        self.has_ended = False
        self._timer = timer
        self._delay_ns = delay_ns
        self._source = source
        self._sink = sink
        self._pieces: deque[tuple[int, bytes]] = deque()
        self._in_transit_bytes = 0
        self._due_ns = 0
        self._is_waiting = False
        self._is_blocked = False

    def put(self, piece: bytes, *, extra_ns: int = 0) -> None:
        """Schedule a piece to arrive one delay and `extra_ns` from now; an empty one is the end."""
        self._pieces.append((self._due_in(extra_ns), piece))
        self._in_transit_bytes += len(piece)
        if self._in_transit_bytes > _MOST_IN_TRANSIT_BYTES:
            self._source.pause_reading()
        self._wait()

    def reset(self, *, extra_ns: int = 0) -> None:
        """Schedule the source's reset to arrive one delay and `extra_ns` from now, even if the sink is blocked."""
        self._timer.call_at(self._due_in(extra_ns), self._reset)

    def block(self, *, blocked: bool) -> None:
        """Record whether the sink accepts no more data for now."""
        self._is_blocked = blocked
        if not blocked:
            self._deliver()

    def _due_in(self, extra_ns: int) -> int:
        self._due_ns = max(monotonic_ns() + self._delay_ns + extra_ns, self._due_ns)
        return self._due_ns

    def _wait(self) -> None:
        if self._pieces and not self._is_waiting and not self._is_blocked:
            self._is_waiting = True
            self._timer.call_at(self._pieces[0][0], self._fire)

    def _fire(self) -> None:
        self._is_waiting = False
        self._deliver()

    def _deliver(self) -> None:
        while self._pieces and not self._is_blocked and self._pieces[0][0] <= monotonic_ns():
            _, piece = self._pieces.popleft()
            self._in_transit_bytes -= len(piece)
            if self._sink.is_closing() or self.has_ended:
                continue
            self.has_delivered = True
            if piece:
                self._sink.write(piece)
            else:
                self._end()
        # Not at the limit itself, where reading would stop and go on with each piece.
        if self._in_transit_bytes <= _MOST_IN_TRANSIT_BYTES // 2 and not self._source.is_closing():
            self._source.resume_reading()
        self._wait()

    def _end(self) -> None:
        self.has_ended = True
        if self.back is not None and self.back.has_ended:
            self._source.close()
            self._sink.close()
        else:
            with suppress(OSError):  # the sink was reset; its protocol will learn of it next
                self._sink.write_eof()

    def _reset(self) -> None:
        self._deliver()
        _reset(self._sink)


def _reset(transport: asyncio.Transport) -> None:
    """Reset a connection, if it has not ended yet."""
    if not transport.is_closing():
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        transport.abort()


class _Side(asyncio.Protocol):
    """One of the two connections that are joined. Data from it goes to `from_here`, data to it comes from `to_here`."""

    def __init__(self, *, first_extra_ns: int = 0, quick_ack: bool = False) -> None:
        self.transport: asyncio.Transport | None = None
        self.from_here: _Direction | None = None
        self.to_here: _Direction | None = None
        self._extra_ns = first_extra_ns
        self._quick_ack = quick_ack

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Record the transport."""
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Pass on data from this side, and acknowledge it immediately if quickAck is set."""
        if self._quick_ack and self.transport is not None:
            self.transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        if self.from_here is not None:
            self.from_here.put(data, extra_ns=self._take_extra_ns())

    def eof_received(self) -> bool:
        """Pass on the end of this side's data; it may still receive."""
        if self.from_here is not None:
            self.from_here.put(b"", extra_ns=self._take_extra_ns())
        return True

    def pause_writing(self) -> None:
        """Stop delivering data to this side."""
        if self.to_here is not None:
            self.to_here.block(blocked=True)

    def resume_writing(self) -> None:
        """Continue to deliver data to this side."""
        if self.to_here is not None:
            self.to_here.block(blocked=False)

    def connection_lost(self, exc: Exception | None) -> None:
        """Pass on a reset; without one, the relay itself has ended both sides."""
        if exc is not None and self.from_here is not None:
            self.from_here.reset(extra_ns=self._take_extra_ns())

    def _take_extra_ns(self) -> int:
        """Return the extra delay of this side's first data or end, or 0 if data was delivered to this side before."""
        taken_ns, self._extra_ns = self._extra_ns, 0
        return 0 if self.to_here is not None and self.to_here.has_delivered else taken_ns


class _Near(_Side):
    """The client's connection, which starts with a request."""

    def __init__(self, relay: "_Relay") -> None:
        super().__init__()
        self._relay = relay
        self._request = b""
        self._connecting: asyncio.Task[None] | None = None
        self._far: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Record the transport, and count the client."""
        super().connection_made(transport)
        self._relay.clients += 1

    def data_received(self, data: bytes) -> None:
        """Read the request, then pass on the client's data."""
        if self.from_here is not None:
            super().data_received(data)
            return
        self._request += data
        if self.transport is None or self._connecting is not None:
            return
        if b"\n" in self._request:
            self._connecting = asyncio.create_task(self._connect(monotonic_ns()))
        elif len(self._request) > _REQUEST_BYTES:
            self.transport.abort()

    def eof_received(self) -> bool:
        """Pass on the end, or close if the client gives up before the connection is made."""
        return self.from_here is not None and super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """Pass on a reset, or give up the connection to the server."""
        self._relay.clients -= 1
        if self.from_here is not None:
            super().connection_lost(exc)
            return
        if self._connecting is not None:
            self._connecting.cancel()
        if self._far is not None:
            _reset(self._far)

    async def _connect(self, begin_ns: int) -> None:
        relay, transport = self._relay, cast("asyncio.Transport", self.transport)
        try:
            token, family, address, quick_ack = json.loads(self._request)
            if not secrets.compare_digest(str(token), relay.token):
                raise ValueError  # noqa: TRY301 - handled like any other invalid request
        except (ValueError, TypeError, RecursionError):
            transport.abort()
            return
        try:
            relay.check_room()
            await relay.until(begin_ns + relay.delay_ns)
            far = await relay.connected(socket.AddressFamily(family), tuple(address), quick_ack=bool(quick_ack))
        except ConnectionResetError:  # the server had accepted the connection already
            await relay.until(monotonic_ns() + relay.delay_ns)
            transport.write(_ERRNO.pack(0))
            await relay.until(monotonic_ns() + 2 * relay.delay_ns)
            _reset(transport)
            return
        except OSError as error:
            await relay.until(monotonic_ns() + relay.delay_ns)
            transport.write(_ERRNO.pack(error.errno or errno.EIO))
            transport.close()
            return
        self._far = cast("asyncio.Transport", far.transport)
        to_server = _Direction(relay.timer, relay.delay_ns, transport, self._far)
        to_client = _Direction(relay.timer, relay.delay_ns, self._far, transport)
        to_server.back, to_client.back = to_client, to_server
        self.to_here, far.from_here, far.to_here = to_client, to_client, to_server
        self._far.resume_reading()
        await relay.until(monotonic_ns() + relay.delay_ns)
        transport.write(_ERRNO.pack(0))
        self.from_here = to_server


class _Relay:
    """The state that all connections share."""

    def __init__(self, token: str, delay_ns: int) -> None:
        self.token = token
        self.delay_ns = delay_ns
        self.timer = _Timer()
        self.clients = 0

    def check_room(self) -> None:
        """Raise OSError if there are too few file descriptors for all clients and their connections to servers.

        So the relay never fails to accept a connection: the event loop would accept none for a second, unnoticed.
        """
        most_files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if 2 * self.clients + _SPARE_FILES > most_files:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    async def until(self, due_ns: int) -> None:
        """Wait until a monotonic time."""
        reached = asyncio.get_running_loop().create_future()

        def fire() -> None:
            if not reached.done():
                reached.set_result(None)

        self.timer.call_at(due_ns, fire)
        await reached

    async def connected(self, family: socket.AddressFamily, address: tuple[object, ...], *, quick_ack: bool) -> _Side:
        """Return a connection to a server, with reading paused; raises OSError."""
        loop = asyncio.get_running_loop()
        opened = socket.socket(family, socket.SOCK_STREAM)
        try:
            opened.setblocking(False)
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await loop.sock_connect(opened, address)
            transport, far = await loop.create_connection(
                lambda: _Side(first_extra_ns=2 * self.delay_ns, quick_ack=quick_ack), sock=opened
            )
        except BaseException:
            # The client may have given up meanwhile. If the server has the connection already, a reset tells it.
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            opened.close()
            raise
        transport.pause_reading()
        return far


class _Probes:
    """Reports on standard output how late the relay wakes, so that the worker knows how exact its delays are.

    It wakes every 10 ms. It reports each lateness in microseconds, as a number of four bytes.
    """

    def __init__(self, timer: _Timer) -> None:
        self._timer = timer
        self._due_ns = monotonic_ns() + _PROBE_NS
        os.set_blocking(sys.stdout.fileno(), False)
        timer.call_at(self._due_ns, self._probe)

    def _probe(self) -> None:
        now_ns = monotonic_ns()
        # The probes that were missed during a long lateness were late too, each by one interval less.
        late_us = [(now_ns - due_ns) // _NS_PER_US for due_ns in range(self._due_ns, now_ns + 1, _PROBE_NS)]
        with suppress(BlockingIOError):  # nobody reads, because no load is running
            os.write(sys.stdout.fileno(), struct.pack(f"={len(late_us)}I", *late_us))
        self._due_ns = monotonic_ns() + _PROBE_NS
        self._timer.call_at(self._due_ns, self._probe)


async def _run(token: str, delay_ns: int) -> None:
    loop = asyncio.get_running_loop()
    relay = _Relay(token, delay_ns)
    server = await loop.create_server(lambda: _Near(relay), "127.0.0.1", 0, backlog=_BACKLOG)
    _Probes(relay.timer)  # before the worker may rely on them; the port is still written first: nothing waits
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    worker_has_ended = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), worker_has_ended.set)
    await worker_has_ended.wait()


def main() -> None:
    """Relay until the end of standard input, whose first line has the token and the delay in microseconds.

    The first line of standard output is the port of 127.0.0.1 that it listens on. The reports of `_Probes` follow.
    """
    for ignored in (signal.SIGINT, signal.SIGTERM):  # signals from a terminal are for the worker
        signal.signal(ignored, signal.SIG_IGN)
    token, delay_us = sys.stdin.readline().split()
    asyncio.run(_run(token, int(delay_us) * 1_000))


if __name__ == "__main__":
    main()
