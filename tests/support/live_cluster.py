"""A live cluster as the tests see it: kubectl in one namespace, and SSHLoadTests followed to their end."""

import itertools
import json
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from generator_reruns import rerun_while_lagging
from kubectl_watch import watched

Manifest = Mapping[str, Any]
LOAD_POD_KINDS = "deployments,jobs,pods"
CHILD_KINDS = "deployments,jobs,pods,services,secrets,networkpolicies"
WITHIN_S = 300.0
GONE_WITHIN_S = 300.0
"""Deadlines that only a fault reaches: a busy machine takes several times as long as a quiet one."""

_LOOK_EVERY_S = 0.2
_LOOK_AT_LEAST_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class LiveCluster:
    """kubectl against one cluster, bound to one namespace.

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
        """Apply manifests with kubectl's strict validation."""
        self.kubectl("apply", "-f", "-", stdin=_listed(manifests))

    def takes(self, *manifests: Manifest) -> bool:
        """Tell whether the API server would take the manifests now, which it may be behind with after a change."""
        return "created (server dry run)" in self.kubectl(
            "create", "--dry-run=server", "-f", "-", stdin=_listed(manifests), check=False
        )

    def get(self, kind: str, name: str) -> dict[str, Any]:
        """Return one object."""
        found: dict[str, Any] = json.loads(self.kubectl("get", kind, name, "-o", "json"))
        return found

    def exists(self, kind: str, name: str) -> bool:
        """Tell whether the object is there."""
        return bool(self.kubectl("get", kind, name, "--ignore-not-found", "-o", "name"))

    def labelled(self, kinds: str, selector: str) -> list[dict[str, Any]]:
        """Return the objects of these kinds that carry the labels."""
        items: list[dict[str, Any]] = json.loads(self.kubectl("get", kinds, "-l", selector, "-o", "json"))["items"]
        return items

    def children(self, test: str, kinds: str = CHILD_KINDS) -> list[str]:
        """Return kind/name of everything made for the test, objects on their way out excepted."""
        return [
            f"{item['kind']}/{item['metadata']['name']}"
            for item in self.labelled(kinds, f"sshload.dev/test={test}")
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

        It watches the object: each process of kubectl costs a tenth of a second of CPU, which the pods need.
        """
        give_up = time.monotonic() + within_s
        status: dict[str, Any] = {}
        # By a selector: kubectl drops the first event of a watch by name, with what has changed since its first look.
        by_name = self.command("get", kind, f"--field-selector=metadata.name={name}")
        for found in watched(by_name, _LOOK_EVERY_S):
            if found is not None:
                status = found.get("status", {})
                if holds(status):
                    return status
            self._assert_all()
            if time.monotonic() > give_up:
                break
        raise AssertionError(f"{name}: no {what} within {within_s} s: {json.dumps(status)[:3000]}")

    def finished(self, test: str, within_s: float = WITHIN_S) -> dict[str, Any]:
        """Return the status of the test once it is Finished."""
        return self.wait(test, lambda status: status.get("phase") == "Finished", "end", within_s)

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
                self.kubectl("delete", "sshloadtest", name)
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

    def tells(self, name: str, word: str) -> None:
        """Wait until an Event about an object holds the word: Events come after the status that they are about."""
        about = ("get", "events", f"--field-selector=involvedObject.name={name}", "-o", "json")
        self.gone(lambda: word not in self.kubectl(*about), f"lack of an Event about {name} that says {word!r}")

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
        return [self.kubectl_path, f"--kubeconfig={self.kubeconfig}", f"--namespace={self.namespace}", *arguments]

    def _assert_all(self) -> None:
        for assertion in self.assertions:
            assertion()


def _listed(manifests: Sequence[Manifest]) -> str:
    """Return manifests as kubectl reads them, in JSON: to write a CRD as YAML takes a second."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests})


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
