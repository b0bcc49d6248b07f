"""Channels by ssh2-python: what is sent and read, whatever the windows, and how they end."""

import os
import resource
import socket
import struct
from collections.abc import Callable
from dataclasses import replace
from time import monotonic_ns

import gevent
import pytest
from bare_ssh_server import CHANNEL_CLOSE, CHANNEL_DATA, CHANNEL_REQUEST, CHANNEL_SUCCESS, string
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from gevent import Timeout
from gevent.event import AsyncResult, Event
from run_configs import client
from ssh2_connections import logged_in, login_to
from ssh_server import SshServer
from sshload_contract.vocabulary import Outcome
from sshload_worker.clients.by_parts import run_by_parts
from sshload_worker.clients.interface import Channel, CommandEnd, Course
from sshload_worker.clients.ssh2.channel import SSH2Channel
from sshload_worker.login.known_hosts import ANY_HOST_KEY
from sshload_worker.outcomes import StepFailure
from staged_ssh_server import CHANNEL_EOF, StagedServer
from unkind_servers import speaking

FAST = replace(client(), ciphers=("aes128-gcm@openssh.com",))
LARGE_BYTES = 8_000_000
PATIENCE_S = 300.0
MUCH_MORE_THAN_EXPECTED = 300_000_000
KIB_PER_MIB = 1_024
WRITE_REFUSED = 141  # the shell's word for SIGPIPE


def read_all(channel: Channel) -> bytes:
    return b"".join(iter(channel.read, b""))


def peak_memory_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / KIB_PER_MIB


def test_all_of_a_large_input_arrives_and_comes_back(sshd: SshServer) -> None:
    """`cat` stops reading where nobody takes its output: writing must take it in meanwhile, several windows of it."""
    data = os.urandom(LARGE_BYTES)
    with logged_in(login_to(sshd, FAST)) as connection:
        channel = connection.open_channel()
        channel.execute("cat")
        channel.write(data)
        channel.send_end()
        assert read_all(channel) == data
        assert channel.close().exit_code == 0


def test_input_waits_for_a_program_that_reads_late(sshd: SshServer) -> None:
    with logged_in(login_to(sshd, FAST)) as connection:
        channel = connection.open_channel()
        channel.execute("sleep 0.3; wc -c; echo done >&2")
        channel.write(bytes(LARGE_BYTES))
        channel.send_end()
        assert read_all(channel).strip() == str(LARGE_BYTES).encode()
        assert channel.close().stderr == b"done\n"


def test_input_for_a_program_that_never_reads_waits_for_the_limit_with_bounded_memory(sshd: SshServer) -> None:
    with logged_in(login_to(sshd, FAST)) as connection:
        channel = connection.open_channel()
        channel.execute("yes")
        before_mib = peak_memory_mib()
        with pytest.raises(Timeout), Timeout(1.5):
            channel.write(bytes(100 * 2**20))
        assert peak_memory_mib() - before_mib < 150  # the data itself, and at most 16 MiB of what comes back


@pytest.mark.parametrize("command", ["yes", "cat", "yes >&2"])
def test_a_channel_is_closed_before_its_end(sshd: SshServer, command: str) -> None:
    with logged_in(login_to(sshd)) as connection:
        channel = connection.open_channel()
        channel.execute(command)
        end = channel.close()
        # A shell may run the command in its own place, and is killed then.
        assert end.exit_code in {0, WRITE_REFUSED} or end.signal == "PIPE"
        again = connection.open_channel()
        again.execute("echo still here")
        assert read_all(again) == b"still here\n"


def test_far_more_output_than_expected_is_read_with_bounded_memory(sshd: SshServer) -> None:
    with logged_in(login_to(sshd, FAST)) as connection:
        channel = connection.open_channel()
        channel.execute(f"head -c {MUCH_MORE_THAN_EXPECTED} /dev/zero")
        channel.read()
        before_mib = peak_memory_mib()
        read_bytes = sum(len(piece) for piece in iter(channel.read, b""))
        assert read_bytes > MUCH_MORE_THAN_EXPECTED - 2 * LARGE_BYTES
        assert peak_memory_mib() - before_mib < 20


def test_a_fast_server_does_not_keep_time_limits_from_ending_a_read(sshd: SshServer) -> None:
    with logged_in(login_to(sshd)) as connection:
        channel = connection.open_channel()
        channel.execute("cat /dev/zero")
        with pytest.raises(Timeout), Timeout(0.5):
            read_all(channel)


@pytest.mark.parametrize("command", ["cat /dev/zero", "yes >&2"])
def test_a_fast_server_does_not_keep_time_limits_from_ending_a_command(sshd: SshServer, command: str) -> None:
    with logged_in(login_to(sshd)) as connection:
        channel = connection.open_channel()
        with pytest.raises(Timeout), Timeout(0.5):
            channel.run(command, len, Course())


