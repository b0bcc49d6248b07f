"""The report as a document: true to the status and the summary, bounded, and safe inside of a page."""

import hashlib
import json
import re
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import ceil
from pathlib import Path
from random import Random
from typing import Any

import finished_runs
import pytest
import sshload_operator.report
from hypothesis import given
from hypothesis import strategies as st
from runs import summary
from sshload_contract.vocabulary import InPath, Outcome, Verdict, Window
from sshload_contract.wire.program import ProgramStats, ProgramUse
from sshload_contract.wire.report import EncodedHistogram
from sshload_contract.wire.run_summary import PopulationStats, SeriesPoint, UserStats
from sshload_operator.api.status.results import Results
from sshload_operator.api.status.steps import StepResult
from sshload_operator.report.distribution import distributions
from sshload_operator.report.document import json_text, report_document
from sshload_operator.report.html_page import html_page
from sshload_operator.report.markdown import markdown_text
from sshload_operator.report.saved_run import SavedRun
from sshload_operator.report.waterfall import waterfall
from sshload_worker.recording.histogram import LatencyHistogram

PAGE_LIMIT_BYTES = 1_500_000
VENDOR = Path(sshload_operator.report.__file__).parent / "page/vendor"


def document(run: SavedRun) -> dict[str, Any]:
    """Return the report as a reader of its JSON gets it."""
    found: dict[str, Any] = json.loads(json_text(report_document(run, "0.1.0")))
    return found


def test_verdict_thresholds_and_results_are_those_of_the_status() -> None:
    run = finished_runs.a_test()
    found = document(run)
    assert found["version"] == "report.v1"
    assert found["verdict"]["word"] == run.status["verdict"] == "Passed"
    assert found["verdict"]["passed"] is True
    stated = found["results"]
    kept = run.status["results"]
    assert {**stated, "parts": kept["parts"]} == {**kept, "steps": stated["steps"]}
    ours = [one["step"] for one in stated["steps"]]
    assert sorted(ours) == sorted(one["step"] for one in (*kept["steps"], *kept["parts"]))
    assert ours.index("connect") < ours.index("kex") < ours.index("auth") < ours.index("login")
    assert [one.pop("words") for one in found["thresholds"]] == ["p99 of total below 2 s", "error rate below 1 %"]
    assert found["thresholds"] == run.status["thresholds"]


def test_rates_are_per_second_of_each_interval_and_failures_stand_by_their_outcome() -> None:
    points = (
        SeriesPoint(2.0, 0, 0, 1, 40, 38, 2, 90_000, 45_000, 60_000, {Outcome.THROTTLED: 2}),
        SeriesPoint(3.0, 0, 0, 1, 20, 0, 0, None),
    )
    first, second = document(finished_runs.a_test(series=points))["overTime"]["intervals"]
    assert (first["begunRate"], first["completedRate"]) == (20, 19)
    assert (first["errorPercent"], first["failedPercent"]) == (5, {"throttled": 5})
    assert (first["p50Ms"], first["p90Ms"], first["p99Ms"]) == (45, 60, 90)
    assert (second["begunRate"], second["errorPercent"], second["p50Ms"]) == (20, None, None)


def test_a_summary_of_a_release_before_shows_its_failures_as_other_and_says_what_it_lacks() -> None:
    found = document(finished_runs.a_test(series=(SeriesPoint(1.0, 0, 0, 1, 20, 15, 5, 90_000),)))
    assert found["overTime"]["intervals"][0]["failedPercent"] == {"other": 25}
    assert any("only the 99th percentile over time" in said for said in found["lacks"])


def test_a_stretch_without_reports_is_marked_as_distorted() -> None:
    assert document(finished_runs.a_test(points=90))["distorted"] == [
        {"fromSeconds": 60, "toSeconds": 64, "message": "no worker's report for 4.0 s"}
    ]


def test_an_invalid_run_is_distorted_as_a_whole() -> None:
    run = finished_runs.a_test(points=10)
    invalid = replace(run, status={**run.status, "verdict": "Invalid", "reason": "CpuStolen"})
    assert document(invalid)["distorted"][0] == {
        "fromSeconds": 0,
        "toSeconds": 13,
        "message": "the whole run: CpuStolen",
    }


@given(st.lists(st.integers(min_value=1, max_value=10**9), min_size=1, max_size=400))
def test_a_distribution_is_within_a_thousandth_of_the_sorted_truth_and_never_below(samples: list[int]) -> None:
    one = EncodedHistogram("total", Window.MEASURED, Outcome.OK, len(samples), LatencyHistogram(samples).encode())
    (found,) = distributions(summary(histograms=(one,)))
    assert found["count"] == len(samples)
    for percentile, ms in found["points"]:
        truth_us = sorted(samples)[max(ceil(Fraction(str(percentile)) * len(samples) / 100), 1) - 1]
        assert truth_us <= round(ms * 1_000) <= truth_us * 1.001
    assert found["points"][-1][0] == 100


