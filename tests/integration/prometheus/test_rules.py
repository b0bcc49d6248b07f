"""promtool plays time series to the chart's rules: each alert fires where it should, and stays silent where not."""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import helm
import pytest

DOCS_URL = "https://docs.example.com/sshload"
VALUES: Mapping[str, Any] = {
    "monitoring": {
        "prometheusRule": {
            "enabled": True,
            "docsURL": DOCS_URL,
            "capacityFloors": [
                {"unit": "arrivals/s", "floor": 100},
                {"unit": "users", "floor": 50, "namespace": "ns", "schedule": "nightly"},
            ],
            "noPass": {"hours": 2, "schedules": [{"namespace": "ns", "schedule": "weekly", "hours": 8}]},
        }
    },
    "otlp": {"endpoint": "https://collector.example.com"},
    "notifications": {"webhook": {"url": "https://hooks.example.com/sshload", "secret": "sshload-webhook"}},
}
ALERTS = {
    *("SSHLoadCapacityBelowFloor", "SSHLoadNotPassed", "SSHLoadNoPass", "SSHLoadGeneratorLags"),
    *("SSHLoadArrivalsDropped", "SSHLoadCPUStolen", "SSHLoadQueueStuck", "SSHLoadOperatorDown", "SSHLoadPassesFail"),
    *("SSHLoadNotificationsFail", "SSHLoadOTLPPushesFail", "SSHLoadCertificateExpires"),
}
OPERATOR = 'namespace="sshload-system",job="sshload-metrics"'
Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Case:
    """Series by their values over the minutes, and the labels of what fires at a minute, severity left out."""

    alert: str
    series: Mapping[str, str]
    minute: int
    fires: Sequence[Labels] = ()


def _test(**labels: str) -> str:
    return ",".join(f'{name}="{value}"' for name, value in ({"namespace": "ns", "test": "t"} | labels).items())


def _schedule(name: str = "nightly", **labels: str) -> str:
    return ",".join(f'{key}="{value}"' for key, value in {"namespace": "ns", "schedule": name, **labels}.items())


def _capacity_of_schedule(older: float, newer: float, unit: str = "arrivals/s") -> dict[str, str]:
    return {
        f"sshload_test_capacity{{{_test(test='older', unit=unit)}}}": f"{older}x10",
        f"sshload_test_capacity{{{_test(test='newer', unit=unit)}}}": f"{newer}x10",
        f"sshload_test_completion_timestamp_seconds{{{_test(test='older')}}}": "100x10",
        f"sshload_test_completion_timestamp_seconds{{{_test(test='newer')}}}": "200x10",
        f"sshload_test_owner_info{{{_test(test='older', schedule='nightly')}}}": "1x10",
        f"sshload_test_owner_info{{{_test(test='newer', schedule='nightly')}}}": "1x10",
    }


