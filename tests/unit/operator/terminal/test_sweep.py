"""`sshload sweep`: which values of which field, and the table of what was found."""

from typing import Any
from xml.etree import ElementTree as ET

import pytest
from sshload_operator.api.comparison.sweep import Sweep
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.cli.sweep import swept_field
from sshload_operator.cli.view.formats import as_junit
from sshload_operator.cli.view.page import as_text
from sshload_operator.cli.view.sweep import sweep_page, sweep_rows
from statuses import RESULTS, read_test_status, step_json

SPEC: dict[str, Any] = {"load": {"arrivals": {"stages": [{"rate": 5, "duration": "9s"}]}}, "workers": {"replicas": 1}}


@pytest.mark.parametrize(
    ("text", "sweep"),
    [
        pytest.param("workers.replicas=1,2,4", Sweep(("workers", "replicas"), (1, 2, 4)), id="values"),
        pytest.param("spec.warmUp=1s,2s", Sweep(("warmUp",), ("1s", "2s")), id="with spec before it"),
        pytest.param("load.arrivals.rate=10..50:20", Sweep(("load", "arrivals", "rate"), (10, 30, 50)), id="range"),
        pytest.param("a.rate=0.5..1:0.25", Sweep(("a", "rate"), (0.5, 0.75, 1)), id="fractions"),
        pytest.param("a.rate=0.1..0.3:0.1", Sweep(("a", "rate"), (0.1, 0.2, 0.3)), id="fractions to the last one"),
        pytest.param("a.maxStartups=10:30:50,5", Sweep(("a", "maxStartups"), ("10:30:50", 5)), id="no base 60"),
        pytest.param("a.b=010,on,~,.nan,NaN", Sweep(("a", "b"), ("010", "on", "~", ".nan", "NaN")), id="text"),
        pytest.param("a.b=true,1e3,-2", Sweep(("a", "b"), (True, 1000.0, -2)), id="numbers and truth values"),
        pytest.param("a.b=x=[1,2]", Sweep(("a", "b"), ("x=[1", "2]")), id="no YAML"),
        pytest.param("a.stages.0.rate=1,2", Sweep(("a", "stages", 0, "rate"), (1, 2)), id="item of a list"),
    ],
)
def test_a_sweep_is_a_field_and_its_values(text: str, sweep: Sweep) -> None:
    assert swept_field(text) == sweep


@pytest.mark.parametrize(
    "text",
    [
        "",
        "rate",
        "=1,2",
        "rate=",
        "rate=1",
        "a..b=1,2",
        "a=1..9:0",
        "a=1..99999:1",
        "a=9..1:1",
        "a b=1,2",
        "a=1.2.3..4:1",
    ],
)
def test_what_is_no_sweep_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not FIELD|is not the path|is not a number|give 2 to"):
        swept_field(text)


def test_a_value_changes_its_field_and_nothing_of_the_spec_that_was_given() -> None:
    swept = swept_field("load.arrivals.stages.0.rate=7,8")
    assert swept.spec_at(SPEC, 7)["load"]["arrivals"]["stages"] == [{"rate": 7, "duration": "9s"}]
    assert SPEC["load"]["arrivals"]["stages"][0]["rate"] == 5


@pytest.mark.parametrize("field", ["load.arrivals.stages.1.rate", "load.arrivals.stages.rate", "workers.replicas.deep"])
def test_a_field_that_leads_nowhere_is_named(field: str) -> None:
    with pytest.raises(SpecError, match="leads nowhere"):
        swept_field(f"{field}=1,2").spec_at(SPEC, 1)


def status(verdict: str, p50_ms: float = 20.0, reason: str = "ThresholdBroken") -> TestStatus:
    results = {**RESULTS, "steps": [step_json("total", {50: p50_ms})], "errorPercent": 0.0, "p99Ms": 90.0}
    return read_test_status({"phase": "Finished", "verdict": verdict, "reason": reason, "results": results})


def test_each_value_has_a_row_and_a_bar_as_long_as_its_median() -> None:
    lost = read_test_status({"phase": "Finished", "verdict": "Error", "reason": "TargetFailed", "message": "no sshd"})
    swept = [(10, status("Passed", 20.0)), (20, status("Failed", 80.0)), (30, lost)]
    text = as_text(sweep_page("one", "load.arrivals.rate", 4, swept), 120)
    assert text.startswith(
        "Swept: 3 of 4 values of load.arrivals.rate; the first at which a threshold was broken is 20\n"
    )
    first, second, third = (line.split() for line in text.splitlines()[3:6])
    assert first[:5] == ["✓", "10", "20.0", "20.0", "90.0"]
    assert second[:4] == ["✗", "20", "20.0", "80.0"]
    assert len(second[-1]) == 4 * len(first[-1])
    assert third == ["?", "30", "-", "-", "-", "-"]
    assert "at 30: Error (TargetFailed): no sshd" in text


@pytest.mark.parametrize("verdict", ["Invalid", "Error", "Aborted"])
def test_a_value_that_was_not_measured_has_its_verdict_and_no_figures(verdict: str) -> None:
    swept = [(10, status("Passed")), (20, status(verdict, 80.0))]
    rows = as_text(sweep_page("one", "load.arrivals.rate", 2, swept), 120).splitlines()
    assert rows[4].split() == ["?", "20", "-", "-", "-", "-"]
    assert f"at 20: {verdict} (ThresholdBroken)" in rows
    _, lost = sweep_rows("load.arrivals.rate", swept)
    assert lost["verdict"] == verdict
    assert {lost[figure] for figure in ("completedRate", "errorPercent", "p50Ms", "p99Ms")} == {None}


def test_what_failed_without_a_threshold_broke_none() -> None:
    text = as_text(sweep_page("one", "rate", 2, [(10, status("Passed")), (20, status("Failed", reason="ManyFailed"))]))
    assert text.startswith("Swept: 2 of 2 values of rate; the first that failed is 20 (ManyFailed)\n")


def test_junit_has_a_case_for_each_value() -> None:
    swept = [(10, status("Passed")), (20, status("Failed")), (30, status("Invalid"))]
    suite = ET.fromstring(as_junit(sweep_page("one", "rate", 3, swept)))  # noqa: S314 - it is our own
    cases = {case.attrib["name"]: [child.tag for child in case] for case in suite}
    assert cases == {"rate = 10": [], "rate = 20": ["failure"], "rate = 30": ["error"]}
    assert (suite.attrib["tests"], suite.attrib["failures"], suite.attrib["errors"]) == ("3", "1", "1")