def test_above_what_the_samples_bound_a_distribution_says_so() -> None:
    text = LatencyHistogram(range(1, 301)).encode()
    (found,) = distributions(summary(histograms=(EncodedHistogram("total", Window.MEASURED, Outcome.OK, 300, text),)))
    assert 98 < found["statedTo"] <= 99.1


def test_a_histogram_that_cannot_be_read_is_left_out() -> None:
    bad = EncodedHistogram("total", Window.MEASURED, Outcome.OK, 1, "nothing")
    assert distributions(summary(histograms=(bad,))) == []


def test_parts_of_an_iteration_stand_one_after_another_in_the_order_in_which_they_happen() -> None:
    parts = document(finished_runs.a_test())["waterfall"]
    assert [one["step"] for one in parts] == [
        "connect",
        "banner",
        "kex",
        "auth",
        "channelOpen",
        "exec",
        "read",
        "close",
    ]
    for before, after in pairwise(parts):
        assert after["beginMs"] == pytest.approx(before["beginMs"] + before["meanMs"])


def test_a_first_byte_is_a_part_of_the_read_and_is_not_counted_twice() -> None:
    def of(step: str, mean_ms: float) -> StepResult:
        return StepResult(step=step, count=9, failures=0, rate=1.0, mean_ms=mean_ms)

    steps = (of("read", 5.0), of("firstByte", 4.0), of("exec", 1.0), of("close", 2.0))
    found = waterfall(
        Results(
            duration_seconds=1.0,
            offered_rate=9.0,
            achieved_rate=9.0,
            completed_rate=9.0,
            iterations=9,
            failures=0,
            steps=steps,
        )
    )
    assert [(one["step"], one["beginMs"]) for one in found] == [
        ("exec", 0),
        ("firstByte", 1),
        ("read", 1),
        ("close", 6),
    ]


def test_percentiles_that_no_interval_can_state_are_named() -> None:
    points = tuple(SeriesPoint(float(at), 0, 0, 1, 20, 20, 0, None, 45_000) for at in range(1, 9))
    assert any(
        said.startswith("p90, p99 over time: too few")
        for said in document(finished_runs.a_test(series=points))["lacks"]
    )


def test_a_search_has_its_trials_with_what_the_server_used_in_each() -> None:
    found = document(finished_runs.a_search())
    assert [one["number"] for one in found["trials"]] == [one["number"] for one in found["capacity"]["trials"]]
    assert found["capacity"]["inWords"] == "118 arrivals/s"
    assert found["trials"][0]["server"]["cores"] > 0


def test_no_text_of_a_run_ends_the_script_that_holds_the_document() -> None:
    run = finished_runs.a_test(message=finished_runs.HOSTILE)
    page = html_page(report_document(run, "0.1.0"))
    inside = re.search(r'<script type="application/json" id="document">(.*?)</script>', page, re.DOTALL)
    assert inside is not None
    assert json.loads(inside[1])["results"]["errors"][0]["firstMessage"] == finished_runs.HOSTILE
    assert page.count("</script>") == 5
    assert "<img" not in page


def test_a_text_that_names_a_place_of_the_template_is_not_replaced() -> None:
    run = finished_runs.a_test(message="@SCRIPTS@ @TITLE@")
    assert "@SCRIPTS@ @TITLE@" in html_page(report_document(run, "0.1.0"))


def test_a_page_names_no_address_that_a_browser_would_ask() -> None:
    page = html_page(report_document(finished_runs.a_test(), "0.1.0"))
    assert "default-src 'none'" in page
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", page)


@pytest.mark.slow
def test_the_page_of_the_largest_run_stays_below_its_limit() -> None:
    page = html_page(report_document(finished_runs.largest(), "0.1.0"))
    assert len(page.encode()) <= PAGE_LIMIT_BYTES


@pytest.mark.slow
def test_what_is_too_large_is_left_out_and_named() -> None:
    chance = Random(1)  # noqa: S311 - incompressible, and nothing secret
    run = finished_runs.largest()
    assert run.summary is not None
    points = tuple(
        replace(point, failed_by={outcome: chance.getrandbits(50) for outcome in Outcome}, failed=2**52)
        for point in run.summary.series
    )
    run = replace(run, summary=replace(run.summary, series=points))
    whole = report_document(run, "0.1.0")
    assert len(html_page(whole).encode()) <= PAGE_LIMIT_BYTES
    assert whole["overTime"] is not None or any("left out" in said for said in whole["lacks"])


def test_a_run_without_a_summary_is_reported_by_its_status() -> None:
    found = document(replace(finished_runs.a_test(), summary=None))
    assert found["overTime"] is None
    assert found["results"]["p99Ms"] == 90
    assert any("was not kept" in said for said in found["lacks"])


