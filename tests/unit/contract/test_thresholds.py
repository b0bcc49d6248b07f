"""What each kind of threshold answers to whoever asks it, and how its terms read in words."""

from dataclasses import dataclass, replace
from typing import Any

import pytest
from sshload_contract.thresholds import (
    BASELINE_UNIT,
    GIVEN_UP_AFTER,
    AskedPercentile,
    CapacityThreshold,
    ErrorRateThreshold,
    Judged,
    LatencyThreshold,
    SessionsThreshold,
    TargetCpuThreshold,
    TargetMemoryThreshold,
    TargetUsage,
    Terms,
    ThresholdKind,
    ThresholdResult,
    ThroughputThreshold,
    duration_in_words,
    unjudged,
)

LATENCY = LatencyThreshold("total", 99.9, 2.5)
ERRORS = ErrorRateThreshold(0.015)
RATE = ThroughputThreshold(90.5)
CAPACITY = CapacityThreshold(100)
CPU, MEMORY, SESSIONS = TargetCpuThreshold(0.8), TargetMemoryThreshold(104_857_600), SessionsThreshold(1_500)
ALL: tuple[Any, ...] = (LATENCY, ERRORS, RATE, CAPACITY, CPU, MEMORY, SESSIONS)


@pytest.mark.parametrize(
    ("threshold", "terms", "words"),
    [
        (LATENCY, Terms("latency", 2_500, "ms", "total", 99.9), "p99.9 of total below 2.5 s"),
        (ERRORS, Terms("errorRate", 1.5, "%"), "error rate below 1.5 %"),
        (RATE, Terms("throughput", 90.5, "/s"), "throughput above 90.5/s"),
        (CPU, Terms("targetCpu", 80, "%"), "CPU of the target below 80 %"),
        (MEMORY, Terms("targetMemory", 104_857_600, "bytes"), "memory of the target below 104.9 MB"),
        (
            replace(MEMORY, below=2**34),
            Terms("targetMemory", 17_179_869_184, "bytes"),
            "memory of the target below 17180 MB",
        ),
        (SESSIONS, Terms("sessions", 1_500, "sessions"), "sessions of the target below 1500"),
    ],
)
def test_a_threshold_is_stated_in_its_unit_and_in_words(threshold: Any, terms: Terms, words: str) -> None:
    assert (threshold.terms, threshold.words) == (terms, words)


def test_a_capacity_is_stated_in_the_unit_of_the_search() -> None:
    terms = CAPACITY.terms_in("users")
    assert (terms, terms.words) == (Terms("capacity", 100, "users"), "capacity above 100 users")


def test_a_latency_below_a_second_reads_in_milliseconds_and_one_of_a_second_in_seconds() -> None:
    assert [duration_in_words(us) for us in (999_900, 1_000_000, 1_500_000, 41, 43_200_000_000)] == [
        "999.9 ms",
        "1 s",
        "1.5 s",
        "0.041 ms",
        "43200 s",
    ]
    assert LatencyThreshold("login", 50, 0.25).words == "p50 of login below 250 ms"


def test_a_threshold_beside_a_baseline_reads_as_such_and_was_not_seen_without_it() -> None:
    terms = Terms("latency", 10, BASELINE_UNIT, "total", 99)
    assert terms.words == "p99 of total within 10 % of the baseline"
    assert terms.why_unseen == "not compared with a baseline"
    assert Terms("throughput", 7.5, BASELINE_UNIT).words == "throughput within 7.5 % of the baseline"


def test_a_figure_of_a_limit_from_above_must_be_below_it() -> None:
    assert {one.kind: one.is_upper_limit for one in ALL} == {
        "latency": True,
        "errorRate": True,
        "throughput": False,
        "capacity": False,
        "targetCpu": True,
        "targetMemory": True,
        "sessions": True,
    }
    assert LATENCY.terms.is_upper_limit
    assert not RATE.terms.is_upper_limit


def test_only_targets_figures_and_capacities_have_reasons_of_their_own_for_not_being_seen() -> None:
    assert {one.why_unseen for one in (CPU, MEMORY, SESSIONS)} == {"the target did not report it"}
    assert {one.why_unseen for one in (LATENCY, ERRORS, RATE)} == {"too few samples"}
    assert CAPACITY.terms_in("users").why_unseen == "no capacity is known"


