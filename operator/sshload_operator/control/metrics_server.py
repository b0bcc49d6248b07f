"""The operator's HTTP server: /metrics for Prometheus, /readyz for the kubelet."""

from collections.abc import Callable
from typing import Final

from aiohttp import web

_TEXT_FORMAT: Final = "text/plain; version=0.0.4; charset=utf-8"


class MetricsServer:
    """Serves on all addresses from `start` to `stop`. Ready is what `is_ready` says at the time of asking."""

    def __init__(self, port: int, render: Callable[[], bytes], is_ready: Callable[[], bool]) -> None:
        self._port = port
        self._render = render
        self._is_ready = is_ready
        app = web.Application()
        app.add_routes([web.get("/metrics", self._metrics), web.get("/readyz", self._readyz)])
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

    async def _readyz(self, _: web.Request) -> web.Response:
        ready = self._is_ready()
        return web.Response(status=200 if ready else 503, text="ready\n" if ready else "starting\n")
