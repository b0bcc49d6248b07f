"""A comparison's status as text."""

from collections.abc import Mapping
from typing import Any

import pytest
from sim_comparison import SimComparison, comparison_spec, measured
from specs.comparisons import swept
from sshload_operator.cli.view.comparison import comparison_page, comparison_progress, comparison_rows
from sshload_operator.cli.view.page import as_text
from statuses import read_comparison_status


def played(error_percents: tuple[float, float] = (0.0, 0.0), **changes: Any) -> SimComparison:
    """Return a finished comparison of five rounds, in which b takes nearly twice as long as a."""
    world = SimComparison(spec=comparison_spec("a", "b", repeats=5, **changes))
    world.settle()
    while world.status["phase"] != "Finished":
        (name,) = world.under_way()
        _, number, variant = name.split("-")
        drift_ms = int(number)
        p50_ms = 40.0 + drift_ms if variant == "a" else 78.0 + 2.1 * drift_ms
        world.end(name, measured(p50_ms, error_percents[variant == "b"]))
        world.settle()
    return world


def text_of(status: Mapping[str, Any]) -> str:
    return as_text(comparison_page("cmp", read_comparison_status(status), verbose=True), 400)


def row(text: str, figure: str) -> list[str]:
    """Return the cells of the figure's row; two spaces or more part them."""
    line = next(line for line in text.splitlines() if line.startswith(f"{figure} "))
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_each_figure_stands_beside_the_first_variants_with_ratio_interval_and_difference() -> None:
    text = text_of(played().status)
    assert row(text, "figure") == ["figure", "a", "b", "ratio", "95 % interval", "difference"]
    name, first, other, ratio, interval, difference = row(text, "total p50 ms")
    assert (name, first, other, difference) == ("total p50 ms", "43.0", "84.3", "slower")
    low, high = map(float, interval.split(" to "))
    assert 1.9 < low <= float(ratio) <= high < 2.1


def test_a_share_of_errors_differs_by_percentage_points() -> None:
    text = text_of(played(error_percents=(60.0, 0.5)).status)
    _, first, other, points, interval, difference = row(text, "errorPercent")
    assert (first, other, points, difference) == ("60", "0.5", "-59.5 points", "lower")
    assert interval == "-59.5 to -59.5"


def test_what_a_variant_adds_stands_in_milliseconds_with_its_interval() -> None:
    text = text_of(played().status)
    assert row(text, "b over a") == ["b over a", "ms", "95 % interval"]
    line = text.splitlines()[text.splitlines().index(next(one for one in text.splitlines() if "b over a" in one)) :]
    name, ms, interval = row("\n".join(line), "total p50 ms")
    low, high = map(float, interval.split(" to "))
    assert (name, ms) == ("total p50 ms", "+41.3")
    assert 35 < low <= 41.3 <= high < 45
    (told,) = (one for one in comparison_rows(read_comparison_status(played().status)) if is_median_of_b(one))
    assert told["differenceMs"] == pytest.approx(41.3)
    assert told["lowMs"] < told["differenceMs"] < told["highMs"]


def is_median_of_b(one: Mapping[str, Any]) -> bool:
    return (one["variant"], one["step"], one["figure"]) == ("b", "total", "p50Ms")


def test_what_is_the_same_is_no_difference() -> None:
    assert row(text_of(played().status), "completedRate")[-1] == "no difference"


def test_a_sweep_is_a_row_for_each_value_and_its_tables_are_for_who_asks() -> None:
    world = SimComparison(spec=swept("load.arrivals.stages.0.rate", "5,10", repeats=3))
    world.settle()
    while world.status["phase"] != "Finished":
        (name,) = world.under_way()
        world.end(name, measured(40.0 if name.endswith("-5") else 80.0))
        world.settle()
    status = read_comparison_status(world.status)
    brief, verbose = (as_text(comparison_page("cmp", status, verbose=wanted), 200) for wanted in (False, True))
    rows = [line.split() for line in brief.splitlines()]
    assert next(row for row in rows if row[:1] == ["5"])[3:6] == ["40.0", "-", "-"]
    assert next(row for row in rows if row[:1] == ["10"])[3:6] == ["80.0", "-", "2.000"]
    assert "login p50 ms" not in brief
    assert max(map(len, as_text(comparison_page("cmp", status)).splitlines())) <= 80
    assert "completed/s" in as_text(comparison_page("cmp", status))
    assert " 10 differs from 5 " in status.message
    assert "login p50 ms" in verbose
    assert {row["variant"]: row["sweptValue"] for row in comparison_rows(status)} == {"5": "5", "10": "10"}


