"""A figure at the limit of what its baseline allows, and what is told of it."""

import sys
from dataclasses import replace
from functools import cache
from math import inf
from typing import Any

import pytest
from baselines import finished, slower
from plans import quickstart
from runs import retold, summary
from sshload_contract.vocabulary import SearchEnd
from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.api.status.capacity import CapacityStatus
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.api.thresholds import RelativeCapacity, RelativeLatency, RelativeThreshold, RelativeThroughput
from sshload_operator.decision.baseline.judge import judge_relative
from sshload_operator.decision.baseline.measured import (
    Bounds,
    Value,
    capacity_ratio,
    lacks_interval,
    latency_ms,
    own_delay_ms,
    ratio,
    stolen_share,
)
from sshload_operator.state import Reason
from statuses import RESULTS, read_test_status, step_json

P90 = RelativeLatency("total", 90, 0.1)
THROUGHPUT = RelativeThroughput(0.1)
CAPACITY = RelativeCapacity(0.1)


@cache
def measured(times: float) -> TestStatus:
    """Return what a test measured whose p90 is so many times 60 ms, known exactly."""
    return read_fitting(TestStatus, finished(slower(times, noise=0.0))["status"])


def status(times: float = 1.0, **results: Any) -> TestStatus:
    """Return the same with other figures."""
    found = measured(times)
    assert found.results is not None
    return replace(found, results=replace(found.results, **results))


def rate(value: float, low: float | None = None, high: float | None = None) -> TestStatus:
    """Return a status with this rate, known exactly unless bounds are given."""
    low, high = (value if bound is None else bound for bound in (low, high))
    return status(completed_rate=value, completed_rate_low=low, completed_rate_high=high)


def capacity(lower: float | None, upper: float | None) -> TestStatus:
    found = CapacityStatus(unit="arrivals/s", lower_bound=lower, upper_bound=upper, end=SearchEnd.FOUND, trials=())
    return replace(status(), capacity=found)


def met(threshold: RelativeThreshold, new: TestStatus, base: TestStatus) -> bool | None:
    return judge_relative(threshold, new, base).result.met


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (rate(90), True),
        (rate(90, 90, 110), True),
        (rate(89.9), False),
        (rate(89, 80, 90), None),
        (rate(95, 89, 99), None),
        (rate(200), True),
    ],
)
def test_a_throughput_a_tenth_below_its_baseline_is_within_a_tenth(new: TestStatus, expected: bool | None) -> None:  # noqa: FBT001 - of a table
    assert met(THROUGHPUT, new, rate(100)) is expected


@pytest.mark.parametrize(
    ("seen_us", "low_us", "high_us", "expected"),
    [
        (66_000, 60_000, 66_000, True),
        (66_000, 66_000, 70_000, None),
        (66_100, 66_100, 70_000, False),
    ],
)
def test_a_latency_whose_interval_touches_the_limit_from_above_may_be_within(
    seen_us: int,
    low_us: int,
    high_us: int,
    expected: bool | None,  # noqa: FBT001 - of a table
) -> None:
    sound = summary()
    value, low, high = ({"90": one_us} for one_us in (seen_us, low_us, high_us))
    steps = tuple(
        replace(step, percentiles_us=value, percentiles_low_us=low, percentiles_high_us=high)
        for step in sound.trial.steps
    )
    new = read_fitting(TestStatus, finished(retold(sound, steps=steps))["status"])
    assert met(P90, new, status()) is expected


@pytest.mark.parametrize(("times", "expected"), [(1.1, True), (1.102, False), (0.5, True)])
def test_a_latency_a_tenth_above_its_baseline_is_within_a_tenth(times: float, *, expected: bool) -> None:
    assert met(P90, status(times), status()) is expected


