"""The figures of a report's charts: each interval over its own time, periods that cannot be trusted, percentiles."""

from itertools import pairwise
from typing import Any

import pytest
from runs import summary
from sshload_contract.vocabulary import Outcome, Window
from sshload_contract.wire.hdr_encoding import encode
from sshload_contract.wire.report import EncodedHistogram
from sshload_contract.wire.run_summary import SERVER_POINTS_LIMIT, SeriesPoint, ServerPoint
from sshload_operator.report.distribution import distributions
from sshload_operator.report.over_time import MOST_POINTS, over_time


def point(at_s: float, **changes: Any) -> SeriesPoint:
    figures: dict[str, Any] = dict.fromkeys(("users", "held", "in_flight", "started", "succeeded", "failed"), 0)
    return SeriesPoint(at_s=at_s, p99_us=None, **(figures | changes))


def course(*points: SeriesPoint, interval_s: float = 1.0, server: tuple[ServerPoint, ...] = ()) -> dict[str, Any]:
    return over_time(summary(series=points, series_interval_s=interval_s, server_series=server))


def test_each_interval_has_its_rates_per_second_of_its_own_time() -> None:
    latencies = {"p50_us": 1_500, "p90_us": 2_500, "p99_us": 9_999}
    ended = {"started": 9, "succeeded": 6, "failed": 2, "failed_by": {Outcome.REFUSED: 1, Outcome.THROTTLED: 0}}
    second = point(3.0, users=2, held=3, in_flight=4, stolen_share=0.01)
    second = SeriesPoint(**({name: getattr(second, name) for name in second.__slots__} | ended | latencies))
    first, told = course(point(1.0, started=1), second)["intervals"]
    assert (first["begunRate"], first["errorPercent"], first["failedPercent"]) == (1.0, None, {})
    assert told == {
        "atSeconds": 3.0,
        "begunRate": 4.5,
        "completedRate": 3.0,
        "errorPercent": 25.0,
        "failedPercent": {"refused": 12.5, "other": 12.5},
        "p50Ms": 1.5,
        "p90Ms": 2.5,
        "p99Ms": 9.999,
        "users": 2,
        "held": 3,
        "inFlight": 4,
        "stolenPercent": 1.0,
    }


def test_an_interval_without_any_time_has_no_rate_and_is_left_out() -> None:
    found = course(point(1.0), point(1.0, started=5), point(0.5, started=5), point(2.0, started=3))
    assert [(one["atSeconds"], one["begunRate"]) for one in found["intervals"]] == [(1.0, 0.0), (2.0, 3.0)]
    assert course(point(0.0, started=5))["intervals"] == []


def test_a_course_has_a_bounded_number_of_points_however_many_it_is_told() -> None:
    server = tuple(ServerPoint(float(at_s), 1.25, 0.5, 7, 9) for at_s in range(SERVER_POINTS_LIMIT + 5))
    found = course(*(point(float(at_s)) for at_s in range(1, MOST_POINTS + 6)), server=server)
    assert (len(found["intervals"]), len(found["server"])) == (MOST_POINTS, SERVER_POINTS_LIMIT)
    assert found["server"][1] == {
        "atSeconds": 1.0,
        "cores": 1.25,
        "stolenPercent": 50.0,
        "sessions": 7,
        "memoryBytes": 9,
    }
    assert found["intervalSeconds"] == 1.0


def test_the_outcomes_that_are_the_most_frequent_in_the_whole_run_are_named_in_each_interval() -> None:
    every = [outcome for outcome in Outcome if outcome is not Outcome.OK][:10]
    frequent = {outcome: 10 - number for number, outcome in enumerate(every)}
    whole = point(1.0, failed=55, failed_by=frequent)
    rare = point(2.0, failed=2, failed_by={every[7]: 1, every[9]: 1})
    first, second = course(whole, rare)["intervals"]
    assert list(first["failedPercent"]) == [*map(str, every[:8]), "other"]
    assert first["failedPercent"]["other"] == round(100 * 3 / 55, 3)
    assert second["failedPercent"] == {str(every[7]): 50.0, "other": 50.0}


