"""A kubelet that runs nothing: a node of a real API server whose pods are ready at once, and whose masters print words.

The API server reads logs from it as from a real one, over TLS, so that the operator talks to the API server alone.
"""

import asyncio
import json
import os
import ssl
import time
from base64 import b64decode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import aiohttp
from aiohttp import web
from api_server import ApiServer, administrator
from free_ports import free_port
from played_pods import READY, ended, pod_of
from runs import packed_words, snapshot, summary, summary_words
from sshload_contract.wire.master_log import snapshot_line

Object = Mapping[str, Any]
_NODE = f"played-{os.getpid()}"
_AT_ONCE = 8
_LOG_LINES = 10
_LEFT_S = 3_600.0
_NO_LIMIT = aiohttp.ClientTimeout(total=None)


class PlayedKubelet:
    """The node, and an administrator's requests to the API server, which may be that of others too."""

    def __init__(self, server: ApiServer, url: str, session: aiohttp.ClientSession) -> None:
        self._server = server
        self._url = url
        self._session = session
        self._at_once = asyncio.Semaphore(_AT_ONCE)
        self._namespaces: set[str] = set()
        self._run_ids: dict[str, str] = {}
        self._last_words: dict[str, str] = {}
        self._begun_s = time.monotonic()

    def namespace(self) -> str:
        """Make a namespace, and run the pods of its Jobs."""
        made = self._server.namespace().namespace
        self._namespaces.add(made)
        return made

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request and return the answer; raises AssertionError with the API server's words if it refuses."""
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        content = None if body is None else json.dumps(body)
        async with (
            self._at_once,
            self._session.request(method, self._url + path, data=content, headers={"Content-Type": kind}) as answer,
        ):
            text = await answer.text()
            assert answer.ok, text
            return json.loads(text) if text.startswith("{") else text

    async def add_node(self, port: int) -> None:
        """Make the node, whose kubelet listens on this port of loopback."""
        await self.ask("POST", "/api/v1/nodes", {"metadata": {"name": _NODE}})
        status = {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        }
        await self.ask("PATCH", f"/api/v1/nodes/{_NODE}/status", {"status": status})

    async def run_pods(self) -> None:
        """Make the pods of each Job in its namespaces as soon as there is one, ready at once. Never returns."""
        path = f"{self._url}/apis/batch/v1/jobs"
        async with asyncio.TaskGroup() as making:
            while True:  # the API server ends each watch after a while
                async with self._session.get(path, params={"watch": "true"}, timeout=_NO_LIMIT) as events:
                    async for line in events.content:
                        event = json.loads(line)
                        is_own = event["object"].get("metadata", {}).get("namespace") in self._namespaces
                        if event["type"] == "ADDED" and is_own:
                            self._take_in(event["object"], making)

    def _take_in(self, job: Object, making: asyncio.TaskGroup) -> None:
        pod = pod_of({**job, "apiVersion": "batch/v1", "kind": "Job"}, 0)
        name, metadata = pod["metadata"]["name"], job["metadata"]
        if name not in self._run_ids:
            self._run_ids[name] = pod["metadata"]["labels"]["sshload.dev/run-id"]
            making.create_task(self._run(metadata["namespace"], pod))

    async def _run(self, namespace: str, pod: Object) -> None:
        name = pod["metadata"]["name"]
        path = f"/api/v1/namespaces/{namespace}/pods"
        await self.ask("POST", path, {**pod, "spec": {**pod["spec"], "nodeName": _NODE}})
        await self.ask("PATCH", f"{path}/{name}/status", {"status": READY})

    async def end(self, namespace: str, test: str, packed: bytes | None = None) -> None:
        """Let the master of a test print its summary, or one that unpacks to `packed`, and end."""
        (name,) = (pod for pod in self._run_ids if pod.startswith(f"{test}-") and "master" in pod)
        run_id = self._run_ids[name]
        secret = await self.ask("GET", f"/api/v1/namespaces/{namespace}/secrets/{test}-{run_id}-keys")
        token = b64decode(secret["data"]["run_token"]).decode()
        words = summary_words(summary(), run_id, token) if packed is None else packed_words(packed, token)
        self._last_words[name] = words
        await self.ask("PATCH", f"/api/v1/namespaces/{namespace}/pods/{name}/status", {"status": ended(0)})

    async def log(self, request: web.Request) -> web.Response:
        """Answer what a master has printed: a snapshot a second, each with other figures than the one before."""
        pod = request.match_info["pod"]
        now_s = int(time.monotonic() - self._begun_s)
        moments = range(now_s - _LOG_LINES + 1, now_s + 1)
        words = "".join(f"{snapshot_line(self._snapshot(pod, max(at_s, 0)))}\n" for at_s in moments)
        lines = (words + self._last_words.get(pod, "")).splitlines(keepends=True)
        return web.Response(text="".join(lines[-int(request.query["tailLines"]) :]))

    def _snapshot(self, pod: str, at_s: int) -> Any:
        return replace(
            snapshot(), run_id=self._run_ids[pod], elapsed_s=float(at_s), iterations=20 * at_s, remaining_s=_LEFT_S
        )


@asynccontextmanager
async def played_kubelet(server: ApiServer) -> AsyncIterator[PlayedKubelet]:
    """Add a node to an API server, whose files are beside its kubeconfig, and play its kubelet."""
    folder = server.kubeconfig.parent
    asked = administrator(server.kubeconfig)
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    own.load_cert_chain(folder / "apiserver.crt", folder / "apiserver.key")  # the API server asks no kubelet for more
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=asked.tls), headers=asked.login) as session:
        kubelet, port = PlayedKubelet(server, asked.url, session), free_port()
        app = web.Application()
        app.add_routes([web.get("/containerLogs/{namespace}/{pod}/{container}", kubelet.log)])
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, host="127.0.0.1", port=port, ssl_context=own).start()
        await kubelet.add_node(port)
        running = asyncio.create_task(kubelet.run_pods())
        try:
            yield kubelet
        finally:
            running.cancel()
            await runner.cleanup()
