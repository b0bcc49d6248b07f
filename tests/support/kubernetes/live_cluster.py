"""A live cluster as the tests see it: one namespace, and SSHLoadTests followed to their end.

A comparison on the cluster, followed to its end by `sshload compare`.
"""

import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Any

from api_requests import APPLY, JSON, MERGE, ApiRequests, Resource, api_requests
from generator_reruns import lagged_comparison, rerun_while_lagging
from sshload_operator.api.names import label_value
from sshload_operator.state import Phase

Manifest = Mapping[str, Any]
LOAD_POD_KINDS = "deployments,jobs,pods"
CHILD_KINDS = "deployments,jobs,pods,services,secrets,networkpolicies"
WITHIN_S = 300.0
GONE_WITHIN_S = 300.0
"""Deadlines that only a fault reaches: a busy machine takes several times as long as a quiet one."""

_FROM_THE_LOAD_ON = (Phase.RUNNING, Phase.COLLECTING, Phase.FINISHED)
_STRICT = {"fieldValidation": "Strict"}
_LOOK_EVERY_S = 0.2
_LOOK_AT_LEAST_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class LiveCluster:
    """One namespace of a cluster. Where kubectl itself is not the point, requests go to the API server without it.

    `assertions` are called again and again while something is waited for: they fail where waiting has become useless.
    """

    kubectl_path: str
    kubeconfig: Path
    namespace: str
    assertions: list[Callable[[], None]] = field(default_factory=list, compare=False)

    def kubectl(self, *arguments: str, stdin: str = "", check: bool = True) -> str:
        """Run kubectl in the namespace and return what it prints; raises AssertionError with its stderr if it fails."""
        command = self.command(*arguments)
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, timeout=WITHIN_S)
        assert not check or done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout if check else done.stdout + done.stderr

    def apply(self, *manifests: Manifest) -> None:
        """Apply manifests with strict validation; raises AssertionError with the API server's words."""
        self._send_applied(manifests, fieldManager="tests", force="true")

    def establish(self, *crds: Path) -> None:
        """Apply files or folders of CRDs, and wait until the API server serves them all.

        `kubectl wait` fails at a CRD that was created so lately that its conditions are null.
        """
        files = [argument for path in crds for argument in ("-f", str(path))]
        for line in self.kubectl("apply", "--server-side", "-o", "name", *files).splitlines():
            kind, _, name = line.partition("/")
            self.wait_for(kind.partition(".")[0], name, is_established, "condition Established")

    def would_apply(self, *manifests: Manifest) -> None:
        """Do as `apply` without keeping anything; raises AssertionError with the API server's words."""
        self._send_applied(manifests, fieldManager="sshload", dryRun="All")

    def _send_applied(self, manifests: Iterable[Manifest], **how: str) -> None:
        for manifest in manifests:
            path = self._path(self._api.of(manifest), manifest["metadata"]["name"], manifest)
            self._api.ask("PATCH", path, manifest, APPLY, **how, **_STRICT).taken()

    def create(self, *manifests: Manifest) -> list[dict[str, Any]]:
        """Create objects with strict validation and return them; raises AssertionError with the API server's words."""
        paths = [self._path(self._api.of(manifest), "", manifest) for manifest in manifests]
        return [
            self._api.ask("POST", path, manifest, JSON, **_STRICT).taken()
            for path, manifest in zip(paths, manifests, strict=True)
        ]

    def takes(self, manifest: Manifest) -> bool:
        """Tell whether the API server would take the manifest now, which it may be behind with after a change."""
        path = self._path(self._api.of(manifest), "", manifest)
        return self._api.ask("POST", path, manifest, JSON, dryRun="All", **_STRICT).status == HTTPStatus.CREATED

    def change(self, kind: str, name: str, patch: Manifest, sub: str = "") -> None:
        """Change an object, or a subresource of it, by a merge patch."""
        path = self._api.named(kind).path(self.namespace, name, sub)
        self._api.ask("PATCH", path, patch, MERGE, **_STRICT).taken()

    def delete(self, kind: str, name: str, grace_s: int | None = None) -> None:
        """Delete an object, and wait until it is gone."""
        how = {} if grace_s is None else {"gracePeriodSeconds": grace_s}
        path = self._api.named(kind).path(self.namespace, name)
        self._api.ask("DELETE", path, {"propagationPolicy": "Background", **how}).taken()
        self.gone(lambda: self.exists(kind, name), f"{kind} {name}")

    def get(self, kind: str, name: str) -> dict[str, Any]:
        """Return one object, as kubectl shows it: without its managedFields."""
        found: dict[str, Any] = self._api.ask("GET", self._api.named(kind).path(self.namespace, name)).taken()
        found["metadata"].pop("managedFields", None)
        return found

    def exists(self, kind: str, name: str) -> bool:
        """Tell whether the object is there."""
        answer = self._api.ask("GET", self._api.named(kind).path(self.namespace, name))
        return answer.status != HTTPStatus.NOT_FOUND and bool(answer.taken())

    def labelled(self, kinds: str, selector: str = "") -> list[dict[str, Any]]:
        """Return the objects of these kinds that carry the labels."""
        return [
            {"apiVersion": resource.api_version, "kind": resource.kind, **item}
            for resource in map(self._api.named, kinds.split(","))
            for item in self._api.ask("GET", resource.path(self.namespace), labelSelector=selector).taken()["items"]
        ]

    def children(self, test: str, kinds: str = CHILD_KINDS) -> list[str]:
        """Return kind/name of everything made for the test, objects on their way out excepted."""
        return [
            f"{item['kind']}/{item['metadata']['name']}"
            for item in self.labelled(kinds, f"sshload.dev/test={label_value(test)}")
            if "deletionTimestamp" not in item["metadata"]
        ]

    def status(self, test: str) -> dict[str, Any]:
        """Return the test's status, empty while it has none."""
        status: dict[str, Any] = self.get("sshloadtest", test).get("status", {})
        return status

    def wait(
        self, test: str, holds: Callable[[dict[str, Any]], object], what: str, within_s: float = WITHIN_S
    ) -> dict[str, Any]:
        """Return the test's status once `holds` is true of it; fails with the last status after `within_s`."""
        return self.wait_for("sshloadtest", test, holds, what, within_s)

    def wait_for(
        self, kind: str, name: str, holds: Callable[[dict[str, Any]], object], what: str, within_s: float = WITHIN_S
    ) -> dict[str, Any]:
        """Return an object's status once `holds` is true of it; fails with the last status after `within_s`.

        It watches the object, once it is there; fails where that is deleted.
        """
        give_up = time.monotonic() + within_s
        status: dict[str, Any] = {}
        for event in self._api.watch(self._api.named(kind).path(self.namespace), f"metadata.name={name}"):
            if event is not None:
                assert event["type"] != "DELETED", f"{name} was deleted"
                status = event["object"].get("status", {})
                if holds(status):
                    return status
            self._assert_all()
            if time.monotonic() > give_up:
                break
        raise AssertionError(f"{name}: no {what} within {within_s} s: {json.dumps(status)[:3000]}")

    def finished(self, test: str, within_s: float = WITHIN_S) -> dict[str, Any]:
        """Return the status of the test once it is Finished."""
        return self.wait(test, lambda status: status.get("phase") == "Finished", "end", within_s)

    def finished_after(self, test: str, elapsed: timedelta) -> dict[str, Any]:
        """Return the status of a test that goes on, once it is Finished because so much time of its run is over.

        Its status then says that the run began so long ago, which is all that the operator knows of that. It is changed
        again until the operator has seen it, because the operator writes the status, too.
        """
        began = f"{datetime.now(UTC) - elapsed:%Y-%m-%dT%H:%M:%SZ}"

        def goes_on() -> bool:
            if self.status(test)["phase"] == "Finished":
                return False
            self.change("sshloadtest", test, {"status": {"startTime": began}}, "status")
            return True

        self.gone(goes_on, f"{test}: its run")
        return self.status(test)

    def run(
        self, test: Manifest, within_s: float = WITHIN_S, meanwhile: Callable[[], object] | None = None
    ) -> dict[str, Any]:
        """Apply a test and return its status once it is Finished. `meanwhile` is called after it was applied.

        All of this is done again, with a new object, where this machine kept the generator from the CPU.
        """
        name = test["metadata"]["name"]
        attempts = itertools.count()

        def run_once() -> dict[str, Any]:
            if next(attempts):
                self.delete("sshloadtest", name)
                self.gone(lambda: self.children(name), "children of the test before")
            self.apply(test)
            if meanwhile is not None:
                meanwhile()
            return self.finished(name, within_s)

        return rerun_while_lagging(run_once, lambda status: status)

    def running(self, test: str, within_s: float = WITHIN_S) -> dict[str, Any]:
        """Return the status of the test once its load has completed iterations."""

        def completes(status: dict[str, Any]) -> bool:
            return status.get("phase") == "Running" and status.get("progress", {}).get("iterations", 0) > 0

        return self.wait(test, completes, "load", within_s)

    def kill(self, test: str, role: str) -> None:
        """Delete a pod of a run without a grace period, as if its node were lost."""
        pod = self.labelled("pods", f"sshload.dev/test={label_value(test)},sshload.dev/role={role}")[0]
        self.kubectl("delete", "pod", pod["metadata"]["name"], "--grace-period=0", "--force", "--wait=false")

    def load_begun(self, test: str) -> dict[str, Any]:
        """Return the status of the test once its load has begun. A busy operator may have seen nothing but its end."""
        return self.wait(test, lambda status: status.get("phase") in _FROM_THE_LOAD_ON, "load")

    def tells(self, name: str, *words: str) -> None:
        """Wait until Events about an object hold one of the words: they come after the status that they are about."""
        events = self._api.named("events").path(self.namespace)

        def said() -> str:
            return json.dumps(self._api.ask("GET", events, fieldSelector=f"involvedObject.name={name}").taken())

        def is_silent() -> bool:
            told = said()
            return not any(word in told for word in words)

        self.gone(is_silent, f"lack of an Event about {name} that says {' or '.join(words)}")

    def gone(self, find: Callable[[], object], what: str, within_s: float = GONE_WITHIN_S) -> None:
        """Wait until `find` finds nothing any more."""
        give_up = time.monotonic() + within_s
        pause_s = _LOOK_EVERY_S
        while found := find():
            self._assert_all()
            assert time.monotonic() < give_up, f"{what} still there after {within_s} s: {found}"
            time.sleep(pause_s)
            pause_s = min(pause_s * 1.5, _LOOK_AT_LEAST_EVERY_S)

    def command(self, *arguments: str) -> list[str]:
        """Return the command of kubectl in the namespace, unless it is for all: `delete` takes only one of the two."""
        where = [] if "--all-namespaces" in arguments else [f"--namespace={self.namespace}"]
        return [self.kubectl_path, f"--kubeconfig={self.kubeconfig}", *where, *arguments]

    @property
    def _api(self) -> ApiRequests:
        return api_requests(self.kubeconfig)

    def _path(self, resource: Resource, name: str, manifest: Manifest) -> str:
        return resource.path(manifest.get("metadata", {}).get("namespace", self.namespace), name)

    def _assert_all(self) -> None:
        for assertion in self.assertions:
            assertion()


