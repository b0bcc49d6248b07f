"""The families of /metrics as requests of OTLP, under the same names and with the same labels.

Only OTLP's messages are used: OpenTelemetry's SDK has no summaries, and the latencies of steps are summaries.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Final

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    AggregationTemporality,
    Gauge,
    Metric,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
    Summary,
    SummaryDataPoint,
)
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from prometheus_client import Metric as Family
from prometheus_client.samples import Sample

MOST_POINTS: Final = 2_000
"""How many points one request has at most: it takes about 300 KB."""

_SCOPE: Final = "sshload"
_QUANTILE: Final = "quantile"


@dataclass(frozen=True, slots=True)
class Times:
    """When the process began to count, and when its counts were read, in nanoseconds since 1970."""

    start_ns: int
    now_ns: int


def requests_of(
    families: Iterable[Family], resource: Mapping[str, str], times: Times
) -> Iterator[ExportMetricsServiceRequest | None]:
    """Yield the families as requests of at most MOST_POINTS points.

    None is yielded after each family, so that the caller can let other tasks run.
    """
    held, points = _request(resource), 0
    for family in families:
        for name, samples in groupby(_points(family), key=lambda point: point[0]):
            rest = (group for _, group in samples)
            while True:
                part = list(islice(rest, MOST_POINTS - points))
                if part:
                    held.resource_metrics[0].scope_metrics[0].metrics.append(_metric(family, name, part, times))
                points += len(part)
                if points < MOST_POINTS:
                    break
                yield held
                held, points = _request(resource), 0
        yield None
    if points:
        yield held


def rejected_points(body: bytes) -> int:
    """Return how many points a collector rejected, 0 if its answer is not an OTLP message."""
    try:
        answer = ExportMetricsServiceResponse.FromString(body)
    except DecodeError:
        return 0
    return max(0, int(answer.partial_success.rejected_data_points))


def _request(resource: Mapping[str, str]) -> ExportMetricsServiceRequest:
    scope = ScopeMetrics(scope=InstrumentationScope(name=_SCOPE))
    found = ResourceMetrics(resource=Resource(attributes=_attributes(resource)), scope_metrics=[scope])
    return ExportMetricsServiceRequest(resource_metrics=[found])


def _points(family: Family) -> Iterator[tuple[str, list[Sample]]]:
    """Yield the samples of each point with the point's name: several for a point of a summary, else one."""
    if family.type != "summary":
        yield from ((sample.name, [sample]) for sample in family.samples)
        return
    for _, samples in groupby(family.samples, key=_labels):
        yield family.name, list(samples)


def _metric(family: Family, name: str, points: Iterable[list[Sample]], times: Times) -> Metric:
    if family.type == "summary":
        data = Summary(data_points=[_summary_point(samples, times) for samples in points])
        return Metric(name=name, description=family.documentation, summary=data)
    numbers = [_number(sample, times) for samples in points for sample in samples]
    if family.type == "counter":
        cumulative = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
        for number in numbers:
            number.start_time_unix_nano = times.start_ns
        total = Sum(data_points=numbers, aggregation_temporality=cumulative, is_monotonic=True)
        return Metric(name=name, description=family.documentation, sum=total)
    return Metric(name=name, description=family.documentation, gauge=Gauge(data_points=numbers))


def _number(sample: Sample, times: Times) -> NumberDataPoint:
    return NumberDataPoint(
        attributes=_attributes(sample.labels), time_unix_nano=times.now_ns, as_double=float(sample.value)
    )


def _summary_point(samples: list[Sample], times: Times) -> SummaryDataPoint:
    """Return the point of one series of a summary. It has no start time: a finished run counted it."""
    found = SummaryDataPoint(attributes=_attributes(_labels(samples[0])), time_unix_nano=times.now_ns)
    for sample in samples:
        if _QUANTILE in sample.labels:
            found.quantile_values.add(quantile=float(sample.labels[_QUANTILE]), value=float(sample.value))
        elif sample.name.endswith("_count"):
            found.count = int(sample.value)
        else:
            found.sum = float(sample.value)
    return found


def _labels(sample: Sample) -> Mapping[str, str]:
    return {name: value for name, value in sample.labels.items() if name != _QUANTILE}


def _attributes(labels: Mapping[str, str]) -> list[KeyValue]:
    return [KeyValue(key=name, value=AnyValue(string_value=value)) for name, value in labels.items()]
