"""Every SSHLoadTest of the cluster, as one watch tells of it while the API server comes and goes."""

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kubectl_watch import watched_always
from live_cluster import LiveCluster
from played_namespace import Happening

_LOOK_EVERY_S = 0.5
Status = Mapping[str, Any]


@dataclass(slots=True)
class FollowedTests:
    """What happened to SSHLoadTests, in order, and how each of them is now, by namespace and name."""

    history: list[Happening] = field(default_factory=list)
    bodies: dict[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _is_over: bool = False

    def status(self, cluster: LiveCluster, name: str) -> Status:
        """Return the status of a test, empty where there is none."""
        status: Status = self.bodies.get((cluster.namespace, name), {}).get("status", {})
        return status

    def wait(
        self, cluster: LiveCluster, name: str, holds: Callable[[Status], object], what: str, within_s: float
    ) -> Status:
        """Return the status of a test once `holds` is true of it; raises AssertionError after `within_s`."""
        give_up = time.monotonic() + within_s
        with self._changed:
            while not holds(status := self.status(cluster, name)):
                assert time.monotonic() < give_up, f"{name}: no {what} in {within_s:g} s: {json.dumps(status)[:1500]}"
                self._changed.wait(_LOOK_EVERY_S)
        return status

    def in_namespace(self, namespace: str) -> list[Happening]:
        """Return what happened in one namespace."""
        with self._changed:
            return [one for one in self.history if one.body["metadata"]["namespace"] == namespace]

    def follow(self, cluster: LiveCluster) -> None:
        """Take in events until `end` is called."""
        get = cluster.command("get", "sshloadtests", "--all-namespaces")
        for event in watched_always(get, _LOOK_EVERY_S):
            if self._is_over:
                return
            if event is not None and event["type"] in ("ADDED", "MODIFIED", "DELETED"):
                self._take_in(Happening(event["type"], "SSHLoadTest", event["object"]))

    def end(self) -> None:
        """Let `follow` return."""
        self._is_over = True

    def _take_in(self, happening: Happening) -> None:
        key = (happening.body["metadata"]["namespace"], happening.name)
        with self._changed:
            self.history.append(happening)
            if happening.type == "DELETED":
                self.bodies.pop(key, None)
            else:
                self.bodies[key] = happening.body
            self._changed.notify_all()


@contextlib.contextmanager
def followed_tests(cluster: LiveCluster) -> Iterator[FollowedTests]:
    """Follow all tests until the block ends."""
    followed = FollowedTests()
    thread = threading.Thread(target=followed.follow, args=(cluster,), daemon=True)
    thread.start()
    try:
        yield followed
    finally:
        followed.end()
        thread.join()
