"""One pass over an object that owns tests: observe, decide, and carry out the decision in a safe order.

A cluster and the simulated clusters of the tests are worlds: the same code carries out the same decisions in each. A
pass may be interrupted anywhere: the next one finds what was done in the status and in the names of the tests.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from http import HTTPStatus
from typing import Any, Final, Generic, Protocol, TypeVar

from sshload_operator.api.kinds import TEST
from sshload_operator.api.names import label_value
from sshload_operator.control.api_server.announcement import About, announce
from sshload_operator.control.api_server.cluster import REFUSED, Cluster, Object, object_path
from sshload_operator.control.api_server.errors import ApiError
from sshload_operator.control.live.objects import Next, Rest
from sshload_operator.control.live.owned_tests import OwnedTests, OwnerKind, is_controlled_by, refresh
from sshload_operator.decision.life_cycle import decide
from sshload_operator.decision.owner import Cause, Obstacle, OwnedTest, OwnerDecision, OwnerSubject
from sshload_operator.manifests.labels import controller
from sshload_operator.state import Announcement, Manifest

# The pods, the tests, the pods again, the creation, and the status or what was in the way of the creation.
_MOST_ROUNDS: Final = 6

F = TypeVar("F", bound=OwnedTest)


@dataclass(frozen=True, slots=True)
class OwnerReconciled:
    """The result of a pass: the owner as it is now (None: it is gone), and how to go on."""

    body: Object | None
    following: Next


class OwnerWorld(Protocol[F]):
    """Where the tests of an owner are. Each operation is idempotent."""

    def tests(self) -> Sequence[F]:
        """Return the tests of the owner, as far as they are known."""

    async def decide(self, subject: OwnerSubject[F]) -> OwnerDecision:
        """Return the decision about these facts."""

    async def pods(self) -> Sequence[str]:
        """Return the names of the pods of all tests that the owner has made, of those that are deleted too."""

    async def look_again(self) -> bool:
        """List the owner's tests if the last list is old, and return whether it was."""

    async def is_there(self) -> bool:
        """Tell whether the owner still exists: nobody would use the result of a test without an owner."""

    async def create(self, test: Manifest) -> Obstacle | None:
        """Make a test, unless it was made before; return the obstacle if it could not be made."""

    async def abort(self, test: OwnedTest) -> None:
        """Abort a test. Its object stays, so that its result can be seen."""

    async def delete(self, test: OwnedTest) -> None:
        """Delete this test, but not another one of the same name."""

    async def write_status(self, status: Mapping[str, Any]) -> bool:
        """Write the owner's status, and return whether the owner is still there."""

    async def announce(self, announcements: Sequence[Announcement]) -> None:
        """Publish announcements, in a cluster as Events."""


async def execute(subject: OwnerSubject[F], world: OwnerWorld[F]) -> OwnerDecision | None:
    """Carry out what is decided about an owner, and return the last decision; None where the owner is gone."""
    has_looked = False
    for _ in range(_MOST_ROUNDS):
        subject = replace(subject, tests=world.tests())
        decision = await world.decide(subject)
        if decision.look_for_pods:
            subject = replace(subject, pods=await world.pods())
            continue
        if decision.create is not None and not has_looked:
            has_looked = True
            if await world.look_again():
                subject = replace(subject, pods=None)  # those of a test that only this list has shown are not known
                continue
        if decision.create is not None and not await world.is_there():
            return None
        await _end_tests(decision, world)
        obstacle = None if decision.create is None else await world.create(decision.create)
        if obstacle is not None:
            subject = replace(subject, obstacle=obstacle)
            continue
        if not await _report(decision, world):
            return None
        if decision.create is None or decision.status is not None:
            return decision
    return OwnerDecision(requeue_after_s=0.0)


async def _end_tests(decision: OwnerDecision, world: OwnerWorld[F]) -> None:
    for test in decision.delete:
        await world.delete(test)
    for test in decision.abort:
        await world.abort(test)


async def _report(decision: OwnerDecision, world: OwnerWorld[F]) -> bool:
    """Write the status, announce, delete outlived tests last; return whether the owner is still there."""
    if decision.status is not None and not await world.write_status(decision.status):
        return False
    await world.announce(decision.announcements)
    for test in decision.discard:
        await world.delete(test)
    return True


async def reconcile(cluster: Cluster, kind: OwnerKind[F], body: Object, tests: OwnedTests[F]) -> OwnerReconciled:
    """Do one pass. A thread parses a large spec and decides, because all objects share the event loop."""
    subject = await asyncio.to_thread(kind.subject, body)
    world = _ClusterWorld(cluster, kind, body, tests, subject.now)
    done = await execute(subject, world)
    if done is None:
        return OwnerReconciled(None, Rest())
    return OwnerReconciled(world.newest, Rest() if done.rests else tests.park(done.requeue_after_s, subject.now))


