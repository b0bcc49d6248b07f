"""An API server that a test plays: it answers each request as the test says."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from sshload_operator.control.access import Access


@asynccontextmanager
async def played_api(answer: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> AsyncIterator[Access]:
    """Run a server on loopback, and return the access to it."""

    async def nobody() -> str:
        return ""

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    addresses: list[Any] = runner.addresses
    unset: Mapping[str, None] = dict.fromkeys(
        ("ca_path", "certificate_path", "private_key_path", "tls_server_name", "proxy_url")
    )
    try:
        yield Access(server=f"http://127.0.0.1:{addresses[0][1]}", verify_tls=True, authorization=nobody, **unset)
    finally:
        await runner.cleanup()
