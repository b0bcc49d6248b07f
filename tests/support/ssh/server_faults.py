"""What faulty servers do wrong, each as a stage that may follow any other of a StagedServer."""

import socket
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import repeat

import gevent
from bare_ssh_server import CHANNEL_CLOSE, CHANNEL_DATA, IGNORE, Exchange, string
from staged_ssh_server import (
    DISCONNECT,
    GLOBAL_REQUEST,
    METHODS,
    PACKET_BYTES,
    USERAUTH_FAILURE,
    Fields,
    Stage,
    StagedServer,
)

BRIEF_S = 0.5
"""A time limit that servers exceed."""

FILE = bytes(range(256)) * 400
"""What is in the one file of an SFTP server."""

_DEBUG = 4
_OPEN_FAILURE, _CHANNEL_FAILURE = 92, 100
_BY_APPLICATION, _RESOURCE_SHORTAGE = 11, 4
_HANDLE, _DATA, _NAME, _ATTRIBUTES = 102, 103, 104, 105  # draft-ietf-secsh-filexfer-02 section 3
_STATUS = 101
_OPEN, _CLOSE, _READ, _LSTAT, _FSTAT, _REALPATH, _STAT = 3, 4, 5, 7, 8, 16, 17
_OPENDIR, _READDIR = 11, 12
_END_OF_FILE = 1
NO_TEXT = b"caf\xe9 \xff\xfe"
_FILE_ATTRIBUTES = struct.pack(">IQI", 0b101, len(FILE), 0o100644)

SftpAnswer = Callable[[StagedServer, bytes, Fields], None]
"""Answers one request, of which it is given the number and all that follows it."""


def all_of(*stages: Stage) -> Stage:
    """Return the stages one after the other."""

    def serve(server: StagedServer) -> None:
        for stage in stages:
            stage(server)

    return serve


# Connections


def be_silent(server: StagedServer) -> None:
    """Say nothing more, and wait until the client has gone."""
    server.await_end()


def serve_on(server: StagedServer) -> None:
    """Make no fault any more: answer what needs an answer until the client has gone."""
    server.hear(DISCONNECT)


def hang_up(server: StagedServer) -> None:
    """Close in order: all that the client sends is read, so that the kernel sends no reset."""
    with suppress(OSError):  # the client was first
        server.connection.shutdown(socket.SHUT_WR)
        server.await_end()


def reset(server: StagedServer) -> None:
    """Break the connection off."""
    server.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    server.connection.close()


def writes(words: bytes, pause_s: float = 0.0) -> Stage:
    """Return a stage that writes these bytes as they are, with a pause after each."""

    def write(server: StagedServer) -> None:
        for octet in words if pause_s else ():
            server.connection.sendall(bytes([octet]))
            gevent.sleep(pause_s)
        if not pause_s:
            server.connection.sendall(words)

    return write


def write_for_ever(server: StagedServer) -> None:
    """Write lines of text, as fast as they are read."""
    for lines in repeat(b"Welcome to a server that never comes to the point.\r\n" * 100):
        server.connection.sendall(lines)


def garble(server: StagedServer) -> None:
    """Send an encrypted packet that holds nothing true, as a bad line makes it."""
    server.connection.sendall(struct.pack(">I", 32) + bytes(48))


# The transport and the login


def exchanges_keys(by: Exchange) -> Stage:
    """Return a stage that exchanges keys so."""
    return lambda server: server.exchange_keys(by)


def disconnect(server: StagedServer) -> None:
    """Take leave with a reason (RFC 4253 section 11.1)."""
    server.send(struct.pack(">BI", DISCONNECT, _BY_APPLICATION) + string(b"this server is tired") + string(b""))
    hang_up(server)


def at_once(*stages: Stage) -> Stage:
    """Return the stages one after the other, of which the client is sent all in one piece."""

    def serve(server: StagedServer) -> None:
        server.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        all_of(*stages)(server)

    return serve


def chatter(server: StagedServer) -> None:
    """Send what any client has to pass over (RFC 4253 section 11)."""
    server.send(bytes([IGNORE]) + string(b"nothing"))
    server.send(bytes([_DEBUG, 1]) + string(b"a word for a log") + string(b""))


def request_unknown(server: StagedServer) -> None:
    """Ask for something that no client knows (RFC 4254 section 4)."""
    server.send(bytes([GLOBAL_REQUEST]) + string(b"unknown@example.org") + bytes([1]))


def refuse_login(server: StagedServer) -> None:
    """Take a signature for nothing."""
    server.hear_signature()
    server.send(bytes([USERAUTH_FAILURE]) + string(METHODS) + bytes(1))


def refuse_every_login(server: StagedServer) -> None:
    """Take no signature."""
    while True:
        refuse_login(server)


