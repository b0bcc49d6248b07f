"""The example of a baseline on the real cluster: a change that costs nothing, and one that does."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from live_cluster import LiveCluster

EXAMPLES = Path(__file__).parents[2] / "examples"
QUICKSTART, EXAMPLE = EXAMPLES / "01-quickstart.yaml", EXAMPLES / "20-baseline.yaml"
WITHIN_S = 300


@pytest.fixture(scope="module")
def before(module_cluster: LiveCluster) -> dict[str, Any]:
    """The status of the quickstart, run to its end."""
    module_cluster.kubectl("apply", "-f", str(QUICKSTART))
    status = module_cluster.finished("quickstart", WITHIN_S)
    assert status["verdict"] == "Passed", status["message"]
    return status


def relative(status: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in status["thresholds"] if "of the baseline" in one["threshold"]]


def test_figures_stand_in_the_status_with_their_intervals(before: dict[str, Any]) -> None:
    (login,) = (step for step in before["results"]["steps"] if step["step"] == "login")
    (median,) = (one for one in login["intervals"] if one["percentile"] == 50)
    assert median["lowMs"] <= median["ms"] == login["p50Ms"] <= median["highMs"]
    assert before["results"]["completedRateLow"] < before["results"]["completedRate"]


def test_a_change_that_costs_nothing_passes(before: dict[str, Any], module_cluster: LiveCluster) -> None:
    module_cluster.kubectl("apply", "-f", str(EXAMPLE))
    status = module_cluster.finished("baseline", WITHIN_S)
    assert (status["verdict"], status["reason"]) == ("Passed", "ThresholdsMet"), status["message"]
    assert [one["passed"] for one in relative(status)] == [True, True]
    assert status["baseline"] == {
        "test": "quickstart",
        "uid": module_cluster.get("sshloadtest", "quickstart")["metadata"]["uid"],
        "verdict": "Passed",
        "completionTime": before["completionTime"],
    }


def test_a_server_with_too_little_cpu_is_called_slower(before: dict[str, Any], module_cluster: LiveCluster) -> None:
    test = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
    spec = test["spec"]
    spec["target"]["managed"]["resources"] = {"limits": {"cpu": "200m"}}
    spec["load"]["arrivals"]["stages"] = [{"rate": 20, "duration": "8s"}]
    spec["thresholds"] = [one for one in spec["thresholds"] if "within" in str(one)]
    module_cluster.apply({**test, "metadata": {"name": "throttled"}})
    status = module_cluster.finished("throttled", WITHIN_S)
    assert before["verdict"] == "Passed"
    assert (status["verdict"], status["reason"]) == ("Failed", "ThresholdBroken"), status["message"]
    assert "of the baseline quickstart, but it was" in status["message"]


def test_the_baseline_of_another_load_is_no_baseline(before: dict[str, Any], module_cluster: LiveCluster) -> None:
    test = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
    test["spec"]["load"]["arrivals"]["stages"] = [{"rate": 5, "duration": "3s"}]
    test["spec"]["thresholds"] = [{"throughput": {"within": "25%"}}]
    module_cluster.apply({**test, "metadata": {"name": "another"}})
    status = module_cluster.finished("another", WITHIN_S)
    assert before["verdict"] == "Passed"
    assert (status["verdict"], status["reason"]) == ("Inconclusive", "BaselineDiffers"), status["message"]
    assert "spec.load is 5 arrivals/s" in status["message"]
