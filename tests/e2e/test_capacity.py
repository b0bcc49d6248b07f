"""The capacity of the example's server, searched twice: the same answer, each trial told, and what limits it."""

import base64
import gzip
from pathlib import Path
from typing import Any

import pytest
import yaml
from live_cluster import LiveCluster
from sshload_contract.codec import from_json
from sshload_contract.run_summary import RunSummary
from sshload_contract.vocabulary import SearchEnd

EXAMPLE = Path(__file__).parents[2] / "examples/19-capacity.yaml"
NAMES = ("capacity", "capacity-again")
WITHIN_S = 720


@pytest.fixture(name="example", scope="module")
def _example() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
    return document


@pytest.fixture(name="searches", scope="module")
def _searches(example: dict[str, Any], module_cluster: LiveCluster) -> list[dict[str, Any]]:
    """Return how both searches ended, which ran one after the other, so that neither took the other's CPU."""
    ended = []
    for name in NAMES:
        module_cluster.apply({**example, "metadata": {"name": name}})
        ended.append(module_cluster.finished(name, within_s=WITHIN_S))
    return ended


def test_the_capacity_is_found_both_times(searches: list[dict[str, Any]]) -> None:
    for status in searches:
        assert (status["verdict"], status["reason"]) == ("Passed", "CapacityFound"), status["message"]
        capacity = status["capacity"]
        assert capacity["end"] == "found"
        assert capacity["value"] == capacity["lowerBound"] < capacity["upperBound"]
        assert capacity["inWords"] == f"{capacity['value']:g} arrivals/s"


def test_both_find_the_same_within_twice_the_precision(searches: list[dict[str, Any]], example: dict[str, Any]) -> None:
    """Each is to be within the precision of the truth, on either side of it."""
    precision = float(example["spec"]["load"]["capacity"]["precision"].rstrip("%")) / 100
    first, second = sorted(status["capacity"]["value"] for status in searches)
    assert second / first <= (1 + precision) ** 2, [status["capacity"]["trials"] for status in searches]
    for status in searches:
        assert status["capacity"]["upperBound"] / status["capacity"]["lowerBound"] <= 1 + precision


def test_it_is_its_cpu_that_limits_the_server(searches: list[dict[str, Any]]) -> None:
    for status in searches:
        limited_by = status["capacity"]["limitedBy"]
        assert limited_by["amount"] == status["capacity"]["upperBound"]
        assert limited_by["threshold"]
        assert "cpu" in [short_of["resource"] for short_of in limited_by["shortOf"]], limited_by


def test_each_trial_is_told_and_the_bounds_follow_from_them(searches: list[dict[str, Any]]) -> None:
    for status in searches:
        capacity = status["capacity"]
        trials = capacity["trials"]
        assert [trial["number"] for trial in trials] == list(range(1, len(trials) + 1))
        assert all(trial["message"] for trial in trials if trial["state"] != "passed")
        at_lower = [trial["state"] for trial in trials if trial["amount"] == capacity["lowerBound"]]
        at_upper = [trial["state"] for trial in trials if trial["amount"] == capacity["upperBound"]]
        assert at_lower.count("passed") > at_lower.count("failed")
        assert at_upper.count("failed") > at_upper.count("passed")


def test_the_results_are_those_of_the_trial_that_is_named(searches: list[dict[str, Any]]) -> None:
    for status in searches:
        reported = status["capacity"]["trials"][status["capacity"]["reportedTrial"] - 1]
        assert (reported["amount"], reported["state"]) == (status["capacity"]["value"], "passed")
        assert status["results"]["offeredRate"] == pytest.approx(reported["amount"], rel=0.05)
        assert status["results"]["completedRate"] == reported["completedRate"]
        target = status["results"]["target"]
        assert 0 <= target["accepted"] - target["clientLogins"] <= status["results"]["failures"]


def test_no_trial_began_before_the_target_was_idle(searches: list[dict[str, Any]], module_cluster: LiveCluster) -> None:
    for status in searches:
        stored = module_cluster.get("configmap", status["resultsConfigMap"])
        packed = base64.b64decode(stored["binaryData"]["summary.json.gz"])
        capacity = from_json(RunSummary, gzip.decompress(packed).decode()).capacity
        assert capacity is not None
        assert capacity.end is SearchEnd.FOUND
        before = [trial.target_before for trial in capacity.trials]
        assert [stats.sessions for stats in before if stats is not None] == [0] * len(before)


def test_nothing_keeps_running_after_the_end(searches: list[dict[str, Any]], module_cluster: LiveCluster) -> None:
    assert len(searches) == len(NAMES)
    for name in NAMES:
        module_cluster.gone(lambda name=name: module_cluster.children(name), "children")
