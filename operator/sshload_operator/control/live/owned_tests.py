"""The SSHLoadTests that an object of ours makes and owns: what is seen of them, and what wakes their owner.

The watch tells of every change at once; a list corrects what it may have missed while the connection was away. An owner
finds its tests by a label with its name, and counts as its own only those whose controller has its uid.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final, Generic, Protocol, TypeVar

from sshload_operator.api.kinds import TEST, Kind
from sshload_operator.api.names import label_value
from sshload_operator.control.api_server.announcement import About
from sshload_operator.control.api_server.cluster import Cluster, Object
from sshload_operator.control.live.objects import (
    Key,
    Live,
    LiveObjects,
    Next,
    Park,
    Reconciler,
    Rest,
    key_of,
    version,
)
from sshload_operator.control.logs import log_about
from sshload_operator.manifests.labels import controller
from sshload_operator.state import Announcement

_REMEMBERED_ANNOUNCEMENTS: Final = 50
# A clock that is set tells nobody.
_LONGEST_SLEEP_S: Final = 60.0

F = TypeVar("F")


def _announcements() -> "deque[tuple[About, Announcement]]":
    return deque(maxlen=_REMEMBERED_ANNOUNCEMENTS)


@dataclass(slots=True)
class OwnedTests(Generic[F]):
    """The tests of one owner by name, as its kind's facts; each with the version it was seen in.

    `begin` lets work on a test begin. `told` are the names of tests that the watch told of since a list was asked for.
    `announced` is what was said of the owner lately, so that saying it again in each pass costs no request. `due_at` is
    when a parked owner needs a pass though nothing has changed, None for never.
    """

    begin: Callable[[Key], object]
    facts: dict[str, F] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)
    listed_at_s: float | None = None
    announced: deque[tuple[About, Announcement]] = field(default_factory=_announcements)
    due_at: datetime | None = None

    def put(self, test: Object, facts: Callable[[Object], F]) -> bool:
        """Take in a version of a test; returns whether it is newer than the one known, and its facts differ.

        `facts` is not called for a version that is known: it can take long.
        """
        name = test["metadata"]["name"]
        if version(test) <= self.versions.get(name, 0):
            return False
        found = facts(test)
        news = self.facts.get(name) != found
        self.facts[name], self.versions[name] = found, version(test)
        return news

    def made(self, test: Object, facts: Callable[[Object], F]) -> None:
        """Take in a test that the owner made, and let work on it begin: the watch's event of it may be lost."""
        self.put(test, facts)
        self.begin(key_of(test))

    def drop(self, name: str) -> bool:
        """Take in that a test is gone; returns whether it was known."""
        self.versions.pop(name, None)
        return self.facts.pop(name, None) is not None

    def changed(self, event_type: str | None, test: Object, facts: Callable[[Object], F]) -> bool:
        """Take in a watch event of a test, unless a list has told of what came later; returns whether it is news."""
        name = test["metadata"]["name"]
        if version(test) < self.versions.get(name, 0):
            return False
        self.told.add(name)
        if event_type != "DELETED":
            return self.put(test, facts)
        self.versions[name] = version(test)
        return self.facts.pop(name, None) is not None

    def listed(self, names: Iterable[str]) -> None:
        """Take in that a list has no other tests; it was asked for when `told` was empty, and each was put as it came.

        What the watch has told of since may be newer.
        """
        for name in {*self.facts, *self.versions} - self.told - {*names}:
            self.drop(name)

    def park(self, wake_after_s: float | None, now: datetime) -> Park:
        """Return the wait of an owner that is due in so long, None for never. Its clock is looked at every minute."""
        self.due_at = None if wake_after_s is None else now + timedelta(seconds=wake_after_s)
        return Park(None if wake_after_s is None else min(wake_after_s, _LONGEST_SLEEP_S))

    def is_news(self, about: About, announcement: Announcement) -> bool:
        """Take in that something is said; returns whether it was not said lately."""
        if (about, announcement) in self.announced:
            return False
        self.announced.append((about, announcement))
        return True


@dataclass(frozen=True, slots=True)
class OwnerReconciled:
    """What came of a pass: the owner as it is now (None: it is gone), and what is to follow."""

    body: Object | None
    following: Next


class OwnerKind(Protocol[F]):
    """One kind of owners: SSHLoadTestSchedule or SSHLoadTestComparison.

    `label` is the tests' label with the owner's name. The tests are listed anew in a pass after `list_every_s`. A pass
    may take memory, so only `passes_at_once` go on at a time.
    """

    kind: Kind
    label: str
    list_every_s: float
    passes_at_once: int

    def facts(self, test: Object) -> F:
        """Return what matters of a test to its owner; equal facts wake nobody."""

    async def reconcile(self, cluster: Cluster, body: Object, tests: OwnedTests[F]) -> OwnerReconciled:
        """Do one pass over an owner and its tests. May raise anything."""