@pytest.mark.parametrize(
    ("command", "output", "expected"),
    [
        pytest.param("true", b"", CommandEnd(0, "", b""), id="silence"),
        pytest.param("echo said; echo told >&2; exit 37", b"said\n", CommandEnd(37, "", b"told\n"), id="both streams"),
        pytest.param("exit 255", b"", CommandEnd(255, "", b""), id="the highest exit code"),
        pytest.param("kill -TERM $$", b"", CommandEnd(None, "TERM", b""), id="a signal"),
    ],
)
def test_a_command_by_one_call_ends_as_it_does_part_by_part(
    sshd: SshServer, command: str, output: bytes, expected: CommandEnd
) -> None:
    with logged_in(login_to(sshd)) as connection:
        channel, said = connection.open_channel(), bytearray()
        assert channel.run(command, said.extend, Course()) == expected
        assert said == output
        said.clear()
        assert run_by_parts(connection.open_channel(), command, said.extend, Course()) == expected
        assert said == output


def test_no_end_of_input_is_sent_on_a_channel_that_the_server_has_closed(sshd: SshServer) -> None:
    heard: AsyncResult[int] = AsyncResult()

    def serve(connection: socket.socket) -> None:
        server = StagedServer(connection, Ed25519PrivateKey.generate())
        server.let_start()
        exit_status = string(b"exit-status") + bytes(5)
        ending = ((CHANNEL_SUCCESS, b""), (CHANNEL_REQUEST, exit_status), (CHANNEL_EOF, b""), (CHANNEL_CLOSE, b""))
        server.send_at_once(struct.pack(">BI", kind, 0) + rest for kind, rest in ending)
        heard.set(server.receive()[0])
        server.await_end()

    with speaking(serve) as port:
        there = (socket.AF_INET, ("127.0.0.1", port))
        with logged_in(replace(login_to(sshd, FAST), host_keys=ANY_HOST_KEY, address=there)) as connection:
            assert connection.open_channel().run("true", len, Course()).exit_code == 0
            assert heard.get() == CHANNEL_CLOSE


@pytest.mark.parametrize("run", [SSH2Channel.run, run_by_parts], ids=["one call", "by parts"])
@pytest.mark.parametrize("stderr", [False, True])
@pytest.mark.parametrize("late_after", [CHANNEL_EOF, CHANNEL_REQUEST], ids=["end of output", "exit status"])
def test_output_after_its_end_is_dropped_whenever_it_comes(
    sshd: SshServer, run: Callable[..., CommandEnd], late_after: int, *, stderr: bool
) -> None:
    """RFC 4254 section 5.3 allows none, which is the server's fault and not the worker's."""
    end_is_read = Event()

    def serve(connection: socket.socket) -> None:
        server = StagedServer(connection, Ed25519PrivateKey.generate())
        server.let_start()
        exit_status = string(b"exit-status") + struct.pack(">BI", 0, 3)
        told = [
            (CHANNEL_SUCCESS, b""),
            (CHANNEL_DATA, string(b"all")),
            (CHANNEL_EOF, b""),
            (CHANNEL_REQUEST, exit_status),
        ]
        before = told if late_after == CHANNEL_REQUEST else told[:-1]
        server.send_at_once(struct.pack(">BI", kind, 0) + rest for kind, rest in before)
        end_is_read.wait()
        server.say(b"late", stderr=stderr)
        gevent.sleep(0.02)
        if late_after == CHANNEL_EOF:
            server.exit(3)
        server.close_channel()
        server.await_end()

    def take(piece: bytes) -> None:
        taken.append(piece)
        end_is_read.set()  # it came with this piece

    taken: list[bytes] = []
    with speaking(serve) as port:
        there = (socket.AF_INET, ("127.0.0.1", port))
        with logged_in(replace(login_to(sshd, FAST), host_keys=ANY_HOST_KEY, address=there)) as connection:
            assert run(connection.open_channel(), "true", take, Course()).exit_code == 3
            assert b"".join(taken) == b"all"


def test_the_parts_of_a_command_by_one_call_end_in_their_order(sshd: SshServer) -> None:
    with logged_in(login_to(sshd)) as connection:
        channel, course, pieces = connection.open_channel(), Course(), list[int]()
        begin_ns = monotonic_ns()
        channel.run("echo first; sleep 0.1; echo last", lambda _: pieces.append(monotonic_ns()), course)
        ends_ns = [begin_ns, course.started_ns, course.first_byte_ns, course.output_end_ns, course.closed_ns]
        assert ends_ns == sorted(ends_ns)
        assert course.first_byte_ns <= pieces[0] <= pieces[-1] <= course.output_end_ns


def test_the_parts_that_ended_are_told_of_a_command_that_is_cut_off(sshd: SshServer) -> None:
    with logged_in(login_to(sshd)) as connection:
        channel, course = connection.open_channel(), Course()
        with pytest.raises(StepFailure) as failed:
            channel.run("echo first; sleep 0.1; kill -9 $PPID; sleep 5", len, course)
        assert failed.value.outcome is Outcome.DISCONNECTED
        assert 0 < course.started_ns <= course.first_byte_ns
        assert (course.output_end_ns, course.closed_ns) == (0, 0)


