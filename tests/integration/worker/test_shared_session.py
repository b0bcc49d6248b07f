import hashlib
import os
import random
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path

import gevent
import pytest
from gevent import Timeout
from gevent.pool import Group
from run_configs import arrivals, endpoint, run_config
from ssh2.session import LIBSSH2_SESSION_BLOCK_OUTBOUND
from ssh_server import SshServer
from sshload_contract.client import Library
from sshload_contract.vocabulary import Outcome
from sshload_worker.clients.interface import Channel, CommandEnd, Connection
from sshload_worker.clients.libraries import new_connection
from sshload_worker.clients.ssh2.connection import SharedConnection
from sshload_worker.outcomes import StepFailure
from sshload_worker.scenario.target_login import prepare_login, resolve_first_hop

PATIENCE_S = 300
MEGABYTE = 1_000_000


@contextmanager
def shared_sessions(server: SshServer, sessions: int) -> Iterator[list[Connection]]:
    config = run_config(endpoint(server), arrivals(1, 1))
    login = prepare_login(config, resolve_first_hop(config, pytest.fail))
    connections = [new_connection(login, shared=True) for _ in range(sessions)]
    try:
        for connection in connections:
            connection.connect()
            connection.banner()
            connection.kex()
            connection.auth()
        yield connections
    finally:
        for connection in connections:
            connection.close()


@pytest.mark.parametrize("library", [library for library in Library if library is not Library.MINA_SSHD])
def test_one_channel_can_be_read_and_written_at_once(sshd: SshServer, library: Library) -> None:
    """As rsync does. What comes back while the window is full must neither be lost nor change places."""
    sent = random.Random(1).randbytes(20 * MEGABYTE)  # noqa: S311 - not for secrets
    config = run_config(endpoint(sshd), arrivals(1, 1))
    config = replace(config, client=replace(config.client, library=library))
    login = prepare_login(config, resolve_first_hop(config, pytest.fail))
    connection = new_connection(login, shared=True)
    try:
        for step in (connection.connect, connection.banner, connection.kex, connection.auth):
            step()
        channel = connection.open_channel()
        channel.execute("cat")

        def write() -> None:
            for start in range(0, len(sent), 50_000):
                channel.write(sent[start : start + 50_000])
            channel.send_end()

        with Timeout(PATIENCE_S):
            writer = gevent.spawn(write)
            end, came = finish(channel)
            writer.get()
    finally:
        connection.close()
    assert hashlib.sha256(came).hexdigest() == hashlib.sha256(sent).hexdigest()
    assert end.exit_code == 0


def run(connection: Connection, command: str, sent: bytes = b"") -> tuple[CommandEnd, bytes]:
    return run_on(connection.open_channel(), command, sent)


def run_on(channel: Channel, command: str, sent: bytes = b"") -> tuple[CommandEnd, bytes]:
    channel.execute(command)
    if sent:
        channel.write(sent)
        channel.send_end()
    return finish(channel)


def finish(channel: Channel) -> tuple[CommandEnd, bytes]:
    output = bytearray()
    while piece := channel.read():
        output += piece
    return channel.close(), bytes(output)


def all_together(calls: int, call: Callable[[int], object]) -> list[object]:
    """Return what each of so many greenlets returned, in order; the first error of any is raised."""
    group = Group()
    greenlets = [group.spawn(call, number) for number in range(calls)]
    with Timeout(PATIENCE_S):
        gevent.joinall(greenlets, raise_error=True)
    return [greenlet.value for greenlet in greenlets]


def outcome_of(call: Callable[[], object]) -> Outcome:
    try:
        call()
    except StepFailure as failure:
        return failure.outcome
    return Outcome.OK


def test_large_writes_over_a_narrow_socket_lose_no_session(sshd: SshServer) -> None:
    """A packet that is half sent has to be sent whole before anybody else's, though a part of the write is done."""
    sent = random.Random(2).randbytes(4 * MEGABYTE)  # noqa: S311 - not for secrets
    with shared_sessions(sshd, 1) as (connection,):
        assert isinstance(connection, SharedConnection)
        with socket.socket(fileno=os.dup(connection._driver.descriptor.fileno())) as narrow:
            narrow.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_608)
        channels = [connection.open_channel() for _ in range(3)]

        def digest(channel: Channel) -> bytes:
            channel.execute("sha256sum")
            channel.write(sent)
            channel.send_end()
            said = channel.read()
            channel.close()
            return said

        found = [gevent.spawn(digest, channel) for channel in channels]
        gevent.joinall(found, timeout=PATIENCE_S, raise_error=True)
    assert {one.value.split()[0].decode() for one in found} == {hashlib.sha256(sent).hexdigest()}


