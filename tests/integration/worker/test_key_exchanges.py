"""Each algorithm that a client library offers, at OpenSSH's server and at asyncssh's, if the server has it too.

`make test` plays those of a library at one of the two servers.

The values on the line and the secret of both sides are looked at: a library that draws no random number logs in too.
"""

import socket
import struct
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import gevent
import pytest
from circles import in_pairs
from other_servers import Start, asyncssh_server, dropbear, go_server
from run_configs import client
from ssh2_connections import key_credentials, login_at
from ssh_server import Keys, SshServer, ssh_server
from sshload_contract.client import Client, Library
from sshload_worker.clients.interface import Connection, Course
from sshload_worker.clients.libraries import known_algorithms, new_connection, prepare_library
from sshload_worker.login.private_key import read_private_key
from sshload_worker.scenario.first_login import better_kex
from telling_server import TellingServer, telling_server
from unkind_servers import speaking

KEXINIT, NEWKEYS, KEX_INIT, GEX_GROUP, GEX_INIT = 20, 21, 30, 31, 32  # RFC 4253, 4419 and 5656
_HEADER_BYTES = 5
_COOKIE_BYTES = 16
_PIECE_BYTES = 65_536


@dataclass(slots=True)
class Line:
    """All that one connection has said so far."""

    from_client: bytearray = field(default_factory=bytearray)
    from_server: bytearray = field(default_factory=bytearray)

    def client_value(self) -> bytes:
        """Return the client's value of a key exchange: e, or Q_C (RFC 4253 section 8, RFC 4419, RFC 5656)."""
        (value,) = (string(said) for said in payloads(self.from_client) if said[0] in {KEX_INIT, GEX_INIT})
        return value

    def offered_key_exchanges(self) -> list[str]:
        """Return the key exchanges of the client's offer (RFC 4253 section 7.1)."""
        offer = next(said for said in payloads(self.from_client) if said[0] == KEXINIT)
        return string(offer[_COOKIE_BYTES:]).decode("ascii").split(",")

    def prime(self) -> int:
        """Return the prime that the server has chosen for a group exchange."""
        (prime,) = (string(said) for said in payloads(self.from_server) if said[0] == GEX_GROUP)
        return int.from_bytes(prime, "big")


@contextmanager
def overheard(port: int) -> Iterator[tuple[int, list[Line]]]:
    """Relay connections to a port of loopback; yield the port to connect to, and what each connection says."""
    lines: list[Line] = []

    def relay(connection: socket.socket) -> None:
        line = Line()
        lines.append(line)
        with socket.create_connection(("127.0.0.1", port)) as behind:
            forth = gevent.spawn(_pump, connection, behind, line.from_client)
            back = gevent.spawn(_pump, behind, connection, line.from_server)
            gevent.wait([forth, back], count=1)
            gevent.killall([forth, back])

    with speaking(relay) as listening:
        yield listening, lines


def _pump(source: socket.socket, sink: socket.socket, heard: bytearray) -> None:
    with suppress(OSError):
        while data := source.recv(_PIECE_BYTES):
            heard += data
            sink.sendall(data)


def payloads(said: bytearray) -> Iterator[bytes]:
    """Return the payloads after the version line, up to NEWKEYS."""
    rest = bytes(said).partition(b"\n")[2]
    payload = b""
    while rest and payload[:1] != bytes([NEWKEYS]):
        length, padding = struct.unpack(">IB", rest[:_HEADER_BYTES])
        payload = rest[_HEADER_BYTES : 4 + length - padding]
        yield payload
        rest = rest[4 + length :]


def string(payload: bytes) -> bytes:
    """Return the first string of a message."""
    (length,) = struct.unpack(">I", payload[1:5])
    return payload[5 : 5 + length]


