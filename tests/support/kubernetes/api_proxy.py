"""A proxy between the operator and a real API server, which plays the faults that an API server does not play itself.

It forwards everything to the real server as it is, watches included. It can be away (connections refused), do something
at a chosen request, meddle with the answer to it or with the events of a watch, and answer pods/log where there is no
kubelet: what a master would have printed.
"""

import asyncio
import contextlib
import json
import re
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from typing import Any

import aiohttp
import yaml
from aiohttp import web
from free_ports import free_port
from running_target import wait_until

_LOG_PATH = re.compile(r"/api/v1/namespaces/[^/]+/pods/([^/]+)/log")
_RESOURCE_PATH = re.compile(r"/(?:api/v1|apis/[^/]+/[^/]+)(?:/namespaces/[^/]+)?/([^/]+)(?:/([^/]+))?(?:/([^/]+))?")
_WRITES = ("POST", "PATCH", "DELETE")
_VERBS = {"POST": "create", "PATCH": "patch", "PUT": "update", "DELETE": "delete"}
_ANSWER_LIMIT_S = 60
_LONGEST_EVENT_BYTES = 4 * 1024 * 1024
_REASONS = {
    HTTPStatus.FORBIDDEN: "Forbidden",
    HTTPStatus.CONFLICT: "Conflict",
    HTTPStatus.GONE: "Expired",
    HTTPStatus.TOO_MANY_REQUESTS: "TooManyRequests",
    HTTPStatus.INTERNAL_SERVER_ERROR: "InternalError",
}


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request in the API server's own words: `resource` has its subresource, such as pods/log.

    `name` is empty where the request is about a collection. What is asked about the API itself, and not about objects,
    is of the resource "discovery".
    """

    verb: str
    resource: str
    name: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer is this status, as the API server gives it, and the request is not forwarded."""

    status: int


@dataclass(frozen=True, slots=True)
class GoneInStream:
    """The watch begins, and its first event says 410."""


@dataclass(frozen=True, slots=True)
class Silence:
    """The request is not forwarded, and there is no answer."""


@dataclass(frozen=True, slots=True)
class Late:
    """The request is forwarded after this time."""

    seconds: float


@dataclass(frozen=True, slots=True)
class CutShort:
    """The request is forwarded; the connection ends in the middle of the answer, or of a watch's first event."""


@dataclass(frozen=True, slots=True)
class AtVersion:
    """The list is the one of this resourceVersion."""

    resource_version: str


Meddling = Answer | GoneInStream | Silence | Late | CutShort | AtVersion


@dataclass(frozen=True, slots=True)
class Write:
    """A request that writes, as the proxy sees it. `status` and `version` (resourceVersion) are the answer's."""

    method: str
    path: str
    body: Any
    status: int = 0
    version: str = ""

    @property
    def asked(self) -> ApiRequest:
        """The request in the API server's words."""
        return api_request(self.method, self.path)


