"""An API server that a test plays: it answers each request as the test says.

An API server on loopback that keeps objects of our kinds in memory: what it is sent is merged into them.
"""

import json
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from aiohttp import web
from kubernetes.aio.client import ApiClient
from sshload_operator.control.api_server.client import careful_configuration
from sshload_operator.control.api_server.cluster import Cluster


@asynccontextmanager
async def played_api(
    answer: Callable[[web.Request], Awaitable[web.StreamResponse]], tls: ssl.SSLContext | None = None
) -> AsyncIterator[ApiClient]:
    """Run a server on loopback, and return a client of it, which knows nothing of the server's certificate."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    addresses: list[Any] = runner.addresses
    try:
        configuration = careful_configuration()
        configuration.host = f"{'http' if tls is None else 'https'}://127.0.0.1:{addresses[0][1]}"
        yield ApiClient(configuration)
    finally:
        await runner.cleanup()


@asynccontextmanager
async def played_cluster(
    answer: Callable[[web.Request], Awaitable[web.StreamResponse]],
    note: Callable[[str, str], object] = lambda *_: None,
) -> AsyncIterator[Cluster]:
    """Run such a server, and return the operator's own client of it."""
    async with played_api(answer) as client:
        cluster = Cluster(client, note)
        try:
            yield cluster
        finally:
            await cluster.close()


Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class StoredObjects:
    """The objects by their paths, and the kubeconfig that leads to them."""

    kubeconfig: Path
    by_path: dict[str, Json] = field(default_factory=dict)

    def put(self, plural: str, name: str, status: Mapping[str, Any] | None = None, **metadata: Any) -> Json:
        """Keep an object of generation 1, and return it as it is kept."""
        kept = {
            "apiVersion": "sshload.dev/v1alpha1",
            "metadata": {"name": name, "namespace": "default", "generation": 1, **metadata},
            "spec": {},
        }
        self.by_path[f"/apis/sshload.dev/v1alpha1/namespaces/default/{plural}/{name}"] = kept
        if status is not None:
            kept["status"] = dict(status)
        return kept

    def apply(self, path: str, change: Json) -> Json:
        """Merge a change into an object, which begins another generation where that changes its spec."""
        name = path.rpartition("/")[2]
        kept = self.by_path.setdefault(
            path,
            {"apiVersion": "sshload.dev/v1alpha1", "metadata": {"name": name, "namespace": "default", "generation": 0}},
        )
        spec = {**kept.get("spec", {}), **change.get("spec", {})}
        if spec != kept.get("spec"):
            kept["metadata"]["generation"] += 1
        kept["spec"] = spec
        return kept


@contextmanager
def stored_objects(folder: Path) -> Iterator[StoredObjects]:
    """Serve objects until the end; the kubeconfig is written into the folder."""
    kubeconfig = folder / "stored.kubeconfig"
    stored = StoredObjects(kubeconfig)

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            listed = [one for at, one in stored.by_path.items() if at.rpartition("/")[0] == path]
            is_list = path.rpartition("/")[2].startswith("sshloadtest")
            self._answer({"metadata": {}, "items": listed} if is_list else stored.by_path.get(path))

        def do_PATCH(self) -> None:
            path = urlsplit(self.path).path
            change = yaml.safe_load(self.rfile.read(int(self.headers["Content-Length"])))
            is_there = path in stored.by_path or "apply" in self.headers["Content-Type"]
            self._answer(stored.apply(path, change) if is_there else None)

        def _answer(self, found: Json | None) -> None:
            body = json.dumps({"message": "not found"} if found is None else found).encode()
            self.send_response(404 if found is None else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as http.server calls it
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    url = f"http://127.0.0.1:{server.server_address[1]}"
    here = {"name": "here"}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [{**here, "cluster": {"server": url}}],
        "users": [{**here, "user": {}}],
        "contexts": [{**here, "context": {"cluster": "here", "user": "here"}}],
    }
    kubeconfig.write_text(yaml.safe_dump(config), encoding="utf-8")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield stored
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
