"""The search in a status: as the CRD has it, with units, within bounds, and no bound that reads as a capacity."""

from dataclasses import replace
from typing import Any

import pytest
from crd_schema import problems, status_schema
from hypothesis import given
from hypothesis import strategies as st
from plans import EXTERNAL
from runs import generator, load, retold, snapshot, target_stats
from searches import P99, failed, found_118, invalid, passed, search_plan, searched, strained
from sshload_contract.thresholds import ThresholdResult
from sshload_contract.vocabulary import Invalidity, SearchEnd
from sshload_contract.wire.master_log import SearchProgress
from sshload_contract.wire.run_summary import RunSummary
from sshload_operator.state import Resource
from statuses import capacity_json, progress_json

SCHEMA = status_schema()["properties"]["capacity"]
PROGRESS = status_schema()["properties"]["progress"]
SHORT_OF_CPU = strained(121, cpu_s=76, limits={"cpu_limit_cores": 2.0})


def written(found: RunSummary, model: str = "arrivals", **changes: Any) -> dict[str, Any]:
    status = capacity_json(search_plan(model, **changes), found)
    assert status is not None
    assert list(problems(status, SCHEMA, "capacity")) == []
    return status


def test_a_run_without_a_search_has_no_capacity() -> None:
    assert capacity_json(search_plan(), retold(found_118(), search=None)) is None


def test_a_capacity_stands_there_with_its_unit_and_its_bounds() -> None:
    status = written(found_118())
    assert {key: value for key, value in status.items() if not isinstance(value, dict | list)} == {
        "inWords": "118 arrivals/s",
        "value": 118,
        "unit": "arrivals/s",
        "lowerBound": 118,
        "upperBound": 121,
        "end": "found",
        "reportedTrial": 5,
    }


@pytest.mark.parametrize(
    ("model", "words"),
    [("arrivals", "118 arrivals/s"), ("users", "118 users"), ("burst", "118 connections"), ("hold", "118 sessions")],
)
def test_the_unit_is_that_of_the_load(model: str, words: str) -> None:
    assert written(found_118(), model)["inWords"] == words


@pytest.mark.parametrize(
    ("found", "words"),
    [
        pytest.param(
            searched(passed(500), end=SearchEnd.MOST_HELD, lower=500), "500 arrivals/s or more", id="most-held"
        ),
        pytest.param(searched(failed(10), end=SearchEnd.LEAST_BROKEN, upper=10), "below 10 arrivals/s", id="broken"),
        pytest.param(
            searched(passed(240), invalid(300), end=SearchEnd.GENERATOR_LIMIT, lower=240),
            "240 arrivals/s or more",
            id="generator",
        ),
        pytest.param(
            searched(passed(100), failed(140), end=SearchEnd.OUT_OF_TIME, lower=100, upper=140),
            "100 to 140 arrivals/s",
            id="out-of-time",
        ),
        pytest.param(searched(invalid(10), end=SearchEnd.OUT_OF_TIME), None, id="nothing-known"),
        pytest.param(
            searched(
                replace(failed(10), thresholds=(ThresholdResult(P99, None, None),), load=load(298)),
                end=SearchEnd.LEAST_BROKEN,
                upper=10,
            ),
            None,
            id="too-few-samples-at-the-least",
        ),
    ],
)
def test_only_a_capacity_that_was_found_is_a_plain_amount(found: RunSummary, words: str | None) -> None:
    assert written(found).get("inWords") == words


def test_each_trial_says_how_much_when_how_well_and_what_broke() -> None:
    bad = failed(140, load=load(540, 60))
    assert written(searched(passed(10), bad, invalid(121), lower=10, upper=140))["trials"] == [
        {
            "number": 1,
            "amount": 10,
            "state": "passed",
            "startSeconds": 0,
            "completedRate": 20,
            "errorPercent": 0,
            "p99Ms": 90,
        },
        {
            "number": 2,
            "amount": 140,
            "state": "failed",
            "message": "p99 of total below 2 s, but it was 2.41 s",
            "startSeconds": 40,
            "completedRate": 18,
            "errorPercent": 10,
            "p99Ms": 90,
        },
        {
            "number": 3,
            "amount": 121,
            "state": "invalid",
            "message": "a worker used 99% of its core",
            "startSeconds": 80,
            "completedRate": 20,
            "errorPercent": 0,
            "p99Ms": 90,
        },
    ]


def test_a_trial_in_which_nothing_ended_states_no_share_and_no_percentile() -> None:
    empty = passed(10, load=load(0), steps=())
    (trial,) = written(searched(empty, lower=10))["trials"]
    assert not {"errorPercent", "p99Ms"} & trial.keys()


