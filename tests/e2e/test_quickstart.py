"""The main job: apply a test, get numbers that add up and a verdict, and nothing left running."""

import base64
import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from live_cluster import LiveCluster, condition, load_test
from sshload_contract.codec import from_json
from sshload_contract.run_summary import RunSummary

EXAMPLES = Path(__file__).parents[2] / "examples"
QUICKSTART = EXAMPLES / "01-quickstart.yaml"


@pytest.fixture(scope="module")
def quickstart(module_cluster: LiveCluster) -> dict[str, Any]:
    module_cluster.kubectl("apply", "-f", str(QUICKSTART))
    return module_cluster.finished("quickstart", within_s=300)


def step(status: dict[str, Any], name: str) -> dict[str, Any]:
    return next(item for item in status["results"]["steps"] if item["step"] == name)


def test_the_quickstart_passes(quickstart: dict[str, Any]) -> None:
    assert (quickstart["verdict"], quickstart["reason"]) == ("Passed", "ThresholdsMet"), quickstart["message"]


def test_every_iteration_is_accounted_for(quickstart: dict[str, Any]) -> None:
    results = quickstart["results"]
    total = step(quickstart, "total")
    assert total["count"] + total["failures"] == results["iterations"]
    assert results["iterations"] == round(results["offeredRate"] * results["durationSeconds"])


def test_the_servers_count_of_logins_is_the_clients(quickstart: dict[str, Any]) -> None:
    target = quickstart["results"]["target"]
    assert target["accepted"] == target["clientLogins"]
    assert target["loginDifference"] == 0


def test_the_result_names_what_was_negotiated(quickstart: dict[str, Any]) -> None:
    (negotiated,) = quickstart["results"]["negotiated"]
    assert negotiated["serverVersion"].startswith("SSH-2.0-OpenSSH_10")
    assert all(negotiated[part] for part in ("kex", "cipher", "mac", "hostKey"))


def test_the_parts_of_a_login_add_up_to_less_than_the_whole(quickstart: dict[str, Any]) -> None:
    parts = [step(quickstart, name)["meanMs"] for name in ("connect", "banner", "kex", "auth")]
    assert sum(parts) == pytest.approx(step(quickstart, "login")["meanMs"], rel=0.02)
    assert step(quickstart, "login")["meanMs"] < step(quickstart, "total")["meanMs"]


def test_the_conditions_say_that_it_is_complete_and_passed(quickstart: dict[str, Any]) -> None:
    held = {item["type"]: item["status"] for item in quickstart["conditions"]}
    assert held == {
        "TargetReady": held["TargetReady"],
        "WorkersReady": held["WorkersReady"],
        "Complete": "True",
        "Passed": "True",
        "Ready": "True",
        "Reconciling": "False",
        "Stalled": "False",
    }


def test_the_whole_summary_is_in_the_results_config_map(
    quickstart: dict[str, Any], module_cluster: LiveCluster
) -> None:
    stored = module_cluster.get("configmap", quickstart["resultsConfigMap"])
    summary = from_json(RunSummary, gzip.decompress(base64.b64decode(stored["binaryData"]["summary.json.gz"])).decode())
    assert summary.load.succeeded + summary.load.failed == quickstart["results"]["iterations"]
    timed = {histogram.step for histogram in summary.histograms}
    assert timed >= {item["step"] for item in quickstart["results"]["steps"]}
    assert json.loads(stored["data"]["results.json"])["omitted"] == []
    assert stored["metadata"]["ownerReferences"][0]["kind"] == "SSHLoadTest"


def test_nothing_keeps_running_after_the_end(quickstart: dict[str, Any], module_cluster: LiveCluster) -> None:
    assert quickstart["phase"] == "Finished"
    module_cluster.gone(lambda: module_cluster.children("quickstart"), "children")


def test_an_event_tells_of_the_verdict(quickstart: dict[str, Any], module_cluster: LiveCluster) -> None:
    module_cluster.tells("quickstart", quickstart["reason"])


def test_kubectl_get_shows_phase_verdict_and_figures(quickstart: dict[str, Any], module_cluster: LiveCluster) -> None:
    header, row = module_cluster.kubectl("get", "slt", "quickstart").splitlines()
    assert header.split()[1:3] == ["PHASE", "VERDICT"]
    assert row.split()[1:3] == ["Finished", "Passed"]
    assert quickstart["verdict"] in row