def test_whoever_plans_or_judges_asks_a_threshold_and_not_its_kind() -> None:
    assert [one.kind for one in ALL if one.is_on_target] == ["targetCpu", "targetMemory", "sessions"]
    assert [one.kind for one in ALL if one.is_on_capacity] == ["capacity"]
    assert [one.kind for one in ALL if one.can_abort] == ["latency", "errorRate"]
    assert {one.kind: one.promised_s for one in ALL if one.promised_s is not None} == {"latency": 2.5}
    assert {one.kind: one.promised_rate for one in ALL if one.promised_rate is not None} == {"throughput": 90.5}
    assert {one.kind: one.allowed_failures for one in ALL if one.allowed_failures is not None} == {"errorRate": 0.015}
    asked = [one.asked_percentile for one in ALL if one.asked_percentile is not None]
    assert asked == [AskedPercentile("total", 99.9)]
    assert (asked[0].key, asked[0].words) == ("99.9", "p99.9 of total")
    assert AskedPercentile("total", 99).samples_needed < asked[0].samples_needed


def test_only_what_can_be_certain_before_the_end_can_end_the_load() -> None:
    assert [one.kind for one in ALL if one.aborting().abort_on_fail] == ["latency", "errorRate"]
    assert not any(one.abort_on_fail for one in ALL)
    assert replace(LATENCY.aborting(), abort_on_fail=False) == LATENCY
    assert replace(ERRORS.aborting(), abort_on_fail=False) == ERRORS


USAGE = TargetUsage(readings=3, cpu_share=0.25, memory_bytes=50_000_000, memory_is_upper_bound=True, sessions=9)
NOTHING = TargetUsage(readings=0, cpu_share=None, memory_bytes=None, memory_is_upper_bound=False, sessions=None)


def test_a_target_is_asked_for_the_figure_in_the_unit_of_the_limit() -> None:
    assert [one.of(USAGE) for one in (CPU, MEMORY, SESSIONS)] == [25, 50_000_000, 9]
    assert [one.of(NOTHING) for one in (CPU, MEMORY, SESSIONS)] == [None, None, None]


def test_only_memory_may_have_been_counted_twice() -> None:
    assert [one.may_be_less(USAGE) for one in (CPU, MEMORY, SESSIONS)] == [False, True, False]
    assert not MEMORY.may_be_less(NOTHING)


def test_terms_of_a_kind_that_this_program_does_not_know_read_all_the_same() -> None:
    terms = Terms("heat", 40.5, "degrees")
    assert (terms.words, terms.is_upper_limit, terms.why_unseen) == (
        "heat above 40.5 degrees",
        False,
        "too few samples",
    )


def test_a_part_of_a_kind_is_no_kind() -> None:
    @dataclass(frozen=True, slots=True)
    class _Stricter(LatencyThreshold):
        """A threshold that names no kind of its own."""

    assert Terms("latency", 1, "ms", "total", 50).words == "p50 of total below 1 ms"
    assert issubclass(_Stricter, ThresholdKind)


def test_a_broken_threshold_says_what_was_seen_in_its_place() -> None:
    seen = ThresholdResult(ERRORS.terms, "3 %", met=False)
    assert seen.broken_words == "error rate below 1.5 %, but it was 3 %"
    assert replace(seen, observed=None).broken_words == "error rate below 1.5 %, but it was not observed"


@pytest.mark.parametrize("met", [True, False])
def test_a_doubt_is_settled_by_what_a_sound_generator_measured(met: bool) -> None:  # noqa: FBT001
    result = ThresholdResult(LATENCY.terms, "2 s", met=None, value=2_000, low=1_900, high=2_100)
    doubted = Judged(result, doubt="near its limit", as_measured=met, caution="may include 5 ms")
    assert doubted.settled() == Judged(replace(result, met=met))


def test_a_doubt_that_a_lagging_generator_leaves_stays() -> None:
    doubted = Judged(ThresholdResult(LATENCY.terms, "2 s", met=None), doubt="near its limit")
    assert doubted.settled() is doubted


def test_four_trials_from_which_the_host_took_cpu_count_as_one_that_was_invalid() -> None:
    assert unjudged(2, 0, 0) == GIVEN_UP_AFTER == 2
    assert unjudged(0, 8, 0) == 2
    assert unjudged(3, 2, 1) == 2.5
    assert unjudged(0, 0, 3) == -3
