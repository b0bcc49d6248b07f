"""What `run` and `watch` print of a search: its trials, what is known of the capacity, and what limits the server."""

from dataclasses import replace
from typing import Any

from plans import EXTERNAL
from runs import load, summary
from searches import failed, found_118, invalid, passed, search_plan, searched, strained
from sshload_contract.vocabulary import SearchEnd
from sshload_contract.wire.run_summary import RunSummary
from sshload_operator.cli.view.page import as_text
from sshload_operator.cli.view.result import result_page
from statuses import capacity_json, read_test_status, results_json

SHORT_OF_CPU = strained(121, cpu_s=76, limits={"cpu_limit_cores": 2.0})


def lines(found: RunSummary, model: str = "arrivals", **changes: Any) -> list[str]:
    plan = search_plan(model, **changes)
    status = {
        "phase": "Finished",
        "verdict": "Passed",
        "reason": "CapacityFound",
        "message": "found",
        "capacity": capacity_json(plan, found),
        "results": results_json(plan, found),
    }
    return as_text(result_page("one", read_test_status(status)), 400).splitlines()


def test_each_trial_stands_in_its_row_under_heads_with_units() -> None:
    head, *rows = trials(lines(found_118()))
    assert head.split() == ["arrivals/s", "trial", "completed/s", "p99", "ms", "errors", "%"]
    assert [cell for cell in rows[0].split() if "█" not in cell] == ["✓", "10", "1", "20.0", "90.0", "0.00"]
    assert [cell for cell in rows[1].split() if "█" not in cell] == ["✗", "140", "2", "20.0", "90.0", "0.00"]
    assert len({len(row) for row in (head, *rows)}) == 1


def test_a_trials_bar_is_as_long_as_its_load() -> None:
    _, small, large, *_ = trials(lines(found_118()))
    assert 0 < small.count("█") < large.count("█")


def trials(text: list[str]) -> list[str]:
    """Return the table of the trials, its head first."""
    begin = next(number for number, line in enumerate(text) if "trial  completed/s" in line)
    return text[begin : text.index("", begin)]


def test_a_trial_that_was_not_counted_says_why() -> None:
    assert "trial 3: a worker used 99% of its core" in "\n".join(lines(found_118(invalid(118))))


def test_the_capacity_stands_with_its_bounds_and_what_limits_it() -> None:
    text = lines(searched(passed(118), SHORT_OF_CPU, lower=118, upper=121))
    at = text.index("capacity    118 arrivals/s (118 passed, 121 failed)")
    assert text[at + 1] == "limited by  at 121 arrivals/s, p99 of total below 2 s: 2.41 s"
    assert text[at + 2].startswith("short of    cpu: it used 1.90 of its limit of 2 cores (95%)")


def test_where_nothing_was_short_it_says_what_may_have_been() -> None:
    text = lines(searched(passed(118), failed(121), lower=118, upper=121), target={"external": EXTERNAL})
    assert any(line.strip().startswith("the target is external") for line in text)


def test_a_bound_is_not_printed_as_a_capacity() -> None:
    most = lines(searched(passed(500), end=SearchEnd.MOST_HELD, lower=500))
    assert "capacity  500 arrivals/s or more (500 passed)" in most
    assert "nothing is known of it" in "\n".join(lines(searched(invalid(10), end=SearchEnd.OUT_OF_TIME)))


def test_the_figures_say_which_trial_they_are_of() -> None:
    text = lines(found_118())
    assert "figures     those below the trials are of trial 5" in text


def test_held_sessions_have_a_column() -> None:
    held = passed(400, load=load(held_most=400, held_least=398))
    head, row = trials(lines(searched(held, passed(10), lower=400), "hold"))[:2]
    assert head.split()[-1] == "held"
    assert row.split()[2:] == ["400", "1", "20.0", "90.0", "-", "398"]


def test_a_server_cannot_write_control_characters_to_the_terminal() -> None:
    evil = replace(invalid(118), message="\x1b[31mred")
    unnamed = replace(failed(121), thresholds=(), message="\x1b]0;title\x07")
    text = "\n".join(lines(searched(passed(118), evil, unnamed, lower=118, upper=121)))
    assert "\x1b" not in text
    assert "\x07" not in text


def test_without_a_search_nothing_is_said_of_one() -> None:
    assert "capacity" not in "\n".join(lines(summary()))
