"""The main job: apply a test, get numbers that add up, a verdict, a baseline for others, and nothing left running.

All of it is read of one run, and what else there is to know of a finished one is read of it by test_pages.py.
"""

import base64
import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from live_cluster import LiveCluster
from local_cli import measured
from quickstart_run import example
from sshload_contract.wire.codec import from_json
from sshload_contract.wire.run_summary import RunSummary
from sshload_operator.api.status.steps import StepResult
from statuses import steps_of

pytestmark = pytest.mark.xdist_group("the quickstart")


def step(status: dict[str, Any], name: str) -> StepResult:
    return steps_of(status)[name]


def test_the_quickstart_passes(quickstart: dict[str, Any]) -> None:
    assert (quickstart["verdict"], quickstart["reason"]) == ("Passed", "ThresholdsMet"), quickstart["message"]


def test_every_iteration_is_accounted_for(quickstart: dict[str, Any]) -> None:
    results = quickstart["results"]
    total = step(quickstart, "total")
    assert total.count + total.failures == results["iterations"]
    assert results["iterations"] == round(results["offeredRate"] * results["durationSeconds"])


def test_the_servers_count_of_logins_is_the_clients(quickstart: dict[str, Any]) -> None:
    target = quickstart["results"]["target"]
    assert target["accepted"] == target["clientLogins"]
    assert "loginDifference" not in target


def test_the_result_names_what_was_negotiated(quickstart: dict[str, Any]) -> None:
    (negotiated,) = quickstart["results"]["negotiated"]
    assert negotiated["serverVersion"].startswith("SSH-2.0-OpenSSH_10")
    assert all(negotiated[part] for part in ("kex", "cipher", "mac", "hostKey"))


def sum_ms(status: dict[str, Any], name: str) -> float:
    """Return how long all successes of a step took together."""
    found = step(status, name)
    return found.count * (found.mean_ms or math.nan)


def test_the_parts_of_a_login_add_up_to_the_whole_which_is_less_than_the_iteration(quickstart: dict[str, Any]) -> None:
    """A login that failed counts in the parts that it completed, and only there: then the parts add up to more."""
    parts = sum(sum_ms(quickstart, part) for part in ("connect", "banner", "kex", "auth"))
    login, total = step(quickstart, "login"), step(quickstart, "total")
    whole = sum_ms(quickstart, "login")
    assert parts >= 0.98 * whole
    assert parts <= 1.02 * whole or login.failures
    assert whole < sum_ms(quickstart, "total") or login.count > total.count


def test_the_conditions_say_that_it_is_complete_and_passed(quickstart: dict[str, Any]) -> None:
    held = {item["type"]: item["status"] for item in quickstart["conditions"]}
    assert held == {
        "Complete": "True",
        "Passed": "True",
        "Ready": "True",
    }


def test_the_whole_summary_is_in_the_results_config_map(
    quickstart: dict[str, Any], quickstarts_cluster: LiveCluster
) -> None:
    stored = quickstarts_cluster.get("configmap", quickstart["resultsConfigMap"])
    summary = from_json(RunSummary, gzip.decompress(base64.b64decode(stored["binaryData"]["summary.json.gz"])).decode())
    assert summary.trial.load.succeeded + summary.trial.load.failed == quickstart["results"]["iterations"]
    timed = {histogram.step for histogram in summary.histograms}
    assert timed >= steps_of(quickstart).keys()
    assert json.loads(stored["data"]["results.json"])["omitted"] == []
    assert stored["metadata"]["ownerReferences"][0]["kind"] == "SSHLoadTest"


def test_nothing_keeps_running_after_the_end(quickstart: dict[str, Any], quickstarts_cluster: LiveCluster) -> None:
    assert quickstart["phase"] == "Finished"
    quickstarts_cluster.gone(lambda: quickstarts_cluster.children("quickstart"), "children")


def test_an_event_tells_of_the_verdict(quickstart: dict[str, Any], quickstarts_cluster: LiveCluster) -> None:
    quickstarts_cluster.tells("quickstart", quickstart["reason"])


def test_kubectl_get_shows_phase_verdict_and_figures(
    quickstart: dict[str, Any], quickstarts_cluster: LiveCluster
) -> None:
    header, row = quickstarts_cluster.kubectl("get", "slt", "quickstart").splitlines()
    assert header.split()[1:3] == ["PHASE", "VERDICT"]
    assert row.split()[1:3] == ["Finished", "Passed"]
    assert quickstart["verdict"] in row


