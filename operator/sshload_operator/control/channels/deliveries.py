"""The deliveries that are under way: each end of a run at least once. The passes do not wait for them.

A delivery is tried until the receiver accepts it, or until it is too old. An annotation on the object says that it was
delivered. An event for which there is no room here stays on its object, and is found by a list once there is room
again.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Sequence
from contextvars import Context
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Final

from sshload_operator.api.kinds import COMPARISON, TEST, Kind
from sshload_operator.control.api_server.cluster import Cluster, Object
from sshload_operator.control.api_server.errors import ApiError
from sshload_operator.control.channels.channel import Channel, Sender
from sshload_operator.control.channels.ends import Notification, back_off_s, due, notified_annotation
from sshload_operator.control.posting import Posted

_LOG = logging.getLogger(__name__)
_MOST_PENDING: Final = 1_000
_POSTS_AT_ONCE: Final = 4
# A watch may report versions from before the annotation; these are not sent again.
_MOST_REMEMBERED: Final = 1_000


@dataclass(frozen=True, slots=True)
class Counts:
    """The counters of deliveries: attempts by outcome, and how many events are pending."""

    attempt: Callable[[str, int], None]
    pending: Callable[[int], None]


@dataclass(slots=True)
class Deliveries:
    """All deliveries on one channel. `namespaces` are those that the operator watches, empty for all."""

    cluster: Cluster
    name: str
    channel: Channel
    sender: Sender
    namespaces: Sequence[str]
    counts: Counts
    most_pending: int = _MOST_PENDING
    _tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _done: dict[str, None] = field(default_factory=dict)
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_POSTS_AT_ONCE))
    _has_left_out: bool = False
    _looking: asyncio.Task[None] | None = None
    _last_problem: str = ""
    _is_stopped: bool = False

    def __post_init__(self) -> None:
        for end in Posted:
            if end is not Posted.PARTIAL:
                self.counts.attempt(end, 0)
        self.counts.pending(0)

    def object_changed(self, kind: Kind, body: Object) -> None:
        """Take in a version of an object, also of a deleted one: begin a delivery if one is due."""
        self._offer(due(kind, body, self.name, self.channel, datetime.now(UTC)))

    async def stop(self) -> None:
        """Cancel all deliveries, at whatever point they are. The objects tell which were not made."""
        self._is_stopped = True
        tasks = [*self._tasks.values(), *([self._looking] if self._looking is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _offer(self, found: Notification | None) -> None:
        if found is None or found.id in self._tasks or found.id in self._done:
            return
        if len(self._tasks) >= self.most_pending:
            self._has_left_out = True
            return
        # kopf's context has the body of the event, and would live as long as the task does.
        task = asyncio.create_task(self._deliver(found), name=f"{self.name} {found.id}", context=Context())
        self._tasks[found.id] = task
        self.counts.pending(len(self._tasks))

    async def _deliver(self, found: Notification) -> None:
        try:
            if await self._post_until_taken(found):
                await self._mark(found)
                self._remember(found.id)
        finally:
            del self._tasks[found.id]
            self.counts.pending(len(self._tasks))
            self._look_for_what_was_left_out()

    async def _post_until_taken(self, found: Notification) -> bool:
        """Return whether the receiver accepted the event before it was too old."""
        failures = 0
        while datetime.now(UTC) < found.until:
            async with self._turns:
                attempt = await self.sender.post(found, datetime.now(UTC))
            self.counts.attempt(attempt.end, 1)
            self._report(found, attempt.message)
            if attempt.end is Posted.DELIVERED:
                return True
            failures += 1
            await asyncio.sleep(self._pause_s(failures))
        self.counts.attempt(Posted.GIVEN_UP, 1)
        _LOG.error("%s/%s: the end of its run was not delivered in time, and is given up", found.namespace, found.name)
        return False

    async def _mark(self, found: Notification) -> None:
        """Annotate the object with what was delivered; repeat that until it is accepted or too old."""
        metadata = {"namespace": found.namespace, "name": found.name, "uid": found.uid}
        failures = 0
        while datetime.now(UTC) < found.until:
            try:
                await self.cluster.annotate(found.kind, metadata, {notified_annotation(self.name): found.id})
            except ApiError as error:
                failures += 1
                if failures == 1:
                    _LOG.warning("%s/%s: cannot note what was delivered: %s", found.namespace, found.name, error)
                await asyncio.sleep(self._pause_s(failures))
            else:
                return

    def _remember(self, event_id: str) -> None:
        self._done[event_id] = None
        if len(self._done) > _MOST_REMEMBERED:
            del self._done[next(iter(self._done))]

    def _report(self, found: Notification, problem: str) -> None:
        """Log a problem once, however many deliveries it affects, and its end."""
        if problem and problem != self._last_problem:
            receiver = self.channel.receiver
            name = f"{found.namespace}/{found.name}"
            _LOG.warning("%s: %s did not accept the end of its run, and it is sent again: %s", name, receiver, problem)
        if not problem and self._last_problem:
            _LOG.info("%s accepts events again", self.channel.receiver)
        self._last_problem = problem

    def _look_for_what_was_left_out(self) -> None:
        is_looking = self._looking is not None and not self._looking.done()
        has_room = len(self._tasks) <= self.most_pending // 2
        if self._has_left_out and has_room and not is_looking and not self._is_stopped:
            self._has_left_out = False
            self._looking = asyncio.create_task(self._look(), name=f"{self.name} list", context=Context())
            self._looking.add_done_callback(lambda _: self._look_for_what_was_left_out())

    async def _look(self) -> None:
        """List all objects, and begin the deliveries that are due."""
        failures = 0
        for kind in (TEST, COMPARISON):
            for namespace in self.namespaces or ("",):
                while not await self._list(kind, namespace):
                    failures += 1
                    await asyncio.sleep(self._pause_s(failures))

    async def _list(self, kind: Kind, namespace: str) -> bool:
        """Begin the deliveries that are due for listed objects, page by page; return whether the list was complete."""
        try:
            await self.cluster.list_ours(kind, namespace, "", partial(self.object_changed, kind))
        except ApiError as error:
            _LOG.warning("cannot list what is to be delivered, and tries again: %s", error)
            return False
        return True

    def _pause_s(self, failures: int) -> float:
        return back_off_s(failures, random.random())  # noqa: S311 - it spreads attempts, and keeps no secret
