"""Verdicts other than Passed, and how long a finished test is kept."""

from typing import Any

import pytest
from generator_reruns import GENERATOR_LAGGED
from live_cluster import LiveCluster, condition, load_test, lone_worker_test
from statuses import steps_of

pytestmark = pytest.mark.xdist_group("a broken threshold")

STRICT = "strict"


@pytest.fixture(scope="module")
def strict(module_cluster: LiveCluster) -> dict[str, Any]:
    """How a test ended that has one threshold which nothing meets, and one for which there are too few samples.

    What takes two seconds is over the limit whatever the generator's delay was.
    """
    thresholds = [
        {"latency": {"step": "total", "percentile": 50, "below": "1ms"}},
        {"latency": {"step": "total", "percentile": 99.9, "below": "1h"}},
    ]
    scenario = {"steps": [{"exec": {"command": "sleep 2"}}]}
    return module_cluster.run(lone_worker_test(STRICT, thresholds=thresholds, scenario=scenario))


def test_a_broken_threshold_fails_with_what_was_observed(strict: dict[str, Any]) -> None:
    assert (strict["verdict"], strict["reason"]) == ("Failed", "ThresholdBroken"), strict["message"]
    broken, _ = strict["thresholds"]
    assert broken["met"] is False
    assert broken["value"] > broken["limit"]
    assert condition(strict, "Ready")["status"] == "False"


def test_too_few_samples_for_a_percentile_show_no_number(strict: dict[str, Any]) -> None:
    assert steps_of(strict)["total"].percentile_ms(99.9) is None
    _, lacking = strict["thresholds"]
    assert {"value", "met"} & lacking.keys() == set()


@pytest.mark.full  # tests/integration/local_run/test_verdicts.py has the same of a run without a cluster
def test_too_few_samples_for_a_percentile_are_inconclusive(cluster: LiveCluster) -> None:
    thresholds = [{"latency": {"step": "total", "percentile": 99.9, "below": "2s"}}]
    status = cluster.run(lone_worker_test("few", thresholds=thresholds))
    assert (status["verdict"], status["reason"]) == ("Inconclusive", "TooFewSamples")


@pytest.mark.full  # test_comparison.py has the same of one of its variants
def test_max_startups_at_its_default_shows_in_a_burst_as_dropped_connections(cluster: LiveCluster) -> None:
    status = cluster.run(
        load_test(
            "default-max-startups",
            target={"managed": {"sshd": {"maxStartups": "10:30:100"}}},
            load={"burst": {"connections": 60, "repeat": 1, "interval": "1s"}},
            thresholds=[{"errorRate": {"below": "1%"}}],
        )
    )
    # Where the generator lags, it may itself have brought the connections together of which sshd refused some.
    ended = status["verdict"], status["reason"]
    assert ended == ("Failed", "ThresholdBroken") or status["reason"] in GENERATOR_LAGGED, status["message"]
    errors = status["results"]["errors"]
    assert sum(error["count"] for error in errors if error["outcome"] == "throttled") > 0
    assert status["results"]["burst"]["attempted"] == 60
    assert status["results"]["burst"]["established"] == steps_of(status)["login"].count < 60


def test_a_finished_test_does_not_run_again_when_only_its_time_to_live_changes(
    strict: dict[str, Any], module_cluster: LiveCluster
) -> None:
    module_cluster.change("slt", STRICT, {"spec": {"ttlAfterFinished": {"failed": "1h"}}})
    status = module_cluster.wait(STRICT, lambda status: status["observedGeneration"] == 2, "observation")
    assert (status["run"], status["phase"]) == (1, "Finished")
    assert status["completionTime"] == strict["completionTime"]


def test_a_finished_test_goes_with_its_results_when_its_time_to_live_is_over(
    strict: dict[str, Any], module_cluster: LiveCluster
) -> None:
    module_cluster.tells(STRICT, strict["reason"])
    assert module_cluster.exists("configmap", strict["resultsConfigMap"])
    module_cluster.change("slt", STRICT, {"spec": {"ttlAfterFinished": {"failed": "2s"}}})
    module_cluster.gone(lambda: module_cluster.exists("slt", STRICT), "test")
    module_cluster.gone(lambda: module_cluster.labelled("configmaps", f"sshload.dev/test={STRICT}"), "results")