def test_the_operator_leaves_no_finalizer_and_no_annotation_on_the_object(
    quickstart: dict[str, Any], module_cluster: LiveCluster
) -> None:
    metadata = module_cluster.get("sshloadtest", "quickstart")["metadata"]
    assert quickstart["phase"] == "Finished"
    assert "finalizers" not in metadata
    assert set(metadata.get("annotations", {})) <= {"kubectl.kubernetes.io/last-applied-configuration"}


def test_the_same_file_gives_the_same_account_without_a_cluster(quickstart: dict[str, Any]) -> None:
    command = [Path(sys.executable).parent / "sshload", "run", QUICKSTART, "--output", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    local = json.loads(done.stdout)["status"]
    assert (done.returncode, local["verdict"]) == (0, "Passed"), done.stderr
    assert local["results"]["iterations"] == quickstart["results"]["iterations"]
    assert local["results"]["target"]["loginDifference"] == 0
    steps = [[item["step"] for item in status["results"]["steps"]] for status in (local, quickstart)]
    assert steps[0] == steps[1]


def load_tests(path: Path) -> list[dict[str, Any]]:
    return [item for item in yaml.safe_load_all(path.read_text()) if item["kind"] == "SSHLoadTest"]


def self_contained_examples() -> list[Path]:
    """Return those that need nothing and have no test file of their own (the quickstart, searches, baselines)."""

    def needs_nothing(path: Path) -> bool:
        specs = [item["spec"] for item in load_tests(path)]
        return bool(specs) and not any(
            "external" in spec["target"] or "capacity" in spec["load"] or "baseline" in spec for spec in specs
        )

    return [path for path in sorted(EXAMPLES.glob("*.yaml")) if path != QUICKSTART and needs_nothing(path)]


@pytest.mark.parametrize("path", self_contained_examples(), ids=lambda path: path.stem)
def test_the_example_passes_as_it_stands(path: Path, cluster: LiveCluster) -> None:
    cluster.kubectl("apply", "-f", str(path))
    for item in load_tests(path):
        status = cluster.finished(item["metadata"]["name"], within_s=300)
        assert status["verdict"] == "Passed", f"{status['reason']}: {status['message']}"


def test_a_broken_threshold_fails_with_what_was_observed(cluster: LiveCluster) -> None:
    cluster.apply(load_test("strict", thresholds=[{"latency": {"step": "total", "percentile": 50, "below": "1ms"}}]))
    status = cluster.finished("strict")
    assert (status["verdict"], status["reason"]) == ("Failed", "ThresholdBroken")
    (threshold,) = status["thresholds"]
    assert threshold["passed"] is False
    assert threshold["observed"]
    assert condition(status, "Ready")["status"] == "False"


def test_too_few_samples_for_a_percentile_are_inconclusive_and_show_no_number(cluster: LiveCluster) -> None:
    cluster.apply(load_test("few", thresholds=[{"latency": {"step": "total", "percentile": 99.9, "below": "2s"}}]))
    status = cluster.finished("few")
    assert (status["verdict"], status["reason"]) == ("Inconclusive", "TooFewSamples")
    assert "p999Ms" not in step(status, "total")
    assert "observed" not in status["thresholds"][0]


def test_max_startups_at_its_default_shows_in_a_burst_as_dropped_connections(cluster: LiveCluster) -> None:
    cluster.apply(
        load_test(
            "default-max-startups",
            target={"managed": {"sshd": {"maxStartups": "10:30:100"}}},
            load={"burst": {"connections": 60, "repeat": 1, "interval": "1s"}},
            thresholds=[{"errorRate": {"below": "1%"}}],
        )
    )
    status = cluster.finished("default-max-startups")
    assert status["verdict"] == "Failed", status["message"]
    dropped = sum(item["count"] for item in status["results"]["errors"] if item["outcome"] == "throttled")
    assert dropped > 0
    assert status["results"]["burst"]["attempted"] == 60
    assert status["results"]["burst"]["established"] == 60 - dropped