TEST_LABELS = {"namespace": "ns", "test": "t"}
NEWER = {"namespace": "ns", "test": "newer", "schedule": "nightly"}
CASES = {
    "a capacity below the floor": Case(
        "SSHLoadCapacityBelowFloor",
        {f"sshload_test_capacity{{{_test(unit='arrivals/s')}}}": "99x10"},
        5,
        [{**TEST_LABELS, "unit": "arrivals/s"}],
    ),
    "a capacity at the floor": Case(
        "SSHLoadCapacityBelowFloor", {f"sshload_test_capacity{{{_test(unit='arrivals/s')}}}": "100x10"}, 5
    ),
    "a capacity of a unit without a floor": Case(
        "SSHLoadCapacityBelowFloor", {f"sshload_test_capacity{{{_test(unit='sessions')}}}": "1x10"}, 5
    ),
    "no capacity found, and the least load broke a threshold below the floor": Case(
        "SSHLoadCapacityBelowFloor",
        {f"sshload_test_capacity_upper_bound{{{_test(unit='arrivals/s')}}}": "50x10"},
        5,
        [{**TEST_LABELS, "unit": "arrivals/s"}],
    ),
    "no capacity found, and the load that broke a threshold is above the floor": Case(
        "SSHLoadCapacityBelowFloor", {f"sshload_test_capacity_upper_bound{{{_test(unit='arrivals/s')}}}": "150x10"}, 5
    ),
    "a schedule's newest capacity below the floor": Case(
        "SSHLoadCapacityBelowFloor", _capacity_of_schedule(120, 90), 5, [{**NEWER, "unit": "arrivals/s"}]
    ),
    "a schedule's older capacity below the floor": Case("SSHLoadCapacityBelowFloor", _capacity_of_schedule(90, 120), 5),
    "a capacity below the floor of its schedule": Case(
        "SSHLoadCapacityBelowFloor", _capacity_of_schedule(60, 40, "users"), 5, [{**NEWER, "unit": "users"}]
    ),
    "a capacity below the floor of another schedule": Case(
        "SSHLoadCapacityBelowFloor", {f"sshload_test_capacity{{{_test(unit='users')}}}": "40x10"}, 5
    ),
    "a test that failed": Case(
        "SSHLoadNotPassed",
        {f"sshload_test_verdict{{{_test(verdict='Failed')}}}": "1x10"},
        5,
        [{**TEST_LABELS, "verdict": "Failed"}],
    ),
    "a test that passed": Case("SSHLoadNotPassed", {f"sshload_test_verdict{{{_test(verdict='Passed')}}}": "1x10"}, 5),
    "an old failed test of a schedule whose newest run passed": Case(
        "SSHLoadNotPassed",
        {
            f"sshload_test_verdict{{{_test(verdict='Failed')}}}": "1x10",
            f"sshload_test_owner_info{{{_test(schedule='nightly')}}}": "1x10",
            f"sshload_schedule_last_verdict{{{_schedule(verdict='Passed')}}}": "1x10",
        },
        5,
    ),
    "a schedule whose newest run is invalid": Case(
        "SSHLoadNotPassed",
        {f"sshload_schedule_last_verdict{{{_schedule(verdict='Invalid')}}}": "1x10"},
        5,
        [{"namespace": "ns", "schedule": "nightly", "verdict": "Invalid"}],
    ),
    "a failed test that passed again": Case(
        "SSHLoadNotPassed",
        {
            f"sshload_test_verdict{{{_test(verdict='Failed')}}}": "1x3 stale",
            f"sshload_test_verdict{{{_test(verdict='Passed')}}}": "_x4 1x10",
        },
        8,
    ),
    "no pass for longer than the limit": Case(
        "SSHLoadNoPass",
        {
            f"sshload_schedule_last_passed_timestamp_seconds{{{_schedule()}}}": "600x200",
            f"sshload_schedule_created_timestamp_seconds{{{_schedule()}}}": "0x200",
            f"sshload_schedule_suspended{{{_schedule()}}}": "0x200",
        },
        131,
        [{"namespace": "ns", "schedule": "nightly"}],
    ),
    "a pass within the limit, of a schedule that is older": Case(
        "SSHLoadNoPass",
        {
            f"sshload_schedule_last_passed_timestamp_seconds{{{_schedule()}}}": "600x200",
            f"sshload_schedule_created_timestamp_seconds{{{_schedule()}}}": "0x200",
            f"sshload_schedule_suspended{{{_schedule()}}}": "0x200",
        },
        129,
    ),
    "a schedule that has never passed": Case(
        "SSHLoadNoPass",
        {
            f"sshload_schedule_created_timestamp_seconds{{{_schedule()}}}": "60x200",
            f"sshload_schedule_suspended{{{_schedule()}}}": "0x200",
        },
        122,
        [{"namespace": "ns", "schedule": "nightly"}],
    ),
    "a schedule that is suspended": Case(
        "SSHLoadNoPass",
        {
            f"sshload_schedule_created_timestamp_seconds{{{_schedule()}}}": "0x200",
            f"sshload_schedule_suspended{{{_schedule()}}}": "1x200",
        },
        180,
    ),
    "no pass within the general limit, of a schedule with a longer one": Case(
        "SSHLoadNoPass",
        {
            f"sshload_schedule_created_timestamp_seconds{{{_schedule('weekly')}}}": "0x600",
            f"sshload_schedule_suspended{{{_schedule('weekly')}}}": "0x600",
        },
        470,
    ),
    "no pass within the limit of its own": Case(
        "SSHLoadNoPass",
        {
            f"sshload_schedule_created_timestamp_seconds{{{_schedule('weekly')}}}": "0x600",
            f"sshload_schedule_suspended{{{_schedule('weekly')}}}": "0x600",
        },
        481,
        [{"namespace": "ns", "schedule": "weekly"}],
    ),
    "a generator that lags": Case(
        "SSHLoadGeneratorLags",
        {f"sshload_generator_loop_lag_p99_seconds{{{_test()}}}": "0.021x10"},
        5,
        [TEST_LABELS],
    ),
    "a generator that is on time": Case(
        "SSHLoadGeneratorLags", {f"sshload_generator_loop_lag_p99_seconds{{{_test()}}}": "0.02x10"}, 5
    ),
    "dropped arrivals": Case(
        "SSHLoadArrivalsDropped",
        {f"sshload_iterations_dropped_total{{{_test()}}}": "0 0 3x10"},
        5,
        [TEST_LABELS],
    ),
    "no dropped arrivals": Case(
        "SSHLoadArrivalsDropped", {f"sshload_iterations_dropped_total{{{_test()}}}": "0x10"}, 5
    ),
    "a host that takes CPU time": Case(
        "SSHLoadCPUStolen", {f"sshload_generator_stolen_ratio{{{_test()}}}": "0.04x10"}, 5, [TEST_LABELS]
    ),
    "a host that takes hardly any": Case(
        "SSHLoadCPUStolen", {f"sshload_generator_stolen_ratio{{{_test()}}}": "0.01x10"}, 5
    ),
    "a queue that does not move": Case(
        "SSHLoadQueueStuck",
        {
            'sshload_tests_queued{namespace="ns"}': "2x200",
            f"sshload_operator_started_runs_total{{{OPERATOR}}}": "7x200",
        },
        70,
        [{}],
    ),
    "a queue that moves now and then": Case(
        "SSHLoadQueueStuck",
        {
            'sshload_tests_queued{namespace="ns"}': "2x200",
            f"sshload_operator_started_runs_total{{{OPERATOR}}}": "0x40 1x40 2x100",
        },
        90,
    ),
    "nothing that waits": Case(
        "SSHLoadQueueStuck",
        {
            'sshload_tests_queued{namespace="ns"}': "0x200",
            f"sshload_operator_started_runs_total{{{OPERATOR}}}": "0x200",
        },
        190,
    ),
    "an operator that is gone": Case(
        "SSHLoadOperatorDown",
        {f"sshload_operator_failed_passes_total{{{OPERATOR}}}": "0x10 stale"},
        17,
        [{"namespace": "sshload-system", "job": "sshload-metrics"}],
    ),
    "an operator that comes back in time": Case(
        "SSHLoadOperatorDown",
        {f"sshload_operator_failed_passes_total{{{OPERATOR}}}": "0x10 stale _x2 0x20"},
        17,
    ),
    "another operator that is there": Case(
        "SSHLoadOperatorDown",
        {'sshload_operator_failed_passes_total{namespace="other",job="other-metrics"}': "0x20"},
        17,
        [{"namespace": "sshload-system", "job": "sshload-metrics"}],
    ),
    "passes that fail": Case(
        "SSHLoadPassesFail", {f"sshload_operator_failed_passes_total{{{OPERATOR}}}": "0+2x40"}, 30, [{}]
    ),
    "a pass that fails now and then": Case(
        "SSHLoadPassesFail", {f"sshload_operator_failed_passes_total{{{OPERATOR}}}": "0+1x40"}, 30
    ),
    "a webhook that takes nothing": Case(
        "SSHLoadNotificationsFail",
        {f'sshload_operator_notifications_total{{{OPERATOR},channel="webhook",outcome="unreachable"}}': "0+1x60"},
        40,
        [{"channel": "webhook"}],
    ),
    "a collector that takes nothing": Case(
        "SSHLoadOTLPPushesFail",
        {f'sshload_operator_otlp_pushes_total{{{OPERATOR},outcome="refused"}}': "0+1x60"},
        40,
        [{}],
    ),
    "a collector that takes some": Case(
        "SSHLoadOTLPPushesFail",
        {
            f'sshload_operator_otlp_pushes_total{{{OPERATOR},outcome="refused"}}': "0+1x60",
            f'sshload_operator_otlp_pushes_total{{{OPERATOR},outcome="delivered"}}': "0+1x60",
        },
        40,
    ),
    "a certificate of six days": Case(
        "SSHLoadCertificateExpires",
        {f'sshload_operator_certificate_expiry_timestamp_seconds{{{OPERATOR},served="ui"}}': f"{6 * 86_400}x10"},
        5,
        [{"served": "ui"}],
    ),
    "a certificate of eight days": Case(
        "SSHLoadCertificateExpires",
        {f'sshload_operator_certificate_expiry_timestamp_seconds{{{OPERATOR},served="ui"}}': f"{8 * 86_400}x10"},
        5,
    ),
    "a webhook that takes some": Case(
        "SSHLoadNotificationsFail",
        {
            f'sshload_operator_notifications_total{{{OPERATOR},channel="webhook",outcome="unreachable"}}': "0+1x60",
            f'sshload_operator_notifications_total{{{OPERATOR},channel="webhook",outcome="delivered"}}': "0+1x60",
        },
        40,
    ),
}


