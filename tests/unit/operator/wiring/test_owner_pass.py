"""One pass over an owner of tests: what it looks for again, and what it makes of a name that is taken."""

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from aiohttp import web
from plans import INSTALLATION
from played_api import played_cluster
from played_objects import PlayedObjects
from sim_comparison import SimComparison, comparison_spec
from specs.small import SMALL
from sshload_operator.control.api_server.errors import ApiError
from sshload_operator.control.live.kinds import ComparisonKind, ScheduleKind
from sshload_operator.control.live.owned_tests import OwnedTests
from sshload_operator.control.live.owner_pass import execute, reconcile
from sshload_operator.decision.comparison.facts import ObservedTest, observed_test
from sshload_operator.decision.life_cycle import decide
from sshload_operator.decision.owner import Cause, Obstacle, OwnedTest, OwnerDecision, OwnerSubject
from sshload_operator.manifests.labels import COMPARISON_LABEL, SCHEDULE_LABEL
from sshload_operator.state import Announcement, Reason

METADATA = {"namespace": "ns", "name": "c", "uid": "u", "generation": 1, "resourceVersion": "1"}
FORMER = {"apiVersion": "a", "kind": "SSHLoadTestComparison", "name": "c", "uid": "former", "controller": True}
OTHER = {**FORMER, "name": "other"}


@dataclass
class AlwaysBehind:
    """A world whose list of tests is never fresh enough. `late` are tests that only a list shows."""

    late: Sequence[ObservedTest] = ()
    deeds: list[str] = field(default_factory=list)
    known: list[ObservedTest] = field(default_factory=list)

    def tests(self) -> Sequence[ObservedTest]:
        return tuple(self.known)

    async def decide(self, subject: OwnerSubject[ObservedTest]) -> OwnerDecision:
        return decide(subject)

    async def pods(self) -> Sequence[str]:
        self.deeds.append("pods")
        return [f"{test.name}-master" for test in self.late]

    async def look_again(self) -> bool:
        self.deeds.append("list")
        self.known = [*self.late]
        return True

    async def is_there(self) -> bool:
        self.deeds.append("owner")
        return True

    async def create(self, test: Mapping[str, Any]) -> Obstacle | None:
        self.deeds.append(f"create {test['metadata']['name']}")
        return None

    async def abort(self, test: OwnedTest) -> None:
        self.deeds.append(f"abort {test.name}")

    async def delete(self, test: OwnedTest) -> None:
        self.deeds.append(f"delete {test.name}")

    async def write_status(self, status: Mapping[str, Any]) -> bool:
        self.deeds.append(f"status {status['reason']}")
        return True

    async def announce(self, announcements: Sequence[Announcement]) -> None:
        """Tell nobody."""


def deeds(world: AlwaysBehind) -> list[str]:
    """Return what a pass over a new comparison did."""
    with pytest.raises(StopIteration):
        execute(SimComparison().subject(), world).send(None)  # nothing in it waits
    return world.deeds


def test_the_tests_are_looked_up_once_in_a_pass_however_long_deciding_takes() -> None:
    assert deeds(AlwaysBehind()) == ["pods", "list", "pods", "owner", "create cmp-1-a", "status TestStarting"]


def test_the_pods_of_a_test_that_no_list_has_shown_yet_are_waited_for() -> None:
    sim = SimComparison()
    sim.settle()
    sim.end("cmp-1-a")
    old = replace(observed_test(sim.tests["cmp-1-a"]), name="cmp-old", run_id="another")
    assert deeds(AlwaysBehind(late=(old,))) == ["pods", "status PodsGoing"]


@dataclass
class Deciding(AlwaysBehind):
    """A world in which is decided what a test says, the last of it again and again."""

    decisions: list[OwnerDecision] = field(default_factory=list)
    obstacle: Obstacle | None = None
    writes: bool = True
    stays: bool = True

    async def decide(self, subject: OwnerSubject[ObservedTest]) -> OwnerDecision:
        self.deeds.append("decide" if subject.obstacle is None else f"decide: {subject.obstacle.message}")
        return self.decisions.pop(0) if len(self.decisions) > 1 else self.decisions[0]

    async def look_again(self) -> bool:
        return False

    async def is_there(self) -> bool:
        return self.stays

    async def create(self, test: Mapping[str, Any]) -> Obstacle | None:
        await super().create(test)
        return self.obstacle

    async def write_status(self, status: Mapping[str, Any]) -> bool:
        await super().write_status(status)
        return self.writes

    async def announce(self, announcements: Sequence[Announcement]) -> None:
        self.deeds.extend(f"say {said.message}" for said in announcements)


def carried_out(world: Deciding, *decisions: OwnerDecision) -> tuple[list[str], OwnerDecision | None]:
    """Return what a pass did after its first decision, and how it ended."""
    world.decisions = list(decisions)
    with pytest.raises(StopIteration) as ended:
        execute(SimComparison().subject(), world).send(None)  # nothing in it waits
    assert world.deeds[0] == "decide"
    return world.deeds[1:], ended.value.value


