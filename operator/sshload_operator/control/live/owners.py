"""The objects that own tests and are worked on: which watch event wakes which of them, and when one may rest."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias, TypeVar

from sshload_operator.api.names import label_value
from sshload_operator.control.api_server.cluster import Cluster, Object
from sshload_operator.control.live.objects import (
    Key,
    Live,
    LiveObjects,
    Next,
    Reconciler,
    Rest,
    keeps_children,
)
from sshload_operator.control.live.owned_tests import LONGEST_SLEEP_S, OwnedTests, OwnerKind, is_controlled_by, refresh
from sshload_operator.control.live.owner_pass import OwnerReconciled, reconcile
from sshload_operator.control.logs import log_about
from sshload_operator.decision.owner import OwnedTest
from sshload_operator.manifests.labels import controller

F = TypeVar("F", bound=OwnedTest)
OwnerPass: TypeAlias = Callable[[Cluster, OwnerKind[F], Object, OwnedTests[F]], Awaitable[OwnerReconciled]]
"""One pass over an owner of this kind, whose object and tests are given. May raise anything."""


class LiveOwners(LiveObjects[OwnedTests[F]]):
    """All owners of one kind.

    `begin` starts work on a test that an owner made. `count_failure` is called for each pass that fails.
    """

    def __init__(
        self,
        cluster: Cluster,
        kind: OwnerKind[F],
        begin: Callable[[Key], object],
        count_failure: Callable[[], None],
        pass_over: OwnerPass[F] = reconcile,
    ) -> None:
        super().__init__(_OwnerReconciler(cluster, kind, begin, pass_over), count_failure, kind.passes_at_once)
        self._kind = kind

    def test_changed(self, event_type: str | None, test: Object) -> None:
        """Take in a watch event of any SSHLoadTest. An owner at rest is not woken: its tests do not matter to it."""
        key = self._owner_of(test)
        known = None if key is None else self.known(key)
        if key is None or known is None or known.newest is None or not is_controlled_by(test, known.newest.uid):
            return
        if known.state.changed(event_type, test, self._kind.facts):
            self.wake(key).dirty.set()

    def _owner_of(self, test: Object) -> Key | None:
        """Return the owner that both the controller reference and the label of a test name; None if there is none.

        Whether it is that very owner is told by its uid alone.
        """
        metadata = test["metadata"]
        name = str(controller(metadata).get("name", ""))
        labelled = metadata.get("labels", {}).get(self._kind.label) == label_value(name)
        return (metadata["namespace"], name) if labelled else None


@dataclass(frozen=True, slots=True)
class _OwnerReconciler(Reconciler[OwnedTests[F]]):
    """Does the passes over owners of one kind."""

    cluster: Cluster
    kind: OwnerKind[F]
    begin: Callable[[Key], object]
    pass_over: OwnerPass[F]

    def first_state(self, _body: Object | None) -> OwnedTests[F]:
        """Return the state of an owner whose tests have not been looked for."""
        return OwnedTests(self.begin)

    def stay_parked_s(self, _key: Key, tests: OwnedTests[F]) -> float | None:
        """Return how long until a parked owner is due, or its tests are to be listed again; None where it is time."""
        left_s = [LONGEST_SLEEP_S]
        if tests.listed_at_s is not None:
            left_s.append(tests.listed_at_s + self.kind.list_every_s - time.monotonic())
        if tests.due_at is not None:
            left_s.append((tests.due_at - datetime.now(UTC)).total_seconds())
        return min(left_s) if min(left_s) > 0 else None

    async def do(self, key: Key, live: Live[OwnedTests[F]]) -> Next:
        """Do one pass over an owner, its tests listed again where the last list is old."""
        log_about(**{"namespace": key[0], self.kind.kind.word: key[1]})
        body = live.body or live.fill(await self.cluster.read(self.kind.kind, *key))
        if body is None or keeps_children(body):
            return Rest()
        await refresh(self.cluster, self.kind, body, live.state, self.kind.list_every_s)
        done = await self.pass_over(self.cluster, self.kind, body, live.state)
        if done.body is None:
            return Rest()
        live.offer(done.body)
        return done.following
