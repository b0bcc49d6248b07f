"""`sshload report NAME` reads a test of a real API server with the ConfigMap of its results."""

import json
from pathlib import Path
from typing import Any

import finished_runs
import plans
import reported
from live_cluster import LiveCluster, load_test
from local_cli import Ended, sshload
from sshload_operator.manifests.results import results_config_map
from sshload_operator.report.saved_run import KeptObject

RUN = finished_runs.a_test()


def report(cluster: LiveCluster, file: Path, name: str = "one", *more: str) -> Ended:
    return sshload("report", name, *more, "-o", file, "-n", cluster.namespace, "--kubeconfig", str(cluster.kubeconfig))


def finish(cluster: LiveCluster) -> None:
    cluster.apply(load_test("one"))
    cluster.change("slt", "one", {"status": {**RUN.status, "resultsConfigMap": "one-results"}}, "status")


def keep_results(cluster: LiveCluster) -> None:
    assert RUN.summary is not None
    found = results_config_map(plans.plan(), RUN.summary)
    cluster.apply({**found, "metadata": {"name": "one-results", "namespace": cluster.namespace}})


def test_a_finished_test_is_reported_with_what_its_config_map_keeps(cluster: LiveCluster, tmp_path: Path) -> None:
    finish(cluster)
    keep_results(cluster)
    ended = report(cluster, tmp_path / "report.json")
    assert ended.code == 0, ended.err
    found = json.loads((tmp_path / "report.json").read_text())
    kept, steps = RUN.status["results"], found["results"]["steps"]
    assert {**found["results"], "parts": kept["parts"]} == {**kept, "steps": steps}
    ours = [one["step"] for one in steps]
    assert ours.index("connect") < ours.index("kex") < ours.index("auth") < ours.index("login")
    assert sorted(ours) == sorted(one["step"] for one in (*kept["steps"], *kept["parts"]))
    assert len(found["overTime"]["intervals"]) == 90


def test_without_the_config_map_the_report_says_what_it_lacks(cluster: LiveCluster, tmp_path: Path) -> None:
    finish(cluster)
    ended = report(cluster, tmp_path / "report.md")
    assert ended.code == 0
    assert "ConfigMap of its results is gone" in ended.err
    assert "was not kept" in (tmp_path / "report.md").read_text()


def test_a_test_that_is_not_finished_or_not_there_is_named(cluster: LiveCluster, tmp_path: Path) -> None:
    ended = report(cluster, tmp_path / "report.md")
    assert (ended.code, "there is no SSHLoadTest" in ended.err) == (4, True)
    cluster.apply(load_test("one"))
    ended = report(cluster, tmp_path / "report.md")
    assert ended.code == 4
    assert "finished" in ended.err


def test_a_test_of_a_cluster_is_laid_over_another_one(cluster: LiveCluster, tmp_path: Path) -> None:
    finish(cluster)
    keep_results(cluster)
    cluster.apply(load_test("before"))
    cluster.change("slt", "before", {"status": RUN.status}, "status")
    ended = report(cluster, tmp_path / "report.json", "one", "--against", "before")
    assert ended.code == 0, ended.err
    other = json.loads((tmp_path / "report.json").read_text())["against"]
    assert (other["test"]["name"], other["overTime"]) == ("before", None)
    assert "before: the ConfigMap of its results is gone" in ended.err


def of_kind(kind: str, name: str, kept: KeptObject) -> dict[str, Any]:
    return {"apiVersion": "sshload.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": kept.spec}


def test_a_comparison_of_a_cluster_is_reported_by_its_kind_and_name(cluster: LiveCluster, tmp_path: Path) -> None:
    comparison = reported.a_comparison("a", "b")
    cluster.apply(of_kind("SSHLoadTestComparison", "cmp", comparison))
    cluster.change("sltc", "cmp", {"status": {**comparison.status, "conditions": []}}, "status")
    for name in ("comparison/cmp", "sltc/cmp"):
        ended = report(cluster, tmp_path / "report.json", name)
        assert ended.code == 0, ended.err
        assert json.loads((tmp_path / "report.json").read_text())["comparison"]["name"] == "cmp"


def test_a_schedule_of_a_cluster_is_reported_with_the_tests_that_it_made(cluster: LiveCluster, tmp_path: Path) -> None:
    schedule, tests = reported.a_schedule()
    cluster.apply(of_kind("SSHLoadTestSchedule", "hourly", schedule))
    cluster.change("slts", "hourly", {"status": {"trend": schedule.status["trend"]}}, "status")
    for test in tests[1:]:
        labels = {"sshload.dev/schedule": "hourly"}
        made = of_kind("SSHLoadTest", test.name, test)
        cluster.apply({**made, "metadata": {"name": test.name, "labels": labels}})
        cluster.change("slt", test.name, {"status": test.status}, "status")
    ended = report(cluster, tmp_path / "report.json", "schedule/hourly")
    assert ended.code == 0, ended.err
    found = json.loads((tmp_path / "report.json").read_text())
    assert len(found["runs"]) == 4
    assert [one["test"] for one in found["drift"]] == [test.name for test in tests[1:]]
