"""The page of a report in a real browser: it draws itself without a network, by the document inside, for everybody."""

import json
from collections.abc import Callable
from typing import Any

import finished_runs
import pytest
from accessibility import cells, violations
from playwright.sync_api import Page
from sshload_contract.wire.run_summary import PopulationStats, UserStats
from sshload_operator.report.saved_run import SavedRun

Shown = Callable[[SavedRun], Page]
Screenshot = Callable[[Page, str], None]


def document(page: Page) -> dict[str, Any]:
    """Return the document that stands in a page."""
    found: dict[str, Any] = json.loads(page.text_content("#document") or "")
    return found


def open_all(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")


def as_number(text: str) -> float | None:
    return None if text == "-" else float(text.replace(",", ""))


def test_a_test_shows_verdict_thresholds_and_each_chart(shown: Shown, screenshot: Screenshot) -> None:
    page = shown(finished_runs.a_test())
    assert page.text_content("#verdict") == "Passed"
    assert len(cells(page, "Thresholds")) == 2
    labels = [one.get_attribute("aria-label") or "" for one in page.locator("figure svg[role=img]").all()]
    assert [label.partition(".")[0] for label in labels] == [
        "Rate", "Latency", "Errors", "Under way", "Distribution", "An iteration's parts",
    ]  # fmt: skip
    screenshot(page, "test")


def test_a_search_shows_its_trials_and_which_cannot_be_trusted(shown: Shown, screenshot: Screenshot) -> None:
    page = shown(finished_runs.a_search())
    states = [row[2] for row in cells(page, "Trials")]
    assert states.count("invalid") == 1
    assert {"passed", "failed"} <= set(states)
    assert "118 arrivals/s" in (page.text_content("dl.figures") or "")
    screenshot(page, "search")


def test_each_number_of_the_course_and_of_the_steps_is_that_of_the_document(shown: Shown) -> None:
    page = shown(finished_runs.a_test())
    found = document(page)
    courses = {
        "Rate": ("completedRate", "begunRate"),
        "Latency": ("p50Ms", "p90Ms", "p99Ms"),
    }
    for table, names in courses.items():
        expected = [[one["atSeconds"], *(one[name] for name in names)] for one in found["overTime"]["intervals"]]
        assert [[as_number(cell) for cell in row] for row in cells(page, table)] == expected
    steps = [[row[0], as_number(row[1]), as_number(row[2])] for row in cells(page, "All steps")]
    assert steps == [[one["step"], one["count"], one.get("failures", 0)] for one in found["results"]["steps"]]
    figures = [[row[0], as_number(row[1])] for row in cells(page, "Figures")]
    assert figures == [[one["figure"], one["value"]] for one in found["figures"]]
    points = [[as_number(row[0]), as_number(row[1])] for row in cells(page, "Distribution of total")]
    assert points == found["distributions"][0]["points"]


def test_a_line_of_a_chart_has_a_point_for_each_interval(shown: Shown) -> None:
    page = shown(finished_runs.a_test(points=50))
    path = page.locator('figure svg[aria-label^="Latency"] g[data-mark="line"] path').first.get_attribute("d") or ""
    assert path.count("L") + path.count("M") == 50


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(finished_runs.a_test, id="test", marks=pytest.mark.full),  # a run beside another has all of it
        pytest.param(finished_runs.a_search, id="search"),
    ],
)
def test_axe_core_finds_nothing_in_either_colours(shown: Shown, made: Callable[[], SavedRun]) -> None:
    page = shown(made())
    open_all(page)
    assert violations(page) == ""


def test_all_is_reached_by_the_keyboard(shown: Shown) -> None:
    page = shown(finished_runs.a_test())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#report"
    folded = page.locator("details").count()
    opened = 0
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.tagName") == "SUMMARY":
            page.keyboard.press("Enter")
            opened += 1
        if opened == folded:
            break
    assert page.locator("details[open]").count() == folded == opened


def test_hostile_texts_stay_text(shown: Shown) -> None:
    page = shown(finished_runs.a_test(message=finished_runs.HOSTILE))
    assert finished_runs.HOSTILE in page.locator("#errors table").inner_text()
    assert page.evaluate("typeof window.hostile") == "undefined"
    assert page.locator("img").count() == 0


def test_a_script_that_is_not_the_pages_own_does_not_run(shown: Shown) -> None:
    page = shown(finished_runs.a_test())
    page.evaluate("document.body.append(Object.assign(document.createElement('script'), {text: 'window.hostile = 1'}))")
    assert page.evaluate("typeof window.hostile") == "undefined"


def test_printed_it_is_black_on_white_without_what_needs_a_click(shown: Shown, screenshot: Screenshot) -> None:
    page = shown(finished_runs.a_test())
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("nav").is_visible()
    assert page.locator("details").first.is_visible() is False
    screenshot(page, "test-print")


def test_the_largest_run_is_drawn(shown: Shown) -> None:
    page = shown(finished_runs.largest())
    assert len(cells(page, "All steps")) == len(document(page)["results"]["steps"])
    assert page.locator("figure svg[role=img]").count() >= 6


def test_a_population_has_its_worst_users(shown: Shown) -> None:
    users = PopulationStats(50, 48, 0, 3, 1, (UserStats(2, 0, 4, 0),), (UserStats(16, 2, 0, 812_345),))
    page = shown(finished_runs.a_test(users=users))
    assert cells(page, "The worst users") == [
        ["user00003", "most failures", "0", "4", "-"],
        ["user00017", "slowest login", "2", "0", "812.3"],
    ]