@pytest.mark.parametrize(
    ("new", "base", "expected"),
    [
        ((90, 100), (95, 100), True),
        ((89.9, 95), (95, 100), None),
        ((80, 90), (100, 105), None),
        ((80, 89.9), (100, 105), False),
        ((90, None), (95, 100), True),
        ((80, None), (95, 100), None),
    ],
)
def test_a_capacity_is_within_a_tenth_if_it_is_whatever_both_are_within_their_bounds(
    new: tuple[float, float | None],
    base: tuple[float, float],
    expected: bool | None,  # noqa: FBT001 - of a table
) -> None:
    assert met(CAPACITY, capacity(*new), capacity(*base)) is expected


LIMITED = capacity(100, 125)


@pytest.mark.parametrize(
    ("threshold", "new", "base", "said"),
    [
        (THROUGHPUT, rate(50), rate(100), "50.00/s, 0.5 (0.5 to 0.5) times the baseline's 100.00/s"),
        (P90, status(20), status(), "1.2 s, 20 (20 to 20) times the baseline's 60 ms"),
        (P90, status(50 / 3), status(), "1 s, 16.7 (16.7 to 16.7) times the baseline's 60 ms"),
        (CAPACITY, capacity(50, None), LIMITED, "50 or more, 0.5 (0.4 to more) times the baseline's 100 to 125"),
        (CAPACITY, capacity(None, 50), LIMITED, "below 50, 0.5 (0 to 0.5) times the baseline's 100 to 125"),
    ],
    ids=["throughput", "latency", "a second", "open above", "open below"],
)
def test_what_was_compared_is_told_with_its_bounds(
    threshold: RelativeThreshold, new: TestStatus, base: TestStatus, said: str
) -> None:
    assert judge_relative(threshold, new, base).figures == said


@pytest.mark.parametrize(
    ("threshold", "new", "base", "change"),
    [
        (THROUGHPUT, rate(50, 40, 75), rate(100), (-50, -60, -25)),
        (CAPACITY, capacity(50, None), capacity(100, 125), (-50, -60, None)),
        (CAPACITY, capacity(None, 50), capacity(100, 125), (-50, None, -50)),
        (THROUGHPUT, rate(100, 0, 110), rate(100), (0, None, 10)),
    ],
    ids=["bounded", "open above", "open below", "too few samples below"],
)
def test_for_programs_it_is_the_difference_in_percent_of_the_baseline(
    threshold: RelativeThreshold, new: TestStatus, base: TestStatus, change: tuple[float | None, ...]
) -> None:
    result = judge_relative(threshold, new, base).result
    assert (result.value, result.low, result.high) == pytest.approx(change)


@pytest.mark.parametrize(
    ("threshold", "kind", "step", "percentile"),
    [(P90, "latency", "total", 90), (THROUGHPUT, "throughput", "", None), (CAPACITY, "capacity", "", None)],
    ids=["latency", "throughput", "capacity"],
)
def test_a_relative_threshold_has_its_terms(
    threshold: RelativeThreshold, kind: str, step: str, percentile: float | None
) -> None:
    terms = judge_relative(threshold, capacity(100, 105), capacity(100, 105)).result.terms
    assert terms is not None
    assert (terms.kind, terms.limit, terms.unit) == (kind, 10, "% of the baseline")
    assert (terms.step, terms.percentile) == (step, percentile)


def without_results() -> TestStatus:
    return replace(status(), results=None)