def ask_for_more(server: StagedServer) -> None:
    """Take a signature for half of a login (RFC 4252 section 5.1)."""
    server.hear_signature()
    server.send(bytes([USERAUTH_FAILURE]) + string(b"hostbased") + bytes([1]))
    refuse_every_login(server)


# Channels


def refuse_channel(server: StagedServer) -> None:
    """Open none."""
    server.hear_channel()
    server.about_channel(
        _OPEN_FAILURE, struct.pack(">I", _RESOURCE_SHORTAGE) + string(b"no more of these") + string(b"")
    )


def refuse_command(server: StagedServer) -> None:
    """Start none."""
    server.hear_start()
    server.about_channel(_CHANNEL_FAILURE)


def says(data: bytes) -> Stage:
    """Return a stage that sends output."""
    return lambda server: server.say(data)


def exits(code: int) -> Stage:
    """Return a stage that tells an exit status."""
    return lambda server: server.exit(code)


def ends_output_before(stage: Stage) -> Stage:
    """Return a stage that ends the output, and a while later does `stage`, unless the client closes before that."""

    def serve(server: StagedServer) -> None:
        server.end_output()
        with suppress(gevent.Timeout), gevent.Timeout(BRIEF_S):
            while server.receive()[0] != CHANNEL_CLOSE:
                pass
            server.close_channel()
            be_silent(server)
        stage(server)

    return serve


def exits_by(signal: bytes) -> Stage:
    """Return a stage that tells an exit signal."""
    return lambda server: server.exit_by(signal)


def take_by_scp(server: StagedServer) -> None:
    """Take an empty file by scp, whose program does not end yet."""
    server.say(b"\0")
    for _ in ("its name", "its content"):
        server.hear(CHANNEL_DATA)
        server.say(b"\0")


def drip(server: StagedServer) -> None:
    """Send a byte now and then, for ever."""
    while True:
        server.say(b".")
        gevent.sleep(BRIEF_S / 10)


def flood(server: StagedServer) -> None:
    """Send output for ever, within the window."""
    server.say_for_ever(bytes(PACKET_BYTES))


def flood_stderr(server: StagedServer) -> None:
    """Send words on stderr for ever, within the window."""
    server.say_for_ever(bytes(PACKET_BYTES), stderr=True)


# SFTP


def sftp_statuses(code: int) -> Stage:
    """Return an SFTP server that answers every request for a file with this status."""
    return sftp_server({_OPEN: _answers(code)})


def say_no_file_and_close(server: StagedServer, number: bytes, rest: Fields) -> None:
    """Answer that there is no file, and close the connection."""
    at_once(lambda server: _answers(2)(server, number, rest), hang_up)(server)
    raise ConnectionResetError("by the server itself")


def sftp_opens(answer: SftpAnswer) -> Stage:
    """Return an SFTP server that answers requests to open so, and all others in order."""
    return sftp_server({_OPEN: answer})


def sftp_reads(answer: SftpAnswer) -> Stage:
    """Return an SFTP server that answers requests to read so, and all others in order."""
    return sftp_server({_READ: answer})


def fail_in_no_text(server: StagedServer, number: bytes, rest: Fields) -> None:
    """Fail, with words that are not UTF-8."""
    del rest
    server.say_sftp(_STATUS, number + struct.pack(">I", 4) + string(NO_TEXT) + string(b""))


def list_names(*names: bytes) -> Stage:
    """Return an SFTP server that has a directory of these names."""
    rest_of_entry = string(b"-rw-r--r-- 1 a b 0 Jan 1 00:00 any") + struct.pack(">II", 0b100, 0o100644)

    def serve(server: StagedServer) -> None:
        left = [names]

        def read(server: StagedServer, number: bytes, rest: Fields) -> None:
            if left:
                entries = b"".join(string(name) + rest_of_entry for name in left.pop())
                server.say_sftp(_NAME, number + struct.pack(">I", len(names)) + entries)
            else:
                _answers(_END_OF_FILE)(server, number, rest)

        sftp_server({_READDIR: read, **_DIRECTORY})(server)

    return serve


def list_for_ever(server: StagedServer) -> None:
    """Serve a directory that has no end."""
    entry = string(b"n" * 200) + string(b"l" * 200) + struct.pack(">II", 0b100, 0o100644)
    names = struct.pack(">I", 64) + entry * 64

    def read(server: StagedServer, number: bytes, rest: Fields) -> None:
        del rest
        server.say_sftp(_NAME, number + names)

    sftp_server({_READDIR: read, **_DIRECTORY})(server)


def sftp_without_sizes(server: StagedServer) -> None:
    """Serve SFTP without the size of any file."""
    sftp_server({_LSTAT: tell_no_size, _FSTAT: tell_no_size, _STAT: tell_no_size})(server)


