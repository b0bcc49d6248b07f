"""An API server in this process that keeps the objects of one namespace, refuses as told, and notes what it is asked.

It validates nothing, tells nobody of changes, and collects no garbage.
"""

import asyncio
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web
from api_proxy import api_request
from played_api import played_api

Json = dict[str, Any]
_START_LIMIT_S = 60


@dataclass(slots=True)
class PlayedObjects:
    """The objects by collection and name, such as "jobs/a-master", as a test may change them at any time.

    `refuses` has the answers, other than 2xx, to the next requests with this method about this collection. `asked` are
    the method, the collection (with a subresource) and the name of each request, "" for all of a collection, and `sent`
    their bodies.
    """

    there: dict[str, Json] = field(default_factory=dict)
    refuses: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    sent: list[Any] = field(default_factory=list)

    def put(self, collection: str, body: Mapping[str, Any]) -> Json:
        """Keep an object, and return it as it is kept."""
        name = body["metadata"]["name"]
        own = {"namespace": "default", "uid": f"uid-of-{name}", "resourceVersion": "1", "generation": 1}
        kept = {**body, "metadata": {**own, **body["metadata"]}}
        self.there[f"{collection}/{name}"] = kept
        return kept

    def names(self, *methods: str) -> list[str]:
        """Return what was asked for with one of these methods, in order, by collection and name."""
        return [f"{what.partition('/')[0]}/{name}" for method, what, name in self.asked if method in methods]

    def was_asked(self, method: str, collection: str) -> bool:
        """Tell whether there was such a request."""
        return any((method, collection) == one[:2] for one in self.asked)

    async def answer(self, request: web.Request) -> web.Response:
        """Answer as an API server does."""
        sent = json.loads(await request.read() or "{}")
        asked = api_request(request.method, request.path)
        name = asked.name or sent.get("metadata", {}).get("name", "")
        self.asked.append((request.method, asked.resource, name))
        self.sent.append(sent)
        collection = asked.resource.partition("/")[0]
        statuses = self.refuses.get((request.method, collection), [])
        if statuses:
            return _error(statuses.pop(0), "not today", request.method)
        if not name:
            return web.json_response({"metadata": {}, "items": self._listed(collection, request)})
        found = self.there.get(f"{collection}/{name}")
        is_new = request.method == "POST" or "apply" in request.headers.get("Content-Type", "")
        if found is None and is_new and asked.resource == collection:
            return web.json_response(self.put(collection, sent))
        if found is None:
            return _error(HTTPStatus.NOT_FOUND, "not found")
        if request.method == "POST":
            return _error(HTTPStatus.CONFLICT, "it exists", request.method)
        return self._of_one(request.method, f"{collection}/{name}", found, sent)

    def _of_one(self, method: str, key: str, found: Json, sent: Json) -> web.Response:
        uid = found["metadata"].get("uid")
        if method == "PATCH":
            if sent.get("metadata", {}).get("uid", uid) != uid:
                return _error(HTTPStatus.CONFLICT, "it is another one")
            _merge(found, sent)
        if method == "DELETE":
            del self.there[key]
        return web.json_response(found)

    def _listed(self, collection: str, request: web.Request) -> list[Json]:
        label, _, value = request.query.get("labelSelector", "").partition("=")
        of_kind = [body for key, body in self.there.items() if key.startswith(f"{collection}/")]
        return [body for body in of_kind if not label or body["metadata"].get("labels", {}).get(label) == value]


def _merge(kept: Json, change: Mapping[str, Any]) -> None:
    """Change an object, which begins another generation where that changes its spec."""
    metadata = {**kept["metadata"], **change.get("metadata", {})}
    metadata["resourceVersion"] = str(int(metadata.get("resourceVersion", "0")) + 1)
    spec = {**kept.get("spec", {}), **change.get("spec", {})}
    if spec != kept.get("spec", {}):
        metadata["generation"] = metadata.get("generation", 0) + 1
        kept["spec"] = spec
    kept.update({what: value for what, value in change.items() if what not in {"metadata", "spec"}}, metadata=metadata)


def _error(status: int, message: str, method: str = "") -> web.Response:
    """Return an error; of a creation a conflict says that there is such an object."""
    exists = method == "POST" and status == HTTPStatus.CONFLICT
    return web.json_response({"message": message, "reason": "AlreadyExists" if exists else ""}, status=status)


@contextmanager
def served_objects(objects: PlayedObjects, folder: Path) -> Iterator[Path]:
    """Serve objects from a thread until the end; return the kubeconfig, in the folder, that leads to them."""
    kubeconfig, over = folder / "played.kubeconfig", asyncio.Event()
    loop, is_up = asyncio.new_event_loop(), threading.Event()

    async def serve() -> None:
        async with played_api(objects.answer) as client:
            here = {"name": "here"}
            config = {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "here",
                "clusters": [{**here, "cluster": {"server": client.configuration.host}}],
                "users": [{**here, "user": {}}],
                "contexts": [{**here, "context": {"cluster": "here", "user": "here"}}],
            }
            kubeconfig.write_text(yaml.safe_dump(config), encoding="utf-8")
            is_up.set()
            await over.wait()
            await client.close()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    try:
        assert is_up.wait(_START_LIMIT_S), "the API server does not start"
        yield kubeconfig
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()