@pytest.mark.parametrize(
    ("ends_s", "interval_s", "stalled"),
    [
        pytest.param((1.0, 2.0, 4.5), 1.0, [], id="as long as it may be"),
        pytest.param((1.0, 2.0, 4.6, 5.6), 1.0, [(2.0, 4.6, "2.6")], id="longer"),
        pytest.param((3.0, 4.0), 1.0, [(0.0, 3.0, "3.0")], id="from the start on"),
        pytest.param((4.0, 8.0), 2.0, [], id="of joined intervals"),
        pytest.param((9.0,), 0.0, [], id="without an interval"),
    ],
)
def test_a_period_in_which_no_worker_has_reported_is_marked(
    ends_s: tuple[float, ...], interval_s: float, stalled: list[tuple[float, float, str]]
) -> None:
    found = course(*map(point, ends_s), interval_s=interval_s)["stalled"]
    assert found == [
        {"fromSeconds": begin_s, "toSeconds": end_s, "message": f"no worker's report for {lasted} s"}
        for begin_s, end_s, lasted in stalled
    ]


def test_intervals_in_which_cpu_time_was_stolen_are_joined_and_tell_the_worst_of_them() -> None:
    shares = (0.0, 0.05, 0.2, 0.1, None, 0.03, 0.02)
    found = course(*(point(float(end_s), stolen_share=share) for end_s, share in enumerate(shares, start=1)))
    assert [(one["fromSeconds"], one["toSeconds"]) for one in found["stolen"]] == [(1.0, 4.0), (5.0, 6.0)]
    assert ["20%" in one["message"] for one in found["stolen"]] == [True, False]
    assert "3%" in found["stolen"][1]["message"]


def histogram(step: str, counts: dict[int, int], **changes: Any) -> EncodedHistogram:
    data = changes.pop("data", encode(counts))
    fields: dict[str, Any] = {"window": Window.MEASURED, "outcome": Outcome.OK, "stage": 0} | changes
    return EncodedHistogram(step=step, count=sum(counts.values()), data=data, **fields)


def test_only_successes_of_the_whole_measured_window_are_shown_the_most_interesting_steps_first() -> None:
    left_out = (
        histogram("total", {1: 1}, window=Window.WARM_UP),
        histogram("total", {1: 1}, outcome=Outcome.REFUSED),
        histogram("total", {1: 1}, stage=2),
        histogram("broken", {1: 1}, data="none"),
        histogram("empty", {}),
    )
    steps = ("auth", "b", "connect", "a", "total", "login")
    found = distributions(summary(histograms=(*left_out, *(histogram(step, {1: 1}) for step in steps))))
    assert [one["step"] for one in found] == ["total", "login", "connect", "auth", "a", "b"]
    many = tuple(histogram(f"{number:02}", {1: 1}) for number in range(40))
    assert [one["step"] for one in distributions(summary(histograms=many))] == [f"{number:02}" for number in range(30)]


def test_a_distribution_has_five_points_for_each_halving_of_what_is_above_and_ends_at_the_most() -> None:
    counts = dict.fromkeys(range(1_000, 2_000, 10), 1)
    (found,) = distributions(summary(histograms=(histogram("total", counts),)))
    percentiles = [percentile for percentile, _ in found["points"]]
    assert percentiles[:11] == [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 55.0, 60.0, 65.0, 70.0, 75.0]
    assert len(percentiles) == 7 * 5 + 1
    assert percentiles[-1] == 100.0
    assert all(lower < higher for lower, higher in pairwise(percentiles))
    assert [found["points"][place][1] for place in (0, 1, 5, 10, -1)] == [1.0, 1.09, 1.49, 1.74, 1.99]
    assert (found["count"], found["statedTo"]) == (100, 96.875)


def test_a_single_latency_is_all_percentiles() -> None:
    (found,) = distributions(summary(histograms=(histogram("total", {7_000: 1}),)))
    assert {value for _, value in found["points"]} == {7.003}
    assert found["statedTo"] == 0.0
