"""parse: thresholds and baselines, told apart by what they are."""

from specs.relative import RELATIVE
from specs.search import SEARCH_ARRIVALS
from sshload_contract.thresholds import CapacityThreshold, ErrorRateThreshold, LatencyThreshold
from sshload_operator.api.load_test import parse
from sshload_operator.api.spec import Baseline
from sshload_operator.api.thresholds import RelativeCapacity, RelativeLatency, RelativeThroughput


def test_thresholds_are_told_apart_by_what_they_are_held_against() -> None:
    search, relative = parse(SEARCH_ARRIVALS), parse(RELATIVE)
    assert search.thresholds == (LatencyThreshold("login", 95, 0.25), ErrorRateThreshold(0.01))
    assert search.capacity_thresholds == (CapacityThreshold(100),)
    assert search.relative_thresholds == (RelativeCapacity(0.1),)
    assert relative.thresholds == (ErrorRateThreshold(0.01),)
    assert relative.relative_thresholds == (RelativeLatency("total", 95, 0.1), RelativeThroughput(0.025))


def test_a_baseline_is_a_test_or_the_last_that_passed() -> None:
    assert parse(RELATIVE).baseline == Baseline("last-week", last_passed=None)
    assert parse(SEARCH_ARRIVALS).baseline == Baseline(None, last_passed=True)
