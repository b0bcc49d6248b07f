"""Logins by ssh2-python at servers that break the protocol: `python hostile_login.py FAULT...` prints how each ended.

`python hostile_login.py --left COUNT FAULT...` prints how many bytes each login at such a server leaves behind.
`python hostile_login.py --random COUNT` plays so many servers whose SFTP is random from the version on, and prints each
outcome that there was. It is a program because a fault may crash the process that it is played in, or keep it busy for
ever: so each fault has a process of its own, forked from this one, which has played nothing.
"""

from gevent import monkey

monkey.patch_all()

import ctypes  # noqa: E402 - gevent patches before anything else is imported
import gc  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import signal  # noqa: E402
import socket  # noqa: E402
import struct  # noqa: E402
import sys  # noqa: E402
import traceback  # noqa: E402
from collections.abc import Callable  # noqa: E402
from contextlib import suppress  # noqa: E402
from dataclasses import dataclass, replace  # noqa: E402
from functools import partial  # noqa: E402
from random import Random  # noqa: E402
from typing import NoReturn  # noqa: E402

import bare_ssh_server as bare  # noqa: E402
import gevent  # noqa: E402
from bare_ssh_server import CHACHA, CTR, ETM, GCM, MAC, BareServer, Exchange, string  # noqa: E402
from paramiko.kex_group14 import KexGroup14SHA256  # noqa: E402
from run_configs import client  # noqa: E402
from ssh2_connections import credentials, login_at  # noqa: E402
from sshload_contract.client import Auth  # noqa: E402
from sshload_contract.vocabulary import Outcome  # noqa: E402
from sshload_worker.clients.interface import Course  # noqa: E402
from sshload_worker.clients.ssh2.connection import SSH2Connection  # noqa: E402
from sshload_worker.outcomes import StepFailure  # noqa: E402
from unkind_servers import speaking  # noqa: E402