LIBRARIES = (Library.SSH2_PYTHON, Library.PARAMIKO, Library.ASYNCSSH, Library.OPENSSH)
SETTINGS = {"kex_algorithms": "kex", "ciphers": "cipher", "macs": "mac", "host_key_algorithms": "host_key"}
HOST_KEYS = {
    "ssh-ed25519": ("ed25519", "256"),
    "ecdsa-sha2-nistp256": ("ecdsa", "256"),
    "ecdsa-sha2-nistp384": ("ecdsa", "384"),
    "ecdsa-sha2-nistp521": ("ecdsa", "521"),
    "rsa-sha2-256": ("rsa", "2048"),
    "rsa-sha2-512": ("rsa", "2048"),
    "ssh-rsa": ("rsa", "2048"),
}
USER_KEYS = [*dict.fromkeys(HOST_KEYS.values()), ("rsa", "4096")]
LEAST_KNOWN = {"kex_algorithms": 7, "ciphers": 6, "macs": 5, "host_key_algorithms": 6}

HYBRID = "mlkem768x25519-sha256"
FIRST_OF_OPENSSH_9 = ("sntrup761x25519-sha512@openssh.com", "curve25519-sha256")
TEXT = "x" * 5_000
LIMIT_S = 120.0
TIMES = 2
SLACK_BITS = 64  # one random value in 2**64 lacks more
SIZES = {  # the bytes of a client's value, and the bits of a secret
    "curve25519": (32, 256),
    "curve448": (56, 448),
    "ecdh-sha2-nistp256": (65, 256),
    "ecdh-sha2-nistp384": (97, 384),
    "ecdh-sha2-nistp521": (133, 521),
    "ecdh-sha2-1.3.132.0.10": (65, 256),
    "mlkem768x25519": (1_184 + 32, 256),
    "mlkem768nistp256": (1_184 + 65, 256),
    "mlkem1024nistp384": (1_568 + 97, 384),
    "sntrup761x25519": (1_158 + 32, 512),
}
PRIME_BITS = {
    "group1-": 1_024,
    "group14": 2_048,
    "group15": 3_072,
    "group16": 4_096,
    "group17": 6_144,
    "group18": 8_192,
}

PLACES = ("openssh", "asyncssh")
each_library = in_pairs(("place", PLACES), ("library", LIBRARIES), indirect=["place"])
each_library_and_setting = in_pairs(
    ("place", PLACES),
    (
        "library, setting",
        [(library, name) for library in LIBRARIES for name in ("ciphers", "macs", "host_key_algorithms")],
    ),
    indirect=["place"],
)


@dataclass(frozen=True)
class Place:
    """A server: its port, the user, its algorithms by the setting of a Client, and what tells its secrets."""

    port: int
    user: str
    known: Mapping[str, Sequence[str]]
    telling: TellingServer | None


