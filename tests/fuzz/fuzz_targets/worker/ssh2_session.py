"""What a server says after the login, as the worker's SSH library reads it: packets of channels, of SFTP, and others.

Input: a byte that says what the client does, then packets, each behind its length in two bytes. The server is honest up
to the moment at which the client waits for what it has asked for, sends them all, and closes its side.
Oracle: the client is done at once: with success, or with a StepFailure whose message is printable and bounded. The
library is C: what else may happen is a crash, or that it never returns.
"""

import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from random import Random

import gevent
from bare_ssh_server import (
    CHANNEL_CLOSE,
    CHANNEL_DATA,
    CHANNEL_EXTENDED_DATA,
    CHANNEL_FAILURE,
    CHANNEL_REQUEST,
    EXT_INFO,
    IGNORE,
    KEXINIT,
    BareServer,
    Exchange,
    begin,
    let_in,
    string,
)
from run_configs import client
from ssh2_connections import credentials, login_at
from sshload_contract.client import Auth
from sshload_worker.clients.interface import Course
from sshload_worker.clients.ssh2.connection import SharedConnection, SSH2Connection
from sshload_worker.outcomes import MESSAGE_LIMIT_CHARACTERS, StepFailure
from unkind_servers import speaking

_PATIENCE_S = 10.0
_MOST_PACKETS = 200
_LENGTH_BYTES = 2
_TELLING = (0, 1, 4, 5, 9, 2**15, 2**31 - 1, 2**31, 2**32 - 1)
"""Values of lengths, counts and windows at which programs err."""

_WINDOW, _EOF, _GLOBAL, _OPEN, _DISCONNECT = 93, 96, 80, 90, 1
_VERSION, _STATUS, _HANDLE, _FILE_DATA, _NAME, _ATTRIBUTES = 2, 101, 102, 103, 104, 105


def _run_by_parts(connection: SSH2Connection) -> None:
    channel = connection.open_channel()
    channel.execute("true")
    while channel.read():
        pass
    channel.close()


def _run_at_once(connection: SSH2Connection) -> None:
    connection.open_channel().run("true", len, Course())


def _read_file_at_once(connection: SSH2Connection) -> None:
    sftp = connection.open_sftp()
    sftp.read_file("/any", len, Course())
    sftp.close()


def _write_file(connection: SSH2Connection) -> None:
    file = connection.open_sftp().open_to_write("/any")
    file.write(bytes(100_000))
    file.close()


def _list_directory(connection: SSH2Connection) -> None:
    connection.open_sftp().list_directory("/any")


def _rest(connection: SSH2Connection) -> None:
    lost: list[StepFailure] = []
    connection.rest(lost.append)
    connection.request_keep_alive(int)
    while not (lost or connection.is_lost()):
        gevent.sleep(0)
    for failure in lost:
        raise failure


_DOES = (_run_by_parts, _run_at_once, _read_file_at_once, _write_file, _list_directory, _rest)
_SHARED = len(_DOES)
"""From here on the same again by a connection that several greenlets may share."""


def _packet(kind: int, *numbers: int, rest: bytes = b"") -> bytes:
    return struct.pack(f">B{len(numbers)}I", kind, *numbers) + rest


def _request(kind: bytes, rest: bytes, *, wants_reply: int = 0) -> bytes:
    return _packet(CHANNEL_REQUEST, 0, rest=string(kind) + bytes([wants_reply]) + rest)


def _sftp(kind: int, number: int, rest: bytes) -> bytes:
    return _packet(CHANNEL_DATA, 0, rest=string(string(struct.pack(">BI", kind, number) + rest)))


_ENDS = (_packet(_EOF, 0), _request(b"exit-status", struct.pack(">I", 3)), _packet(CHANNEL_CLOSE, 0))
_SPOKEN = (
    *_ENDS,
    _request(b"exit-signal", string(b"TERM") + bytes(1) + string(b"died") + string(b"")),
    _request(b"keepalive@openssh.com", b"", wants_reply=1),
    _packet(CHANNEL_DATA, 0, rest=string(b"hello")),
    _packet(CHANNEL_EXTENDED_DATA, 0, 1, rest=string(b"oh")),
    _packet(_WINDOW, 0, 2**32 - 1),
    _packet(_GLOBAL, rest=string(b"hostkeys-00@openssh.com") + bytes(1)),
    _packet(_OPEN, rest=string(b"forwarded-tcpip") + struct.pack(">III", 7, 2**20, 2**15) + string(b"a") + bytes(4)),
    _packet(_OPEN, rest=string(b"x11") + struct.pack(">III", 7, 2**20, 2**15) + string(b"a") + bytes(4)),
    _packet(_OPEN, rest=string(b"auth-agent@openssh.com") + struct.pack(">III", 7, 2**20, 2**15)),
    _packet(CHANNEL_FAILURE, 0, 1, rest=string(b"no") + string(b"")),
    _packet(EXT_INFO, 1, rest=string(b"server-sig-algs") + string(b"ssh-ed25519")),
    _packet(IGNORE, rest=string(b"x")),
    _packet(_DISCONNECT, 2, rest=string(b"bye") + string(b"")),
    bytes([KEXINIT]) + bytes(16) + b"".join(map(string, [b"curve25519-sha256", b"ssh-ed25519"] + [b"aes128-ctr"] * 8)),
    _sftp(_VERSION, 3, b""),
    _sftp(_STATUS, 0, struct.pack(">I", 0) + string(b"") + string(b"")),
    _sftp(_STATUS, 1, struct.pack(">I", 1) + string(b"end") + string(b"")),
    _sftp(_HANDLE, 0, string(b"handle")),
    _sftp(_FILE_DATA, 1, string(b"content")),
    _sftp(_NAME, 1, struct.pack(">I", 1) + string(b"a") + string(b"-rw a") + bytes(4)),
    _sftp(_ATTRIBUTES, 1, struct.pack(">IQ", 1, 2**40)),
)
"""One of each kind of packet that a server may send then."""