def _promtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    program = shutil.which("promtool")
    assert program is not None, "install the Debian package prometheus (it brings promtool)"
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False, timeout=100)


@pytest.fixture(name="rule", scope="module")
def _rule(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the PrometheusRule that the chart makes of VALUES."""
    values = tmp_path_factory.mktemp("values") / "values.json"
    values.write_text(json.dumps(VALUES), encoding="utf-8")
    (rule,) = (found for found in helm.objects("--values", values) if found["kind"] == "PrometheusRule")
    return rule


@pytest.fixture(name="rules")
def _rules(rule: dict[str, Any], tmp_path: Path) -> Path:
    """Return the file of the rules, as Prometheus reads it."""
    return _written(rule, tmp_path)


def _written(rule: Mapping[str, Any], folder: Path) -> Path:
    path = folder / "rules.json"  # JSON is YAML
    path.write_text(json.dumps({"groups": rule["spec"]["groups"]}), encoding="utf-8")
    return path


def _alerts(rule: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [found for group in rule["spec"]["groups"] for found in group["rules"] if "alert" in found]


def test_promtool_finds_nothing_wrong_with_the_rules(rules: Path) -> None:
    checked = _promtool("check", "rules", "--lint=all", "--lint-fatal", rules)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_each_alert_has_a_severity_words_and_a_runbook_that_is_there(rule: dict[str, Any]) -> None:
    page = (helm.ROOT / "docs/how-to/prometheus.md").read_text(encoding="utf-8")
    headings = {heading.lower() for heading in re.findall(r"^### (\S+)$", page, re.MULTILINE)}
    for alert in _alerts(rule):
        assert alert["labels"]["severity"] in {"warning", "critical"}
        said = alert["annotations"]
        assert all(len(said[name]) > 20 for name in ("summary", "description")), said
        assert said["runbook_url"] == f"{DOCS_URL}/how-to/prometheus.md#{alert['alert'].lower()}"
        assert alert["alert"].lower() in headings


def test_each_alert_is_seen_to_fire_and_to_stay_silent(rule: dict[str, Any]) -> None:
    assert {alert["alert"] for alert in _alerts(rule)} == ALERTS
    for fires in (True, False):
        assert {case.alert for case in CASES.values() if bool(case.fires) is fires} == ALERTS


@pytest.fixture(name="played", scope="module")
def _played(rule: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return what promtool says of all cases: the expression of each that is not as expected, which names the case."""
    folder = tmp_path_factory.mktemp("cases")
    rules, path = _written(rule, folder), folder / "tests.json"
    # Without an order, promtool evaluates groups in a random one, and an alert may see a record of a minute before.
    order = [group["name"] for group in rule["spec"]["groups"]]
    path.write_text(
        json.dumps(
            {
                "rule_files": [str(rules)],
                "evaluation_interval": "1m",
                "group_eval_order": order,
                "tests": [_test(name, case, rule) for name, case in CASES.items()],
            }
        )
    )
    played = _promtool("test", "rules", path)
    assert played.returncode == 0 or "expr: " in played.stderr, played.stdout + played.stderr
    return played.stderr


def _test(name: str, case: Case, rule: Mapping[str, Any]) -> dict[str, Any]:
    """Return a case as promtool takes it."""
    (severity,) = {found["labels"]["severity"] for found in _alerts(rule) if found["alert"] == case.alert}
    same = {"__name__": "ALERTS", "alertname": case.alert, "alertstate": "firing", "severity": severity}
    expected = [{"labels": _series({**same, **labels}), "value": 1} for labels in case.fires]
    asked = f'ALERTS{{alertname="{case.alert}",alertstate="firing"}} # {name}'
    return {
        "interval": "1m",
        "input_series": [{"series": series, "values": values} for series, values in case.series.items()],
        "promql_expr_test": [{"expr": asked, "eval_time": f"{case.minute}m", "exp_samples": expected}],
    }


@pytest.mark.parametrize("name", CASES)
def test_an_alert_fires_only_where_it_should(played: str, name: str) -> None:
    assert f'# {name}",' not in played, played


def _series(labels: Labels) -> str:
    named = ",".join(f'{name}="{value}"' for name, value in labels.items() if name != "__name__")
    return f"{labels['__name__']}{{{named}}}"
