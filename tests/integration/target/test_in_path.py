"""PID 1 of a program in the path, with programs of the tests' own and with each kind of proxy."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import pytest
from free_ports import free_port
from running_target import WITHIN_S, wait_until
from sshload_contract.wire.codec import from_json, to_json
from sshload_contract.wire.program import ProgramConfig, ProgramStats
from sshload_operator.api.targets.proxy import Proxy, ProxyKind
from sshload_operator.planning.proxy_programs import ProxyPlaces, program_config

BUSY: Final = """
import json, resource, socket, sys, threading, time
from pathlib import Path
wanted = json.loads(Path(sys.argv[1]).read_text())
burned = threading.Barrier(3)
def burn():
    while time.thread_time() < 0.25: pass
    burned.wait()
    threading.Event().wait()
ballast = bytearray(b"x" * 80_000_000)
del ballast
for _ in range(2): threading.Thread(target=burn).start()
burned.wait()
server = socket.create_server((wanted["address"], wanted["port"]))
own = {
    "cpu_s": time.process_time(),
    "memory_peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    "server": wanted["server"],
}
Path(wanted["told"]).write_text(json.dumps(own))
threading.Event().wait()
"""
PIECE: Final = 65_536


def config_of(command: tuple[str, ...], port: int, **changes: Any) -> ProgramConfig:
    facts = {
        "command": command,
        "config": "{}",
        "server": "localhost",
        "port": port,
        "stats_port": free_port(),
        "open_files": 100,
    }
    return ProgramConfig(**{**facts, **changes})


def command_of(config: ProgramConfig, folder: Path) -> list[str]:
    (folder / "program.json").write_text(to_json(config))
    file = str(folder / "program.json")
    return [sys.executable, "-m", "sshload_target.in_path", "--config", file, "--host", "127.0.0.1"]


def answer(config: ProgramConfig, path: str) -> tuple[int, str]:
    connection = HTTPConnection("127.0.0.1", config.stats_port, timeout=WITHIN_S)
    try:
        connection.request("GET", path)
        found = connection.getresponse()
        return found.status, found.read().decode()
    except (OSError, HTTPException):
        return 0, ""
    finally:
        connection.close()


def is_ready(config: ProgramConfig) -> bool:
    return answer(config, "/readyz")[0] == HTTPStatus.OK


def stats(config: ProgramConfig) -> ProgramStats:
    return from_json(ProgramStats, answer(config, "/stats")[1])


@contextmanager
def running(config: ProgramConfig, folder: Path) -> Iterator[None]:
    """Run a program until the block ends, and wait until it is ready."""
    with subprocess.Popen(command_of(config, folder), stderr=subprocess.PIPE) as process:
        try:
            wait_until(lambda: is_ready(config) or process.poll() is not None, "ready")
            assert process.poll() is None, process.stderr and process.stderr.read()
            yield
        finally:
            process.terminate()


def refused(config: ProgramConfig, folder: Path, *before: str) -> tuple[int, str]:
    ended = subprocess.run(
        [*before, *command_of(config, folder)], capture_output=True, text=True, check=False, timeout=WITHIN_S
    )
    return ended.returncode, ended.stderr


def test_what_is_told_is_the_programs_own_use_of_all_its_threads_and_not_that_of_who_observes_it(
    tmp_path: Path,
) -> None:
    told, port = tmp_path / "told.json", free_port()
    (tmp_path / "busy.py").write_text(BUSY)
    text = json.dumps({"address": "@ADDRESS@", "port": port, "server": "@SERVER@", "told": str(told)})
    config = config_of((sys.executable, str(tmp_path / "busy.py")), port, config=text)
    with running(config, tmp_path):
        wait_until(told.exists, "what the program says of itself")
        first = stats(config)
        for _ in range(300):  # which takes the observer some CPU time
            assert is_ready(config)
        after = stats(config)
    said = json.loads(told.read_text())
    assert first.cpu_s == pytest.approx(said["cpu_s"], abs=0.1)
    assert after.cpu_s == pytest.approx(first.cpu_s, abs=0.02)
    assert said["memory_peak_bytes"] > 80_000_000
    assert first.memory_peak_bytes == pytest.approx(said["memory_peak_bytes"], rel=0.02)
    assert said["server"] in ("127.0.0.1", "[::1]")


LISTENER: Final = """
import json, signal, socket, sys, threading
from pathlib import Path
wanted = json.loads(Path(sys.argv[1]).read_text())
over = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: over.set())
server = socket.create_server(("127.0.0.1", wanted["port"]))
over.wait()
Path(wanted["ended"]).write_text("in its own way")
"""


def test_a_stop_signal_is_passed_on_and_the_program_ends_in_its_own_way(tmp_path: Path) -> None:
    ended, port = tmp_path / "ended", free_port()
    (tmp_path / "listener.py").write_text(LISTENER)
    text = json.dumps({"port": port, "ended": str(ended)})
    config = config_of((sys.executable, str(tmp_path / "listener.py")), port, config=text)
    with running(config, tmp_path):
        assert not ended.exists()
    assert ended.read_text() == "in its own way"


def test_a_server_for_which_the_configuration_has_no_place_is_not_looked_up(tmp_path: Path) -> None:
    port = free_port()
    (tmp_path / "listener.py").write_text(LISTENER)
    text = json.dumps({"port": port, "ended": str(tmp_path / "ended")})
    config = config_of((sys.executable, str(tmp_path / "listener.py")), port, config=text, server="nowhere.invalid")
    with running(config, tmp_path):
        assert stats(config).cpu_s > 0


@pytest.mark.parametrize("kind", ProxyKind)
def test_a_proxy_that_may_not_have_the_files_for_its_connections_is_refused_with_both_numbers(
    kind: ProxyKind, tmp_path: Path
) -> None:
    config = program_config(Proxy(kind, 5_000), ProxyPlaces(free_port(), free_port(), "127.0.0.1", free_port()))
    code, said = refused(config, tmp_path, "prlimit", "--nofile=4096:4096")
    assert code == 78
    assert "the program needs 10200 open files, and may have 4096 (ulimit -Hn)" in said


def test_a_program_that_is_not_there_and_one_that_ends_are_named(tmp_path: Path) -> None:
    code, said = refused(config_of(("/no/such/proxy",), free_port()), tmp_path)
    assert (code, "/no/such/proxy cannot be started: No such file" in said) == (78, True)
    code, said = refused(config_of(("false",), free_port()), tmp_path)
    assert (code, "false ended by itself, exit code 1" in said) == (1, True)


class Echo:
    """A server that sends back all that comes, and closes after the client has."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        self.accepted = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            self.accepted += 1
            threading.Thread(target=self._echo, args=(connection,), daemon=True).start()

    def _echo(self, connection: socket.socket) -> None:
        with connection:
            connection.sendall(b"hello")
            while data := connection.recv(PIECE):
                connection.sendall(data)


