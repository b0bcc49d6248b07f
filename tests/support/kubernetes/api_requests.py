"""Requests to an API server over connections that are kept: a process of kubectl takes a tenth of a second of CPU."""

import functools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import urllib3
from kubernetes.config import new_client_from_config

_ANSWER_LIMIT_S = 300
_WATCH_S = 1
_ASK_AGAIN = urllib3.Retry(
    total=10,
    connect=0,
    read=0,
    redirect=0,
    other=0,
    allowed_methods=None,
    status_forcelist=[HTTPStatus.TOO_MANY_REQUESTS],
    raise_on_status=False,
)
"""Where the API server says when to ask again, as of a kind whose CRD has just changed. kubectl does the same."""
_NONE: Mapping[str, str] = {}
_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

APPLY = "application/apply-patch+yaml"
JSON = "application/json"
MERGE = "application/merge-patch+json"


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind of objects, as the API server's discovery tells of it."""

    api_version: str
    kind: str
    plural: str
    is_namespaced: bool
    words: frozenset[str]

    def path(self, namespace: str, name: str = "", sub: str = "") -> str:
        """Return the path of one object, of a subresource of it, or of all objects in the namespace."""
        root = "/apis" if "/" in self.api_version else "/api"
        where = ["namespaces", namespace] if self.is_namespaced else []
        return "/".join(filter(None, [root, self.api_version, *where, self.plural, name, sub]))


@dataclass(frozen=True, slots=True)
class Answer:
    """The status and the body that the API server answers with."""

    status: int
    body: Any

    def taken(self) -> Any:
        """Return the body; raises AssertionError with the API server's words where it refuses the request."""
        assert self.status < HTTPStatus.BAD_REQUEST, self.body.get("message", self.body)
        return self.body


class ApiRequests:
    """Requests of a kubeconfig's user, from any thread; raises AssertionError where the API server does not answer."""

    def __init__(self, kubeconfig: Path) -> None:
        client = new_client_from_config(config_file=str(kubeconfig))
        login = client.configuration.auth_settings().get("BearerToken")
        self._login = {login["key"]: login["value"]} if login else {}
        self._url = client.configuration.host
        self._pool: urllib3.PoolManager = client.rest_client.pool_manager
        self._resources: tuple[Resource, ...] = ()

    def ask(self, method: str, path: str, body: Any = None, content_type: str = JSON, **query: str) -> Answer:
        """Send a request and return the answer."""
        content = None if body is None else json.dumps(body)
        response = self._send(method, self._to(path, query), content, {"Content-Type": content_type})
        return Answer(response.status, json.loads(response.data))

    def watch(self, path: str, selector: str) -> Iterator[Mapping[str, Any] | None]:
        """Yield events of a second: first that the objects of a field selector were ADDED; None at the end of each."""
        query = {"watch": "true", "fieldSelector": selector, "timeoutSeconds": str(_WATCH_S)}
        while True:
            response = self._send("GET", self._to(path, query), preload_content=False)
            try:
                assert response.status == HTTPStatus.OK, response.read().decode()
                yield from events_in(response.stream())
            except urllib3.exceptions.HTTPError as error:
                raise AssertionError(f"the watch of {path}: {error}") from error
            finally:
                response.close()
            yield None

    def named(self, word: str) -> Resource:
        """Return the resource of this name, singular, plural, short, or plural with its group, or of this kind."""
        return self._found(lambda resource: word.lower() in resource.words, word)

    def of(self, manifest: Mapping[str, Any]) -> Resource:
        """Return the resource of a manifest."""
        wanted = (manifest["apiVersion"], manifest["kind"])
        return self._found(lambda resource: (resource.api_version, resource.kind) == wanted, " ".join(wanted))

    def _found(self, fits: Callable[[Resource], bool], wanted: str) -> Resource:
        """Look among what the API server has told, and where nothing fits, among what it tells now."""
        found = next(filter(fits, self._resources), None)
        if found is None:
            self._resources = tuple(self._discovered())
            found = next(filter(fits, self._resources), None)
        assert found is not None, f"the API server has no {wanted}"
        return found

    def _discovered(self) -> Iterator[Resource]:
        for path in ("/api", "/apis"):
            groups = json.loads(self._send("GET", self._to(path, {}), headers={"Accept": _DISCOVERY}).data)["items"]
            for group in groups:
                for version in group["versions"]:
                    api_version = "/".join(filter(None, [group["metadata"].get("name"), version["version"]]))
                    yield from (_resource(api_version, found) for found in version.get("resources", ()))

    def _to(self, path: str, query: Mapping[str, str]) -> str:
        return f"{self._url}{path}?{urlencode(query)}"

    def _send(
        self, method: str, url: str, body: str | None = None, headers: Mapping[str, str] = _NONE, **how: Any
    ) -> urllib3.BaseHTTPResponse:
        headers = {**self._login, **headers}
        try:
            return self._pool.request(
                method, url, body=body, headers=headers, timeout=_ANSWER_LIMIT_S, retries=_ASK_AGAIN, **how
            )
        except urllib3.exceptions.HTTPError as error:
            raise AssertionError(f"{method} {url}: {error}") from error


def _resource(api_version: str, found: Mapping[str, Any]) -> Resource:
    kind, plural = found["responseKind"]["kind"], found["resource"]
    group = api_version.rpartition("/")[0]
    qualified = f"{plural}.{group}" if group else ""
    words = (kind, plural, qualified, found.get("singularResource", ""), *found.get("shortNames", ()))
    return Resource(
        api_version, kind, plural, found["scope"] == "Namespaced", frozenset(word.lower() for word in words if word)
    )


@functools.cache
def api_requests(kubeconfig: Path) -> ApiRequests:
    """Return what asks the API server of a kubeconfig, once for this process."""
    return ApiRequests(kubeconfig)


def events_in(pieces: Iterable[bytes]) -> Iterator[Mapping[str, Any]]:
    """Yield the events of a watch's answer, up to one that says that the API server ends it: an ERROR has no object."""
    text = b""
    for piece in pieces:
        *lines, text = (text + piece).split(b"\n")
        for event in map(json.loads, lines):
            if event["type"] == "ERROR":
                return
            yield event
