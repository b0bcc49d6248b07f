"""An API server that a test plays: it answers each request as the test says."""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from kubernetes.aio.client import ApiClient
from sshload_operator.control.api_server.client import careful_configuration


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