def whole_decision() -> OwnerDecision:
    sim = SimComparison()
    sim.settle()
    seen = observed_test(sim.tests["cmp-1-a"])
    return OwnerDecision(
        delete=(replace(seen, name="first"),),
        abort=(replace(seen, name="second"),),
        create={"metadata": {"name": "new"}},
        status={"reason": "Going"},
        announcements=(Announcement(Reason.LOAD_RUNNING, "news", warning=False),),
        discard=(replace(seen, name="old"),),
    )


WHOLE = ["delete first", "abort second", "create new", "status Going", "say news", "delete old"]


def test_a_decision_is_carried_out_in_an_order_in_which_no_status_tells_of_what_is_not_done() -> None:
    decision = whole_decision()
    assert carried_out(Deciding(), decision) == (WHOLE, decision)
    waits = OwnerDecision(requeue_after_s=7.0)
    assert carried_out(Deciding(), waits) == ([], waits)


def test_an_owner_that_is_gone_makes_nothing_and_nothing_is_said_or_discarded_for_it() -> None:
    assert carried_out(Deciding(stays=False), whole_decision()) == ([], None)
    assert carried_out(Deciding(writes=False), whole_decision()) == (WHOLE[:4], None)


def test_what_was_in_the_way_of_a_test_is_decided_about_before_anything_is_written() -> None:
    obstacle, after = Obstacle(Cause.REFUSED, "no room"), OwnerDecision(status={"reason": "Refused"})
    done = carried_out(Deciding(obstacle=obstacle), whole_decision(), after)
    assert done == ([*WHOLE[:3], "decide: no room", "status Refused"], after)


def test_a_decision_that_makes_a_test_and_has_no_status_is_made_again_with_it_and_no_pass_goes_on_for_ever() -> None:
    create, after = replace(whole_decision(), status=None), OwnerDecision(status={"reason": "Made"})
    made = [one for one in WHOLE if not one.startswith("status")]
    assert carried_out(Deciding(), create, after) == ([*made, "decide", "status Made"], after)
    deeds, ended = carried_out(Deciding(), create)
    assert ended == OwnerDecision(requeue_after_s=0.0)
    assert deeds.count("create new") < 10


def status_of_a_pass(there: Mapping[str, Any] | None, refused: int = 0) -> dict[str, Any]:
    """Return the status that a pass writes where the name of the test to be made is taken by this one, or `refused`."""
    api = PlayedObjects()
    api.put("sshloadtestcomparisons", {"metadata": METADATA, "spec": comparison_spec()})
    if there is not None:
        api.put("sshloadtests", there)
    if refused or there is None:
        api.refuses["POST", "sshloadtests"] = [refused or 409]

    async def play() -> dict[str, Any]:
        async with played_cluster(api.answer) as cluster:
            body = {"metadata": METADATA, "spec": comparison_spec()}
            done = await reconcile(cluster, ComparisonKind(INSTALLATION), body, OwnedTests(lambda _: None))
            assert done.body is not None
            found: dict[str, Any] = done.body["status"]
            return found

    return asyncio.run(play())


@pytest.mark.parametrize(
    ("there", "says"),
    [
        pytest.param(None, "a test c-1-a was there a moment ago and is gone now", id="gone-since"),
        pytest.param(
            {"metadata": {"name": "c-1-a", "ownerReferences": [FORMER]}},
            "the test c-1-a of an earlier comparison of the same name still exists",
            id="of-a-former-comparison",
        ),
        pytest.param(
            {"metadata": {"name": "c-1-a", "labels": {COMPARISON_LABEL: "c"}}},
            "an earlier comparison of the same name left the test c-1-a without an owner"
            " (kubectl delete --cascade=orphan): delete it",
            id="left-by-a-former-one",
        ),
        pytest.param(
            {"metadata": {"name": "c-1-a", "ownerReferences": [OTHER], "deletionTimestamp": "2026-11-23T12:00:00Z"}},
            "the test c-1-a of an earlier comparison of the same name still exists",
            id="being-deleted",
        ),
    ],
)
def test_a_test_that_has_the_name_and_is_about_to_go_is_waited_for(there: Mapping[str, Any] | None, says: str) -> None:
    status = status_of_a_pass(there)
    assert (status["phase"], "verdict" in status, status["message"]) == ("Running", False, says)


@pytest.mark.parametrize(
    "marks",
    [
        pytest.param({"ownerReferences": [OTHER]}, id="another owner's"),
        pytest.param({"ownerReferences": [{**FORMER, "kind": "SSHLoadTestSchedule"}]}, id="a schedule's of that name"),
        pytest.param(
            {"ownerReferences": [OTHER], "labels": {COMPARISON_LABEL: "c"}}, id="another owner's, with a label"
        ),
        pytest.param({"labels": {COMPARISON_LABEL: "other"}}, id="left by another owner"),
        pytest.param({"labels": {SCHEDULE_LABEL: "c"}}, id="left by a schedule"),
        pytest.param({}, id="nobody's"),
    ],
)
def test_a_test_of_somebody_else_that_has_the_name_ends_the_comparison(marks: Mapping[str, Any]) -> None:
    status = status_of_a_pass({"metadata": {"name": "c-1-a", **marks}})
    assert (status["phase"], status["verdict"], status["reason"]) == ("Finished", "Error", "NameTaken")


