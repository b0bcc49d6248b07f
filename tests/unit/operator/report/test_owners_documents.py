"""Reports of comparisons, sweeps and schedules, and of a run beside another: true to the statuses, bounded, inert."""

import json
from dataclasses import replace
from typing import Any

import finished_runs
import pytest
import reported
from sshload_operator.report.comparison import comparison_document
from sshload_operator.report.document import json_text, report_document
from sshload_operator.report.html_page import html_page
from sshload_operator.report.markdown import markdown_text
from sshload_operator.report.saved_run import KeptObject, ReportError, kept_object
from sshload_operator.report.sweep import saved_sweep_of, saved_sweep_text, sweep_document

STATED = ("value", "rounds", "ratio", "low", "high", "differenceMs", "lowMs", "highMs")
PAGE_LIMIT_BYTES = 1_500_000
VERSIONS = {
    "beside": "report.v1",
    "comparison": "comparisonReport.v1",
    "swept": "comparisonReport.v1",
    "sweep": "sweepReport.v1",
    "schedule": "scheduleReport.v1",
}
DOCUMENTS = {
    "beside": reported.beside_report,
    "comparison": reported.comparison_report,
    "swept": reported.swept_report,
    "sweep": reported.sweep_report,
    "schedule": reported.schedule_report,
}


def figure(document: dict[str, Any], name: str, variant: str) -> dict[str, Any]:
    (found,) = (one for one in document["figures"] if one["figure"] == name)
    (beside,) = (one for one in found["variants"] if one["variant"] == variant)
    return dict(beside)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_each_document_is_json_with_a_version_of_its_own_and_becomes_a_page_and_markdown(name: str) -> None:
    document = DOCUMENTS[name]()
    assert json.loads(json_text(document)) == json.loads(json.dumps(document))
    assert document["version"] == VERSIONS[name]
    assert len(html_page(document).encode()) <= PAGE_LIMIT_BYTES
    assert markdown_text(document).startswith("# ")


def test_a_comparison_says_of_each_figure_what_its_interval_says() -> None:
    document = reported.comparison_report()
    slow, fast, same = (figure(document, "total.p50Ms", variant) for variant in ("b", "c", "d"))
    assert (slow["effect"], fast["effect"], same["effect"]) == ("worse", "better", "none")
    assert slow["low"] <= slow["ratio"] <= slow["high"]
    errors = figure(document, "errorPercent", "b")
    assert (errors["ratio"], errors["effect"]) == (None, "worse")
    assert errors["points"] == pytest.approx(1.9)


def test_each_figure_of_a_comparison_is_that_of_its_status() -> None:
    comparison = reported.a_comparison()
    document = comparison_document(comparison, "0.1.0")
    for variant in comparison.status["results"]["variants"]:
        for one in variant["figures"]:
            key = ".".join(filter(None, (one.get("step"), one["figure"])))
            shown = figure(document, key, variant["name"])
            assert {name: shown[name] for name in STATED} == {name: one.get(name) for name in STATED}
    assert [one["test"] for one in document["tests"]] == [one["test"] for one in comparison.status["tests"]]


def test_a_comparison_that_sweeps_a_field_has_the_value_of_each_variant() -> None:
    document = reported.swept_report()
    assert (document["swept"], document["isNumeric"]) == ("load.arrivals.rate", True)
    assert [one["value"] for one in document["variants"]] == ["10", "20", "40.5"]
    plain = reported.comparison_report()
    assert (plain["swept"], plain["isNumeric"]) == ("", False)


def test_a_report_of_a_comparison_has_each_variant_beside_its_own_reference() -> None:
    comparison = reported.a_comparison()
    variants = [
        {**one, "reference": "b"} if one["name"] == "c" else one for one in comparison.status["results"]["variants"]
    ]
    told = replace(comparison, status={**comparison.status, "results": {"variants": variants}})
    document = comparison_document(told, "0.1.0")
    assert [one["reference"] for one in document["variants"]] == [None, "a", "b", "a"]
    assert "## c beside b" in markdown_text(document)
    assert "| figure | b | c |" in markdown_text(document)


def test_a_comparison_under_way_has_what_is_over_and_says_that_there_is_more() -> None:
    document = reported.comparison_report(over=6)
    assert document["verdict"]["word"] is None
    assert len(document["tests"]) == 6
    assert any("is not finished" in said for said in document["lacks"])


