"""An API server that a test plays: it answers each request as the test says.

An API server on loopback that keeps objects of our kinds in memory: what it is sent is merged into them.
"""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from kubernetes.aio.client import ApiClient
from sshload_operator.control.api_server.client import careful_configuration
from sshload_operator.control.api_server.cluster import Cluster


@asynccontextmanager
async def played_api(
    answer: Callable[[web.Request], Awaitable[web.StreamResponse]], tls: ssl.SSLContext | None = None
) -> AsyncIterator[ApiClient]:
    """Run a server on loopback, and return a client of it, which knows nothing of the server's certificate."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    addresses: list[Any] = runner.addresses
    try:
        configuration = careful_configuration()
        configuration.host = f"{'http' if tls is None else 'https'}://127.0.0.1:{addresses[0][1]}"
        yield ApiClient(configuration)
    finally:
        await runner.cleanup()


@asynccontextmanager
async def played_cluster(
    answer: Callable[[web.Request], Awaitable[web.StreamResponse]],
    note: Callable[[str, str], None] = lambda *_: None,
) -> AsyncIterator[Cluster]:
    """Run such a server, and return the operator's own client of it."""
    async with played_api(answer) as client:
        cluster = Cluster(client, note)
        try:
            yield cluster
        finally:
            await cluster.close()