def test_a_fast_server_lets_others_run(sshd: SshServer) -> None:
    turns = 0

    def take_turns() -> None:
        nonlocal turns
        while True:
            gevent.sleep(0)
            turns += 1

    with logged_in(login_to(sshd)) as connection:
        channel = connection.open_channel()
        channel.execute("head -c 20000000 /dev/zero")
        other = gevent.spawn(take_turns)
        read_bytes = len(read_all(channel))
        other.kill()
    assert read_bytes == 20_000_000
    assert turns > 5


@pytest.mark.parametrize(
    ("window_bytes", "packet_bytes"),
    [
        pytest.param(65_536, None, id="64 KiB"),
        pytest.param(40_000_000, 16_384, id="40 MB in small packets"),
        pytest.param(1_024, 1_024, id="the least"),
    ],
)
def test_a_channel_is_opened_with_the_sizes_asked_for(
    start_sshd: Callable[[str], SshServer], window_bytes: int, packet_bytes: int | None
) -> None:
    server = start_sshd("LogLevel DEBUG2")
    settings = replace(FAST, window_bytes=window_bytes, packet_bytes=packet_bytes)
    with logged_in(login_to(server, settings)) as connection:
        channel = connection.open_channel()
        channel.execute("head -c 3000000 /dev/zero")
        assert len(read_all(channel)) == 3_000_000
        channel.close()
    assert f"rchan 0 win {window_bytes} max {packet_bytes or 32_768}" in server.log


def test_an_exit_code_is_told_as_the_server_sent_it(sshd: SshServer) -> None:
    with logged_in(login_to(sshd)) as connection:
        for code in (0, 1, 37, 255):
            channel = connection.open_channel()
            channel.execute(f"exit {code}")
            assert channel.close().exit_code == code


def test_many_channels_one_after_the_other_leave_nothing_behind(start_sshd: Callable[[str], SshServer]) -> None:
    """A server gives a closed channel's place to another a moment after its close, hence two places."""
    with logged_in(login_to(start_sshd("MaxSessions 2"))) as connection:
        for _ in range(30):
            channel = connection.open_channel()
            channel.execute("true")
            assert channel.read() == b""
            channel.close()


ASKED = "rtype keepalive@openssh.com want_reply 1"


def test_a_sign_of_life_is_waited_for(start_sshd: Callable[[str], SshServer]) -> None:
    server = start_sshd("LogLevel DEBUG1")
    with logged_in(login_to(server)) as connection:
        for _ in range(3):
            connection.keep_alive()
        assert server.log.count(ASKED) == 3
        channel = connection.open_channel()
        channel.execute("echo alive")
        assert read_all(channel) == b"alive\n"


def test_a_resting_connection_is_told_of_a_sign_of_life_without_a_wait(start_sshd: Callable[[str], SshServer]) -> None:
    server = start_sshd("LogLevel DEBUG1")
    lost: list[StepFailure] = []
    with logged_in(login_to(server)) as connection:
        connection.rest(lost.append)
        for _ in range(3):
            replied = Event()
            connection.request_keep_alive(replied.set)
            with Timeout(PATIENCE_S):
                replied.wait()
        assert server.log.count(ASKED) == 3
        connection.resume()
        channel = connection.open_channel()
        channel.execute("echo alive")
        assert read_all(channel) == b"alive\n"
    assert lost == []


def test_no_reply_is_awaited_on_a_dead_connection_that_rests(sshd: SshServer) -> None:
    lost: AsyncResult[StepFailure] = AsyncResult()
    with logged_in(login_to(sshd)) as connection:
        channel = connection.open_channel()
        channel.execute("kill -9 $PPID; sleep 5")
        connection.rest(lost.set)
        with Timeout(PATIENCE_S):
            assert lost.get().outcome is Outcome.DISCONNECTED
        assert connection.is_lost()


def test_no_sign_of_life_from_a_dead_connection(sshd: SshServer) -> None:
    with logged_in(login_to(sshd)) as connection:
        assert not connection.is_lost()
        channel = connection.open_channel()
        channel.execute("kill -9 $PPID; sleep 5")
        with pytest.raises(StepFailure) as failed:
            read_all(channel)
        assert failed.value.outcome is Outcome.DISCONNECTED
        assert connection.is_lost()
        with pytest.raises(StepFailure) as failed:
            connection.keep_alive()
        assert failed.value.outcome is Outcome.DISCONNECTED


def test_what_was_cut_off_by_a_limit_can_still_be_closed(sshd: SshServer) -> None:
    with logged_in(login_to(sshd)) as connection:
        channel = connection.open_channel()
        channel.execute("sleep 60")
        with pytest.raises(Timeout), Timeout(0.2):
            channel.read()
        connection.close()
        with pytest.raises(StepFailure, match="closed"):
            connection.open_channel()
