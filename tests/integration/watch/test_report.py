"""`sshload report NAME` reads a test of a real API server with the ConfigMap of its results."""

import json
from pathlib import Path

import finished_runs
import plans
from live_cluster import LiveCluster, load_test
from local_cli import Ended, sshload
from sshload_operator.manifests.results import results_config_map

RUN = finished_runs.a_test()


def report(cluster: LiveCluster, file: Path) -> Ended:
    return sshload("report", "one", "-o", file, "-n", cluster.namespace, "--kubeconfig", str(cluster.kubeconfig))


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
    assert found["results"] == RUN.status["results"]
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
