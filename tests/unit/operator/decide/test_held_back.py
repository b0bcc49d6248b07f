"""Tests that may not begin: suspended, in an installation that is paused, or full."""

from dataclasses import replace
from typing import Any

import pytest
from passes import Passes
from plans import INSTALLATION, QUICKSTART
from runs import pod, snapshot
from sshload_operator.planning.installation import Limits, LimitsOfTest
from sshload_operator.state import Observed, Role

NOTHING = Observed((), None, "")
READY = (pod(Role.TARGET), pod(Role.MASTER), pod(Role.WORKER))


def test_a_suspended_test_begins_no_run_until_it_is_resumed() -> None:
    passes = Passes({**QUICKSTART, "suspend": True})
    decision = passes.run()
    assert not decision.start
    assert (passes.status["phase"], passes.status["reason"]) == ("Pending", "Suspended")
    assert "verdict" not in passes.status
    passes.edit(suspend=False)
    assert passes.run(after_s=60).start
    assert passes.status["phase"] == "PreparingTarget"


def test_a_run_that_is_suspended_ends_without_a_verdict_and_begins_anew() -> None:
    passes = Passes()
    passes.run()
    first = passes.run_id
    passes.run(*(replace(one, run_id=first) for one in READY), after_s=5, snapshot=snapshot(run_id=first))
    assert passes.status["phase"] == "Running"
    passes.edit(suspend=True)
    decision = passes.run(after_s=5)
    assert decision.sweep == (first,)
    assert (passes.status["phase"], passes.status["reason"]) == ("Pending", "Suspended")
    assert passes.run(after_s=5).sweep == ()
    passes.edit(suspend=False)
    assert passes.run(after_s=5).start
    assert passes.run_id != first


def test_a_finished_test_keeps_its_verdict_when_it_is_suspended() -> None:
    passes = Passes()
    passes.run()
    passes.edit(abort=True)
    passes.run(after_s=1)
    assert passes.status["verdict"] == "Aborted"
    passes.edit(suspend=True)
    passes.run(after_s=1)
    assert passes.status["verdict"] == "Aborted"


def test_a_paused_installation_begins_no_run_and_says_why() -> None:
    passes = Passes(installation=replace(INSTALLATION, paused=True))
    assert not passes.run().start
    assert (passes.status["phase"], passes.status["reason"]) == ("Pending", "InstallationPaused")
    assert "chart value paused" in passes.status["message"]
    passes.installation = INSTALLATION
    assert passes.run(after_s=1).start


def test_a_queued_test_says_where_it_is_in_the_queue_and_can_be_aborted() -> None:
    passes = Passes(queued=2)
    decision = passes.run()
    assert not decision.start
    assert decision.requeue_after_s is not None
    assert passes.status["reason"] == "Queued"
    assert passes.status["message"].startswith("position 2 in the queue: ")
    passes.edit(abort=True)
    passes.run(after_s=1)
    assert passes.status["verdict"] == "Aborted"


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (LimitsOfTest(worker_pods=1), "spec.workers.replicas asks for 2 worker pods, and this installation allows 1"),
        (LimitsOfTest(rate=10), "spec.load asks for 20 iterations per second, and this installation allows 10"),
        (LimitsOfTest(connections=5), "connections at once, and this installation allows 5"),
        (LimitsOfTest(duration_s=10), "seconds, and this installation allows 10"),
    ],
)
def test_a_test_beyond_the_limits_is_refused_with_both_numbers(limits: LimitsOfTest, message: str) -> None:
    spec = {**QUICKSTART, "workers": {"replicas": 2}}
    passes = Passes(spec, installation=replace(INSTALLATION, limits=Limits(per_test=limits)))
    assert not passes.run().start
    assert (passes.status["verdict"], passes.status["reason"]) == ("Error", "LimitExceeded")
    assert message in passes.status["message"]


@pytest.mark.parametrize(
    "where",
    [
        {"workers": {"priorityClassName": "system-node-critical"}},
        {"target": {"managed": {"priorityClassName": "system-cluster-critical"}}},
    ],
)
def test_a_priority_class_of_the_cluster_is_refused(where: dict[str, Any]) -> None:
    passes = Passes({**QUICKSTART, **where})
    assert not passes.run().start
    assert (passes.status["verdict"], passes.status["reason"]) == ("Error", "LimitExceeded")
    assert "for the cluster's own pods" in passes.status["message"]


@pytest.mark.parametrize(
    ("passes", "asks"),
    [
        pytest.param(Passes(), True, id="ready"),
        pytest.param(Passes(deleting=True), False, id="being deleted"),
        pytest.param(Passes({**QUICKSTART, "suspend": True}), False, id="suspended"),
        pytest.param(Passes({**QUICKSTART, "abort": True}), False, id="aborted"),
        pytest.param(Passes({**QUICKSTART, "target": {}}), False, id="illegible"),
        pytest.param(Passes(installation=replace(INSTALLATION, paused=True)), False, id="paused"),
        pytest.param(
            Passes(installation=replace(INSTALLATION, limits=Limits(per_test=LimitsOfTest(rate=10)))),
            False,
            id="beyond a limit",
        ),
    ],
)
def test_only_a_test_that_could_begin_asks_for_a_place_in_the_queue(passes: Passes, asks: bool) -> None:  # noqa: FBT001
    assert passes.subject(NOTHING).may_begin is asks


def test_a_test_whose_run_is_under_way_or_over_asks_for_no_place_until_it_is_edited() -> None:
    passes = Passes()
    passes.run()
    assert not passes.subject(NOTHING).may_begin
    passes.edit(abort=True)
    passes.run(after_s=1)
    assert not passes.subject(NOTHING).may_begin
    passes.edit(abort=False)
    assert passes.subject(NOTHING).may_begin
