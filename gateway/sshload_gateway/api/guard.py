"""What stands before every route: who calls, how often, how much a body may have, and one line in the log.

It is plain ASGI: a caller is known before a byte of a body is read, and routes see a client that hangs up.
"""

import logging
import time
from dataclasses import dataclass
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sshload_gateway.api.problems import answer, answer_to
from sshload_gateway.api.shapes import PREFIX
from sshload_gateway.identity.key_set import KeySetUnavailableError
from sshload_gateway.identity.rate_limit import RateLimit
from sshload_gateway.identity.tokens import TokenCheck, TokenError
from sshload_gateway.identity.under_way import TooManyUnderWayError, UnderWay

_LOG: Final = logging.getLogger(__name__)
PUBLIC: Final = (f"{PREFIX}/", "/openapi.json")
_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_METHODS: Final = ("DELETE", "GET", "POST")
_PIECE_BYTES: Final = 65_536


class RequestMetrics:
    """Counts requests by route, never by caller."""

    def __init__(self, registry: CollectorRegistry) -> None:
        labels = ("method", "route", "status")
        self.requests = Counter("sshload_gateway_requests", "Requests that were answered.", labels, registry=registry)
        self.seconds = Histogram(
            "sshload_gateway_request_seconds",
            "Time from a request to the end of its answer.",
            ("method", "route"),
            buckets=_SECONDS,
            registry=registry,
        )


class _BodyTooLargeError(HTTPException):
    """FastAPI lets an HTTPException through where it reads a body, and makes 400 of every other one."""

    def __init__(self, most: int) -> None:
        super().__init__(413, f"the body has more than {most} bytes")


@dataclass(frozen=True, slots=True)
class Guard:
    """Admits requests to an app. An admitted request has the caller's `sub` as `caller` in its state, and `group`."""

    app: ASGIApp
    tokens: TokenCheck
    rate_limit: RateLimit
    under_way: UnderWay
    body_bytes: int
    metrics: RequestMetrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began_s = time.monotonic()
        status = 0

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                await send(message)
            else:
                await _in_pieces(message, send)

        try:
            await self._admit(scope, receive, counted)
        finally:
            self._tell(scope, status, time.monotonic() - began_s)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] not in PUBLIC:
            try:
                identity = await self.tokens.identity(_bearer(scope))
            except TokenError as error:
                refusal = answer(401, "token", str(error))
                refusal.headers["WWW-Authenticate"] = "Bearer"
                await refusal(scope, receive, send)
                return
            except KeySetUnavailableError as error:
                await answer_to(error)(scope, receive, send)
                return
            retry_s = self.rate_limit.take(identity.subject, time.monotonic())
            if retry_s:
                await answer(429, "rate-limit", "you call too often", retry_s=retry_s)(scope, receive, send)
                return
            scope.setdefault("state", {}).update(caller=identity.subject, group=identity.group)
            try:
                with self.under_way.one(identity.subject):
                    await self.app(scope, self._bounded(scope, receive), send)
            except TooManyUnderWayError as error:
                await answer(429, "under-way", str(error), retry_s=1)(scope, receive, send)
            return
        await self.app(scope, self._bounded(scope, receive), send)

    def _bounded(self, scope: Scope, receive: Receive) -> Receive:
        declared = Headers(scope=scope).get("content-length", "")
        left = self.body_bytes

        async def bounded() -> Message:
            nonlocal left
            if declared.isdigit() and int(declared) > self.body_bytes:
                raise _BodyTooLargeError(self.body_bytes)
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise _BodyTooLargeError(self.body_bytes)
            return message

        return bounded

    def _tell(self, scope: Scope, status: int, duration_s: float) -> None:
        route = getattr(scope.get("route"), "path", "none")
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self.metrics.requests.labels(method, route, str(status)).inc()
        self.metrics.seconds.labels(method, route).observe(duration_s)
        fields = {"method": method, "route": route, "status": status, "seconds": round(duration_s, 6)}
        caller = scope.get("state", {}).get("caller")
        _LOG.info("request", extra=fields if caller is None else {**fields, "caller": caller})


async def _in_pieces(message: Message, send: Send) -> None:
    """Send a part of a body so that the client has taken nearly all of it before the request is over.

    A server waits for the client only before it sends something more.
    """
    body = message.get("body", b"")
    begin = 0
    while len(body) - begin > _PIECE_BYTES:
        piece = body[begin : begin + _PIECE_BYTES]
        await send({"type": message["type"], "body": piece, "more_body": True})
        begin += _PIECE_BYTES
    await send({**message, "body": body[begin:]} if begin else message)


def _bearer(scope: Scope) -> str:
    scheme, _, token = Headers(scope=scope).get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise TokenError("the request has no Authorization: Bearer TOKEN")
    return token