class LiveOwners(LiveObjects[OwnedTests[F]]):
    """All owners of one kind.

    `begin` lets work on a test that one of them made begin. `count_failure` is called for each pass that fails.
    """

    def __init__(
        self,
        cluster: Cluster,
        kind: OwnerKind[F],
        begin: Callable[[Key], object],
        count_failure: Callable[[], None],
    ) -> None:
        super().__init__(_OwnerReconciler(cluster, kind, begin), count_failure, kind.passes_at_once)
        self._kind = kind

    def test_changed(self, event_type: str | None, test: Object) -> None:
        """Take in a watch event of any SSHLoadTest. An owner at rest is not woken: its tests mean nothing to it."""
        key = self._owner_of(test)
        known = None if key is None else self.known(key)
        if key is None or known is None or known.newest is None or not is_controlled_by(test, known.newest.uid):
            return
        if known.state.changed(event_type, test, self._kind.facts):
            self.wake(key).dirty.set()

    def _owner_of(self, test: Object) -> Key | None:
        """Return the owner that a test's controller reference names, and its label too; None where there is none."""
        metadata = test["metadata"]
        owner = controller(metadata)
        name = str(owner.get("name", ""))
        if owner.get("kind") != self._kind.kind.name:
            return None
        labelled = metadata.get("labels", {}).get(self._kind.label) == label_value(name)
        return (metadata["namespace"], name) if labelled else None


@dataclass(frozen=True, slots=True)
class _OwnerReconciler(Reconciler[OwnedTests[F]]):
    """Does the passes over owners of one kind."""

    cluster: Cluster
    kind: OwnerKind[F]
    begin: Callable[[Key], object]

    def first_state(self, _body: Object | None) -> OwnedTests[F]:
        """Return the state of an owner whose tests have not been looked for."""
        return OwnedTests(self.begin)

    def stay_parked_s(self, _key: Key, tests: OwnedTests[F]) -> float | None:
        """Return how long until a parked owner is due, or its tests are to be listed anew; None where it is time."""
        left_s = [_LONGEST_SLEEP_S]
        if tests.listed_at_s is not None:
            left_s.append(tests.listed_at_s + self.kind.list_every_s - time.monotonic())
        if tests.due_at is not None:
            left_s.append((tests.due_at - datetime.now(UTC)).total_seconds())
        return min(left_s) if min(left_s) > 0 else None

    async def do(self, key: Key, live: Live[OwnedTests[F]]) -> Next:
        """Do one pass over an owner, its tests listed anew where the last list is old."""
        log_about(**{"namespace": key[0], self.kind.kind.word: key[1]})
        body = live.body or live.fill(await self.cluster.read(self.kind.kind, *key))
        if body is None or "deletionTimestamp" in body["metadata"]:
            return Rest()
        await refresh(self.cluster, self.kind, body, live.state, self.kind.list_every_s)
        done = await self.kind.reconcile(self.cluster, body, live.state)
        if done.body is None:
            return Rest()
        live.offer(done.body)
        return done.following


async def refresh(
    cluster: Cluster, kind: OwnerKind[F], owner: Object, tests: OwnedTests[F], older_than_s: float
) -> bool:
    """List the owner's tests where the last list is older than this; returns whether it was."""
    if tests.listed_at_s is not None and time.monotonic() - tests.listed_at_s <= older_than_s:
        return False
    metadata = owner["metadata"]
    tests.told.clear()
    selector = f"{kind.label}={label_value(metadata['name'])}"
    names = await cluster.list_ours(TEST, metadata["namespace"], selector, partial(_put_if_mine, kind, owner, tests))
    tests.listed(filter(None, names))
    tests.listed_at_s = time.monotonic()
    return True


def _put_if_mine(kind: OwnerKind[F], owner: Object, tests: OwnedTests[F], test: Object) -> str:
    """Take in a test of a list and return its name; "" where it is not the owner's."""
    if not is_controlled_by(test, owner["metadata"]["uid"]):
        return ""
    tests.put(test, kind.facts)
    return str(test["metadata"]["name"])


def is_controlled_by(child: Mapping[str, Any], owner_uid: str) -> bool:
    """Return whether the object of this uid is the child's controller, as the child's ownerReferences say."""
    references = child["metadata"].get("ownerReferences", ())
    return any(found.get("controller") and found["uid"] == owner_uid for found in references)


async def delete_owned_test(cluster: Cluster, namespace: str, name: str, uid: str) -> None:
    """Delete a test, and no other one of the same name. A conflict is raised where that very test is still there."""
    await cluster.delete_that_very_one(TEST, {"namespace": namespace, "name": name, "uid": uid})
