"""The results of tests for Prometheus, read from their statuses.

Labels are bounded: namespace, test, and the steps, phases and verdicts of the vocabulary; never a host or an error's
text. Latencies are published only for the tests that finished last, so that a thousand kept tests cost Prometheus and
the operator little. Verdicts and capacities are published for all tests.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import nlargest
from typing import Any, Final
from zlib import compress, decompress

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from sshload_contract.vocabulary import Verdict
from sshload_contract.wire.codec import from_json, to_json

from sshload_operator.api.kinds import COMPARISON, SCHEDULE
from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.api.status import measured
from sshload_operator.api.status.capacity import CapacityStatus
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.api.status.results import Results
from sshload_operator.api.status.steps import StepResult
from sshload_operator.control.metrics.published import Key, Published
from sshload_operator.manifests.owned_test import Owner, owner_of
from sshload_operator.state import Phase, Reason

_PUBLISHED_RESULTS: Final = 100
_QUANTILES: Final = (("0.5", 50), ("0.9", 90), ("0.95", 95), ("0.99", 99), ("0.999", 99.9))
# Latencies are most of the page. The samples of one part are freed before those of the next one are made.
_TESTS_IN_A_PART: Final = 10
_MS_PER_S: Final = 1000.0
_LARGEST: Final = sys.float_info.max
"""A status may state counts and means whose product is infinite, which JSON cannot express."""
_IN_BASE_UNITS: Final = {"ms": ("_ms", "_seconds", 1_000.0), "%": ("_percent", "_ratio", 100.0)}
"""Of a unit: with what the names of its figures end, with what their metrics do, and what divides them."""
_CAPITAL: Final = re.compile("[A-Z]")


@dataclass(frozen=True, slots=True)
class CapacityFigures:
    """The result of a search, in `unit`. `found` is set only if it found the capacity; its bounds if they are known."""

    unit: str
    found: float | None
    lower: float | None
    upper: float | None


def capacity_figures(capacity: CapacityStatus | None) -> CapacityFigures | None:
    """Return the figures of `status.capacity` to publish, None if there was no search."""
    if capacity is None:
        return None
    return CapacityFigures(capacity.unit, capacity.found, capacity.lower_bound, capacity.upper_bound)


def capacities(figures_by_test: Iterable[tuple[Key, CapacityFigures]]) -> Iterator[Metric]:
    """Yield the families of all searches."""
    labels = ("namespace", "test", "unit")
    found = GaugeMetricFamily("sshload_test_capacity", "The capacity that a test's last run has found.", labels=labels)
    lower = GaugeMetricFamily(
        "sshload_test_capacity_lower_bound", "The highest load tried that kept every threshold.", labels=labels
    )
    upper = GaugeMetricFamily(
        "sshload_test_capacity_upper_bound", "The lowest load tried above it, which broke one.", labels=labels
    )
    for key, figures in figures_by_test:
        for family, amount in ((found, figures.found), (lower, figures.lower), (upper, figures.upper)):
            if amount is not None:
                family.add_metric((*key, figures.unit), amount)
    yield from (found, lower, upper)


@dataclass(frozen=True, slots=True)
class PublishedStep:
    """One step's figures: latencies in seconds by quantile, for the quantiles that could be stated.

    `bytes_per_second` is None for a step that moves no content.
    """

    step: str
    count: int
    failures: int
    sum_s: float
    bytes_per_second: float | None
    quantiles_s: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class PublishedResults:
    """A finished run's figures: those of the whole run by name, and those of its steps."""

    figures: Mapping[str, float]
    steps: tuple[PublishedStep, ...]


@dataclass(frozen=True, slots=True)
class TestFigures:
    """What is published of one test. `completed_unix_s` is 0 before the end.

    `packed_results` are packed because they are kept for all tests and published for few; empty for none. `queued`
    tells whether the test waits for its turn to run. `owner` is None for a test that neither a schedule nor a
    comparison made.
    """

    __test__ = False  # not a pytest class

    phase: Phase
    verdict: Verdict | None
    completed_unix_s: float
    packed_results: bytes
    capacity: CapacityFigures | None
    queued: bool
    owner: Owner | None


