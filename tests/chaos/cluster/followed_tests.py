"""Every SSHLoadTest of the cluster, as one watch tells of it while the API server comes and goes.

What `kubectl get --watch` prints, as it comes.
"""

import codecs
import contextlib
import json
import os
import select
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from live_cluster import LiveCluster
from played_namespace import Happening

Event = Mapping[str, Any]
"""An event of a watch: its `type` and its `object`."""

_CHUNK_BYTES = 1 << 20


def watched(get: Sequence[str], pause_s: float) -> Iterator[dict[str, Any] | None]:
    """Yield an object as it is and after each change, and None whenever nothing came for `pause_s`.

    `get` is the command that lists it. Raises AssertionError with kubectl's message where that fails, and when the
    object is deleted. A watch that the server ends starts again.
    """
    while True:
        with _watch(get) as process:
            assert process.stderr is not None
            for event in _events(process, pause_s):
                if event is not None:
                    assert event["type"] != "DELETED", f"{event['object']['metadata']['name']} was deleted"
                yield None if event is None else event["object"]
            message = process.stderr.read().decode()
            assert process.wait() == 0, f"{' '.join(get)}: {message}"


def watched_always(get: Sequence[str], pause_s: float) -> Iterator[Event | None]:
    """Yield the events of all objects that a command lists, and None whenever none came for `pause_s`, without an end.

    An API server that does not answer is asked again, and tells of all objects again.
    """
    while True:
        with _watch(get) as process:
            yield from _events(process, pause_s)
        yield None
        time.sleep(pause_s)


@contextlib.contextmanager
def _watch(get: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    command = [*get, "--watch", "--output-watch-events", "-o", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def _events(process: subprocess.Popen[bytes], pause_s: float) -> Iterator[Event | None]:
    """Yield until the output ends. Events are JSON documents one after the other."""
    assert process.stdout is not None
    documents, utf8 = json.JSONDecoder(), codecs.getincrementaldecoder("utf-8")()
    text = ""
    while True:
        if not select.select([process.stdout], [], [], pause_s)[0]:
            yield None
            continue
        chunk = os.read(process.stdout.fileno(), _CHUNK_BYTES)
        if not chunk:
            return
        text = (text + utf8.decode(chunk)).lstrip()
        while text:
            try:
                event, end = documents.raw_decode(text)
            except json.JSONDecodeError:  # the rest of it is still to come
                break
            text = text[end:].lstrip()
            yield event


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
