"""Servers and lines that break off, fall silent or lie at any byte: each ends ssh2-python's step in one outcome."""

import gc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import gevent
import pytest
from gevent.pool import Pool
from relays import Treat, cut_at, flip_at, relaying, stall_at
from run_configs import client
from ssh2_connections import login_to
from ssh_server import SshServer
from sshload_contract.vocabulary import Outcome
from sshload_worker.clients.ssh2.connection import SSH2Connection
from sshload_worker.outcomes import StepFailure

AES, CHACHA = "aes128-gcm@openssh.com", "chacha20-poly1305@openssh.com"
SHORT_S, LONG_S = 1.0, 30.0
ALL_BYTES = 2_700  # a little more than sshd says to a login, a command and a close
PLACES = range(1, ALL_BYTES, 61)
FEW_PLACES = range(1, ALL_BYTES, 401)  # each takes the whole limit
PLAYS_AT_ONCE = 8
SILENT = "silent"


def play(server: SshServer, treat: Treat, cipher: str, limit_s: float) -> Outcome | str:
    """Log in, run a command and close; return the outcome, or that nothing came within the limit."""
    with relaying(server.port, treat) as port:
        login = replace(login_to(server, replace(client(), ciphers=(cipher,))), port=port)
        assert login.address is not None
        connection = SSH2Connection(replace(login, address=(login.address[0], ("127.0.0.1", port))))
        try:
            with gevent.Timeout(limit_s):
                run_all(connection)
        except StepFailure as failure:
            return failure.outcome
        except gevent.Timeout:
            return SILENT
        finally:
            connection.close()
    return Outcome.OK


def run_all(connection: SSH2Connection) -> None:
    for part in (connection.connect, connection.banner, connection.kex, connection.auth):
        part()
    channel = connection.open_channel()
    channel.execute("echo hello")
    assert b"".join(iter(channel.read, b"")) == b"hello\n"
    assert channel.close().exit_code == 0


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
@pytest.mark.parametrize("cipher", [AES, CHACHA])
def test_a_connection_that_goes_wrong_at_any_byte_ends_in_one_outcome(
    sshd: SshServer,
    cipher: str,
    fault: Callable[[int], Treat],
    places: range,
    expected: set[Outcome | str],
) -> None:
    limit_s = SHORT_S if SILENT in expected else LONG_S
    assert play(sshd, cut_at(10**9), cipher, LONG_S) is Outcome.OK
    before = open_files()
    at_once = Pool(PLAYS_AT_ONCE)
    seen = set(at_once.imap_unordered(lambda place: play(sshd, fault(place), cipher, limit_s), places))
    assert seen <= expected | {Outcome.OK}
    assert seen & expected
    gc.collect()
    with gevent.Timeout(300, AssertionError("sockets are left open")):
        while open_files() > before:  # the relay closes its own a moment later
            gevent.sleep(0.01)


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