OWNS = {"kind": "SSHLoadTestSchedule", "name": "c", "uid": "u", "controller": True}
LONG_AGO = "2024-11-28T12:00:00Z"


def replaced_in_a_pass(there: str) -> list[tuple[str, Any]]:
    """Do a pass over a schedule that replaces its test; return what it deletes and makes.

    The API server answers that the test is not the one to be deleted; the test that is there then has the uid `there`.
    """
    schedule = {
        "metadata": {**METADATA, "creationTimestamp": LONG_AGO},
        "spec": {"schedule": "0 0 1 1 *", "concurrencyPolicy": "Replace", "testTemplate": {"spec": SMALL}},
        "status": {"lastScheduleTime": LONG_AGO, "observedGeneration": 1},
    }
    test = {"namespace": "ns", "name": "old", "uid": "seen", "resourceVersion": "1", "creationTimestamp": LONG_AGO}
    old = {"metadata": {**test, "generation": 1, "ownerReferences": [OWNS]}, "spec": SMALL}
    done: list[tuple[str, Any]] = []

    async def answer(request: web.Request) -> web.Response:
        sent, name = json.loads(await request.read() or "{}"), request.path.rpartition("/")[2]
        if request.method == "DELETE":
            done.append((name, sent["preconditions"]))
            return web.json_response({"message": "another uid"}, status=409)
        if request.method == "POST":
            done.append((name, None))
            return web.json_response({"message": "no more"}, status=403)
        if name == "old":
            return web.json_response({"metadata": {**test, "uid": there}})
        if request.method == "GET":
            return web.json_response(schedule if name == "c" else {"items": [old], "metadata": {}})
        return web.json_response({**schedule, **sent, "metadata": schedule["metadata"]})

    async def play() -> None:
        async with played_cluster(answer) as cluster:
            await reconcile(cluster, ScheduleKind(), schedule, OwnedTests(lambda _: None))

    with nullcontext() if there != "seen" else pytest.raises(ApiError):
        asyncio.run(play())
    return done


def test_a_pass_replaces_the_very_test_that_it_has_seen_and_makes_none_beside_it() -> None:
    deleted = ("old", {"uid": "seen"})
    assert replaced_in_a_pass(there="another")[:2] == [deleted, ("sshloadtests", None)]
    assert replaced_in_a_pass(there="seen") == [deleted]


@pytest.mark.parametrize(("status", "goes_on"), [(403, True), (422, False), (400, False)])
def test_a_test_that_is_refused_may_be_admitted_later_only_where_a_quota_or_a_right_may_change(
    status: int, *, goes_on: bool
) -> None:
    seen = status_of_a_pass(None, refused=status)
    assert (seen["phase"] == "Running") is goes_on
    assert seen["reason"] == "TestRefused"
    assert "c-1-a was refused: " in seen["message"]


def test_a_fault_of_the_api_server_is_no_refusal_of_a_test() -> None:
    with pytest.raises(ApiError):
        status_of_a_pass(None, refused=500)


def test_an_abort_ends_the_very_tests_that_were_seen_and_two_passes_over_one_status_say_it_once() -> None:
    owns = {**OWNS, "kind": "SSHLoadTestComparison"}
    test = {"namespace": "ns", "name": "c-1-a", "uid": "seen", "resourceVersion": "1", "ownerReferences": [owns]}
    body = {"metadata": METADATA, "spec": {**comparison_spec(), "abort": True}}
    sent: list[tuple[str, Any]] = []

    async def answer(request: web.Request) -> web.Response:
        said = json.loads(await request.read() or "{}")
        sent.append((request.path.partition("/ns/")[2], said))
        return web.json_response({**body, **said, "metadata": METADATA})

    async def play() -> None:
        tests = OwnedTests[ObservedTest](lambda _: None, listed_at_s=time.monotonic())
        tests.put({"metadata": {**test, "generation": 1}, "spec": SMALL}, observed_test)
        async with played_cluster(answer) as cluster:
            first = await reconcile(cluster, ComparisonKind(INSTALLATION), body, tests)
            assert [path for path, _ in sent].count("events") == 1
            await reconcile(cluster, ComparisonKind(INSTALLATION), body, tests)
            assert first.body is not None
            again = {**body, "status": first.body["status"]}
            before = len(sent)
            assert (await reconcile(cluster, ComparisonKind(INSTALLATION), again, tests)).body == again
            assert not [path for path, _ in sent[before:] if path.endswith("/status")]

    asyncio.run(play())
    aborted = [said for path, said in sent if path == "sshloadtests/c-1-a"]
    assert [(said["metadata"]["uid"], said["spec"]) for said in aborted[:2]] == [("seen", {"abort": True})] * 2
    assert [path for path, _ in sent].count("events") == 1
