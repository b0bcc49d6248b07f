"""Which objects of one kind are worked on: one task per live object, woken by watch events, gone when it may rest.

Watch events only mark an object dirty. An object at rest holds no task and no memory here, but for a timer where it is
to be looked at again. One that is parked holds in addition what its kind keeps of it, and which version is known. The
body of either is read again for its next pass. So is that of an object whose pass failed, or whose pass has to wait for
its turn, but for one that is to wait with its body: any number of objects may have to wait, and a body may be large.
Each kind's Reconciler says what a pass does, and what is kept of an object between passes.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import Context
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from sshload_operator.control.api_server.cluster import Object
from sshload_operator.control.api_server.errors import ApiError

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


@dataclass(frozen=True, slots=True)
class Park:
    """Only an edit of its spec, its kind, or this long (None: as long as it takes) asks for another pass."""

    wake_after_s: float | None = None


Next: TypeAlias = Wait | Rest | Park


@dataclass(frozen=True, slots=True)
class Stamp:
    """Which object a body is of, and in which version: enough to tell whether another body is news."""

    uid: str
    generation: int
    version: int

    @classmethod
    def of(cls, body: Object) -> "Stamp":
        """Return the stamp of a body."""
        metadata = body["metadata"]
        return cls(metadata["uid"], metadata["generation"], version(body))

    def is_same_spec(self, other: "Stamp") -> bool:
        """Tell whether both are of one object with one spec."""
        return (self.uid, self.generation) == (other.uid, other.generation)


@dataclass(slots=True)
class Live(Generic[S]):
    """An object that is worked on. `body` is its newest version known, None where it is still to be read.

    `state` is what its kind keeps of it between passes, `newest` says which version is the newest known (None: none
    is), `told` which one the watch has told of last. While it `is_named` no body of it is kept.
    """

    body: Object | None
    state: S
    newest: Stamp | None = None
    told: int = 0
    is_named: bool = False
    dirty: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None

    def offer(self, body: Object) -> None:
        """Take in a version of the object, if it is newer; it needs a pass if its spec differs.

        The answer to a write of our own is offered like an event: the spec may have been edited in mid-pass, and then
        the event of the edit comes too late to be newer.
        """
        offered = Stamp.of(body)
        if self.newest is not None and offered.version <= self.newest.version:
            return
        if self.newest is None or not offered.is_same_spec(self.newest):
            self.dirty.set()
        self.newest = offered
        if not self.is_named:
            self.body = body

    def name_only(self) -> None:
        """Keep no body until `is_named` is unset: the next pass reads the object."""
        self.body, self.is_named = None, True

    def fill(self, read: Object | None) -> Object | None:
        """Take in what was read of an object that was only named, unless an event has told of it meanwhile.

        Another object of its name is None, as if it was gone: the watch will tell of both.
        """
        if self.body is not None or read is None:
            return self.body
        found = Stamp.of(read)
        if self.newest is not None and self.newest.uid != found.uid:
            return None
        if self.newest is None or self.newest.version < found.version:
            self.newest = found
        self.body = read
        return read


@dataclass(slots=True)
class Parked(Generic[S]):
    """An object that is parked: what its kind keeps of it, and which version is the newest known."""

    newest: Stamp
    state: S


class Reconciler(Protocol[S]):
    """What one kind's objects are worked on with."""

    def first_state(self, body: Object | None) -> S:
        """Return the state of an object of which nothing is known yet; `body` is None where it was only named."""

    def at_once(self, _live: Live[S]) -> Next | None:
        """Say how to go on with an object about which nothing is to be done or asked, so that it needs no turn."""
        return None

    async def do(self, key: Key, live: Live[S]) -> Next:
        """Do one pass, leave the newest version of the object in `live`, and say how to go on. May raise anything."""

    def kept(self, state: S) -> S:
        """Return what is kept of the state of an object that is parked."""
        return state

    def stay_parked_s(self, _key: Key, _state: S) -> float | None:
        """Return how long a parked object whose time is over may stay so; None where it needs a pass."""
        return None


