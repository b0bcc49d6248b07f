"""In which order a decision is carried out, so that it may be cut short between any two of its parts."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from plans import plan, quickstart
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.decision.load_test.decide import TestDecision
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Announcement, Reason
from sshload_operator.world.execute import execute

PLAN = plan(quickstart())
ALL = TestDecision(
    status={"phase": "Finished"},
    start=True,
    replaced=("replaced",),
    store={"kind": "ConfigMap"},
    sweep=("swept",),
    announcements=(Announcement(Reason.CAUTION, "look", warning=True),),
    delete_self=True,
)
ORDER = ["discard", "start", "store", "status", "sweep", "announce", "delete"]


@dataclass
class Noted:
    """A world that notes what is done in it. Its test is gone if `is_there` is false."""

    is_there: bool = True
    done: list[tuple[str, Any]] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """What was done, in order."""
        return [name for name, _ in self.done]

    async def discard_results(self, run_ids: Sequence[str]) -> None:
        """Note it."""
        self.done.append(("discard", run_ids))

    async def start(self, run: Plan) -> None:
        """Note it."""
        self.done.append(("start", run))

    async def store(self, results: Mapping[str, Any], status: Mapping[str, Any]) -> Mapping[str, Any]:
        """Note it, and say in the status that it was done."""
        self.done.append(("store", results))
        return {**status, "stored": True}

    async def write_status(self, status: Mapping[str, Any]) -> bool:
        """Note it."""
        self.done.append(("status", status))
        return self.is_there

    async def sweep(self, run_ids: Sequence[str]) -> None:
        """Note it."""
        self.done.append(("sweep", run_ids))

    async def announce(self, announcements: Sequence[Announcement]) -> None:
        """Note it."""
        self.done.append(("announce", announcements))

    async def delete_test(self) -> None:
        """Note it."""
        self.done.append(("delete", None))


def done(decision: TestDecision, world: Noted, run: Plan | SpecError = PLAN) -> bool:
    return asyncio.run(execute(decision, run, world))


def test_the_children_come_before_the_status_that_names_them_and_deletions_after_it() -> None:
    world = Noted()
    assert done(ALL, world)
    assert world.names == ORDER
    assert dict(world.done) == {
        "discard": ("replaced",),
        "start": PLAN,
        "store": {"kind": "ConfigMap"},
        "status": {"phase": "Finished", "stored": True},
        "sweep": ("swept",),
        "announce": ALL.announcements,
        "delete": None,
    }


def test_nothing_follows_the_status_of_a_test_that_is_gone() -> None:
    world = Noted(is_there=False)
    assert not done(ALL, world)
    assert world.names == ORDER[:4]


def test_what_is_not_asked_for_is_not_done() -> None:
    world = Noted()
    assert done(TestDecision(), world)
    assert world.done == []


@pytest.mark.parametrize(
    ("decision", "name"),
    [
        (TestDecision(status={}), "status"),
        (TestDecision(start=True), "start"),
        (TestDecision(replaced=("r",)), "discard"),
        (TestDecision(sweep=("r",)), "sweep"),
        (TestDecision(announcements=ALL.announcements), "announce"),
        (TestDecision(delete_self=True), "delete"),
    ],
)
def test_each_part_is_done_by_itself(decision: TestDecision, name: str) -> None:
    world = Noted()
    assert done(decision, world)
    assert world.names == [name]


def test_results_are_stored_and_told_though_the_status_said_nothing_before() -> None:
    world = Noted()
    done(TestDecision(store={"kind": "ConfigMap"}), world)
    assert world.done == [("store", {"kind": "ConfigMap"}), ("status", {"stored": True})]


def test_a_spec_that_cannot_be_read_starts_nothing() -> None:
    world = Noted()
    done(TestDecision(start=True), world, SpecError("spec.load", "is missing"))
    assert world.done == []