def test_markdown_shows_hostile_texts_as_they_are() -> None:
    text = markdown_text(report_document(finished_runs.a_test(message="| <b>**x** [a](b)\nnext"), "0.1.0"))
    assert r"\| \<b\>\*\*x\*\* \[a\](b) next" in text
    assert "# nightly: Passed (ThresholdsMet)" in text


def test_markdown_has_a_table_for_each_program_in_the_path() -> None:
    use = ProgramUse(ProgramStats(4.0, 0.0, 60_000_000), ProgramStats(24.0, 0.0, 70_000_000))
    run = finished_runs.a_test(in_path={InPath.PROXY: use, InPath.GATEWAY: use})
    text = markdown_text(report_document(run, "0.1.0"))
    tables = {part.partition("\n")[0]: part for part in text.split("## ")}
    assert "| cpuSeconds | 20 |" in tables["Proxy"]
    assert "| cpuPerIterationMs | 1.98 |" in tables["Gateway"]
    assert "| memoryPeakBytes | 70000000 |" in tables["Gateway"]


def test_markdown_says_in_a_part_of_its_own_what_was_measured() -> None:
    run = finished_runs.a_test()
    run.status["results"]["scope"] = ["The target is small", "Others were busy"]
    text = markdown_text(report_document(run, "0.1.0"))
    assert "\n\n## What was measured\n\n- The target is small\n- Others were busy\n\n## " in text


def test_the_libraries_of_others_are_as_they_were_released() -> None:
    sums = [line.split() for line in (VENDOR / "SHA256SUMS").read_text(encoding="utf-8").splitlines()]
    assert {name for _, name in sums} == {path.name for path in VENDOR.glob("*.js")}
    for expected, name in sums:
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == expected


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        pytest.param("ask @octocat", "ask @&#8203;octocat", id="a mention"),
        pytest.param("see https://x.example/?a=b", "see https:&#8203;//x.example/?a=b", id="a link"),
        pytest.param("see www.x.example", "see w&#8203;ww.x.example", id="a link without a scheme"),
        pytest.param("closes #12, GH-3 and !4", r"closes \#&#8203;12, GH&#8203;-3 and \!&#8203;4", id="references"),
        pytest.param("/close", "&#8203;/close", id="a command"),
        pytest.param("    - a", "&#8203;- a", id="a list"),
        pytest.param("1. a", "&#8203;1. a", id="a numbered list"),
    ],
)
def test_markdown_mentions_nobody_links_nowhere_and_commands_nothing(message: str, shown: str) -> None:
    found = report_document(finished_runs.a_test(), "0.1.0")
    assert f"\n{shown}\n" in markdown_text({**found, "verdict": {**found["verdict"], "message": message}})


def test_a_status_with_figures_that_nobody_can_measure_has_a_report_all_the_same() -> None:
    run = finished_runs.a_test()
    steps = [{**one, "meanMs": 1.7e308} for one in run.status["results"]["parts"]]
    huge = replace(run, status={**run.status, "results": {**run.status["results"], "parts": steps}})
    tiny = replace(run, status={**run.status, "results": {**run.status["results"], "offeredRate": 1e-8}})
    rate = {**run.status["results"], "offeredRate": 1.7e308}
    assert document(huge)["waterfall"][-1]["beginMs"] > 1.7e308
    beside = report_document(replace(run, status={**run.status, "results": rate}), "0.1.0", tiny)["against"]
    assert next(one for one in beside["figures"] if one["figure"] == "offeredRate")["ratio"] > 1.7e308


@pytest.mark.parametrize("verdict", [Verdict.INVALID, Verdict.ABORTED, Verdict.ERROR])
def test_of_a_run_that_was_not_measured_no_threshold_is_reported_as_met_or_broken(verdict: Verdict) -> None:
    run = finished_runs.a_test()
    found = document(replace(run, status={**run.status, "verdict": verdict}))
    assert {one.get("met") for one in found["thresholds"]} == {None}
    assert all(one["message"].endswith(f"; not judged: {verdict}") for one in found["thresholds"])
    assert "| met |" not in markdown_text(found)
    assert {one["met"] for one in document(run)["thresholds"]} == {True}


def test_markdown_has_how_many_users_took_part_and_the_worst_of_them() -> None:
    users = PopulationStats(50, 48, 0, 3, 1, (UserStats(2, 0, 4, 0),), (UserStats(16, 2, 0, 812_345),))
    text = markdown_text(document(finished_runs.a_test(users=users)))
    assert "| 48 | 50 | 0 | 3 | 1 |" in text
    assert "| user00003 | most failures | 0 | 4 | - |" in text
    assert "| user00017 | slowest login | 2 | 0 | 812.345 |" in text
    assert "## Users" not in markdown_text(document(finished_runs.a_test()))