def test_two_hundred_greenlets_on_four_sessions_all_finish_and_every_output_is_its_own(sshd: SshServer) -> None:
    numbers = count()
    blob = random.Random(1).randbytes(MEGABYTE)  # noqa: S311 - no secret
    digest = hashlib.sha256(blob).hexdigest()

    def one(connection: Connection, number: int) -> None:
        match number % 8:
            case 0:
                end, output = run(connection, f"head -c {MEGABYTE} /dev/zero | tr '\\0' '{number % 10}'")
                assert output == str(number % 10).encode() * MEGABYTE
            case 1:
                end, output = run(connection, "sha256sum", blob)
                assert output.decode().split()[0] == digest
            case 2:
                end, output = run(connection, f"sleep 0.2; echo {number} >&2; exit 3")
                assert (end.exit_code, end.stderr, output) == (3, f"{number}\n".encode(), b"")
                return
            case _:
                end, output = run(connection, f"echo {number}")
                assert output == f"{number}\n".encode()
        assert (end.exit_code, end.signal) == (0, "")

    with shared_sessions(sshd, 4) as sessions:

        def work(worker: int) -> None:
            for _ in range(3):
                one(sessions[worker % 4], next(numbers))

        all_together(200, work)
    assert next(numbers) == 600


def write_and_read(session: Connection, path: Path, content: bytes) -> None:
    sftp = session.open_sftp()
    file = sftp.open_to_write(str(path))
    file.write(content)
    file.close()
    file = sftp.open_to_read(str(path))
    assert b"".join(iter(file.read, b"")) == content
    file.close()
    sftp.close()


def fail_to_read(session: Connection) -> None:
    sftp = session.open_sftp()
    assert outcome_of(partial(sftp.open_to_read, "/nowhere")) is Outcome.SFTP_NO_SUCH_FILE


def give_up_reading(session: Connection, path: Path, after_s: float) -> None:
    sftp = session.open_sftp()
    file = sftp.open_to_read(str(path))
    with Timeout(after_s, exception=False):
        while file.read():
            gevent.sleep(0.001)


def give_up_a_command(session: Connection, after_s: float) -> None:
    channel = session.open_channel()
    with Timeout(after_s, exception=False):
        channel.execute("cat")
        channel.read()


@pytest.mark.parametrize("rekeying", ["", "RekeyLimit 1M"], ids=["one key", "a new key for each megabyte"])
def test_files_and_commands_share_a_session_and_what_is_cut_off_or_fails_harms_nobody(
    start_sshd: Callable[[str], SshServer], tmp_path: Path, rekeying: str
) -> None:
    server = start_sshd(f"Subsystem sftp internal-sftp\n{rekeying}")
    content = random.Random(2).randbytes(3 * MEGABYTE)  # noqa: S311 - no secret
    large = tmp_path / "large"
    large.write_bytes(content)

    def work(number: int) -> None:
        session = sessions[number % 2]
        for repetition in range(4):
            match number // 2 % 5:
                case 0 | 1:
                    part = content[number * 1_000 :][:MEGABYTE]
                    write_and_read(session, tmp_path / f"file{number}", part)
                case 2:
                    fail_to_read(session)
                case 3:
                    give_up_reading(session, large, 0.01 * repetition)
                case 4:
                    give_up_a_command(session, 0.02 * repetition)
                    assert run(session, f"echo {number}")[1] == f"{number}\n".encode()

    with shared_sessions(server, 2) as sessions:
        all_together(20, work)
        assert not any(session.is_lost() for session in sessions)


def test_the_server_refuses_the_channel_too_many_and_the_others_go_on(
    start_sshd: Callable[[str], SshServer],
) -> None:
    server = start_sshd("MaxSessions 10")
    with shared_sessions(server, 1) as (session,):
        channels = [session.open_channel() for _ in range(10)]
        for number, channel in enumerate(channels):
            channel.execute(f"cat; echo {number}")
        assert outcome_of(session.open_channel) is Outcome.CHANNEL_REFUSED
        assert not session.is_lost()
        for number, channel in enumerate(channels):
            channel.write(b"still here ")
            channel.send_end()
            assert finish(channel)[1] == f"still here {number}\n".encode()
        assert run(session, "echo again")[1] == b"again\n"


