"""Whatever strangers do to an HTTP port, its process stays small, and who sends a request is answered."""

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from free_ports import free_port
from socket_floods import PLAIN, flood, unchecked_tls

if TYPE_CHECKING:
    from sshload_gateway.api.protocol import HttpProtocol


_PATIENCE_S = 120.0  # a busy machine takes long


@dataclass(frozen=True, slots=True)
class FloodedPort:
    """A port, and the process that serves it."""

    pid: int
    port: int
    tls: bool
    log: Path

    def peak_bytes(self) -> int:
        """Return the most memory that the process has had."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        return int(status.split("VmHWM:")[1].split()[0]) * 1_024

    def get(self, path: str, source: str = "") -> tuple[int, bytes]:
        """Return status and body of a page, as a client from this address gets it."""
        origin = (source, 0) if source else None
        if self.tls:
            connection: HTTPConnection = HTTPSConnection(
                "127.0.0.1", self.port, timeout=_PATIENCE_S, source_address=origin, context=unchecked_tls()
            )
        else:
            connection = HTTPConnection("127.0.0.1", self.port, timeout=_PATIENCE_S, source_address=origin)
        try:
            connection.request("GET", path, headers={"Authorization": "Bearer good"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


@contextmanager
def flooded_port(name: str) -> Iterator[FloodedPort]:
    """Serve the port of this name."""
    command = [sys.executable, __file__, name]
    with (
        NamedTemporaryFile() as log,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        assert process.stdout is not None
        assert process.stdin is not None
        port = int(process.stdout.readline())
        yield FloodedPort(process.pid, port, name in TLS, Path(log.name))
        process.stdin.close()
        assert process.wait(_PATIENCE_S) == 0


def _target() -> None:
    from sshload_target.http_server import serve  # noqa: PLC0415 - each process needs one of them

    _hold(serve("127.0.0.1", 0, SimpleNamespace(ready=True, stats=dict)).port)


def _master() -> None:
    from gevent import monkey  # noqa: PLC0415 - likewise

    monkey.patch_all()
    from sshload_worker.coordination import run_metrics  # noqa: PLC0415 - after the patch
    from sshload_worker.coordination.http_server import serve  # noqa: PLC0415 - likewise

    vars(run_metrics)["metrics"] = lambda _: b"sshload_run_iterations_total 1\n" * 2_000
    master: Any = SimpleNamespace(started=True)
    print(serve(master, "127.0.0.1", 0).port, flush=True)  # noqa: T201 - its parent reads it
    from gevent.os import tp_read  # noqa: PLC0415 - likewise

    tp_read(0, 1)


def _probes() -> None:
    from sshload_operator.control.handlers import ProbeServer  # noqa: PLC0415 - likewise

    async def start(port: int) -> None:
        await ProbeServer(port, lambda: True).start()

    _hold_loop(start)


def _metrics() -> None:
    from sshload_operator.control.metrics.server import MetricsServer  # noqa: PLC0415 - likewise

    async def start(port: int) -> None:
        await MetricsServer(port, _page).start(None)

    _hold_loop(start)


def _guarded_metrics() -> None:
    from sshload_operator.control.metrics.bearer_check import BearerCheck  # noqa: PLC0415 - likewise
    from sshload_operator.control.metrics.server import Guard, MetricsServer  # noqa: PLC0415
    from sshload_operator.control.metrics.serving_certificate import ServingCertificate  # noqa: PLC0415

    async def start(port: int) -> None:
        guard = Guard(BearerCheck(_GoodToken()), ServingCertificate(None))
        await MetricsServer(port, _page).start(guard)

    _hold_loop(start)


def _pages() -> None:
    from sshload_operator.control.metrics.bearer_check import BearerCheck  # noqa: PLC0415 - likewise
    from sshload_operator.control.metrics.serving_certificate import ServingCertificate  # noqa: PLC0415
    from sshload_operator.control.pages.index import Index  # noqa: PLC0415
    from sshload_operator.control.pages.server import PagesServer  # noqa: PLC0415

    async def start(port: int) -> None:
        reports: Any = None  # nothing is finished
        await PagesServer(port, Index(), BearerCheck(_GoodToken()), reports).start(ServingCertificate(None))

    _hold_loop(start)


def _gateway() -> None:
    from sshload_gateway.api.protocol import API, limited  # noqa: PLC0415 - likewise

    _hold_gateway(limited(API, keeps_served=True))


def _gateway_management() -> None:
    from sshload_gateway.api.protocol import MANAGEMENT, limited  # noqa: PLC0415 - likewise

    _hold_gateway(limited(MANAGEMENT, keeps_served=False))


def _hold_gateway(protocol: "type[HttpProtocol]") -> None:
    from sshload_gateway import service  # noqa: PLC0415 - likewise
    from sshload_gateway.config import Listen  # noqa: PLC0415
    from sshload_gateway.logs import set_up_log  # noqa: PLC0415
    from starlette.responses import PlainTextResponse  # noqa: PLC0415

    set_up_log("WARNING")

    async def start(port: int) -> None:
        # An answer like those to a stranger, of the size of the API's description.
        server = service._Server(service._uvicorn(PlainTextResponse("x" * 100_000), 1, protocol))
        serving.append(asyncio.create_task(server.serve([service._listen("listen", Listen(port=port))])))

    serving: list[asyncio.Task[None]] = []
    _hold_loop(start)


class _GoodToken:
    """An API server that knows one token."""

    async def user_of(self, token: str) -> Mapping[str, Any] | None:
        return {"username": "anna"} if token == "good" else None

    async def may(self, user: Mapping[str, Any], verb: str, path: str) -> bool:
        return bool(user and verb and path)


def _page() -> Iterator[bytes]:
    """Yield a page like that of 1,000 tests."""
    for _ in range(1_000):
        yield b"sshload_test_running 1\n" * 45


def _hold(port: int) -> None:
    print(port, flush=True)  # noqa: T201 - its parent reads it
    sys.stdin.read()


def _hold_loop(start: Callable[[int], Awaitable[None]]) -> None:
    port = free_port()

    async def hold() -> None:
        await start(port)
        await asyncio.to_thread(_hold, port)

    asyncio.run(hold())


PORTS: Mapping[str, tuple[Callable[[], None], str]] = {
    "target": (_target, "/healthz"),
    "master": (_master, "/healthz"),
    "probes": (_probes, "/healthz"),
    "metrics": (_metrics, "/metrics"),
    "guarded-metrics": (_guarded_metrics, "/metrics"),
    "pages": (_pages, "/ui"),
    "gateway": (_gateway, "/openapi.json"),
    "gateway-management": (_gateway_management, "/healthz"),
}
"""How each port is served, and a path at which it answers with 200."""
TLS = frozenset(("guarded-metrics", "pages"))


if __name__ == "__main__":
    PORTS[sys.argv[1]][0]()


CONNECTIONS = 220
SOURCES = [f"127.0.0.{number}" for number in range(2, 10)]
MOST_BYTES = {
    "pages": 60_000_000,
    "guarded-metrics": 40_000_000,
    "gateway": CONNECTIONS * 200_000,  # it has up to 2,048 connections, and 1 GiB
}
MOST_PLAIN_BYTES = 20_000_000
AS_OTHERS = {"guarded-metrics", "gateway-management"}
"""Ports whose code is that of another one, down to a page or a limit: `pages` and `gateway`."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.full if name in AS_OTHERS else ()) for name in PORTS]
)
def test_a_port_stays_small_and_silent_and_serves_others_and_its_flooders_address_in_any_flood(name: str) -> None:
    path = PORTS[name][1]
    with flooded_port(name) as port:
        assert port.get(path)[0] == 200
        rest_bytes = port.peak_bytes()
        for kind, tls in floods(name):
            with flooded(port, kind, tls):
                for source in (SOURCES[0], "127.0.0.1"):
                    assert port.get(path, source)[0] == 200, kind
                assert port.peak_bytes() - rest_bytes < MOST_BYTES.get(name, MOST_PLAIN_BYTES), kind
        assert port.log.read_text(encoding="utf-8") == ""


def floods(name: str) -> Iterator[tuple[str, bool]]:
    """Yield each kind of flood, through TLS where the port has it, and whether it is."""
    yield from ((kind, name in TLS) for kind in PLAIN)
    if name in TLS:
        yield from ((kind, False) for kind in ("silent", "half a head"))


@contextmanager
def flooded(port: FloodedPort, kind: str, tls: bool) -> Iterator[None]:  # noqa: FBT001 - of a table
    """Keep the connections of a flood open."""
    with ExitStack() as held:
        for connection in flood("127.0.0.1", port.port, kind, CONNECTIONS, tls=tls, sources=SOURCES):
            held.enter_context(connection)
        yield
