"""What a connection may receive: output pays off packets, and what serves no command is bounded."""

import time

import asyncssh
import pytest
from asyncssh.constants import (
    MSG_CHANNEL_CLOSE,
    MSG_CHANNEL_DATA,
    MSG_CHANNEL_EXTENDED_DATA,
    MSG_CHANNEL_REQUEST,
    MSG_IGNORE,
    MSG_KEXINIT,
)
from asyncssh.packet import SSHPacket
from sshload_gateway.ssh.floods import Floods, Pace


@pytest.fixture(name="clock")
def _clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the time, which stands still until a test changes it."""
    now = [1_000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def heard(floods: Floods, kind: int, count: int, said: int = 0, before: int = 4) -> None:
    for _ in range(count):
        floods.received(kind, 0, SSHPacket(bytes(before + said)))


@pytest.mark.usefixtures("clock")
def test_packets_that_serve_no_command_end_a_connection() -> None:
    floods = Floods(Pace())
    with pytest.raises(asyncssh.ProtocolError, match="serve no command"):
        heard(floods, MSG_IGNORE, 2_001)


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(("kind", "at_most"), [(MSG_IGNORE, 4_001), (MSG_KEXINIT, 21)])
def test_whatever_came_before_pays_off_a_limited_number_of_packets(kind: int, at_most: int) -> None:
    floods = Floods(Pace())
    heard(floods, MSG_CHANNEL_DATA, 10_000, said=32_768)
    with pytest.raises(asyncssh.ProtocolError):
        heard(floods, kind, at_most)


@pytest.mark.usefixtures("clock")
def test_whatever_came_before_keeps_a_server_that_sends_by_the_byte_fast_for_a_limited_time() -> None:
    floods = Floods(Pace())
    heard(floods, MSG_CHANNEL_DATA, 10_000, said=32_768)
    heard(floods, MSG_CHANNEL_DATA, 520, said=1)
    assert floods.wait_s(32) > 0


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(("kind", "before"), [(MSG_CHANNEL_DATA, 4), (MSG_CHANNEL_EXTENDED_DATA, 8)])
def test_data_without_a_byte_serves_no_command(kind: int, before: int) -> None:
    floods = Floods(Pace())
    with pytest.raises(asyncssh.ProtocolError, match="serve no command"):
        heard(floods, kind, 2_001, before=before)


@pytest.mark.usefixtures("clock")
def test_many_commands_and_their_packets_are_none() -> None:
    floods = Floods(Pace())
    for _ in range(10_000):
        heard(floods, MSG_CHANNEL_REQUEST, 10)
        heard(floods, MSG_CHANNEL_CLOSE, 1)
    assert floods.wait_s(32) == 0


@pytest.mark.usefixtures("clock")
def test_output_with_an_empty_packet_before_each_is_none() -> None:
    """As servers with CBC ciphers send it."""
    floods = Floods(Pace())
    for _ in range(10_000):
        heard(floods, MSG_IGNORE, 1)
        heard(floods, MSG_CHANNEL_DATA, 1, said=32_768)
    assert floods.wait_s(32) == 0


def test_a_server_that_asks_whether_somebody_is_there_every_second_is_none(clock: list[float]) -> None:
    floods = Floods(Pace())
    for _ in range(10_000):
        clock[0] += 1
        heard(floods, MSG_IGNORE, 1)
    assert floods.wait_s(32) == 0


@pytest.mark.usefixtures("clock")
def test_key_exchanges_without_output_end_a_connection() -> None:
    floods = Floods(Pace())
    with pytest.raises(asyncssh.ProtocolError, match="again and again"):
        heard(floods, MSG_KEXINIT, 11)


@pytest.mark.usefixtures("clock")
def test_output_by_the_byte_pays_off_no_key_exchange() -> None:
    floods = Floods(Pace())
    for _ in range(10):
        heard(floods, MSG_KEXINIT, 1)
        heard(floods, MSG_CHANNEL_DATA, 1, said=1)
    with pytest.raises(asyncssh.ProtocolError, match="again and again"):
        heard(floods, MSG_KEXINIT, 1)


def test_key_exchanges_by_time_or_by_output_do_not(clock: list[float]) -> None:
    floods = Floods(Pace())
    for _ in range(1_000):
        clock[0] += 1
        heard(floods, MSG_KEXINIT, 1)
    for _ in range(1_000):
        heard(floods, MSG_CHANNEL_DATA, 4, said=32_768)
        heard(floods, MSG_KEXINIT, 1)


@pytest.mark.usefixtures("clock")
def test_a_caller_whose_servers_send_by_the_byte_is_slowed_as_a_whole_and_nobody_else() -> None:
    pace = Pace()
    slow, too, other = Floods(pace), Floods(pace), Floods(Pace())
    for one in (slow, too):
        heard(one, MSG_CHANNEL_DATA, 1_000, said=1)
    heard(other, MSG_CHANNEL_DATA, 1_000, said=1_000)
    assert slow.wait_s(32) == pytest.approx(0.016)
    assert too.wait_s(32) == pytest.approx(0.032)
    assert other.wait_s(32) == 0
