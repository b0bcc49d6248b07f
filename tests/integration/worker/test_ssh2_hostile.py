"""Servers and lines that break off, fall silent or lie: each ends ssh2-python's step in one outcome."""

import gc
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import gevent
import pytest
from gevent.pool import Pool
from run_configs import client
from ssh2_connections import login_to
from ssh_server import SshServer
from sshload_contract.vocabulary import Outcome
from sshload_worker.clients.interface import Course
from sshload_worker.clients.ssh2.connection import SSH2Connection
from sshload_worker.outcomes import StepFailure
from unkind_servers import Treat, cut_at, flip_at, relaying, stall_at

AES, CHACHA = "aes128-gcm@openssh.com", "chacha20-poly1305@openssh.com"
SHORT_S, LONG_S = 1.0, 30.0
ALL_BYTES = 2_700  # a little more than sshd says to a login, a command and a close
PLACES = range(1, ALL_BYTES, 61)
FEW_PLACES = range(1, ALL_BYTES, 401)  # each takes the whole limit
PLAYS_AT_ONCE = 8
SILENT = "silent"
UNTOLD_AT_OPENING = {Outcome.CHANNEL_REFUSED, Outcome.EXEC_REJECTED}  # libssh2's sftp_init hides why a channel failed
SMALL_FILE = Path(__file__).with_name("conftest.py")
RANDOM_SERVERS = 60
ANSWERED_AT_RANDOM = {Outcome.OK, Outcome.DISCONNECTED, *(one for one in Outcome if one.startswith("sftp"))}
HOSTILE_LOGIN = Path(__file__).parents[2] / "support/ssh/hostile_login.py"
HANGS_AFTER_S = 120.0
LEAVING = ("forged signature", "chacha20: forged packet", "etm: padding longer than the packet")
LOGINS_THAT_LEAVE = 40
LEAST_LEAK_BYTES = 32  # per login: an object of the C library's, whatever is in it
FAULTS = {
    "no fault": Outcome.OK,
    "extensions without end": Outcome.OK,
    "key exchange by a name that is no method": Outcome.KEX_FAILED,
    **{f"first packet of {length} bytes": Outcome.KEX_FAILED for length in (1, 2, 3, 4)},
    "forged signature": Outcome.KEX_FAILED,
    "chacha20: forged packet": Outcome.DISCONNECTED,
    "aes-gcm: forged packet": Outcome.DISCONNECTED,
    "aes-ctr: forged packet": Outcome.DISCONNECTED,
    "etm: forged packet": Outcome.DISCONNECTED,
    "chacha20: length that overflows": Outcome.DISCONNECTED,
    "chacha20: packet shorter than its length field": Outcome.DISCONNECTED,
    "aes-gcm: packet shorter than its tag": Outcome.DISCONNECTED,
    "aes-gcm beside aes-ctr": Outcome.OK,
    "aes-ctr: packet of no whole blocks": Outcome.DISCONNECTED,
    "etm: length that overflows": Outcome.DISCONNECTED,
    "etm: packet shorter than a block": Outcome.DISCONNECTED,
    "etm: padding longer than the packet": Outcome.DISCONNECTED,
    "etm: name of a service within the padding": Outcome.KEX_FAILED,
    "dh: value 1": Outcome.KEX_FAILED,
    "dh: value p - 1": Outcome.KEX_FAILED,
    "curve25519: value of small order": Outcome.KEX_FAILED,
    "curve25519: value of 31 bytes": Outcome.KEX_FAILED,
    "mlkem: no fault": Outcome.OK,
    "mlkem: nothing": Outcome.KEX_FAILED,
    "mlkem: value of curve25519 alone": Outcome.KEX_FAILED,
    "mlkem: a byte less": Outcome.KEX_FAILED,
    "mlkem: a byte more": Outcome.KEX_FAILED,
    "mlkem: ciphertext of 32 kilobytes": Outcome.KEX_FAILED,
    "mlkem: ciphertext of another key": Outcome.KEX_FAILED,
    "mlkem: value of small order": Outcome.KEX_FAILED,
    "ecdh: point at infinity": Outcome.KEX_FAILED,
    "ecdh: point beside the curve": Outcome.KEX_FAILED,
    "gex: no fault": Outcome.OK,
    "gex: prime of 1,024 bits": Outcome.KEX_FAILED,
    "gex: prime of 16,384 bits": Outcome.KEX_FAILED,
    "gex: even number for a prime": Outcome.KEX_FAILED,
    "gex: generator 1": Outcome.KEX_FAILED,
    "gex: generator p - 1": Outcome.KEX_FAILED,
    "gex: generator p": Outcome.KEX_FAILED,
    "refused channel without a reason": Outcome.CHANNEL_REFUSED,
    "name of a signal longer than its packet": Outcome.DISCONNECTED,
    "name of a signal longer than its packet, in one call": Outcome.DISCONNECTED,
    "data after the channel's close": Outcome.OK,
    "data of a stream that there is not": Outcome.OK,
    "sftp: names of four gigabytes": Outcome.SFTP_BAD_MESSAGE,
    "sftp: file opened without a handle": Outcome.SFTP_BAD_MESSAGE,
    "sftp: file opened without a handle, in one call": Outcome.SFTP_BAD_MESSAGE,
    "sftp: more data than were asked for, in one call": Outcome.SFTP_BAD_MESSAGE,
    "sftp: data of four gigabytes, in one call": Outcome.SFTP_BAD_MESSAGE,
}


