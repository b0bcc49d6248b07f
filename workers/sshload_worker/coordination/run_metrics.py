"""The metrics of a run in Prometheus' format, from the master's totals."""

from collections import Counter
from collections.abc import Iterator

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from sshload_contract.vocabulary import Outcome
from sshload_contract.wire.report import Health

from sshload_worker.coordination.master import Master
from sshload_worker.recording.histogram import LatencyHistogram
from sshload_worker.summary.totals import add_counts, worst_health

CONTENT_TYPE = CONTENT_TYPE_LATEST
_US_PER_S = 1_000_000
_LIMITS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_LIMITS_US = tuple(round(limit * _US_PER_S) for limit in _LIMITS_S)
_TEST_LABELS = ("namespace", "test")


def metrics(master: Master) -> bytes:
    """Return all present metrics of the master's run, in Prometheus' text format."""
    registry = CollectorRegistry()
    registry.register(_RunCollector(master))
    return generate_latest(registry)


class _RunCollector(Collector):
    """One run's metrics. Windows and trials are added up, because a counter must not decrease when one of them ends."""

    def __init__(self, master: Master) -> None:
        self._master = master
        self._test = (master.config.namespace, master.config.test)

    def collect(self) -> Iterator[Metric]:
        """Yield all present metric families."""
        yield from self._iterations()
        yield from self._steps()
        yield self._moved()
        yield from self._workers()

    def _iterations(self) -> Iterator[Metric]:
        counts = add_counts(counts for totals in self._master.totals for counts in totals.counts.values())
        for name, text, value in (
            ("scheduled", "Iterations that were due", counts.scheduled),
            ("started", "Iterations begun", counts.started),
            ("succeeded", "Iterations succeeded", counts.succeeded),
            ("failed", "Failed iterations", counts.failed),
            ("late", "Iterations begun more than 20 ms after they were due", counts.late),
            ("dropped", "Iterations not begun, because too many were in progress", counts.dropped),
        ):
            family = CounterMetricFamily(f"sshload_iterations_{name}", f"{text}.", labels=_TEST_LABELS)
            family.add_metric(self._test, value)
            yield family

    def _steps(self) -> Iterator[Metric]:
        results = CounterMetricFamily(
            "sshload_steps", "Steps ended, by outcome.", labels=(*_TEST_LABELS, "step", "outcome")
        )
        latency = HistogramMetricFamily(
            "sshload_step_latency_seconds", "Latency of the steps that succeeded.", labels=(*_TEST_LABELS, "step")
        )
        by_outcome: dict[tuple[str, Outcome], LatencyHistogram] = {}
        for totals in self._master.totals:
            for (step, _, outcome), histogram in totals.histograms.items():
                by_outcome.setdefault((step, outcome), LatencyHistogram()).merge(histogram)
        for (step, outcome), histogram in by_outcome.items():
            results.add_metric((*self._test, step, outcome), histogram.count)
            if outcome is Outcome.OK:
                sum_s = (histogram.mean_us() or 0.0) * histogram.count / _US_PER_S
                latency.add_metric((*self._test, step), _buckets(histogram), sum_s)
        yield results
        yield latency

    def _moved(self) -> Metric:
        moved = CounterMetricFamily(
            "sshload_step_bytes", "Bytes of content that steps moved.", labels=(*_TEST_LABELS, "step")
        )
        counts: Counter[str] = Counter()
        for totals in self._master.totals:
            for (step, _), count in totals.moved.items():
                counts[step] += count
        for step, count in counts.items():
            moved.add_metric((*self._test, step), count)
        return moved

    def _workers(self) -> Iterator[Metric]:
        reports = [state.latest for state in self._master.trial.totals.workers.values()]
        worker_registry = self._master.worker_registry
        for name, text, value in (
            ("sshload_iterations_in_flight", "Iterations in progress", sum(report.in_flight for report in reports)),
            ("sshload_users", "Users of a closed load", sum(report.users for report in reports)),
            ("sshload_held_sessions", "Sessions held", sum(report.held for report in reports)),
            ("sshload_workers_connected", "Workers that have connected", worker_registry.connected),
            ("sshload_workers_expected", "Workers that are expected", self._master.config.workers),
            ("sshload_workers_lost", "Workers lost during the run", len(worker_registry.losses)),
            *(_health(worst_health(report.health for report in reports)) if reports else ()),
        ):
            if value is not None:  # None is a figure that no worker has
                family = GaugeMetricFamily(name, f"{text}.", labels=_TEST_LABELS)
                family.add_metric(self._test, value)
                yield family


def _health(health: Health) -> tuple[tuple[str, str, float | None], ...]:
    """Return the name, the help text and the value of each figure, of the worker where it is worst."""
    return (
        ("sshload_generator_cpu_ratio", "CPU share of the busiest worker's busiest second", health.cpu_share),
        ("sshload_generator_run_delay_ratio", "Share of time a worker waited for a CPU", health.run_delay_share),
        ("sshload_generator_stolen_ratio", "Share of a machine's CPU time that its host took", health.stolen_share),
        ("sshload_generator_loop_lag_p99_seconds", "p99 of the event loop's lag", health.loop_lag_p99_us / _US_PER_S),
        ("sshload_generator_ports_used", "Source ports in use for the target, or in TIME_WAIT", health.ports_used),
        ("sshload_generator_ports_available", "Source ports available", health.ports_available),
    )


def _buckets(histogram: LatencyHistogram) -> list[tuple[str, float]]:
    counts = histogram.count_up_to(_LIMITS_US)
    limits = [(str(limit), float(count)) for limit, count in zip(_LIMITS_S, counts, strict=True)]
    return [*limits, ("+Inf", float(histogram.count))]