@dataclass(slots=True)
class ApiProxy:
    """The proxy as a test sees it. `before` and `after` are called with each write, around its forwarding.

    Where `before` returns true, the write is not forwarded: the operator was killed before it got out.
    What `meddle` returns for a request befalls it. An event of a watch reaches the operator when `let_through` has
    returned true for it, and never where it returns false; the proxy's own thread runs both.
    `logs` are the logs of pods by name. `writes` are those that were forwarded, in order.
    """

    kubeconfig: Path
    port: int
    writes: list[Write] = field(default_factory=list)
    logs: dict[str, str] = field(default_factory=dict)
    meddle: Callable[[ApiRequest], Meddling | None] = lambda _: None
    let_through: Callable[[ApiRequest, Mapping[str, Any]], Awaitable[bool]] | None = None
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
    # It keeps the authority, which nobody asks here: a client without one loads all of this machine's.
    config["clusters"][0]["cluster"] = {**upstream, "server": f"http://127.0.0.1:{port}"}
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
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=self._tls, limit=0), read_bufsize=_LONGEST_EVENT_BYTES
        )
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, host="127.0.0.1", port=self._proxy.port, reuse_address=True).start()

    async def _shut(self) -> None:
        if self._runner is not None and self._session is not None:
            await self._runner.cleanup()
            await self._session.close()
            self._runner = None

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        asked = api_request(request.method, request.path, watch="watch" in request.query)
        meddling = self._proxy.meddle(asked)
        match meddling:
            case Silence():
                await asyncio.Event().wait()
            case Late(seconds):
                await asyncio.sleep(seconds)
            case Answer(status):
                return web.json_response(_status(status), status=status, headers={"Retry-After": "1"})
            case GoneInStream():
                gone = {"type": "ERROR", "object": _status(HTTPStatus.GONE)}
                return web.Response(text=f"{json.dumps(gone)}\n")
        log = _LOG_PATH.fullmatch(request.path)
        if log is not None and log[1] in self._proxy.logs:
            text = _tail(self._proxy.logs[log[1]], int(request.query["tailLines"]))
            return await self._whole(request, web.Response(text=text), meddling)
        content = await request.read()
        if request.method not in _WRITES:
            return await self._read(request, asked, meddling, content)
        self._writing += 1
        try:
            return await self._whole(request, await self._write(request, content), meddling)
        finally:
            self._writing -= 1

    async def _write(self, request: web.Request, content: bytes) -> web.Response:
        write = Write(request.method, request.path, json.loads(content) if content else None)
        if self._proxy.before(write):
            raise web.HTTPServiceUnavailable
        async with self._upstream_answer(request, request.path_qs, content) as answer:
            body = await answer.read()
        done = replace(write, status=answer.status, version=_version(body))
        self._proxy.writes.append(done)
        self._proxy.after(done)
        return web.Response(status=answer.status, headers=_passed_on(answer), body=body)

    async def _read(
        self, request: web.Request, asked: ApiRequest, meddling: Meddling | None, content: bytes
    ) -> web.StreamResponse:
        path = request.path_qs
        if isinstance(meddling, AtVersion):
            path += f"&resourceVersion={meddling.resource_version}&resourceVersionMatch=Exact"
        async with self._upstream_answer(request, path, content) as answer:
            if asked.verb != "watch" and meddling is not None:
                whole = web.Response(status=answer.status, headers=_passed_on(answer), body=await answer.read())
                return await self._whole(request, whole, meddling)
            response = web.StreamResponse(status=answer.status, headers=_passed_on(answer))
            with contextlib.suppress(ConnectionResetError):  # the operator was killed
                await response.prepare(request)
                if asked.verb == "watch" and (meddling is not None or self._proxy.let_through is not None):
                    await self._events(request, asked, response, answer, cut=isinstance(meddling, CutShort))
                    return response
                async for chunk in answer.content.iter_any():
                    await response.write(chunk)
            return response

    async def _events(
        self,
        request: web.Request,
        asked: ApiRequest,
        response: web.StreamResponse,
        answer: aiohttp.ClientResponse,
        *,
        cut: bool,
    ) -> None:
        """Pass on the events of a watch, one by one."""
        while line := await answer.content.readuntil(b"\n"):
            if cut:
                await response.write(line[: len(line) // 2])
                _hang_up(request)
                return
            if self._proxy.let_through is None or await self._proxy.let_through(asked, json.loads(line)):
                await response.write(line)

    async def _whole(
        self, request: web.Request, response: web.Response, meddling: Meddling | None
    ) -> web.StreamResponse:
        """Return an answer that is known as a whole, or let its connection end in the middle of it."""
        body = response.body
        if not isinstance(meddling, CutShort) or not isinstance(body, bytes):
            return response
        half = web.StreamResponse(status=response.status, headers={"Content-Length": str(len(body))})
        with contextlib.suppress(ConnectionResetError):
            await half.prepare(request)
            await half.write(body[: len(body) // 2])
        _hang_up(request)
        return half

    @contextlib.asynccontextmanager
    async def _upstream_answer(
        self, request: web.Request, path: str, content: bytes
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        assert self._session is not None
        not_passed_on = ("host", "connection", "accept-encoding")
        headers = {name: value for name, value in request.headers.items() if name.lower() not in not_passed_on}
        async with self._session.request(
            request.method,
            f"{self._upstream}{path}",
            data=content or None,
            headers=headers,
            timeout=aiohttp.ClientTimeout(total=None),
        ) as answer:
            yield answer


def api_request(method: str, path: str, *, watch: bool = False) -> ApiRequest:
    """Return what a request with this path, without its query, asks for."""
    found = _RESOURCE_PATH.fullmatch(path)
    if found is None:
        return ApiRequest("get", "discovery", "")
    plural, name, sub = found.groups(default="")
    reading = "get" if name else "watch" if watch else "list"
    return ApiRequest(_VERBS.get(method, reading), f"{plural}/{sub}" if sub else plural, name)


def _status(code: int) -> dict[str, Any]:
    """Return what the API server says with a status of an error."""
    reason = _REASONS[HTTPStatus(code)]
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "played by a test",
        "reason": reason,
        "code": code,
    }


def _passed_on(answer: aiohttp.ClientResponse) -> dict[str, str]:
    dropped = ("transfer-encoding", "connection", "content-length", "content-encoding")
    return {name: value for name, value in answer.headers.items() if name.lower() not in dropped}


def _version(body: bytes) -> str:
    try:
        found: str = json.loads(body)["metadata"]["resourceVersion"]
    except (ValueError, KeyError, TypeError):
        return ""
    return found


def _hang_up(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


async def _cancel_others() -> None:
    """Cancel what still runs in this loop, such as requests of an operator that was killed, and wait for its end."""
    while others := asyncio.all_tasks() - {asyncio.current_task()}:
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


def _tail(log: str, lines: int) -> str:
    return "".join(log.splitlines(keepends=True)[-lines:])
