"""The HTTP session with which kopf lists and watches. It gives kopf lean objects (see `read_json`).

kopf parses pages of lists and lines of watches itself. One object that it cannot parse would end the operator, and
again after each restart. kopf 1.45 has no setting for this: it calls `json` of the answer to a page, and json.loads on
each line. So `json` is replaced, and a line stays text until kopf parses it: to make the event of a test lean takes
0.02 ms, to parse it 0.04 ms. After a long interruption of a watch, kopf lists again, and does not report objects that
are gone. So the session reports each complete list.

A list or a watch that is refused ends kopf, and with it the operator: some answers at once, such as 410 for a page of a
list that is too old, others after a while. So the session waits and lets kopf try again, as after a broken connection.
Only 401 reaches kopf, which then logs in again. Answers about the API itself are read completely first: kopf asks again
after a broken connection, but ends after an answer that breaks off.
"""

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, NoReturn

import aiohttp
from kubernetes.aio.client import ApiClient
from sshload_contract.shortened import shortened
from yarl import URL

from sshload_operator.api.inert_text import printable
from sshload_operator.control.api_server.client import authorization, refuse_redirects
from sshload_operator.control.api_server.errors import AccessError
from sshload_operator.control.api_server.lean_json import lean_event, read_page

_LOG = logging.getLogger(__name__)
BACK_OFFS_S: Final = (1.0, 1.0, 2.0, 3.0, 3.0, 3.0, 3.0, 3.0)
"""Short, so that the operator works again within 3 s of its API server, however long that was away."""
_SHOWN_CHARACTERS: Final = 500
# At its start, kopf asks about all groups of the API at once, some 30. asyncio holds 256 KiB for each TLS connection.
_DISCOVERIES_AT_ONCE: Final = 4
_COLLECTION: Final = re.compile(r"/(?:api/v1|apis/[^/]+/[^/]+)(?:/namespaces/([^/]+))?/([^/]+)")
# What reading raises where another JSON is than that of a list or an event.
_UNEXPECTED: Final = (ValueError, LookupError, TypeError, AttributeError)
_GONE: Final = b'{"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired"}}\n'


@dataclass(frozen=True, slots=True)
class Listed:
    """All objects of a kind at one moment, by namespace and name. `namespace` None: those of all namespaces."""

    plural: str
    namespace: str | None
    names: frozenset[tuple[str, str]]

    def lacks(self, key: tuple[str, str]) -> bool:
        """Tell whether the list covers this object's namespace and does not have the object."""
        return key not in self.names and self.namespace in (None, key[0])


def watch_session(client: ApiClient, hear: Callable[[Listed], None]) -> aiohttp.ClientSession:
    """Return a session that reaches the API server as `client` does, with the same credentials.

    `hear` is called with each list when its last page has been read.
    """
    configuration = client.configuration
    pages, refusals, discoveries = _Pages(hear), _Refusals(), asyncio.Semaphore(_DISCOVERIES_AT_ONCE)

    class Answer(aiohttp.ClientResponse):
        async def json(self, **how: Any) -> Any:
            if self.status != HTTPStatus.OK or not _is_collection(self.url):
                return await super().json(**how)
            text = await self.read()
            try:
                page = await read_page(text)
                pages.take_in(self.url, page)
            except _UNEXPECTED:
                await _start_again(f"it is no list: {_shown(text)}")
            return page

    async def answer(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        if _is_collection(request.url):
            found = await send(request)
            await refusals.take_in(found)
            return found
        async with discoveries:
            return await _whole(await send(request))

    async def log_in(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        try:
            login = await authorization(client)
        except AccessError as error:
            raise aiohttp.ClientConnectionError(str(error)) from error  # kopf tries again
        if login:
            request.headers["Authorization"] = login
        request.server_hostname = configuration.tls_server_name
        request.update_proxy(request.proxy, None, configuration.proxy_headers)
        return await send(request)

    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=client.rest_client.ssl_context, limit=0),
        proxy=configuration.proxy,
        response_class=Answer,
        middlewares=[refuse_redirects, answer, log_in],
    )


def _is_collection(url: URL) -> bool:
    """Tell whether a request is a list or a watch, and not about the API itself."""
    return _COLLECTION.fullmatch(url.path) is not None


