"""Verdicts other than Passed, and the same account of a test with and without a cluster."""

from pathlib import Path

import yaml
from generator_reruns import GENERATOR_LAGGED
from live_cluster import LiveCluster, condition, load_test, lone_worker_test
from local_cli import measured
from statuses import steps_of


def test_a_file_gives_the_same_account_without_a_cluster(cluster: LiveCluster, tmp_path: Path) -> None:
    test = load_test("both", thresholds=[{"errorRate": {"below": "10%"}}])
    file = tmp_path / "both.yaml"
    file.write_text(yaml.safe_dump(test))
    on_cluster = cluster.run(test)
    ended = measured(file)
    local = ended.status
    assert (ended.code, local["verdict"], on_cluster["verdict"]) == (0, "Passed", "Passed"), ended.err
    assert local["results"]["iterations"] == on_cluster["results"]["iterations"]
    assert "loginDifference" not in local["results"]["target"]
    assert steps_of(local).keys() == steps_of(on_cluster).keys()


def test_a_broken_threshold_fails_with_what_was_observed(cluster: LiveCluster) -> None:
    """What takes two seconds is over the limit whatever the generator's delay was."""
    thresholds = [{"latency": {"step": "total", "percentile": 50, "below": "1ms"}}]
    scenario = {"steps": [{"exec": {"command": "sleep 2"}}]}
    status = cluster.run(lone_worker_test("strict", thresholds=thresholds, scenario=scenario))
    assert (status["verdict"], status["reason"]) == ("Failed", "ThresholdBroken")
    (threshold,) = status["thresholds"]
    assert threshold["passed"] is False
    assert threshold["observed"]
    assert condition(status, "Ready")["status"] == "False"


def test_too_few_samples_for_a_percentile_are_inconclusive_and_show_no_number(cluster: LiveCluster) -> None:
    thresholds = [{"latency": {"step": "total", "percentile": 99.9, "below": "2s"}}]
    status = cluster.run(lone_worker_test("few", thresholds=thresholds))
    assert (status["verdict"], status["reason"]) == ("Inconclusive", "TooFewSamples")
    assert steps_of(status)["total"].percentile_ms(99.9) is None
    assert "observed" not in status["thresholds"][0]


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
    assert status["verdict"] == "Failed" or status["reason"] in GENERATOR_LAGGED, status["message"]
    errors = status["results"]["errors"]
    assert sum(error["count"] for error in errors if error["outcome"] == "throttled") > 0
    assert status["results"]["burst"]["attempted"] == 60
    assert status["results"]["burst"]["established"] == steps_of(status)["login"].count < 60
