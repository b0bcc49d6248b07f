"""What a collector reads of requests of OTLP, as samples like those of a page for Prometheus."""

import gzip
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from webhook_receiver import Received

Sample = tuple[str, frozenset[tuple[str, str]], float]


def request_of(received: Received) -> ExportMetricsServiceRequest:
    """Return the message of one request, whose body is packed."""
    assert received.headers["content-type"] == "application/x-protobuf"
    assert received.headers["content-encoding"] == "gzip"
    return ExportMetricsServiceRequest.FromString(gzip.decompress(received.body))


def samples_of(requests: Iterable[ExportMetricsServiceRequest]) -> list[Sample]:
    """Return each point as the samples that a page has of it: name, labels and value."""
    return [sample for request in requests for metric in metrics_of(request) for sample in _samples(metric)]


def metrics_of(request: ExportMetricsServiceRequest) -> Iterator[Any]:
    """Yield the metrics of a request."""
    for resource in request.resource_metrics:
        for scope in resource.scope_metrics:
            yield from scope.metrics


def attributes_of(holder: Any) -> Mapping[str, str]:
    """Return the attributes of a point or a resource."""
    return {one.key: one.value.string_value for one in holder.attributes}


def _samples(metric: Any) -> Iterator[Sample]:
    for point in (*metric.gauge.data_points, *metric.sum.data_points):
        yield metric.name, _labels(point), point.as_double
    for point in metric.summary.data_points:
        yield f"{metric.name}_count", _labels(point), float(point.count)
        yield f"{metric.name}_sum", _labels(point), point.sum
        for one in point.quantile_values:
            yield metric.name, _labels(point) | {("quantile", f"{one.quantile:g}")}, one.value


def _labels(point: Any) -> frozenset[tuple[str, str]]:
    return frozenset(attributes_of(point).items())
