"""What searches for the capacity found out, for Prometheus: a bound is never published as a capacity."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from sshload_operator.api.status.capacity import CapacityStatus
from sshload_operator.control.metrics.published import Key


@dataclass(frozen=True, slots=True)
class CapacityFigures:
    """What a search says, in `unit`: `found` only where it found the capacity, its bounds where they are known."""

    unit: str
    found: float | None
    lower: float | None
    upper: float | None


def capacity_figures(capacity: CapacityStatus | None) -> CapacityFigures | None:
    """Return what is to be published of `status.capacity`, None where nothing was searched for."""
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
        "sshload_test_capacity_upper_bound", "The lowest load above it that was tried and broke one.", labels=labels
    )
    for key, figures in figures_by_test:
        for family, amount in ((found, figures.found), (lower, figures.lower), (upper, figures.upper)):
            if amount is not None:
                family.add_metric((*key, figures.unit), amount)
    yield from (found, lower, upper)
