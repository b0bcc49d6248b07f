"""The HTTP session with which kopf lists and watches. It gives kopf lean objects (see `read_json`).

kopf parses pages of lists and lines of watches itself. One object that it cannot parse would end the operator, and
again after each restart.
"""

import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp

from sshload_operator.control.access import Access
from sshload_operator.control.lean_json import read_json


async def watch_session(access: Access) -> aiohttp.ClientSession:
    """Return a session for the API server with the current authorization. Raises AccessError."""
    authorization = await access.authorization()
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=access.tls_context(), limit=0),
        headers={"Authorization": authorization} if authorization else {},
        proxy=access.proxy_url,
        response_class=_Answer,
    )


class _Answer(aiohttp.ClientResponse):
    """An answer of the API server: one object, a page of a list, or the lines of a watch."""

    async def start(self, connection: Any) -> "_Answer":
        await super().start(connection)
        lines: Any = _Lines(self.content)
        self.content = lines
        return self

    async def json(self, **_: Any) -> Any:
        return read_json(await self.read())


class _Lines:
    """The body of an answer, which yields whole lines as chunks."""

    def __init__(self, body: aiohttp.StreamReader) -> None:
        self._body = body

    def __getattr__(self, name: str) -> Any:
        return getattr(self._body, name)

    async def iter_chunked(self, size: int) -> AsyncIterator[bytes]:
        """Yield each event as a line."""
        begun = b""
        async for chunk in self._body.iter_chunked(size):
            *lines, begun = (begun + chunk).split(b"\n")
            for line in filter(None, lines):
                yield json.dumps(read_json(line), separators=(",", ":")).encode() + b"\n"