class _Given(ctypes.Structure):
    """mallinfo2(3)."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    )


def _given_out() -> int:
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = _Given
    given = mallinfo2()
    return int(given.uordblks + given.hblkhd)


_fork, _waitpid = (monkey.get_original("os", name) for name in ("fork", "waitpid"))
_HANGS_AFTER_S = 120
_MOST = 2**32 - 1
_OPENS = 0.8  # the share of the random servers that open the file
_SFTP_VERSION = string(struct.pack(">BI", 2, 3))  # draft-ietf-secsh-filexfer-02 section 4
_SFTP_STATUS_OK = string(struct.pack(">BIIII", 101, 0, 0, 0, 0))  # section 7: of the first request, without a text
_SFTP_HANDLE = string(struct.pack(">BI", 102, 0) + string(b"handle"))
_SFTP_LONG_DATA = string(struct.pack(">BI", 103, 1) + string(bytes(30_001)))  # libssh2 asks for 30,000 bytes at a time
_SFTP_NO_DATA = string(struct.pack(">BII4x", 103, 1, _MOST))


def _exchanging(by: Exchange) -> Callable[[BareServer], None]:
    """Return a server that is honest after the key exchange."""

    def serve(server: BareServer) -> None:
        server.exchange_keys(by)
        bare.let_in(server)

    return serve


def _sending(cipher: str, mac: str, body: bytes, length: int | None = None) -> Callable[[BareServer], None]:
    """Return a server whose first encrypted packet is out of order: a body, and its length or another one."""

    def serve(server: BareServer) -> None:
        server.exchange_keys(Exchange(cipher, mac))
        server.send_body(body, length)
        bare.let_in(server)

    return serve


def _beginning(length: int) -> Callable[[BareServer], None]:
    """Return a server whose very first packet has this length."""

    def serve(server: BareServer) -> None:
        server.greet()
        server.send_body(bytes(8), length)

    return serve


def _forging(cipher: str, mac: str) -> Callable[[BareServer], None]:
    """Return a server whose first encrypted packet, a large one, was changed on the way."""

    def serve(server: BareServer) -> None:
        server.exchange_keys(Exchange(cipher, mac))
        server.send_forged(bytes([4, bare.IGNORE]) + bytes(16_000 - 2))

    return serve


def _after_login(*says: bytes) -> Callable[[BareServer], None]:
    """Return a server that is honest until a command or subsystem has begun, and then says these payloads."""

    def serve(server: BareServer) -> None:
        bare.begin(server)
        server.send_at_once(says)

    return serve


def _refusing(*says: bytes) -> Callable[[BareServer], None]:
    """Return a server that is honest until a channel is asked for, and then says these payloads."""

    def serve(server: BareServer) -> None:
        bare.let_user_in(server)
        server.send_at_once(says)

    return serve


def _request(kind: bytes, rest: bytes) -> bytes:
    return struct.pack(">BI", bare.CHANNEL_REQUEST, 0) + string(kind) + bytes(1) + rest


def _data(data: bytes) -> bytes:
    return struct.pack(">BI", bare.CHANNEL_DATA, 0) + string(data)


def _log_in(connection: SSH2Connection) -> None:
    for part in (connection.connect, connection.banner, connection.kex, connection.auth):
        part()


def _run_command(connection: SSH2Connection) -> None:
    _log_in(connection)
    channel = connection.open_channel()
    channel.execute("true")
    while channel.read():
        pass
    channel.close()


def _run_command_at_once(connection: SSH2Connection) -> None:
    _log_in(connection)
    connection.open_channel().run("true", len, Course())


def _open_file(connection: SSH2Connection) -> None:
    _log_in(connection)
    connection.open_sftp().open_to_read("/any")


def _read_file_at_once(connection: SSH2Connection) -> None:
    _log_in(connection)
    connection.open_sftp().read_file("/any", len, Course())


def _list_directory(connection: SSH2Connection) -> None:
    _log_in(connection)
    connection.open_sftp().list_directory("/any")


@dataclass(frozen=True, slots=True)
class Play:
    """What the server does, and the client. Where that is to log in, the fault comes before the host key's check.

    `kex` is what the test names, if it names any: nothing else lets a client take a group exchange.
    """

    serve: Callable[[BareServer], None]
    client: Callable[[SSH2Connection], None] = _log_in
    kex: tuple[str, ...] = ()


def _choosing_group(prime: int, generator: int) -> Play:
    """Return a server that chooses this group in a group exchange, and is honest otherwise: who takes it is let in."""
    return Play(_exchanging(Exchange(group=(prime, generator))), kex=(bare.GROUP_EXCHANGE,))


PLAYS = {
    "no fault": Play(_exchanging(Exchange())),
    "extensions without end": Play(_exchanging(Exchange(first=[struct.pack(">BI", bare.EXT_INFO, _MOST)] * 100))),
    "key exchange by a name that is no method": Play(_exchanging(Exchange(method="ext-info-c"))),
    **{f"first packet of {length} bytes": Play(_beginning(length)) for length in (1, 2, 3, 4)},
    "forged signature": Play(_exchanging(Exchange(CTR, forged=True))),
    "chacha20: forged packet": Play(_forging(CHACHA, MAC)),
    "aes-gcm: forged packet": Play(_forging(GCM, MAC)),
    "aes-ctr: forged packet": Play(_forging(CTR, MAC)),
    "etm: forged packet": Play(_forging(CTR, ETM)),
    "chacha20: length that overflows": Play(_sending(CHACHA, MAC, bytes(8), _MOST)),
    "chacha20: packet shorter than its length field": Play(_sending(CHACHA, MAC, bytes(3))),
    "aes-gcm: packet shorter than its tag": Play(_sending(GCM, MAC, bytes(1))),
    "aes-gcm beside aes-ctr": Play(_exchanging(Exchange(GCM, from_client=CTR))),
    "aes-ctr: packet of no whole blocks": Play(_sending(CTR, MAC, bytes(17))),
    "etm: length that overflows": Play(_sending(CTR, ETM, bytes(16), _MOST - 29)),
    "etm: packet shorter than a block": Play(_sending(CTR, ETM, bytes([4, bare.IGNORE]) + bytes(10))),
    "etm: padding longer than the packet": Play(_sending(CTR, ETM, bytes([255, bare.IGNORE]) + bytes(14))),
    "etm: name of a service within the padding": Play(
        _sending(CTR, ETM, bytes([10, bare.SERVICE_ACCEPT]) + struct.pack(">I", 12) + b"ssh-userau")
    ),
    "dh: value 1": Play(_exchanging(Exchange(dh_value=1))),
    "dh: value p - 1": Play(_exchanging(Exchange(dh_value=KexGroup14SHA256.P - 1))),
    "curve25519: value of small order": Play(_exchanging(Exchange(point=bytes(32)))),
    "curve25519: value of 31 bytes": Play(_exchanging(Exchange(point=bytes([9]) * 31))),
    "mlkem: no fault": Play(_exchanging(Exchange(answer=bytes))),
    "mlkem: nothing": Play(_exchanging(Exchange(answer=lambda _: b""))),
    "mlkem: value of curve25519 alone": Play(_exchanging(Exchange(answer=lambda value: value[-32:]))),
    "mlkem: a byte less": Play(_exchanging(Exchange(answer=lambda value: value[:-1]))),
    "mlkem: a byte more": Play(_exchanging(Exchange(answer=lambda value: value + bytes(1)))),
    "mlkem: ciphertext of 32 kilobytes": Play(_exchanging(Exchange(answer=lambda value: value + bytes(32_000)))),
    "mlkem: ciphertext of another key": Play(
        _exchanging(Exchange(answer=lambda value: bytes(bare.CIPHERTEXT_BYTES) + value[bare.CIPHERTEXT_BYTES :]))
    ),
    "mlkem: value of small order": Play(
        _exchanging(Exchange(answer=lambda value: value[: bare.CIPHERTEXT_BYTES] + bytes(32)))
    ),
    "ecdh: point at infinity": Play(_exchanging(Exchange(method="ecdh-sha2-nistp256", point=bytes(1)))),
    "ecdh: point beside the curve": Play(
        _exchanging(Exchange(method="ecdh-sha2-nistp256", point=bytes([4]) + bytes([1]) * 64))
    ),
    "gex: no fault": _choosing_group(KexGroup14SHA256.P, 2),
    "gex: prime of 1,024 bits": _choosing_group(2**1_023 + 1, 2),
    "gex: prime of 16,384 bits": _choosing_group(2**16_383 + 1, 2),
    "gex: even number for a prime": _choosing_group(KexGroup14SHA256.P - 1, 2),
    "gex: generator 1": _choosing_group(KexGroup14SHA256.P, 1),
    "gex: generator p - 1": _choosing_group(KexGroup14SHA256.P, KexGroup14SHA256.P - 1),
    "gex: generator p": _choosing_group(KexGroup14SHA256.P, KexGroup14SHA256.P),
    "refused channel without a reason": Play(_refusing(bytes([bare.CHANNEL_FAILURE])), _run_command),
    "name of a signal longer than its packet": Play(
        _after_login(_request(b"exit-signal", struct.pack(">I", 2**31)), struct.pack(">BI", bare.CHANNEL_CLOSE, 0)),
        _run_command,
    ),
    "name of a signal longer than its packet, in one call": Play(
        _after_login(_request(b"exit-signal", struct.pack(">I", 2**31)), struct.pack(">BI", bare.CHANNEL_CLOSE, 0)),
        _run_command_at_once,
    ),
    "data after the channel's close": Play(
        _after_login(struct.pack(">BI", bare.CHANNEL_CLOSE, 0), _data(b"late")), _run_command_at_once
    ),
    "data of a stream that there is not": Play(
        _after_login(
            struct.pack(">BII", bare.CHANNEL_EXTENDED_DATA, 0, 9) + string(b"oh"),
            struct.pack(">BI", bare.CHANNEL_CLOSE, 0),
        ),
        _run_command_at_once,
    ),
    "sftp: names of four gigabytes": Play(
        _after_login(_data(_SFTP_VERSION), _data(_SFTP_HANDLE), _data(struct.pack(">IBI", _MOST, 104, 1))),
        _list_directory,
    ),
    "sftp: file opened without a handle": Play(
        _after_login(_data(_SFTP_VERSION), _data(_SFTP_STATUS_OK + struct.pack(">I5x", _MOST))), _open_file
    ),
    "sftp: file opened without a handle, in one call": Play(
        _after_login(_data(_SFTP_VERSION), _data(_SFTP_STATUS_OK + struct.pack(">I5x", _MOST))), _read_file_at_once
    ),
    "sftp: more data than were asked for, in one call": Play(
        _after_login(_data(_SFTP_VERSION), _data(_SFTP_HANDLE), _data(_SFTP_LONG_DATA)), _read_file_at_once
    ),
    "sftp: data of four gigabytes, in one call": Play(
        _after_login(_data(_SFTP_VERSION), _data(_SFTP_HANDLE), _data(_SFTP_NO_DATA)),
        _read_file_at_once,
    ),
}


def _random_sftp(seed: int) -> Play:
    """Return a server that answers the reading of a file by packets that are right here and there, and then closes."""
    random = Random(seed)  # noqa: S311 - no secrets
    says = [_SFTP_VERSION, *(string(_random_packet(random, number)) for number in range(random.randrange(1, 6)))]
    return Play(_after_login(*map(_data, says), struct.pack(">BI", bare.CHANNEL_CLOSE, 0)), _read_file_at_once)


def _random_packet(random: Random, number: int) -> bytes:
    """Return an SFTP packet whose kind, request, length and content may each be those of an honest answer."""
    kind = random.choice((101, 101, 102, 103, 103, 103, 104, 105, random.randrange(256)))
    request = random.choice((number, number, number, number, 0, _MOST))
    content = random.randbytes(random.choice((0, 4, 6, 8, 30_000, random.randrange(64))))
    length = random.choice((len(content), len(content), 0, 1, len(content) + 1, 30_001, _MOST))
    opened = number == 0 and random.random() < _OPENS
    return _SFTP_HANDLE[4:] if opened else struct.pack(">BII", kind, request, length) + content


def _serve(play: Play, connection: socket.socket) -> None:
    with suppress(ConnectionError):
        server = BareServer(connection)
        play.serve(server)
        server.await_end()


def _outcome(play: Play) -> Outcome:
    with speaking(partial(_serve, play)) as port:
        settings = replace(client(), kex_algorithms=play.kex)
        connection = SSH2Connection(login_at(port, "tester", credentials(Auth.PASSWORD, password="any"), settings))
        try:
            play.client(connection)
        except StepFailure as failure:
            return failure.outcome
        finally:
            connection.close()
    return Outcome.OK


def _apart(play: Play) -> tuple[str, int]:
    """Play in a process of its own; return what it printed, the outcome first of all, and its exit code.

    The code is that of a signal, negative, where one ended it: SIGALRM if it hangs.
    """
    reading, writing = os.pipe()
    pid = _fork()
    if pid == 0:
        for descriptor in (1, 2):
            os.dup2(writing, descriptor)
        _play_and_exit(play)
    os.close(writing)
    with os.fdopen(reading) as printed:
        said = printed.read()
    return said, os.waitstatus_to_exitcode(_waitpid(pid, 0)[1])


def _play_and_exit(play: Play) -> NoReturn:
    signal.alarm(_HANGS_AFTER_S)
    gevent.reinit()
    try:
        os.write(1, str(_outcome(play)).encode())
    except BaseException:  # noqa: BLE001 - told, and this process is at its end
        os.write(2, traceback.format_exc().encode())
        os._exit(1)
    os._exit(0)


def _bytes_left(play: Play, logins: int) -> float:
    """Return by how much a login grows what the C library has given out, once the first ones have made what stays."""
    counts = []
    for _ in range(2):
        for _ in range(logins):
            _outcome(play)
        gc.collect()
        counts.append(_given_out())
    return (counts[1] - counts[0]) / logins


def _random_outcomes(servers: int) -> list[str]:
    return sorted({str(_outcome(_random_sftp(seed))) for seed in range(servers)})


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--left", count, *faults]:
            left = {fault: _bytes_left(PLAYS[fault], int(count)) for fault in faults}
            print(json.dumps(left))  # noqa: T201 - for whoever started this
        case ["--random", count]:
            print(*_random_outcomes(int(count)))  # noqa: T201 - likewise
        case ["--all"]:
            sys.exit(any(_apart(play)[1] for play in PLAYS.values()))
        case faults:
            print(json.dumps({fault: _apart(PLAYS[fault]) for fault in faults}))  # noqa: T201 - likewise