def test_markdown_of_a_comparison_has_a_table_for_each_variant_but_the_first() -> None:
    text = markdown_text(reported.comparison_report())
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## b beside a",
        "## c beside a",
        "## d beside a",
        "## Rounds",
        "## Negotiated algorithms",
    ]
    (row,) = (line for line in text.splitlines() if line.startswith("| total.p50Ms") and line.endswith("worse |"))
    assert row.split("|")[2:4] != row.split("|")[3:5]
    found = figure(reported.comparison_report(), "total.p50Ms", "b")
    assert row.split("|")[6].strip() == f"+{found['differenceMs']:.1f}"
    assert row.split("|")[7].strip() == f"+{found['lowMs']:.1f} to +{found['highMs']:.1f}"


def test_markdown_has_large_figures_without_an_exponent() -> None:
    document = reported.comparison_report()
    document["figures"][-1]["variants"][1] |= {"value": 45_043_712.5, "low": 12_345.6, "high": 23_456.7}
    text = markdown_text(document)
    assert "| 45,043,700 |" in text
    assert "| 12,350 to 23,460 |" in text
    swept = reported.sweep_report()
    swept["points"][0]["p99Ms"] = {"value": 12_345.6, "low": 11_111.1, "high": 23_456.7}
    assert "| 12,350 (11,110 to 23,460) |" in markdown_text(swept)


def test_a_sweep_is_read_back_from_its_file_with_each_value() -> None:
    sweep = reported.a_sweep()
    tests = [
        (
            value,
            {"metadata": {"name": test.name, "namespace": test.namespace}, "spec": test.spec, "status": test.status},
        )
        for value, test in sweep.points
    ]
    text = saved_sweep_text(sweep.name, sweep.field, sweep.planned, tests)
    assert saved_sweep_of(json.loads(text)) == sweep


def test_a_value_of_a_sweep_that_was_not_measured_has_no_figures() -> None:
    document = reported.sweep_report()
    *_, lost = document["points"]
    assert (lost["verdict"]["word"], lost["completedRate"], lost["p99Ms"]) == ("Invalid", None, None)
    assert document["isNumeric"] is True
    assert "the first that failed is 40" in document["verdict"]["message"]
    assert any("1 of 5 values were not run" in said for said in document["lacks"])


@pytest.mark.parametrize(
    "changes",
    [{"points": []}, {"points": [{}] * 51}, {"points": "x"}, {"field": 1}, {"name": "../x"}, {"planned": True}],
    ids=["no point", "too many", "no list", "no field", "no name", "no number"],
)
def test_what_is_no_sweep_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ReportError):
        saved_sweep_of({"name": "nightly", "field": "load.arrivals.rate", "planned": 2, "points": [{}], **changes})


def test_a_schedule_has_its_runs_in_order_and_how_far_each_was_from_its_baseline() -> None:
    document = reported.schedule_report()
    assert [one["verdict"] for one in document["runs"]][:2] == ["Passed", "Passed"]
    assert [one["time"] for one in document["runs"]] == sorted(one["time"] for one in document["runs"])
    percents = [one["percent"] for one in document["drift"]]
    assert percents == [pytest.approx(found, abs=0.5) for found in (0, 2, 30, 5)]
    assert {one["limit"] for one in document["drift"]} == {10}
    assert document["drift"][2]["passed"] is False


def test_of_a_test_that_is_gone_a_schedule_has_what_its_status_keeps() -> None:
    schedule, tests = reported.a_schedule()
    document = reported.schedule_document(schedule, tests[1:], "0.1.0")
    assert len(document["runs"]) == 4
    assert document["runs"][0]["p99Ms"]["value"] == schedule.status["trend"][0]["p99Ms"] == 90.0
    assert any("1 of the tests could not be read" in said for said in document["lacks"])


def test_a_run_stands_beside_another_with_figures_curves_and_what_differs() -> None:
    document = reported.beside_report()
    other = document["against"]
    assert other["test"]["name"] == "before"
    assert len(other["overTime"]["intervals"]) == 60
    (rate,) = (one for one in other["figures"] if one["figure"] == "completedRate")
    assert rate["here"]["value"] == document["results"]["completedRate"]
    assert (rate["ratio"], rate["apart"]) == (1, False)
    assert other["difference"] == ""