@pytest.mark.parametrize(
    ("threshold", "new", "base", "reason", "why"),
    [
        (THROUGHPUT, without_results(), rate(1), Reason.NO_BASELINE, "the baseline does not state it. Run it again"),
        (THROUGHPUT, rate(1), without_results(), Reason.NO_BASELINE, "the baseline does not state it. Run it again"),
        (THROUGHPUT, rate(0), rate(1), Reason.NO_BASELINE, "it was 0.00/s, and 1.00/s in the baseline"),
        (
            CAPACITY,
            capacity(100, 105),
            status(),
            Reason.NO_BASELINE,
            "the baseline has found no capacity. Run it again",
        ),
        (
            CAPACITY,
            status(),
            capacity(100, 105),
            Reason.NO_BASELINE,
            "the baseline has found no capacity. Run it again",
        ),
        (
            CAPACITY,
            capacity(100, 105),
            capacity(None, 10),
            Reason.NO_BASELINE,
            "the baseline has found no capacity. Run it again",
        ),
        (CAPACITY, capacity(None, None), LIMITED, Reason.NO_BASELINE, "it was unknown, and 100 to 125 in the baseline"),
        (
            P90,
            without_results(),
            status(),
            Reason.TOO_FEW_SAMPLES,
            "p90 needs 29 samples. Lengthen the load or raise its rate",
        ),
        (
            P90,
            status(),
            without_results(),
            Reason.NO_BASELINE,
            (
                "the baseline does not state it: too few samples, or no threshold on that percentile of that step. Run"
                " it again, longer or with one"
            ),
        ),
    ],
)
def test_what_cannot_be_compared_says_why(
    threshold: RelativeThreshold, new: TestStatus, base: TestStatus, reason: Reason, why: str
) -> None:
    found = judge_relative(threshold, new, base)
    assert (found.result.met, found.reason) == (None, reason)
    assert found.message.endswith(f"10 % of the baseline cannot be judged: {why}")


@pytest.mark.parametrize(
    ("new", "said"),
    [
        (
            rate(95, 95 / 1.2, 95),
            (
                "The noise of the two runs is larger than the allowed difference: both need a load 3.0 times as long"
                " for the noise to fall below 10 %"
            ),
        ),
        (
            rate(95, 95, 95 * 2),
            "",
        ),
        (
            rate(91, 89, 95),
            "It is near the limit: both need a load 16 times as long to tell whether it is above or below",
        ),
        (
            rate(91.155, 89, 95),
            "It is near the limit: both need a load 11 times as long to tell whether it is above or below",
        ),
        (
            rate(90, 89, 95),
            (
                "It is exactly at the limit, so no load is long enough to tell whether it is above or below. Allow more"
                " or less of it"
            ),
        ),
        (
            rate(90.1, 89, 95),
            (
                "It is exactly at the limit, so no load is long enough to tell whether it is above or below. Allow more"
                " or less of it"
            ),
        ),
    ],
    ids=["noise", "kept for sure", "near", "less near", "exactly", "as good as exactly"],
)
def test_what_is_within_the_noise_says_what_would_decide_it(new: TestStatus, said: str) -> None:
    found = judge_relative(THROUGHPUT, new, rate(100))
    assert (found.result.met is None) is bool(said)
    assert found.message.endswith(said)


@pytest.mark.parametrize("unbounded", [{"completed_rate_low": None}, {"completed_rate_high": None}], ids=str)
def test_noise_that_the_samples_do_not_bound_takes_longer_loads(unbounded: dict[str, Any]) -> None:
    found = rate(89, 80, 95)
    assert found.results is not None
    found = replace(found, results=replace(found.results, **unbounded))
    assert "There are too few samples to bound it" in judge_relative(THROUGHPUT, found, rate(100)).message


def test_a_search_takes_a_precision_of_half_of_what_is_allowed() -> None:
    found = judge_relative(RelativeCapacity(0.15), capacity(80, 90), capacity(100, 105))
    assert found.reason is Reason.WITHIN_NOISE
    assert "spec.load.capacity.precision of 7.5% or finer" in found.message


@pytest.mark.parametrize(
    ("new", "base", "value"),
    [
        (Bounds(500, None), Bounds(100, 105), 5),
        (Bounds(None, 10), Bounds(100, 105), 0.1),
        (Bounds(500, 510), Bounds(None, 100), 5),
        (Bounds(100, 105), Bounds(500, None), 0.2),
    ],
)
def test_the_ratio_of_capacities_is_that_of_their_lower_bounds_or_else_the_bound_that_is_known(
    new: Bounds, base: Bounds, value: float
) -> None:
    found = capacity_ratio(new, base)
    assert found is not None
    assert found.value == pytest.approx(value)
    assert found.low <= found.value <= found.high


