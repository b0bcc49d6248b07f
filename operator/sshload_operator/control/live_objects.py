"""Which objects of one kind are worked on: one task per live object, woken by watch events, gone when it may rest.

Watch events only mark an object dirty. An object at rest holds no task and no memory here, but for a timer where it is
to be looked at again. What a pass over an object does, and what is seen of it between passes, is its kind's own.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from sshload_operator.control.cluster import ApiError, Object

_LOG = logging.getLogger(__name__)
# Things change several times within a moment; one pass sees it all.
_SETTLE_S: Final = 0.05
# Where more than these are to be looked at, each of them takes its turn with facts of its own time, not of long before.
_PASSES_AT_ONCE: Final = 32
_BACK_OFF_S: Final = (1.0, 1.0, 2.0, 3.0, 5.0, 10.0, 15.0, 30.0)

Key = tuple[str, str]
S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Wait:
    """For the next event, or this long (None: as long as it takes)."""

    at_most_s: float | None


@dataclass(frozen=True, slots=True)
class Rest:
    """Nothing more is to be done: forget the object until its next event, or for this long (None: for good)."""

    wake_after_s: float | None = None


Next: TypeAlias = Wait | Rest


@dataclass(slots=True)
class Live(Generic[S]):
    """An object that is worked on. `body` is its newest version known, None where it is still to be read.

    `sight` is what its kind keeps of it between passes, `told` the newest version that the watch has told of.
    """

    body: Object | None
    sight: S
    told: int = 0
    dirty: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None

    def offer(self, body: Object) -> None:
        """Take in a version of the object, if it is newer; it needs a pass if its spec differs.

        The answer to a write of our own is offered like an event: the spec may have been edited in mid-pass, and then
        the event of the edit comes too late to be newer.
        """
        if self.body is not None and version(body) <= version(self.body):
            return
        if self.body is None or body["metadata"]["generation"] != self.body["metadata"]["generation"]:
            self.dirty.set()
        self.body = body

    def fill(self, read: Object | None) -> Object | None:
        """Take in what was read of an object that was only named, unless an event has told of it meanwhile."""
        self.body = self.body or read
        return self.body


class Passes(Protocol[S]):
    """What one kind's objects are worked on with."""

    def first_sight(self, body: Object | None) -> S:
        """Return what is seen of an object of which nothing is known yet; `body` is None where it was only named."""

    async def do(self, key: Key, live: Live[S]) -> Next:
        """Do one pass, leave the newest version of the object in `live`, and say how to go on. May raise anything."""


class LiveObjects(Generic[S]):
    """All objects of one kind that are worked on. `count_failure` is called for each pass that fails."""

    def __init__(self, passes: Passes[S], count_failure: Callable[[], None]) -> None:
        self._passes = passes
        self._count_failure = count_failure
        self._live: dict[Key, Live[S]] = {}
        self._alarms: dict[Key, asyncio.TimerHandle] = {}
        self._untold: dict[Key, int] = {}
        self._turns = asyncio.Semaphore(_PASSES_AT_ONCE)

    def object_changed(self, event_type: str | None, body: Object) -> None:
        """Take in a watch event of an object of the kind; one older than what was known at rest says nothing."""
        key = key_of(body)
        live = self._live.get(key)
        if version(body) < self._untold.get(key, 0):
            return
        self._untold.pop(key, None)
        if event_type == "DELETED" or "deletionTimestamp" in body["metadata"]:
            self._forget(key, body["metadata"]["uid"])
        elif live is None:
            self._start(key, body)
        elif live.body is not None and live.body["metadata"]["uid"] != body["metadata"]["uid"]:
            self._forget(key, live.body["metadata"]["uid"])
            self._start(key, body)
        else:
            live.told = max(live.told, version(body))
            live.offer(body)

    def forget(self, is_gone: Callable[[Key], bool]) -> None:
        """Take in that objects are gone: no more is done about them."""
        for key in filter(is_gone, {*self._live, *self._alarms, *self._untold}):
            self._silence(key)
            self._untold.pop(key, None)
            live = self._live.pop(key, None)
            if live is not None and live.task is not None:
                live.task.cancel()

    def find(self, key: Key) -> Live[S] | None:
        """Return the object if it is worked on."""
        return self._live.get(key)

    def wake(self, key: Key) -> Live[S]:
        """Return the object; where it is at rest, work on it begins, and the first pass has to read it."""
        return self._live.get(key) or self._start(key, None)

    async def stop(self) -> None:
        """End all tasks, wherever they are in their passes, and wait for them."""
        for alarm in self._alarms.values():
            alarm.cancel()
        tasks = [live.task for live in self._live.values() if live.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start(self, key: Key, body: Object | None) -> Live[S]:
        self._silence(key)
        live = Live(body, self._passes.first_sight(body), 0 if body is None else version(body))
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
        self.wake(key)

    def _silence(self, key: Key) -> None:
        alarm = self._alarms.pop(key, None)
        if alarm is not None:
            alarm.cancel()

    async def _work(self, key: Key, live: Live[S]) -> None:
        """Do passes until the object may rest. The one edge where unforeseen errors end."""
        failures, last_error = 0, ""
        while True:
            following: Next
            try:
                async with self._turns:
                    live.dirty.clear()
                    following = await self._passes.do(key, live)
                failures, last_error = 0, ""
            except Exception as error:  # noqa: BLE001 - one object's failure, foreseen or not, must not stop the others
                self._count_failure()
                last_error = _report(key, error, last_error)
                following = Wait(_BACK_OFF_S[min(failures, len(_BACK_OFF_S) - 1)])
                failures += 1
            if isinstance(following, Rest) and not live.dirty.is_set():
                break
            with suppress(TimeoutError):
                await asyncio.wait_for(live.dirty.wait(), following.at_most_s if isinstance(following, Wait) else None)
            await asyncio.sleep(_SETTLE_S)
        if self._live.get(key) is live:
            del self._live[key]
            if live.body is not None and version(live.body) > live.told:
                self._untold[key] = version(live.body)
            self._rest(key, following)

    def _rest(self, key: Key, rest: Rest) -> None:
        self._silence(key)
        if rest.wake_after_s is not None:
            self._alarms[key] = asyncio.get_running_loop().call_later(rest.wake_after_s, self._ring, key)


def key_of(body: Object) -> Key:
    """Return namespace and name of an object."""
    return body["metadata"]["namespace"], body["metadata"]["name"]


def version(body: Mapping[str, Any]) -> int:
    """Return the resourceVersion as the number that Kubernetes promises it to be since 1.35, to tell the newer one."""
    return int(body["metadata"]["resourceVersion"])


def _report(key: Key, error: Exception, last_error: str) -> str:
    """Log an error once, however often it repeats itself, and return its text; a traceback only for the unforeseen."""
    text = f"{type(error).__name__}: {error}"
    if text != last_error:
        unforeseen = None if isinstance(error, ApiError) else error
        _LOG.error("%s/%s: a pass failed and will be repeated: %s", *key, text, exc_info=unforeseen)
    return text