def test_a_trial_without_a_state_was_not_judged_and_one_that_says_nothing_has_no_message() -> None:
    (first,) = written(searched(passed(10), lower=10))["trials"]
    (other,) = written(searched(replace(passed(10), state=None, message="")))["trials"]
    assert (first["state"], other["state"]) == ("passed", "invalid")
    assert "message" not in other


def test_where_no_threshold_broke_what_the_last_trial_said_was_observed() -> None:
    unnamed = replace(failed(121, message="most of it failed"), thresholds=())
    limit = written(searched(passed(118), unnamed, lower=118, upper=121))["limitedBy"]
    assert limit["observed"] == "most of it failed"
    assert "threshold" not in limit
    named = written(found_118())["limitedBy"]
    assert "observed" not in named
    assert named["threshold"]["kind"] == "latency"


def test_held_sessions_are_counted_and_their_share_is_not_guessed_from_the_probes() -> None:
    (trial,) = written(searched(passed(400, load=load(held_most=400, held_least=398)), lower=400), "hold")["trials"]
    assert trial["heldLeast"] == 398
    assert "errorPercent" not in trial


def test_what_limits_stands_there_with_its_figure() -> None:
    assert written(searched(passed(118), SHORT_OF_CPU, lower=118, upper=121))["limitedBy"] == {
        "amount": 121,
        "threshold": {
            "kind": "latency",
            "step": "total",
            "percentile": 99,
            "limit": 2000.0,
            "unit": "ms",
            "met": False,
            "message": "p99 of total below 2 s: 2.41 s",
        },
        "shortOf": [
            {
                "resource": "cpu",
                "message": (
                    "it used 1.90 of its limit of 2 cores (95%). "
                    "Raise spec.target.managed.resources.limits.cpu, or take a cheaper key exchange"
                ),
            }
        ],
    }


def test_an_external_target_is_short_of_nothing_that_is_known() -> None:
    limit = written(searched(passed(118), SHORT_OF_CPU, lower=118, upper=121), target={"external": EXTERNAL})[
        "limitedBy"
    ]
    assert limit["shortOf"] == []
    assert "external" in limit["message"]


def test_of_too_many_trials_the_last_are_kept() -> None:
    numbers = [trial["number"] for trial in written(searched(*[passed(10)] * 130, lower=10))["trials"]]
    assert numbers == list(range(31, 131))


def test_every_resource_is_a_word_of_the_schema() -> None:
    words = SCHEMA["properties"]["limitedBy"]["properties"]["shortOf"]["items"]["properties"]["resource"]["enum"]
    assert words == [str(resource) for resource in Resource]


def test_every_end_is_a_word_of_the_schema() -> None:
    assert SCHEMA["properties"]["end"]["enum"] == [str(end) for end in SearchEnd]


def test_progress_says_where_the_search_stands() -> None:
    under_way = snapshot(search=SearchProgress(trial=4, amount=120, lower=100, upper=140))
    shown = progress_json(search_plan(), under_way)
    assert shown["search"] == {
        "trial": 4,
        "amount": 120,
        "unit": "arrivals/s",
        "lowerBound": 100,
        "upperBound": 140,
    }
    assert list(problems(shown, PROGRESS, "progress")) == []


def test_a_bound_that_is_not_known_yet_is_absent() -> None:
    shown = progress_json(search_plan(), snapshot(search=SearchProgress(trial=1, amount=10, lower=None, upper=None)))
    assert shown["search"] == {"trial": 1, "amount": 10, "unit": "arrivals/s"}


_LONG = "x" * 5_000
_EVIL = target_stats(
    10**9, oom_kills=10**12, refused_forks=10**12, listen_overflows=10**12, cpu_s=1e12, cpu_limit_cores=3
)


@pytest.mark.slow
@given(
    amount=st.floats(0.01, 100_000),
    why=st.sampled_from(Invalidity),
    end=st.sampled_from(SearchEnd),
    count=st.integers(1, 60),
)
def test_whatever_was_found_fits_the_schema(amount: float, why: Invalidity, end: SearchEnd, count: int) -> None:
    long = failed(amount, target_before=target_stats(0), target_after=_EVIL, message=_LONG)
    unnamed = replace(long, thresholds=())
    beyond = invalid(amount * 2, why, message=_LONG, generator=generator(cpu_share=40.0))
    for bad in (long, unnamed):
        written(searched(passed(amount / 2), *[bad] * count, beyond, end=end, lower=amount / 2, upper=amount))
