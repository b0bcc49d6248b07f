"""Every query of every panel, and the rules, find data in a Prometheus that scraped a real operator, or a real run."""

import getpass
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import helm
import pytest
from api_proxy import ApiProxy
from live_cluster import LiveCluster, load_test
from operator_process import OperatorProcess
from played_pods import READY, PlayedPods, ended
from prometheus_server import Prometheus, prometheus
from run_configs import NOWHERE, arrivals, run_config, scenario
from running_target import TargetFolder, make_target_folder, ready_target, wait_until
from runs import says_running, says_summary
from searches import found_118
from sshload_contract.steps import ExecStep
from sshload_contract.wire.run_config import RunConfig
from webhook_receiver import key_folder, webhook_receiver
from whole_run import whole_run

DASHBOARDS = helm.CHART / "dashboards"
RESULTS, RUN = DASHBOARDS / "results.json", DASHBOARDS / "run.json"
OF_LOADS = {"namespace": "tests", "test": "loopback"}
_LOAD_S = 3600
"""The load of a live run goes on until all was found; then it is killed."""
SEARCH = {
    "load": {"capacity": {"arrivals": {"min": 10, "max": 500, "duration": "30s"}, "confirm": 1}},
    "thresholds": [{"errorRate": {"below": "1%"}}],
    "deadline": "1h",
}


@dataclass(frozen=True, slots=True)
class Query:
    """What one panel asks, with the variables of the dashboard and of Grafana in place."""

    panel: str
    expression: str


def queries(dashboard: Path, **variables: str) -> Iterator[Query]:
    """Yield all queries of a dashboard."""
    values = {"$__rate_interval": "15s", "$__range": "10m", **{f"${name}": value for name, value in variables.items()}}
    for panel in _panels(dashboard):
        for target in panel["targets"]:
            expression = target["expr"]
            for name, value in values.items():
                expression = expression.replace(name, value)
            assert "$" not in expression, expression
            yield Query(panel["title"], expression)


def _panels(dashboard: Path) -> list[dict[str, Any]]:
    found = json.loads(dashboard.read_text(encoding="utf-8"))["panels"]
    return [panel for panel in found if panel["type"] != "row"]


def _find_data(server: Prometheus, asked: Iterator[Query]) -> None:
    """Wait until each query has found data."""
    silent = list(asked)

    def all_found() -> bool:
        silent[:] = [query for query in silent if not server.query(query.expression)]
        return not silent

    try:
        wait_until(all_found, "data of all panels")
    except AssertionError as error:
        raise AssertionError(f"{error}; without data: {silent}") from None


@pytest.fixture
def operator(operator: OperatorProcess, tmp_path: Path) -> Iterator[OperatorProcess]:
    """Return an operator, not yet started, that posts the ends of runs."""
    with webhook_receiver() as receiver:
        operator.more_of_installation = f"channels: {{webhook: {{url: '{receiver.url}', events: [test, schedule]}}}}\n"
        operator.more_arguments = [f"--channel-secrets={key_folder(tmp_path).parent}"]
        yield operator


def _rules(folder: Path) -> Path:
    """Return a file with the chart's rules, evaluated each second."""
    made = helm.objects("--set", "monitoring.prometheusRule.enabled=true,monitoring.prometheusRule.interval=1s")
    (rule,) = (found for found in made if found["kind"] == "PrometheusRule")
    path = folder / "rules.json"
    path.write_text(json.dumps(rule["spec"]), encoding="utf-8")
    return path


def _apply_missed_schedule(cluster: LiveCluster) -> None:
    """Apply a schedule that an operator makes a test for when it starts, because the last start is long ago."""
    template = {"spec": {**load_test("any")["spec"], **SEARCH}}
    cluster.apply(
        {
            "apiVersion": "sshload.dev/v1alpha1",
            "kind": "SSHLoadTestSchedule",
            "metadata": {"name": "nightly"},
            "spec": {"schedule": "0 0 1 1 *", "testTemplate": template},
        }
    )
    last = f"{datetime.now(UTC) - timedelta(days=730):%Y-%m-%dT%H:%M:%SZ}"
    cluster.change("slts", "nightly", {"status": {"lastScheduleTime": last}}, "status")


def _scheduled_test(cluster: LiveCluster) -> str:
    """Return the name of the test that the schedule makes."""
    cluster.gone(lambda: not cluster.labelled("sshloadtests", "sshload.dev/schedule=nightly"), "lack of a test")
    (made,) = cluster.labelled("sshloadtests", "sshload.dev/schedule=nightly")
    return str(made["metadata"]["name"])


def _play(cluster: LiveCluster, proxy: ApiProxy, test: str) -> None:
    cluster.wait(test, lambda status: status.get("phase") == "PreparingTarget", "start")
    played = PlayedPods(cluster, test)
    played.create()
    played.all_fare(READY)
    says_running(proxy, played)
    cluster.wait(test, lambda status: status["phase"] == "Running", "load")
    says_summary(proxy, played, found_118())
    played.fare("master", ended(0))
    assert cluster.finished(test)["verdict"] == "Passed"


