"""A figure is declared once, at its field, and every output has it without a list of its own."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from sshload_operator.api.kinds import TEST
from sshload_operator.api.shapes.reading import camel_case
from sshload_operator.api.status.measured import OF_RUN, Declared, figures
from sshload_operator.control.metrics.server import OperatorMetrics
from sshload_operator.decision.comparison.figures import compared_figures
from sshload_operator.decision.notification import due
from sshload_operator.planning.plan import EndEvent, Webhook
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
    webhook = Webhook("https://hook", frozenset(EndEvent), frozenset(), timedelta(hours=1).total_seconds())
    found = due(TEST, {"metadata": METADATA, "status": STATUS}, webhook, NOW)
    assert found is not None
    return found.event["data"]["results"]


def report() -> dict[str, Any]:
    run = SavedRun("t", "ns", {}, STATUS, None)
    return report_document(run, "0.1.0", run)


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
    assert [one.name, value] in [[row["figure"], row["here"]["value"]] for row in document["against"]["figures"]]
    assert (one.name in compared_figures(read_test_status(STATUS))) is one.compared
    assert any(abs(value / divisor - sample) < 1e-9 for sample in published() for divisor in (1, 100, 1_000))
