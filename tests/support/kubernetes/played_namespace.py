"""One namespace of an API server that has no controllers: they, the kubelet and the garbage collector are played.

It goes by itself. Deployments and Jobs get their pods, which become ready once their Secret is there; masters print
what they would, and end; what has lost its owner is deleted. Everything that happened in the namespace is kept, as
the API server's watches told it.
"""

import asyncio
import contextlib
import json
import threading
import time
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

import aiohttp
from api_server import administrator
from played_pods import READY, ended, pod_of
from runs import running_words, summary, summary_words
from sshload_contract.wire.run_summary import RunSummary

Object = Mapping[str, Any]
OURS = {
    "SSHLoadTest": "sshloadtests",
    "SSHLoadTestSchedule": "sshloadtestschedules",
    "SSHLoadTestComparison": "sshloadtestcomparisons",
}
_PATHS = {
    **{kind: f"/apis/sshload.dev/v1alpha1/namespaces/{{}}/{plural}" for kind, plural in OURS.items()},
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "Job": "/apis/batch/v1/namespaces/{}/jobs",
    "Pod": "/api/v1/namespaces/{}/pods",
    "Service": "/api/v1/namespaces/{}/services",
    "Secret": "/api/v1/namespaces/{}/secrets",
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
}
_MAKERS = ("Deployment", "Job")
_LOAD_TAKES_AT_MOST_S = 3.0
_ANSWER_LIMIT_S = 60


@dataclass(frozen=True, slots=True)
class Happening:
    """An object was ADDED, MODIFIED or DELETED, and is now, or was last, as `body` has it."""

    type: str
    kind: str
    body: Object

    @property
    def name(self) -> str:
        """The object's name."""
        return str(self.body["metadata"]["name"])