def test_every_panel_about_tests_and_schedules_finds_what_an_operator_publishes(
    cluster: LiveCluster, proxy: ApiProxy, operator: OperatorProcess, tmp_path: Path
) -> None:
    _apply_missed_schedule(cluster)
    operator.start()
    port, job = operator.metrics_port, {"operator": {"honor_labels": True}}
    with prometheus(tmp_path, {"operator": port}, job, [_rules(tmp_path)]) as server:
        _play(cluster, proxy, _scheduled_test(cluster))
        cluster.apply(load_test("under-way"))
        cluster.wait("under-way", lambda status: status.get("phase") == "PreparingTarget", "start")
        _find_data(server, queries(RESULTS, namespace=cluster.namespace))
        server.wait_for("sum(sshload_operator_started_runs_total)", 2)
        of_schedule = f'{{namespace="{cluster.namespace}",schedule="nightly"}}'
        server.wait_for(f"test:sshload_capacity:newest{of_schedule}", 118)
        server.wait_for(f"schedule:sshload_since_last_pass:seconds{of_schedule} < bool 600", 1)
        cluster.apply(load_test("aborted", abort=True))
        fires = f'ALERTS{{alertname="SSHLoadNotPassed",namespace="{cluster.namespace}",alertstate="firing"}}'
        server.wait_for(fires, 1)
        which = f"count by (test, verdict) ({fires})"
        server.wait_until(which, lambda found: [*found] == [("aborted", "Aborted")], "to be of the aborted test")


def _run_config(folder: TargetFolder) -> RunConfig:
    target = replace(
        NOWHERE,
        host="127.0.0.1",
        port=folder.config.sshd_port,
        user=getpass.getuser(),
        private_key_path=str(folder.path / "keys/id_ed25519"),
        known_hosts_path=str(folder.path / "known_hosts"),
    )
    echo = ExecStep(name="echo", command="echo 123456789", expect_exit_code=0, expect_stdout="")
    return replace(run_config(target, arrivals(rate=2, seconds=_LOAD_S), workers=1), scenario=scenario(echo))


def _scraped(port: int) -> Mapping[str, Any]:
    """Return a job as the chart's PodMonitor makes it: with the namespace and the test of the pod as labels."""
    return {"honor_labels": True, "static_configs": [{"targets": [f"127.0.0.1:{port}"], "labels": OF_LOADS}]}


def test_every_panel_about_a_live_run_finds_what_its_master_and_target_publish(tmp_path: Path) -> None:
    target_path, run_path = tmp_path / "target", tmp_path / "run"
    target_path.mkdir()
    run_path.mkdir()
    folder = make_target_folder(target_path, "LogLevel INFO\nMaxStartups 1000:30:1000\n")
    with ready_target(folder), whole_run(run_path, _run_config(folder)) as run:
        ports = {"target": folder.config.stats_port, "master": run.http_port}
        with prometheus(tmp_path, ports, {job: _scraped(port) for job, port in ports.items()}) as server:
            run.wait_until(lambda: run.iterations() >= 5, "5 iterations")
            asked = tuple(queries(RUN, **OF_LOADS))
            _find_data(server, iter(asked))
            succeeded = next(
                query.expression for query in asked if "rate(sshload_iterations_succeeded" in query.expression
            )
            server.wait_until(succeeded, lambda found: 1.8 < max(found.values(), default=0) < 2.2, "to be the rate")


@pytest.mark.parametrize("path", [RESULTS, RUN], ids=lambda path: path.stem)
def test_a_dashboard_names_no_data_source_and_no_test_and_each_panel_has_title_words_and_unit(path: Path) -> None:
    dashboard = json.loads(path.read_text(encoding="utf-8"))
    variables = {variable["name"]: variable for variable in dashboard["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    assert "namespace" in variables
    assert dashboard["editable"] is False
    titles = [panel["title"] for panel in _panels(path)]
    assert len(set(titles)) == len(titles)
    for panel in _panels(path):
        assert panel["title"]
        assert panel["description"].endswith(".")
        assert panel["fieldConfig"]["defaults"]["unit"]
        assert panel["targets"]
        for part in (panel, *panel["targets"]):
            assert part["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
            for taken in re.findall(r"\[([^\]]+)\]", part.get("expr", "")):
                assert taken in {"$__rate_interval", "$__range"}
    boxes = [panel["gridPos"] for panel in dashboard["panels"]]
    assert all(box["x"] + box["w"] <= 24 for box in boxes)
    cells = [(box["x"] + x, box["y"] + y) for box in boxes for x in range(box["w"]) for y in range(box["h"])]
    assert len(set(cells)) == len(cells)


def test_the_chart_serves_each_dashboard_to_the_sidecar_of_grafana() -> None:
    made = helm.objects("--set", "monitoring.dashboards.enabled=true,monitoring.dashboards.namespace=monitoring")
    served = [found for found in made if found["metadata"]["labels"].get("grafana_dashboard") == "1"]
    assert {found["metadata"]["namespace"] for found in served} == {"monitoring"}
    assert {found["metadata"]["annotations"]["grafana_folder"] for found in served} == {"sshload"}
    written = {name: text for found in served for name, text in found["data"].items()}
    assert {name: json.loads(text) for name, text in written.items()} == {
        f"sshload-{path.name}": json.loads(path.read_text(encoding="utf-8")) for path in (RESULTS, RUN)
    }
    assert not any("dashboard" in found["metadata"]["name"] for found in helm.objects())