def test_a_figure_that_one_variant_lacks_is_no_zero() -> None:
    status = dict(played().status)
    first, other = status["results"]["variants"]
    without = {**other, "figures": [one for one in other["figures"] if one.get("step") != "login"]}
    status["results"] = {"variants": [first, without]}
    assert row(text_of(status), "login p50 ms")[2:] == ["-", "-", "-", "-"]
    status["results"] = {"variants": [without, first]}
    assert row(text_of(status), "login p50 ms")[1] == "-"


def test_each_variant_but_the_first_has_a_table() -> None:
    status = dict(played().status)
    first, other = status["results"]["variants"]
    status["results"] = {"variants": [first, other, {**other, "name": "c"}]}
    heads = [line.split()[1:3] for line in text_of(status).splitlines() if line.startswith("figure ")]
    assert heads == [["a", "b"], ["a", "c"]]


def test_a_table_names_the_reference_that_its_variant_has() -> None:
    status = dict(played().status)
    first, other = status["results"]["variants"]
    status["results"] = {"variants": [first, other, {**other, "name": "c", "reference": "b"}]}
    heads = [line.split()[1:3] for line in text_of(status).splitlines() if line.startswith("figure ")]
    assert heads == [["a", "b"], ["b", "c"]]
    assert "c over b" in text_of(status)
    gone = [first, other, {**other, "name": "c", "reference": "gone"}]
    assert "c over a" in text_of({**status, "results": {"variants": gone}})


def test_a_test_without_figures_is_named_with_what_was_wrong() -> None:
    world = SimComparison(spec=comparison_spec("a", "b", repeats=2))
    world.settle()
    while world.status["phase"] != "Finished":
        (name,) = world.under_way()
        lost = {"verdict": "Error", "reason": "WorkerFailed", "message": "worker \x1b[0 left"}
        world.end(name, lost if name == "cmp-2-b" else None)
        world.settle()
    text = text_of(world.status)
    assert "no figures  cmp-2-b: " in text
    assert "\x1b" not in text


def test_the_verdict_stands_first() -> None:
    assert text_of(played().status).startswith("Conclusive (Compared): ")


def test_without_v_figures_that_do_not_differ_are_counted_and_not_listed() -> None:
    text = as_text(comparison_page("cmp", read_comparison_status(played().status)), 80)
    assert "completedRate" not in text
    assert "figures without a difference" in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_comparison_without_results_shows_its_verdict_alone() -> None:
    status = {"phase": "Finished", "verdict": "Error", "reason": "InvalidSpec", "message": "spec.base: is required"}
    assert text_of(status) == "Error (InvalidSpec): spec.base: is required\n"


def test_an_unfinished_comparison_has_no_verdict() -> None:
    assert text_of({}) == "No verdict yet: Pending\n"


def test_the_progress_is_how_many_tests_are_over_and_what_is_waited_for() -> None:
    world = SimComparison(spec=comparison_spec("a", "b"))
    assert comparison_progress(read_comparison_status(world.status)) == "Pending"
    world.settle()
    world.end("cmp-1-a")
    world.settle()
    assert comparison_progress(read_comparison_status(world.status)).startswith("Running: 1/6 tests over, ")


def test_a_status_that_somebody_has_taken_fields_from_is_shown_without_them() -> None:
    status = played().status
    (first, second) = status["results"]["variants"]
    figures = [{key: value for key, value in one.items() if key != "high"} for one in second["figures"]]
    half = {**status["results"], "variants": [first, {**second, "figures": figures}]}
    text = text_of({"phase": "Finished", "results": half})
    assert row(text, "total p50 ms")[4] == "-"
    assert text.startswith("- (-)")