@dataclass(slots=True)
class _ClusterWorld(Generic[F]):
    """A cluster. `newest` is the owner as the API server returned it last, None if it is gone."""

    cluster: Cluster
    kind: OwnerKind[F]
    body: Object
    known: OwnedTests[F]
    now: datetime
    newest: Object | None = None

    def __post_init__(self) -> None:
        self.newest = self.body

    @property
    def _namespace(self) -> str:
        return str(self.body["metadata"]["namespace"])

    def tests(self) -> Sequence[F]:
        """Return the tests that were listed, or reported by the watch."""
        return tuple(self.known.facts.values())

    async def decide(self, subject: OwnerSubject[F]) -> OwnerDecision:
        """Decide in a thread: the intervals of a comparison's figures take time to compute."""
        return await asyncio.to_thread(decide, subject)

    async def pods(self) -> Sequence[str]:
        """Return the names of the pods that have the owner's label, as the API server lists them."""
        of_owner = f"{self.kind.label}={label_value(self.body['metadata']['name'])}"
        return [pod["metadata"]["name"] for pod in await self.cluster.list_pods(self._namespace, of_owner)]

    async def look_again(self) -> bool:
        """List the tests where the last list is old."""
        return await refresh(self.cluster, self.kind, self.body, self.known, self.kind.fresh_s)

    async def is_there(self) -> bool:
        """Read the owner: the watch may be behind."""
        metadata = self.body["metadata"]
        found = await self.cluster.read(self.kind.kind, metadata["namespace"], metadata["name"])
        if found is None or "deletionTimestamp" in found["metadata"]:
            return False
        return bool(found["metadata"]["uid"] == metadata["uid"])

    async def create(self, test: Manifest) -> Obstacle | None:
        """Create the test, and let work on it begin."""
        namespace, name = test["metadata"]["namespace"], test["metadata"]["name"]
        try:
            made = await self.cluster.create_new(object_path(TEST, namespace, name), test)
        except ApiError as error:
            if error.status not in REFUSED:
                raise
            is_quota_or_right = error.status == HTTPStatus.FORBIDDEN
            return Obstacle(Cause.REFUSED, f"the test {name} was refused: {error}", may_pass=is_quota_or_right)
        found = made or await self.cluster.read(TEST, namespace, name)
        if found is None:
            return Obstacle(Cause.REFUSED, f"a test {name} was there a moment ago and is gone now", may_pass=True)
        if not is_controlled_by(found, self.body["metadata"]["uid"]):
            return self._name_taken(found)
        self.known.made(found, self.kind.facts)
        return None

    def _name_taken(self, found: Object) -> Obstacle:
        """Return the obstacle that another test has the name.

        It may pass if that test is being deleted, or has an owner of this kind and name, which was an earlier one. A
        test without an owner has results that somebody wanted to keep.
        """
        metadata, word = found["metadata"], self.kind.kind.word
        owner = controller(metadata)
        names = self.kind.kind.name, self.body["metadata"]["name"]
        if "deletionTimestamp" in metadata or (owner.get("kind"), owner.get("name")) == names:
            message = f"the test {metadata['name']} of an earlier {word} of the same name still exists"
            return Obstacle(Cause.NAME_TAKEN, message, may_pass=True)
        if not owner and (metadata.get("labels") or {}).get(self.kind.label) == label_value(names[1]):
            left = f"an earlier {word} of the same name left the test {metadata['name']} without an owner"
            return Obstacle(Cause.NAME_TAKEN, f"{left} (kubectl delete --cascade=orphan): delete it", may_pass=True)
        message = f"there is a test {metadata['name']} that does not belong to this {word}: rename one of them"
        return Obstacle(Cause.NAME_TAKEN, message)

    async def abort(self, test: OwnedTest) -> None:
        """Set its spec.abort."""
        metadata = {"namespace": self._namespace, "name": test.name, "uid": test.uid}
        await self.cluster.set_spec(TEST, metadata, {"abort": True})

    async def delete(self, test: OwnedTest) -> None:
        """Delete the test. A conflict is raised if it still exists."""
        metadata = {"namespace": self._namespace, "name": test.name, "uid": test.uid}
        await self.cluster.delete_by_uid(TEST, metadata)
        self.known.drop(test.name)

    async def write_status(self, status: Mapping[str, Any]) -> bool:
        """Patch the status of the owner as it was last seen."""
        self.newest = await self.cluster.write_status(self.kind.kind, self.body, status)
        return self.newest is not None

    async def announce(self, announcements: Sequence[Announcement]) -> None:
        """Create Events, except those that were created recently."""
        metadata = self.body["metadata"]
        for said in announcements:
            about = About(self.kind.kind, metadata["namespace"], metadata["name"], metadata["uid"], said.occasion)
            if self.known.is_news(about, said):
                await announce(self.cluster, about, (said,), self.now)
