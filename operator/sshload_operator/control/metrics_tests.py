"""What the tests found out, for Prometheus, read from their statuses.

Labels are bounded: namespace, test, and the steps, phases and verdicts of the vocabulary; never a host or an error's
text. Latencies are published of the tests that finished last only, so that a thousand kept tests cost Prometheus and
the operator little; verdicts and capacities are published of all.
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from heapq import nlargest
from typing import Any, Final
from zlib import compress, decompress

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from sshload_contract.codec import from_json, to_json

from sshload_operator.control.metrics_capacity import CapacityFigures, capacities, capacity_figures
from sshload_operator.control.published import Key, Published
from sshload_operator.decision.findings import read_time
from sshload_operator.state import Phase

_PUBLISHED_RESULTS: Final = 100
_QUANTILES: Final = (("0.5", "p50Ms"), ("0.9", "p90Ms"), ("0.95", "p95Ms"), ("0.99", "p99Ms"), ("0.999", "p999Ms"))
_MS_PER_S: Final = 1000.0
_LARGEST: Final = sys.float_info.max
"""Whoever writes a status can state counts and means whose product is infinite, which JSON does not have."""
_PERCENT: Final = 100.0


@dataclass(frozen=True, slots=True)
class StepResult:
    """One step's figures: latencies in seconds by quantile, those that could be stated.

    `bytes_per_second` is None of a step that moves no content.
    """

    step: str
    count: int
    failures: int
    sum_s: float
    bytes_per_second: float | None
    quantiles_s: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Results:
    """A finished run's figures; rates are iterations per second. `held` is the most and the least, None but of hold."""

    offered_rate: float
    achieved_rate: float
    completed_rate: float
    error_ratio: float | None
    held: tuple[int, int] | None
    steps: tuple[StepResult, ...]


@dataclass(frozen=True, slots=True)
class TestFigures:
    """What is published of one test. `completed_unix_s` is 0 before the end.

    `packed_results` are its Results, packed because they are kept of all tests and published of few; empty for none.
    """

    __test__ = False  # not a pytest class

    phase: str
    verdict: str
    completed_unix_s: float
    packed_results: bytes
    capacity: CapacityFigures | None


class TestsCollector(Published[TestFigures]):
    """The figures of all tests, by namespace and name."""

    __test__ = False  # not a pytest class

    def figures(self, body: Mapping[str, Any]) -> TestFigures:
        """Return what is published of a test."""
        return test_figures(body.get("status") or {})

    def collect(self) -> Iterator[Metric]:
        """Yield the families of all tests."""
        yield self._running()
        yield self._phase()
        yield from self._verdicts()
        searches = ((key, figures.capacity) for key, figures in self.published.items())
        yield from capacities((key, capacity) for key, capacity in searches if capacity is not None)
        results = self._results()
        yield from _rates(results)
        yield from _held(results)
        yield from _steps(results)

    def _running(self) -> Metric:
        family = GaugeMetricFamily("sshload_tests_running", "Tests that are not finished.", labels=("namespace",))
        running = dict.fromkeys((namespace for namespace, _ in self.published), 0)
        for (namespace, _), figures in self.published.items():
            running[namespace] += figures.phase != Phase.FINISHED
        for namespace, count in sorted(running.items()):
            family.add_metric((namespace,), count)
        return family

    def _phase(self) -> Metric:
        labels = ("namespace", "test", "phase")
        family = GaugeMetricFamily(
            "sshload_test_phase", "1 for the phase of a test that is not finished.", labels=labels
        )
        for key, figures in self.published.items():
            if figures.phase != Phase.FINISHED:
                family.add_metric((*key, figures.phase), 1)
        return family

    def _verdicts(self) -> Iterator[Metric]:
        verdict = GaugeMetricFamily(
            "sshload_test_verdict", "1 for the verdict of a test's last run.", labels=("namespace", "test", "verdict")
        )
        completed = GaugeMetricFamily(
            "sshload_test_completion_timestamp_seconds", "When a test's last run ended.", labels=("namespace", "test")
        )
        for key, figures in self.published.items():
            if figures.verdict:
                verdict.add_metric((*key, figures.verdict), 1)
                completed.add_metric(key, figures.completed_unix_s)
        yield verdict
        yield completed

    def _results(self) -> list[tuple[Key, Results]]:
        """Return the results of the tests that finished last."""
        holders = ((one.completed_unix_s, key) for key, one in self.published.items() if one.packed_results)
        newest = {key for _, key in nlargest(_PUBLISHED_RESULTS, holders)}
        return [(key, _unpacked(one.packed_results)) for key, one in self.published.items() if key in newest]


