"""Whatever strangers do to an HTTP port, its process stays small, and who sends a request is answered."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from flooded_ports import PORTS, TLS, FloodedPort, flooded_port
from socket_floods import PLAIN, flood

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