@dataclass(slots=True)
class PlayedNamespace:
    """A namespace that is played. `found_by` says what the master of a test finds; `logs` are the pods' logs by name.

    `history` is all that happened, in an order that is right for each kind; `collected` are the uids of what the
    garbage collector deleted. A load begins to end when the operator has seen it run, or after 3 s.
    """

    name: str
    logs: dict[str, str]
    found_by: Callable[[str], RunSummary] = lambda _: summary()
    history: list[Happening] = field(default_factory=list)
    collected: set[str] = field(default_factory=set)
    objects: dict[tuple[str, str], Object] = field(default_factory=dict)
    _running_since_s: dict[str, float] = field(default_factory=dict)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _api: "_Api | None" = None
    _failure: BaseException | None = None

    def apply(self, manifest: Object) -> Object:
        """Create an object of ours."""
        return self._run("POST", _PATHS[manifest["kind"]].format(self.name), manifest)

    def replace_spec(self, kind: str, name: str, spec: Any) -> tuple[int, Object]:
        """Give an object another spec; return the API server's status and answer."""
        patch = [{"op": "replace", "path": "/spec", "value": spec}]
        return self._ask("PATCH", f"{_PATHS[kind].format(self.name)}/{name}", patch)

    def change(self, kind: str, name: str, patch: Object, sub: str = "") -> Object:
        """Change an object by a merge patch; raises AssertionError with the API server's words where it refuses."""
        return self._run("PATCH", f"{_PATHS[kind].format(self.name)}/{name}{sub}", patch)

    def all_of(self, kind: str) -> list[Object]:
        """Return the objects of a kind that are there."""
        with self._changed:
            return [body for (of_kind, _), body in self.objects.items() if of_kind == kind]

    def wait(self, holds: Callable[[], object], within_s: float) -> bool:
        """Wait until something holds; looks at each happening, and every half a second. Returns whether it does."""
        give_up = time.monotonic() + within_s
        with self._changed:
            while not (held := bool(holds())) and time.monotonic() < give_up:
                assert self._failure is None, f"the play of the namespace ended: {self._failure!r}"
                self._changed.wait(0.5)
        return held

    def _run(self, method: str, path: str, body: Object) -> Object:
        status, answer = self._ask(method, path, body)
        assert status < HTTPStatus.BAD_REQUEST, answer
        return answer

    def _ask(self, method: str, path: str, body: Any) -> tuple[int, Object]:
        assert self._api is not None
        asking = self._api.ask(method, path, body)
        return asyncio.run_coroutine_threadsafe(asking, self._api.loop).result(_ANSWER_LIMIT_S)

    def take_in(self, happening: Happening) -> None:
        """Note something that happened."""
        key = (happening.kind, happening.name)
        with self._changed:
            self.history.append(happening)
            if happening.type == "DELETED":
                self.objects.pop(key, None)
            else:
                self.objects[key] = happening.body
            self._changed.notify_all()

    async def play(self, api: "_Api") -> None:
        """Do what is to be done now."""
        makers = [*self.all_of("Deployment"), *self.all_of("Job")]
        for maker in makers:
            await self._make_pods(api, maker)
        for maker in makers:
            if _role(maker) == "master":
                await self._play_master(api, maker)
        await self._collect_garbage(api)

    async def _make_pods(self, api: "_Api", maker: Object) -> None:
        for index in range(maker["spec"].get("completions") or 1):
            wanted = pod_of(maker, index)
            name = wanted["metadata"]["name"]
            there = self.objects.get(("Pod", name))
            if there is None:
                await api.ask("POST", _PATHS["Pod"].format(self.name), wanted)
            elif "conditions" not in there.get("status", {}) and self._token(maker):
                await self._fare(api, name, READY)

    async def _play_master(self, api: "_Api", job: Object) -> None:
        name = f"{job['metadata']['name']}-0"
        if name not in self.logs and self._all_ready(job):
            self.logs[name] = running_words(_run_id(job))
            self._running_since_s[name] = time.monotonic()
            api.look_again_in(_LOAD_TAKES_AT_MOST_S)
        elif name in self.logs and self._phase(name) != "Succeeded" and self._is_load_over(name, job):
            test = job["metadata"]["labels"]["sshload.dev/test"]
            self.logs[name] += summary_words(self.found_by(test), _run_id(job), self._token(job))
            await self._fare(api, name, ended(0))

    def _is_load_over(self, name: str, job: Object) -> bool:
        seen = self._test_of(job).get("status", {}).get("phase") == "Running"
        return seen or time.monotonic() - self._running_since_s[name] >= _LOAD_TAKES_AT_MOST_S

    def _test_of(self, maker: Object) -> Object:
        return self.objects.get(("SSHLoadTest", maker["metadata"]["labels"]["sshload.dev/test"]), {})

    async def _fare(self, api: "_Api", name: str, status: Object) -> None:
        if self._phase(name) != status["phase"]:
            await api.ask("PATCH", f"{_PATHS['Pod'].format(self.name)}/{name}/status", {"status": status})

    def _phase(self, pod: str) -> str:
        return str(self.objects.get(("Pod", pod), {}).get("status", {}).get("phase", ""))

    def _all_ready(self, job: Object) -> bool:
        """Tell whether all that the run of a master asks for is made, and all pods are ready."""
        makers = [maker for kind in _MAKERS for maker in self.all_of(kind) if _run_id(maker) == _run_id(job)]
        pods = [pod for pod in self.all_of("Pod") if _run_id(pod) == _run_id(job)]
        wanted = sum(maker["spec"].get("completions") or 1 for maker in makers)
        ready = [pod for pod in pods if pod["status"].get("phase") == "Running"]
        target = {"target"} if "managed" in self._test_of(job).get("spec", {}).get("target", {}) else set()
        return {"master", "worker", *target} <= {_role(pod) for pod in pods} and len(ready) == wanted

    def _token(self, maker: Object) -> str:
        labels = maker["metadata"]["labels"]
        name = f"{labels['sshload.dev/test']}-{labels['sshload.dev/run-id']}-keys"
        secret = self.objects.get(("Secret", name))
        return b64decode(secret["data"]["run_token"]).decode() if secret is not None else ""

    async def _collect_garbage(self, api: "_Api") -> None:
        with self._changed:
            there = list(self.objects.items())
        living = {body["metadata"]["uid"] for _, body in there}
        for (kind, name), body in there:
            owners = body["metadata"].get("ownerReferences", ())
            if owners and not any(owner["uid"] in living for owner in owners):
                self.logs.pop(name, None)
                uid = body["metadata"]["uid"]
                if uid in self.collected:  # the watch has not told of it yet
                    continue
                at_once = {"gracePeriodSeconds": 0, "propagationPolicy": "Background", "preconditions": {"uid": uid}}
                self.collected.add(uid)
                status, _ = await api.ask("DELETE", f"{_PATHS[kind].format(self.name)}/{name}", at_once)
                if status >= HTTPStatus.BAD_REQUEST:
                    self.collected.discard(uid)  # the operator was first


