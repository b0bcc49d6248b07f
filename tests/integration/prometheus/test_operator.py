"""A real Prometheus scrapes a real operator, on a real API server, through the life of a test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from api_proxy import ApiProxy, ApiRequest, GoneInStream, Meddling
from live_cluster import LiveCluster, load_test
from operator_process import OperatorProcess
from played_pods import READY, PlayedPods, ended
from prometheus_server import Prometheus, prometheus, promtool_faults
from runs import says_running, says_summary

BOUNDED_LABELS = {
    *("__name__", "job", "instance", "namespace", "test", "step", "phase", "verdict", "quantile", "verb", "resource"),
}
MOST_SERIES_OF_A_TEST = 18
MOST_SERIES_OF_A_STEP = 9


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
    p99_ms = results["p99Ms"]
    server.wait_for(f'sshload_test_step_latency_seconds{{quantile="0.99",step="total",{test[1:]}', p99_ms / 1000)
    every = server.value(f'count({{__name__=~"sshload_.*",{test[1:]})')
    assert every <= MOST_SERIES_OF_A_TEST + MOST_SERIES_OF_A_STEP * (len(results["steps"]) + len(results["parts"]))
    assert server.label_names('{__name__=~"sshload_.*"}') <= BOUNDED_LABELS
    assert promtool_faults(operator.metrics()) == ""
    cluster.kubectl("delete", "sshloadtest", "scraped", "--timeout=60s")
    server.wait_for(f'count(sshload_test_verdict{{namespace="{cluster.namespace}"}}) or vector(0)', 0)


@pytest.mark.parametrize("is_too_old", [False, True], ids=["the watch goes on", "a new watch begins"])
def test_metrics_of_what_was_deleted_while_the_watch_was_away_disappear(
    cluster: LiveCluster, proxy: ApiProxy, operator: OperatorProcess, *, is_too_old: bool
) -> None:
    template = {"spec": load_test("any")["spec"]}
    for name in ("gone", "kept"):
        schedule = {"schedule": "0 0 1 1 *", "testTemplate": template}
        cluster.apply(load_test(name, abort=True))
        cluster.apply({**load_test(name), "kind": "SSHLoadTestSchedule", "spec": schedule})
        cluster.finished(name)
        for label in ("test", "schedule"):
            cluster.gone(
                lambda label=label, name=name: f'{label}="{name}"' not in operator.metrics(), "lack of metrics"
            )  # type: ignore[misc]
    proxy.go_away()
    for kind in ("sshloadtest", "sshloadtestschedule"):
        cluster.delete(kind, "gone")
    begun_again: set[str] = set()

    def gone_once(asked: ApiRequest) -> Meddling | None:
        is_first = is_too_old and asked.verb == "watch" and asked.resource not in begun_again
        begun_again.add(asked.resource)
        return GoneInStream() if is_first else None

    proxy.meddle = gone_once
    proxy.come_back()
    cluster.gone(lambda: '"gone"' in operator.metrics(), "metrics of what was deleted")
    for label in ("test", "schedule"):
        assert f'{label}="kept"' in operator.metrics()


def test_an_operator_without_tests_has_a_page_that_promtool_takes(operator: OperatorProcess) -> None:
    assert promtool_faults(operator.metrics()) == ""