def echoed(port: int, data: bytes) -> bytes:
    """Return all that comes back from an echo, whose client has sent all and closed its half."""
    with socket.create_connection(("127.0.0.1", port), timeout=WITHIN_S) as client:

        def send() -> None:
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)

        sender = threading.Thread(target=send)
        sender.start()
        back = bytearray()
        while piece := client.recv(PIECE):
            back += piece
        sender.join()
        return bytes(back)


def is_passed_on(port: int) -> bool:
    """Tell whether a proxy has room for a connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=WITHIN_S) as client:
        return client.recv(PIECE) == b"hello"


@contextmanager
def proxied(kind: ProxyKind, connections: int, folder: Path) -> Iterator[tuple[Echo, ProgramConfig]]:
    """Run a proxy before an echo, as a run does."""
    echo = Echo()
    places = ProxyPlaces(free_port(), free_port(), "127.0.0.1", echo.port)
    config = program_config(Proxy(kind, connections), places)
    with running(config, folder):
        yield echo, config


@pytest.mark.parametrize("kind", ProxyKind)
def test_a_proxy_passes_all_bytes_both_ways_and_makes_no_connection_but_a_clients(
    kind: ProxyKind, tmp_path: Path
) -> None:
    data = os.urandom(5_000_000)
    with proxied(kind, 10, tmp_path) as (echo, config):
        assert echo.accepted == 0
        before = stats(config)
        assert echoed(config.port, data) == b"hello" + data
        after = stats(config)
        assert echo.accepted == 1
    assert after.cpu_s > before.cpu_s
    assert after.memory_peak_bytes


OTHERS: Final = MappingProxyType({ProxyKind.HAPROXY: b"hello", ProxyKind.NGINX: b""})
"""What a connection beyond the limit hears once another has ended: it waits at HAProxy, and nginx closes it."""


@pytest.mark.parametrize("kind", ProxyKind)
def test_no_more_connections_are_passed_on_at_once_than_asked_for(kind: ProxyKind, tmp_path: Path) -> None:
    with proxied(kind, 2, tmp_path) as (echo, config):
        place = ("127.0.0.1", config.port)
        held = [socket.create_connection(place, timeout=WITHIN_S) for _ in range(2)]
        assert [one.recv(PIECE) for one in held] == [b"hello", b"hello"]
        with socket.create_connection(place, timeout=WITHIN_S) as other:
            if not OTHERS[kind]:
                assert other.recv(PIECE) == b""
            assert echo.accepted == 2
            for one in held:
                one.close()
            if OTHERS[kind]:
                assert other.recv(PIECE) == OTHERS[kind]
        wait_until(lambda: is_passed_on(config.port), "room for another connection")
