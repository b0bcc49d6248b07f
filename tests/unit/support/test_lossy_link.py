"""The line of a bad network tells TCP connections from each other."""

import os
import struct
from socket import inet_aton

import pytest
from lossy_link import FAR_ADDRESS, NEAR_ADDRESS, Line, Passed, Weather

SYN, SYN_ACK, ACK = 0x02, 0x12, 0x10
NEAR_PORT, SERVER_PORT = 40_000, 22


def segment(*, from_far: bool, flags: int, payload: bytes = b"") -> bytes:
    """Return an IP packet with one segment of the connection from NEAR_PORT."""
    ports = (SERVER_PORT, NEAR_PORT) if from_far else (NEAR_PORT, SERVER_PORT)
    addresses = (FAR_ADDRESS, NEAR_ADDRESS) if from_far else (NEAR_ADDRESS, FAR_ADDRESS)
    tcp = struct.pack(">HHIIBBHHH", *ports, 1, 1, 5 << 4, flags, 0, 0, 0) + payload
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0)
    return ip + b"".join(map(inet_aton, addresses)) + tcp


class PlayedLine:
    """A line between two pipes, on which a packet is sent by either side."""

    def __init__(self, weather: Weather) -> None:
        self._near, self._far = (os.pipe2(os.O_NONBLOCK) for _ in range(2))
        self.line = Line(self._near[0], self._far[0])
        self.line.weather = weather

    def send(self, *, from_far: bool, flags: int, payload: bytes = b"") -> None:
        """Give the line a packet that came to one of its devices."""
        device, write_end = self._far if from_far else self._near
        os.write(write_end, segment(from_far=from_far, flags=flags, payload=payload))
        self.line.take(device)

    def close(self) -> None:
        """Close both pipes."""
        for descriptor in (*self._near, *self._far):
            os.close(descriptor)


@pytest.mark.parametrize(
    "weather", [Weather(resets_after_bytes=10), Weather(stops_after_bytes=10)], ids=["reset", "stop"]
)
def test_a_new_connection_by_the_port_of_one_that_was_cut_off_is_let_through(weather: Weather) -> None:
    played = PlayedLine(weather)
    for _ in range(2):
        before = played.line.passed.since(Passed())
        played.send(from_far=False, flags=SYN)
        played.send(from_far=True, flags=SYN_ACK)
        played.send(from_far=True, flags=ACK, payload=b"ten bytes.")
        passed = played.line.passed.since(before)
        assert (passed.passed, passed.reset, passed.lost) == (3, 0, 0)
        played.send(from_far=True, flags=ACK, payload=b"one too many")
        passed = played.line.passed.since(before)
        assert (passed.passed, passed.reset + passed.lost) == (3, 1)
    played.close()