def _run_id(body: Object) -> str:
    return str(body["metadata"]["labels"]["sshload.dev/run-id"])


def _role(body: Object) -> str:
    return str(body["metadata"]["labels"].get("sshload.dev/role", ""))


class _Api:
    """The API server's administrator, in an event loop of its own thread."""

    def __init__(self, kubeconfig: Path) -> None:
        self._server = administrator(kubeconfig)
        self._dirty = asyncio.Event()
        self.loop = asyncio.new_event_loop()

    async def live(self, namespace: PlayedNamespace, listed: threading.Event) -> None:
        """Watch and play, until cancelled."""
        connector = aiohttp.TCPConnector(ssl=self._server.tls, limit=0)
        timeout = aiohttp.ClientTimeout(total=None)
        async with (
            aiohttp.ClientSession(
                headers=self._server.login, connector=connector, timeout=timeout, read_bufsize=4 * 1024 * 1024
            ) as self._session,
            asyncio.TaskGroup() as tasks,
        ):
            versions = await asyncio.gather(*(self._version(kind, namespace.name) for kind in _PATHS))
            for kind, version in zip(_PATHS, versions, strict=True):
                tasks.create_task(self._watch(kind, namespace, version))
            listed.set()
            while True:
                await self._dirty.wait()
                self._dirty.clear()
                await namespace.play(self)

    async def ask(self, method: str, path: str, body: Any) -> tuple[int, Object]:
        """Send a request, and return the status and the answer. A patch that is a list is a JSON patch."""
        patch = "application/json-patch+json" if isinstance(body, list) else "application/merge-patch+json"
        content = json.dumps(body)
        headers = {"Content-Type": patch if method == "PATCH" else "application/json"}
        async with self._session.request(method, self._server.url + path, data=content, headers=headers) as answer:
            return answer.status, await answer.json()

    def look_again_in(self, seconds: float) -> None:
        """Play after some time even if nothing happens."""
        self.loop.call_later(seconds, self._dirty.set)

    async def _version(self, kind: str, namespace: str) -> str:
        async with self._session.get(self._server.url + _PATHS[kind].format(namespace)) as answer:
            return str((await answer.json())["metadata"]["resourceVersion"])

    async def _watch(self, kind: str, namespace: PlayedNamespace, version: str) -> None:
        query = {"watch": "true", "resourceVersion": version}
        url = self._server.url + _PATHS[kind].format(namespace.name)
        async with self._session.get(url, params=query) as answer:
            while line := await answer.content.readuntil(b"\n"):
                event = json.loads(line)
                namespace.take_in(Happening(event["type"], kind, event["object"]))
                self._dirty.set()


@contextlib.contextmanager
def played_namespace(kubeconfig: Path, namespace: PlayedNamespace) -> Iterator[PlayedNamespace]:
    """Let a namespace, which is there and empty, be played until the block ends."""
    api, listed = _Api(kubeconfig), threading.Event()
    namespace._api = api
    thread = threading.Thread(target=_run, args=(api, namespace, listed), daemon=True)
    thread.start()
    try:
        assert listed.wait(_ANSWER_LIMIT_S), "the namespace cannot be listed"
        yield namespace
    finally:
        api.loop.call_soon_threadsafe(_cancel_all)
        thread.join(_ANSWER_LIMIT_S)


def _run(api: _Api, namespace: PlayedNamespace, listed: threading.Event) -> None:
    try:
        api.loop.run_until_complete(api.live(namespace, listed))
    except asyncio.CancelledError:
        pass
    except BaseException as error:  # noqa: BLE001 - it is raised where somebody waits
        namespace._failure = error
    api.loop.close()


def _cancel_all() -> None:
    for task in asyncio.all_tasks():
        task.cancel()
