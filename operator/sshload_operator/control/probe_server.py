"""The operator's answers to the kubelet's probes: /healthz, and /readyz."""

from collections.abc import Callable

from aiohttp import web


class ProbeServer:
    """Serves on all addresses from `start` to `stop`: alive as long as the event loop turns, ready where `is_ready`.

    An operator that waits for its Lease is alive and not ready.
    """

    def __init__(self, port: int, is_ready: Callable[[], bool]) -> None:
        self._port = port
        self._is_ready = is_ready
        app = web.Application()
        app.add_routes([web.get("/healthz", self._healthz), web.get("/readyz", self._readyz)])
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)

    async def start(self) -> None:
        """Listen; raises OSError where the port is taken."""
        await self._runner.setup()
        await web.TCPSite(self._runner, port=self._port).start()

    async def stop(self) -> None:
        """Stop listening and close all connections."""
        await self._runner.cleanup()

    async def _healthz(self, _: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _readyz(self, _: web.Request) -> web.Response:
        ready = self._is_ready()
        return web.Response(status=200 if ready else 503, text="ready\n" if ready else "waiting or starting\n")
