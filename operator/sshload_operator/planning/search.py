"""What a search for the capacity comes to: its largest trial, and how many trials it likely takes."""

from itertools import pairwise
from math import ceil, log, log2, sqrt

from sshload_contract.capacity import Capacity
from sshload_contract.load import ArrivalsLoad, Load

from sshload_operator.api.spec import LoadTestSpec

# Of docs/design/20261121-the-search.md: how the loads grow until one fails, and how near neighbours are.
_GROWTH = 8.0
_STEPS_PER_PRECISION = 2


def most_load(spec: LoadTestSpec) -> Load:
    """Return the largest load that the run may make: a search's at its most, any other as it is."""
    return spec.load if spec.capacity is None else spec.load.at(spec.capacity.most)


def likely_trials(capacity: Capacity, load: Load) -> int:
    """Return how many trials a search takes whose trials never contradict each other, but for a few at most."""
    grown = [capacity.least]
    while grown[-1] < capacity.most:
        grown.append(min(grown[-1] * _GROWTH ** len(grown), capacity.most))
    whole = not isinstance(load, ArrivalsLoad)
    gaps = [_steps(low, high, capacity.precision, whole=whole) for low, high in pairwise(grown)]
    halves = ceil(log2(max([1.0, *gaps])))
    bounds = 2 if gaps else 1
    return len(grown) + halves + bounds * capacity.confirm


def likely_trial_s(spec: LoadTestSpec, capacity: Capacity) -> float:
    """Return how long a trial halfway up takes, without its drain: of held sessions the ramp grows with them."""
    return spec.warm_up_s + spec.load.at(sqrt(capacity.least * capacity.most)).lasts_s


def _steps(low: float, high: float, precision: float, *, whole: bool) -> float:
    """Return how many steps the search may tell apart between two loads; whole ones are at least 1 apart."""
    ratio = (1 + precision) ** (1 / _STEPS_PER_PRECISION)
    dense = max(low, min(high, 1 / (ratio - 1))) if whole else low
    return dense - low + log(high / dense) / log(ratio)