def _joined(does: int, packets: list[bytes]) -> bytes:
    return bytes([does]) + b"".join(struct.pack(">H", len(one)) + one for one in packets)


def _split(data: bytes) -> tuple[int, list[bytes]]:
    packets: list[bytes] = []
    place = 1
    while place + _LENGTH_BYTES <= len(data) and len(packets) < _MOST_PACKETS:
        (length,) = struct.unpack(">H", data[place : place + _LENGTH_BYTES])
        packets.append(data[place + _LENGTH_BYTES :][:length])
        place += _LENGTH_BYTES + length
    return data[0] if data else 0, packets


def seeds() -> Iterator[bytes]:
    """Yield honest answers to each thing that a client does, and each kind of packet before them."""
    of_command = [_packet(CHANNEL_DATA, 0, rest=string(b"hello")), *_ENDS]
    version, handle, done = _sftp(_VERSION, 3, b""), _sftp(_HANDLE, 0, string(b"h")), _sftp(_STATUS, 2, bytes(12))
    of_file = [version, handle, _sftp(_FILE_DATA, 1, string(b"content")), done, *_ENDS]
    of_folder = [version, handle, _sftp(_NAME, 1, struct.pack(">I", 1) + (string(b"a") * 2 + bytes(4))), done, *_ENDS]
    answers: tuple[list[bytes], ...] = (of_command, of_command, of_file, of_file, of_folder, [])
    for does, answer in enumerate(answers):
        yield _joined(does, answer)
        yield _joined(does + _SHARED, answer)
    for spoken in _SPOKEN:
        yield _joined(1, [spoken, *of_command])
        yield _joined(2, [version, spoken, *of_file[1:]])
        yield _joined(5, [spoken])


_SEEDS = tuple(seeds())
_SHARE_GONE_ON_WITH = 0.5
_SHARE_OF_OTHER_CLIENTS = 0.1


def mutate(data: bytes, seed: int) -> bytes:
    """Change packets: which there are, and numbers within them.

    What the library does with them shows in no line of Python, so half of the time it begins with a seed again.
    """
    random = Random(seed)  # noqa: S311 - no secrets
    does, packets = _split(data if random.random() < _SHARE_GONE_ON_WITH else random.choice(_SEEDS))
    if random.random() < _SHARE_OF_OTHER_CLIENTS:
        does = random.randrange(2 * _SHARED)
    for _ in range(random.randrange(1, 4)):
        place = random.randrange(len(packets) + 1)
        match random.randrange(4):
            case 0:
                packets.insert(place, random.choice(_SPOKEN))
            case 1 if packets:
                del packets[place % len(packets)]
            case 2 if packets:
                packets[place % len(packets)] = packets[place % len(packets)][: random.randrange(40)]
            case _ if packets:
                packets[place % len(packets)] = _with_another_number(packets[place % len(packets)], random)
    return _joined(does, packets[:_MOST_PACKETS])


def _with_another_number(packet: bytes, random: Random) -> bytes:
    value = random.choice((*_TELLING, len(packet), random.randrange(2**32)))
    place = random.randrange(len(packet) + 1)
    return (packet[:place] + struct.pack(">I", value) + packet[place + 4 :])[: 2**16 - 1]


def _serve(does: int, packets: list[bytes], connection: socket.socket) -> None:
    with suppress(ConnectionError):
        server = BareServer(connection)
        if _DOES[does % _SHARED] is _rest:
            server.exchange_keys(Exchange())
            server.receive()  # NEWKEYS
            server.receive()  # the request for the service
            let_in(server)
            server.receive()  # the request to log in
        else:
            begin(server)
        server.send_at_once(packets)
        connection.shutdown(socket.SHUT_WR)
        server.await_end()


def _assert_told(message: str) -> None:
    assert message.isprintable()
    assert len(message) <= MESSAGE_LIMIT_CHARACTERS


def check(data: bytes) -> None:
    """Let a server say this."""
    does, packets = _split(data)
    with speaking(partial(_serve, does, packets)) as port:
        kind: Callable[..., SSH2Connection] = SharedConnection if does % (2 * _SHARED) >= _SHARED else SSH2Connection
        connection = kind(login_at(port, "tester", credentials(Auth.PASSWORD, password="any"), client()))
        try:
            with gevent.Timeout(_PATIENCE_S, AssertionError("the client is not done")):
                for part in (connection.connect, connection.banner, connection.kex, connection.auth):
                    part()
                _DOES[does % _SHARED](connection)
        except StepFailure as failure:
            _assert_told(failure.message)
        finally:
            connection.close()