def test_runs_of_other_loads_are_said_not_to_have_measured_the_same() -> None:
    run = finished_runs.a_test(points=3)
    other = replace(run, spec={**run.spec, "load": {"arrivals": {"rate": 77, "duration": "30s"}}})
    assert "77" in report_document(run, "0.1.0", other)["against"]["difference"]


def test_runs_whose_logins_agreed_on_something_else_are_said_not_to_have_measured_the_same() -> None:
    run = finished_runs.a_test(points=3)
    (agreed, *_) = run.status["results"]["negotiated"]
    results = {**run.status["results"], "negotiated": [{**agreed, "kex": "ecdh-sha2-nistp256"}]}
    told = report_document(run, "0.1.0", replace(run, status={**run.status, "results": results}))["against"][
        "difference"
    ]
    assert told == f"the login is not the same: the key exchange is {agreed['kex']} here and ecdh-sha2-nistp256 there"


def test_what_the_server_used_and_what_was_stolen_stand_over_time_and_steal_is_marked() -> None:
    document = report_document(reported.with_cpu(finished_runs.a_test()), "0.1.0")
    assert document["overTime"]["server"][0] == {
        "atSeconds": 2,
        "cores": 0.41,
        "stolenPercent": 1,
        "sessions": 3,
        "memoryBytes": 200_000_001,
    }
    assert document["overTime"]["intervals"][25]["stolenPercent"] == 20
    assert {name: document["distorted"][0][name] for name in ("fromSeconds", "toSeconds")} == {
        "fromSeconds": 20,
        "toSeconds": 30,
    }
    assert "20%" in document["distorted"][0]["message"]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_hostile_texts_of_statuses_end_no_script(name: str) -> None:
    document = {**DOCUMENTS[name](), "lacks": [finished_runs.HOSTILE]}
    page = html_page(document)
    assert page.count("</script>") == 5
    assert "<img" not in page


@pytest.mark.slow
def test_the_largest_comparison_is_within_the_limit() -> None:
    one = {
        "figure": "p99Ms",
        "value": 1234.567,
        "rounds": 20,
        "ratio": 1.2345,
        "low": 1.1,
        "high": 1.4,
        "difference": "slower",
        "differenceMs": 1234.567,
        "lowMs": 1000.123,
        "highMs": 2000.456,
    }
    figures = [{**one, "step": f"a-step-with-a-long-name-{number:03}.exec"} for number in range(200)]
    variants = [
        {"name": f"variant-{number}", "tests": 20, "measured": 20, "verdicts": {}, "figures": figures}
        for number in range(10)
    ]
    tests = [
        {
            "test": f"cmp-{number}",
            "round": number // 10 + 1,
            "variant": f"variant-{number % 10}",
            "verdict": "Passed",
            "problem": "x" * 500,
        }
        for number in range(200)
    ]
    status = {"phase": "Finished", "results": {"variants": variants}, "tests": tests}
    document = comparison_document(KeptObject("cmp", "ns", {"base": {"text": "y" * 900_000}}, status), "0.1.0")
    assert len(html_page(document).encode()) <= PAGE_LIMIT_BYTES
    assert len(document["figures"]) == 200
    assert any("the spec is left out" in said for said in document["lacks"])


@pytest.mark.parametrize("status", [{}, {"results": 1, "tests": "x"}, {"results": {"variants": [{}]}}])
def test_a_status_that_says_nothing_known_makes_an_empty_report(status: dict[str, Any]) -> None:
    document = comparison_document(kept_object({"metadata": {"name": "cmp"}, "spec": {}, "status": status}), "0.1.0")
    assert (document["verdict"]["word"], document["figures"]) == (None, [])
    assert markdown_text(document).startswith("# cmp: no verdict")


def test_a_sweep_over_words_keeps_them_in_their_order() -> None:
    sweep = reported.a_sweep()
    words = tuple((f"10:30:{number}", test) for number, (_, test) in enumerate(sweep.points))
    document = sweep_document(replace(sweep, points=words), "0.1.0")
    assert document["isNumeric"] is False
    assert [one["value"] for one in document["points"]] == [word for word, _ in words]
