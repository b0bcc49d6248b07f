"""A proxy between the operator and a real API server, which plays the faults that an API server does not play itself.

It forwards everything to the real server as it is, watches included. It can be away (connections refused), do something
at a chosen request, and answer pods/log where there is no kubelet: what a master would have printed.
"""

import asyncio
import contextlib
import json
import re
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import yaml
from aiohttp import web
from free_ports import free_port
from running_target import wait_until

_LOG_PATH = re.compile(r"/api/v1/namespaces/[^/]+/pods/([^/]+)/log")
_WRITES = ("POST", "PATCH", "DELETE")
_ANSWER_LIMIT_S = 60
NO_ANSWER = 0
_GONE = '{"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}}\n'


@dataclass(frozen=True, slots=True)
class Write:
    """A request that writes, as the proxy sees it."""

    method: str
    path: str
    body: Any


@dataclass(slots=True)
class ApiProxy:
    """The proxy as a test sees it. `before` and `after` are called with each write, around its forwarding.

    Where `before` returns true, the write is not forwarded: the operator was killed before it got out.
    A read of a path with its query for which `instead_of_read` returns a status is answered with it, and never for
    NO_ANSWER. The next watch of each kind in `too_old`, such as pods, ends with 410 Gone.
    `logs` are the logs of pods by name. `writes` are those that were forwarded, in order.
    """

    kubeconfig: Path
    port: int
    writes: list[Write] = field(default_factory=list)
    logs: dict[str, str] = field(default_factory=dict)
    instead_of_read: Callable[[str], int | None] = lambda _: None
    too_old: set[str] = field(default_factory=set)
    before: Callable[[Write], bool] = lambda _: False
    after: Callable[[Write], object] = lambda _: None
    _gate: "_Gate | None" = None

    def go_away(self) -> None:
        """Refuse connections and cut those that stand, until `come_back`."""
        assert self._gate is not None
        self._gate.shut()

    def come_back(self) -> None:
        """Accept connections again."""
        assert self._gate is not None
        self._gate.open()

    def wait_until_unused(self) -> None:
        """Wait until the last request of an operator that has ended is dealt with: its next life has its own."""
        assert self._gate is not None
        wait_until(self._gate.is_unused, "no connection and no write")


@contextlib.contextmanager
def api_proxy(upstream_kubeconfig: Path, folder: Path) -> Iterator[ApiProxy]:
    """Run a proxy to the server of a kubeconfig whose user has a token."""
    config = yaml.safe_load(upstream_kubeconfig.read_text(encoding="utf-8"))
    upstream = config["clusters"][0]["cluster"]
    port = free_port()
    config["clusters"][0]["cluster"] = {"server": f"http://127.0.0.1:{port}"}
    path = folder / "proxy.kubeconfig"
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    proxy = ApiProxy(path, port)
    proxy._gate = _Gate(proxy, upstream["server"], upstream["certificate-authority"])
    proxy._gate.open()
    try:
        yield proxy
    finally:
        proxy._gate.shut()
        proxy._gate.end()


class _Gate:
    """The proxy's event loop in its thread, and the server that is opened and shut there."""

    def __init__(self, proxy: ApiProxy, upstream: str, certificate_authority: str) -> None:
        self._proxy = proxy
        self._upstream = upstream
        self._tls = ssl.create_default_context(cafile=certificate_authority)
        self._runner: web.AppRunner | None = None
        self._session: aiohttp.ClientSession | None = None
        self._writing = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def open(self) -> None:
        self._wait(self._open())

    def shut(self) -> None:
        self._wait(self._shut())

    def is_unused(self) -> bool:
        server = self._runner.server if self._runner is not None else None
        # A lost connection without a transport is that of a watch that goes on until its next event.
        connected = [one for one in server.connections if one.transport is not None] if server is not None else []
        return not self._writing and not connected

    def end(self) -> None:
        self._wait(_cancel_others())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=_ANSWER_LIMIT_S)
        self._loop.close()

    def _wait(self, doing: Any) -> None:
        asyncio.run_coroutine_threadsafe(doing, self._loop).result(timeout=_ANSWER_LIMIT_S)

    async def _open(self) -> None:
        app = web.Application(client_max_size=16 * 1024 * 1024)
        app.add_routes([web.route("*", "/{path:.*}", self._handle)])
        self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=self._tls, limit=0))
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, host="127.0.0.1", port=self._proxy.port, reuse_address=True).start()

    async def _shut(self) -> None:
        if self._runner is not None and self._session is not None:
            await self._session.close()
            await self._runner.cleanup()
            self._runner = None

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        status = self._proxy.instead_of_read(request.path_qs) if request.method not in _WRITES else None
        if status == NO_ANSWER:
            await asyncio.Event().wait()
        if status is not None:
            return web.Response(status=status)
        plural = request.path.rpartition("/")[2]
        if plural in self._proxy.too_old and "watch" in request.query:
            self._proxy.too_old.remove(plural)
            return web.Response(text=_GONE)
        log = _LOG_PATH.fullmatch(request.path)
        if log is not None and log[1] in self._proxy.logs:
            return web.Response(text=_tail(self._proxy.logs[log[1]], int(request.query["tailLines"])))
        content = await request.read()
        if request.method not in _WRITES:
            return await self._forward(request, content)
        self._writing += 1
        try:
            return await self._write(request, content)
        finally:
            self._writing -= 1

    async def _write(self, request: web.Request, content: bytes) -> web.StreamResponse:
        write = Write(request.method, request.path, json.loads(content) if content else None)
        if self._proxy.before(write):
            raise web.HTTPServiceUnavailable
        response = await self._forward(request, content)
        self._proxy.writes.append(write)
        self._proxy.after(write)
        return response

    async def _forward(self, request: web.Request, content: bytes) -> web.StreamResponse:
        assert self._session is not None
        headers = {name: value for name, value in request.headers.items() if name.lower() not in ("host", "connection")}
        async with self._session.request(
            request.method,
            f"{self._upstream}{request.path_qs}",
            data=content or None,
            headers=headers,
            timeout=aiohttp.ClientTimeout(total=None),
            auto_decompress=False,
        ) as answer:
            passed_on = {
                name: value
                for name, value in answer.headers.items()
                if name.lower() not in ("transfer-encoding", "connection", "content-length")
            }
            response = web.StreamResponse(status=answer.status, headers=passed_on)
            if request.method not in _WRITES:
                with contextlib.suppress(ConnectionResetError):  # the operator was killed
                    await response.prepare(request)
                    async for chunk in answer.content.iter_any():
                        await response.write(chunk)
                return response
            return web.Response(status=answer.status, headers=passed_on, body=await answer.read())


async def _cancel_others() -> None:
    """Cancel what still runs in this loop, such as requests of an operator that was killed, and wait for its end."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def _tail(log: str, lines: int) -> str:
    return "".join(log.splitlines(keepends=True)[-lines:])