def sftp_server(own: Mapping[int, SftpAnswer]) -> Stage:
    """Return an SFTP server with one file, which answers some types of requests in its own way."""

    def serve(server: StagedServer) -> None:
        server.begin_sftp()
        while True:
            kind, number, rest = server.hear_sftp()
            (own.get(kind) or _IN_ORDER.get(kind) or _answers(0))(server, number, rest)

    return serve


def read_little(server: StagedServer, number: bytes, rest: Fields) -> None:
    """Answer with less than was asked for, as a server may."""
    _say_piece(server, number, rest, most_bytes=1_000)


def read_with_flag(server: StagedServer, number: bytes, rest: Fields) -> None:
    """Send a flag after each piece, whether it is the last one (draft-ietf-secsh-filexfer-13 section 9.3)."""
    piece = _piece(rest, PACKET_BYTES, FILE)
    if piece:
        server.say_sftp(_DATA, number + string(piece) + b"\0")
    else:
        _answers(_END_OF_FILE)(server, number, rest)


def read_for_ever(server: StagedServer, number: bytes, rest: Fields) -> None:
    """Send a piece, wherever it is to begin."""
    rest.string()
    rest.long_number()
    server.say_sftp(_DATA, number + string(bytes(min(rest.number(), PACKET_BYTES))))


def tell_no_size(server: StagedServer, number: bytes, rest: Fields) -> None:
    """Tell attributes among which there is no size, as a server may."""
    del rest
    server.say_sftp(_ATTRIBUTES, number + struct.pack(">II", 0b100, 0o100644))


def read_half_of_the_file(server: StagedServer, number: bytes, rest: Fields) -> None:
    """Say that the file ends in its middle."""
    _say_piece(server, number, rest, file=FILE[: len(FILE) // 2])


def read_garbage(server: StagedServer, number: bytes, rest: Fields) -> None:
    """Answer with a packet of another type."""
    del rest
    server.say_sftp(_NAME, number + struct.pack(">I", 0))


def read_nothing(server: StagedServer, number: bytes, rest: Fields) -> None:
    """Fail."""
    _answers(4)(server, number, rest)


def sftp_silence(server: StagedServer, number: bytes, rest: Fields) -> None:
    """Do not answer."""


def end_program(server: StagedServer, number: bytes, rest: Fields) -> None:
    """End as a program does that dies."""
    del number, rest
    server.end_output()
    server.exit(1)
    server.close_channel()
    server.await_end()


def reset_line(server: StagedServer, number: bytes, rest: Fields) -> None:
    """Break the connection off in place of an answer."""
    del number, rest
    reset(server)
    raise ConnectionResetError("by the server itself")


def answer_another(server: StagedServer, number: bytes, rest: Fields) -> None:
    """Answer a request that nobody made."""
    del number
    _answers(4)(server, b"\xff\xff\xff\xff", rest)


def _answers(code: int) -> SftpAnswer:
    def answer(server: StagedServer, number: bytes, rest: Fields) -> None:
        del rest
        server.say_sftp(_STATUS, number + struct.pack(">I", code) + string(b"says the server") + string(b""))

    return answer


def _say_piece(
    server: StagedServer, number: bytes, rest: Fields, most_bytes: int = PACKET_BYTES, file: bytes = FILE
) -> None:
    piece = _piece(rest, most_bytes, file)
    if piece:
        server.say_sftp(_DATA, number + string(piece))
    else:
        _answers(_END_OF_FILE)(server, number, rest)


def _piece(rest: Fields, most_bytes: int, file: bytes) -> bytes:
    rest.string()  # the handle
    offset, length = rest.long_number(), rest.number()
    return file[offset : offset + min(length, most_bytes)]


def _say_attributes(server: StagedServer, number: bytes, rest: Fields) -> None:
    del rest
    server.say_sftp(_ATTRIBUTES, number + _FILE_ATTRIBUTES)


def _say_path(server: StagedServer, number: bytes, rest: Fields) -> None:
    server.say_sftp(_NAME, number + struct.pack(">I", 1) + string(rest.string()) * 2 + bytes(4))


def _say_handle(server: StagedServer, number: bytes, rest: Fields) -> None:
    del rest
    server.say_sftp(_HANDLE, number + string(b"handle"))


def _say_directory(server: StagedServer, number: bytes, rest: Fields) -> None:
    del rest
    server.say_sftp(_ATTRIBUTES, number + struct.pack(">II", 0b100, 0o040755))


_DIRECTORY: dict[int, SftpAnswer] = {
    _OPENDIR: _say_handle,
    _LSTAT: _say_directory,
    _STAT: _say_directory,
}
_IN_ORDER: dict[int, SftpAnswer] = {
    _OPEN: _say_handle,
    _READ: _say_piece,
    _LSTAT: _say_attributes,
    _FSTAT: _say_attributes,
    _STAT: _say_attributes,
    _REALPATH: _say_path,
}
