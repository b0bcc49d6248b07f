"""The metrics of a target, as Prometheus reads them, from what it saw."""

from collections.abc import Iterator

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from sshload_target.observer import Observer
from sshload_target.sshd.log_line import DropReason

CONTENT_TYPE = CONTENT_TYPE_LATEST


def metrics(observer: Observer) -> bytes:
    """Return all metrics of the target as they stand, in Prometheus' text format."""
    registry = CollectorRegistry()
    registry.register(_TargetCollector(observer))
    return generate_latest(registry)


class _TargetCollector(Collector):
    """Collects from an Observer at each scrape. The only labels are the reason of a drop and sshd's version."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def collect(self) -> Iterator[Metric]:
        """Yield every metric family of the target."""
        stats = self._observer.stats()
        yield InfoMetricFamily("sshload_target_sshd", "The sshd that is measured.", {"version": stats.sshd_version})
        yield _gauge("ready", "Whether sshd listens (1) or not yet (0).", int(self._observer.ready))
        yield _counter("accepted", "Logins that sshd granted.", stats.accepted)
        yield _counter("auth_failed", "Connections that had named a user and ended without a login.", stats.auth_failed)
        dropped = CounterMetricFamily(
            "sshload_target_dropped",
            "Connections that sshd dropped before its banner, by its log.",
            labels=["reason"],
        )
        dropped.add_metric([DropReason.MAX_STARTUPS.value], stats.dropped_max_startups)
        dropped.add_metric([DropReason.PENALTY.value], stats.dropped_penalty)
        yield dropped
        yield _gauge(
            "dropped_is_lower_bound",
            "Whether sshd may have dropped more than its log reports (1) or not (0).",
            int(stats.dropped_is_lower_bound),
        )
        yield _gauge("sessions", "Logged-in connections that are open.", stats.sessions)
        yield _counter("cpu_seconds", "CPU time of the container, user and system.", stats.cpu_s)
        yield _counter(
            "cpu_throttled_seconds", "Time for which the CPU limit held the container back.", stats.cpu_throttled_s
        )
        if stats.machine_cpu is not None:
            text = "CPU time that the machine's host gave to others, of all its CPUs."
            yield _counter("machine_stolen_seconds", text, stats.machine_cpu.stolen_s)
        yield _gauge("memory_working_set_bytes", "Working set of the container.", stats.memory_bytes)
        yield _gauge("memory_peak_bytes", "Highest memory use of the container.", stats.memory_peak_bytes)
        yield _gauge("processes", "Processes in the container.", stats.processes)
        limits = (
            ("cpu_limit_cores", "The container's CPU limit.", stats.cpu_limit_cores),
            ("memory_limit_bytes", "The container's memory limit.", stats.memory_limit_bytes),
            ("processes_limit", "The container's limit of processes and threads.", stats.processes_limit),
        )
        yield from (_gauge(name, text, limit) for name, text, limit in limits if limit is not None)
        yield _counter("oom_kills", "Processes that were killed for lack of memory.", stats.oom_kills)
        yield _counter(
            "refused_forks",
            "Processes that could not be started because of the limit of processes.",
            stats.refused_forks,
        )
        if stats.listen_overflows is not None:
            yield _counter(
                "listen_overflows",
                "Connections that sshd's listening sockets lost to a full backlog since the target's start.",
                stats.listen_overflows,
            )


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"sshload_target_{name}", text, value=value)


def _counter(name: str, text: str, value: float) -> Metric:
    return CounterMetricFamily(f"sshload_target_{name}", text, value=value)
