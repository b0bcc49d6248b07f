"""The operator's /metrics for Prometheus."""

from collections.abc import Callable
from typing import Final

from aiohttp import web

_TEXT_FORMAT: Final = "text/plain; version=0.0.4; charset=utf-8"


class MetricsServer:
    """Serves on all addresses from `start` to `stop`."""

    def __init__(self, port: int, render: Callable[[], bytes]) -> None:
        self._port = port
        self._render = render
        app = web.Application()
        app.add_routes([web.get("/metrics", self._metrics)])
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)

    async def start(self) -> None:
        """Listen; raises OSError where the port is taken."""
        await self._runner.setup()
        await web.TCPSite(self._runner, port=self._port).start()

    async def stop(self) -> None:
        """Stop listening and close all connections."""
        await self._runner.cleanup()

    async def _metrics(self, _: web.Request) -> web.Response:
        return web.Response(body=self._render(), headers={"Content-Type": _TEXT_FORMAT})
