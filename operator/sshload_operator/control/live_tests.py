"""Which tests are worked on: one task per live test, woken by watch events, gone when there is nothing to do.

Watch events only mark a test dirty. A finished test holds no task and no memory here; one with a time to live holds a
timer. So a thousand finished tests cost nothing, and a restarted operator asks the API server nothing about them.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from sshload_operator.control.cluster import ApiError, Cluster, Object
from sshload_operator.control.observe import Sight
from sshload_operator.control.reconcile import asks_for_deeds, decide_unseen, is_finished, question, reconcile
from sshload_operator.manifests.labels import TEST_LABEL
from sshload_operator.planning.plan import Installation

_LOG = logging.getLogger(__name__)
# Pods change several times within a moment; one pass sees it all.
_SETTLE_S: Final = 0.05
# After a run's end its pods are seen going; only those that are still there after this time are looked at again.
_PODS_GO_WITHIN_S: Final = 10.0
_BACK_OFF_S: Final = (1.0, 1.0, 2.0, 3.0, 5.0, 10.0, 15.0, 30.0)

Key = tuple[str, str]


@dataclass(slots=True)
class LiveTest:
    """A test that is worked on. `body` is its newest version known, None where it is still to be read.

    `has_children` says that pods or Jobs of the test were seen, so that a finished one may have to be swept;
    `is_ending` that it was swept just now, so that its children's last events mean nothing.
    """

    body: Object | None
    has_children: bool
    is_ending: bool = False
    sight: Sight = field(default_factory=Sight)
    dirty: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None

    def offer(self, body: Object) -> None:
        """Take in a version of the object, if it is newer; it needs a pass if its spec differs."""
        if self.body is not None and version(body) <= version(self.body):
            return
        if self.body is None or body["metadata"]["generation"] != self.body["metadata"]["generation"]:
            self.dirty.set()
        self.body = body


@dataclass(frozen=True, slots=True)
class _Wait:
    """For the next event, or this long (None: as long as it takes)."""

    at_most_s: float | None


class LiveTests:
    """All tests that are worked on, by namespace and name. `count_failure` is called for each pass that fails."""

    def __init__(self, cluster: Cluster, installation: Installation, count_failure: Callable[[], None]) -> None:
        self._cluster = cluster
        self._installation = installation
        self._count_failure = count_failure
        self._live: dict[Key, LiveTest] = {}
        self._alarms: dict[Key, asyncio.TimerHandle] = {}

    def test_changed(self, event_type: str | None, body: Object) -> None:
        """Take in a watch event of an SSHLoadTest."""
        key = key_of(body)
        live = self._live.get(key)
        if event_type == "DELETED" or "deletionTimestamp" in body["metadata"]:
            self._forget(key, body["metadata"]["uid"])
        elif live is None:
            self._start(key, LiveTest(body, has_children=False))
        elif live.body is not None and live.body["metadata"]["uid"] != body["metadata"]["uid"]:
            self._forget(key, live.body["metadata"]["uid"])
            self._start(key, LiveTest(body, has_children=False))
        else:
            live.offer(body)

    def pod_changed(self, event_type: str | None, pod: Object) -> None:
        """Take in a watch event of a pod that carries the test label."""
        live = self._owner_changed(event_type, pod)
        if live is not None:
            live.sight.pod_changed(event_type, pod)

    def job_changed(self, event_type: str | None, job: Object) -> None:
        """Take in a watch event of a Job that carries the test label."""
        self._owner_changed(event_type, job)

    async def stop(self) -> None:
        """End all tasks, wherever they are in their passes, and wait for them."""
        for alarm in self._alarms.values():
            alarm.cancel()
        tasks = [live.task for live in self._live.values() if live.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _owner_changed(self, event_type: str | None, child: Object) -> LiveTest | None:
        metadata = child["metadata"]
        key = (metadata["namespace"], metadata["labels"][TEST_LABEL])
        live = self._live.get(key)
        if live is None and (event_type == "DELETED" or "deletionTimestamp" in metadata):
            return None
        if live is None:
            live = self._start(key, LiveTest(None, has_children=True))
        if not live.is_ending:
            live.has_children = True
            live.dirty.set()
        return live

    def _start(self, key: Key, live: LiveTest) -> LiveTest:
        self._silence(key)
        self._live[key] = live
        live.task = asyncio.create_task(self._work(key, live), name=f"{key[0]}/{key[1]}")
        return live

    def _forget(self, key: Key, uid: str) -> None:
        self._silence(key)
        live = self._live.get(key)
        if live is not None and (live.body is None or live.body["metadata"]["uid"] == uid):
            del self._live[key]
            if live.task is not None:
                live.task.cancel()

    def _ring(self, key: Key) -> None:
        del self._alarms[key]
        if key not in self._live:
            self._start(key, LiveTest(None, has_children=True))

    def _silence(self, key: Key) -> None:
        alarm = self._alarms.pop(key, None)
        if alarm is not None:
            alarm.cancel()

    async def _work(self, key: Key, live: LiveTest) -> None:
        """Do passes until there is nothing more to do. The one edge where unforeseen errors end."""
        failures, last_error = 0, ""
        while True:
            live.dirty.clear()
            try:
                wait = await self._pass(key, live)
                failures, last_error = 0, ""
            except Exception as error:  # noqa: BLE001 - one test's failure, foreseen or not, must not stop the others
                self._count_failure()
                last_error = _report(key, error, last_error)
                wait = _Wait(_BACK_OFF_S[min(failures, len(_BACK_OFF_S) - 1)])
                failures += 1
            if wait is None and not live.dirty.is_set():
                break
            with suppress(TimeoutError):
                await asyncio.wait_for(live.dirty.wait(), None if wait is None else wait.at_most_s)
            await asyncio.sleep(_SETTLE_S)
        if self._live.get(key) is live:
            del self._live[key]

    async def _pass(self, key: Key, live: LiveTest) -> _Wait | None:
        """Do one pass; return how long to wait for the next, None where there is to be none."""
        live.body = body = live.body or await self._cluster.read_test(*key)
        if body is None or "deletionTimestamp" in body["metadata"]:
            return None
        asked = question(body, self._installation)
        if live.is_ending:
            live.is_ending = False
            live.has_children = any(not pod.deleting for pod in live.sight.pods.values())
        if asked.finished and not live.has_children:
            decision = decide_unseen(asked, datetime.now(UTC))
            if not asks_for_deeds(decision):
                self._rest(key, decision.requeue_after_s)
                return None
        done = await reconcile(self._cluster, asked, body, live.sight, datetime.now(UTC))
        if done.test is None:
            return None
        live.body = newest = newer(done.test, live.body)
        if is_finished(newest):
            live.is_ending = True
            return _Wait(min(_PODS_GO_WITHIN_S, done.requeue_after_s or _PODS_GO_WITHIN_S))
        return _Wait(done.requeue_after_s)

    def _rest(self, key: Key, after_s: float | None) -> None:
        """Leave a finished test alone, until its time to live is over if it has one."""
        self._silence(key)
        if after_s is not None:
            self._alarms[key] = asyncio.get_running_loop().call_later(after_s, self._ring, key)


def key_of(body: Object) -> Key:
    """Return namespace and name of an object."""
    return body["metadata"]["namespace"], body["metadata"]["name"]


def version(body: Mapping[str, Any]) -> int:
    """Return the resourceVersion as the number that Kubernetes promises it to be since 1.35, to tell the newer one."""
    return int(body["metadata"]["resourceVersion"])


def newer(one: Object, other: Object | None) -> Object:
    """Return the newer of two versions of an object."""
    return one if other is None or version(one) >= version(other) else other


def _report(key: Key, error: Exception, last_error: str) -> str:
    """Log an error once, however often it repeats itself, and return its text; a traceback only for the unforeseen."""
    text = f"{type(error).__name__}: {error}"
    if text != last_error:
        unforeseen = None if isinstance(error, ApiError) else error
        _LOG.error("%s/%s: a pass failed and will be repeated: %s", *key, text, exc_info=unforeseen)
    return text
