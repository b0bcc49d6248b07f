"""A figure is declared once, at its field, and every output has it without a list of its own."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from sshload_operator.api.kinds import TEST
from sshload_operator.api.shapes.reading import camel_case
from sshload_operator.api.status.compared import compared_figures
from sshload_operator.api.status.figures import Measured
from sshload_operator.api.status.measured import OF_RUN, Declared, Figure, declared, figures, find_figure
from sshload_operator.cli.view.page import as_text
from sshload_operator.cli.view.result import result_page
from sshload_operator.control.channels.ends import EndEvent, WantedEnds, due
from sshload_operator.control.channels.webhook import event_of
from sshload_operator.control.metrics.server import OperatorMetrics
from sshload_operator.report.document import report_document
from sshload_operator.report.markdown import markdown_text
from sshload_operator.report.saved_run import SavedRun
from statuses import RESULTS, read_test_status

DECLARED = [(part, one) for part, known in OF_RUN.items() for one in known]
VALUES = {one.name: float(number) for number, (_, one) in enumerate(DECLARED, start=11)}
NOW = datetime(2026, 11, 21, 6, 1, tzinfo=UTC)


def status_of_all() -> dict[str, Any]:
    """Return a status with another value for each figure of a whole run that is declared."""
    results: dict[str, Any] = {**RESULTS}
    for part, one in DECLARED:
        holder = results.setdefault(part, {}) if part else results
        holder[camel_case(one.attribute)] = VALUES[one.name]
    results["completedRateLow"], results["completedRateHigh"] = 1.0, 99.0
    return {
        "run": 1,
        "phase": "Finished",
        "verdict": "Passed",
        "completionTime": "2026-11-21T06:00:00Z",
        "results": results,
    }


STATUS = status_of_all()
METADATA = {"namespace": "ns", "name": "t", "uid": "u1"}


def published() -> list[float]:
    metrics = OperatorMetrics()
    metrics.tests.object_changed(None, {"metadata": METADATA, "status": STATUS})
    families = text_string_to_metric_families(b"".join(metrics.render()).decode())
    return [sample.value for family in families for sample in family.samples]


def posted() -> Any:
    asked = WantedEnds(events=tuple(EndEvent), max_age_s=timedelta(hours=1).total_seconds())
    found = due(TEST, {"metadata": METADATA, "status": STATUS}, "webhook", asked, NOW)
    assert found is not None
    return event_of(found)["data"]["results"]


def report() -> dict[str, Any]:
    run = SavedRun("t", "ns", {}, STATUS, None)
    return report_document(run, "0.1.0", run)


def test_bytes_are_shown_digit_by_digit() -> None:
    status = read_test_status({**STATUS, "results": {**RESULTS, "target": {"memoryPeakBytes": 21_549_056}}})
    assert "21,549,056" in as_text(result_page("t", status, verbose=True), 120)


def test_no_two_figures_have_one_name() -> None:
    assert len(VALUES) == len(DECLARED) > 15


def test_each_declared_figure_is_yielded_with_its_interval_and_unit() -> None:
    stated = {one.name: one for one in figures(read_test_status(STATUS))}
    assert {name: one.value for name, one in stated.items()} == VALUES
    rate = stated["completedRate"]
    assert (rate.low, rate.high, rate.unit, rate.step) == (1.0, 99.0, "/s", "")


@pytest.mark.parametrize("one", [pytest.param(one, id=one.name) for _, one in DECLARED])
def test_each_declared_figure_is_in_every_output(one: Declared) -> None:
    value = VALUES[one.name]
    document = report()
    assert posted()[one.name] == value
    assert f"| {one.name} | {value:g} |" in markdown_text(document)
    assert [one.name, value] in [[row["figure"], row["value"]] for row in document["figures"]]
    shown = as_text(result_page("t", read_test_status(STATUS), verbose=True), 120).splitlines()
    assert [one.name, f"{value:g}"] in [line.split()[:2] for line in shown]
    assert [one.name, value] in [[row["figure"], row["here"]["value"]] for row in document["against"]["figures"]]
    assert (one.name in compared_figures(read_test_status(STATUS))) is one.compared
    assert any(abs(value / divisor - sample) < 1e-9 for sample in published() for divisor in (1, 100, 1_000))


def test_a_figure_is_called_by_its_field_and_by_what_it_is_of() -> None:
    of_proxy = {one.attribute: (one.name, one.unit, one.means.split(".")[0]) for one in OF_RUN["proxy"]}
    means = "CPU time of the proxy per login that the target accepted"
    assert of_proxy["cpu_per_login_ms"] == ("proxyCpuPerLoginMs", "ms", means)
    of_target = {one.attribute: one.name for one in OF_RUN["target"]}
    assert of_target["cpu_per_login_ms"] == "cpuPerLoginMs"
    assert [one.name for one in OF_RUN["hold"]] == ["heldSessionsMost", "heldSessionsLeast"]
    assert {"workersExpected", "p99Ms"}.isdisjoint(VALUES)


def test_a_step_has_its_figures_with_the_intervals_that_it_states() -> None:
    intervals = [
        {"percentile": 99, "ms": 40.0, "lowMs": 38.0, "highMs": 43.0},
        {"percentile": 99.99, "ms": 80.0, "lowMs": 70.0},
    ]
    login = {"step": "login", "count": 600, "rate": 20.0, "p50Ms": 9.0, "p99Ms": 40.0, "intervals": intervals}
    status = read_test_status({"results": {**RESULTS, "steps": [login]}})
    of_login = {one.name: (one.value, one.low, one.high, one.unit) for one in figures(status) if one.step == "login"}
    assert of_login == {
        "rate": (20.0, None, None, "/s"),
        "p50Ms": (9.0, None, None, "ms"),
        "p99Ms": (40.0, 38.0, 43.0, "ms"),
        "p99.99Ms": (80.0, 70.0, None, "ms"),
    }
    found = find_figure(status, "p99Ms", "login")
    assert found is not None
    assert (found.key, found.interval) == ("login.p99Ms", {"value": 40.0, "low": 38.0, "high": 43.0})
    assert find_figure(status, "p99Ms") is None
    assert find_figure(status, "p95Ms", "login") is None


def test_a_capacity_of_which_only_a_bound_is_known_has_no_value() -> None:
    capacity = {"unit": "users", "end": "mostHeld", "value": 500, "lowerBound": 500, "trials": []}
    assert list(figures(read_test_status({"capacity": capacity}))) == [Figure("capacity", None, 500, None, "users")]


@dataclass
class Part:
    """A part of results."""

    plain: int
    text: Annotated[str, "No figure."]
    one_ms: Annotated[float, Measured("ms"), "How long."]
    two: Annotated[int, Measured("things", compared=False, name="called"), "How many."]


def test_of_a_part_those_fields_are_figures_that_say_so() -> None:
    called = Declared("called", "two", "things", compared=False, means="How many.")
    assert declared(Part) == (Declared("oneMs", "one_ms", "ms", compared=True, means="How long."), called)
    assert declared(Part, "of") == (Declared("ofOneMs", "one_ms", "ms", compared=True, means="How long."), called)