@pytest.mark.parametrize(
    ("new", "base"), [(Bounds(None, 10), Bounds(None, 10)), (Bounds(10, None), Bounds(None, None))]
)
def test_capacities_that_are_open_on_both_sides_have_no_ratio(new: Bounds, base: Bounds) -> None:
    assert capacity_ratio(new, base) is None


def test_a_ratio_beyond_all_numbers_is_the_largest_number_and_has_no_bound() -> None:
    found = ratio(Value(1e308, 1e307, sys.float_info.max), Value(1e-300, 1e-301, 1e-299))
    assert found is not None
    assert (found.value, found.high) == (sys.float_info.max, inf)
    assert found.low < found.value


def test_the_smallest_figure_has_a_ratio_too() -> None:
    assert ratio(Value(0.5, 0.5, 0.5), Value(0.25, 0.25, 0.25)) is not None


def test_of_a_test_that_measured_nothing_no_figure_is_known() -> None:
    nothing = without_results()
    assert latency_ms(nothing, "total", 90) is None
    assert own_delay_ms(nothing) is None
    assert stolen_share(nothing) is None
    assert not lacks_interval(nothing, "total", 90)


def test_of_a_test_whose_step_or_percentile_is_not_stated_none_is_known() -> None:
    assert latency_ms(status(), "total", 99.999) is None
    assert latency_ms(status(), "no such step", 90) is None
    assert not lacks_interval(status(), "total", 99.999)
    assert not lacks_interval(status(), "no such step", 90)


@pytest.mark.parametrize(
    ("step", "named", "bounds", "lacks"),
    [
        ("connect", "total", (55_000, 65_000), True),
        ("connect", "connect", (None, None), False),
        ("connect", "connect", (55_000, None), False),
        ("connect", "connect", (None, 65_000), False),
        ("total", "connect", (None, None), False),
    ],
)
def test_only_a_part_that_no_threshold_names_lacks_its_interval(
    step: str, named: str, bounds: tuple[int | None, int | None], *, lacks: bool
) -> None:
    """Intervals of whole steps and of those that thresholds name are stated as far as the samples bound them."""
    low, high = ({"90": bound} for bound in bounds)
    sound = summary()
    steps = tuple(replace(one, percentiles_low_us=low, percentiles_high_us=high) for one in sound.trial.steps)
    spec = quickstart(thresholds=[{"latency": {"step": named, "percentile": 90, "below": "9s"}}])
    found = read_fitting(TestStatus, finished(retold(sound, steps=steps), spec)["status"])
    assert lacks_interval(found, step, 90) is lacks


@pytest.mark.parametrize(
    ("percentile", "bounds", "lacks"),
    [(95, {}, True), (95, {"lowMs": 11.0}, False), (95, {"highMs": 14.0}, False), (90, {}, False)],
)
def test_a_percentile_of_a_whole_step_lacks_its_interval_where_no_threshold_names_it_and_it_is_not_shown(
    percentile: float, bounds: dict[str, float], *, lacks: bool
) -> None:
    stated = {"intervals": [{"percentile": percentile, "ms": 12.0, **bounds}]} if bounds else {}
    found = read_test_status({"results": {**RESULTS, "steps": [step_json("total", {percentile: 12.0}, **stated)]}})
    assert lacks_interval(found, "total", percentile) is lacks


def test_a_share_that_hosts_took_is_told_if_it_is_known() -> None:
    found = status()
    assert found.results is not None
    assert found.results.generator is not None
    assert stolen_share(found) == pytest.approx(0.01)
    unknown = replace(found.results.generator, stolen_percent=None)
    assert stolen_share(status(generator=unknown)) is None
    assert stolen_share(status(generator=None)) is None