def condition(status: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return one condition of a status."""
    found: dict[str, Any] = next(item for item in status["conditions"] if item["type"] == kind)
    return found


def load_test(name: str, **spec: Any) -> Manifest:
    """Return a small SSHLoadTest: ten logins per second for three seconds by two workers; `spec` replaces parts."""
    return {
        "apiVersion": "sshload.dev/v1alpha1",
        "kind": "SSHLoadTest",
        "metadata": {"name": name},
        "spec": {
            "target": {"managed": {"sshd": {"maxStartups": "3000:30:3000", "maxSessions": 3000}}},
            "scenario": {"steps": [{"exec": {"command": "uptime"}}]},
            "load": {"arrivals": {"stages": [{"rate": 10, "duration": "3s"}]}},
            "warmUp": "0s",
            "workers": {"replicas": 2},
            **spec,
        },
    }


def lone_worker_test(name: str, **spec: Any) -> Manifest:
    """Return such a test with one worker, where a claim is not about workers: each takes CPU to start."""
    return load_test(name, **{"workers": {"replicas": 1}, **spec})


SSHLOAD = Path(sys.executable).parent / "sshload"
_COMPARED_S = 900

Status = dict[str, Any]
Figure = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison that has ended: its status, those of its tests, and what `sshload compare` printed."""

    cluster: LiveCluster
    name: str
    printed: str
    exit_code: int
    status: Status
    tests: dict[str, Status]

    @property
    def variants(self) -> list[str]:
        """The names of the variants, the first one first."""
        return [variant["name"] for variant in self.status["results"]["variants"]]

    def of(self, variant: str) -> list[Status]:
        """Return the statuses of a variant's tests."""
        return [self.tests[run["test"]] for run in self.status["tests"] if run["variant"] == variant]

    def figures(self, variant: str) -> dict[str, Figure]:
        """Return a variant's figures by step and name, as `total.p50Ms`."""
        found = next(item for item in self.status["results"]["variants"] if item["name"] == variant)
        return {".".join(filter(None, (one.get("step"), one["figure"]))): one for one in found["figures"]}


def compared(cluster: LiveCluster, objects: Sequence[Manifest]) -> Comparison:
    """Apply a comparison with what belongs to it, and follow it to its end.

    All of this is done again, with new objects, where the machine kept the generator of one of its tests from the CPU
    each time that the operator made it.
    """
    name = next(item["metadata"]["name"] for item in objects if item["kind"] == "SSHLoadTestComparison")
    attempts = itertools.count()

    def compare_once() -> Comparison:
        if next(attempts):
            cluster.delete("sltc", name)
            cluster.gone(lambda: cluster.labelled("slt", f"sshload.dev/comparison={name}"), "tests of the one before")
        cluster.apply(*objects)
        return _followed(cluster, name)

    found = rerun_while_lagging(compare_once, lambda done: lagged_comparison(done.status))
    assert "results" in found.status, f"{found.printed}{found.status['message']}"
    return found


def _followed(cluster: LiveCluster, name: str) -> Comparison:
    where = [
        "--namespace",
        cluster.namespace,
        "--kubeconfig",
        str(cluster.kubeconfig),
        "--timeout",
        str(_COMPARED_S),
    ]
    command = [str(SSHLOAD), "compare", name, "--verbose", *where]
    wide = {**os.environ, "COLUMNS": "200"}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_COMPARED_S + 30, env=wide)
    status = cluster.get("sltc", name)["status"]
    tests = {run["test"]: cluster.status(run["test"]) for run in status.get("tests", ())}
    return Comparison(cluster, name, ended.stdout, ended.returncode, status, tests)


def is_established(status: Manifest) -> bool:
    """Tell whether the status of a CRD says that it is served."""
    return any((one["type"], one["status"]) == ("Established", "True") for one in status.get("conditions") or ())