class _Pages:
    """The pages of the lists that are under way in one session.

    After a 401 between two pages, kopf continues the list in a new session. Such a page raises ClientPayloadError, so
    that kopf lists from the beginning.
    """

    def __init__(self, hear: Callable[[Listed], None]) -> None:
        self._hear = hear
        self._names: dict[str, set[tuple[str, str]]] = {}

    def take_in(self, url: URL, page: Any) -> None:
        collection = _COLLECTION.fullmatch(url.path)
        if collection is None or "items" not in page:
            return
        if "continue" not in url.query:
            self._names[url.path] = set()
        names = self._names.get(url.path)
        if names is None:
            raise aiohttp.ClientPayloadError(f"the first page of the list {url.path} was read in another session")
        names |= {(item["metadata"].get("namespace", ""), item["metadata"]["name"]) for item in page["items"]}
        if not page["metadata"].get("continue"):
            self._hear(Listed(collection[2], collection[1], frozenset(self._names.pop(url.path))))


@dataclass(frozen=True, slots=True)
class _Refusals:
    """How often in a row the list or watch of a collection was refused, by path."""

    times: dict[str, int] = field(default_factory=dict)

    async def take_in(self, answer: aiohttp.ClientResponse) -> None:
        """Wait and raise ClientPayloadError if an answer is a refusal; kopf then tries again.

        The lines of a watch become lean. The answer to a watch whose version is too old becomes a watch whose first
        event says so; kopf then lists again.
        """
        path, status = answer.url.path, answer.status
        if status < HTTPStatus.BAD_REQUEST:
            self.times.pop(path, None)
            if "watch" in answer.url.query:
                _set_lines(answer)
            return
        if status == HTTPStatus.UNAUTHORIZED:
            return
        before = self.times.get(path, 0)
        self.times[path] = before + 1
        said = shortened(await answer.text(errors="replace"), _SHOWN_CHARACTERS)
        if not before:
            _LOG.warning("cannot list or watch %s, and tries again: %s: %s", path, status, said)
        await asyncio.sleep(BACK_OFFS_S[min(before, len(BACK_OFFS_S) - 1)])
        if status != HTTPStatus.GONE or "watch" not in answer.url.query:
            raise aiohttp.ClientPayloadError(f"{status}: {said}")
        answer.status = HTTPStatus.OK
        _set_lines(answer, _GONE)


async def _whole(answer: aiohttp.ClientResponse) -> aiohttp.ClientResponse:
    """Read the body; raises ClientConnectionError if it breaks off, and kopf then asks again."""
    try:
        await answer.read()
    except aiohttp.ClientPayloadError as error:
        raise aiohttp.ClientConnectionError(f"the answer broke off: {error}") from error
    return answer


def _set_lines(answer: aiohttp.ClientResponse, instead: bytes = b"") -> None:
    lines: Any = _Lines(answer.content, instead)
    answer.content = lines


class _Lines:
    """The body of an answer, which yields whole lines as chunks.

    An error event other than 410, such as from an API server whose etcd has no leader, would make kopf end the
    operator, and so would what is no event, such as a proxy's page. So it ends the body as a broken connection does.
    `instead` replaces a body that was already read.
    """

    def __init__(self, body: aiohttp.StreamReader, instead: bytes = b"") -> None:
        self._body = body
        self._instead = instead

    def __getattr__(self, name: str) -> Any:
        return getattr(self._body, name)

    async def iter_chunked(self, size: int) -> AsyncIterator[bytes]:
        """Yield each event as a line."""
        if self._instead:
            yield self._instead
            return
        begun = b""
        async for chunk in self._body.iter_chunked(size):
            *lines, begun = (begun + chunk).split(b"\n")
            for line in filter(None, lines):
                try:
                    kind, event = lean_event(line)
                except _UNEXPECTED:
                    await _start_again(f"it is no event: {_shown(line)}")
                if kind == "ERROR":
                    await _raise_error(json.loads(event)["object"])
                yield event + b"\n"


def _shown(answer: bytes) -> str:
    return printable(shortened(answer.decode(errors="replace"), _SHOWN_CHARACTERS))


async def _raise_error(error: Mapping[str, Any]) -> None:
    if error.get("code") != HTTPStatus.GONE:
        await _start_again(shortened(str(error), _SHOWN_CHARACTERS))


async def _start_again(said: str) -> NoReturn:
    """Wait, and raise what kopf takes for a broken connection: after any other error it would end the operator."""
    _LOG.warning("a list or a watch ended with an error, and is started again: %s", said)
    await asyncio.sleep(BACK_OFFS_S[0])
    raise aiohttp.ClientPayloadError(said)
