"""The SSHLoadTests that an object of ours makes and owns: what is seen of them, and what wakes their owner.

The watch tells of every change at once; a list corrects what it may have missed while the connection was away. An owner
finds its tests by a label with its name, and counts as its own only those whose controller has its uid.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Protocol, TypeVar

from sshload_operator.api.kinds import TEST, Kind
from sshload_operator.control.cluster import Cluster, Object, object_path
from sshload_operator.control.live_objects import Key, Live, LiveObjects, Next, Rest, newer, version

_LIST_EVERY_S: Final = 30.0

F = TypeVar("F")


@dataclass(slots=True)
class OwnedTests(Generic[F]):
    """The tests of one owner by name, as its kind's facts; each with the version it was seen in."""

    facts: dict[str, F] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    listed_at_s: float | None = None

    def put(self, test: Object, facts: F) -> bool:
        """Take in a version of a test; returns whether it is newer than the one known, and its facts differ."""
        name = test["metadata"]["name"]
        if version(test) <= self.versions.get(name, 0):
            return False
        news = self.facts.get(name) != facts
        self.facts[name], self.versions[name] = facts, version(test)
        return news

    def drop(self, name: str) -> bool:
        """Take in that a test is gone; returns whether it was known."""
        self.versions.pop(name, None)
        return self.facts.pop(name, None) is not None


@dataclass(frozen=True, slots=True)
class OwnerPass:
    """What came of a pass: the owner as it is now (None: it is gone), and what is to follow."""

    body: Object | None
    following: Next


class OwnerKind(Protocol[F]):
    """One kind of owners: SSHLoadTestSchedule or SSHLoadTestComparison. `label` holds the owner's name."""

    kind: Kind
    label: str

    def facts(self, test: Object) -> F:
        """Return what matters of a test to its owner; equal facts wake nobody."""

    async def reconcile(self, cluster: Cluster, body: Object, tests: OwnedTests[F]) -> OwnerPass:
        """Do one pass over an owner and its tests. May raise anything."""


class LiveOwners(LiveObjects[OwnedTests[F]]):
    """All owners of one kind. `count_failure` is called for each pass that fails."""

    def __init__(self, cluster: Cluster, kind: OwnerKind[F], count_failure: Callable[[], None]) -> None:
        super().__init__(_OwnerPasses(cluster, kind), count_failure)
        self._kind = kind

    def test_changed(self, event_type: str | None, test: Object) -> None:
        """Take in a watch event of any SSHLoadTest. An owner at rest is not woken: its tests mean nothing to it."""
        metadata = test["metadata"]
        owner = metadata.get("labels", {}).get(self._kind.label)
        live = self.find((metadata["namespace"], owner)) if owner else None
        if live is None or live.body is None or not is_controlled_by(test, live.body):
            return
        tests = live.sight
        is_gone = event_type == "DELETED"
        news = tests.drop(metadata["name"]) if is_gone else tests.put(test, self._kind.facts(test))
        if news:
            live.dirty.set()


@dataclass(frozen=True, slots=True)
class _OwnerPasses(Generic[F]):
    """Passes over owners of one kind."""

    cluster: Cluster
    kind: OwnerKind[F]

    def first_sight(self, _body: Object | None) -> OwnedTests[F]:
        """Return the sight of an owner whose tests have not been looked for."""
        return OwnedTests()

    async def do(self, key: Key, live: Live[OwnedTests[F]]) -> Next:
        """Do one pass over an owner, its tests listed anew where the last list is old."""
        live.body = body = live.body or await self.cluster.read(self.kind.kind, *key)
        if body is None or "deletionTimestamp" in body["metadata"]:
            return Rest()
        if live.sight.listed_at_s is None or time.monotonic() - live.sight.listed_at_s > _LIST_EVERY_S:
            await self._list(live.sight, body)
        done = await self.kind.reconcile(self.cluster, body, live.sight)
        if done.body is None:
            return Rest()
        live.body = newer(done.body, live.body)
        return done.following

    async def _list(self, tests: OwnedTests[F], owner: Object) -> None:
        metadata = owner["metadata"]
        found = await self.cluster.list_ours(TEST, metadata["namespace"], f"{self.kind.label}={metadata['name']}")
        mine = {test["metadata"]["name"]: test for test in found if is_controlled_by(test, owner)}
        for name in set(tests.facts) - set(mine):
            tests.drop(name)
        for test in mine.values():
            tests.put(test, self.kind.facts(test))
        tests.listed_at_s = time.monotonic()


def is_controlled_by(child: Mapping[str, Any], owner: Mapping[str, Any]) -> bool:
    """Return whether the owner is the child's controller, as its ownerReferences say."""
    references = child["metadata"].get("ownerReferences", ())
    return any(found.get("controller") and found["uid"] == owner["metadata"]["uid"] for found in references)


async def delete_owned_test(cluster: Cluster, namespace: str, name: str, uid: str) -> bool:
    """Delete a test, and no other one of the same name; returns False where it was gone already."""
    return await cluster.delete(object_path(TEST, namespace, name), {"uid": uid})
