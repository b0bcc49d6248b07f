"""What the gateway counts for Prometheus. No label names a caller, a host or a credential."""

from collections.abc import Iterator
from typing import Final, Protocol

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class PoolMetrics:
    """What the pool counts."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.logins = Counter(
            "sshload_gateway_logins", "Logins that ended, by outcome.", ("outcome",), registry=registry
        )
        self.login_seconds = Histogram(
            "sshload_gateway_login_seconds", "Time of logins that succeeded.", buckets=_SECONDS, registry=registry
        )
        self.wait_seconds = Histogram(
            "sshload_gateway_wait_seconds",
            "Time that requests waited for a session, logins included.",
            buckets=_SECONDS,
            registry=registry,
        )
        self.waits_given_up = Counter(
            "sshload_gateway_waits_given_up", "Requests that got no session in time.", registry=registry
        )
        self.refused_sessions = Counter(
            "sshload_gateway_refused_sessions", "Sessions that a server refused to open.", registry=registry
        )
        self.closed = Counter(
            "sshload_gateway_connections_closed", "Connections that ended, by reason.", ("reason",), registry=registry
        )


class Counts(Protocol):
    """What the pool has at the moment."""

    @property
    def connections(self) -> int:
        """Connections, those that are being opened or closed included."""
        ...

    @property
    def sessions(self) -> int:
        """Sessions that requests have."""
        ...

    @property
    def waiting(self) -> int:
        """Requests that wait for a session."""
        ...


class PoolGauges(Collector):
    """Reads the pool's counts when Prometheus asks."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        """Yield the gauges."""
        counts = self._counts
        yield GaugeMetricFamily("sshload_gateway_connections", "Connections, opening and closing.", counts.connections)
        yield GaugeMetricFamily("sshload_gateway_sessions", "Sessions that requests have.", counts.sessions)
        yield GaugeMetricFamily("sshload_gateway_waiting", "Requests that wait for a session.", counts.waiting)


def commands_counter(registry: CollectorRegistry) -> Counter:
    """Return the counter of commands that have ended, one way or another."""
    return Counter("sshload_gateway_commands", "Commands by outcome.", ("outcome",), registry=registry)
