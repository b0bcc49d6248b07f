"""The HTTP session with which kopf lists and watches. It gives kopf lean objects (see `read_json`).

kopf parses pages of lists and lines of watches itself. One object that it cannot parse would end the operator, and
again after each restart. After a watch was interrupted for too long, kopf lists anew, and reports no objects that are
gone. So the session reports each whole list.
"""

import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
from yarl import URL

from sshload_operator.control.access import Access
from sshload_operator.control.lean_json import read_json

_COLLECTION: Final = re.compile(r"/(?:api/v1|apis/[^/]+/[^/]+)(?:/namespaces/([^/]+))?/([^/]+)")


@dataclass(frozen=True, slots=True)
class Listed:
    """All objects of a kind at one moment, by namespace and name. `namespace` None: those of all namespaces."""

    plural: str
    namespace: str | None
    names: frozenset[tuple[str, str]]

    def lacks(self, key: tuple[str, str]) -> bool:
        """Tell whether an object would have been listed and was not."""
        return key not in self.names and self.namespace in (None, key[0])


async def watch_session(access: Access, hear: Callable[[Listed], None]) -> aiohttp.ClientSession:
    """Return a session for the API server with the current authorization. Raises AccessError.

    `hear` is called with each list once its last page was read.
    """
    authorization = await access.authorization()
    pages = _Pages(hear)

    class Answer(_Answer):
        async def json(self, **_: Any) -> Any:
            page = await super().json()
            pages.take_in(self.url, page)
            return page

    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=access.tls_context(), limit=0),
        headers={"Authorization": authorization} if authorization else {},
        proxy=access.proxy_url,
        response_class=Answer,
    )


class _Pages:
    """The pages of the lists that are under way."""

    def __init__(self, hear: Callable[[Listed], None]) -> None:
        self._hear = hear
        self._names: dict[str, set[tuple[str, str]]] = {}

    def take_in(self, url: URL, page: Any) -> None:
        collection = _COLLECTION.fullmatch(url.path)
        if collection is None or not isinstance(page, Mapping) or "items" not in page:
            return
        if "continue" not in url.query:
            self._names[url.path] = set()
        names = self._names.setdefault(url.path, set())
        names |= {(item["metadata"].get("namespace", ""), item["metadata"]["name"]) for item in page["items"]}
        if not page["metadata"].get("continue"):
            self._hear(Listed(collection[2], collection[1], frozenset(self._names.pop(url.path))))


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
