"""The objects of one kind that are worked on: each has a task, which watch events wake, until it may rest.

Watch events only mark an object dirty. An object at rest has no task and takes no memory here, except for a timer if it
needs a pass later. A parked object also keeps its kind's state and its newest known version. The next pass of an object
at rest, or of a parked one, reads its body again. So does the next pass after one that failed. An object that waits for
its turn keeps its body only if its last pass ended with a Wait: any number of objects may have to wait, and a body may
be large. Each kind's Reconciler says what a pass does, and what is kept of an object between passes.
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
from sshload_operator.control.turns import SharedRoom

_LOG = logging.getLogger(__name__)
# An object often changes several times in a moment; one pass handles all of these changes.
_SETTLE_S: Final = 0.05
# If more objects need a pass, they wait for their turn. Each pass reads its facts when its turn has come, so that they
# are not stale.
_PASSES_AT_ONCE: Final = 32
_ORPHAN: Final = "orphan"
_BACK_OFF_S: Final = (1.0, 1.0, 2.0, 3.0, 5.0, 10.0, 15.0, 30.0)

Key = tuple[str, str]
S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait for the next event, but at most this long (None: without a limit)."""

    at_most_s: float | None


@dataclass(frozen=True, slots=True)
class Rest:
    """Nothing more is to be done: forget the object until its next event, or for this long (None: for good)."""

    wake_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class Park:
    """No more passes until the spec is edited, the kind asks for one, or this long is over (None: never)."""

    wake_after_s: float | None = None


Next: TypeAlias = Wait | Rest | Park


@dataclass(frozen=True, slots=True)
class Stamp:
    """The identity and the version of a body: enough to tell whether another body is newer, and asks for more."""

    uid: str
    generation: int
    version: int
    deleting: bool

    @classmethod
    def of(cls, body: Object) -> "Stamp":
        """Return the stamp of a body."""
        metadata = body["metadata"]
        return cls(metadata["uid"], metadata["generation"], version(body), is_deleting(body))

    def is_same_spec(self, other: "Stamp") -> bool:
        """Tell whether both are of one object with one spec, and deleted both or neither."""
        return (self.uid, self.generation, self.deleting) == (other.uid, other.generation, other.deleting)


@dataclass(slots=True)
class Live(Generic[S]):
    """An object that is worked on. `body` is its newest known version, None if it is still to be read.

    `state` is what its kind keeps of it between passes, `newest` identifies the newest known version (None: none is
    known), and `told` is the newest version that the watch has reported. While `is_named` is set, no body is kept.
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

        The answer to a write of our own is offered like an event: the spec may have been edited during the pass, and
        then the event of the edit comes too late to be newer.
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
        """Take in what was read of an object that was only named, unless an event has brought its body meanwhile.

        For another object of the same name, return None, as if the object were gone: the watch will report both.
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
    """A parked object: what its kind keeps of it, and its newest known version."""

    newest: Stamp
    state: S


class Reconciler(Protocol[S]):
    """How the objects of one kind are reconciled."""

    def first_state(self, body: Object | None) -> S:
        """Return the state of an object of which nothing is known yet; `body` is None if it was only named."""

    def at_once(self, _live: Live[S]) -> Next | None:
        """Return how to go on with an object that needs neither work nor requests, and so no turn; None for others."""
        return None

    async def do(self, key: Key, live: Live[S]) -> Next:
        """Do one pass, leave the newest version of the object in `live`, return how to go on. May raise anything."""

    def kept(self, state: S) -> S:
        """Return the part of the state that is kept while the object is parked."""
        return state

    def stay_parked_s(self, _key: Key, _state: S) -> float | None:
        """Return how much longer a parked object whose time is over may stay parked; None if it needs a pass."""
        return None