class TestsCollector(Published[TestFigures]):
    """The figures of all tests, by namespace and name."""

    __test__ = False  # not a pytest class

    def figures(self, body: Mapping[str, Any]) -> TestFigures:
        """Return what is published of a test."""
        return test_figures(read_fitting(TestStatus, body.get("status")), owner_of(body["metadata"]))

    def collect(self) -> Iterator[Metric]:
        """Yield the families of all tests."""
        yield self._running()
        yield self._queued()
        yield self._phase()
        yield self._owners()
        yield from self._verdicts()
        searches = ((key, figures.capacity) for key, figures in self.published.items())
        yield from capacities((key, capacity) for key, capacity in searches if capacity is not None)
        results = self._results()
        yield from of_runs(results)
        yield from _steps(results)

    def _running(self) -> Metric:
        family = GaugeMetricFamily("sshload_tests_running", "Tests that are not finished.", labels=("namespace",))
        running = dict.fromkeys((namespace for namespace, _ in self.published), 0)
        for (namespace, _), figures in self.published.items():
            running[namespace] += figures.phase is not Phase.FINISHED
        for namespace, count in sorted(running.items()):
            family.add_metric((namespace,), count)
        return family

    def _queued(self) -> Metric:
        family = GaugeMetricFamily(
            "sshload_tests_queued", "Tests that wait for their turn to run.", labels=("namespace",)
        )
        queued = dict.fromkeys((namespace for namespace, _ in self.published), 0)
        for (namespace, _), figures in self.published.items():
            queued[namespace] += figures.queued
        for namespace, count in sorted(queued.items()):
            family.add_metric((namespace,), count)
        return family

    def _owners(self) -> Metric:
        family = GaugeMetricFamily(
            "sshload_test_owner_info",
            "1 for a test that a schedule or a comparison made.",
            labels=("namespace", "test", "schedule", "comparison"),
        )
        for key, figures in self.published.items():
            if figures.owner is not None:
                owners = (figures.owner.name if figures.owner.kind is kind else "" for kind in (SCHEDULE, COMPARISON))
                family.add_metric((*key, *owners), 1)
        return family

    def _phase(self) -> Metric:
        labels = ("namespace", "test", "phase")
        family = GaugeMetricFamily(
            "sshload_test_phase", "1 for the phase of a test that is not finished.", labels=labels
        )
        for key, figures in self.published.items():
            if figures.phase is not Phase.FINISHED:
                family.add_metric((*key, figures.phase), 1)
        return family

    def _verdicts(self) -> Iterator[Metric]:
        verdict = GaugeMetricFamily(
            "sshload_test_verdict", "1 for the verdict of a test's last run.", labels=("namespace", "test", "verdict")
        )
        for key, figures in self.published.items():
            if figures.verdict is not None:
                verdict.add_metric((*key, figures.verdict), 1)
        yield verdict
        del verdict  # frees its samples before those of the next family are made
        completed = GaugeMetricFamily(
            "sshload_test_completion_timestamp_seconds", "When a test's last run ended.", labels=("namespace", "test")
        )
        for key, figures in self.published.items():
            if figures.verdict is not None:
                completed.add_metric(key, figures.completed_unix_s)
        yield completed

    def _results(self) -> list[tuple[Key, PublishedResults]]:
        """Return the results of the tests that finished last."""
        holders = ((one.completed_unix_s, key) for key, one in self.published.items() if one.packed_results)
        newest = {key for _, key in nlargest(_PUBLISHED_RESULTS, holders)}
        return [(key, _unpacked(one.packed_results)) for key, one in self.published.items() if key in newest]


def test_figures(status: TestStatus, owner: Owner | None) -> TestFigures:
    """Return the figures to publish of a test with this status and this owner."""
    return TestFigures(
        phase=status.phase or Phase.PENDING,
        verdict=status.verdict,
        completed_unix_s=status.completion_time.timestamp() if status.completion_time is not None else 0.0,
        packed_results=b"" if status.results is None else _packed(_published(status, status.results)),
        capacity=capacity_figures(status.capacity),
        queued=status.phase is Phase.PENDING and status.reason == Reason.QUEUED,
        owner=owner,
    )


def _packed(results: PublishedResults) -> bytes:
    return compress(to_json(results).encode())


def _unpacked(packed: bytes) -> PublishedResults:
    return from_json(PublishedResults, decompress(packed).decode())


def _published(status: TestStatus, results: Results) -> PublishedResults:
    return PublishedResults(
        figures={one.name: float(one.value) for one in measured.figures_of_run(status) if one.value is not None},
        steps=tuple(map(_published_step, results.all_steps)),
    )


def _published_step(step: StepResult) -> PublishedStep:
    quantiles_ms = {name: step.percentile_ms(percentile) for name, percentile in _QUANTILES}
    return PublishedStep(
        step=step.step,
        count=step.count,
        failures=step.failures,
        bytes_per_second=None if step.bytes_per_second is None else float(step.bytes_per_second),
        sum_s=min(step.count * (step.mean_ms or 0.0) / _MS_PER_S, _LARGEST),
        quantiles_s={name: value_ms / _MS_PER_S for name, value_ms in quantiles_ms.items() if value_ms is not None},
    )


def of_runs(results_by_test: list[tuple[Key, PublishedResults]]) -> Iterator[Metric]:
    """Yield a family for each figure of a whole run, in base units."""
    for figure in (one for known in measured.OF_RUN.values() for one in known):
        ending, base_ending, divisor = _IN_BASE_UNITS.get(figure.unit, ("", "", 1.0))
        name = _CAPITAL.sub(lambda found: f"_{found[0].lower()}", figure.name).removesuffix(ending)
        family = GaugeMetricFamily(f"sshload_test_{name}{base_ending}", figure.means, labels=("namespace", "test"))
        for key, results in results_by_test:
            if figure.name in results.figures:
                family.add_metric(key, results.figures[figure.name] / divisor)
        yield family


def _steps(results_by_test: list[tuple[Key, PublishedResults]]) -> Iterator[Metric]:
    for begin in range(0, max(len(results_by_test), 1), _TESTS_IN_A_PART):
        yield _latencies(results_by_test[begin : begin + _TESTS_IN_A_PART])
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
            failures.add_metric((*key, step.step), step.failures)
    yield from (failures, moved)


def _latencies(results_by_test: list[tuple[Key, PublishedResults]]) -> Metric:
    latency = Metric(
        "sshload_test_step_latency_seconds", "Latency of a step's successes in a test's last run.", "summary"
    )
    for key, results in results_by_test:
        for step in results.steps:
            labels = {"namespace": key[0], "test": key[1], "step": step.step}
            for quantile, latency_s in step.quantiles_s.items():
                latency.add_sample(latency.name, {**labels, "quantile": quantile}, latency_s)
            latency.add_sample(f"{latency.name}_count", labels, step.count)
            latency.add_sample(f"{latency.name}_sum", labels, step.sum_s)
    return latency
