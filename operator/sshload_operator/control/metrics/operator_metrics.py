"""What the operator tells Prometheus: its own work, and what its objects found out."""

from collections.abc import Iterator
from itertools import chain

from prometheus_client import CollectorRegistry, Counter, ProcessCollector, generate_latest

from sshload_operator.control.metrics.schedules import SchedulesCollector
from sshload_operator.control.metrics.tests import TestsCollector


class OperatorMetrics:
    """All that the operator publishes."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.tests = TestsCollector()
        self.schedules = SchedulesCollector()
        self._api_requests = Counter(
            "sshload_operator_api_requests",
            "Requests to the API server, watches excepted.",
            ("verb", "resource"),
            registry=self._registry,
        )
        self._failed_passes = Counter(
            "sshload_operator_failed_passes",
            "Passes over an object that failed and were repeated.",
            registry=self._registry,
        )
        ProcessCollector(registry=self._registry)

    def count_api_request(self, verb: str, resource: str) -> None:
        """Count one request."""
        self._api_requests.labels(verb, resource).inc()

    def count_failed_pass(self) -> None:
        """Count one pass that failed."""
        self._failed_passes.inc()

    def render(self) -> Iterator[bytes]:
        """Return the whole page for Prometheus in its text format 0.0.4, in pieces."""
        return chain([generate_latest(self._registry)], self.tests.render(), self.schedules.render())
