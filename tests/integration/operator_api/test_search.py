"""A search for the capacity from apply to its verdict, by a real operator on a real API server."""

from collections.abc import Callable
from dataclasses import replace

from api_proxy import ApiProxy
from live_cluster import LiveCluster, load_test
from operator_process import OperatorProcess
from played_pods import READY, PlayedPods, ended
from runs import says_summary, snapshot
from searches import found_118, invalid, strained
from sshload_contract.wire.master_log import SearchProgress, Stage, snapshot_line

Pods = Callable[[str], PlayedPods]
THRESHOLDS = [
    {"latency": {"step": "total", "percentile": 99, "below": "2s"}},
    {"errorRate": {"below": "1%"}},
    {"capacity": {"above": 100}},
]
SEARCH = {"capacity": {"arrivals": {"min": 10, "max": 500, "duration": "30s"}, "confirm": 1}}


def says_settling(proxy: ApiProxy, pods: PlayedPods) -> None:
    """Let the master print a snapshot between two trials."""
    (name,) = pods.names("master")
    run_id = pods.cluster.get("pod", name)["metadata"]["labels"]["sshload.dev/run-id"]
    where = SearchProgress(trial=4, amount=120, lower=100, upper=140)
    proxy.logs[name] = f"{snapshot_line(replace(snapshot(Stage.SETTLING, search=where), run_id=run_id))}\n"


def test_a_search_is_followed_from_trial_to_trial_and_ends_with_its_capacity(
    cluster: LiveCluster, operator: OperatorProcess, proxy: ApiProxy, pods: Pods
) -> None:
    operator.start()
    cluster.apply(load_test("limit", load=SEARCH, thresholds=THRESHOLDS, deadline="1h"))
    cluster.wait("limit", lambda status: status.get("phase") == "PreparingTarget", "start")
    played = pods("limit")
    played.create()
    played.all_fare(READY)
    says_settling(proxy, played)
    status = cluster.wait("limit", lambda status: "search" in status.get("progress", {}), "trial")
    assert status["phase"] == "Running"
    assert status["progress"]["search"] == {
        "trial": 4,
        "amount": 120,
        "unit": "arrivals/s",
        "lowerBound": 100,
        "upperBound": 140,
    }
    short_of_cpu = strained(121, cpu_s=76, limits={"cpu_limit_cores": 2.0})
    says_summary(proxy, played, found_118(short_of_cpu, short_of_cpu, short_of_cpu, invalid(118)))
    played.fare("master", ended(0))
    status = cluster.finished("limit")
    assert (status["verdict"], status["reason"]) == ("Passed", "CapacityFound")
    assert status["capacity"]["limitedBy"]["shortOf"][0]["resource"] == "cpu"
    assert len(status["capacity"]["trials"]) == 10
    assert "118 arrivals/s" in cluster.kubectl("get", "slt", "limit")
    cluster.tells("limit", "CapacityFound")
    events = cluster.kubectl(
        "get", "events", "--field-selector=involvedObject.name=limit", "-o", "custom-columns=R:.reason"
    )
    assert events.split().count("CapacityFound") == 1


def test_trials_that_the_api_server_cannot_merge_end_the_test(
    cluster: LiveCluster, operator: OperatorProcess, proxy: ApiProxy, pods: Pods
) -> None:
    """Trials of one number, which is their key in the status, are an internal error to it at each attempt."""
    operator.start()
    cluster.apply(load_test("twice", load=SEARCH, thresholds=THRESHOLDS, deadline="1h"))
    cluster.wait("twice", lambda status: status.get("phase") == "PreparingTarget", "start")
    played = pods("twice")
    played.create()
    played.all_fare(READY)
    says_settling(proxy, played)
    found = found_118(strained(121, cpu_s=76))
    assert found.search is not None
    others = tuple(replace(trial, number=max(trial.number, 2)) for trial in found.search.others)
    says_summary(proxy, played, replace(found, search=replace(found.search, others=others)))
    played.fare("master", ended(0))
    status = cluster.finished("twice")
    assert (status["verdict"], status["reason"]) == ("Error", "ResultsUnreadable")
    assert "duplicate" in status["message"]
