"""A real Prometheus scrapes a real operator, on a real API server, through the life of a test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from api_proxy import ApiProxy
from live_cluster import LiveCluster, load_test
from master_words import says_running, says_summary
from operator_process import OperatorProcess
from played_pods import READY, PlayedPods, ended
from prometheus_server import Prometheus, prometheus, promtool_faults

BOUNDED_LABELS = {
    *("__name__", "job", "instance", "namespace", "test", "step", "phase", "verdict", "quantile", "verb", "resource"),
}


@pytest.fixture(name="operator")
def _operator(operator: OperatorProcess) -> OperatorProcess:
    """Return an operator that runs, for the test's namespace."""
    operator.start()
    return operator


@pytest.fixture
def server(operator: OperatorProcess, tmp_path: Path) -> Iterator[Prometheus]:
    """Run a Prometheus that scrapes the operator."""
    with prometheus(tmp_path, {"operator": operator.metrics_port}) as server:
        yield server


def _run_until_passed(cluster: LiveCluster, proxy: ApiProxy, test: str) -> None:
    cluster.wait(test, lambda status: status.get("phase") == "PreparingTarget", "start")
    played = PlayedPods(cluster, test)
    played.create()
    played.all_fare(READY)
    says_running(proxy, played)
    cluster.wait(test, lambda status: status["phase"] == "Running", "load")
    says_summary(proxy, played)
    played.fare("master", ended(0))
    assert cluster.finished(test)["verdict"] == "Passed"


def test_prometheus_knows_a_tests_phase_verdict_and_results_until_it_is_deleted(
    cluster: LiveCluster, proxy: ApiProxy, operator: OperatorProcess, server: Prometheus
) -> None:
    test = f'{{namespace="{cluster.namespace}",test="scraped"}}'
    cluster.apply(load_test("scraped"))
    server.wait_for(f'sshload_tests_running{{namespace="{cluster.namespace}"}}', 1)
    _run_until_passed(cluster, proxy, "scraped")
    server.wait_for(f'sshload_test_verdict{{test="scraped",verdict="Passed",namespace="{cluster.namespace}"}}', 1)
    server.wait_for(f'sshload_tests_running{{namespace="{cluster.namespace}"}}', 0)
    results = cluster.status("scraped")["results"]
    server.wait_for(f"sshload_test_completed_rate{test}", results["completedRate"])
    server.wait_for(f"sshload_test_offered_rate{test}", results["offeredRate"])
    (total,) = [step for step in results["steps"] if step["step"] == "total"]
    (p99_ms,) = [one["ms"] for one in total["intervals"] if one["percentile"] == 99]
    server.wait_for(f'sshload_test_step_latency_seconds{{quantile="0.99",step="total",{test[1:]}', p99_ms / 1000)
    assert server.label_names('{__name__=~"sshload_.*"}') <= BOUNDED_LABELS
    assert promtool_faults(operator.metrics()) == ""
    cluster.kubectl("delete", "sshloadtest", "scraped", "--timeout=60s")
    server.wait_for(f'count(sshload_test_verdict{{namespace="{cluster.namespace}"}}) or vector(0)', 0)


def test_an_operator_without_tests_has_a_page_that_promtool_takes(operator: OperatorProcess) -> None:
    assert promtool_faults(operator.metrics()) == ""
