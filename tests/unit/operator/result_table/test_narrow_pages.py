"""No figure is cut, however narrow the terminal is: words are wrapped, and a table without room becomes a list."""

import re
from typing import Any

import pytest
from sshload_contract.thresholds import LatencyThreshold
from sshload_operator.cli.view.comparison import comparison_page
from sshload_operator.cli.view.page import Check, Facts, Grid, Page, Paste, as_text
from sshload_operator.cli.view.result import result_page
from statuses import RESULTS, read_comparison_status, read_test_status, step_json, threshold_json

WIDTHS = (10, 24, 32, 40, 50, 60, 70, 80, 120)
PERCENTILES = {50: 58.4, 90: 412.0, 99: 1_199.0}
STEPS = [
    step_json("connect", PERCENTILES, count=60_003, rate=1_234.5, meanMs=98.7, maxMs=12_345.0),
    step_json("total", PERCENTILES, count=60_001, rate=1_234.5, meanMs=98.6, maxMs=12_346.0, bytesPerSecond=1.25e6),
]
STATUS: dict[str, Any] = {
    "phase": "Finished",
    "verdict": "Failed",
    "reason": "ThresholdBroken",
    "thresholds": [threshold_json(LatencyThreshold("total", 99, 2.0), "2.415 s", met=False, value=2415)],
    "results": {**RESULTS, "steps": STEPS, "iterations": 60_001},
}
FIRST, OTHER = "openssh-9.9-original", "openssh-10-hardened"
FIGURES: dict[str, dict[str, Any]] = {
    "memoryPeakBytes": {"value": 123_456_789.0, "ratio": 1.043, "low": 0.951, "high": 1.131, "difference": "unknown"},
    "completedRate": {"value": 12_345.0, "ratio": 1.022, "low": 1.011, "high": 1.033, "difference": "higher"},
    "errorPercent": {"value": 1.5, "points": -5.25, "low": -12.1, "high": 1.25, "difference": "unknown"},
}
COMPARED = {
    "phase": "Finished",
    "verdict": "Conclusive",
    "reason": "Compared",
    "results": {
        "variants": [
            {
                "name": name,
                "tests": 5,
                "measured": 5,
                "verdicts": {"Passed": 5},
                "figures": [{"figure": figure, "rounds": 5, **told} for figure, told in FIGURES.items()],
            }
            for name in (FIRST, OTHER)
        ]
    },
}


@pytest.mark.parametrize("width", WIDTHS)
def test_each_figure_of_a_result_is_whole_at_each_width(width: int) -> None:
    text = as_text(result_page("one", read_test_status(STATUS), verbose=True), width)
    for figure in ("60,003", "60,001", "1,234.5", "98.7", "58.4", "412", "1,199", "12,345", "12,346", "1.25", "2.415"):
        assert re.search(rf"(?<![\d.,]){re.escape(figure)}(?![\d.,])", text)
    assert max(map(len, text.splitlines())) <= max(width, 24)


@pytest.mark.parametrize("width", WIDTHS)
def test_each_figure_of_a_comparison_is_whole_at_each_width(width: int) -> None:
    text = as_text(comparison_page("cmp", read_comparison_status(COMPARED), verbose=True), width)
    for figure in ("12,345", "123 MB", "0.951 to 1.131", "1.011 to 1.033", "-12.1 to +1.25", "-5.25 points", "1.043"):
        assert figure in re.sub(r"\s+", " ", text)
    for name in ("memoryPeak", "completedRate", "errorPercent"):
        assert re.search(rf"^(figure: )?{name}\b", text, re.MULTILINE)


def test_a_long_name_of_a_variant_takes_no_room_from_the_figures() -> None:
    rows = as_text(comparison_page("cmp", read_comparison_status(COMPARED), verbose=True), 80).splitlines()
    assert any(re.match(r"memoryPeak +123 MB +123 MB +1.043 +0.951 to 1.131", row) for row in rows)


def test_a_row_without_room_is_a_line_for_each_cell_under_its_head() -> None:
    grid = Grid(("", "step", "count", "p99 ms", "moved"), (("✓", "total", "60,001", "1,199", ""),), left=2)
    assert as_text(Page("one", "", "", None, parts=(grid,)), 24) == "✓\nstep: total\ncount: 60,001\np99 ms: 1,199\n"


def test_a_threshold_without_room_is_wrapped_at_its_words() -> None:
    check = Check("p99", "p99 of total below 2 s: 2.415 s, 20.8 % above", passed=False)
    text = as_text(Page("one", "", "", None, (check,)), 30)
    assert text == "✗  p99 of total below 2 s:\n   2.415 s, 20.8 % above\n"


def test_a_fact_without_room_beside_its_label_stands_under_it() -> None:
    text = as_text(Page("one", "", "", None, parts=(Facts((("generator", "12,345 arrivals late"),)),)), 24)
    assert " ".join(text.split()) == "generator: 12,345 arrivals late"


def test_a_line_to_paste_is_never_wrapped() -> None:
    line = "PerSourcePenaltyExemptList 10.0.0.0/8"
    text = as_text(Page("one", "", "", None, parts=(Paste("put this into sshd_config", (line,)),)), 24)
    assert f"    {line}\n" in text
