"""The SSHLoadTests that an object of ours makes and owns: what is seen of them, and what wakes their owner.

The watch tells of every change at once; a list corrects what it may have missed while the connection was away. An owner
finds its tests by a label with its name, and counts as its own only those whose controller has its uid.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, Generic, Protocol, TypeVar

from sshload_operator.api.kinds import TEST, Kind
from sshload_operator.api.names import label_value
from sshload_operator.control.api_server.announcement import About
from sshload_operator.control.api_server.cluster import Cluster, Object
from sshload_operator.control.live.objects import (
    Key,
    Park,
    key_of,
    version,
)
from sshload_operator.decision.owner import OwnedTest, OwnerSubject
from sshload_operator.state import Announcement

_REMEMBERED_ANNOUNCEMENTS: Final = 50
# A clock that is set tells nobody.
LONGEST_SLEEP_S: Final = 60.0

F = TypeVar("F", bound=OwnedTest)
F_co = TypeVar("F_co", bound=OwnedTest, covariant=True)


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
        return Park(None if wake_after_s is None else min(wake_after_s, LONGEST_SLEEP_S))

    def is_news(self, about: About, announcement: Announcement) -> bool:
        """Take in that something is said; returns whether it was not said lately."""
        if (about, announcement) in self.announced:
            return False
        self.announced.append((about, announcement))
        return True


class OwnerKind(Protocol[F_co]):
    """One kind of owners: SSHLoadTestSchedule or SSHLoadTestComparison.

    `label` is the tests' label with the owner's name. The tests are listed again in a pass after `list_every_s`, and
    before a test is made after `fresh_s`. A pass may take memory, so only `passes_at_once` go on at a time.
    """

    kind: Kind
    label: str
    list_every_s: float
    fresh_s: float
    passes_at_once: int

    def facts(self, test: Object) -> F_co:
        """Return what matters of a test to its owner; equal facts wake nobody."""

    def subject(self, body: Object) -> OwnerSubject[F_co]:
        """Return the owner that a decision is about, its tests left out."""


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
