"""The pages of comparisons, sweeps, schedules and of a run beside another, in a real browser."""

from collections.abc import Callable, Mapping
from typing import Any

import finished_runs
import pytest
import reported
from accessibility import cells, violations
from playwright.sync_api import Page

Shown = Callable[[Mapping[str, Any]], Page]
Screenshot = Callable[[Page, str], None]
DOCUMENTS = {
    "beside": reported.beside_report,
    "comparison": reported.comparison_report,
    "swept": reported.swept_report,
    "sweep": reported.sweep_report,
    "schedule": reported.schedule_report,
}
CHARTS = {
    "beside": [
        "Rate", "Latency", "Errors", "Under way", "CPU of the server", "CPU stolen", "Distribution",
        "An iteration's parts",
    ],
    "comparison": [
        *(f"{chart} of {variant}" for variant in "bcd" for chart in ("Ratios", "Differences")),
        "total.p50Ms by round",
    ],
    "swept": [
        "Rate over the values", "Latency over the values", "Ratio of the median latency",
        *(f"{chart} of {variant}" for variant in "bc" for chart in ("Ratios", "Differences")),
        "total.p50Ms by round",
    ],
    "sweep": ["Rate", "Latency"],
    "schedule": ["Latency", "Rate", "Drift"],
}  # fmt: skip


@pytest.mark.parametrize("name", DOCUMENTS)
def test_each_page_has_its_charts(shown_document: Shown, name: str) -> None:
    page = shown_document(DOCUMENTS[name]())
    labels = [one.get_attribute("aria-label") or "" for one in page.locator("figure svg[role=img]").all()]
    assert [label.partition(". ")[0] for label in labels] == CHARTS[name]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.full if name == "comparison" else ()) for name in DOCUMENTS]
)  # a comparison over several values has all that one has
def test_axe_core_finds_nothing_in_either_colours(shown_document: Shown, name: str, screenshot: Screenshot) -> None:
    page = shown_document(DOCUMENTS[name]())
    screenshot(page, name)
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert violations(page) == ""


def test_a_forest_plot_has_an_interval_for_each_ratio_and_says_in_words_what_it_says(shown_document: Shown) -> None:
    document = reported.comparison_report()
    page = shown_document(document)
    assert page.text_content("#verdict") == "Conclusive"
    known = [
        one for one in document["figures"] for beside in one["variants"] if beside["variant"] == "b" and beside["ratio"]
    ]
    plot = page.locator('figure svg[aria-label^="Ratios of b"]')
    assert plot.locator('g[data-mark="dot"] path').count() == len(known)
    words = {row[0]: row[5] for row in cells(page, "Figures of b")}
    assert (words["total.p50Ms"], words["errorPercent"]) == ("worse", "worse")
    assert {row[0]: row[5] for row in cells(page, "Figures of c")}["total.p50Ms"] == "better"
    added = {row[0]: row[6:8] for row in cells(page, "Figures of b")}
    (median,) = (one for one in document["figures"] if one["figure"] == "total.p50Ms")
    (of_b,) = (one for one in median["variants"] if one["variant"] == "b")
    assert float(added["total.p50Ms"][0]) == pytest.approx(of_b["differenceMs"], rel=0.001)
    assert " to " in added["total.p50Ms"][1]
    assert added["errorPercent"] == ["-", "-"]
    agreed = [one["negotiated"][0]["hostKey"] for one in document["variants"]]
    assert [row[4] for row in cells(page, "Negotiated algorithms")] == agreed
    assert [row[0] for row in cells(page, "Negotiated algorithms")] == ["a", "b", "c", "d"]


def test_both_curves_are_in_the_charts_of_a_run_beside_another(shown_document: Shown) -> None:
    page = shown_document(reported.beside_report())
    assert page.locator('figure svg[aria-label^="Latency"] g[data-mark="line"] path').count() == 6
    legend = page.locator('ul[aria-label="Lines of Distribution"] li').all_text_contents()
    assert [one.partition(" (")[0] for one in legend] == ["total", "login", "total of before", "login of before"]
    table = {row[0]: row[1:] for row in cells(page, "Figures of both runs")}
    assert table["completedRate"][0] == table["completedRate"][2]


def test_a_stretch_of_steal_is_marked_and_named(shown_document: Shown) -> None:
    page = shown_document(reported.beside_report())
    assert "gave up to 20%" in (page.locator(".caution").first.text_content() or "")
    assert page.locator('figure svg[aria-label^="Rate"] g[data-mark="rect"] rect').count() == 2


def test_a_pause_of_the_directory_is_marked_and_is_no_distortion(shown_document: Shown) -> None:
    document = reported.beside_report()
    rects = 'figure svg[aria-label^="Rate"] g[data-mark="rect"] rect'
    marked = shown_document(document).locator(rects).count()
    directory = {"cache": "cold", "slapdVersion": "2.6.10", "pausedFromSeconds": 4.0, "pausedToSeconds": 7.5}
    document["results"]["target"] = {**(document["results"].get("target") or {}), "directory": directory}
    page = shown_document(document)
    assert page.locator(rects).count() == marked + 1
    assert "slapd paused" in page.locator('figure svg[aria-label^="Rate"]').inner_html()
    assert page.locator(".caution").count() == len(document["distorted"])
    counted = dict(row[:2] for row in cells(page, "What the server counted"))
    assert counted["directory: slapd version"] == "2.6.10"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_hostile_names_and_texts_stay_text(shown_document: Shown, name: str) -> None:
    document = DOCUMENTS[name]()
    subject = next(key for key in ("test", "comparison", "sweep", "schedule") if key in document)
    document[subject]["name"] = finished_runs.HOSTILE
    document["verdict"]["message"] = finished_runs.HOSTILE
    page = shown_document({**document, "lacks": [finished_runs.HOSTILE]})
    assert finished_runs.HOSTILE in page.locator("h1").inner_text()
    assert page.evaluate("typeof window.hostile") == "undefined"
    assert page.locator("img").count() == 0