def test_kubectl_get_as_yaml_can_be_read(quickstart: dict[str, Any], quickstarts_cluster: LiveCluster) -> None:
    lines = quickstarts_cluster.kubectl("get", "slt", "quickstart", "-o", "yaml").splitlines()
    assert f"  verdict: {quickstart['verdict']}" in lines
    assert len(lines) <= 300, "\n".join(lines)


def test_the_operator_leaves_no_finalizer_and_no_annotation_on_the_object(
    quickstart: dict[str, Any], quickstarts_cluster: LiveCluster
) -> None:
    metadata = quickstarts_cluster.get("sshloadtest", "quickstart")["metadata"]
    assert quickstart["phase"] == "Finished"
    assert "finalizers" not in metadata
    assert set(metadata.get("annotations", {})) <= {"kubectl.kubernetes.io/last-applied-configuration"}


def named_as_a_baseline(quickstart: dict[str, Any], cluster: LiveCluster) -> dict[str, Any]:
    """Return what the status of a test says of the one that it was held against."""
    return {
        "test": "quickstart",
        "uid": cluster.get("sshloadtest", "quickstart")["metadata"]["uid"],
        "verdict": "Passed",
        "completionTime": quickstart["completionTime"],
    }


def relative(status: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in status["thresholds"] if "of the baseline" in one["threshold"]]


def test_figures_are_in_the_status_with_their_intervals(quickstart: dict[str, Any]) -> None:
    stated = {one.percentile: one for one in step(quickstart, "login").percentiles}
    median = stated[50]
    assert (median.low_ms or 0) <= median.ms <= (median.high_ms or math.inf)
    assert quickstart["results"]["completedRateLow"] < quickstart["results"]["completedRate"]


def test_a_file_gives_the_same_account_without_a_cluster(quickstart: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "quickstart.yaml"
    file.write_text(yaml.safe_dump(example("01-quickstart")))
    ended = measured(file)
    assert ended.code == 0, ended.err
    local = ended.status
    assert (local["verdict"], local["reason"]) == (quickstart["verdict"], quickstart["reason"])
    assert local["results"]["iterations"] == quickstart["results"]["iterations"]
    assert "loginDifference" not in local["results"]["target"]
    assert steps_of(local).keys() == steps_of(quickstart).keys()


@pytest.mark.full  # tests/integration/local_run/test_baseline.py has the same of a run without a cluster
def test_a_change_that_costs_nothing_is_not_found_worse_than_the_baseline(
    quickstart: dict[str, Any], quickstarts_cluster: LiveCluster
) -> None:
    """The command takes so long that `total` is not four times as long where only one run meets other work.

    Where this machine slows down in the middle of either run, its samples may bound no median or no throughput: then
    this is said.
    """
    test = example("20-baseline")
    test["spec"]["thresholds"] = [
        {"latency": {"step": "total", "percentile": 50, "within": "300%"}},
        {"throughput": {"within": "90%"}},
    ]
    status = quickstarts_cluster.run(test)
    assert len(relative(status)) == 2
    found = {one.get("passed") for one in relative(status)}
    assert found <= {True, None}, status["message"]
    told = ("Inconclusive", "WithinNoise") if None in found else ("Passed", "ThresholdsMet")
    assert (status["verdict"], status["reason"]) == told, status["message"]
    assert status["baseline"] == named_as_a_baseline(quickstart, quickstarts_cluster)


def test_a_server_with_too_little_cpu_is_slower_than_the_baseline(
    quickstart: dict[str, Any], quickstarts_cluster: LiveCluster
) -> None:
    """Its logins come so fast that each waits for those before it, and takes many times as long as one by itself."""
    test = example("20-baseline")
    spec = test["spec"]
    spec["target"]["managed"]["resources"] = {"limits": {"cpu": "100m"}}
    spec["load"]["arrivals"]["stages"] = [{"rate": 10, "duration": "2s"}]
    # On a busy machine, logins time out as well. Without a limit for errors, that would decide the verdict.
    slower = {"latency": {"step": "login", "percentile": 50, "within": "100%"}}
    spec["thresholds"] = [{"errorRate": {"below": "90%"}}, slower]
    status = quickstarts_cluster.run({**test, "metadata": {"name": "throttled"}})
    assert status["baseline"] == named_as_a_baseline(quickstart, quickstarts_cluster)
    median = step(quickstart, "login").percentile(50)
    if median is not None and median.high_ms is not None:
        assert (status["verdict"], status["reason"]) == ("Failed", "ThresholdBroken"), status["message"]
        assert "of the baseline quickstart, but it was" in status["message"]
    else:
        assert status["reason"] in {"ThresholdBroken", "WithinNoise"}, status["message"]
