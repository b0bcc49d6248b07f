"""What `run` and `watch` print of a search: its trials, what is known of the capacity, and what limits the server."""

from dataclasses import replace
from typing import Any

from plans import EXTERNAL
from runs import load, summary
from searches import failed, found_118, invalid, passed, search_plan, searched, strained
from sshload_contract.vocabulary import SearchEnd
from sshload_contract.wire.run_summary import RunSummary
from sshload_operator.cli.result_table import result_text
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
    return result_text(read_test_status(status)).splitlines()


def test_each_trial_stands_in_its_row_under_heads_with_units() -> None:
    head, *rows = lines(found_118())[:7]
    assert head.split("  ")[0] == "trial"
    assert head.split() == ["trial", "arrivals/s", "state", "completed/s", "p99", "ms", "errors", "%"]
    assert rows[0].split() == ["1", "10", "passed", "20.0", "90.0", "0.00"]
    assert rows[1].split() == ["2", "140", "failed", "20.0", "90.0", "0.00"]
    assert len({len(row) for row in (head, *rows)}) == 1


def test_a_trial_that_was_not_counted_says_why() -> None:
    assert "trial 3: a worker used 99% of its core" in lines(found_118(invalid(118)))


def test_the_capacity_stands_with_its_bounds_and_what_limits_it() -> None:
    text = lines(searched(passed(118), SHORT_OF_CPU, lower=118, upper=121))
    at = text.index("capacity   118 arrivals/s (118 passed, 121 failed)")
    assert text[at + 1] == "limited by p99 of total below 2 s, which was 2.41 s at 121 arrivals/s"
    assert text[at + 2].startswith("short of   cpu: it used 1.90 of its limit of 2 cores (95%)")


def test_where_nothing_was_short_it_says_what_may_have_been() -> None:
    text = lines(searched(passed(118), failed(121), lower=118, upper=121), target={"external": EXTERNAL})
    assert any(line.startswith("           the target is not ours") for line in text)


def test_a_bound_is_not_printed_as_a_capacity() -> None:
    assert "capacity   500 arrivals/s or more (500 passed)" in lines(
        searched(passed(500), end=SearchEnd.MOST_HELD, lower=500)
    )
    assert "capacity   nothing is known of it" in lines(searched(invalid(10), end=SearchEnd.OUT_OF_TIME))


def test_the_figures_say_which_trial_they_are_of() -> None:
    text = lines(found_118())
    at = text.index("The figures below are those of trial 5.")
    assert text[at + 2].startswith("600 iterations measured")


def test_held_sessions_have_a_column() -> None:
    held = passed(400, load=load(held_most=400, held_least=398))
    head, row = lines(searched(held, passed(10), lower=400), "hold")[:2]
    assert head.split()[-1] == "held"
    assert row.split() == ["1", "400", "passed", "20.0", "90.0", "-", "398"]


def test_a_server_cannot_write_control_characters_to_the_terminal() -> None:
    evil = replace(invalid(118), message="\x1b[31mred")
    unnamed = replace(failed(121), thresholds=(), message="\x1b]0;title\x07")
    text = "\n".join(lines(searched(passed(118), evil, unnamed, lower=118, upper=121)))
    assert "\x1b" not in text
    assert "\x07" not in text


def test_without_a_search_nothing_is_said_of_one() -> None:
    assert "capacity" not in "\n".join(lines(summary()))