class LiveObjects(Generic[S]):
    """All objects of one kind that are worked on, `at_once` of them at a time. Namespaces take turns.

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
        self._room = SharedRoom(at_once)

    def object_changed(self, event_type: str | None, body: Object) -> None:
        """Take in a watch event of an object; ignore a version that was already known when the object came to rest."""
        key, seen = key_of(body), Stamp.of(body)
        is_gone = event_type == "DELETED"
        if self._is_known(key, seen, is_gone=is_gone):
            return
        if is_gone or keeps_children(body):
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
        """Stop work on objects that are gone, and forget them."""
        for key in filter(is_gone, {*self._live, *self._parked, *self._alarms, *self._untold}):
            self._untold.pop(key, None)
            self._drop(key)

    def find(self, key: Key) -> Live[S] | None:
        """Return the object if it is worked on."""
        return self._live.get(key)

    def known(self, key: Key) -> Live[S] | Parked[S] | None:
        """Return the object if it is worked on or parked."""
        return self._live.get(key) or self._parked.get(key)

    def wake(self, key: Key) -> Live[S]:
        """Return the object. If it is at rest or parked, start work on it: the first pass has to read it."""
        return self._live.get(key) or self._start(key, None)

    async def stop(self) -> None:
        """Cancel all tasks, wherever they are in their passes, and wait for their ends."""
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
        self._drop(key)

    def _drop(self, key: Key) -> None:
        self._silence(key)
        self._parked.pop(key, None)
        live = self._live.pop(key, None)
        if live is not None and live.task is not None:
            live.task.cancel()

    def _ring(self, key: Key) -> None:
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
        """Reconcile until the object may rest. Only this function catches unforeseen errors."""
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
        """Do one pass when it is the object's turn, or none if the object needs no work.

        An object that `has_waited` keeps its body.
        """
        namespace, _ = key
        live.dirty.clear()
        following = self._reconciler.at_once(live)
        if following is not None:
            return following
        if not has_waited and self._room.is_full:
            live.name_only()
        async with self._room.place(namespace):
            # What changed while it waited for its turn is in what it reads now.
            live.dirty.clear()
            live.is_named = False
            return await self._reconciler.do(key, live)

    def _rest(self, key: Key, live: Live[S], following: Rest | Park) -> None:
        """Release an object. No event can come between its last pass and this, because nothing awaits in between."""
        del self._live[key]
        if isinstance(following, Park) and live.newest is not None:
            self._parked[key] = Parked(live.newest, self._reconciler.kept(live.state))
        elif live.newest is not None and live.newest.version > live.told:
            self._untold[key] = live.newest.version
        if following.wake_after_s is not None:
            self._set_alarm(key, following.wake_after_s)

    def _set_alarm(self, key: Key, after_s: float) -> None:
        self._alarms[key] = asyncio.get_running_loop().call_later(after_s, self._ring, key)


def _no_context() -> Context:
    """Return a context for a task and its timers. kopf's has the body of the event, which would stay in memory."""
    return Context()


def is_deleting(body: Object) -> bool:
    """Return whether the object was deleted and remains for its finalizers."""
    return "deletionTimestamp" in body["metadata"]


def keeps_children(body: Object) -> bool:
    """Return whether the object was deleted with `--cascade=orphan`: its children are somebody else's from now on."""
    return is_deleting(body) and _ORPHAN in body["metadata"].get("finalizers", ())


def key_of(body: Object) -> Key:
    """Return namespace and name of an object."""
    return body["metadata"]["namespace"], body["metadata"]["name"]


def version(body: Mapping[str, Any]) -> int:
    """Return the resourceVersion as a number, which Kubernetes guarantees since 1.35, to tell which one is newer."""
    return int(body["metadata"]["resourceVersion"])


def _report(key: Key, error: Exception, last_error: str) -> str:
    """Log an error once, however often it repeats, and return its text. Only unforeseen errors have a traceback."""
    text = f"{type(error).__name__}: {error}"
    if text != last_error:
        unforeseen = None if isinstance(error, ApiError) else error
        _LOG.error("%s/%s: a pass failed and will be repeated: %s", *key, text, exc_info=unforeseen)
    return text
