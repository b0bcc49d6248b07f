"""The SSHLoadTests that an object of ours makes and owns: what is seen of them, and what wakes their owner.

The watch reports every change at once. A list corrects what it may have missed while its connection was broken. An
owner finds its tests by a label with its name, and counts as its own only those whose controller has its uid.
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
# Nothing reports that the clock was set.
LONGEST_SLEEP_S: Final = 60.0

F = TypeVar("F", bound=OwnedTest)
F_co = TypeVar("F_co", bound=OwnedTest, covariant=True)


def _announcements() -> "deque[tuple[About, Announcement]]":
    return deque(maxlen=_REMEMBERED_ANNOUNCEMENTS)


@dataclass(slots=True)
class OwnedTests(Generic[F]):
    """The tests of one owner by name, as its kind's facts; each with the version it was seen in.

    `begin` starts work on a test. `told` has the names of the tests that the watch has reported since the last list was
    requested. `announced` has the owner's recent announcements, so that repeating one in each pass costs no request.
    `due_at` is when a parked owner needs a pass although nothing has changed, None for never.
    """

    begin: Callable[[Key], object]
    facts: dict[str, F] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)
    listed_at_s: float | None = None
    announced: deque[tuple[About, Announcement]] = field(default_factory=_announcements)
    due_at: datetime | None = None

    def put(self, test: Object, facts: Callable[[Object], F]) -> bool:
        """Take in a version of a test; returns whether it is newer than the known one and has different facts.

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
        """Take in a test that the owner made, and start work on it: the watch's event may be lost."""
        self.put(test, facts)
        self.begin(key_of(test))

    def drop(self, name: str) -> bool:
        """Take in that a test is gone; returns whether it was known."""
        self.versions.pop(name, None)
        return self.facts.pop(name, None) is not None

    def changed(self, event_type: str | None, test: Object, facts: Callable[[Object], F]) -> bool:
        """Take in a watch event of a test, unless a list had a later version; returns whether the facts changed."""
        name = test["metadata"]["name"]
        if version(test) < self.versions.get(name, 0):
            return False
        self.told.add(name)
        if event_type != "DELETED":
            return self.put(test, facts)
        self.versions[name] = version(test)
        return self.facts.pop(name, None) is not None

    def listed(self, names: Iterable[str]) -> None:
        """Forget the tests that a list does not name. Those that it names were put when their pages arrived.

        Tests in `told` stay, because what the watch has reported since the list was requested may be newer.
        """
        for name in {*self.facts, *self.versions} - self.told - {*names}:
            self.drop(name)

    def park(self, wake_after_s: float | None, now: datetime) -> Park:
        """Return how an owner waits that is due after this long, None for never.

        It waits at most a minute at a time, because the clock may be set.
        """
        self.due_at = None if wake_after_s is None else now + timedelta(seconds=wake_after_s)
        return Park(None if wake_after_s is None else min(wake_after_s, LONGEST_SLEEP_S))

    def is_news(self, about: About, announcement: Announcement) -> bool:
        """Record an announcement; returns False if it was made recently."""
        if (about, announcement) in self.announced:
            return False
        self.announced.append((about, announcement))
        return True


class OwnerKind(Protocol[F_co]):
    """One kind of owners: SSHLoadTestSchedule or SSHLoadTestComparison.

    `label` is the tests' label with the owner's name. A pass lists the tests again if the last list is older than
    `list_every_s`, or, before it makes a test, older than `fresh_s`. Passes may take much memory, so at most
    `passes_at_once` run at a time.
    """

    kind: Kind
    label: str
    list_every_s: float
    fresh_s: float
    passes_at_once: int

    def facts(self, test: Object) -> F_co:
        """Return the facts of a test that matter to its owner. A change that leaves them equal does not wake it."""

    def subject(self, body: Object) -> OwnerSubject[F_co]:
        """Return the subject of a decision about an owner, without its tests."""


async def refresh(
    cluster: Cluster, kind: OwnerKind[F], owner: Object, tests: OwnedTests[F], older_than_s: float
) -> bool:
    """List the owner's tests if the last list is older than `older_than_s`; returns whether it was."""
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
    """Take in a listed test and return its name; "" if it does not belong to the owner."""
    if not is_controlled_by(test, owner["metadata"]["uid"]):
        return ""
    tests.put(test, kind.facts)
    return str(test["metadata"]["name"])


def is_controlled_by(child: Mapping[str, Any], owner_uid: str) -> bool:
    """Return whether the object of this uid is the child's controller, as the child's ownerReferences say."""
    references = child["metadata"].get("ownerReferences", ())
    return any(found.get("controller") and found["uid"] == owner_uid for found in references)