def test_figures(status: Mapping[str, Any]) -> TestFigures:
    """Return what is to be published of a test with this status."""
    phase = status.get("phase") or Phase.PENDING.value
    completion_time = read_time(status.get("completionTime"))
    results = status.get("results")
    return TestFigures(
        phase=phase,
        verdict=status.get("verdict", ""),
        completed_unix_s=completion_time.timestamp() if completion_time else 0.0,
        packed_results=_packed(_results(results)) if results else b"",
        capacity=capacity_figures(status.get("capacity")),
    )


def _packed(results: Results) -> bytes:
    return compress(to_json(results).encode())


@lru_cache(maxsize=_PUBLISHED_RESULTS)
def _unpacked(packed: bytes) -> Results:
    return from_json(Results, decompress(packed).decode())


def _results(results: Mapping[str, Any]) -> Results:
    error_percent, hold = results.get("errorPercent"), results.get("hold")
    return Results(
        offered_rate=float(results["offeredRate"]),
        achieved_rate=float(results["achievedRate"]),
        completed_rate=float(results["completedRate"]),
        error_ratio=None if error_percent is None else error_percent / _PERCENT,
        held=(int(hold["heldMost"]), int(hold["heldLeast"])) if hold else None,
        steps=tuple(_step_result(step) for step in results.get("steps", ())),
    )


def _step_result(step: Mapping[str, Any]) -> StepResult:
    moved = step.get("bytesPerSecond")
    return StepResult(
        step=str(step["step"]),
        count=int(step["count"]),
        failures=int(step["failures"]),
        bytes_per_second=None if moved is None else float(moved),
        sum_s=min(step["count"] * step.get("meanMs", 0.0) / _MS_PER_S, _LARGEST),
        quantiles_s={name: step[field] / _MS_PER_S for name, field in _QUANTILES if field in step},
    )


def _rates(results_by_test: list[tuple[Key, Results]]) -> Iterator[Metric]:
    labels = ("namespace", "test")
    offered = GaugeMetricFamily("sshload_test_offered_rate", "Iterations per second asked for.", labels=labels)
    achieved = GaugeMetricFamily("sshload_test_achieved_rate", "Iterations per second begun.", labels=labels)
    completed = GaugeMetricFamily(
        "sshload_test_completed_rate", "Iterations per second that ended well.", labels=labels
    )
    errors = GaugeMetricFamily(
        "sshload_test_error_ratio",
        "Share of iterations, and of sessions to be held, that failed, 0 to 1.",
        labels=labels,
    )
    for key, results in results_by_test:
        offered.add_metric(key, results.offered_rate)
        achieved.add_metric(key, results.achieved_rate)
        completed.add_metric(key, results.completed_rate)
        if results.error_ratio is not None:
            errors.add_metric(key, results.error_ratio)
    yield from (offered, achieved, completed, errors)


def _held(results_by_test: list[tuple[Key, Results]]) -> Iterator[Metric]:
    labels = ("namespace", "test")
    most = GaugeMetricFamily("sshload_test_held_sessions_most", "The most sessions held at once.", labels=labels)
    least = GaugeMetricFamily(
        "sshload_test_held_sessions_least", "The fewest sessions held at once, after the ramp.", labels=labels
    )
    for key, results in results_by_test:
        if results.held is not None:
            most.add_metric(key, results.held[0])
            least.add_metric(key, results.held[1])
    yield from (most, least)


def _steps(results_by_test: list[tuple[Key, Results]]) -> Iterator[Metric]:
    latency = Metric(
        "sshload_test_step_latency_seconds", "Latency of a step's successes in a test's last run.", "summary"
    )
    failures = GaugeMetricFamily(
        "sshload_test_step_failures",
        "Times that a step failed in a test's last run.",
        labels=("namespace", "test", "step"),
    )
    moved = GaugeMetricFamily(
        "sshload_test_step_bytes_per_second",
        "Content that a step moved inside the measured window of a test's last run, per second.",
        labels=("namespace", "test", "step"),
    )
    for key, results in results_by_test:
        for step in results.steps:
            if step.bytes_per_second is not None:
                moved.add_metric((*key, step.step), step.bytes_per_second)
            labels = {"namespace": key[0], "test": key[1], "step": step.step}
            for quantile, latency_s in step.quantiles_s.items():
                latency.add_sample(latency.name, {**labels, "quantile": quantile}, latency_s)
            latency.add_sample(f"{latency.name}_count", labels, step.count)
            latency.add_sample(f"{latency.name}_sum", labels, step.sum_s)
            failures.add_metric((*key, step.step), step.failures)
    yield from (latency, failures, moved)
