"""The capacity of the example's server: the answer, each trial, and what limits the server."""

import base64
import gzip
from typing import Any

import pytest
from live_cluster import LiveCluster
from short_examples import short_test
from sshload_contract.vocabulary import SearchEnd
from sshload_contract.wire.codec import from_json
from sshload_contract.wire.run_summary import RunSummary

pytestmark = pytest.mark.xdist_group("a capacity")

WITHIN_S = 720


def example() -> dict[str, Any]:
    """Return the example with a server that gets all of its CPU however busy the machine is, and a limit for that."""
    test = short_test("19-capacity")
    test["spec"]["target"]["managed"]["resources"]["limits"]["cpu"] = "250m"
    test["spec"]["load"]["capacity"]["precision"] = "50%"  # a trial takes ten seconds
    (latency,) = (one["latency"] for one in test["spec"]["thresholds"] if "latency" in one)
    latency["below"] = "2s"
    return test


EXAMPLE = example()


@pytest.fixture(name="status", scope="module")
def _status(module_cluster: LiveCluster) -> dict[str, Any]:
    """How the search ended."""
    return module_cluster.run(EXAMPLE, WITHIN_S)


def test_the_capacity_is_found_within_its_precision(status: dict[str, Any]) -> None:
    assert (status["verdict"], status["reason"]) == ("Passed", "CapacityFound"), status["message"]
    capacity = status["capacity"]
    assert capacity["end"] == "found"
    assert capacity["value"] == capacity["lowerBound"] < capacity["upperBound"]
    assert capacity["inWords"] == f"{capacity['value']:g} arrivals/s"
    precision = float(EXAMPLE["spec"]["load"]["capacity"]["precision"].rstrip("%")) / 100
    assert capacity["upperBound"] / capacity["lowerBound"] <= 1 + precision


def test_it_is_its_cpu_that_limits_the_server(status: dict[str, Any]) -> None:
    limited_by = status["capacity"]["limitedBy"]
    assert limited_by["amount"] == status["capacity"]["upperBound"]
    assert limited_by["threshold"]
    assert "cpu" in [short_of["resource"] for short_of in limited_by["shortOf"]], limited_by


def test_the_bounds_follow_from_the_trials(status: dict[str, Any]) -> None:
    capacity = status["capacity"]
    trials = capacity["trials"]
    assert [trial["number"] for trial in trials] == list(range(1, len(trials) + 1))
    assert all(trial["message"] for trial in trials if trial["state"] != "passed")
    at_lower = [trial["state"] for trial in trials if trial["amount"] == capacity["lowerBound"]]
    at_upper = [trial["state"] for trial in trials if trial["amount"] == capacity["upperBound"]]
    assert at_lower.count("passed") > at_lower.count("failed")
    assert at_upper.count("failed") > at_upper.count("passed")


def test_the_results_are_those_of_the_trial_that_is_named(status: dict[str, Any]) -> None:
    reported = status["capacity"]["trials"][status["capacity"]["reportedTrial"] - 1]
    assert (reported["amount"], reported["state"]) == (status["capacity"]["value"], "passed")
    results = status["results"]
    assert abs(results["offeredRate"] - reported["amount"]) * results["durationSeconds"] <= 1
    assert status["results"]["completedRate"] == reported["completedRate"]
    target = status["results"]["target"]
    assert 0 <= target["accepted"] - target["clientLogins"] <= status["results"]["failures"]


def test_no_trial_began_before_the_target_was_idle(status: dict[str, Any], module_cluster: LiveCluster) -> None:
    stored = module_cluster.get("configmap", status["resultsConfigMap"])
    packed = base64.b64decode(stored["binaryData"]["summary.json.gz"])
    summary = from_json(RunSummary, gzip.decompress(packed).decode())
    assert summary.search is not None
    assert summary.search.end is SearchEnd.FOUND
    before = [trial.target_before for trial in summary.trials]
    assert [stats.sessions for stats in before if stats is not None] == [0] * len(before)


def test_nothing_keeps_running_after_the_end(status: dict[str, Any], module_cluster: LiveCluster) -> None:
    assert status["phase"] == "Finished"
    name = EXAMPLE["metadata"]["name"]
    module_cluster.gone(lambda: module_cluster.children(name), "children")