def open_when_there_is_room(connection: Connection) -> Channel:
    """Open a channel once the server has noticed that earlier ones are closed."""
    with Timeout(PATIENCE_S):
        while True:
            try:
                return connection.open_channel()
            except StepFailure as failure:
                if failure.outcome is not Outcome.CHANNEL_REFUSED:
                    raise
                gevent.sleep(0.02)


@pytest.mark.parametrize("ends", ["limit", "kill"])
def test_an_operation_that_is_cut_off_harms_its_own_channel_only_which_is_closed(
    start_sshd: Callable[[str], SshServer], ends: str
) -> None:
    server = start_sshd("MaxSessions 3")
    with shared_sessions(server, 1) as (session,):

        def cut_off(channel: Channel, number: int) -> None:
            with Timeout(0.05 if ends == "limit" else PATIENCE_S, exception=False):
                run_on(channel, f"head -c {number * MEGABYTE} /dev/zero; cat")

        for _ in range(3):
            abandoned = [gevent.spawn(cut_off, open_when_there_is_room(session), number) for number in range(2)]
            assert run_on(open_when_there_is_room(session), "sleep 0.2; echo mine")[1] == b"mine\n"
            if ends == "kill":
                gevent.killall(abandoned)
            gevent.joinall(abandoned)
            abandoned.clear()
        last = all_together(3, lambda number: run_on(open_when_there_is_room(session), f"echo {number}")[1])
        assert last == [b"0\n", b"1\n", b"2\n"]
        assert not session.is_lost()


def test_an_opening_that_is_cut_off_ends_the_session_for_all(start_sshd: Callable[[str], SshServer]) -> None:
    server = start_sshd("")
    with shared_sessions(server, 1) as (session,):
        channel = session.open_channel()
        channel.execute("cat")
        waiting = gevent.spawn(outcome_of, channel.read)
        server.freeze_sessions()
        try:
            with Timeout(0.1, exception=False):
                session.open_channel()
            with Timeout(PATIENCE_S):
                assert waiting.get() is Outcome.DISCONNECTED
        finally:
            server.signal_sessions(signal.SIGCONT)
        assert session.is_lost()
        assert outcome_of(session.open_channel) is Outcome.DISCONNECTED


def is_half_sent(connection: Connection) -> bool:
    """Tell whether the library waits to send the rest of a packet."""
    assert isinstance(connection, SharedConnection)
    return bool(connection.driver.session.block_directions() & LIBSSH2_SESSION_BLOCK_OUTBOUND)


def test_a_write_that_is_cut_off_in_the_middle_of_a_packet_ends_the_session_for_all(
    start_sshd: Callable[[str], SshServer],
) -> None:
    server = start_sshd("")
    with shared_sessions(server, 1) as (session,):
        channel = session.open_channel()
        channel.execute("cat")
        waiting = gevent.spawn(outcome_of, channel.read)
        writers = [session.open_channel() for _ in range(16)]
        for writer in writers:
            writer.execute("cat > /dev/null")
        server.freeze_sessions()
        try:  # the windows of all channels are more than the buffers of the socket
            writing = [gevent.spawn(outcome_of, partial(writer.write, bytes(3 * MEGABYTE))) for writer in writers]
            with Timeout(PATIENCE_S):
                while not is_half_sent(session):
                    gevent.sleep(0.05)
            gevent.killall(writing)
            with Timeout(PATIENCE_S):
                assert waiting.get() is Outcome.DISCONNECTED
        finally:
            server.signal_sessions(signal.SIGCONT)


def test_when_the_server_dies_everybody_ends(start_sshd: Callable[[str], SshServer]) -> None:
    server = start_sshd("")
    with shared_sessions(server, 2) as sessions:
        started = [session.open_channel() for session in sessions * 10]
        for channel in started:
            channel.execute("cat")
        waiting = [gevent.spawn(outcome_of, channel.read) for channel in started]
        gevent.idle()
        server.signal_sessions(signal.SIGKILL)
        with Timeout(PATIENCE_S):
            gevent.joinall(waiting)
        assert {greenlet.value for greenlet in waiting} == {Outcome.DISCONNECTED}
        assert all(session.is_lost() for session in sessions)


def test_closing_the_connection_ends_what_others_wait_for(sshd: SshServer) -> None:
    with shared_sessions(sshd, 1) as (session,):
        channel = session.open_channel()
        channel.execute("sleep 30")
        waiting = gevent.spawn(outcome_of, channel.read)
        gevent.idle()
        session.close()
        with Timeout(PATIENCE_S):
            assert waiting.get() is Outcome.DISCONNECTED