Run = Callable[[SSH2Connection], None]


def play(server: SshServer, treat: Treat, cipher: str, limit_s: float, run: Run) -> Outcome | str:
    """Log in, run a command and close; return the outcome, or that nothing came within the limit."""
    with relaying(server.port, treat) as port:
        login = replace(login_to(server, replace(client(), ciphers=(cipher,))), port=port)
        assert login.address is not None
        connection = SSH2Connection(replace(login, address=(login.address[0], ("127.0.0.1", port))))
        try:
            with gevent.Timeout(limit_s):
                for part in (connection.connect, connection.banner, connection.kex, connection.auth):
                    part()
                run(connection)
        except StepFailure as failure:
            return failure.outcome
        except gevent.Timeout:
            return SILENT
        finally:
            connection.close()
    return Outcome.OK


def run_by_parts(connection: SSH2Connection) -> None:
    channel = connection.open_channel()
    channel.execute("echo hello")
    assert b"".join(iter(channel.read, b"")) == b"hello\n"
    assert channel.close().exit_code == 0


def run_at_once(connection: SSH2Connection) -> None:
    output: list[bytes] = []
    assert connection.open_channel().run("echo hello", output.append, Course()).exit_code == 0
    assert b"".join(output) == b"hello\n"


def read_file_at_once(connection: SSH2Connection) -> None:
    content = bytearray()
    sftp = connection.open_sftp()
    sftp.read_file(str(SMALL_FILE), content.extend, Course())
    sftp.close()
    assert content == SMALL_FILE.read_bytes()


@pytest.mark.parametrize(
    ("fault", "places", "expected"),
    [
        pytest.param(cut_at, PLACES, {Outcome.RESET_BEFORE_BANNER, Outcome.NOT_SSH, Outcome.DISCONNECTED}, id="closed"),
        pytest.param(stall_at, FEW_PLACES, {SILENT}, id="silent"),
        pytest.param(
            flip_at,
            PLACES,
            {
                Outcome.NOT_SSH,
                Outcome.KEX_FAILED,
                Outcome.DISCONNECTED,
                Outcome.AUTH_REJECTED,
                SILENT,  # a length that became longer
            },
            id="changed",
        ),
    ],
)
@pytest.mark.parametrize(
    ("cipher", "run"),
    [
        pytest.param(cipher, run, id=f"{cipher}, {run.__name__}")
        for cipher in (AES, CHACHA)
        for run in (run_by_parts, run_at_once, read_file_at_once)
    ],
)
def test_a_connection_that_goes_wrong_at_any_byte_ends_in_one_outcome(  # noqa: PLR0913, PLR0917 - what is varied
    sftp_sshd: SshServer,
    cipher: str,
    run: Run,
    fault: Callable[[int], Treat],
    places: range,
    expected: set[Outcome | str],
) -> None:
    limit_s = SHORT_S if SILENT in expected else LONG_S
    assert play(sftp_sshd, cut_at(10**9), cipher, LONG_S, run) is Outcome.OK
    before = open_files()
    at_once = Pool(PLAYS_AT_ONCE)
    seen = set(at_once.imap_unordered(lambda place: play(sftp_sshd, fault(place), cipher, limit_s, run), places))
    untold = UNTOLD_AT_OPENING if run is read_file_at_once else set()
    assert seen <= expected | untold | {Outcome.OK}
    assert seen & expected
    gc.collect()
    with gevent.Timeout(300, AssertionError("sockets are left open")):
        while open_files() > before:  # the relay closes its own a moment later
            gevent.sleep(0.01)


def test_random_answers_to_the_reading_of_a_file_neither_crash_nor_occupy_the_process() -> None:
    done = subprocess.run(
        [sys.executable, HOSTILE_LOGIN, "--random", str(RANDOM_SERVERS)],
        capture_output=True, text=True, check=False, timeout=HANGS_AFTER_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert {Outcome.SFTP_BAD_MESSAGE, Outcome.SFTP_CONNECTION_LOST} <= set(done.stdout.split()) <= ANSWERED_AT_RANDOM


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture(scope="module")
def ends() -> dict[str, list[str | int]]:
    """Play all faults, each in a process of its own; return what each process printed, and its exit code."""
    done = subprocess.run([sys.executable, HOSTILE_LOGIN, *FAULTS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str | int]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(("fault", "expected"), FAULTS.items(), ids=FAULTS)
def test_a_server_that_breaks_the_protocol_neither_crashes_nor_occupies_the_process(
    ends: dict[str, list[str | int]], fault: str, expected: Outcome
) -> None:
    """ssh-library/README.md says which of libssh2's flaws each fault is for."""
    assert ends[fault] == [expected, 0]


@pytest.mark.slow
def test_a_login_that_the_server_spoils_leaves_no_memory_behind() -> None:
    done = subprocess.run(
        [sys.executable, HOSTILE_LOGIN, "--left", str(LOGINS_THAT_LEAVE), *LEAVING],
        capture_output=True, text=True, check=False, timeout=HANGS_AFTER_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    left: dict[str, float] = json.loads(done.stdout)
    assert {fault: count for fault, count in left.items() if count > LEAST_LEAK_BYTES} == {}