@pytest.fixture(scope="module")
def key_files(made_key: Callable[[str, str], Path], keys: Keys, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of the public keys that may log in: one of each kind."""
    path = tmp_path_factory.mktemp("authorized") / "authorized"
    kinds = [made_key(*kind).with_name(f"{made_key(*kind).name}.pub") for kind in USER_KEYS]
    path.write_text("".join(one.read_text() for one in (*kinds, keys.user.with_suffix(".pub"))))
    return path


@pytest.fixture(scope="module")
def host_keys(made_key: Callable[[str, str], Path]) -> list[Path]:
    """Return a host key of each kind."""
    return [made_key(*kind) for kind in dict.fromkeys(HOST_KEYS.values())]


@pytest.fixture(scope="module")
def start_place(
    tmp_path_factory: pytest.TempPathFactory, keys: Keys, key_files: Path, host_keys: list[Path]
) -> Iterator[Callable[[str], Place]]:
    """Return a function that runs a server, once, which takes every algorithm that it knows."""
    with ExitStack() as running:

        @cache
        def start(name: str) -> Place:
            if name == "asyncssh":
                told = running.enter_context(telling_server(host_keys, key_files))
                return Place(told.port, "anybody", known_algorithms(Library.ASYNCSSH), told)
            known = {setting: queried(setting) for setting in SETTINGS}
            directives = [
                f"KexAlgorithms {','.join(known['kex_algorithms'])}",
                f"Ciphers {','.join(known['ciphers'])}",
                f"MACs {','.join(known['macs'])}",
                f"HostKeyAlgorithms {','.join(HOST_KEYS)}",
                "PubkeyAcceptedAlgorithms +ssh-rsa",
                f"AuthorizedKeysFile {key_files}",
                *(f"HostKey {path}" for path in host_keys),
            ]
            server = running.enter_context(ssh_server(tmp_path_factory.mktemp("openssh"), keys, "\n".join(directives)))
            return Place(server.port, server.user, known, None)

        yield start


@pytest.fixture
def place(request: pytest.FixtureRequest, start_place: Callable[[str], Place]) -> Place:
    """Return one of the servers."""
    return start_place(request.param)


@cache
def queried(setting: str) -> list[str]:
    """Return the algorithms that OpenSSH knows."""
    query = "HostKeyAlgorithms" if setting == "host_key_algorithms" else SETTINGS[setting]
    return subprocess.run(["ssh", "-Q", query], check=True, capture_output=True, text=True).stdout.split()


@contextmanager
def logged_in(place: Place, settings: Client, key: Path, port: int) -> Iterator[Connection]:
    """Log in by any library."""
    prepare_library(settings.library)
    credentials = key_credentials(key)
    readable = read_private_key(credentials.private_key, "", "the key")
    login = login_at(port, place.user, replace(credentials, private_key=readable.openssh), settings)
    connection = new_connection(login)
    try:
        with gevent.Timeout(LIMIT_S, AssertionError("took too long")):
            for part in (connection.connect, connection.banner, connection.kex, connection.auth):
                part()
            yield connection
    finally:
        connection.close()


def run_command(connection: Connection) -> None:
    """Let 5,000 letters go there and back."""
    output = bytearray()
    assert connection.open_channel().run(f"echo {TEXT}", output.extend, Course()).exit_code == 0
    assert output.decode().strip().endswith(TEXT)


def each_alone(names: Sequence[str], play: Callable[[str], None]) -> dict[str, str]:
    """Play each name; return what went wrong."""
    wrong: dict[str, str] = {}
    for name in names:
        try:
            play(name)
        except Exception as error:  # noqa: BLE001 - each is told
            wrong[name] = f"{type(error).__name__}: {error}"
    return wrong


def common(library: Library, place: Place, setting: str) -> list[str]:
    """Return the names that the library and the server know."""
    names = [name for name in known_algorithms(library)[setting] if name in place.known[setting]]
    wanted = [name for name in names if setting != "host_key_algorithms" or name in HOST_KEYS]
    assert len(wanted) >= LEAST_KNOWN[setting]
    return [name for name in wanted if not name.startswith("gss-")]


def settings_of(library: Library, **changes: Any) -> Client:
    return replace(client(), library=library, **changes)


def fixed_sizes(kex: str) -> tuple[int, int] | None:
    """Return the sizes of a key exchange by a curve, by a KEM and a curve."""
    return next((sizes for name, sizes in SIZES.items() if kex.startswith(name)), None)


def group_bits(kex: str, line: Line) -> int:
    """Return the size of the prime."""
    named = [bits for group, bits in PRIME_BITS.items() if group in kex]
    return named[0] if named else line.prime().bit_length()


def check_value(kex: str, line: Line) -> int:
    """Assert that the client's value is of the size that a random one has; return the bits of the secret."""
    value = line.client_value()
    if (sizes := fixed_sizes(kex)) is not None:
        assert len(value) == sizes[0]
        return sizes[1]
    bits = group_bits(kex, line)
    assert bits - SLACK_BITS <= int.from_bytes(value, "big").bit_length() <= bits
    return bits


def exchange(library: Library, place: Place, key: Path, kex: str) -> None:
    """Log in by this key exchange, twice, and look at what is drawn."""
    values, secrets = set(), set()
    for _ in range(TIMES):
        with overheard(place.port) as (port, lines):
            with logged_in(place, settings_of(library, kex_algorithms=(kex,)), key, port) as connection:
                assert connection.negotiated().kex == kex
                run_command(connection)
            line = lines[0]
        secret = place.telling.next_secret() if place.telling else None
        bits = check_value(kex, line)
        assert secret is None or bits - SLACK_BITS <= secret.bits <= bits
        values.add(line.client_value())
        secrets.add(secret)
    assert len(values) == TIMES
    assert len(secrets) == (TIMES if place.telling else 1)


@each_library
def test_each_key_exchange_has_values_and_a_secret_of_full_size(place: Place, keys: Keys, library: Library) -> None:
    names = [name for name in common(library, place, "kex_algorithms") if not name.startswith("rsa")]
    assert each_alone(names, lambda kex: exchange(library, place, keys.user, kex)) == {}


@each_library_and_setting
def test_each_algorithm_carries_a_command(place: Place, keys: Keys, library: Library, setting: str) -> None:
    beside = {"ciphers": ("aes128-ctr",)} if setting == "macs" else {}

    def play(name: str) -> None:
        settings = settings_of(library, **beside, **{setting: (name,)})
        with logged_in(place, settings, keys.user, place.port) as connection:
            assert getattr(connection.negotiated(), SETTINGS[setting]) == name
            run_command(connection)

    with secrets_dropped(place):
        assert each_alone(common(library, place, setting), play) == {}


@each_library
def test_each_kind_of_key_logs_in(place: Place, made_key: Callable[[str, str], Path], library: Library) -> None:
    def play(kind: str) -> None:
        with logged_in(place, settings_of(library), made_key(*kind.split("-")), place.port) as connection:
            run_command(connection)

    with secrets_dropped(place):
        assert each_alone(["-".join(kind) for kind in USER_KEYS], play) == {}


@contextmanager
def secrets_dropped(place: Place) -> Iterator[None]:
    """Read what the server tells of the secrets of these logins."""
    with ExitStack() as after:
        if place.telling is not None:
            after.callback(place.telling.drop_secrets)
        yield


@each_library
def test_a_library_offers_no_group_of_the_servers_choice_unless_it_is_named(
    place: Place, keys: Keys, library: Library
) -> None:
    with overheard(place.port) as (port, lines):
        with logged_in(place, settings_of(library), keys.user, port) as connection:
            run_command(connection)
        offered = lines[0].offered_key_exchanges()
    with secrets_dropped(place):
        assert offered
    assert [name for name in offered if "group-exchange" in name or "gex" in name] == []


@pytest.mark.parametrize(
    ("start", "agreed"),
    [(asyncssh_server, HYBRID), (go_server, HYBRID), (dropbear, "curve25519-sha256")],
    ids=["asyncssh", "Go", "Dropbear of 2022"],
)
def test_the_default_library_asks_first_for_what_openssh_10_asks_for_and_then_for_curve25519(
    tmp_path: Path, keys: Keys, start: Start, agreed: str
) -> None:
    with closing(start(tmp_path, keys)) as started:
        server = next(started)
        place = Place(server.port, server.user, {}, None)
        with overheard(server.port) as (port, lines), logged_in(place, client(), keys.user, port) as connection:
            run_command(connection)
            assert connection.negotiated().kex == agreed
        methods = [
            name for name in lines[0].offered_key_exchanges() if "-sha" in name
        ]  # the others announce extensions
        assert methods[:2] == [HYBRID, "curve25519-sha256"]


@pytest.mark.parametrize(
    ("library", "kex", "told"),
    [
        (Library.SSH2_PYTHON, (), "sntrup761x25519-sha512"),
        (Library.PARAMIKO, (), "sntrup761x25519-sha512"),
        (Library.OPENSSH, (), ""),
        (Library.OPENSSH, ("ecdh-sha2-nistp256",), "sntrup761x25519-sha512, curve25519-sha256"),
    ],
)
def test_what_the_server_lists_before_all_that_the_client_asks_for_is_found_by_asking_it(
    keys: Keys, start_sshd: Callable[[str], SshServer], library: Library, kex: tuple[str, ...], told: str
) -> None:
    server = start_sshd(f"KexAlgorithms {','.join(FIRST_OF_OPENSSH_9)},ecdh-sha2-nistp256")
    prepare_library(library)
    settings = settings_of(library, kex_algorithms=kex)
    login = login_at(server.port, server.user, key_credentials(keys.user), settings)
    assert login.address is not None
    assert better_kex(login, (login.address,)) == told
    assert better_kex(replace(login, via=(login,)), (login.address,)) is None
