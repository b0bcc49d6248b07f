"""The life of a search: it runs from its first trial to its last, whatever its trials' stages are, and ends once."""

import pytest
from crd_schema import problems, status_schema
from passes import Passes
from plans import EXTERNAL, allowing, quickstart
from runs import pod, snapshot
from searches import found_118
from sshload_contract.allow_list import AllowedTarget
from sshload_contract.wire.master_log import SearchProgress, Stage
from sshload_operator.state import Role

ALL = (pod(Role.TARGET), pod(Role.MASTER), pod(Role.WORKER))
SPEC = quickstart(
    load={"capacity": {"arrivals": {"min": 10, "max": 500, "duration": "30s"}, "confirm": 1}},
    thresholds=[
        {"latency": {"step": "total", "percentile": 99, "below": "2s"}},
        {"errorRate": {"below": "1%"}},
        {"capacity": {"above": 100}},
    ],
    workers={"replicas": 1},
    deadline="1h",
)
SCHEMA = status_schema()
ALLOWED = allowing(AllowedTarget("*", (22,)))


@pytest.fixture
def searching() -> Passes:
    passes = Passes(SPEC)
    passes.run()
    return passes


def test_a_search_runs_on_between_its_trials(searching: Passes) -> None:
    phases, amounts = [], []
    for number, stage in enumerate((Stage.WARM_UP, Stage.MEASURING, Stage.DRAINING, Stage.SETTLING, Stage.MEASURING)):
        where = SearchProgress(trial=number, amount=10 * number, lower=None, upper=None)
        searching.run(*ALL, after_s=5, snapshot=snapshot(stage, workers_connected=1, search=where))
        phases.append(searching.status["phase"])
        amounts.append(searching.status["progress"]["search"]["amount"])
        assert list(problems(searching.status, SCHEMA)) == []
    assert phases == ["Running"] * 5
    assert amounts == [0, 10, 20, 30, 40]


def test_a_search_says_between_which_loads_it_searches_and_nothing_at_each_trial(searching: Passes) -> None:
    where = SearchProgress(trial=1, amount=10, lower=None, upper=None)
    first = searching.run(*ALL, after_s=5, snapshot=snapshot(workers_connected=1, search=where))
    assert [said.reason for said in first.announcements] == ["LoadRunning"]
    assert searching.status["message"] == "the capacity is searched from 10 to 500 arrivals/s, made by 1 workers"
    later = snapshot(
        Stage.SETTLING, workers_connected=1, search=SearchProgress(trial=2, amount=80, lower=10, upper=None)
    )
    assert searching.run(*ALL, after_s=40, snapshot=later).announcements == ()


def test_a_server_that_took_logins_is_not_doubted_at_the_start_of_each_trial() -> None:
    searching = Passes({**SPEC, "target": {"external": EXTERNAL}}, installation=ALLOWED)
    searching.run()
    seen = []
    for iterations in (0, 300, 0, 200):
        where = SearchProgress(trial=1, amount=10, lower=None, upper=None)
        facts = snapshot(workers_connected=1, search=where, iterations=iterations, failures=0)
        searching.run(pod(Role.MASTER), pod(Role.WORKER), after_s=5, snapshot=facts)
        seen.append(searching.condition("TargetReady")["status"])
    assert seen == ["Unknown", "True", "True", "True"]


def test_a_capacity_that_was_found_ends_the_run_with_the_whole_in_its_status(searching: Passes) -> None:
    where = SearchProgress(trial=6, amount=121, lower=118, upper=121)
    searching.run(*ALL, after_s=200, snapshot=snapshot(Stage.DRAINING, workers_connected=1, search=where))
    ended = searching.run(*ALL, after_s=5, summary=found_118())
    assert searching.said() == ("Passed", "CapacityFound")
    assert searching.status["capacity"]["inWords"] == "118 arrivals/s"
    assert searching.status["thresholds"][-1]["met"] is True
    assert list(problems(searching.status, SCHEMA)) == []
    (said,) = ended.announcements
    assert (said.reason, said.warning) == ("CapacityFound", False)
    assert "118 arrivals/s" in said.message
    assert searching.run(after_s=1).status is None
