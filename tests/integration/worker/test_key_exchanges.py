"""Each key exchange, at OpenSSH's server and at another: what the client sends, and the secret that both sides have."""

import subprocess
from collections.abc import Iterator
from dataclasses import replace

import pytest
from first_packets import Line, overheard
from run_configs import client
from ssh2_connections import key_credentials, logged_in, login_at
from ssh_server import Keys, SshServer, ssh_server
from sshload_worker.clients.ssh2.settings import known_names
from telling_server import TellingServer, telling_server

SLACK_BITS = 64  # one random value in 2**64 lacks more
CURVES = {  # the bytes of a client's value, and the bits of a secret
    "curve25519-sha256": (32, 256),
    "curve25519-sha256@libssh.org": (32, 256),
    "ecdh-sha2-nistp256": (65, 256),
    "ecdh-sha2-nistp384": (97, 384),
    "ecdh-sha2-nistp521": (133, 521),
}
PRIME_BITS = {"group1-": 1_024, "group14-": 2_048, "group16-": 4_096, "group18-": 8_192}

each_key_exchange = pytest.mark.parametrize("kex", [name for name in known_names("kex_algorithms") if "-c" not in name])


@pytest.fixture(scope="module")
def openssh(tmp_path_factory: pytest.TempPathFactory, keys: Keys) -> Iterator[SshServer]:
    """Run a server that takes every key exchange that it knows."""
    known = subprocess.run(["ssh", "-Q", "kex"], check=True, capture_output=True, text=True).stdout.split()
    with ssh_server(tmp_path_factory.mktemp("openssh"), keys, f"KexAlgorithms {','.join(known)}") as server:
        yield server


@pytest.fixture(scope="module")
def telling(keys: Keys) -> Iterator[TellingServer]:
    """Run a server that tells the secrets."""
    with telling_server([keys.host], keys.user.with_suffix(".pub")) as server:
        yield server


def heard_login(keys: Keys, port: int, user: str, kex: str) -> Line:
    """Log in by this key exchange; return what was said."""
    settings = replace(client(), kex_algorithms=(kex,))
    with overheard(port) as (relay, lines):
        with logged_in(login_at(relay, user, key_credentials(keys.user), settings)) as connection:
            assert connection.negotiated().kex == kex
        return lines[0]


def group_bits(kex: str, line: Line) -> int:
    """Return the size of the prime."""
    named = [bits for group, bits in PRIME_BITS.items() if group in kex]
    return named[0] if named else line.prime().bit_length()


def check_value(kex: str, line: Line) -> None:
    """Assert that the client's value is of the size that a random one has."""
    value = line.client_value()
    if kex in CURVES:
        assert len(value) == CURVES[kex][0]
    else:
        bits = group_bits(kex, line)
        assert bits - SLACK_BITS <= int.from_bytes(value, "big").bit_length() <= bits


@each_key_exchange
def test_each_login_at_openssh_draws_a_value_of_full_size(openssh: SshServer, keys: Keys, kex: str) -> None:
    lines = [heard_login(keys, openssh.port, openssh.user, kex) for _ in range(2)]
    for line in lines:
        check_value(kex, line)
    assert lines[0].client_value() != lines[1].client_value()


@each_key_exchange
def test_each_login_has_a_secret_of_its_own_of_full_size(telling: TellingServer, keys: Keys, kex: str) -> None:
    secrets = []
    for _ in range(2):
        line = heard_login(keys, telling.port, "anybody", kex)
        check_value(kex, line)
        bits = CURVES[kex][1] if kex in CURVES else group_bits(kex, line)
        secret = telling.next_secret()
        assert bits - SLACK_BITS <= secret.bits <= bits
        secrets.append(secret)
    assert secrets[0] != secrets[1]
