"""What the relay of client.networkDelay has on the way, by a clock that a test sets."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from sshload_worker.clients import delay_relay
from sshload_worker.clients.delay_relay import _Direction

DELAY_NS = 1_000_000_000
PIECES = [bytes([number]) * 65_536 for number in range(192)]  # 12 MiB, which is more than the kernel's buffers hold


@dataclass
class Clock:
    """A clock that a test sets, and the calls that wait for their time."""

    now_ns: int = 0
    calls: list[tuple[int, Callable[[], None]]] = field(default_factory=list)

    def call_at(self, due_ns: int, call: Callable[[], None]) -> None:
        self.calls.append((due_ns, call))

    def set(self, now_ns: int) -> None:
        """Set the time, and make the calls that are due."""
        self.now_ns = now_ns
        while due := [entry for entry in self.calls if entry[0] <= now_ns]:
            self.calls.remove(due[0])
            due[0][1]()


@dataclass
class PlayedTransport:
    """A side of the relay: what it was sent, and whether it is read from."""

    written: list[bytes] = field(default_factory=list)
    is_read: bool = True
    has_ended: bool = False

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None:
        self.is_read = False

    def resume_reading(self) -> None:
        self.is_read = True

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def write_eof(self) -> None:
        self.has_ended = True


def test_much_is_on_the_way_at_once_and_arrives_after_the_delay_with_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is on the way waits for no answer: the source is read from before the first byte has arrived."""
    clock, source, sink = Clock(), PlayedTransport(), PlayedTransport()
    monkeypatch.setattr(delay_relay, "monotonic_ns", lambda: clock.now_ns)
    direction = _Direction(cast("Any", clock), DELAY_NS, cast("Any", source), cast("Any", sink))
    for piece in (*PIECES, b""):
        direction.put(piece)
    clock.set(DELAY_NS - 1)
    assert (source.is_read, sink.written) == (True, [])
    clock.set(DELAY_NS)
    assert (sink.written, sink.has_ended) == (PIECES, True)
