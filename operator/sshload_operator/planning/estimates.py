"""What a load comes to, by its spec alone: samples of each timing, trials of a search, and bytes that steps write."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, log, log2, sqrt

from sshload_contract.load import Load
from sshload_contract.steps import ScenarioStep
from sshload_contract.thresholds import Capacity
from sshload_contract.vocabulary import Timing
from sshload_contract.wire.run_config import SessionReuse

from sshload_operator.api.spec import LoadTestSpec

_HELD = "held"
_JUMP_HOST = "via"
_LOGIN = frozenset({Timing.CONNECT, Timing.BANNER, Timing.KEX, Timing.AUTH, Timing.LOGIN})
# Of docs/design/20261121-the-search.md: how the loads grow until one fails, and how near neighbours are.
_GROWTH = 8.0
_STEPS_PER_PRECISION = 2
_ITERATION = "{iteration}"


def most_samples(spec: LoadTestSpec, load: Load, step: str) -> float | None:
    """Return how many samples of `step` the measured window of a load can have; None if that is not known."""
    prefix, _, timing = step.rpartition(".")
    held = load.held_sessions if prefix.startswith(_JUMP_HOST) else 0
    if load.held_sessions and prefix == _HELD:
        return load.held_samples(timing)
    if timing in _LOGIN and spec.scenario.session_reuse is SessionReuse.POOL:
        return held  # the pool has logged in before the measured window
    if timing in _LOGIN and spec.scenario.session_reuse is SessionReuse.USER:
        return None
    if spec.locustfile is not None and timing not in {*_LOGIN, Timing.TOTAL}:
        return None
    iterations = load.most_iterations(spec.scenario.slept_s)
    return None if iterations is None else held + iterations * spec.scenario.samples_of(step)


def most_attempts(spec: LoadTestSpec) -> float | None:
    """Return how many iterations and held sessions the measured window can have; None if that is not known."""
    iterations = spec.load.most_iterations(spec.scenario.slept_s)
    return None if iterations is None else spec.load.held_sessions + iterations


def most_load(spec: LoadTestSpec) -> Load:
    """Return the largest load that the run may make: a search's at its most, any other as it is."""
    return spec.load if spec.capacity is None else spec.load.at(spec.capacity.most)


def likely_trials(capacity: Capacity, load: Load) -> int:
    """Return how many trials a search takes whose trials never contradict each other, but for a few at most."""
    grown = [capacity.least]
    while grown[-1] < capacity.most:
        grown.append(min(grown[-1] * _GROWTH ** len(grown), capacity.most))
    gaps = [_steps(low, high, capacity.precision, whole=load.is_whole) for low, high in pairwise(grown)]
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


@dataclass(frozen=True, slots=True)
class WrittenBytes:
    """What stays: once for all iterations (a path without `{iteration}`), and again for each of them.

    `while_running` is what an iteration takes away again before its end, but has there meanwhile.
    """

    once: int
    each: int
    while_running: int


def written_bytes(steps: tuple[ScenarioStep, ...]) -> WrittenBytes:
    """Return how much the steps write. What commands and locustfiles do is not known, and counts as nothing."""
    once = each = while_running = 0
    for path, size_bytes, later in _writes(steps):
        if _ITERATION not in path:
            once += size_bytes
        elif _is_removed(path, later):
            while_running += size_bytes
        else:
            each += size_bytes
    return WrittenBytes(once, each, while_running)


def leaves_files(steps: tuple[ScenarioStep, ...]) -> bool:
    """Return whether the steps write a file that no later one removes."""
    return any(not _is_removed(path, later) for path, _, later in _writes(steps))


def _writes(steps: tuple[ScenarioStep, ...]) -> Iterator[tuple[str, int, tuple[ScenarioStep, ...]]]:
    """Yield the path and size of what each step writes, with the steps that follow it."""
    for index, step in enumerate(steps):
        if step.written is not None:
            yield *step.written, steps[index + 1 :]


def _is_removed(path: str, later: tuple[ScenarioStep, ...]) -> bool:
    """Return whether later steps remove the file, whatever they rename it to before."""
    for step in later:
        path = step.place_after(path)
    return not path