class LiveObjects(Generic[S]):
    """All objects of one kind that are worked on, `at_once` of them at a time.

    `count_failure` is called for each pass that fails.
    """

    def __init__(
        self, reconciler: Reconciler[S], count_failure: Callable[[], None], at_once: int = _PASSES_AT_ONCE
    ) -> None:
        self._reconciler = reconciler
        self._count_failure = count_failure
        self._live: dict[Key, Live[S]] = {}
        self._parked: dict[Key, Parked[S]] = {}
        self._alarms: dict[Key, asyncio.TimerHandle] = {}
        self._untold: dict[Key, int] = {}
        self._turns = asyncio.Semaphore(at_once)

    def object_changed(self, event_type: str | None, body: Object) -> None:
        """Take in a watch event of an object of the kind; one no newer than what was known at rest says nothing."""
        key, seen = key_of(body), Stamp.of(body)
        is_gone = event_type == "DELETED"
        if self._is_known(key, seen, is_gone=is_gone):
            return
        if is_gone or "deletionTimestamp" in body["metadata"]:
            self._forget(key, seen.uid)
            return
        before = self.known(key)
        if before is not None and before.newest is not None and before.newest.uid != seen.uid:
            self._forget(key, before.newest.uid)
            before = None
        if isinstance(before, Live):
            before.told = max(before.told, seen.version)
            before.offer(body)
        elif before is not None and before.newest.is_same_spec(seen):
            before.newest = seen
        else:
            self._start(key, body)

    def _is_known(self, key: Key, seen: Stamp, *, is_gone: bool) -> bool:
        """Tell whether a version is no newer than what was known when the object came to rest, or was parked."""
        parked = self._parked.get(key)
        if parked is not None:
            return not is_gone and parked.newest.uid == seen.uid and seen.version <= parked.newest.version
        known = self._untold.get(key, 0)
        if seen.version >= known:
            self._untold.pop(key, None)
        return seen.version < known or (seen.version == known and not is_gone)

    def forget(self, is_gone: Callable[[Key], bool]) -> None:
        """Take in that objects are gone: no more is done about them."""
        for key in filter(is_gone, {*self._live, *self._parked, *self._alarms, *self._untold}):
            self._silence(key)
            self._untold.pop(key, None)
            self._parked.pop(key, None)
            live = self._live.pop(key, None)
            if live is not None and live.task is not None:
                live.task.cancel()

    def find(self, key: Key) -> Live[S] | None:
        """Return the object if it is worked on."""
        return self._live.get(key)

    def known(self, key: Key) -> Live[S] | Parked[S] | None:
        """Return the object if it is worked on or parked."""
        return self._live.get(key) or self._parked.get(key)

    def wake(self, key: Key) -> Live[S]:
        """Return the object; where it is at rest or parked, work on it begins, and the first pass has to read it."""
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
        parked = self._parked.pop(key, None)
        live = (
            Live(body, self._reconciler.first_state(body))
            if parked is None
            else Live(body, parked.state, parked.newest)
        )
        if body is not None:
            live.newest = Stamp.of(body)
            live.told = live.newest.version
        self._live[key] = live
        live.task = asyncio.create_task(self._work(key, live), name=f"{key[0]}/{key[1]}", context=_no_context())
        return live

    def _forget(self, key: Key, uid: str) -> None:
        before = self.known(key)
        if before is not None and before.newest is not None and before.newest.uid != uid:
            return
        self._silence(key)
        self._parked.pop(key, None)
        live = self._live.pop(key, None)
        if live is not None and live.task is not None:
            live.task.cancel()

    def _ring(self, key: Key) -> None:
        del self._alarms[key]
        parked = self._parked.get(key)
        again_s = None if parked is None else self._reconciler.stay_parked_s(key, parked.state)
        if again_s is None:
            self.wake(key)
        else:
            self._set_alarm(key, again_s)

    def _silence(self, key: Key) -> None:
        alarm = self._alarms.pop(key, None)
        if alarm is not None:
            alarm.cancel()

    async def _work(self, key: Key, live: Live[S]) -> None:
        """Reconcile until the object may rest. The one edge where unforeseen errors end."""
        failures, last_error, has_waited = 0, "", False
        while True:
            following: Next
            try:
                following = await self._pass(key, live, has_waited=has_waited)
                failures, last_error = 0, ""
            except Exception as error:  # noqa: BLE001 - one object's failure, foreseen or not, must not stop the others
                self._count_failure()
                last_error = _report(key, error, last_error)
                live.name_only()
                following = Wait(_BACK_OFF_S[min(failures, len(_BACK_OFF_S) - 1)])
                failures += 1
            if not isinstance(following, Wait) and not live.dirty.is_set():
                break
            has_waited = isinstance(following, Wait)
            with suppress(TimeoutError):
                await asyncio.wait_for(live.dirty.wait(), following.at_most_s if isinstance(following, Wait) else None)
            await asyncio.sleep(_SETTLE_S)
        if self._live.get(key) is live:
            self._rest(key, live, following)

    async def _pass(self, key: Key, live: Live[S], *, has_waited: bool) -> Next:
        """Do one pass in turn, and none where nothing is to be done or asked. One that `has_waited` keeps its body."""
        live.dirty.clear()
        following = self._reconciler.at_once(live)
        if following is not None:
            return following
        if not has_waited and self._turns.locked():
            live.name_only()
        async with self._turns:
            live.dirty.clear()
            live.is_named = False
            return await self._reconciler.do(key, live)

    def _rest(self, key: Key, live: Live[S], following: Rest | Park) -> None:
        """Let go of an object. No event comes between its last pass and this: nothing awaits in between."""
        self._silence(key)
        del self._live[key]
        if isinstance(following, Park) and live.newest is not None:
            self._parked[key] = Parked(live.newest, self._reconciler.kept(live.state))
        elif live.newest is not None and live.newest.version > live.told:
            self._untold[key] = live.newest.version
        if following.wake_after_s is not None:
            self._set_alarm(key, following.wake_after_s)

    def _set_alarm(self, key: Key, after_s: float) -> None:
        loop = asyncio.get_running_loop()
        self._alarms[key] = loop.call_later(after_s, self._ring, key, context=_no_context())


def _no_context() -> Context:
    """Return a context for a task or timer. kopf's has the body of the event, and would live as long as they do."""
    return Context()


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
