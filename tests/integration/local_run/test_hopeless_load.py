"""A threshold with abortOnFail ends a load that can only fail, and the status says so."""

from pathlib import Path

from local_cli import measured, write_test


def test_a_load_that_can_only_fail_ends_as_failed_with_what_was_measured(tmp_path: Path) -> None:
    load = {"arrivals": {"stages": [{"rate": 3, "duration": "10m"}]}}  # few enough that sshd drops none
    thresholds = [{"errorRate": {"below": "0.01%"}, "abortOnFail": True}]
    scenario = {"steps": [{"exec": {"command": "exit 3"}}]}
    path = write_test(tmp_path, load=load, thresholds=thresholds, scenario=scenario)
    status = measured(path).status
    assert (status["verdict"], status["reason"]) == ("Failed", "ThresholdBroken"), status["message"]
    results, early = status["results"], status["results"]["endedEarly"]
    assert results["failures"] == results["iterations"] == results["target"]["accepted"] > 1
    assert status["thresholds"][0]["message"].startswith(f"{early['threshold']}: ")
    assert early["afterSeconds"] == results["durationSeconds"] < 600
    assert f"ended {early['afterSeconds']:.1f} s after its start instead of 600 s" in status["message"]
