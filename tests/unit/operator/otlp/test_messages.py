"""What is pushed is what the page says: the same names, labels and values, in requests of bounded size."""

import time
from collections.abc import Iterator

import pytest
import statuses
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality
from otlp_points import Sample, attributes_of, metrics_of, samples_of
from prometheus_client.parser import text_string_to_metric_families
from sshload_operator.control.metrics.server import OperatorMetrics
from sshload_operator.control.otlp.messages import MOST_POINTS, Times, requests_of

TIMES = Times(start_ns=1_000, now_ns=2_000)
RESOURCE = {"service.name": "sshload-operator"}
STEPS = [
    statuses.step_json("login", {50: 20.0, 99.9: 50.0}, count=100, failures=1, meanMs=20.5),
    statuses.step_json("total", {50: 30.0}, count=99, meanMs=30.5, bytesPerSecond=12.0),
]


def operator(tests: int) -> OperatorMetrics:
    """Return the metrics of an operator with so many finished tests, a schedule, and work of its own."""
    metrics = OperatorMetrics()
    for number in range(tests):
        status = {
            "phase": "Finished",
            "verdict": "Passed",
            "completionTime": "2026-11-21T06:00:00Z",
            "results": {**statuses.RESULTS, "errorPercent": 1.5, "steps": STEPS},
        }
        body = {"metadata": {"namespace": "ns", "name": f"t{number}", "uid": f"u{number}"}, "status": status}
        metrics.tests.object_changed("MODIFIED", body)
    metadata = {"namespace": "ns", "name": "s", "uid": "of s", "creationTimestamp": "2026-11-21T05:00:00Z"}
    metrics.schedules.object_changed("ADDED", {"metadata": metadata, "spec": {}})
    metrics.count_api_request("patch", "sshloadtests")
    metrics.count_push("delivered", 3)
    return metrics


def page(metrics: OperatorMetrics) -> Iterator[Sample]:
    for family in text_string_to_metric_families(b"".join(metrics.render()).decode()):
        for sample in family.samples:
            yield sample.name, frozenset(sample.labels.items()), sample.value


def names_and_labels(samples: Iterator[Sample] | list[Sample]) -> list[tuple[str, list[tuple[str, str]]]]:
    return sorted((name, sorted(labels)) for name, labels, _ in samples)


def test_each_sample_of_the_page_is_pushed_under_its_name_with_its_labels_and_its_value() -> None:
    metrics = operator(25)
    pushed = samples_of(filter(None, requests_of(metrics.collect(), RESOURCE, TIMES)))
    assert names_and_labels(pushed) == names_and_labels(page(metrics))
    steady = [sample for sample in page(metrics) if not sample[0].startswith("process_")]
    assert len(steady) > 300
    assert [sample for sample in steady if sample not in pushed] == []


@pytest.mark.slow
def test_no_request_has_more_points_than_the_bound_and_none_is_lost_between_two() -> None:
    metrics = operator(1_000)
    requests = list(filter(None, requests_of(metrics.collect(), RESOURCE, TIMES)))
    points = [
        sum(len(m.gauge.data_points) + len(m.sum.data_points) + len(m.summary.data_points) for m in metrics_of(one))
        for one in requests
    ]
    assert len(requests) > 1
    assert {*points[:-1]} == {MOST_POINTS}
    assert 0 < points[-1] <= MOST_POINTS
    assert names_and_labels(samples_of(requests)) == names_and_labels(page(metrics))


def test_each_request_says_which_operator_it_is_of() -> None:
    for request in filter(None, requests_of(operator(1_000).collect(), RESOURCE, TIMES)):
        (resource,) = request.resource_metrics
        assert attributes_of(resource.resource) == RESOURCE


def test_counters_are_cumulative_from_the_start_of_the_process_and_gauges_are_of_now() -> None:
    (request,) = filter(None, requests_of(operator(1).collect(), RESOURCE, TIMES))
    found = {metric.name: metric for metric in metrics_of(request)}
    pushes = found["sshload_operator_otlp_pushes_total"].sum
    assert (pushes.is_monotonic, pushes.aggregation_temporality) == (
        True,
        AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE,
    )
    assert [(p.start_time_unix_nano, p.time_unix_nano) for p in pushes.data_points] == [(1_000, 2_000)]
    (rate,) = found["sshload_test_completed_rate"].gauge.data_points
    assert (rate.start_time_unix_nano, rate.time_unix_nano, rate.as_double) == (0, 2_000, 20.0)


def test_the_caller_has_its_turn_behind_each_family() -> None:
    metrics = operator(1)
    begun = time.time_ns()
    turns = [one for one in requests_of(metrics.collect(), RESOURCE, Times(begun, begun)) if one is None]
    assert len(turns) == len(list(metrics.collect()))


def test_each_metric_says_what_it_is_whose_it_is_and_of_when_a_summary_is() -> None:
    metrics = operator(1)
    (request,) = filter(None, requests_of(metrics.collect(), RESOURCE, TIMES))
    assert request.resource_metrics[0].scope_metrics[0].scope.name == "sshload"
    described = {family.name: family.documentation for family in metrics.collect()}
    found = {metric.name: metric for metric in metrics_of(request)}
    assert len(found) > 20
    for name, metric in found.items():
        assert metric.description == described[name.removesuffix("_total").removesuffix("_created")], name
    latencies = found["sshload_test_step_latency_seconds"].summary.data_points
    assert {(point.start_time_unix_nano, point.time_unix_nano) for point in latencies} == {(0, 2_000)}
